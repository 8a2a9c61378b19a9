"""The Jacobian of (u, pdot) with respect to (q, p), all in all O(N^2).

    A = [[du/dq, du/dp], [dpdot/dq, dpdot/dp]],   2 nv x 2 nv, row by row

Columns are directions of :mod:`.tangents`, several at a time in the lanes of a number. Mass^-1 = du/dp is symmetric: of
each of its columns only the part from the root down to its own dof is computed where all nodes have one dof. Then so is
the Hessian of H, and dpdot/dp = -(du/dq)^T, less what dampers do, needs no sweep; trees of such nodes have the still
shorter way of :mod:`.jacobian_columns`.
"""

from .columns import wide, width
from .jacobian_columns import put_matrix
from .jit import inline, kernel
from .joints import dofs, put_frames
from .layout import DAMPING, HAS_PASSIVE, N_NODES, NV, ROTORS_SIZE, SPRING_QI, STIFFNESS, coordinate_row, node_row
from .number import fma, get, put, whole
from .single_dofs import put_world_rows
from .tangents import (
    SETS, clear_loads, clear_momenta, clear_velocities, clear_wrenches, lanes_begin, load, move, push,
    put_momentum_rates, put_speeds, solve_backward, solve_forward, turn,
)
from .variations import D_LAST, DOF, dof_variation, put_dofs, put_nodes, put_spins, put_wrenches

HALF = SETS // 2


@kernel
def prepare(block, q, wrench, work):
    """All rows of :mod:`.variations`; the workspace is as a sweep of "emh-ldl" at this state has left it.

    `wrench` is empty, or six numbers for each body.
    """
    put_rows(block, q, wrench, True, work)


@kernel
def prepare_without_pivots(block, q, wrench, work):
    """The same but for what the elimination gives, of which nothing is asked; joint speeds are in the workspace."""
    put_rows(block, q, wrench, False, work)


@kernel
def prepare_singles(block, q, work):
    """The rows of :mod:`.single_dofs` in world axes, likewise."""
    put_world_rows(block, q, work)


@inline
def put_rows(block, q, wrench, pivots, work):
    """The rows, with pivots or without."""
    put_frames(block, q, work)
    put_nodes(block, work)
    put_dofs(block, pivots, work)
    if wrench.shape[0] > 0:
        put_wrenches(block, wrench, work)
    if whole(block, ROTORS_SIZE) != 0:
        put_spins(block, work)


@inline
def only_single_dofs(block):
    """Whether no node has several dofs."""
    several = 0
    for i in range(whole(block, N_NODES)):
        several += dofs(block, node_row(i)) > 1
    return several == 0


@inline
def jacobian(block, q, wrench, out, work):
    """The matrix; the workspace is as a sweep of "emh-ldl" at this state has left it."""
    nv, single = whole(block, NV), only_single_dofs(block)
    if single and wrench.shape[0] == 0:
        jacobian_of_singles(block, q, out, work)
    else:
        prepare(block, q, wrench, work)
        put_all_columns(block, single, wrench.shape[0] > 0, out, work)
        add_passive(block, nv if single else 2 * nv, out)


@inline
def jacobian_of_singles(block, q, out, work):
    """The same for trees of single dofs without wrenches; a backward sweep is enough."""
    prepare_singles(block, q, work)
    put_matrix(whole(block, NV), dof_variation(block, 0), lanes_begin(block), out, work)
    add_passive(block, 0, out)


@inline
def put_all_columns(block, single, wrenches, out, work):
    """The matrix but for springs and, where no node has several dofs, dampers."""
    nv = whole(block, NV)
    many, step = wide(work, lanes_begin(block)), HALF * width(work)
    clear_velocities(SETS, nv, nv + 1, many)
    for b in range(0, nv, step):
        put_columns(block, b, min(nv, b + step), single, wrenches, many, out, work)
    if single:
        mirror(nv, out)


@inline
def put_columns(block, begin, end, single, wrenches, many, out, work):
    """The columns of q and p from `begin` to `end`: one half of the sets is for q, the other for p."""
    nv, rows, wide_set = whole(block, NV), dof_variation(block, 0), width(work)
    half = (end - begin + wide_set - 1) // wide_set
    stride, below, spins = 2 * nv, 2 * nv * nv, whole(block, ROTORS_SIZE) != 0
    low, top = whole(work, rows + DOF * begin + D_LAST), whole(work, rows + DOF * (end - 1) + D_LAST)
    clear_momenta(2 * half, top + 1, nv, many)
    clear_velocities(2 * half, low, top + 1, many)
    for b in range(begin, end):
        s, column = (b - begin) // wide_set, (b - begin) % wide_set
        move(rows, b, s, column, 1.0, many, work)
        push(b, half + s, column, 1.0, many, work)
    solve_backward(rows, top, 2 * half, many, work)
    solve_forward(rows, 0, low, False, 2 * half, many, work)
    solve_forward(rows, low, top + 1, True, 2 * half, many, work)
    solve_forward(rows, top + 1, nv, False, half if single else 2 * half, many, work)
    clear_loads(half if single else 2 * half, 0, nv, many)
    if wrenches:
        clear_wrenches(half, 0, nv, many)
    for b in range(begin, end):
        s, column = (b - begin) // wide_set, (b - begin) % wide_set
        load(rows, b, s, column, 1.0, many, work)
        if wrenches:
            turn(rows, b, s, column, 1.0, many, work)
    columns = end - begin
    put_speeds(nv, 0, half, many, out, begin, stride, 1, columns, work)
    put_speeds(top + 1 if single else nv, half, half, many, out, nv + begin, stride, 1, columns, work)
    put_momentum_rates(rows, nv, wrenches, spins, 0, half, many, out, below + begin, stride, 1, columns, work)
    if not single:
        put_momentum_rates(rows, nv, False, spins, half, half, many, out, below + nv + begin, stride, 1, columns, work)


@inline
def mirror(nv, out):
    """The lower half of du/dp from its upper half, and dpdot/dp = -(du/dq)^T."""
    stride, below = 2 * nv, 2 * nv * nv
    for a in range(nv):
        for b in range(nv):
            put(out, below + stride * a + nv + b, -get(out, stride * b + a))
        for b in range(a):
            put(out, stride * a + nv + b, get(out, stride * b + nv + a))


@inline
def add_passive(block, damped, out):
    """Springs, and dampers in the columns from `damped` on."""
    nv = whole(block, NV)
    stride = 2 * nv
    if whole(block, HAS_PASSIVE) != 0:
        for a in range(nv):
            row, at = coordinate_row(block, a), stride * (nv + a)
            for b in range(damped, stride):
                put(out, at + b, fma(-get(block, row + DAMPING), get(out, stride * a + b), get(out, at + b)))
            if whole(block, row + SPRING_QI) >= 0:
                put(out, at + a, get(out, at + a) - get(block, row + STIFFNESS))
