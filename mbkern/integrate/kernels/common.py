"""What all integrators share: vectors of the workspace, one evaluation of f, quaternions of length one.

Vectors are places in an array, read and written with `get` and `put`: a slice would cost two atomic operations.
"""

from math import sqrt

from ...core.cabi import call_ode
from ...core.jit import exact
from ...core.number import get, put
from .calls import load_double
from .plan import (
    CODE, H, LEG_ACCEPTED, LEG_BEGIN, LEG_END, N, N_QUATERNIONS, N_STEPS, NFEV, QUATERNIONS, RHS, SETTLED, STATUS,
    T_BAD, USER, Y_BAD,
)


@exact
def at(plan, k):
    """Where vector k of the workspace begins."""
    return k * plan[N]


@exact
def evaluate(plan, num, t, work, y, out):
    """f(t, y) for the vector at place y, to the place out; False when f says that it failed."""
    call_ode(plan[RHS], t, work, y, work, out, plan[USER])
    plan[NFEV] += 1
    return plan[STATUS] == 0 or has_value(plan[STATUS], plan, num, t, y)


@exact
def has_value(status, plan, num, t, y):
    """Whether the status at an address says that there is a value; if not, the plan remembers where."""
    code = load_double(status)
    if code != 0.0:
        plan[CODE] = int(code)
        num[T_BAD], plan[Y_BAD] = t, y
        return False
    return True


@exact
def time_of_step(plan, num, accepted):
    """When so many steps of fixed length have been taken: the last one ends where the leg does."""
    k = accepted - plan[LEG_ACCEPTED]
    return num[LEG_END] if k == plan[N_STEPS] else num[LEG_BEGIN] + k * num[H]


@exact
def settled(plan, num, address, t, work, y):
    """Place of the state that the function at `address` makes of the one at y: SETTLED; -1 when that failed."""
    out = at(plan, SETTLED)
    call_ode(address, t, work, y, work, out, plan[USER])
    code = load_double(plan[STATUS])
    if code != 0.0:
        plan[CODE] = int(code)
        num[T_BAD], plan[Y_BAD] = t, y
        return -1
    return out


@exact
def scale4(array, i, factor):
    """Multiply the four numbers from place i on."""
    for j in range(4):
        put(array, i + j, factor * get(array, i + j))


@exact
def square4(array, i):
    """Square of the length of the four numbers from place i on."""
    square = 0.0
    for j in range(4):
        square += get(array, i + j) * get(array, i + j)
    return square


@exact
def unit_quaternions(plan, array, y):
    """Scale the quaternions of the vector at y to length one."""
    for k in range(plan[N_QUATERNIONS]):
        i = y + plan[QUATERNIONS + k]
        scale4(array, i, 1.0 / sqrt(square4(array, i)))


@exact
def unit_quaternions_with_slopes(plan, work, y, slope):
    """The same, and the slopes f(t, y) along: the rate of a quaternion is linear in it, the rest does not change."""
    for k in range(plan[N_QUATERNIONS]):
        i = plan[QUATERNIONS + k]
        factor = 1.0 / sqrt(square4(work, y + i))
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
