"""The Jacobian of trees of single dofs, column by column: up to the root and down again, O(N^2) in all.

With the rows of :mod:`.single_dofs`, world axes, S and U divided by the root of the pivot, r one over that root. A move
dq of dof b, or a push dp, sends a momentum psi up to the root, and a velocity v comes back:

    up      psi = -load_b dq at b,      y_c = S_c . psi (+ r dp at b),      psi -= U_c y_c       c: b and all above
    down    w = y_c - U_c . v,          v += S_c w (+ drift_b dq at b),     du_c = r w           c: all
            dpdot_c = load_c . v + F_c . sway_b (not where c is beside b)                        c: b and all behind it

Both ways are those of :mod:`.tangent_sweeps`. Of du/dp that gives what is before b, of dpdot/dq what is behind it; both
are symmetric, and dpdot/dp = -(du/dq)^T, so that the rest is mirrored.

Columns lie side by side in column numbers (:mod:`.columns`), of which GROUP go together: every step waits for the one
before. All that is kept of a group is a row of each dof, which stays in the nearest cache.
"""

from .columns import (
    equal_to, get_columns, largest, one_hot, put_block, put_columns, smallest, wide, width,
)
from .jit import apart, inline, kernel
from .layout import get3, get_pair, put_pair
from .number import accessor, fma, get, put, whole
from .single_dofs import (
    SINGLE, SINGLE_BEFORE, SINGLE_DEPTH, SINGLE_DRIFT, SINGLE_F, SINGLE_FORKS, SINGLE_LOAD, SINGLE_OWN, SINGLE_S,
    SINGLE_SCALE, SINGLE_SWAY, SINGLE_U,
)
from .spatial import ZERO6, axpy6, dot6, scale6
from .vec3 import dot

GROUP = 2  # column numbers; moves and pushes of each go together
TILE = 4  # rows that are mirrored at once

get2, put2 = accessor(GROUP)

# ---- row of a dof, for each of the GROUP: y, then du, of moves and of pushes; dpdot; 1 where b is above it or it is b
# itself; v of moves and of pushes, where more than the next dof begins with it. The ground has the last row ----
C_MOVE, C_PUSH, C_RATE, C_BELOW, C_V, C_PUSHED_V = 0, GROUP, 2 * GROUP, 3 * GROUP, 4 * GROUP, 10 * GROUP
COLUMN_ROW = 16 * GROUP


@kernel
def put_matrix(nv, rows, at, out, work):
    """All of the matrix but what springs and dampers add; `rows` are those of dofs, the columns begin at place `at`."""
    many, wide_set = wide(work, at), width(work)
    ground = COLUMN_ROW * nv
    put2(many, ground + C_BELOW, (0.0, 0.0))
    for k in range(4):
        put_pair(many, ground + C_V + 6 * k, ZERO6)
    for begin in range(0, nv, GROUP * wide_set):
        end = min(nv, begin + GROUP * wide_set)
        climb(nv, rows, begin, end, many, work)
        descend(nv, rows, begin, end, many, work)
        for s in range(GROUP):
            b = begin + s * wide_set
            if b < nv:
                put_results(nv, s, b, min(wide_set, nv - b), many, out)


# ---- recursions ----
@inline
def gathered3(work, at, count):
    """Three numbers at `at` of the rows of as many dofs, a column each."""
    return (get_columns(work, at, SINGLE, count), get_columns(work, at + 1, SINGLE, count),
            get_columns(work, at + 2, SINGLE, count))


@inline
def gathered6(work, at, count):
    return gathered3(work, at, count), gathered3(work, at + 3, count)


@inline
def first_row(nv, rows, b, work):
    """Row of dof b, which column 0 of a number belongs to, and how many columns it has; of the last dof where there is
    none."""
    b = min(b, nv - 1)
    return rows + SINGLE * b, min(width(work), nv - b)


@inline
def upward(S, U, y, psi):
    """y of a dof, to which S . psi comes, and psi behind it."""
    y = y + dot6(S, psi)
    return y, axpy6(-y, U, psi)


@inline
def downward(S, U, y, v):
    """w of a dof, and the velocity behind it."""
    w = y - dot6(U, v)
    return w, axpy6(w, S, v)


@apart
def climb(nv, rows, begin, end, many, work):
    """y of the dofs before `end`, for moves and pushes of dofs `begin` to `end`."""
    zero, second, c = get(many, COLUMN_ROW * nv + C_BELOW), begin + width(work), end - 1
    for i in range(end):
        put2(many, COLUMN_ROW * i + C_MOVE, (zero, zero)); put2(many, COLUMN_ROW * i + C_PUSH, (zero, zero))
    a = b = m = n = ((zero, zero, zero), (zero, zero, zero))
    if whole(work, rows + SINGLE * c + SINGLE_DEPTH) != end:
        c, a, b, m, n = climb_apart(nv, rows, begin, many, work)
    while c >= 0:  # all on one way
        d, own = rows + SINGLE * c, COLUMN_ROW * c
        S, U, x, y = get_pair(work, d + SINGLE_S), get_pair(work, d + SINGLE_U), zero, zero
        if c >= begin:
            x, y, load = one_hot(work, c - begin), one_hot(work, c - second), get_pair(work, d + SINGLE_LOAD)
            a, b = axpy6(-x, load, a), axpy6(-y, load, b)
            scale = get(work, d + SINGLE_SCALE)
            x, y = scale * x, scale * y
        (s, a), (t, b), (x, m), (y, n) = upward(S, U, zero, a), upward(S, U, zero, b), upward(S, U, x, m), upward(
            S, U, y, n)
        put2(many, own + C_MOVE, (s, t)); put2(many, own + C_PUSH, (x, y))
        c = whole(work, d + SINGLE_BEFORE)


@inline
def climb_apart(nv, rows, begin, many, work):
    """The same while the columns are on different ways: each waits for its own next dof. Where they have met, and psi.
    """
    zero = get(many, COLUMN_ROW * nv + C_BELOW)
    (first, h), (second, k) = first_row(nv, rows, begin, work), first_row(nv, rows, begin + width(work), work)
    a = scale6(-1.0, gathered6(work, first + SINGLE_LOAD, h))
    b = scale6(-1.0, gathered6(work, second + SINGLE_LOAD, k))
    m = n = ((zero, zero, zero), (zero, zero, zero))
    own_a, own_b = get_columns(work, first + SINGLE_OWN, SINGLE, h), get_columns(work, second + SINGLE_OWN, SINGLE, k)
    here_a, here_b = own_a, own_b
    c = max(largest(work, here_a), largest(work, here_b))
    while c >= begin or c > min(smallest(work, here_a), smallest(work, here_b)):
        d, own, at_a, at_b = rows + SINGLE * c, COLUMN_ROW * c, equal_to(here_a, c), equal_to(here_b, c)
        S, U, scale = get_pair(work, d + SINGLE_S), get_pair(work, d + SINGLE_U), get(work, d + SINGLE_SCALE)
        s, t = at_a * dot6(S, a), at_b * dot6(S, b)
        x = fma(scale, equal_to(own_a, c), at_a * dot6(S, m))
        y = fma(scale, equal_to(own_b, c), at_b * dot6(S, n))
        put2(many, own + C_MOVE, (s, t)); put2(many, own + C_PUSH, (x, y))
        a, b, m, n = axpy6(-s, U, a), axpy6(-t, U, b), axpy6(-x, U, m), axpy6(-y, U, n)
        further = get(work, d + SINGLE_BEFORE) - get(work, d + SINGLE_OWN)
        here_a, here_b = here_a + at_a * further, here_b + at_b * further
        c = max(largest(work, here_a), largest(work, here_b))
    return c, a, b, m, n


@apart
def descend(nv, rows, begin, end, many, work):
    """du in the place of y: of moves for all dofs, of pushes for those before `end`; dpdot from `begin` on."""
    zero, second = get(many, COLUMN_ROW * nv + C_BELOW), begin + width(work)
    v = w = m = n = ((zero, zero, zero), (zero, zero, zero))
    (row_v, h), (row_w, k) = first_row(nv, rows, begin, work), first_row(nv, rows, second, work)
    sways = gathered3(work, row_v + SINGLE_SWAY, h), gathered3(work, row_w + SINGLE_SWAY, k)
    for c in range(end):
        d, own, before = rows + SINGLE * c, COLUMN_ROW * c, whole(work, rows + SINGLE * c + SINGLE_BEFORE)
        if before != c - 1:
            up = COLUMN_ROW * (before if before >= 0 else nv)
            v, w = get_pair(many, up + C_V), get_pair(many, up + C_V + 6)
            m, n = get_pair(many, up + C_PUSHED_V), get_pair(many, up + C_PUSHED_V + 6)
        S, U, scale = get_pair(work, d + SINGLE_S), get_pair(work, d + SINGLE_U), get(work, d + SINGLE_SCALE)
        (x, y), (s, t) = get2(many, own + C_MOVE), get2(many, own + C_PUSH)
        (x, v), (y, w), (s, m), (t, n) = downward(S, U, x, v), downward(S, U, y, w), downward(S, U, s, m), downward(
            S, U, t, n)
        put2(many, own + C_MOVE, (scale * x, scale * y)); put2(many, own + C_PUSH, (scale * s, scale * t))
        if c >= begin:
            f, g, drift = one_hot(work, c - begin), one_hot(work, c - second), get_pair(work, d + SINGLE_DRIFT)
            v, w = axpy6(f, drift, v), axpy6(g, drift, w)
            put_rates(nv, d, begin, c, before, f, g, v, w, sways, many, work)
        if whole(work, d + SINGLE_FORKS) != 0:
            put_pair(many, own + C_V, v); put_pair(many, own + C_V + 6, w)
            put_pair(many, own + C_PUSHED_V, m); put_pair(many, own + C_PUSHED_V + 6, n)
    for c in range(end, nv):
        d, own, before = rows + SINGLE * c, COLUMN_ROW * c, whole(work, rows + SINGLE * c + SINGLE_BEFORE)
        if before != c - 1:
            up = COLUMN_ROW * (before if before >= 0 else nv) + C_V
            v, w = get_pair(many, up), get_pair(many, up + 6)
        S, U, scale = get_pair(work, d + SINGLE_S), get_pair(work, d + SINGLE_U), get(work, d + SINGLE_SCALE)
        (x, v), (y, w) = downward(S, U, zero, v), downward(S, U, zero, w)
        put2(many, own + C_MOVE, (scale * x, scale * y))
        put_rates(nv, d, begin, c, before, zero, zero, v, w, sways, many, work)
        if whole(work, d + SINGLE_FORKS) != 0:
            put_pair(many, own + C_V, v); put_pair(many, own + C_V + 6, w)


@inline
def put_rates(nv, d, begin, c, before, f, g, v, w, sways, many, work):
    """dpdot of dof c, behind which v and w are the velocities; f and g: whether it is b itself."""
    x, y = get2(many, COLUMN_ROW * (before if before >= begin else nv) + C_BELOW)
    x, y = x + f, y + g
    put2(many, COLUMN_ROW * c + C_BELOW, (x, y))
    load, F = get_pair(work, d + SINGLE_LOAD), get3(work, d + SINGLE_F)
    rates = fma(x, dot(F, sways[0]), dot6(load, v)), fma(y, dot(F, sways[1]), dot6(load, w))
    put2(many, COLUMN_ROW * c + C_RATE, rates)


# ---- results ----
@inline
def put_results(nv, s, b, count, many, out):
    """As many columns of the matrix from b on, those of number s of the group."""
    stride, below, end = 2 * nv, 2 * nv * nv, b + count
    put_mirrored(stride, C_MOVE + s, 0, nv, b, count, 0, below + nv, -1.0, many, out)
    put_symmetric(stride, C_PUSH + s, b, count, nv, False, many, out)
    put_mirrored(stride, C_PUSH + s, 0, b, b, count, nv, nv, 1.0, many, out)
    put_symmetric(stride, C_RATE + s, b, count, below, True, many, out)
    put_mirrored(stride, C_RATE + s, end, nv, b, count, below, below, 1.0, many, out)


@apart
def put_mirrored(stride, place, begin, end, b, count, at, to, sign, many, out):
    """Rows `begin` to `end` of columns from b on, to the matrix at place `at`; transposed, times `sign`, to that at
    place `to`, `stride` numbers from row to row."""
    for c in range(begin, end, TILE):
        rows, own = min(TILE, end - c), COLUMN_ROW * c + place
        x, y = get(many, own), get(many, own + COLUMN_ROW)
        z, w = get(many, own + 2 * COLUMN_ROW), get(many, own + 3 * COLUMN_ROW)
        put_columns(out, at + stride * c + b, 1, count, x)
        put_columns(out, at + stride * (c + 1) + b, 1, count if rows > 1 else 0, y)
        put_columns(out, at + stride * (c + 2) + b, 1, count if rows > 2 else 0, z)
        put_columns(out, at + stride * (c + 3) + b, 1, count if rows > 3 else 0, w)
        put_block(out, to + stride * b + c, stride, rows, count, (sign * x, sign * y, sign * z, sign * w))


@apart
def put_symmetric(stride, place, b, count, at, lower, many, out):
    """The rows of the columns' own dofs, of a symmetric matrix at place `at`: the lower or the upper half, mirrored."""
    for c in range(b, b + count):
        put_columns(out, at + stride * c + b, 1, count, get(many, COLUMN_ROW * c + place))
    for i in range(b, b + count):
        for j in range(b, i):
            above, below = at + stride * j + i, at + stride * i + j
            if lower:
                put(out, above, get(out, below))
            else:
                put(out, below, get(out, above))
