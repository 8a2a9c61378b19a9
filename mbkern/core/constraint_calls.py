"""Rows of constraints that a function of the user fills: a(q, t) u + b(q, t) = 0 and its time derivative.

    void rows(double t, const double *q, const double *qdot, double *out)

out: g (r), a (r x nv), b (r), da/dt (r x nv), db/dt (r) along qdot, which :mod:`mbkern.user_rows` has by dual numbers.
LANES states are asked one by one. So are the COLUMNS directions of a state with derivatives: q, qdot and out are then
each followed by their derivatives along one of them, and the address is that of a function that knows this.

Room of the workspace:  qdot (nq) | what one state gets and gives, as plain doubles (2 nq + size) | out (size)
"""

from .columns import tail
from .constraint_layout import (
    AT_COEFFICIENTS, CALL, CLOCK, FIRST_ROW, N_OWN_ROWS, R_B, R_BD, R_G, a_at, adot_at, scalar_row, user_at,
)
from .jit import PLAIN, apart, inline
from .joints import put_rates as put_configuration_rates
from .layout import NQ, NV, drive_values
from .number import get, put, whole

if PLAIN:

    def ask(address, clock, q, n, rates, room, size, work):
        raise TypeError("a user's compiled rows have no plain Python form here")

else:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    from .arguments import data_of
    from .number import COLUMNS, LANES, WIDTHS, array_at

    @intrinsic
    def call_rows(typingctx, address, t, q, qdot, out):
        """Call the function at `address`; pointers are passed as integers."""
        def codegen(context, builder, sig, args):
            word = ir.IntType(types.intp.bitwidth)
            kind = ir.FunctionType(ir.VoidType(), [ir.DoubleType(), word, word, word])
            builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])
            return context.get_dummy_value()
        return types.void(types.intp, types.float64, *[types.intp] * 3), codegen

    @intrinsic
    def states_of(typingctx, array):
        """How many states there are in an array of numbers."""
        def codegen(context, builder, sig, args):
            return ir.Constant(ir.IntType(types.intp.bitwidth), LANES if array.ndim == 2 else 1)
        return types.intp(array), codegen

    def _place(context, builder, sig, args):
        """Pointer to the float64 of state args[2] of number args[1] of array args[0]."""
        array = context.make_array(sig.args[0])(context, builder, args[0])
        width = ir.Constant(args[1].type, WIDTHS[sig.args[0].ndim])
        return builder.gep(array.data, [builder.add(builder.mul(args[1], width), args[2])])

    @intrinsic
    def get_one(typingctx, array, i, k):
        """The number at place i of state k."""
        def codegen(context, builder, sig, args):
            return builder.load(_place(context, builder, sig, args))
        return types.float64(array, types.intp, types.intp), codegen

    @intrinsic
    def put_one(typingctx, array, i, k, x):
        """Write it."""
        def codegen(context, builder, sig, args):
            builder.store(args[3], _place(context, builder, sig, args))
            return context.get_dummy_value()
        return types.void(array, types.intp, types.intp, types.float64), codegen

    @intrinsic
    def directions_of(typingctx, array):
        """How many derivatives a number of an array has."""
        def codegen(context, builder, sig, args):
            return ir.Constant(ir.IntType(types.intp.bitwidth), COLUMNS if array.ndim == 3 else 0)
        return types.intp(array), codegen

    @apart
    def ask(address, clock, q, n, rates, room, size, work):
        """What the function gives for each state, behind the room; `rates` is where qdot is in the workspace."""
        out, first, sets = room + 2 * n + size, data_of(tail(work, room)), 1
        if directions_of(work) > 0:
            sets = 2  # values, and derivatives along one direction: five numbers in the room of one are enough
        own = array_at(first, sets * (2 * n + size))
        for k in range(states_of(work)):
            for s in range(max(1, directions_of(work))):
                for i in range(n):
                    for d in range(sets):
                        own[d * n + i] = get_one(q, i, k + d * (1 + s))
                        own[(sets + d) * n + i] = get_one(work, rates + i, k + d * (1 + s))
                at = first + 16 * sets * n
                call_rows(address, get_one(work, clock, k), first, first + 8 * sets * n, at)
                for i in range(size):
                    for d in range(sets):
                        put_one(work, out + i, k + d * (1 + s), own[2 * sets * n + d * size + i])


@inline
def asked(block, row, q, rates, work):
    """Ask the function of a constraint; where its answer is."""
    nq, size = whole(block, NQ), whole(block, row + N_OWN_ROWS) * (2 * whole(block, NV) + 3)
    room, clock = user_at(block) + nq, drive_values(block, whole(block, row + CLOCK))
    ask(whole(block, row + CALL), clock, q, nq, rates, room, size, work)
    return room + 2 * nq + size


@apart
def put_given(block, row, q, work):
    """g, a and b of a user's rows."""
    n, nv, first = whole(block, row + N_OWN_ROWS), whole(block, NV), whole(block, row + FIRST_ROW)
    rates = user_at(block)
    for i in range(whole(block, NQ)):
        put(work, rates + i, 0.0)
    out = asked(block, row, q, rates, work)
    for r in range(n):
        put(work, scalar_row(block, first + r) + R_G, get(work, out + r))
        put(work, scalar_row(block, first + r) + R_B, get(work, out + n + n * nv + r))
    a = a_at(block) + whole(block, row + AT_COEFFICIENTS)
    for k in range(n * nv):
        put(work, a + k, get(work, out + n + k))


@apart
def put_given_rates(block, row, q, u, work):
    """da/dt and db/dt of a user's rows for joint speeds u."""
    n, nv, first = whole(block, row + N_OWN_ROWS), whole(block, NV), whole(block, row + FIRST_ROW)
    put_configuration_rates(block, q, u, 0, tail(work, user_at(block)))
    out = asked(block, row, q, user_at(block), work) + n * (nv + 2)
    a = adot_at(block) + whole(block, row + AT_COEFFICIENTS)
    for k in range(n * nv):
        put(work, a + k, get(work, out + k))
    for r in range(n):
        put(work, scalar_row(block, first + r) + R_BD, get(work, out + n * nv + r))
