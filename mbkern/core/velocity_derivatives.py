"""Derivatives in joint speeds: of the forces tau(q, u, udot) that a motion needs, and of udot(q, u, tau).

The counterpart of :mod:`.variations` for Newton and Euler. World axes, a the acceleration of a node (less g), f the
force that all it carries needs, I, h its inertia and momentum, I' the rate of I:

    alpha = a_up x S + v_up x (v_up x S)      beta = v_up x S + v x S
    C x   = I' x + x x* h                     how I a + v x* h changes where all velocities change by x, or turn

   b above a or beside  dtau_a/dq_b = alpha_b . F_a + drift_b . (C^T S)_a   dtau_a/du_b = beta_b . F_a + S_b . (C^T S)_a
   b below a            dtau_a/dq_b = S_a . (S x* f + I alpha + C drift)_b  dtau_a/du_b = S_a . (I beta + C S)_b

Only dofs on one way to the root are pairs. Springs, dampers, rotors and wrenches add their own. Then

    dudot/dq = -Mass^-1 dtau/dq,   dudot/du = -Mass^-1 dtau/du,   dudot/dtau = Mass^-1

column by column with the elimination that :mod:`.tangents` uses.
"""

from .columns import put_element, wide, width
from .jit import inline
from .joints import dofs, drive_of, is_driven, twist
from .layout import (
    DAMPING, GRAVITY, INERTIA, MASS, MOMENT, N_NODES, NV, PARENT, ROTORS_SIZE, SPRING_QI, STIFFNESS, SUBTREE_MASS, VI,
    W_P, W_Q, add_to6, add_to_pair, coordinate_row, get3, get6, get_frame, get_pair, node_row, put6, put_pair,
    speeds_at, work_row,
)
from .number import get, put, whole
from .rotors import armature
from .spatial import add6, axpy6, cross_motion, dot6, omega_times, rigid_times, rigid_to_parent, scale6, sub6
from .tangents import (
    L_X, SETS, clear_momenta, clear_velocities, first_of, lane_row, lanes_begin, put_speeds, solve_backward,
    solve_forward,
)
from .variations import (
    D_BEFORE, D_DRIFT, D_F, D_IMPULSE, D_LAST, D_LOAD, D_RATE_LOAD, D_S, D_SPIN, D_START, D_TURNING, D_UP, D_WRENCH,
    DOF, N_FRAME, N_INERTIA, N_MOMENT, N_MOMENTUM, N_V, dof_variation, motion_to_parent, node_variation,
)
from .vec3 import ZERO3, cross, dot, neg

# these take the place of what only Hamilton's equations need
D_ALPHA, D_BETA, D_TRANSPOSED, D_Q_LOAD, D_U_LOAD = D_START, D_RATE_LOAD, D_IMPULSE, D_LOAD, D_TURNING
# and these, of a node, that of its M*, which is used up
W_A, W_FORCE, W_INERTIA_RATE = W_P, W_Q, W_P + 12


@inline
def inertia_rate(s, J, v):
    """The rate of a rigid body's inertia about a fixed point: 2 (s . u) E - s u^T - u s^T + w~ J - J w~."""
    (ux, uy, uz), (x, y, z) = v[0], s
    a, b, c = cross(v[1], (J[0], J[1], J[2])), cross(v[1], (J[1], J[3], J[4])), cross(v[1], (J[2], J[4], J[5]))
    twice = 2.0 * dot(s, v[0])
    return (twice - 2.0 * x * ux + 2.0 * a[0], a[1] + b[0] - x * uy - ux * y, a[2] + c[0] - x * uz - ux * z,
            twice - 2.0 * y * uy + 2.0 * b[1], b[2] + c[1] - y * uz - uy * z, twice - 2.0 * z * uz + 2.0 * c[2])


@inline
def put_accelerations(block, udot, work):
    """Accelerations less g, forces and rates of inertia of all nodes; rows of :mod:`.variations` are there."""
    n, speeds = whole(block, N_NODES), speeds_at(block)
    put_pair(work, work_row(n) + W_A, (neg(get3(block, GRAVITY)), ZERO3))
    for i in range(n):
        c, w, at, k = node_row(i), work_row(i), node_variation(block, i), whole(block, node_row(i) + PARENT)
        X, v, vi = get_frame(work, at + N_FRAME), get_pair(work, at + N_V), whole(block, c + VI)
        put_pair(work, w + W_A, get_pair(work, work_row(k if k >= 0 else n) + W_A))
        if is_driven(block, c):
            S, drive = motion_to_parent(X, twist(block, c, 0)), drive_of(block, c)
            turning = scale6(get(work, drive + 1), cross_motion(v, S))
            add_to_pair(work, w + W_A, axpy6(get(work, drive + 2), S, turning))
        for a in range(vi, vi + dofs(block, c)):
            d = dof_variation(block, a)
            turning = scale6(get(work, speeds + a), get_pair(work, d + D_TURNING))
            add_to_pair(work, w + W_A, axpy6(get(udot, a), get_pair(work, d + D_S), turning))
        m = get(block, c + MASS)
        s, J = rigid_to_parent(X, m, get3(block, c + MOMENT), get6(block, c + INERTIA))
        h = rigid_times(m, s, J, v)
        put_pair(work, w + W_FORCE, add6(rigid_times(m, s, J, get_pair(work, w + W_A)), omega_times(v, h)))
        put6(work, w + W_INERTIA_RATE, inertia_rate(s, J, v))
    for i in range(n - 1, -1, -1):
        w, k = work_row(i), whole(block, node_row(i) + PARENT)
        if k >= 0:
            add_to_pair(work, work_row(k) + W_FORCE, get_pair(work, w + W_FORCE))
            add_to6(work, work_row(k) + W_INERTIA_RATE, get6(work, w + W_INERTIA_RATE))


@inline
def put_force_rows(block, work):
    """alpha, beta and what goes with them, of all dofs."""
    n = whole(block, N_NODES)
    for i in range(n):
        c, w, at, k = node_row(i), work_row(i), node_variation(block, i), whole(block, node_row(i) + PARENT)
        m, s, J = get(block, c + SUBTREE_MASS), get3(work, at + N_MOMENT), get6(work, at + N_INERTIA)
        h, f, Jdot = get_pair(work, at + N_MOMENTUM), get_pair(work, w + W_FORCE), get6(work, w + W_INERTIA_RATE)
        a_up = get_pair(work, work_row(k if k >= 0 else n) + W_A)
        v_up = get_pair(work, node_variation(block, k if k >= 0 else n) + N_V)
        for a in range(whole(block, c + VI), whole(block, c + VI) + dofs(block, c)):
            d = dof_variation(block, a)
            S, drift, turning = get_pair(work, d + D_S), get_pair(work, d + D_DRIFT), get_pair(work, d + D_TURNING)
            alpha, beta = add6(cross_motion(a_up, S), cross_motion(v_up, drift)), add6(drift, turning)
            rate, impulse = rigid_times(0.0, h[0], Jdot, S), omega_times(S, h)
            along_drift = add6(rigid_times(0.0, h[0], Jdot, drift), omega_times(drift, h))
            put_pair(work, d + D_ALPHA, alpha); put_pair(work, d + D_BETA, beta)
            put_pair(work, d + D_TRANSPOSED, sub6(rate, impulse))
            put_pair(work, d + D_Q_LOAD, add6(omega_times(S, f), add6(rigid_times(m, s, J, alpha), along_drift)))
            put_pair(work, d + D_U_LOAD, add6(rigid_times(m, s, J, beta), add6(rate, impulse)))


@inline
def put_force_derivatives(block, wrenches, tau_q, tau_u, tau_udot, work):
    """dtau/dq, dtau/du and dtau/dudot, the mass matrix, nv x nv each. Whether there are wrenches."""
    nv, rows = whole(block, NV), dof_variation(block, 0)
    for j in range(nv * nv):
        put(tau_q, j, 0.0); put(tau_u, j, 0.0); put(tau_udot, j, 0.0)
    for a in range(nv):
        d = rows + DOF * a
        F, transposed = get_pair(work, d + D_F), get_pair(work, d + D_TRANSPOSED)
        b = whole(work, d + D_LAST)
        while b < nv:
            e = rows + DOF * b
            put(tau_q, nv * a + b, dot6(get_pair(work, e + D_ALPHA), F) + dot6(get_pair(work, e + D_DRIFT), transposed))
            S = get_pair(work, e + D_S)
            put(tau_u, nv * a + b, dot6(get_pair(work, e + D_BETA), F) + dot6(S, transposed))
            mass = dot6(S, F)
            put(tau_udot, nv * a + b, mass); put(tau_udot, nv * b + a, mass)
            b = whole(work, e + D_BEFORE)
        q_load, u_load = get_pair(work, d + D_Q_LOAD), get_pair(work, d + D_U_LOAD)
        if wrenches:
            q_load = sub6(q_load, get_pair(work, d + D_WRENCH))
        b = whole(work, d + D_UP)
        while b < nv:
            S = get_pair(work, rows + DOF * b + D_S)
            put(tau_q, nv * b + a, dot6(S, q_load)); put(tau_u, nv * b + a, dot6(S, u_load))
            b = whole(work, rows + DOF * b + D_BEFORE)
        row, own = coordinate_row(block, a), nv * a + a
        put(tau_udot, own, get(tau_udot, own) + armature(block, a))
        put(tau_u, own, get(tau_u, own) + get(block, row + DAMPING))
        if whole(block, row + SPRING_QI) >= 0:
            put(tau_q, own, get(tau_q, own) + get(block, row + STIFFNESS))
        if whole(block, ROTORS_SIZE) != 0:
            begin, last = first_of(rows, a, work), whole(work, d + D_LAST)
            for b in range(begin, last + 1 if last > begin else begin):
                put(tau_u, nv * a + b, get(tau_u, nv * a + b) - get(work, d + D_SPIN + b - begin))


@inline
def solve_columns(block, factor, x, columns, out, work):
    """out = factor Mass^-1 x for the columns of x; the rows of :mod:`.variations` are there. May be done in place."""
    nv, rows, many, wide_set = whole(block, NV), dof_variation(block, 0), wide(work, lanes_begin(block)), width(work)
    for begin in range(0, columns, SETS * wide_set):
        end = min(columns, begin + SETS * wide_set)
        sets = (end - begin + wide_set - 1) // wide_set
        clear_momenta(sets, nv, nv, many)
        clear_velocities(sets, nv, nv + 1, many)
        for column in range(begin, end):
            s, place = (column - begin) // wide_set, (column - begin) % wide_set
            for b in range(nv):
                put_element(work, many, lane_row(b, s) + L_X, place, factor * get(x, b * columns + column))
        solve_backward(rows, nv - 1, sets, many, work)
        solve_forward(rows, 0, nv, False, sets, many, work)
        put_speeds(nv, 0, sets, many, out, begin, columns, 1, end - begin, work)


@inline
def force_derivatives(block, udot, wrenches, tau_q, tau_u, tau_udot, work):
    """dtau/dq, dtau/du and dtau/dudot; the rows of :mod:`.variations` are there."""
    put_accelerations(block, udot, work)
    put_force_rows(block, work)
    put_force_derivatives(block, wrenches, tau_q, tau_u, tau_udot, work)


@inline
def acceleration_derivatives(block, udot, wrenches, udot_q, udot_u, udot_tau, work):
    """dudot/dq, dudot/du and dudot/dtau, likewise; `udot` may be in the place of the last."""
    nv = whole(block, NV)
    force_derivatives(block, udot, wrenches, udot_q, udot_u, udot_tau, work)
    for a in range(nv):
        for b in range(nv):
            put(udot_tau, nv * a + b, 1.0 if a == b else 0.0)
    solve_columns(block, -1.0, udot_q, nv, udot_q, work)
    solve_columns(block, -1.0, udot_u, nv, udot_u, work)
    solve_columns(block, 1.0, udot_tau, nv, udot_tau, work)
