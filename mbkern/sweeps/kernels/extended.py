"""Algorithm 2: the extended Hamiltonian system by L^T D L, one backward and one forward sweep, O(N).

    M v - S^T mu = 0,   -S v + A qdot = -vr,   A^T mu + r qdot = p           Ivanov & Shimanovskiy 2023, EMH

The columns a_j of a joint are eliminated one after the other, last first, which is L^T D L of A^T M* A. For body i
with parent k, j = n-1..0 backward and 0..n-1 forward:

    backward   y = phi_i + M*_i vr_i,   X = M*_i
               U_j = X a_j,   D_j = a_j^T U_j + r_j,   eta_j = (p_j - a_j^T y) / D_j
               X -= U_j U_j^T / D_j,   y += U_j eta_j
               M*_k += C^T X C,   phi_k += C^T y
    forward    x = C v_k,   qdot_j = eta_j - U_j^T x / D_j,   x += a_j qdot_j
               v_i = x + vr_i,   mu_i = M*_i v_i + phi_i
"""

from ...core.jit import kernel
from ...core.layout import add_to_inertia, add_to_pair, get_inertia, get_pair, put_inertia, put_pair
from ...core.number import get, put
from ...core.records import A, RECORD_ARMATURE, RECORD, VR, get_column
from ...core.spatial import (
    ZERO6, add6, axpy6, dot6, force_to_parent, inertia_times, inertia_times_plus, inertia_to_parent, motion_to_child,
)
from .layout import OK, dofs, flat, frame, inertia, numbers, parent, smallest_pivot
from .rank import minus_square

# workspace of a body: M*, phi, and of each dof U, 1/D, eta
W_M, W_PHI, W_U, W_D, W_ETA = 0, 21, 27, 63, 69
ROW = 75


@kernel
def extended_ldl(blocks, p, qdot, v, mu, work):
    """qdot (n), v and mu (N, 6) for p (n). Returns -1, or the body whose A^T M* A is singular."""
    records, V, MU, N = numbers(blocks), flat(v), flat(mu), blocks.shape[0]
    n = 0  # where the dofs of body i begin
    for i in range(N):
        put_inertia(work, i * ROW + W_M, inertia(records, i))
        put_pair(work, i * ROW + W_PHI, ZERO6)
        n += dofs(blocks, i)
    for i in range(N - 1, -1, -1):
        at, w, k = i * RECORD, i * ROW, parent(blocks, i)
        n -= dofs(blocks, i)
        X = get_inertia(work, w + W_M)
        y = inertia_times_plus(X, get_pair(records, at + VR), get_pair(work, w + W_PHI))
        for j in range(dofs(blocks, i) - 1, -1, -1):
            a, r = get_column(records, at + A, j), get(records, at + RECORD_ARMATURE + j)
            U = inertia_times(X, a)
            D = dot6(a, U) + r
            if not D > smallest_pivot(get_inertia(work, w + W_M), a, r):
                return i
            d = 1.0 / D
            eta = (get(p, n + j) - dot6(a, y)) * d
            X, y = minus_square(X, U, d), axpy6(eta, U, y)
            put_pair(work, w + W_U + 6 * j, U)
            put(work, w + W_D + j, d)
            put(work, w + W_ETA + j, eta)
        if k >= 0:
            F = frame(records, i)
            add_to_inertia(work, k * ROW + W_M, inertia_to_parent(F, X))
            add_to_pair(work, k * ROW + W_PHI, force_to_parent(F, y))
    for i in range(N):
        at, w, k = i * RECORD, i * ROW, parent(blocks, i)
        x = ZERO6
        if k >= 0:
            x = motion_to_child(frame(records, i), get_pair(V, 6 * k))
        for j in range(dofs(blocks, i)):
            rate = get(work, w + W_ETA + j) - dot6(get_pair(work, w + W_U + 6 * j), x) * get(work, w + W_D + j)
            put(qdot, n + j, rate)
            x = axpy6(rate, get_column(records, at + A, j), x)
        n += dofs(blocks, i)
        x = add6(x, get_pair(records, at + VR))
        put_pair(V, 6 * i, x)
        put_pair(MU, 6 * i, inertia_times_plus(get_inertia(work, w + W_M), x, get_pair(work, w + W_PHI)))
    return OK
