"""The adjoint of a run: how a scalar of its states depends on where they began, on forces and on constants.

A step y_new = y + h sum_i b_i k_i, k_i = f(t + c_i h, y + h sum_j a_ij k_j), takes weights lambda of y_new back to y:

    mu_i = h b_i lambda + h sum_j a_ji J_j^T mu_j,     lambda <- lambda + sum_j J_j^T mu_j

and mu_i are the weights of the rates k_i, whose derivatives by constants and forces add to the gradient. Explicit
methods go through their stages from the last to the first, one J^T mu each (:mod:`mbkern.variational.kernels.flow`);
with the slopes k kept, f need not be evaluated again. For the Gauss methods mu is found by fixed-point
iteration, as the stages are, in O(N); where these needed Newton's, or it does not converge, from the transposed
equations of :mod:`.tangent`. This is the exact gradient of what the steps compute (E. Hairer, C. Lubich and G. Wanner,
Geometric Numerical Integration, section VI.4; J. M. Sanz-Serna, SIAM Review 58 (2016) 3-33).

Steps lead from times[k] to times[k + 1]. `rows` has the states at their beginnings, and the slopes of the stages behind
each.
"""

from math import sqrt

from ...core.arguments import data_of, integers_at
from ...core.cabi import call_load
from ...core.jit import c_function, checked, exact
from ...core.layout import AT_LOADS, HEADER
from ...core.number import array_at, get, put, whole
from .calls import PART, load_double
from .common import at, copy, evaluate, finite, square4, unit_quaternions, unit_quaternions_with_slopes
from .dopri5 import NO_STEP, dopri5_step
from .gauss import (
    CONVERGED, MOST_GROWN, MOST_ITERATIONS, NEWTON_NEEDED, NO_STAGES, gauss_step, settled, stage_state,
)
from .plan import (
    AT_EVENTS, AT_OUT_Y, AT_TANGENT, AT_THETA, AT_TIMES, CODE, DESK, DOPRI5, FACTORED, FAILED_RHS, FAILED_STAGES,
    FINISHED, FRESH, GAUSS, H, JACOBIAN, K1, K2, K7, METHOD, MORE, N, NEED_MATRIX, NEWTON, NEXT_EVAL, N_EVENTS,
    N_QUATERNIONS, QUATERNIONS, SPLIT, STAGES, STARTED, STATUS, T, TEMP, T_BAD, USER, VARIATION, WRITTEN, Y, Y_BAD,
    Y_NEW,
)
from .rk4 import rk4_step
from .places import matrix_of, plan_at
from .stages import TINY
from .tableaus import EXPLICIT_A, EXPLICIT_B, EXPLICIT_C, GAUSS_A, GAUSS_B, GAUSS_C, GAUSS_NEXT
from .tangent import matrices_of, stage_factors

# words of the plan of derivatives, beside DESK, JACOBIAN, STATUS and Newton's: addresses of the C function, and of the
# numbers of a desk: the slot in use, whether it was pulled there before, whether nothing is to be summed up; whether
# there is a gradient by constants that would be; whether g is known of the step behind; address of the rows that a run
# writes by itself
PULL, SLOT, AGAIN, TRIAL, SUMS, KNOWN, ROWS = VARIATION, AT_THETA, AT_EVENTS, AT_TIMES, N_EVENTS, STARTED, AT_OUT_Y
# vectors for a step of a Gauss method back: mu, g = J^T mu and states of its stages
MU, G, STATES = 0, 3, 6
NO_MATRICES = -1.0  # beside the codes of :mod:`mbkern.core.checks`


@exact
def stages_of(plan):
    """How many stages are kept of a step; the seventh of Dormand-Prince is the first of the next step."""
    return plan[STAGES] if plan[METHOD] == GAUSS else 6 if plan[METHOD] == DOPRI5 else 4


@exact
def row_size(plan):
    """Numbers that are kept of a step."""
    return plan[N] * (1 + stages_of(plan))


@exact
def keep_slopes(plan, work, rows, place):
    """Slopes of the step that has just been taken, behind the state in its row at this place."""
    n, s, begin = plan[N], stages_of(plan), place + plan[N]
    if plan[METHOD] == GAUSS:
        copy(work, at(plan, K2), rows, begin, s * n)
    else:
        copy(work, at(plan, K1), rows, begin, n)
        copy(work, at(plan, K2), rows, begin + n, (s - 1) * n)


@c_function(PART)
def keep(address):
    """After a step of a run that writes its steps: its row, in the place of that of the new state."""
    plan, _, work = plan_at(address)
    size = row_size(plan)
    rows = array_at(integers_at(plan[AT_TANGENT], QUATERNIONS)[ROWS], (plan[WRITTEN] + 1) * size)
    copy(work, at(plan, Y), rows, plan[WRITTEN] * size, plan[N])
    keep_slopes(plan, work, rows, plan[WRITTEN] * size)
    return MORE


@exact
def act(plan, forces, k):
    """Let the k-th joint forces act: rows of `forces`, which may have none."""
    nv = plan[N] - plan[SPLIT]
    if forces.shape[0] > 0:
        frame = array_at(plan[USER], HEADER)
        loads = array_at(plan[USER] + 8 * whole(frame, AT_LOADS), nv)
        for j in range(nv):
            put(loads, j, get(forces, k * nv + j))


@checked
def forward(address, times, forces, which, first, last, rows):
    """Steps `first` to `last` (not included) from Y; NEXT_EVAL of the plan is the next one when it stops before.

    which[k] are the forces of step k.
    """
    plan, num, work = plan_at(address)
    matrix, pivots = matrix_of(plan)
    n, y, y_new, k1 = plan[N], at(plan, Y), at(plan, Y_NEW), at(plan, K1)
    size, acting = row_size(plan), -1
    for k in range(first, last):
        plan[NEXT_EVAL] = k
        t, h = times[k], times[k + 1] - times[k]
        if forces.shape[0] > 0 and which[k] != acting:
            act(plan, forces, which[k])
            acting, plan[FRESH] = which[k], 0
        if abs(h - num[H]) > 1e-12 * abs(h):
            num[H], plan[FACTORED] = h, 0
        copy(work, y, rows, (k - first) * size, n)
        if plan[METHOD] == GAUSS:
            if plan[STARTED] == 0 and not evaluate(plan, num, t, work, y, k1):
                return FAILED_RHS
            code = gauss_step(plan, num, t, h, work, matrix, pivots)
            if code != CONVERGED:
                num[T_BAD] = t
                return NEED_MATRIX if code == NEWTON_NEEDED else FAILED_RHS if code == NO_STAGES else FAILED_STAGES
        else:
            if plan[FRESH] == 0 and not evaluate(plan, num, t, work, y, k1):
                return FAILED_RHS
            plan[FRESH] = 0
            if plan[METHOD] == DOPRI5:
                if dopri5_step(plan, num, t, h, work) >= NO_STEP:
                    return FAILED_RHS
                unit_quaternions_with_slopes(plan, work, y_new, at(plan, K7))
            else:
                if not rk4_step(plan, num, t, h, work):
                    return FAILED_RHS
                unit_quaternions(plan, work, y_new)
        if not finite(work, y_new, n):
            num[T_BAD], plan[Y_BAD] = t, y
            return FAILED_RHS
        keep_slopes(plan, work, rows, (k - first) * size)
        if plan[METHOD] == DOPRI5:
            copy(work, at(plan, K7), work, k1, n)
            plan[FRESH] = 1
        copy(work, y_new, work, y, n)
        num[T] = times[k + 1]
    plan[NEXT_EVAL] = last
    return FINISHED


# ---- back ----
@exact
def pulled(plan, derived, num, t, state, weights, out, code):
    """out = J^T weights at the stage in use: addresses. `code` of the stages before; the first that is not zero."""
    n = plan[N]
    call_load(derived[PULL], t, array_at(state, n), array_at(weights, n), array_at(out, n), derived[DESK])
    return code if code != 0.0 else load_double(derived[STATUS])


@exact
def unit_weights(plan, raw, weights):
    """The transpose of scaling quaternions to length one, where `raw` is the state before; it is symmetric."""
    for k in range(plan[N_QUATERNIONS]):
        i = plan[QUATERNIONS + k]
        square = square4(raw, i)
        over, along = 1.0 / sqrt(square), 0.0
        for j in range(4):
            along += get(raw, i + j) * get(weights, i + j)
        along /= square
        for j in range(4):
            put(weights, i + j, over * (get(weights, i + j) - along * get(raw, i + j)))


@exact
def use(derived, slot, again):
    """Let this slot be the one in use; whether it is pulled there once more."""
    put(array_at(derived[SLOT], 1), 0, float(slot))
    put(array_at(derived[AGAIN], 1), 0, 1.0 if again else 0.0)


@exact
def try_only(derived, trial):
    """Whether pulling adds nothing to the gradient."""
    put(array_at(derived[TRIAL], 1), 0, 1.0 if trial else 0.0)


@exact
def add_scaled(factor, x, i, out, j, n):
    """out += factor x, n numbers from places j and i on."""
    for c in range(n):
        put(out, j + c, get(out, j + c) + factor * get(x, i + c))


@exact
def explicit_back(plan, derived, num, t, h, row, x, at_x, weights, by_force):
    """One step of RK4 or Dormand-Prince back: `row` has y, k_1 .. k_s, `weights` are those of the new state.

    x has vectors mu, stage, g_1 .. g_s.
    """
    n, nq, s, m, code = plan[N], plan[SPLIT], stages_of(plan), 1 if plan[METHOD] == DOPRI5 else 0, 0.0
    mu, stage, g = 0, n, 2 * n
    if plan[N_QUATERNIONS] > 0:
        copy(row, 0, x, stage, n)
        for i in range(s):
            add_scaled(h * EXPLICIT_B[m, i], row, (1 + i) * n, x, stage, n)
        unit_weights(plan, array_at(at_x + 8 * stage, n), weights)
    use(derived, 0, False)
    for i in range(s - 1, -1, -1):
        for c in range(n):
            put(x, mu + c, h * EXPLICIT_B[m, i] * get(weights, c))
            put(x, stage + c, get(row, c))
        for j in range(i + 1, s):
            if EXPLICIT_A[m, j, i] != 0.0:
                add_scaled(h * EXPLICIT_A[m, j, i], x, g + j * n, x, mu, n)
        for j in range(i):
            if EXPLICIT_A[m, i, j] != 0.0:
                add_scaled(h * EXPLICIT_A[m, i, j], row, (1 + j) * n, x, stage, n)
        for c in range(nq, n):
            put(by_force, c - nq, get(by_force, c - nq) + get(x, mu + c))
        code = pulled(plan, derived, num, t + EXPLICIT_C[m, i] * h, at_x + 8 * stage, at_x + 8 * mu,
                      at_x + 8 * (g + i * n), code)
    for i in range(s):
        add_scaled(1.0, x, g + i * n, weights, 0, n)
    return code


@exact
def solve_transposed(m, W, pivots, x):
    """x = W^-T x for the factors of `eliminate`."""
    for r in range(m):
        x[r] /= W[r * m + r]
        for j in range(r + 1, m):
            put(x, j, get(x, j) - get(W, r * m + j) * x[r])
    for r in range(m - 1, -1, -1):
        for j in range(r):
            put(x, j, get(x, j) - get(W, r * m + j) * x[r])
    for c in range(m - 1, -1, -1):
        best = pivots[c]
        x[c], x[best] = x[best], x[c]


@exact
def gauss_back(plan, derived, num, t, h, x, at_x, work, weights, by_force):
    """One step of a Gauss method back: y and the slopes of its stages are in `work`."""
    if plan[NEWTON] == 0:
        code, converged = weigh_stages(plan, derived, num, t, h, x, at_x, work, weights)
        if code != 0.0:
            return code
        if converged:
            return add_stages(plan, derived, num, t, h, x, at_x, weights, by_force)
    derived[KNOWN] = 0
    if derived[JACOBIAN] == 0:
        return NO_MATRICES
    return solve_back(plan, derived, num, t, h, x, at_x, work, weights, by_force)


@exact
def guess_back(plan, derived, x):
    """g to start from: the polynomial of the step behind, or zero."""
    n, s = plan[N], plan[STAGES]
    for c in range(n):
        if derived[KNOWN] == 0:
            for i in range(s):
                put(x, (G + i) * n + c, 0.0)
        elif s == 2:
            a, b = get(x, (G + 1) * n + c), get(x, G * n + c)
            put(x, (G + 1) * n + c, GAUSS_NEXT[2, 0, 0] * a + GAUSS_NEXT[2, 0, 1] * b)
            put(x, G * n + c, GAUSS_NEXT[2, 1, 0] * a + GAUSS_NEXT[2, 1, 1] * b)
        elif s == 3:
            a, b, d = get(x, (G + 2) * n + c), get(x, (G + 1) * n + c), get(x, G * n + c)
            for i in range(3):
                put(x, (G + 2 - i) * n + c, GAUSS_NEXT[3, i, 0] * a + GAUSS_NEXT[3, i, 1] * b + GAUSS_NEXT[3, i, 2] * d)


@exact
def weigh_stages(plan, derived, num, t, h, x, at_x, work, weights):
    """mu and g of all stages, by fixed-point iteration until rounding is all that is left. Code; whether it is."""
    n, nq, s = plan[N], plan[SPLIT], plan[STAGES]
    code = 0.0
    for i in range(s):
        stage_state(plan, h, i, work)
        copy(work, at(plan, TEMP), x, (STATES + i) * n, n)
    guess_back(plan, derived, x)
    for i in range(s * n):
        put(x, MU * n + i, 0.0)
    try_only(derived, True)
    before, grown, converged = 1e300, 0, False
    for count in range(MOST_ITERATIONS if code == 0.0 else 0):
        dq, dp, q_size, p_size = 0.0, 0.0, TINY, TINY
        for i in range(s - 1, -1, -1):
            for c in range(n):
                total = GAUSS_B[s, i] * get(weights, c)
                for j in range(s):
                    total += GAUSS_A[s, j, i] * get(x, (G + j) * n + c)
                total *= h
                change = abs(total - get(x, (MU + i) * n + c))
                if c < nq:
                    dq, q_size = max(dq, change), max(q_size, abs(total))
                else:
                    dp, p_size = max(dp, change), max(p_size, abs(total))
                put(x, (MU + i) * n + c, total)
            use(derived, i, count > 0)
            code = pulled_stage(plan, derived, num, t, h, i, at_x, code)
        change = dq / q_size + dp / p_size
        converged = settled(change, before)
        grown += change >= before
        if converged or grown > MOST_GROWN or code != 0.0:
            break
        before = change
    try_only(derived, False)
    return code, converged


@exact
def pulled_stage(plan, derived, num, t, h, i, at_x, code):
    """g of stage i from its mu; the first code that is not zero."""
    n = 8 * plan[N]
    return pulled(plan, derived, num, t + GAUSS_C[plan[STAGES], i] * h, at_x + (STATES + i) * n, at_x + (MU + i) * n,
                  at_x + (G + i) * n, code)


@exact
def add_stages(plan, derived, num, t, h, x, at_x, weights, by_force):
    """Weights of the state at the beginning and of the forces, and the gradient by constants; mu and g are there."""
    n, nq, code = plan[N], plan[SPLIT], 0.0
    derived[KNOWN] = 1
    for i in range(plan[STAGES]):
        for c in range(nq, n):
            put(by_force, c - nq, get(by_force, c - nq) + get(x, (MU + i) * n + c))
        if derived[SUMS] != 0:
            use(derived, i, True)
            code = pulled_stage(plan, derived, num, t, h, i, at_x, code)
        for c in range(n):
            put(weights, c, get(weights, c) + get(x, (G + i) * n + c))
    return code


@exact
def solve_back(plan, derived, num, t, h, x, at_x, work, weights, by_force):
    """The same by the factors of all stages; x has mu_1 .. mu_s, g, a stage."""
    n, nq, s = plan[N], plan[SPLIT], plan[STAGES]
    matrix, pivots = matrices_of(plan, integers_at(plan[AT_TANGENT], QUATERNIONS))
    size, g = s * n, s * n
    if stage_factors(plan, derived, num, t, h, work, matrix, pivots) == FAILED_RHS:
        return load_double(derived[STATUS])
    for i in range(s):
        for c in range(n):
            put(x, i * n + c, h * GAUSS_B[s, i] * get(weights, c))
    mu = array_at(at_x, size)
    solve_transposed(size, matrix, pivots, mu)
    code = 0.0
    use(derived, 0, False)
    for i in range(s):
        for c in range(nq, n):
            put(by_force, c - nq, get(by_force, c - nq) + get(x, i * n + c))
        stage_state(plan, h, i, work)
        copy(work, at(plan, TEMP), x, g + n, n)
        code = pulled(plan, derived, num, t + GAUSS_C[s, i] * h, at_x + 8 * (g + n), at_x + 8 * i * n, at_x + 8 * g,
                      code)
        for c in range(n):
            put(weights, c, get(weights, c) + get(x, g + c))
    return code


@checked
def backward(address, times, forces, which, first, last, rows, sample, bars, weights, by_force, x):
    """Steps `last` - 1 down to `first`, which `rows` has; FINISHED, or why not.

    `weights` are those of the state at the end of the last step, and of the first one's beginning in the end. Row
    sample[k] of `bars` (-1: none, or no more) is added at the end of step k - 1. NEED_MATRIX: room for matrices is
    needed, and NEXT_EVAL of the plan is the number of steps left. `by_force` has a row for each of the forces (one
    where there are none).
    """
    plan, num, work = plan_at(address)
    derived = integers_at(plan[AT_TANGENT], QUATERNIONS)
    n, nv, size, acting = plan[N], plan[N] - plan[SPLIT], row_size(plan), -1
    for k in range(last - 1, first - 1, -1):
        t, h = times[k], times[k + 1] - times[k]
        if sample[k + 1] >= 0:
            add_scaled(1.0, bars, sample[k + 1] * n, weights, 0, n)
            sample[k + 1] = -1
        if which[k] != acting:
            act(plan, forces, which[k])
            acting = which[k]
        own = array_at(data_of(by_force) + 8 * (which[k] * nv if forces.shape[0] > 0 else 0), nv)
        if plan[METHOD] == GAUSS:
            copy(rows, (k - first) * size, work, at(plan, Y), n)
            copy(rows, (k - first) * size + n, work, at(plan, K2), plan[STAGES] * n)
            code = gauss_back(plan, derived, num, t, h, x, data_of(x), work, weights, own)
        else:
            row = array_at(data_of(rows) + 8 * (k - first) * size, size)
            code = explicit_back(plan, derived, num, t, h, row, x, data_of(x), weights, own)
        if code == NO_MATRICES:
            plan[NEXT_EVAL] = k + 1
            return NEED_MATRIX
        if code != 0.0 or not finite(weights, 0, n):
            plan[CODE], num[T_BAD] = int(code), t
            return FAILED_RHS
    return FINISHED
