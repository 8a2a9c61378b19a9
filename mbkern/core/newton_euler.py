"""Newton-Euler equations by L^T D L (Algorithm 2): joint accelerations in O(N), articulated-body forward dynamics.

    w = C w_k + A udot + wr,   M w + Omega M v = F + S^T R,   A^T R = tau,   w = dv/dt in body axes

Ivanov & Shimanovskiy 2023 (33); method "newton-euler-ldl". The same matrix as the extended Hamiltonian system with
(udot, w, R) for (qdot, v, mu), eliminated in the same way, node by node:

    forward    v = C v_k + e rate,   wr = Omega(e rate)^T C v_k + e xddot,   phi = Omega M v
    backward   U = M* e,   D = e^T U + r,   y = (tau - e^T (phi + M* wr)) / D
               M*_k  += C^T (M* - U U^T / D) C        phi_k += C^T (phi + M* wr + U y)
    forward    udot = y - U^T (C w_k) / D,   w = C w_k + wr + e udot

    tau   joint forces: given ones, springs, dampers, and what wrenches on the bodies amount to in the joints
    F     weight: the ground accelerates by -g instead, so that w is less g everywhere
    r     inertia of the rotor (armature), see :mod:`.rotors`

To read along: :mod:`mbkern.textbook.newton_euler`.
"""

from .bare import doubt_bare
from .checks import status
from .drives import evaluate_drives
from .forces import add_joint_forces
from .jit import inline, kernel
from .joints import add_rates, drops_rotor, eliminate, dofs, put_frames, put_motion, recover
from .layout import (
    GRAVITY, INERTIA, MASS, MOMENT, N_NODES, NV, PARENT, VI, W_DRIFT, W_G, W_P, W_PHI, W_V, W_W,
    add_to_pair, get3, get6, get_frame, get_inertia, get_pair, node_row, put_inertia, put_pair, speeds_at, work_row,
)
from .momenta import project_forces
from .number import get, put, whole
from .rotors import CARRY, ELIMINATE, SPEEDS, call_rotor, has_rotors
from .spatial import ZERO6, add6, inertia_times, motion_to_child, omega_times, rigid_inertia, rigid_times
from .vec3 import ZERO3, neg


@inline
def put_joint_forces(block, q, u, tau, out, work):
    """tau, springs and dampers in `out`; joint speeds u in the workspace."""
    speeds = speeds_at(block)
    for j in range(whole(block, NV)):
        put(work, speeds + j, get(u, j))
        put(out, j, 0.0)
    add_joint_forces(block, q, tau, out, work)


@inline
def put_motions(block, u, work):
    """v and wr of all nodes for joint speeds u; frames and drive values are in the workspace already."""
    n = whole(block, N_NODES)
    ground = work_row(n)
    put_pair(work, ground + W_V, ZERO6)
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kw = work_row(k) if k >= 0 else ground
        put_motion(block, c, w, motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_V)), u, work)


@inline
def put_accelerations(block, udot, work):
    """w of all nodes, less g; frames, v and wr are in the workspace already."""
    put_pair(work, work_row(whole(block, N_NODES)) + W_W, (neg(get3(block, GRAVITY)), ZERO3))
    carry_accelerations(block, udot, work)


@inline
def carry_accelerations(block, udot, work):
    """w of all nodes for that of the ground, which is in the workspace as frames, v and wr are."""
    n = whole(block, N_NODES)
    ground = work_row(n)
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kw = work_row(k) if k >= 0 else ground
        carried = motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_W))
        put_pair(work, w + W_W, add6(carried, get_pair(work, w + W_DRIFT)))
        add_rates(block, c, w + W_W, udot, 0, work)


@inline
def put_forces(block, tau, work):
    """tau = e^T R of all nodes, leaves first; v and w are in the workspace already."""
    for i in range(whole(block, N_NODES)):
        c, w = node_row(i), work_row(i)
        m, s, J, v = get(block, c + MASS), get3(block, c + MOMENT), get6(block, c + INERTIA), get_pair(work, w + W_V)
        R = add6(rigid_times(m, s, J, get_pair(work, w + W_W)), omega_times(v, rigid_times(m, s, J, v)))
        put_pair(work, w + W_PHI, R)
    project_forces(block, tau, work)


@inline
def backward(block, tau, work):
    """M*, phi and pivots of all nodes, leaves first."""
    n = whole(block, N_NODES)
    for i in range(n):
        c, w = node_row(i), work_row(i)
        m, s, J, v = get(block, c + MASS), get3(block, c + MOMENT), get6(block, c + INERTIA), get_pair(work, w + W_V)
        put_inertia(work, w + W_P, rigid_inertia(m, s, J))
        put_pair(work, w + W_PHI, omega_times(v, rigid_times(m, s, J, v)))
    for i in range(n - 1, -1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        if has_rotors(block, c):
            add_to_pair(work, w + W_PHI, inertia_times(get_inertia(work, w + W_P), get_pair(work, w + W_DRIFT)))
            call_rotor(ELIMINATE, block, work, tau, tau, i, k)
        else:
            eliminate(block, i, k, tau, work)
            if k >= 0 and drops_rotor(block, c):
                call_rotor(CARRY, block, work, tau, tau, i, k)
    doubt_bare(block, work)


@inline
def forward(block, udot, work):
    """udot and w (in the place of v) of all nodes, root first."""
    n = whole(block, N_NODES)
    ground = work_row(n)
    put_pair(work, ground + W_V, (neg(get3(block, GRAVITY)), ZERO3))
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kw = work_row(k) if k >= 0 else ground
        carried = motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_V))
        if has_rotors(block, c):
            put_pair(work, w + W_V, carried)
            call_rotor(SPEEDS, block, work, udot, udot, i, k)
            for j in range(whole(block, c + VI), whole(block, c + VI) + dofs(block, c)):
                put(udot, j, get(work, speeds_at(block) + j))
        else:
            recover(block, i, carried, udot, work)
        add_to_pair(work, w + W_V, get_pair(work, w + W_DRIFT))


@kernel
def sweeps(block, q, u, tau, udot, work):
    """udot for any number type; the drive values are in the workspace already."""
    put_joint_forces(block, q, u, tau, udot, work)
    put_frames(block, q, work)
    put_motions(block, u, work)
    backward(block, udot, work)
    forward(block, udot, work)


@kernel
def accelerations(block, t, q, u, tau, udot, work):
    """udot at time t; tau may be empty. Returns the status of :func:`mbkern.core.checks.status`."""
    evaluate_drives(block, t, work)
    sweeps(block, q, u, tau, udot, work)
    return status(block, work)
