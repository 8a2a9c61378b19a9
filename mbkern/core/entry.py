"""What Python calls: check the arguments, evaluate, check the answer. Each returns a code of :mod:`.checks`.

Block and workspace come as one array, the *frame*: the block, and behind it the workspace. A call from Python pays
about 60 ns for every array argument, so the quick form takes the address of the frame, and no tau.
"""

from . import extended, extended_lu, multipliers, reduced
from .checks import BAD_SHAPE, BAD_T, LIMIT, OK, check_result, check_state
from .jit import checked, exact
from .layout import NQ, NV, SIZE
from .number import array_at, whole

UNKNOWN = 2**31  # length of an array that is known by its address only; no kernel asks for it

emh_ldl = extended.rhs
emh_lu = extended_lu.rhs
dah = reduced.rhs
hzu = multipliers.rhs


@exact
def check_arguments(frame, t, q, p, tau, qdot, pdot):
    nq, nv = whole(frame, NQ), whole(frame, NV)
    if q.shape[0] != nq or p.shape[0] != nv or qdot.shape[0] != nq or pdot.shape[0] != nv:
        return BAD_SHAPE
    if tau.shape[0] != 0 and tau.shape[0] != nv:
        return BAD_SHAPE
    if not abs(t) <= LIMIT:
        return BAD_T
    return check_state(frame, q, p, tau)


@checked
def rhs_emh_ldl(frame, t, q, p, tau, qdot, pdot):
    size = whole(frame, SIZE)
    code = check_arguments(frame, t, q, p, tau, qdot, pdot)
    if code == OK:
        code = emh_ldl(frame[:size], t, q, p, tau, qdot, pdot, frame[size:])
    return check_result(qdot, pdot) if code == OK else code


@checked
def rhs_emh_lu(frame, t, q, p, tau, qdot, pdot):
    size = whole(frame, SIZE)
    code = check_arguments(frame, t, q, p, tau, qdot, pdot)
    if code == OK:
        code = emh_lu(frame[:size], t, q, p, tau, qdot, pdot, frame[size:])
    return check_result(qdot, pdot) if code == OK else code


@checked
def rhs_dah(frame, t, q, p, tau, qdot, pdot):
    size = whole(frame, SIZE)
    code = check_arguments(frame, t, q, p, tau, qdot, pdot)
    if code == OK:
        code = dah(frame[:size], t, q, p, tau, qdot, pdot, frame[size:])
    return check_result(qdot, pdot) if code == OK else code


@checked
def rhs_hzu(frame, t, q, p, tau, qdot, pdot):
    size = whole(frame, SIZE)
    code = check_arguments(frame, t, q, p, tau, qdot, pdot)
    if code == OK:
        code = hzu(frame[:size], t, q, p, tau, qdot, pdot, frame[size:])
    return check_result(qdot, pdot) if code == OK else code


@checked
def quick_emh_ldl(address, t, q, p, qdot, pdot):
    frame, tau = array_at(address, UNKNOWN), array_at(address, 0)
    code = check_arguments(frame, t, q, p, tau, qdot, pdot)
    if code == OK:
        code = emh_ldl(frame, t, q, p, tau, qdot, pdot, array_at(address + 8 * whole(frame, SIZE), UNKNOWN))
    return check_result(qdot, pdot) if code == OK else code


@checked
def quick_emh_lu(address, t, q, p, qdot, pdot):
    frame, tau = array_at(address, UNKNOWN), array_at(address, 0)
    code = check_arguments(frame, t, q, p, tau, qdot, pdot)
    if code == OK:
        code = emh_lu(frame, t, q, p, tau, qdot, pdot, array_at(address + 8 * whole(frame, SIZE), UNKNOWN))
    return check_result(qdot, pdot) if code == OK else code


@checked
def quick_dah(address, t, q, p, qdot, pdot):
    frame, tau = array_at(address, UNKNOWN), array_at(address, 0)
    code = check_arguments(frame, t, q, p, tau, qdot, pdot)
    if code == OK:
        code = dah(frame, t, q, p, tau, qdot, pdot, array_at(address + 8 * whole(frame, SIZE), UNKNOWN))
    return check_result(qdot, pdot) if code == OK else code


@checked
def quick_hzu(address, t, q, p, qdot, pdot):
    frame, tau = array_at(address, UNKNOWN), array_at(address, 0)
    code = check_arguments(frame, t, q, p, tau, qdot, pdot)
    if code == OK:
        code = hzu(frame, t, q, p, tau, qdot, pdot, array_at(address + 8 * whole(frame, SIZE), UNKNOWN))
    return check_result(qdot, pdot) if code == OK else code
