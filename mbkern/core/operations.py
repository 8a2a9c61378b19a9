"""Operations as C functions, made from their kernels. One function serves every model.

A kernel of an operation is a function of the core

    kernel(block, inputs ..., outputs ..., work)

for any number type; it returns nothing, and finds the drive values in the workspace. Around it this file puts, once for
all operations, what the world outside needs: `one_state` and `on_lanes` check the numbers, evaluate the drives, run the
kernel, and look at pivots and results. They are templates: their capital names get their values when a copy is made,
see `bound`. What takes COUNT, CHECKS and PIVOTS gets them as ordinary integers (`intp`): Numba would compile it for
each value anew, 2 s for every operation on lanes; the optimiser knows them all the same.

    KERNEL   the kernel
    COUNT    number of its arguments
    CHECKS   four bits for each: the code of :mod:`.checks` if an input is wrong, 0 for an output
    PIVOTS   whether the kernel leaves margins of pivots

A state of LANES that cannot be evaluated is replaced by a harmless one, and its results mean nothing: lanes do not
meet, what is wrong with one state never touches the others.
"""

from numpy import intp

from .arguments import ON_LANES, OPERATION, UNKNOWN, WORDS, collected, data_of, gathered, integers_at
from .atomics import WORD
from .checks import (
    ANGLE_LIMIT, BAD_Q, BAD_QUATERNION, BAD_SHAPE, BAD_T, LIMIT, NOT_FINITE, OK, QUATERNION_SLACK, SHORTEST, LONGEST,
    SINGULAR, STALE, UNCHECKED, bad_quaternion, beyond, stale, status,
)
from .drives import drive_value, evaluate_drives
from .jit import c_function, checked, exact, noinline
from .joints import quaternion_place
from .layout import (
    DRIVE_VALUES, N_DRIVES, N_NODES, N_QUATERNIONS, ONLY_HINGES, drive_row, drive_values, margins_at, node_row,
)
from .number import LANES, all_at_most, array_at, get, lanes_at, magnitude, put, whole
from .templates import bound

RESULT_LIMIT = 1e300
BITS = 4  # of a check
LANES_BYTES = 8 * LANES  # bytes of a number on lanes


@exact
def check_of(checks, k):
    """Code for argument k; 0 for an output."""
    return (checks >> BITS * k) & (2**BITS - 1)


@exact
def limit_of(code):
    """How large the numbers of an input may be."""
    return ANGLE_LIMIT if code == BAD_Q else LIMIT


# ---- one state ----
@exact
def argument(arguments, k):
    """Argument k of one state."""
    words = integers_at(arguments + WORD * WORDS * k, WORDS)
    return array_at(words[0], words[1])


@exact
def bad_input(arguments, count, checks):
    """Code of the first input that has a number which is not finite, or too large."""
    for k in range(count):
        code = check_of(checks, k)
        if code != 0 and code != UNCHECKED and beyond(argument(arguments, k), limit_of(code)):
            return code
    return OK


@exact
def bad_output(arguments, count, checks):
    """Code of the results."""
    for k in range(count):
        if check_of(checks, k) == 0 and beyond(argument(arguments, k), RESULT_LIMIT):
            return NOT_FINITE
    return OK


@exact
def prepared(block, t, arguments, count, checks, work):
    """Code of what forbids to run a kernel, and the drive values. The first argument is the configuration."""
    if stale(block):
        return STALE
    if not abs(t) <= LIMIT:
        return BAD_T
    code = bad_input(arguments, count, checks)
    if code == OK and whole(block, N_QUATERNIONS) > 0 and bad_quaternion(block, argument(arguments, 0)) >= 0:
        code = BAD_QUATERNION
    return evaluate_drives(block, t, work) if code == OK else code


@exact
def prepared_of_hinges(block, t, arguments, count, checks, work):
    """The same for a tree of hinges, which has no quaternions and no drives."""
    if stale(block) or whole(block, ONLY_HINGES) <= 0:
        return STALE
    if not abs(t) <= LIMIT:
        return BAD_T
    return bad_input(arguments, count, checks)


@exact
def concluded(block, arguments, count, checks, pivots, work):
    """Code of what a kernel found."""
    code = status(block, work) if pivots != 0 else OK
    return bad_output(arguments, count, checks) if code == OK else code


# ---- states on lanes ----
@exact
def lanes_argument(arguments, k):
    """Argument k of LANES states."""
    words = integers_at(arguments + WORD * WORDS * k, WORDS)
    return lanes_at(words[0], words[1])


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
            if not SHORTEST < square < LONGEST:
                return True
    return False


@exact
def lane_code(block, t, arguments, count, checks, k):
    """Code of what is wrong with the state in lane k; in the order in which a single state is checked."""
    if not abs(t[k]) <= LIMIT:
        return BAD_T
    for j in range(count):
        code = check_of(checks, j)
        if code != 0 and code != UNCHECKED and column_beyond(lanes_argument(arguments, j), k, limit_of(code)):
            return code
    if whole(block, N_QUATERNIONS) > 0 and bad_lane_quaternion(block, lanes_argument(arguments, 0), k):
        return BAD_QUATERNION
    return OK


@exact
def make_harmless(block, t, arguments, count, checks, k):
    """Put the neutral state at rest into lane k."""
    t[k] = 0.0
    for j in range(count):
        code = check_of(checks, j)
        if code != 0 and code != UNCHECKED:
            x = lanes_argument(arguments, j)
            for i in range(x.shape[0]):
                x[i, k] = 0.0
    q = lanes_argument(arguments, 0)
    for i in range(whole(block, N_NODES)):
        at = quaternion_place(block, node_row(i))
        if at >= 0:
            q[at, k] = 1.0


@exact
def add_sizes(total, x):
    """total + sum of |x_i|, lane by lane; not a number where one is not. Four adders: each waits for itself."""
    n, zero = x.shape[0], 0.0 * total
    a, b, c = zero, zero, zero
    for i in range(0, n - 3, 4):
        total, a = total + magnitude(get(x, i)), a + magnitude(get(x, i + 1))
        b, c = b + magnitude(get(x, i + 2)), c + magnitude(get(x, i + 3))
    for i in range(n - n % 4, n):
        total = total + magnitude(get(x, i))
    return (total + a) + (b + c)


@exact
def suspicious(block, t, arguments, count, checks):
    """Whether any lane needs a closer look. Asked in every evaluation: as a rule the sums are small, that is all."""
    times, q = lanes_at(t, 1), lanes_argument(arguments, 0)
    zero = 0.0 * get(times, 0)
    if not all_at_most(add_sizes(add_sizes(zero, times), q), ANGLE_LIMIT):
        return True
    sizes = zero
    for j in range(1, count):
        code = check_of(checks, j)
        if code != 0 and code != UNCHECKED:
            sizes = add_sizes(sizes, lanes_argument(arguments, j))
    if not all_at_most(sizes, LIMIT):
        return True
    if whole(block, N_QUATERNIONS) == 0:
        return False
    off = zero
    for i in range(whole(block, N_NODES)):
        at = quaternion_place(block, node_row(i))
        if at >= 0:
            a, b, c, d = get(q, at), get(q, at + 1), get(q, at + 2), get(q, at + 3)
            off = off + magnitude(a * a + b * b + c * c + d * d - 1.0)
    return not all_at_most(off, QUATERNION_SLACK)  # smaller than what is allowed


@checked
def evaluate_lane_drives(at_block, at_t, at_work):
    """Fill the drive values of all lanes, each for its own time."""
    block, t, work = array_at(at_block, UNKNOWN), array_at(at_t, LANES), lanes_at(at_work, UNKNOWN)
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
def mend(t, arguments, count, checks, codes, block):
    """Find out what is wrong with each lane, make the bad ones harmless."""
    constants, times, status = array_at(block, UNKNOWN), array_at(t, LANES), array_at(codes, LANES)
    for k in range(LANES):
        status[k] = lane_code(constants, times, arguments, count, checks, k)
        if status[k] != OK:
            make_harmless(constants, times, arguments, count, checks, k)


@exact
def prepare(t, arguments, count, checks, codes, block, work):
    """Check all lanes, make the bad ones harmless, evaluate the drives."""
    constants = array_at(block, UNKNOWN)
    put(lanes_at(codes, 1), 0, 1.0 * OK)
    if suspicious(constants, t, arguments, count, checks):
        mend(t, arguments, count, checks, codes, block)
    if whole(constants, N_DRIVES) > 0:
        evaluate_lane_drives(block, t, work)


@exact
def lanes_singular(block, pivots, k, work):
    """Whether a drive has no value for lane k, or a pivot is not positive."""
    memory = lanes_at(work, UNKNOWN)
    for d in range(whole(block, N_DRIVES)):
        if memory[drive_values(block, d) + DRIVE_VALUES - 1, k] < 0.0:
            return True
    if pivots != 0:
        margins = margins_at(block)
        for i in range(whole(block, N_NODES)):
            if not memory[margins + i, k] > 0.0:
                return True
    return False


@checked
def blame(arguments, count, checks, pivots, codes, block, work):
    """Find out in which lanes a drive has no value, a margin is not positive, a result is not finite."""
    constants, status = array_at(block, UNKNOWN), array_at(codes, LANES)
    for k in range(LANES):
        if status[k] == OK:
            if lanes_singular(constants, pivots, k, work):
                status[k] = SINGULAR
            else:
                for j in range(count):
                    if check_of(checks, j) == 0 and column_beyond(lanes_argument(arguments, j), k, RESULT_LIMIT):
                        status[k] = NOT_FINITE


@exact
def conclude(arguments, count, checks, pivots, codes, block, work):
    """Add to the codes what the kernel found. As a rule a sum is 0, another one small, and that is all."""
    constants, memory = array_at(block, UNKNOWN), lanes_at(work, UNKNOWN)
    zero = 0.0 * get(lanes_at(codes, 1), 0)
    below, sizes = zero, zero
    for d in range(whole(constants, N_DRIVES)):
        margin = get(memory, drive_values(constants, d) + DRIVE_VALUES - 1)
        below = below + (magnitude(margin) - margin)
    if pivots != 0:
        margins = margins_at(constants)
        for i in range(whole(constants, N_NODES)):
            margin = get(memory, margins + i)  # where one is exactly 0, the results are not finite
            below = below + (magnitude(margin) - margin)
    for j in range(count):
        if check_of(checks, j) == 0:
            sizes = add_sizes(sizes, lanes_argument(arguments, j))
    if not (all_at_most(below, 0.0) and all_at_most(sizes, RESULT_LIMIT)):
        blame(arguments, count, checks, pivots, codes, block, work)


# ---- templates ----
KERNEL = PREPARED = None
COUNT, CHECKS, PIVOTS = 0, 0, False


def one_state(t, arguments, block, work):
    """For one state; returns a code."""
    constants, memory = array_at(block, UNKNOWN), array_at(work, UNKNOWN)
    code = PREPARED(constants, t, arguments, intp(COUNT), intp(CHECKS), memory)
    if code == OK:
        KERNEL(*gathered(constants, arguments, COUNT, memory))
        code = concluded(constants, arguments, intp(COUNT), intp(CHECKS), intp(PIVOTS), memory)
    return code


def on_lanes(t, arguments, codes, block, own, work):
    """For LANES states of one machine."""
    prepare(t, arguments, intp(COUNT), intp(CHECKS), codes, block, work)
    KERNEL(*gathered(array_at(block, UNKNOWN), arguments, COUNT, lanes_at(work, UNKNOWN)))
    conclude(arguments, intp(COUNT), intp(CHECKS), intp(PIVOTS), codes, block, work)


def on_varied(t, arguments, codes, block, own, work):
    """For LANES states, each of a machine of its own: `own` is the block in every lane."""
    prepare(t, arguments, intp(COUNT), intp(CHECKS), codes, block, work)
    KERNEL(*gathered(lanes_at(own, UNKNOWN), arguments, COUNT, lanes_at(work, UNKNOWN)))
    conclude(arguments, intp(COUNT), intp(CHECKS), intp(PIVOTS), codes, block, work)


def handle(block, t, *arrays):
    """For compiled code of others: the arguments as arrays, and a workspace behind them. Returns a code."""
    if arrays[-1].size < ROOM(block):
        return BAD_SHAPE
    arguments = collected(arrays)
    return RUN(t, arguments, data_of(block), integers_at(arguments + WORD * WORDS * COUNT, WORDS)[0])


@exact
def any_room(block):
    """Operations whose workspaces are all of one size do not look at it."""
    return 0


RUN, ROOM = None, any_room


class Compiled:
    """An operation as compiled code, each form when it is first asked for.

    Attributes
    ----------
    one, lanes, varied : CFunction
        For one state; for LANES states of one machine; for LANES states, each of a machine of its own.
    handle : compiled function
        f(block, t, arguments ..., work) -> code, for other compiled code.
    """

    def __init__(self, name, kernel, checks, pivots, only_hinges=False, room=None):
        packed = sum(check << BITS * k for k, check in enumerate(checks))
        values = dict(KERNEL=kernel, COUNT=len(checks), CHECKS=packed, PIVOTS=pivots,
                      PREPARED=prepared_of_hinges if only_hinges else prepared)
        run = bound(one_state, f"{name}_of_one", **values)
        self.one = c_function(OPERATION)(run)
        self.lanes = c_function(ON_LANES)(bound(on_lanes, f"{name}_on_lanes", **values))
        self.varied = c_function(ON_LANES)(bound(on_varied, f"{name}_varied", **values))
        self.handle = checked(bound(handle, name, COUNT=len(checks), RUN=noinline(run), ROOM=room or any_room))
