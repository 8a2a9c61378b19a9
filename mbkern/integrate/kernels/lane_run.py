"""The loop over steps on lanes: one call is one chunk of a run, all of it in compiled code.

Every lane carries a state of its own, with its own time and, for "dopri5", its own step. Where a state comes to its
end, by success or failure, the next one of the piece takes its place. Lanes never meet, so a trajectory does not
depend on its neighbours.
"""

from math import sqrt

from ...core.arguments import data_of
from ...core.checks import CALLBACK_FAILED, OK
from ...core.jit import checked, exact
from ...core.lanes import put_constants, state_code
from ...core.number import LANES
from ...core.operations import LANES_BYTES
from .calls import call
from .dopri5 import NO_STEP, aimed_step, next_step, smallest_step
from .lane_common import (
    call_user, check_finite, column_out, copy_column, copy_moved, evaluate, note_fault, put_forces,
)
from .lane_plan import (
    ADVANCE, BLOCK, BUDGET, CALL_TAU, DONE, END, ERROR, ERROR_OLD, FAIL, FIRST, FRESH, IN_REDUCE, K1, K3, K4, K5, K6,
    K7, LOST, METHOD, MOVED, N, NEW, NEW_SLOPE, NEXT, NEXT_EVAL, NO_TAU, NQ, NV, N_QUATERNIONS, N_STEPS, OUTPUT,
    QUATERNIONS, REDUCE_CALL, REDUCE_STEPS, REJECTED, SEEK, SEEKING, SLOPES, STARTED, STATE, STEP, STEPS,
    STEP_COLLAPSED, TAU, TIME, T_BAD, T_EVAL, T_NEW, VECTORS, WANTED, WRITE_TIMES, Y, Y_NEW,
)
from .lane_steps import end_slopes
from .plan import DOPRI5, FINISHED, FIRST_ERROR, H, MAX_STEP, MORE, RK4, T0, T_END
from .stages import between, dopri5_bulge, hermite


# ---- the life of a state in a lane ----
@exact
def begin_state(plan, num, lane, who, vectors, Q0, P0, places, values, own, k):
    """Put the next state into lane k; the code of what is wrong with it."""
    n, nq, nv = plan[N], plan[NQ], plan[NV]
    s = plan[NEXT]
    plan[NEXT] = s + 1
    for row in range(who.shape[0]):
        who[row, k] = 0
    who[STATE, k] = s
    who[NEW, k] = 1
    who[STARTED, k] = plan[METHOD] == DOPRI5
    lane[TIME, k] = lane[T_EVAL, k] = lane[T_BAD, k] = num[T0]
    lane[WANTED, k] = num[H]
    lane[STEP, k] = 0.0
    lane[ERROR_OLD, k] = FIRST_ERROR
    for i in range(nq):
        vectors[Y * n + i, k] = Q0[s, i]
    for i in range(nv):
        vectors[Y * n + nq + i, k] = P0[s, i]
    for i in range(n):
        vectors[LOST * n + i, k] = 0.0
    put_constants(places, values, s, own, k)
    if plan[TAU] != NO_TAU and plan[TAU] != CALL_TAU:
        put_forces(plan, who, vectors, k)
    at = vectors.ctypes.data
    forces = 0 if plan[TAU] == NO_TAU or plan[TAU] == CALL_TAU else at + LANES_BYTES * VECTORS * n
    code = state_code(plan[BLOCK], lane.ctypes.data + LANES_BYTES * TIME, at + LANES_BYTES * Y * n, forces, k)
    if code == OK:
        unit_column(plan, vectors, k)
    return code


@exact
def unit_column(plan, vectors, k):
    """Scale the quaternions of the state in lane k to length one."""
    n = plan[N]
    for j in range(plan[N_QUATERNIONS]):
        at = Y * n + plan[QUATERNIONS + j]
        square = 0.0
        for i in range(4):
            square += vectors[at + i, k] * vectors[at + i, k]
        length = sqrt(square)
        for i in range(4):
            vectors[at + i, k] /= length


@exact
def end_state(plan, lane, who, code, status, reached, failed_at, counts, k):
    """The state in lane k is done."""
    s = who[STATE, k]
    status[s] = code
    reached[s] = lane[TIME, k]
    failed_at[s] = lane[T_BAD, k]
    counts[s, 0] = who[STEPS, k]
    counts[s, 1] = who[REJECTED, k]
    who[STATE, k] = -1
    who[FAIL, k] = 0
    plan[DONE] += 1


# ---- output ----
@exact
def state_between(plan, vectors, theta, h, k, out):
    """State at theta of the step from Y to Y_NEW in lane k; see `dense`."""
    n = plan[N]
    for i in range(n):
        y, k1, k7 = vectors[Y * n + i, k], vectors[K1 * n + i, k], vectors[K7 * n + i, k]
        r2, r3, r4 = hermite(y, vectors[Y_NEW * n + i, k], h, k1, k7)
        r5 = 0.0
        if plan[METHOD] == DOPRI5:
            r5 = dopri5_bulge(h, k1, vectors[K3 * n + i, k], vectors[K4 * n + i, k], vectors[K5 * n + i, k],
                              vectors[K6 * n + i, k], k7)
        out[i] = between(theta, y, r2, r3, r4, r5)
    for j in range(plan[N_QUATERNIONS]):
        at = plan[QUATERNIONS + j]
        square = 0.0
        for i in range(4):
            square += out[at + i] * out[at + i]
        factor = 1.0 / sqrt(square)
        for i in range(4):
            out[at + i] *= factor


@exact
def write(out_q, out_p, s, j, y):
    """The state y as output number j of state s."""
    nq = out_q.shape[2]
    for i in range(nq):
        out_q[s, j, i] = y[i]
    for i in range(out_p.shape[2]):
        out_p[s, j, i] = y[nq + i]


@exact
def give(plan, who, t, y, j, out_q, out_p, kept, scratch, done, k):
    """Write the state y as output number j, or let the user's function see it; whether all went well."""
    s, nq = who[STATE, k], plan[NQ]
    if plan[OUTPUT] == WRITE_TIMES:
        write(out_q, out_p, s, j, y)
        return True
    done[0] = 0
    call_user(plan[REDUCE_CALL], t, y.ctypes.data, y.ctypes.data + 8 * nq, kept[s].ctypes.data, plan[FIRST] + s,
              done.ctypes.data)
    if done[0] == 0:
        note_fault(plan, IN_REDUCE, s, t, scratch)
    return done[0] != 0


@exact
def give_step(plan, lane, who, vectors, times, out_q, out_p, kept, scratch, done, k):
    """All output of the step from Y to Y_NEW in lane k; whether all went well."""
    n, t, t_new = plan[N], lane[TIME, k], lane[T_NEW, k]
    h = lane[STEP, k]
    y = scratch[:n]
    if plan[OUTPUT] == REDUCE_STEPS:
        column_out(vectors, n, Y_NEW, k, y)
        return give(plan, who, t_new, y, 0, out_q, out_p, kept, scratch, done, k)
    j = who[NEXT_EVAL, k]
    good = True
    while good and j < times.shape[0] and (times[j] <= t_new if h > 0.0 else times[j] >= t_new):
        if times[j] == t_new:
            column_out(vectors, n, Y_NEW, k, y)
        else:
            state_between(plan, vectors, (times[j] - t) / h, h, k, y)
        good = give(plan, who, times[j], y, j, out_q, out_p, kept, scratch, done, k)
        j += 1
    who[NEXT_EVAL, k] = j
    return good


@exact
def give_first(plan, num, who, vectors, times, out_q, out_p, kept, scratch, done, k):
    """The output at the beginning."""
    y = scratch[:plan[N]]
    if plan[OUTPUT] == REDUCE_STEPS or (times.shape[0] > 0 and times[0] == num[T0]):
        column_out(vectors, plan[N], Y, k, y)
        who[NEXT_EVAL, k] = 1
        return give(plan, who, num[T0], y, 0, out_q, out_p, kept, scratch, done, k)
    return True


# ---- steps ----
@exact
def refresh(plan, lane, who, vectors):
    """K1 where it is not known yet, and the first step of new states."""
    n, wanted = plan[N], 0
    for k in range(LANES):
        stale = who[STATE, k] >= 0 and who[FRESH, k] == 0
        wanted += stale and (plan[METHOD] == RK4 or plan[METHOD] == DOPRI5 or who[STARTED, k] == 0)
        lane[T_EVAL, k] = lane[TIME, k]
    if wanted == 0:
        return
    evaluate(plan, Y, NEW_SLOPE)
    seeking = 0
    for k in range(LANES):
        if who[STATE, k] < 0:
            who[FAIL, k] = 0
            continue
        if who[FRESH, k] == 0:
            copy_column(vectors, n, NEW_SLOPE, K1, k)
            who[FRESH, k] = 1
        if who[FAIL, k] == 0 and who[NEW, k] != 0 and plan[METHOD] == DOPRI5 and lane[WANTED, k] == 0.0:
            who[SEEKING, k] = 1
            seeking += 1
    if seeking > 0:
        call(plan[SEEK], (data_of(plan),))


@exact
def aim(plan, num, lane, who, k):
    """STEP and T_NEW of lane k."""
    t, t_end = lane[TIME, k], num[T_END]
    if plan[METHOD] == DOPRI5:
        smallest = smallest_step(t, t_end - num[T0])
        lane[WANTED, k], lane[STEP, k] = aimed_step(t, t_end, lane[WANTED, k], smallest, num[MAX_STEP])
        lane[T_NEW, k] = t_end if lane[STEP, k] == t_end - t else t + lane[STEP, k]
    else:
        number = who[STEPS, k] + 1
        lane[T_NEW, k] = t_end if number == plan[N_STEPS] else num[T0] + number * num[H]
        lane[STEP, k] = lane[T_NEW, k] - t


@exact
def judge(num, lane, who, k):
    """Whether the step of Dormand-Prince in lane k is accepted, and the size of the next; a collapse is a FAIL."""
    h, wanted, error = lane[STEP, k], lane[WANTED, k], lane[ERROR, k]
    smallest = smallest_step(lane[TIME, k], num[T_END] - num[T0])
    following = next_step(h, error, lane[ERROR_OLD, k], who[STARTED, k] == 1)
    if not error <= 1.0:
        lane[WANTED, k] = following
        who[REJECTED, k] += 1
        who[STARTED, k] = 0  # the step after a rejected one does not grow
        if abs(following) < smallest:
            if error < NO_STEP or who[FAIL, k] == 0:
                who[FAIL, k] = STEP_COLLAPSED
        else:
            who[FAIL, k] = 0
        return False
    who[STARTED, k] = 1
    if abs(following) < abs(wanted) and abs(h) < abs(wanted):
        following = wanted
    lane[WANTED, k] = following
    lane[ERROR_OLD, k] = max(error, FIRST_ERROR)
    return True


@checked
def run_lanes(plan, num, who, lane, vectors, Q0, P0, places, values, own, times, out_q, out_p, kept, status, reached,
              failed_at, counts, scratch, done):
    """Steps until all states of the piece are done or the budget is used up."""
    n, method = plan[N], plan[METHOD]
    for _ in range(plan[BUDGET]):
        busy = 0
        for k in range(LANES):
            while who[STATE, k] < 0 and plan[NEXT] < plan[END]:
                code = begin_state(plan, num, lane, who, vectors, Q0, P0, places, values, own, k)
                if code != OK:
                    end_state(plan, lane, who, code, status, reached, failed_at, counts, k)
            busy += who[STATE, k] >= 0
        if busy == 0:
            return FINISHED
        refresh(plan, lane, who, vectors)
        for k in range(LANES):
            if who[STATE, k] < 0:
                continue
            if who[FAIL, k] == 0 and who[NEW, k] != 0:
                who[NEW, k] = 0
                if not give_first(plan, num, who, vectors, times, out_q, out_p, kept, scratch, done, k):
                    who[FAIL, k] = CALLBACK_FAILED
            if who[FAIL, k] != 0:
                end_state(plan, lane, who, who[FAIL, k], status, reached, failed_at, counts, k)
            else:
                aim(plan, num, lane, who, k)
        call(plan[ADVANCE], (data_of(plan),))
        if method != DOPRI5:
            check_finite(vectors, n, Y_NEW, who)
            if plan[SLOPES] != 0:
                end_slopes(plan, lane)
        known = method == DOPRI5 or plan[SLOPES] != 0  # f at the end of the step
        for k in range(LANES):
            who[MOVED, k] = 0
            if who[STATE, k] < 0:
                who[FAIL, k] = 0
            elif judge(num, lane, who, k) if method == DOPRI5 else who[FAIL, k] == 0:
                who[MOVED, k] = 1
                who[STEPS, k] += 1
                if not give_step(plan, lane, who, vectors, times, out_q, out_p, kept, scratch, done, k):
                    who[FAIL, k] = CALLBACK_FAILED
                lane[TIME, k] = lane[T_NEW, k]
                who[FRESH, k] = known
        copy_moved(vectors, n, Y_NEW, Y, who)
        if known:
            copy_moved(vectors, n, K7, K1, who)
        for k in range(LANES):
            if who[STATE, k] < 0:
                continue
            if who[FAIL, k] != 0:
                end_state(plan, lane, who, who[FAIL, k], status, reached, failed_at, counts, k)
            elif lane[TIME, k] == num[T_END]:
                end_state(plan, lane, who, OK, status, reached, failed_at, counts, k)
    return MORE
