"""The formulations with one equation for each speed: Lagrange with multipliers, and Maggi."""

from .checks import OK
from .dense import solve_pivoted, solve_positive
from .arguments import UNKNOWN
from .jit import noinline
from .number import get, put, whole
from .quasi_layout import AT_A, AT_E, AT_F, AT_H, AT_M, AT_Q, AT_W, AT_X, NU, NV, R, SINGULAR_MASS, part


@noinline
def put_lagrange(frame, vdot):
    """vdot with multipliers. Returns a code."""
    m, r = whole(frame, NV), whole(frame, R)
    n = m + r
    M, a = part(frame, AT_M, m * m), part(frame, AT_A, r * m + 2 * r)
    h, Q = part(frame, AT_H, m), part(frame, AT_Q, m)
    X, E, F = part(frame, AT_X, UNKNOWN), part(frame, AT_E, UNKNOWN), part(frame, AT_F, n)
    if r == 0:
        for i in range(m):
            for j in range(i + 1):
                put(X, i * m + j, get(M, i * m + j))
            put(vdot, i, get(Q, i) - get(h, i))
        return OK if solve_positive(X, m, vdot) else SINGULAR_MASS
    for i in range(m):
        for j in range(m):
            put(X, i * n + j, get(M, i * m + j))
        for k in range(r):
            put(X, i * n + m + k, get(a, k * m + i))
            put(X, (m + k) * n + i, get(a, k * m + i))
        put(E, i, get(Q, i) - get(h, i))
    for k in range(r):
        for j in range(r):
            put(X, (m + k) * n + m + j, 0.0)
        put(E, m + k, -get(a, r * m + r + k))
    if solve_pivoted(X, n, E, 1, F) == 0.0:
        return SINGULAR_MASS
    for i in range(m):
        put(vdot, i, get(E, i))
    return OK


@noinline
def put_maggi(frame, vdot):
    """vdot of [W^T M; a] vdot = (W^T (Q - h); -rate_a). Returns a code."""
    m, nu, r = whole(frame, NV), whole(frame, NU), whole(frame, R)
    M, W, a = part(frame, AT_M, m * m), part(frame, AT_W, m * nu), part(frame, AT_A, r * m + 2 * r)
    h, Q = part(frame, AT_H, m), part(frame, AT_Q, m)
    X, F = part(frame, AT_X, UNKNOWN), part(frame, AT_F, m)
    for k in range(nu):
        for j in range(m):
            put(X, k * m + j, 0.0)
        put(vdot, k, 0.0)
    for i in range(m):
        force = get(Q, i) - get(h, i)
        for k in range(nu):
            w = get(W, i * nu + k)
            if w != 0.0:
                put(vdot, k, get(vdot, k) + w * force)
                for j in range(m):
                    put(X, k * m + j, get(X, k * m + j) + w * get(M, i * m + j))
    for k in range(r):
        for j in range(m):
            put(X, (nu + k) * m + j, get(a, k * m + j))
        put(vdot, nu + k, -get(a, r * m + r + k))
    return OK if solve_pivoted(X, m, vdot, 1, F) != 0.0 else SINGULAR_MASS
