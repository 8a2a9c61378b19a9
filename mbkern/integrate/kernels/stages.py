"""The arithmetic of all methods, once for one state and for lanes: `get` and `put` know what a number is.

x holds vectors of n numbers; y, y_new, k1, ..., out are the places in x where they begin. h is the step: a float64, or
one number a lane. Each k is f at the stage that the function before it has written. Who calls f, and what happens where
f has no value, is the affair of the caller: one state gives up at once, a lane is marked and its neighbours go on.

Sources: :mod:`.rk4`, :mod:`.dopri5`, :mod:`.gauss`; coefficients in :mod:`.tableaus`.
"""

from ...core.jit import exact
from ...core.number import get, larger, magnitude, put
from .tableaus import (
    A21, A31, A32, A41, A42, A43, A51, A52, A53, A54, A61, A62, A63, A64, A65, A71, A73, A74, A75, A76,
    D1, D3, D4, D5, D6, D7, E1, E3, E4, E5, E6, E7,
)

SMALL_SLOPE, SMALL_STEP = 1e-5, 1e-6  # first step: where slopes say nothing, and what is tried then
TINY = 1e-300  # instead of 0 as a divisor


# ---- RK4 ----
@exact
def along(x, n, y, h, k, out):
    """y + h k."""
    for i in range(n):
        put(x, out + i, get(x, y + i) + h * get(x, k + i))


@exact
def rk4_end(x, n, y, h, k1, k2, k3, k4, y_new):
    """y_new = y + h/6 (k1 + 2 k2 + 2 k3 + k4)."""
    sixth = h / 6.0
    for i in range(n):
        middle = get(x, k2 + i) + get(x, k3 + i)
        put(x, y_new + i, get(x, y + i) + sixth * (get(x, k1 + i) + 2.0 * middle + get(x, k4 + i)))


# ---- Dormand-Prince: stages 2 to 6, the new state (stage 7), its error ----
@exact
def dopri5_stage2(x, n, y, h, k1, out):
    for i in range(n):
        put(x, out + i, get(x, y + i) + h * (A21 * get(x, k1 + i)))


@exact
def dopri5_stage3(x, n, y, h, k1, k2, out):
    for i in range(n):
        put(x, out + i, get(x, y + i) + h * (A31 * get(x, k1 + i) + A32 * get(x, k2 + i)))


@exact
def dopri5_stage4(x, n, y, h, k1, k2, k3, out):
    for i in range(n):
        a, b, c = get(x, k1 + i), get(x, k2 + i), get(x, k3 + i)
        put(x, out + i, get(x, y + i) + h * (A41 * a + A42 * b + A43 * c))


@exact
def dopri5_stage5(x, n, y, h, k1, k2, k3, k4, out):
    for i in range(n):
        a, b, c, d = get(x, k1 + i), get(x, k2 + i), get(x, k3 + i), get(x, k4 + i)
        put(x, out + i, get(x, y + i) + h * (A51 * a + A52 * b + A53 * c + A54 * d))


@exact
def dopri5_stage6(x, n, y, h, k1, k2, k3, k4, k5, out):
    for i in range(n):
        a, b, c, d, e = get(x, k1 + i), get(x, k2 + i), get(x, k3 + i), get(x, k4 + i), get(x, k5 + i)
        put(x, out + i, get(x, y + i) + h * (A61 * a + A62 * b + A63 * c + A64 * d + A65 * e))


@exact
def dopri5_end(x, n, y, h, k1, k3, k4, k5, k6, y_new):
    for i in range(n):
        a, c, d, e, f = get(x, k1 + i), get(x, k3 + i), get(x, k4 + i), get(x, k5 + i), get(x, k6 + i)
        put(x, y_new + i, get(x, y + i) + h * (A71 * a + A73 * c + A74 * d + A75 * e + A76 * f))


@exact
def dopri5_error(x, i, y, y_new, h, k1, k3, k4, k5, k6, k7, atol, rtol):
    """Error of number i in units of its tolerance."""
    a, c, d = get(x, k1 + i), get(x, k3 + i), get(x, k4 + i)
    e, f, g = get(x, k5 + i), get(x, k6 + i), get(x, k7 + i)
    scale = atol + rtol * larger(magnitude(get(x, y + i)), magnitude(get(x, y_new + i)))
    return h * (E1 * a + E3 * c + E4 * d + E5 * e + E6 * f + E7 * g) / scale


@exact
def first_try(d0, d1, longest):
    """A first step by the sizes of y and of its slope."""
    return min(SMALL_STEP if d0 < SMALL_SLOPE or d1 < SMALL_SLOPE else 0.01 * d0 / d1, longest)


@exact
def first_step_of(h, d1, d2, longest):
    """The first step, from the sizes of slope and curvature that a try of size h has found."""
    steepest = max(d1, d2)
    by_error = max(SMALL_STEP, 1e-3 * h) if steepest <= 1e-15 else (0.01 / steepest) ** 0.2
    return min(100.0 * h, by_error, longest)


# ---- Gauss ----
@exact
def relative_change(size, dq, dp, q_size, p_size, q_slope, p_slope):
    """Change of the stages, h k, relative to q and p as wholes: a single number may pass through zero."""
    return size * (dq / (q_size + size * q_slope + TINY) + dp / (p_size + size * p_slope + TINY))


@exact
def add_compensated(x, i, y, y_new, lost, step):
    """y_new = y + step, with what rounding has cut off so far (Kahan)."""
    whole_step = step + get(x, lost + i)
    before = get(x, y + i)
    after = before + whole_step
    put(x, y_new + i, after)
    put(x, lost + i, whole_step - (after - before))


# ---- between the ends of a step, see :mod:`.dense` ----
@exact
def hermite(y, y_new, h, slope, slope_new):
    """r2, r3, r4 of the cubic."""
    difference = y_new - y
    bulge = h * slope - difference
    return difference, bulge, difference - h * slope_new - bulge


@exact
def dopri5_bulge(h, k1, k3, k4, k5, k6, k7):
    """r5 of the continuous extension."""
    return h * (D1 * k1 + D3 * k3 + D4 * k4 + D5 * k5 + D6 * k6 + D7 * k7)


@exact
def between(theta, r1, r2, r3, r4, r5):
    """The polynomial at theta."""
    rest = 1.0 - theta
    inner = r3 + theta * (r4 + rest * r5)
    return r1 + theta * (r2 + rest * inner)
