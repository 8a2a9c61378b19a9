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
)
from .drives import drive_value
from .entry import UNKNOWN, data_of, meet, would_spoil
from .forces import add_applied_forces, add_joint_forces
from .jit import c_function, checked, exact
from .layout import (
    BALL, DRIVE_VALUES, FREE, KIND, N_DRIVES, N_NODES, N_QUATERNIONS, NQ, NV, QI, drive_row, drive_values, margins_at,
    node_row,
)
from .number import LANES, VECTOR, all_at_most, array_at, door, get, lanes, lanes_at, magnitude, put, whole

ROW = 8 * LANES  # bytes of a number
RESULT_LIMIT = 1e300
SHARED = -1  # what `rhs_rows` returns for arrays that share memory
# places in a buffer of lanes: t, codes, and from Y on y, tau, dydt, work
B_T, B_CODES, B_Y = 0, 1, 2

get4, put4 = door(LANES)

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
        at = quaternion_place(block, i)
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


# ---- rows of row-major arrays ----
@exact
def put_constants(places, values, row, own, k):
    """The constants of the machine of state `row` into lane k of `own`."""
    for j in range(places.shape[0]):
        own[places[j], k] = values[row, j]


def _row_pointer(context, builder, sig, args, k):
    """Pointer to number args[2] in row args[1] + k of the row-major array args[0]."""
    array = context.make_array(sig.args[0])(context, builder, args[0])
    columns = builder.extract_value(array.shape, 1)
    row = builder.mul(builder.add(args[1], ir.Constant(args[1].type, k)), columns)
    return builder.gep(array.data, [builder.add(row, args[2])], inbounds=True)


@intrinsic
def get_rows(typingctx, array, first, column):
    """Number `column` of rows first, first + 1, ... as lanes."""
    def codegen(context, builder, sig, args):
        value = ir.Constant(VECTOR, ir.Undefined)
        for k in range(LANES):
            number = builder.load(_row_pointer(context, builder, sig, args, k))
            value = builder.insert_element(value, number, ir.Constant(ir.IntType(32), k))
        return value
    return lanes(array, types.intp, types.intp), codegen


@intrinsic
def put_rows(typingctx, array, first, column, x):
    """The lanes of x to number `column` of rows first, first + 1, ..."""
    def codegen(context, builder, sig, args):
        for k in range(LANES):
            number = builder.extract_element(args[3], ir.Constant(ir.IntType(32), k))
            builder.store(number, _row_pointer(context, builder, sig, args, k))
        return context.get_dummy_value()
    return types.void(array, types.intp, types.intp, lanes), codegen


def _transposed(builder, rows):
    """Columns of a 4 x 4 matrix from its rows."""
    def shuffled(a, b, places):
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), LANES), places))

    even, odd = (0, 4, 2, 6), (1, 5, 3, 7)
    a, b = shuffled(rows[0], rows[1], even), shuffled(rows[0], rows[1], odd)
    c, d = shuffled(rows[2], rows[3], even), shuffled(rows[2], rows[3], odd)
    low, high = (0, 1, 4, 5), (2, 3, 6, 7)
    return shuffled(a, c, low), shuffled(b, d, low), shuffled(a, c, high), shuffled(b, d, high)


@intrinsic
def get_square(typingctx, array, first, column):
    """Numbers column, column + 1, ... of rows first, first + 1, ..., LANES of each, as a tuple of lanes."""
    def codegen(context, builder, sig, args):
        pointers = [_row_pointer(context, builder, sig, args, k) for k in range(LANES)]
        rows = [builder.load(builder.bitcast(pointer, VECTOR.as_pointer()), align=8) for pointer in pointers]
        return context.make_tuple(builder, sig.return_type, _transposed(builder, rows))
    return types.UniTuple(lanes, LANES)(array, types.intp, types.intp), codegen


@intrinsic
def put_square(typingctx, array, first, column, x):
    """The way back."""
    def codegen(context, builder, sig, args):
        columns = [builder.extract_value(args[3], k) for k in range(LANES)]
        for k, row in enumerate(_transposed(builder, columns)):
            pointer = builder.bitcast(_row_pointer(context, builder, sig, args, k), VECTOR.as_pointer())
            builder.store(row, pointer, align=8)
        return context.get_dummy_value()
    return types.void(array, types.intp, types.intp, types.UniTuple(lanes, LANES)), codegen


@exact
def rows_to_lanes(rows, first, x, at):
    """LANES rows from `first` on to the lanes of numbers at, at + 1, ... of x."""
    n = rows.shape[1]
    if n >= LANES:
        for i in range(0, n - LANES, LANES):
            put4(x, at + i, get_square(rows, first, i))
        put4(x, at + n - LANES, get_square(rows, first, n - LANES))  # some of them for the second time
    else:
        for i in range(n):
            put(x, at + i, get_rows(rows, first, i))


@exact
def lanes_to_rows(x, at, rows, first):
    """The way back."""
    n = rows.shape[1]
    if n >= LANES:
        for i in range(0, n - LANES, LANES):
            put_square(rows, first, i, get4(x, at + i))
        put_square(rows, first, n - LANES, get4(x, at + n - LANES))
    else:
        for i in range(n):
            put_rows(rows, first, i, get(x, at + i))


@exact
def pack(Q, P, tau, first, end, y, forces):
    """States first, ..., end - 1 to lanes; the last block is filled up with its last state."""
    nq, nv = Q.shape[1], P.shape[1]
    if first + LANES <= end:
        rows_to_lanes(Q, first, y, 0)
        rows_to_lanes(P, first, y, nq)
    else:
        for k in range(LANES):
            row = min(first + k, end - 1)
            for i in range(nq):
                y[i, k] = Q[row, i]
            for i in range(nv):
                y[nq + i, k] = P[row, i]
    if tau.shape[0] > 0:
        for k in range(LANES):
            row = min(first + k, end - 1) if tau.shape[0] > 1 else 0
            for i in range(nv):
                forces[i, k] = tau[row, i]


@exact
def unpack(rates, status, first, end, Qdot, Pdot, codes):
    """Rates of states first, ..., end - 1 to rows; where there is none NaN, and why to `codes`. How many those are."""
    nq, nv, bad = Qdot.shape[1], Pdot.shape[1], 0
    if first + LANES <= end and all_at_most(magnitude(get(status, 0)), 1.0 * OK):
        lanes_to_rows(rates, 0, Qdot, first)
        lanes_to_rows(rates, nq, Pdot, first)
        return bad
    for k in range(min(LANES, end - first)):
        good = status[0, k] == OK
        codes[first + k] = int(status[0, k])
        bad += not good
        for i in range(nq):
            Qdot[first + k, i] = rates[i, k] if good else nan
        for i in range(nv):
            Pdot[first + k, i] = rates[nq + i, k] if good else nan
    return bad


@exact
def put_times(t, first, end, times):
    """The times of states first, ..., end - 1, of which there may be one for all."""
    if t.shape[0] == 1:
        put(times, 0, t[0])
    else:
        for k in range(LANES):
            times[0, k] = t[min(first + k, end - 1)]


@checked
def rhs_rows(function, block, places, values, own, t, Q, P, tau, Qdot, Pdot, codes, begin, end, buffer):
    """Rows begin .. end of Qdot, Pdot and their codes, which are OK before.

    `block` is an address. t has one number or one a row, tau no row, one or all; `own` (the block in every lane) and
    `buffer` are for this call alone. Returns how many rows have no result, these are NaN; `SHARED` and does nothing
    when results would be written over what is to be read.
    """
    if would_spoil(Qdot, Pdot, Q, P) or meet(Qdot, tau) or meet(Pdot, tau):
        return SHARED
    nq, nv, bad = Q.shape[1], P.shape[1], 0
    n = nq + nv
    at = data_of(buffer)
    at_y = at + ROW * B_Y
    at_tau = at_y + ROW * n
    at_rates = at_tau + ROW * nv
    at_codes = at + ROW * B_CODES
    for first in range(begin, end, LANES):
        put_times(t, first, end, lanes_at(at + ROW * B_T, 1))
        pack(Q, P, tau, first, end, lanes_at(at_y, n), lanes_at(at_tau, nv))
        if places.shape[0] > 0:
            for k in range(LANES):
                put_constants(places, values, min(first + k, end - 1), own, k)
        call_lanes(function, at + ROW * B_T, at_y, at_tau if tau.shape[0] > 0 else 0, at_rates, at_codes, block,
                   data_of(own), at_rates + ROW * n)
        bad += unpack(lanes_at(at_rates, n), lanes_at(at_codes, 1), first, end, Qdot, Pdot, codes)
    return bad


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
