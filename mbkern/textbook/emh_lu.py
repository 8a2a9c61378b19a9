"""Algorithm 1: the extended system by block LU (Vereshchagin), body by body.

    M v - S^T mu = -b,   -S v + A qdot = -vr,   A^T mu = p          Ivanov & Shimanovskiy 2023, EMH

    backward   D_i = (A_i^T M*_i A_i)^-1,   H_i = E - M*_i A_i D_i A_i^T
               M*_i = M_i + sum_j C_j^T H_j M*_j C_j
               phi_i = b_i + sum_j C_j^T [M*_j A_j D_j p_j + H_j (M*_j vr_j + phi_j)]        j the children of i
    forward    qdot_i = D_i [p_i - A_i^T (phi_i + M*_i (C_i v_k + vr_i))]                    k the parent of i
               v_i = C_i v_k + vr_i + A_i qdot_i,   mu_i = M*_i v_i + phi_i

b is 0 in Hamilton's equations. The compiled kernel: :mod:`mbkern.core.extended_lu`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .algebra import inertia_to_parent, inverse, minus, plus, to_child, to_parent
from .tree import BACKWARD, FORWARD, Solved, Tree, Vectors


def solve(tree: Tree, p: Vectors, vr: Vectors, b: Vectors | None = None) -> Solved:
    """qdot, v and mu of the extended system."""
    line, N = tree.line, len(tree)
    M, phi = list(tree.M), [tree.zeros(6) for _ in p] if b is None else list(b)
    D: list[Any] = [None] * N
    E = tree.numbers(np.eye(6))
    for i in range(N - 1, -1, -1):
        A, C, k = tree.A[i], tree.C[i], tree.parents[i]
        with line(BACKWARD, "M* A"):
            MA = M[i] @ A
        with line(BACKWARD, "A^T (M* A)"):
            AMA = tree.with_rotors(i, A.T @ MA)
        with line(BACKWARD, "D"):
            D[i] = inverse(AMA)
        if k < 0:
            continue
        HM = M[i]
        with line(BACKWARD, "M* vr + phi"):
            y = M[i] @ vr[i] + phi[i]
        if len(p[i]):  # of a weld H = E
            with line(BACKWARD, "M* A D"):
                K = MA @ D[i]
            with line(BACKWARD, "H"):
                H = minus(E, K, A.T)
            with line(BACKWARD, "H M*"):
                HM = H @ M[i]
            with line(BACKWARD, "M* A D p + H (M* vr + phi)"):
                y = plus(H @ y, K, p[i])
        with line(BACKWARD, "C^T H M* C"):
            M[k] = M[k] + inertia_to_parent(C, HM)
        with line(BACKWARD, "phi"):
            phi[k] = phi[k] + to_parent(C, y)
    qdot, v, mu = list(p), list(phi), list(phi)
    for i, k in enumerate(tree.parents):
        v[i] = vr[i]
        if k >= 0:
            with line(FORWARD, "C v_k + vr"):
                v[i] = to_child(tree.C[i], v[k]) + v[i]
        if len(p[i]):
            with line(FORWARD, "phi + M* (C v_k + vr)"):
                y = phi[i] + M[i] @ v[i]
            with line(FORWARD, "qdot"):
                qdot[i] = D[i] @ minus(p[i], tree.A[i].T, y)
            with line(FORWARD, "v"):
                v[i] = plus(v[i], tree.A[i], qdot[i])
        with line(FORWARD, "mu"):
            mu[i] = M[i] @ v[i] + phi[i]
    return qdot, v, mu
