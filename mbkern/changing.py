"""Numbers that change with time, for a user's njit functions: a value and its rate, x + xdot eps with eps^2 = 0.

A function that was written for float64 is compiled once more for these, and gives the exact time derivative of all that
it computes, by the chain rule: no differences. They know + - * / **, comparisons (of values), abs, min, max, float
numbers beside them, and these functions, from `math` as from `numpy`:

    sqrt exp log sin cos tan asin acos atan atan2 sinh cosh tanh hypot

In memory such a number is two float64: value, rate.
"""

import math
import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, lower_cast, models, overload, register_model

from .core.toolchain import parts


class Changing(types.Type):
    """Numba type of a value and its rate."""

    def __init__(self) -> None:
        super().__init__(name="changing")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """A number that does not change is one, too."""
        return parts.PROMOTES if isinstance(other, types.Number) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        """What a variable is that holds now this, now a number."""
        return self if isinstance(other, types.Number) else None


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


@lower_cast(types.Number, Changing)
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


def _two(a: Any, b: Any) -> bool:
    return (_one(a) or _one(b)) and all(_one(x) or isinstance(x, types.Number) for x in (a, b))


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
        return (lambda a, b: f(value_of(a), rate_of(a), value_of(b), rate_of(b))) if _two(a, b) else None


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


@njit(error_model="numpy")
def _power(x, dx, y, dy):
    z = x ** y
    rate = 0.0 if y == 0.0 else y * x ** (y - 1.0) * dx
    if dy != 0.0:
        rate += z * math.log(x) * dy
    return pair(z, rate)


@njit(error_model="numpy")
def _angle(y, dy, x, dx):
    return pair(math.atan2(y, x), (x * dy - y * dx) / (x * x + y * y))


@njit(error_model="numpy")
def _hypotenuse(x, dx, y, dy):
    z = math.hypot(x, y)
    return pair(z, (x * dx + y * dy) / z)


@njit
def _smaller(x, dx, y, dy):
    return pair(x, dx) if x <= y else pair(y, dy)


@njit
def _larger(x, dx, y, dy):
    return pair(x, dx) if x >= y else pair(y, dy)


_OF_TWO: tuple[tuple[tuple[Any, ...], Any], ...] = (
    ((operator.add, operator.iadd), _sum), ((operator.sub, operator.isub), _difference),
    ((operator.mul, operator.imul), _product), ((operator.truediv, operator.itruediv), _quotient),
    ((operator.pow, operator.ipow), _power), ((math.atan2, np.arctan2), _angle),
    ((math.hypot, np.hypot), _hypotenuse), ((min, np.minimum), _smaller), ((max, np.maximum), _larger),
)
for _ops, _f in _OF_TWO:
    for _op in _ops:
        _define(_op, _f)


def _define_comparison(op):
    @overload(op)
    def defined(a, b):
        return (lambda a, b: op(value_of(a), value_of(b))) if _two(a, b) else None


for _op in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
    _define_comparison(_op)


# ---- functions of one number -----------------------------------------------------------------------------------------
def _define_function(op, f):
    """A function of a number that changes; f(x) gives the value and the derivative there."""
    @overload(op)
    def defined(x):
        if not _one(x):
            return None

        def chained(x):
            value, slope = f(_value(x))
            return pair(value, slope * _rate(x))
        return chained


@njit
def _negative(x):
    return -x, -1.0


@njit
def _positive(x):
    return x, 1.0


@njit
def _magnitude(x):
    return abs(x), (1.0 if x >= 0.0 else -1.0)


@njit(error_model="numpy")
def _sqrt(x):
    root = math.sqrt(x)
    return root, 0.5 / root


@njit
def _exp(x):
    y = math.exp(x)
    return y, y


@njit(error_model="numpy")
def _log(x):
    return math.log(x), 1.0 / x


@njit
def _sin(x):
    return math.sin(x), math.cos(x)


@njit
def _cos(x):
    return math.cos(x), -math.sin(x)


@njit
def _tan(x):
    y = math.tan(x)
    return y, 1.0 + y * y


@njit(error_model="numpy")
def _asin(x):
    return math.asin(x), 1.0 / math.sqrt(1.0 - x * x)


@njit(error_model="numpy")
def _acos(x):
    return math.acos(x), -1.0 / math.sqrt(1.0 - x * x)


@njit
def _atan(x):
    return math.atan(x), 1.0 / (1.0 + x * x)


@njit
def _sinh(x):
    return math.sinh(x), math.cosh(x)


@njit
def _cosh(x):
    return math.cosh(x), math.sinh(x)


@njit
def _tanh(x):
    y = math.tanh(x)
    return y, 1.0 - y * y


_OF_ONE: tuple[tuple[tuple[Any, ...], Any], ...] = (
    ((operator.neg,), _negative), ((operator.pos,), _positive), ((abs, math.fabs, np.abs), _magnitude),
    ((math.sqrt, np.sqrt), _sqrt), ((math.exp, np.exp), _exp), ((math.log, np.log), _log), ((math.sin, np.sin), _sin),
    ((math.cos, np.cos), _cos), ((math.tan, np.tan), _tan), ((math.asin, np.arcsin), _asin),
    ((math.acos, np.arccos), _acos), ((math.atan, np.arctan), _atan), ((math.sinh, np.sinh), _sinh),
    ((math.cosh, np.cosh), _cosh), ((math.tanh, np.tanh), _tanh),
)
for _ops, _f in _OF_ONE:
    for _op in _ops:
        _define_function(_op, _f)
