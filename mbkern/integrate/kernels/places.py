"""Where things are: the arrays of an integration, by the address of its plan (see :mod:`.plan`)."""

from ...core.arguments import integers_at
from ...core.jit import exact
from ...core.number import array_at
from .plan import (
    AT_DENSE_R, AT_DENSE_T, AT_EVENTS, AT_EVENT_INDEX, AT_EVENT_T, AT_EVENT_Y, AT_MATRIX, AT_NUM, AT_OUT_T, AT_OUT_Y,
    AT_PIVOTS, AT_THETA, AT_TIMES, AT_WORK, DENSE, DENSE_ROOM, EVENT, EVENT_ROOM, MATRIX_SIZE, N, NUM, N_EVENTS,
    N_QUATERNIONS, N_TIMES, OUTPUT, OUT_ROOM, QUATERNIONS, STAGES, TIMES, VECTORS,
)


@exact
def plan_at(address):
    """The plan, and the arrays num and work."""
    plan = integers_at(address, QUATERNIONS)
    plan = integers_at(address, QUATERNIONS + plan[N_QUATERNIONS])
    return plan, array_at(plan[AT_NUM], NUM), array_at(plan[AT_WORK], VECTORS * plan[N])


@exact
def output_of(plan):
    """times, out_t, out_y."""
    rows = plan[N_TIMES] if plan[OUTPUT] == TIMES else plan[OUT_ROOM]
    return (array_at(plan[AT_TIMES], plan[N_TIMES]), array_at(plan[AT_OUT_T], plan[OUT_ROOM]),
            array_at(plan[AT_OUT_Y], rows * plan[N]))


@exact
def dense_of(plan):
    """dense_t, dense_r."""
    rows = plan[DENSE_ROOM]
    return array_at(plan[AT_DENSE_T], 2 * rows), array_at(plan[AT_DENSE_R], rows * plan[DENSE] * plan[N])


@exact
def watched_of(plan):
    """events."""
    return integers_at(plan[AT_EVENTS], plan[N_EVENTS] * EVENT)


@exact
def events_of(plan):
    """events, theta_of, event_index, event_t, event_y."""
    count, rows = plan[N_EVENTS], plan[EVENT_ROOM]
    return (watched_of(plan), array_at(plan[AT_THETA], count),
            integers_at(plan[AT_EVENT_INDEX], rows), array_at(plan[AT_EVENT_T], rows),
            array_at(plan[AT_EVENT_Y], rows * plan[N]))


@exact
def matrix_of(plan):
    """matrix, pivots; empty when nobody has asked for them."""
    size = plan[MATRIX_SIZE]
    return array_at(plan[AT_MATRIX], size), integers_at(plan[AT_PIVOTS], plan[STAGES] * plan[N] if size > 0 else 0)
