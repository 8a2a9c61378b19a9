"""Appell's equations, dS/dudot = Q: all coefficients by probing the energy of accelerations S.

    S = sum over bodies of  m w.w/2 + (w x eps).s + (w x om).(om x s) + eps.J eps/2 + (eps x om).J om        Garifulin
      + sum over dofs of    r udot^2/2                                       (rotors, which the paper does not have)

    forward    (w - om x v; eps)_i = C_i (...)_k + A_i udot_i + wr_i          w: acceleration of the origin, body axes
    probes     S0 = S(0)      A_kk = S(2 e_k) - 2 S(e_k) + S0      H_k = S(e_k) - S0 - A_kk/2
               A_jk = S(e_j + e_k) - S0 - A_jj/2 - A_kk/2 - H_j - H_k
    solve      A udot = Q - H by L^T D L,   Q = tau + B^T F

S is quadratic in udot, so its values at 1 + 2 n + n (n - 1)/2 arguments give everything. The weight F is a force here
and no acceleration of the ground: that would make S large, and the rounding errors of its differences with it.
Reactions follow from the accelerations. The compiled kernel: :mod:`mbkern.core.appell`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..accuracy import LOSS_LIMIT
from ..errors import AccuracyWarning
from ..inputs import Array
from .algebra import Numbers, cross, ltdl, plus, rigid, rigid_times, solve_lower, solve_upper, to_child, to_parent
from .newton_euler import MOTION, motions, omega_times
from .tree import State, Vectors

PROBES, WEIGHT, SOLVE = "probes", "weight", "solve"
PROBED_ROUNDING = 4.0 * 2.0**-52  # of S, in the sum of four of them that gives a diagonal entry of A


def accelerations(state: State, u: Array, tau: Array) -> tuple[Vectors, Vectors]:
    """udot and reactions, one vector a body."""
    tree, n, line = state.tree, len(u), state.tree.line
    v, wr = motions(state, u)
    weightless = [wr[i] if k >= 0 else tree.numbers(wr[i].astype(float) + _gravity(state, i))
                  for i, k in enumerate(tree.parents)]
    with line(MOTION, "om x v"):
        spin = [cross(v[i][3:], v[i][:3]) for i in range(len(tree))]
    rotors, bodies = np.concatenate(tree.r), [rigid(M) for M in tree.M]

    def motion(udot: Numbers) -> Vectors:
        """dv/dt in body axes, without the weight."""
        out: Vectors = []
        for i, k in enumerate(tree.parents):
            own = plus(weightless[i], tree.A[i], udot[state.parts[i]])
            out.append(own if k < 0 else to_child(tree.C[i], out[k]) + own)
        return out

    def S(*dofs: int) -> Any:
        """S for unit accelerations of these dofs; a dof named twice has two."""
        udot = tree.zeros(n)
        for k in dofs:
            udot[k] = tree.numbers(float(udot[k]) + 1.0)[()]
        with line(PROBES, "S"):
            total = tree.zeros()[()]
            for i, a in enumerate(motion(udot)):
                total = total + energy(bodies[i], v[i][3:], a[:3] + spin[i], a[3:])
            for k in set(dofs):
                if rotors[k]:
                    total = total + udot[k] * udot[k] * tree.numbers(0.5 * rotors[k])[()]
        return total

    A, H = tree.zeros(n, n), tree.zeros(n)
    S0, ones = S(), [S(k) for k in range(n)]
    for k in range(n):
        two = S(k, k)
        with line(PROBES, "A, H"):
            A[k, k] = two - ones[k] - ones[k] + S0
            H[k] = ones[k] - S0 - A[k, k] * 0.5
    for j in range(n):
        for k in range(j):
            both = S(j, k)
            with line(PROBES, "A, H"):
                A[j, k] = A[k, j] = both - ones[j] - ones[k] + S0  # S(e_k) = S0 + A_kk/2 + H_k
    Q, F = tree.numbers(state.joint_forces(u, tau)), list(tree.F)
    for i in range(len(tree) - 1, -1, -1):
        k = tree.parents[i]
        with line(WEIGHT, "B^T F"):
            Q[state.parts[i]] = plus(Q[state.parts[i]], tree.A[i].T, F[i])
            if k >= 0:
                F[k] = F[k] + to_parent(tree.C[i], F[i])
    with line(SOLVE, "A udot = Q - H"):
        L, D = ltdl(A)
        udot = solve_lower(L, solve_upper(L, Q - H, unit=True) / D, unit=True)
    _warn([S0, *ones], D)
    with line(SOLVE, "R"):
        a = motion(udot)
        R = [rigid_times(bodies[i], a[i]) + omega_times(v[i], rigid_times(bodies[i], v[i])) - tree.F[i]
             for i in range(len(tree))]
        for i in range(len(tree) - 1, -1, -1):
            k = tree.parents[i]
            if k >= 0:
                R[k] = R[k] + to_parent(tree.C[i], R[i])
    return [udot[part] for part in state.parts], R


def _warn(S: list[Any], D: Numbers) -> None:
    """Say so where the differences of S have few digits left: its rounding error over the smallest pivot of A."""
    largest, smallest = max(abs(float(s)) for s in S), float(np.abs(D.astype(float)).min(initial=np.inf))
    if not PROBED_ROUNDING * largest <= LOSS_LIMIT * smallest:
        warnings.warn(f"textbook appell: the energy of accelerations is {largest:.1e}, so its differences at unit "
                      f"accelerations are known to {PROBED_ROUNDING * largest:.0e}, the coefficients A, whose "
                      f"smallest pivot is {smallest:.1e}, not much better, and the accelerations wrong; use another "
                      'method, such as "newton-euler-ldl"', AccuracyWarning, stacklevel=4)


def energy(body: tuple[Any, Numbers, Numbers], om: Numbers, w: Numbers, eps: Numbers) -> Any:
    """S of one body, terms without accelerations left out."""
    m, s, J = body
    turning = J @ om
    return (w @ w * m * 0.5 + cross(w, eps) @ s + cross(w, om) @ cross(om, s) + eps @ (J @ eps) * 0.5
            + cross(eps, om) @ turning)


def _gravity(state: State, i: int) -> Array:
    """C (g; 0) of a body on the ground: what is in wr for its weight, with the opposite sign."""
    G, _ = state.tree.C[i]
    return np.concatenate([G.astype(float) @ state.model.gravity, np.zeros(3)])
