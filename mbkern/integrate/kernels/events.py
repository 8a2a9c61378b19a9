"""Where event functions g(t, q, p) change sign within a step.

A crossing lies where g leaves the sign it had at the beginning of the step, and is found on the dense output by false
position (the Illinois rule) to a few roundings of t. Two crossings of one g within a step go unseen, as with every
method that looks at the ends of steps only.
"""

from numpy import nan

from ...core.jit import exact
from .calls import call_event
from .common import at, settled
from .dense import interpolate
from .dopri5 import EPSILON
from .plan import (
    ADDRESS, DIRECTION, EVENT, EVENT_ROWS, EVENT_STOP, FAILED_EVENT, FRAME, LEFT, MORE, N, N_EVENTS, REVEAL, SIDE,
    SPLIT, T, T_BAD, TEMP, WORST, Y, Y_BAD, Y_NEW,
)


@exact
def event_value(plan, num, address, t, work, y):
    """g(t, y) for the vector at place y; where it is not a number (or g raised), T_BAD and Y_BAD say so."""
    if plan[REVEAL] != 0:
        shown = settled(plan, num, plan[REVEAL], t, work, y)
        if shown < 0:
            return nan
        y = shown
    g = call_event(address, t, work, y, plan[SPLIT], plan[N] - plan[SPLIT], plan[FRAME])
    if not g == g:
        num[T_BAD], plan[Y_BAD] = t, y
    return g


@exact
def sign_of(g):
    return 1 if g > 0.0 else -1 if g < 0.0 else 0


@exact
def start_events(plan, num, events, work):
    """Signs of all event functions at the beginning; MORE, or FAILED_EVENT when one is not a number."""
    for e in range(plan[N_EVENTS]):
        g = event_value(plan, num, events[e * EVENT + ADDRESS], num[T], work, at(plan, Y))
        if not g == g:
            plan[WORST] = e
            return FAILED_EVENT
        events[e * EVENT + SIDE] = sign_of(g)
    return MORE


@exact
def locate(plan, num, address, t, h, g_end, side, work):
    """theta of the crossing, as the end of a bracket where g has left the sign `side`."""
    y = at(plan, TEMP)
    a, b = 0.0, 1.0
    interpolate(plan, 0.0, work, work, y)
    g_a, g_b = event_value(plan, num, address, t, work, y), g_end
    width = 4.0 * EPSILON * max(abs(t), abs(t + h)) / abs(h)
    last = 0
    for _ in range(200):
        if b - a <= width or g_b == 0.0:
            break
        x = b - g_b * (b - a) / (g_b - g_a)
        if not a < x < b:  # also where rounding gave g_a another sign than `side`
            x = 0.5 * (a + b)
        # keep off the ends, or false position would close the bracket from one side only
        x = min(max(x, a + 0.25 * width), b - 0.25 * width)
        interpolate(plan, x, work, work, y)
        g = event_value(plan, num, address, t + x * h, work, y)
        if not g == g:
            return -1.0
        if sign_of(g) == side:
            a, g_a = x, g
            if last == 1:
                g_b *= 0.5
            last = 1
        else:
            b, g_b = x, g
            if last == 2:
                g_a *= 0.5
            last = 2
    return b


@exact
def step_events(plan, num, t, h, events, theta_of, event_index, event_t, event_y, work):
    """Write the crossings of the step from Y to Y_NEW in order of time.

    `theta_of` is room for one number an event. Returns the code of :mod:`.plan` and theta where the run ends (1 for
    the whole step).
    """
    count = plan[N_EVENTS]
    y_new = at(plan, Y_NEW)
    found = 0
    for e in range(count):
        theta_of[e] = 2.0
        g = event_value(plan, num, events[e * EVENT + ADDRESS], t + h, work, y_new)
        if not g == g:
            plan[WORST] = e
            return FAILED_EVENT, 0.0
        side, new = events[e * EVENT + SIDE], sign_of(g)
        events[e * EVENT + SIDE] = new
        if side != 0 and new != side and events[e * EVENT + DIRECTION] * side <= 0:
            theta_of[e] = locate(plan, num, events[e * EVENT + ADDRESS], t, h, g, side, work)
            if theta_of[e] < 0.0:
                plan[WORST] = e
                return FAILED_EVENT, 0.0
            found += 1
    for _ in range(found):
        first = 0
        for e in range(count):
            if theta_of[e] < theta_of[first]:
                first = e
        theta = theta_of[first]
        theta_of[first] = 2.0
        row = plan[EVENT_ROWS]
        event_index[row] = first
        event_t[row] = t + theta * h
        interpolate(plan, theta, work, event_y, row * plan[N])
        plan[EVENT_ROWS] = row + 1
        if events[first * EVENT + LEFT] > 0:
            events[first * EVENT + LEFT] -= 1
            if events[first * EVENT + LEFT] == 0:
                return EVENT_STOP, theta
    return MORE, 1.0
