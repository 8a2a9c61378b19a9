"""Algorithm 1: the extended Hamiltonian system by block LU (Vereshchagin), one backward and one forward sweep, O(N).

    M v - S^T mu = 0,   -S v + A qdot = -vr,   A^T mu + r qdot = p           Ivanov & Shimanovskiy 2023, EMH

With the joint's whole A and the inverse D of its n x n matrix. For body i with parent k:

    backward   U = M*_i A,   D = (A^T U + r)^-1,   K = U D        H_i = E - K A^T
               y = phi_i + M*_i vr_i
               M*_k += C^T (M*_i - K U^T) C,   phi_k += C^T [y + K (p - A^T y)]
    forward    x = C v_k + vr_i,   qdot = D [p - A^T (phi_i + M*_i x)],   v_i = x + A qdot,   mu_i = M*_i v_i + phi_i
"""

from ...core.extended_lu import invert
from ...core.jit import kernel
from ...core.layout import add_to_inertia, add_to_pair, get_inertia, get_pair, put_inertia, put_pair
from ...core.number import get, put
from ...core.records import A, RECORD_ARMATURE, RECORD, VR, get_column
from ...core.spatial import (
    ZERO6, add6, axpy6, dot6, force_to_parent, inertia_times, inertia_times_plus, inertia_to_parent, motion_to_child,
)
from .layout import OK, dofs, flat, frame, inertia, numbers, parent, smallest_pivot
from .rank import minus_product

# workspace of a body: M*, phi, U, D, pivots
W_M, W_PHI, W_U, W_D, W_PIVOTS = 0, 21, 27, 63, 99
ROW = 105


@kernel
def extended_lu(blocks, p, qdot, v, mu, work):
    """qdot (n), v and mu (N, 6) for p (n). Returns -1, or the body whose A^T M* A is singular."""
    records, V, MU, N = numbers(blocks), flat(v), flat(mu), blocks.shape[0]
    first = 0  # where the dofs of body i begin
    for i in range(N):
        put_inertia(work, i * ROW + W_M, inertia(records, i))
        put_pair(work, i * ROW + W_PHI, ZERO6)
        first += dofs(blocks, i)
    for i in range(N - 1, -1, -1):
        at, w, k, n = i * RECORD, i * ROW, parent(blocks, i), dofs(blocks, i)
        first -= n
        X = get_inertia(work, w + W_M)
        for j in range(n):
            put_pair(work, w + W_U + 6 * j, inertia_times(X, get_column(records, at + A, j)))
        for j in range(n):
            a = get_column(records, at + A, j)
            for l in range(n):
                put(work, w + W_D + 6 * j + l, dot6(a, get_pair(work, w + W_U + 6 * l)))
            put(work, w + W_D + 7 * j, get(work, w + W_D + 7 * j) + get(records, at + RECORD_ARMATURE + j))
        invert(work, w + W_D, n, w + W_PIVOTS)
        for j in range(n):
            a, r = get_column(records, at + A, j), get(records, at + RECORD_ARMATURE + j)
            if not get(work, w + W_PIVOTS + j) > smallest_pivot(X, a, r):
                return i
        if k < 0:
            continue
        y = inertia_times_plus(X, get_pair(records, at + VR), get_pair(work, w + W_PHI))
        z = y
        for j in range(n):
            K = ZERO6
            for l in range(n):
                K = axpy6(get(work, w + W_D + 6 * l + j), get_pair(work, w + W_U + 6 * l), K)
            X = minus_product(X, K, get_pair(work, w + W_U + 6 * j))
            z = axpy6(get(p, first + j) - dot6(get_column(records, at + A, j), y), K, z)
        F = frame(records, i)
        add_to_inertia(work, k * ROW + W_M, inertia_to_parent(F, X))
        add_to_pair(work, k * ROW + W_PHI, force_to_parent(F, z))
    for i in range(N):
        at, w, k, n = i * RECORD, i * ROW, parent(blocks, i), dofs(blocks, i)
        M, phi, x = get_inertia(work, w + W_M), get_pair(work, w + W_PHI), get_pair(records, at + VR)
        if k >= 0:
            x = add6(x, motion_to_child(frame(records, i), get_pair(V, 6 * k)))
        y = inertia_times_plus(M, x, phi)
        for j in range(n):
            put(qdot, first + j, 0.0)
        for l in range(n):
            rest = get(p, first + l) - dot6(get_column(records, at + A, l), y)
            for j in range(n):
                put(qdot, first + j, get(qdot, first + j) + get(work, w + W_D + 6 * j + l) * rest)
        for j in range(n):
            x = axpy6(get(qdot, first + j), get_column(records, at + A, j), x)
        first += n
        put_pair(V, 6 * i, x)
        put_pair(MU, 6 * i, inertia_times_plus(M, x, phi))
    return OK
