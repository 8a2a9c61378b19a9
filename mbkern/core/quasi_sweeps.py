"""Mass matrix and bias of a tree for :mod:`.quasi_tree`.

    mass   composite inertias, leaves first; of each freedom the momentum that its unit speed gives, down to the root;
           rotors on the diagonal
    bias   one sweep outward   v = C v_k + e rate,   w = C w_k + wr,   R = M w + Omega M v   (udot = 0, w less g)
           one sweep inward    R_k += C^T R,   h = e^T R

Both are sweeps over the nodes from `rails` on. The rails are the first nodes, where these are slides along ignorable
coordinates: they carry the rest along fixed directions. Neither M nor h depends on where they are, nor on their speeds
(the rest does not feel a steady motion of its ground), and no moments pass through them, so all that is left of them is
one component of a force each, along `axes`: of each rail the directions of all rails (zero for those that do not carry
it), in its own axes. Their part of M is constant and in its place from the beginning, as the acceleration -g in their
axes is. Formulations that know of no ignorable coordinates have no rails.
"""

from .checks import OK, status
from .drives import evaluate_drives
from .forces import add_joint_forces
from .inverse_dynamics import W_W, put_drive_margins
from .jit import inline, kernel
from .joints import add_projection, freedoms, put_frame_of, twist_axis, unit_twist
from .layout import (
    BALL, DRIVEN_REVOLUTE, FREE, GRAVITY, HAS_PASSIVE, HAS_ROTORS, INERTIA, KIND, MASS, MOMENT, N_DRIVES, N_NODES, NV,
    PARENT, PRISMATIC, QI, REVOLUTE, ROTORS_SIZE, SUBTREE_MASS, VI, W_G, W_MOMENT, W_PHI, W_R, W_V,
    add_to3, add_to6, add_to_pair, drive_values, get3, get6, get33, get_frame, get_pair, node_row, put3, put6,
    put_pair, speeds_at, work_row,
)
from .number import get, put, whole
from .rotors import armature
from .spatial import (
    ZERO6, add6, force_to_parent, motion_to_child, omega_times, omega_transposed_times, rigid_times, rigid_to_parent,
)
from .vec3 import ZERO3, add, dot, mul, neg, tmul


# ---- mass matrix ----
@inline
def along_rails(axes, rails, k, j, f):
    """Component along rail j of a force f on what rail k carries."""
    return dot(get3(axes, 3 * (k * rails + j)), f)


@inline
def put_column(block, rails, axes, i, column, F, nv, out, work):
    """Project the momentum F of node i's subtree on all joints from i down to the root."""
    while i >= rails:
        c = node_row(i)
        kind, vi, k = whole(block, c + KIND), whole(block, c + VI), whole(block, c + PARENT)
        if kind == REVOLUTE:
            put(out, column * nv + vi, F[1][2]); put(out, vi * nv + column, F[1][2])
        elif kind == PRISMATIC:
            put(out, column * nv + vi, F[0][2]); put(out, vi * nv + column, F[0][2])
        elif kind == BALL:
            for a in range(3):
                h = F[1][0] if a == 0 else F[1][1] if a == 1 else F[1][2]
                put(out, column * nv + vi + a, h); put(out, (vi + a) * nv + column, h)
        elif kind == FREE:
            for a in range(6):
                h = (F[0][0] if a == 0 else F[0][1] if a == 1 else F[0][2] if a == 2 else
                     F[1][0] if a == 3 else F[1][1] if a == 4 else F[1][2])
                put(out, column * nv + vi + a, h); put(out, (vi + a) * nv + column, h)
        if k >= 0:
            F = force_to_parent(get_frame(work, work_row(i) + W_G), F)
        i = k
    for j in range(i + 1):
        vi, p = whole(block, node_row(j) + VI), along_rails(axes, rails, i, j, F[0])
        put(out, column * nv + vi, p); put(out, vi * nv + column, p)


@inline
def put_mass_matrix(block, rails, axes, out, work):
    """The nv x nv mass matrix; frames are in the workspace. Zeros of other branches are there already."""
    n, nv = whole(block, N_NODES), whole(block, NV)
    for i in range(rails, n):
        c, w = node_row(i), work_row(i)
        put3(work, w + W_MOMENT, get3(block, c + MOMENT))
        put6(work, w + W_R, get6(block, c + INERTIA))
    for i in range(n - 1, rails - 1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        m, s, J = get(block, c + SUBTREE_MASS), get3(work, w + W_MOMENT), get6(work, w + W_R)
        if k >= rails:
            s_k, J_k = rigid_to_parent(get_frame(work, w + W_G), m, s, J)
            add_to3(work, work_row(k) + W_MOMENT, s_k)
            add_to6(work, work_row(k) + W_R, J_k)
        kind, vi = whole(block, c + KIND), whole(block, c + VI)
        for a in range(freedoms(kind)):
            if kind == REVOLUTE:
                F = ((-s[1], s[0], 0.0), (J[2], J[4], J[5]))
            elif kind == PRISMATIC:
                F = ((0.0, 0.0, m), (s[1], -s[0], 0.0))
            else:
                F = rigid_times(m, s, J, unit_twist(twist_axis(kind, a)))
            put_column(block, rails, axes, i, vi + a, F, nv, out, work)
    if whole(block, HAS_ROTORS) != 0:
        for i in range(rails, n):
            c = node_row(i)
            for j in range(whole(block, c + VI), whole(block, c + VI) + freedoms(whole(block, c + KIND))):
                put(out, j * nv + j, get(out, j * nv + j) + armature(block, j))


@kernel
def mass_and_frames(block, rails, axes, t, q, out, work):
    """The mass matrix; leaves drive values and frames in the workspace. Returns a status."""
    driven = whole(block, N_DRIVES) > 0
    if driven:
        evaluate_drives(block, t, work)
        put_drive_margins(block, work)
    for i in range(rails, whole(block, N_NODES)):
        put_frame_of(block, i, q, work)
    put_mass_matrix(block, rails, axes, out, work)
    return status(block, work) if driven else OK


# ---- bias ----
@inline
def put_node_motion(block, c, w, kw, at_rest, v, work):
    """Velocity and acceleration of a node without joint accelerations, from those of its parent (maybe at rest)."""
    X = get_frame(work, w + W_G)
    kind, vi = whole(block, c + KIND), whole(block, c + VI)
    if at_rest:
        a, o, carried = ZERO3, ZERO3, (mul(X[0], get3(work, kw + W_W)), ZERO3)
    else:
        a, o = motion_to_child(X, get_pair(work, kw + W_V))
        carried = motion_to_child(X, get_pair(work, kw + W_W))
    if kind == REVOLUTE:
        rate = get(v, vi)
        put_pair(work, w + W_V, (a, (o[0], o[1], o[2] + rate)))
        put_pair(work, w + W_W, add6(carried, ((rate * a[1], -rate * a[0], 0.0), (rate * o[1], -rate * o[0], 0.0))))
    elif kind == PRISMATIC:
        rate = get(v, vi)
        put_pair(work, w + W_V, ((a[0], a[1], a[2] + rate), o))
        put_pair(work, w + W_W, add6(carried, ((rate * o[1], -rate * o[0], 0.0), ZERO3)))
    elif kind == BALL:
        rate3 = get3(v, vi)
        put_pair(work, w + W_V, (a, add(o, rate3)))
        put_pair(work, w + W_W, add6(carried, omega_transposed_times((ZERO3, rate3), (a, o))))
    elif kind == FREE:
        rate6 = get_pair(v, vi)
        put_pair(work, w + W_V, add6((a, o), rate6))
        put_pair(work, w + W_W, add6(carried, omega_transposed_times(rate6, (a, o))))
    else:
        at = drive_values(block, whole(block, c + QI))
        rate, second = get(work, at + 1), get(work, at + 2)
        if kind == DRIVEN_REVOLUTE:
            drift = ((rate * a[1], -rate * a[0], 0.0), (rate * o[1], -rate * o[0], second))
            put_pair(work, w + W_V, (a, (o[0], o[1], o[2] + rate)))
        else:
            drift = ((rate * o[1], -rate * o[0], second), ZERO3)
            put_pair(work, w + W_V, ((a[0], a[1], a[2] + rate), o))
        put_pair(work, w + W_W, add6(carried, drift))


@kernel
def bias(block, rails, axes, q, v, h, work):
    """h: inverse dynamics without accelerations, less springs, dampers, rotors; drive values and frames are there."""
    n, nv = whole(block, N_NODES), whole(block, NV)
    ground = work_row(n)
    put3(work, ground + W_W, neg(get3(block, GRAVITY)))
    for j in range(nv):
        put(h, j, 0.0)
    for i in range(rails, n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        put_node_motion(block, c, w, work_row(k) if k >= 0 else ground, k < rails, v, work)
        m, J = get(block, c + MASS), get6(block, c + INERTIA)
        if m != 0.0 or J[0] + J[3] + J[5] != 0.0:
            s, V = get3(block, c + MOMENT), get_pair(work, w + W_V)
            R = add6(rigid_times(m, s, J, get_pair(work, w + W_W)), omega_times(V, rigid_times(m, s, J, V)))
            put_pair(work, w + W_PHI, R)
        else:  # a step within a joint
            put_pair(work, w + W_PHI, ZERO6)
    for i in range(n - 1, rails - 1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        R = get_pair(work, w + W_PHI)
        add_projection(block, c, R, h)
        if k >= rails:
            add_to_pair(work, work_row(k) + W_PHI, force_to_parent(get_frame(work, w + W_G), R))
        else:
            f = tmul(get33(work, w + W_G), R[0])
            for j in range(k + 1):
                vj = whole(block, node_row(j) + VI)
                put(h, vj, get(h, vj) + along_rails(axes, rails, k, j, f))
    if whole(block, HAS_PASSIVE) != 0 or whole(block, ROTORS_SIZE) != 0:
        speeds = speeds_at(block)
        for j in range(nv):
            put(work, speeds + j, get(v, j))
            put(h, j, -get(h, j))
        add_joint_forces(block, q, h[:0], h, work)
        for j in range(nv):
            put(h, j, -get(h, j))
