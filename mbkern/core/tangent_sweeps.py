"""Products of the Jacobian A of (u, pdot), and of its transpose, for trees of single dofs: two short sweeps.

In the axes of the nodes, with the rows of :mod:`.single_dofs`. A direction (dq, dp) varies the velocity of a node by dv
and gravity, seen from it, by dg; phi is the variation of its momentum while its velocity is kept, sigma that of the
first moment of what it carries. U, 1/D as in :mod:`.extended`:

    backward   phi' = phi + load dq,            y = (dp - e . phi') / D
               phi_k += C^T (phi' + U y),       sigma_k += G^T (sigma + F dq)
    forward    du = y - U . (C dv_k) / D,    dv = C dv_k + drift dq + e du,    dg = G dg_k + sway dq
               dpdot = load . dv + drift . phi + sway . sigma + F . dg

The Hessian of H is symmetric, A = J H, so that A^T (a, b) = -J A J^T (a, b): the same sweeps with dq = -b, dp = a give
(gq, gp) = (-dpdot, du). What dampers do, pdot -= c u, is taken from a before, a - c b; springs are left to the caller.

Directions are columns, side by side in a column number (:mod:`.columns`).
"""

from .columns import get_columns, put_columns, wide, width
from .extended import placed
from .jit import inline, kernel
from .joints import dofs
from .layout import (
    CASE, DAMPING, N_NODES, OTHER, PARENT, PLACE_RHO, SPIN, TILT, VI, W_ELIM, W_P, W_TURN, coordinate_row, get3, get33,
    get_inertia, get_pair, node_row, put33, work_row,
)
from .number import fma, get, put, whole
from .single_dofs import (
    B_DRIFT, B_F, B_LOAD, B_SWAY, amount, column_of, get2, get4, has_spin, put_local_rows,
)
from .spatial import axpy6, dot6, minus_cross, shift_force
from .turns import turn6_x, turn6_z, turn_x, turn_z
from .variations import along_z, node_variation
from .vec3 import ZERO3, add, axpy, dot

# ---- row of a node for a column number: phi and sigma, dv and dg, y ----
T_PHI, T_V, T_Y = 0, 9, 18
NODE_COLUMNS = 19


@kernel
def prepare(block, q, work):
    """The rows in the axes of the nodes, after a sweep of "emh-ldl" at this state."""
    put_local_rows(block, q, work)


@inline
def products(block, q, x, y, count, stride, step, transposed, first, second, begin, work):
    """A (x, y) = (first, second) for as many columns, or A^T (x, y); dof j of column k is at place stride j + step k.
    The sets begin at place `begin` of the workspace."""
    prepare(block, q, work)
    more_products(block, q, x, y, count, stride, step, transposed, first, second, begin, work)


@inline
def more_products(block, q, x, y, count, stride, step, transposed, first, second, begin, work):
    """The same where `products` or `prepare` has been at this state."""
    many, wide_set = wide(work, begin), width(work)
    for k in range(0, count, wide_set):
        columns, at = min(wide_set, count - k), step * k
        backward(block, q, x, y, at, stride, step, columns, transposed, many, work)
        forward(block, q, x, y, at, stride, step, columns, transposed, first, second, many, work)


@inline
def direction(block, j, x, y, at, stride, step, columns, transposed):
    """dq and dp of dof j."""
    place = at + stride * j
    a, b = get_columns(x, place, step, columns), get_columns(y, place, step, columns)
    if transposed:
        return -b, a - get(block, coordinate_row(block, j) + DAMPING) * b
    return a, b


@kernel
def backward(block, q, x, y, at, stride, step, columns, transposed, many, work):
    """phi, sigma and y of all nodes, leaves first."""
    n = whole(block, N_NODES)
    for i in range(n + 1):
        put33(many, NODE_COLUMNS * i + T_PHI, (ZERO3, ZERO3, ZERO3))
    for i in range(n - 1, -1, -1):
        c = node_row(i)
        if whole(block, c + CASE) < OTHER:  # hinges, with literal numbers: 30 % of a chain
            dq, dp = direction(block, whole(block, c + VI), x, y, at, stride, step, columns, transposed)
            F, sigma = pushed(block, i, 0.0, 1.0, dq, dp, many, work)
            add_to_parent(block, i, F, sigma, many, work)
        else:
            (move, turn), (f, t, sigma) = along_z(block, c), get33(many, NODE_COLUMNS * i + T_PHI)
            F = f, t
            if dofs(block, c) > 0:
                dq, dp = direction(block, whole(block, c + VI), x, y, at, stride, step, columns, transposed)
                F, sigma = pushed(block, i, move, turn, dq, dp, many, work)
            F = shift_force((0.0, 0.0, amount(block, c, move, q, work)), F)
            add_to_parent(block, i, F, sigma, many, work)


@inline
def pushed(block, i, move, turn, dq, dp, many, work):
    """phi' + U y and sigma + F dq of a node with a dof; its y is left."""
    w, row, own = work_row(i), node_variation(block, i), NODE_COLUMNS * i
    f, t, sigma = get33(many, own + T_PHI)
    f, t = axpy6(dq, get_pair(work, row + B_LOAD), (f, t))
    rate = (dp - fma(move, f[2], turn * t[2])) * get(work, w + W_ELIM)
    put(many, own + T_Y, rate)
    F = axpy6(rate, column_of(move, turn, get_inertia(work, w + W_P)), (f, t))
    return F, axpy(dq, get3(work, row + B_F), sigma)


@inline
def add_to_parent(block, i, F, s, many, work):
    """Turn, tilt, spin and offset of a force and a vector, from the axes of a node to those of its parent."""
    c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
    to = NODE_COLUMNS * (k if k >= 0 else whole(block, N_NODES)) + T_PHI
    co, si = get(work, w + W_TURN), get(work, w + W_TURN + 1)
    F, s = turn6_z(co, si, F), turn_z(co, si, s)
    co, si = get(block, c + TILT), get(block, c + TILT + 1)
    F, s = turn6_x(co, si, F), turn_x(co, si, s)
    if has_spin(block, c):
        co, si = get(block, c + SPIN), get(block, c + SPIN + 1)
        F, s = turn6_z(co, si, F), turn_z(co, si, s)
    (f, t), (a, b, d) = shift_force(get3(block, c + PLACE_RHO), F), get33(many, to)
    put33(many, to, (add(a, f), add(b, t), add(d, s)))


@kernel
def forward(block, q, x, y, at, stride, step, columns, transposed, first, second, many, work):
    """dv, dg and the results, root first."""
    n = whole(block, N_NODES)
    put33(many, NODE_COLUMNS * n + T_V, (ZERO3, ZERO3, ZERO3))
    for i in range(n):
        c, own, k = node_row(i), NODE_COLUMNS * i, whole(block, node_row(i) + PARENT)
        u, o, g = get33(many, NODE_COLUMNS * (k if k >= 0 else n) + T_V)
        u, o, g = placed(block, c, work_row(i), (u, o), g, has_spin(block, c), work)
        if whole(block, c + CASE) < OTHER:
            j = whole(block, c + VI)
            dq, _ = direction(block, j, x, y, at, stride, step, columns, transposed)
            du, dpdot = moved(block, i, 0.0, 1.0, dq, u, o, g, many, work)
            put_results(block, j, at + stride * j, step, columns, transposed, du, dpdot, first, second)
        else:
            move, turn = along_z(block, c)
            u = minus_cross(u, (0.0, 0.0, amount(block, c, move, q, work)), o)
            if dofs(block, c) > 0:
                j = whole(block, c + VI)
                dq, _ = direction(block, j, x, y, at, stride, step, columns, transposed)
                du, dpdot = moved(block, i, move, turn, dq, u, o, g, many, work)
                put_results(block, j, at + stride * j, step, columns, transposed, du, dpdot, first, second)
            else:
                put33(many, own + T_V, (u, o, g))


@inline
def moved(block, i, move, turn, dq, u, o, g, many, work):
    """du and dpdot of a node with a dof that has (u, o), g from its parent; its own are left."""
    w, row, own = work_row(i), node_variation(block, i), NODE_COLUMNS * i
    U = column_of(move, turn, get_inertia(work, w + W_P))
    du = fma(-get(work, w + W_ELIM), dot6(U, (u, o)), get(many, own + T_Y))
    (ax, ay, bx, by), (sx, sy) = get4(work, row + B_DRIFT), get2(work, row + B_SWAY)
    u = (fma(ax, dq, u[0]), fma(ay, dq, u[1]), fma(move, du, u[2]))
    o = (fma(bx, dq, o[0]), fma(by, dq, o[1]), fma(turn, du, o[2]))
    g = (fma(sx, dq, g[0]), fma(sy, dq, g[1]), g[2])
    put33(many, own + T_V, (u, o, g))
    f, t, sigma = get33(many, own + T_PHI)
    return du, (dot6(get_pair(work, row + B_LOAD), (u, o)) + dot(get3(work, row + B_F), g)
                + (fma(ax, f[0], ay * f[1]) + fma(bx, t[0], by * t[1]) + fma(sx, sigma[0], sy * sigma[1])))


@inline
def put_results(block, j, place, step, columns, transposed, du, dpdot, first, second):
    """Those of dof j."""
    if transposed:
        put_columns(first, place, step, columns, -dpdot)
        put_columns(second, place, step, columns, du)
    else:
        put_columns(first, place, step, columns, du)
        put_columns(second, place, step, columns, fma(-get(block, coordinate_row(block, j) + DAMPING), du, dpdot))
