"""Trees of single dofs in joint speeds: what the derivatives of udot(q, u, tau) need to know of a dof.

World axes, about the origin of the tree's root. S the twist of a dof, v_up, a_up velocity and acceleration (less g) of
what carries its node, f the force that all it carries needs, M*, U, D of the elimination. With the rates I' of the
inertias of bodies and their momenta h, a body whose velocity changes by x needs C x = I' x + x x* h, which is

    C x = (2 w x h_l; J' w + w x h_a)          w the angular part of x; h_l, h_a linear and angular part of h

and the articulated C* of a node, that of the dofs behind it keeping their forces, is eliminated as M* is:

    C*_k += C* - U (S^T C*) / D                three columns
    drift = v_up x S,      alpha = a_up x S + v_up x drift,      beta = 2 drift
    load  = M* alpha + C* drift + S x* f                         force that a move of the dof brings about
    speed_load = M* beta + C* S                                  ... that a change of its speed does
    kappa = S^T C* / D                                           what the dof itself makes of C* x

S, U and kappa D are divided by the root of D, as in :mod:`.single_dofs`, whose rows have the first half.
"""

from .extended import own_inertia
from .jit import inline
from .joints import dofs, drive_of
from .layout import (
    CASE, DAMPING, GRAVITY, INERTIA, IS_LEAF, MASS, MOMENT, N_NODES, NV, OTHER, PARENT, SPRING_QI, STIFFNESS, VI,
    W_DRIFT, W_ELIM, W_G, W_P, W_PHI, W_V, add_to_pair, coordinate_row, get3, get6, get_frame, get_inertia, get_pair,
    node_row, put3, put_frame, put_inertia, put_pair, work_row,
)
from .number import accessor, get, put, root, whole
from .single_dofs import (
    SINGLE, SINGLE_DRIFT, SINGLE_LOAD, SINGLE_S, SINGLE_SCALE, SINGLE_U, column_of, put_numbers, put_world_frame,
)
from .spatial import (
    EYE, ZERO6, add6, axpy6, compose, cross_motion, dot6, force_to_parent, inertia_times, motion_to_child, omega_times,
    rigid_times, rigid_to_parent, scale6,
)
from .variations import along_z, dof_variation, node_variation
from .vec3 import ZERO3, axpy, cross, neg, scale
from .velocity_derivatives import inertia_rate

# ---- the other half of a row: alpha and load are where :mod:`.single_dofs` has drift and load ----
SPEED_LOAD, BETA, KAPPA, DRIFT_TURN, TWIST_TURN, SPRING, DAMPER = 0, 6, 12, 15, 18, 21, 22
MORE = 24
# ---- row of a node: its frame, then C*; acceleration and force take the place of what the sweep has used up ----
N_RATE_COLUMNS, W_ACCELERATION, W_NEEDED = 12, W_DRIFT, W_PHI

get_columns, put_columns = accessor(((3, 3), (3, 3), (3, 3)))


@inline
def more_rows(block):
    """Where the other halves begin in the workspace."""
    return dof_variation(block, 0) + SINGLE * whole(block, NV)


@inline
def put_acceleration_rows(block, q, u, udot, work):
    """The rows of all dofs, after a sweep of "newton-euler-ldl" at this state, which has found udot."""
    n, rows = whole(block, N_NODES), dof_variation(block, 0)
    put_frame(work, node_variation(block, n), (EYE, ZERO3))
    put_pair(work, work_row(n) + W_V, ZERO6)
    put_pair(work, work_row(n) + W_ACCELERATION, (neg(get3(block, GRAVITY)), ZERO3))
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        if whole(block, c + IS_LEAF) > 0:
            put_inertia(work, w + W_P, own_inertia(block, i)[0])
        if whole(block, c + CASE) < OTHER:  # hinges, with literal numbers
            a = whole(block, c + VI)
            put_world_frame(block, c, w, k, i, 0.0, work)
            put_motion(block, i, 0.0, 1.0, get(u, a), get(udot, a), work)
            put_numbers(block, a, rows, work)
        else:
            (move, turn), X = along_z(block, c), get_frame(work, w + W_G)
            if k >= 0:
                put_frame(work, node_variation(block, i), compose(X, get_frame(work, node_variation(block, k))))
            else:
                put_frame(work, node_variation(block, i), (X[0], ZERO3))
            if dofs(block, c) > 0:
                a = whole(block, c + VI)
                put_motion(block, i, move, turn, get(u, a), get(udot, a), work)
                put_numbers(block, a, rows, work)
            else:
                drive = drive_of(block, c)
                put_motion(block, i, move, turn, get(work, drive + 1), get(work, drive + 2), work)
    for i in range(n - 1, -1, -1):
        c, k = node_row(i), whole(block, node_row(i) + PARENT)
        if whole(block, c + CASE) < OTHER:
            put_row(block, i, 0.0, 1.0, rows, more_rows(block), work)
        elif dofs(block, c) > 0:
            move, turn = along_z(block, c)
            put_row(block, i, move, turn, rows, more_rows(block), work)
        if k >= 0:
            at, to = node_variation(block, i) + N_RATE_COLUMNS, node_variation(block, k) + N_RATE_COLUMNS
            (x, y, z), (a, b, d) = get_columns(work, at), get_columns(work, to)
            put_columns(work, to, (add6(a, x), add6(b, y), add6(d, z)))
            add_to_pair(work, work_row(k) + W_NEEDED, get_pair(work, work_row(i) + W_NEEDED))


@inline
def twist_of(X, move, turn):
    """S of a dof along and about the z axis of the frame X."""
    z = X[0][2]
    return axpy(move, z, scale(turn, cross(X[1], z))), scale(turn, z)


@inline
def above(block, i):
    """Row of the parent of node i, or of the ground, in the workspace."""
    k = whole(block, node_row(i) + PARENT)
    return work_row(k if k >= 0 else whole(block, N_NODES))


@inline
def put_motion(block, i, move, turn, rate, second, work):
    """Velocity and acceleration of node i, whose joint has this rate and acceleration; force and C of its bodies."""
    c, w, kw, X = node_row(i), work_row(i), above(block, i), get_frame(work, node_variation(block, i))
    S, v_up = twist_of(X, move, turn), get_pair(work, kw + W_V)
    v = axpy6(rate, S, v_up)
    a = axpy6(second, S, axpy6(rate, cross_motion(v_up, S), get_pair(work, kw + W_ACCELERATION)))
    put_pair(work, w + W_V, v); put_pair(work, w + W_ACCELERATION, a)
    m = get(block, c + MASS)
    s, J = rigid_to_parent(X, m, get3(block, c + MOMENT), get6(block, c + INERTIA))
    h = rigid_times(m, s, J, v)
    put_pair(work, w + W_NEEDED, add6(rigid_times(m, s, J, a), omega_times(v, h)))
    (x, y, z), (p, q, r), R = scale(2.0, h[0]), h[1], inertia_rate(s, J, v)
    put_columns(work, node_variation(block, i) + N_RATE_COLUMNS, (
        ((0.0, -z, y), (R[0], R[1] - r, R[2] + q)), ((z, 0.0, -x), (R[1] + r, R[3], R[4] - p)),
        ((-y, x, 0.0), (R[2] - q, R[4] + p, R[5]))))


@inline
def times(columns, w):
    """C* x, w the angular part of x."""
    x, y, z = columns
    return axpy6(w[0], x, axpy6(w[1], y, scale6(w[2], z)))


@inline
def put_row(block, i, move, turn, rows, more, work):
    """The row of the dof of node i, of which all is known that it carries; C* becomes what is left to the parent."""
    w, kw, a, at = work_row(i), above(block, i), whole(block, node_row(i) + VI), node_variation(block, i)
    d, e, row = rows + SINGLE * a, more + MORE * a, coordinate_row(block, a)
    X, M, D, C = get_frame(work, at), get_inertia(work, w + W_P), root(get(work, w + W_ELIM)), get_columns(
        work, at + N_RATE_COLUMNS)
    S, v_up = twist_of(X, move, turn), get_pair(work, kw + W_V)
    drift = cross_motion(v_up, S)
    alpha, U = add6(cross_motion(get_pair(work, kw + W_ACCELERATION), S), cross_motion(v_up, drift)), scale6(
        D, force_to_parent(X, column_of(move, turn, M)))
    load = add6(times(C, drift[1]), omega_times(S, get_pair(work, w + W_NEEDED)))
    put_pair(work, d + SINGLE_DRIFT, alpha); put_pair(work, e + BETA, scale6(2.0, drift))
    put_pair(work, d + SINGLE_LOAD, add6(load, articulated(X, M, alpha)))
    put_pair(work, e + SPEED_LOAD, axpy6(2.0, articulated(X, M, drift), times(C, S[1])))
    kappa = (D * dot6(S, C[0]), D * dot6(S, C[1]), D * dot6(S, C[2]))
    put_pair(work, d + SINGLE_S, scale6(D, S)); put_pair(work, d + SINGLE_U, U); put(work, d + SINGLE_SCALE, D)
    put3(work, e + KAPPA, kappa); put3(work, e + DRIFT_TURN, drift[1]); put3(work, e + TWIST_TURN, S[1])
    put(work, e + SPRING, 0.0); put(work, e + DAMPER, get(block, row + DAMPING))
    if whole(block, row + SPRING_QI) >= 0:
        put(work, e + SPRING, get(block, row + STIFFNESS))
    put_columns(work, at + N_RATE_COLUMNS,
                (axpy6(-kappa[0], U, C[0]), axpy6(-kappa[1], U, C[1]), axpy6(-kappa[2], U, C[2])))


@inline
def articulated(X, M, x):
    """M* x in world axes."""
    return force_to_parent(X, inertia_times(M, motion_to_child(X, x)))
