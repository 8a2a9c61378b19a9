"""Gauss collocation with s = 1 (implicit midpoint), 2, 3 stages: order 2 s, symplectic, symmetric.

    k_i = f(t + c_i h, y + h sum_j a_ij k_j),   y_new = y + h sum_i b_i k_i

All quadratic invariants are conserved exactly, the lengths of quaternions among them. The stages are found by
fixed-point iteration (Gauss-Seidel: each new k_i is used at once), or by simplified Newton iteration (:mod:`.newton`)
from the first step on where that does not converge. Both go on until rounding is all that is left: a stopping test at
some tolerance would leave a bias that adds up over many steps. The stages start from the polynomial of the step before,
and y is summed with compensation (Hairer, Lubich & Wanner, Geometric Numerical Integration, sections VIII.5, VIII.6).
"""

from ...core.jit import exact
from ...core.number import get, put
from .common import at, evaluate, finite
from .newton import factor, jacobian, solve
from .plan import (
    CODE, FACTORED, ITERATIONS, JACOBIAN, K1, K2, LOST, N, NEWTON, SPLIT, STAGES, STARTED, TEMP, Y, Y_NEW,
)
from .stages import add_compensated, relative_change
from .tableaus import GAUSS_A, GAUSS_B, GAUSS_C, GAUSS_NEXT

ROUND_OFF = 2e-16  # a change of the stages below this part of the state is none
ACCEPTABLE = 1e-10  # where changes stop to shrink below this part of the state, rounding is all that is left
MOST_ITERATIONS = 60
MOST_GROWN = 3  # times that the change of the stages may grow
SLOW = 12  # Newton iterations after which the Jacobian is taken anew
SOON, EACH = 5, 6  # exact ones cost less: after 5 iterations, and one more for every 6 unknowns, but no later than that
CONVERGED, NOT_CONVERGED, NO_STAGES, NEWTON_NEEDED = 0, 1, 2, 3


@exact
def settled(change, before):
    """Whether rounding is all that is left, by the last two changes of the stages."""
    return change <= ROUND_OFF or (change >= before and change <= ACCEPTABLE)


@exact
def foreseen(change, before):
    """Whether rounding would be all that another Newton iteration leaves, by the rate at which the changes shrink."""
    return change < before and change * (change / before) <= ROUND_OFF


@exact
def largest(array, begin, end):
    m = 0.0
    for i in range(begin, end):
        m = max(m, abs(get(array, i)))
    return m


@exact
def guess_stages(plan, work):
    """Stage slopes to start from: the polynomial of the step before, or the slope at the beginning."""
    n, s = plan[N], plan[STAGES]
    k = at(plan, K2)
    if plan[STARTED] == 0:
        k1 = at(plan, K1)
        for j in range(s):
            for i in range(n):
                put(work, k + j * n + i, get(work, k1 + i))
    elif s == 2:
        for i in range(n):
            a, b = get(work, k + i), get(work, k + n + i)
            put(work, k + i, GAUSS_NEXT[2, 0, 0] * a + GAUSS_NEXT[2, 0, 1] * b)
            put(work, k + n + i, GAUSS_NEXT[2, 1, 0] * a + GAUSS_NEXT[2, 1, 1] * b)
    elif s == 3:
        for i in range(n):
            a, b, c = get(work, k + i), get(work, k + n + i), get(work, k + 2 * n + i)
            for j in range(3):
                put(work, k + j * n + i, GAUSS_NEXT[3, j, 0] * a + GAUSS_NEXT[3, j, 1] * b + GAUSS_NEXT[3, j, 2] * c)


@exact
def stage_state(plan, h, j, work):
    """The state of stage j of the step from Y, to TEMP."""
    n, s = plan[N], plan[STAGES]
    y, stage, k = at(plan, Y), at(plan, TEMP), at(plan, K2)
    for i in range(n):
        total = 0.0
        for m in range(s):
            total += GAUSS_A[s, j, m] * get(work, k + m * n + i)
        put(work, stage + i, get(work, y + i) + h * total)


@exact
def stage_rates(plan, num, t, h, j, work, out):
    """out = f at stage j; False when it has no value there."""
    stage_state(plan, h, j, work)
    t_stage = t + GAUSS_C[plan[STAGES], j] * h
    return evaluate(plan, num, t_stage, work, at(plan, TEMP), out) and finite(work, out, plan[N])


@exact
def relative(plan, h, dq, dp, q_slope, p_slope, work):
    """Change of h k relative to q and p."""
    n, nq = plan[N], plan[SPLIT]
    y = at(plan, Y)
    return relative_change(abs(h), dq, dp, largest(work, y, y + nq), largest(work, y + nq, y + n), q_slope, p_slope)


@exact
def sweep_stages(plan, num, t, h, work):
    """One fixed-point pass over all stages; the relative change, negative when f failed."""
    n, nq = plan[N], plan[SPLIT]
    new, k = at(plan, Y_NEW), at(plan, K2)
    dq, dp, q_slope, p_slope = 0.0, 0.0, 0.0, 0.0
    for j in range(plan[STAGES]):
        if not stage_rates(plan, num, t, h, j, work, new):
            return -1.0
        for i in range(nq):
            x, before = get(work, new + i), get(work, k + j * n + i)
            dq, q_slope = max(dq, abs(x - before)), max(q_slope, abs(x))
            put(work, k + j * n + i, x)
        for i in range(nq, n):
            x, before = get(work, new + i), get(work, k + j * n + i)
            dp, p_slope = max(dp, abs(x - before)), max(p_slope, abs(x))
            put(work, k + j * n + i, x)
    return relative(plan, h, dq, dp, q_slope, p_slope, work)


@exact
def newton_stages(plan, num, t, h, work, matrix, pivots):
    """One simplified Newton iteration; the relative change, negative when f failed."""
    n, nq, s = plan[N], plan[SPLIT], plan[STAGES]
    m = s * n
    W, r = matrix[:m * m], matrix[m * m + n * n:m * m + n * n + m]
    new, k = at(plan, Y_NEW), at(plan, K2)
    for j in range(s):
        if not stage_rates(plan, num, t, h, j, work, new):
            return -1.0
        for i in range(n):
            r[j * n + i] = get(work, new + i) - get(work, k + j * n + i)
    solve(m, W, pivots, r)
    dq, dp, q_slope, p_slope = 0.0, 0.0, 0.0, 0.0
    for j in range(s):
        for i in range(n):
            put(work, k + j * n + i, get(work, k + j * n + i) + r[j * n + i])
        begin, split, end = j * n, j * n + nq, (j + 1) * n
        dq, q_slope = max(dq, largest(r, begin, split)), max(q_slope, largest(work, k + begin, k + split))
        dp, p_slope = max(dp, largest(r, split, end)), max(p_slope, largest(work, k + split, k + end))
    if not finite(work, k, m):
        return -1.0
    return relative(plan, h, dq, dp, q_slope, p_slope, work)


@exact
def judged(plan, change, before, grown):
    """Code of an iteration (NOT_CONVERGED: go on), and how often the change has grown."""
    plan[ITERATIONS] += 1
    if change < 0.0:
        return NO_STAGES, grown
    if settled(change, before):
        return CONVERGED, grown
    return NOT_CONVERGED, grown + (change >= before)


@exact
def iterate(plan, num, t, h, work):
    """Fixed-point iteration of the stages until rounding is all that is left."""
    before, grown = 1e300, 0
    for _ in range(MOST_ITERATIONS):
        change = sweep_stages(plan, num, t, h, work)
        code, grown = judged(plan, change, before, grown)
        if code != NOT_CONVERGED:
            return code
        if grown > MOST_GROWN:
            break
        before = change
    return NOT_CONVERGED


@exact
def patience(plan):
    """Newton iterations after which a new Jacobian and its factors are worth their time."""
    return min(SLOW, SOON + plan[N] // EACH) if plan[JACOBIAN] != 0 else SLOW


@exact
def iterate_newton(plan, num, t, h, work, matrix, pivots):
    """The same by Newton iteration."""
    before, grown = 1e300, 0
    for count in range(MOST_ITERATIONS):
        change = newton_stages(plan, num, t, h, work, matrix, pivots)
        code, grown = judged(plan, change, before, grown)
        if code == NOT_CONVERGED and count > 0 and foreseen(change, before):
            code = CONVERGED
        if code == CONVERGED and count >= patience(plan):
            plan[FACTORED] = 0
        if code != NOT_CONVERGED:
            return code
        if grown > MOST_GROWN:
            break
        before = change
    return NOT_CONVERGED


@exact
def prepare_newton(plan, num, t, h, work, matrix, pivots):
    """Jacobian at (t, y) and the factors; False when f failed or they are singular."""
    n = plan[N]
    m = plan[STAGES] * n
    J = matrix[m * m:m * m + n * n]
    if not jacobian(plan, num, t, work, J) or not factor(plan, h, J, matrix[:m * m], pivots):
        return False
    plan[FACTORED] = 1
    return True


@exact
def restart_stages(plan, num, t, work):
    """Stages that start from the slope at (t, y); False when f failed."""
    plan[STARTED] = 0
    if not evaluate(plan, num, t, work, at(plan, Y), at(plan, K1)):
        return False
    guess_stages(plan, work)
    return True


@exact
def end_step(plan, h, work):
    """Y_NEW from Y and the stages."""
    n, s = plan[N], plan[STAGES]
    y, y_new, lost, k = at(plan, Y), at(plan, Y_NEW), at(plan, LOST), at(plan, K2)
    for i in range(n):
        total = 0.0
        for m in range(s):
            total += GAUSS_B[s, m] * get(work, k + m * n + i)
        add_compensated(work, i, y, y_new, lost, h * total)
    plan[STARTED] = 1


@exact
def fixed_point_step(plan, num, t, h, work):
    """Y_NEW from Y; CONVERGED, or NEWTON_NEEDED. K1 is needed in the first step only."""
    guess_stages(plan, work)
    if iterate(plan, num, t, h, work) != CONVERGED:
        plan[STARTED] = 0
        return NEWTON_NEEDED
    end_step(plan, h, work)
    return CONVERGED


@exact
def newton_step(plan, num, t, h, work, matrix, pivots):
    """The same where there is room for matrices; CONVERGED, NOT_CONVERGED or NO_STAGES (f failed)."""
    guess_stages(plan, work)
    code = NOT_CONVERGED
    if plan[NEWTON] == 0:
        code = iterate(plan, num, t, h, work)
    elif plan[FACTORED] == 1:
        code = iterate_newton(plan, num, t, h, work, matrix, pivots)
    if code != CONVERGED:  # fixed-point iteration gives way to Newton, an old Jacobian to a new one
        plan[NEWTON], plan[CODE] = 1, 0
        if not restart_stages(plan, num, t, work) or not prepare_newton(plan, num, t, h, work, matrix, pivots):
            return NO_STAGES if plan[CODE] != 0 else NOT_CONVERGED
        code = iterate_newton(plan, num, t, h, work, matrix, pivots)
        if code != CONVERGED:
            return code
    end_step(plan, h, work)
    return CONVERGED


@exact
def gauss_step(plan, num, t, h, work, matrix, pivots):
    """Whichever of the two there is room for."""
    if matrix.shape[0] == 0:
        return fixed_point_step(plan, num, t, h, work)
    return newton_step(plan, num, t, h, work, matrix, pivots)
