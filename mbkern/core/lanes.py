"""The right-hand sides on LANES states side by side. One C function per method serves every model.

    void f(double *t, double *y, double *tau, double *dydt, double *codes, double *block, double *own, double *work)

Every array but the block holds LANES numbers, one of each state, in the place of one: t and codes (1), y = (q, p) and
dydt (nq + nv), tau (nv, or a null pointer), own (the size of the block), work. `own` are constants of each state's
own machine, which the functions `varied_*` read instead of the block; the others ignore it. codes gets the status of
each state, see :mod:`.checks`. Lanes do not meet: what is wrong with one state never touches the others. A state that
cannot be evaluated is replaced in y by a harmless one, and its dydt means nothing.

:mod:`.rows` does this for the rows of row-major arrays, packing included.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from . import extended, extended_lu, multipliers, reduced
from .checks import (
    ANGLE_LIMIT, BAD_P, BAD_Q, BAD_QUATERNION, BAD_T, BAD_TAU, LIMIT, NOT_FINITE, OK, QUATERNION_SLACK, SINGULAR,
)
from .drives import drive_value
from .entry import UNKNOWN
from .forces import add_applied_forces, add_joint_forces
from .jit import c_function, checked, exact
from .joints import quaternion_place
from .layout import (
    DRIVE_VALUES, N_DRIVES, N_NODES, N_QUATERNIONS, NQ, NV, drive_row, drive_values, margins_at, node_row,
)
from .number import LANES, all_at_most, array_at, get, lanes_at, magnitude, put, whole

ROW = 8 * LANES  # bytes of a number
RESULT_LIMIT = 1e300

RHS_LANES = types.void(*[types.intp] * 8)


@intrinsic
def call_lanes(typingctx, address, t, y, tau, dydt, codes, block, own, work):
    """Call the function with signature `RHS_LANES` at `address`."""
    def codegen(context, builder, sig, args):
        word = ir.IntType(types.intp.bitwidth)
        function_type = ir.FunctionType(ir.VoidType(), [word] * 8)
        builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])
        return context.get_dummy_value()
    return types.void(*[types.intp] * 9), codegen


# ---- what is wrong with a lane ----
@exact
def column_beyond(x, k, limit):
    """Whether any |x_i| of lane k is greater than `limit` or not a number."""
    bad = 0
    for i in range(x.shape[0]):
        bad += not (abs(x[i, k]) <= limit)
    return bad != 0


@exact
def bad_lane_quaternion(block, q, k):
    for i in range(whole(block, N_NODES)):
        at = quaternion_place(block, node_row(i))
        if at >= 0:
            square = 0.0
            for j in range(4):
                square += q[at + j, k] * q[at + j, k]
            if not (1.0 - QUATERNION_SLACK) ** 2 < square < (1.0 + QUATERNION_SLACK) ** 2:
                return True
    return False


@exact
def lane_code(block, t, q, p, tau, k):
    """Code of what is wrong with the state in lane k; in the order in which a single state is checked."""
    if not abs(t[k]) <= LIMIT:
        return BAD_T
    if column_beyond(q, k, ANGLE_LIMIT):
        return BAD_Q
    if column_beyond(p, k, LIMIT):
        return BAD_P
    if column_beyond(tau, k, LIMIT):
        return BAD_TAU
    if whole(block, N_QUATERNIONS) > 0 and bad_lane_quaternion(block, q, k):
        return BAD_QUATERNION
    return OK


@exact
def make_harmless(block, t, q, p, tau, k):
    """Put the neutral state at rest into lane k."""
    t[k] = 0.0
    for i in range(q.shape[0]):
        q[i, k] = 0.0
    for i in range(p.shape[0]):
        p[i, k] = 0.0
    for i in range(tau.shape[0]):
        tau[i, k] = 0.0
    for i in range(whole(block, N_NODES)):
        at = quaternion_place(block, node_row(i))
        if at >= 0:
            q[at, k] = 1.0


@exact
def add_sizes(total, x):
    """total + sum of |x_i|, lane by lane; not a number where one is not."""
    for i in range(x.shape[0]):
        total = total + magnitude(get(x, i))
    return total


@exact
def suspicious(block, t, y, tau):
    """Whether any lane needs a closer look. Asked in every evaluation: as a rule the sums are small, that is all."""
    nq, nv = whole(block, NQ), whole(block, NV)
    q, times = lanes_at(y, nq), lanes_at(t, 1)
    if not all_at_most(add_sizes(add_sizes(0.0 * get(times, 0), times), q), ANGLE_LIMIT):
        return True
    sizes = add_sizes(0.0 * get(times, 0), lanes_at(y + ROW * nq, nv))
    if not all_at_most(add_sizes(sizes, lanes_at(tau, nv if tau != 0 else 0)), LIMIT):
        return True
    if whole(block, N_QUATERNIONS) == 0:
        return False
    off = 0.0 * get(times, 0)
    for i in range(whole(block, N_NODES)):
        at = quaternion_place(block, node_row(i))
        if at >= 0:
            a, b, c, d = get(q, at), get(q, at + 1), get(q, at + 2), get(q, at + 3)
            off = off + magnitude(a * a + b * b + c * c + d * d - 1.0)
    return not all_at_most(off, QUATERNION_SLACK)  # smaller than what is allowed


@exact
def evaluate_lane_drives(block, t, work):
    """Fill the drive values of all lanes, each for its own time."""
    for d in range(whole(block, N_DRIVES)):
        at, row = drive_values(block, d), drive_row(block, d)
        for k in range(LANES):
            if k > 0 and t[k] == t[k - 1]:
                for j in range(DRIVE_VALUES):
                    work[at + j, k] = work[at + j, k - 1]
            else:
                x, xd, xdd, margin = drive_value(block, row, t[k])
                work[at, k] = x
                work[at + 1, k] = xd
                work[at + 2, k] = xdd
                work[at + 3, k] = margin


@checked
def prepare(t, y, tau, codes, block, work):
    """Check all lanes, make the bad ones harmless, evaluate the drives."""
    constants, times = array_at(block, UNKNOWN), array_at(t, LANES)
    put(lanes_at(codes, 1), 0, 1.0 * OK)
    if suspicious(constants, t, y, tau):
        nq, nv, status = whole(constants, NQ), whole(constants, NV), array_at(codes, LANES)
        q, p, forces = lanes_at(y, nq), lanes_at(y + ROW * nq, nv), lanes_at(tau, nv if tau != 0 else 0)
        for k in range(LANES):
            status[k] = lane_code(constants, times, q, p, forces, k)
            if status[k] != OK:
                make_harmless(constants, times, q, p, forces, k)
    evaluate_lane_drives(constants, times, lanes_at(work, UNKNOWN))


@checked
def conclude(dydt, codes, block, work):
    """Add to the codes what the sweeps found: margins that are not positive, results that are not finite."""
    constants = array_at(block, UNKNOWN)
    n, size = whole(constants, N_NODES), whole(constants, NQ) + whole(constants, NV)
    margin, rates = lanes_at(work + ROW * margins_at(constants), n), lanes_at(dydt, size)
    zero = 0.0 * get(lanes_at(codes, 1), 0)
    below = zero
    for i in range(n):  # 0 while all are positive; where one is exactly 0, the rates are not finite
        below = below + (magnitude(get(margin, i)) - get(margin, i))
    if all_at_most(below, 0.0) and all_at_most(add_sizes(zero, rates), RESULT_LIMIT):
        return
    status = array_at(codes, LANES)
    for k in range(LANES):
        if status[k] == OK:
            singular = 0
            for i in range(n):
                singular += not (margin[i, k] > 0.0)
            if singular != 0:
                status[k] = SINGULAR
            elif column_beyond(rates, k, RESULT_LIMIT):
                status[k] = NOT_FINITE


@exact
def put_constants(places, values, row, own, k):
    """The constants of the machine of state `row` into lane k of `own`."""
    for j in range(places.shape[0]):
        own[places[j], k] = values[row, j]


# ---- the methods ----
@exact
def parts(shared, y, tau, dydt, work):
    """q, p, tau, qdot, pdot and work as arrays of lanes."""
    nq, nv = whole(shared, NQ), whole(shared, NV)
    return (lanes_at(y, nq), lanes_at(y + ROW * nq, nv), lanes_at(tau, nv if tau != 0 else 0),
            lanes_at(dydt, nq), lanes_at(dydt + ROW * nq, nv), lanes_at(work, UNKNOWN))


@c_function(RHS_LANES)
def lanes_emh_ldl(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(t, y, tau, codes, block, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    extended.backward(shared, q, p, memory)  # its sweeps one by one: a call would take longer than a node
    extended.forward(shared, q, p, qdot, pdot, memory)
    add_joint_forces(shared, q, forces, pdot, memory)
    conclude(dydt, codes, block, work)


@c_function(RHS_LANES)
def lanes_emh_ldl_of_hinges(t, y, tau, dydt, codes, block, own, work):
    """`lanes_emh_ldl` for a tree of hinges, the same bits: it is compiled in half the time."""
    shared = array_at(block, UNKNOWN)
    prepare(t, y, tau, codes, block, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    extended.backward_of_hinges(shared, q, p, memory)
    extended.forward_of_hinges(shared, qdot, pdot, memory)
    add_applied_forces(shared, q, forces, pdot, memory)
    conclude(dydt, codes, block, work)


@c_function(RHS_LANES)
def varied_emh_ldl(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(t, y, tau, codes, block, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    extended.sweeps(lanes_at(own, UNKNOWN), q, p, forces, qdot, pdot, memory)
    conclude(dydt, codes, block, work)


@c_function(RHS_LANES)
def lanes_emh_lu(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(t, y, tau, codes, block, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    extended_lu.sweeps(shared, q, p, forces, qdot, pdot, memory)
    conclude(dydt, codes, block, work)


@c_function(RHS_LANES)
def varied_emh_lu(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(t, y, tau, codes, block, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    extended_lu.sweeps(lanes_at(own, UNKNOWN), q, p, forces, qdot, pdot, memory)
    conclude(dydt, codes, block, work)


@c_function(RHS_LANES)
def lanes_dah(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(t, y, tau, codes, block, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    reduced.sweeps(shared, q, p, forces, qdot, pdot, memory)
    conclude(dydt, codes, block, work)


@c_function(RHS_LANES)
def varied_dah(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(t, y, tau, codes, block, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    reduced.sweeps(lanes_at(own, UNKNOWN), q, p, forces, qdot, pdot, memory)
    conclude(dydt, codes, block, work)


@c_function(RHS_LANES)
def lanes_hzu(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(t, y, tau, codes, block, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    multipliers.sweeps(shared, q, p, forces, qdot, pdot, memory)
    conclude(dydt, codes, block, work)


@c_function(RHS_LANES)
def varied_hzu(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(t, y, tau, codes, block, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    multipliers.sweeps(lanes_at(own, UNKNOWN), q, p, forces, qdot, pdot, memory)
    conclude(dydt, codes, block, work)
