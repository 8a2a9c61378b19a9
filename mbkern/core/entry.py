"""What Python calls: an operation on arrays. Shapes and shared memory are checked here, numbers by the operation.

A call from Python pays for every argument, so all but the arrays come as the address of one array, the *frame*: the
block, and behind it the workspace. What is to be done is in the *plan* of the frame, a list of words whose address is
in its header:

    CALL_FUNCTION   address of the operation (:mod:`.operations`)
    CALL_INPUTS     how many of the arrays are inputs
    CALL_LOSSES     whether the operation may lose digits: then the answer is LOSSY instead of OK when its estimate of
                    the loss is beyond the frame's limit
    CALL_TYPE       address of the type of NumPy's arrays
    CALL_SLOTS      for each array: which argument of the operation it is; and behind the last
    shapes          of the arrays, see `fits`; an optional input that is not given is not among the arrays

The functions differ by the number of arrays only.
"""

from numba import types

from .arguments import UNKNOWN, are_plain, call_operation, fits, integers_at, placed, share_memory, stack_words
from .atomics import WORD
from .checks import BAD_SHAPE, LOSSY, OK
from .jit import checked, exact
from .layout import LOSS_LIMIT, NQ, NV, PLAN, SIZE, loss_at
from .number import array_at, get, whole
from .templates import bound

CALL_FUNCTION, CALL_INPUTS, CALL_LOSSES, CALL_TYPE, CALL_SLOTS = 0, 1, 2, 3, 4
MOST = 8  # arguments of an operation


@exact
def with_loss(code, frame):
    """The code, or LOSSY when the result has lost more digits than the frame's limit allows."""
    if code == OK and get(frame, LOSS_LIMIT) > 0.0 and (
            get(frame, whole(frame, SIZE) + loss_at(frame)) > get(frame, LOSS_LIMIT)):
        return LOSSY
    return code


@exact
def run(frame, t, arrays):
    """Run the operation of a frame on a tuple of arrays."""
    memory = array_at(frame, UNKNOWN)
    plan = whole(memory, PLAN)
    words = integers_at(plan, UNKNOWN)
    slots = plan + WORD * CALL_SLOTS
    if not fits(slots + WORD * len(arrays), arrays) or share_memory(words[CALL_INPUTS], arrays) or not are_plain(
            words[CALL_TYPE], words[CALL_INPUTS], arrays):
        return BAD_SHAPE
    code = call_operation(words[CALL_FUNCTION], t, placed(slots, MOST, arrays), frame, frame + 8 * whole(memory, SIZE))
    return with_loss(code, memory) if words[CALL_LOSSES] != 0 else code


def call_2(frame, t, a, b):
    return run(frame, t, (a, b))


def call_3(frame, t, a, b, c):
    return run(frame, t, (a, b, c))


def call_4(frame, t, a, b, c, d):
    return run(frame, t, (a, b, c, d))


def call_5(frame, t, a, b, c, d, e):
    return run(frame, t, (a, b, c, d, e))


def call_6(frame, t, a, b, c, d, e, f):
    return run(frame, t, (a, b, c, d, e, f))


def call_7(frame, t, a, b, c, d, e, f, g):
    return run(frame, t, (a, b, c, d, e, f, g))


TEMPLATES = {2: call_2, 3: call_3, 4: call_4, 5: call_5, 6: call_6, 7: call_7}
_made: dict = {}


def entry_for(dimensions):
    """The function for arrays with these numbers of dimensions, a tuple, compiled for them and nothing else.

    One function for each, so that an array of another number of dimensions is refused before its shape is read.
    """
    if dimensions not in _made:
        name = "call_" + "_".join(map(str, dimensions))
        function = checked(bound(TEMPLATES[len(dimensions)], name))
        function.compile((types.intp, types.float64, *[types.Array(types.float64, n, "C") for n in dimensions]))
        function.disable_compile()
        _made[dimensions] = function
    return _made[dimensions]


# ---- right-hand sides, for other compiled code ----
Q, P, TAU, QDOT, PDOT = 0, 2, 4, 6, 8  # words of their arguments


@exact
def call_rhs(address, t, q, p, tau, qdot, pdot, block, work):
    """Call the right-hand side at `address`; the arguments are addresses, tau 0 when there is none."""
    constants = array_at(block, UNKNOWN)
    nq, nv = whole(constants, NQ), whole(constants, NV)
    arguments = stack_words(10)
    words = integers_at(arguments, 10)
    words[Q], words[Q + 1] = q, nq
    words[P], words[P + 1] = p, nv
    words[TAU], words[TAU + 1] = tau, nv if tau != 0 else 0
    words[QDOT], words[QDOT + 1] = qdot, nq
    words[PDOT], words[PDOT + 1] = pdot, nv
    return call_operation(address, t, arguments, block, work)


@exact
def call_momenta(address, t, q, u, p, block, work):
    """Call the operation "momenta" at `address` likewise."""
    constants = array_at(block, UNKNOWN)
    nq, nv = whole(constants, NQ), whole(constants, NV)
    arguments = stack_words(6)
    words = integers_at(arguments, 6)
    words[0], words[1] = q, nq
    words[2], words[3] = u, nv
    words[4], words[5] = p, nv
    return call_operation(address, t, arguments, block, work)
