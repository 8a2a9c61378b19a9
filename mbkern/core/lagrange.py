"""Lagrange's equations of the second and of the first kind: joint accelerations by the matrices of DAH and HZU.

    second kind   (B^T M B + r) udot = tau - B^T (M T wr + Omega M v - F)                     method "lagrange-2"
    first kind    R = R0 + Z lam,   A^T R0 = tau (with rotors as in :mod:`.multipliers`)
                  (Z^T S M^-1 S^T Z) lam = Z^T (wr - S M^-1 (S^T R0 + F - Omega M v))
                  w = M^-1 (S^T R + F - Omega M v),   A udot = S w - wr                    method "lagrange-1"

Ivanov & Shimanovskiy 2023 (35), (36). What the second kind subtracts from tau are the joint forces that the motion
needs without joint accelerations: inverse dynamics with udot = 0. The weight F is in both an acceleration -g of the
ground.

To read along: :mod:`mbkern.textbook.lagrange`.
"""

from . import multipliers, reduced
from .blocks import put_blocks
from .forces import add_joint_forces
from .jit import inline, kernel
from .layout import N_BODIES, NV, put_pair, speeds_at
from .multipliers import H_LOAD, hzu_row
from .newton_euler import put_accelerations, put_forces, put_joint_forces, put_motions
from .newton_euler_lu import gyroscopic, put_drifts
from .number import get, put, whole
from .passing import put_hinge_frames
from .spatial import scale6


@inline
def put_result(block, udot, work):
    """Copy what a solver has left in the place of the speeds."""
    speeds = speeds_at(block)
    for j in range(whole(block, NV)):
        put(udot, j, get(work, speeds + j))


@kernel
def sweeps_2(block, q, u, tau, udot, work):
    """udot for any number type; the drive values are in the workspace already."""
    speeds, nv = speeds_at(block), whole(block, NV)
    reduced.put_mass(block, q, work)
    put_hinge_frames(block, work)
    put_motions(block, u, work)
    for j in range(nv):
        put(work, speeds + j, 0.0)
    put_accelerations(block, work[speeds:], work)
    put_forces(block, work[speeds:], work)
    for j in range(nv):
        put(udot, j, -get(work, speeds + j))
        put(work, speeds + j, get(u, j))
    add_joint_forces(block, q, tau, udot, work)
    for j in range(nv):
        put(work, speeds + j, get(udot, j))
    reduced.factor(block, work)
    reduced.substitute(block, work)
    put_result(block, udot, work)


@kernel
def sweeps_1(block, q, u, tau, udot, work):
    """udot for any number type; the drive values are in the workspace already."""
    put_joint_forces(block, q, u, tau, udot, work)
    put_blocks(block, q, work)
    put_motions(block, u, work)
    put_drifts(block, work)
    for b in range(whole(block, N_BODIES)):
        put_pair(work, hzu_row(block, b) + H_LOAD, scale6(-1.0, gyroscopic(block, b, work)))
    multipliers.backward(block, udot, work)
    multipliers.solve(block, work)
    put_result(block, udot, work)
