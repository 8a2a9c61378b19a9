"""Products of the Jacobian A of (u, pdot) with directions, and of its transpose with weights, in O(N) each.

    A (dq, dp) = (du, dpdot)          `jvp`
    A^T (a, b) = (gq, gp)             `vjp`

Trees of single dofs without wrenches have the shorter way of :mod:`.tangent_sweeps`. All others: `jvp` by the sweeps of
:mod:`.tangents`; with p and pdot as functions of (q, u), whose derivatives :mod:`.variations` lists, the transpose is

    Mass gp = a + (dpdot/du)^T b,     gq = (dpdot/dq)^T b - (dp/dq)^T gp

    backward   R = sum of rate_load b,  R' = sum of F b (linear part)     over a node and all below it
    forward    T = sum of turning b,    T' = sum of sway b,  T" = sum of S b     over all nodes above
               a += S . R + F . T, less what dampers and rotors do
               gp = Mass^-1 a, with V = sum of S gp over all above, then P = sum of F gp over the node and all below
               gq = drift . (R - P) + sway . R' + load . (T - V) + F . T' + wrench . T"

Directions, weights and results are columns of row-major arrays (nv, k); `jvp_rows` and `vjp_rows` have them in rows.
"""

from .columns import get_columns, put_columns, wide, width
from .jit import inline
from .jacobian_rhs import only_single_dofs, prepare
from .layout import (
    NV, ROTORS_SIZE, SPRING_QI, STIFFNESS, add_to_pair, coordinate_row, get3, get33, get_pair, put33, put_pair,
)
from .number import fma, get, put, whole
from .spatial import axpy6, dot6, sub6
from .tangent_sweeps import more_products as more_sweeps
from .tangent_sweeps import prepare as prepare_sweeps
from .tangent_sweeps import products as sweeps
from .tangents import (
    L_Q, L_V, L_W, L_X, SETS, clear_loads, clear_momenta, clear_velocities, clear_wrenches, first_of, lane_row,
    lanes_begin, load_set, move_set, put_momentum_rates, put_speeds, solve_backward, solve_forward,
)
from .variations import (
    D_BEFORE, D_DAMPING, D_DRIFT, D_F, D_LAST, D_LOAD, D_RATE_LOAD, D_S, D_SPIN, D_SWAY, D_TURNING, D_UP, D_WRENCH, DOF,
    dof_variation,
)
from .vec3 import add, axpy, dot


@inline
def jvp(block, q, wrench, dq, dp, columns, du, dpdot, work):
    """du and dpdot along as many directions; the workspace is as a sweep of "emh-ldl" at this state has left it."""
    products(block, q, wrench, dq, dp, columns, columns, 1, du, dpdot, work)


@inline
def jvp_rows(block, q, wrench, dq, dp, rows, du, dpdot, work):
    """The same for directions that are rows of nv numbers."""
    products(block, q, wrench, dq, dp, rows, 1, whole(block, NV), du, dpdot, work)


@inline
def vjp(block, q, wrench, a, b, columns, gq, gp, work):
    """gq and gp of as many weights (a, b); the workspace is as a sweep of "emh-ldl" at this state has left it."""
    transposed_products(block, q, wrench, a, b, columns, columns, 1, gq, gp, work)


@inline
def vjp_rows(block, q, wrench, a, b, rows, gq, gp, work):
    """The same for weights that are rows of nv numbers."""
    transposed_products(block, q, wrench, a, b, rows, 1, whole(block, NV), gq, gp, work)


@inline
def pull_by_rows(block, q, wrench, again, a, b, gq, gp, work):
    """`vjp` of one pair (a, b) by the rows of :mod:`.variations`, which are left with its sets: gradients by constants
    of a machine need them. Whether it has been at this state before."""
    if not again:
        prepare(block, q, wrench, work)
    weigh_by_rows(block, wrench, a, b, 1, 1, 1, gq, gp, work)
    add_springs(block, b, 1, 1, 1, gq)


@inline
def pull_singles(block, q, again, a, b, gq, gp, work):
    """The same for trees of single dofs without wrenches, by the sweeps of :mod:`.tangent_sweeps`."""
    if not again:
        prepare_sweeps(block, q, work)
    more_sweeps(block, q, a, b, 1, 1, 1, True, gq, gp, lanes_begin(block), work)
    add_springs(block, b, 1, 1, 1, gq)


@inline
def products(block, q, wrench, dq, dp, directions, stride, step, du, dpdot, work):
    """`jvp`; dof b of direction k is at place stride b + step k."""
    if wrench.shape[0] == 0 and only_single_dofs(block):
        jvp_of_singles(block, q, dq, dp, directions, stride, step, du, dpdot, work)
    else:
        products_by_rows(block, q, wrench, dq, dp, directions, stride, step, du, dpdot, work)
        add_springs(block, dq, directions, stride, step, dpdot)


@inline
def jvp_of_singles(block, q, dq, dp, directions, stride, step, du, dpdot, work):
    """The same for trees of single dofs without wrenches; a backward sweep is enough."""
    sweeps(block, q, dq, dp, directions, stride, step, False, du, dpdot, lanes_begin(block), work)
    add_springs(block, dq, directions, stride, step, dpdot)


@inline
def products_by_rows(block, q, wrench, dq, dp, directions, stride, step, du, dpdot, work):
    """The same for any tree, without springs."""
    prepare(block, q, wrench, work)
    nv, rows, many, wide_set = whole(block, NV), dof_variation(block, 0), wide(work, lanes_begin(block)), width(work)
    wrenches, spins = wrench.shape[0] > 0, whole(block, ROTORS_SIZE) != 0
    for begin in range(0, directions, SETS * wide_set):
        count = min(directions - begin, SETS * wide_set)
        sets, at = (count + wide_set - 1) // wide_set, step * begin
        clear_momenta(sets, nv, nv, many)
        clear_velocities(sets, 0, nv + 1, many)
        for b in range(nv):
            for s in range(sets):
                move_set(rows, b, s, set_in(dq, at + stride * b, s, step, count, work), many, work)
                put(many, lane_row(b, s) + L_X, set_in(dp, at + stride * b, s, step, count, work))
        solve_backward(rows, nv - 1, sets, many, work)
        solve_forward(rows, 0, nv, True, sets, many, work)
        clear_loads(sets, 0, nv, many)
        if wrenches:
            clear_wrenches(sets, 0, nv, many)
        for b in range(nv):
            for s in range(sets):
                load_set(rows, b, s, set_in(dq, at + stride * b, s, step, count, work), wrenches, many, work)
        put_speeds(nv, 0, sets, many, du, at, stride, step, count, work)
        put_momentum_rates(rows, nv, wrenches, spins, 0, sets, many, dpdot, at, stride, step, count, work)


@inline
def set_in(x, at, s, step, count, work):
    """Set s of `count` numbers at places at, at + step, ..., of which set 0 has the first."""
    done = width(work) * s
    return get_columns(x, at + step * done, step, min(width(work), count - done))


@inline
def add_springs(block, x, count, stride, step, out):
    """out -= stiffness x, for each direction."""
    for a in range(whole(block, NV)):
        row = coordinate_row(block, a)
        if whole(block, row + SPRING_QI) >= 0:
            for k in range(count):
                j = stride * a + step * k
                put(out, j, fma(-get(block, row + STIFFNESS), get(x, j), get(out, j)))


@inline
def transposed_products(block, q, wrench, a, b, weights, stride, step, gq, gp, work):
    """`vjp`; dof j of weights k is at place stride j + step k."""
    if wrench.shape[0] == 0 and only_single_dofs(block):
        vjp_of_singles(block, q, a, b, weights, stride, step, gq, gp, work)
    else:
        transposed_products_by_rows(block, q, wrench, a, b, weights, stride, step, gq, gp, work)
        add_springs(block, b, weights, stride, step, gq)


@inline
def vjp_of_singles(block, q, a, b, weights, stride, step, gq, gp, work):
    """The same for trees of single dofs without wrenches; a backward sweep is enough."""
    sweeps(block, q, a, b, weights, stride, step, True, gq, gp, lanes_begin(block), work)
    add_springs(block, b, weights, stride, step, gq)


# set 0 is that of the solution; R, R' are loads, T, T' velocities and T" wrenches of set 1, b the X of set 2
@inline
def transposed_products_by_rows(block, q, wrench, a, b, weights, stride, step, gq, gp, work):
    """The same for any tree, without springs; leaves the rows of :mod:`.variations` and these sets."""
    prepare(block, q, wrench, work)
    weigh_by_rows(block, wrench, a, b, weights, stride, step, gq, gp, work)


@inline
def weigh_by_rows(block, wrench, a, b, weights, stride, step, gq, gp, work):
    """The same where the rows are there."""
    nv, rows, many, wide_set = whole(block, NV), dof_variation(block, 0), wide(work, lanes_begin(block)), width(work)
    spins = whole(block, ROTORS_SIZE) != 0
    for begin in range(0, weights, wide_set):
        count, at = min(wide_set, weights - begin), step * begin
        clear_momenta(3, nv, nv, many)
        clear_loads(2, 0, nv, many)
        clear_velocities(2, nv, nv + 1, many)
        clear_wrenches(2, nv, nv + 1, many)
        for j in range(nv):
            put(many, lane_row(j, 0) + L_X, get_columns(a, at + stride * j, step, count))
            put(many, lane_row(j, 2) + L_X, get_columns(b, at + stride * j, step, count))
        sum_weights(rows, nv, many, work)
        add_weights(rows, nv, spins, many, work)
        solve_backward(rows, nv - 1, 1, many, work)
        solve_forward(rows, 0, nv, False, 1, many, work)
        put_speeds(nv, 0, 1, many, gp, at, stride, step, count, work)
        clear_loads(1, 0, nv, many)
        sum_momenta(rows, nv, many, work)
        for j in range(nv):
            x = gradient(rows + DOF * j, wrench.shape[0] > 0, many, work)
            put_columns(gq, at + stride * j, step, count, x)


@inline
def sum_weights(dofs, nv, many, work):
    """R and R' of all nodes, in the places of their last dofs; T, T' and T" of each dof with those above."""
    for j in range(nv - 1, -1, -1):
        d = dofs + DOF * j
        own, weight = lane_row(whole(work, d + D_LAST), 1) + L_Q, get(many, lane_row(j, 2) + L_X)
        (f, t), F, (P, Q, S) = get_pair(work, d + D_RATE_LOAD), get_pair(work, d + D_F), get33(many, own)
        put33(many, own, (axpy(weight, f, P), axpy(weight, t, Q), axpy(weight, F[0], S)))
        if whole(work, d + D_BEFORE) == whole(work, d + D_UP):
            up, (P, Q, S) = lane_row(whole(work, d + D_UP), 1) + L_Q, get33(many, own)
            above = get33(many, up)
            put33(many, up, (add(above[0], P), add(above[1], Q), add(above[2], S)))
    for j in range(nv):
        d = dofs + DOF * j
        own, before, weight = lane_row(j, 1), lane_row(whole(work, d + D_BEFORE), 1), get(many, lane_row(j, 2) + L_X)
        (v, w), (P, Q, S) = get_pair(work, d + D_TURNING), get33(many, before + L_V)
        put33(many, own + L_V, (axpy(weight, v, P), axpy(weight, w, Q), axpy(weight, get3(work, d + D_SWAY), S)))
        put_pair(many, own + L_W, axpy6(weight, get_pair(work, d + D_S), get_pair(many, before + L_W)))


@inline
def add_weights(dofs, nv, spins, many, work):
    """a + (dpdot/du)^T b."""
    for j in range(nv):
        d, at = dofs + DOF * j, lane_row(j, 0) + L_X
        R = get33(many, lane_row(whole(work, d + D_LAST), 1) + L_Q)
        T = get33(many, lane_row(whole(work, d + D_UP), 1) + L_V)
        x = (get(many, at) - get(work, d + D_DAMPING) * get(many, lane_row(j, 2) + L_X)
             + dot6(get_pair(work, d + D_S), (R[0], R[1])) + dot6(get_pair(work, d + D_F), (T[0], T[1])))
        if spins:
            begin, last = first_of(dofs, j, work), whole(work, d + D_LAST)
            for k in range(begin, last + 1 if last > begin else begin):
                x = x + get(work, dofs + DOF * k + D_SPIN + j - begin) * get(many, lane_row(k, 2) + L_X)
        put(many, at, x)


@inline
def sum_momenta(dofs, nv, many, work):
    """P of all nodes, in the places of their last dofs."""
    for j in range(nv - 1, -1, -1):
        d = dofs + DOF * j
        own = lane_row(whole(work, d + D_LAST), 0) + L_Q
        put_pair(many, own, axpy6(get(many, lane_row(j, 0) + L_X), get_pair(work, d + D_F), get_pair(many, own)))
        if whole(work, d + D_BEFORE) == whole(work, d + D_UP):
            add_to_pair(many, lane_row(whole(work, d + D_UP), 0) + L_Q, get_pair(many, own))


@inline
def gradient(d, wrenches, many, work):
    """gq of the dof at row d, but for springs."""
    last, up = whole(work, d + D_LAST), whole(work, d + D_UP)
    R, T = get33(many, lane_row(last, 1) + L_Q), get33(many, lane_row(up, 1) + L_V)
    P, V = get_pair(many, lane_row(last, 0) + L_Q), get_pair(many, lane_row(up, 0) + L_V)
    x = (dot6(get_pair(work, d + D_DRIFT), sub6((R[0], R[1]), P)) + dot(get3(work, d + D_SWAY), R[2])
         + dot6(get_pair(work, d + D_LOAD), sub6((T[0], T[1]), V)) + dot(get3(work, d + D_F), T[2]))
    if wrenches:
        x = x + dot6(get_pair(work, d + D_WRENCH), get_pair(many, lane_row(up, 1) + L_W))
    return x
