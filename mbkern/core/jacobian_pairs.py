"""The Jacobian of trees of single dofs, from pairs of dofs on one way to the root.

With the rows of :mod:`.single_dofs`, S and U divided by the root of the pivot, Mass = L^T L. For every dof b a momentum
phi goes up to the root, and a second one, psi, of a unit push; at each dof c above b and at b itself

    Z_cb = S_c . phi,    E_cb = drift_c . phi + sway_c . F_b,     then   phi -= U_c Z_cb         phi begins with load_b
    V_cb = S_c . psi,                                             then   psi -= U_c V_cb         V_bb = L_bb^-1

so that V = L^-T, and Z = V^T dp/dq in the places c above b. Where b is above c, Y_cb = U_c . drift_b, and Y = Z else:

    du/dp = V^T V      du/dq = -V^T Y      dpdot/dq = E - Z^T Z (b above c: of E and Z)      dpdot/dp = -(du/dq)^T

Since phi has lost what the dofs below c take, the last product needs dofs above alone. Columns lie side by side in
column numbers (:mod:`.columns`); products are summed up in registers, tiles of four rows and two column numbers. Which
dofs a sum runs over is a list: those above any of the four rows, the numbers of all others being zero.
"""

from .columns import (
    equal_to, get_columns, get_element, largest, one_hot, put_block, put_columns, smallest, wide, width,
)
from .jit import inline, kernel
from .layout import NV, get3, get_pair
from .number import accessor, fma, get, put, whole
from .single_dofs import (
    SINGLE, SINGLE_BEFORE, SINGLE_DEPTH, SINGLE_DRIFT, SINGLE_F, SINGLE_LISTED, SINGLE_LOAD, SINGLE_MARK, SINGLE_OWN,
    SINGLE_S, SINGLE_SCALE, SINGLE_SWAY, SINGLE_U,
)
from .spatial import axpy6, dot6, scale6
from .vec3 import dot

MOST_PAIRS = 200  # dofs: beyond, the products, O(N^3), take longer than sweeps
TILE = 4  # rows
SIDE_BY_SIDE = 2  # column numbers

get2, put2 = accessor(SIDE_BY_SIDE)


@inline
def are_few(block):
    """Whether there are so few dofs that pairs are the quicker way."""
    return whole(block, NV) <= MOST_PAIRS


@inline
def columns_of(nv, wide_set):
    """Column numbers in a row of a table: whole tiles."""
    step = TILE if wide_set < TILE else SIDE_BY_SIDE * wide_set
    return (nv + step - 1) // step * step // wide_set


@inline
def tables_size(nv, wide_set):
    """Column numbers of all tables."""
    return 4 * nv * columns_of(nv, wide_set) + nv + SIDE_BY_SIDE + 1


@kernel
def pairs(nv, rows, at, out, work):
    """All of the matrix but what springs and dampers add; `rows` are those of dofs, the tables begin at place `at`."""
    many, columns = wide(work, at), columns_of(nv, width(work))
    size = nv * columns
    Z, Y, V, E, above = 0, size, 2 * size, 3 * size, 4 * size + SIDE_BY_SIDE
    for k in range(4 * size + SIDE_BY_SIDE):
        put(many, k, 0.0)
    put(many, above + nv, 0.0)
    for g in range((nv + width(work) - 1) // width(work)):
        put_upward(nv, rows, g, columns, Z, V, E, many, work)
        put_downward(nv, rows, g, columns, Z, Y, above, many, work)
    for first in range(0, nv, TILE):
        count = list_above(rows, first, min(nv, first + TILE), columns, work)
        straight = whole(work, rows + SINGLE * (min(nv, first + TILE) - 1) + SINGLE_DEPTH) == count
        straight = straight and count == min(nv, first + TILE)
        put_rates(nv, rows, first, columns, count, straight, V, Y, many, out, work)
        put_symmetric(nv, rows, first, columns, count, straight, V, V, 1.0, nv, many, out, work)
        put_symmetric(nv, rows, first, columns, count, straight, Z, E, -1.0, 2 * nv * nv, many, out, work)


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
def put_upward(nv, rows, g, columns, Z, V, E, many, work):
    """Column number g of Z, V and E. While the columns are on different ways, each waits for its own next dof."""
    begin = g * width(work)
    first, count = rows + SINGLE * begin, min(nv - begin, width(work))
    phi, F = gathered6(work, first + SINGLE_LOAD, count), gathered3(work, first + SINGLE_F, count)
    own, psi = get_columns(work, first + SINGLE_OWN, SINGLE, count), scale6(0.0, phi)
    here = own
    c = largest(work, here)
    while c >= begin or c > smallest(work, here):
        d, place, mask = rows + SINGLE * c, c * columns + g, equal_to(here, c)
        S, U, drift = get_pair(work, d + SINGLE_S), get_pair(work, d + SINGLE_U), get_pair(work, d + SINGLE_DRIFT)
        z, v = mask * dot6(S, phi), fma(get(work, d + SINGLE_SCALE), equal_to(own, c), mask * dot6(S, psi))
        put(many, Z + place, z); put(many, V + place, v)
        put(many, E + place, mask * (dot6(drift, phi) + dot(get3(work, d + SINGLE_SWAY), F)))
        phi, psi = axpy6(-z, U, phi), axpy6(-v, U, psi)
        here = here + mask * (get(work, d + SINGLE_BEFORE) - get(work, d + SINGLE_OWN))
        c = largest(work, here)
    while c >= 0:
        d, place = rows + SINGLE * c, c * columns + g
        S, U, drift = get_pair(work, d + SINGLE_S), get_pair(work, d + SINGLE_U), get_pair(work, d + SINGLE_DRIFT)
        z, v = dot6(S, phi), dot6(S, psi)
        put(many, Z + place, z); put(many, V + place, v)
        put(many, E + place, dot6(drift, phi) + dot(get3(work, d + SINGLE_SWAY), F))
        phi, psi = axpy6(-z, U, phi), axpy6(-v, U, psi)
        c = whole(work, d + SINGLE_BEFORE)


@inline
def put_downward(nv, rows, g, columns, Z, Y, above, many, work):
    """Column number g of Y. `above` has a number for each dof: 1 in the columns of dofs above it, and its own."""
    begin = g * width(work)
    first, count = rows + SINGLE * begin, min(nv - begin, width(work))
    drift = gathered6(work, first + SINGLE_DRIFT, count)
    for c in range(begin):
        put(many, Y + c * columns + g, get(many, Z + c * columns + g))
    for c in range(begin, nv):
        d, place = rows + SINGLE * c, c * columns + g
        before = whole(work, d + SINGLE_BEFORE)
        mask = get(many, above + (before if before >= begin else nv))
        put(many, above + c, mask + one_hot(work, c - begin))
        put(many, Y + place, fma(mask, dot6(get_pair(work, d + SINGLE_U), drift), get(many, Z + place)))


# ---- products, tile by tile ----
@inline
def list_above(rows, begin, end, columns, work):
    """List dofs `begin` to `end` and all above: where their rows of a table begin. Returns how many."""
    count = 0
    for a in range(begin, end):
        c = a
        while c >= 0 and whole(work, rows + SINGLE * c + SINGLE_MARK) != begin:
            put(work, rows + SINGLE * c + SINGLE_MARK, 1.0 * begin)
            put(work, rows + SINGLE * count + SINGLE_LISTED, 1.0 * (c * columns))
            count += 1
            c = whole(work, rows + SINGLE * c + SINGLE_BEFORE)
    return count


@inline
def fma2(f, y, x):
    return fma(f, y[0], x[0]), fma(f, y[1], x[1])


@inline
def tile(rows, first, columns, count, straight, factors, vectors, many, work):
    """Four rows from `first` on of factors^T vectors, two column numbers; sums over the listed dofs, or, where these
    are the first ones of all, over those."""
    zero = 0.0 * get(many, vectors)
    a, b, c, d = (zero, zero), (zero, zero), (zero, zero), (zero, zero)
    for k in range(count):
        at = k * columns if straight else whole(work, rows + SINGLE * k + SINGLE_LISTED)
        y, f = get2(many, vectors + at), factors + at
        a = fma2(get_element(work, many, f, first), y, a)
        b = fma2(get_element(work, many, f, first + 1), y, b)
        c = fma2(get_element(work, many, f, first + 2), y, c)
        d = fma2(get_element(work, many, f, first + 3), y, d)
    return a, b, c, d


@inline
def column_of(x, k):
    """One of the two column numbers of a tile."""
    return x[0][k], x[1][k], x[2][k], x[3][k]


@inline
def put_four(out, at, stride, rows, count, x):
    """The first `count` columns of four rows, as many of them as there are."""
    put_columns(out, at, 1, count, x[0])
    put_columns(out, at + stride, 1, count if rows > 1 else 0, x[1])
    put_columns(out, at + 2 * stride, 1, count if rows > 2 else 0, x[2])
    put_columns(out, at + 3 * stride, 1, count if rows > 3 else 0, x[3])


@inline
def put_rates(nv, rows, first, columns, count, straight, V, Y, many, out, work):
    """Four rows of du/dq, of which dpdot/dp is the negative transpose."""
    stride, below, many_rows, wide_set = 2 * nv, 2 * nv * nv, min(TILE, nv - first), width(work)
    for g in range(0, columns, SIDE_BY_SIDE):
        x = tile(rows, first, columns, count, straight, V, Y + g, many, work)
        b = g * wide_set
        put_both(out, first, stride, below + nv, many_rows, b, min(wide_set, nv - b), column_of(x, 0))
        b += wide_set
        put_both(out, first, stride, below + nv, many_rows, b, min(wide_set, nv - b), column_of(x, 1))


@inline
def put_both(out, first, stride, at, rows, b, count, x):
    """-x to rows from the first on and columns from b on, and its transpose as it is to place `at`."""
    put_four(out, stride * first + b, stride, rows, count, (-x[0], -x[1], -x[2], -x[3]))
    put_block(out, at + stride * b + first, stride, rows, count, x)


@inline
def put_symmetric(nv, rows, first, columns, count, straight, factors, begun, sign, at, many, out, work):
    """Four rows of factors^T factors (sign 1), or of E less that, from the diagonal on, and mirrored; to place `at`."""
    stride, many_rows, wide_set = 2 * nv, min(TILE, nv - first), width(work)
    for g in range(first // wide_set, columns, SIDE_BY_SIDE):
        x = tile(rows, first, columns, count, straight, factors, factors + g, many, work)
        for k in range(SIDE_BY_SIDE):
            b = (g + k) * wide_set
            y = column_of(x, 0) if k == 0 else column_of(x, 1)
            if sign < 0.0:
                e = begun + first * columns + g + k
                y = (get(many, e) - y[0], get(many, e + columns) - y[1], get(many, e + 2 * columns) - y[2],
                     get(many, e + 3 * columns) - y[3])
            put_four(out, at + stride * first + b, stride, many_rows, min(wide_set, nv - b), y)
            if b >= first + TILE:
                put_block(out, at + stride * b + first, stride, many_rows, min(wide_set, nv - b), y)
    for i in range(first, first + many_rows):
        for j in range(first, i):
            put(out, at + stride * i + j, get(out, at + stride * j + i))
