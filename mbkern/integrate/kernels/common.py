"""What all integrators share: vectors of the workspace, one evaluation of f, quaternions of length one.

Vectors are places in an array, read and written with `get` and `put`: a slice would cost two atomic operations.
"""

from math import sqrt

from ...core.cabi import call_ode
from ...core.jit import exact
from ...core.number import get, put
from .calls import load_double
from .plan import CODE, N, N_QUATERNIONS, NFEV, QUATERNIONS, RHS, STATUS, T_BAD, USER, Y_BAD


@exact
def at(plan, k):
    """Where vector k of the workspace begins."""
    return k * plan[N]


@exact
def evaluate(plan, num, t, work, y, out):
    """f(t, y) for the vector at place y, to the place out; False when f says that it failed."""
    call_ode(plan[RHS], t, work, y, work, out, plan[USER])
    plan[NFEV] += 1
    if plan[STATUS] != 0:
        code = load_double(plan[STATUS])
        if code != 0.0:
            plan[CODE] = int(code)
            num[T_BAD], plan[Y_BAD] = t, y
            return False
    return True


@exact
def scale4(array, i, factor):
    """Multiply the four numbers from place i on."""
    for j in range(4):
        put(array, i + j, factor * get(array, i + j))


@exact
def inverse_length4(array, i):
    """1 / length of the four numbers from place i on."""
    square = 0.0
    for j in range(4):
        square += get(array, i + j) * get(array, i + j)
    return 1.0 / sqrt(square)


@exact
def unit_quaternions(plan, array, y):
    """Scale the quaternions of the vector at y to length one."""
    for k in range(plan[N_QUATERNIONS]):
        i = y + plan[QUATERNIONS + k]
        scale4(array, i, inverse_length4(array, i))


@exact
def unit_quaternions_with_slopes(plan, work, y, slope):
    """The same, and the slopes f(t, y) along: the rate of a quaternion is linear in it, the rest does not change."""
    for k in range(plan[N_QUATERNIONS]):
        i = plan[QUATERNIONS + k]
        factor = inverse_length4(work, y + i)
        scale4(work, y + i, factor)
        scale4(work, slope + i, factor)


@exact
def finite(array, x, n):
    """Whether n numbers from place x on are finite."""
    bad = 0
    for i in range(n):
        bad += not (abs(get(array, x + i)) <= 1e300)
    return bad == 0


@exact
def copy(source, x, target, y, n):
    """n numbers from place x of one array to place y of another."""
    for i in range(n):
        put(target, y + i, get(source, x + i))
