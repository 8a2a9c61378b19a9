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
Without constraints (`ORDERED`) one factorization L D L^T of M does it all, ignorable speeds first: its leading part
gives their speeds, the rest is the factorization of W^T M W. S is as regular as M then.
"""

from numpy import nan

from .cabi import ODE, address_of, call_load
from .checks import ANGLE_LIMIT, BAD_Q, BAD_T, LIMIT, NOT_FINITE, OK, beyond
from .dense import factor_positive, solve_pivoted, solve_positive, substitute_positive
from .entry import UNKNOWN
from .jit import c_function, checked, exact, piece
from .joints import quaternion_axes
from .layout import get3
from .number import array_at, get, put, whole

SINGULAR_S, SINGULAR_MASS, SINGULAR_TREE = 20, 21, 22  # codes beside those of `checks`
LAGRANGE, MAGGI, KANE, VOLTERRA = 0, 1, 2, 3

# ---- the frame: header | tables | block | workspace of the tree | matrices ----
STATUS, SIZE, METHOD = 0, 1, 2  # STATUS: code of the last call
NQ, NV, NU, R, S = 3, 4, 5, 6, 7  # numbers of q, speeds, quasi-velocities, constraints, ignorable speeds
THRESHOLD, RCOND = 8, 9  # smallest 1/cond of S that is accepted; that of the last call
HAS_WORK = 10  # whether the last number of the state is the integral of Q^T v
AT_BLOCK, AT_TREE = 11, 12  # of a tree: its block and workspace, see `quasi_tree`
SELECTED, AT_SPEEDS = 13, 14  # the chosen speeds, then the dependent ones
AT_IGNORABLE, AT_MOMENTA, AT_ZERO = 15, 16, 17  # rows of IGNORABLE numbers; G; whether a row of M W vanishes
# addresses of functions void (double t, const double *q, const double *v, double *out, void *frame), 0 for none
MASS_CALL, BIAS_CALL, CONSTRAINT_CALL, QUASI_CALL, FORCE_CALL, RATES_CALL = 18, 19, 20, 21, 22, 23
RHEONOMIC = 24  # whether prescribed motion adds N to the momenta
AT_M, AT_N, AT_H, AT_A, AT_Y, AT_Q, AT_V, AT_VDOT, AT_W, AT_P, AT_GAMMA = 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35
AT_B, AT_C, AT_X, AT_E, AT_F = 36, 37, 38, 39, 40  # B, its right-hand side, and three workspaces
AT_REST = 41  # m zeros
SELF = 42  # address of the frame
ORDERED = 43  # 1: the quasi-velocities are speeds and all dependent speeds are ignorable; IN_PLACE: these come first
IN_PLACE = 2
HEADER = 44

# ---- a row of the table of ignorable speeds ----
# the momentum is that of one speed, or, of a free joint, of its three linear speeds along an axis of the frame before
# the joint: QUATERNION is its place in q, else -1
FIRST, QUATERNION, AXIS = 0, 1, 2
IGNORABLE = 3


@exact
def part(frame, place, n):
    """n numbers of the frame from the place on that the header gives."""
    return array_at(whole(frame, SELF) + 8 * whole(frame, place), n)  # a slice would take long to compile


@exact
def numbers(pointer, n):
    """The n numbers at a pointer (a carray needs Numba's reference counts)."""
    return array_at(address_of(pointer), n)


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


# ---- S and its inverse ----
@exact
def momentum_axes(frame, k, q):
    """The k-th ignorable momentum as first speed, and the three weights of it and the two after it."""
    row = whole(frame, AT_IGNORABLE) + k * IGNORABLE
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
            B[k * m + j] = along(M, first * m + j, m, weights, n)
        C[k] = G[k] - along(N, first, 1, weights, n)
    for k in range(r):
        for j in range(m):
            B[(s + k) * m + j] = a[k * m + j]
        C[s + k] = -a[r * m + k]


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
                x = B[k * m + whole(frame, at + nu + j)]
                X[k * nd + j] = x
                total += abs(x)
                E[k * columns + nu + j] = 1.0 if j == k else 0.0
            for j in range(nu):
                x = B[k * m + whole(frame, at + j)]
                E[k * columns + j] = -x
                total += abs(x)
            F[m + k] = total
        if not solve_pivoted(X, nd, E, columns, F):
            put(frame, RCOND, 0.0)
            return SINGULAR_S
        for i in range(nu):
            row = whole(frame, at + i)
            for j in range(nu):
                W[row * nu + j] = 1.0 if j == i else 0.0
            for j in range(nd):
                P[row * nd + j] = 0.0
        for i in range(nd):
            row, total = whole(frame, at + nu + i), 0.0
            for j in range(nu):
                W[row * nu + j] = E[i * columns + j]
                total += abs(E[i * columns + j])
            for j in range(nd):
                P[row * nd + j] = E[i * columns + nu + j]
                total += abs(E[i * columns + nu + j]) * F[m + j]
            worst = max(worst, total)
    else:
        Y = part(frame, AT_Y, nu * m)
        for i in range(m):
            total = 0.0
            for j in range(m):
                x = Y[i * m + j] if i < nu else B[(i - nu) * m + j]
                X[i * m + j] = x
                total += abs(x)
                E[i * m + j] = 1.0 if i == j else 0.0
            F[m + i] = total
        if not solve_pivoted(X, m, E, m, F):
            put(frame, RCOND, 0.0)
            return SINGULAR_S
        for i in range(m):
            total = 0.0
            for j in range(m):
                x = E[i * m + j]
                total += abs(x) * F[m + j]
                if j < nu:
                    W[i * nu + j] = x
                else:
                    P[i * nd + j - nu] = x
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
            x += W[i * nu + j] * (u[j] - Y[nu * m + j])
        for j in range(nd):
            x += P[i * nd + j] * C[j]
        v[i] = x
    for k in range(nd):
        x = C[k]
        for j in range(m):
            x -= B[k * m + j] * v[j]
        left[k] = x
    for i in range(m):
        for j in range(nd):
            v[i] += P[i * nd + j] * left[j]


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
        rates[k] = along(h, first, 1, weights, n)
    for k in range(r):
        rates[s + k] = a[r * m + r + k]
    selected = whole(frame, SELECTED) != 0
    for i in range(m):
        x = 0.0
        for j in range(nd):
            x -= P[i * nd + j] * rates[j]
        if not selected:
            for j in range(nu):
                x -= W[i * nu + j] * Y[nu * m + nu + j]
        gamma[i] = x


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
        x = Q[i] - h[i]
        if selected:
            for k in range(nd):
                j = whole(frame, at + nu + k)
                x -= M[i * m + j] * gamma[j]
        else:
            for j in range(m):
                x -= M[i * m + j] * gamma[j]
        F[i] = x
        if zero[i] != 0.0:  # M W vanishes here by construction
            continue
        if selected:
            for b in range(nu):
                E[i * nu + b] = M[i * m + whole(frame, at + b)]
            for k in range(nd):
                j = whole(frame, at + nu + k)
                for b in range(nu):
                    E[i * nu + b] += M[i * m + j] * W[j * nu + b]
        else:
            for b in range(nu):
                E[i * nu + b] = 0.0
            for j in range(m):
                x = M[i * m + j]
                for b in range(nu):
                    E[i * nu + b] += x * W[j * nu + b]
    if selected:
        for a in range(nu):
            i = whole(frame, at + a)
            for b in range(a + 1):
                X[a * nu + b] = E[i * nu + b]
            udot[a] = F[i]
    else:
        for a in range(nu):
            for b in range(a + 1):
                X[a * nu + b] = 0.0
            udot[a] = 0.0
    for k in range(nd if selected else m):
        i = whole(frame, at + nu + k) if selected else k
        for a in range(nu):
            w = W[i * nu + a]
            udot[a] += w * F[i]
            if zero[i] == 0.0 and w != 0.0:
                for b in range(a + 1):
                    X[a * nu + b] += w * E[i * nu + b]
    return OK if solve_positive(X, nu, udot) else SINGULAR_MASS


@exact
def ordered_speed(frame, i):
    """The i-th speed, dependent ones first."""
    nu, nd, at = whole(frame, NU), whole(frame, NV) - whole(frame, NU), whole(frame, AT_SPEEDS)
    return whole(frame, at + nu + i) if i < nd else whole(frame, at + i - nd)


@piece
def put_ordered_speeds(frame, u):
    """v where all dependent speeds are ignorable: factors M, dependent speeds first, in X. Returns a code."""
    m, nd = whole(frame, NV), whole(frame, NV) - whole(frame, NU)
    M, N, G = part(frame, AT_M, m * m), part(frame, AT_N, m), part(frame, AT_MOMENTA, nd)
    X, v, left = part(frame, AT_X, m * m), part(frame, AT_V, m), part(frame, AT_F, nd)
    if whole(frame, ORDERED) == IN_PLACE:
        for i in range(m * m):
            X[i] = M[i]
        for i in range(m):
            v[i] = 0.0 if i < nd else u[i - nd]
    else:
        for i in range(m):
            row = ordered_speed(frame, i)
            v[row] = 0.0 if i < nd else u[i - nd]
            for j in range(i + 1):
                X[i * m + j] = M[row * m + ordered_speed(frame, j)]
    if not factor_positive(X, m):
        return SINGULAR_MASS
    for _ in range(2 if nd > 0 else 0):  # the second time for the last digits
        for k in range(nd):
            row = ordered_speed(frame, k)
            x = G[k] - N[row]
            for j in range(m):
                x -= M[row * m + j] * v[j]
            left[k] = x
        substitute_positive(X, m, left, 0, nd)
        for k in range(nd):
            v[ordered_speed(frame, k)] += left[k]
    return OK


@piece
def put_ordered(frame, udot):
    """udot from the factors that `put_ordered_speeds` left."""
    m, nd = whole(frame, NV), whole(frame, NV) - whole(frame, NU)
    X, b = part(frame, AT_X, m * m), part(frame, AT_E, m)
    h, Q = part(frame, AT_H, m), part(frame, AT_Q, m)
    in_place = whole(frame, ORDERED) == IN_PLACE
    for i in range(m):
        row = i if in_place else ordered_speed(frame, i)
        b[i] = Q[row] - h[row]
    substitute_positive(X, m, b, nd, m)
    for i in range(m - nd):
        udot[i] = b[nd + i]


@piece
def put_lagrange(frame, vdot):
    """vdot with multipliers. Returns a code."""
    m, r = whole(frame, NV), whole(frame, R)
    n = m + r
    M, a = part(frame, AT_M, m * m), part(frame, AT_A, r * m + 2 * r)
    h, Q = part(frame, AT_H, m), part(frame, AT_Q, m)
    X, E, F = part(frame, AT_X, UNKNOWN), part(frame, AT_E, UNKNOWN), part(frame, AT_F, n)
    for i in range(m):
        for j in range(m):
            X[i * n + j] = M[i * m + j]
        for k in range(r):
            X[i * n + m + k] = a[k * m + i]
            X[(m + k) * n + i] = a[k * m + i]
        E[i] = Q[i] - h[i]
    for k in range(r):
        for j in range(r):
            X[(m + k) * n + m + j] = 0.0
        E[m + k] = -a[r * m + r + k]
    if not solve_pivoted(X, n, E, 1, F):
        return SINGULAR_MASS
    for i in range(m):
        vdot[i] = E[i]
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
            X[k * m + j] = 0.0
        vdot[k] = 0.0
    for i in range(m):
        force = Q[i] - h[i]
        for k in range(nu):
            w = W[i * nu + k]
            if w != 0.0:
                vdot[k] += w * force
                for j in range(m):
                    X[k * m + j] += w * M[i * m + j]
    for k in range(r):
        for j in range(m):
            X[(nu + k) * m + j] = a[k * m + j]
        vdot[nu + k] = -a[r * m + r + k]
    return OK if solve_pivoted(X, m, vdot, 1, F) else SINGULAR_MASS


# ---- the right-hand side ----
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
            v[j] = given[j]
        put_constraints(frame, t, q, v)
        if method == MAGGI:
            put_quasi(frame, t, q, v)
            put_rows(frame, q)
            code = put_inverse(frame)
    elif whole(frame, ORDERED) != 0:
        code = put_ordered_speeds(frame, given)
    else:
        rest = part(frame, AT_REST, m)
        put_constraints(frame, t, q, rest)
        put_quasi(frame, t, q, rest)
        put_rows(frame, q)
        code = put_inverse(frame)
        if code == OK:
            put_speeds(frame, given)
            put_constraints(frame, t, q, v)
            put_quasi(frame, t, q, v)
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
    v, Q = part(frame, AT_V, m), part(frame, AT_Q, m)
    put_bias_and_forces(frame, t, q, v)
    if whole(frame, STATUS) != OK:
        return whole(frame, STATUS)
    if method == LAGRANGE:
        code = put_lagrange(frame, rates)
    elif method == MAGGI:
        code = put_maggi(frame, rates)
    elif whole(frame, ORDERED) != 0:
        put_ordered(frame, rates)
    else:
        put_gamma(frame, q)
        code = put_reduced(frame, rates)
    if whole(frame, RATES_CALL) == 0:
        for j in range(m):
            qdot[j] = v[j]
    else:
        call_load(whole(frame, RATES_CALL), t, q, v, qdot, whole(frame, SELF))
    if whole(frame, HAS_WORK) != 0:
        power = 0.0
        for j in range(m):
            power += Q[j] * v[j]
        rates[m if method <= MAGGI else nu] = power
    if code == OK and (beyond(qdot, 1e300) or beyond(rates, 1e300)):
        return NOT_FINITE
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
    state, slope = numbers(y, nq + n), numbers(dydt, nq + n)
    code = rhs_kernel(frame, t, state[:nq], state[nq:], slope[:nq], slope[nq:])
    put(frame, STATUS, code)
    if code != OK:
        for i in range(nq + n):
            slope[i] = nan


@checked
def speeds_along(frame, t, y, out, rcond):
    """Speeds v of many states (one a row), and 1/cond of S in them; the first code that is not OK."""
    nq, _ = state_sizes(frame)
    m = whole(frame, NV)
    v = part(frame, AT_V, m)
    for i in range(t.shape[0]):
        code = speeds_kernel(frame, t[i], y[i, :nq], y[i, nq:])
        rcond[i] = get(frame, RCOND)
        if code != OK and code != SINGULAR_S:
            return code
        for j in range(m):
            out[i, j] = v[j] if code == OK else nan
    return OK
