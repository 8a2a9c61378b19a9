"""The accelerations of a large tree by O(N) sweeps, for all formulations of :mod:`.quasi`: M is never formed.

    M vdot = Q - h + a^T lambda,   a vdot = -rate_a
    y = M^-1 (Q - h),   Y = M^-1 a^T          one factorization of the tree, one pair of sweeps for each column
    (a Y) lambda = -rate_a - a y,   vdot = y + Y lambda

Lagrange and Maggi take vdot as it is: Maggi's equations say the same wherever S is regular, which is tested as before.
Kane's and Volterra's are its part along W; from the whole of it udot = Y vdot + rate_Y. Of M the rows of ignored
coordinates are all that S needs: momenta of unit speeds, one sweep each.
"""

from .cabi import call_load
from .checks import OK
from .dense import factor_positive, substitute_positive
from .jit import exact, noinline
from .number import array_at, get, put, whole
from .quasi_layout import (
    AT_A, AT_E, AT_H, AT_LINEAR, AT_Q, AT_SPEEDS, AT_Y, KANE, METHOD, NOW_TRIANGULAR, NU, NV, R, SELECTED, SELF,
    SINGULAR_MASS, SOLVE_CALL, QUASI_STATUS, part,
)
from .quasi_triangular import ordered_speed, put_triangular_rates


@exact
def linear_part(frame, offset, n):
    """n numbers of the part AT_LINEAR: right sides (1 + r rows of m) | solutions | a Y (r x r) | lambda | vdot."""
    return array_at(whole(frame, SELF) + 8 * (whole(frame, AT_LINEAR) + offset), n)


@noinline
def put_accelerations(frame, t, q):
    """vdot (and lambda) into their place; h, Q, a and its rate are there. Returns a code."""
    m, r = whole(frame, NV), whole(frame, R)
    n = (1 + r) * m
    x, y = linear_part(frame, 0, n), linear_part(frame, n, n)
    G, forces, vdot = linear_part(frame, 2 * n, r * r), linear_part(frame, 2 * n + r * r, r), accelerations_of(frame)
    h, Q, a = part(frame, AT_H, m), part(frame, AT_Q, m), part(frame, AT_A, r * m + 2 * r)
    for j in range(m):
        put(x, j, get(Q, j) - get(h, j))
    for j in range(r * m):
        put(x, m + j, get(a, j))
    call_load(whole(frame, SOLVE_CALL), t, q, x, y, whole(frame, SELF))
    if whole(frame, QUASI_STATUS) != OK:
        return whole(frame, QUASI_STATUS)
    for k in range(r):
        for l in range(k + 1):
            put(G, k * r + l, product(a, k * m, y, (1 + l) * m, m))
        put(forces, k, 0.0)
    if not factor_positive(G, r):
        return SINGULAR_MASS
    for j in range(m):
        put(vdot, j, get(y, j))
    left = linear_part(frame, 0, r)
    for _ in range(2 if r > 0 else 0):  # the second time for the last digits
        for k in range(r):
            put(left, k, -get(a, r * m + r + k) - product(a, k * m, vdot, 0, m))
        substitute_positive(G, r, left, 0, r)
        for k in range(r):
            put(forces, k, get(forces, k) + get(left, k))
            for j in range(m):
                put(vdot, j, get(vdot, j) + get(left, k) * get(y, (1 + k) * m + j))
    return OK


@exact
def accelerations_of(frame):
    """Where vdot is."""
    m, r = whole(frame, NV), whole(frame, R)
    return linear_part(frame, 2 * (1 + r) * m + r * r + r, m)


@exact
def product(a, i, b, j, n):
    """Scalar product of a[i:i + n] and b[j:j + n]."""
    x = 0.0
    for k in range(n):
        x += get(a, i + k) * get(b, j + k)
    return x


@noinline
def put_linear(frame, t, q, rates):
    """Rates of the speeds or quasi-velocities. Returns a code."""
    m, nu = whole(frame, NV), whole(frame, NU)
    code = put_accelerations(frame, t, q)
    if code != OK:
        return code
    vdot = accelerations_of(frame)
    if whole(frame, METHOD) < KANE:
        for j in range(m):
            put(rates, j, get(vdot, j))
    elif whole(frame, SELECTED) != 0:
        at = whole(frame, AT_SPEEDS)
        for i in range(nu):
            put(rates, i, get(vdot, whole(frame, at + i)))
    elif whole(frame, NOW_TRIANGULAR) != 0:
        E = part(frame, AT_E, nu)
        for i in range(nu):
            put(E, i, get(vdot, ordered_speed(frame, False, m - nu + i)))
        put_triangular_rates(frame, E, rates)
    else:
        Y = part(frame, AT_Y, nu * m + 2 * nu)
        for i in range(nu):
            put(rates, i, get(Y, nu * m + nu + i) + product(Y, i * m, vdot, 0, m))
    return OK
