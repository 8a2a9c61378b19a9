"""Hamilton's equations proper (DAH; Russian: TSP): the extended system reduced to the joint speeds.

    (B^T M B) qdot = p - B^T (M phi + b),   B = T A,   phi = T vr,   T = S^-1        Ivanov & Shimanovskiy 2023, DAH

    drift      phi_i = C_i phi_k + vr_i,   y_i = M_i phi_i + b_i + sum_j C_j^T y_j                j the children of i
    backward   Mc_i = M_i + sum_j C_j^T Mc_j C_j                 composite inertia: a rigid body, ten numbers
               H_ii = A_i^T Mc_i A_i,   H_ij = (A_i^T Mc_i) C_i ... A_j     for all j on the way from i to the ground
    factor     H qdot = p - A^T y by Algorithm 3
    forward    v_i = C_i v_k + A_i qdot_i + vr_i,   mu_i = M_i v_i + b_i + sum_j C_j^T mu_j

Entries of H are added to zeros: 12 flops each, as the printed counts charge them. b is 0 in Hamilton's equations. The
compiled kernel: :mod:`mbkern.core.reduced`.
"""

from __future__ import annotations

import numpy as np

from .algebra import (
    minus,
    plus,
    plus_rigid_in_parent,
    plus_symmetric,
    rigid,
    rigid_times,
    rows_to_parent,
    to_child,
    to_parent,
)
from .algorithm3 import Blocks, solve_blocks
from .tree import BACKWARD, FORWARD, Solved, Tree, Vectors, velocities

DRIFT = "drift"


def solve(tree: Tree, p: Vectors, vr: Vectors, b: Vectors | None = None, roots: bool = False) -> Solved:
    """qdot, v and mu of the extended system, by its reduction to qdot."""
    line, N = tree.line, len(tree)
    bodies = [rigid(M) for M in tree.M]
    phi: Vectors = []
    for i, k in enumerate(tree.parents):
        with line(DRIFT, "phi"):
            phi.append(vr[i] if k < 0 else to_child(tree.C[i], phi[k]) + vr[i])
    with line(DRIFT, "M phi"):
        y = [rigid_times(bodies[i], phi[i]) for i in range(N)]
        y = y if b is None else [y[i] + b[i] for i in range(N)]
    pattern: list[list[int]] = []
    for k in tree.parents:
        pattern.append([] if k < 0 else [*pattern[k], k])
    Mc, H, Q = list(bodies), Blocks(), list(p)
    for i in range(N - 1, -1, -1):
        A, k, n = tree.A[i], tree.parents[i], len(p[i])
        with line(BACKWARD, "A^T Mc"):
            W = np.array([rigid_times(Mc[i], a) for a in A.T]).reshape(n, 6)
        with line(BACKWARD, "H_ii"):
            H[i, i] = tree.with_rotors(i, plus_symmetric(tree.zeros(n, n), W, A))
        at = i
        for j in reversed(pattern[i]):
            with line(BACKWARD, "(A^T Mc) C"):
                W = rows_to_parent(tree.C[at], W)
            with line(BACKWARD, "H_ij"):
                H[i, j] = plus(tree.zeros(n, len(p[j])), W, tree.A[j])
            at = j
        with line(BACKWARD, "p - A^T y"):
            Q[i] = minus(p[i], A.T, y[i])
        if k >= 0:
            with line(BACKWARD, "C^T Mc C"):
                Mc[k] = plus_rigid_in_parent(Mc[k], tree.C[i], Mc[i])
            with line(DRIFT, "C^T y"):
                y[k] = y[k] + to_parent(tree.C[i], y[i])
    qdot = solve_blocks(tree, H, Q, pattern, roots)
    v = velocities(tree, qdot, vr)
    with line(FORWARD, "M v"):
        mu = [rigid_times(bodies[i], v[i]) for i in range(N)]
        mu = mu if b is None else [mu[i] + b[i] for i in range(N)]
    for i in range(N - 1, -1, -1):
        k = tree.parents[i]
        if k >= 0:
            with line(FORWARD, "C^T mu"):
                mu[k] = mu[k] + to_parent(tree.C[i], mu[i])
    return qdot, v, mu
