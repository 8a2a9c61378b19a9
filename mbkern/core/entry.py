"""What Python calls: check the arguments, evaluate, check the answer. Each returns a code of :mod:`.checks`.

A call from Python pays about 60 ns for every array argument, so block and workspace come as one array, the *frame*:
the block, and behind it the workspace.
"""

from . import extended, extended_lu, multipliers, reduced
from .checks import BAD_SHAPE, BAD_T, LIMIT, OK, check_result, check_state
from .jit import checked, exact
from .layout import NQ, NV, SIZE
from .number import whole

emh_ldl = extended.rhs
emh_lu = extended_lu.rhs
dah = reduced.rhs
hzu = multipliers.rhs


@exact
def check_arguments(frame, t, q, p, tau):
    nq, nv = whole(frame, NQ), whole(frame, NV)
    if q.shape[0] != nq or p.shape[0] != nv or (tau.shape[0] != 0 and tau.shape[0] != nv):
        return BAD_SHAPE
    if not abs(t) <= LIMIT:
        return BAD_T
    return check_state(frame, q, p, tau)


@checked
def rhs_emh_ldl(frame, t, q, p, tau, qdot, pdot):
    size = whole(frame, SIZE)
    code = check_arguments(frame, t, q, p, tau)
    if code == OK:
        code = emh_ldl(frame[:size], t, q, p, tau, qdot, pdot, frame[size:])
    return check_result(qdot, pdot) if code == OK else code


@checked
def rhs_emh_lu(frame, t, q, p, tau, qdot, pdot):
    size = whole(frame, SIZE)
    code = check_arguments(frame, t, q, p, tau)
    if code == OK:
        code = emh_lu(frame[:size], t, q, p, tau, qdot, pdot, frame[size:])
    return check_result(qdot, pdot) if code == OK else code


@checked
def rhs_dah(frame, t, q, p, tau, qdot, pdot):
    size = whole(frame, SIZE)
    code = check_arguments(frame, t, q, p, tau)
    if code == OK:
        code = dah(frame[:size], t, q, p, tau, qdot, pdot, frame[size:])
    return check_result(qdot, pdot) if code == OK else code


@checked
def rhs_hzu(frame, t, q, p, tau, qdot, pdot):
    size = whole(frame, SIZE)
    code = check_arguments(frame, t, q, p, tau)
    if code == OK:
        code = hzu(frame[:size], t, q, p, tau, qdot, pdot, frame[size:])
    return check_result(qdot, pdot) if code == OK else code


# without joint forces: one array argument less
@checked
def quick_emh_ldl(frame, t, q, p, qdot, pdot):
    return rhs_emh_ldl(frame, t, q, p, frame[:0], qdot, pdot)


@checked
def quick_emh_lu(frame, t, q, p, qdot, pdot):
    return rhs_emh_lu(frame, t, q, p, frame[:0], qdot, pdot)


@checked
def quick_dah(frame, t, q, p, qdot, pdot):
    return rhs_dah(frame, t, q, p, frame[:0], qdot, pdot)


@checked
def quick_hzu(frame, t, q, p, qdot, pdot):
    return rhs_hzu(frame, t, q, p, frame[:0], qdot, pdot)
