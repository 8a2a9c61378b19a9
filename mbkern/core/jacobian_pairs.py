"""The Jacobian of shallow trees of single dofs, from pairs of dofs on one way to the root: O(N^2 depth).

With the rows of :mod:`.variations`, b above a standing for an ancestor of a:

    L_ab = U_a . S_b / D_a,  L_aa = 1               b above a: Mass = L^T D L
    Y_ab = U_a . drift_b                            b above a
    Y_ab = S_a . phi                                b below a, or a itself; phi as in :mod:`.tangents`
    T    = L^-1,   T_ab = -sum of L_ac T_cb         over c above a, up to b

so that Y = T^T dp/dq, and with E = dpdot/dq at constant u, E_ab = drift_b . load_a + sway_b . F_a, b above a or a:

    du/dp = T D^-1 T^T      du/dq = -T D^-1 Y      dpdot/dq = E - Y^T D^-1 Y      dpdot/dp = -(du/dq)^T

All are sums over dofs above or below, rows of tables times numbers; of what is symmetric one half is computed. Columns
lie side by side in column numbers (:mod:`.columns`), four of which are a tile, summed up in registers. Dofs are taken
in the order of a walk through the tree: those above are then a list, and those below follow each other.
"""

from .columns import get_columns, get_element, one_hot, put_columns, put_element, wide, width
from .jit import inline, kernel
from .layout import NV, add_to_pair, get3, get_pair, put_pair
from .number import accessor, fma, get, put, whole
from .spatial import ZERO6, axpy6, dot6
from .variations import (
    D_BEFORE, D_DRIFT, D_F, D_IMPULSE, D_LOAD, D_PIVOT, D_S, D_SPIN, D_START, D_SWAY, D_U, DOF, dof_variation,
)
from .vec3 import dot

MOST_PAIRS = 100  # dofs: their tables fit the memory of the sets (:mod:`.tangents`)
PAIR_DEPTH = 30  # on average: beyond, sweeps are quicker
TILE = 4
# in the rows of dofs, where trees of single dofs have no spinning rotors: number of dofs from the root on; k-th dof of
# the walk; dofs of the subtree; where the next child comes in the walk; k-th dof of a way from the root, and a factor
D_DEPTH, D_ORDER, D_SIZE, D_NEXT, D_WAY, D_FACTOR = (D_SPIN + k for k in range(6))

get4, put4 = accessor(TILE)


@inline
def is_shallow(block, work):
    """Whether dofs are few and near to the root."""
    nv, rows, total = whole(block, NV), dof_variation(block, 0), 0
    for a in range(nv if nv <= MOST_PAIRS else 0):
        d = rows + DOF * a
        before = whole(work, d + D_BEFORE)
        depth = 1 + (whole(work, rows + DOF * before + D_DEPTH) if before < nv else 0)
        put(work, d + D_DEPTH, 1.0 * depth)
        total += depth
    return nv <= MOST_PAIRS and total <= PAIR_DEPTH * nv


@kernel
def pairs(nv, rows, at, out, work):
    """All of the matrix but what springs and dampers add; `rows` are those of dofs, the tables begin at place `at`."""
    many, columns = wide(work, at), (nv + TILE * width(work) - 1) // (TILE * width(work)) * TILE
    L, Y, T, E = 0, nv * columns, 2 * nv * columns, 3 * nv * columns
    above, phi = 4 * nv * columns, 4 * nv * columns + nv + 1
    put_walk(nv, rows, work)
    for a in range(nv + 1):
        put(many, above + a, 0.0)
    for g in range((nv + width(work) - 1) // width(work)):
        put_pairs(nv, rows, g, columns, L, Y, E, above, phi, many, work)
    put_curvature(nv, rows, columns, Y, E, many, out, work)
    put_inverse(nv, rows, columns, L, T, many, work)
    put_rates(nv, rows, columns, L, Y, T, many, out, work)


@inline
def put_walk(nv, rows, work):
    """Sizes of subtrees, and the order of a walk in which every subtree is in one piece."""
    for a in range(nv):
        put(work, rows + DOF * a + D_SIZE, 1.0)
    for a in range(nv - 1, -1, -1):
        before = whole(work, rows + DOF * a + D_BEFORE)
        if before < nv:
            size = rows + DOF * before + D_SIZE
            put(work, size, get(work, size) + get(work, rows + DOF * a + D_SIZE))
    first = 0
    for a in range(nv):
        d = rows + DOF * a
        before, size, place = whole(work, d + D_BEFORE), whole(work, d + D_SIZE), first
        if before < nv:
            place = whole(work, rows + DOF * before + D_NEXT)
            put(work, rows + DOF * before + D_NEXT, 1.0 * (place + size))
        else:
            first += size
        put(work, d + D_NEXT, 1.0 * (place + 1))
        put(work, rows + DOF * place + D_ORDER, 1.0 * a)


# ---- products of related dofs ----
@inline
def gathered3(work, at, step, count):
    """Three numbers at `at` of as many rows, a column each."""
    return (get_columns(work, at, step, count), get_columns(work, at + 1, step, count),
            get_columns(work, at + 2, step, count))


@inline
def gathered6(work, at, step, count):
    return gathered3(work, at, step, count), gathered3(work, at + 3, step, count)


@inline
def add_to_column(work, many, at, column, count, row):
    """Add numbers of the workspace to those of a column."""
    for j in range(count):
        put_element(work, many, at + j, column, get_element(work, many, at + j, column) + get(work, row + j))


@inline
def put_pairs(nv, rows, g, columns, L, Y, E, above, phi, many, work):
    """Column number g of L, Y and E. `above` has a number for each dof: 1 in the columns of dofs above it, and its own;
    `phi` six numbers."""
    begin = g * width(work)
    end = min(nv, begin + width(work))
    first, count = rows + DOF * begin, end - begin
    for a in range(max(0, begin - width(work)), begin):
        put(many, above + a, 0.0)  # of the columns before
    for a in range(end):
        put_pair(many, phi + 6 * a, ZERO6)
    put_pair(many, phi + 6 * nv, ZERO6)
    for b in range(begin, end):
        d = rows + DOF * b
        add_to_column(work, many, phi + 6 * b, b - begin, 6, d + D_START)
        add_to_column(work, many, phi + 6 * whole(work, d + D_BEFORE), b - begin, 6, d + D_IMPULSE)
    for a in range(end - 1, -1, -1):
        d = rows + DOF * a
        U, p = get_pair(work, d + D_U), get_pair(many, phi + 6 * a)
        y = dot6(get_pair(work, d + D_S), p)
        put(many, Y + a * columns + g, y)
        add_to_pair(many, phi + 6 * whole(work, d + D_BEFORE), axpy6(-(get(work, d + D_PIVOT) * y), U, p))
    for a in range(end, nv):
        put(many, Y + a * columns + g, 0.0)
    S, drift = gathered6(work, first + D_S, DOF, count), gathered6(work, first + D_DRIFT, DOF, count)
    sway = gathered3(work, first + D_SWAY, DOF, count)
    for a in range(begin, nv):
        d, place = rows + DOF * a, a * columns + g
        mask = get(many, above + whole(work, d + D_BEFORE))
        own = mask + one_hot(work, a - begin)
        put(many, above + a, own)
        U, load, F = get_pair(work, d + D_U), get_pair(work, d + D_LOAD), get3(work, d + D_F)
        put(many, L + place, mask * (get(work, d + D_PIVOT) * dot6(U, S)))
        put(many, Y + place, fma(mask, dot6(U, drift), get(many, Y + place)))
        put(many, E + place, own * (dot6(load, drift) + dot(F, sway)))


# ---- sums, tile by tile ----
@inline
def fma4(x, y, z):
    """x y + z for a tile y."""
    return fma(x, y[0], z[0]), fma(x, y[1], z[1]), fma(x, y[2], z[2]), fma(x, y[3], z[3])


@inline
def put_tile(out, at, step, first, end, x, work):
    """The columns of a tile that begins with column number `first`, those before `end`: column b to at + step b."""
    wide_set = width(work)
    b = first * wide_set
    put_columns(out, at + step * b, step, min(wide_set, end - b), x[0])
    put_columns(out, at + step * (b + wide_set), step, min(wide_set, end - b - wide_set), x[1])
    put_columns(out, at + step * (b + 2 * wide_set), step, min(wide_set, end - b - 2 * wide_set), x[2])
    put_columns(out, at + step * (b + 3 * wide_set), step, min(wide_set, end - b - 3 * wide_set), x[3])


@inline
def tile_of(a, work):
    """Where the tile of column a begins."""
    return a // (TILE * width(work)) * TILE


@inline
def put_curvature(nv, rows, columns, Y, E, many, out, work):
    """dpdot/dq: E less Y^T D^-1 Y, its lower half, and mirrored."""
    stride, at = 2 * nv, 2 * nv * nv
    for k in range(nv):
        a = whole(work, rows + DOF * k + D_ORDER)
        d = rows + DOF * a
        depth, size = whole(work, d + D_DEPTH), whole(work, d + D_SIZE)
        put(work, rows + DOF * (depth - 1) + D_WAY, 1.0 * a)
        for first in range(0, tile_of(a, work) + 1, TILE):
            x = get4(many, E + a * columns + first)
            for j in range(depth):
                c = whole(work, rows + DOF * j + D_WAY)
                factor = get_element(work, many, Y + c * columns, a) * get(work, rows + DOF * c + D_PIVOT)
                x = fma4(-factor, get4(many, Y + c * columns + first), x)
            for j in range(k + 1, k + size):
                c = whole(work, rows + DOF * j + D_ORDER)
                factor = get_element(work, many, Y + c * columns, a) * get(work, rows + DOF * c + D_PIVOT)
                x = fma4(-factor, get4(many, Y + c * columns + first), x)
            put_tile(out, at + stride * a, 1, first, a + 1, x, work)
            put_tile(out, at + a, stride, first, a + 1, x, work)


@inline
def put_inverse(nv, rows, columns, L, T, many, work):
    """T in the place of L, and its transpose in that of T."""
    for j in range(nv * columns):
        put(many, T + j, 0.0)
    for k in range(nv):
        a = whole(work, rows + DOF * k + D_ORDER)
        own, depth = a * columns, whole(work, rows + DOF * a + D_DEPTH)
        put(work, rows + DOF * (depth - 1) + D_WAY, 1.0 * a)
        for j in range(depth - 1):  # L of this row goes where T comes
            c = whole(work, rows + DOF * j + D_WAY)
            put(work, rows + DOF * j + D_FACTOR, get_element(work, many, L + own, c))
        last = tile_of(a, work)
        for first in range(0, columns, TILE):
            put4(many, L + own + first, (0.0, 0.0, 0.0, 0.0))
        put_element(work, many, L + own, a, 1.0)
        put_element(work, many, T + own, a, 1.0)
        for first in range(0, last + 1, TILE):
            x = get4(many, L + own + first)
            for j in range(depth - 1):
                c = whole(work, rows + DOF * j + D_WAY)
                x = fma4(-get(work, rows + DOF * j + D_FACTOR), get4(many, L + c * columns + first), x)
            put4(many, L + own + first, x)
        for j in range(depth - 1):
            c = whole(work, rows + DOF * j + D_WAY)
            put_element(work, many, T + c * columns, a, get_element(work, many, L + own, c))


@inline
def put_rates(nv, rows, columns, T, Y, transposed, many, out, work):
    """du/dq, of which dpdot/dp is the negative transpose, and du/dp, the columns from its own on, and mirrored."""
    stride, below = 2 * nv, 2 * nv * nv
    for k in range(nv):
        a = whole(work, rows + DOF * k + D_ORDER)
        depth = whole(work, rows + DOF * a + D_DEPTH)
        put(work, rows + DOF * (depth - 1) + D_WAY, 1.0 * a)
        for j in range(depth):
            c = whole(work, rows + DOF * j + D_WAY)
            factor = get_element(work, many, T + a * columns, c) * get(work, rows + DOF * c + D_PIVOT)
            put(work, rows + DOF * j + D_FACTOR, factor)
        for first in range(0, columns, TILE):
            x = (0.0 * get(many, Y), 0.0 * get(many, Y), 0.0 * get(many, Y), 0.0 * get(many, Y))
            for j in range(depth):
                c = whole(work, rows + DOF * j + D_WAY)
                x = fma4(-get(work, rows + DOF * j + D_FACTOR), get4(many, Y + c * columns + first), x)
            put_tile(out, stride * a, 1, first, nv, x, work)
            put_tile(out, below + nv + a, stride, first, nv, (-x[0], -x[1], -x[2], -x[3]), work)
        for first in range(tile_of(a, work), columns, TILE):
            x = (0.0 * get(many, Y), 0.0 * get(many, Y), 0.0 * get(many, Y), 0.0 * get(many, Y))
            for j in range(depth):
                c = whole(work, rows + DOF * j + D_WAY)
                x = fma4(get(work, rows + DOF * j + D_FACTOR), get4(many, transposed + c * columns + first), x)
            put_tile(out, stride * a + nv, 1, first, nv, x, work)
    for a in range(nv):
        for b in range(a):
            put(out, stride * a + nv + b, get(out, stride * b + nv + a))
