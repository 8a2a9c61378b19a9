"""From node to node: velocities and gravity outward, forces inward.

    out   v = C v_k,   g = G g_k                 of a node that stands still in its parent
    in    F_k += C^T F

Of a hinge by turns about coordinate axes and offsets (:mod:`.turns`), 36 operations less both ways together, of all
others by their frames. The turns of hinges and the frames of others are in the workspace already.
"""

from .extended import carried, carried_by_chain
from .jit import inline
from .layout import (
    ALONG_X, ALONG_Z, CASE, CHAINED, CHAINED_LEAF, N_NODES, OTHER, PARENT, PLACE_RHO, SPIN, TILT, W_G, W_GRAVITY, W_PHI,
    W_TURN, W_V,
    add_to_pair, get3, get_frame, get_pair, node_row, put3, put_frame, put_pair, work_row,
)
from .number import get, whole
from .spatial import force_to_parent, motion_to_child, shift_force
from .turns import turn6_x, turn6_z
from .vec3 import mul
from .world_axes import turned_rows


@inline
def put_carried(block, i, work):
    """v and g of node i from those of its parent, as if it stood still; the ground has the row after the last node."""
    c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
    kw, case = work_row(k if k >= 0 else whole(block, N_NODES)), whole(block, c + CASE)
    if case == CHAINED or case == CHAINED_LEAF:
        u, o, g = carried_by_chain(block, c, w, kw, work)
        put_pair(work, w + W_V, (u, o))
        put3(work, w + W_GRAVITY, g)
    elif case < OTHER:
        u, o, g = carried(block, c, w, kw, True, work)
        put_pair(work, w + W_V, (u, o))
        put3(work, w + W_GRAVITY, g)
    else:
        X = get_frame(work, w + W_G)
        put_pair(work, w + W_V, motion_to_child(X, get_pair(work, kw + W_V)))
        put3(work, w + W_GRAVITY, mul(X[0], get3(work, kw + W_GRAVITY)))


@inline
def at_parent(block, i, F, work):
    """C^T F, a force on node i at its parent."""
    c, w, case = node_row(i), work_row(i), whole(block, node_row(i) + CASE)
    if case == CHAINED or case == CHAINED_LEAF:
        F_k = before_turn(block, c, w, shift_force((0.0, 0.0, get(block, c + ALONG_Z)), F), work)
        F_k = shift_force((get(block, c + ALONG_X), 0.0, 0.0), F_k)
    elif case < OTHER:
        F_k = turn6_z(get(block, c + SPIN), get(block, c + SPIN + 1), before_turn(block, c, w, F, work))
        F_k = shift_force(get3(block, c + PLACE_RHO), F_k)
    else:
        F_k = force_to_parent(get_frame(work, w + W_G), F)
    return F_k


@inline
def add_to_parent(block, i, F, work):
    """Add C^T F to the force PHI of node i's parent, if it has one."""
    k = whole(block, node_row(i) + PARENT)
    if k >= 0:
        add_to_pair(work, work_row(k) + W_PHI, at_parent(block, i, F, work))


@inline
def before_turn(block, c, w, F, work):
    """A force in the axes before the turn and the tilt of a hinge."""
    F = turn6_z(get(work, w + W_TURN), get(work, w + W_TURN + 1), F)
    return turn6_x(get(block, c + TILT), get(block, c + TILT + 1), F)


@inline
def put_hinge_frames(block, work):
    """The frames of hinges from their turns."""
    for i in range(whole(block, N_NODES)):
        c, w = node_row(i), work_row(i)
        if whole(block, c + CASE) < OTHER:
            cs, ss, ct, st = (get(block, c + SPIN), get(block, c + SPIN + 1), get(block, c + TILT),
                              get(block, c + TILT + 1))
            x, y = turned_rows(get(work, w + W_TURN), get(work, w + W_TURN + 1), (cs, ss, 0.0), (-ct * ss, ct * cs, st))
            put_frame(work, w + W_G, ((x, y, (st * ss, -st * cs, ct)), get3(block, c + PLACE_RHO)))
