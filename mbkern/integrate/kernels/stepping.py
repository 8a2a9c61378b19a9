"""What a `Stepper` calls: a few steps at once. And joint forces that are held from one call to the next."""

from ...core.arguments import OPERATION
from ...core.checks import LIMIT, OK, beyond
from ...core.jit import c_function, checked, exact
from ...core.layout import AT_LOADS, HAS_TAU, HEADER
from ...core.number import array_at, get, put, whole
from ...core.operations import argument
from .common import at, copy
from .plan import (
    ACCEPTED, BAD_START, DONE, DOPRI5, FINISHED, FRESH, GOAL, LEG_END, METHOD, MORE, N, SPLIT, STEP_SIZE, T, T0, T_END,
    USER, Y,
)
from .places import plan_at
from .run import run

FEW = 100  # steps that are over before anybody has pressed ctrl-C
STOPPED = 100  # added to a code of :mod:`.plan`, to tell it from those of :mod:`mbkern.core.checks`


@exact
def held(plan, tau):
    """Let these joint forces act from now on; False, and nothing is done, when they are none."""
    nv = plan[N] - plan[SPLIT]
    if tau.shape[0] != nv or beyond(tau, LIMIT):
        return False
    frame = array_at(plan[USER], HEADER)
    loads = array_at(plan[USER] + 8 * whole(frame, AT_LOADS), nv)
    put(frame, HAS_TAU, 1.0)
    for j in range(nv):
        put(loads, j, get(tau, j))
    plan[FRESH] = 0
    return True


@checked
def hold(address, tau):
    """`held` for Python: MORE, or BAD_START."""
    return MORE if held(plan_at(address)[0], tau) else BAD_START


@exact
def aim(plan, num):
    """Set the end of the next step of a method that chooses its own; False when float64 does not resolve it."""
    num[LEG_END] = num[T_END] = num[T0] + (plan[DONE] + 1) * num[STEP_SIZE]
    return num[LEG_END] != num[T]


@exact
def advanced(address, n, tau):
    """n steps with joint forces tau (those from before when it is empty).

    FINISHED; or another code of :mod:`.plan`: MORE when Python has to go on to the GOAL, or to say why it cannot.
    """
    plan, num, _ = plan_at(address)
    if tau.shape[0] > 0 and not held(plan, tau):
        return BAD_START
    if plan[METHOD] == DOPRI5:
        plan[GOAL] = plan[DONE] + n
        for _ in range(n):
            if not aim(plan, num):
                return MORE
            code = run(address, FEW)
            if code != FINISHED:
                return code
            plan[DONE] += 1
    else:
        plan[GOAL] = plan[ACCEPTED] + n
        code = run(address, n)
        if code != MORE or plan[ACCEPTED] < plan[GOAL]:
            return code
    return FINISHED


@c_function(OPERATION)
def advance(n, arguments, address, unused):
    """n steps of the plan at `address` as an operation: of tau, optional, the new q and p. OK, or STOPPED + a code."""
    code = advanced(address, int(n), argument(arguments, 0))
    if code != FINISHED:
        return STOPPED + code
    plan, _, work = plan_at(address)
    nq = plan[SPLIT]
    copy(work, at(plan, Y), argument(arguments, 1), 0, nq)
    copy(work, at(plan, Y) + nq, argument(arguments, 2), 0, plan[N] - nq)
    return OK
