"""What users' njit functions may do with numbers that carry derivatives; written once for all kinds of such numbers.

    z = f(x):       dz = f' dx
    z = f(x, y):    dz = f_x dx + f_y dy

A function that was written for float64 is compiled once more for such numbers, and gives exact derivatives of all that
it computes: no differences. A *kind* of them is a Numba type; it knows + - * / of its own numbers and of float64 beside
them, and hands `teach` a function

    chained(x, z, slope)   the number with the value z and slope dx

`teach` adds + - * / ** in place, comparisons (of values), plain numbers where one of the kind is wanted, abs, min, max,
and these functions, from `math` as from `numpy`:

    sqrt exp log sin cos tan asin acos atan atan2 sinh cosh tanh hypot sign
"""

import math
import operator

import numpy as np
from numba import njit, types
from numba.extending import overload

from .core.toolchain import parts

PLAIN = (types.Float, types.Integer)
_exactly = njit(error_model="numpy")  # where a derivative is infinite, it is

# ---- the rules -------------------------------------------------------------------------------------------------------
# of one number: names; f(x) -> f, f'
OF_ONE = (
    ((operator.pos,), lambda x: (x, 1.0)),
    ((abs, math.fabs, np.abs), lambda x: (abs(x), 1.0 if x >= 0.0 else -1.0)),
    ((np.sign,), lambda x: (np.sign(x), 0.0)),
    ((math.sqrt, np.sqrt), lambda x: (math.sqrt(x), 0.5 / math.sqrt(x))),
    ((math.exp, np.exp), lambda x: (math.exp(x), math.exp(x))),
    ((math.log, np.log), lambda x: (math.log(x), 1.0 / x)),
    ((math.sin, np.sin), lambda x: (math.sin(x), math.cos(x))),
    ((math.cos, np.cos), lambda x: (math.cos(x), -math.sin(x))),
    ((math.tan, np.tan), lambda x: (math.tan(x), 1.0 + math.tan(x) ** 2)),
    ((math.asin, np.arcsin), lambda x: (math.asin(x), 1.0 / math.sqrt(1.0 - x * x))),
    ((math.acos, np.arccos), lambda x: (math.acos(x), -1.0 / math.sqrt(1.0 - x * x))),
    ((math.atan, np.arctan), lambda x: (math.atan(x), 1.0 / (1.0 + x * x))),
    ((math.sinh, np.sinh), lambda x: (math.sinh(x), math.cosh(x))),
    ((math.cosh, np.cosh), lambda x: (math.cosh(x), math.sinh(x))),
    ((math.tanh, np.tanh), lambda x: (math.tanh(x), 1.0 - math.tanh(x) ** 2)),
)


# of two: f(x, y, whether y has a derivative) -> f, f_x, f_y
def _power(x, y, y_changes):
    z = x ** y
    return z, y * x ** (y - 1.0) if y != 0.0 else 0.0, z * math.log(x) if y_changes else 0.0


def _angle(y, x, x_changes):
    square = x * x + y * y
    return math.atan2(y, x), x / square, -y / square


def _hypotenuse(x, y, y_changes):
    z = math.hypot(x, y)
    return z, x / z, y / z


OF_TWO = (((operator.pow, operator.ipow), _power), ((math.atan2, np.arctan2), _angle),
          ((math.hypot, np.hypot), _hypotenuse))
CHOICES = (((max, np.maximum), lambda x, y: x >= y), ((min, np.minimum), lambda x, y: x <= y))  # when the first
COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
IN_PLACE = ((operator.iadd, operator.add), (operator.isub, operator.sub), (operator.imul, operator.mul),
            (operator.itruediv, operator.truediv))


# ---- plain numbers beside those of a kind ----------------------------------------------------------------------------
def can_convert_from(self, typingctx, other):
    """Of a kind: a plain number is one of them, without a derivative."""
    return parts.PROMOTES if isinstance(other, PLAIN) else None


def unify(self, typingctx, other):
    """Of a kind: what a variable is that holds now one of them, now a plain number."""
    return self if isinstance(other, PLAIN) else None


# ---- teaching --------------------------------------------------------------------------------------------------------
def teach(kind, value_of, chained, changes):
    """Let numbers of a kind take part in what this file lists.

    Parameters
    ----------
    kind : class of Numba types
    value_of : function
        value_of(x): the value of such a number, or of a plain one.
    chained : function
        See the top of this file.
    changes : function
        changes(x): False where it is known that the number has no derivative.
    """
    def among(*numbers):
        return (any(isinstance(x, kind) for x in numbers)
                and all(isinstance(x, kind) or isinstance(x, PLAIN) for x in numbers))

    kind.can_convert_from, kind.unify = can_convert_from, unify
    for names, rule in OF_ONE:
        _all(names, _of_one(kind, _exactly(rule), value_of, chained))
    for names, rule in OF_TWO:
        _all(names, _of_two(kind, among, _exactly(rule), value_of, chained, changes))
    for names, first in CHOICES:
        _all(names, _choice(among, njit(first), value_of))
    for op in COMPARISONS:
        _all((op,), _comparison(among, op, value_of))
    for in_place, op in IN_PLACE:
        _all((in_place,), _same(among, op))


def _all(names, implementation):
    for name in names:
        overload(name)(implementation)


def _of_one(kind, rule, value_of, chained):
    def of_one(x):
        if not isinstance(x, kind):
            return None

        def computed(x):
            z, slope = rule(value_of(x))
            return chained(x, z, slope)
        return computed
    return of_one


def _of_two(kind, among, rule, value_of, chained, changes):
    def of_two(x, y):
        if not among(x, y):
            return None
        if not isinstance(y, kind):
            def by_first(x, y):
                z, slope, _ = rule(value_of(x), float(y), False)
                return chained(x, z, slope)
            return by_first
        if not isinstance(x, kind):
            def by_second(x, y):
                z, _, slope = rule(float(x), value_of(y), changes(y))
                return chained(y, z, slope)
            return by_second

        def by_both(x, y):
            z, first, second = rule(value_of(x), value_of(y), changes(y))
            return chained(x, z, first) + chained(y, 0.0, second)
        return by_both
    return of_two


def _choice(among, first, value_of):
    return lambda x, y: (lambda x, y: x if first(value_of(x), value_of(y)) else y) if among(x, y) else None


def _comparison(among, op, value_of):
    return lambda x, y: (lambda x, y: op(value_of(x), value_of(y))) if among(x, y) else None


def _same(among, op):
    return lambda x, y: (lambda x, y: op(x, y)) if among(x, y) else None
