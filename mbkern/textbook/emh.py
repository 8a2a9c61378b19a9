"""Algorithm 2: the extended system by L^T D L or by L^T L (Cholesky), body by body.

    M v - S^T mu = -b,   -S v + A qdot = -vr,   A^T mu = p          Ivanov & Shimanovskiy 2023, EMH; Russian: ERA

    backward   L_i^T D_i L_i = A_i^T M*_i A_i
               u_i = D^-1 L^-T [p_i - A_i^T (M*_i vr_i + phi_i)],   U_i = D^-1 L^-T A_i^T M*_i C_i
               M*_i  = M_i + sum_j (C_j^T M*_j C_j - U_j^T D_j U_j)
               phi_i = b_i + sum_j [C_j^T (M*_j vr_j + phi_j) + U_j^T D_j u_j]               j the children of i
    forward    qdot_i = L_i^-1 (u_i - U_i v_k),   v_i = C_i v_k + A_i qdot_i + vr_i          k the parent of i
               mu_i = M*_i v_i + phi_i

With square roots D = E, and u, U are the eta, V of the English paper. b is 0 in Hamilton's equations. The compiled
kernel, which eliminates coordinate by coordinate: :mod:`mbkern.core.extended`.

Executed to pdot, the form L^T D L takes exactly the flops that the Russian paper prints (ERA):

    every body    L^T D L = A^T M* A   n^3/3 + n^2/2 - 5n/6    A^T M*         66n    (A^T M*) A  11n^2
                  M* vr + phi          72                      p - A^T (...)  12n    solve u     n^2
                  solve qdot           n^2 - n                 A qdot + vr    12n    mu          72
                  pdot                 23n
    not the root  F*                   48                      C^T M* C       540    D U         6n
                  U^T D U              72n                     C^T (...)      48     D u         n
                  U^T D u              12n                     (A^T M*) C     42n    solve U     6n^2
                  u - U v_k            12n                     C v_k          48
"""

from __future__ import annotations

from typing import Any

from .algebra import (
    Numbers,
    inertia_to_parent,
    ltdl,
    ltl,
    minus,
    plus,
    rows_to_parent,
    solve_lower,
    solve_upper,
    to_child,
    to_parent,
)
from .tree import BACKWARD, FORWARD, Solved, Tree, Vectors


def solve(tree: Tree, p: Vectors, vr: Vectors, b: Vectors | None = None, roots: bool = False) -> Solved:
    """qdot, v and mu of the extended system by L^T D L; with square roots by L^T L."""
    line, N = tree.line, len(tree)
    M, phi = list(tree.M), [tree.zeros(6) for _ in p] if b is None else list(b)
    L: list[Any] = [None] * N
    U: list[Any] = [None] * N
    u = list(p)
    for i in range(N - 1, -1, -1):
        A, C, k = tree.A[i], tree.C[i], tree.parents[i]
        with line(BACKWARD, "M* vr + phi"):
            y = M[i] @ vr[i] + phi[i]
        with line(BACKWARD, "A^T M*"):
            W = A.T @ M[i]
        with line(BACKWARD, "(A^T M*) A"):
            AMA = tree.with_rotors(i, W @ A)
        with line(BACKWARD, "factor A^T M* A"):
            L[i], D = (ltl(AMA), None) if roots else ltdl(AMA)
        with line(BACKWARD, "p - A^T (M* vr + phi)"):
            r = minus(p[i], A.T, y)
        with line(BACKWARD, "solve u"):
            u[i] = _solve(L[i], D, r)
        if k < 0:
            continue
        with line(BACKWARD, "C^T M* C"):
            M[k] = M[k] + inertia_to_parent(C, M[i])
        with line(BACKWARD, "C^T (M* vr + phi)"):
            phi[k] = phi[k] + to_parent(C, y)
        with line(BACKWARD, "(A^T M*) C"):
            WC = rows_to_parent(C, W)
        with line(BACKWARD, "solve U"):
            U[i] = _solve(L[i], D, WC)
        DU, Du = U[i], u[i]
        if D is not None:
            with line(BACKWARD, "D U"):
                DU = D[:, None] * U[i]
            with line(BACKWARD, "D u"):
                Du = D * u[i]
        with line(BACKWARD, "U^T D U"):
            M[k] = minus(M[k], U[i].T, DU)
        with line(BACKWARD, "U^T D u"):
            phi[k] = plus(phi[k], U[i].T, Du)
    qdot, v, mu = list(p), list(phi), list(phi)
    for i, k in enumerate(tree.parents):
        r = u[i]
        if k >= 0:
            with line(FORWARD, "u - U v_k"):
                r = minus(u[i], U[i], v[k])
        with line(FORWARD, "solve qdot"):
            qdot[i] = solve_lower(L[i], r, unit=not roots)
        with line(FORWARD, "A qdot + vr"):
            v[i] = plus(vr[i], tree.A[i], qdot[i])
        if k >= 0:
            with line(FORWARD, "C v_k"):
                v[i] = to_child(tree.C[i], v[k]) + v[i]
        with line(FORWARD, "mu"):
            mu[i] = M[i] @ v[i] + phi[i]
    return qdot, v, mu


def _solve(L: Numbers, D: Numbers | None, b: Numbers) -> Numbers:
    """D^-1 L^-T b of a vector or a matrix."""
    if D is None:
        return solve_upper(L, b)
    return (solve_upper(L, b, unit=True).T / D).T
