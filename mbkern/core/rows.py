"""`rhs` of the rows of row-major arrays: to lanes and back, shared out between threads without Python in between.

A *job* is a list of words: where the arrays are, and counters. Whoever works on it takes pieces of rows until none is
left. Other threads wait at *slots*, one word each:

    ABSENT    nobody is there        FREE    a thread looks at the word again and again
    BUSY      it works on a job      else    the address of a job that wants to be taken

Who calls `rhs_rows` leaves its job at slots that are free, else at absent ones, works itself, and takes the job back
from slots where nobody has come for it: it waits only for threads that have begun. A thread that looks is there in less
than a microsecond; one that sleeps takes 0.1 to 0.3 ms to wake, as long as 1000 states of 7 bodies. So `serve` looks
for a while before it returns.
"""

from llvmlite import ir
from numba import types
from numba.core.typing import signature
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array
from numpy import nan

from .atomics import WORD, count_up, give_way, pause, peek, poke, replace
from .checks import OK
from .entry import UNKNOWN, data_of, aliases
from .jit import checked, exact
from .lanes import ROW, call_lanes, put_constants
from .number import LANES, VECTOR, all_at_most, array_at, accessor, get, lanes, lanes_at, magnitude, put

SHARED = -1  # what `rhs_rows` returns for arrays that share memory
# places in a buffer of lanes: t, codes, and from Y on y, tau, dydt, work
B_T, B_CODES, B_Y = 0, 1, 2
# words of a slot: its state, and how many jobs were done there (which nobody needs but tests)
SLOT, JOBS = 0, 1
SLOT_SIZE = 8  # a cache line
ABSENT, FREE, BUSY = 0, 1, 2
PATIENCE = 1000  # looks for the end of a job before other threads are let through
# words of a job: numbers, addresses and counts
FUNCTION, BLOCK, N_Q, N_V, END, STEP = 0, 1, 2, 3, 4, 5
PLACES, N_PLACES, VALUES, TIMES, N_TIMES, TAU, N_TAU = 6, 7, 8, 9, 10, 11, 12
AT_Q, AT_P, AT_QDOT, AT_PDOT, AT_CODES = 13, 14, 15, 16, 17
BUFFER, BUFFER_SIZE, OWN, OWN_SIZE = 18, 19, 20, 21  # of the first thread, and bytes from one thread to the next
NEXT, JOINED, DONE, BAD = 24, 25, 26, 27  # next row; threads that came, and that left; rows without a result
JOB = 32  # and two words for each helper: a slot, and what was there before

get4, put4 = accessor(LANES)


# ---- rows to lanes and back ----
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


# ---- jobs ----
def _array_at(array_type):
    """Array of a type over numbers at an address, from its shape; whoever passes the address keeps them alive."""
    def codegen(context, builder, sig, args):
        array = context.make_array(array_type)(context, builder)
        item = ir.Constant(ir.IntType(types.intp.bitwidth), 8)
        shape = list(args[1:])
        strides = [builder.mul(item, shape[1]), item] if len(shape) == 2 else [item]
        data = builder.inttoptr(args[0], context.get_data_type(array_type.dtype).as_pointer())
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=item, meminfo=None)
        return array._getvalue()
    return signature(array_type, *[types.intp] * (1 + array_type.ndim)), codegen


@intrinsic
def rows_at(typingctx, address, count, columns):
    """Row-major float64 array."""
    return _array_at(types.Array(types.float64, 2, "C"))


@intrinsic
def integers_at(typingctx, address, count):
    """Integer array."""
    return _array_at(types.Array(types.int64, 1, "C"))


@checked
def work_on(job):
    """Take pieces of a job until none is left."""
    words = integers_at(job, JOB)
    nq, nv, end, step = words[N_Q], words[N_V], words[END], words[STEP]
    n = nq + nv
    Q, P = rows_at(words[AT_Q], end, nq), rows_at(words[AT_P], end, nv)
    Qdot, Pdot = rows_at(words[AT_QDOT], end, nq), rows_at(words[AT_PDOT], end, nv)
    codes = integers_at(words[AT_CODES], end)
    t, tau = array_at(words[TIMES], words[N_TIMES]), rows_at(words[TAU], words[N_TAU], nv)
    n_places = words[N_PLACES]
    places, values = integers_at(words[PLACES], n_places), rows_at(words[VALUES], end, n_places)
    who = count_up(job + WORD * JOINED, 1)
    at, own = words[BUFFER] + who * words[BUFFER_SIZE], words[OWN] + who * words[OWN_SIZE]
    at_y = at + ROW * B_Y
    at_tau = at_y + ROW * n
    at_rates = at_tau + ROW * nv
    at_codes = at + ROW * B_CODES
    bad = 0
    begin = count_up(job + WORD * NEXT, step)
    while begin < end:
        stop = min(begin + step, end)
        for first in range(begin, stop, LANES):
            put_times(t, first, stop, lanes_at(at + ROW * B_T, 1))
            pack(Q, P, tau, first, stop, lanes_at(at_y, n), lanes_at(at_tau, nv))
            if n_places > 0:
                for k in range(LANES):
                    put_constants(places, values, min(first + k, stop - 1), lanes_at(own, UNKNOWN), k)
            call_lanes(words[FUNCTION], at + ROW * B_T, at_y, at_tau if tau.shape[0] > 0 else 0, at_rates, at_codes,
                       words[BLOCK], own, at_rates + ROW * n)
            bad += unpack(lanes_at(at_rates, n), lanes_at(at_codes, 1), first, stop, Qdot, Pdot, codes)
        begin = count_up(job + WORD * NEXT, step)
    count_up(job + WORD * BAD, bad)


@checked
def serve(slot, looks, jobs):
    """Do jobs at the slot at this address, until there was none for that many looks, or `jobs` are done."""
    left = looks
    while left > 0:
        job = peek(slot)
        if job == ABSENT:
            replace(slot, ABSENT, FREE)
        elif job != FREE and job != BUSY and replace(slot, job, BUSY):
            work_on(job)
            count_up(slot + WORD * JOBS, 1)
            poke(slot, FREE)
            count_up(job + WORD * DONE, 1)  # from here on the job may vanish
            jobs -= 1
            left = looks if jobs > 0 else 1
        pause()
        left -= 1
        if left == 0 and not replace(slot, FREE, ABSENT):
            left = 1  # a job has just come


@exact
def leave_job(job, asked, helpers, slots, wanted):
    """Leave a job at slots in the state `wanted` until `helpers` are asked in all; how many that are."""
    for i in range(slots.shape[0]):
        slot = data_of(slots) + WORD * SLOT_SIZE * i
        if asked < helpers and replace(slot, wanted, data_of(job)):
            job[JOB + 2 * asked], job[JOB + 2 * asked + 1] = slot, wanted
            asked += 1
    return asked


@exact
def take_back(job, asked):
    """Take a job back from where nobody has come for it; how many did come."""
    came = 0
    for j in range(asked):
        came += not replace(job[JOB + 2 * j], data_of(job), job[JOB + 2 * j + 1])
    return came


@checked
def rhs_rows(function, block, places, values, t, Q, P, tau, Qdot, Pdot, codes, begin, end, step, buffers, own, job,
             slots, helpers):
    """Rows begin .. end of Qdot, Pdot and their codes, which are OK before; at most that many helpers.

    `block` is an address. t has one number or one a row, tau no row, one or all. `buffers` and `own` (the block in
    every lane; empty unless constants vary) have a part for each thread, `job` has JOB words and two for each helper;
    all three are for this call alone. Returns how many rows have no result, these are NaN; `SHARED` and does nothing
    when results would be written over what is to be read.
    """
    if aliases(Qdot, Pdot, Q, P) or aliases(Qdot, Pdot, t, tau) or aliases(Qdot, Pdot, values, values):
        return SHARED
    job[FUNCTION], job[BLOCK], job[END], job[STEP] = function, block, end, step
    job[N_Q], job[N_V] = Q.shape[1], P.shape[1]
    job[PLACES], job[N_PLACES], job[VALUES] = data_of(places), places.shape[0], data_of(values)
    job[TIMES], job[N_TIMES], job[TAU], job[N_TAU] = data_of(t), t.shape[0], data_of(tau), tau.shape[0]
    job[AT_Q], job[AT_P], job[AT_QDOT], job[AT_PDOT] = data_of(Q), data_of(P), data_of(Qdot), data_of(Pdot)
    job[AT_CODES] = data_of(codes)
    job[BUFFER], job[BUFFER_SIZE] = data_of(buffers), ROW * buffers.shape[1]
    job[OWN], job[OWN_SIZE] = data_of(own), ROW * own.shape[1]
    job[NEXT], job[JOINED], job[DONE], job[BAD] = begin, 0, 0, 0
    asked = leave_job(job, leave_job(job, 0, helpers, slots, FREE), helpers, slots, ABSENT)
    at = data_of(job)
    work_on(at)
    came, looks = take_back(job, asked), 0
    while peek(at + WORD * DONE) != came:
        pause()
        looks += 1
        if looks > PATIENCE:
            give_way()
    return peek(at + WORD * BAD)
