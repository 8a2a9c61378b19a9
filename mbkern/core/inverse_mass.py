"""The inverse of the mass matrix, and its products, from the factorization dof by dof.

    Mass^-1 = [E - K^T Phi_C Psi_beta A] R^-1 [E - A^T Psi_beta^T Phi_C^T K],   R = A^T M* A + r,   K = M* A R^-1

Rodriguez, Jain & Kreutz in momentum variables. Read from the right, for a right-hand side x, dof by dof:

    backward   z = x - e^T phi,   y = z / D,   phi_b += C^T phi + K z        b: the dof before on the way to the root
    forward    rate = y - K^T v_b,   v = C v_b + e rate,                     Mass^-1 x = rate

with K = C^T M* e / D. All six-vectors are in world axes (:mod:`.factorization`), so that C is a shift along the way
between two nodes, and C^T phi and C v_b do not wait for z and rate.

Right-hand sides go side by side where numbers have room for several (:mod:`.columns`), and two such columns in turn:
while one waits for what it needs, the other has its turn. phi and v stay in registers along a run of dofs (RUN_FIRST in
:mod:`.constants`); between runs they are in the memory that the last dof shares with those that it carries.

The whole inverse is symmetric: of the column of dof c only the dofs up to c are computed. Dofs are numbered root first,
so that these need no others. Backward only the runs between c and the root matter: they are marked.
"""

from .columns import get_columns, lower, one_hot, packed, put_columns, wide, width
from .factorization import dof_row, factor
from .jit import inline
from .layout import (
    DOF_D, DOF_E, DOF_K, DOF_MARK, DOF_MOVES, DOF_WAY, LEFT_V, LEFT_Y, NV, PAIR_ROW, RIGHT_V, RIGHT_Y, RUN_FIRST,
    RUN_LAST, SHARED_PLACE, coordinate_row, dof_before, get3, get_pair, put_pair,
)
from .number import get, put, whole
from .spatial import ZERO6, add6, axpy6, dot6, minus_cross, shift_force
from .vec3 import axpy, dot


@inline
def inverse_mass_matrix(block, q, W, work):
    """W, nv x nv row by row; on lanes its lower half."""
    factor(block, q, work)
    nv, many = whole(block, NV), width(work)
    column = wide(work, dof_row(block, nv))
    for first in range(0, nv, 2 * many):
        second, end = first + many, min(first + 2 * many, nv)
        j = end - 1
        while j >= 0:
            bottom = run_first(block, j)
            if j >= first or reached(block, bottom, first, work):
                left, right = arrived(block, bottom, first, column, work)
                while j >= bottom:
                    x = one_hot(work, j - first), one_hot(work, j - second)
                    left, right = back(block, j, x, left, right, column, work)
                    j -= 1
                pass_on(block, bottom, left, right, first, column, work)
            j = bottom - 1
        while j + 1 < end:
            j += 1
            top = min(run_last(block, j), end - 1)
            left, right = departing(block, j, top, first, column, work)
            while j <= top:
                left, right, x, y = forth(block, j, left, right, column, work)
                put_rates(W, nv, j, first, first, x, work)
                put_rates(W, nv, j, first, second, y, work)
                j += 1
            j = top
            put_both(column, shared(block, top), left, right)
        if not packed(W):
            for j in range(first, end):
                for k in range(first, j):
                    put(W, j * nv + k, get(W, k * nv + j))


@inline
def put_rates(W, nv, j, square, first, rates, work):
    """Columns first, first + 1, ... of row j and, by symmetry, row j of those columns.

    From row `square` on both halves of the matrix are computed, of which one must be chosen.
    """
    count = min(width(work), nv - first)
    if packed(W):
        put_columns(W, lower(first, j), 1, count if j <= first else 0, rates)
    else:
        put_columns(W, j * nv + first, 1, count, rates)
        if j < square:
            put_columns(W, first * nv + j, nv, count, rates)


@inline
def solve_mass(block, q, x, y, work):
    """Rows y of Mass^-1 for right-hand sides that are the rows of x."""
    factor(block, q, work)
    nv, many = whole(block, NV), width(work)
    count = x.shape[0] // nv if nv > 0 else 0
    column = wide(work, dof_row(block, nv))
    for first in range(0, count, 2 * many):
        second = min(first + many, count - 1)  # the last right-hand side again where there are no more
        here, there = min(many, count - first), min(many, count - second)
        j = nv - 1
        while j >= 0:
            bottom = run_first(block, j)
            left, right = arrived(block, bottom, first, column, work)
            while j >= bottom:
                sides = get_columns(x, first * nv + j, nv, here), get_columns(x, second * nv + j, nv, there)
                left, right = back(block, j, sides, left, right, column, work)
                j -= 1
            pass_on(block, bottom, left, right, first, column, work)
        while j + 1 < nv:
            j += 1
            top = run_last(block, j)
            left, right = departing(block, j, top, first, column, work)
            while j <= top:
                left, right, r, s = forth(block, j, left, right, column, work)
                put_columns(y, second * nv + j, nv, there, s)
                put_columns(y, first * nv + j, nv, here, r)
                j += 1
            j = top
            put_both(column, shared(block, top), left, right)


# ---- runs ----
@inline
def run_first(block, j):
    return whole(block, coordinate_row(block, j) + RUN_FIRST)


@inline
def run_last(block, j):
    return whole(block, coordinate_row(block, j) + RUN_LAST)


@inline
def reached(block, bottom, mark, work):
    """Whether the run that begins with dof `bottom` has that mark."""
    return whole(work, dof_row(block, bottom) + DOF_MARK) == mark


@inline
def shared(block, j):
    """Where phi or v of dof j is in a column."""
    return whole(block, coordinate_row(block, j) + SHARED_PLACE) * PAIR_ROW


@inline
def put_both(column, at, left, right):
    """phi or v of both columns."""
    put_pair(column, at + LEFT_V, left)
    put_pair(column, at + RIGHT_V, right)


@inline
def get_both(column, at):
    return get_pair(column, at + LEFT_V), get_pair(column, at + RIGHT_V)


@inline
def arrived(block, bottom, mark, column, work):
    """phi of the last dof of the run that begins with `bottom`: what has been passed on to it. The run is marked."""
    at = shared(block, bottom)
    if not reached(block, bottom, mark, work):
        put(work, dof_row(block, bottom) + DOF_MARK, 1.0 * mark)
        put_both(column, at, ZERO6, ZERO6)
    return get_both(column, at)


@inline
def pass_on(block, bottom, left, right, mark, column, work):
    """Add phi from dof `bottom`, the first of a run, to that of the dof before it, whose run is marked."""
    b = dof_before(block, bottom)
    if b >= 0:
        at, run = shared(block, b), run_first(block, b)
        if reached(block, run, mark, work):
            phi, psi = get_both(column, at)
            put_both(column, at, add6(phi, left), add6(psi, right))
        else:
            put(work, dof_row(block, run) + DOF_MARK, 1.0 * mark)
            put_both(column, at, left, right)


@inline
def departing(block, bottom, top, mark, column, work):
    """v of the dof before dof `bottom`; y = 0 from there to dof `top` where backward nothing was computed."""
    b = dof_before(block, bottom)
    if not reached(block, bottom, mark, work):
        for j in range(bottom, top + 1):
            put(column, j * PAIR_ROW + LEFT_Y, 0.0)
            put(column, j * PAIR_ROW + RIGHT_Y, 0.0)
    if b < 0:
        put_both(column, shared(block, bottom), ZERO6, ZERO6)
    return get_both(column, shared(block, b if b >= 0 else bottom))


# ---- one dof ----
@inline
def back(block, j, x, left, right, column, work):
    """y of dof j for the right-hand sides x and phi = left, right; phi of the dof before it."""
    row = dof_row(block, j)
    e, d, way, K = (get_pair(work, row + DOF_E), get(work, row + DOF_D), get3(work, row + DOF_WAY),
                    get_pair(work, row + DOF_K))
    if whole(work, row + DOF_MOVES) != 0:
        z, s = x[0] - dot6(e, left), x[1] - dot6(e, right)
    else:
        z, s = x[0] - dot(e[1], left[1]), x[1] - dot(e[1], right[1])
    put(column, j * PAIR_ROW + LEFT_Y, z * d)
    put(column, j * PAIR_ROW + RIGHT_Y, s * d)
    return axpy6(z, K, shift_force(way, left)), axpy6(s, K, shift_force(way, right))


@inline
def forth(block, j, v, w, column, work):
    """Velocities and rates of dof j for those of the dof before it, v and w."""
    row = dof_row(block, j)
    e, way, K = get_pair(work, row + DOF_E), get3(work, row + DOF_WAY), get_pair(work, row + DOF_K)
    x = get(column, j * PAIR_ROW + LEFT_Y) - dot6(K, v)
    y = get(column, j * PAIR_ROW + RIGHT_Y) - dot6(K, w)
    v, w = (minus_cross(v[0], way, v[1]), v[1]), (minus_cross(w[0], way, w[1]), w[1])
    if whole(work, row + DOF_MOVES) != 0:
        return axpy6(x, e, v), axpy6(y, e, w), x, y
    return (v[0], axpy(x, e[1], v[1])), (w[0], axpy(y, e[1], w[1])), x, y
