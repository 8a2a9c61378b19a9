"""Composite inertias, with all nodes seen in world axes (:mod:`.world_axes`).

    backward   s_k += G^T s + m rho,   Mc_k += C^T Mc C        mass m, first moment s and inertia J of each subtree

Of a hinge G is three turns about coordinate axes (:mod:`.turns`), and is never written down.
"""

from .jit import inline
from .joints import put_momentum
from .layout import (
    CASE, CHAINED, CHAINED_LEAF, INERTIA, MOMENT, N_NODES, OTHER, PARENT, PLACE_RHO, SPIN, SUBTREE_MASS, TILT, W_G,
    W_MOMENT, W_P, W_PHI, W_R, W_TURN,
    add_to3, add_to6, get3, get6, get33, get_frame, get_pair, node_row, put3, put6, work_row,
)
from .number import get, whole
from .spatial import rigid_to_parent, shift_rigid
from .turns import sturn_x, sturn_z, turn_x, turn_z
from .vec3 import tmul
from .world_axes import WAY, put_world_axes

W_AXES, W_WAY = W_P, W_P + WAY  # E and the way, in the place of the articulated inertia


@inline
def put_composites(block, q, passing, work):
    """E, way, and the composite inertias (s and J) of all nodes; `passing`: see :mod:`.world_axes`."""
    put_world_axes(block, q, W_AXES, passing, work)
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
            if case == CHAINED or case == CHAINED_LEAF:
                s, J = tilted(block, c, w, s, J, work)
                add_composite(work_row(k), shift_rigid(get3(block, c + PLACE_RHO), m, s, J), work)
            elif case < OTHER:
                s, J = tilted(block, c, w, s, J, work)
                cs, ss = get(block, c + SPIN), get(block, c + SPIN + 1)
                s, J = turn_z(cs, ss, s), sturn_z(cs, ss, J)
                add_composite(work_row(k), shift_rigid(get3(block, c + PLACE_RHO), m, s, J), work)
            else:
                add_composite(work_row(k), rigid_to_parent(get_frame(work, w + W_G), m, s, J), work)


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
    (f, t), E = get_pair(work, at), get33(work, w + W_AXES)
    return (tmul(E, f), tmul(E, t))
