"""Centre of mass, and momentum of the whole machine about it, in world axes.

    c = sum of m r / sum of m                 over all bodies, also those that stand on the ground
    h = (l; k - c x l)                        l, k: sum of the bodies' momenta, moments about the world's origin
    h = A u + what drives add                 A: the column of a dof is Mc e, carried to c

    Mc   composite inertia: of all that moves with a dof           e   unit twist of the dof

l and k come from the nodes on the ground, which carry all that moves: mu = M* v + phi of each of them, as the sweep of
:mod:`.speeds` leaves them. Orin & Goswami 2008 call A the centroidal momentum matrix.
"""

from .composite_axes import W_COMPOSITE_WAY, dof_momentum, put_composites
from .jit import inline
from .joints import dofs, put_frame_of, put_frames
from .layout import (
    BODY_MASS, BODY_NODE, GROUND_MOMENT, MOMENT, N_BODIES, N_NODES, NV, PARENT, SUBTREE_MASS, VI, W_G, W_MOMENT, W_P,
    W_PHI, W_V,
    add_to3, body_row, get3, get_frame, get_inertia, get_pair, node_row, put3, put_pair, work_row,
)
from .number import get, put, whole
from .spatial import ZERO6, add6, force_to_parent, inertia_times_plus
from .speeds import put_speeds
from .vec3 import add, axpy, cross, scale, sub, tmul
from .world_axes import FROM_PARENT


@inline
def center_of_mass(block, q, r, work):
    """Position of the centre of mass."""
    put_frames(block, q, work)
    n = whole(block, N_NODES)
    for i in range(n):
        put3(work, work_row(i) + W_MOMENT, get3(block, node_row(i) + MOMENT))
    for i in range(n - 1, -1, -1):
        k = whole(block, node_row(i) + PARENT)
        if k >= 0:
            add_to3(work, work_row(k) + W_MOMENT, moment_in_parent(block, i, work))
    put3(r, 0, center(block, q, work))


@inline
def moment_in_parent(block, i, work):
    """First moment of node i's subtree in the parent's axes, about its origin."""
    G, rho = get_frame(work, work_row(i) + W_G)
    return axpy(get(block, node_row(i) + SUBTREE_MASS), rho, tmul(G, get3(work, work_row(i) + W_MOMENT)))


@inline
def moment_about_origin(block, q, work):
    """First moment of all bodies; those of the subtrees are in the workspace."""
    n = whole(block, N_NODES)
    ground = work_row(n) + W_MOMENT
    put3(work, ground, get3(block, GROUND_MOMENT))
    for i in range(n):
        if whole(block, node_row(i) + PARENT) < 0:
            put_frame_of(block, i, q, work)
            add_to3(work, ground, moment_in_parent(block, i, work))
    return get3(work, ground)


@inline
def center(block, q, work):
    """The centre of mass; first moments are in the workspace."""
    moment = moment_about_origin(block, q, work)
    ground = work_row(whole(block, N_NODES)) + W_V  # the sum of masses
    put(work, ground, 0.0)
    for i in range(whole(block, N_NODES)):
        if whole(block, node_row(i) + PARENT) < 0:
            put(work, ground, get(work, ground) + get(block, node_row(i) + SUBTREE_MASS))
    for b in range(whole(block, N_BODIES)):
        if whole(block, body_row(block, b) + BODY_NODE) < 0:
            put(work, ground, get(work, ground) + get(block, body_row(block, b) + BODY_MASS))
    return scale(1.0 / get(work, ground), moment)


@inline
def total_momentum(block, q, p, h, work):
    """Momentum, and angular momentum about the centre of mass."""
    put_speeds(block, q, p, work)
    c = center(block, q, work)
    put_pair(h, 0, ZERO6)
    for i in range(whole(block, N_NODES)):
        w = work_row(i)
        if whole(block, node_row(i) + PARENT) < 0:
            mu = inertia_times_plus(get_inertia(work, w + W_P), get_pair(work, w + W_V), get_pair(work, w + W_PHI))
            put_pair(h, 0, add6(get_pair(h, 0), force_to_parent(get_frame(work, w + W_G), mu)))
    l, k = get_pair(h, 0)
    put3(h, 3, sub(k, cross(c, l)))


@inline
def total_momentum_matrix(block, q, A, work):
    """A, 6 x nv row by row."""
    put_composites(block, q, FROM_PARENT, True, work)
    n, nv = whole(block, N_NODES), whole(block, NV)
    c = center(block, q, work)
    for i in range(n):
        node, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        way = get3(work, w + W_COMPOSITE_WAY)
        # from the centre of mass to the node
        arm = add(way, get3(work, work_row(k) + W_V)) if k >= 0 else sub(way, c)
        put3(work, w + W_V, arm)
        for a in range(dofs(block, node)):
            f, t = dof_momentum(block, i, a, work)
            t = add(t, cross(arm, f))
            j = whole(block, node + VI) + a
            put(A, j, f[0]); put(A, nv + j, f[1]); put(A, 2 * nv + j, f[2])
            put(A, 3 * nv + j, t[0]); put(A, 4 * nv + j, t[1]); put(A, 5 * nv + j, t[2])
