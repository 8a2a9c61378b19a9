"""Calling event functions by address from compiled code, and reading the status of the right-hand side."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_DOUBLE = ir.DoubleType()
_POINTER = _DOUBLE.as_pointer()


@intrinsic
def call_event(typingctx, address, t, y, y_at, nq, nv):
    """g(t, y[y_at:], nq, nv) for ``double g(double, const double *, int64, int64)`` at `address`."""

    def codegen(context, builder, sig, args):
        whole = ir.IntType(64)
        kind = ir.FunctionType(_DOUBLE, [_DOUBLE, _POINTER, whole, whole])
        function = builder.inttoptr(args[0], kind.as_pointer())
        data = context.make_array(sig.args[2])(context, builder, args[2]).data
        return builder.call(function, [args[1], builder.gep(data, [args[3]]), args[4], args[5]])

    return types.float64(types.intp, types.float64, y, types.intp, types.intp, types.intp), codegen


@intrinsic
def load_double(typingctx, address):
    """The double at `address`."""

    def codegen(context, builder, sig, args):
        return builder.load(builder.inttoptr(args[0], _POINTER))

    return types.float64(types.intp), codegen
