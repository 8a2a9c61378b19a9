"""Derivatives of udot(q, u, tau) for trees of single dofs, column by column: up to the root and down again, O(N^2).

With the rows of :mod:`.acceleration_rows`, r one over the root of the pivot. A move dq of dof b changes the forces that
the tree needs, what is behind b as if it were accelerated by alpha_b and had the velocity drift_b besides:

    up      psi = -load_b dq at b,   y_c = S_c . psi (- r stiffness dq at b),   psi -= U_c y_c      c: b and all above
            y_c = -kappa_c . drift_b dq                                                           c: all behind b
    down    x = y_c - U_c . a,       a += S_c x (+ alpha_b dq at b),            dudot_c = r x       c: all

and a change du of its speed likewise, with speed_load, S, beta and the damping for load, drift, alpha and the
stiffness. Both go together. dudot/dtau = Mass^-1 is symmetric, and found as :mod:`.jacobian_columns` finds du/dp.
"""

from .acceleration_rows import BETA, DAMPER, DRIFT_TURN, KAPPA, MORE, SPEED_LOAD, SPRING, TWIST_TURN
from .columns import equal_to, get_columns, largest, one_hot, put_columns, smallest, wide, width
from .jacobian_columns import (
    C_BELOW, C_MOVE, C_PUSH, C_V, COLUMN_ROW, GROUP, climb, descend, get2, put2, put_mirrored, put_symmetric,
)
from .jit import apart, inline, kernel
from .layout import get3, get_pair, put_pair
from .number import get, put, whole
from .single_dofs import (
    SINGLE, SINGLE_BEFORE, SINGLE_DEPTH, SINGLE_DRIFT, SINGLE_FORKS, SINGLE_LOAD, SINGLE_OWN, SINGLE_S, SINGLE_SCALE,
    SINGLE_U,
)
from .spatial import ZERO6, axpy6, dot6, scale6
from .vec3 import dot


@kernel
def put_matrices(nv, rows, more, at, by_q, by_u, by_tau, work):
    """All three matrices; `rows` and `more` are those of dofs, the columns begin at place `at`."""
    many, wide_set = wide(work, at), width(work)
    put2(many, COLUMN_ROW * nv + C_BELOW, (0.0, 0.0))
    put_pair(many, COLUMN_ROW * nv + C_V, ZERO6); put_pair(many, COLUMN_ROW * nv + C_V + 6, ZERO6)
    for begin in range(0, nv, GROUP * wide_set):
        end = min(nv, begin + GROUP * wide_set)
        climb(nv, rows, begin, end, end, 0.0, 1.0, C_PUSH, many, work)
        descend(nv, rows, begin, end, end, False, C_PUSH, many, work)
        for s in range(GROUP):
            b = begin + s * wide_set
            if b < nv:
                count = min(wide_set, nv - b)
                put_symmetric(nv, C_PUSH + s, b, count, 0, False, many, by_tau)
                put_mirrored(nv, C_PUSH + s, 0, b, b, count, 0, 0, 1.0, many, by_tau)
    for begin in range(0, nv, wide_set):
        end = min(nv, begin + wide_set)
        climb_both(nv, rows, more, begin, end, many, work)
        descend_both(nv, rows, more, begin, end, by_q, by_u, many, work)


@inline
def gathered3(work, at, step, count):
    """Three numbers at `at` of the rows of as many dofs, a column each."""
    return (get_columns(work, at, step, count), get_columns(work, at + 1, step, count),
            get_columns(work, at + 2, step, count))


@inline
def gathered6(work, at, step, count):
    return gathered3(work, at, step, count), gathered3(work, at + 3, step, count)


@inline
def climb_both(nv, rows, more, begin, end, many, work):
    """y of the dofs before `end`, for moves and speeds of dofs `begin` to `end`."""
    for c in range(end):
        put2(many, COLUMN_ROW * c + C_MOVE, (0.0, 0.0))
    zero, c = get(many, C_MOVE), end - 1
    a = b = ((zero, zero, zero), (zero, zero, zero))
    if whole(work, rows + SINGLE * c + SINGLE_DEPTH) != end:
        c, a, b = climb_both_apart(rows, more, begin, end, many, work)
    while c >= 0:  # all on one way
        d = rows + SINGLE * c
        S, U, x, y = get_pair(work, d + SINGLE_S), get_pair(work, d + SINGLE_U), zero, zero
        if c >= begin:
            e, f, scale = more + MORE * c, one_hot(work, c - begin), get(work, d + SINGLE_SCALE)
            a = axpy6(-f, get_pair(work, d + SINGLE_LOAD), a)
            b = axpy6(-f, get_pair(work, e + SPEED_LOAD), b)
            x, y = -(scale * get(work, e + SPRING)) * f, -(scale * get(work, e + DAMPER)) * f
        x, y = x + dot6(S, a), y + dot6(S, b)
        put2(many, COLUMN_ROW * c + C_MOVE, (x, y))
        a, b = axpy6(-x, U, a), axpy6(-y, U, b)
        c = whole(work, d + SINGLE_BEFORE)


@inline
def climb_both_apart(rows, more, begin, end, many, work):
    """The same while the columns are on different ways: each waits for its own next dof. Where they have met, and psi.
    """
    d, e, count = rows + SINGLE * begin, more + MORE * begin, end - begin
    a = scale6(-1.0, gathered6(work, d + SINGLE_LOAD, SINGLE, count))
    b = scale6(-1.0, gathered6(work, e + SPEED_LOAD, MORE, count))
    own = get_columns(work, d + SINGLE_OWN, SINGLE, count)
    here = own
    c = largest(work, here)
    while c >= begin or c > smallest(work, here):
        d, e, at, f = rows + SINGLE * c, more + MORE * c, equal_to(here, c), equal_to(own, c)
        S, U, scale = get_pair(work, d + SINGLE_S), get_pair(work, d + SINGLE_U), get(work, d + SINGLE_SCALE)
        x = at * dot6(S, a) - (scale * get(work, e + SPRING)) * f
        y = at * dot6(S, b) - (scale * get(work, e + DAMPER)) * f
        put2(many, COLUMN_ROW * c + C_MOVE, (x, y))
        a, b = axpy6(-x, U, a), axpy6(-y, U, b)
        here = here + at * (get(work, d + SINGLE_BEFORE) - get(work, d + SINGLE_OWN))
        c = largest(work, here)
    return c, a, b


@apart
def descend_both(nv, rows, more, begin, end, by_q, by_u, many, work):
    """The columns `begin` to `end` of dudot/dq and dudot/du."""
    zero, count = get(many, COLUMN_ROW * nv + C_BELOW), end - begin
    v = w = ((zero, zero, zero), (zero, zero, zero))
    drifts = gathered3(work, more + MORE * begin + DRIFT_TURN, MORE, count)
    twists = gathered3(work, more + MORE * begin + TWIST_TURN, MORE, count)
    for c in range(nv):
        d, e, own, before = rows + SINGLE * c, more + MORE * c, COLUMN_ROW * c, whole(
            work, rows + SINGLE * c + SINGLE_BEFORE)
        if before != c - 1:
            up = COLUMN_ROW * (before if before >= 0 else nv) + C_V
            v, w = get_pair(many, up), get_pair(many, up + 6)
        S, U, x, y, below = get_pair(work, d + SINGLE_S), get_pair(work, d + SINGLE_U), zero, zero, zero
        if c < end:
            x, y = get2(many, own + C_MOVE)
        if c > begin:
            below, kappa = get(many, COLUMN_ROW * (before if before >= begin else nv) + C_BELOW), get3(work, e + KAPPA)
            x, y = x - below * dot(kappa, drifts), y - below * dot(kappa, twists)
        x, y = x - dot6(U, v), y - dot6(U, w)
        v, w = axpy6(x, S, v), axpy6(y, S, w)
        scale = get(work, d + SINGLE_SCALE)
        put_columns(by_q, nv * c + begin, 1, count, scale * x)
        put_columns(by_u, nv * c + begin, 1, count, scale * y)
        if c >= begin:
            if c < end:
                f = one_hot(work, c - begin)
                v, w = axpy6(f, get_pair(work, d + SINGLE_DRIFT), v), axpy6(f, get_pair(work, e + BETA), w)
                below = below + f
            put(many, own + C_BELOW, below)
        if whole(work, d + SINGLE_FORKS) != 0:
            put_pair(many, own + C_V, v); put_pair(many, own + C_V + 6, w)
