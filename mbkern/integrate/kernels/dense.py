"""The state between the ends of a step, theta = 0 .. 1.

    y(theta) = r1 + theta (r2 + (1 - theta) (r3 + theta (r4 + (1 - theta) r5)))
    r1 = y,  r2 = y_new - y,  r3 = h f - r2,  r4 = r2 - h f_new - r3

With r5 = 0 this is the cubic Hermite polynomial (order 3: its error is O(h^4)); with r5 = h sum_i d_i k_i, Hairer's
continuous extension of Dormand-Prince (order 4). Quaternions are scaled to length one after interpolation.
"""

from ...core.jit import checked, exact
from .common import unit_quaternions, vector
from .plan import DENSE_AT, DOPRI5, K1, K3, K4, K5, K6, K7, METHOD, N, Y, Y_NEW
from .tableaus import D1, D3, D4, D5, D6, D7


@exact
def prepare_dense(plan, h, slope_new, work):
    """r1 .. r5 of the step from Y to Y_NEW."""
    n = plan[N]
    y, y_new, k1 = vector(plan, work, Y), vector(plan, work, Y_NEW), vector(plan, work, K1)
    r = work[DENSE_AT * n:(DENSE_AT + 5) * n]
    for i in range(n):
        difference = y_new[i] - y[i]
        bulge = h * k1[i] - difference
        r[i] = y[i]
        r[n + i] = difference
        r[2 * n + i] = bulge
        r[3 * n + i] = difference - h * slope_new[i] - bulge
        r[4 * n + i] = 0.0
    if plan[METHOD] == DOPRI5:
        k3, k4, k5 = vector(plan, work, K3), vector(plan, work, K4), vector(plan, work, K5)
        k6, k7 = vector(plan, work, K6), vector(plan, work, K7)
        for i in range(n):
            r[4 * n + i] = h * (D1 * k1[i] + D3 * k3[i] + D4 * k4[i] + D5 * k5[i] + D6 * k6[i] + D7 * k7[i])


@exact
def interpolate(plan, theta, work, out):
    """State at theta of the step that `prepare_dense` has seen."""
    n = plan[N]
    r = work[DENSE_AT * n:(DENSE_AT + 5) * n]
    rest = 1.0 - theta
    for i in range(n):
        inner = r[2 * n + i] + theta * (r[3 * n + i] + rest * r[4 * n + i])
        out[i] = r[i] + theta * (r[n + i] + rest * inner)
    unit_quaternions(plan, out)


@checked
def evaluate_dense(plan, starts, ends, rows, times, out):
    """States `out` at `times` from stored rows (one a step, 4 or 5 vectors); the times lie within the steps."""
    n, backward = plan[N], ends[0] < starts[0]
    vectors = rows.shape[1] // n
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
        r = rows[lo]
        for i in range(n):
            inner = r[2 * n + i] + theta * r[3 * n + i]
            if vectors == 5:
                inner += theta * rest * r[4 * n + i]
            out[j, i] = r[i] + theta * (r[n + i] + rest * inner)
        unit_quaternions(plan, out[j])
