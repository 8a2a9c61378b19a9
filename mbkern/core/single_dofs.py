"""Trees whose nodes have one dof each, or none: what derivatives need to know of a dof.

In the axes of its node, e = (h z; t z) being its twist (h along, t about z), v the velocity of the node, M* and phi
articulated inertia and momentum (:mod:`.extended`), m and s mass and first moment of what it carries, g gravity:

    drift  = v x e                         how the frame would move with the dof instead of with what carries it
    load   = M* drift + e x* (M* v + phi)  momentum that a move of the dof brings about where all below keep their p
    F      = (m h z + t z x s)             momentum of a unit rate, its linear part
    sway   = t g x z                       how gravity turns, seen from the node

The backward sweep of :mod:`.extended` is all they need; joint speeds are left in the workspace on the way.
`put_local_rows` leaves them there (for :mod:`.tangent_sweeps`), `put_world_rows` in the axes of the world, about the
origin of the tree's root (for :mod:`.jacobian_columns`), with S and U divided by the root of the pivot D.
"""

from .extended import own_inertia, placed, put_motion
from .jit import inline
from .joints import dofs, drive_of
from .layout import (
    BEFORE, BESIDE, CASE, GRAVITY, IS_LEAF, N_NODES, ON_GROUND, OTHER, PARENT, PLACE_RHO, QI, ROUTE, SPIN, SUBTREE_MASS,
    TILT, VI, W_ELIM, W_GRAVITY, W_MOMENT, W_P, W_PHI, W_TURN, W_V, coordinate_row, get3, get_frame, get_inertia,
    get_pair, node_row, put3, put_frame, put_inertia, put_pair, speeds_at, work_row,
)
from .number import accessor, fma, get, put, root, whole
from .spatial import (
    EYE, ZERO6, axpy6, column_az, column_lz, dot6, force_to_parent, inertia_times_plus, minus_cross, scale6,
)
from .variations import along_z, dof_variation, motion_to_parent, node_variation
from .vec3 import ZERO3, add, axpy, cross, scale, tmul

get2, put2 = accessor(2)
get4, put4 = accessor(4)

# ---- row of a node in its own axes, in the place of its row of :mod:`.variations`; x and y of drift and sway ----
B_LOAD, B_DRIFT, B_F, B_SWAY = 0, 6, 10, 13
# ---- row of a dof in world axes: S and U over the root of D, 1 over that root ----
SINGLE_S, SINGLE_U, SINGLE_SCALE, SINGLE_DRIFT, SINGLE_LOAD, SINGLE_SWAY, SINGLE_F = 0, 6, 12, 13, 19, 25, 28
# its number; the dof before it, -1: none; how many there are up to it; 1 where it is before more than the next one
SINGLE_OWN, SINGLE_BEFORE, SINGLE_DEPTH, SINGLE_FORKS = 31, 32, 33, 34
SINGLE = 36


@inline
def amount(block, c, move, q, work):
    """How far a node has moved along its z axis; `move` is how far it does so for a unit rate."""
    return move * (get(q, whole(block, c + QI)) if dofs(block, c) > 0 else get(work, drive_of(block, c)))


@inline
def put_rate(block, c, w, move, turn, v, work):
    """Rate of the dof or of the drive of a node that would have the velocity v if it stood still."""
    if dofs(block, c) > 0:
        U, at = column_of(move, turn, get_inertia(work, w + W_P)), speeds_at(block) + whole(block, c + VI)
        put(work, at, fma(-get(work, w + W_ELIM), dot6(U, v), get(work, w + W_ELIM + 1)))
        return get(work, at)
    return get(work, drive_of(block, c) + 1)


@inline
def has_spin(block, c):
    """Whether the way from the parent to the node begins with a turn about z."""
    route = whole(block, c + ROUTE)
    return route == BESIDE or route == ON_GROUND


@inline
def complete_leaf(block, i, work):
    """What a sweep takes from the block for leaves."""
    w, (M, s) = work_row(i), own_inertia(block, i)
    put_inertia(work, w + W_P, M); put_pair(work, w + W_PHI, ZERO6); put3(work, w + W_MOMENT, s)


@inline
def put_node_motion(block, i, move, turn, along, work):
    """Velocity and gravity of node i, which has moved by `along`, after its parent's; the ground's are there."""
    c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
    kw = work_row(k if k >= 0 else whole(block, N_NODES))
    u, o, g = placed(block, c, w, get_pair(work, kw + W_V), get3(work, kw + W_GRAVITY), has_spin(block, c), work)
    u = minus_cross(u, (0.0, 0.0, along), o)
    rate = put_rate(block, c, w, move, turn, (u, o), work)
    put_motion(work, w, ((u[0], u[1], fma(move, rate, u[2])), (o[0], o[1], fma(turn, rate, o[2]))), g)


@inline
def drift_of(move, turn, v):
    """v x e."""
    (ux, uy, _), (ox, oy, _) = v
    return (fma(move, oy, turn * uy), -fma(move, ox, turn * ux), 0.0), (turn * oy, -(turn * ox), 0.0)


@inline
def load_of(move, turn, M, phi, v, drift):
    """M* (v x e) + e x* (M* v + phi)."""
    (fx, fy, _), (tx, ty, _) = inertia_times_plus(M, v, phi)
    impulse = (-(turn * fy), turn * fx, 0.0), (-fma(move, fy, turn * ty), fma(move, fx, turn * tx), 0.0)
    return inertia_times_plus(M, drift, impulse)


@inline
def momentum_of(block, c, w, move, turn, work):
    """F, the linear part of I e."""
    x, y, _ = get3(work, w + W_MOMENT)
    return (-(turn * y), turn * x, move * get(block, c + SUBTREE_MASS))


@inline
def column_of(move, turn, M):
    """U = M* e."""
    return axpy6(move, column_lz(M), scale6(turn, column_az(M)))


@inline
def begin_motions(block, work):
    """The ground stands still."""
    put_motion(work, work_row(whole(block, N_NODES)), ZERO6, get3(block, GRAVITY))


@inline
def put_local_rows(block, q, work):
    """The rows of all nodes, after a backward sweep of "emh-ldl" at this state (M*, phi, pivots, turns)."""
    begin_motions(block, work)
    for i in range(whole(block, N_NODES)):
        if whole(block, node_row(i) + IS_LEAF) > 0:
            complete_leaf(block, i, work)
        put_single_row(block, i, q, work)


@inline
def put_single_row(block, i, q, work):
    """Velocity, gravity and row of node i, which has one dof or none."""
    c = node_row(i)
    if whole(block, c + CASE) < OTHER:  # hinges, with literal numbers
        put_node_motion(block, i, 0.0, 1.0, 0.0, work)
        put_local_row(block, i, 0.0, 1.0, work)
    else:
        move, turn = along_z(block, c)
        put_node_motion(block, i, move, turn, amount(block, c, move, q, work), work)
        if dofs(block, c) > 0:
            put_local_row(block, i, move, turn, work)


@inline
def put_local_row(block, i, move, turn, work):
    """The row of node i, which has a dof; its velocity and gravity are there."""
    w, at = work_row(i), node_variation(block, i)
    M, v = get_inertia(work, w + W_P), get_pair(work, w + W_V)
    drift, (gx, gy, _) = drift_of(move, turn, v), get3(work, w + W_GRAVITY)
    put_pair(work, at + B_LOAD, load_of(move, turn, M, get_pair(work, w + W_PHI), v, drift))
    put4(work, at + B_DRIFT, (drift[0][0], drift[0][1], drift[1][0], drift[1][1]))
    put3(work, at + B_F, momentum_of(block, node_row(i), w, move, turn, work))
    put2(work, at + B_SWAY, (turn * gy, -(turn * gx)))


@inline
def turned_rows(c, s, a, b):
    """Two axes after a turn by the angle of cosine c and sine s."""
    return axpy(c, a, scale(s, b)), axpy(c, b, scale(-s, a))


@inline
def put_world_frame(block, c, w, k, i, along, work):
    """Axes and origin of node i of parent k in the world; it has moved by `along`. Roots are at the origin."""
    (x, y, z), r = get_frame(work, node_variation(block, k if k >= 0 else whole(block, N_NODES)))
    if k >= 0:
        r = add(r, tmul((x, y, z), get3(block, c + PLACE_RHO)))
    if has_spin(block, c):
        x, y = turned_rows(get(block, c + SPIN), get(block, c + SPIN + 1), x, y)
    y, z = turned_rows(get(block, c + TILT), get(block, c + TILT + 1), y, z)
    x, y = turned_rows(get(work, w + W_TURN), get(work, w + W_TURN + 1), x, y)
    if k >= 0:
        r = axpy(along, z, r)
    put_frame(work, node_variation(block, i), ((x, y, z), r))


@inline
def put_world_rows(block, q, work):
    """The rows of all dofs, likewise."""
    n, rows, gravity = whole(block, N_NODES), dof_variation(block, 0), get3(block, GRAVITY)
    begin_motions(block, work)
    put_frame(work, node_variation(block, n), (EYE, ZERO3))
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        if whole(block, c + IS_LEAF) > 0:
            complete_leaf(block, i, work)
        if whole(block, c + CASE) < OTHER:  # hinges, with literal numbers
            put_node_motion(block, i, 0.0, 1.0, 0.0, work)
            put_world_frame(block, c, w, k, i, 0.0, work)
            put_world_row(block, i, 0.0, 1.0, gravity, rows, work)
        else:
            move, turn = along_z(block, c)
            along = amount(block, c, move, q, work)
            put_node_motion(block, i, move, turn, along, work)
            put_world_frame(block, c, w, k, i, along, work)
            if dofs(block, c) > 0:
                put_world_row(block, i, move, turn, gravity, rows, work)


@inline
def put_world_row(block, i, move, turn, gravity, rows, work):
    """The row of the dof of node i, whose frame, velocity and inertia are there."""
    c, w, a = node_row(i), work_row(i), whole(block, node_row(i) + VI)
    d = rows + SINGLE * a
    X, M, v = get_frame(work, node_variation(block, i)), get_inertia(work, w + W_P), get_pair(work, w + W_V)
    drift, D = drift_of(move, turn, v), root(get(work, w + W_ELIM))
    put_pair(work, d + SINGLE_LOAD, force_to_parent(X, load_of(move, turn, M, get_pair(work, w + W_PHI), v, drift)))
    put_pair(work, d + SINGLE_DRIFT, motion_to_parent(X, drift))
    put_pair(work, d + SINGLE_U, force_to_parent(X, scale6(D, column_of(move, turn, M))))
    z = X[0][2]
    put_pair(work, d + SINGLE_S, (axpy(D * move, z, scale(D * turn, cross(X[1], z))), scale(D * turn, z)))
    put3(work, d + SINGLE_SWAY, scale(turn, cross(gravity, z)))
    put3(work, d + SINGLE_F, tmul(X[0], momentum_of(block, c, w, move, turn, work)))
    put(work, d + SINGLE_SCALE, D)
    put_numbers(block, a, rows, work)


@inline
def put_numbers(block, a, rows, work):
    """Which dof it is, and which are before it; those have their rows already."""
    d, before = rows + SINGLE * a, whole(block, coordinate_row(block, a) + BEFORE)
    put(work, d + SINGLE_OWN, 1.0 * a); put(work, d + SINGLE_BEFORE, 1.0 * before)
    put(work, d + SINGLE_DEPTH, 1.0); put(work, d + SINGLE_FORKS, 0.0)
    if before >= 0:
        put(work, d + SINGLE_DEPTH, 1.0 + get(work, rows + SINGLE * before + SINGLE_DEPTH))
        if before != a - 1:
            put(work, rows + SINGLE * before + SINGLE_FORKS, 1.0)
