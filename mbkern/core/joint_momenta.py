"""Momenta of given joint speeds, O(N).

    v = Psi_C (A u + vr),   mu = Psi_C^T M v,   p = A^T mu + r u

Psi_C x is one forward sweep (C carries velocities outward), Psi_C^T x one backward sweep (C^T carries momenta inward);
r is the inertia of the rotors (armature).
"""

from .jit import inline
from .joints import put_frames
from .layout import N_NODES, W_PHI, W_V, get_pair, node_row, put_pair, work_row
from .momenta import own_momentum, project_forces, put_velocities
from .number import whole
from .rotors import add_rotors


@inline
def momenta(block, q, u, p, work):
    """Momenta p of joint speeds u."""
    put_frames(block, q, work)
    put_velocities(block, u, work)
    for i in range(whole(block, N_NODES)):
        w = work_row(i)
        put_pair(work, w + W_PHI, own_momentum(block, node_row(i), get_pair(work, w + W_V)))
    project_forces(block, p, work)
    add_rotors(block, u, p)
