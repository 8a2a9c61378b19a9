"""How compiled code calls operations: right-hand sides and momenta by the addresses of their arrays.

Python calls them through :mod:`mbkern.workspace.builtin`, C through :mod:`.native`.
"""

from .arguments import UNKNOWN, call_operation, integers_at, stack_words
from .jit import exact
from .layout import NQ, NV
from .number import array_at, whole

MOST = 8  # arguments of an operation

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
