"""Joint forces and reactions of a given motion, by the recursive Newton-Euler equations, O(N).

    forward    v = C v_k + e rate,   w = C w_k + wr + e udot,   R = M w + Omega M v
    backward   R_k += C^T R,   tau = e^T R + r udot + stiffness (q - rest) + damping u

R is the wrench that comes through the joint. The ground accelerates by -g instead of the bodies having weight.
"""

from .checks import status
from .drives import evaluate_drives
from .forces import add_joint_forces
from .jit import inline, kernel
from .joints import add_rates, put_drive_margins, put_frames
from .layout import (
    BODY_G, BODY_INERTIA, BODY_MASS, BODY_MOMENT, BODY_NODE, BODY_PARENT, FIRST_NODE, GRAVITY, INERTIA, MASS, MOMENT,
    N_BODIES, N_JOINT_NODES, N_NODES, NV, PARENT, W_DRIFT, W_G, W_PHI, W_V, W_W,
    add_to_pair, body_row, get3, get6, get_frame, get_pair, node_row, put_pair, speeds_at, work_row,
)
from .momenta import project_forces
from .newton_euler import put_motions
from .number import get, put, whole
from .rotors import add_rotors
from .spatial import add6, force_to_child, force_to_parent, motion_to_child, omega_times, rigid_times, sub6
from .vec3 import ZERO3, neg


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


@kernel
def sweeps(block, q, u, udot, tau, work):
    """tau for any number type; the drive values are in the workspace already."""
    put_frames(block, q, work)
    put_motions(block, u, work)
    put_accelerations(block, udot, work)
    put_forces(block, tau, work)
    add_rotors(block, udot, tau)


@kernel
def inverse_dynamics(block, t, q, u, udot, tau, work):
    """Joint forces that the motion (q, u, udot) needs beside springs and dampers. Returns a status."""
    evaluate_drives(block, t, work)
    put_drive_margins(block, work)
    sweeps(block, q, u, udot, tau, work)
    speeds = speeds_at(block)
    for j in range(whole(block, NV)):
        put(work, speeds + j, get(u, j))
        put(tau, j, -get(tau, j))
    add_joint_forces(block, q, tau[:0], tau, work)
    for j in range(whole(block, NV)):
        put(tau, j, -get(tau, j))
    return status(block, work)


@kernel
def reactions(block, t, q, u, udot, wrench, out, work):
    """Wrench of the parent on each body through its joint, for a motion with the given wrenches on the bodies.

    Six numbers a body, in its own axes at its origin; `wrench` may be empty. While the sweep runs, `out` is in the
    axes of the nodes.
    """
    evaluate_drives(block, t, work)
    put_drive_margins(block, work)
    put_frames(block, q, work)
    put_motions(block, u, work)
    put_accelerations(block, udot, work)
    n, ground = whole(block, N_BODIES), whole(block, N_NODES)
    for b in range(6 * n):
        put(out, b, 0.0)
    for b in range(n - 1, -1, -1):
        row = body_row(block, b)
        X, node = get_frame(block, row + BODY_G), whole(block, row + BODY_NODE)
        w = work_row(node if node >= 0 else ground)
        m, s, J = get(block, row + BODY_MASS), get3(block, row + BODY_MOMENT), get6(block, row + BODY_INERTIA)
        v, a = motion_to_child(X, get_pair(work, w + W_V)), motion_to_child(X, get_pair(work, w + W_W))
        R = add6(rigid_times(m, s, J, a), omega_times(v, rigid_times(m, s, J, v)))
        add_to_pair(out, 6 * b, force_to_parent(X, R))
        if wrench.shape[0] > 0:
            put_pair(out, 6 * b, sub6(get_pair(out, 6 * b), force_to_parent(X, get_pair(wrench, 6 * b))))
        F = get_pair(out, 6 * b)
        put_pair(out, 6 * b, force_to_child(X, F))
        parent, first = whole(block, row + BODY_PARENT), whole(block, row + FIRST_NODE)
        if parent >= 0:
            for i in range(first + whole(block, row + N_JOINT_NODES) - 1, first - 1, -1):
                F = force_to_parent(get_frame(work, work_row(i) + W_G), F)
            add_to_pair(out, 6 * parent, F)
    return status(block, work)
