"""The inverse of the mass matrix B^T M B + r (rotors on the diagonal), applied in O(N).

By the factorization of Rodriguez, Jain and Kreutz in momentum variables,

    Mass^-1 = [E - K^T Phi_C Psi_beta A] R^-1 [E - A^T Psi_beta^T Phi_C^T K],   R = A^T M* A + r,   K = M* A R^-1

read from the right: a backward sweep (the momenta that reach each joint), R^-1, a forward sweep. M* and its pivots
come from the backward sweep of "emh-ldl", once for any number of right-hand sides.
"""

from .checks import status
from .drives import evaluate_drives
from .extended import backward, begin
from .jit import kernel
from .joints import put_frames
from .layout import (
    DRIVE_VALUES, IS_LEAF, N_DRIVES, N_NODES, PARENT, W_G, W_PHI, W_V,
    drive_values, get_frame, get_pair, node_row, put_pair, work_row,
)
from .number import put, whole
from .spatial import ZERO6, motion_to_child
from .substitution import substitute_backward, substitute_forward


@kernel
def factor(block, t, q, x, work):
    """M* and pivots at (q, t); prescribed motion stands still. x: nv numbers that do not matter. Returns the status."""
    evaluate_drives(block, t, work)
    for d in range(whole(block, N_DRIVES)):
        put(work, drive_values(block, d) + DRIVE_VALUES - 3, 0.0)
    backward(block, q, x, work)
    put_frames(block, q, work)
    for i in range(whole(block, N_NODES)):
        if whole(block, node_row(i) + IS_LEAF) > 0:
            begin(block, i, work)
    return status(block, work)


@kernel
def solve(block, x, y, work):
    """y = Mass^-1 x after `factor`."""
    n = whole(block, N_NODES)
    for i in range(n):
        put_pair(work, work_row(i) + W_PHI, ZERO6)
    for i in range(n - 1, -1, -1):
        substitute_backward(block, i, x, work)
    ground = work_row(n)
    put_pair(work, ground + W_V, ZERO6)
    for i in range(n):
        k = whole(block, node_row(i) + PARENT)
        kw = work_row(k) if k >= 0 else ground
        carried = motion_to_child(get_frame(work, work_row(i) + W_G), get_pair(work, kw + W_V))
        substitute_forward(block, i, carried, x, y, work)
