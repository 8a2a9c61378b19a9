"""Numbers that change with time, for a user's njit functions: a value and its rate, x + xdot eps with eps^2 = 0.

A function that was written for float64 is compiled once more for these, and gives the exact time derivative of all that
it computes. What they know beside + - * / is in :mod:`mbkern.chain_rule`. In memory such a number is two float64, value
and rate.

Value and rate may be such numbers themselves (`twice`): x and its derivative along another direction, xdot and its own;
then all second derivatives are exact, too. In memory these are four float64, in this order.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, lower_cast, models, overload, register_model

from .chain_rule import PLAIN, teach
from .core.toolchain import parts


class Number(types.Type):
    """Numba type of a value and its rate, both of the type `of`."""

    def __init__(self, of: Any) -> None:
        super().__init__(name=f"{type(self).__name__}({of})")
        self.of = of


class Changing(Number):
    """Of float64."""


class Twice(Number):
    """Of numbers that change. A class of its own, as functions for it call those for the others: Numba would take one
    function for both for a recursion."""


changing = Changing(types.float64)
twice = Twice(changing)


@register_model(Changing)
@register_model(Twice)
class _Model(models.StructModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, [("value", fe_type.of), ("rate", fe_type.of)])


@intrinsic
def pair(typingctx, value, rate):
    """The number with this value and rate."""
    kind = twice if isinstance(value, Changing) or isinstance(rate, Changing) else changing

    def codegen(context, builder, sig, args):
        made = ir.Constant(context.get_value_type(kind), ir.Undefined)
        return builder.insert_value(builder.insert_value(made, args[0], 0), args[1], 1)
    return kind(kind.of, kind.of), codegen


@intrinsic
def _value(typingctx, x):
    def codegen(context, builder, sig, args):
        return builder.extract_value(args[0], 0)
    return x.of(x), codegen


@intrinsic
def _rate(typingctx, x):
    def codegen(context, builder, sig, args):
        return builder.extract_value(args[0], 1)
    return x.of(x), codegen


@lower_cast(types.Float, Number)
@lower_cast(types.Integer, Number)
def _from_number(context, builder, fromty, toty, x):
    made = ir.Constant(context.get_value_type(toty), None)  # zeros
    return builder.insert_value(made, context.cast(builder, x, fromty, toty.of), 0)


def _vectors_at(number):
    """Arrays of such numbers at an address, of n and of n rows of m; whoever passes the address keeps them alive."""
    @intrinsic
    def vector_at(typingctx, address, n):
        kind = types.Array(number, 1, "C")

        def codegen(context, builder, sig, args):
            data = builder.inttoptr(args[0], context.get_data_type(number).as_pointer())
            return parts.array_over(context, builder, kind, data, [args[1]])
        return kind(types.intp, types.intp), codegen

    @intrinsic
    def rows_at(typingctx, address, n, m):
        kind = types.Array(number, 2, "C")

        def codegen(context, builder, sig, args):
            data = builder.inttoptr(args[0], context.get_data_type(number).as_pointer())
            return parts.array_over(context, builder, kind, data, [args[1], args[2]])
        return kind(types.intp, types.intp, types.intp), codegen
    return vector_at, rows_at


changing_at, changing_rows_at = _vectors_at(changing)
twice_at, twice_rows_at = _vectors_at(twice)


# ---- arithmetic ------------------------------------------------------------------------------------------------------
def value_of(x):
    """The value of a number."""
    return float(x)


def rate_of(x):
    """Its rate; 0 for those that have none."""
    return 0.0


def changes(x):
    """Whether it has a derivative."""
    return False


@overload(value_of)
def _value_of(x):
    return (lambda x: _value(x)) if isinstance(x, Number) else (lambda x: float(x))


@overload(rate_of)
def _rate_of(x):
    return (lambda x: _rate(x)) if isinstance(x, Number) else (lambda x: 0.0)


@overload(changes)
def _changes(x):
    if isinstance(x, Twice):
        return lambda x: changes(_value(x)) or changes(_rate(x)) or value_of(_rate(x)) != 0.0
    return lambda x: _rate(x) != 0.0


def _sum(x, dx, y, dy):
    return pair(x + y, dx + dy)


def _difference(x, dx, y, dy):
    return pair(x - y, dx - dy)


def _product(x, dx, y, dy):
    return pair(x * y, x * dy + y * dx)


def _quotient(x, dx, y, dy):
    z = x / y
    return pair(z, (dx - z * dy) / y)


def _learn(kind):
    """Let numbers of a kind calculate, beside plain ones."""
    def define(op, f):
        @overload(op)
        def defined(a, b):
            known = ((isinstance(a, kind) or isinstance(b, kind))
                     and all(isinstance(x, kind) or isinstance(x, PLAIN) for x in (a, b)))
            return (lambda a, b: f(value_of(a), rate_of(a), value_of(b), rate_of(b))) if known else None

    for op, f in ((operator.add, _sum), (operator.sub, _difference), (operator.mul, _product),
                  (operator.truediv, _quotient)):
        define(op, njit(f, error_model="numpy"))

    @overload(operator.neg)
    def _negative(x):
        return (lambda x: pair(-_value(x), -_rate(x))) if isinstance(x, kind) else None

    teach(kind, value_of, njit(lambda x, z, slope: pair(z, slope * _rate(x))), njit(lambda x: changes(x)))


_learn(Changing)
_learn(Twice)
