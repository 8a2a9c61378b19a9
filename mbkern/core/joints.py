"""What each kind of node does: its frame, and how its configuration changes with its speeds.

A revolute or prismatic node turns about, or moves along, the z axis of its own frame. A ball carries a unit quaternion
(w, x, y, z) that turns body axes into those before it; a free node first the position of its origin in the frame
before it. Quaternions enter through q/|q|, so that every function of them is constant along rays: a length that has
drifted changes nothing, and scaling q back commutes with any Runge-Kutta method.
"""

from .jit import inline
from .layout import (
    BALL, DRIVEN_PRISMATIC, DRIVEN_REVOLUTE, FREE, KIND, N_NODES, PLACE_G, PLACE_RHO, PRISMATIC, QI, REVOLUTE, VI, W_G,
    add_to3, add_to_pair, drive_values, get3, get33, get_frame, get_pair,
    node_row, put_frame, work_row,
)
from .number import fma, get, one_if, put, sincos, whole
from .vec3 import add, axpy, cross, dot, matmul, scale, tmul


@inline
def turned_z(G, angle):
    """The axes G turned about their z axis."""
    s, c = sincos(angle)
    return turned_by(G, s, c)


@inline
def turned_by(G, s, c):
    """The axes G turned about their z axis by the angle with sine s and cosine c."""
    return (axpy(c, G[0], scale(s, G[1])), axpy(c, G[1], scale(-s, G[0])), G[2])


@inline
def quaternion_axes(w, v):
    """Matrix that turns the axes before the joint into body axes, for any nonzero quaternion (w, v)."""
    n = 2.0 / fma(w, w, dot(v, v))
    x, y, z = v
    xx, yy, zz = n * x * x, n * y * y, n * z * z
    xy, xz, yz = n * x * y, n * x * z, n * y * z
    wx, wy, wz = n * w * x, n * w * y, n * w * z
    return ((1.0 - yy - zz, xy + wz, xz - wy), (xy - wz, 1.0 - xx - zz, yz + wx), (xz + wy, yz - wx, 1.0 - xx - yy))


@inline
def revolute_frame(block, c, angle):
    return (turned_z(get33(block, c + PLACE_G), angle), get3(block, c + PLACE_RHO))


@inline
def prismatic_frame(block, c, amount):
    G, rho = get_frame(block, c + PLACE_G)
    return (G, axpy(amount, G[2], rho))


@inline
def ball_frame(block, c, q, qi):
    G, rho = get_frame(block, c + PLACE_G)
    return (matmul(quaternion_axes(get(q, qi), get3(q, qi + 1)), G), rho)


@inline
def free_frame(block, c, q, qi):
    G, rho = get_frame(block, c + PLACE_G)
    return (matmul(quaternion_axes(get(q, qi + 3), get3(q, qi + 4)), G), add(rho, tmul(G, get3(q, qi))))


@inline
def put_quaternion_rate(q, qi, w, qdot):
    """d/dt of the quaternion at qi for the angular velocity w in body axes: q o (0, w) / 2."""
    a, v = get(q, qi), get3(q, qi + 1)
    put(qdot, qi, -0.5 * dot(v, w))
    r = axpy(a, w, cross(v, w))
    put(qdot, qi + 1, 0.5 * r[0]); put(qdot, qi + 2, 0.5 * r[1]); put(qdot, qi + 3, 0.5 * r[2])


@inline
def put_free_rate(q, qi, v, qdot):
    """d/dt of position and quaternion at qi for body-frame speeds v = (linear, angular)."""
    G = quaternion_axes(get(q, qi + 3), get3(q, qi + 4))
    r = tmul(G, v[0])
    put(qdot, qi, r[0]); put(qdot, qi + 1, r[1]); put(qdot, qi + 2, r[2])
    put_quaternion_rate(q, qi + 3, v[1], qdot)


@inline
def put_frames(block, q, work):
    """Frames of all nodes in those of their parents; the drive values are in the workspace already."""
    for i in range(whole(block, N_NODES)):
        put_frame_of(block, i, q, work)


@inline
def put_frame_of(block, i, q, work):
    """Frame of node i."""
    c, w = node_row(i), work_row(i)
    kind, qi = whole(block, c + KIND), whole(block, c + QI)
    if kind == REVOLUTE:
        put_frame(work, w + W_G, revolute_frame(block, c, get(q, qi)))
    elif kind == PRISMATIC:
        put_frame(work, w + W_G, prismatic_frame(block, c, get(q, qi)))
    elif kind == BALL:
        put_frame(work, w + W_G, ball_frame(block, c, q, qi))
    elif kind == FREE:
        put_frame(work, w + W_G, free_frame(block, c, q, qi))
    elif kind == DRIVEN_REVOLUTE:
        put_frame(work, w + W_G, revolute_frame(block, c, get(work, drive_values(block, qi))))
    else:
        put_frame(work, w + W_G, prismatic_frame(block, c, get(work, drive_values(block, qi))))


@inline
def put_rates(block, q, u, at, qdot):
    """qdot = N(q) u for the joint speeds that are in the array u from place `at` on."""
    for i in range(whole(block, N_NODES)):
        c = node_row(i)
        kind, qi, vi = whole(block, c + KIND), whole(block, c + QI), at + whole(block, c + VI)
        if kind == BALL:
            put_quaternion_rate(q, qi, get3(u, vi), qdot)
        elif kind == FREE:
            put_free_rate(q, qi, get_pair(u, vi), qdot)
        elif kind == REVOLUTE or kind == PRISMATIC:
            put(qdot, qi, get(u, vi))


@inline
def freedoms(kind):
    """Number of freedoms of a node."""
    return 1 if kind <= PRISMATIC else 3 if kind == BALL else 6 if kind == FREE else 0


@inline
def with_speed(block, c, v, u, work):
    """v + e rate: the velocity v of the frame plus the node's own motion, u the joint speeds."""
    kind, vi = whole(block, c + KIND), whole(block, c + VI)
    if kind == BALL:
        return (v[0], add(v[1], get3(u, vi)))
    if kind == FREE:
        return (add(v[0], get3(u, vi)), add(v[1], get3(u, vi + 3)))
    if kind == REVOLUTE:
        return (v[0], (v[1][0], v[1][1], v[1][2] + get(u, vi)))
    if kind == PRISMATIC:
        return ((v[0][0], v[0][1], v[0][2] + get(u, vi)), v[1])
    rate = get(work, drive_values(block, whole(block, c + QI)) + 1)
    if kind == DRIVEN_REVOLUTE:
        return (v[0], (v[1][0], v[1][1], v[1][2] + rate))
    return ((v[0][0], v[0][1], v[0][2] + rate), v[1])


@inline
def add_projection(block, c, F, out):
    """out += e^T F: a force or momentum in the node's frame along its freedoms."""
    kind, vi = whole(block, c + KIND), whole(block, c + VI)
    if kind == REVOLUTE:
        put(out, vi, get(out, vi) + F[1][2])
    elif kind == PRISMATIC:
        put(out, vi, get(out, vi) + F[0][2])
    elif kind == BALL:
        add_to3(out, vi, F[1])
    elif kind == FREE:
        add_to_pair(out, vi, F)


@inline
def unit_twist(axis):
    """The axis-th unit six-vector: 0, 1, 2 linear, 3, 4, 5 angular."""
    return ((one_if(axis == 0), one_if(axis == 1), one_if(axis == 2)),
            (one_if(axis == 3), one_if(axis == 4), one_if(axis == 5)))


@inline
def twist_axis(kind, a):
    """Which unit six-vector the a-th freedom of a node is (driven nodes: the prescribed motion)."""
    if kind == REVOLUTE or kind == DRIVEN_REVOLUTE:
        return 5
    if kind == PRISMATIC or kind == DRIVEN_PRISMATIC:
        return 2
    return 3 + a if kind == BALL else a
