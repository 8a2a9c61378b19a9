"""The right-hand sides on LANES states side by side. One C function per method serves every model.

    void f(double *t, double *y, double *tau, double *dydt, double *codes, double *block, double *own, double *work)

Every array but the block holds LANES numbers, one of each state, in the place of one: t and codes (1), y = (q, p) and
dydt (nq + nv), tau (nv, or a null pointer), own (the size of the block), work. `own` are constants of each state's
own machine, which the functions `varied_*` read instead of the block; the others ignore it. codes gets the status of
each state, see :mod:`.checks`. Lanes do not meet: what is wrong with one state never touches the others. A state that
cannot be evaluated is replaced in y by a harmless one, and its dydt means nothing.

`rhs_rows` does this for the rows of row-major arrays, packing included.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy import nan

from . import extended, extended_lu, multipliers, reduced
from .checks import (
    ANGLE_LIMIT, BAD_P, BAD_Q, BAD_QUATERNION, BAD_T, BAD_TAU, LIMIT, NOT_FINITE, OK, QUATERNION_SLACK, SINGULAR,
    beyond,
)
from .drives import drive_value
from .entry import UNKNOWN
from .jit import c_function, checked, exact
from .layout import (
    BALL, DRIVE_VALUES, FREE, KIND, N_DRIVES, N_NODES, N_QUATERNIONS, NQ, NV, QI, drive_row, drive_values, margins_at,
    node_row,
)
from .number import LANES, array_at, lanes_at, whole

ROW = 8 * LANES  # bytes of a number
RESULT_LIMIT = 1e300
# places in a buffer of lanes: t, codes, and from Y on y, tau, dydt, work
B_T, B_CODES, B_Y = 0, 1, 2

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
def quaternion_place(block, i):
    """Where the quaternion of node i is in q, or -1."""
    c = node_row(i)
    kind, qi = whole(block, c + KIND), whole(block, c + QI)
    return qi if kind == BALL else qi + 3 if kind == FREE else -1


@exact
def bad_lane_quaternion(block, q, k):
    for i in range(whole(block, N_NODES)):
        at = quaternion_place(block, i)
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
        at = quaternion_place(block, i)
        if at >= 0:
            q[at, k] = 1.0


@exact
def suspicious(block, t, y, tau):
    """Whether any lane needs a closer look: cheap, because it is asked in every evaluation."""
    nq, nv = whole(block, NQ), whole(block, NV)
    if beyond(array_at(t, LANES), LIMIT) or beyond(array_at(y, LANES * nq), ANGLE_LIMIT):
        return True
    if beyond(array_at(y + ROW * nq, LANES * nv), LIMIT) or (tau != 0 and beyond(array_at(tau, LANES * nv), LIMIT)):
        return True
    if whole(block, N_QUATERNIONS) > 0:
        q = lanes_at(y, nq)
        for k in range(LANES):
            if bad_lane_quaternion(block, q, k):
                return True
    return False


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
def prepare(block, t, y, tau, codes, work):
    """Check all lanes, make the bad ones harmless, evaluate the drives; the arguments are addresses but the block."""
    nq, nv = whole(block, NQ), whole(block, NV)
    status, times = array_at(codes, LANES), array_at(t, LANES)
    for k in range(LANES):
        status[k] = OK
    if suspicious(block, t, y, tau):
        q, p, forces = lanes_at(y, nq), lanes_at(y + ROW * nq, nv), lanes_at(tau, nv if tau != 0 else 0)
        for k in range(LANES):
            status[k] = lane_code(block, times, q, p, forces, k)
            if status[k] != OK:
                make_harmless(block, times, q, p, forces, k)
    evaluate_lane_drives(block, times, lanes_at(work, UNKNOWN))


@checked
def conclude(block, dydt, codes, work):
    """Add to the codes what the sweeps found: margins that are not positive, results that are not finite."""
    n, size = whole(block, N_NODES), whole(block, NQ) + whole(block, NV)
    at = work + ROW * margins_at(block)
    margins = array_at(at, LANES * n)
    bad = 0
    for i in range(LANES * n):
        bad += not (margins[i] > 0.0)
    if bad == 0 and not beyond(array_at(dydt, LANES * size), RESULT_LIMIT):
        return
    status, margin, rates = array_at(codes, LANES), lanes_at(at, n), lanes_at(dydt, size)
    for k in range(LANES):
        if status[k] == OK:
            singular = 0
            for i in range(n):
                singular += not (margin[i, k] > 0.0)
            if singular != 0:
                status[k] = SINGULAR
            elif column_beyond(rates, k, RESULT_LIMIT):
                status[k] = NOT_FINITE


# ---- rows of row-major arrays ----
@exact
def put_constants(places, values, row, own, k):
    """The constants of the machine of state `row` into lane k of `own`."""
    for j in range(places.shape[0]):
        own[places[j], k] = values[row, j]


@checked
def rhs_rows(function, block, places, values, own, t, Q, P, tau, Qdot, Pdot, codes, begin, end, buffer):
    """Rows begin .. end of Qdot, Pdot and their codes.

    t has one number or one a row, tau no row, one or all; `own` (the block in every lane) and `buffer` are for this
    call alone. Rows that have no result are NaN.
    """
    nq, nv = Q.shape[1], P.shape[1]
    n = nq + nv
    times, y, forces = buffer[B_T], buffer[B_Y:B_Y + n], buffer[B_Y + n:B_Y + n + nv]
    rates, status = buffer[B_Y + n + nv:B_Y + 2 * n + nv], buffer[B_CODES]
    at = buffer.ctypes.data
    at_y = at + ROW * B_Y
    at_tau = at_y + ROW * n
    at_rates = at_tau + ROW * nv
    for first in range(begin, end, LANES):
        for k in range(LANES):
            row = min(first + k, end - 1)  # the last block is filled up with its last state
            times[k] = t[row if t.shape[0] > 1 else 0]
            for i in range(nq):
                y[i, k] = Q[row, i]
            for i in range(nv):
                y[nq + i, k] = P[row, i]
            if tau.shape[0] > 0:
                for i in range(nv):
                    forces[i, k] = tau[row if tau.shape[0] > 1 else 0, i]
            put_constants(places, values, row, own, k)
        call_lanes(function, at + ROW * B_T, at_y, at_tau if tau.shape[0] > 0 else 0, at_rates, at + ROW * B_CODES,
                   block.ctypes.data, own.ctypes.data, at_rates + ROW * n)
        for k in range(min(LANES, end - first)):
            row = first + k
            codes[row] = int(status[k])
            good = status[k] == OK
            for i in range(nq):
                Qdot[row, i] = rates[i, k] if good else nan
            for i in range(nv):
                Pdot[row, i] = rates[nq + i, k] if good else nan


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
    prepare(shared, t, y, tau, codes, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    extended.sweeps(shared, q, p, forces, qdot, pdot, memory)
    conclude(shared, dydt, codes, work)


@c_function(RHS_LANES)
def varied_emh_ldl(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(shared, t, y, tau, codes, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    extended.sweeps(lanes_at(own, UNKNOWN), q, p, forces, qdot, pdot, memory)
    conclude(shared, dydt, codes, work)


@c_function(RHS_LANES)
def lanes_emh_lu(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(shared, t, y, tau, codes, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    extended_lu.sweeps(shared, q, p, forces, qdot, pdot, memory)
    conclude(shared, dydt, codes, work)


@c_function(RHS_LANES)
def varied_emh_lu(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(shared, t, y, tau, codes, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    extended_lu.sweeps(lanes_at(own, UNKNOWN), q, p, forces, qdot, pdot, memory)
    conclude(shared, dydt, codes, work)


@c_function(RHS_LANES)
def lanes_dah(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(shared, t, y, tau, codes, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    reduced.sweeps(shared, q, p, forces, qdot, pdot, memory)
    conclude(shared, dydt, codes, work)


@c_function(RHS_LANES)
def varied_dah(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(shared, t, y, tau, codes, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    reduced.sweeps(lanes_at(own, UNKNOWN), q, p, forces, qdot, pdot, memory)
    conclude(shared, dydt, codes, work)


@c_function(RHS_LANES)
def lanes_hzu(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(shared, t, y, tau, codes, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    multipliers.sweeps(shared, q, p, forces, qdot, pdot, memory)
    conclude(shared, dydt, codes, work)


@c_function(RHS_LANES)
def varied_hzu(t, y, tau, dydt, codes, block, own, work):
    shared = array_at(block, UNKNOWN)
    prepare(shared, t, y, tau, codes, work)
    q, p, forces, qdot, pdot, memory = parts(shared, y, tau, dydt, work)
    multipliers.sweeps(lanes_at(own, UNKNOWN), q, p, forces, qdot, pdot, memory)
    conclude(shared, dydt, codes, work)
