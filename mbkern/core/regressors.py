"""Regressors: what is linear in the inertial parameters of the bodies, as a matrix times them.

    pi = (m, s, J) of every body: mass, first moment m c, inertia about the body origin (xx yy zz xy xz yz), body axes

    p         = Y pi    momenta                  Y = S . I(pi) v
    pdot      = Z pi    rates without tau        Z = (v_a x S) . I(pi) v + S . weight
    tau       = W pi    joint forces             W = S . (I(pi) a + v x* I(pi) v),   a less g
    (T, V)    = E pi    energies                 E = v . I(pi) v / 2,  -m g . r - g . s

for every dof on the way from a body to the root, S its twist, v and a velocity and acceleration of the body, v_a that
of the dof's own node; all carried to body axes at the body origin. Springs, dampers and rotors add their own, what is
driven is part of v and a. Atkeson, An & Hollerbach 1986 for tau; that p and pdot need no accelerations is what
identification from momenta rests on.
"""

from .jacobian_rhs import prepare_without_pivots
from .jit import inline
from .joints import dofs
from .layout import (
    BODY_G, BODY_NODE, GRAVITY, N_BODIES, NV, PARENT, VI, W_G, body_row, get3, get_frame, get_pair,
    node_row, put3, put6, speeds_at, work_row,
)
from .number import get, put, whole
from .spatial import compose, motion_to_child
from .variations import (
    D_BEFORE, D_S, D_TURNING, DOF, N_FRAME, N_V, cross_motion, dof_variation, node_variation,
)
from .vec3 import ZERO3, add, cross, dot, scale
from .velocity_derivatives import W_A, put_accelerations

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
def put_motions(block, q, u, work):
    """Rows of all dofs, frames and velocities of all nodes, for joint speeds u."""
    for j in range(whole(block, NV)):
        put(work, speeds_at(block) + j, get(u, j))
    prepare_without_pivots(block, q, u[0:0], work)


@inline
def last_dof(block, i):
    """The last dof at node i or above it; nv when there is none."""
    while i >= 0 and dofs(block, node_row(i)) == 0:
        i = whole(block, node_row(i) + PARENT)
    return whole(block, NV) if i < 0 else whole(block, node_row(i) + VI) + dofs(block, node_row(i)) - 1


@inline
def place_of(block, b, work):
    """Axes and origin of body b, from the root of its tree; its node is i >= 0."""
    row = body_row(block, b)
    X = get_frame(work, node_variation(block, whole(block, row + BODY_NODE)) + N_FRAME)
    return compose(get_frame(block, row + BODY_G), X)


@inline
def clear(out, count):
    for j in range(count):
        put(out, j, 0.0)


@inline
def momentum_regressor(block, q, u, Y, work):
    """Y, nv x 10 N."""
    put_motions(block, q, u, work)
    n, nv, rows = whole(block, N_BODIES), whole(block, NV), dof_variation(block, 0)
    clear(Y, nv * TEN * n)
    for b in range(n):
        i = whole(block, body_row(block, b) + BODY_NODE)
        if i >= 0:
            X = place_of(block, b, work)
            v, j = motion_to_child(X, get_pair(work, node_variation(block, i) + N_V)), last_dof(block, i)
            while j < nv:
                S = motion_to_child(X, get_pair(work, rows + DOF * j + D_S))
                put_ten(Y, TEN * (n * j + b), by_inertia(S, v))
                j = whole(work, rows + DOF * j + D_BEFORE)


@inline
def momentum_rate_regressor(block, q, u, Z, work):
    """Z, nv x 10 N."""
    put_motions(block, q, u, work)
    n, nv, rows, g = whole(block, N_BODIES), whole(block, NV), dof_variation(block, 0), get3(block, GRAVITY)
    clear(Z, nv * TEN * n)
    for b in range(n):
        i = whole(block, body_row(block, b) + BODY_NODE)
        if i >= 0:
            X = place_of(block, b, work)
            v, j = motion_to_child(X, get_pair(work, node_variation(block, i) + N_V)), last_dof(block, i)
            weight = motion_to_child(X, (g, ZERO3))
            while j < nv:
                d = rows + DOF * j
                S = motion_to_child(X, get_pair(work, d + D_S))
                x = by_inertia(motion_to_child(X, get_pair(work, d + D_TURNING)), v)
                y = by_inertia(S, weight)
                put_ten(Z, TEN * (n * j + b), (x[0] + y[0], add(x[1], y[1]), x[2]))
                j = whole(work, d + D_BEFORE)


@inline
def torque_regressor(block, q, u, udot, W, work):
    """W, nv x 10 N."""
    put_motions(block, q, u, work)
    put_accelerations(block, udot, work)
    n, nv, rows = whole(block, N_BODIES), whole(block, NV), dof_variation(block, 0)
    clear(W, nv * TEN * n)
    for b in range(n):
        i = whole(block, body_row(block, b) + BODY_NODE)
        if i >= 0:
            X = place_of(block, b, work)
            v, j = motion_to_child(X, get_pair(work, node_variation(block, i) + N_V)), last_dof(block, i)
            a = motion_to_child(X, get_pair(work, work_row(i) + W_A))
            while j < nv:
                S = motion_to_child(X, get_pair(work, rows + DOF * j + D_S))
                x, y = by_inertia(S, a), by_inertia(cross_motion(S, v), v)
                xx, yy = x[2], y[2]
                put_ten(W, TEN * (n * j + b), (x[0] + y[0], add(x[1], y[1]), (
                    xx[0] + yy[0], xx[1] + yy[1], xx[2] + yy[2], xx[3] + yy[3], xx[4] + yy[4], xx[5] + yy[5])))
                j = whole(work, rows + DOF * j + D_BEFORE)


@inline
def root_of(block, i):
    """The root of the tree that node i is in."""
    while whole(block, node_row(i) + PARENT) >= 0:
        i = whole(block, node_row(i) + PARENT)
    return i


@inline
def energy_regressor(block, q, u, E, work):
    """E, 2 x 10 N: kinetic and potential energy of weight. Bodies on the ground have a place, and no motion."""
    put_motions(block, q, u, work)
    n, g = whole(block, N_BODIES), get3(block, GRAVITY)
    clear(E, 2 * TEN * n)
    for b in range(n):
        row = body_row(block, b)
        i = whole(block, row + BODY_NODE)
        if i >= 0:
            X = place_of(block, b, work)
            v = motion_to_child(X, get_pair(work, node_variation(block, i) + N_V))
            x = by_inertia(v, v)
            J = x[2]
            put_ten(E, TEN * b, (0.5 * x[0], scale(0.5, x[1]), (0.5 * J[0], 0.5 * J[1], 0.5 * J[2], 0.5 * J[3],
                                                                0.5 * J[4], 0.5 * J[5])))
            r = add(X[1], get_frame(work, work_row(root_of(block, i)) + W_G)[1])
            put_weight(E, TEN * (n + b), g, r, motion_to_child(X, (g, ZERO3))[0])
        else:
            G, rho = get_frame(block, row + BODY_G)
            put_weight(E, TEN * (n + b), g, rho, motion_to_child((G, rho), (g, ZERO3))[0])


@inline
def put_weight(E, at, g, r, own):
    """-m g . r - g . s; `own` is g in body axes."""
    put(E, at, -dot(g, r))
    put3(E, at + 1, scale(-1.0, own))
