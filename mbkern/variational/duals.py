"""The derivative of a user's force function, by running the function itself on dual numbers.

    f(q + sum of e_k d_k, ...) = f(q, ...) + sum of e_k (df/dq) d_k        e_k e_l = 0

His source is compiled once more, with vectors of the core's dual numbers (:mod:`mbkern.core.number`) in the place of
arrays; LANES partial derivatives come out of one call. What a function may do with its numbers is defined here:
arithmetic, powers, comparisons, `min`, `max`, `abs`, and the usual functions of `math` and `numpy`. Numbers are read
and written one by one; expressions of whole arrays do not compile, and the user is told.
"""

import math
import operator

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, lower_cast, models, overload, overload_attribute, register_model

from ..callbacks import name_of, wants_speeds
from ..core.number import LANES, VECTOR, Dual, chained, get, put, value_of
from ..core.toolchain import parts
from ..errors import StateError

PLAIN = (types.Float, types.Integer)


# ---- a plain number where a dual is wanted: no derivative ----
# (hooks of Numba's types; here and not in the core, which has no use for them)
def _conversion(self, typingctx, other):
    return parts.PROMOTES if isinstance(other, PLAIN) else None


def _common(self, typingctx, other):
    return self if isinstance(other, PLAIN) else None


Dual.can_convert_from, Dual.unify = _conversion, _common  # type: ignore[method-assign]


@lower_cast(types.Float, Dual)
@lower_cast(types.Integer, Dual)
def _constant(context, builder, source, target, x):
    value = context.cast(builder, x, source, types.float64)
    pair = builder.insert_value(ir.Constant(context.get_data_type(target), ir.Undefined), value, 0)
    return builder.insert_value(pair, ir.Constant(VECTOR, [0.0] * LANES), 1)


# ---- operators ----
def _define_mixed(op):
    """With whole numbers; the core knows float64."""
    @overload(op)
    def mixed(a, b):
        if isinstance(a, Dual) and isinstance(b, types.Integer):
            return lambda a, b: op(a, float(b))
        if isinstance(a, types.Integer) and isinstance(b, Dual):
            return lambda a, b: op(float(a), b)
        return None


def _define_inplace(inplace, op):
    @overload(inplace)
    def changed(a, b):
        return (lambda a, b: op(a, b)) if isinstance(a, Dual) or isinstance(b, Dual) else None


def _define_comparison(op):
    @overload(op)
    def compared(a, b):
        if isinstance(a, Dual) or isinstance(b, Dual):
            return lambda a, b: op(value_of(a), value_of(b))
        return None


for _op in (operator.add, operator.sub, operator.mul, operator.truediv):
    _define_mixed(_op)
for _inplace, _op in ((operator.iadd, operator.add), (operator.isub, operator.sub), (operator.imul, operator.mul),
                      (operator.itruediv, operator.truediv), (operator.ipow, operator.pow)):
    _define_inplace(_inplace, _op)
for _op in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
    _define_comparison(_op)


@overload(operator.pos)
def _same(x):
    return (lambda x: x) if isinstance(x, Dual) else None


@overload(operator.pow)
def _power(a, b):
    if isinstance(a, Dual) and isinstance(b, PLAIN):
        def by_base(a, b):
            x = value_of(a)
            return chained(a, x ** b, b * x ** (b - 1) if b != 0 else 0.0)
        return by_base
    if isinstance(a, PLAIN) and isinstance(b, Dual):
        def by_exponent(a, b):
            y = float(a) ** value_of(b)
            return chained(b, y, y * math.log(a))
        return by_exponent
    if isinstance(a, Dual) and isinstance(b, Dual):
        def by_both(a, b):
            x, y = value_of(a), value_of(b)
            z = x ** y
            return chained(a, z, y * x ** (y - 1.0)) + chained(b, 0.0, z * math.log(x))
        return by_both
    return None


# ---- functions ----
def _define(names, value, slope):
    """A function of one number under all its names, from its value and its derivative."""
    value, slope = njit(value), njit(slope)

    def of_dual(x):
        if not isinstance(x, Dual):
            return None

        def computed(x):
            v = value_of(x)
            return chained(x, value(v), slope(v))
        return computed

    for name in names:
        overload(name)(of_dual)


_define((math.sin, np.sin), lambda x: math.sin(x), lambda x: math.cos(x))
_define((math.cos, np.cos), lambda x: math.cos(x), lambda x: -math.sin(x))
_define((math.tan, np.tan), lambda x: math.tan(x), lambda x: 1.0 + math.tan(x) ** 2)
_define((math.asin, np.arcsin), lambda x: math.asin(x), lambda x: 1.0 / math.sqrt(1.0 - x * x))
_define((math.acos, np.arccos), lambda x: math.acos(x), lambda x: -1.0 / math.sqrt(1.0 - x * x))
_define((math.atan, np.arctan), lambda x: math.atan(x), lambda x: 1.0 / (1.0 + x * x))
_define((math.sinh, np.sinh), lambda x: math.sinh(x), lambda x: math.cosh(x))
_define((math.cosh, np.cosh), lambda x: math.cosh(x), lambda x: math.sinh(x))
_define((math.tanh, np.tanh), lambda x: math.tanh(x), lambda x: 1.0 - math.tanh(x) ** 2)
_define((math.exp, np.exp), lambda x: math.exp(x), lambda x: math.exp(x))
_define((math.log, np.log), lambda x: math.log(x), lambda x: 1.0 / x)
_define((math.sqrt, np.sqrt), lambda x: math.sqrt(x), lambda x: 0.5 / math.sqrt(x))
_define((abs, math.fabs, np.abs), lambda x: abs(x), lambda x: 1.0 if x >= 0.0 else -1.0)
_define((np.sign,), lambda x: np.sign(x), lambda x: 0.0)


def _define_choice(names, first):
    """One of two numbers: the first where `first` of their values says so."""
    def of_duals(a, b):
        if not (isinstance(a, Dual) or isinstance(b, Dual)):
            return None
        return lambda a, b: a if first(value_of(a), value_of(b)) else b

    for name in names:
        overload(name)(of_duals)


_define_choice((max, np.maximum), njit(lambda x, y: x >= y))
_define_choice((min, np.minimum), njit(lambda x, y: x <= y))


def _of_two(y, x):
    if isinstance(y, Dual) and isinstance(x, Dual):
        def angle(y, x):
            b, a = value_of(y), value_of(x)
            square = a * a + b * b
            return chained(y, math.atan2(b, a), a / square) - chained(x, 0.0, b / square)
        return angle
    if isinstance(y, Dual) and isinstance(x, PLAIN):
        def angle_by_y(y, x):
            b = value_of(y)
            return chained(y, math.atan2(b, x), x / (x * x + b * b))
        return angle_by_y
    if isinstance(y, PLAIN) and isinstance(x, Dual):
        def angle_by_x(y, x):
            a = value_of(x)
            return chained(x, math.atan2(y, a), -y / (a * a + y * y))
        return angle_by_x
    return None


for _name in (math.atan2, np.arctan2):
    overload(_name)(_of_two)


# ---- vectors ----
class Duals(types.Type):
    """Numba type of a vector of dual numbers."""

    def __init__(self):
        super().__init__(name=f"duals{LANES}")


duals = Duals()
NUMBERS = types.Array(types.float64, 3, "C")


@register_model(Duals)
class _DualsModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, [("numbers", NUMBERS)])


@intrinsic
def as_duals(typingctx, numbers):
    """Numbers (n, 1, 1 + LANES) as a vector."""
    def codegen(context, builder, sig, args):
        context.nrt.incref(builder, NUMBERS, args[0])
        return builder.insert_value(ir.Constant(context.get_value_type(duals), ir.Undefined), args[0], 0)
    return duals(NUMBERS), codegen


@intrinsic
def numbers_of(typingctx, vector):
    def codegen(context, builder, sig, args):
        numbers = builder.extract_value(args[0], 0)
        context.nrt.incref(builder, NUMBERS, numbers)
        return numbers
    return NUMBERS(duals), codegen


@overload(operator.getitem)
def _read(vector, i):
    if isinstance(vector, Duals) and isinstance(i, types.Integer):
        def read(vector, i):
            numbers = numbers_of(vector)
            return get(numbers, i if i >= 0 else i + numbers.shape[0])
        return read
    return None


@overload(operator.setitem)
def _write(vector, i, x):
    if isinstance(vector, Duals) and isinstance(i, types.Integer):
        if isinstance(x, types.Integer):
            def write(vector, i, x):
                numbers = numbers_of(vector)
                put(numbers, i if i >= 0 else i + numbers.shape[0], float(x))
        else:
            def write(vector, i, x):
                numbers = numbers_of(vector)
                put(numbers, i if i >= 0 else i + numbers.shape[0], x)
        return write
    return None


@overload(len)
def _length(vector):
    return (lambda vector: numbers_of(vector).shape[0]) if isinstance(vector, Duals) else None


@overload_attribute(Duals, "size")
def _size(vector):
    return lambda vector: numbers_of(vector).shape[0]


@overload_attribute(Duals, "shape")
def _shape(vector):
    return lambda vector: (numbers_of(vector).shape[0],)


# ---- the derivative ----
@njit
def with_values(x):
    """Dual numbers with these values and no partials."""
    numbers = np.zeros((x.shape[0], 1, 1 + LANES))
    for k in range(x.shape[0]):
        numbers[k, 0, 0] = x[k]
    return numbers


def derivative_by_duals(f):
    """df(t, q, p, tau_q, tau_p), or with u and tau_u, of a force function; a StateError where it cannot run on duals.

    Examples
    --------
    >>> import numba, numpy as np
    >>> from mbkern.variational.duals import derivative_by_duals
    >>> @numba.njit
    ... def spring(t, q, p, out):
    ...     out[0] = -4.0 * q[0] ** 3
    >>> by_q, by_p = np.zeros((1, 1)), np.zeros((1, 1))
    >>> derivative_by_duals(spring)(0.0, np.array([0.5]), np.array([0.0]), by_q, by_p)
    >>> float(by_q[0, 0])
    -3.0
    """
    if wants_speeds(f):
        @njit
        def call(t, q, p, u, out):
            f(t, as_duals(q), as_duals(p), as_duals(u), as_duals(out))
    else:
        @njit
        def call(t, q, p, u, out):
            f(t, as_duals(q), as_duals(p), as_duals(out))

    @njit
    def put_partials(t, q, p, u, moved, out, by_moved):
        """The derivatives by the numbers of `moved`, which is one of q, p and u."""
        n = moved.shape[0]
        for first in range(0, n, LANES):
            end = min(n, first + LANES)
            for k in range(first, end):
                moved[k, 0, 1 + k - first] = 1.0
            out[:] = 0.0
            call(t, q, p, u, out)
            for k in range(first, end):
                moved[k, 0, 1 + k - first] = 0.0
                for i in range(out.shape[0]):
                    by_moved[i, k] = out[i, 0, 1 + k - first]

    if wants_speeds(f):
        @njit
        def derivative(t, q, p, u, tau_q, tau_p, tau_u):
            x, y, z, out = with_values(q), with_values(p), with_values(u), with_values(p)
            put_partials(t, x, y, z, x, out, tau_q)
            put_partials(t, x, y, z, y, out, tau_p)
            put_partials(t, x, y, z, z, out, tau_u)
    else:
        @njit
        def derivative(t, q, p, tau_q, tau_p):
            x, y, out = with_values(q), with_values(p), with_values(p)
            put_partials(t, x, y, y, x, out, tau_q)
            put_partials(t, x, y, y, y, out, tau_p)

    vector, matrix = types.Array(types.float64, 1, "C"), types.Array(types.float64, 2, "A")
    count = 3 if wants_speeds(f) else 2
    try:
        derivative.compile((types.float64, *[vector] * count, *[matrix] * count))
    except Exception as error:
        raise StateError(f"with_derivative: {name_of(f)!r} cannot run on dual numbers, which are read and written one "
                         f"by one (no expressions of whole arrays): {_reason(error)}; give its derivative, or take "
                         f"differences with mb.forces.with_derivative({name_of(f)})") from error
    return derivative


def _reason(error):
    """What Numba complains about, without the rest of its message: the line of the user's source, if it is there."""
    lines = [line.strip() for line in str(error).splitlines()]
    marks = [k for k, line in enumerate(lines) if line.startswith("^")]
    return f"{lines[marks[0] - 1]!r} does not compile" if marks and marks[0] else lines[0] if lines else repr(error)
