"""Substitution of other right sides with the pivots of an elimination that is there, node by node, rotors included.

    backward   y = (x - e^T phi) / D,   phi_k += C^T (phi + U y)
    forward    rate = y - U^T (C v_k) / D,   v = C v_k + e rate

in the symbols of :mod:`.extended`; x are momenta, or forces where the rates are accelerations.
"""

from .jit import inline
from .joints import dofs, eliminate_again, recover
from .layout import (
    PARENT, VI, W_G, W_PHI, W_V, add_to_pair, get_frame, get_pair, node_row, put_pair, rotors_at, speeds_at, work_row,
)
from .number import get, put, whole
from .rotors import ELIMINATE, R_PHI, SPEEDS, call_rotor, has_rotors
from .spatial import force_to_parent


@inline
def substitute_backward(block, i, x, work):
    """Eliminate node i for other momenta x, and add what is left of phi to that of its parent."""
    c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
    if has_rotors(block, c):
        call_rotor(ELIMINATE, block, work, x, x, i, -1)
        phi = get_pair(work, rotors_at(block) + R_PHI)  # its own is needed once more, for its speeds
    else:
        eliminate_again(block, i, x, work)
        phi = get_pair(work, w + W_PHI)
    if k >= 0:
        add_to_pair(work, work_row(k) + W_PHI, force_to_parent(get_frame(work, w + W_G), phi))


@inline
def substitute_forward(block, i, carried, x, rates, work):
    """Rates of node i, and its velocity at W_V, where it would have `carried` if it stood still."""
    c, w = node_row(i), work_row(i)
    if has_rotors(block, c):
        put_pair(work, w + W_V, carried)
        call_rotor(SPEEDS, block, work, x, x, i, whole(block, c + PARENT))
        for j in range(whole(block, c + VI), whole(block, c + VI) + dofs(block, c)):
            put(rates, j, get(work, speeds_at(block) + j))
    else:
        recover(block, i, carried, rates, work)
