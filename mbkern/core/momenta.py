"""Sweeps over given joint speeds and given forces, all O(N).

    v = Psi_C (A u + vr),   A^T mu,   mu = Psi_C^T F

F are momenta M v or wrenches. Psi_C x is one forward sweep (C carries velocities outward), Psi_C^T x one
backward sweep (C^T carries forces inward).
"""

from .drives import evaluate_drives
from .jit import inline, kernel
from .joints import add_drive_rate, add_projection, add_rates, put_frames
from .layout import (
    BODY_G, BODY_NODE, GRAVITY, INERTIA, MASS, MOMENT, N_BODIES, N_NODES, NV, PARENT, W_G, W_GRAVITY, W_PHI, W_V,
    add_to_pair, body_row, get3, get6, get_frame, get_pair, node_row, put3, put_pair, work_row,
)
from .number import get, put, whole
from .spatial import ZERO6, force_to_parent, motion_to_child, rigid_times
from .vec3 import mul


@inline
def put_velocities(block, u, work):
    """v of all nodes for joint speeds u; frames are in the workspace already."""
    n = whole(block, N_NODES)
    ground = work_row(n)
    put_pair(work, ground + W_V, ZERO6)
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kw = work_row(k) if k >= 0 else ground
        put_pair(work, w + W_V, motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_V)))
        add_rates(block, c, w + W_V, u, 0, work)
        add_drive_rate(block, c, w + W_V, work)


@inline
def own_momentum(block, c, v):
    """M v of the bodies fixed in the frame of the node at row c."""
    return rigid_times(get(block, c + MASS), get3(block, c + MOMENT), get6(block, c + INERTIA), v)


@inline
def add_forces(block, out, place, work):
    """Add B^T F to `out` from `place` on for the forces F that the PHI of all nodes hold; leaves their sums there."""
    for i in range(whole(block, N_NODES) - 1, -1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        F = get_pair(work, w + W_PHI)
        add_projection(block, c, F, out, place)
        if k >= 0:
            add_to_pair(work, work_row(k) + W_PHI, force_to_parent(get_frame(work, w + W_G), F))


@inline
def project_forces(block, out, work):
    """out = B^T F, likewise."""
    for j in range(whole(block, NV)):
        put(out, j, 0.0)
    add_forces(block, out, 0, work)


@inline
def body_velocity(block, row, work):
    """Velocity of the body at `row` in its own axes; the nodes' velocities are in the workspace."""
    i = whole(block, row + BODY_NODE)
    at = work_row(i if i >= 0 else whole(block, N_NODES)) + W_V
    return motion_to_child(get_frame(block, row + BODY_G), get_pair(work, at))


@inline
def put_gravity(block, work):
    """g in the axes of all nodes, whose frames are there."""
    n = whole(block, N_NODES)
    put3(work, work_row(n) + W_GRAVITY, get3(block, GRAVITY))
    for i in range(n):
        w, k = work_row(i), whole(block, node_row(i) + PARENT)
        put3(work, w + W_GRAVITY,
             mul(get_frame(work, w + W_G)[0], get3(work, work_row(k if k >= 0 else n) + W_GRAVITY)))


@inline
def put_wrench_forces(block, q, wrench, tau, work):
    """Joint forces tau that do the same work as `wrench`: six numbers a body, in body axes at the body origin."""
    put_frames(block, q, work)
    for i in range(whole(block, N_NODES)):
        put_pair(work, work_row(i) + W_PHI, ZERO6)
    for b in range(whole(block, N_BODIES)):
        row = body_row(block, b)
        node = whole(block, row + BODY_NODE)
        if node >= 0:
            F = force_to_parent(get_frame(block, row + BODY_G), get_pair(wrench, 6 * b))
            add_to_pair(work, work_row(node) + W_PHI, F)
    project_forces(block, tau, work)


@kernel
def wrenches_to_joints(block, t, q, wrench, tau, work):
    """The same at time t. Returns the status of the drives."""
    code = evaluate_drives(block, t, work)
    put_wrench_forces(block, q, wrench, tau, work)
    return code
