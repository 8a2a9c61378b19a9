"""What all integrators share: vectors of the workspace, one evaluation of f, quaternions of length one."""

from math import sqrt

from ...core.cabi import call_ode
from ...core.jit import exact
from .calls import load_double
from .plan import CODE, N, N_QUATERNIONS, NFEV, QUATERNIONS, RHS, STATUS, T_BAD, USER


@exact
def vector(plan, work, k):
    """Vector k of the workspace."""
    n = plan[N]
    return work[k * n:(k + 1) * n]


@exact
def evaluate(plan, num, t, y, out):
    """out = f(t, y); False when f says that it failed."""
    call_ode(plan[RHS], t, y, 0, out, 0, plan[USER])
    plan[NFEV] += 1
    if plan[STATUS] != 0:
        code = load_double(plan[STATUS])
        if code != 0.0:
            plan[CODE] = int(code)
            num[T_BAD] = t
            return False
    return True


@exact
def unit_quaternions(plan, y):
    """Scale the quaternions in y to length one."""
    for k in range(plan[N_QUATERNIONS]):
        at = plan[QUATERNIONS + k]
        square = 0.0
        for j in range(4):
            square += y[at + j] * y[at + j]
        factor = 1.0 / sqrt(square)
        for j in range(4):
            y[at + j] *= factor


@exact
def unit_quaternions_with_slopes(plan, y, slope):
    """The same, and the slopes f(t, y) along: the rate of a quaternion is linear in it, the rest does not change."""
    for k in range(plan[N_QUATERNIONS]):
        at = plan[QUATERNIONS + k]
        square = 0.0
        for j in range(4):
            square += y[at + j] * y[at + j]
        factor = 1.0 / sqrt(square)
        for j in range(4):
            y[at + j] *= factor
            slope[at + j] *= factor


@exact
def finite(x):
    """Whether all numbers are finite."""
    bad = 0
    for i in range(x.shape[0]):
        bad += not (abs(x[i]) <= 1e300)
    return bad == 0
