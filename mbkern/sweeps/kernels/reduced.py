"""Algorithm 3 on Hamilton's equations proper: the mass matrix factored with the pattern of the tree, without fill.

    (B^T M B + r) qdot = p - B^T M phi,   B = T A,   phi = T vr,   T = S^-1          Ivanov & Shimanovskiy 2023, DAH

    drift      phi_i = C_i phi_k + vr_i,   y_i = M_i phi_i + sum_j C_j^T y_j
    backward   Mc_i = M_i + sum_j C_j^T Mc_j C_j,   H_ij = (A_i^T Mc_i) C_i ... A_j    j on the way from i to the ground
    factor     for a = n-1..0   H_ab /= H_aa,   H_bc -= H_ab H_aa H_ac,   x_b -= H_ab x_a      b, c before a on the way
               for a = 0..n-1   qdot_a = x_a / H_aa - sum over b of H_ab qdot_b
    forward    v and mu of these speeds

A row of H has the numbers of the way only, the root's first, so H_ac and H_bc are at the same place of their rows.
Linear in N for trees of bounded height, cubic for chains.
"""

from ...core.jit import inline, kernel
from ...core.layout import add_to_inertia, add_to_pair, get_inertia, get_pair, put_inertia, put_pair
from ...core.number import get, put, whole
from ...core.records import A, RECORD_ARMATURE, RECORD, VR, get_column
from ...core.spatial import add6, dot6, force_to_parent, inertia_times, inertia_to_parent, motion_to_child
from .layout import OK, dofs, flat, frame, inertia, numbers, parent, smallest_pivot
from .motion import put_branch_momenta, put_velocities

# workspace: of a body Mc, y, its first dof, dofs before it on the way to the ground; then of a dof
W_MC, W_Y, W_FIRST, W_BEFORE = 0, 21, 27, 28
ROW = 29
D_BODY, D_BEFORE, D_ROW, D_SMALLEST = 0, 1, 2, 3  # the last: what its pivot must exceed
DOF = 4


@inline
def put_tree(blocks, work):
    """First dofs, dofs before them on the way, where rows begin. Returns the number of dofs."""
    N, n = blocks.shape[0], 0
    for i in range(N):
        k, before = parent(blocks, i), 0
        if k >= 0:
            before = whole(work, k * ROW + W_BEFORE) + dofs(blocks, k)
        put(work, i * ROW + W_FIRST, n)
        put(work, i * ROW + W_BEFORE, before)
        n += dofs(blocks, i)
    a, row = N * ROW, N * ROW + n * DOF
    for i in range(N):
        before = whole(work, i * ROW + W_BEFORE)
        for j in range(dofs(blocks, i)):
            put(work, a + D_BODY, i)
            put(work, a + D_BEFORE, before + j)
            put(work, a + D_ROW, row)
            row += before + j + 1
            a += DOF
    return n


@inline
def dof_before(blocks, work, at, a):
    """The dof before dof a on the way to the ground, whose table begins at `at`."""
    i = whole(work, at + a * DOF + D_BODY)
    if a > whole(work, i * ROW + W_FIRST):
        return a - 1
    k = parent(blocks, i)
    while dofs(blocks, k) == 0:
        k = parent(blocks, k)
    return whole(work, k * ROW + W_FIRST) + dofs(blocks, k) - 1


@kernel
def reduced(blocks, p, qdot, v, mu, work):
    """qdot (n), v and mu (N, 6) for p (n). Returns -1, or the body whose pivot of the mass matrix is singular."""
    records, V, MU, N = numbers(blocks), flat(v), flat(mu), blocks.shape[0]
    n, table = put_tree(blocks, work), N * ROW
    for i in range(N):  # phi in the place of v
        k, phi, M = parent(blocks, i), get_pair(records, i * RECORD + VR), inertia(records, i)
        if k >= 0:
            phi = add6(phi, motion_to_child(frame(records, i), get_pair(V, 6 * k)))
        put_pair(V, 6 * i, phi)
        put_pair(work, i * ROW + W_Y, inertia_times(M, phi))
        put_inertia(work, i * ROW + W_MC, M)
    for i in range(N - 1, -1, -1):
        w, k, first = i * ROW, parent(blocks, i), whole(work, i * ROW + W_FIRST)
        Mc, y = get_inertia(work, w + W_MC), get_pair(work, w + W_Y)
        for j in range(dofs(blocks, i)):
            a = get_column(records, i * RECORD + A, j)
            t = table + (first + j) * DOF
            put_row(blocks, records, i, j, inertia_times(Mc, a), whole(work, t + D_ROW), work)
            put(work, t + D_SMALLEST, smallest_pivot(Mc, a, get(records, i * RECORD + RECORD_ARMATURE + j)))
            put(qdot, first + j, get(p, first + j) - dot6(a, y))
        if k >= 0:
            X = frame(records, i)
            add_to_inertia(work, k * ROW + W_MC, inertia_to_parent(X, Mc))
            add_to_pair(work, k * ROW + W_Y, force_to_parent(X, y))
    bad = factor_and_solve(blocks, n, qdot, work)
    if bad >= 0:
        return bad
    put_velocities(blocks, records, qdot, V)
    put_branch_momenta(blocks, records, V, MU)
    return OK


@inline
def put_row(blocks, records, i, j, W, row, work):
    """The row of dof j of body i, whose unit speed gives its branch the momentum W."""
    last = j  # of the dofs of the body that count
    body = i
    while body >= 0:
        before = row + whole(work, body * ROW + W_BEFORE)
        for l in range(last + 1):
            put(work, before + l, dot6(get_column(records, body * RECORD + A, l), W))
        if body == i:
            put(work, before + j, get(work, before + j) + get(records, i * RECORD + RECORD_ARMATURE + j))
        k = parent(blocks, body)
        if k >= 0:
            W = force_to_parent(frame(records, body), W)
            last = dofs(blocks, k) - 1
        body = k


@inline
def factor_and_solve(blocks, n, x, work):
    """L^T D L of the rows, and x = H^-1 x. Returns -1 or a body."""
    table = blocks.shape[0] * ROW
    for a in range(n - 1, -1, -1):
        t = table + a * DOF
        row, before = whole(work, t + D_ROW), whole(work, t + D_BEFORE)
        D = get(work, row + before)
        if not D > get(work, t + D_SMALLEST):
            return whole(work, t + D_BODY)
        d, b = 1.0 / D, a
        for place in range(before - 1, -1, -1):
            b = dof_before(blocks, work, table, b)
            h = get(work, row + place)
            l = h * d
            row_b = whole(work, table + b * DOF + D_ROW)
            for c in range(place + 1):
                put(work, row_b + c, get(work, row_b + c) - l * get(work, row + c))
            put(x, b, get(x, b) - l * get(x, a))
            put(work, row + place, l)
        put(x, a, get(x, a) * d)
    for a in range(n):
        t = table + a * DOF
        row, b = whole(work, t + D_ROW), a
        total = get(x, a)
        for place in range(whole(work, t + D_BEFORE) - 1, -1, -1):
            b = dof_before(blocks, work, table, b)
            total -= get(work, row + place) * get(x, b)
        put(x, a, total)
    return OK
