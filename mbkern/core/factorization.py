"""The mass matrix factored dof by dof, with everything that solving needs in world axes.

    forward    E, way of all nodes (:mod:`.world_axes`)
    backward   U = M* e,   D = e^T U + r,   M*_k += C^T (M* - U U^T / D) C

The elimination of :mod:`.extended` without momenta; a node of several dofs is eliminated dof by dof, last first. What
is left are rows of dofs (DOF_ROW in :mod:`.constants`):

    e       twist of the dof, in world axes at the origin of its node
    way     from the node of the dof before it on the way to the root (BEFORE) to its own; zero within a node
    K       C^T U / D, in world axes where the way begins
    1 / D

so that solving knows no joints, and carries six-vectors from dof to dof by shifts alone.
"""

from .bare import doubt_bare
from .carry import beside_inertia, chain_inertia
from .extended import leaf_inertia, own_inertia
from .jit import inline
from .joints import dofs, drive_of, eliminate_screw, inertia_along, twist, vanishes
from .layout import (
    BRANCH_LEAF, CASE, CHAINED, CHAINED_LEAF, DOF_D, DOF_E, DOF_K, DOF_MARK, DOF_MOVES, DOF_ROW, DOF_WAY, IN_LINE,
    IS_END, IS_LAST, N_NODES, OTHER, PARENT, ROOT, ROUTE, SQUARE, TOLERANCE, VI, W_G, W_P, W_V,
    add_to_inertia, get3, get33, get_frame, get_inertia, margins_at, node_row, put3, put_inertia, put_pair, scratch_at,
    work_row,
)
from .number import fma, get, put, smaller, whole
from .rotors import armature
from .spatial import column_az, dot6, inertia_times, inertia_to_parent, shift_force, trace
from .vec3 import ZERO3, scale, tmul
from .world_axes import FROM_DOF, WAY, put_world_axes

W_AXES, W_WAY = W_V, W_V + WAY  # E, and the way from the last node that has dofs


@inline
def dof_row(block, j):
    """Row of dof j in the scratch."""
    return scratch_at(block) + j * DOF_ROW


@inline
def factor(block, q, work):
    """Rows of all dofs, and margins; the drive values are in the workspace already."""
    put_world_axes(block, q, W_AXES, FROM_DOF, True, work)
    n, margins = whole(block, N_NODES), margins_at(block)
    for i in range(n - 1, -1, -1):
        case = whole(block, node_row(i) + CASE)
        if case < OTHER:
            eliminate_hinge(block, i, case, margins + i, work)
        else:
            eliminate_other(block, i, margins + i, work)
    doubt_bare(block, work)


# ---- backward: pivots ----
@inline
def eliminate_hinge(block, i, case, margin, work):
    """Row and margin of a hinge, and what is left of its inertia for the parent."""
    c, w = node_row(i), work_row(i)
    k = whole(block, c + PARENT)
    if case == CHAINED:
        M = get_inertia(work, w + W_P)
        chain_inertia(block, c, w, k, M, put_hinge(block, c, w, margin, M, work), work)
    elif case == CHAINED_LEAF:
        M, _ = leaf_inertia(block, i)
        chain_inertia(block, c, w, k, M, put_hinge(block, c, w, margin, M, work), work)
    elif case == ROOT:
        if whole(block, c + IS_END) != 0:
            begin(block, i, work)
        put_hinge(block, c, w, margin, get_inertia(work, w + W_P), work)
    else:
        if whole(block, c + IS_LAST) != 0:  # of the children of k it comes first
            begin(block, k, work)
        if case == BRANCH_LEAF:
            M, _ = leaf_inertia(block, i)
            beside_inertia(block, c, w, k, M, put_hinge(block, c, w, margin, M, work), work)
        else:
            M = get_inertia(work, w + W_P)
            beside_inertia(block, c, w, k, M, put_hinge(block, c, w, margin, M, work), work)


@inline
def begin(block, i, work):
    """The inertia of node i before its children add to it: its own."""
    M, _ = own_inertia(block, i)
    put_inertia(work, work_row(i) + W_P, M)


@inline
def put_hinge(block, c, w, margin, M, work):
    """Row and margin of a hinge with the inertia M; 1 / D."""
    U, row, E = column_az(M), dof_row(block, whole(block, c + VI)), get33(work, w + W_AXES)
    d = 1.0 / U[1][2]
    put(work, margin, fma(-get(block, c + TOLERANCE), trace(M[2]), U[1][2]))
    put_row(row, E, (ZERO3, (0.0, 0.0, 1.0)), 0.0, U, d, get3(work, w + W_WAY), work)
    return d


@inline
def put_row(row, E, e, moves, U, d, way, work):
    """Row of a dof with the axes E; `moves`: 0 where e is known to have no linear part."""
    put_pair(work, row + DOF_E, (tmul(E, e[0]), tmul(E, e[1])))
    put_pair(work, row + DOF_K, shift_force(way, (tmul(E, scale(d, U[0])), tmul(E, scale(d, U[1])))))
    put(work, row + DOF_D, d)
    put3(work, row + DOF_WAY, way)
    put(work, row + DOF_MOVES, moves)
    put(work, row + DOF_MARK, -1.0)


@inline
def eliminate_other(block, i, margin, work):
    """The same for a node of any kind."""
    c, w = node_row(i), work_row(i)
    k, route, n = whole(block, c + PARENT), whole(block, c + ROUTE), dofs(block, c)
    if whole(block, c + IS_END) != 0:
        begin(block, i, work)
    M, E = get_inertia(work, w + W_P), get33(work, w + W_AXES)
    linear, angular = trace(M[0]), trace(M[2])
    if n == 0:
        put(work, margin, get(work, drive_of(block, c) + 3))
    for a in range(n - 1, -1, -1):
        j = whole(block, c + VI) + a
        e, row = twist(block, c, a), dof_row(block, j)
        U = inertia_times(M, e)
        D = dot6(e, U) + armature(block, j)
        d = 1.0 / D
        own = fma(-get(block, c + TOLERANCE), inertia_along(block, c, a, linear, angular), D)
        put(work, margin, own if a == n - 1 else smaller(own, get(work, margin)))
        way = get3(work, (w if a == 0 else work_row(whole(block, N_NODES))) + W_WAY)  # that of the ground is zero
        put_row(row, E, e, 1.0, U, d, way, work)
        M = eliminate_screw(M, U, d)
        if vanishes(block, c):
            M = cleared(M, e)
    if k >= 0:
        if whole(block, c + IS_LAST) != 0 or route == IN_LINE or route == SQUARE:
            begin(block, k, work)
        add_to_inertia(work, work_row(k) + W_P, inertia_to_parent(get_frame(work, w + W_G), M))


@inline
def cleared(M, e):
    """M with zeros in the row and column of the unit vector e, where rounding has left something else."""
    P, Q, R = M
    a, b, c = 1.0 - e[0][0], 1.0 - e[0][1], 1.0 - e[0][2]
    x, y, z = 1.0 - e[1][0], 1.0 - e[1][1], 1.0 - e[1][2]
    return ((a * P[0], a * b * P[1], a * c * P[2], b * P[3], b * c * P[4], c * P[5]),
            ((a * x * Q[0][0], a * y * Q[0][1], a * z * Q[0][2]), (b * x * Q[1][0], b * y * Q[1][1], b * z * Q[1][2]),
             (c * x * Q[2][0], c * y * Q[2][1], c * z * Q[2][2])),
            (x * R[0], x * y * R[1], x * z * R[2], y * R[3], y * z * R[4], z * R[5]))
