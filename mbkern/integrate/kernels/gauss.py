"""Gauss collocation with s = 1 (implicit midpoint), 2, 3 stages: order 2 s, symplectic, symmetric.

    k_i = f(t + c_i h, y + h sum_j a_ij k_j),   y_new = y + h sum_i b_i k_i

All quadratic invariants are conserved exactly, the lengths of quaternions among them. The stages are found by
fixed-point iteration (Gauss-Seidel: each new k_i is used at once) until rounding is all that is left: a stopping test
at some tolerance would leave a bias that adds up over many steps. They start from the polynomial of the step before,
and y is summed with compensation (Hairer, Lubich & Wanner, Geometric Numerical Integration, sections VIII.5, VIII.6).
"""

from ...core.jit import checked, exact
from .common import evaluate, finite, vector
from .plan import ITERATIONS, K1, K2, LOST, N, SPLIT, STAGES, STARTED, TEMP, Y, Y_NEW
from .tableaus import GAUSS_A, GAUSS_B, GAUSS_C, GAUSS_NEXT

ROUND_OFF = 2e-16  # a change of the stages below this part of the state is none
ACCEPTABLE = 1e-10  # where changes stop to shrink below this part of the state, rounding is all that is left
MOST_ITERATIONS = 60
CONVERGED, NOT_CONVERGED, NO_STAGES = 0, 1, 2


@exact
def largest(x, begin, end):
    m = 0.0
    for i in range(begin, end):
        m = max(m, abs(x[i]))
    return m


@exact
def guess_stages(plan, work):
    """Stage slopes to start from: the polynomial of the step before, or the slope at the beginning."""
    n, s = plan[N], plan[STAGES]
    k = work[K2 * n:(K2 + s) * n]
    if plan[STARTED] == 0:
        k1 = vector(plan, work, K1)
        for j in range(s):
            for i in range(n):
                k[j * n + i] = k1[i]
        return
    if s == 2:
        for i in range(n):
            a, b = k[i], k[n + i]
            k[i] = GAUSS_NEXT[2, 0, 0] * a + GAUSS_NEXT[2, 0, 1] * b
            k[n + i] = GAUSS_NEXT[2, 1, 0] * a + GAUSS_NEXT[2, 1, 1] * b
    elif s == 3:
        for i in range(n):
            a, b, c = k[i], k[n + i], k[2 * n + i]
            for j in range(3):
                k[j * n + i] = GAUSS_NEXT[3, j, 0] * a + GAUSS_NEXT[3, j, 1] * b + GAUSS_NEXT[3, j, 2] * c


@exact
def sweep_stages(plan, num, t, h, work):
    """One pass over all stages; the change of h k relative to the state, negative when f failed.

    Relative to q and p as wholes: a single number may pass through zero.
    """
    n, nq, s = plan[N], plan[SPLIT], plan[STAGES]
    y, stage, new = vector(plan, work, Y), vector(plan, work, TEMP), vector(plan, work, Y_NEW)
    k = work[K2 * n:(K2 + s) * n]
    dq, dp, q_slope, p_slope = 0.0, 0.0, 0.0, 0.0
    for j in range(s):
        for i in range(n):
            total = 0.0
            for m in range(s):
                total += GAUSS_A[s, j, m] * k[m * n + i]
            stage[i] = y[i] + h * total
        if not evaluate(plan, num, t + GAUSS_C[s, j] * h, stage, new):
            return -1.0
        for i in range(nq):
            dq, q_slope = max(dq, abs(new[i] - k[j * n + i])), max(q_slope, abs(new[i]))
            k[j * n + i] = new[i]
        for i in range(nq, n):
            dp, p_slope = max(dp, abs(new[i] - k[j * n + i])), max(p_slope, abs(new[i]))
            k[j * n + i] = new[i]
        if not finite(new):
            return -1.0
    tiny, size = 1e-300, abs(h)
    return size * (dq / (largest(y, 0, nq) + size * q_slope + tiny) + dp / (largest(y, nq, n) + size * p_slope + tiny))


@checked
def gauss_step(plan, num, t, h, work):
    """Y_NEW from Y; CONVERGED, NOT_CONVERGED or NO_STAGES (f failed). K1 is needed in the first step only."""
    n, s = plan[N], plan[STAGES]
    y, y_new, lost = vector(plan, work, Y), vector(plan, work, Y_NEW), vector(plan, work, LOST)
    k = work[K2 * n:(K2 + s) * n]
    guess_stages(plan, work)
    before, grown = 1e300, 0
    for _ in range(MOST_ITERATIONS):
        change = sweep_stages(plan, num, t, h, work)
        plan[ITERATIONS] += 1
        if change < 0.0:
            return NO_STAGES
        if change <= ROUND_OFF or (change >= before and change <= ACCEPTABLE):
            break
        if change >= before:
            grown += 1
            if grown > 3:
                return NOT_CONVERGED
        before = change
    else:
        return NOT_CONVERGED
    for i in range(n):
        total = 0.0
        for m in range(s):
            total += GAUSS_B[s, m] * k[m * n + i]
        step = h * total + lost[i]
        y_new[i] = y[i] + step
        lost[i] = step - (y_new[i] - y[i])
    plan[STARTED] = 1
    return CONVERGED
