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
from .algebra import Numbers, cross, rigid, rigid_times
from .tree import State, Vectors, velocities


def omega_times(v: Numbers, x: Numbers) -> Numbers:
    """Omega x = (w x f; u x f + w x n) of v = (u; w), x = (f; n)."""
    return np.concatenate([cross(v[3:], x[:3]), cross(v[:3], x[:3]) + cross(v[3:], x[3:])])


def right_side(state: State, u: Array, tau: Array) -> tuple[Vectors, Vectors, Vectors]:
    """tau, wr and Omega M v: what p, vr and b are in the extended system."""
    tree = state.tree
    v = velocities(tree, state.split(u), tree.vr)
    b = [omega_times(v[i], rigid_times(rigid(tree.M[i]), v[i])) for i in range(len(tree))]
    return state.split(state.joint_forces(u, tau)), state.acceleration_drifts(u), b
