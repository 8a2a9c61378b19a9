"""Hinges in the sweeps of :mod:`.newton_euler`, which has the equations and the symbols.

The frames of hinges lie so that the way to the parent is a turn about z, a tilt about x and offsets along axes
(:mod:`mbkern.model.frames`). Six-vectors go that way turn by turn, and inertias element by element (:mod:`.carry`), as
in :mod:`.extended`: 0.7 of the time of C^T M C with frames (G, rho).
"""

from .carry import beside_inertia, chain_inertia
from .extended import carried, carried_by_chain, leaf_inertia
from .jit import inline
from .joints import put_pivot, put_turning
from .layout import (
    ALONG_X, ALONG_Z, BRANCH, CHAINED, CHAINED_LEAF, INERTIA, IS_END, IS_LAST, MASS, MOMENT, PARENT, PLACE_RHO, ROOT,
    SPIN, TILT, VI, W_DRIFT, W_P, W_PHI, W_TURN, W_V,
    add_to_pair, get3, get6, get_inertia, get_pair, node_row, put_inertia, put_pair, work_row,
)
from .momenta import own_momentum
from .number import get, whole
from .spatial import axpy6, column_az, inertia_times_plus, omega_times, rigid_inertia, shift_force, trace
from .speeds import leaf_column, move_hinge
from .turns import turn6_x, turn6_z


@inline
def put_gyroscopic(block, c, w, v, work):
    """phi = Omega M v of the bodies fixed in the frame of the node at row c."""
    put_pair(work, w + W_PHI, omega_times(v, own_momentum(block, c, v)))


@inline
def begin_inertia(block, i, work):
    """M* of node i before its children add to it."""
    c = node_row(i)
    M = rigid_inertia(get(block, c + MASS), get3(block, c + MOMENT), get6(block, c + INERTIA))
    put_inertia(work, work_row(i) + W_P, M)


@inline
def put_hinge_motion(block, i, case, kw, u, work):
    """v, wr and phi of a hinge; kw: the row of its parent or of the ground."""
    c, w = node_row(i), work_row(i)
    if case == CHAINED or case == CHAINED_LEAF:
        a, o, _ = carried_by_chain(block, c, w, kw, work)
        turn(block, c, w, a, o, get(u, whole(block, c + VI)), work)
    else:
        a, o, _ = carried(block, c, w, kw, True, work)
        turn(block, c, w, a, o, get(u, whole(block, c + VI)), work)


@inline
def turn(block, c, w, a, o, rate, work):
    """The same where (a, o) would be its velocity if it stood still."""
    put_turning(work, w, (a, o), rate, 0.0)
    put_gyroscopic(block, c, w, (a, (o[0], o[1], o[2] + rate)), work)


@inline
def join_hinge(block, i, case, margin, x, work):
    """Eliminate a hinge for joint forces x, and join it to its parent."""
    c, w = node_row(i), work_row(i)
    k = whole(block, c + PARENT)
    if case == CHAINED:
        M = get_inertia(work, w + W_P)
        d, y = pivot(block, c, w, margin, M, x, work)
        chain_inertia(block, c, w, k, M, d, work)
        add_by_chain(block, c, k, left(w, column_az(get_inertia(work, w + W_P)), y, work), work)
    elif case == CHAINED_LEAF:
        M, _ = leaf_inertia(block, i)
        d, y = pivot(block, c, w, margin, M, x, work)
        chain_inertia(block, c, w, k, M, d, work)
        add_by_chain(block, c, k, left(w, leaf_column(block, c), y, work), work)
    elif case == ROOT:
        if whole(block, c + IS_END) != 0:
            begin_inertia(block, i, work)
        pivot(block, c, w, margin, get_inertia(work, w + W_P), x, work)
    else:
        if whole(block, c + IS_LAST) != 0:  # of the children of k it comes first
            begin_inertia(block, k, work)
        if case == BRANCH:
            M = get_inertia(work, w + W_P)
            d, y = pivot(block, c, w, margin, M, x, work)
            beside_inertia(block, c, w, k, M, d, work)
            add_beside(block, c, k, left(w, column_az(get_inertia(work, w + W_P)), y, work), work)
        else:
            M, _ = leaf_inertia(block, i)
            d, y = pivot(block, c, w, margin, M, x, work)
            beside_inertia(block, c, w, k, M, d, work)
            add_beside(block, c, k, left(w, leaf_column(block, c), y, work), work)


@inline
def pivot(block, c, w, margin, M, x, work):
    """1 / D and y of a hinge; phi + M* wr in the place of phi."""
    wr = ((get(work, w + W_DRIFT), get(work, w + W_DRIFT + 1), 0.0),
          (get(work, w + W_DRIFT + 3), get(work, w + W_DRIFT + 4), 0.0))
    phi = inertia_times_plus(M, wr, get_pair(work, w + W_PHI))
    put_pair(work, w + W_PHI, phi)
    return put_pivot(block, c, margin, w, M[2][5], get(x, whole(block, c + VI)) - phi[1][2], trace(M[2]), work)


@inline
def left(w, U, y, work):
    """What the elimination of a hinge leaves of phi, in the axes before its turn."""
    return turn6_z(get(work, w + W_TURN), get(work, w + W_TURN + 1), axpy6(y, U, get_pair(work, w + W_PHI)))


@inline
def add_by_chain(block, c, k, phi, work):
    """Add it to phi of the parent of a chained hinge."""
    x, z, co, si = get(block, c + ALONG_X), get(block, c + ALONG_Z), get(block, c + TILT), get(block, c + TILT + 1)
    phi = turn6_x(co, si, shift_force((0.0, 0.0, z), phi))
    add_to_pair(work, work_row(k) + W_PHI, shift_force((x, 0.0, 0.0), phi))


@inline
def add_beside(block, c, k, phi, work):
    """The same for any place."""
    phi = turn6_x(get(block, c + TILT), get(block, c + TILT + 1), phi)
    phi = turn6_z(get(block, c + SPIN), get(block, c + SPIN + 1), phi)
    add_to_pair(work, work_row(k) + W_PHI, shift_force(get3(block, c + PLACE_RHO), phi))


@inline
def accelerate_hinge(block, i, case, kw, udot, work):
    """udot and w (in the place of v) of a hinge."""
    move_hinge(block, i, case, kw, udot, work)
    add_to_pair(work, work_row(i) + W_V, get_pair(work, work_row(i) + W_DRIFT))
