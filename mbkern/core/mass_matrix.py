"""The mass matrix B^T M B + r by composite inertias, in O(N times depth).

    H_jk = e_k^T F_j,   F_j = C^T ... C^T Mc_j e_j            for the dofs k from j to the root, no others
    H_jj += r_j                                               inertia of the rotor (armature)

Walker & Orin 1982 (the composite-rigid-body algorithm). F_j is in world axes (:mod:`.composite_axes`): on its way to
the root its force stays what it is, and its moment grows by way x f at every node.

Dofs of one run (RUN_FIRST in :mod:`.constants`) have their way to the root in common. They go side by side from where
it begins: several in a number where numbers have room (:mod:`.columns`), and two such numbers in turn; four where
numbers are lanes, whose e and way take longer to fetch than to compute with. One dof after the other would wait for
way x f at every node.
"""

from .columns import get_columns, lower, packed, put_columns, width
from .composite_axes import W_COMPOSITE_AXES, W_COMPOSITE_WAY, dof_momentum, put_composites
from .factorization import dof_row
from .jit import inline
from .joints import dofs, twist
from .layout import (
    CASE, DOF_E, DOF_F, DOF_MOVES, DOF_ROW, DOF_WAY, MASS_SIZE, N_NODES, NV, OTHER, RUN_LAST, VI,
    coordinate_row, dof_before, get3, get33, get_pair, node_row, put3, put_pair, work_row,
)
from .number import put, whole
from .rotors import armature
from .spatial import dot6, shift_force
from .vec3 import ZERO3, dot, tmul
from .world_axes import FROM_DOF


@inline
def mass_matrix(block, q, H, work):
    """H, nv x nv row by row; on lanes its lower half."""
    put_composites(block, q, FROM_DOF, True, work)
    put_dofs(block, work)
    nv, many = whole(block, NV), width(work)
    if 2 * whole(block, MASS_SIZE) < nv * (nv + 1):  # not every dof is on the way of all that come after it
        for j in range(lower(nv, 0) if packed(H) else nv * nv):
            put(H, j, 0.0)
    first = 0
    while first < nv:
        end = min(first + (4 if packed(H) else 2 * many), whole(block, coordinate_row(block, first) + RUN_LAST) + 1)
        before = dof_before(block, first)
        together = before >= 0 and 2 * (end - first) > many + 1  # for fewer it does not pay
        for j in range(first, end):
            put_row(block, j, before if together else -1, nv, H, work)
        if together and packed(H) and end - first > 2:
            put_four_rows(block, first, end - 1, before, H, work)
        elif together:
            put_rows(block, first, end, before, nv, H, work)
        first = end


@inline
def put_dofs(block, work):
    """e, F and way of all dofs in their rows of the scratch."""
    n = whole(block, N_NODES)
    for i in range(n):
        c, w = node_row(i), work_row(i)
        E = get33(work, w + W_COMPOSITE_AXES)
        hinge = whole(block, c + CASE) < OTHER
        for a in range(dofs(block, c)):
            row = dof_row(block, whole(block, c + VI) + a)
            put_pair(work, row + DOF_F, dof_momentum(block, i, a, work))
            way = (w if a == 0 else work_row(n)) + W_COMPOSITE_WAY  # that of the ground is zero
            put3(work, row + DOF_WAY, get3(work, way))
            put(work, row + DOF_MOVES, 0.0 if hinge else 1.0)
            if hinge:
                put_pair(work, row + DOF_E, (ZERO3, E[2]))
            else:
                e = twist(block, c, a)
                put_pair(work, row + DOF_E, (tmul(E, e[0]), tmul(E, e[1])))


@inline
def put_row(block, j, stop, nv, H, work):
    """Row and column j for the dofs from j to the one that carries dof `stop` no more; F is there then."""
    k, F = j, get_pair(work, dof_row(block, j) + DOF_F)
    while k != stop:
        row = dof_row(block, k)
        e = get_pair(work, row + DOF_E)
        x = dot6(e, F) if whole(work, row + DOF_MOVES) != 0 else dot(e[1], F[1])
        if k == j:
            x = x + armature(block, j)
        if packed(H):
            put(H, lower(j, k), x)
        else:
            put(H, j * nv + k, x)
            put(H, k * nv + j, x)
        F = shift_force(get3(work, row + DOF_WAY), F)
        k = dof_before(block, k)
    put_pair(work, dof_row(block, j) + DOF_F, F)


@inline
def put_rows(block, first, end, k, nv, H, work):
    """Rows and columns first .. end - 1 for the dofs from k to the root; their F are at dof k."""
    many = width(work)
    second = min(first + many, end - 1)  # the last dof again where there are no more
    here, there = min(many, end - first), min(many, end - second)
    F, T = forces(block, first, here, work), forces(block, second, there, work)
    while k >= 0:
        row = dof_row(block, k)
        e, way = get_pair(work, row + DOF_E), get3(work, row + DOF_WAY)
        if whole(work, row + DOF_MOVES) != 0:
            x, y = dot6(e, F), dot6(e, T)
        else:
            x, y = dot(e[1], F[1]), dot(e[1], T[1])
        if packed(H):
            put_columns(H, lower(second, k), 1, there, y)
            put_columns(H, lower(first, k), 1, here, x)
        else:
            put_columns(H, k * nv + second, 1, there, y)
            put_columns(H, k * nv + first, 1, here, x)
            put_columns(H, second * nv + k, nv, there, y)
            put_columns(H, first * nv + k, nv, here, x)
        F, T = shift_force(way, F), shift_force(way, T)
        k = dof_before(block, k)


@inline
def put_four_rows(block, first, last, k, H, work):
    """The same for lanes, and rows of the lower half of H alone: four rows from `first` on, row `last` again where
    there are no more."""
    i, j, m = min(first + 1, last), min(first + 2, last), min(first + 3, last)
    F, S = get_pair(work, dof_row(block, first) + DOF_F), get_pair(work, dof_row(block, i) + DOF_F)
    T, U = get_pair(work, dof_row(block, j) + DOF_F), get_pair(work, dof_row(block, m) + DOF_F)
    while k >= 0:
        row = dof_row(block, k)
        e, way = get_pair(work, row + DOF_E), get3(work, row + DOF_WAY)
        if whole(work, row + DOF_MOVES) != 0:
            w, x, y, z = dot6(e, F), dot6(e, S), dot6(e, T), dot6(e, U)
        else:
            w, x, y, z = dot(e[1], F[1]), dot(e[1], S[1]), dot(e[1], T[1]), dot(e[1], U[1])
        put(H, lower(m, k), z)
        put(H, lower(j, k), y)
        put(H, lower(i, k), x)
        put(H, lower(first, k), w)
        F, S, T, U = shift_force(way, F), shift_force(way, S), shift_force(way, T), shift_force(way, U)
        k = dof_before(block, k)


@inline
def forces(block, first, count, work):
    """F of dofs first, first + 1, ... side by side."""
    at = dof_row(block, first) + DOF_F
    return ((get_columns(work, at, DOF_ROW, count), get_columns(work, at + 1, DOF_ROW, count),
             get_columns(work, at + 2, DOF_ROW, count)),
            (get_columns(work, at + 3, DOF_ROW, count), get_columns(work, at + 4, DOF_ROW, count),
             get_columns(work, at + 5, DOF_ROW, count)))
