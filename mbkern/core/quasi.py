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

    quasi_layout      the frame: all that a formulation is about, in one array
    quasi_calls       functions of the tree or of the user, by address
    quasi_rows        B = [M_I; a]
    quasi_dense       Kane and Volterra with any S
    quasi_triangular  the same where S is triangular: no constraints
    quasi_full        Lagrange and Maggi
    quasi_linear      all of them on a large tree, by O(N) sweeps
    quasi_ignored     whether something acts along the ignored coordinates after all

A singular S between two evaluations of a run (`WATCHED`) shows in the sign of det S, which must not change.
"""

from numpy import nan

from .cabi import ODE, address_of, call_load
from .checks import ANGLE_LIMIT, BAD_Q, BAD_T, LIMIT, NOT_FINITE, OK, beyond
from .jit import c_function, checked, exact, noinline
from .number import array_at, get, put, whole
from .quasi_calls import put_bias_and_forces, put_constraint_rates, put_constraints, put_mass_matrix, put_quasi
from .quasi_dense import put_dense_speeds, put_gamma, put_inverse, put_reduced
from .quasi_full import put_lagrange, put_maggi
from .quasi_ignored import acts_on_ignored
from .quasi_linear import put_linear
from .quasi_layout import (
    AT_Q, AT_V, BEGINS, CROSSED_S, DENSE_S, HAS_WORK, LAGRANGE, MAGGI, METHOD, NOW_TRIANGULAR, NU, NV, QUASI_HEADER,
    QUASI_SIZE, QUASI_STATUS, RATES_CALL, RCOND, S, SELF, SIGN, SINGULAR_S, SOLVE_CALL, TRIANGULAR, WATCHED, part,
    state_sizes,
)
from .quasi_rows import put_rows
from .quasi_triangular import put_triangular, put_triangular_speeds


@exact
def crossed(frame):
    """Whether det S of a run has another sign than in its first evaluation."""
    watched, sign = get(frame, WATCHED), get(frame, SIGN)
    if watched == BEGINS:
        put(frame, WATCHED, sign)
        return False
    return watched * sign < 0.0


@noinline
def put_motion_of(frame, t, q, given):
    """v, and all but the equations of motion themselves. Returns a code."""
    m, method = whole(frame, NV), whole(frame, METHOD)
    v = part(frame, AT_V, m)
    put_mass_matrix(frame, t, q)
    code = whole(frame, QUASI_STATUS)
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
    return code if whole(frame, QUASI_STATUS) == OK else whole(frame, QUASI_STATUS)


@checked
def speeds_kernel(frame, t, q, given):
    """v from the speeds or quasi-velocities of the state; a code."""
    put(frame, QUASI_STATUS, OK)
    return put_motion_of(frame, t, q, given)


@checked
def rhs_kernel(frame, t, q, given, qdot, rates):
    """qdot, and the rates of speeds or quasi-velocities and of the work; a code."""
    m, nu, method = whole(frame, NV), whole(frame, NU), whole(frame, METHOD)
    put(frame, QUASI_STATUS, OK)
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
    if whole(frame, QUASI_STATUS) == OK and whole(frame, S) > 0:
        code = acts_on_ignored(frame, t, q)
        if code != OK:
            return code
    if whole(frame, QUASI_STATUS) != OK:
        return whole(frame, QUASI_STATUS)
    if whole(frame, SOLVE_CALL) != 0:
        code = put_linear(frame, t, q, rates)
    elif method == LAGRANGE:
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


@c_function(ODE)
def ode_quasi(t, y, dydt, user):
    """void (double t, const double *y, double *dydt, void *user), user a frame of this file."""
    address = address_of(user)
    frame = array_at(address, whole(array_at(address, QUASI_HEADER), QUASI_SIZE))
    nq, n = state_sizes(frame)
    state, slope = address_of(y), address_of(dydt)
    code = rhs_kernel(frame, t, array_at(state, nq), array_at(state + 8 * nq, n), array_at(slope, nq),
                      array_at(slope + 8 * nq, n))
    if code == OK and beyond(array_at(slope, nq + n), 1e300):
        code = NOT_FINITE
    put(frame, QUASI_STATUS, code)
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
