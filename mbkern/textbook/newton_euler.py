"""Newton-Euler equations: the extended system with (udot, w, R) for (qdot, v, mu).

    w_i = C_i w_k + A_i udot_i + wr_i,   w = dv/dt in body axes                     Ivanov & Shimanovskiy 2023, (33)
    M_i w_i + Omega_i M_i v_i = R_i - sum_j C_j^T R_j,   A_i^T R_i = tau_i           j the children of i, k its parent
    wr_i = (Omega_i^T C_i - C_i Omega_k^T) v_k + Adot_i u_i + vrdot_i,   Omega = [[w~, 0], [u~, w~]] of v = (u; w)

wr takes the place of vr, tau that of p, Omega M v that of b; the ground accelerates by -g in place of the weights. Any
solver of the extended system does: Algorithm 1 or 2 give articulated-body dynamics, the reductions of DAH and HZU
Lagrange's equations (:mod:`mbkern.textbook.lagrange`). R are the joint reactions. The compiled kernels:
:mod:`mbkern.core.newton_euler`, :mod:`mbkern.core.newton_euler_lu`.
"""

from __future__ import annotations

import numpy as np

from ..inputs import Array
from .algebra import Numbers, cross, plus, rigid, rigid_times, to_child
from .tree import State, Vectors

MOTION = "motion"


def omega_times(v: Numbers, x: Numbers) -> Numbers:
    """Omega x = (w x f; u x f + w x n) of v = (u; w), x = (f; n)."""
    return np.concatenate([cross(v[3:], x[:3]), cross(v[:3], x[:3]) + cross(v[3:], x[3:])])


def omega_transposed_times(v: Numbers, x: Numbers) -> Numbers:
    """Omega^T x = (x_l x w + x_a x u; x_a x w) of v = (u; w), x = (x_l; x_a)."""
    return np.concatenate([cross(x[:3], v[3:]) + cross(x[3:], v[:3]), cross(x[3:], v[3:])])


def motions(state: State, u: Array) -> tuple[Vectors, Vectors]:
    """v, and wr = Omega(A u + vr)^T C v_k + Adot u + vrdot: dC/dt = Omega(A u + vr)^T C. Adot u + vrdot is given."""
    tree, rates = state.tree, state.split(u)
    v: Vectors = []
    wr: Vectors = []
    for i, (k, whole) in enumerate(zip(tree.parents, state.acceleration_drifts(u), strict=True)):
        with tree.line(MOTION, "C v_k + A u + vr"):
            own = plus(tree.vr[i], tree.A[i], rates[i])
        if k < 0:
            v.append(own)
            wr.append(whole)
            continue
        with tree.line(MOTION, "C v_k + A u + vr"):
            carried = to_child(tree.C[i], v[k])
            v.append(carried + own)
        with tree.line(MOTION, "wr"):
            turned = omega_transposed_times(own, carried)
            given = tree.numbers(whole.astype(float) - turned.astype(float))
            wr.append(turned + given)
    return v, wr


def right_side(state: State, u: Array, tau: Array) -> tuple[Vectors, Vectors, Vectors]:
    """tau, wr and Omega M v: what p, vr and b are in the extended system."""
    tree = state.tree
    v, wr = motions(state, u)
    with tree.line(MOTION, "Omega M v"):
        b = [omega_times(v[i], rigid_times(rigid(tree.M[i]), v[i])) for i in range(len(tree))]
    return state.split(state.joint_forces(u, tau)), wr, b
