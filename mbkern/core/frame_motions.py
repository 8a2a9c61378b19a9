"""Where a frame is and how it moves, and its Jacobian.

A frame is 14 numbers: its node (-1: the world), its axes G (9) and origin rho (3) in the node's frame, and how its six
numbers (linear; angular) are to be seen:

    WORLD_AXES    world axes; linear: of the point of the frame's moving space that passes the world's origin
    OWN_AXES      the frame's own axes and origin
    ALIGNED       the frame's own origin, in axes parallel to the world's

    velocity         v = J u + what drives add
    acceleration     dv/dt = J udot + (dJ/dt u + what drives add), of the very numbers of v
    Jacobian         J = (C e_0, C e_1, ...): twists of the dofs between the frame and the root, carried to the frame

In its own axes at its own origin the rate w of v = (u; omega) goes from node to node as v does (:mod:`.joint_forces`).
(E, r), the frame in the world, then turn it: E^T w and, at the world's origin, r x E^T domega/dt besides; ALIGNED has
the acceleration of the origin, E^T (du/dt + omega x u).
"""

from .jit import inline
from .joints import dofs, put_frame_of, put_motion, twist
from .layout import (
    N_NODES, NV, PARENT, VI, W_DRIFT, W_G, W_V, W_W, get_frame, get_pair, node_row, put3, put33, put_frame,
    put_pair, work_row,
)
from .motions import put_accelerated_motion, put_true_accelerations
from .number import get, put, whole
from .passing import put_hinge_frames
from .spatial import ZERO6, add6, compose, motion_to_child
from .speeds import put_speeds
from .vec3 import add, cross, tmul, transpose

FRAME_NODE, FRAME_PLACE, FRAME_AXES = 0, 1, 13
FRAME = 14
WORLD_AXES, OWN_AXES, ALIGNED = 0, 1, 2


@inline
def frame_pose(block, q, frame, R, r, work):
    """Rotation frame -> world, and the frame's origin."""
    put_path(block, q, frame, work)
    E, position = pose(block, frame, work)
    put33(R, 0, transpose(E))
    put3(r, 0, position)


@inline
def frame_velocity(block, q, p, frame, v, work):
    """Velocity of the frame, seen as its axes say."""
    put_speeds(block, q, p, work)
    if whole(frame, FRAME_AXES) != OWN_AXES:
        put_hinge_frames(block, work)
    put_pair(v, 0, seen(block, frame, at_frame(block, frame, W_V, work), work))


@inline
def frame_acceleration(block, q, p, tau, wrench, frame, a, work):
    """Time derivative of these numbers."""
    put_accelerated_motion(block, q, p, tau, wrench, work)
    put_true_accelerations(block, work)
    put_pair(a, 0, rate_seen(block, frame, work))


@inline
def jacobian_dot_u(block, q, u, frame, a, work):
    """The same when no joint speed changes."""
    n, node = whole(block, N_NODES), whole(frame, FRAME_NODE)
    put_pair(work, work_row(n) + W_V, ZERO6)
    put_pair(work, work_row(n) + W_W, ZERO6)
    for i in range(node + 1):  # those that are not on the way are as many as a list of the others would cost
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kw = work_row(k if k >= 0 else n)
        put_frame_of(block, i, q, work)
        X = get_frame(work, w + W_G)
        put_motion(block, c, w, motion_to_child(X, get_pair(work, kw + W_V)), u, work)
        put_pair(work, w + W_W, add6(motion_to_child(X, get_pair(work, kw + W_W)), get_pair(work, w + W_DRIFT)))
    put_pair(a, 0, rate_seen(block, frame, work))


@inline
def jacobian(block, q, frame, J, work):
    """J, 6 x nv row by row."""
    nv = whole(block, NV)
    for j in range(6 * nv):
        put(J, j, 0.0)
    X, i = own_place(block, frame, work), whole(frame, FRAME_NODE)
    while i >= 0:
        c = node_row(i)
        for a in range(dofs(block, c)):
            put_column(J, nv, whole(block, c + VI) + a, motion_to_child(X, twist(block, c, a)))
        put_frame_of(block, i, q, work)
        X = compose(X, get_frame(work, work_row(i) + W_G))
        i = whole(block, c + PARENT)
    if whole(frame, FRAME_AXES) != OWN_AXES:
        i = whole(frame, FRAME_NODE)
        while i >= 0:
            c = node_row(i)
            for j in range(whole(block, c + VI), whole(block, c + VI) + dofs(block, c)):
                put_column(J, nv, j, seen_from(X, frame, get_column(J, nv, j)))
            i = whole(block, c + PARENT)


@inline
def put_column(J, nv, j, x):
    put(J, j, x[0][0]); put(J, nv + j, x[0][1]); put(J, 2 * nv + j, x[0][2])
    put(J, 3 * nv + j, x[1][0]); put(J, 4 * nv + j, x[1][1]); put(J, 5 * nv + j, x[1][2])


@inline
def get_column(J, nv, j):
    return ((get(J, j), get(J, nv + j), get(J, 2 * nv + j)), (get(J, 3 * nv + j), get(J, 4 * nv + j),
                                                              get(J, 5 * nv + j)))


@inline
def put_path(block, q, frame, work):
    """Frames of the nodes from the frame to the root."""
    i = whole(frame, FRAME_NODE)
    while i >= 0:
        put_frame_of(block, i, q, work)
        i = whole(block, node_row(i) + PARENT)


@inline
def pose(block, frame, work):
    """(E, r): the frame in the world; frames of the nodes on the way are in the workspace."""
    X, i = own_place(block, frame, work), whole(frame, FRAME_NODE)
    while i >= 0:
        X = compose(X, get_frame(work, work_row(i) + W_G))
        i = whole(block, node_row(i) + PARENT)
    return X


@inline
def own_place(block, frame, work):
    """The frame in its node, as numbers of the workspace: where these are lanes, `frame` may be one for all."""
    at = work_row(whole(block, N_NODES)) + W_G
    put_frame(work, at, get_frame(frame, FRAME_PLACE))
    return get_frame(work, at)


@inline
def at_frame(block, frame, place, work):
    """The motion at `place` of the node's row, in the frame's own axes at its own origin."""
    i = whole(frame, FRAME_NODE)
    at = work_row(i if i >= 0 else whole(block, N_NODES)) + place
    return motion_to_child(get_frame(frame, FRAME_PLACE), get_pair(work, at))


@inline
def seen(block, frame, v, work):
    """A velocity in the frame's own axes as its axes say; frames are needed where these are not its own."""
    if whole(frame, FRAME_AXES) == OWN_AXES:
        return v
    return seen_from(pose(block, frame, work), frame, v)


@inline
def seen_from(X, frame, v):
    """The same where X is the frame in the world."""
    axes = whole(frame, FRAME_AXES)
    if axes == OWN_AXES:
        return v
    u, o = tmul(X[0], v[0]), tmul(X[0], v[1])
    if axes == WORLD_AXES:
        u = add(u, cross(X[1], o))
    return (u, o)


@inline
def rate_seen(block, frame, work):
    """The time derivative of the frame's velocity, as its axes say."""
    (u, o), (linear, angular) = at_frame(block, frame, W_V, work), at_frame(block, frame, W_W, work)
    if whole(frame, FRAME_AXES) == ALIGNED:
        linear = add(linear, cross(o, u))
    return seen(block, frame, (linear, angular), work)
