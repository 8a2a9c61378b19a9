"""Joint forces of a given motion, by the recursive Newton-Euler equations, O(N).

    forward    v = C v_k + e rate,   w = C w_k + wr + e udot,   R = M w + Omega M v - F
    backward   R_k += C^T R,   tau = e^T R + r udot + Omega(u) (r u) + stiffness (q - rest) + damping u

    v, w   velocity of a node and its time derivative, both in the node's axes
    wr     drift: w when neither the parent nor the joint speeds accelerate
    R      wrench that comes through the joint
    F      given wrenches on the bodies; weight is not among them: the ground accelerates by -g instead
    r      inertia of the rotors (armature)

Ivanov & Shimanovskiy 2023 (33) read from right to left; Luh, Walker & Paul 1980.

    inverse dynamics   tau of (q, u, udot)
    bias               tau of (q, u, 0): all that does not depend on accelerations
    gravity forces     tau of weight alone: R = -(m g; s x g), s the first moment
"""

from .forces import add_passive_forces
from .jit import inline
from .joints import put_frames
from .layout import (
    BODY_G, BODY_NODE, GRAVITY, MASS, MOMENT, N_BODIES, N_NODES, NV, PARENT, W_DRIFT, W_G, W_GRAVITY, W_PHI,
    W_V, W_W, body_row, get3, get_frame, get_pair, node_row, put_pair, speeds_at, work_row,
)
from .momenta import add_forces, own_momentum, project_forces, put_gravity
from .newton_euler import put_accelerations, put_motions
from .number import get, put, whole
from .rotors import add_rotor_forces, add_rotors
from .spatial import add6, force_to_parent, motion_to_child, omega_times, sub6
from .vec3 import ZERO3, cross, neg, scale


@inline
def inverse_dynamics(block, q, u, udot, wrench, tau, work):
    """Joint forces that the motion (q, u, udot) needs beside springs, dampers and the given wrenches."""
    put_frames(block, q, work)
    put_motions(block, u, work)
    put_accelerations(block, udot, work)
    put_joint_forces(block, q, u, wrench, tau, work)
    add_rotors(block, udot, tau)


@inline
def bias(block, q, u, wrench, tau, work):
    """The same for udot = 0."""
    put_frames(block, q, work)
    put_motions(block, u, work)
    put_drifts(block, (neg(get3(block, GRAVITY)), ZERO3), work)
    put_joint_forces(block, q, u, wrench, tau, work)


@inline
def gravity_forces(block, q, tau, work):
    """Joint forces that hold the machine at rest against weight alone."""
    put_frames(block, q, work)
    put_gravity(block, work)
    for i in range(whole(block, N_NODES)):
        c, w = node_row(i), work_row(i)
        g = get3(work, w + W_GRAVITY)
        put_pair(work, w + W_PHI, (scale(-get(block, c + MASS), g), cross(g, get3(block, c + MOMENT))))
    project_forces(block, tau, work)


@inline
def put_drifts(block, ground, work):
    """w of all nodes where no joint speed changes and the ground has w = `ground`; frames, v and wr are there."""
    n = whole(block, N_NODES)
    put_pair(work, work_row(n) + W_W, ground)
    for i in range(n):
        w, k = work_row(i), whole(block, node_row(i) + PARENT)
        carried = motion_to_child(get_frame(work, w + W_G), get_pair(work, work_row(k if k >= 0 else n) + W_W))
        put_pair(work, w + W_W, add6(carried, get_pair(work, w + W_DRIFT)))


@inline
def put_joint_forces(block, q, u, wrench, tau, work):
    """tau but for what rotors need to accelerate; frames, v and w of all nodes are in the workspace."""
    for i in range(whole(block, N_NODES)):
        c, w = node_row(i), work_row(i)
        put_pair(work, w + W_PHI, add6(own_momentum(block, c, get_pair(work, w + W_W)),
                                       gyroscopic(block, c, get_pair(work, w + W_V))))
    subtract_wrenches(block, wrench, work)
    speeds = speeds_at(block)
    for j in range(whole(block, NV)):
        put(work, speeds + j, get(u, j))
        put(tau, j, 0.0)
    add_passive_forces(block, q, tau, work)
    add_rotor_forces(block, tau, work)
    for j in range(whole(block, NV)):
        put(tau, j, -get(tau, j))
    add_forces(block, tau, 0, work)


@inline
def gyroscopic(block, c, v):
    """Omega M v of the bodies fixed in the frame of the node at row c."""
    return omega_times(v, own_momentum(block, c, v))


@inline
def subtract_wrenches(block, wrench, work):
    """Take the wrenches on the bodies, if there are any, off the PHI of their nodes."""
    if wrench.shape[0] > 0:
        for b in range(whole(block, N_BODIES)):
            row = body_row(block, b)
            node = whole(block, row + BODY_NODE)
            if node >= 0:
                at = work_row(node) + W_PHI
                F = force_to_parent(get_frame(block, row + BODY_G), get_pair(wrench, 6 * b))
                put_pair(work, at, sub6(get_pair(work, at), F))
