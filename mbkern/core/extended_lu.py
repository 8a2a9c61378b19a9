"""The extended Hamiltonian system by block LU (Algorithm 1): rhs(q, p) in one backward and one forward sweep.

    M v - S^T mu = 0,   -S v + A qdot = -vr,   A^T mu = p,   pdot = (Adot^T - A^T Omega) mu + A^T F*

Ivanov & Shimanovskiy 2023, EMH with the factorization of Vereshchagin; method "emh-lu". Body by body, with the joint's
whole A (6 x n) and the explicit n x n inverse D, in the user's body frames. For body i with parent k:

    backward   U = M* A,   D = (A^T U + r)^-1,   K = U D,   r = p - A^T (phi + M* vr)
               M*_k  += C^T (M* - K U^T) C        phi_k += C^T (phi + M* vr + K r)
               F*_k  += C^T F*
    forward    v0 = C v_k + vr,   u = D [p - A^T (phi + M* v0)],   v = v0 + A u,   mu = M* v + phi
               pdot as above

    M*, phi   articulated inertia (P, Q, R) and momentum of the subtree when the body rests
    F*        weight of the subtree at the body's origin, in body axes
    r         inertia of the rotors (armature), diagonal; p = A^T mu + r u

The explicit inverse squares the condition of a joint's A^T M* A, and what is lost goes on to the parent in M*. The
momenta of the velocities that come out tell: D (p - A^T Psi_C^T M v - r u) is the error of a joint's speeds as long as
the other joints move as they do. The largest, over the largest number of u and vr, is the estimate at `loss_at`.

To read along: :mod:`mbkern.textbook.emh_lu`.
"""

from .blocks import B_A, B_G, B_VR, blocks_row, joint_momentum_rates, put_blocks
from .forces import add_joint_forces
from .jit import inline, kernel
from .joints import drive_of, dofs, is_driven, put_rates
from .layout import (
    BODY_DOFS, BODY_INERTIA, BODY_MASS, BODY_MOMENT, BODY_PARENT, BODY_V, FIRST_NODE, GRAVITY, N_BODIES, N_JOINT_NODES,
    N_ROTORS, VI,
    add_to3, add_to_inertia, add_to_pair, body_row, get3, get6, get_frame, get_inertia, get_pair,
    loss_at, margins_at, node_row, put3, put_inertia, put_pair, speeds_at,
)
from .number import get, larger, magnitude, put, smaller, whole
from .rotors import armature
from .spatial import (
    PIVOT_TOLERANCE, ZERO6, add6, dot6, downdate, force_to_parent, inertia_times, inertia_to_parent, motion_to_child,
    rigid_inertia, rigid_times, scale6, trace,
)
from .vec3 import add, cross, dot, mul, scale, tmul

# row of a body: M* 21, phi 6, mass and first moment of the subtree 1 + 3, U 36, K 36, D 36, v 6, gravity 3, pivots 6
U_M, U_PHI, U_MASS, U_MOMENT, U_U, U_K, U_D, U_V, U_GRAVITY = 0, 21, 27, 28, 31, 67, 103, 139, 145
U_PIVOTS = 148
U_MU, U_RESIDUAL = U_K, U_K + 6  # K is not needed any more when these are: momentum 6, residuals 6 + 1
U_ROW = 154
TINY = 1e-300  # where nothing moves at all, nothing is lost


@inline
def lu_row(block, b):
    """Row of body b in the workspace; the ground has the row after the last body."""
    return blocks_row(block, whole(block, N_BODIES)) + b * U_ROW


@inline
def invert(work, at, n, pivots):
    """Invert the symmetric positive definite n x n matrix at `at` in place (Gauss-Jordan); keep its pivots."""
    for k in range(n):
        pivot = get(work, at + 6 * k + k)
        put(work, pivots + k, pivot)
        d = 1.0 / pivot
        put(work, at + 6 * k + k, 1.0)
        for j in range(n):
            put(work, at + 6 * k + j, get(work, at + 6 * k + j) * d)
        for i in range(n):
            if i != k:
                f = get(work, at + 6 * i + k)
                put(work, at + 6 * i + k, 0.0)
                for j in range(n):
                    put(work, at + 6 * i + j, get(work, at + 6 * i + j) - f * get(work, at + 6 * k + j))


@inline
def put_margins(block, b, M, work):
    """Margins of the nodes of body b's joint from its pivots."""
    row, at, pivots = body_row(block, b), blocks_row(block, b), lu_row(block, b) + U_PIVOTS
    first, speed, margins = whole(block, row + FIRST_NODE), whole(block, row + BODY_V), margins_at(block)
    for i in range(first, first + whole(block, row + N_JOINT_NODES)):
        c = node_row(i)
        if is_driven(block, c):
            put(work, margins + i, get(work, drive_of(block, c) + 3))
        for j in range(dofs(block, c)):
            column = whole(block, c + VI) + j - speed
            a = get_pair(work, at + B_A + 6 * column)
            size = trace(M[0]) * dot(a[0], a[0]) + trace(M[2]) * dot(a[1], a[1])
            margin = get(work, pivots + column) - PIVOT_TOLERANCE * size
            put(work, margins + i, margin if j == 0 else smaller(margin, get(work, margins + i)))


@inline
def put_bodies(block, work):
    """What the backward sweep starts from: each body's own inertia, mass and first moment, and phi = 0."""
    for b in range(whole(block, N_BODIES)):
        row, w = body_row(block, b), lu_row(block, b)
        m, s = get(block, row + BODY_MASS), get3(block, row + BODY_MOMENT)
        put_inertia(work, w + U_M, rigid_inertia(m, s, get6(block, row + BODY_INERTIA)))
        put_pair(work, w + U_PHI, ZERO6)
        put(work, w + U_MASS, m)
        put3(work, w + U_MOMENT, s)


@inline
def backward(block, p, work):
    """M*, phi, mass and first moment of all subtrees, and D, U, K of all joints, leaves first."""
    for b in range(whole(block, N_BODIES) - 1, -1, -1):
        row, w, at = body_row(block, b), lu_row(block, b), blocks_row(block, b)
        n_b, vi, k = whole(block, row + BODY_DOFS), whole(block, row + BODY_V), whole(block, row + BODY_PARENT)
        M = get_inertia(work, w + U_M)
        for i in range(n_b):
            put_pair(work, w + U_U + 6 * i, inertia_times(M, get_pair(work, at + B_A + 6 * i)))
        for i in range(n_b):
            for j in range(n_b):
                put(work, w + U_D + 6 * i + j, dot6(get_pair(work, at + B_A + 6 * i), get_pair(work, w + U_U + 6 * j)))
            put(work, w + U_D + 7 * i, get(work, w + U_D + 7 * i) + armature(block, vi + i))
        invert(work, w + U_D, n_b, w + U_PIVOTS)
        put_margins(block, b, M, work)
        for i in range(n_b):
            put_pair(work, w + U_K + 6 * i, ZERO6)
            for j in range(n_b):
                U_j = get_pair(work, w + U_U + 6 * j)
                add_to_pair(work, w + U_K + 6 * i, scale6(get(work, w + U_D + 6 * i + j), U_j))
        if k >= 0:
            kw, X = lu_row(block, k), get_frame(work, at + B_G)
            put_pair(work, w + U_V, add6(get_pair(work, w + U_PHI), inertia_times(M, get_pair(work, at + B_VR))))
            phi = get_pair(work, w + U_V)
            for i in range(n_b):
                r = get(p, vi + i) - dot6(get_pair(work, at + B_A + 6 * i), phi)
                add_to_pair(work, w + U_V, scale6(r, get_pair(work, w + U_K + 6 * i)))
            # six dofs without rotors transmit nothing: K U^T = M*
            stays = n_b < 6 or whole(block, row + N_ROTORS) > 0
            if stays:
                add_to_inertia(work, kw + U_M, inertia_to_parent(X, M))
            for i in range(n_b if stays else 0):  # C^T K U^T C, a rank-1 term for each dof
                K_i = force_to_parent(X, get_pair(work, w + U_K + 6 * i))
                U_i = force_to_parent(X, get_pair(work, w + U_U + 6 * i))
                add_to_inertia(work, kw + U_M, downdate(K_i, U_i))
            m, s = get(work, w + U_MASS), get3(work, w + U_MOMENT)
            add_to_pair(work, kw + U_PHI, force_to_parent(X, get_pair(work, w + U_V)))
            put(work, kw + U_MASS, get(work, kw + U_MASS) + m)
            add_to3(work, kw + U_MOMENT, add(tmul(X[0], s), scale(m, X[1])))


@inline
def put_speeds(block, b, kw, p, work):
    """Joint speeds and velocity of body b; kw is the row of its parent."""
    row, w, at = body_row(block, b), lu_row(block, b), blocks_row(block, b)
    n_b, vi = whole(block, row + BODY_DOFS), whole(block, row + BODY_V)
    speeds = speeds_at(block) + vi
    v0 = add6(motion_to_child(get_frame(work, at + B_G), get_pair(work, kw + U_V)), get_pair(work, at + B_VR))
    mu0 = add6(inertia_times(get_inertia(work, w + U_M), v0), get_pair(work, w + U_PHI))
    put_pair(work, w + U_V, v0)
    for i in range(n_b):
        put(work, speeds + i, 0.0)
    for j in range(n_b):
        r = get(p, vi + j) - dot6(get_pair(work, at + B_A + 6 * j), mu0)
        for i in range(n_b):
            put(work, speeds + i, get(work, speeds + i) + get(work, w + U_D + 6 * i + j) * r)
    for i in range(n_b):
        add_to_pair(work, w + U_V, scale6(get(work, speeds + i), get_pair(work, at + B_A + 6 * i)))


@inline
def put_all_speeds(block, p, work):
    """Joint speeds and velocities of all bodies, root first."""
    n = whole(block, N_BODIES)
    ground = lu_row(block, n)
    put_pair(work, ground + U_V, ZERO6)
    for b in range(n):
        k = whole(block, body_row(block, b) + BODY_PARENT)
        put_speeds(block, b, lu_row(block, k) if k >= 0 else ground, p, work)


@inline
def put_loss(block, p, work):
    """The estimate of the error; the mu of all bodies hold what is not M v (none, or Omega M v)."""
    n, speeds, loss = whole(block, N_BODIES), speeds_at(block), loss_at(block)
    put(work, loss, 0.0); put(work, loss + 1, TINY)
    for b in range(n):
        row, w = body_row(block, b), lu_row(block, b)
        v = get_pair(work, w + U_V)
        m, s, J = get(block, row + BODY_MASS), get3(block, row + BODY_MOMENT), get6(block, row + BODY_INERTIA)
        add_to_pair(work, w + U_MU, rigid_times(m, s, J, v))
        for i in range(6):
            drift = magnitude(get(work, blocks_row(block, b) + B_VR + i))
            put(work, loss + 1, larger(drift, get(work, loss + 1)))
    for b in range(n - 1, -1, -1):
        row, w, at = body_row(block, b), lu_row(block, b), blocks_row(block, b)
        n_b, vi, k = whole(block, row + BODY_DOFS), whole(block, row + BODY_V), whole(block, row + BODY_PARENT)
        mu, residual = get_pair(work, w + U_MU), w + U_RESIDUAL
        if k >= 0:
            add_to_pair(work, lu_row(block, k) + U_MU, force_to_parent(get_frame(work, at + B_G), mu))
        for j in range(n_b):
            u = get(work, speeds + vi + j)
            put(work, residual + j, get(p, vi + j) - dot6(get_pair(work, at + B_A + 6 * j), mu) -
                armature(block, vi + j) * u)
            put(work, loss + 1, larger(magnitude(u), get(work, loss + 1)))
        for i in range(n_b):
            put(work, residual + 6, 0.0)
            for j in range(n_b):
                e = get(work, w + U_D + 6 * i + j) * get(work, residual + j)
                put(work, residual + 6, get(work, residual + 6) + e)
            put(work, loss, larger(magnitude(get(work, residual + 6)), get(work, loss)))
    put(work, loss, get(work, loss) / get(work, loss + 1))


@inline
def forward(block, q, p, qdot, pdot, work):
    """Velocities, joint speeds and pdot of all bodies, root first."""
    n = whole(block, N_BODIES)
    ground = lu_row(block, n)
    put_all_speeds(block, p, work)
    for b in range(n):
        put_pair(work, lu_row(block, b) + U_MU, ZERO6)
    put_loss(block, p, work)
    put3(work, ground + U_GRAVITY, get3(block, GRAVITY))
    for b in range(n):
        w, k = lu_row(block, b), whole(block, body_row(block, b) + BODY_PARENT)
        kw = lu_row(block, k) if k >= 0 else ground
        G, _ = get_frame(work, blocks_row(block, b) + B_G)
        g = mul(G, get3(work, kw + U_GRAVITY))
        put3(work, w + U_GRAVITY, g)
        weight = (scale(get(work, w + U_MASS), g), cross(get3(work, w + U_MOMENT), g))
        v = get_pair(work, w + U_V)
        mu = add6(inertia_times(get_inertia(work, w + U_M), v), get_pair(work, w + U_PHI))
        joint_momentum_rates(block, b, v, mu, weight, pdot, work)
    put_rates(block, q, work, speeds_at(block), qdot)


@kernel
def sweeps(block, q, p, tau, qdot, pdot, work):
    """qdot and pdot for any number type; the drive values are in the workspace already."""
    put_blocks(block, q, work)
    put_bodies(block, work)
    backward(block, p, work)
    forward(block, q, p, qdot, pdot, work)
    add_joint_forces(block, q, tau, pdot, work)
