"""One step of each method on all lanes: the arithmetic of :mod:`.stages`, f on all lanes in between.

Functions that are compiled by themselves and called by address, with that of the plan. Each lane has its own time. FAIL
tells afterwards in which lanes f had no value; what they carry means nothing then.
"""

from math import sqrt

from ...core.jit import c_function, exact
from ...core.number import LANES, get, larger, magnitude, put
from .calls import PART
from .dopri5 import NO_STEP
from .gauss import MOST_ITERATIONS, settled
from .lane_common import column_finite, copy_column, evaluate, opened, unit_lane_quaternions
from .lane_plan import (
    BEFORE, D0, D1, DP, DQ, ERROR, FAIL, GROWN, ITERATING, K1, K2, K3, K4, K5, K6, K7, LOST, N, NEW_SLOPE,
    NOT_CONVERGED, NQ, SEEKING, SIZE_P, SIZE_Q, SLOPE_P, SLOPE_Q, STAGE, STARTED, STATE, STEP, T_EVAL, T_NEW, TIME,
    WANTED, Y, Y_NEW, ZERO,
)
from .plan import H, MAX_STEP, MORE, RTOL, T0, T_END
from .stages import (
    add_compensated, along, dopri5_end, dopri5_error, dopri5_stage2, dopri5_stage3, dopri5_stage4, dopri5_stage5,
    dopri5_stage6, first_step_of, first_try, relative_change, rk4_end,
)
from .tableaus import C2, C3, C4, C5


@exact
def stage_times(lane, part):
    """T_EVAL = t + part h in every lane."""
    put(lane, T_EVAL, get(lane, TIME) + part * get(lane, STEP))


@c_function(PART)
def rk4_lanes(address):
    """Y_NEW from Y and its slope K1; see `rk4`."""
    plan, num, lane, _, vectors, _ = opened(address)
    n, h = plan[N], num[H]
    y, y_new, stage = Y * n, Y_NEW * n, STAGE * n
    k1, k2, k3, k4 = K1 * n, K2 * n, K3 * n, K4 * n
    half = 0.5 * h
    along(vectors, n, y, half, k1, stage)
    put(lane, T_EVAL, get(lane, TIME) + half)
    evaluate(plan, STAGE, K2)
    along(vectors, n, y, half, k2, stage)
    put(lane, T_EVAL, get(lane, TIME) + half)
    evaluate(plan, STAGE, K3)
    along(vectors, n, y, h, k3, stage)
    put(lane, T_EVAL, get(lane, TIME) + h)
    evaluate(plan, STAGE, K4)
    rk4_end(vectors, n, y, h, k1, k2, k3, k4, y_new)
    unit_lane_quaternions(plan, vectors, Y_NEW, -1)
    return MORE


# ---- Dormand-Prince ----
@c_function(PART)
def dopri5_lanes(address):
    """Y_NEW and its slope K7 from Y and its slope K1, and the ERROR of each lane; see `dopri5`."""
    plan, num, lane, who, vectors, atol = opened(address)
    n, h = plan[N], get(lane, STEP)
    y, y_new, stage = Y * n, Y_NEW * n, STAGE * n
    k1, k2, k3, k4, k5, k6 = K1 * n, K2 * n, K3 * n, K4 * n, K5 * n, K6 * n
    dopri5_stage2(vectors, n, y, h, k1, stage)
    stage_times(lane, C2)
    evaluate(plan, STAGE, K2)
    dopri5_stage3(vectors, n, y, h, k1, k2, stage)
    stage_times(lane, C3)
    evaluate(plan, STAGE, K3)
    dopri5_stage4(vectors, n, y, h, k1, k2, k3, stage)
    stage_times(lane, C4)
    evaluate(plan, STAGE, K4)
    dopri5_stage5(vectors, n, y, h, k1, k2, k3, k4, stage)
    stage_times(lane, C5)
    evaluate(plan, STAGE, K5)
    dopri5_stage6(vectors, n, y, h, k1, k2, k3, k4, k5, stage)
    put(lane, T_EVAL, get(lane, TIME) + h)
    evaluate(plan, STAGE, K6)
    dopri5_end(vectors, n, y, h, k1, k3, k4, k5, k6, y_new)
    put(lane, T_EVAL, get(lane, TIME) + h)
    evaluate(plan, Y_NEW, K7)
    put_errors(plan, num, lane, who, vectors, atol)
    unit_lane_quaternions(plan, vectors, Y_NEW, K7)
    return MORE


@exact
def put_errors(plan, num, lane, who, vectors, atol):
    """ERROR of the step in units of the tolerance, NO_STEP where it is not a number."""
    n, rtol, h = plan[N], num[RTOL], get(lane, STEP)
    total = get(lane, ZERO)
    for i in range(n):
        e = dopri5_error(vectors, i, Y * n, Y_NEW * n, h, K1 * n, K3 * n, K4 * n, K5 * n, K6 * n, K7 * n, atol[i], rtol)
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


@c_function(PART)
def first_steps(address):
    """WANTED of the lanes that are SEEKING, from Y and its slope K1; see `dopri5.first_step`."""
    plan, num, lane, who, vectors, atol = opened(address)
    n = plan[N]
    span = num[T_END] - num[T0]
    sign = 1.0 if span > 0.0 else -1.0
    longest = min(abs(span), num[MAX_STEP])
    for k in range(LANES):
        if who[SEEKING, k] != 0:
            lane[D0, k] = d0 = scaled_column(plan, num, vectors, atol, Y, -1, k)
            lane[D1, k] = d1 = scaled_column(plan, num, vectors, atol, K1, -1, k)
            lane[STEP, k] = first_try(d0, d1, longest)
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
        evaluate(plan, STAGE, K2)
        left = 0
        for k in range(LANES):
            if who[SEEKING, k] != 0:
                h = lane[STEP, k]
                if who[FAIL, k] == 0 and column_finite(vectors, n, K2, k):
                    d2 = scaled_column(plan, num, vectors, atol, K2, K1, k) / h
                    lane[WANTED, k] = sign * first_step_of(h, lane[D1, k], d2, longest)
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
    return MORE


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


@c_function(PART)
def midpoint_lanes(address):
    """Y_NEW from Y by fixed-point iteration in every lane until rounding is all that is left in it; see `gauss`.

    There is no Newton iteration here: it would need a matrix for each state.
    """
    plan, num, lane, who, vectors, _ = opened(address)
    n, h = plan[N], num[H]
    for k in range(LANES):
        who[ITERATING, k] = who[STATE, k] >= 0
        who[GROWN, k] = 0
        lane[BEFORE, k] = 1e300
        if who[STARTED, k] == 0:
            copy_column(vectors, n, K1, K2, k)
    for _ in range(MOST_ITERATIONS):
        along(vectors, n, Y * n, 0.5 * h, K2 * n, STAGE * n)  # the same bits as h (k / 2)
        put(lane, T_EVAL, get(lane, TIME) + 0.5 * h)
        evaluate(plan, STAGE, NEW_SLOPE)
        put_change(plan, lane, vectors)
        left = 0
        for k in range(LANES):
            if who[ITERATING, k] == 0:
                continue
            copy_column(vectors, n, NEW_SLOPE, K2, k)
            change = relative_change(abs(h), lane[DQ, k], lane[DP, k], lane[SIZE_Q, k], lane[SIZE_P, k],
                                     lane[SLOPE_Q, k], lane[SLOPE_P, k])
            before = lane[BEFORE, k]
            if who[FAIL, k] != 0 or settled(change, before):
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
        add_compensated(vectors, i, Y * n, Y_NEW * n, LOST * n, h * get(vectors, K2 * n + i))
    return MORE


@exact
def end_slopes(plan, lane):
    """K7 = f at Y_NEW and T_NEW."""
    put(lane, T_EVAL, get(lane, T_NEW))
    evaluate(plan, Y_NEW, K7)
