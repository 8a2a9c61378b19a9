"""The gradient of :mod:`.parameters` for trees of single dofs, from the sweeps of :mod:`mbkern.core.tangent_sweeps`.

`vjp` runs them with dq = -b, dp = a, which leaves du = gp, and for each node the variations dv of its velocity, dg of
gravity as it sees it, and dh = M* dv + phi of the momentum of what it carries, in its axes. The sums of
:mod:`.parameters` are then T - V = -dv, and in the axes of the parent, k, with the impulse e x* h of a joint

    by the position of the joint   -( dh' x w_k + h x dw_k + m dg_k ),    dh' = dh + impulse dq,  linear parts of dh', h

w, dw being angular parts of v, dv. T", the sum of S b over all dofs above, has a sweep of its own.
"""

from ...core.extended import placed
from ...core.jit import inline
from ...core.joints import dofs
from ...core.layout import (
    BODY_G, BODY_NODE, BODY_PARENT, FIRST_NODE, N_BODIES, N_JOINT_NODES, N_NODES, NV, PARENT, SPIN,
    SUBTREE_MASS, TILT, VI, W_GRAVITY, W_P, W_PHI, W_TURN, W_V, body_row, get3, get_frame, get_inertia, get_pair,
    node_row, put_pair, work_row,
)
from ...core.number import ACROSS, array_at, fma, get, whole
from ...core.single_dofs import amount, has_spin
from ...core.spatial import ZERO6, inertia_times_plus, minus_cross, motion_to_child, scale6
from ...core.tangent_sweeps import NODE_COLUMNS, T_PHI, T_V
from ...core.tangents import lanes_begin
from ...core.turns import turn_x, turn_z
from ...core.variations import along_z, node_variation
from ...core.vec3 import ZERO3, add, axpy, cross, mul, neg
from .desk import AT_GRADIENT, G_BODY, G_DOF
from .parameters import add_by_body, add_by_dofs, add_to3

B_FALL = 15  # in the row of a node, behind those of :mod:`mbkern.core.single_dofs`: T", 6


@inline
def lane(block, i, place, work):
    """Three numbers of the row of node i in the first lane; the ground has the row after the last."""
    at = lanes_begin(block) + ACROSS * (NODE_COLUMNS * i + place)
    return get(work, at), get(work, at + ACROSS), get(work, at + 2 * ACROSS)


@inline
def lane_pair(block, i, place, work):
    return lane(block, i, place, work), lane(block, i, place + 3, work)


@inline
def add_gradient_of_singles(desk, address, block, q, b, gp, work):
    """Add to the gradient of the desk, after `vjp` at the same state; see :mod:`.desk` for what it holds."""
    n, nv, nodes = whole(block, N_BODIES), whole(block, NV), whole(block, N_NODES)
    out = array_at(address + 8 * whole(desk, AT_GRADIENT), G_BODY * n + G_DOF * nv + 3)
    put_falls(block, q, b, work)
    for body in range(n):
        row = body_row(block, body)
        i = whole(block, row + BODY_NODE)
        if i >= 0:
            X, w = get_frame(block, row + BODY_G), work_row(i)
            add_by_body(motion_to_child(X, scale6(-1.0, lane_pair(block, i, T_V, work))),
                        motion_to_child(X, get_pair(work, w + W_V)),
                        motion_to_child(X, get_pair(work, node_variation(block, i) + B_FALL)),
                        mul(X[0], get3(work, w + W_GRAVITY)), G_BODY * body, out)
        if whole(block, row + N_JOINT_NODES) > 0:
            add_by_position(block, body, b, G_BODY * body + 10, out, work)
    add_by_dofs(block, q, b, gp, G_BODY * n, out, work)
    add_to3(out, G_BODY * n + G_DOF * nv, neg(lane(block, nodes, T_PHI + 6, work)))


@inline
def put_falls(block, q, b, work):
    """T" of all nodes."""
    n = whole(block, N_NODES)
    put_pair(work, node_variation(block, n) + B_FALL, ZERO6)
    for i in range(n):
        c, k = node_row(i), whole(block, node_row(i) + PARENT)
        above = get_pair(work, node_variation(block, k if k >= 0 else n) + B_FALL)
        u, o, _ = placed(block, c, work_row(i), above, ZERO3, has_spin(block, c), work)
        move, turn = along_z(block, c)
        u = minus_cross(u, (0.0, 0.0, amount(block, c, move, q, work)), o)
        weight = get(b, whole(block, c + VI)) if dofs(block, c) > 0 else 0.0
        put_pair(work, node_variation(block, i) + B_FALL,
                 ((u[0], u[1], fma(move, weight, u[2])), (o[0], o[1], fma(turn, weight, o[2]))))


@inline
def add_by_position(block, body, b, at, out, work):
    """The gradient by the position of a body's joint, in axes of the parent body; its first node must have dofs."""
    row = body_row(block, body)
    i, parent = whole(block, row + FIRST_NODE), whole(block, row + BODY_PARENT)
    c, w = node_row(i), work_row(i)
    if dofs(block, c) > 0:
        k, M = whole(block, c + PARENT), get_inertia(work, w + W_P)
        above = k if k >= 0 else whole(block, N_NODES)
        h, _ = inertia_times_plus(M, get_pair(work, w + W_V), get_pair(work, w + W_PHI))
        dh, _ = inertia_times_plus(M, lane_pair(block, i, T_V, work), lane_pair(block, i, T_PHI, work))
        _, turn = along_z(block, c)
        dq = -(turn * get(b, whole(block, c + VI)))
        dh = (fma(-dq, h[1], dh[0]), fma(dq, h[0], dh[1]), dh[2])  # dq e x* h
        w_up, dw_up = get_pair(work, work_row(above) + W_V)[1], lane(block, above, T_V + 3, work)
        x = add(cross(to_parent(block, c, w, dh, work), w_up), cross(to_parent(block, c, w, h, work), dw_up))
        x = axpy(get(block, c + SUBTREE_MASS), lane(block, above, T_V + 6, work), x)
        if parent >= 0:
            x = mul(get_frame(block, body_row(block, parent) + BODY_G)[0], x)
        add_to3(out, at, neg(x))


@inline
def to_parent(block, c, w, x, work):
    """A vector in the axes of the parent."""
    x = turn_z(get(work, w + W_TURN), get(work, w + W_TURN + 1), x)
    x = turn_x(get(block, c + TILT), get(block, c + TILT + 1), x)
    return turn_z(get(block, c + SPIN), get(block, c + SPIN + 1), x)
