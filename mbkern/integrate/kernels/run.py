"""The loop over steps: one call is one chunk of a run, all of it in compiled code.

Returns MORE when the budget of steps is used up or a buffer is full; the caller takes the buffers and calls again.
FINISHED is the end of a leg: of the whole run when it was the last one.

What Python calls takes the address of the plan, see :mod:`.plan`. The step itself, and what happens between the ends of
a step, are called by address: :mod:`.steps`, :mod:`.look`, :mod:`.tangent`.
"""

from ...core.arguments import integers_at
from ...core.checks import ANGLE_LIMIT, LIMIT, LONGEST, SHORTEST, beyond
from ...core.jit import checked, exact
from ...core.number import put
from .calls import call
from .common import at, copy, evaluate, finite, settled, square4, time_of_step, unit_quaternions
from .places import output_of, plan_at
from .plan import (
    ACCEPTED, AT_NUM, AT_OUT_T, AT_OUT_Y, BAD_START, DENSE, DENSE_ROOM, DENSE_ROWS, DOPRI5, ERROR_OLD, EVENT_ROOM,
    EVENT_ROWS, EVENT_STOP, FAILED_RHS, FINISHED, FIRST_ERROR, FIRST_EVAL, FOLLOW, FRESH, H, H_LAST, K1, K7, LEG_BEGIN,
    LEG_END, LOOK, LOOK_FIRST, LOST, MAX_STEP, METHOD, MORE, N, NEXT_EVAL, NFEV, N_EVENTS, N_QUATERNIONS, N_STEPS,
    N_TIMES, OUTPUT, OUT_ROOM, QUATERNIONS, ROWS, RTOL, SAVE_EVERY, SETTLE, SLOPES, SPLIT, STARTED, STEP, STEPS, T, T0,
    TANGENTS, THETA, TIMES, T_BAD, T_END, T_NEW, WRITTEN, Y, Y_BAD, Y_NEW,
)


# ---- the beginning ----
@checked
def prepare(address, output, save_every, n_steps, slopes, out_t, out_y, room, t0, t_end, step, max_step, rtol):
    """Enter what to integrate and what to write, and forget what has been done."""
    plan, num, _ = plan_at(address)
    for k in range(NFEV, AT_NUM):
        plan[k] = 0
    plan[OUTPUT], plan[SAVE_EVERY], plan[N_STEPS], plan[SLOPES] = output, save_every, n_steps, slopes
    plan[AT_OUT_T], plan[AT_OUT_Y], plan[OUT_ROOM] = out_t, out_y, room
    plan[DENSE], plan[N_EVENTS], plan[N_TIMES] = 0, 0, 0
    num[T], num[T0], num[LEG_BEGIN], num[T_END], num[LEG_END] = t0, t0, t0, t_end, t_end
    num[H], num[MAX_STEP], num[RTOL], num[ERROR_OLD] = step, max_step, rtol, FIRST_ERROR


@exact
def good_state(plan, q, p):
    """Whether these are configuration and momenta to begin with; they are of the right size."""
    if beyond(q, ANGLE_LIMIT) or beyond(p, LIMIT):
        return False
    for k in range(plan[N_QUATERNIONS]):
        if not SHORTEST < square4(q, plan[QUATERNIONS + k]) < LONGEST:
            return False
    return True


@checked
def unit(address):
    """Scale the quaternions of the state to length one."""
    plan, _, work = plan_at(address)
    unit_quaternions(plan, work, at(plan, Y))


@checked
def start(address):
    """Slope and signs of events at the beginning, the first output; nothing has been done so far."""
    plan, num, work = plan_at(address)
    times, out_t, out_y = output_of(plan)
    y, lost = at(plan, Y), at(plan, LOST)
    for i in range(plan[N]):
        put(work, lost + i, 0.0)
    plan[STARTED] = 1 if plan[METHOD] == DOPRI5 else 0
    if not evaluate(plan, num, num[T], work, y, at(plan, K1)):
        return FAILED_RHS
    if not finite(work, at(plan, K1), plan[N]):
        num[T_BAD], plan[Y_BAD] = num[T], y
        return FAILED_RHS
    plan[FRESH] = 1
    if plan[OUTPUT] == STEPS:
        out_t[0] = num[T]
        copy(work, y, out_y, 0, plan[N])
        plan[ROWS] = 1
    elif plan[OUTPUT] == TIMES and times.shape[0] > 0 and times[0] == num[T]:
        copy(work, y, out_y, 0, plan[N])
        plan[NEXT_EVAL] = 1
    return call(plan[LOOK_FIRST], (address,)) if plan[N_EVENTS] > 0 else MORE


# ---- many steps ----
@exact
def full(plan):
    """Whether there may be no room for what another step writes."""
    return ((plan[OUTPUT] == STEPS and plan[ROWS] == plan[OUT_ROOM])
            or (plan[DENSE] > 0 and plan[DENSE_ROWS] == plan[DENSE_ROOM])
            or (plan[N_EVENTS] > 0 and plan[EVENT_ROWS] + plan[N_EVENTS] > plan[EVENT_ROOM]))


@exact
def planned_step(address):
    """The step whose address is in the plan."""
    return call(integers_at(address, QUATERNIONS)[STEP], (address,))


@exact
def settle(plan, num, t_new, work):
    """Put the new state of a model with constraints right, also where it has been written; False when that failed."""
    shown = settled(plan, num, plan[SETTLE], t_new, work, at(plan, Y_NEW))
    if shown < 0:
        return False
    copy(work, shown, work, at(plan, Y_NEW), plan[N])
    times, _, out_y = output_of(plan)
    last = plan[NEXT_EVAL] - 1
    if plan[OUTPUT] == TIMES and last >= 0 and times[last] == t_new:
        copy(work, shown, out_y, last * plan[N], plan[N])
    return True


@exact
def loop(step, address, budget):
    """Steps until the end of the leg, an event, a failure, a full buffer or the end of the budget."""
    plan, num, work = plan_at(address)
    _, out_t, out_y = output_of(plan)
    n = plan[N]
    y, y_new = at(plan, Y), at(plan, Y_NEW)
    for _ in range(budget):
        t = num[T]
        if t == num[LEG_END]:
            return FINISHED
        if full(plan):
            return MORE
        code = step(address)
        if code != MORE:
            return code
        h = num[H_LAST]
        if h == 0.0:
            continue
        if plan[TANGENTS] != 0:
            code = call(plan[TANGENTS], (address,))
            if code != MORE:
                return code
        plan[ACCEPTED] += 1
        if plan[METHOD] == DOPRI5:
            num[T_NEW] = num[LEG_END] if h == num[LEG_END] - t else t + h
        else:
            num[T_NEW] = time_of_step(plan, num, plan[ACCEPTED])
        plan[FIRST_EVAL], plan[WRITTEN], num[THETA] = plan[NEXT_EVAL], -1, 1.0
        if plan[SLOPES] != 0:
            code = call(plan[LOOK], (address,))
            if code != MORE and code != EVENT_STOP:
                plan[ACCEPTED] -= 1  # the step does not count: how it ends is not known
                return code
        t_new = num[T_NEW]
        if plan[SETTLE] != 0 and not settle(plan, num, t_new, work):
            plan[ACCEPTED] -= 1
            return FAILED_RHS
        if plan[OUTPUT] == STEPS and (
                plan[ACCEPTED] % plan[SAVE_EVERY] == 0 or code == EVENT_STOP or t_new == num[T_END]):
            row = plan[ROWS]
            out_t[row] = t_new
            copy(work, y_new, out_y, row * n, n)
            plan[ROWS], plan[WRITTEN] = row + 1, row
        if plan[FOLLOW] != 0:
            call(plan[FOLLOW], (address,))
        num[T] = t_new
        copy(work, y_new, work, y, n)
        if (plan[SLOPES] != 0 or plan[METHOD] == DOPRI5) and plan[SETTLE] == 0:
            copy(work, at(plan, K7), work, at(plan, K1), n)
            plan[FRESH] = 1
        else:
            plan[FRESH] = 0
        if code == EVENT_STOP:
            plan[FRESH] = 0
            return EVENT_STOP
    return FINISHED if num[T] == num[LEG_END] else MORE


@checked
def run(address, budget):
    return loop(planned_step, address, budget)


@checked
def begin(address, q, p, budget):
    """Set the state, start, and take at most `budget` steps; BAD_START, and nothing is done, when that is no state."""
    plan, _, work = plan_at(address)
    y, n, nq = at(plan, Y), plan[N], plan[SPLIT]
    if q.shape[0] != nq or p.shape[0] != n - nq or not good_state(plan, q, p):
        return BAD_START
    copy(q, 0, work, y, nq)
    copy(p, 0, work, y + nq, n - nq)
    unit_quaternions(plan, work, y)
    code = start(address)
    return run(address, budget) if code == MORE and budget > 0 else code
