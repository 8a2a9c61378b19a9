"""The algorithms as printed: dense 6x6 matrices and n x n factorizations, on any number.

They are here to be counted, not to be fast: run on counting numbers, Algorithm 2 as L^T D L takes exactly the number
of operations that the Russian paper prints (ERA), line by line:

    every body    L^T D L = A^T M* A   n^3/3 + n^2/2 - 5n/6    A^T M*         66n    (A^T M*) A  11n^2
                  M* vr + phi          72                      p - A^T (...)  12n    solve u     n^2
                  solve qdot           n^2 - n                 A qdot + vr    12n    mu          72
                  pdot                 23n
    not the root  F*                   48                      C^T M* C       540    D U         6n
                  U^T D U              72n                     C^T (...)      48     D u         n
                  U^T D u              12n                     (A^T M*) C     42n    solve U     6n^2
                  u - U v_k            12n                     C v_k          48

Elementary operations: C x or C^T x takes 42 (C is kept as G and rho), M x of a rigid body 42, a dense 6x6 times a
vector 66. Given, not counted, as in the papers: C, A, vr, Adot^T - A^T Omega, the weights F, the inertias, joint
forces; for HZU also M^-1 and Z. Armature r, which the papers do not have, adds n operations where A^T M* A or H_ii gets
its diagonal; for HZU see :mod:`mbkern.core.multipliers`.

What a count covers. Every algorithm here is executed to its end, pdot, and can be summed up in two ways, by one rule
for all of them: *to mu* (all lines but the two of `RATE`: the linear system solved for qdot, v and mu) and *to pdot*
(all lines). The tables of the two papers do not cover the same. The Russian one goes to pdot: F* and pdot are in its
ledger above. The English one has no room for pdot, which is read off its formulas: what is linear in the freedoms of
DAH is 109/6 = 1/6 (Cholesky) + 6 (triangle of H) + 12 (right side), of TSP 235/6 = -5/6 (L^T D L) + 6 + 12 - 1 + 23,
with the 23 of pdot. So "emh-cholesky", the form that the English paper prints, is set against its table to mu; all
others are set against the Russian table to pdot. Both forms of Algorithm 2, both ways:

    to mu     Cholesky  EMH + sum_others(44 n - 84) - sum_roots(6 n^2 + 10 n + 60)     (EMH is not a literal count)
              L^T D L   the same + sum_others(5 n) - sum_roots(2 n)
    to pdot   L^T D L   ERA, exactly
              Cholesky  ERA - sum_others(5 n) + sum_roots(2 n)

No single coverage gives both ERA for one form and the first line for the other: between them lie the 23 n and 48 of
`RATE`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .. import plain
from ..errors import ModelError
from ..inputs import Array
from ..model.model import Model
from ..workspace import places
from .numbers import Ledger
from .sources import evaluate_drives, rebound, with_drives

Numbers = np.ndarray  # of counting numbers (dtype object)
_spatial = plain.load("spatial")

BACKWARD, FORWARD, FACTOR = "backward", "forward", "factor"
RATE = ("F*", "pdot")  # the lines that only pdot needs
TO_MU, TO_PDOT = "mu", "pdot"
# how far the table goes that an algorithm is set against: the English one, or (all others) the Russian one
COVERED = {"emh-cholesky": TO_MU}


@dataclass
class Given:
    """What the papers take for granted at a state: one entry a body, as counting numbers."""

    ledger: Ledger
    names: Sequence[str]
    parents: list[int]
    X: list[Any]  # frames (G, rho), the C of the papers
    A: list[Numbers]
    vr: list[Numbers]
    M: list[Numbers]
    F: list[Numbers]
    p: list[Numbers]
    rotors: list[Array]  # armature of each freedom, as plain numbers
    momentum_matrix: Callable[[int, Numbers, list[Numbers]], Numbers]  # Adot^T - A^T Omega of a body from v, all qdot

    @property
    def n_bodies(self) -> int:
        return len(self.parents)

    def zeros(self) -> list[Numbers]:
        """A zero six-vector a body; these zeros are numbers, not literals."""
        return [self.ledger.numbers(np.zeros(6)) for _ in self.parents]

    def with_rotors(self, i: int, X: Numbers) -> Numbers:
        """The n x n matrix X of body i's joint plus the inertia of its rotors."""
        if not self.rotors[i].any():
            return X
        X = X.copy()
        for k, r in enumerate(self.ledger.numbers(self.rotors[i])):
            if self.rotors[i][k]:
                X[k, k] = X[k, k] + r
        return X


# ---- small algebra
# ---------------------------------------------------------------------------------------------------


def _pair(x: Any) -> Any:
    return tuple(x[:3]), tuple(x[3:])


def _six(pair: Any) -> Numbers:
    return np.array([*pair[0], *pair[1]], object)


def to_child(X: Any, v: Numbers) -> Numbers:
    """C v: 42 flops."""
    return _six(_spatial.motion_to_child(X, _pair(v)))


def to_parent(X: Any, F: Numbers) -> Numbers:
    """C^T F: 42 flops."""
    return _six(_spatial.force_to_parent(X, _pair(F)))


def rows_to_parent(X: Any, W: Numbers) -> Numbers:
    """W C, row by row: 42 flops a row."""
    return np.array([to_parent(X, row) for row in W], object)


def rigid_times(M: Numbers, v: Numbers) -> Numbers:
    """M v of a rigid body, where M is known to be (m E, -s~; s~, J): 42 flops."""
    J = (M[3, 3], M[3, 4], M[3, 5], M[4, 4], M[4, 5], M[5, 5])
    return _six(_spatial.rigid_times(M[0, 0], (M[5, 1], M[3, 2], M[4, 0]), J, _pair(v)))


def inertia_to_parent(X: Any, M: Numbers) -> Numbers:
    """C^T M C of a dense matrix: 504 flops."""
    return rows_to_parent(X, rows_to_parent(X, M).T).T


def ltl(X: Numbers) -> Numbers:
    """L with L^T L = X: n^3/3 + n^2/2 + n/6 flops."""
    X, n = X.copy(), len(X)
    for k in range(n - 1, -1, -1):
        X[k, k] = X[k, k].root()
        for j in range(k):
            X[k, j] = X[k, j] / X[k, k]
        for j in range(k):
            for l in range(j + 1):
                X[j, l] = X[j, l] - X[k, j] * X[k, l]
    return X


def ltdl(X: Numbers) -> tuple[Numbers, Numbers]:
    """Unit L and D with L^T D L = X: n^3/3 + n^2/2 - 5n/6 flops."""
    X, n = X.copy(), len(X)
    L = X.copy()
    for k in range(n - 1, -1, -1):
        for j in range(k):
            L[k, j] = X[k, j] / X[k, k]
        for j in range(k):
            for l in range(j + 1):
                X[j, l] = X[j, l] - L[k, j] * X[k, l]
    return L, np.array([X[k, k] for k in range(n)], object)


def solve_upper(L: Numbers, b: Numbers, unit: bool = False) -> Numbers:
    """L^-T b: n^2 flops, n^2 - n with a unit diagonal."""
    x = b.copy()
    for k in range(len(L) - 1, -1, -1):
        for j in range(k + 1, len(L)):
            x[k] = x[k] - L[j, k] * x[j]
        if not unit:
            x[k] = x[k] / L[k, k]
    return x


def solve_lower(L: Numbers, b: Numbers, unit: bool = False) -> Numbers:
    """L^-1 b: n^2 flops, n^2 - n with a unit diagonal."""
    x = b.copy()
    for k in range(len(L)):
        for j in range(k):
            x[k] = x[k] - L[k, j] * x[j]
        if not unit:
            x[k] = x[k] / L[k, k]
    return x


def inverse(X: Numbers) -> Numbers:
    """X^-1 by Gauss and Jordan, in place of itself: 2 n^3 - 2 n^2 + n flops."""
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


def _columns(solve: Callable[[Numbers], Numbers], B: Numbers) -> Numbers:
    return np.array([solve(column) for column in B.T], object).T


def _lower(A: Numbers, B: Numbers) -> Numbers:
    """A^T B where it is symmetric: the lower triangle is computed, the upper one a copy; 11 flops an entry."""
    n = A.shape[1]
    out = np.empty((n, n), object)
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = out[j, i] = A[:, i] @ B[:, j]
    return out


# ---- shared by all methods
# -------------------------------------------------------------------------------------------


def _add_forces(given: Given, i: int, F: list[Numbers], sweep: str) -> None:
    """F*_k += C^T F*_i."""
    with given.ledger.under(sweep, "F*"):
        k = given.parents[i]
        F[k] = F[k] + to_parent(given.X[i], F[i])


def _velocity(given: Given, i: int, v: list[Numbers], qdot: Numbers) -> Numbers:
    """C v_k + A qdot + vr."""
    k, own = given.parents[i], given.vr[i]
    if len(qdot):
        with given.ledger.under(FORWARD, "A qdot + vr"):
            own = given.A[i] @ qdot + own
    if k >= 0:
        with given.ledger.under(FORWARD, "C v_k"):
            own = to_child(given.X[i], v[k]) + own
    return own


def _momentum_rate(given: Given, i: int, v: Numbers, qdot: list[Numbers], mu: Numbers, F: Numbers,
                   sweep: str) -> Numbers:
    """(Adot^T - A^T Omega) mu + A^T F*."""
    if not len(qdot[i]):
        return given.p[i]
    matrix = given.momentum_matrix(i, v, qdot)
    with given.ledger.under(sweep, "pdot"):
        return matrix @ mu + given.A[i].T @ F


# ---- Algorithm 2: EMH, ERA
# -------------------------------------------------------------------------------------------


def algorithm2(given: Given, roots: bool) -> tuple[list[Numbers], list[Numbers]]:
    """qdot and pdot by L^T D L, or with square roots by L^T L."""
    under, parents = given.ledger.under, given.parents
    n_bodies = given.n_bodies
    M, F, phi, v = list(given.M), list(given.F), given.zeros(), given.zeros()
    L: list[Any] = [None] * n_bodies
    U: list[Any] = [None] * n_bodies
    u = list(given.p)
    for i in range(n_bodies - 1, -1, -1):
        A, X, k, n = given.A[i], given.X[i], parents[i], len(given.p[i])
        with under(BACKWARD, "M* vr + phi"):
            y = M[i] @ given.vr[i] + phi[i]
        if n:
            with under(BACKWARD, "A^T M*"):
                W = A.T @ M[i]
            with under(BACKWARD, "(A^T M*) A"):
                AMA = given.with_rotors(i, W @ A)
            with under(BACKWARD, "factor A^T M* A"):
                L[i], D = (ltl(AMA), None) if roots else ltdl(AMA)
            with under(BACKWARD, "p - A^T (M* vr + phi)"):
                r = given.p[i] - A.T @ y

            def solve(b: Numbers, L: Any = L[i], D: Any = D) -> Numbers:
                return solve_upper(L, b) if D is None else solve_upper(L, b, unit=True) / D

            with under(BACKWARD, "solve u"):
                u[i] = solve(r)
        if k < 0:
            continue
        _add_forces(given, i, F, BACKWARD)
        with under(BACKWARD, "C^T M* C"):
            M[k] = M[k] + inertia_to_parent(X, M[i])
        with under(BACKWARD, "C^T (M* vr + phi)"):
            phi[k] = phi[k] + to_parent(X, y)
        if n:
            with under(BACKWARD, "(A^T M*) C"):
                WC = rows_to_parent(X, W)
            with under(BACKWARD, "solve U"):
                U[i] = _columns(solve, WC)
            DU, Du = U[i], u[i]
            if D is not None:
                with under(BACKWARD, "D U"):
                    DU = D[:, None] * U[i]
                with under(BACKWARD, "D u"):
                    Du = D * u[i]
            with under(BACKWARD, "U^T D U"):
                M[k] = M[k] - U[i].T @ DU
            with under(BACKWARD, "U^T D u"):
                phi[k] = phi[k] + U[i].T @ Du
    qdot, pdot = list(given.p), list(given.p)
    for i, k in enumerate(parents):
        if len(given.p[i]):
            r = u[i]
            if k >= 0:
                with under(FORWARD, "u - U v_k"):
                    r = u[i] - U[i] @ v[k]
            with under(FORWARD, "solve qdot"):
                qdot[i] = solve_lower(L[i], r, unit=not roots)
        v[i] = _velocity(given, i, v, qdot[i])
        with under(FORWARD, "mu"):
            mu = M[i] @ v[i] + phi[i]
        pdot[i] = _momentum_rate(given, i, v[i], qdot, mu, F[i], FORWARD)
    return qdot, pdot


def emh_ldl(given: Given) -> tuple[list[Numbers], list[Numbers]]:
    """Algorithm 2 as L^T D L."""
    return algorithm2(given, roots=False)


def emh_cholesky(given: Given) -> tuple[list[Numbers], list[Numbers]]:
    """Algorithm 2 with square roots, as the English paper prints it."""
    return algorithm2(given, roots=True)


# ---- Algorithm 1: EMH by LU
# ------------------------------------------------------------------------------------------


def emh_lu(given: Given) -> tuple[list[Numbers], list[Numbers]]:
    """Algorithm 1: D = (A^T M* A)^-1 and H = E - M* A D A^T as dense matrices."""
    under, parents = given.ledger.under, given.parents
    M, F, phi, v = list(given.M), list(given.F), given.zeros(), given.zeros()
    D: list[Any] = [None] * given.n_bodies
    one = given.ledger.numbers(np.eye(6))
    for i in range(given.n_bodies - 1, -1, -1):
        A, X, k, n = given.A[i], given.X[i], parents[i], len(given.p[i])
        if n:
            with under(BACKWARD, "M* A"):
                MA = M[i] @ A
            with under(BACKWARD, "A^T (M* A)"):
                AMA = given.with_rotors(i, A.T @ MA)
            with under(BACKWARD, "D"):
                D[i] = inverse(AMA)
        if k < 0:
            continue
        _add_forces(given, i, F, BACKWARD)
        HM = M[i]
        with under(BACKWARD, "M* vr + phi"):
            y = M[i] @ given.vr[i] + phi[i]
        if n:
            with under(BACKWARD, "M* A D"):
                K = MA @ D[i]
            with under(BACKWARD, "H"):
                H = one - K @ A.T
            with under(BACKWARD, "H M*"):
                HM = H @ M[i]
            with under(BACKWARD, "M* A D p + H (M* vr + phi)"):
                y = K @ given.p[i] + H @ y
        with under(BACKWARD, "C^T H M* C"):
            M[k] = M[k] + inertia_to_parent(X, HM)
        with under(BACKWARD, "phi"):
            phi[k] = phi[k] + to_parent(X, y)
    qdot, pdot = list(given.p), list(given.p)
    for i, k in enumerate(parents):
        v0 = given.vr[i]
        if k >= 0:
            with under(FORWARD, "C v_k + vr"):
                v0 = to_child(given.X[i], v[k]) + v0
        v[i] = v0
        if len(given.p[i]):
            with under(FORWARD, "phi + M* (C v_k + vr)"):
                y = phi[i] + M[i] @ v0
            with under(FORWARD, "qdot"):
                qdot[i] = D[i] @ (given.p[i] - given.A[i].T @ y)
            with under(FORWARD, "v"):
                v[i] = v0 + given.A[i] @ qdot[i]
        with under(FORWARD, "mu"):
            mu = M[i] @ v[i] + phi[i]
        pdot[i] = _momentum_rate(given, i, v[i], qdot, mu, F[i], FORWARD)
    return qdot, pdot


# ---- Algorithm 3 and the two reductions: DAH, HZU
# --------------------------------------------------------------------


def algorithm3(ledger: Ledger, X: dict[tuple[int, int], Numbers], Q: list[Numbers],
               pattern: list[list[int]]) -> list[Numbers]:
    """X^-1 Q by the block sparse L^T L of a tree: `pattern[i]` are the columns j < i of row i, in rising order."""
    under = ledger.under
    X, Q = dict(X), list(Q)
    sizes = [len(x) for x in Q]
    L: dict[tuple[int, int], Numbers] = {}
    for i in range(len(Q) - 1, -1, -1):
        if not sizes[i]:
            continue
        row = [j for j in pattern[i] if sizes[j]]
        with under(FACTOR, "L_ii"):
            L[i, i] = ltl(X[i, i])
        with under(FACTOR, "L_ij"):
            for j in row:
                L[i, j] = _columns(partial(solve_upper, L[i, i]), X[i, j])
        with under(FACTOR, "X_jk - L_ij^T L_ik"):
            for j in row:
                for k in row:
                    if k < j:
                        X[j, k] = X[j, k] - L[i, j].T @ L[i, k]
                X[j, j] = X[j, j].copy()
                for a in range(sizes[j]):
                    for b in range(a + 1):
                        X[j, j][a, b] = X[j, j][a, b] - L[i, j][:, a] @ L[i, j][:, b]
        with under(FACTOR, "h_i"):
            Q[i] = solve_upper(L[i, i], Q[i])
        with under(FACTOR, "Q_j - L_ij^T h_i"):
            for j in row:
                Q[j] = Q[j] - L[i, j].T @ Q[i]
    for i in range(len(Q)):
        with under(FACTOR, "h_i - L_ij u_j"):
            for j in pattern[i]:
                if sizes[i] and sizes[j]:
                    Q[i] = Q[i] - L[i, j] @ Q[j]
        with under(FACTOR, "u_i"):
            if sizes[i]:
                Q[i] = solve_lower(L[i, i], Q[i])
    return Q


def dah(given: Given) -> tuple[list[Numbers], list[Numbers]]:
    """(B^T M B) qdot = p - B^T M phi with composite inertias and Algorithm 3."""
    under, parents, N = given.ledger.under, given.parents, given.n_bodies
    phi: list[Numbers] = []
    for i, k in enumerate(parents):
        with under("drift", "phi"):
            phi.append(given.vr[i] if k < 0 else to_child(given.X[i], phi[k]) + given.vr[i])
    M, F, y = list(given.M), list(given.F), []
    with under("drift", "M phi"):
        y = [rigid_times(given.M[i], phi[i]) for i in range(N)]
    pattern: list[list[int]] = []
    for k in parents:
        pattern.append([] if k < 0 else [*pattern[k], k])
    H: dict[tuple[int, int], Numbers] = {}
    Q = list(given.p)
    for i in range(N - 1, -1, -1):
        A, k = given.A[i], parents[i]
        if len(given.p[i]):
            with under(BACKWARD, "A^T Mc"):
                W = A.T @ M[i]
            with under(BACKWARD, "H_ii"):
                H[i, i] = given.with_rotors(i, _lower(W.T, A))
            at = i
            for j in reversed(pattern[i]):
                with under(BACKWARD, "(A^T Mc) C"):
                    W = rows_to_parent(given.X[at], W)
                at = j
                if len(given.p[j]):
                    with under(BACKWARD, "H_ij"):
                        H[i, j] = W @ given.A[j]
            with under(BACKWARD, "p - B^T M phi"):
                Q[i] = given.p[i] - A.T @ y[i]
        if k >= 0:
            _add_forces(given, i, F, BACKWARD)
            with under(BACKWARD, "C^T Mc C"):
                M[k] = M[k] + inertia_to_parent(given.X[i], M[i])
            with under("drift", "C^T M phi"):
                y[k] = y[k] + to_parent(given.X[i], y[i])
    qdot = algorithm3(given.ledger, H, Q, pattern)
    v = given.zeros()
    for i in range(N):
        v[i] = _velocity(given, i, v, qdot[i])
    with under(FORWARD, "M v"):
        mu = [rigid_times(given.M[i], v[i]) for i in range(N)]
    pdot = list(given.p)
    for i in range(N - 1, -1, -1):
        pdot[i] = _momentum_rate(given, i, v[i], qdot, mu[i], F[i], FORWARD)
        if parents[i] >= 0:
            with under(FORWARD, "C^T mu"):
                mu[parents[i]] = mu[parents[i]] + to_parent(given.X[i], mu[i])
    return qdot, pdot


def hzu(given: Given) -> tuple[list[Numbers], list[Numbers]]:
    """(Z^T S M^-1 S^T Z) lambda = Z^T (vr - S M^-1 S^T a), a = A (A^T A)^-1 p, by Algorithm 3."""
    under, parents, N = given.ledger.under, given.parents, given.n_bodies
    children: list[list[int]] = [[] for _ in parents]
    for i, k in enumerate(parents):
        if k >= 0:
            children[k].append(i)
    inverses, Z = [_inverse_inertia(given, i) for i in range(N)], [_complement(given, i) for i in range(N)]

    def times_s_transposed(x: list[Numbers], step: str) -> list[Numbers]:
        """S^T x: what each body passes on less what it receives."""
        out = list(x)
        with under("multipliers", step):
            for i, k in enumerate(parents):
                if k >= 0:
                    out[k] = out[k] - to_parent(given.X[i], x[i])
        return out

    def times_inverses(x: list[Numbers], step: str) -> list[Numbers]:
        """M^-1 x."""
        with under("multipliers", step):
            return [inverses[i] @ x[i] for i in range(N)]

    def times_s(w: list[Numbers], step: str) -> list[Numbers]:
        """S w: velocities across the joints."""
        with under("multipliers", step):
            return [w[i] if k < 0 else w[i] - to_child(given.X[i], w[k]) for i, k in enumerate(parents)]

    factors: list[Any] = [None] * N
    a = given.zeros()
    for i in range(N):
        if len(given.p[i]):
            with under("projection", "A^T A"):
                AA = _lower(given.A[i], given.A[i])
            with under("projection", "factor A^T A"):
                factors[i] = ltl(AA)
            with under("projection", "A (A^T A)^-1 p"):
                a[i] = given.A[i] @ solve_lower(factors[i], solve_upper(factors[i], given.p[i]))
    drift = times_s(times_inverses(times_s_transposed(a, "S^T a"), "M^-1 S^T a"), "S M^-1 S^T a")
    Q: list[Numbers] = []
    for i in range(N):
        with under("multipliers", "Z^T (vr - S M^-1 S^T a)"):
            Q.append(Z[i].T @ (given.vr[i] - drift[i]) if Z[i].shape[1] else given.ledger.numbers([]))
    X: dict[tuple[int, int], Numbers] = {}
    for r in range(N):
        with under("multipliers", "C^T Z"):
            P = {r: Z[r]} | {j: -rows_to_parent(given.X[j], Z[j].T).T for j in children[r] if Z[j].shape[1]}
        P = {j: block for j, block in P.items() if block.shape[1]}
        with under("multipliers", "M^-1 (S^T Z)"):
            Y = {j: inverses[r] @ block for j, block in P.items()}
        with under("multipliers", "(S^T Z)^T M^-1 (S^T Z)"):
            for i in P:
                for j in P:
                    if j == i:
                        block = _lower(P[i], Y[i])
                        X[i, i] = _lower_sum(X[i, i], block) if (i, i) in X else block
                    elif j < i:
                        X[i, j] = P[i].T @ Y[j]
    for i in range(N):
        if given.rotors[i].any():
            with under("multipliers", "1 / r"):
                X[i, i] = X[i, i].copy()
                own = given.ledger.numbers(given.rotors[i][given.rotors[i] > 0.0])
                for k, r in enumerate(own, 6 - len(given.p[i])):
                    X[i, i][k, k] = X[i, i][k, k] + 1.0 / r
    pattern = [[] if k < 0 else [k, *(j for j in children[k] if j < i)] for i, k in enumerate(parents)]
    lam = algorithm3(given.ledger, X, Q, pattern)
    mu = list(a)
    for i in range(N):
        if len(lam[i]):
            with under(FORWARD, "a + Z lambda"):
                mu[i] = a[i] + Z[i] @ lam[i]
    v = times_inverses(times_s_transposed(mu, "S^T mu"), "v")
    relative = times_s(v, "S v")
    F, qdot, pdot = list(given.F), list(given.p), list(given.p)
    for i in range(N):
        if len(given.p[i]):
            with under(FORWARD, "qdot"):
                r = given.A[i].T @ (relative[i] - given.vr[i])
                qdot[i] = solve_lower(factors[i], solve_upper(factors[i], r))
    for i in range(N - 1, -1, -1):
        if parents[i] >= 0:
            _add_forces(given, i, F, FORWARD)
    for i in range(N):
        pdot[i] = _momentum_rate(given, i, v[i], qdot, mu[i], F[i], FORWARD)
    return qdot, pdot


def _lower_sum(A: Numbers, B: Numbers) -> Numbers:
    out = A.copy()
    for i in range(len(A)):
        for j in range(i + 1):
            out[i, j] = out[j, i] = A[i, j] + B[i, j]
    return out


def _inverse_inertia(given: Given, i: int) -> Numbers:
    M = given.M[i].astype(float)
    if not np.linalg.cond(M) < 1e14:
        raise ModelError(f"body {given.names[i]!r}: hzu inverts the inertia of every body, but this one's is singular")
    return given.ledger.numbers(np.linalg.inv(M))


def _complement(given: Given, i: int) -> Numbers:
    """Z: an orthonormal basis of what the joint blocks; then columns N with A^T N = E of the freedoms with armature."""
    A = given.A[i].astype(float).reshape(6, -1)
    left, _, _ = np.linalg.svd(A)
    N = np.linalg.pinv(A).T[:, given.rotors[i] > 0.0]
    return given.ledger.numbers(np.hstack([left[:, A.shape[1]:], N]))


# ---- from a model
# ----------------------------------------------------------------------------------------------------

TEXTBOOK: dict[str, Callable[[Given], tuple[list[Numbers], list[Numbers]]]] = {
    "emh-ldl": emh_ldl, "emh-cholesky": emh_cholesky, "emh-lu": emh_lu, "dah": dah, "hzu": hzu,
}


def run(model: Model, name: str, q: Array, p: Array, t: float, tau: Array, ledger: Ledger) -> tuple[Array, Array]:
    """qdot and pdot of a model by the printed algorithm `name`; its operations are written into the ledger."""
    blocks = plain.load("blocks")
    block, drives = with_drives(model)
    work = np.zeros(blocks.blocks_row(block, model.n_bodies))
    n = model.n_bodies
    C, columns, vr = np.zeros((n, 6, 6)), np.zeros((model.nv, 6)), np.zeros((n, 6))
    rebound(blocks.blocks, evaluate_drives=evaluate_drives(drives))(
        block, t, q, C.reshape(-1), columns.reshape(-1), vr.reshape(-1), work)
    parts = [slice(at, at + dofs) for at, dofs in zip(model.v_offsets.tolist(), model.dofs.tolist(), strict=True)]
    frames = [work[at:at + 12].copy() for at in (blocks.blocks_row(block, b) + blocks.B_G for b in range(n))]
    speeds, ratios = places.speeds_at(block), np.zeros(model.nv)

    def momentum_matrix(i: int, v: Numbers, qdot: list[Numbers]) -> Numbers:
        work[speeds:speeds + model.nv] = np.concatenate(qdot).astype(float)
        velocity, zero = _pair(v.astype(float).tolist()), ((0.0,) * 3,) * 2
        out = np.empty((parts[i].stop - parts[i].start, 6))
        for j, unit in enumerate(np.eye(6).tolist()):
            blocks.joint_momentum_rates(block, i, velocity, _pair(unit), zero, ratios, work)
            out[:, j] = ratios[parts[i]]
        return ledger.numbers(out)

    given = Given(
        ledger, model.body_names, model.parents.tolist(),
        [_frame(ledger, frame) for frame in frames],
        [ledger.numbers(columns[part].T) for part in parts],
        [ledger.numbers(x) for x in vr],
        [ledger.numbers(M) for M in model.bodies["M"]],
        [ledger.numbers(F) for F in _weights(model, frames)],
        [ledger.numbers(p[part]) for part in parts],
        [model.armature[part] for part in parts],
        momentum_matrix,
    )
    qdot, pdot = (np.concatenate(x).astype(float) for x in TEXTBOOK[name](given))
    work[speeds:speeds + model.nv] = qdot
    plain.load("forces").add_joint_forces(block, q, tau, pdot, work)
    rates = np.zeros(model.nq)
    plain.load("joints").put_rates(block, q, work, speeds, rates)
    return rates, pdot


def _frame(ledger: Ledger, numbers: Array) -> Any:
    x = ledger.numbers(numbers)
    return (tuple(x[0:3]), tuple(x[3:6]), tuple(x[6:9])), tuple(x[9:12])


def _weights(model: Model, frames: list[Array]) -> list[Array]:
    """(m g; rc x m g) of each body in its own axes."""
    gravity: list[Array] = []
    out = []
    for body, frame in zip(model.body_specs, frames, strict=True):
        before = model.gravity if body.parent < 0 else gravity[body.parent]
        gravity.append(frame[:9].reshape(3, 3) @ before)
        force = body.mass * gravity[-1]
        out.append(np.concatenate([force, np.cross(body.com, force)]))
    return out
