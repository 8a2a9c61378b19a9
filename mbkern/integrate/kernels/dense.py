"""The state between the ends of a step, theta = 0 .. 1.

    y(theta) = r1 + theta (r2 + (1 - theta) (r3 + theta (r4 + (1 - theta) r5)))
    r1 = y,  r2 = y_new - y,  r3 = h f - r2,  r4 = r2 - h f_new - r3

With r5 = 0 this is the cubic Hermite polynomial (order 3: its error is O(h^4)); with r5 = h sum_i d_i k_i, Hairer's
continuous extension of Dormand-Prince (order 4). Quaternions are scaled to length one after interpolation.
"""

from ...core.jit import checked, exact
from ...core.number import get, put
from .common import at, unit_quaternions
from .plan import DENSE, DENSE_AT, DOPRI5, K1, K3, K4, K5, K6, K7, METHOD, N, Y, Y_NEW
from .stages import between, dopri5_bulge, hermite


@exact
def prepare_dense(plan, h, slope_new, work):
    """r1 .. r5 of the step from Y to Y_NEW."""
    n = plan[N]
    y, y_new, k1 = at(plan, Y), at(plan, Y_NEW), at(plan, K1)
    r = at(plan, DENSE_AT)
    for i in range(n):
        before = get(work, y + i)
        r2, r3, r4 = hermite(before, get(work, y_new + i), h, get(work, k1 + i), get(work, slope_new + i))
        put(work, r + i, before)
        put(work, r + n + i, r2)
        put(work, r + 2 * n + i, r3)
        put(work, r + 3 * n + i, r4)
        put(work, r + 4 * n + i, 0.0)
    if plan[METHOD] == DOPRI5:
        k3, k4, k5 = at(plan, K3), at(plan, K4), at(plan, K5)
        k6, k7 = at(plan, K6), at(plan, K7)
        for i in range(n):
            a, c, d = get(work, k1 + i), get(work, k3 + i), get(work, k4 + i)
            e, f, g = get(work, k5 + i), get(work, k6 + i), get(work, k7 + i)
            put(work, r + 4 * n + i, dopri5_bulge(h, a, c, d, e, f, g))


@exact
def interpolate(plan, theta, work, array, out):
    """State at theta of the step that `prepare_dense` has seen, to place `out` of an array."""
    n = plan[N]
    r = at(plan, DENSE_AT)
    for i in range(n):
        put(array, out + i, between(theta, get(work, r + i), get(work, r + n + i), get(work, r + 2 * n + i),
                                    get(work, r + 3 * n + i), get(work, r + 4 * n + i)))
    unit_quaternions(plan, array, out)


@checked
def evaluate_dense(plan, starts, ends, rows, times, out):
    """States `out` at `times` from stored rows (one a step, 4 or 5 vectors); the times lie within the steps.

    Rows and states are one after another in flat arrays.
    """
    n, backward = plan[N], ends[0] < starts[0]
    vectors = plan[DENSE]
    steps = starts.shape[0]
    for j in range(times.shape[0]):
        t = times[j]
        lo, hi = 0, steps
        while hi - lo > 1:
            mid = (lo + hi) // 2
            if (starts[mid] >= t) if backward else (starts[mid] <= t):
                lo = mid
            else:
                hi = mid
        theta = (t - starts[lo]) / (ends[lo] - starts[lo])
        rest = 1.0 - theta
        r = lo * vectors * n
        for i in range(n):
            inner = get(rows, r + 2 * n + i) + theta * get(rows, r + 3 * n + i)
            if vectors == 5:
                inner += theta * rest * get(rows, r + 4 * n + i)
            put(out, j * n + i, get(rows, r + i) + theta * (get(rows, r + n + i) + rest * inner))
        unit_quaternions(plan, out, j * n)
