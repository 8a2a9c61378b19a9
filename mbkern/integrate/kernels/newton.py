"""Simplified Newton iteration for the stages of a Gauss method, where plain iteration does not converge.

The stage slopes solve k_i - f(t + c_i h, y + h sum_j a_ij k_j) = 0. With the Jacobian J = df/dy at one state,

    (E - h A x J) dk = f(...) - k,   k += dk

(x: the Kronecker product; E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., section IV.8).
J is exact where the plan has its address, else taken by differences; W = E - h A x J is factored once and kept while
the iteration converges fast.

`matrix` holds W, row by row, and behind it J and a right-hand side; `pivots` the rows chosen by the factorization.
"""

from ...core.cabi import call_ode
from ...core.jit import checked, exact
from ...core.number import get, put
from .common import at, evaluate, finite
from .plan import DESK, JACOBIAN, K6, K7, N, STAGES, TEMP, Y
from .tableaus import GAUSS_A

DIFFERENCE = 1.5e-8  # square root of the rounding unit


@checked
def jacobian(plan, num, t, work, J):
    """J = df/dy at (t, y), row by row; False when f failed."""
    n = plan[N]
    if plan[JACOBIAN] != 0:
        call_ode(plan[JACOBIAN], t, work, at(plan, Y), J, 0, plan[DESK])
        return finite(J, 0, n * n)
    return by_differences(plan, num, t, work, J)


@checked
def by_differences(plan, num, t, work, J):
    """The same by differences of f."""
    n = plan[N]
    y, moved, slope, slope_moved = at(plan, Y), at(plan, TEMP), at(plan, K7), at(plan, K6)
    if not evaluate(plan, num, t, work, y, slope):
        return False
    size = 0.0
    for i in range(n):
        put(work, moved + i, get(work, y + i))
        size = max(size, abs(get(work, y + i)))
    for j in range(n):
        step = DIFFERENCE * max(abs(get(work, y + j)), 1e-3 * size, 1e-3)
        put(work, moved + j, get(work, y + j) + step)
        step = get(work, moved + j) - get(work, y + j)
        if not evaluate(plan, num, t, work, moved, slope_moved):
            return False
        for i in range(n):
            J[i * n + j] = (get(work, slope_moved + i) - get(work, slope + i)) / step
        put(work, moved + j, get(work, y + j))
    return finite(J, 0, n * n)


@checked
def factor(plan, h, J, W, pivots):
    """W and its factors; False when it is singular."""
    n, s = plan[N], plan[STAGES]
    m = s * n
    for a in range(s):
        for i in range(n):
            row = (a * n + i) * m
            for b in range(s):
                part = -h * GAUSS_A[s, a, b]
                for j in range(n):
                    put(W, row + b * n + j, part * get(J, i * n + j))
            W[row + a * n + i] += 1.0
    return eliminate(m, W, pivots)


@checked
def eliminate(m, W, pivots):
    """W = L U with partial pivoting; False when it is singular."""
    for c in range(m):
        best = c
        for r in range(c + 1, m):
            if abs(W[r * m + c]) > abs(W[best * m + c]):
                best = r
        pivots[c] = best
        if not abs(W[best * m + c]) > 0.0:
            return False
        if best != c:
            for j in range(m):
                W[c * m + j], W[best * m + j] = W[best * m + j], W[c * m + j]
        inverse = 1.0 / W[c * m + c]
        for r in range(c + 1, m):
            if W[r * m + c] != 0.0:
                factor_rc = W[r * m + c] * inverse
                W[r * m + c] = factor_rc
                for j in range(c + 1, m):
                    put(W, r * m + j, get(W, r * m + j) - factor_rc * get(W, c * m + j))
    return True


@exact
def less_products(total, W, row, x, begin, end):
    """total - sum of W[row + j] x[j] from `begin` to `end`; four sums, each of which waits for itself."""
    a, b, c, four = 0.0, 0.0, 0.0, end - (end - begin) % 4
    for j in range(begin, four, 4):
        total -= get(W, row + j) * get(x, j)
        a -= get(W, row + j + 1) * get(x, j + 1)
        b -= get(W, row + j + 2) * get(x, j + 2)
        c -= get(W, row + j + 3) * get(x, j + 3)
    for j in range(four, end):
        total -= get(W, row + j) * get(x, j)
    return (total + a) + (b + c)


@exact
def solve(m, W, pivots, x):
    """x = W^-1 x for the factors of `factor`."""
    for c in range(m):
        best = pivots[c]
        x[c], x[best] = x[best], x[c]
    for r in range(m):
        x[r] = less_products(x[r], W, r * m, x, 0, r)
    for r in range(m - 1, -1, -1):
        x[r] = less_products(x[r], W, r * m, x, r + 1, m) / W[r * m + r]


@exact
def solve_columns(m, W, pivots, x, begin, columns):
    """X = W^-1 X for `columns` right-hand sides side by side, row by row in x from place `begin` on."""
    for c in range(m):
        best = pivots[c]
        if best != c:
            for k in range(columns):
                i, j = begin + c * columns + k, begin + best * columns + k
                a = get(x, i)
                put(x, i, get(x, j))
                put(x, j, a)
    for r in range(m):
        for j in range(r):
            a = W[r * m + j]
            if a != 0.0:
                for k in range(columns):
                    i = begin + r * columns + k
                    put(x, i, get(x, i) - a * get(x, begin + j * columns + k))
    for r in range(m - 1, -1, -1):
        for j in range(r + 1, m):
            a = W[r * m + j]
            if a != 0.0:
                for k in range(columns):
                    i = begin + r * columns + k
                    put(x, i, get(x, i) - a * get(x, begin + j * columns + k))
        pivot = W[r * m + r]
        for k in range(columns):
            i = begin + r * columns + k
            put(x, i, get(x, i) / pivot)
