"""Calling C functions by address from compiled code."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_DOUBLE = ir.DoubleType()
_POINTER = _DOUBLE.as_pointer()


def _data(context, builder, array_type, array):
    return context.make_array(array_type)(context, builder, array).data


@intrinsic
def call_rhs(typingctx, address, t, y, dydt, user):
    """f(t, y, dydt, user) for ``void f(double, const double *, double *, void *)`` at `address`."""

    def codegen(context, builder, sig, args):
        kind = ir.FunctionType(ir.VoidType(), [_DOUBLE, _POINTER, _POINTER, cgutils.voidptr_t])
        function = builder.inttoptr(args[0], kind.as_pointer())
        pointers = [_data(context, builder, sig.args[k], args[k]) for k in (2, 3)]
        builder.call(function, [args[1], *pointers, builder.inttoptr(args[4], cgutils.voidptr_t)])
        return context.get_dummy_value()

    return types.void(types.intp, types.float64, y, dydt, types.intp), codegen


@intrinsic
def call_event(typingctx, address, t, y, nq, nv):
    """g(t, y, nq, nv) for ``double g(double, const double *, int64, int64)`` at `address`."""

    def codegen(context, builder, sig, args):
        whole = ir.IntType(64)
        kind = ir.FunctionType(_DOUBLE, [_DOUBLE, _POINTER, whole, whole])
        function = builder.inttoptr(args[0], kind.as_pointer())
        return builder.call(function, [args[1], _data(context, builder, sig.args[2], args[2]), args[3], args[4]])

    return types.float64(types.intp, types.float64, y, types.intp, types.intp), codegen


@intrinsic
def load_double(typingctx, address):
    """The double at `address`."""

    def codegen(context, builder, sig, args):
        return builder.load(builder.inttoptr(args[0], _POINTER))

    return types.float64(types.intp), codegen
