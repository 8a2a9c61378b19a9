"""Calling functions by address from compiled code, and reading the status of the right-hand side.

The parts of an integrator call each other by address: each is compiled once, by itself, and only where a run needs it.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

PART = types.intp(types.intp)  # of an integrator: takes the address of the plan, returns a code

_DOUBLE = ir.DoubleType()
_POINTER = _DOUBLE.as_pointer()


@intrinsic
def call_event(typingctx, address, t, y, y_at, nq, nv, frame):
    """g(t, y[y_at:], nq, nv, frame) for ``double g(double, const double *, int64, int64, int64)`` at `address`."""

    def codegen(context, builder, sig, args):
        whole = ir.IntType(64)
        kind = ir.FunctionType(_DOUBLE, [_DOUBLE, _POINTER, whole, whole, whole])
        function = builder.inttoptr(args[0], kind.as_pointer())
        data = context.make_array(sig.args[2])(context, builder, args[2]).data
        return builder.call(function, [args[1], builder.gep(data, [args[3]]), args[4], args[5], args[6]])

    return types.float64(types.intp, types.float64, y, *[types.intp] * 4), codegen


@intrinsic
def load_double(typingctx, address):
    """The double at `address`."""

    def codegen(context, builder, sig, args):
        return builder.load(builder.inttoptr(args[0], _POINTER))

    return types.float64(types.intp), codegen


@intrinsic
def call(typingctx, address, arguments):
    """f(*arguments) for ``int64 f(int64, ...)`` at `address`; `arguments` is a tuple of integers."""

    def codegen(context, builder, sig, args):
        word = ir.IntType(64)
        given = [context.cast(builder, builder.extract_value(args[1], k), kind, types.intp)
                 for k, kind in enumerate(arguments)]
        kind = ir.FunctionType(word, [word] * len(given))
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), given)

    return types.intp(types.intp, arguments), codegen
