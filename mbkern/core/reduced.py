"""Hamilton's equations proper (DAH): the mass matrix along the paths to the root, factored without fill (Algorithm 3).

    (B^T M B + r) u = p - B^T M phi,   B = T A,   phi = T vr,   T = S^-1,   then v, mu, pdot as in the extended system

Ivanov & Shimanovskiy 2023, DAH; method "dah". On nodes, so that A is a constant unit twist e in each node's own frame:

    backward   Mc_k += C^T Mc C                                composite inertia: mass, first moment, inertia
               H_jk = e_k^T C^T ... C^T Mc_j e_j               for k on the way from j to the root, no others
               H_jj += r_j                                     inertia of the rotor (armature)
               D_j = H_jj,   L_jk = H_jk / D_j,   H_kl -= L_jk H_jl,   b_k -= L_jk b_j
    forward    u_j = b_j / D_j - sum over k of L_jk u_k,   v = C v_k + e u
               mu_k += C^T mu,   pdot = e^T (F* - Omega mu)    and once more from the leaves

A row of H holds the dofs from the root to j, so the row of k is as long as the part of row j up to k: the
elimination subtracts a multiple of the beginning of one row from another. On a carousel rows have two numbers, and the
work is linear; on a chain the rows grow, work is cubic and memory quadratic.

To read along: :mod:`mbkern.textbook.dah`.
"""

from .checks import STALE, stale, status
from .composite import put_rows
from .drives import evaluate_drives
from .forces import add_joint_forces
from .jit import inline, kernel
from .joints import (
    add_drive_rate, add_rates, dofs, inertia_along, put_drive_margins, put_frames, put_momentum_rates, put_rates,
)
from .layout import (
    BEFORE, GRAVITY, MASS_ROW, N_BEFORE, N_DRIVES, N_NODES, NV, PARENT, SUBTREE_MASS, TOLERANCE, VI, W_G, W_GRAVITY,
    W_MOMENT, W_PHI, W_R, W_V,
    add_to_pair, coordinate_row, get3, get6, get_frame, get_pair, margins_at, node_row, put3, put_pair, speeds_at,
    work_row, work_size,
)
from .momenta import add_forces, own_momentum
from .number import fma, get, put, smaller, whole
from .spatial import ZERO6, force_to_parent, motion_to_child, scale6, trace
from .vec3 import mul


# ---- the mass matrix, and Algorithm 3 on it ----
@inline
def put_mass(block, work):
    """H along the paths to the root, and the composite inertias; frames are in the workspace already."""
    put_rows(block, 0, work, True, work, work_size(block), work)


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
def backward(block, p, work):
    """H, the right side p - B^T M phi in the place of the speeds, and the factorization."""
    b = speeds_at(block)
    for j in range(whole(block, NV)):
        put(work, b + j, get(p, j))
    if whole(block, N_DRIVES) > 0:
        subtract_drift(block, work)
    put_mass(block, work)
    factor(block, work)


@inline
def subtract_drift(block, work):
    """b -= B^T M phi: the momenta that prescribed motion alone would have."""
    n = whole(block, N_NODES)
    ground = work_row(n)
    put_pair(work, ground + W_V, ZERO6)
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kw = work_row(k) if k >= 0 else ground
        put_pair(work, w + W_V, motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_V)))
        add_drive_rate(block, c, w + W_V, work)
        put_pair(work, w + W_PHI, scale6(-1.0, own_momentum(block, c, get_pair(work, w + W_V))))
    add_forces(block, work, speeds_at(block), work)


@inline
def forward(block, q, qdot, pdot, work):
    """Joint speeds, qdot, velocities and momenta of all nodes, root first; then mu and pdot, leaves first."""
    substitute(block, work)
    carry_momenta(block, q, qdot, pdot, work)


@inline
def carry_momenta(block, q, qdot, pdot, work):
    """The same when the joint speeds are in the workspace; frames and first moments of subtrees are too."""
    n, speeds = whole(block, N_NODES), speeds_at(block)
    ground = work_row(n)
    put_pair(work, ground + W_V, ZERO6)
    put3(work, ground + W_GRAVITY, get3(block, GRAVITY))
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kw = work_row(k) if k >= 0 else ground
        X = get_frame(work, w + W_G)
        put_pair(work, w + W_V, motion_to_child(X, get_pair(work, kw + W_V)))
        put3(work, w + W_GRAVITY, mul(X[0], get3(work, kw + W_GRAVITY)))
        add_rates(block, c, w + W_V, work, speeds, work)
        add_drive_rate(block, c, w + W_V, work)
        put_pair(work, w + W_PHI, own_momentum(block, c, get_pair(work, w + W_V)))
    for i in range(n - 1, -1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        v, mu = get_pair(work, w + W_V), get_pair(work, w + W_PHI)
        put_momentum_rates(block, c, v, mu, get3(work, w + W_MOMENT), get3(work, w + W_GRAVITY), pdot)
        if k >= 0:
            add_to_pair(work, work_row(k) + W_PHI, force_to_parent(get_frame(work, w + W_G), mu))
    put_rates(block, q, work, speeds, qdot)


@kernel
def sweeps(block, q, p, tau, qdot, pdot, work):
    """qdot and pdot for any number type; the drive values are in the workspace already."""
    put_frames(block, q, work)
    backward(block, p, work)
    forward(block, q, qdot, pdot, work)
    add_joint_forces(block, q, tau, pdot, work)


@kernel
def rhs(block, t, q, p, tau, qdot, pdot, work):
    """qdot and pdot at time t; tau may be empty. Returns the status of :func:`mbkern.core.checks.status`."""
    if stale(block):
        return STALE
    evaluate_drives(block, t, work)
    sweeps(block, q, p, tau, qdot, pdot, work)
    return status(block, work)
