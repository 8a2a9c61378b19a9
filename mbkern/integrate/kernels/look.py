"""What a run wants to know between the ends of its steps: dense output, states at given times, events.

Functions that are compiled by themselves and called by address, where a run asks for any of this.
"""

from ...core.jit import c_function, exact
from .calls import PART
from .common import at, copy
from .dense import interpolate, prepare_dense
from .events import start_events, step_events
from .places import dense_of, events_of, output_of, plan_at, watched_of
from .plan import (
    DENSE, DENSE_AT, DENSE_ROWS, EVENT_STOP, H_LAST, K7, MORE, N, NEXT_EVAL, N_EVENTS, OUTPUT, T, THETA, TIMES, T_NEW,
    Y_NEW,
)


@c_function(PART)
def look_first(address):
    """Signs of the event functions at the beginning."""
    plan, num, work = plan_at(address)
    return start_events(plan, num, watched_of(plan), work)


@exact
def write_times(plan, t, h, t_new, times, out_y, work):
    """States at the wanted times of the step."""
    n, j = plan[N], plan[NEXT_EVAL]
    y_new = at(plan, Y_NEW)
    while j < times.shape[0] and (times[j] <= t_new if h > 0.0 else times[j] >= t_new):
        if times[j] == t_new:
            copy(work, y_new, out_y, j * n, n)
        else:
            interpolate(plan, (times[j] - t) / h, work, out_y, j * n)
        j += 1
    plan[NEXT_EVAL] = j


@exact
def keep_dense(plan, t, t_new, work):
    """Another row of dense output."""
    dense_t, dense_r = dense_of(plan)
    row, size = plan[DENSE_ROWS], plan[DENSE] * plan[N]
    dense_t[2 * row], dense_t[2 * row + 1] = t, t_new
    copy(work, at(plan, DENSE_AT), dense_r, row * size, size)
    plan[DENSE_ROWS] = row + 1


@c_function(PART)
def look(address):
    """After a step from T to T_NEW: MORE, EVENT_STOP (T_NEW is where) or why not."""
    plan, num, work = plan_at(address)
    t, h, t_new, code = num[T], num[H_LAST], num[T_NEW], MORE
    prepare_dense(plan, h, at(plan, K7), work)
    if plan[DENSE] > 0:
        keep_dense(plan, t, t_new, work)
    if plan[N_EVENTS] > 0:
        events, theta_of, event_index, event_t, event_y = events_of(plan)
        code, theta = step_events(plan, num, t, h, events, theta_of, event_index, event_t, event_y, work)
        if code != MORE and code != EVENT_STOP:
            return code
        if code == EVENT_STOP:
            num[THETA] = theta
            t_new = num[T_NEW] = t + theta * h
            interpolate(plan, theta, work, work, at(plan, Y_NEW))
    if plan[OUTPUT] == TIMES:
        times, _, out_y = output_of(plan)
        write_times(plan, t, h, t_new, times, out_y, work)
    return code
