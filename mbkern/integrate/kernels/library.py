"""Steps of RK4 and Dormand-Prince for an exported library (:mod:`mbkern.export`): the loop of :mod:`.run`, called with
addresses alone. So the bits are those of `simulate` and `Stepper`.

    int64 rk4(double t, double h, int64 n, q, p, tau, wrench, ode, rhs, block,
              memory, size, settle, reveal, gauge, close)
    int64 dopri5(double t_end, int64 n, double rtol, double atol, clock, q, p, tau, wrench, ode, rhs, block,
                 memory, size, settle, reveal, gauge, close)

All without a type are addresses: of the state, which moves on in place; of joint forces and wrenches that are held (0:
none); of the functions `ode` (:mod:`mbkern.core.cabi`) and of the method; of the constants; of memory with room for

    words of the plan and of num | vectors | frame: block, workspace, loads

and of the functions that close loops after each step and give true momenta to the estimate of its error
(:mod:`mbkern.core.constrained_calls`), 0 for trees.

`clock` has four numbers: t; the next step (0: not chosen yet); the error of the last step; whether it was rejected.
"""

from numba import types

from ...core.arguments import UNKNOWN, integers_at
from ...core.atomics import WORD
from ...core.checks import BAD_T, NOT_FINITE, OK
from ...core.jit import c_function, exact
from ...core.layout import (
    AT_LOADS, CLOSE_CALL, FRAME_SIZE, GAUGE_CALL, HAS_TAU, HAS_WRENCH, N_BODIES, N_NODES, NQ, NV, ODE_CALL, QUATERNION,
    RHS_CALL, SIZE, STATUS, loads_size, node_row,
)
from ...core.number import array_at, get, put, whole
from .common import at, copy, unit_quaternions
from .plan import (
    AT_NUM, AT_WORK, ATOL, CODE, DOPRI5, ERROR_OLD, FAILED_RHS, FAILED_STEP, FAILED_TIME, FIRST_ERROR, H, LEG_BEGIN,
    LEG_END, MAX_STEP, METHOD, N, N_QUATERNIONS, N_STEPS, NUM, NOTHING, OUTPUT, QUATERNIONS, RHS, RK4, REVEAL, RTOL,
    SETTLE, SPLIT, STARTED, STATUS as PLAN_STATUS, T, T0, T_END, USER, VECTORS, Y,
)
from .run import loop, start
from .steps import take_dopri5, take_rk4

STEP_TOO_SMALL = 34  # see :mod:`mbkern.export.codes`
NO_LIMIT = 1e300


@exact
def count_quaternions(block):
    count = 0
    for i in range(whole(block, N_NODES)):
        count += whole(block, node_row(i) + QUATERNION) >= 0
    return count


@exact
def frame_for(at_block, tau, wrench, ode, rhs, address, size, gauge, close):
    """A frame at an address: the constants, a workspace of `size` numbers, tau as its loads; numbers in the frame."""
    block = array_at(at_block, UNKNOWN)
    frame = array_at(address, UNKNOWN)
    constants, nv = whole(block, SIZE), whole(block, NV)
    copy(block, 0, frame, 0, constants)
    loads = constants + size
    put(frame, FRAME_SIZE, 1.0 * (loads + loads_size(block)))
    put(frame, AT_LOADS, 1.0 * loads)
    put(frame, ODE_CALL, 1.0 * ode)
    put(frame, RHS_CALL, 1.0 * rhs)
    put(frame, GAUGE_CALL, 1.0 * gauge)
    put(frame, CLOSE_CALL, 1.0 * close)
    if tau != 0:
        put(frame, HAS_TAU, 1.0)
        copy(array_at(tau, nv), 0, frame, loads, nv)
    if wrench != 0:
        numbers = 6 * whole(block, N_BODIES)
        put(frame, HAS_WRENCH, 1.0)
        copy(array_at(wrench, numbers), 0, frame, loads + 2 * nv, numbers)


@exact
def plan_for(method, q, p, tau, wrench, ode, rhs, at_block, memory, size, settle, reveal, gauge, close):
    """A plan in memory for the state at (q, p), whose method and times are not set yet."""
    block = array_at(at_block, UNKNOWN)
    nq, nv, count = whole(block, NQ), whole(block, NV), count_quaternions(block)
    plan = integers_at(memory, QUATERNIONS + count)
    for i in range(QUATERNIONS):
        plan[i] = 0
    numbers = memory + WORD * (QUATERNIONS + count)
    vectors = numbers + 8 * NUM
    frame = vectors + 8 * VECTORS * (nq + nv)
    frame_for(at_block, tau, wrench, ode, rhs, frame, size, gauge, close)
    plan[RHS], plan[USER], plan[PLAN_STATUS] = ode, frame, frame + 8 * STATUS
    plan[METHOD], plan[N], plan[SPLIT], plan[OUTPUT] = method, nq + nv, nq, NOTHING
    plan[AT_NUM], plan[AT_WORK], plan[N_QUATERNIONS] = numbers, vectors, count
    plan[SETTLE], plan[REVEAL] = settle, reveal
    k = 0
    for i in range(whole(block, N_NODES)):
        place = whole(block, node_row(i) + QUATERNION)
        if place >= 0:
            plan[QUATERNIONS + k] = place
            k += 1
    num = array_at(numbers, NUM)
    for i in range(NUM):
        num[i] = 0.0
    num[MAX_STEP] = NO_LIMIT
    work = array_at(vectors, UNKNOWN)
    copy(array_at(q, nq), 0, work, at(plan, Y), nq)
    copy(array_at(p, nv), 0, work, at(plan, Y) + nq, nv)
    unit_quaternions(plan, work, at(plan, Y))
    return plan, num, work


@exact
def state_out(plan, work, q, p):
    nq, nv = plan[SPLIT], plan[N] - plan[SPLIT]
    copy(work, at(plan, Y), array_at(q, nq), 0, nq)
    copy(work, at(plan, Y) + nq, array_at(p, nv), 0, nv)


@exact
def status_of(code, plan):
    """What a chunk of steps has returned, as a status of the library."""
    if code == FAILED_RHS:
        return plan[CODE] if plan[CODE] != OK else NOT_FINITE
    if code == FAILED_STEP:
        return STEP_TOO_SMALL
    return BAD_T if code == FAILED_TIME else OK


@c_function(types.intp(types.float64, types.float64, *[types.intp] * 14))
def rk4(t, h, n, q, p, tau, wrench, ode, rhs, block, memory, size, settle, reveal, gauge, close):
    plan, num, work = plan_for(RK4, q, p, tau, wrench, ode, rhs, block, memory, size, settle, reveal, gauge, close)
    num[T] = num[T0] = num[LEG_BEGIN] = t
    num[H], num[LEG_END], num[T_END], plan[N_STEPS] = h, NO_LIMIT, NO_LIMIT, -1
    code = status_of(loop(take_rk4, memory, n), plan)
    if code == OK:
        state_out(plan, work, q, p)
    return code


@c_function(types.intp(types.float64, types.intp, types.float64, types.float64, *[types.intp] * 14))
def dopri5(t_end, n, rtol, atol, clock, q, p, tau, wrench, ode, rhs, block, memory, size, settle, reveal, gauge, close):
    times = array_at(clock, 4)
    plan, num, work = plan_for(DOPRI5, q, p, tau, wrench, ode, rhs, block, memory, size, settle, reveal, gauge, close)
    num[T] = num[T0] = num[LEG_BEGIN] = get(times, 0)
    num[T_END] = num[LEG_END] = t_end
    num[RTOL], num[H] = rtol, get(times, 1)
    num[ERROR_OLD] = get(times, 2) if get(times, 2) > 0.0 else FIRST_ERROR
    for i in range(plan[N]):
        put(work, at(plan, ATOL) + i, atol)
    code = status_of(start(memory), plan)
    if get(times, 3) != 0.0:
        plan[STARTED] = 0
    if code == OK:
        code = status_of(loop(take_dopri5, memory, n), plan)
        put(times, 0, num[T])
        put(times, 1, num[H])
        put(times, 2, num[ERROR_OLD])
        put(times, 3, 1.0 - plan[STARTED])
        state_out(plan, work, q, p)
    return code
