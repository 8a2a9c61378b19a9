"""J^T times weights for trees of single dofs, and the gradient by the constants of the machine on the way.

One state, one pair of weights (a, b). With D the derivative along (dq, dp) = (-b, a)

    a . u + b . pdot = D H,     gq = D dH/dq,  gp = D dH/dp     by the sweeps of :mod:`mbkern.core.tangent_sweeps`

(what dampers do is taken from a before). Likewise the gradient by a constant is D dH/dconstant, and dH = -dL where q
and p are kept. The forward sweep knows how velocity v, gravity g (in the axes of a node) and height g . r of a node
vary, dv, dg and D(g . r), so that for the mass m, the first moment s and the inertia J of what is fixed in the node

    by m   -( v . dv + D(g . r) )      by s   -( dv x w + v x dw + dg )      by J   -( w dw^T + dw w^T ) / 2

w, dw being angular parts. Moving a joint by rho in the axes of its parent k changes the momentum h of all it carries,

    by rho  -( dh x w_k + h x dw_k + m dg_k ),     dh = M* dv + phi + dq e x* h,  linear parts of h, dh

m the mass of the subtree. Sums are those of nodes, in their axes; :mod:`mbkern.variational.constants` makes bodies of
them. They are taken within the sweep, which waits for the node before anyway: half an evaluation of f for all.
"""

from ...core.checks import status
from ...core.columns import tail
from ...core.derivative_operations import eliminated_singles
from ...core.drives import evaluate_drives
from ...core.extended import placed
from ...core.jacobian_products import add_springs
from ...core.jit import exact, inline, kernel
from ...core.joints import dofs
from ...core.layout import (
    CASE, DAMPING, N_NODES, NV, OTHER, PARENT, PLACE_RHO, SPIN, SUBTREE_MASS, TILT, VI, W_GRAVITY, W_P, W_PHI, W_TURN,
    W_V, coordinate_row, get3, get33, get_inertia, get_pair, node_row, put33, speeds_at, work_row,
)
from ...core.number import array_at, fma, get, put, whole
from ...core.single_dofs import amount, has_spin
from ...core.spatial import inertia_times_plus, minus_cross, shift_force
from ...core.tangent_sweeps import NODE_COLUMNS, T_PHI, T_V, add_to_parent, moved, prepare, pushed
from ...core.tangents import lanes_begin
from ...core.turns import turn_x, turn_z
from ...core.variations import along_z
from ...core.vec3 import ZERO3, add, axpy, cross, dot, neg
from .desk import AT_GRADIENT, G_BODY, G_DOF, sums_wanted
from .parameters import add_by_dofs, add_to, add_to3


@exact
def made_ready(block, t, q, p, work):
    """Articulated inertias and the rows of :mod:`mbkern.core.single_dofs` at a state. The code."""
    evaluate_drives(block, t, work)
    eliminated_singles(block, q, p, work)
    prepare(block, q, work)
    return status(block, work)


@exact
def pull(desk, address, block, q, a, b, gq, gp, work):
    """gq and gp of weights (a, b), springs and dampers included; adds to the gradient of the desk where one is wanted.
    """
    nodes, nv = whole(block, N_NODES), whole(block, NV)
    many, sums = tail(work, lanes_begin(block)), sums_wanted(desk)
    out = array_at(address + 8 * whole(desk, AT_GRADIENT), G_BODY * nodes + G_DOF * nv + 3)
    backward(block, q, a, b, many, work)
    forward(block, q, b, sums, gq, gp, out, many, work)
    add_springs(block, b, 1, 1, 1, gq)
    if sums:
        add_by_dofs(block, q, b, gp, G_BODY * nodes, out, work)
        add_to3(out, G_BODY * nodes + G_DOF * nv, neg(get3(many, NODE_COLUMNS * nodes + T_PHI + 6)))


@kernel
def backward(block, q, a, b, many, work):
    """phi, sigma and y of all nodes, leaves first."""
    n = whole(block, N_NODES)
    for i in range(n + 1):
        put33(many, NODE_COLUMNS * i + T_PHI, (ZERO3, ZERO3, ZERO3))
    for i in range(n - 1, -1, -1):
        push_node(block, i, q, a, b, many, work)


@inline
def push_node(block, i, q, a, b, many, work):
    """The same of node i, which has one dof or none, and what it adds to its parent."""
    c = node_row(i)
    j = whole(block, c + VI)
    if whole(block, c + CASE) < OTHER:  # hinges, with literal numbers
        F, sigma = pushed(block, i, 0.0, 1.0, -get(b, j), damped(block, j, a, b), many, work)
        add_to_parent(block, i, F, sigma, many, work)
    else:
        (move, turn), (f, m, sigma) = along_z(block, c), get33(many, NODE_COLUMNS * i + T_PHI)
        F = f, m
        if dofs(block, c) > 0:
            F, sigma = pushed(block, i, move, turn, -get(b, j), damped(block, j, a, b), many, work)
        F = shift_force((0.0, 0.0, amount(block, c, move, q, work)), F)
        add_to_parent(block, i, F, sigma, many, work)


@inline
def damped(block, j, a, b):
    """dp of dof j."""
    return fma(-get(block, coordinate_row(block, j) + DAMPING), get(b, j), get(a, j))


@kernel
def forward(block, q, b, sums, gq, gp, out, many, work):
    """dv, dg and the results, root first; `sums`: add to the gradient by constants, too."""
    n = whole(block, N_NODES)
    put33(many, NODE_COLUMNS * n + T_V, (ZERO3, ZERO3, ZERO3))
    put(many, NODE_COLUMNS * (n + 1) + n, 0.0)
    for i in range(n):
        move_node(block, i, q, b, sums, gq, gp, out, many, work)


@inline
def move_node(block, i, q, b, sums, gq, gp, out, many, work):
    """The same of node i, which has one dof or none."""
    n = whole(block, N_NODES)
    heights = NODE_COLUMNS * (n + 1)
    c, k = node_row(i), whole(block, node_row(i) + PARENT)
    above = k if k >= 0 else n
    u, o, g = get33(many, NODE_COLUMNS * above + T_V)
    height = get(many, heights + above) + dot(g, get3(block, c + PLACE_RHO))
    u, o, g = placed(block, c, work_row(i), (u, o), g, has_spin(block, c), work)
    if whole(block, c + CASE) < OTHER:
        j = whole(block, c + VI)
        dq = -get(b, j)
        put_results(j, moved(block, i, 0.0, 1.0, dq, u, o, g, many, work), gq, gp)
        if sums:
            put(many, heights + i, height)
            add_by_inertia(i, height, many, out, work)
            add_by_place(block, i, 1.0, dq, get(work, speeds_at(block) + j), o, g, many, out, work)
    else:
        move, turn = along_z(block, c)
        along = amount(block, c, move, q, work)
        u = minus_cross(u, (0.0, 0.0, along), o)
        height = fma(along, g[2], height)
        if dofs(block, c) > 0:
            j = whole(block, c + VI)
            dq = -get(b, j)
            height = fma(move * dq, get(work, work_row(i) + W_GRAVITY + 2), height)
            put_results(j, moved(block, i, move, turn, dq, u, o, g, many, work), gq, gp)
            if sums:
                add_by_place(block, i, turn, dq, get(work, speeds_at(block) + j), o, g, many, out, work)
        else:
            put33(many, NODE_COLUMNS * i + T_V, (u, o, g))
        if sums:
            put(many, heights + i, height)
            add_by_inertia(i, height, many, out, work)


@inline
def put_results(j, rates, gq, gp):
    """Those of dof j."""
    du, dpdot = rates
    put(gq, j, -dpdot)
    put(gp, j, du)


@inline
def add_by_inertia(i, height, many, out, work):
    """The sums by mass, first moment and inertia of node i."""
    at, (v, w), (dv, dw, dg) = G_BODY * i, get_pair(work, work_row(i) + W_V), get33(many, NODE_COLUMNS * i + T_V)
    add_to(out, at, -(dot(v, dv) + height))
    add_to3(out, at + 1, neg(add(add(cross(dv, w), cross(v, dw)), dg)))
    add_to3(out, at + 4, (-(dw[0] * w[0]), -(dw[1] * w[1]), -(dw[2] * w[2])))
    add_to3(out, at + 7, (-fma(dw[0], w[1], dw[1] * w[0]), -fma(dw[0], w[2], dw[2] * w[0]),
                          -fma(dw[1], w[2], dw[2] * w[1])))


@inline
def add_by_place(block, i, turn, dq, rate, dw_k, dg_k, many, out, work):
    """The sums by the position of node i, in the axes of its parent; what varies of that is in the axes of the node."""
    c, at, (dv, dw, _) = node_row(i), work_row(i), get33(many, NODE_COLUMNS * i + T_V)
    M, v = get_inertia(work, at + W_P), get_pair(work, at + W_V)
    h, _ = inertia_times_plus(M, v, get_pair(work, at + W_PHI))
    dh, _ = inertia_times_plus(M, (dv, dw), get_pair(many, NODE_COLUMNS * i + T_PHI))
    turned = turn * dq
    dh = (fma(-turned, h[1], dh[0]), fma(turned, h[0], dh[1]), dh[2])
    (x, y, z) = v[1]
    w_k = (x, y, fma(-turn, rate, z))
    sums = axpy(get(block, c + SUBTREE_MASS), dg_k, add(cross(dh, w_k), cross(h, dw_k)))
    add_to3(out, G_BODY * i + 10, neg(to_parent(block, c, at, sums, work)))


@inline
def to_parent(block, c, w, x, work):
    """A vector in the axes of the parent."""
    x = turn_z(get(work, w + W_TURN), get(work, w + W_TURN + 1), x)
    x = turn_x(get(block, c + TILT), get(block, c + TILT + 1), x)
    if has_spin(block, c):
        x = turn_z(get(block, c + SPIN), get(block, c + SPIN + 1), x)
    return x
