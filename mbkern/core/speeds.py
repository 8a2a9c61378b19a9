"""From momenta to velocities: joint speeds u and the velocities v of all nodes, for momenta p.

    M v - S^T mu = 0,   -S v + A u = -vr,   A^T mu + r u = p

Ivanov & Shimanovskiy 2023, EMH, by L^T D L (Algorithm 2). The backward sweep is that of :mod:`.extended`, where the
symbols are explained; the forward sweep has no pdot:

    forward    rate = y - U^T (C v_k) / D,   v = C v_k + e rate
"""

from .columns import tail
from .extended import backward, carried, carried_by_chain, revolute_rate
from .jit import inline
from .joints import add_drive_rate, dofs, put_frame_of, recover
from .layout import (
    BRANCH_LEAF, CASE, CHAINED, CHAINED_LEAF, INERTIA, MOMENT, N_NODES, OTHER, PARENT, VI, W_G, W_P, W_V,
    get3, get_frame, get_inertia, get_pair, node_row, put_pair, speeds_at, work_row,
)
from .number import get, put, whole
from .rotors import SPEEDS, call_rotor, has_rotors
from .spatial import ZERO6, column_az, motion_to_child


@inline
def velocities(block, q, p, u, work):
    """Joint speeds u of momenta p; velocities, M* and pivots of all nodes are in the workspace then."""
    backward(block, q, p, work)
    forward(block, q, p, u, work)


@inline
def put_speeds(block, q, p, work):
    """The same with u in the workspace."""
    velocities(block, q, p, tail(work, speeds_at(block)), work)


@inline
def forward(block, q, p, u, work):
    """u and v of all nodes, root first."""
    n = whole(block, N_NODES)
    put_pair(work, work_row(n) + W_V, ZERO6)
    for i in range(n):
        c = node_row(i)
        case, k = whole(block, c + CASE), whole(block, c + PARENT)
        kw = work_row(k if k >= 0 else n)
        if case < OTHER:
            move_hinge(block, i, case, kw, u, work)
        else:
            move_other(block, i, k, kw, q, p, u, work)


@inline
def move_hinge(block, i, case, kw, u, work):
    """Rate and velocity of a hinge; kw: the row of its parent or of the ground."""
    c, w = node_row(i), work_row(i)
    if case == CHAINED:
        a, o, _ = carried_by_chain(block, c, w, kw, work)
        turn(block, c, w, column_az(get_inertia(work, w + W_P)), a, o, u, work)
    elif case == CHAINED_LEAF:
        a, o, _ = carried_by_chain(block, c, w, kw, work)
        turn(block, c, w, leaf_column(block, c), a, o, u, work)
    elif case == BRANCH_LEAF:
        a, o, _ = carried(block, c, w, kw, True, work)
        turn(block, c, w, leaf_column(block, c), a, o, u, work)
    else:
        a, o, _ = carried(block, c, w, kw, True, work)
        turn(block, c, w, column_az(get_inertia(work, w + W_P)), a, o, u, work)


@inline
def leaf_column(block, c):
    """M e of a leaf, whose centre of mass is on its x axis."""
    _, _, z = get3(block, c + INERTIA)
    _, y, zz = get3(block, c + INERTIA + 3)
    return ((0.0, get(block, c + MOMENT), 0.0), (z, y, zz))


@inline
def turn(block, c, w, U, a, o, u, work):
    """Rate and velocity of a hinge that would have the velocity (a, o) if it stood still."""
    rate = revolute_rate(w, U, a, o, work)
    put(u, whole(block, c + VI), rate)
    put_pair(work, w + W_V, (a, (o[0], o[1], o[2] + rate)))


@inline
def move_other(block, i, k, kw, q, p, u, work):
    """The same for a node of any kind; k: its parent."""
    c, w = node_row(i), work_row(i)
    put_frame_of(block, i, q, work)
    v = motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_V))
    if has_rotors(block, c):
        put_pair(work, w + W_V, v)
        call_rotor(SPEEDS, block, work, p, p, i, k)
        for j in range(whole(block, c + VI), whole(block, c + VI) + dofs(block, c)):
            put(u, j, get(work, speeds_at(block) + j))
    else:
        recover(block, i, v, u, work)
        add_drive_rate(block, c, w + W_V, work)
