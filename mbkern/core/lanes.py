"""Right-hand sides on LANES states side by side, for other compiled code. See :mod:`.operations`."""

from .arguments import UNKNOWN, call_on_lanes, integers_at, stack_words
from .checks import BAD_P, BAD_Q, BAD_TAU
from .entry import P, PDOT, Q, QDOT, TAU
from .jit import exact
from .layout import NQ, NV
from .number import LANES, array_at, whole
from .operations import BITS, LANES_BYTES, lane_code

RHS_INPUTS = 3  # of a right-hand side
INPUT_CHECKS = BAD_Q + (BAD_P << BITS) + (BAD_TAU << 2 * BITS)


@exact
def put_arguments(words, constants, y, tau, dydt):
    """The words of the arguments for y = (q, p), tau (0: none) and dydt."""
    nq, nv = whole(constants, NQ), whole(constants, NV)
    words[Q], words[Q + 1] = y, nq
    words[P], words[P + 1] = y + LANES_BYTES * nq, nv
    words[TAU], words[TAU + 1] = tau, nv if tau != 0 else 0
    words[QDOT], words[QDOT + 1] = dydt, nq
    words[PDOT], words[PDOT + 1] = dydt + LANES_BYTES * nq, nv


@exact
def call_lanes(address, t, y, tau, dydt, codes, block, own, work):
    """Call the right-hand side at `address` for y = (q, p); all are addresses, tau 0 when there is none."""
    arguments = stack_words(10)
    put_arguments(integers_at(arguments, 10), array_at(block, UNKNOWN), y, tau, dydt)
    call_on_lanes(address, t, arguments, codes, block, own, work)


@exact
def state_code(block, t, y, tau, k):
    """Code of what is wrong with the state (t, y) in lane k under forces tau; all but k are addresses."""
    arguments, constants = stack_words(10), array_at(block, UNKNOWN)
    put_arguments(integers_at(arguments, 10), constants, y, tau, 0)
    return lane_code(constants, array_at(t, LANES), arguments, RHS_INPUTS, INPUT_CHECKS, k)


@exact
def put_constants(places, values, row, own, k):
    """The constants of the machine of state `row` into lane k of `own`."""
    for j in range(places.shape[0]):
        own[places[j], k] = values[row, j]
