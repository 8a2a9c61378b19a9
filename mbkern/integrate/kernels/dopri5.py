"""Dormand-Prince 5(4): the step, its error, and the choice of the next step.

The error of a step is the root mean square of E / (atol + rtol max(|y|, |y_new|)) and must not exceed 1. The next step
follows by PI control (K. Gustafsson, ACM Trans. Math. Softw. 17 (1991) 533-554; constants of Hairer's DOPRI5):

    h_new = h * 0.9 * error_old^beta / error^(1/5 - 0.75 beta),   beta = 0.04

Of models with constraints momenta P are integrated up to a gauge, and what an error adds to the gauge alone is none: it
is noise where rows are redundant, and large near poses where they become so. There E is the difference of true momenta.

The first step is chosen as in Hairer, Norsett & Wanner I, section II.4.

A step h is always the difference of two times that float64 can hold: f is integrated over h and t moves on by it, and
at t = 1e9 s an h that t + h rounds off would let the state run ahead of the clock or lag behind it.
"""

from math import sqrt

from ...core.jit import exact
from ...core.number import get, put
from .common import at, evaluate, finite, settled
from .plan import (
    ATOL, K1, K2, K3, K4, K5, K6, K7, MAX_STEP, N, REVEAL, RTOL, SPLIT, T, T_END, TEMP, WORST, Y, Y_NEW,
)
from .stages import (
    along, dopri5_end, dopri5_error, dopri5_stage2, dopri5_stage3, dopri5_stage4, dopri5_stage5, dopri5_stage6,
    first_step_of, first_try,
)
from .tableaus import C2, C3, C4, C5

SAFETY, BETA = 0.9, 0.04
SHRINK, GROW = 0.2, 10.0  # bounds of h_new / h
NO_STEP = 1e300  # error of a step that f did not allow
NONE, FAILED = -1, -2  # in the place of a place
EPSILON = 2.220446049250313e-16


@exact
def smallest_step(t, whole_span):
    """Size of the shortest step that is tried at time t: t must resolve it."""
    return 16.0 * EPSILON * abs(t) + 1e-18 * abs(whole_span)


@exact
def aimed_step(t, t_end, wanted, smallest, max_step):
    """The step that is wanted as t resolves it, and the one to take: the same, or to the end when that is near."""
    span = t_end - t
    size = max(min(abs(wanted), max_step), smallest)
    if span < 0.0:
        size = -size
    resolved = (t + size) - t
    return resolved, span if abs(1.01 * resolved) >= abs(span) else resolved  # 1.01: no tiny step at the end


@exact
def dopri5_step(plan, num, t, h, work):
    """Y_NEW and its slope K7 from Y and its slope K1; returns the error, NO_STEP when f failed."""
    n = plan[N]
    y, y_new, stage = at(plan, Y), at(plan, Y_NEW), at(plan, TEMP)
    k1, k2, k3 = at(plan, K1), at(plan, K2), at(plan, K3)
    k4, k5, k6, k7 = at(plan, K4), at(plan, K5), at(plan, K6), at(plan, K7)
    dopri5_stage2(work, n, y, h, k1, stage)
    if not evaluate(plan, num, t + C2 * h, work, stage, k2):
        return NO_STEP
    dopri5_stage3(work, n, y, h, k1, k2, stage)
    if not evaluate(plan, num, t + C3 * h, work, stage, k3):
        return NO_STEP
    dopri5_stage4(work, n, y, h, k1, k2, k3, stage)
    if not evaluate(plan, num, t + C4 * h, work, stage, k4):
        return NO_STEP
    dopri5_stage5(work, n, y, h, k1, k2, k3, k4, stage)
    if not evaluate(plan, num, t + C5 * h, work, stage, k5):
        return NO_STEP
    dopri5_stage6(work, n, y, h, k1, k2, k3, k4, k5, stage)
    if not evaluate(plan, num, t + h, work, stage, k6):
        return NO_STEP
    dopri5_end(work, n, y, h, k1, k3, k4, k5, k6, y_new)
    if not evaluate(plan, num, t + h, work, y_new, k7):
        return NO_STEP
    shown = NONE
    if plan[REVEAL] != 0:
        shown = other_momenta(plan, num, t + h, h, work)
        if shown == FAILED:
            return NO_STEP
    return error_norm(plan, num, h, shown, work)


@exact
def other_momenta(plan, num, t_new, h, work):
    """True momenta of y_new, at the place of K2, and the place of those of y_new + E."""
    n, y, y_new, other, true = plan[N], at(plan, Y), at(plan, Y_NEW), at(plan, TEMP), at(plan, K2)
    k1, k3, k4 = at(plan, K1), at(plan, K3), at(plan, K4)
    k5, k6, k7 = at(plan, K5), at(plan, K6), at(plan, K7)
    for i in range(n):
        put(work, other + i, get(work, y_new + i))
    for i in range(plan[SPLIT], n):
        error = dopri5_error(work, i, y, y_new, h, k1, k3, k4, k5, k6, k7, 1.0, 0.0)
        put(work, other + i, get(work, y_new + i) + error)
    shown = settled(plan, num, plan[REVEAL], t_new, work, y_new)
    if shown < 0:
        return FAILED
    for i in range(n):
        put(work, true + i, get(work, shown + i))
    shown = settled(plan, num, plan[REVEAL], t_new, work, other)
    return FAILED if shown < 0 else shown


@exact
def error_norm(plan, num, h, shown, work):
    """Error of the step in units of the tolerance, NO_STEP when it is not a number; WORST is where it is largest.

    `shown`: what `other_momenta` has found, or NONE.
    """
    n, split, rtol = plan[N], plan[SPLIT], num[RTOL]
    y, y_new, atol, true = at(plan, Y), at(plan, Y_NEW), at(plan, ATOL), at(plan, K2)
    k1, k3, k4 = at(plan, K1), at(plan, K3), at(plan, K4)
    k5, k6, k7 = at(plan, K5), at(plan, K6), at(plan, K7)
    total, largest, worst = 0.0, -1.0, 0
    for i in range(n):
        if shown == NONE or i < split:
            part = dopri5_error(work, i, y, y_new, h, k1, k3, k4, k5, k6, k7, get(work, atol + i), rtol)
        else:
            scale = get(work, atol + i) + rtol * max(abs(get(work, y + i)), abs(get(work, true + i)))
            part = (get(work, shown + i) - get(work, true + i)) / scale
        square = part * part
        total += square
        if not square <= largest:
            largest, worst = square, i
    plan[WORST] = worst
    error = sqrt(total / max(n, 1))
    return error if error <= NO_STEP else NO_STEP


@exact
def next_step(h, error, error_old, may_grow):
    """The step after one with this error; without `may_grow` it is not longer."""
    if error >= NO_STEP:
        return 0.25 * h
    factor = GROW
    if error > 0.0:
        factor = SAFETY * error_old ** BETA / error ** (0.2 - 0.75 * BETA)
    if not error <= 1.0:  # rejected: without the memory
        factor = min(1.0, SAFETY / error ** (0.2 - 0.75 * BETA))
    return h * max(SHRINK, min(GROW if may_grow else 1.0, factor))


@exact
def scaled_norm(plan, num, x, work):
    """Root mean square of x / (atol + rtol |y|)."""
    y, atol = at(plan, Y), at(plan, ATOL)
    total = 0.0
    for i in range(plan[N]):
        e = get(work, x + i) / (get(work, atol + i) + num[RTOL] * abs(get(work, y + i)))
        total += e * e
    return sqrt(total / max(plan[N], 1))


@exact
def first_step(plan, num, work):
    """Size of a first step whose error is about the tolerance; K1 is known."""
    n = plan[N]
    span = num[T_END] - num[T]
    sign = 1.0 if span > 0.0 else -1.0
    longest = min(abs(span), num[MAX_STEP])
    y, k1, y_new, k2 = at(plan, Y), at(plan, K1), at(plan, Y_NEW), at(plan, K2)
    d0, d1 = scaled_norm(plan, num, y, work), scaled_norm(plan, num, k1, work)
    h = first_try(d0, d1, longest)
    for _ in range(40):  # f may be defined only close by
        along(work, n, y, sign * h, k1, y_new)
        if evaluate(plan, num, num[T] + sign * h, work, y_new, k2) and finite(work, k2, n):
            break
        h *= 0.1
    else:
        return sign * h
    stage = at(plan, TEMP)
    for i in range(n):
        put(work, stage + i, get(work, k2 + i) - get(work, k1 + i))
    return sign * first_step_of(h, d1, scaled_norm(plan, num, stage, work) / h, longest)
