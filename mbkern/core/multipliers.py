"""Hamilton's equations with multipliers on the orthogonal complement (HZU), eliminated without fill (Algorithm 3).

    mu = mu0 + Z lam,   A^T mu0 = p,   A^T Z = 0,   (Z^T S M^-1 S^T Z) lam = Z^T (vr - S M^-1 S^T mu0)
    v = M^-1 S^T mu,   A u = S v - vr,   pdot as in the extended system

Ivanov & Shimanovskiy 2023, HZU; method "hzu". Body by body in the user's frames. What is orthonormal needs a unit in
which a length is as good as an angle: here it is measured by the body's own inertia M = L L^T, a constant factor.
L^T A = Q1 R and Q = (Q1, Y) by Householder reflections give Z = L Y, mu0 = L Q1 R^-T p. In the body's frame A is
constant where one node has all dofs of the joint (revolute, prismatic, screw, ball, free, welds): a block that was
prepared for this method (:mod:`mbkern.workspace.bases`) has Q, R and Z of these. For body i with parent k

    X_i = L_k^-1 C_i^T L_i Y_i                                 X = 0 on the ground
    H_ii = E + X_i^T X_i,   H_ik = -X_i^T Y_k,   H_ij = X_i^T X_j for siblings j
    backward   D = H_ii,   L_ij = H_ij / D,   H_jl -= L_ij H_il,   b_j -= L_ij b_i       multiplier by multiplier
    forward    lam_i = b_i / D - sum over j of L_ij lam_j;   then mu, v, R u = Q1^T L^T (S v - vr), pdot

A body and its children form a clique: a row of H holds the multipliers of the parent, of the smaller siblings and its
own, and the row of a sibling is as long as the part of it up to there. On a chain rows are short, and the work is
linear; on a carousel it is cubic and memory quadratic. Every body needs an invertible inertia.

Dofs with armature r have A^T mu = p - r u =: sigma, which is a multiplier too: with N = L Q1 R^-T, A^T N = E, it is
mu = mu0 + Z lam + N_r sigma, mu0 from the other momenta. N_r joins Z; u = (p - sigma) / r gives H_ii 1/r more on the
diagonal, and the right side p / r.

Where a body is a thin rod, or much lighter than what it carries, v = M^-1 S^T mu is a small difference of large
numbers. What the loss leaves behind is motion that the joints forbid, x = Y Y^T L^T (S v - vr). As much motion along a
dof would be an error of its speed, and L^-T x is one of v, which pdot has too: the largest, over the largest number of
u and vr, is the estimate of the error at `loss_at`.

To read along: :mod:`mbkern.textbook.hzu`.
"""

from .blocks import B_A, B_G, B_VR, blocks_row, joint_momentum_rates, put_blocks
from .forces import add_joint_forces
from .jit import inline, kernel, noinline
from .joints import drive_of, dofs, is_driven, put_rates, unit_twist
from .layout import (
    AT_BASES, BASIS, BASIS_MARGINS, BASIS_Q, BASIS_R, BASIS_Z, IS_CONSTANT,
    BODY_DOFS, BODY_MASS, BODY_MOMENT, BODY_PARENT, BODY_V, CENTRE, ELDERS, FIRST_NODE, GRAVITY, MULTIPLIER,
    MULTIPLIER_ROWS, N_BODIES, N_JOINT_NODES, N_ROTORS, ROOT_INERTIA, ROOT_MASS, ROOTS, SIBLING, VI,
    add_to3, body_row, coordinate_row, get3, get6, get_frame, get_pair, loss_at, margins_at, node_row,
    put3, put_pair, speeds_at,
)
from .number import fma, get, larger, put, root, smaller, whole, with_sign
from .rotors import armature
from .spatial import (
    PIVOT_TOLERANCE, ZERO6, add6, axpy6, dot6, force_to_parent, ldl3_forward, ldl3_scale, motion_to_child, scale6, sub6,
)
from .vec3 import add, axpy, cross, mul, scale, sub, tmul

# row of a body: columns of Q 36 and after them those of L^-1 N_r 36, R 36, X 36; load, L^-1 (S^T mu + load), mu, v, the
# multipliers (6 each), mass and first moment of the subtree 1 + 3, gravity 3, a vector 6, squares of R's diagonal less
# what rounding may leave of them 6, Z and L N_r 36
H_Q, H_R, H_X, H_LOAD, H_ROOT, H_MU, H_V, H_LAM = 0, 72, 108, 144, 150, 156, 162, 168
H_MASS, H_MOMENT, H_GRAVITY, H_VECTOR, H_MARGINS, H_Z = 174, 175, 178, 181, 187, 193
H_ROW = 229
TINY = 1e-300  # where nothing moves at all, nothing is lost


@inline
def hzu_row(block, b):
    """Row of body b in the workspace; the ground has the row after the last body, the matrix H comes after that."""
    return blocks_row(block, whole(block, N_BODIES)) + b * H_ROW


@inline
def matrix_row(block, b, a):
    """Where the row of H of multiplier a of body b begins."""
    row = body_row(block, b)
    own = a * whole(block, row + ELDERS) + a * (a + 1) // 2
    return hzu_row(block, whole(block, N_BODIES) + 1) + whole(block, row + MULTIPLIER_ROWS) + own


@inline
def n_multipliers(block, b):
    row = body_row(block, b)
    return 6 - whole(block, row + BODY_DOFS) + whole(block, row + N_ROTORS)


@inline
def elder(block, b):
    """Whose multipliers come before those of body b in a row: its next smaller sibling, or its parent."""
    row = body_row(block, b)
    sibling = whole(block, row + SIBLING)
    return sibling if sibling >= 0 else whole(block, row + BODY_PARENT)


# ---- the bases, and the constant factors of the inertias ----
@inline
def root_solve(block, b, mu):
    """L^-1 mu, M = L L^T the inertia of body b."""
    row = body_row(block, b)
    F = get6(block, row + ROOT_INERTIA)
    return (scale(get(block, row + ROOT_MASS), mu[0]),
            ldl3_scale(F, ldl3_forward(F, sub(mu[1], cross(get3(block, row + CENTRE), mu[0])))))


@inline
def root_solve_transposed(block, b, x):
    """L^-T x."""
    row = body_row(block, b)
    F = get6(block, row + ROOT_INERTIA)
    y = ldl3_scale(F, x[1])
    w1 = fma(-F[2], y[2], y[1])
    w = (fma(-F[0], w1, fma(-F[1], y[2], y[0])), w1, y[2])
    return (axpy(get(block, row + ROOT_MASS), x[0], cross(get3(block, row + CENTRE), w)), w)


@inline
def root_times(block, b, y):
    """L y."""
    row = body_row(block, b)
    F, roots = get6(block, row + ROOT_INERTIA), get3(block, row + ROOTS + 1)
    f, z0, z1 = scale(get(block, row + ROOTS), y[0]), roots[0] * y[1][0], roots[1] * y[1][1]
    central = (z0, fma(F[0], z0, z1), fma(F[1], z0, fma(F[2], z1, roots[2] * y[1][2])))
    return (f, add(central, cross(get3(block, row + CENTRE), f)))


@inline
def root_transposed_times(block, b, x):
    """L^T x."""
    row = body_row(block, b)
    F, roots, w = get6(block, row + ROOT_INERTIA), get3(block, row + ROOTS + 1), x[1]
    central = (fma(F[0], w[1], fma(F[1], w[2], w[0])), fma(F[2], w[2], w[1]), w[2])
    return (scale(get(block, row + ROOTS), add(x[0], cross(w, get3(block, row + CENTRE)))),
            (roots[0] * central[0], roots[1] * central[1], roots[2] * central[2]))


@inline
def put_basis(block, b, work):
    """Q, R and Z of body b's joint: what is constant is in the block, if that was prepared."""
    bases, n = whole(block, AT_BASES), whole(block, body_row(block, b) + BODY_DOFS)
    given, w = bases + b * BASIS, hzu_row(block, b)
    if bases > 0 and whole(block, given + IS_CONSTANT) != 0:
        for i in range(36):
            put(work, w + H_Q + i, get(block, given + BASIS_Q + i))
        for i in range(6 * n):
            put(work, w + H_R + i, get(block, given + BASIS_R + i))
        for j in range(n):
            put(work, w + H_MARGINS + j, get(block, given + BASIS_MARGINS + j))
        for i in range(36 - 6 * n):
            put(work, w + H_Z + i, get(block, given + BASIS_Z + i))
    else:
        put_reflected(block, b, work)
        for a in range(6 - n):
            put_pair(work, w + H_Z + 6 * a, root_times(block, b, get_pair(work, w + H_Q + 6 * (n + a))))


@inline
def put_reflected(block, b, work):
    """L^T A = Q1 R and Q = (Q1, Y) of body b's joint by Householder reflections E - beta v v^T."""
    at, w, n = blocks_row(block, b), hzu_row(block, b), whole(block, body_row(block, b) + BODY_DOFS)
    reflection = w + H_VECTOR
    for j in range(6):
        put_pair(work, w + H_Q + 6 * j, unit_twist(j))
    for j in range(n):
        a = root_transposed_times(block, b, get_pair(work, at + B_A + 6 * j))
        put_pair(work, w + H_R + 6 * j, a)
        put(work, w + H_MARGINS + j, dot6(a, a))
    for j in range(n):
        column = w + H_R + 6 * j
        put(work, w + H_ROOT, 0.0)
        for i in range(6):
            x = get(work, column + i)
            put(work, reflection + i, x)
            if i < j:
                put(work, reflection + i, 0.0)
            else:
                put(work, w + H_ROOT, fma(x, x, get(work, w + H_ROOT)))
        x, square = get(work, column + j), get(work, w + H_ROOT)
        put(work, w + H_MARGINS + j, fma(-PIVOT_TOLERANCE, get(work, w + H_MARGINS + j), square))
        side = with_sign(root(square), x)  # of R: -side on the diagonal
        beta = 1.0 / (side * (side + x))
        put(work, reflection + j, x + side)
        v = get_pair(work, reflection)
        for i in range(j, n):
            r = get_pair(work, w + H_R + 6 * i)
            put_pair(work, w + H_R + 6 * i, axpy6(-beta * dot6(v, r), v, r))
        put_pair(work, w + H_ROOT, ZERO6)
        for i in range(j, 6):
            q_i = get_pair(work, w + H_Q + 6 * i)
            put_pair(work, w + H_ROOT, axpy6(get(work, reflection + i), q_i, get_pair(work, w + H_ROOT)))
        Q_v = scale6(-beta, get_pair(work, w + H_ROOT))
        for i in range(j, 6):
            q_i = get_pair(work, w + H_Q + 6 * i)
            put_pair(work, w + H_Q + 6 * i, axpy6(get(work, reflection + i), Q_v, q_i))


@noinline
def put_rotor_columns(block, b, work):
    """Q1 R^-T of the dofs with armature, after the columns of Q."""
    row, w = body_row(block, b), hzu_row(block, b)
    n, vi, x = whole(block, row + BODY_DOFS), whole(block, row + BODY_V), w + H_VECTOR
    for j in range(n):
        a = whole(block, coordinate_row(block, vi + j) + MULTIPLIER)
        if a >= 0:
            column = w + H_Q + 6 * (n + a)
            put_pair(work, column, ZERO6)
            for i in range(j, n):  # R^T x = e_j, whose first numbers are zero
                put(work, x + i, 1.0 if i == j else 0.0)
                for l in range(j, i):
                    put(work, x + i, fma(-get(work, w + H_R + 6 * i + l), get(work, x + l), get(work, x + i)))
                put(work, x + i, get(work, x + i) / get(work, w + H_R + 6 * i + i))
                add_multiple(work, column, get(work, x + i), w + H_Q + 6 * i)
            put_pair(work, w + H_Z + 6 * a, root_times(block, b, get_pair(work, column)))


@inline
def put_margins(block, b, work):
    """Margins of the nodes of body b's joint: whether its columns of L^T A are independent."""
    row, own = body_row(block, b), hzu_row(block, b) + H_MARGINS
    first, speed, margins = whole(block, row + FIRST_NODE), whole(block, row + BODY_V), margins_at(block)
    for i in range(first, first + whole(block, row + N_JOINT_NODES)):
        c = node_row(i)
        if is_driven(block, c):
            put(work, margins + i, get(work, drive_of(block, c) + 3))
        for j in range(dofs(block, c)):
            margin = get(work, own + whole(block, c + VI) + j - speed)
            put(work, margins + i, margin if j == 0 else smaller(margin, get(work, margins + i)))


@inline
def put_roots(block, work):
    """X of all bodies."""
    for b in range(whole(block, N_BODIES)):
        w, k = hzu_row(block, b), whole(block, body_row(block, b) + BODY_PARENT)
        C = get_frame(work, blocks_row(block, b) + B_G)
        for a in range(n_multipliers(block, b)):
            if k >= 0:
                z = get_pair(work, w + H_Z + 6 * a)
                put_pair(work, w + H_X + 6 * a, root_solve(block, k, force_to_parent(C, z)))
            else:
                put_pair(work, w + H_X + 6 * a, ZERO6)


# ---- the matrix of the multipliers, and Algorithm 3 on it ----
@inline
def put_matrix(block, work):
    """H, of each multiplier the row up to itself."""
    for b in range(whole(block, N_BODIES)):
        row, w = body_row(block, b), hzu_row(block, b)
        k, elders = whole(block, row + BODY_PARENT), whole(block, row + ELDERS)
        for a in range(n_multipliers(block, b)):
            at = matrix_row(block, b, a)
            x = get_pair(work, w + H_X + 6 * a)
            for c in range(a):
                put(work, at + elders + c, dot6(x, get_pair(work, w + H_X + 6 * c)))
            put(work, at + elders + a, 1.0 + dot6(x, x))
            if k >= 0:
                Y_k = hzu_row(block, k) + H_Q + 6 * whole(block, body_row(block, k) + BODY_DOFS)
                for c in range(n_multipliers(block, k)):
                    put(work, at + c, -dot6(x, get_pair(work, Y_k + 6 * c)))
                j = whole(block, row + SIBLING)
                while j >= 0:
                    place = at + whole(block, body_row(block, j) + ELDERS)
                    for c in range(n_multipliers(block, j)):
                        put(work, place + c, dot6(x, get_pair(work, hzu_row(block, j) + H_X + 6 * c)))
                    j = whole(block, body_row(block, j) + SIBLING)
        if whole(block, row + N_ROTORS) > 0:
            add_rotors(block, b, work)


@noinline
def add_rotors(block, b, work):
    """The rotors' part of H_bb: N_r is orthogonal to Z in the unit used here, but its columns are not orthonormal."""
    row, w = body_row(block, b), hzu_row(block, b)
    n, elders, vi = whole(block, row + BODY_DOFS), whole(block, row + ELDERS), whole(block, row + BODY_V)
    for j in range(n):
        a = whole(block, coordinate_row(block, vi + j) + MULTIPLIER)
        if a >= 0:
            at, column = matrix_row(block, b, a) + elders, get_pair(work, w + H_Q + 6 * (n + a))
            for c in range(6 - n, a):
                put(work, at + c, get(work, at + c) + dot6(column, get_pair(work, w + H_Q + 6 * (n + c))))
            x = get_pair(work, w + H_X + 6 * a)
            put(work, at + a, dot6(x, x) + dot6(column, column) + 1.0 / armature(block, vi + j))


@inline
def factor(block, work):
    """H = L^T D L in place, and b <- D^-1 L^-T b for the right side b in the place of the multipliers."""
    for b in range(whole(block, N_BODIES) - 1, -1, -1):
        elders = whole(block, body_row(block, b) + ELDERS)
        for a in range(n_multipliers(block, b) - 1, -1, -1):
            at, own = matrix_row(block, b, a), hzu_row(block, b) + H_LAM + a
            d, b_a = 1.0 / get(work, at + elders + a), get(work, own)
            g, c, place = b, a, elders + a
            while place > 0:  # through the row from its end: the multipliers of body g, those of its elder, ...
                elders_g, lam = whole(block, body_row(block, g) + ELDERS), hzu_row(block, g) + H_LAM
                diagonal = matrix_row(block, g, c) + elders_g + c
                while c > 0:
                    diagonal -= elders_g + c + 1
                    c -= 1
                    place -= 1
                    l = get(work, at + place) * d
                    first = diagonal - place  # the columns of this row are the last ones of that row
                    for x in range(place + 1):
                        put(work, first + x, fma(-l, get(work, at + x), get(work, first + x)))
                    put(work, at + place, l)
                    put(work, lam + c, fma(-l, b_a, get(work, lam + c)))
                if place > 0:
                    g = elder(block, g)
                    c = n_multipliers(block, g)
            put(work, own, b_a * d)


@inline
def substitute(block, work):
    """lam = L^-1 b in the place of the multipliers, root first."""
    for b in range(whole(block, N_BODIES)):
        elders = whole(block, body_row(block, b) + ELDERS)
        for a in range(n_multipliers(block, b)):
            at, own = matrix_row(block, b, a), hzu_row(block, b) + H_LAM + a
            g, c, place = b, a, elders + a
            while place > 0:
                lam = hzu_row(block, g) + H_LAM
                while c > 0:
                    c -= 1
                    place -= 1
                    put(work, own, fma(-get(work, at + place), get(work, lam + c), get(work, own)))
                if place > 0:
                    g = elder(block, g)
                    c = n_multipliers(block, g)


# ---- the sweeps ----
@inline
def add_multiple(work, at, f, column):
    """Add f times the six-vector at `column` to the one at `at`."""
    put_pair(work, at, axpy6(f, get_pair(work, column), get_pair(work, at)))


@inline
def put_momentum_roots(block, work):
    """L^-1 (load + S^T mu) of all bodies, for the mu and loads in the workspace."""
    n = whole(block, N_BODIES)
    for b in range(n):
        w = hzu_row(block, b)
        put_pair(work, w + H_ROOT, add6(get_pair(work, w + H_LOAD), get_pair(work, w + H_MU)))
    for b in range(n):
        k = whole(block, body_row(block, b) + BODY_PARENT)
        if k >= 0:
            w, C = hzu_row(block, k) + H_ROOT, get_frame(work, blocks_row(block, b) + B_G)
            put_pair(work, w, sub6(get_pair(work, w), force_to_parent(C, get_pair(work, hzu_row(block, b) + H_MU))))
    for b in range(n):
        w = hzu_row(block, b) + H_ROOT
        put_pair(work, w, root_solve(block, b, get_pair(work, w)))


@inline
def backward(block, p, work):
    """Bases, mu0 in the place of mu, H, and the multipliers' right side eliminated, leaves first."""
    n = whole(block, N_BODIES)
    for b in range(n):
        put_basis(block, b, work)
        put_margins(block, b, work)
        row, w = body_row(block, b), hzu_row(block, b)
        if whole(block, row + N_ROTORS) > 0:
            put_rotor_columns(block, b, work)
        n_b, vi = whole(block, row + BODY_DOFS), whole(block, row + BODY_V)
        put_pair(work, w + H_MU, ZERO6)
        for j in range(n_b):  # R^T x = p in the place of the multipliers, mu0 = L Q1 x
            put(work, w + H_LAM + j, get(p, vi + j))
            if whole(block, coordinate_row(block, vi + j) + MULTIPLIER) >= 0:
                put(work, w + H_LAM + j, 0.0)
            for i in range(j):
                x = fma(-get(work, w + H_R + 6 * j + i), get(work, w + H_LAM + i), get(work, w + H_LAM + j))
                put(work, w + H_LAM + j, x)
            put(work, w + H_LAM + j, get(work, w + H_LAM + j) / get(work, w + H_R + 6 * j + j))
            add_multiple(work, w + H_MU, get(work, w + H_LAM + j), w + H_Q + 6 * j)
        put_pair(work, w + H_MU, root_times(block, b, get_pair(work, w + H_MU)))
    put_roots(block, work)
    put_momentum_roots(block, work)
    for b in range(n):
        row, w = body_row(block, b), hzu_row(block, b)
        n_b, k, vi = whole(block, row + BODY_DOFS), whole(block, row + BODY_PARENT), whole(block, row + BODY_V)
        vr = root_transposed_times(block, b, get_pair(work, blocks_row(block, b) + B_VR))
        y = sub6(vr, get_pair(work, w + H_ROOT))
        for a in range(n_multipliers(block, b)):
            own = dot6(get_pair(work, w + H_Q + 6 * (n_b + a)), y)
            put(work, w + H_LAM + a, own)
            if k >= 0:
                y_k = get_pair(work, hzu_row(block, k) + H_ROOT)
                put(work, w + H_LAM + a, own + dot6(get_pair(work, w + H_X + 6 * a), y_k))
        for j in range(n_b):
            a = whole(block, coordinate_row(block, vi + j) + MULTIPLIER)
            if a >= 0:
                put(work, w + H_LAM + a, get(work, w + H_LAM + a) + get(p, vi + j) / armature(block, vi + j))
    put_matrix(block, work)
    factor(block, work)


@inline
def solve(block, work):
    """Multipliers, mu, v and the joint speeds of all bodies, root first."""
    substitute(block, work)
    n, speeds, loss = whole(block, N_BODIES), speeds_at(block), loss_at(block)
    put(work, loss, 0.0); put(work, loss + 1, TINY)
    for b in range(n):
        w = hzu_row(block, b)
        for a in range(n_multipliers(block, b)):
            add_multiple(work, w + H_MU, get(work, w + H_LAM + a), w + H_Z + 6 * a)
    put_momentum_roots(block, work)
    for b in range(n):
        row, w, at = body_row(block, b), hzu_row(block, b), blocks_row(block, b)
        n_b, vi, k = whole(block, row + BODY_DOFS), speeds + whole(block, row + BODY_V), whole(block, row + BODY_PARENT)
        v = root_solve_transposed(block, b, get_pair(work, w + H_ROOT))
        put_pair(work, w + H_V, v)
        put_pair(work, w + H_ROOT, sub6(v, get_pair(work, at + B_VR)))
        if k >= 0:
            carried = motion_to_child(get_frame(work, at + B_G), get_pair(work, hzu_row(block, k) + H_V))
            put_pair(work, w + H_ROOT, sub6(get_pair(work, w + H_ROOT), carried))
        relative = root_transposed_times(block, b, get_pair(work, w + H_ROOT))
        put_pair(work, w + H_ROOT, relative)
        for j in range(n_b - 1, -1, -1):  # R u = Q1^T L^T (S v - vr)
            put(work, vi + j, dot6(get_pair(work, w + H_Q + 6 * j), relative))
            add_multiple(work, w + H_ROOT, -get(work, vi + j), w + H_Q + 6 * j)
            for i in range(j + 1, n_b):
                put(work, vi + j, fma(-get(work, w + H_R + 6 * i + j), get(work, vi + i), get(work, vi + j)))
            put(work, vi + j, get(work, vi + j) / get(work, w + H_R + 6 * j + j))
        across = get_pair(work, w + H_ROOT)  # what the joint forbids
        forbidden = root_solve_transposed(block, b, across)
        put(work, loss, larger(dot6(forbidden, forbidden), get(work, loss)))
        for j in range(n_b):
            r, u = get(work, w + H_R + 6 * j + j), get(work, vi + j)
            put(work, loss, larger(dot6(across, across) / (r * r), get(work, loss)))
            put(work, loss + 1, larger(u * u, get(work, loss + 1)))
        for i in range(6):
            x = get(work, at + B_VR + i)
            put(work, loss + 1, larger(x * x, get(work, loss + 1)))
    put(work, loss, root(get(work, loss) / get(work, loss + 1)))


@inline
def forward(block, q, qdot, pdot, work):
    """Joint speeds and qdot; then weight of the subtrees and pdot."""
    solve(block, work)
    n = whole(block, N_BODIES)
    ground = hzu_row(block, n)
    put3(work, ground + H_GRAVITY, get3(block, GRAVITY))
    for b in range(n):
        row, w = body_row(block, b), hzu_row(block, b)
        put(work, w + H_MASS, get(block, row + BODY_MASS))
        put3(work, w + H_MOMENT, get3(block, row + BODY_MOMENT))
    for b in range(n - 1, -1, -1):
        w, k = hzu_row(block, b), whole(block, body_row(block, b) + BODY_PARENT)
        if k >= 0:
            kw = hzu_row(block, k)
            G, rho = get_frame(work, blocks_row(block, b) + B_G)
            m, s = get(work, w + H_MASS), get3(work, w + H_MOMENT)
            put(work, kw + H_MASS, get(work, kw + H_MASS) + m)
            add_to3(work, kw + H_MOMENT, axpy(m, rho, tmul(G, s)))
    for b in range(n):
        w, k = hzu_row(block, b), whole(block, body_row(block, b) + BODY_PARENT)
        kw = hzu_row(block, k) if k >= 0 else ground
        G, _ = get_frame(work, blocks_row(block, b) + B_G)
        g = mul(G, get3(work, kw + H_GRAVITY))
        put3(work, w + H_GRAVITY, g)
        weight = (scale(get(work, w + H_MASS), g), cross(get3(work, w + H_MOMENT), g))
        joint_momentum_rates(block, b, get_pair(work, w + H_V), get_pair(work, w + H_MU), weight, pdot, work)
    put_rates(block, q, work, speeds_at(block), qdot)


@kernel
def sweeps(block, q, p, tau, qdot, pdot, work):
    """qdot and pdot for any number type; the drive values are in the workspace already."""
    put_blocks(block, q, work)
    for b in range(whole(block, N_BODIES)):
        put_pair(work, hzu_row(block, b) + H_LOAD, ZERO6)
    backward(block, p, work)
    forward(block, q, qdot, pdot, work)
    add_joint_forces(block, q, tau, pdot, work)
