"""Newton-Euler equations by block LU (Algorithm 1): joint accelerations in O(N), body by body.

    w = C w_k + A udot + wr,   M w + Omega M v = F + S^T R,   A^T R = tau

Ivanov & Shimanovskiy 2023 (33); method "newton-euler-lu". The sweeps are those of "emh-lu" with (udot, w, R) for
(qdot, v, mu): wr takes the place of vr, tau that of p, and phi starts from Omega M v.

    wr    of each body: dv/dt when neither its parent nor its joint speeds accelerate; on the ground, which has the
          acceleration -g in place of the bodies' weight, with C (-g; 0) added

To read along: :mod:`mbkern.textbook.newton_euler`.
"""

from .blocks import B_VR, blocks_row, put_blocks
from .extended_lu import U_MU, U_PHI, backward, lu_row, put_all_speeds, put_bodies, put_loss
from .jit import inline, kernel
from .layout import (
    BODY_G, BODY_INERTIA, BODY_MASS, BODY_MOMENT, BODY_PARENT, FIRST_NODE, GRAVITY, N_BODIES, N_JOINT_NODES, NV,
    W_DRIFT, W_G, body_row, get3, get6, get_frame, get_pair, put_pair, speeds_at, work_row,
)
from .momenta import body_velocity
from .newton_euler import put_joint_forces, put_motions
from .number import get, put, whole
from .spatial import ZERO6, add6, motion_to_child, omega_times, rigid_times
from .vec3 import ZERO3, neg


@inline
def put_drifts(block, work):
    """wr of all bodies in the place of vr; the nodes' frames, v and wr are in the workspace already."""
    for b in range(whole(block, N_BODIES)):
        row, at = body_row(block, b), blocks_row(block, b) + B_VR
        put_pair(work, at, ZERO6)
        if whole(block, row + BODY_PARENT) < 0:
            put_pair(work, at, (neg(get3(block, GRAVITY)), ZERO3))
        first = whole(block, row + FIRST_NODE)
        for i in range(first, first + whole(block, row + N_JOINT_NODES)):
            w = work_row(i)
            carried = motion_to_child(get_frame(work, w + W_G), get_pair(work, at))
            put_pair(work, at, add6(carried, get_pair(work, w + W_DRIFT)))
        put_pair(work, at, motion_to_child(get_frame(block, row + BODY_G), get_pair(work, at)))


@inline
def gyroscopic(block, b, work):
    """Omega M v of body b; the nodes' velocities are in the workspace."""
    row = body_row(block, b)
    m, s, J = get(block, row + BODY_MASS), get3(block, row + BODY_MOMENT), get6(block, row + BODY_INERTIA)
    v = body_velocity(block, row, work)
    return omega_times(v, rigid_times(m, s, J, v))


@inline
def forward(block, tau, udot, work):
    """udot and w of all bodies, root first."""
    put_all_speeds(block, tau, work)
    for b in range(whole(block, N_BODIES)):
        put_pair(work, lu_row(block, b) + U_MU, gyroscopic(block, b, work))
    put_loss(block, tau, work)
    for j in range(whole(block, NV)):
        put(udot, j, get(work, speeds_at(block) + j))


@kernel
def sweeps(block, q, u, tau, udot, work):
    """udot for any number type; the drive values are in the workspace already."""
    put_joint_forces(block, q, u, tau, udot, work)
    put_blocks(block, q, work)
    put_motions(block, u, work)
    put_drifts(block, work)
    put_bodies(block, work)
    for b in range(whole(block, N_BODIES)):
        put_pair(work, lu_row(block, b) + U_PHI, gyroscopic(block, b, work))
    backward(block, udot, work)
    forward(block, udot, udot, work)
