"""The Jacobian of a right-hand side, and products with it, as C functions on addresses.

    int64 jacobian_rhs(double t, arguments, block, memory)        arguments (q, p, wrench; A)
    int64 jvp(...), vjp(...)                                      arguments (q, p, wrench, x; y), x and y (2 nv, k)

`memory` begins with room for the block: :mod:`mbkern.core.derivative_calls` wants block and workspace in one piece.
"""

from numba import types

from ...core.arguments import UNKNOWN, WORDS, integers_at
from ...core.derivative_calls import jacobian_rhs as jacobian
from ...core.derivative_calls import product
from ...core.jit import c_function, exact
from ...core.layout import NV, SIZE
from ...core.number import array_at, get, put, whole
from ...core.rows import rows_at

CALL = types.intp(types.float64, *[types.intp] * 4)


@exact
def framed(at_block, memory):
    """The block in front of the memory; 2 nv."""
    block = array_at(at_block, UNKNOWN)
    front = array_at(memory, UNKNOWN)
    for i in range(whole(block, SIZE)):
        put(front, i, get(block, i))
    return 2 * whole(block, NV)


@exact
def vector(arguments, k):
    words = integers_at(arguments, WORDS * (k + 1))
    return array_at(words[WORDS * k], words[WORDS * k + 1])


@exact
def matrix(arguments, k, rows):
    words = integers_at(arguments, WORDS * (k + 1))
    return rows_at(words[WORDS * k], rows, words[WORDS * k + 1] // rows if rows > 0 else 0)


@c_function(CALL)
def jacobian_rhs(t, arguments, block, memory, rhs):
    n = framed(block, memory)
    return jacobian(rhs, memory, t, vector(arguments, 0), vector(arguments, 1), vector(arguments, 2),
                    matrix(arguments, 3, n))


@c_function(CALL)
def jvp(t, arguments, block, memory, rhs):
    n = framed(block, memory)
    return product(rhs, memory, t, vector(arguments, 0), vector(arguments, 1), vector(arguments, 2), False,
                   matrix(arguments, 3, n), matrix(arguments, 4, n))


@c_function(CALL)
def vjp(t, arguments, block, memory, rhs):
    n = framed(block, memory)
    return product(rhs, memory, t, vector(arguments, 0), vector(arguments, 1), vector(arguments, 2), True,
                   matrix(arguments, 3, n), matrix(arguments, 4, n))
