"""Algorithm 3: X u = Q for a block matrix with the pattern of a tree, by L^T D L or L^T L without fill.

    for i = N-1..0    L_ii^T D_i L_ii = X_ii,   Y_ij = L_ii^-T X_ij,   V_ij = D_i^-1 Y_ij       j: pattern of row i
                      X_jk -= Y_ij^T V_ik,   y_i = L_ii^-T Q_i,   Q_j -= V_ij^T y_i
    for i = 0..N-1    u_i = L_ii^-1 (D_i^-1 y_i - sum_j V_ij u_j)

The pattern of row i are blocks j < i: for B^T M B the ancestors of i, for Z^T S M^-1 S^T Z the parent of i and its
siblings with smaller numbers. Ivanov & Shimanovskiy 2023, Algorithm 3, whose second loop is printed as i = N:1. A
row of size n with e columns before it takes g(e + n) - g(e) flops, g(x) = x^3/3 + 5/2 x^2 + x/6 with square roots
and g(x) = x^3/3 + 5/2 x^2 - 11/6 x without.
"""

from __future__ import annotations

from .algebra import Numbers, ltdl, ltl, minus, plus_symmetric, solve_lower, solve_upper
from .tree import FACTOR, Tree, Vectors

Blocks = dict[tuple[int, int], Numbers]


def solve_blocks(tree: Tree, X: Blocks, Q: Vectors, pattern: list[list[int]], roots: bool) -> Vectors:
    """X^-1 Q; `pattern[i]` are the columns j < i of row i, in rising order."""
    line, X, y = tree.line, dict(X), list(Q)
    L: Blocks = {}
    V: Blocks = {}
    h = list(y)
    for i in range(len(Q) - 1, -1, -1):
        row = pattern[i]
        with line(FACTOR, "L_ii"):
            L[i, i], D = (ltl(X[i, i]), None) if roots else ltdl(X[i, i])
        with line(FACTOR, "L_ij"):
            Y = {j: solve_upper(L[i, i], X[i, j], unit=not roots) for j in row}
            for j in row:
                V[i, j] = Y[j] if D is None else Y[j] / D[:, None]
        with line(FACTOR, "X_jk - L_ij^T L_ik"):
            for j in row:
                X[j, j] = plus_symmetric(X[j, j], Y[j].T, V[i, j], -1.0)
                for k in row:
                    if k < j:
                        X[j, k] = minus(X[j, k], Y[j].T, V[i, k])
        with line(FACTOR, "h_i"):
            y[i] = solve_upper(L[i, i], y[i], unit=not roots)
            h[i] = y[i] if D is None else y[i] / D
        with line(FACTOR, "Q_j - L_ij^T h_i"):
            for j in row:
                y[j] = minus(y[j], V[i, j].T, y[i])
    u = list(h)
    for i in range(len(Q)):
        with line(FACTOR, "h_i - L_ij u_j"):
            for j in pattern[i]:
                u[i] = minus(u[i], V[i, j], u[j])
        with line(FACTOR, "u_i"):
            u[i] = solve_lower(L[i, i], u[i], unit=not roots)
    return u
