"""Batches as built-in functions of Python: an operation on the rows of arrays, on as many threads as the caller says.

As :mod:`.builtin` does for one state, with the same plan up to ARRAYS; from there on

    BLOCK       address of the block
    ALONE       whether the operation is for one state at a time
    RUN         address of `run_job` of :mod:`mbkern.core.rows`
    SYMMETRIC   what that calls SIDE
    SLOTS, HELPERS    address of the slots of helpers, and how many there are
    BUFFERS, EACH_BUFFER    bytes from a frame to its buffers, and from the buffer of one thread to the next
    ROWS        of each array: whether it has a row for each state or one for all; whether it may be None; numbers of a
                row; its dimensions, and these without the states

A frame is a job of :mod:`mbkern.core.rows`, the time, and a buffer of lanes for each thread, from `frame_bytes` on. The
function takes (t, out, inputs ...) and answers `out`; (t, out, inputs ..., helpers, rows of a piece) share the work.
What it does not take as it is, and batches with a row that has no result, it leaves to Python, which does all of it
once more: it answers what refuse(code, t, out, inputs ...) does. Where helpers are late, the code is the address of the
frame, which is Python's from then on.
"""

from numpy import array, int64

from ..core import rows as R
from ..core.arguments import UNKNOWN, integers_at
from ..core.atomics import WORD
from ..core.checks import BAD_SHAPE, OK
from ..core.jit import c_function, exact
from ..core.number import array_at
from . import interpreter as py
from .builtin import (
    ARRAYS,
    BUILTIN,
    FUNCTION,
    IDLE,
    INPUTS,
    INTERFACE,
    MADE,
    NO_RESULT,
    POOL,
    RESULTS,
    borrowed,
    call_nothing,
    call_word,
    explained,
    is_array,
    number_in,
    result_at,
    word_at,
)

BLOCK, ALONE, RUN, SYMMETRIC, SLOTS, HELPERS, BUFFERS, EACH_BUFFER, ROWS = range(ARRAYS, ARRAYS + 9)
EACH, OPTIONAL, COLUMNS, DIMENSIONS, SIZES = 0, 1, 2, 3, 4  # of an array in the plan
LINE = 64  # bytes of a cache line


def frame_bytes(helpers):
    """Bytes of a frame before its buffers: a job, two words for each helper, the time.

    Examples
    --------
    >>> from mbkern.workspace.builtin_rows import frame_bytes
    >>> frame_bytes(0) % 64
    0
    """
    return -(-WORD * (R.JOB + 2 * helpers + 1) // LINE) * LINE


@exact
def is_of_shape(thing, plan, at, total):
    """Whether an array has the shape that is at this place of the plan, with `total` states where it has them."""
    each, dimensions = plan[at + EACH], plan[at + DIMENSIONS]
    shape = integers_at(word_at(thing + py.ARRAY_SHAPE), dimensions)
    if each != 0 and shape[0] != total:
        return False
    for j in range(each, dimensions):
        if shape[j] != plan[at + SIZES + j - each]:
            return False
    return True


@exact
def put_arrays(interface, plan, given, out, job):
    """How many states there are, and the arrays in the words of a job; -1 where one is not as it must be."""
    at, inputs, total = ROWS, plan[INPUTS], -1
    for k in range(inputs + plan[RESULTS]):
        thing = given[k] if k < inputs else result_at(interface, plan, out, k - inputs)
        each, dimensions, place = plan[at + EACH], plan[at + DIMENSIONS], R.ARRAYS + R.ARRAY * k
        job[place], job[place + 1], job[place + 2] = 0, plan[at + COLUMNS], 0
        if plan[at + OPTIONAL] == 0 or thing != interface[py.NONE]:
            if thing == 0 or not is_array(interface, thing, dimensions, py.READABLE if k < inputs else py.WRITEABLE):
                return -1
            if k == 0:
                total = word_at(word_at(thing + py.ARRAY_SHAPE))
            if not is_of_shape(thing, plan, at, total):
                return -1
            job[place], job[place + 2] = word_at(thing + py.ARRAY_DATA), total if each != 0 else 1
        at += SIZES + dimensions - each
    return total


@exact
def put_job(plan, frame, t, total, step, job):
    """All other words; no codes."""
    for k in range(R.ARRAYS):
        job[k] = 0
    at = frame + plan[BUFFERS] - WORD
    array_at(at, 1)[0] = t
    job[R.JOB_FUNCTION], job[R.BLOCK], job[R.ALONE] = plan[FUNCTION], plan[BLOCK], plan[ALONE]
    job[R.END], job[R.STEP] = total, step
    job[R.N_INPUTS], job[R.N_ARGUMENTS] = plan[INPUTS], plan[INPUTS] + plan[RESULTS]
    job[R.TIMES], job[R.N_TIMES] = at, 1
    job[R.BUFFER], job[R.BUFFER_SIZE] = frame + plan[BUFFERS], plan[EACH_BUFFER]
    job[R.SIDE] = plan[SYMMETRIC]


@exact
def attempted(interface, plan, given, t, out, helpers, step, new_frame):
    """OK when all rows have results, NO_RESULT when Python has raised, any other number when it has to look."""
    frame = borrowed(interface, plan, new_frame)
    if frame < 0:
        return frame if frame == NO_RESULT else BAD_SHAPE
    job = integers_at(frame, R.JOB)
    total, code = put_arrays(interface, plan, given, out, job), BAD_SHAPE
    if total >= 0:
        put_job(plan, frame, t, total, step if helpers > 0 else total, job)
        thread = call_word(interface[py.SAVE_THREAD], ())
        bad = call_word(plan[RUN], (frame, plan[SLOTS], plan[HELPERS] if helpers > 0 else 0, helpers))
        call_nothing(interface[py.RESTORE_THREAD], (thread,))
        if bad == R.STALLED:
            plan[MADE] -= 1
            return frame
        code = OK if bad == 0 else BAD_SHAPE
    plan[POOL + plan[IDLE]] = frame
    plan[IDLE] += 1
    return code


@c_function(BUILTIN)
def call(bound, objects, count):
    """Of `count` Python objects, (t, out, inputs ...), perhaps with helpers and rows of a piece behind them, the
    results; see the top of this file. 0 when Python raises."""
    own, given = integers_at(bound + py.ITEMS, 3), integers_at(objects, count)
    plan = integers_at(word_at(own[0] + py.ARRAY_DATA), UNKNOWN)
    interface, code = integers_at(plan[INTERFACE], UNKNOWN), BAD_SHAPE
    known, helpers, step = plan[INPUTS] + 2, 0, 0
    if count == known or count == known + 2:
        fine, t = number_in(interface, given[0])
        if count > known:
            helpers = min(call_word(interface[py.INT_OF], (given[known],)), plan[HELPERS])
            step = call_word(interface[py.INT_OF], (given[known + 1],))
        if fine:
            code = attempted(interface, plan, integers_at(objects + 2 * WORD, count), t, given[1], helpers, step,
                             own[2])
        if code == OK:
            return call_word(interface[py.SHARE], (given[1],))
    return 0 if code == NO_RESULT else explained(interface, own[1], code, min(count, known), given)


def function(operation, block, alone, side, arrays, inputs, refuse, new_frame, slots=None, buffer=0):
    """An operation on rows as a built-in function of Python, run(t, out, inputs ...).

    Parameters
    ----------
    operation, block : int
        Addresses of the operation, on lanes unless states go one by one (`alone`), and of the block.
    alone : bool
    side : int
        Rows of the results if these are symmetric matrices, else 0.
    arrays : list of (bool, bool, tuple of int)
        Of each array whether it has a row for each state, whether it may be None, and its shape for one state; inputs
        first.
    inputs : int
        How many of them are inputs.
    refuse, new_frame : callable
        refuse(code, t, out, inputs ...): what `run` answers when it cannot go on; new_frame(): address of a frame.
    slots : array, optional
        Of helpers, see :mod:`mbkern.core.rows`; frames have as many buffers, and one.
    buffer : int
        Bytes from one to the next.
    """
    words = []
    for each, optional, shape in arrays:
        columns = 1
        for size in shape:
            columns *= size
        words += [each, optional, columns, each + len(shape), *shape]
    plan = array([0] * ROWS + words, int64)
    plan[FUNCTION], plan[INPUTS], plan[RESULTS] = operation, inputs, len(arrays) - inputs
    plan[INTERFACE] = py.interface().ctypes.data
    plan[BLOCK], plan[ALONE], plan[RUN], plan[SYMMETRIC] = block, alone, R.run_job.address, side
    if slots is not None:
        plan[SLOTS], plan[HELPERS], plan[EACH_BUFFER] = slots.ctypes.data, slots.shape[0], buffer
    plan[BUFFERS] = frame_bytes(plan[HELPERS])
    return py.builtin(call.address, (plan, refuse, new_frame))
