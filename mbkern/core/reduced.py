"""Hamilton's equations proper (DAH): the mass matrix along the paths to the root, factored without fill (Algorithm 3).

    (B^T M B + r) u = p - B^T M phi,   B = T A,   phi = T vr,   T = S^-1,   then v, mu, pdot as in the extended system

Ivanov & Shimanovskiy 2023, DAH; method "dah". On nodes, so that A is a constant unit twist e in each node's own frame:

    backward   Mc_k += C^T Mc C                                composite inertia: mass, first moment, inertia
               H_jk = e_k^T F_j,   F_j = C^T ... C^T Mc_j e_j  for k on the way from j to the root, no others
               H_jj += r_j                                     inertia of the rotor (armature)
               D_j = H_jj,   L_jk = H_jk / D_j,   H_kl -= L_jk H_jl,   b_k -= L_jk b_j
    forward    u_j = b_j / D_j - sum over k of L_jk u_k,   v = C v_k + e u
               mu_k += C^T mu,   pdot = e^T (F* - Omega mu)    and once more from the leaves

F_j goes to the root in world axes (:mod:`.composite_axes`): its force stays what it is, its moment grows by way x f at
every node, 17 operations for a number of H where C^T F has 42.

A row of H holds the dofs from the root to j, so the row of k is as long as the part of row j up to k: the
elimination subtracts a multiple of the beginning of one row from another. On a carousel rows have two numbers, and the
work is linear; on a chain the rows grow, work is cubic and memory quadratic.

To read along: :mod:`mbkern.textbook.dah`.
"""

from .composite_axes import W_COMPOSITE_AXES, W_COMPOSITE_WAY, put_composites
from .forces import add_joint_forces
from .jit import inline, kernel
from .joints import (
    add_drive_rate, add_projection, add_rates, dofs, inertia_along, put_drive_margins, put_momentum, put_momentum_rates,
    put_projection, put_rates, put_world_projection,
)
from .layout import (
    BEFORE, BRANCH_LEAF, CASE, CHAINED_LEAF, DEPTH, GRAVITY, INERTIA, MASS, MASS_ROW, MOMENT, N_BEFORE, N_DRIVES,
    N_NODES, NV, OTHER, PARENT, ROTOR, SUBTREE_MASS, TOLERANCE, VI, W_GRAVITY, W_MOMENT, W_PHI, W_R, W_V,
    coordinate_row, get3, get6, get33, get_pair, margins_at, node_row, put3, put_pair, speeds_at, work_row, work_size,
)
from .momenta import own_momentum
from .number import fma, get, put, smaller, whole
from .passing import add_to_parent, at_parent, put_carried
from .rotors import armature
from .spatial import ZERO6, rigid_times, scale6, shift_force, trace
from .vec3 import tmul
from .world_axes import FROM_PARENT, is_outermost


# ---- the mass matrix, and Algorithm 3 on it ----
@inline
def put_mass(block, q, work):
    """H along the paths to the root, composite inertias, turns of hinges and frames of other nodes."""
    put_composites(block, q, FROM_PARENT, False, work)
    for i in range(whole(block, N_NODES)):
        c, w, case = node_row(i), work_row(i), whole(block, node_row(i) + CASE)
        m, s, J = get(block, c + SUBTREE_MASS), get3(work, w + W_MOMENT), get6(work, w + W_R)
        if case < OTHER:
            at, depth = row_at(block, whole(block, c + VI)), whole(block, c + DEPTH)
            put(work, at + depth, J[5])
            if depth > 0:
                if case == CHAINED_LEAF or case == BRANCH_LEAF:  # its centre of mass is on its x axis
                    put_leaf_row(block, i, depth, ((0.0, s[0], 0.0), (J[2], J[4], J[5])), at, work)
                else:
                    put_row(block, i, depth, in_world(((-s[1], s[0], 0.0), (J[2], J[4], J[5])), i, work), at, work)
        else:
            for a in range(dofs(block, c)):
                put_row_of_any(block, i, a, m, s, J, work)


@inline
def row_at(block, j):
    """Where the row of dof j is in the workspace."""
    return work_size(block) + whole(block, coordinate_row(block, j) + MASS_ROW)


@inline
def in_world(F, i, work):
    """A force in the axes of node i in those of the world."""
    E = get33(work, work_row(i) + W_COMPOSITE_AXES)
    return (tmul(E, F[0]), tmul(E, F[1]))


@inline
def put_row_of_any(block, i, a, m, s, J, work):
    """The row of dof a of a node of any kind: for the dofs of the node itself, then for those before it."""
    c, F_at = node_row(i), work_row(whole(block, N_NODES)) + W_PHI
    vi, depth = whole(block, c + VI), whole(block, c + DEPTH)
    at = row_at(block, vi + a)
    put_momentum(block, c, a, m, s, J, F_at, work)
    F = get_pair(work, F_at)
    put_projection(block, c, F, a + 1, work, at + depth)
    if whole(block, c + ROTOR) != 0:
        put(work, at + depth + a, get(work, at + depth + a) + armature(block, vi + a))
    if depth > 0:
        if is_outermost(block, c):
            put_leaf_row(block, i, depth, F, at, work)
        else:
            put_row(block, i, depth, in_world(F, i, work), at, work)


@inline
def put_leaf_row(block, i, length, F, at, work):
    """F of a node without children along the `length` dofs before it: world axes pay from the second node on."""
    k = whole(block, node_row(i) + PARENT)
    F_k, first = at_parent(block, i, F, work), whole(block, node_row(k) + DEPTH)
    put_projection(block, node_row(k), F_k, length - first, work, at + first)
    if first > 0:
        put_row(block, k, first, in_world(F_k, k, work), at, work)


@inline
def put_row(block, i, length, F, at, work):
    """F, at node i in world axes, along the `length` dofs before it on the way to the root."""
    while length > 0:
        F = shift_force(get3(work, work_row(i) + W_COMPOSITE_WAY), F)
        i = whole(block, node_row(i) + PARENT)
        length = whole(block, node_row(i) + DEPTH)
        put_world_projection(block, node_row(i), get33(work, work_row(i) + W_COMPOSITE_AXES), F, work, at + length)


@inline
def put_margin(block, i, a, pivot, work):
    """What elimination has left of the pivot of dof a of node i, against the composite inertia it came from."""
    c, at = node_row(i), margins_at(block) + i
    size = inertia_along(block, c, a, 3.0 * get(block, c + SUBTREE_MASS), trace(get6(work, work_row(i) + W_R)))
    margin = fma(-get(block, c + TOLERANCE), size, pivot)
    put(work, at, smaller(margin, get(work, at)))


@inline
def factor(block, work):
    """H = L^T D L in place, and b <- D^-1 L^-T b for the right side b in the place of the speeds."""
    H, b = work_size(block), speeds_at(block)
    put_drive_margins(block, work)
    for i in range(whole(block, N_NODES) - 1, -1, -1):
        c = node_row(i)
        for a in range(dofs(block, c) - 1, -1, -1):
            j = whole(block, c + VI) + a
            row = coordinate_row(block, j)
            at, last = H + whole(block, row + MASS_ROW), whole(block, row + N_BEFORE)
            pivot, b_j = get(work, at + last), get(work, b + j)
            put_margin(block, i, a, pivot, work)
            d = 1.0 / pivot
            k = whole(block, row + BEFORE)
            for place in range(last - 1, -1, -1):
                row_k = coordinate_row(block, k)
                at_k, l = H + whole(block, row_k + MASS_ROW), get(work, at + place) * d
                for x in range(place + 1):
                    put(work, at_k + x, fma(-l, get(work, at + x), get(work, at_k + x)))
                put(work, b + k, fma(-l, b_j, get(work, b + k)))
                put(work, at + place, l)
                k = whole(block, row_k + BEFORE)
            put(work, b + j, b_j * d)


@inline
def substitute(block, work):
    """u = L^-1 b in the place of the speeds, root first."""
    H, u = work_size(block), speeds_at(block)
    for j in range(whole(block, NV)):
        row = coordinate_row(block, j)
        at, k = H + whole(block, row + MASS_ROW), whole(block, row + BEFORE)
        for place in range(whole(block, row + N_BEFORE) - 1, -1, -1):
            put(work, u + j, fma(-get(work, at + place), get(work, u + k), get(work, u + j)))
            k = whole(block, coordinate_row(block, k) + BEFORE)


# ---- the sweeps ----
@inline
def backward(block, q, p, work):
    """H, the right side p - B^T M phi in the place of the speeds, and the factorization."""
    b = speeds_at(block)
    put_mass(block, q, work)
    for j in range(whole(block, NV)):
        put(work, b + j, get(p, j))
    if whole(block, N_DRIVES) > 0:
        subtract_drift(block, work)
    factor(block, work)


@inline
def subtract_drift(block, work):
    """b -= B^T M phi: the momenta that prescribed motion alone would have."""
    n = whole(block, N_NODES)
    ground = work_row(n)
    put_pair(work, ground + W_V, ZERO6)
    put3(work, ground + W_GRAVITY, get3(block, GRAVITY))
    for i in range(n):
        c, w = node_row(i), work_row(i)
        put_carried(block, i, work)
        add_drive_rate(block, c, w + W_V, work)
        put_pair(work, w + W_PHI, scale6(-1.0, own_momentum(block, c, get_pair(work, w + W_V))))
    for i in range(n - 1, -1, -1):
        F = get_pair(work, work_row(i) + W_PHI)
        add_projection(block, node_row(i), F, work, speeds_at(block))
        add_to_parent(block, i, F, work)


@inline
def forward(block, q, qdot, pdot, work):
    """Joint speeds, qdot, velocities and momenta of all nodes, root first; then mu and pdot, leaves first."""
    substitute(block, work)
    carry_momenta(block, q, qdot, pdot, work)


@inline
def carry_momenta(block, q, qdot, pdot, work):
    """The same when the joint speeds are in the workspace; first moments of subtrees are too, and what :mod:`.passing`
    needs."""
    n, speeds = whole(block, N_NODES), speeds_at(block)
    ground = work_row(n)
    put_pair(work, ground + W_V, ZERO6)
    put3(work, ground + W_GRAVITY, get3(block, GRAVITY))
    for i in range(n):
        c, w, case = node_row(i), work_row(i), whole(block, node_row(i) + CASE)
        put_carried(block, i, work)
        add_rates(block, c, w + W_V, work, speeds, work)
        add_drive_rate(block, c, w + W_V, work)
        v = get_pair(work, w + W_V)
        if case == CHAINED_LEAF or case == BRANCH_LEAF:  # whose centre of mass is on its x axis
            s = (get(block, c + MOMENT), 0.0, 0.0)
            put_pair(work, w + W_PHI, rigid_times(get(block, c + MASS), s, get6(block, c + INERTIA), v))
        else:
            put_pair(work, w + W_PHI, own_momentum(block, c, v))
    for i in range(n - 1, -1, -1):
        c, w = node_row(i), work_row(i)
        v, mu = get_pair(work, w + W_V), get_pair(work, w + W_PHI)
        put_momentum_rates(block, c, v, mu, get3(work, w + W_MOMENT), get3(work, w + W_GRAVITY), pdot)
        add_to_parent(block, i, mu, work)
    put_rates(block, q, work, speeds, qdot)


@kernel
def sweeps(block, q, p, tau, qdot, pdot, work):
    """qdot and pdot for any number type; the drive values are in the workspace already."""
    backward(block, q, p, work)
    forward(block, q, qdot, pdot, work)
    add_joint_forces(block, q, tau, pdot, work)
