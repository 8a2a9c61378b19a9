"""An operation on the rows of row-major arrays: to lanes and back, shared out between threads without Python.

A *job* is a list of words: where the arrays are, and counters. Whoever works on it takes pieces of rows until none is
left. Other threads wait at *slots*, one word each:

    ABSENT    nobody is there        READY   a thread looks at the word again and again
    BUSY      it works on a job      else    the address of a job that wants to be taken

Who calls `run_job` leaves its job at slots that are ready, else at absent ones, works itself, and takes the job back
from slots where nobody has come for it: it waits only for threads that have begun, and after a while returns `STALLED`
to say so; `wait_on` goes on waiting. A thread that looks is there in less than a microsecond; one that sleeps takes 0.1
to 0.3 ms to wake, as long as 1000 states of 7 bodies. So `serve` looks for a while before it returns.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy import nan

from .arguments import UNKNOWN, WORDS, call_on_lanes, call_operation, integers_at, stack_words
from .atomics import WORD, count_up, give_way, pause, peek, poke, replace
from .checks import OK
from .columns import lower
from .entry import MOST
from .jit import c_function, checked, exact
from .lanes import put_constants
from .number import (
    LANES, VECTOR, accessor, all_at_most, array_at, array_of, get, lanes, lanes_at, magnitude, put, shuffled,
    transposed, vector_of,
)
from .operations import LANES_BYTES

# what `run_job` returns for arrays that share memory, and when other threads are still at work on a job
SHARED, STALLED = -1, -2
# places in a buffer of lanes: t, codes, and from there on the arguments of the operation one by one, and its workspace
B_T, B_CODES, B_ARGUMENTS = 0, 1, 2
# words of a slot: its state, and how many jobs were done there (which nobody needs but tests)
SLOT, JOBS = 0, 1
SLOT_SIZE = 8  # a cache line
ABSENT, READY, BUSY = 0, 1, 2
PATIENCE = 1000  # looks for the end of a job before other threads are let through
LOOKS = 5_000  # looks for it before Python hears of it: milliseconds, a second on a busy machine
# words of a job: numbers, addresses and counts
JOB_FUNCTION, BLOCK, END, STEP, N_INPUTS, N_ARGUMENTS = 0, 1, 2, 3, 4, 5
PLACES, N_PLACES, VALUES, TIMES, N_TIMES, AT_CODES = 6, 7, 8, 9, 10, 11  # AT_CODES 0: nobody wants to know them
BUFFER, BUFFER_SIZE, OWN, OWN_SIZE = 12, 13, 14, 15  # of the first thread, and bytes from one thread to the next
NEXT, JOINED, DONE, BAD = 16, 17, 18, 19  # next row; threads that work or have, and that left; rows without a result
CAME = 20  # helpers that took the job
ALONE = 21  # whether the function is for one state: rows are its arguments as they are
N_VALUES = 22  # numbers at VALUES, of all states
SIDE = 23  # 0, or the results are symmetric matrices of so many rows, of which lanes have the lower half
ARRAYS = 24  # from here on of each argument: its address, numbers of a row, and rows: none, one for all states, or all
ARRAY = 3
JOB = ARRAYS + ARRAY * MOST  # and two words for each helper: a slot, and what was there before

TILE = 4  # numbers of a row that go to lanes together: a tile of them is LANES / TILE squares
TILE_ROW = vector_of(TILE)

get4, put4 = accessor(TILE)


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


def _joined(builder, parts):
    """Vectors one behind the other, as one."""
    while len(parts) > 1:
        places = range(2 * parts[0].type.count)
        parts = [shuffled(builder, a, b, places) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


@intrinsic
def get_tile(typingctx, array, first, column):
    """Numbers column, column + 1, ... of rows first, first + 1, ..., TILE of each, as a tuple of lanes."""
    def codegen(context, builder, sig, args):
        pointers = [_row_pointer(context, builder, sig, args, k) for k in range(LANES)]
        rows = [builder.load(builder.bitcast(pointer, TILE_ROW.as_pointer()), align=8) for pointer in pointers]
        squares = [transposed(builder, rows[k:k + TILE]) for k in range(0, LANES, TILE)]
        made = [_joined(builder, [square[k] for square in squares]) for k in range(TILE)]
        return context.make_tuple(builder, sig.return_type, made)
    return types.UniTuple(lanes, TILE)(array, types.intp, types.intp), codegen


@intrinsic
def put_tile(typingctx, array, first, column, x):
    """The way back."""
    def codegen(context, builder, sig, args):
        columns = [builder.extract_value(args[3], k) for k in range(TILE)]
        for begin in range(0, LANES, TILE):
            square = [shuffled(builder, c, c, range(begin, begin + TILE)) for c in columns]
            for k, row in enumerate(transposed(builder, square)):
                pointer = _row_pointer(context, builder, sig, args, begin + k)
                builder.store(row, builder.bitcast(pointer, TILE_ROW.as_pointer()), align=8)
        return context.get_dummy_value()
    return types.void(array, types.intp, types.intp, types.UniTuple(lanes, TILE)), codegen


@exact
def rows_to_lanes(rows, first, x, at):
    """LANES rows from `first` on to the lanes of numbers at, at + 1, ... of x."""
    n = rows.shape[1]
    if n >= TILE:
        for i in range(0, n - TILE, TILE):
            put4(x, at + i, get_tile(rows, first, i))
        put4(x, at + n - TILE, get_tile(rows, first, n - TILE))  # some of them for the second time
    else:
        for i in range(n):
            put(x, at + i, get_rows(rows, first, i))


@exact
def lanes_to_rows(x, at, rows, first):
    """The way back."""
    n = rows.shape[1]
    if n >= TILE:
        for i in range(0, n - TILE, TILE):
            put_tile(rows, first, i, get4(x, at + i))
        put_tile(rows, first, n - TILE, get4(x, at + n - TILE))
    else:
        for i in range(n):
            put_rows(rows, first, i, get(x, at + i))


@exact
def pack(rows, first, end, x, at):
    """Rows first, ..., end - 1 to the lanes of x from `at` on; the last block is filled up with its last row. One row
    is for all lanes."""
    n = rows.shape[1]
    if rows.shape[0] > 1 and first + LANES <= end:
        rows_to_lanes(rows, first, x, at)
    else:
        for k in range(LANES):
            row = min(first + k, end - 1) if rows.shape[0] > 1 else 0
            for i in range(n):
                x[at + i, k] = rows[row, i]


@exact
def place_in_half(j, k):
    """Where lanes have element (j, k) of a symmetric matrix."""
    return lower(j, k) if k <= j else lower(k, j)


@exact
def half_to_rows(x, at, n, rows, first):
    """The way back for symmetric matrices of n rows, of which lanes have the lower half: row by row, TILE elements at
    once, the last of a row once more."""
    for j in range(n):
        if n < TILE:
            for k in range(n):
                put_rows(rows, first, j * n + k, get(x, at + place_in_half(j, k)))
        for tile in range(0, n if n >= TILE else 0, TILE):
            k = min(tile, n - TILE)
            if k + TILE <= j + 1:
                four = get4(x, at + lower(j, k))
            else:
                four = (get(x, at + place_in_half(j, k)), get(x, at + place_in_half(j, k + 1)),
                        get(x, at + place_in_half(j, k + 2)), get(x, at + place_in_half(j, k + 3)))
            put_tile(rows, first, j * n + k, four)


@exact
def unpack(x, at, good, status, first, end, side, rows):
    """The way back; NaN where there is no result. `good`: all lanes have one."""
    n = rows.shape[1]
    if good:
        if side > 0:
            half_to_rows(x, at, side, rows, first)
        else:
            lanes_to_rows(x, at, rows, first)
        return
    for k in range(min(LANES, end - first)):
        for i in range(n):
            place = place_in_half(i // side, i % side) if side > 0 else i
            rows[first + k, i] = x[at + place, k] if status[0, k] == OK else nan


@exact
def put_codes(status, first, end, codes):
    """The codes of states first, ..., end - 1, if anybody wants them; how many are not OK."""
    bad = 0
    for k in range(min(LANES, end - first)):
        if codes.shape[0] > 0:
            codes[first + k] = int(status[0, k])
        bad += status[0, k] != OK
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
@intrinsic
def rows_at(typingctx, address, count, columns):
    """Row-major float64 array."""
    array_type = types.Array(types.float64, 2, "C")

    def codegen(context, builder, sig, args):
        return array_of(context, builder, array_type, args[0], args[1:])
    return array_type(*[types.intp] * 3), codegen


@exact
def array_of_job(words, k):
    """Argument k of a job."""
    at = ARRAYS + ARRAY * k
    return rows_at(words[at], words[at + 2], words[at + 1])


@exact
def codes_of_job(words):
    """Where the codes of all rows go; none where nobody wants to know them."""
    return integers_at(words[AT_CODES], words[END] if words[AT_CODES] != 0 else 0)


@checked
def work_on(job):
    """Take pieces of a job until none is left."""
    if integers_at(job, JOB)[ALONE] != 0:
        work_on_each(job)
    else:
        work_on_lanes(job)


@checked
def work_on_each(job):
    """The same for a function of one state. Results go to memory that is at hand, and from there to their row in one
    sweep: written here and there, each line of a large matrix would be waited for."""
    words = integers_at(job, JOB)
    end, step, inputs, count = words[END], words[STEP], words[N_INPUTS], words[N_ARGUMENTS]
    codes, t = codes_of_job(words), array_at(words[TIMES], words[N_TIMES])
    work = words[BUFFER] + count_up(job + WORD * JOINED, 1) * words[BUFFER_SIZE]
    arguments = stack_words(16)
    placed, bad = integers_at(arguments, WORDS * MOST), 0
    for j in range(inputs, count):
        size = words[ARRAYS + ARRAY * j + 1]
        placed[WORDS * j], placed[WORDS * j + 1] = work, size
        work += WORD * size
    begin = count_up(job + WORD * NEXT, step)
    while begin < end:
        for row in range(begin, min(begin + step, end)):
            for j in range(inputs):
                at = ARRAYS + ARRAY * j
                size, rows = words[at + 1], words[at + 2]
                placed[WORDS * j] = words[at] + WORD * size * (row if rows > 1 else 0)
                placed[WORDS * j + 1] = size if rows > 0 else 0
            code = call_operation(words[JOB_FUNCTION], t[row if t.shape[0] > 1 else 0], arguments, words[BLOCK], work)
            if code != OK:
                if codes.shape[0] > 0:
                    codes[row] = code
                bad += 1
            for j in range(inputs, count):
                results, made = array_of_job(words, j), array_at(placed[WORDS * j], placed[WORDS * j + 1])
                for i in range(made.shape[0]):
                    results[row, i] = made[i] if code == OK else nan
        begin = count_up(job + WORD * NEXT, step)
    count_up(job + WORD * BAD, bad)


@checked
def work_on_lanes(job):
    """The same for a function of LANES states."""
    words = integers_at(job, JOB)
    end, step, inputs, count = words[END], words[STEP], words[N_INPUTS], words[N_ARGUMENTS]
    codes, t = codes_of_job(words), array_at(words[TIMES], words[N_TIMES])
    n_places, side = words[N_PLACES], words[SIDE]
    places, values = integers_at(words[PLACES], n_places), rows_at(words[VALUES], end, n_places)
    who = count_up(job + WORD * JOINED, 1)
    at, own = words[BUFFER] + who * words[BUFFER_SIZE], words[OWN] + who * words[OWN_SIZE]
    memory, status = lanes_at(at, UNKNOWN), lanes_at(at + LANES_BYTES * B_CODES, 1)
    arguments = stack_words(16)
    placed, place = integers_at(arguments, WORDS * MOST), B_ARGUMENTS
    for j in range(count):
        size = words[ARRAYS + ARRAY * j + 1] if words[ARRAYS + ARRAY * j + 2] > 0 else 0
        size = lower(side, 0) if j >= inputs and side > 0 else size
        placed[WORDS * j], placed[WORDS * j + 1] = at + LANES_BYTES * place, size
        place += size
    work, bad = at + LANES_BYTES * place, 0
    begin = count_up(job + WORD * NEXT, step)
    while begin < end:
        stop = min(begin + step, end)
        for first in range(begin, stop, LANES):
            put_times(t, first, stop, lanes_at(at + LANES_BYTES * B_T, 1))
            place = B_ARGUMENTS
            for j in range(inputs):
                if placed[WORDS * j + 1] > 0:
                    pack(array_of_job(words, j), first, stop, memory, place)
                    place += placed[WORDS * j + 1]
            if n_places > 0:
                for k in range(LANES):
                    put_constants(places, values, min(first + k, stop - 1), lanes_at(own, UNKNOWN), k)
            call_on_lanes(words[JOB_FUNCTION], at + LANES_BYTES * B_T, arguments, at + LANES_BYTES * B_CODES,
                          words[BLOCK], own, work)
            good = first + LANES <= stop and all_at_most(magnitude(get(status, 0)), 1.0 * OK)
            if not good:
                bad += put_codes(status, first, stop, codes)
            for j in range(inputs, count):
                unpack(memory, place, good, status, first, stop, side, array_of_job(words, j))
                place += placed[WORDS * j + 1]
        begin = count_up(job + WORD * NEXT, step)
    count_up(job + WORD * BAD, bad)


@checked
def serve(slot, looks, jobs):
    """Do jobs at the slot at this address, until there was none for that many looks, or `jobs` are done."""
    left = looks
    while left > 0:
        job = peek(slot)
        if job == ABSENT:
            replace(slot, ABSENT, READY)
        elif job != READY and job != BUSY and replace(slot, job, BUSY):
            work_on(job)
            count_up(slot + WORD * JOBS, 1)
            poke(slot, READY)
            count_up(job + WORD * DONE, 1)  # from here on the job may vanish
            jobs -= 1
            left = looks if jobs > 0 else 1
        pause()
        left -= 1
        if left == 0 and not replace(slot, READY, ABSENT):
            left = 1  # a job has just come


@exact
def leave_job(job, asked, helpers, slots, count, wanted):
    """Leave a job at slots in the state `wanted` until `helpers` are asked in all; how many that are."""
    left = integers_at(job, UNKNOWN)
    for i in range(count):
        slot = slots + WORD * SLOT_SIZE * i
        if asked < helpers and replace(slot, wanted, job):
            left[JOB + 2 * asked], left[JOB + 2 * asked + 1] = slot, wanted
            asked += 1
    return asked


@exact
def take_back(job, asked):
    """Take a job back from where nobody has come for it; how many did come."""
    came, left = 0, integers_at(job, UNKNOWN)
    for j in range(asked):
        came += not replace(left[JOB + 2 * j], job, left[JOB + 2 * j + 1])
    return came


@exact
def outcome(job):
    """Wait for the helpers that took a job: how many rows have no result, or `STALLED` when they take long."""
    looks = 0
    while peek(job + WORD * DONE) != peek(job + WORD * CAME):
        pause()
        looks += 1
        if looks > LOOKS:
            return STALLED
        if looks > PATIENCE:
            give_way()
    return peek(job + WORD * BAD)


@checked
def wait_on(job):
    """Go on waiting for a job whose threads were late."""
    return outcome(job)


@exact
def meets(words, k, begin, count):
    """Whether result k of a job shares memory with `count` numbers that begin at an address."""
    at = ARRAYS + ARRAY * k
    return begin < words[at] + WORD * words[at + 1] * words[at + 2] and words[at] < begin + WORD * count


@exact
def shared(words):
    """Whether a result of a job would be written over what is to be read, or over another one."""
    found = 0
    for k in range(words[N_INPUTS], words[N_ARGUMENTS]):
        found += meets(words, k, words[TIMES], words[N_TIMES]) + meets(words, k, words[VALUES], words[N_VALUES])
        for j in range(k):
            at = ARRAYS + ARRAY * j
            found += meets(words, k, words[at], words[at + 1] * words[at + 2])
    return found != 0


@c_function(types.intp(*[types.intp] * 4))
def run_job(job, slots, count, helpers):
    """Do a job, all of whose words are filled in, at most with so many helpers from the `count` slots at an address.

    An argument of the operation has no row, one for all states, or one for each. `BUFFER` and `OWN` (the block in every
    lane, where constants vary) have a part for each thread; behind the words of the job are two for each helper. All of
    these are for this call alone. Codes are OK before. Returns how many rows have no result, these are NaN; `SHARED`
    and does nothing when results would be written over what is to be read; `STALLED` while other threads still write to
    all of these.
    """
    words = integers_at(job, JOB)
    if shared(words):
        return SHARED
    asked = leave_job(job, leave_job(job, 0, helpers, slots, count, READY), helpers, slots, count, ABSENT)
    work_on(job)
    words[CAME] = take_back(job, asked)
    return outcome(job)
