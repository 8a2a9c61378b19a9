"""Kane and reduced Volterra with any S: its inverse [W, P], the speeds, gamma, and the reduced equations.

    S = [Y; B]   v = W (u - Z) + P C   gamma = -(W rate_Y + P (h_I; rate_a))   (W^T M W) udot = W^T (Q - h - M gamma)

Where the quasi-velocities are speeds themselves (`SELECTED`), S is a unit matrix but for the rows B, and only the
columns of the other speeds ("dependent") are solved for. Rows of M W of ignorable speeds are zero.
"""

from .checks import OK
from .dense import solve_pivoted, solve_positive
from .arguments import UNKNOWN
from .jit import noinline
from .number import get, put, whole
from .quasi_calls import put_constraints, put_quasi, put_rates_of
from .quasi_layout import (
    AT_A, AT_B, AT_C, AT_E, AT_F, AT_GAMMA, AT_H, AT_M, AT_P, AT_Q, AT_REST, AT_SPEEDS, AT_V, AT_W, AT_X, AT_Y,
    AT_ZERO, NU, NV, R, RCOND, S, SELECTED, SIGN, SINGULAR_MASS, SINGULAR_S, THRESHOLD, part,
)
from .quasi_rows import along, momentum_axes, put_rows


@noinline
def put_inverse(frame):
    """W and P of S^-1 = [W, P]; RCOND. Returns a code."""
    m, nu = whole(frame, NV), whole(frame, NU)
    nd = m - nu
    W, P, B = part(frame, AT_W, m * nu), part(frame, AT_P, m * nd), part(frame, AT_B, nd * m)
    X, E, F = part(frame, AT_X, UNKNOWN), part(frame, AT_E, UNKNOWN), part(frame, AT_F, 2 * m)
    worst = 1.0
    if whole(frame, SELECTED) != 0:
        at = whole(frame, AT_SPEEDS)
        columns = nu + nd
        for k in range(nd):
            total = 0.0
            for j in range(nd):
                x = get(B, k * m + whole(frame, at + nu + j))
                put(X, k * nd + j, x)
                total += abs(x)
                put(E, k * columns + nu + j, 1.0 if j == k else 0.0)
            for j in range(nu):
                x = get(B, k * m + whole(frame, at + j))
                put(E, k * columns + j, -x)
                total += abs(x)
            put(F, m + k, total)
        sign = solve_pivoted(X, nd, E, columns, F)
        put(frame, SIGN, sign)
        if sign == 0.0:
            put(frame, RCOND, 0.0)
            return SINGULAR_S
        for i in range(nd):  # rows of the chosen speeds are constant: those of a unit matrix in W, zero in P
            row, total = whole(frame, at + nu + i), 0.0
            for j in range(nu):
                put(W, row * nu + j, get(E, i * columns + j))
                total += abs(get(E, i * columns + j))
            for j in range(nd):
                put(P, row * nd + j, get(E, i * columns + nu + j))
                total += abs(get(E, i * columns + nu + j)) * get(F, m + j)
            worst = max(worst, total)
    else:
        Y = part(frame, AT_Y, nu * m)
        for i in range(m):
            total = 0.0
            for j in range(m):
                x = get(Y, i * m + j) if i < nu else get(B, (i - nu) * m + j)
                put(X, i * m + j, x)
                total += abs(x)
                put(E, i * m + j, 1.0 if i == j else 0.0)
            put(F, m + i, total)
        sign = solve_pivoted(X, m, E, m, F)
        put(frame, SIGN, sign)
        if sign == 0.0:
            put(frame, RCOND, 0.0)
            return SINGULAR_S
        for i in range(m):
            total = 0.0
            for j in range(m):
                x = get(E, i * m + j)
                total += abs(x) * get(F, m + j)
                if j < nu:
                    put(W, i * nu + j, x)
                else:
                    put(P, i * nd + j - nu, x)
            worst = max(worst, total)
    put(frame, RCOND, 1.0 / worst)
    return OK if 1.0 / worst >= get(frame, THRESHOLD) else SINGULAR_S


@noinline
def put_speeds(frame, u):
    """v = W (u - Z) + P C, then once more what is left of B v = C: constraints and momenta hold to the last digit."""
    m, nu = whole(frame, NV), whole(frame, NU)
    nd = m - nu
    W, P, B, C = part(frame, AT_W, m * nu), part(frame, AT_P, m * nd), part(frame, AT_B, nd * m), part(frame, AT_C, nd)
    Y, v, left = part(frame, AT_Y, nu * m + nu), part(frame, AT_V, m), part(frame, AT_F, nd)
    at, selected = whole(frame, AT_SPEEDS), whole(frame, SELECTED) != 0
    if selected:
        for j in range(nu):
            put(v, whole(frame, at + j), get(u, j))
    for k in range(nd if selected else m):
        i = whole(frame, at + nu + k) if selected else k
        x = 0.0
        for j in range(nu):
            x += get(W, i * nu + j) * (get(u, j) - get(Y, nu * m + j))
        for j in range(nd):
            x += get(P, i * nd + j) * get(C, j)
        put(v, i, x)
    for k in range(nd):
        x = get(C, k)
        for j in range(m):
            x -= get(B, k * m + j) * get(v, j)
        put(left, k, x)
    for k in range(nd if selected else m):
        i = whole(frame, at + nu + k) if selected else k
        for j in range(nd):
            put(v, i, get(v, i) + get(P, i * nd + j) * get(left, j))


@noinline
def put_gamma(frame, q):
    """gamma = -(W rate_Y + P (h_I; rate_a))."""
    m, nu, r, s = whole(frame, NV), whole(frame, NU), whole(frame, R), whole(frame, S)
    nd = m - nu
    W, P, gamma = part(frame, AT_W, m * nu), part(frame, AT_P, m * nd), part(frame, AT_GAMMA, m)
    h, rates = part(frame, AT_H, m), part(frame, AT_F, nd)
    a, Y = part(frame, AT_A, r * m + 2 * r), part(frame, AT_Y, nu * m + 2 * nu)
    for k in range(s):
        first, weights, n = momentum_axes(frame, k, q)
        put(rates, k, along(h, first, 1, weights, n))
    for k in range(r):
        put(rates, s + k, get(a, r * m + r + k))
    selected = whole(frame, SELECTED) != 0
    for i in range(m):
        x = 0.0
        for j in range(nd):
            x -= get(P, i * nd + j) * get(rates, j)
        if not selected:
            for j in range(nu):
                x -= get(W, i * nu + j) * get(Y, nu * m + nu + j)
        put(gamma, i, x)


@noinline
def put_reduced(frame, udot):
    """udot of (W^T M W) udot = W^T (Q - h - M gamma). Returns a code."""
    m, nu = whole(frame, NV), whole(frame, NU)
    nd = m - nu
    M, W, gamma = part(frame, AT_M, m * m), part(frame, AT_W, m * nu), part(frame, AT_GAMMA, m)
    h, Q, zero = part(frame, AT_H, m), part(frame, AT_Q, m), part(frame, AT_ZERO, m)
    X, E, F = part(frame, AT_X, UNKNOWN), part(frame, AT_E, UNKNOWN), part(frame, AT_F, m)
    at, selected = whole(frame, AT_SPEEDS), whole(frame, SELECTED) != 0
    for i in range(m):
        x = get(Q, i) - get(h, i)
        if selected:
            for k in range(nd):
                j = whole(frame, at + nu + k)
                x -= get(M, i * m + j) * get(gamma, j)
        else:
            for j in range(m):
                x -= get(M, i * m + j) * get(gamma, j)
        put(F, i, x)
        if get(zero, i) != 0.0:  # M W vanishes here by construction
            continue
        if selected:
            for b in range(nu):
                put(E, i * nu + b, get(M, i * m + whole(frame, at + b)))
            for k in range(nd):
                j = whole(frame, at + nu + k)
                for b in range(nu):
                    put(E, i * nu + b, get(E, i * nu + b) + get(M, i * m + j) * get(W, j * nu + b))
        else:
            for b in range(nu):
                put(E, i * nu + b, 0.0)
            for j in range(m):
                x = get(M, i * m + j)
                for b in range(nu):
                    put(E, i * nu + b, get(E, i * nu + b) + x * get(W, j * nu + b))
    if selected:
        for a in range(nu):
            i = whole(frame, at + a)
            for b in range(a + 1):
                put(X, a * nu + b, get(E, i * nu + b))
            put(udot, a, get(F, i))
    else:
        for a in range(nu):
            for b in range(a + 1):
                put(X, a * nu + b, 0.0)
            put(udot, a, 0.0)
    for k in range(nd if selected else m):
        i = whole(frame, at + nu + k) if selected else k
        for a in range(nu):
            w = get(W, i * nu + a)
            put(udot, a, get(udot, a) + w * get(F, i))
            if get(zero, i) == 0.0 and w != 0.0:
                for b in range(a + 1):
                    put(X, a * nu + b, get(X, a * nu + b) + w * get(E, i * nu + b))
    return OK if solve_positive(X, nu, udot) else SINGULAR_MASS


@noinline
def put_dense_speeds(frame, t, q, u):
    """v by W and P of any S. Returns a code."""
    m = whole(frame, NV)
    v, rest = part(frame, AT_V, m), part(frame, AT_REST, m)
    put_constraints(frame, t, q, rest)
    put_quasi(frame, t, q, rest)
    put_rows(frame, q)
    code = put_inverse(frame)
    if code == OK:
        put_speeds(frame, u)
        put_rates_of(frame, t, q, v)
    return code
