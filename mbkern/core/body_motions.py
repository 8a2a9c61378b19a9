"""Poses, velocities, accelerations, momenta and reactions of the bodies.

Six numbers of a body are in its own axes, at the origin that the user gave it: (linear; angular), (force; moment).

    velocity        v = C_b v_i                          i the node that the body is fixed in, C_b its place there
    acceleration    (dv/dt + omega x v; domega/dt)       of the body's origin, as an accelerometer measures it less g
    momentum        mu = sum of M v                      of the body and all bodies beyond it
    reaction        R = sum of M w + Omega M v - F       of the same; w less g, F the given wrenches

The sums go from body to body through the nodes of their joints: a body that is welded to another has a reaction too.
"""

from .jit import inline
from .layout import (
    BODY_G, BODY_INERTIA, BODY_MASS, BODY_MOMENT, BODY_NODE, BODY_PARENT, FIRST_NODE, N_BODIES, N_JOINT_NODES,
    N_NODES, W_P, W_W,
    add_to_pair, body_row, get3, get6, get_frame, get_pair, put3, put33, put_pair, work_row,
)
from .momenta import body_velocity
from .motions import put_accelerated_motion, put_true_accelerations
from .number import get, whole
from .passing import at_parent
from .spatial import add6, compose, force_to_child, force_to_parent, motion_to_child, omega_times, rigid_times, sub6
from .speeds import put_speeds
from .vec3 import add, cross, transpose
from .world_axes import FROM_WORLD, put_world_axes


@inline
def body_poses(block, q, rotation, position, work):
    """Of each body the rotation body -> world (9 numbers) and the position of its origin (3)."""
    put_world_axes(block, q, W_P, FROM_WORLD, True, work)
    for b in range(whole(block, N_BODIES)):
        row = body_row(block, b)
        i = whole(block, row + BODY_NODE)
        at = work_row(i if i >= 0 else whole(block, N_NODES)) + W_P
        G, r = compose(get_frame(block, row + BODY_G), get_frame(work, at))
        put33(rotation, 9 * b, transpose(G))
        put3(position, 3 * b, r)


@inline
def body_velocities(block, q, p, v, work):
    """Velocity of each body."""
    put_speeds(block, q, p, work)
    for b in range(whole(block, N_BODIES)):
        put_pair(v, 6 * b, body_velocity(block, body_row(block, b), work))


@inline
def body_accelerations(block, q, p, tau, wrench, a, work):
    """Acceleration of the origin of each body, and its angular acceleration."""
    put_accelerated_motion(block, q, p, tau, wrench, work)
    put_true_accelerations(block, work)
    for b in range(whole(block, N_BODIES)):
        row = body_row(block, b)
        (u, o), (linear, angular) = body_velocity(block, row, work), body_rate(block, row, work)
        put_pair(a, 6 * b, (add(linear, cross(o, u)), angular))


@inline
def body_rate(block, row, work):
    """w of the body at `row` in its own axes."""
    i = whole(block, row + BODY_NODE)
    at = work_row(i if i >= 0 else whole(block, N_NODES)) + W_W
    return motion_to_child(get_frame(block, row + BODY_G), get_pair(work, at))


@inline
def body_momenta(block, q, p, mu, work):
    """Momentum of each body and of all bodies beyond it."""
    put_speeds(block, q, p, work)
    for b in range(whole(block, N_BODIES)):
        row = body_row(block, b)
        put_pair(mu, 6 * b, body_times(block, row, body_velocity(block, row, work)))
    add_beyond(block, mu, work)


@inline
def reactions(block, q, p, tau, wrench, R, work):
    """Wrench of the parent on each body through its joint."""
    put_accelerated_motion(block, q, p, tau, wrench, work)
    for b in range(whole(block, N_BODIES)):
        row = body_row(block, b)
        v = body_velocity(block, row, work)
        F = add6(body_times(block, row, body_rate(block, row, work)), omega_times(v, body_times(block, row, v)))
        if wrench.shape[0] > 0:
            F = sub6(F, get_pair(wrench, 6 * b))
        put_pair(R, 6 * b, F)
    add_beyond(block, R, work)


@inline
def body_times(block, row, v):
    """M v of the body at `row`."""
    return rigid_times(get(block, row + BODY_MASS), get3(block, row + BODY_MOMENT), get6(block, row + BODY_INERTIA), v)


@inline
def add_beyond(block, out, work):
    """Add to the six numbers of each body those of all bodies beyond it, carried to its origin; turns of hinges and
    frames of all other nodes are there."""
    for b in range(whole(block, N_BODIES) - 1, -1, -1):
        row = body_row(block, b)
        parent, first = whole(block, row + BODY_PARENT), whole(block, row + FIRST_NODE)
        if parent >= 0:
            F = force_to_parent(get_frame(block, row + BODY_G), get_pair(out, 6 * b))
            for i in range(first + whole(block, row + N_JOINT_NODES) - 1, first - 1, -1):
                F = at_parent(block, i, F, work)
            above = get_frame(block, body_row(block, parent) + BODY_G)
            add_to_pair(out, 6 * parent, force_to_child(above, F))
