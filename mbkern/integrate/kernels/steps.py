"""One step of each method, as a function that is compiled by itself and called by address.

Each takes the address of the plan and returns MORE, or why there is no step: a code of :mod:`.plan`. Afterwards H_LAST
is the length of the step, 0 when it was rejected.
"""

from ...core.jit import c_function, exact
from .calls import PART
from .common import at, evaluate, finite, time_of_step, unit_quaternions, unit_quaternions_with_slopes
from .dopri5 import NO_STEP, aimed_step, dopri5_step, first_step, next_step, smallest_step
from .gauss import CONVERGED, NEWTON_NEEDED, NO_STAGES, fixed_point_step, newton_step
from .places import matrix_of, plan_at
from .plan import (
    ACCEPTED, CODE, ERROR_OLD, FAILED_RHS, FAILED_STAGES, FAILED_STEP, FAILED_TIME, FIRST_ERROR, FRESH, H, H_LAST, K1,
    K7, LEG_END, MAX_STEP, MORE, N, NEED_MATRIX, REJECTED, SLOPES, STARTED, T, T0, T_BAD, T_END, Y, Y_NEW,
)
from .rk4 import rk4_step


# ---- steps of fixed length ----
@exact
def open_fixed_step(plan, num, slope_needed, work):
    """Time of the next step of fixed length, and the slope at its beginning where needed; whether that went well."""
    num[T_BAD] = time_of_step(plan, num, plan[ACCEPTED])
    if plan[FRESH] == 0 and slope_needed:
        if not evaluate(plan, num, num[T_BAD], work, at(plan, Y), at(plan, K1)):
            return False
        plan[FRESH] = 1
    return True


@exact
def close_fixed_step(plan, num, t, work):
    """Check the new state of a step of fixed length and evaluate its slope, when needed, into K7: MORE, or why not."""
    t_new = time_of_step(plan, num, plan[ACCEPTED] + 1)
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
def take_rk4(address):
    plan, num, work = plan_at(address)
    if not open_fixed_step(plan, num, True, work):
        return FAILED_RHS
    t = num[T_BAD]
    if not rk4_step(plan, num, t, num[H], work):
        return FAILED_RHS
    unit_quaternions(plan, work, at(plan, Y_NEW))
    return close_fixed_step(plan, num, t, work)


@exact
def close_implicit_step(plan, num, code, t, work):
    """The same after the stages have been iterated, with this code."""
    if code != CONVERGED:
        return FAILED_RHS if code == NO_STAGES else NEED_MATRIX if code == NEWTON_NEEDED else FAILED_STAGES
    return close_fixed_step(plan, num, t, work)


@c_function(PART)
def gauss(address):
    """By fixed-point iteration; NEED_MATRIX where that is not enough."""
    plan, num, work = plan_at(address)
    if not open_fixed_step(plan, num, plan[STARTED] == 0, work):
        return FAILED_RHS
    t = num[T_BAD]
    return close_implicit_step(plan, num, fixed_point_step(plan, num, t, num[H], work), t, work)


@c_function(PART)
def gauss_newton(address):
    """By fixed-point iteration or Newton's, which has found room for its matrices."""
    plan, num, work = plan_at(address)
    matrix, pivots = matrix_of(plan)
    if not open_fixed_step(plan, num, plan[STARTED] == 0, work):
        return FAILED_RHS
    t = num[T_BAD]
    return close_implicit_step(plan, num, newton_step(plan, num, t, num[H], work, matrix, pivots), t, work)


# ---- steps that the error chooses ----
@exact
def take_dopri5(address):
    plan, num, work = plan_at(address)
    t = num[T]
    if num[H] == 0.0:
        num[H] = first_step(plan, num, work)
        plan[CODE] = 0  # the search for it may have met places without a value
    smallest = smallest_step(t, num[T_END] - num[T0])
    wanted, h = aimed_step(t, num[LEG_END], num[H], smallest, num[MAX_STEP])
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
        num[H] = wanted  # the end of the leg made it short, not the error: the next one goes on from here
    num[ERROR_OLD] = max(error, FIRST_ERROR)
    num[H_LAST] = h
    unit_quaternions_with_slopes(plan, work, at(plan, Y_NEW), at(plan, K7))
    return MORE


# ---- to be called by address ----
@c_function(PART)
def rk4(address):
    return take_rk4(address)


@c_function(PART)
def dopri5(address):
    return take_dopri5(address)
