"""Operations of models with constraints, as kernels. Each calls `engine` of :mod:`.constrained` by its address.

The address is in the header of the block (ENGINE_CALLS), for one state, for LANES states of one machine, for LANES
machines: what is long is compiled once, not with every operation.
"""

from .columns import tail
from .constrained import (
    ACCELERATIONS, CLOSE, FLOW, GAUGE, MATRIX, MATRIX_RATE, MULTIPLIERS, RESIDUALS, RIGHT_SIDE, WRENCHES, engine,
)
from .constraint_layout import results_at
from .jit import PLAIN, inline, kernel
from .layout import ENGINE_CALLS, NV
from .momenta import put_wrench_forces
from .number import get, put, whole

if PLAIN:

    call_engine = engine

else:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    from .number import LANES

    @intrinsic
    def call_engine(typingctx, action, block, work, q, x, tau, out, second):
        """Call `engine` for numbers of these arrays' type, by the address in the block; nothing where there is none."""
        place = (ENGINE_CALLS + block.ndim + work.ndim - 2) * (LANES if block.ndim == 2 else 1)

        def codegen(context, builder, sig, args):
            word = ir.IntType(types.intp.bitwidth)
            zero = ir.Constant(word, 0)
            arrays = [context.make_array(sig.args[n])(context, builder, args[n]) for n in range(1, 8)]
            data = [builder.ptrtoint(array.data, word) for array in arrays]
            given = builder.icmp_signed(">", arrays[4].nitems, zero)
            data[4] = builder.select(given, data[4], zero)
            address = builder.fptosi(builder.load(builder.gep(arrays[0].data, [ir.Constant(word, place)])), word)
            with builder.if_then(builder.icmp_unsigned("!=", address, zero)):
                function = builder.inttoptr(address, ir.FunctionType(ir.VoidType(), [word] * 8).as_pointer())
                builder.call(function, [args[0], *data])
            return context.get_dummy_value()
        return types.void(types.intp, block, work, q, x, tau, out, second), codegen


@kernel
def sweeps(block, q, p, tau, qdot, pdot, work):
    """qdot and pdot of true momenta p for any number type; the drive values are in the workspace already."""
    call_engine(RIGHT_SIDE, block, work, q, p, tau, qdot, pdot)


@inline
def flow(block, q, P, tau, qdot, Pdot, work):
    """The same for momenta P up to a gauge."""
    call_engine(FLOW, block, work, q, P, tau, qdot, Pdot)


@kernel
def accelerations(block, q, u, tau, udot, work):
    """Joint accelerations."""
    call_engine(ACCELERATIONS, block, work, q, u, tau, udot, udot)


@inline
def gauge(block, q, P, p, work):
    """True momenta."""
    call_engine(GAUGE, block, work, q, P, P, p, p)


@inline
def close(block, q, closed, work):
    """One step of Newton towards closed loops."""
    call_engine(CLOSE, block, work, q, q, q, closed, closed)


@inline
def residuals(block, q, g, work):
    """How far the rows are from being satisfied."""
    call_engine(RESIDUALS, block, work, q, q, q, g, g)


@inline
def constraint_matrix(block, q, a, b, work):
    """Rows a, m x nv, and b."""
    call_engine(MATRIX, block, work, q, q, q, a, b)


@inline
def constraint_matrix_rate(block, q, u, a, b, work):
    """Their time derivatives."""
    call_engine(MATRIX_RATE, block, work, q, u, u, a, b)


@inline
def put_loads(block, q, tau, wrench, work):
    """All joint forces in the workspace: tau and what wrenches on the bodies amount to."""
    at = results_at(block) + 3 * whole(block, NV)
    if wrench.shape[0] > 0:
        put_wrench_forces(block, q, wrench, tail(work, at), work)
    else:
        for j in range(whole(block, NV)):
            put(work, at + j, 0.0)
    if tau.shape[0] > 0:
        for j in range(whole(block, NV)):
            put(work, at + j, get(work, at + j) + get(tau, j))
    return at


@inline
def constraint_forces(block, q, p, tau, wrench, multipliers, work):
    """lambda of all rows."""
    at = put_loads(block, q, tau, wrench, work)
    call_engine(MULTIPLIERS, block, work, q, p, tail(work, at), multipliers, multipliers)


@inline
def constraint_wrenches(block, q, p, tau, wrench, wrenches, gears, work):
    """Forces of the constraints on the bodies, and of gears in joints."""
    at = put_loads(block, q, tau, wrench, work)
    call_engine(WRENCHES, block, work, q, p, tail(work, at), wrenches, gears)
