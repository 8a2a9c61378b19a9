"""The loop over steps: one call is one chunk of a run, all of it in compiled code.

Returns MORE when the budget of steps is used up or a buffer is full; the caller takes the buffers and calls again.
"""

from ...core.jit import checked, exact
from .common import at, copy, evaluate, finite, unit_quaternions, unit_quaternions_with_slopes
from .dense import interpolate, prepare_dense
from .dopri5 import NO_STEP, aimed_step, dopri5_step, first_step, next_step, smallest_step
from .events import start_events, step_events
from .gauss import CONVERGED, NEWTON_NEEDED, NO_STAGES, gauss_step
from .plan import (
    ACCEPTED, BUDGET, CODE, DENSE, DENSE_AT, DENSE_ROWS, DOPRI5, ERROR_OLD, EVENT_ROWS, EVENT_STOP, FAILED_RHS,
    FAILED_STAGES, FAILED_STEP, FAILED_TIME, FINISHED, FRESH, H, H_LAST, K1, K7, MAX_STEP, METHOD, MORE, N, N_EVENTS,
    N_STEPS, NEED_MATRIX, NEXT_EVAL, OUTPUT, REJECTED, ROWS, SAVE_EVERY, SLOPES, STARTED, STEPS, T, T0, T_BAD, T_END,
    TIMES, Y, Y_BAD, Y_NEW,
)
from .rk4 import rk4_step


@checked
def start(plan, num, events, times, out_t, out_y, work):
    """Slope and signs of events at the beginning, the first step, the first output."""
    y = at(plan, Y)
    unit_quaternions(plan, work, y)
    plan[FRESH] = 0
    plan[STARTED] = 1 if plan[METHOD] == DOPRI5 else 0
    if not evaluate(plan, num, num[T], work, y, at(plan, K1)):
        return FAILED_RHS
    if not finite(work, at(plan, K1), plan[N]):
        num[T_BAD], plan[Y_BAD] = num[T], y
        return FAILED_RHS
    plan[FRESH] = 1
    if plan[METHOD] == DOPRI5 and num[H] == 0.0:
        num[H] = first_step(plan, num, work)
        plan[CODE] = 0  # the search for it may have met places without a value
    if plan[OUTPUT] == STEPS:
        out_t[0] = num[T]
        copy(work, y, out_y, 0, plan[N])
        plan[ROWS] = 1
    elif plan[OUTPUT] == TIMES and times.shape[0] > 0 and times[0] == num[T]:
        copy(work, y, out_y, 0, plan[N])
        plan[NEXT_EVAL] = 1
    return start_events(plan, num, events, work)


@exact
def open_fixed_step(plan, num, slope_needed, work):
    """Time of the next step of fixed length, and the slope at its beginning where needed; whether that went well."""
    k = plan[ACCEPTED]
    num[T_BAD] = num[T0] + k * num[H]
    if plan[FRESH] == 0 and slope_needed:
        if not evaluate(plan, num, num[T_BAD], work, at(plan, Y), at(plan, K1)):
            return False
        plan[FRESH] = 1
    return True


@exact
def close_fixed_step(plan, num, t, work):
    """Check the new state of a step of fixed length and evaluate its slope, when needed, into K7: MORE, or why not."""
    k = plan[ACCEPTED] + 1
    t_new = num[T_END] if k == plan[N_STEPS] else num[T0] + k * num[H]
    y_new = at(plan, Y_NEW)
    if t_new == t:
        return FAILED_TIME
    if not finite(work, y_new, plan[N]):
        return FAILED_RHS
    if plan[SLOPES] != 0 and not evaluate(plan, num, t_new, work, y_new, at(plan, K7)):
        return FAILED_RHS
    num[H_LAST] = t_new - t
    return MORE


@exact
def implicit_step(plan, num, work, matrix, pivots):
    """One step of a Gauss method: MORE, or why not."""
    if not open_fixed_step(plan, num, plan[STARTED] == 0, work):
        return FAILED_RHS
    t = num[T_BAD]
    code = gauss_step(plan, num, t, num[H], work, matrix, pivots)
    if code != CONVERGED:
        return FAILED_RHS if code == NO_STAGES else NEED_MATRIX if code == NEWTON_NEEDED else FAILED_STAGES
    return close_fixed_step(plan, num, t, work)


@exact
def explicit_step(plan, num, work, matrix, pivots):
    """One step of RK4 or Dormand-Prince: MORE, or why not."""
    if plan[METHOD] == DOPRI5:
        return adaptive_step(plan, num, work)
    if not open_fixed_step(plan, num, True, work):
        return FAILED_RHS
    t = num[T_BAD]
    if not rk4_step(plan, num, t, num[H], work):
        return FAILED_RHS
    unit_quaternions(plan, work, at(plan, Y_NEW))
    return close_fixed_step(plan, num, t, work)


@exact
def adaptive_step(plan, num, work):
    """One accepted step of Dormand-Prince, or MORE with H_LAST = 0 when it was rejected, or why there is none."""
    t, t_end = num[T], num[T_END]
    smallest = smallest_step(t, t_end - num[T0])
    wanted, h = aimed_step(t, t_end, num[H], smallest, num[MAX_STEP])
    if plan[FRESH] == 0 and not evaluate(plan, num, t, work, at(plan, Y), at(plan, K1)):
        return FAILED_RHS
    plan[FRESH] = 1
    error = dopri5_step(plan, num, t, h, work)
    accepted = error <= 1.0
    num[H] = next_step(h, error, num[ERROR_OLD], plan[STARTED] == 1)
    num[H_LAST] = 0.0
    if not accepted:
        plan[REJECTED] += 1
        plan[STARTED] = 0  # the step after a rejected one does not grow
        if abs(num[H]) < smallest:
            return FAILED_RHS if error >= NO_STEP else FAILED_STEP
        return MORE
    plan[CODE] = 0
    plan[STARTED] = 1
    if abs(num[H]) < abs(wanted) and abs(h) < abs(wanted):
        num[H] = wanted  # the end of the run made it short, not the error: a stepper goes on from here
    num[ERROR_OLD] = max(error, 1e-4)
    num[H_LAST] = h
    unit_quaternions_with_slopes(plan, work, at(plan, Y_NEW), at(plan, K7))
    return MORE


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
def loop(step, plan, num, work, times, out_t, out_y, dense_t, dense_r, events, theta_of, event_index, event_t, event_y,
         matrix, pivots):
    """Steps until the end, an event, a failure, a full buffer or the end of the budget."""
    n = plan[N]
    y, y_new, k1, k7 = at(plan, Y), at(plan, Y_NEW), at(plan, K1), at(plan, K7)
    for _ in range(plan[BUDGET]):
        t = num[T]
        if t == num[T_END]:
            return FINISHED
        if plan[OUTPUT] == STEPS and plan[ROWS] == out_t.shape[0]:
            return MORE
        if plan[DENSE] > 0 and 2 * plan[DENSE_ROWS] == dense_t.shape[0]:
            return MORE
        if plan[N_EVENTS] > 0 and plan[EVENT_ROWS] + plan[N_EVENTS] > event_t.shape[0]:
            return MORE
        code = step(plan, num, work, matrix, pivots)
        if code != MORE:
            return code
        h = num[H_LAST]
        if h == 0.0:
            continue
        plan[ACCEPTED] += 1
        if plan[METHOD] == DOPRI5:
            t_new = num[T_END] if h == num[T_END] - t else t + h
        else:
            t_new = num[T_END] if plan[ACCEPTED] == plan[N_STEPS] else num[T0] + plan[ACCEPTED] * num[H]
        if plan[SLOPES] != 0:
            prepare_dense(plan, h, k7, work)
        if plan[DENSE] > 0:
            row = plan[DENSE_ROWS]
            dense_t[2 * row], dense_t[2 * row + 1] = t, t_new
            copy(work, at(plan, DENSE_AT), dense_r, row * plan[DENSE] * n, plan[DENSE] * n)
            plan[DENSE_ROWS] = row + 1
        if plan[N_EVENTS] > 0:
            code, theta = step_events(plan, num, t, h, events, theta_of, event_index, event_t, event_y, work)
            if code != MORE and code != EVENT_STOP:
                plan[ACCEPTED] -= 1  # the step does not count: how it ends is not known
                return code
            if code == EVENT_STOP:
                t_new = t + theta * h
                interpolate(plan, theta, work, work, y_new)
        if plan[OUTPUT] == TIMES:
            write_times(plan, t, h, t_new, times, out_y, work)
        elif plan[OUTPUT] == STEPS and (
                plan[ACCEPTED] % plan[SAVE_EVERY] == 0 or code == EVENT_STOP or t_new == num[T_END]):
            row = plan[ROWS]
            out_t[row] = t_new
            copy(work, y_new, out_y, row * n, n)
            plan[ROWS] = row + 1
        num[T] = t_new
        copy(work, y_new, work, y, n)
        if plan[SLOPES] != 0 or plan[METHOD] == DOPRI5:
            copy(work, k7, work, k1, n)
            plan[FRESH] = 1
        else:
            plan[FRESH] = 0
        if code == EVENT_STOP:
            plan[FRESH] = 0
            return EVENT_STOP
    return FINISHED if num[T] == num[T_END] else MORE


# two functions, so that explicit methods need not compile the implicit ones
@checked
def run_explicit(plan, num, work, times, out_t, out_y, dense_t, dense_r, events, theta_of, event_index, event_t,
                 event_y, matrix, pivots):
    return loop(explicit_step, plan, num, work, times, out_t, out_y, dense_t, dense_r, events, theta_of, event_index,
                event_t, event_y, matrix, pivots)


@checked
def run_implicit(plan, num, work, times, out_t, out_y, dense_t, dense_r, events, theta_of, event_index, event_t,
                 event_y, matrix, pivots):
    return loop(implicit_step, plan, num, work, times, out_t, out_y, dense_t, dense_r, events, theta_of, event_index,
                event_t, event_y, matrix, pivots)
