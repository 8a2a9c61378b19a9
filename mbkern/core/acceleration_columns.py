"""Derivatives of udot(q, u, tau) for trees of single dofs, column by column: up to the root and down again, O(N^2).

With the rows of :mod:`.acceleration_rows`, r one over the root of the pivot. A move dq of dof b changes the forces that
the tree needs, what is behind b as if it were accelerated by alpha_b and had the velocity drift_b besides:

    up      psi = -load_b dq at b,   y_c = S_c . psi (- r stiffness dq at b),   psi -= U_c y_c      c: b and all above
            y_c = -kappa_c . drift_b dq                                                           c: all behind b
    down    x = y_c - U_c . a,       a += S_c x (+ alpha_b dq at b),            dudot_c = r x       c: all

and a change du of its speed likewise, with speed_load, S, beta and the damping for load, drift, alpha and the
stiffness. dudot/dtau = Mass^-1 is symmetric, and found as :mod:`.jacobian_columns` finds du/dp. All three go together.
"""

from .acceleration_rows import BETA, DAMPER, DRIFT_TURN, KAPPA, MORE, SPEED_LOAD, SPRING, TWIST_TURN
from .columns import equal_to, get_columns, largest, one_hot, put_columns, smallest, wide, width
from .jacobian_columns import COLUMN_ROW, downward, put_mirrored, put_symmetric, upward
from .jit import apart, inline, kernel
from .layout import get3, get_pair, put3, put_pair
from .number import fma, get, put, whole
from .single_dofs import (
    SINGLE, SINGLE_BEFORE, SINGLE_DEPTH, SINGLE_DRIFT, SINGLE_FORKS, SINGLE_LOAD, SINGLE_OWN, SINGLE_S, SINGLE_SCALE,
    SINGLE_U,
)
from .spatial import ZERO6, axpy6, dot6, scale6
from .vec3 import dot

# ---- row of a dof in columns, of COLUMN_ROW numbers: y of moves, speeds and joint forces, then dudot of the last; 1
# where b is above it; a of all three, where more than the next dof begins with it. The ground has the last row ----
A_MOVE, A_PUSH, A_BELOW, A_V = 0, 2, 3, 4


@kernel
def put_matrices(nv, rows, more, at, by_q, by_u, by_tau, work):
    """All three matrices; `rows` and `more` are those of dofs, the columns begin at place `at`."""
    many, wide_set = wide(work, at), width(work)
    for k in range(3):
        put_pair(many, COLUMN_ROW * nv + A_V + 6 * k, ZERO6)
    put(many, COLUMN_ROW * nv + A_BELOW, 0.0)
    for begin in range(0, nv, wide_set):
        end = min(nv, begin + wide_set)
        climb(nv, rows, more, begin, end, many, work)
        descend(nv, rows, more, begin, end, by_q, by_u, many, work)
        put_symmetric(nv, A_PUSH, begin, end - begin, 0, False, many, by_tau)
        put_mirrored(nv, A_PUSH, 0, begin, begin, end - begin, 0, 0, 1.0, many, by_tau)


@inline
def gathered3(work, at, step, count):
    """Three numbers at `at` of the rows of as many dofs, a column each."""
    return (get_columns(work, at, step, count), get_columns(work, at + 1, step, count),
            get_columns(work, at + 2, step, count))


@inline
def gathered6(work, at, step, count):
    return gathered3(work, at, step, count), gathered3(work, at + 3, step, count)


@inline
def climb(nv, rows, more, begin, end, many, work):
    """y of the dofs before `end`, for moves, speeds and joint forces of dofs `begin` to `end`."""
    zero, c = get(many, COLUMN_ROW * nv + A_BELOW), end - 1
    for i in range(end):
        put3(many, COLUMN_ROW * i + A_MOVE, (zero, zero, zero))
    a = b = m = ((zero, zero, zero), (zero, zero, zero))
    if whole(work, rows + SINGLE * c + SINGLE_DEPTH) != end:
        c, a, b, m = climb_apart(nv, rows, more, begin, end, many, work)
    while c >= 0:  # all on one way
        d = rows + SINGLE * c
        S, U, x, y, z = get_pair(work, d + SINGLE_S), get_pair(work, d + SINGLE_U), zero, zero, zero
        if c >= begin:
            e, f, scale = more + MORE * c, one_hot(work, c - begin), get(work, d + SINGLE_SCALE)
            a = axpy6(-f, get_pair(work, d + SINGLE_LOAD), a)
            b = axpy6(-f, get_pair(work, e + SPEED_LOAD), b)
            x, y, z = -(scale * get(work, e + SPRING)) * f, -(scale * get(work, e + DAMPER)) * f, scale * f
        (x, a), (y, b), (z, m) = upward(S, U, x, a), upward(S, U, y, b), upward(S, U, z, m)
        put3(many, COLUMN_ROW * c + A_MOVE, (x, y, z))
        c = whole(work, d + SINGLE_BEFORE)


@inline
def climb_apart(nv, rows, more, begin, end, many, work):
    """The same while the columns are on different ways: each waits for its own next dof. Where they have met, and psi.
    """
    d, e, count, zero = rows + SINGLE * begin, more + MORE * begin, end - begin, get(many, COLUMN_ROW * nv + A_BELOW)
    a = scale6(-1.0, gathered6(work, d + SINGLE_LOAD, SINGLE, count))
    b = scale6(-1.0, gathered6(work, e + SPEED_LOAD, MORE, count))
    m = ((zero, zero, zero), (zero, zero, zero))
    own = get_columns(work, d + SINGLE_OWN, SINGLE, count)
    here = own
    c = largest(work, here)
    while c >= begin or c > smallest(work, here):
        d, e, at, f = rows + SINGLE * c, more + MORE * c, equal_to(here, c), equal_to(own, c)
        S, U, scale = get_pair(work, d + SINGLE_S), get_pair(work, d + SINGLE_U), get(work, d + SINGLE_SCALE)
        x = at * dot6(S, a) - (scale * get(work, e + SPRING)) * f
        y = at * dot6(S, b) - (scale * get(work, e + DAMPER)) * f
        z = fma(scale, f, at * dot6(S, m))
        put3(many, COLUMN_ROW * c + A_MOVE, (x, y, z))
        a, b, m = axpy6(-x, U, a), axpy6(-y, U, b), axpy6(-z, U, m)
        here = here + at * (get(work, d + SINGLE_BEFORE) - get(work, d + SINGLE_OWN))
        c = largest(work, here)
    return c, a, b, m


@apart
def descend(nv, rows, more, begin, end, by_q, by_u, many, work):
    """The columns `begin` to `end` of dudot/dq and dudot/du, and those of dudot/dtau, rows before `end`, to A_PUSH."""
    zero, count = get(many, COLUMN_ROW * nv + A_BELOW), end - begin
    v = w = m = ((zero, zero, zero), (zero, zero, zero))
    drifts = gathered3(work, more + MORE * begin + DRIFT_TURN, MORE, count)
    twists = gathered3(work, more + MORE * begin + TWIST_TURN, MORE, count)
    for c in range(nv):
        d, e, own, before = rows + SINGLE * c, more + MORE * c, COLUMN_ROW * c, whole(
            work, rows + SINGLE * c + SINGLE_BEFORE)
        up = COLUMN_ROW * (before if before >= 0 else nv) + A_V
        if before != c - 1:
            v, w = get_pair(many, up), get_pair(many, up + 6)
        S, U, x, y, below = get_pair(work, d + SINGLE_S), get_pair(work, d + SINGLE_U), zero, zero, zero
        scale = get(work, d + SINGLE_SCALE)
        if c < end:
            if before != c - 1:
                m = get_pair(many, up + 12)
            x, y, z = get3(many, own + A_MOVE)
            z, m = downward(S, U, z, m)
            put(many, own + A_PUSH, scale * z)
        if c > begin:
            below, kappa = get(many, COLUMN_ROW * (before if before >= begin else nv) + A_BELOW), get3(work, e + KAPPA)
            x, y = x - below * dot(kappa, drifts), y - below * dot(kappa, twists)
        (x, v), (y, w) = downward(S, U, x, v), downward(S, U, y, w)
        put_columns(by_q, nv * c + begin, 1, count, scale * x)
        put_columns(by_u, nv * c + begin, 1, count, scale * y)
        if c >= begin:
            if c < end:
                f = one_hot(work, c - begin)
                v, w = axpy6(f, get_pair(work, d + SINGLE_DRIFT), v), axpy6(f, get_pair(work, e + BETA), w)
                below = below + f
            put(many, own + A_BELOW, below)
        if whole(work, d + SINGLE_FORKS) != 0:
            put_pair(many, own + A_V, v); put_pair(many, own + A_V + 6, w); put_pair(many, own + A_V + 12, m)
