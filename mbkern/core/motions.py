"""How a machine moves in a state (q, p) under given loads: velocities and accelerations of all nodes.

    velocities       M v - S^T mu = 0,          -S v + A u = -vr,                A^T mu + r u = p
    accelerations    M w - S^T R = F - Omega M v,   -S w + A udot = -wr,         A^T R + r udot = tau

Ivanov & Shimanovskiy 2023, EMH and (33): the same matrix on the left. It is eliminated once, by :mod:`.speeds`; what is
left of the elimination serves the accelerations too, with tau for p and wr for vr:

    backward   phi = Omega M v - F + M* wr,   y = (tau - e^T phi) / D,   phi_k += C^T (phi + U y)
    forward    udot = y - U^T (C w_k) / D,   w = C w_k + e udot + wr

    w    dv/dt in the node's own axes              wr   drift: w when neither parent nor joint speeds accelerate
    tau  given joint forces, springs, dampers, spinning rotors                   F   given wrenches on the bodies
    M*   articulated inertia, U = M* e, D = e^T U + r

There is no weight: the ground accelerates by -g instead, so that w is less g everywhere.
"""

from .columns import tail
from .extended import begin
from .forces import add_joint_forces
from .jit import inline
from .joint_forces import gyroscopic, subtract_wrenches
from .layout import (
    GRAVITY, IS_LEAF, N_NODES, NV, PARENT, W_DRIFT, W_G, W_P, W_PHI, W_V, W_W,
    add_to_pair, get3, get_frame, get_inertia, get_pair, node_row, put_pair, scratch_at, speeds_at, work_row,
)
from .newton_euler import carry_accelerations, put_motions
from .number import put, whole
from .passing import put_hinge_frames
from .spatial import ZERO6, add6, inertia_times, motion_to_child
from .speeds import put_speeds
from .substitution import substitute_backward, substitute_forward
from .vec3 import ZERO3, neg


@inline
def put_accelerated_motion(block, q, p, tau, wrench, work):
    """Frames, v, wr and w less g of all nodes; udot in the scratch. An empty tau or wrench is none."""
    put_speeds(block, q, p, work)
    put_hinge_frames(block, work)  # all other nodes have theirs
    for i in range(whole(block, N_NODES)):
        if whole(block, node_row(i) + IS_LEAF) > 0:
            begin(block, i, work)  # the sweep has not written M* of leaves
    put_motions(block, tail(work, speeds_at(block)), work)
    udot = tail(work, scratch_at(block))
    for j in range(whole(block, NV)):
        put(udot, j, 0.0)
    add_joint_forces(block, q, tau, udot, work)
    backward(block, wrench, udot, work)
    forward(block, udot, work)


@inline
def backward(block, wrench, x, work):
    """phi and y of all nodes for joint forces x, leaves first; M* and 1/D are there."""
    n = whole(block, N_NODES)
    for i in range(n):
        put_pair(work, work_row(i) + W_PHI, gyroscopic(block, node_row(i), get_pair(work, work_row(i) + W_V)))
    subtract_wrenches(block, wrench, work)
    for i in range(n - 1, -1, -1):
        w = work_row(i)
        add_to_pair(work, w + W_PHI, inertia_times(get_inertia(work, w + W_P), get_pair(work, w + W_DRIFT)))
        substitute_backward(block, i, x, work)


@inline
def forward(block, x, work):
    """w of all nodes, root first; x are joint forces and become accelerations."""
    n = whole(block, N_NODES)
    put_pair(work, work_row(n) + W_W, (neg(get3(block, GRAVITY)), ZERO3))
    for i in range(n):
        w, k = work_row(i), whole(block, node_row(i) + PARENT)
        carried = motion_to_child(get_frame(work, w + W_G), get_pair(work, work_row(k if k >= 0 else n) + W_W))
        v = get_pair(work, w + W_V)  # its place is lent to the elimination
        substitute_forward(block, i, carried, x, x, work)
        put_pair(work, w + W_W, add6(get_pair(work, w + W_V), get_pair(work, w + W_DRIFT)))
        put_pair(work, w + W_V, v)


@inline
def put_true_accelerations(block, work):
    """w itself in the place of w less g."""
    put_pair(work, work_row(whole(block, N_NODES)) + W_W, ZERO6)
    carry_accelerations(block, tail(work, scratch_at(block)), work)
