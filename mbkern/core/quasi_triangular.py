"""Kane and reduced Volterra without constraints, where Y has no ignorable speeds in it.

    S = [[Y_N, 0], [M_IN, M_II]]   W^T M W = Y_N^-T (M_NN - M_NI M_II^-1 M_IN) Y_N^-1

so that W need not be formed: one factorization L D L^T of M, ignorable speeds first (or of the bracket alone, where
M_II is diagonal), gives v_I by its leading part and vdot_N by the rest (p - s equations), and
udot = Y_N vdot_N + rate_Y. As M is positive definite, S is as regular as Y_N; rows of Y_N with a single number are
solved apart from the others.
"""

from .checks import OK
from .dense import factor_positive, solve3, solve_pivoted, substitute_positive
from .jit import exact, noinline
from .layout import get3, put3
from .number import fma, get, put, whole
from .quasi_calls import put_quasi, put_rates_of
from .quasi_layout import (
    AT_E, AT_F, AT_GAMMA, AT_H, AT_M, AT_MOMENTA, AT_N, AT_ORDER, AT_P, AT_PATTERN, AT_PLACES, AT_Q, AT_REST, AT_V,
    AT_X, AT_Y, BY_NAME, DENSE_S, DIAGONAL, IN_PLACE, NU, NV, N_SINGLE, RAILS, RCOND, S, SELECTED, SIGN, SINGULAR_MASS,
    SINGULAR_S, SOLVE_CALL, THRESHOLD, TRIANGULAR, part,
)
from .quasi_rows import momentum_axes
from .vec3 import axpy, dot


@exact
def ordered_speed(frame, in_place, i):
    """The i-th speed, ignorable ones first."""
    return i if in_place else whole(frame, whole(frame, AT_ORDER) + i)


@exact
def put_free_speeds(frame, u):
    """v_N of Y_N v_N = u - Z, and SIGN, when Y is what TRIANGULAR and AT_PATTERN say. Returns a code, or DENSE_S."""
    m, nu, singles = whole(frame, NV), whole(frame, NU), whole(frame, N_SINGLE)
    rest = nu - singles
    Y, v = part(frame, AT_Y, nu * m + nu), part(frame, AT_V, m)
    A, b, scales = part(frame, AT_E, rest * rest), part(frame, AT_GAMMA, rest), part(frame, AT_F, m)
    pairs = whole(frame, AT_PATTERN)
    rows, columns = pairs + 2 * singles, pairs + 2 * singles + rest
    sign, smallest, others = 1.0, 1.0, 0
    if whole(frame, BY_NAME) == 0:
        for i in range(nu * m):
            others += get(Y, i) != 0.0
    for k in range(singles):
        i, j = whole(frame, pairs + 2 * k), whole(frame, pairs + 2 * k + 1)
        y = get(Y, i * m + j)
        others -= y != 0.0
        smallest = min(smallest, abs(y))
        sign = -sign if y < 0.0 else sign
        put(v, j, get(u, i) - get(Y, nu * m + i) if y == 1.0 else (get(u, i) - get(Y, nu * m + i)) / y)
    for k in range(rest):
        i = whole(frame, rows + k)
        x = get(u, i) - get(Y, nu * m + i)
        for l in range(singles):
            j = whole(frame, pairs + 2 * l + 1)
            y = get(Y, i * m + j)
            others -= y != 0.0
            x = fma(-y, get(v, j), x)
        put(b, k, x)
        for l in range(rest):
            y = get(Y, i * m + whole(frame, columns + l))
            others -= y != 0.0
            put(A, k * rest + l, y)
    if others > 0:  # something elsewhere
        return DENSE_S
    smallest = 1.0 if smallest > 0.0 else 0.0  # a row with a single number can be in any unit
    if rest > 0 and smallest > 0.0:
        if rest == 3:
            det, smallest = solve3(A, b)
        else:
            det = solve_pivoted(A, rest, b, 1, scales)
            smallest = get(scales, 0)
        sign = -sign if det < 0.0 else sign
        for l in range(rest):
            put(v, whole(frame, columns + l), get(b, l))
    put(frame, SIGN, sign)
    put(frame, RCOND, smallest)
    return OK if smallest > 0.0 and smallest >= get(frame, THRESHOLD) else SINGULAR_S


@exact
def put_momenta(frame, q, left):
    """G - N_I of the ignorable speeds, of free joints in body axes."""
    m, nd, s = whole(frame, NV), whole(frame, NV) - whole(frame, NU), whole(frame, S)
    N, G, E, order = part(frame, AT_N, m), part(frame, AT_MOMENTA, s), part(frame, AT_E, m), whole(frame, AT_ORDER)
    if whole(frame, RAILS) == nd:  # slides only, nothing prescribed
        for k in range(nd):
            put(left, k, get(G, k))
        return
    for k in range(nd):
        put(E, whole(frame, order + k), 0.0)
    for k in range(s):
        first, weights, n = momentum_axes(frame, k, q)
        put(E, first, get(E, first) + weights[0] * get(G, k))
        if n == 3:
            put(E, first + 1, get(E, first + 1) + weights[1] * get(G, k))
            put(E, first + 2, get(E, first + 2) + weights[2] * get(G, k))
    for k in range(nd):
        row = whole(frame, order + k)
        put(left, k, get(E, row) - get(N, row))


@exact
def put_ignorable_speeds(frame, q):
    """v_I of M_II v_I = G - N_I - M_IN v_N, M factored in X when it is not diagonal there."""
    m, nu, in_place = whole(frame, NV), whole(frame, NU), whole(frame, TRIANGULAR) == IN_PLACE
    nd, diagonal = m - nu, whole(frame, DIAGONAL) != 0
    M, X = part(frame, AT_M, m * m), part(frame, AT_X, m * m)
    v, left = part(frame, AT_V, m), part(frame, AT_F, nd)
    put_momenta(frame, q, left)
    if nd == 3 and diagonal and in_place:
        p = get3(left, 0)
        for l in range(3, m):
            p = axpy(-get(v, l), get3(M, l * m), p)
        put3(v, 0, (p[0] / get(M, 0), p[1] / get(M, m + 1), p[2] / get(M, 2 * m + 2)))
        return
    for k in range(nd):
        row = ordered_speed(frame, in_place, k)
        x = get(left, k)
        for l in range(nd, m):
            j = ordered_speed(frame, in_place, l)
            x = fma(-get(M, row * m + j), get(v, j), x)
        put(left, k, x / get(M, row * m + row) if diagonal else x)
    if not diagonal:
        substitute_positive(X, m if whole(frame, SOLVE_CALL) == 0 else nd, left, 0, nd)
    for k in range(nd):
        put(v, ordered_speed(frame, in_place, k), get(left, k))


@exact
def factor_reduced(frame):
    """M factored in X, ignorable speeds first; where M_II is diagonal, M_NN - M_NI M_II^-1 M_IN, and M_NI M_II^-1 in P.

    Of a large tree M_II alone. Returns whether M is positive definite.
    """
    m, nu, in_place = whole(frame, NV), whole(frame, NU), whole(frame, TRIANGULAR) == IN_PLACE
    nd, large = m - nu, whole(frame, SOLVE_CALL) != 0
    M, X, P = part(frame, AT_M, m * m), part(frame, AT_X, m * m), part(frame, AT_P, m * nd)
    if whole(frame, DIAGONAL) == 0:
        n = nd if large else m
        for i in range(n):
            row = ordered_speed(frame, in_place, i)
            for j in range(i + 1):
                put(X, i * n + j, get(M, row * m + ordered_speed(frame, in_place, j)))
        return factor_positive(X, n)
    if large:
        return True
    if nd == 3 and in_place:  # as below
        d, e, f = 1.0 / get(M, 0), 1.0 / get(M, m + 1), 1.0 / get(M, 2 * m + 2)
        for i in range(nu):
            row = (i + 3) * m
            a = get3(M, row)
            p = (d * a[0], e * a[1], f * a[2])
            put3(P, 3 * i, p)
            for j in range(i + 1):
                put(X, i * nu + j, get(M, row + j + 3) - dot(p, get3(M, (j + 3) * m)))
        return factor_positive(X, nu)
    for k in range(nd):
        row = ordered_speed(frame, in_place, k)
        d = 1.0 / get(M, row * m + row)
        for i in range(nu):
            put(P, i * nd + k, d * get(M, row * m + ordered_speed(frame, in_place, nd + i)))
    for i in range(nu):
        row = ordered_speed(frame, in_place, nd + i) * m
        for j in range(i + 1):
            column = ordered_speed(frame, in_place, nd + j)
            x = get(M, row + column)
            for k in range(nd):
                x = fma(-get(P, i * nd + k), get(M, column * m + ordered_speed(frame, in_place, k)), x)
            put(X, i * nu + j, x)
    return factor_positive(X, nu)


@noinline
def put_triangular_speeds(frame, t, q, u):
    """v where S is triangular, and the factors of M. Returns a code, or DENSE_S."""
    m, nu, in_place = whole(frame, NV), whole(frame, NU), whole(frame, TRIANGULAR) == IN_PLACE
    v = part(frame, AT_V, m)
    if whole(frame, SELECTED) != 0:
        for i in range(nu):
            put(v, ordered_speed(frame, in_place, m - nu + i), get(u, i))
    else:
        put_quasi(frame, t, q, part(frame, AT_REST, m))
        code = put_free_speeds(frame, u)
        if code != OK:
            return code
    if not factor_reduced(frame):
        return SINGULAR_MASS
    if nu < m:
        put_ignorable_speeds(frame, q)
    if whole(frame, SELECTED) == 0:
        put_rates_of(frame, t, q, v)
    return OK


@noinline
def put_triangular(frame, udot):
    """udot = Y vdot_N + rate_Y, from the factors that `put_triangular_speeds` left; vdot_N stays in E."""
    m, nu, in_place = whole(frame, NV), whole(frame, NU), whole(frame, TRIANGULAR) == IN_PLACE
    nd = m - nu
    X, P, b, c = part(frame, AT_X, m * m), part(frame, AT_P, m * nd), part(frame, AT_E, m), part(frame, AT_F, m)
    h, Q = part(frame, AT_H, m), part(frame, AT_Q, m)
    for i in range(m):
        row = ordered_speed(frame, in_place, i)
        put(c, i, get(Q, row) - get(h, row))
    if whole(frame, DIAGONAL) != 0 and nd == 3:
        f = get3(c, 0)
        for i in range(nu):
            put(b, i, get(c, 3 + i) - dot(get3(P, 3 * i), f))
        substitute_positive(X, nu, b, 0, nu)
    elif whole(frame, DIAGONAL) != 0:
        for i in range(nu):
            x = get(c, nd + i)
            for k in range(nd):
                x = fma(-get(P, i * nd + k), get(c, k), x)
            put(b, i, x)
        substitute_positive(X, nu, b, 0, nu)
    else:
        substitute_positive(X, m, c, nd, m)
        for i in range(nu):
            put(b, i, get(c, nd + i))
    put_triangular_rates(frame, b, udot)


@exact
def put_triangular_rates(frame, b, udot):
    """udot = Y_N b + rate_Y, b the accelerations of the speeds that are not ignorable."""
    m, nu, in_place = whole(frame, NV), whole(frame, NU), whole(frame, TRIANGULAR) == IN_PLACE
    nd, Y = m - nu, part(frame, AT_Y, nu * m + 2 * nu)
    if whole(frame, SELECTED) != 0:
        for i in range(nu):
            put(udot, i, get(b, i))
        return
    singles, pairs, places = whole(frame, N_SINGLE), whole(frame, AT_PATTERN), whole(frame, AT_PLACES)
    rows, rest = pairs + 2 * singles, nu - singles
    for k in range(singles):
        i, j = whole(frame, pairs + 2 * k), whole(frame, pairs + 2 * k + 1)
        x = get(b, whole(frame, places + j))
        put(udot, i, fma(get(Y, i * m + j), x, get(Y, nu * m + nu + i)))
    for k in range(rest):
        i = whole(frame, rows + k)
        x = get(Y, nu * m + nu + i)
        for l in range(nu):
            x = fma(get(Y, i * m + ordered_speed(frame, in_place, nd + l)), get(b, l), x)
        put(udot, i, x)
