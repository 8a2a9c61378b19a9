"""Derivatives of the right-hand side of a machine with constraints, for an exported library: the equations of
:mod:`mbkern.core.constrained` on dual numbers, COLUMNS directions at a time, as in
:mod:`mbkern.derivatives.constrained_jacobian`.

    int64 jacobian_rhs(double t, int64 arguments, int64 block, int64 work, int64 rhs, int64 engine, int64 size)

The arguments are q, p, tau (or none), A and B:

    A = [[du/dq, du/dp], [dpdot/dq, dpdot/dp]]   (2 nv x 2 nv), q along its tangent;      B = dpdot/dtau   (nv x nv)

`rhs` is the address of the right-hand side, which looks at the arguments and leaves the values of drives in the
workspace; `engine` that of :func:`mbkern.core.constrained_engine.engine_of_duals`. Memory behind `work`:

    workspace (size) | direction (nv) | its rate (nq) | qdot (nq) | pdot (nv) | duals: workspace, q, p, tau, qdot, pdot
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ...core.arguments import UNKNOWN, WORDS, call_operation, integers_at, stack_words
from ...core.checks import OK
from ...core.constrained import RIGHT_SIDE
from ...core.jit import c_function, exact
from ...core.joints import put_rates
from ...core.layout import DRIVE_VALUES, N_DRIVES, NQ, NV, drive_values, speeds_at
from ...core.number import COLUMNS, array_at, get, put, whole

DUAL = 1 + COLUMNS  # doubles of a dual number


@intrinsic
def call_engine_of_duals(typingctx, address, block, work, q, p, tau, qdot, pdot):
    """Call the engine at `address` for the right-hand side; all are addresses."""
    def codegen(context, builder, sig, args):
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word] * 8)
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), [ir.Constant(word, RIGHT_SIDE), *args[1:]])
        return context.get_dummy_value()
    return types.void(*[types.intp] * 8), codegen


@exact
def put_duals(values, given, n, duals):
    """n dual numbers of these values, or of zeros; they change along no direction."""
    for i in range(n):
        put(duals, DUAL * i, get(values, i) if given else 0.0)
        for k in range(COLUMNS):
            put(duals, DUAL * i + 1 + k, 0.0)


@exact
def put_direction(block, column, k, q, direction, rate, duals_of_q, duals_of_p, duals_of_tau):
    """Direction k of the dual numbers is the unit vector number `column` of (q along its tangent, p, tau)."""
    nq, nv = whole(block, NQ), whole(block, NV)
    for j in range(nv):
        put(direction, j, 1.0 * (j == column))
        put(duals_of_p, DUAL * j + 1 + k, 1.0 * (j == column - nv))
        put(duals_of_tau, DUAL * j + 1 + k, 1.0 * (j == column - 2 * nv))
    put_rates(block, q, direction, 0, rate)
    for i in range(nq):
        put(duals_of_q, DUAL * i + 1 + k, get(rate, i))


@exact
def checked_rates(t, words, at_block, work, rhs, qdot, nq, pdot, nv):
    """The right-hand side of the arguments at `words`; a code."""
    place = stack_words(10)
    given = integers_at(place, 5 * WORDS)
    for i in range(3 * WORDS):
        given[i] = words[i]
    given[6], given[7], given[8], given[9] = qdot, nq, pdot, nv
    return call_operation(rhs, t, place, at_block, work)


@c_function(types.intp(types.float64, *[types.intp] * 6))
def jacobian_rhs(t, arguments, at_block, work, rhs, engine, size):
    block, words = array_at(at_block, UNKNOWN), integers_at(arguments, 5 * WORDS)
    nq, nv = whole(block, NQ), whole(block, NV)
    at_direction = work + 8 * size
    at_rate = at_direction + 8 * nv
    at_qdot = at_rate + 8 * nq
    at_pdot = at_qdot + 8 * nq
    code = checked_rates(t, words, at_block, work, rhs, at_qdot, nq, at_pdot, nv)
    if code == OK:
        at_work = at_pdot + 8 * nv
        at_q = at_work + 8 * DUAL * size
        at_p = at_q + 8 * DUAL * nq
        at_tau = at_p + 8 * DUAL * nv
        d_qdot = at_tau + 8 * DUAL * nv
        d_pdot = d_qdot + 8 * DUAL * nq
        q, A, B = array_at(words[0], nq), array_at(words[6], UNKNOWN), array_at(words[8], UNKNOWN)
        duals_of_q, duals_of_p = array_at(at_q, UNKNOWN), array_at(at_p, UNKNOWN)
        duals_of_tau = array_at(at_tau, UNKNOWN)
        put_duals(q, True, nq, duals_of_q)
        put_duals(array_at(words[2], nv), True, nv, duals_of_p)
        put_duals(array_at(words[4], nv), words[5] > 0, nv, duals_of_tau)
        drives = drive_values(block, 0)
        put_duals(array_at(work + 8 * drives, UNKNOWN), True, whole(block, N_DRIVES) * DRIVE_VALUES,
                  array_at(at_work + 8 * DUAL * drives, UNKNOWN))
        speeds, rates = array_at(at_work + 8 * DUAL * speeds_at(block), UNKNOWN), array_at(d_pdot, UNKNOWN)
        for first in range(0, 3 * nv, COLUMNS):
            for k in range(COLUMNS):
                put_direction(block, first + k, k, q, array_at(at_direction, nv), array_at(at_rate, nq), duals_of_q,
                              duals_of_p, duals_of_tau)
            call_engine_of_duals(engine, at_block, at_work, at_q, at_p, at_tau, d_qdot, d_pdot)
            for k in range(COLUMNS):
                column = first + k
                for j in range(nv):
                    if column < 2 * nv:
                        put(A, j * 2 * nv + column, get(speeds, DUAL * j + 1 + k))
                        put(A, (nv + j) * 2 * nv + column, get(rates, DUAL * j + 1 + k))
                    elif column < 3 * nv:
                        put(B, j * nv + column - 2 * nv, get(rates, DUAL * j + 1 + k))
    return code
