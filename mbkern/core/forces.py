"""Forces in the joints: given ones (tau), linear springs and dampers, and those of spinning rotors.

    pdot_j += tau_j - stiffness_j (q_j - rest_j) - damping_j u_j,   pdot -= Omega(u) (r u) in ball and free joints
"""

from .jit import inline
from .layout import DAMPING, HAS_PASSIVE, NV, REST, SPRING_QI, STIFFNESS, coordinate_row, speeds_at
from .number import fma, get, put, whole
from .rotors import add_rotor_forces


@inline
def add_joint_forces(block, q, tau, pdot, work):
    """Add all of them to pdot; the joint speeds are in the workspace. An empty tau is none."""
    add_applied_forces(block, q, tau, pdot, work)
    add_rotor_forces(block, pdot, work)


@inline
def add_applied_forces(block, q, tau, pdot, work):
    """Add tau, springs and dampers."""
    if tau.shape[0] > 0:
        for j in range(whole(block, NV)):
            put(pdot, j, get(pdot, j) + get(tau, j))
    add_passive_forces(block, q, pdot, work)


@inline
def add_passive_forces(block, q, pdot, work):
    """Add springs and dampers."""
    if whole(block, HAS_PASSIVE) != 0:
        speeds = speeds_at(block)
        for j in range(whole(block, NV)):
            row = coordinate_row(block, j)
            put(pdot, j, fma(-get(block, row + DAMPING), get(work, speeds + j), get(pdot, j)))
            qi = whole(block, row + SPRING_QI)
            if qi >= 0:
                put(pdot, j, fma(-get(block, row + STIFFNESS), get(q, qi) - get(block, row + REST), get(pdot, j)))
