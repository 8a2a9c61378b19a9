"""One step of each method on all lanes, number by number the arithmetic of `rk4`, `dopri5` and `gauss`.

Each lane has its own time. FAIL tells afterwards in which lanes f had no value; what they carry means nothing then.
"""

from math import sqrt

from ...core.jit import checked, exact
from ...core.number import LANES, get, larger, magnitude, put
from .dopri5 import NO_STEP
from .gauss import ACCEPTABLE, MOST_ITERATIONS, ROUND_OFF
from .lane_common import column_finite, copy_column, evaluate
from .lane_plan import (
    BEFORE, D0, D1, DP, DQ, ERROR, FAIL, GROWN, ITERATING, K1, K2, K3, K4, K5, K6, K7, LOST, N, NEW_SLOPE,
    NOT_CONVERGED, NQ, SEEKING, SIZE_P, SIZE_Q, SLOPE_P, SLOPE_Q, STAGE, STARTED, STATE, STEP, T_EVAL, T_NEW, TIME,
    WANTED, Y, Y_NEW, ZERO,
)
from .plan import H, MAX_STEP, RTOL, T0, T_END
from .tableaus import (
    A21, A31, A32, A41, A42, A43, A51, A52, A53, A54, A61, A62, A63, A64, A65, A71, A73, A74, A75, A76,
    C2, C3, C4, C5, E1, E3, E4, E5, E6, E7,
)


@exact
def stage_times(lane, part):
    """T_EVAL = t + part h in every lane."""
    put(lane, T_EVAL, get(lane, TIME) + part * get(lane, STEP))


@checked
def rk4_lanes(plan, num, lane, who, vectors, tau, scratch, done):
    """Y_NEW from Y and its slope K1; see `rk4`."""
    n, h = plan[N], num[H]
    half = 0.5 * h
    for i in range(n):
        put(vectors, STAGE * n + i, get(vectors, Y * n + i) + half * get(vectors, K1 * n + i))
    put(lane, T_EVAL, get(lane, TIME) + half)
    evaluate(plan, lane, who, vectors, tau, scratch, done, STAGE, K2)
    for i in range(n):
        put(vectors, STAGE * n + i, get(vectors, Y * n + i) + half * get(vectors, K2 * n + i))
    put(lane, T_EVAL, get(lane, TIME) + half)
    evaluate(plan, lane, who, vectors, tau, scratch, done, STAGE, K3)
    for i in range(n):
        put(vectors, STAGE * n + i, get(vectors, Y * n + i) + h * get(vectors, K3 * n + i))
    put(lane, T_EVAL, get(lane, TIME) + h)
    evaluate(plan, lane, who, vectors, tau, scratch, done, STAGE, K4)
    sixth = h / 6.0
    for i in range(n):
        k1, k2 = get(vectors, K1 * n + i), get(vectors, K2 * n + i)
        k3, k4 = get(vectors, K3 * n + i), get(vectors, K4 * n + i)
        put(vectors, Y_NEW * n + i, get(vectors, Y * n + i) + sixth * (k1 + 2.0 * (k2 + k3) + k4))


# ---- Dormand-Prince ----
@checked
def dopri5_lanes(plan, num, lane, who, vectors, atol, tau, scratch, done):
    """Y_NEW and its slope K7 from Y and its slope K1, and the ERROR of each lane; see `dopri5`."""
    n, h = plan[N], get(lane, STEP)
    for i in range(n):
        put(vectors, STAGE * n + i, get(vectors, Y * n + i) + h * (A21 * get(vectors, K1 * n + i)))
    stage_times(lane, C2)
    evaluate(plan, lane, who, vectors, tau, scratch, done, STAGE, K2)
    for i in range(n):
        k1, k2 = get(vectors, K1 * n + i), get(vectors, K2 * n + i)
        put(vectors, STAGE * n + i, get(vectors, Y * n + i) + h * (A31 * k1 + A32 * k2))
    stage_times(lane, C3)
    evaluate(plan, lane, who, vectors, tau, scratch, done, STAGE, K3)
    for i in range(n):
        k1, k2, k3 = get(vectors, K1 * n + i), get(vectors, K2 * n + i), get(vectors, K3 * n + i)
        put(vectors, STAGE * n + i, get(vectors, Y * n + i) + h * (A41 * k1 + A42 * k2 + A43 * k3))
    stage_times(lane, C4)
    evaluate(plan, lane, who, vectors, tau, scratch, done, STAGE, K4)
    for i in range(n):
        k1, k2, k3 = get(vectors, K1 * n + i), get(vectors, K2 * n + i), get(vectors, K3 * n + i)
        k4 = get(vectors, K4 * n + i)
        put(vectors, STAGE * n + i, get(vectors, Y * n + i) + h * (A51 * k1 + A52 * k2 + A53 * k3 + A54 * k4))
    stage_times(lane, C5)
    evaluate(plan, lane, who, vectors, tau, scratch, done, STAGE, K5)
    for i in range(n):
        k1, k2, k3 = get(vectors, K1 * n + i), get(vectors, K2 * n + i), get(vectors, K3 * n + i)
        k4, k5 = get(vectors, K4 * n + i), get(vectors, K5 * n + i)
        put(vectors, STAGE * n + i,
            get(vectors, Y * n + i) + h * (A61 * k1 + A62 * k2 + A63 * k3 + A64 * k4 + A65 * k5))
    put(lane, T_EVAL, get(lane, TIME) + h)
    evaluate(plan, lane, who, vectors, tau, scratch, done, STAGE, K6)
    for i in range(n):
        k1, k3, k4 = get(vectors, K1 * n + i), get(vectors, K3 * n + i), get(vectors, K4 * n + i)
        k5, k6 = get(vectors, K5 * n + i), get(vectors, K6 * n + i)
        put(vectors, Y_NEW * n + i,
            get(vectors, Y * n + i) + h * (A71 * k1 + A73 * k3 + A74 * k4 + A75 * k5 + A76 * k6))
    put(lane, T_EVAL, get(lane, TIME) + h)
    evaluate(plan, lane, who, vectors, tau, scratch, done, Y_NEW, K7)
    put_errors(plan, num, lane, who, vectors, atol)


@exact
def put_errors(plan, num, lane, who, vectors, atol):
    """ERROR of the step in units of the tolerance, NO_STEP where it is not a number."""
    n, rtol, h = plan[N], num[RTOL], get(lane, STEP)
    total = get(lane, ZERO)
    for i in range(n):
        y, y_new = get(vectors, Y * n + i), get(vectors, Y_NEW * n + i)
        k1, k3, k4 = get(vectors, K1 * n + i), get(vectors, K3 * n + i), get(vectors, K4 * n + i)
        k5, k6, k7 = get(vectors, K5 * n + i), get(vectors, K6 * n + i), get(vectors, K7 * n + i)
        scale = atol[i] + rtol * larger(magnitude(y), magnitude(y_new))
        e = h * (E1 * k1 + E3 * k3 + E4 * k4 + E5 * k5 + E6 * k6 + E7 * k7) / scale
        total = total + e * e
    put(lane, ERROR, total)
    for k in range(LANES):
        error = sqrt(lane[ERROR, k] / n)
        lane[ERROR, k] = error if error <= NO_STEP and who[FAIL, k] == 0 else NO_STEP


@exact
def scaled_column(plan, num, vectors, atol, source, other, k):
    """Root mean square of x / (atol + rtol |y|) in lane k, x the vector `source` less the vector `other` (-1: none)."""
    n = plan[N]
    total = 0.0
    for i in range(n):
        x = vectors[source * n + i, k]
        if other >= 0:
            x = x - vectors[other * n + i, k]
        e = x / (atol[i] + num[RTOL] * abs(vectors[Y * n + i, k]))
        total += e * e
    return sqrt(total / n)


@checked
def first_steps(plan, num, lane, who, vectors, atol, tau, scratch, done):
    """WANTED of the lanes that are SEEKING, from Y and its slope K1; see `dopri5.first_step`."""
    n = plan[N]
    span = num[T_END] - num[T0]
    sign = 1.0 if span > 0.0 else -1.0
    longest = min(abs(span), num[MAX_STEP])
    for k in range(LANES):
        if who[SEEKING, k] != 0:
            lane[D0, k] = d0 = scaled_column(plan, num, vectors, atol, Y, -1, k)
            lane[D1, k] = d1 = scaled_column(plan, num, vectors, atol, K1, -1, k)
            lane[STEP, k] = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, longest)
    left = 1
    for _ in range(40):  # f may be defined only close by
        for k in range(LANES):
            lane[T_EVAL, k] = lane[TIME, k]
            copy_column(vectors, n, Y, STAGE, k)
            if who[SEEKING, k] != 0:
                h = sign * lane[STEP, k]
                lane[T_EVAL, k] = lane[TIME, k] + h
                for i in range(n):
                    vectors[STAGE * n + i, k] = vectors[Y * n + i, k] + h * vectors[K1 * n + i, k]
        evaluate(plan, lane, who, vectors, tau, scratch, done, STAGE, K2)
        left = 0
        for k in range(LANES):
            if who[SEEKING, k] != 0:
                h = lane[STEP, k]
                if who[FAIL, k] == 0 and column_finite(vectors, n, K2, k):
                    d2 = scaled_column(plan, num, vectors, atol, K2, K1, k) / h
                    steepest = max(lane[D1, k], d2)
                    h1 = max(1e-6, 1e-3 * h) if steepest <= 1e-15 else (0.01 / steepest) ** 0.2
                    lane[WANTED, k] = sign * min(100.0 * h, h1, longest)
                    who[SEEKING, k] = 0
                else:
                    lane[STEP, k] = h * 0.1
                    lane[WANTED, k] = sign * lane[STEP, k]
                    left = 1
                who[FAIL, k] = 0
        if left == 0:
            break
    for k in range(LANES):
        who[SEEKING, k] = 0


# ---- implicit midpoint ----
@exact
def put_change(plan, lane, vectors):
    """Largest changes of the slopes, slopes and states, of q and p as wholes."""
    n, nq = plan[N], plan[NQ]
    zero = get(lane, ZERO)
    change, slope, size = zero, zero, zero
    for i in range(nq):
        new = get(vectors, NEW_SLOPE * n + i)
        change = larger(change, magnitude(new - get(vectors, K2 * n + i)))
        slope = larger(slope, magnitude(new))
        size = larger(size, magnitude(get(vectors, Y * n + i)))
    put(lane, DQ, change); put(lane, SLOPE_Q, slope); put(lane, SIZE_Q, size)
    change, slope, size = zero, zero, zero
    for i in range(nq, n):
        new = get(vectors, NEW_SLOPE * n + i)
        change = larger(change, magnitude(new - get(vectors, K2 * n + i)))
        slope = larger(slope, magnitude(new))
        size = larger(size, magnitude(get(vectors, Y * n + i)))
    put(lane, DP, change); put(lane, SLOPE_P, slope); put(lane, SIZE_P, size)


@checked
def midpoint_lanes(plan, num, lane, who, vectors, tau, scratch, done):
    """Y_NEW from Y by fixed-point iteration in every lane until rounding is all that is left in it; see `gauss`.

    There is no Newton iteration here: it would need a matrix for each state.
    """
    n, h = plan[N], num[H]
    size, tiny = abs(h), 1e-300
    for k in range(LANES):
        who[ITERATING, k] = who[STATE, k] >= 0
        who[GROWN, k] = 0
        lane[BEFORE, k] = 1e300
        if who[STARTED, k] == 0:
            copy_column(vectors, n, K1, K2, k)
    for _ in range(MOST_ITERATIONS):
        for i in range(n):
            put(vectors, STAGE * n + i, get(vectors, Y * n + i) + h * (0.5 * get(vectors, K2 * n + i)))
        put(lane, T_EVAL, get(lane, TIME) + 0.5 * h)
        evaluate(plan, lane, who, vectors, tau, scratch, done, STAGE, NEW_SLOPE)
        put_change(plan, lane, vectors)
        left = 0
        for k in range(LANES):
            if who[ITERATING, k] == 0:
                continue
            copy_column(vectors, n, NEW_SLOPE, K2, k)
            change = size * (lane[DQ, k] / (lane[SIZE_Q, k] + size * lane[SLOPE_Q, k] + tiny)
                             + lane[DP, k] / (lane[SIZE_P, k] + size * lane[SLOPE_P, k] + tiny))
            before = lane[BEFORE, k]
            if who[FAIL, k] != 0 or change <= ROUND_OFF or (change >= before and change <= ACCEPTABLE):
                who[ITERATING, k] = 0
                continue
            if change >= before:
                who[GROWN, k] += 1
                if who[GROWN, k] > 3:
                    who[FAIL, k] = NOT_CONVERGED
                    who[ITERATING, k] = 0
                    continue
            lane[BEFORE, k] = change
            left += 1
        if left == 0:
            break
    for k in range(LANES):
        if who[ITERATING, k] != 0:
            who[FAIL, k] = NOT_CONVERGED
        who[STARTED, k] = 1
    for i in range(n):
        y = get(vectors, Y * n + i)
        step = h * get(vectors, K2 * n + i) + get(vectors, LOST * n + i)
        y_new = y + step
        put(vectors, Y_NEW * n + i, y_new)
        put(vectors, LOST * n + i, step - (y_new - y))


@exact
def end_slopes(plan, lane, who, vectors, tau, scratch, done):
    """K7 = f at Y_NEW and T_NEW."""
    put(lane, T_EVAL, get(lane, T_NEW))
    evaluate(plan, lane, who, vectors, tau, scratch, done, Y_NEW, K7)
