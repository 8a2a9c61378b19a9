"""`engine` of :mod:`.constrained` as C functions: for one state, for LANES states of one machine, for LANES machines;
and for one state with its derivatives along COLUMNS directions (:mod:`mbkern.derivatives.constrained_jacobian`).

    void f(int64 action, double *block, double *work, double *q, double *x, double *tau, double *out, double *second)

tau is null where there is none. They are compiled when somebody asks for them; the addresses of the first three are
in the header of a block, in this order.
"""

from numba import types

from .arguments import UNKNOWN
from .constrained import RIGHT_SIDE, engine, put_accelerations, put_right_side
from .jit import c_function
from .number import array_at, duals_at, lanes_at

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


@c_function(ENGINE)
def engine_of_duals(action, block, work, q, x, tau, out, second):
    """RIGHT_SIDE and ACCELERATIONS alone: nobody wants derivatives of the others, which would have to be compiled."""
    block, work, q, x = array_at(block, UNKNOWN), duals_at(work, UNKNOWN), duals_at(q, UNKNOWN), duals_at(x, UNKNOWN)
    tau, out, second = duals_at(tau, UNKNOWN), duals_at(out, UNKNOWN), duals_at(second, UNKNOWN)
    if action == RIGHT_SIDE:
        put_right_side(block, q, x, tau, out, second, work)
    else:
        put_accelerations(block, q, x, tau, out, work)
