"""`engine` of :mod:`.constrained` as C functions: for one state, for LANES states of one machine, for LANES machines.

    void f(int64 action, double *block, double *work, double *q, double *x, double *tau, double *out, double *second)

tau is null where there is none. They are compiled when a model has constraints; their addresses are in the header of
its block, in this order.
"""

from numba import types

from .arguments import UNKNOWN
from .constrained import engine
from .jit import c_function
from .number import array_at, lanes_at

ENGINE = types.void(*[types.intp] * 8)


@c_function(ENGINE)
def engine_of_one(action, block, work, q, x, tau, out, second):
    engine(action, array_at(block, UNKNOWN), array_at(work, UNKNOWN), array_at(q, UNKNOWN), array_at(x, UNKNOWN),
           array_at(tau, UNKNOWN if tau != 0 else 0), array_at(out, UNKNOWN), array_at(second, UNKNOWN))


@c_function(ENGINE)
def engine_of_lanes(action, block, work, q, x, tau, out, second):
    engine(action, array_at(block, UNKNOWN), lanes_at(work, UNKNOWN), lanes_at(q, UNKNOWN), lanes_at(x, UNKNOWN),
           lanes_at(tau, UNKNOWN if tau != 0 else 0), lanes_at(out, UNKNOWN), lanes_at(second, UNKNOWN))


@c_function(ENGINE)
def engine_of_varied(action, block, work, q, x, tau, out, second):
    engine(action, lanes_at(block, UNKNOWN), lanes_at(work, UNKNOWN), lanes_at(q, UNKNOWN), lanes_at(x, UNKNOWN),
           lanes_at(tau, UNKNOWN if tau != 0 else 0), lanes_at(out, UNKNOWN), lanes_at(second, UNKNOWN))
