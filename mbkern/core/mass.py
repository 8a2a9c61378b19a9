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
from .joints import eliminate_again, dofs, put_frames, recover
from .layout import (
    DRIVE_VALUES, IS_LEAF, N_DRIVES, N_NODES, PARENT, VI, W_G, W_PHI, W_V,
    add_to_pair, drive_values, get_frame, get_pair, node_row, put_pair, rotors_at, speeds_at, work_row,
)
from .number import get, put, whole
from .rotors import ELIMINATE, R_PHI, SPEEDS, call_rotor, has_rotors
from .spatial import ZERO6, force_to_parent, motion_to_child


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
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        if has_rotors(block, c):
            call_rotor(ELIMINATE, block, work, x, x, i, -1)
            phi = get_pair(work, rotors_at(block) + R_PHI)  # its own is needed once more, for its speeds
        else:
            eliminate_again(block, i, x, work)
            phi = get_pair(work, w + W_PHI)
        if k >= 0:
            add_to_pair(work, work_row(k) + W_PHI, force_to_parent(get_frame(work, w + W_G), phi))
    ground = work_row(n)
    put_pair(work, ground + W_V, ZERO6)
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kw = work_row(k) if k >= 0 else ground
        v = motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_V))
        if has_rotors(block, c):
            put_pair(work, w + W_V, v)
            call_rotor(SPEEDS, block, work, x, x, i, k)
            for j in range(whole(block, c + VI), whole(block, c + VI) + dofs(block, c)):
                put(y, j, get(work, speeds_at(block) + j))
        else:
            recover(block, i, v, y, work)
