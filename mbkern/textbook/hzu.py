"""Hamilton's equations with multipliers on the orthogonal complement (HZU; Russian: OSP).

    mu = N p + Z lam,   N = A (A^T A)^-1,   A^T Z = 0                             Ivanov & Shimanovskiy 2023, (37), (38)
    (Z^T S M^-1 S^T Z) lam = Z^T [vr - S M^-1 (S^T N p - b)]
    v = M^-1 (S^T mu - b),   qdot = N^T (S v - vr)

    (S^T x)_i = x_i - sum_j C_j^T x_j,   (S v)_i = v_i - C_i v_k                     j the children, k the parent of i

The columns of S^T Z that meet in body r are Z_r and -C_j^T Z_j of its children: one clique of r's row and its
children's. M^-1 goes through the centre of mass (42 flops, not the 66 of a dense matrix); N and Z, functions of A
alone, are given as A is. b is 0 in Hamilton's equations. Where a dof has armature r, its column of N joins Z,
and its multiplier is -r qdot. The compiled kernel: :mod:`mbkern.core.multipliers`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .algebra import Numbers, cross, plus, plus_symmetric, rows_to_parent, to_child, to_parent
from .algorithm3 import Blocks, solve_blocks
from .tree import FORWARD, Solved, Tree, Vectors

MULTIPLIERS = "multipliers"


def inverse_times(body: tuple[Any, Numbers, Numbers], F: Numbers) -> Numbers:
    """M^-1 F through the centre of mass c: w = Jc^-1 (t - c x f), u = f / m - w x c; 42."""
    m, c, inverse = body
    w = inverse @ (F[3:] - cross(c, F[:3]))
    return np.concatenate([F[:3] / m - cross(w, c), w])


def solve(tree: Tree, p: Vectors, vr: Vectors, b: Vectors | None = None, roots: bool = False) -> Solved:
    """qdot, v and mu of the extended system, by its reduction to multipliers."""
    line, parents, every = tree.line, tree.parents, range(len(tree))
    children: list[list[int]] = [[j for j in every if parents[j] == i] for i in every]
    bodies = [tree.inverse_inertia(i) for i in every]
    N, Z = [tree.N(i) for i in every], [tree.Z(i) for i in every]

    def less_children(x: Vectors, text: str) -> Vectors:
        """S^T x - b."""
        out = list(x)
        with line(MULTIPLIERS, text):
            for i in every:
                for j in children[i]:
                    out[i] = out[i] - to_parent(tree.C[j], x[j])
            return out if b is None else [out[i] - b[i] for i in every]

    def inverses(x: Vectors, text: str) -> Vectors:
        """M^-1 x."""
        with line(MULTIPLIERS, text):
            return [inverse_times(bodies[i], x[i]) for i in every]

    def across(v: Vectors, text: str) -> Vectors:
        """S v - vr: what the joint speeds have to account for."""
        with line(MULTIPLIERS, text):
            return [(v[i] if k < 0 else v[i] - to_child(tree.C[i], v[k])) - vr[i] for i, k in enumerate(parents)]

    with line(MULTIPLIERS, "N p"):
        mu0 = [N[i] @ p[i] if len(p[i]) else tree.zeros(6) for i in every]
    gap = across(inverses(less_children(mu0, "S^T N p"), "M^-1 S^T N p"), "S M^-1 S^T N p - vr")
    with line(MULTIPLIERS, "Z^T (...)"):
        Q = [-(Z[i].T @ gap[i]) for i in every]
    X = Blocks()
    for i in every:
        for j in [i, *children[i]]:
            X[j, i] = tree.zeros(Z[j].shape[1], Z[i].shape[1])
        for j in children[i]:
            X |= {(j, l): tree.zeros(Z[j].shape[1], Z[l].shape[1]) for l in children[i] if l < j}
    for r in every:
        with line(MULTIPLIERS, "C^T Z"):
            P = {r: Z[r]} | {j: -rows_to_parent(tree.C[j], Z[j].T).T for j in children[r]}
        with line(MULTIPLIERS, "M^-1 (S^T Z)"):
            Y = {j: np.array([inverse_times(bodies[r], z) for z in P[j].T]).reshape(P[j].T.shape).T for j in P}
        with line(MULTIPLIERS, "(S^T Z)^T M^-1 (S^T Z)"):
            for j in P:
                X[j, j] = plus_symmetric(X[j, j], P[j].T, Y[j])
                for l in P:
                    if l < j:
                        X[j, l] = plus(X[j, l], P[j].T, Y[l])
    for i in every:
        with line(MULTIPLIERS, "1 / r"):
            for k, r in enumerate(tree.numbers(tree.r[i][tree.r[i] > 0.0]), 6 - len(p[i])):
                X[i, i][k, k] = X[i, i][k, k] + 1.0 / r
    pattern = [[] if k < 0 else [k, *(j for j in children[k] if j < i)] for i, k in enumerate(parents)]
    lam = solve_blocks(tree, X, Q, pattern, roots)
    with line(FORWARD, "N p + Z lam"):
        mu = [plus(mu0[i], Z[i], lam[i]) for i in every]
    v = inverses(less_children(mu, "S^T mu"), "v")
    rates = across(v, "S v - vr")
    with line(FORWARD, "qdot"):
        qdot = [N[i].T @ rates[i] for i in every]
    return qdot, v, mu
