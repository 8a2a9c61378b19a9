"""Numbers that change with time, for a user's njit functions: a value and its rate, x + xdot eps with eps^2 = 0.

A function that was written for float64 is compiled once more for these, and gives the exact time derivative of all that
it computes. What they know beside + - * / is in :mod:`mbkern.chain_rule`. In memory such a number is two float64, value
and rate.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, lower_cast, models, overload, register_model

from .chain_rule import PLAIN, teach
from .core.toolchain import parts


class Changing(types.Type):
    """Numba type of a value and its rate."""

    def __init__(self) -> None:
        super().__init__(name="changing")


changing = Changing()


@register_model(Changing)
class _Model(models.StructModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, [("value", types.float64), ("rate", types.float64)])


@intrinsic
def pair(typingctx, value, rate):
    """The number with this value and rate."""
    def codegen(context, builder, sig, args):
        made = ir.Constant(context.get_value_type(changing), ir.Undefined)
        return builder.insert_value(builder.insert_value(made, args[0], 0), args[1], 1)
    return changing(types.float64, types.float64), codegen


@intrinsic
def _value(typingctx, x):
    def codegen(context, builder, sig, args):
        return builder.extract_value(args[0], 0)
    return types.float64(changing), codegen


@intrinsic
def _rate(typingctx, x):
    def codegen(context, builder, sig, args):
        return builder.extract_value(args[0], 1)
    return types.float64(changing), codegen


@lower_cast(types.Float, Changing)
@lower_cast(types.Integer, Changing)
def _from_number(context, builder, fromty, toty, x):
    made = ir.Constant(context.get_value_type(changing), ir.Undefined)
    made = builder.insert_value(made, context.cast(builder, x, fromty, types.float64), 0)
    return builder.insert_value(made, ir.Constant(ir.DoubleType(), 0.0), 1)


@intrinsic
def changing_at(typingctx, address, n):
    """An array of n such numbers at an address; whoever passes the address keeps them alive."""
    kind = types.Array(changing, 1, "C")

    def codegen(context, builder, sig, args):
        data = builder.inttoptr(args[0], context.get_data_type(changing).as_pointer())
        return parts.array_over(context, builder, kind, data, [args[1]])
    return kind(types.intp, types.intp), codegen


@intrinsic
def changing_rows_at(typingctx, address, n, m):
    """The same with n rows of m."""
    kind = types.Array(changing, 2, "C")

    def codegen(context, builder, sig, args):
        data = builder.inttoptr(args[0], context.get_data_type(changing).as_pointer())
        return parts.array_over(context, builder, kind, data, [args[1], args[2]])
    return kind(types.intp, types.intp, types.intp), codegen


# ---- arithmetic ------------------------------------------------------------------------------------------------------
def _one(x: Any) -> bool:
    return isinstance(x, Changing)


def value_of(x):
    """The value of a number."""
    return float(x)


def rate_of(x):
    """Its rate; 0 for those that have none."""
    return 0.0


@overload(value_of)
def _value_of(x):
    return (lambda x: _value(x)) if _one(x) else (lambda x: float(x))


@overload(rate_of)
def _rate_of(x):
    return (lambda x: _rate(x)) if _one(x) else (lambda x: 0.0)


def _define(op, f):
    """An operation on two numbers of which one changes; f(x, dx, y, dy) is an njit function."""
    @overload(op)
    def defined(a, b):
        known = (_one(a) or _one(b)) and all(_one(x) or isinstance(x, PLAIN) for x in (a, b))
        return (lambda a, b: f(value_of(a), rate_of(a), value_of(b), rate_of(b))) if known else None


@njit
def _sum(x, dx, y, dy):
    return pair(x + y, dx + dy)


@njit
def _difference(x, dx, y, dy):
    return pair(x - y, dx - dy)


@njit
def _product(x, dx, y, dy):
    return pair(x * y, x * dy + y * dx)


@njit(error_model="numpy")
def _quotient(x, dx, y, dy):
    z = x / y
    return pair(z, (dx - z * dy) / y)


for _op, _f in ((operator.add, _sum), (operator.sub, _difference), (operator.mul, _product),
                (operator.truediv, _quotient)):
    _define(_op, _f)


@overload(operator.neg)
def _negative(x):
    return (lambda x: pair(-_value(x), -_rate(x))) if _one(x) else None


@njit
def _chained(x, z, slope):
    return pair(z, slope * _rate(x))


@njit
def _changes(x):
    return _rate(x) != 0.0


teach(Changing, value_of, _chained, _changes)
