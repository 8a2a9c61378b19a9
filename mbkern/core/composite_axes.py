"""Composite inertias, with all nodes seen in world axes (:mod:`.world_axes`).

    backward   s_k += G^T s + m rho,   Mc_k += C^T Mc C        mass m, first moment s and inertia J of each subtree

Of a hinge G is three turns about coordinate axes (:mod:`.turns`), and is never written down.
"""

from .jit import inline
from .joints import put_momentum
from .layout import (
    ALONG_X, ALONG_Z, BRANCH_LEAF, CASE, CHAINED, CHAINED_LEAF, INERTIA, MOMENT, N_NODES, OTHER, PARENT, PLACE_RHO,
    SPIN, SUBTREE_MASS, TILT, W_G, W_MOMENT, W_P, W_PHI, W_R, W_TURN,
    add_to3, add_to6, get3, get6, get33, get_frame, get_pair, node_row, put3, put6, work_row,
)
from .number import fma, get, whole
from .spatial import rigid_to_parent, shift_rigid
from .turns import sturn_x, sturn_z, turn_x, turn_z
from .vec3 import tmul
from .world_axes import WAY, put_world_axes

W_COMPOSITE_AXES, W_COMPOSITE_WAY = W_P, W_P + WAY  # E and the way, in the place of the articulated inertia


@inline
def put_composites(block, q, begins, leaves, work):
    """E, way, and the composite inertias (s and J) of all nodes; `begins` and `leaves`: see :mod:`.world_axes`."""
    put_world_axes(block, q, W_COMPOSITE_AXES, begins, leaves, work)
    n = whole(block, N_NODES)
    for i in range(n):
        c, w = node_row(i), work_row(i)
        put3(work, w + W_MOMENT, get3(block, c + MOMENT))
        put6(work, w + W_R, get6(block, c + INERTIA))
    for i in range(n - 1, -1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        if k >= 0:
            case, m, s, J = (whole(block, c + CASE), get(block, c + SUBTREE_MASS), get3(work, w + W_MOMENT),
                             get6(work, w + W_R))
            if case == CHAINED:
                add_composite(work_row(k), in_line(block, c, w, m, s, J, work), work)
            elif case == CHAINED_LEAF:  # whose centre of mass is on its x axis
                add_composite(work_row(k), in_line(block, c, w, m, (s[0], 0.0, 0.0), J, work), work)
            elif case == BRANCH_LEAF:
                add_composite(work_row(k), beside(block, c, w, m, (s[0], 0.0, 0.0), J, work), work)
            elif case < OTHER:
                add_composite(work_row(k), beside(block, c, w, m, s, J, work), work)
            else:
                add_composite(work_row(k), rigid_to_parent(get_frame(work, w + W_G), m, s, J), work)


@inline
def in_line(block, c, w, m, s, J, work):
    """s and J of a chained hinge in the frame of its parent."""
    s, J = shift_along_z(get(block, c + ALONG_Z), m, s, J)
    s, J = tilted(block, c, w, s, J, work)
    return shift_along_x(get(block, c + ALONG_X), m, s, J)


@inline
def beside(block, c, w, m, s, J, work):
    """The same of a hinge at any place."""
    s, J = tilted(block, c, w, s, J, work)
    cs, ss = get(block, c + SPIN), get(block, c + SPIN + 1)
    return shift_rigid(get3(block, c + PLACE_RHO), m, turn_z(cs, ss, s), sturn_z(cs, ss, J))


@inline
def shift_along_z(z, m, s, J):
    """First moment and inertia of a rigid body about a point at -z on the z axis. This and the next one save 3.5 % of
    the operations of the mass matrix of a chain of 30, beside `shift_rigid` with literal zeros."""
    a = fma(m, z, s[2])
    spread = z * (s[2] + a)
    return (s[0], s[1], a), (J[0] + spread, J[1], fma(-z, s[0], J[2]), J[3] + spread, fma(-z, s[1], J[4]), J[5])


@inline
def shift_along_x(x, m, s, J):
    """The same on the x axis."""
    a = fma(m, x, s[0])
    spread = x * (s[0] + a)
    return (a, s[1], s[2]), (J[0], fma(-x, s[1], J[1]), fma(-x, s[2], J[2]), J[3] + spread, J[4], J[5] + spread)


@inline
def tilted(block, c, w, s, J, work):
    """s and J of a hinge without its turn and its tilt."""
    co, si, ct, st = get(work, w + W_TURN), get(work, w + W_TURN + 1), get(block, c + TILT), get(block, c + TILT + 1)
    return turn_x(ct, st, turn_z(co, si, s)), sturn_x(ct, st, sturn_z(co, si, J))


@inline
def add_composite(w, composite, work):
    """Add first moment and inertia to those of a row."""
    add_to3(work, w + W_MOMENT, composite[0])
    add_to6(work, w + W_R, composite[1])


@inline
def dof_momentum(block, i, a, work):
    """Mc e of the a-th dof of node i, in world axes at the node's origin."""
    c, w, at = node_row(i), work_row(i), work_row(whole(block, N_NODES)) + W_PHI
    put_momentum(block, c, a, get(block, c + SUBTREE_MASS), get3(work, w + W_MOMENT), get6(work, w + W_R), at, work)
    (f, t), E = get_pair(work, at), get33(work, w + W_COMPOSITE_AXES)
    return (tmul(E, f), tmul(E, t))
