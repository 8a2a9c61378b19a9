"""Hamilton's equations proper (DAH): the mass matrix along the paths to the root, factored without fill (Algorithm 3).

    (B^T M B + r) u = p - B^T M phi,   B = T A,   phi = T vr,   T = S^-1,   then v, mu, pdot as in the extended system

Ivanov & Shimanovskiy 2023, DAH; method "dah". On nodes, so that A is a constant unit twist e in each node's own frame:

    backward   Mc_k += C^T Mc C                                composite inertia: mass, first moment, inertia
               H_jk = e_k^T C^T ... C^T Mc_j e_j               for k on the way from j to the root, no others
               H_jj += r_j                                     inertia of the rotor (armature)
               D_j = H_jj,   L_jk = H_jk / D_j,   H_kl -= L_jk H_jl,   b_k -= L_jk b_j
    forward    u_j = b_j / D_j - sum over k of L_jk u_k,   v = C v_k + e u
               mu_k += C^T mu,   pdot = e^T (F* - Omega mu)    and once more from the leaves

A row of H holds the freedoms from the root to j, so the row of k is as long as the part of row j up to k: the
elimination subtracts a multiple of the beginning of one row from another. On a carousel rows have two numbers, and the
work is linear; on a chain the rows grow, work is cubic and memory quadratic.

To read along: :mod:`mbkern.textbook.dah`.
"""

from .checks import STALE, stale, status
from .drives import evaluate_drives
from .forces import add_joint_forces
from .jit import inline, kernel
from .joints import (
    freedoms, put_free_rate, put_frames, put_quaternion_rate, twist_axis, unit_twist,
)
from .layout import (
    BALL, BEFORE, DEPTH, DRIVEN_REVOLUTE, FREE, GRAVITY, INERTIA, KIND, MASS, MASS_ROW, MOMENT, N_BEFORE, N_DRIVES,
    N_NODES, NV, PARENT, PRISMATIC, QI, REVOLUTE, ROTOR, SUBTREE_MASS, VI, W_G, W_GRAVITY, W_MOMENT, W_PHI, W_R, W_V,
    add_to3, add_to6, add_to_pair, coordinate_row, drive_values, get3, get6, get_frame, get_pair,
    margins_at, node_row, put3, put6, put_pair, speeds_at, work_row, work_size,
)
from .number import fma, get, put, smaller, whole
from .rotors import armature
from .spatial import (
    PIVOT_TOLERANCE, ZERO6, add6, dot6, force_to_parent, motion_to_child, omega_times, pivot_margin, rigid_times,
    rigid_to_parent,
)
from .vec3 import add, axpy, cross, mul, neg, sub

Z_TURN = ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
Z_SHIFT = ((0.0, 0.0, 1.0), (0.0, 0.0, 0.0))


# ---- the mass matrix, and Algorithm 3 on it ----
@inline
def put_row(block, i, length, F, at, work):
    """A row of H: the momentum F of node i's subtree along the `length` freedoms from node i to the root."""
    scratch = work_row(whole(block, N_NODES)) + W_PHI
    put_pair(work, scratch, F)
    F = get_pair(work, scratch)  # of one type from here on, whatever F was
    while length > 0:
        c = node_row(i)
        kind, first = whole(block, c + KIND), whole(block, c + DEPTH)
        if kind == REVOLUTE:
            put(work, at + first, F[1][2])
        elif kind == PRISMATIC:
            put(work, at + first, F[0][2])
        elif kind <= FREE:
            for a in range(length - first):
                put(work, at + first + a, dot6(unit_twist(twist_axis(kind, a)), F))
        length = first
        if length > 0:  # compiled code would carry F beyond the root
            F = force_to_parent(get_frame(work, work_row(i) + W_G), F)
            i = whole(block, c + PARENT)


@inline
def put_mass(block, work):
    """H along the paths to the root, and the composite inertias; frames are in the workspace already."""
    n, H = whole(block, N_NODES), work_size(block)
    for i in range(n):
        c, w = node_row(i), work_row(i)
        put3(work, w + W_MOMENT, get3(block, c + MOMENT))
        put6(work, w + W_R, get6(block, c + INERTIA))
    for i in range(n - 1, -1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kind, vi, depth = whole(block, c + KIND), whole(block, c + VI), whole(block, c + DEPTH)
        m, s, J = get(block, c + SUBTREE_MASS), get3(work, w + W_MOMENT), get6(work, w + W_R)
        if k >= 0:
            s_k, J_k = rigid_to_parent(get_frame(work, w + W_G), m, s, J)
            add_to3(work, work_row(k) + W_MOMENT, s_k)
            add_to6(work, work_row(k) + W_R, J_k)
        if kind == REVOLUTE:
            at = H + whole(block, coordinate_row(block, vi) + MASS_ROW)
            put_row(block, i, depth + 1, rigid_times(m, s, J, Z_TURN), at, work)
        elif kind == PRISMATIC:
            at = H + whole(block, coordinate_row(block, vi) + MASS_ROW)
            put_row(block, i, depth + 1, rigid_times(m, s, J, Z_SHIFT), at, work)
        else:
            for a in range(freedoms(kind)):
                at = H + whole(block, coordinate_row(block, vi + a) + MASS_ROW)
                put_row(block, i, depth + a + 1, rigid_times(m, s, J, unit_twist(twist_axis(kind, a))), at, work)
        if whole(block, c + ROTOR) != 0:
            for a in range(freedoms(kind)):
                at = H + whole(block, coordinate_row(block, vi + a) + MASS_ROW) + depth + a
                put(work, at, get(work, at) + armature(block, vi + a))


@inline
def put_margin(block, i, a, pivot, work):
    """What elimination has left of the pivot of freedom a of node i, against the composite inertia it came from."""
    c, at = node_row(i), margins_at(block) + i
    kind, m, J = whole(block, c + KIND), get(block, c + SUBTREE_MASS), get6(work, work_row(i) + W_R)
    if kind == PRISMATIC or (kind == FREE and a < 3):
        margin = fma(-3.0 * PIVOT_TOLERANCE, m, pivot)
    else:
        margin = pivot_margin(pivot, J)
    put(work, at, margin if a == freedoms(kind) - 1 else smaller(margin, get(work, at)))


@inline
def factor(block, work):
    """H = L^T D L in place, and b <- D^-1 L^-T b for the right side b in the place of the speeds."""
    H, b = work_size(block), speeds_at(block)
    for i in range(whole(block, N_NODES) - 1, -1, -1):
        c = node_row(i)
        kind = whole(block, c + KIND)
        if kind >= DRIVEN_REVOLUTE:
            put(work, margins_at(block) + i, get(work, drive_values(block, whole(block, c + QI)) + 3))
        for a in range(freedoms(kind) - 1, -1, -1):
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
    n, b = whole(block, N_NODES), speeds_at(block)
    ground = work_row(n)
    put_pair(work, ground + W_V, ZERO6)
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kw, kind = work_row(k) if k >= 0 else ground, whole(block, c + KIND)
        u, o = motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_V))
        put_pair(work, w + W_V, (u, o))
        if kind >= DRIVEN_REVOLUTE:
            rate = get(work, drive_values(block, whole(block, c + QI)) + 1)
            place = w + W_V + twist_axis(kind, 0)
            put(work, place, get(work, place) + rate)
        M_v = rigid_times(get(block, c + MASS), get3(block, c + MOMENT), get6(block, c + INERTIA),
                          get_pair(work, w + W_V))
        put_pair(work, w + W_PHI, M_v)
    for i in range(n - 1, -1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kind, vi = whole(block, c + KIND), b + whole(block, c + VI)
        mu = get_pair(work, w + W_PHI)
        for a in range(freedoms(kind)):
            put(work, vi + a, get(work, vi + a) - get(work, w + W_PHI + twist_axis(kind, a)))
        if k >= 0:
            add_to_pair(work, work_row(k) + W_PHI, force_to_parent(get_frame(work, w + W_G), mu))


@inline
def forward(block, q, qdot, pdot, work):
    """Joint speeds, qdot, velocities and momenta of all nodes, root first; then mu and pdot, leaves first."""
    substitute(block, work)
    n, speeds = whole(block, N_NODES), speeds_at(block)
    ground = work_row(n)
    put_pair(work, ground + W_V, ZERO6)
    put3(work, ground + W_GRAVITY, get3(block, GRAVITY))
    for i in range(n):
        c, w = node_row(i), work_row(i)
        kind, qi, vi = whole(block, c + KIND), whole(block, c + QI), speeds + whole(block, c + VI)
        k = whole(block, c + PARENT)
        kw = work_row(k) if k >= 0 else ground
        X = get_frame(work, w + W_G)
        u, o = motion_to_child(X, get_pair(work, kw + W_V))
        put3(work, w + W_GRAVITY, mul(X[0], get3(work, kw + W_GRAVITY)))
        if kind == REVOLUTE:
            rate = get(work, vi)
            put(qdot, qi, rate)
            put_pair(work, w + W_V, (u, (o[0], o[1], o[2] + rate)))
        elif kind == PRISMATIC:
            rate = get(work, vi)
            put(qdot, qi, rate)
            put_pair(work, w + W_V, ((u[0], u[1], u[2] + rate), o))
        elif kind == BALL:
            rate3 = get3(work, vi)
            put_quaternion_rate(q, qi, rate3, qdot)
            put_pair(work, w + W_V, (u, add(o, rate3)))
        elif kind == FREE:
            rate6 = get_pair(work, vi)
            put_free_rate(q, qi, rate6, qdot)
            put_pair(work, w + W_V, add6((u, o), rate6))
        elif kind == DRIVEN_REVOLUTE:
            rate = get(work, drive_values(block, qi) + 1)
            put_pair(work, w + W_V, (u, (o[0], o[1], o[2] + rate)))
        else:
            rate = get(work, drive_values(block, qi) + 1)
            put_pair(work, w + W_V, ((u[0], u[1], u[2] + rate), o))
        M_v = rigid_times(get(block, c + MASS), get3(block, c + MOMENT), get6(block, c + INERTIA),
                          get_pair(work, w + W_V))
        put_pair(work, w + W_PHI, M_v)
    for i in range(n - 1, -1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kind, vi = whole(block, c + KIND), whole(block, c + VI)
        mu, g = get_pair(work, w + W_PHI), get3(work, w + W_GRAVITY)
        m, s = get(block, c + SUBTREE_MASS), get3(work, w + W_MOMENT)
        v = get_pair(work, w + W_V)
        if kind == REVOLUTE:
            put(pdot, vi, cross(s, g)[2] - omega_times(v, mu)[1][2])
        elif kind == PRISMATIC:
            put(pdot, vi, fma(m, g[2], -omega_times(v, mu)[0][2]))
        elif kind == BALL:
            put3(pdot, vi, sub(cross(s, g), omega_times(v, mu)[1]))
        elif kind == FREE:
            force = omega_times(v, mu)
            put_pair(pdot, vi, (axpy(m, g, neg(force[0])), sub(cross(s, g), force[1])))
        if k >= 0:
            add_to_pair(work, work_row(k) + W_PHI, force_to_parent(get_frame(work, w + W_G), mu))


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
