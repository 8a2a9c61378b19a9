"""Poses, velocities and momenta of the bodies, in the axes and at the origin that the user gave them."""

from .drives import evaluate_drives
from .jit import inline, kernel
from .joints import put_frames
from .layout import (
    BODY_G, BODY_INERTIA, BODY_MASS, BODY_MOMENT, BODY_NODE, BODY_PARENT, FIRST_NODE, N_BODIES, N_JOINT_NODES,
    N_NODES, PARENT, W_G, W_P, W_V,
    add_to_pair, body_row, get3, get6, get_frame, get_pair, node_row, put3, put33, put_frame, put_pair, work_row,
)
from .number import get, whole
from .spatial import EYE, ZERO6, compose, force_to_child, force_to_parent, motion_to_child, rigid_times
from .vec3 import ZERO3, transpose

WORLD = (EYE, ZERO3)


@kernel
def poses(block, t, q, rotation, position, work):
    """Of each body the rotation body -> world (9 numbers) and the position of its origin (3).

    Returns the status of the drives.
    """
    code = evaluate_drives(block, t, work)
    put_frames(block, q, work)
    n = whole(block, N_NODES)
    ground = work_row(n) + W_P  # frames in the world take the place of the articulated inertias
    put_frame(work, ground, WORLD)
    for i in range(n):
        k = whole(block, node_row(i) + PARENT)
        at = work_row(k) + W_P if k >= 0 else ground
        put_frame(work, work_row(i) + W_P, compose(get_frame(work, work_row(i) + W_G), get_frame(work, at)))
    for b in range(whole(block, N_BODIES)):
        row = body_row(block, b)
        i = whole(block, row + BODY_NODE)
        at = work_row(i) + W_P if i >= 0 else ground
        G, r = compose(get_frame(block, row + BODY_G), get_frame(work, at))
        put33(rotation, 9 * b, transpose(G))
        put3(position, 3 * b, r)
    return code


@inline
def body_velocity(block, row, work):
    """Velocity of the body at `row` in its own axes; the nodes' velocities are in the workspace."""
    i = whole(block, row + BODY_NODE)
    at = work_row(i if i >= 0 else whole(block, N_NODES)) + W_V
    return motion_to_child(get_frame(block, row + BODY_G), get_pair(work, at))


@kernel
def velocities(block, out, work):
    """Velocity of each body (6 numbers); the nodes' velocities are in the workspace."""
    for b in range(whole(block, N_BODIES)):
        put_pair(out, 6 * b, body_velocity(block, body_row(block, b), work))


@kernel
def momenta(block, out, work):
    """mu of each body: momentum of it and all bodies beyond it, in its own axes at its origin.

    The nodes' velocities and frames are in the workspace. While the sweep runs, `out` is in the axes of the nodes.
    """
    n = whole(block, N_BODIES)
    for b in range(n):
        put_pair(out, 6 * b, ZERO6)
    for b in range(n - 1, -1, -1):
        row = body_row(block, b)
        mu = rigid_times(get(block, row + BODY_MASS), get3(block, row + BODY_MOMENT), get6(block, row + BODY_INERTIA),
                         body_velocity(block, row, work))
        X = get_frame(block, row + BODY_G)
        add_to_pair(out, 6 * b, force_to_parent(X, mu))
        F = get_pair(out, 6 * b)
        put_pair(out, 6 * b, force_to_child(X, F))
        parent, first = whole(block, row + BODY_PARENT), whole(block, row + FIRST_NODE)
        if parent >= 0:
            for i in range(first + whole(block, row + N_JOINT_NODES) - 1, first - 1, -1):
                F = force_to_parent(get_frame(work, work_row(i) + W_G), F)
            add_to_pair(out, 6 * parent, F)
