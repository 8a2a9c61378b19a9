"""The derivative of a user's force function, by running the function itself on dual numbers.

    f(q + sum of e_k d_k, ...) = f(q, ...) + sum of e_k (df/dq) d_k        e_k e_l = 0

His source is compiled once more, with vectors of the core's dual numbers (:mod:`mbkern.core.number`) in the place of
arrays; COLUMNS partial derivatives come out of one call. What a function may do with its numbers is in
:mod:`mbkern.chain_rule`. Numbers are read and written one by one; expressions of whole arrays do not compile, and the
user is told.
"""

import operator

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, lower_cast, models, overload, overload_attribute, register_model

from ..callbacks import name_of, wants_speeds
from ..chain_rule import teach
from ..core.number import COLUMN_VECTOR, COLUMNS, Dual, chained, get, put, value_of
from ..errors import StateError


# ---- a plain number where a dual is wanted: no derivative ----
@lower_cast(types.Float, Dual)
@lower_cast(types.Integer, Dual)
def _constant(context, builder, source, target, x):
    value = context.cast(builder, x, source, types.float64)
    pair = builder.insert_value(ir.Constant(context.get_data_type(target), ir.Undefined), value, 0)
    return builder.insert_value(pair, ir.Constant(COLUMN_VECTOR, [0.0] * COLUMNS), 1)


# ---- operators and functions ----
def _define_mixed(op):
    """With whole numbers; the core knows float64."""
    @overload(op)
    def mixed(a, b):
        if isinstance(a, Dual) and isinstance(b, types.Integer):
            return lambda a, b: op(a, float(b))
        if isinstance(a, types.Integer) and isinstance(b, Dual):
            return lambda a, b: op(float(a), b)
        return None


for _op in (operator.add, operator.sub, operator.mul, operator.truediv):
    _define_mixed(_op)
teach(Dual, value_of, chained, njit(lambda x: True))


# ---- vectors ----
class Duals(types.Type):
    """Numba type of a vector of dual numbers."""

    def __init__(self):
        super().__init__(name=f"duals{COLUMNS}")


duals = Duals()
NUMBERS = types.Array(types.float64, 3, "C")


@register_model(Duals)
class _DualsModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, [("numbers", NUMBERS)])


@intrinsic
def as_duals(typingctx, numbers):
    """Numbers (n, 1, 1 + COLUMNS) as a vector."""
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
    numbers = np.zeros((x.shape[0], 1, 1 + COLUMNS))
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
        for first in range(0, n, COLUMNS):
            end = min(n, first + COLUMNS)
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
