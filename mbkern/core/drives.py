"""Prescribed motion x(t) of driven nodes: value, rate, acceleration and a margin, once per evaluation.

Kinds and what their row holds from DRIVE_DATA on (tables lie at the end of the block):

    HARMONIC    amplitude, omega, phase, offset:   x = offset + amplitude sin(omega t + phase)
    POLYNOMIAL  number of coefficients, place:     x = c0 + c1 t + c2 t^2 + ...
    SPLINE      number of pieces, place of the knots, place of the coefficients (4 a piece, in powers of t - knot)
    FUNCTION    address of a C function void (double t, double *x_xdot_xddot)

The margin is negative where the drive has no value: outside the knots of a spline, where a sine has no digits left, or
where a value is not finite or beyond what is sensible for a coordinate and its rates.
"""

from .checks import ANGLE_LIMIT, LIMIT, OK, SINGULAR
from .jit import PLAIN, checked, exact
from .layout import (
    DRIVE_DATA, DRIVE_KIND, HARMONIC, N_DRIVES, POLYNOMIAL, SPLINE, drive_row, drive_values,
)
from .number import get, put, sincos, whole

SPAN_TOLERANCE = 1e-9  # of the spline's length: a last step that ends a rounding error late is still inside

if PLAIN:

    def call_drive(address, t):
        raise TypeError("a compiled drive has no plain Python form here")

else:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def call_drive(typingctx, address, t):
        """(x, xdot, xddot) from the C function at `address`."""
        result = types.UniTuple(types.float64, 3)

        def codegen(context, builder, sig, args):
            double = ir.DoubleType()
            with builder.goto_entry_block():
                out = builder.alloca(double, 3)
            function_type = ir.FunctionType(ir.VoidType(), [double, double.as_pointer()])
            builder.call(builder.inttoptr(args[0], function_type.as_pointer()), [args[1], out])
            values = [builder.load(builder.gep(out, [ir.Constant(ir.IntType(64), k)])) for k in range(3)]
            return context.make_tuple(builder, sig.return_type, values)
        return result(types.intp, types.float64), codegen


@exact
def polynomial_value(block, n, at, t):
    """Value and two derivatives of c0 + c1 t + ..., the n coefficients at `at`."""
    x, xd, half_xdd = 0.0, 0.0, 0.0
    for k in range(n - 1, -1, -1):
        half_xdd = half_xdd * t + xd
        xd = xd * t + x
        x = x * t + get(block, at + k)
    return x, xd, 2.0 * half_xdd


@exact
def spline_value(block, row, t):
    pieces, knots, table = whole(block, row), whole(block, row + 1), whole(block, row + 2)
    first, last = get(block, knots), get(block, knots + pieces)
    slack = SPAN_TOLERANCE * (last - first)
    margin = 1.0 if first - slack <= t <= last + slack else -1.0
    lo, hi = 0, pieces
    while hi - lo > 1:
        mid = (lo + hi) // 2
        if get(block, knots + mid) <= t:
            lo = mid
        else:
            hi = mid
    x, xd, xdd = polynomial_value(block, 4, table + 4 * lo, t - get(block, knots + lo))
    return x, xd, xdd, margin


@exact
def drive_value(block, row, t):
    """x, xdot, xddot, margin of the drive at `row` of the block."""
    kind, data = whole(block, row + DRIVE_KIND), row + DRIVE_DATA
    if kind == HARMONIC:
        amplitude, omega = get(block, data), get(block, data + 1)
        angle = omega * t + get(block, data + 2)
        s, c = sincos(angle)
        x, xd, xdd = get(block, data + 3) + amplitude * s, amplitude * omega * c, -amplitude * omega * omega * s
        margin = 1.0 if abs(angle) <= ANGLE_LIMIT else -1.0
    elif kind == POLYNOMIAL:
        x, xd, xdd = polynomial_value(block, whole(block, data), whole(block, data + 1), t)
        margin = 1.0
    elif kind == SPLINE:
        x, xd, xdd, margin = spline_value(block, data, t)
    else:
        x, xd, xdd = call_drive(whole(block, data), t)
        margin = 1.0
    if not (abs(x) <= ANGLE_LIMIT and abs(xd) <= LIMIT and abs(xdd) <= LIMIT):
        margin = -1.0
    return x, xd, xdd, margin


@checked
def evaluate_drives(block, t, work):
    """Fill the drive values of the workspace for time t. Returns OK, or SINGULAR when a drive has no value."""
    code = OK
    for d in range(whole(block, N_DRIVES)):
        at = drive_values(block, d)
        x, xd, xdd, margin = drive_value(block, drive_row(block, d), t)
        put(work, at, x); put(work, at + 1, xd); put(work, at + 2, xdd); put(work, at + 3, margin)
        if margin < 0.0:
            code = SINGULAR
    return code
