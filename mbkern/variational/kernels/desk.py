"""The memory of derivatives: what the C functions of :mod:`.flow` get as their last argument.

    header | scratch | parameter gradient | slots

A *slot* is a workspace that knows one state; several of them let the stages of a step be pulled at again and again.
The frame (:mod:`mbkern.core.cabi`) has the block and the forces.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ...core.arguments import UNKNOWN, data_of
from ...core.cabi import call_load, joint_forces, loads
from ...core.checks import BAD_TAU, LIMIT, OK, beyond
from ...core.entry import call_rhs
from ...core.jit import exact, noinline
from ...core.layout import HAS_WRENCH, N_BODIES, NQ, NV, SIZE, STATUS, WRENCH_CALL
from ...core.number import array_at, get, put, whole

# ---- header ----
FRAME, SWEEP = 0, 1  # addresses: the frame, and "emh-ldl" for one state
FORCES = 2  # derivative of the frame's force functions: an address, or one of these
NONE, DIFFERENCES = 0, 1
COLUMNS = 3  # of increments
SLOT, SLOT_SIZE, AT_SLOTS = 4, 5, 6  # the one in use; numbers of each; where the first one begins
AT_SCRATCH = 7
CODE = 8  # of the last call
AT_GRADIENT = 9  # where the gradient by parameters is summed up (0: nowhere)
AGAIN = 10  # whether the last `pull` in the slot in use was at the same state
TRIAL = 11  # whether `pull` adds nothing to the gradient for now
HEADER = 16

# ---- gradient by parameters: of each body (of each node, in its axes, where all are of single dofs) ten numbers and a
# position, of each dof three, of gravity three ----
G_BODY = 13  # m, m c (3), inertia about the origin (xx yy zz xy xz yz), position of its joint in the parent (3)
G_DOF = 3  # stiffness, damping, armature

STEP = 1e-3  # of differences, relative: of order 4, so that both their error and rounding are about 1e-12


@intrinsic
def pointer_at(typingctx, address):
    """An address as a pointer."""
    def codegen(context, builder, sig, args):
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())
    return types.voidptr(types.intp), codegen


@exact
def slot_of(desk, address):
    """Address of the slot in use."""
    return address + 8 * (whole(desk, AT_SLOTS) + whole(desk, SLOT) * whole(desk, SLOT_SIZE))


@exact
def scratch_of(desk, address, at, size):
    return array_at(address + 8 * (whole(desk, AT_SCRATCH) + at), size)


@exact
def sums_wanted(desk):
    """Whether `pull` adds to the gradient by parameters."""
    return whole(desk, AT_GRADIENT) != 0 and whole(desk, TRIAL) == 0


@exact
def wrenches(desk, frame):
    """The frame's wrenches if they are constant; none where the derivative of the forces has their part."""
    user = whole(desk, FRAME)
    count = 6 * whole(frame, N_BODIES) if whole(frame, HAS_WRENCH) != 0 and whole(frame, WRENCH_CALL) == 0 else 0
    return loads(frame, pointer_at(user), 2 * whole(frame, NV), count)


@exact
def swept(desk, address, frame, t, y, qdot, pdot):
    """Rates of the state at the address y, forces included, by a sweep in the slot in use; the code."""
    nq, nv, user = whole(frame, NQ), whole(frame, NV), whole(desk, FRAME)
    q, p, work = array_at(y, nq), array_at(y + 8 * nq, nv), array_at(slot_of(desk, address), UNKNOWN)
    tau = joint_forces(frame, pointer_at(user), t, q, p, work)
    code = whole(frame, STATUS)
    if code == OK:
        code = call_rhs(whole(desk, SWEEP), t, y, y + 8 * nq, data_of(tau) if tau.shape[0] > 0 else 0, data_of(qdot),
                        data_of(pdot), user, data_of(work))
    put(frame, STATUS, code)
    return code


@noinline
def force_derivatives(desk, frame, t, y, out, moved):
    """d tau/d(q, p, u), nv x (nq + 2 nv), of the frame's force functions; `moved` has room for the state. The code.

    By q and p at constant u, where the functions depend on u by name; differences have it all in q and p.
    """
    nq, nv = whole(frame, NQ), whole(frame, NV)
    n = nq + nv
    for k in range(nv * (n + nv)):
        put(out, k, 0.0)
    put(frame, STATUS, OK)
    if whole(desk, FORCES) != DIFFERENCES:
        before = array_at(y, n)
        call_load(whole(desk, FORCES), t, before, array_at(y + 8 * nq, nv), out, whole(desk, FRAME))
        if whole(frame, STATUS) != OK:
            return whole(frame, STATUS)
        return BAD_TAU if beyond(out, LIMIT) else OK
    user, work = pointer_at(whole(desk, FRAME)), array_at(whole(desk, FRAME) + 8 * whole(frame, SIZE), UNKNOWN)
    state = array_at(y, n)
    for k in range(n):
        put(moved, k, get(state, k))
    for k in range(n):
        x = get(state, k)
        h = STEP * max(1.0, abs(x))
        h = (x + h) - x
        for j in range(4):
            shift = (-2.0 if j == 0 else -1.0 if j == 1 else 1.0 if j == 2 else 2.0) * h
            weight = (1.0 if j == 0 else -8.0 if j == 1 else 8.0 if j == 2 else -1.0) / (12.0 * h)
            put(moved, k, x + shift)
            q, p = array_at(data_of(moved), nq), array_at(data_of(moved) + 8 * nq, nv)
            tau = joint_forces(frame, user, t, q, p, work)
            if whole(frame, STATUS) != OK:
                return whole(frame, STATUS)
            for i in range(tau.shape[0]):
                put(out, i * (n + nv) + k, get(out, i * (n + nv) + k) + weight * get(tau, i))
        put(moved, k, x)
    return BAD_TAU if beyond(out, LIMIT) else OK
