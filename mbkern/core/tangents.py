"""The derivative of (u, pdot) along given directions (dq, dp), in O(N) each, several directions side by side.

From the rows of :mod:`.variations`: a move of q along dof b lets the node of b drift by `drift_b`, as if its joint were
driven, and adds the momentum `impulse_b` to what the nodes above carry; p keeps up with it by joint speeds du:

    backward   y = (dp - S . phi) / D,   phi_before += phi + U y     phi begins with `start_b` and, above, `impulse_b`
    forward    du = y - (U . v) / D,     v = v_before + S du         v with the drift, once past the node
    backward   dpdot = turning . Q + sway . Q' + rate_load . v + F . v',   Q_above += Q + F du, with `load_b`

v' and Q' bring the weight: `sway_b` from above, the linear part of F_b from below. Dampers and spinning rotors add
what the speeds du do, wrenches that turn with their bodies are summed up like loads, springs are left to the caller.

The dofs are all there is of the tree; the ground stands behind the last one. Directions are columns, side by side in
*sets*: a set is a column number of :mod:`.columns`. In a sweep every dof waits for the one before it: to work on many
sets at once costs hardly more than on one. `many` are the sets: `wide(work, lanes_begin(block))`.
"""

from .columns import get_element, put_columns, put_element, width
from .jit import inline, kernel
from .jacobian_columns import COLUMN_ROW, TILE
from .layout import ALIGNMENT, N_NODES, NV, get3, get33, get_pair, put3, put33, put_pair
from .number import COLUMNS, get, put, whole
from .spatial import ZERO6, add6, axpy6, dot6
from .variations import (
    D_BEFORE, D_DAMPING, D_DRIFT, D_F, D_IMPULSE, D_LAST, D_LOAD, D_PIVOT, D_RATE_LOAD, D_S, D_SPIN, D_START, D_SWAY,
    D_TURNING, D_U, D_UP, D_WRENCH, DOF, dof_variation,
)
from .vec3 import ZERO3, add, axpy, dot

SETS = 4  # at most: eight columns of q and of p at once; more do not fit the cache

# ---- row of a dof in a set ----
L_X = 0  # dp, then y, then du
L_PHI = L_Q = 1  # phi, then Q and Q' (6 + 3)
L_V = 10  # v and v' (6 + 3)
L_W = 19  # wrenches: 6
LANE_ROW = 25


@inline
def rows_size(block):
    """Numbers of the workspace without the sets, for what needs the rows of :mod:`.variations` alone."""
    return dof_variation(block, whole(block, NV))


@inline
def lanes_begin(block):
    """Where the sets begin in the workspace, or at the next cache line: a multiple of 8."""
    return (dof_variation(block, whole(block, NV)) + 7) // 8 * 8


@inline
def lanes_size(block):
    """Column numbers of all sets: rows of all dofs and of the ground, or of all nodes (:mod:`.tangent_sweeps`), or the
    those of :mod:`.jacobian_columns`."""
    count = max(whole(block, NV), whole(block, N_NODES)) + 1
    return max(SETS * LANE_ROW * count, COLUMN_ROW * (count + TILE))


@inline
def tangents_size(block):
    """Numbers of the workspace so far."""
    return lanes_begin(block) + COLUMNS * lanes_size(block) + ALIGNMENT


@inline
def lane_row(a, s):
    """Row of dof a in set s."""
    return LANE_ROW * (SETS * a + s)


# ---- directions ----
@inline
def clear_momenta(count, end, nv, many):
    """No dp in the first `count` sets, and no phi in dofs before `end`."""
    for a in range(end):
        for s in range(count):
            put(many, lane_row(a, s) + L_X, 0.0)
            put_pair(many, lane_row(a, s) + L_PHI, ZERO6)
    for a in range(end, nv):
        for s in range(count):
            put(many, lane_row(a, s) + L_X, 0.0)


@inline
def clear_velocities(count, begin, end, many):
    """No drift."""
    for a in range(begin, end):
        for s in range(count):
            put33(many, lane_row(a, s) + L_V, (ZERO3, ZERO3, ZERO3))


@inline
def clear_loads(count, begin, end, many):
    """No loads; they take the place of phi."""
    for a in range(begin, end):
        for s in range(count):
            put33(many, lane_row(a, s) + L_Q, (ZERO3, ZERO3, ZERO3))


@inline
def clear_wrenches(count, begin, end, many):
    for a in range(begin, end):
        for s in range(count):
            put_pair(many, lane_row(a, s) + L_W, ZERO6)


@inline
def add_to_column(a, s, place, column, count, amount, row, many, work):
    """Add `amount` times the numbers at `row` of the workspace to as many numbers of a column of set s."""
    for j in range(count):
        at = lane_row(a, s) + place + j
        put_element(work, many, at, column, get_element(work, many, at, column) + amount * get(work, row + j))


@inline
def push(b, s, column, amount, many, work):
    """dp_b = `amount` in the direction of a column."""
    put_element(work, many, lane_row(b, s) + L_X, column, amount)


@inline
def move(dofs, b, s, column, amount, many, work):
    """dq_b = `amount` in the direction of a column (more than before): what it does to momenta and velocities."""
    d = dofs + DOF * b
    last = whole(work, d + D_LAST)
    add_to_column(last, s, L_PHI, column, 6, amount, d + D_START, many, work)
    add_to_column(whole(work, d + D_UP), s, L_PHI, column, 6, amount, d + D_IMPULSE, many, work)
    add_to_column(last, s, L_V, column, 6, amount, d + D_DRIFT, many, work)
    add_to_column(last, s, L_V + 6, column, 3, amount, d + D_SWAY, many, work)


@inline
def add_to_set(a, s, place, x, row, many, work):
    """Add x times the six numbers at `row` of the workspace, x being a number of set s."""
    at = lane_row(a, s) + place
    put_pair(many, at, axpy6(x, get_pair(work, row), get_pair(many, at)))


@inline
def move_set(dofs, b, s, x, many, work):
    """`move` for all columns of a set at once."""
    d = dofs + DOF * b
    last = whole(work, d + D_LAST)
    add_to_set(last, s, L_PHI, x, d + D_START, many, work)
    add_to_set(whole(work, d + D_UP), s, L_PHI, x, d + D_IMPULSE, many, work)
    add_to_set(last, s, L_V, x, d + D_DRIFT, many, work)
    sway = lane_row(last, s) + L_V + 6
    put3(many, sway, axpy(x, get3(work, d + D_SWAY), get3(many, sway)))


@inline
def load(dofs, b, s, column, amount, many, work):
    """The same direction: what it does to loads, after `solve_forward` and `clear_loads`."""
    d = dofs + DOF * b
    up = whole(work, d + D_UP)
    add_to_column(up, s, L_Q, column, 6, amount, d + D_LOAD, many, work)
    add_to_column(up, s, L_Q + 6, column, 3, amount, d + D_F, many, work)


@inline
def turn(dofs, b, s, column, amount, many, work):
    """The same for wrenches, after `clear_wrenches`."""
    d = dofs + DOF * b
    add_to_column(whole(work, d + D_UP), s, L_W, column, 6, amount, d + D_WRENCH, many, work)


@inline
def load_set(dofs, b, s, x, wrenches, many, work):
    """`load` for all columns of a set at once, and `turn` where there are wrenches."""
    d = dofs + DOF * b
    up = whole(work, d + D_UP)
    add_to_set(up, s, L_Q, x, d + D_LOAD, many, work)
    place = lane_row(up, s) + L_Q + 6
    put3(many, place, axpy(x, get3(work, d + D_F), get3(many, place)))
    if wrenches:
        add_to_set(up, s, L_W, x, d + D_WRENCH, many, work)


# ---- sweeps ----
@kernel
def solve_backward(dofs, top, count, many, work):
    """y of dofs `top` and less in the first `count` sets; nothing moves or pushes beyond."""
    for a in range(top, -1, -1):
        d = dofs + DOF * a
        S, U, pivot = get_pair(work, d + D_S), get_pair(work, d + D_U), get(work, d + D_PIVOT)
        before = whole(work, d + D_BEFORE)
        for s in range(count):
            at, to = lane_row(a, s), lane_row(before, s) + L_PHI
            phi = get_pair(many, at + L_PHI)
            y = (get(many, at + L_X) - dot6(S, phi)) * pivot
            put(many, at + L_X, y)
            put_pair(many, to, add6(get_pair(many, to), axpy6(y, U, phi)))


@kernel
def solve_forward(dofs, begin, end, drifts, count, many, work):
    """du and velocities of dofs `begin` to `end` in the first `count` sets. Whether any of these drifts."""
    for a in range(begin, end):
        d = dofs + DOF * a
        S, U, pivot = get_pair(work, d + D_S), get_pair(work, d + D_U), get(work, d + D_PIVOT)
        before = whole(work, d + D_BEFORE)
        for s in range(count):
            at = lane_row(a, s)
            v, w, g = get33(many, lane_row(before, s) + L_V)
            rate = get(many, at + L_X) - dot6(U, (v, w)) * pivot
            put(many, at + L_X, rate)
            v, w = axpy(rate, S[0], v), axpy(rate, S[1], w)
            if drifts:
                own = get33(many, at + L_V)
                put33(many, at + L_V, (add(own[0], v), add(own[1], w), add(own[2], g)))
            else:
                put33(many, at + L_V, (v, w, g))


@inline
def put_speeds(end, first, count, many, out, at, stride, step, columns, work):
    """du of dofs before `end` in `out`, for as many columns, which are in `count` sets from the first on.

    Those of dof a go to places at + stride a, at + stride a + step, ...
    """
    for a in range(end):
        for s in range(count):
            x = get(many, lane_row(a, first + s) + L_X)
            put_set(out, at + stride * a, step, s, columns, x, work)


@inline
def put_set(out, at, step, s, columns, x, work):
    """Set s of `columns` columns to places at, at + step, ..., the first of which is that of set 0."""
    done = width(work) * s
    put_columns(out, at + step * done, step, min(width(work), columns - done), x)


@kernel
def put_momentum_rates(dofs, nv, wrenches, spins, first, count, many, out, at, stride, step, columns, work):
    """dpdot likewise; du, velocities and loads are there. Whether there are wrenches, and ball joints with rotors."""
    for a in range(nv - 1, -1, -1):
        d = dofs + DOF * a
        F, sway, damping = get_pair(work, d + D_F), get3(work, d + D_SWAY), get(work, d + D_DAMPING)
        turning, rate_load = get_pair(work, d + D_TURNING), get_pair(work, d + D_RATE_LOAD)
        end, above = whole(work, d + D_LAST), whole(work, d + D_UP)
        hands_on = whole(work, d + D_BEFORE) == above  # what is below, as the first dof of its node
        for s in range(count):
            last, up = lane_row(end, first + s), lane_row(above, first + s)
            Q, V, P = get33(many, last + L_Q), get33(many, last + L_V), get33(many, up + L_Q)
            rate = get(many, lane_row(a, first + s) + L_X)
            x = (dot6(turning, (Q[0], Q[1])) + dot6(rate_load, (V[0], V[1])) + (dot(sway, Q[2]) + dot(F[0], V[2]))
                 - damping * rate)
            f, t = axpy(rate, F[0], P[0]), axpy(rate, F[1], P[1])
            if hands_on:
                put33(many, up + L_Q, (add(f, Q[0]), add(t, Q[1]), add(P[2], Q[2])))
            else:
                put33(many, up + L_Q, (f, t, P[2]))
            if wrenches:
                W = get_pair(many, last + L_W)
                x = x + dot6(get_pair(work, d + D_S), W)
                if hands_on:
                    put_pair(many, up + L_W, add6(get_pair(many, up + L_W), W))
            if spins:
                begin = first_of(dofs, a, work)
                for b in range(end + 1 - begin if end > begin else 0):
                    x = x + get(work, d + D_SPIN + b) * get(many, lane_row(begin + b, first + s) + L_X)
            put_set(out, at + stride * a, step, s, columns, x, work)


@inline
def first_of(dofs, a, work):
    """First dof of the node of dof a."""
    while whole(work, dofs + DOF * a + D_BEFORE) != whole(work, dofs + DOF * a + D_UP):
        a -= 1
    return a
