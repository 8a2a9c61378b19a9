"""What the dofs of a tree are to each other at one state: the numbers that all derivatives are made of.

Axes of the world, six-vectors about one point: the origin of the tree's root (a far-away root costs no digits; trees
that hang on the ground apart from each other never meet). Everything a node carries is then a plain sum. `x` is the
cross product of motions, `x*` that of forces. For dof a of a node with velocity v, v_up the velocity of the frame that
the node moves in, prescribed motion included, and I, h inertia and momentum of all that it carries:

    S         unit twist                           F = I S
    drift     v_up x S,                            load    = S x* h + I (v_up x S)
    turning   v x S,                               rate_load = S x* h + I (v x S)
    impulse   S x* h                               sway    = g x w, w the angular part of S
    U, 1/D    of the elimination of a, see :mod:`.extended`; a ball or free node is eliminated dof by dof, last first
    start     M* (v_up x S), M* the articulated inertia of the node before its own dofs are eliminated

With them, for a move of q along dof b (along the tangent for quaternions: q o (0, d/2), position R d) or of p:

    b above a or beside  dp_a/dq_b    = drift_b . F_a                         dp_a/du_b    = S_b . F_a
                         dpdot_a/dq_b = drift_b . rate_load_a + sway_b . F_a  dpdot_a/du_b = S_b . rate_load_a
    b below a            dp_a/dq_b    = S_a . load_b                          dp_a/du_b    = S_a . F_b
                         dpdot_a/dq_b = turning_a . load_b + sway_a . F_b     dpdot_a/du_b = turning_a . F_b

p and pdot as functions of (q, u); "beside" is in the same node. Nodes of one dof have turning = drift and rate_load =
load, which makes the Hessian of H symmetric; in ball and free joints they differ by the Lie-Poisson terms.
"""

from .extended import own_inertia
from .jit import inline
from .joints import dofs, drive_of, is_driven, node_pair, twist
from .layout import (
    BEFORE, BODY_G, BODY_NODE, DAMPING, GRAVITY, INERTIA, IS_LEAF, MASS, MOMENT, N_BODIES, N_NODES, NV, PARENT,
    SUBTREE_MASS, VI, W_G, W_P, W_PHI, add_to3, add_to6, add_to_inertia, add_to_pair, body_row, coordinate_row, get3,
    get6, get_frame, get_inertia, get_pair, node_row, put3, put6, put_frame, put_inertia, put_pair, speeds_at, work_row,
    work_size,
)
from .number import fma, get, put, whole
from .rotors import armature, armature_pair
from .spatial import (
    ZERO6, add6, axpy6, column_az, column_lz, compose, cross_motion, dot6, downdate, force_to_parent, inertia_times,
    motion_to_child, omega_times, rigid_times, rigid_to_parent, scale6,
)
from .vec3 import ZERO3, add, axpy, cross, scale, tmul

# ---- row of a dof ----
D_S, D_U, D_PIVOT = 0, 6, 12  # PIVOT: 1/D
D_BEFORE, D_LAST, D_UP = 13, 14, 15  # dof before it; last dof of its node; last dof of the node above (nv: none)
D_F, D_TURNING, D_RATE_LOAD, D_SWAY, D_DAMPING = 16, 22, 28, 34, 37
D_DRIFT, D_IMPULSE, D_START, D_LOAD = 38, 44, 50, 56
D_WRENCH = 62  # how the wrenches on what it carries turn with it: S x* W, 6
D_SPIN = 68  # derivative of the force of spinning rotors with respect to the speeds of its node, as many as there are
DOF = 74
# ---- row of a node: frame, velocity, first moment and inertia, momentum; those of the subtree, in the end ----
N_FRAME, N_V, N_MOMENT, N_INERTIA, N_MOMENTUM = 0, 12, 18, 21, 27
NODE_ROW = 33


@inline
def node_variation(block, i):
    """Row of node i; the ground has the row after the last."""
    return work_size(block) + i * NODE_ROW


@inline
def dof_variation(block, a):
    """Row of dof a."""
    return node_variation(block, whole(block, N_NODES) + 1) + a * DOF


@inline
def motion_to_parent(X, v):
    """C^-1 v."""
    G, rho = X
    w = tmul(G, v[1])
    return (add(tmul(G, v[0]), cross(rho, w)), w)


@inline
def put_single(block, c, X, d, work):
    """S of the dof of a node that has one: its twist is along the z axis of the frame."""
    (move, turn), z = along_z(block, c), X[0][2]
    put_pair(work, d + D_S, (axpy(move, z, scale(turn, cross(X[1], z))), scale(turn, z)))


@inline
def along_z(block, c):
    """How far a node of one dof moves along, and how far it turns about, the z axis of its frame for a unit rate."""
    e = twist(block, c, 0)
    return e[0][2], e[1][2]


@inline
def put_nodes(block, work):
    """Frames, velocities, inertias and momenta of all nodes; frames in the parents and joint speeds are there."""
    n, speeds = whole(block, N_NODES), speeds_at(block)
    put_pair(work, node_variation(block, n) + N_V, ZERO6)
    for i in range(n):
        c, at, k = node_row(i), node_variation(block, i), whole(block, node_row(i) + PARENT)
        X = get_frame(work, work_row(i) + W_G)
        if k >= 0:
            put_frame(work, at + N_FRAME, compose(X, get_frame(work, node_variation(block, k) + N_FRAME)))
        else:
            put_frame(work, at + N_FRAME, (X[0], ZERO3))
        X = get_frame(work, at + N_FRAME)
        put_pair(work, at + N_V, get_pair(work, node_variation(block, k if k >= 0 else n) + N_V))
        if is_driven(block, c):
            S = motion_to_parent(X, twist(block, c, 0))
            add_to_pair(work, at + N_V, scale6(get(work, drive_of(block, c) + 1), S))
        vi, count = whole(block, c + VI), dofs(block, c)
        if count == 1:
            put_single(block, c, X, dof_variation(block, vi), work)
        else:
            for a in range(count):
                put_pair(work, dof_variation(block, vi + a) + D_S, motion_to_parent(X, twist(block, c, a)))
        for a in range(vi, vi + count):
            add_to_pair(work, at + N_V, scale6(get(work, speeds + a), get_pair(work, dof_variation(block, a) + D_S)))
        m, v = get(block, c + MASS), get_pair(work, at + N_V)
        s, J = rigid_to_parent(X, m, get3(block, c + MOMENT), get6(block, c + INERTIA))
        put3(work, at + N_MOMENT, s); put6(work, at + N_INERTIA, J)
        put_pair(work, at + N_MOMENTUM, rigid_times(m, s, J, v))
    for i in range(n - 1, -1, -1):
        at, k = node_variation(block, i), whole(block, node_row(i) + PARENT)
        if k >= 0:
            parent = node_variation(block, k)
            add_to3(work, parent + N_MOMENT, get3(work, at + N_MOMENT))
            add_to6(work, parent + N_INERTIA, get6(work, at + N_INERTIA))
            add_to_pair(work, parent + N_MOMENTUM, get_pair(work, at + N_MOMENTUM))


@inline
def put_dofs(block, pivots, work):
    """The rows of all dofs; with pivots, for which M* of the nodes is as "emh-ldl" has left it, and is used up."""
    n, nv, g = whole(block, N_NODES), whole(block, NV), get3(block, GRAVITY)
    for i in range(n):
        c, w, at, k = node_row(i), work_row(i), node_variation(block, i), whole(block, node_row(i) + PARENT)
        count, vi = dofs(block, c), whole(block, c + VI)
        X, v = get_frame(work, at + N_FRAME), get_pair(work, at + N_V)
        v_up = get_pair(work, node_variation(block, k if k >= 0 else n) + N_V)
        m, s, J = get(block, c + SUBTREE_MASS), get3(work, at + N_MOMENT), get6(work, at + N_INERTIA)
        h = get_pair(work, at + N_MOMENTUM)
        if pivots and count > 0 and whole(block, c + IS_LEAF) > 0:
            put_inertia(work, w + W_P, own_inertia(block, i)[0])
        up = whole(block, coordinate_row(block, vi) + BEFORE) if count > 0 else -1
        for a in range(vi, vi + count):
            d = dof_variation(block, a)
            before = whole(block, coordinate_row(block, a) + BEFORE)
            put(work, d + D_BEFORE, float(before if before >= 0 else nv))
            put(work, d + D_LAST, float(vi + count - 1))
            put(work, d + D_UP, float(up if up >= 0 else nv))
            S = get_pair(work, d + D_S)
            drift, impulse = cross_motion(v_up, S), omega_times(S, h)
            load = add6(impulse, rigid_times(m, s, J, drift))
            put_pair(work, d + D_F, rigid_times(m, s, J, S))
            put3(work, d + D_SWAY, cross(g, S[1]))
            put(work, d + D_DAMPING, get(block, coordinate_row(block, a) + DAMPING))
            put_pair(work, d + D_DRIFT, drift); put_pair(work, d + D_IMPULSE, impulse)
            put_pair(work, d + D_LOAD, load)
            if count > 1:
                turning = cross_motion(v, S)
                put_pair(work, d + D_TURNING, turning)
                put_pair(work, d + D_RATE_LOAD, add6(impulse, rigid_times(m, s, J, turning)))
            else:
                put_pair(work, d + D_TURNING, drift)
                put_pair(work, d + D_RATE_LOAD, load)
        if pivots:
            put_pivots(block, c, w, vi, count, X, work)


@inline
def put_pivots(block, c, w, vi, count, X, work):
    """U, 1/D and `start` of the dofs of a node."""
    M = get_inertia(work, w + W_P)
    for a in range(vi, vi + count):
        d = dof_variation(block, a)
        drift = get_pair(work, d + D_DRIFT)
        put_pair(work, d + D_START, force_to_parent(X, inertia_times(M, motion_to_child(X, drift))))
    if count == 1:
        d, (move, turn) = dof_variation(block, vi), along_z(block, c)
        U = axpy6(move, column_lz(M), scale6(turn, column_az(M)))
        put(work, d + D_PIVOT, 1.0 / (fma(move, U[0][2], turn * U[1][2]) + armature(block, vi)))
        put_pair(work, d + D_U, force_to_parent(X, U))
    else:
        for a in range(vi + count - 1, vi - 1, -1):
            d, e = dof_variation(block, a), twist(block, c, a - vi)
            U = inertia_times(get_inertia(work, w + W_P), e)
            pivot = 1.0 / (dot6(e, U) + armature(block, a))
            put(work, d + D_PIVOT, pivot)
            put_pair(work, d + D_U, force_to_parent(X, U))
            add_to_inertia(work, w + W_P, downdate(scale6(pivot, U), U))


@inline
def put_wrenches(block, wrench, work):
    """How the wrenches turn that are constant in the axes of their bodies, of each body six numbers at its origin.

    pdot_a has S_a . W, W their sum over what a carries. All of it moves with what is above a; what is below turns its
    own part of W alone.
    """
    n = whole(block, N_NODES)
    for i in range(n):
        put_pair(work, work_row(i) + W_PHI, ZERO6)
    for body in range(whole(block, N_BODIES)):
        row = body_row(block, body)
        i = whole(block, row + BODY_NODE)
        if i >= 0:
            W = force_to_parent(get_frame(block, row + BODY_G), get_pair(wrench, 6 * body))
            X = get_frame(work, node_variation(block, i) + N_FRAME)
            add_to_pair(work, work_row(i) + W_PHI, force_to_parent(X, W))
    for i in range(n - 1, -1, -1):
        c, k, W = node_row(i), whole(block, node_row(i) + PARENT), get_pair(work, work_row(i) + W_PHI)
        if k >= 0:
            add_to_pair(work, work_row(k) + W_PHI, W)
        for a in range(whole(block, c + VI), whole(block, c + VI) + dofs(block, c)):
            d = dof_variation(block, a)
            put_pair(work, d + D_WRENCH, omega_times(get_pair(work, d + D_S), W))


@inline
def put_spins(block, work):
    """How -Omega(u) (r u), the force of spinning rotors, changes with the speeds u of its ball or free node."""
    for i in range(whole(block, N_NODES)):
        c = node_row(i)
        count, vi = dofs(block, c), whole(block, c + VI)
        if count > 1:
            r, u = armature_pair(block, c), node_pair(block, c, work, speeds_at(block) + vi)
            for b in range(count):
                f = spin_rate(r, u, twist(block, c, b))
                for a in range(count):
                    put(work, dof_variation(block, vi + a) + D_SPIN + b, dot6(twist(block, c, a), f))


@inline
def spin_rate(r, u, d):
    """Derivative of -Omega(u) (r u) along d."""
    return scale6(-1.0, add6(omega_times(d, times6(r, u)), omega_times(u, times6(r, d))))


@inline
def times6(r, x):
    """r x, number by number."""
    return ((r[0][0] * x[0][0], r[0][1] * x[0][1], r[0][2] * x[0][2]),
            (r[1][0] * x[1][0], r[1][1] * x[1][1], r[1][2] * x[1][2]))
