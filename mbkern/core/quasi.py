"""Lagrange, Maggi, Kane and reduced Volterra: four formulations of one constrained system as C functions.

    M(q, t) vdot + h(q, v, t) = Q + a^T lambda,   a(q, t) v + b(q, t) = 0        m speeds v, r constraints, p = m - r

    Lagrange   [[M, a^T], [a, 0]] (vdot; -lambda) = (Q - h; -rate_a)                                   state (q, v)
    Maggi      [W^T M; a] vdot = (W^T (Q - h); -rate_a)                                                state (q, v)
    Kane       S = [Y; a]        S v = (u - Z; -b)
               (W^T M W) udot = W^T (Q - h - M gamma)                                                  state (q, u)
    Volterra   S = [Y; M_I; a]   S v = (u - Z; G - N; -b),   the same udot equation                    state (q, u)

(Yoosefian Nooshabadi & Nejat Pishkenari.) Quasi-velocities u = Y(q, t) v + Z(q, t). S^-1 = [W, P], W the columns that
belong to Y. gamma = -S^-1 (rate_Y; h_I; rate_a), where rate is what remains of the time derivative without vdot, e.g.
rate_a = adot v + bdot. M_I are the rows of the ignorable speeds, G = M_I v + N_I their constant momenta (N from
prescribed motion); the rate of those rows is h_I, so no derivative of M is needed.

How near S is to singular: 1 / cond, cond = max_i (|S^-1| |S| e)_i (Bauer and Skeel), which does not depend on the units
of the rows.

M, h and all else that depends on the machine come from functions by address: those of :mod:`.quasi_tree` for a tree.

When the quasi-velocities are speeds themselves (`SELECTED`), S is a unit matrix but for the rows [M_I; a] =: B, and
only the columns of the other speeds ("dependent") have to be solved for. Rows of M W of ignorable speeds are zero.

Without constraints (`TRIANGULAR`), and where Y has no ignorable speeds in it, S = [[Y_N, 0], [M_IN, M_II]], so that
W^T M W = Y_N^-T (M_NN - M_NI M_II^-1 M_IN) Y_N^-1 need not be formed: one factorization L D L^T of M, ignorable speeds
first (or of the bracket alone, where M_II is diagonal), gives v_I by its leading part and vdot_N by the rest (p - s
equations), and udot = Y_N vdot_N + rate_Y. As M is positive definite, S is as regular as Y_N; rows of Y_N with a single
number are solved apart from the others.

A singular S between two evaluations of a run (`WATCHED`) shows in the sign of det S, which must not change.
"""

from numpy import nan

from .cabi import ODE, address_of, call_load
from .checks import ANGLE_LIMIT, BAD_Q, BAD_T, LIMIT, NOT_FINITE, OK, beyond
from .dense import factor_positive, solve3, solve_pivoted, solve_positive, substitute_positive
from .entry import UNKNOWN
from .jit import c_function, checked, exact, piece
from .joints import quaternion_axes
from .layout import get3, put3
from .number import array_at, fma, get, put, whole
from .vec3 import axpy, dot

SINGULAR_S, SINGULAR_MASS, SINGULAR_TREE, CROSSED_S = 20, 21, 22, 23  # codes beside those of `checks`
DENSE_S = -1  # no code to report: S is not triangular
LAGRANGE, MAGGI, KANE, VOLTERRA = 0, 1, 2, 3

# ---- the frame: header | tables | block | workspace of the tree | matrices ----
STATUS, SIZE, METHOD = 0, 1, 2  # STATUS: code of the last call
NQ, NV, NU, R, S = 3, 4, 5, 6, 7  # numbers of q, speeds, quasi-velocities, constraints, ignorable speeds
THRESHOLD, RCOND = 8, 9  # smallest 1/cond of S that is accepted; that of the last call
HAS_WORK = 10  # whether the last number of the state is the integral of Q^T v
AT_BLOCK, AT_TREE = 11, 12  # of a tree: its block and workspace, see `quasi_sweeps`
SELECTED, AT_SPEEDS = 13, 14  # the chosen speeds, then the dependent ones
AT_IGNORABLE, AT_MOMENTA, AT_ZERO = 15, 16, 17  # rows of IGNORABLE numbers; G; whether a row of M W vanishes
# addresses of functions void (double t, const double *q, const double *v, double *out, void *frame), 0 for none
MASS_CALL, BIAS_CALL, CONSTRAINT_CALL, QUASI_CALL, FORCE_CALL, RATES_CALL = 18, 19, 20, 21, 22, 23
RHEONOMIC = 24  # whether prescribed motion adds N to the momenta
AT_M, AT_N, AT_H, AT_A, AT_Y, AT_Q, AT_V, AT_ORDER, AT_W, AT_P, AT_GAMMA = 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35
# AT_ORDER: speeds, ignorable ones first
AT_B, AT_C, AT_X, AT_E, AT_F = 36, 37, 38, 39, 40  # B, its right-hand side, and three workspaces
AT_REST = 41  # m zeros
SELF = 42  # address of the frame
TRIANGULAR = 43  # 1: see above; IN_PLACE: and ignorable speeds come first
IN_PLACE = 2
NOW_TRIANGULAR = 44  # whether S was triangular in this evaluation
N_SINGLE, AT_PATTERN = 45, 46  # rows of Y with a single number: (row, speed) of each; then other rows, other speeds
WATCHED, SIGN = 47, 48  # 1: a run begins, else the sign of det S that it must keep, 0: no matter; sign of the last call
RAILS, AT_AXES = 49, 53  # of a tree, see `quasi_sweeps`
AT_ROWS = 50  # quasi-velocities by name (`quasi_tree`): rows like those of the ignorable speeds; Y is zero elsewhere
CONSTRAINT_RATE_CALL, QUASI_RATE_CALL = 51, 52  # functions that find a, b or Y, Z in place and fill the rates, or 0
DIAGONAL = 54  # whether M_II is diagonal in every configuration: slides across each other, linear speeds of free joints
BY_NAME = 55  # whether the quasi-velocities are those of AT_ROWS
AT_PLACES = 56  # of each speed its place among those that are not ignorable
HEADER = 57
BEGINS = 2.0  # WATCHED before the first evaluation

# ---- a row of the table of ignorable speeds ----
# the momentum is that of one speed, or, of a free joint, of its three linear speeds along an axis of the frame before
# the joint: QUATERNION is its place in q, else -1
# BODY of a quasi-velocity: of which this is the angular velocity along the AXIS of the body, else -1
FIRST, QUATERNION, AXIS, BODY = 0, 1, 2, 3
IGNORABLE = 4


@exact
def part(frame, place, n):
    """n numbers of the frame from the place on that the header gives."""
    return array_at(whole(frame, SELF) + 8 * whole(frame, place), n)  # a slice would take long to compile


# ---- M, N, h, Q, constraints and quasi-velocities, by calls ----
@exact
def put_mass_matrix(frame, t, q):
    """M, and N behind it."""
    call_load(whole(frame, MASS_CALL), t, q, part(frame, AT_REST, whole(frame, NV)), part(frame, AT_M, UNKNOWN),
              whole(frame, SELF))


@exact
def put_bias_and_forces(frame, t, q, v):
    """h and Q."""
    m, user = whole(frame, NV), whole(frame, SELF)
    call_load(whole(frame, BIAS_CALL), t, q, v, part(frame, AT_H, m), user)
    if whole(frame, FORCE_CALL) != 0:
        call_load(whole(frame, FORCE_CALL), t, q, v, part(frame, AT_Q, m), user)


@exact
def put_constraints(frame, t, q, v):
    """a, b and the rate adot v + bdot."""
    if whole(frame, R) > 0:
        call_load(whole(frame, CONSTRAINT_CALL), t, q, v, part(frame, AT_A, UNKNOWN), whole(frame, SELF))


@exact
def put_quasi(frame, t, q, v):
    """Y, Z and the rate Ydot v + Zdot."""
    if whole(frame, QUASI_CALL) != 0:
        call_load(whole(frame, QUASI_CALL), t, q, v, part(frame, AT_Y, UNKNOWN), whole(frame, SELF))


@exact
def put_constraint_rates(frame, t, q, v):
    """adot v + bdot by a function of its own, where there is one; a and b are there already."""
    if whole(frame, CONSTRAINT_RATE_CALL) != 0:
        call_load(whole(frame, CONSTRAINT_RATE_CALL), t, q, v, part(frame, AT_A, UNKNOWN), whole(frame, SELF))


@exact
def put_rates_of(frame, t, q, v):
    """adot v + bdot and Ydot v + Zdot; all else is there already."""
    if whole(frame, CONSTRAINT_RATE_CALL) != 0:
        put_constraint_rates(frame, t, q, v)
    else:
        put_constraints(frame, t, q, v)
    if whole(frame, QUASI_RATE_CALL) != 0:
        call_load(whole(frame, QUASI_RATE_CALL), t, q, v, part(frame, AT_Y, UNKNOWN), whole(frame, SELF))
    else:
        put_quasi(frame, t, q, v)


# ---- S and its inverse ----
@exact
def momentum_axes(frame, k, q):
    """The k-th ignorable momentum as first speed, the weights of it and the two after it, and how many of them."""
    return axes_of(frame, whole(frame, AT_IGNORABLE) + k * IGNORABLE, q)


@exact
def axes_of(frame, row, q):
    """The same for any row of IGNORABLE numbers."""
    first, quaternion = whole(frame, row + FIRST), whole(frame, row + QUATERNION)
    if quaternion < 0:
        return first, (1.0, 0.0, 0.0), 1
    G = quaternion_axes(get(q, quaternion), get3(q, quaternion + 1))
    axis = whole(frame, row + AXIS)
    if axis == 0:
        return first, (G[0][0], G[1][0], G[2][0]), 3
    if axis == 1:
        return first, (G[0][1], G[1][1], G[2][1]), 3
    return first, (G[0][2], G[1][2], G[2][2]), 3


@exact
def along(x, at, stride, weights, n):
    """Weighted sum of 1 or 3 numbers."""
    if n == 1:
        return x[at]
    return weights[0] * x[at] + weights[1] * x[at + stride] + weights[2] * x[at + 2 * stride]


@piece
def put_rows(frame, q):
    """B = [M_I; a] and C = (G - N_I; -b)."""
    m, r, s = whole(frame, NV), whole(frame, R), whole(frame, S)
    M, N = part(frame, AT_M, m * m), part(frame, AT_N, m)
    B, C = part(frame, AT_B, (s + r) * m), part(frame, AT_C, s + r)
    G, a = part(frame, AT_MOMENTA, s), part(frame, AT_A, r * m + 2 * r)
    for k in range(s):
        first, weights, n = momentum_axes(frame, k, q)
        for j in range(m):
            put(B, k * m + j, along(M, first * m + j, m, weights, n))
        put(C, k, get(G, k) - along(N, first, 1, weights, n))
    for k in range(r):
        for j in range(m):
            put(B, (s + k) * m + j, get(a, k * m + j))
        put(C, s + k, -get(a, r * m + k))


@piece
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
        for i in range(nu):
            row = whole(frame, at + i)
            for j in range(nu):
                put(W, row * nu + j, 1.0 if j == i else 0.0)
            for j in range(nd):
                put(P, row * nd + j, 0.0)
        for i in range(nd):
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


@piece
def put_speeds(frame, u):
    """v = W (u - Z) + P C, then once more what is left of B v = C: constraints and momenta hold to the last digit."""
    m, nu = whole(frame, NV), whole(frame, NU)
    nd = m - nu
    W, P, B, C = part(frame, AT_W, m * nu), part(frame, AT_P, m * nd), part(frame, AT_B, nd * m), part(frame, AT_C, nd)
    Y, v, left = part(frame, AT_Y, nu * m + nu), part(frame, AT_V, m), part(frame, AT_F, nd)
    for i in range(m):
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
    for i in range(m):
        for j in range(nd):
            put(v, i, get(v, i) + get(P, i * nd + j) * get(left, j))


@piece
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


@piece
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
        substitute_positive(X, m, left, 0, nd)
    for k in range(nd):
        put(v, ordered_speed(frame, in_place, k), get(left, k))


@exact
def factor_reduced(frame):
    """M factored in X, ignorable speeds first; where M_II is diagonal, M_NN - M_NI M_II^-1 M_IN, and M_NI M_II^-1 in P.

    Returns whether M is positive definite.
    """
    m, nu, in_place = whole(frame, NV), whole(frame, NU), whole(frame, TRIANGULAR) == IN_PLACE
    nd = m - nu
    M, X, P = part(frame, AT_M, m * m), part(frame, AT_X, m * m), part(frame, AT_P, m * nd)
    if whole(frame, DIAGONAL) == 0:
        for i in range(m):
            row = ordered_speed(frame, in_place, i)
            for j in range(i + 1):
                put(X, i * m + j, get(M, row * m + ordered_speed(frame, in_place, j)))
        return factor_positive(X, m)
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


@piece
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


@piece
def put_triangular(frame, udot):
    """udot = Y vdot_N + rate_Y, from the factors that `put_triangular_speeds` left; vdot_N stays in E."""
    m, nu, in_place = whole(frame, NV), whole(frame, NU), whole(frame, TRIANGULAR) == IN_PLACE
    nd = m - nu
    X, P, b, c = part(frame, AT_X, m * m), part(frame, AT_P, m * nd), part(frame, AT_E, m), part(frame, AT_F, m)
    h, Q, Y = part(frame, AT_H, m), part(frame, AT_Q, m), part(frame, AT_Y, nu * m + 2 * nu)
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


@piece
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


@piece
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


# ---- the right-hand side ----
@piece
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


@exact
def crossed(frame):
    """Whether det S of a run has another sign than in its first evaluation."""
    watched, sign = get(frame, WATCHED), get(frame, SIGN)
    if watched == BEGINS:
        put(frame, WATCHED, sign)
        return False
    return watched * sign < 0.0


@piece
def put_motion_of(frame, t, q, given):
    """v, and all but the equations of motion themselves. Returns a code."""
    m, method = whole(frame, NV), whole(frame, METHOD)
    v = part(frame, AT_V, m)
    put_mass_matrix(frame, t, q)
    code = whole(frame, STATUS)
    if code != OK:
        return code
    if method <= MAGGI:
        for j in range(m):
            put(v, j, get(given, j))
        put_constraints(frame, t, q, v)
        put_constraint_rates(frame, t, q, v)
        if method == MAGGI:
            put_quasi(frame, t, q, v)
            put_rows(frame, q)
            code = put_inverse(frame)
    else:
        code = put_triangular_speeds(frame, t, q, given) if whole(frame, TRIANGULAR) != 0 else DENSE_S
        put(frame, NOW_TRIANGULAR, 0.0 if code == DENSE_S else 1.0)
        if code == DENSE_S:
            code = put_dense_speeds(frame, t, q, given)
            if whole(frame, TRIANGULAR) != 0:  # this sign is not to be compared with that of Y_N
                put(frame, SIGN, 0.0)
    return code if whole(frame, STATUS) == OK else whole(frame, STATUS)


@checked
def speeds_kernel(frame, t, q, given):
    """v from the speeds or quasi-velocities of the state; a code."""
    put(frame, STATUS, OK)
    return put_motion_of(frame, t, q, given)


@checked
def rhs_kernel(frame, t, q, given, qdot, rates):
    """qdot, and the rates of speeds or quasi-velocities and of the work; a code."""
    m, nu, method = whole(frame, NV), whole(frame, NU), whole(frame, METHOD)
    put(frame, STATUS, OK)
    if beyond(q, ANGLE_LIMIT) or beyond(given, LIMIT):
        return BAD_Q
    if not abs(t) <= LIMIT:
        return BAD_T
    code = put_motion_of(frame, t, q, given)
    if code != OK:
        return code
    if method >= MAGGI and get(frame, WATCHED) != 0.0 and crossed(frame):
        return CROSSED_S
    v, Q = part(frame, AT_V, m), part(frame, AT_Q, m)
    put_bias_and_forces(frame, t, q, v)
    if whole(frame, STATUS) != OK:
        return whole(frame, STATUS)
    if method == LAGRANGE:
        code = put_lagrange(frame, rates)
    elif method == MAGGI:
        code = put_maggi(frame, rates)
    elif whole(frame, NOW_TRIANGULAR) != 0:
        put_triangular(frame, rates)
    else:
        put_gamma(frame, q)
        code = put_reduced(frame, rates)
    if whole(frame, RATES_CALL) == 0:
        for j in range(m):
            put(qdot, j, get(v, j))
    else:
        call_load(whole(frame, RATES_CALL), t, q, v, qdot, whole(frame, SELF))
    if whole(frame, HAS_WORK) != 0:
        power = 0.0
        for j in range(m):
            power += get(Q, j) * get(v, j)
        put(rates, m if method <= MAGGI else nu, power)
    return code


@exact
def state_sizes(frame):
    """Numbers of q, and of what follows it in the state."""
    speeds = whole(frame, NV) if whole(frame, METHOD) <= MAGGI else whole(frame, NU)
    return whole(frame, NQ), speeds + whole(frame, HAS_WORK)


@c_function(ODE)
def ode_quasi(t, y, dydt, user):
    """void (double t, const double *y, double *dydt, void *user), user a frame of this file."""
    address = address_of(user)
    frame = array_at(address, whole(array_at(address, HEADER), SIZE))
    nq, n = state_sizes(frame)
    state, slope = address_of(y), address_of(dydt)
    code = rhs_kernel(frame, t, array_at(state, nq), array_at(state + 8 * nq, n), array_at(slope, nq),
                      array_at(slope + 8 * nq, n))
    if code == OK and beyond(array_at(slope, nq + n), 1e300):
        code = NOT_FINITE
    put(frame, STATUS, code)
    if code != OK:
        slopes = array_at(slope, nq + n)
        for i in range(nq + n):
            slopes[i] = nan


@checked
def speeds_along(frame, t, y, out, rcond):
    """Speeds v of many states (one a row), and 1/cond of S in them; the first code that is not OK."""
    nq, _ = state_sizes(frame)
    m, triangular = whole(frame, NV), get(frame, TRIANGULAR)
    v = part(frame, AT_V, m)
    put(frame, TRIANGULAR, 0.0)  # for the condition of all of S
    for i in range(t.shape[0]):
        code = speeds_kernel(frame, t[i], y[i, :nq], y[i, nq:])
        rcond[i] = get(frame, RCOND)
        if code != OK and code != SINGULAR_S:
            put(frame, TRIANGULAR, triangular)
            return code
        for j in range(m):
            out[i, j] = v[j] if code == OK else nan
    put(frame, TRIANGULAR, triangular)
    return OK
