"""Regressors: what is linear in the inertial parameters of the bodies, as a matrix times them.

    pi = (m, s, J) of every body: mass, first moment m c, inertia about the body origin (xx yy zz xy xz yz), body axes

    p         = Y pi    momenta                  Y = S . I(pi) v
    pdot      = Z pi    rates without tau        Z = (v_a x S) . I(pi) v + S . weight
    tau       = W pi    joint forces             W = S . (I(pi) a + v x* I(pi) v),   a less g
    (T, V)    = E pi    energies                 E = v . I(pi) v / 2,  -m g . r - g . s

for every dof on the way from a body to the root, S its twist, v and a velocity and acceleration of the body, v_a that
of the dof's own node; all carried to body axes at the body origin, from node to node: nothing goes through a far point
and cancels. Springs, dampers and rotors add their own, what is driven is part of v and a. Atkeson, An & Hollerbach 1986
for tau; that p and pdot need no accelerations is what identification from momenta rests on.
"""

from .jit import inline
from .joints import dofs, put_frames, twist
from .layout import (
    BODY_G, BODY_NODE, GRAVITY, N_BODIES, N_NODES, NV, PARENT, VI, W_G, W_GRAVITY, W_P, W_V, W_W, body_row, get3,
    get33, get_frame, get_pair, node_row, put3, put6, put_frame, work_row,
)
from .momenta import body_velocity, put_gravity, put_velocities
from .newton_euler import put_accelerations, put_motions
from .number import put, whole
from .spatial import compose, cross_motion, motion_to_child, scale6
from .vec3 import ZERO3, add, cross, dot, mul, sadd, scale
from .world_axes import FROM_WORLD, put_world_axes

TEN = 10


@inline
def by_inertia(s, v):
    """The ten derivatives of s . I(pi) v, two motions in body axes."""
    (a, b, c), (x, y, z) = s[1], v[1]
    return (dot(s[0], v[0]), add(cross(s[0], v[1]), cross(v[0], s[1])),
            (a * x, b * y, c * z, a * y + b * x, a * z + c * x, b * z + c * y))


@inline
def put_ten(out, at, x):
    put(out, at, x[0])
    put3(out, at + 1, x[1])
    put6(out, at + 4, x[2])


@inline
def clear(out, count):
    for j in range(count):
        put(out, j, 0.0)


@inline
def begin_way(block, row, work):
    """The node of the body at `row`, from which it is seen first."""
    put_frame(work, way_at(block), get_frame(block, row + BODY_G))
    return whole(block, row + BODY_NODE)


@inline
def way_at(block):
    """Where the frame of a body as seen from a node on its way to the root is in the workspace: the ground has none."""
    return work_row(whole(block, N_NODES)) + W_G


@inline
def seen_from_node(block, work):
    return get_frame(work, way_at(block))


@inline
def go_up(block, i, work):
    """The parent of node i, from which the body is seen next."""
    put_frame(work, way_at(block), compose(seen_from_node(block, work), get_frame(work, work_row(i) + W_G)))
    return whole(block, node_row(i) + PARENT)


@inline
def momentum_regressor(block, q, u, Y, work):
    """Y, nv x 10 N."""
    put_frames(block, q, work)
    put_velocities(block, u, work)
    n = whole(block, N_BODIES)
    clear(Y, whole(block, NV) * TEN * n)
    for b in range(n):
        row = body_row(block, b)
        i, v = begin_way(block, row, work), body_velocity(block, row, work)
        while i >= 0:
            c, X = node_row(i), seen_from_node(block, work)
            for a in range(dofs(block, c)):
                put_ten(Y, TEN * (n * (whole(block, c + VI) + a) + b),
                        by_inertia(motion_to_child(X, twist(block, c, a)), v))
            i = go_up(block, i, work)


@inline
def momentum_rate_regressor(block, q, u, Z, work):
    """Z, nv x 10 N."""
    put_frames(block, q, work)
    put_velocities(block, u, work)
    put_gravity(block, work)
    n = whole(block, N_BODIES)
    clear(Z, whole(block, NV) * TEN * n)
    for b in range(n):
        row = body_row(block, b)
        i, v = begin_way(block, row, work), body_velocity(block, row, work)
        g = get3(work, work_row(max(i, 0)) + W_GRAVITY)
        weight = (mul(get33(block, row + BODY_G), g), ZERO3)
        while i >= 0:
            c, X, v_a = node_row(i), seen_from_node(block, work), get_pair(work, work_row(i) + W_V)
            for a in range(dofs(block, c)):
                e = twist(block, c, a)
                x = by_inertia(motion_to_child(X, cross_motion(v_a, e)), v)
                y = by_inertia(motion_to_child(X, e), weight)
                put_ten(Z, TEN * (n * (whole(block, c + VI) + a) + b), (x[0] + y[0], add(x[1], y[1]), x[2]))
            i = go_up(block, i, work)


@inline
def torque_regressor(block, q, u, udot, W, work):
    """W, nv x 10 N."""
    put_frames(block, q, work)
    put_motions(block, u, work)
    put_accelerations(block, udot, work)
    n = whole(block, N_BODIES)
    clear(W, whole(block, NV) * TEN * n)
    for b in range(n):
        row = body_row(block, b)
        i, v = begin_way(block, row, work), body_velocity(block, row, work)
        w = motion_to_child(get_frame(block, row + BODY_G), get_pair(work, work_row(max(i, 0)) + W_W))
        while i >= 0:
            c, X = node_row(i), seen_from_node(block, work)
            for a in range(dofs(block, c)):
                S = motion_to_child(X, twist(block, c, a))
                x, y = by_inertia(S, w), by_inertia(cross_motion(S, v), v)
                put_ten(W, TEN * (n * (whole(block, c + VI) + a) + b),
                        (x[0] + y[0], add(x[1], y[1]), sadd(x[2], y[2])))
            i = go_up(block, i, work)


@inline
def energy_regressor(block, q, u, E, work):
    """E, 2 x 10 N: kinetic and potential energy of weight. Bodies on the ground have a place, and no motion."""
    put_frames(block, q, work)
    put_velocities(block, u, work)
    put_world_axes(block, q, W_P, FROM_WORLD, True, work)
    n, g = whole(block, N_BODIES), get3(block, GRAVITY)
    clear(E, 2 * TEN * n)
    for b in range(n):
        row = body_row(block, b)
        i = whole(block, row + BODY_NODE)
        if i >= 0:
            v = body_velocity(block, row, work)
            put_ten(E, TEN * b, by_inertia(scale6(0.5, v), v))
        at = work_row(i if i >= 0 else whole(block, N_NODES)) + W_P
        G, r = compose(get_frame(block, row + BODY_G), get_frame(work, at))
        put(E, TEN * (n + b), -dot(g, r))
        put3(E, TEN * (n + b) + 1, scale(-1.0, mul(G, g)))
