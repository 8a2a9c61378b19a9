"""Gradient of b . pdot + a . u by the constants of a machine, in O(N) for all of them, after `vjp` at the same state.

At constant (q, p) the speeds follow the constants by Mass du = -dp, so that with gp = Mass^-1 (a + (dpdot/du)^T b)

    d(a . u + b . pdot) = b . d(pdot) - gp . d(p)          p, pdot as functions of (q, u) and the constants

Both are sums over bodies. With the inertia I of a body at velocity v, and with the sums over all dofs above it,
V = sum of S gp, T = sum of turning b, T" = sum of S b (:mod:`mbkern.core.jacobian_products`), its share is

    (T - V) . I v + g . (force part of I T")

which is linear in its mass, first moment and inertia. Moving the joint of a body in its parent is a move of all that
it carries, along a dof that has no rate: its derivative is that of :mod:`mbkern.core.variations` for q.
"""

from ...core.jit import inline
from ...core.joints import dofs, node_pair, twist, unit_twist
from ...core.layout import (
    BODY_G, BODY_MASS, BODY_MOMENT, BODY_NODE, BODY_PARENT, FIRST_NODE, GRAVITY, HAS_WRENCH, N_BODIES, N_JOINT_NODES,
    N_NODES, NV, PARENT, REST, SPRING_QI, SUBTREE_MASS, VI, W_PHI, WRENCH_CALL, body_row, coordinate_row, get3, get6,
    get_frame, get_pair, node_row, speeds_at, work_row,
)
from ...core.number import ACROSS, array_at, get, put, whole
from ...core.spatial import add6, compose, dot6, motion_to_child, omega_times, rigid_times, scale6, sub6
from ...core.tangents import L_Q, L_V, L_W, lane_row, lanes_begin
from ...core.variations import (
    D_LAST, D_UP, N_FRAME, N_INERTIA, N_MOMENT, N_MOMENTUM, N_V, cross_motion, dof_variation, node_variation,
)
from ...core.vec3 import ZERO3, add, axpy, cross, dot, tmul
from .desk import AT_GRADIENT, G_BODY, G_DOF


@inline
def lane(block, a, s, place, work):
    """Three numbers of the row of dof a in set s, in the first lane."""
    at = lanes_begin(block) + ACROSS * (lane_row(a, s) + place)
    return get(work, at), get(work, at + ACROSS), get(work, at + 2 * ACROSS)


@inline
def lane_pair(block, a, s, place, work):
    return lane(block, a, s, place, work), lane(block, a, s, place + 3, work)


@inline
def last_dof(block, i, work):
    """The last dof at or above node i; nv for the ground."""
    while i >= 0 and dofs(block, node_row(i)) == 0:
        i = whole(block, node_row(i) + PARENT)
    nv = whole(block, NV)
    return nv if i < 0 else whole(block, node_row(i) + VI) + dofs(block, node_row(i)) - 1


@inline
def add_to(out, at, x):
    put(out, at, get(out, at) + x)


@inline
def add_parameter_gradient(desk, address, block, q, b, gp, work):
    """Add to the gradient of the desk; see :mod:`.desk` for what it holds."""
    n, nv = whole(block, N_BODIES), whole(block, NV)
    out = array_at(address + 8 * whole(desk, AT_GRADIENT), G_BODY * n + G_DOF * nv + 3)
    g, pull = get3(block, GRAVITY), ZERO3
    for body in range(n):
        row = body_row(block, body)
        i = whole(block, row + BODY_NODE)
        if i >= 0:
            a = last_dof(block, i, work)
            node = node_variation(block, i)
            X = compose(get_frame(block, row + BODY_G), get_frame(work, node + N_FRAME))
            x, y = motion_to_child(X, sub6(lane_pair(block, a, 1, L_V, work), lane_pair(block, a, 0, L_V, work)))
            v, w = motion_to_child(X, get_pair(work, node + N_V))
            fall, turn = motion_to_child(X, lane_pair(block, a, 1, L_W, work))
            gravity = motion_to_child(X, (g, ZERO3))[0]
            add_by_body((x, y), (v, w), (fall, turn), gravity, G_BODY * body, out)
            m, s = get(block, row + BODY_MASS), get3(block, row + BODY_MOMENT)
            pull = add(pull, tmul(X[0], axpy(m, fall, cross(turn, s))))
        if whole(block, row + N_JOINT_NODES) > 0:
            add_by_position(block, body, G_BODY * body + 10, g, out, work)
    add_by_dofs(block, q, b, gp, G_BODY * n, out, work)
    add_by_spins(block, G_BODY * n, b, out, work)
    add_to3(out, G_BODY * n + G_DOF * nv, pull)


@inline
def add_to3(out, at, x):
    add_to(out, at, x[0])
    add_to(out, at + 1, x[1])
    add_to(out, at + 2, x[2])


@inline
def add_by_body(x, v, fall, gravity, at, out):
    """The gradient by mass, first moment and inertia of a body for x = T - V, its velocity v, T" and gravity, all in
    its own axes."""
    (a, y), (u, w), (down, turn) = x, v, fall
    add_to(out, at, dot(a, u) + dot(gravity, down))
    add_to3(out, at + 1, add(add(cross(a, w), cross(u, y)), cross(gravity, turn)))
    add_to(out, at + 4, y[0] * w[0])
    add_to(out, at + 5, y[1] * w[1])
    add_to(out, at + 6, y[2] * w[2])
    add_to(out, at + 7, y[0] * w[1] + y[1] * w[0])
    add_to(out, at + 8, y[0] * w[2] + y[2] * w[0])
    add_to(out, at + 9, y[1] * w[2] + y[2] * w[1])


@inline
def add_by_dofs(block, q, b, gp, at, out, work):
    """The gradient by stiffness, damping and armature of all dofs."""
    for a in range(whole(block, NV)):
        row, u = coordinate_row(block, a), get(work, speeds_at(block) + a)
        if whole(block, row + SPRING_QI) >= 0:
            stretch = get(q, whole(block, row + SPRING_QI)) - get(block, row + REST)
            add_to(out, at + G_DOF * a, -get(b, a) * stretch)
        add_to(out, at + G_DOF * a + 1, -get(b, a) * u)
        add_to(out, at + G_DOF * a + 2, -get(gp, a) * u)


@inline
def add_by_position(block, body, at, g, out, work):
    """The gradient by the position of a body's joint, in axes of the parent body; its first node must have dofs."""
    row = body_row(block, body)
    i, parent = whole(block, row + FIRST_NODE), whole(block, row + BODY_PARENT)
    c = node_row(i)
    if dofs(block, c) > 0:
        node, k, d = node_variation(block, i), whole(block, c + PARENT), dof_variation(block, whole(block, c + VI))
        last, up = whole(work, d + D_LAST), whole(work, d + D_UP)
        v_up = get_pair(work, node_variation(block, k if k >= 0 else whole(block, N_NODES)) + N_V)
        m, s, J = get(block, c + SUBTREE_MASS), get3(work, node + N_MOMENT), get6(work, node + N_INERTIA)
        h = get_pair(work, node + N_MOMENTUM)
        R, P = lane_pair(block, last, 1, L_Q, work), lane_pair(block, last, 0, L_Q, work)
        T, V = lane_pair(block, up, 1, L_V, work), lane_pair(block, up, 0, L_V, work)
        falling, turned = lane(block, up, 1, L_V + 6, work), lane_pair(block, up, 1, L_W, work)
        for axis in range(3):
            e = unit_twist(axis)[0]
            S = (axis_in_world(block, parent, e, work), ZERO3)
            drift = cross_motion(v_up, S)
            load = add6(omega_times(S, h), rigid_times(m, s, J, drift))
            x = (dot6(drift, sub6(R, P)) + dot6(load, sub6(T, V)) + dot(rigid_times(m, s, J, S)[0], falling))
            if whole(block, HAS_WRENCH) != 0 and whole(block, WRENCH_CALL) == 0:
                x = x + dot6(omega_times(S, get_pair(work, work_row(i) + W_PHI)), turned)
            add_to(out, at + axis, x)


@inline
def axis_in_world(block, body, e, work):
    """A direction of a body's axes in those of the world; the ground is body -1."""
    if body >= 0:
        row = body_row(block, body)
        e = tmul(get_frame(block, row + BODY_G)[0], e)
        if whole(block, row + BODY_NODE) >= 0:
            e = tmul(get_frame(work, node_variation(block, whole(block, row + BODY_NODE)) + N_FRAME)[0], e)
    return e


@inline
def add_by_spins(block, at, b, out, work):
    """The force of spinning rotors in ball and free joints, -Omega(u) (r u), is linear in the armature r."""
    for i in range(whole(block, N_NODES)):
        c = node_row(i)
        count, vi = dofs(block, c), whole(block, c + VI)
        if count > 1:
            u, weights = node_pair(block, c, work, speeds_at(block) + vi), node_pair(block, c, b, vi)
            for k in range(count):
                spin = scale6(get(work, speeds_at(block) + vi + k), twist(block, c, k))
                add_to(out, at + G_DOF * (vi + k) + 2, -dot6(weights, omega_times(u, spin)))
