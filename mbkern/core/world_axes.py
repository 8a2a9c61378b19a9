"""Where all nodes are, seen in world axes.

    forward    E = G E_k,   way = E_k^T rho                    axes of the world -> axes of the node; parent -> node

Six-vectors in world axes at the nodes' own origins go from node to node by shifts alone: a third of the operations of
C^T F, and no rounding for positions far from the world's origin.
"""

from .extended import put_turn
from .jit import inline
from .joints import is_driven, put_frame_of
from .layout import (
    ALONG_X, ALONG_Z, CASE, CHAINED, CHAINED_LEAF, IS_END, IS_LEAF, N_NODES, OTHER, PARENT, PLACE_RHO, QI, SPIN, TILT,
    W_G, W_TURN,
    get3, get33, get_frame, node_row, put_frame, work_row,
)
from .number import get, whole
from .spatial import EYE
from .vec3 import ZERO3, add, axpy, matmul, scale, tmul

WAY = 9  # numbers from E to way
# where a way begins: at the parent, at the last node that has dofs, at the world's origin
FROM_PARENT, FROM_DOF, FROM_WORLD = 0, 1, 2


@inline
def put_world_axes(block, q, at, begins, leaves, work):
    """E and way of all nodes at place `at` of their rows; the drive values are in the workspace already.

    A hinge has its turn as well, all other nodes their frames. `begins`: where the way does, FROM_PARENT and so on.
    `leaves`: whether nodes without children have E and way too.
    """
    n = whole(block, N_NODES)
    put_frame(work, work_row(n) + at, (EYE, ZERO3))
    for i in range(n):
        c = node_row(i)
        hinge, placed = whole(block, c + CASE) < OTHER, leaves or not is_outermost(block, c)
        if hinge:
            put_turn(block, c, work_row(i), get(q, whole(block, c + QI)), work)
            if placed:
                place_hinge(block, i, at, begins, work)
        else:
            put_frame_of(block, i, q, work)
            if placed:
                place_other(block, i, at, begins, work)


@inline
def is_outermost(block, c):
    """Whether the node has no children."""
    return whole(block, c + IS_LEAF) > 0 or whole(block, c + IS_END) != 0


@inline
def turned_rows(c, s, a, b):
    """Two rows of axes after a turn in their plane."""
    return axpy(c, a, scale(s, b)), axpy(c, b, scale(-s, a))


@inline
def place_hinge(block, i, at, begins, work):
    """E and way of a hinge."""
    c, w = node_row(i), work_row(i)
    case = whole(block, c + CASE)
    kw = work_row(parent_row(block, i))
    x, y, z = get33(work, kw + at)
    if case == CHAINED or case == CHAINED_LEAF:
        y, z = turned_rows(get(block, c + TILT), get(block, c + TILT + 1), y, z)
        way = axpy(get(block, c + ALONG_X), x, scale(get(block, c + ALONG_Z), z))
        put_turned(block, i, w, x, y, z, way, at, begins, work)
    else:
        way = tmul((x, y, z), get3(block, c + PLACE_RHO))
        x, y = turned_rows(get(block, c + SPIN), get(block, c + SPIN + 1), x, y)
        y, z = turned_rows(get(block, c + TILT), get(block, c + TILT + 1), y, z)
        put_turned(block, i, w, x, y, z, way, at, begins, work)


@inline
def put_turned(block, i, w, x, y, z, way, at, begins, work):
    """E behind the turn of a hinge that would have the axes (x, y, z) without it, and its way."""
    x, y = turned_rows(get(work, w + W_TURN), get(work, w + W_TURN + 1), x, y)
    put_frame(work, w + at, ((x, y, z), add(way, way_before(block, i, at, begins, work))))


@inline
def place_other(block, i, at, begins, work):
    """E and way of a node of any kind."""
    w = work_row(i)
    G, rho = get_frame(work, w + W_G)
    E = get33(work, work_row(parent_row(block, i)) + at)
    put_frame(work, w + at, (matmul(G, E), add(tmul(E, rho), way_before(block, i, at, begins, work))))


@inline
def parent_row(block, i):
    """The parent's number, or that of the row of the ground."""
    k = whole(block, node_row(i) + PARENT)
    return k if k >= 0 else whole(block, N_NODES)


@inline
def way_before(block, i, at, begins, work):
    """The way of the parent where it belongs to that of the node; that of the ground is zero."""
    k = whole(block, node_row(i) + PARENT)
    passes = k >= 0 and (begins == FROM_WORLD or (begins == FROM_DOF and is_driven(block, node_row(k))))
    return get3(work, work_row(k if passes else whole(block, N_NODES)) + at + WAY)
