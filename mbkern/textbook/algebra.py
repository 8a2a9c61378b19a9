"""Small algebra on any number: floats to read along, counting numbers for flop counts.

Six-vectors are (linear; angular). A frame C is kept as (G, rho): direction cosines parent -> child and the origin
in the parent. What each function costs, in flops, is in its first line; a product y + A x takes two flops a product
of numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Numbers = np.ndarray  # of floats, or of counting numbers (dtype object)
Frame = tuple[Numbers, Numbers]
Rigid = tuple[Any, Numbers, Numbers]  # mass, first moment, inertia about the origin


def cross(a: Numbers, b: Numbers) -> Numbers:
    """The cross product: 9."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


# ---- frames and rigid bodies ---------------------------------------------------------------------------------------


def to_child(C: Frame, v: Numbers) -> Numbers:
    """C v, a velocity of the parent as one of the child: 42."""
    G, rho = C
    return np.concatenate([G @ (v[:3] + cross(v[3:], rho)), G @ v[3:]])


def to_parent(C: Frame, F: Numbers) -> Numbers:
    """C^T F, a force or momentum of the child as one of the parent: 42."""
    G, rho = C
    f = G.T @ F[:3]
    return np.concatenate([f, cross(rho, f) + G.T @ F[3:]])


def rows_to_parent(C: Frame, W: Numbers) -> Numbers:
    """W C, row by row: 42 a row."""
    return np.array([to_parent(C, row) for row in W]).reshape(W.shape)


def inertia_to_parent(C: Frame, M: Numbers) -> Numbers:
    """C^T M C of a dense matrix: 504."""
    return rows_to_parent(C, rows_to_parent(C, M).T).T


def rigid(M: Numbers) -> Rigid:
    """The ten numbers in the 6x6 inertia of a rigid body: none."""
    return M[0, 0], np.array([M[5, 1], M[3, 2], M[4, 0]]), M[3:, 3:]


def rigid_times(body: Rigid, v: Numbers) -> Numbers:
    """M v of a rigid body, (m u + w x s; s x u + J w): 42."""
    m, s, J = body
    u, w = v[:3], v[3:]
    return np.concatenate([u * m + cross(w, s), cross(s, u) + J @ w])


def plus_rigid_in_parent(own: Rigid, C: Frame, child: Rigid) -> Rigid:
    """M + C^T M_j C of rigid bodies, which is a rigid body again: 147 + 10.

    With s and J turned into the parent's axes, by Huygens and Steiner as they are written down, lower triangles only:
    m,   s + m rho,   J - (rho~ s~ + s~ rho~) - m rho~ rho~.
    """
    (G, rho), (m, s, J) = C, child
    s = G.T @ s
    J = symmetric(G, J @ G)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        J[i, i] = J[i, i] + (rho[j] * s[j] + rho[k] * s[k]) * 2.0 + (rho[j] * rho[j] + rho[k] * rho[k]) * m
        J[j, k] = J[k, j] = J[j, k] - (s[j] * rho[k] + rho[j] * s[k]) - rho[j] * rho[k] * m
    total = own[2].copy()
    for i in range(3):
        for j in range(i + 1):
            total[i, j] = total[j, i] = own[2][i, j] + J[i, j]
    return own[0] + m, own[1] + (s + rho * m), total


# ---- sums of products ----------------------------------------------------------------------------------------------


def plus(y: Numbers, A: Numbers, x: Numbers) -> Numbers:
    """y + A x, for a vector or a matrix x: two flops a product."""
    for k in range(A.shape[1]):
        y = y + np.multiply.outer(A[:, k], x[k])
    return y


def minus(y: Numbers, A: Numbers, x: Numbers) -> Numbers:
    """y - A x, for a vector or a matrix x: two flops a product."""
    for k in range(A.shape[1]):
        y = y - np.multiply.outer(A[:, k], x[k])
    return y


def plus_symmetric(Y: Numbers, A: Numbers, B: Numbers, sign: float = 1.0) -> Numbers:
    """Y + A B or Y - A B where these are symmetric: the lower triangle is computed, the upper one a copy."""
    Y = Y.copy()
    for i in range(len(Y)):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                Y[i, j] = Y[i, j] + A[i, k] * B[k, j] if sign > 0.0 else Y[i, j] - A[i, k] * B[k, j]
            Y[j, i] = Y[i, j]
    return Y


def symmetric(A: Numbers, B: Numbers) -> Numbers:
    """A^T B where that is symmetric: the lower triangle is computed, the upper one a copy."""
    out = np.empty((A.shape[1], A.shape[1]), A.dtype)
    for i in range(len(out)):
        for j in range(i + 1):
            out[i, j] = out[j, i] = A[:, i] @ B[:, j]
    return out


# ---- factors -------------------------------------------------------------------------------------------------------


def root(x: Any) -> Any:
    """Square root: 1."""
    return x.root() if hasattr(x, "root") else math.sqrt(x)


def ltl(X: Numbers) -> Numbers:
    """L with L^T L = X: n^3/3 + n^2/2 + n/6."""
    X, n = X.copy(), len(X)
    for k in range(n - 1, -1, -1):
        X[k, k] = root(X[k, k])
        for j in range(k):
            X[k, j] = X[k, j] / X[k, k]
        for j in range(k):
            for l in range(j + 1):
                X[j, l] = X[j, l] - X[k, j] * X[k, l]
    return X


def ltdl(X: Numbers) -> tuple[Numbers, Numbers]:
    """Unit L and D with L^T D L = X: n^3/3 + n^2/2 - 5n/6."""
    X, n = X.copy(), len(X)
    L = X.copy()
    for k in range(n - 1, -1, -1):
        for j in range(k):
            L[k, j] = X[k, j] / X[k, k]
        for j in range(k):
            for l in range(j + 1):
                X[j, l] = X[j, l] - L[k, j] * X[k, l]
    return L, np.array([X[k, k] for k in range(n)])


def solve_upper(L: Numbers, b: Numbers, unit: bool = False) -> Numbers:
    """L^-T b of a vector, or of each column of a matrix: n^2, with a unit diagonal n^2 - n."""
    x = b.copy()
    for k in range(len(L) - 1, -1, -1):
        for j in range(k + 1, len(L)):
            x[k] = x[k] - x[j] * L[j, k]
        if not unit:
            x[k] = x[k] / L[k, k]
    return x


def solve_lower(L: Numbers, b: Numbers, unit: bool = False) -> Numbers:
    """L^-1 b: n^2, with a unit diagonal n^2 - n."""
    x = b.copy()
    for k in range(len(L)):
        for j in range(k):
            x[k] = x[k] - x[j] * L[k, j]
        if not unit:
            x[k] = x[k] / L[k, k]
    return x


def inverse(X: Numbers) -> Numbers:
    """X^-1 by Gauss and Jordan, in place of itself: 2 n^3 - 2 n^2 + n."""
    X, n = X.copy(), len(X)
    for k in range(n):
        others = [j for j in range(n) if j != k]
        X[k, k] = 1.0 / X[k, k]
        for j in others:
            X[k, j] = X[k, j] * X[k, k]
        for i in others:
            for j in others:
                X[i, j] = X[i, j] - X[i, k] * X[k, j]
            X[i, k] = -(X[i, k] * X[k, k])
    return X
