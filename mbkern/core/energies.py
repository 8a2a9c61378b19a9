"""Kinetic and potential energy and the Hamiltonian of a state (q, p).

    T = sum v^T M v / 2 + sum r u^2 / 2,   Pi = -sum m g . c + sum k (q - rest)^2 / 2,   H = p^T u - T + Pi

    c   centre of mass of a body, from the world's origin        k   stiffness of a spring
    r   inertia of the rotors (armature)                         u   joint speeds of the momenta p

Without driven joints p = Mass u, so that T = p^T u / 2 and H = T + Pi. The first moments that Pi needs are those that
the sweep of :mod:`.speeds` leaves in the nodes on the ground.
"""

from .centroid import moment_about_origin
from .jit import inline
from .layout import (
    GRAVITY, HAS_PASSIVE, N_DRIVES, N_NODES, NV, REST, SPRING_QI, STIFFNESS, W_V,
    coordinate_row, get3, get_pair, node_row, speeds_at, work_row,
)
from .momenta import own_momentum
from .number import fma, get, put, whole
from .rotors import armature
from .spatial import dot6
from .speeds import put_speeds
from .vec3 import dot


@inline
def energy(block, q, p, out, work):
    """(T, Pi, H)."""
    put_speeds(block, q, p, work)
    n, u = whole(block, N_NODES), speeds_at(block)
    power = get(work, work_row(n) + W_V)  # zero, as a number of this type
    for j in range(whole(block, NV)):
        power = fma(get(p, j), get(work, u + j), power)
    kinetic, potential = kinetic_energy(block, power, work), potential_energy(block, q, work)
    put(out, 0, kinetic)
    put(out, 1, potential)
    put(out, 2, power - kinetic + potential)


@inline
def kinetic_energy(block, power, work):
    """T; `power` is p^T u."""
    if whole(block, N_DRIVES) == 0:
        return 0.5 * power
    n, u = whole(block, N_NODES), speeds_at(block)
    kinetic = get(work, work_row(n) + W_V)
    for i in range(n):
        v = get_pair(work, work_row(i) + W_V)
        kinetic = fma(0.5, dot6(v, own_momentum(block, node_row(i), v)), kinetic)
    for j in range(whole(block, NV)):
        rate = get(work, u + j)
        kinetic = fma(0.5 * armature(block, j) * rate, rate, kinetic)
    return kinetic


@inline
def potential_energy(block, q, work):
    """Pi; first moments are in the workspace."""
    g = get3(block, GRAVITY)
    potential = -dot(g, moment_about_origin(block, q, work))
    if whole(block, HAS_PASSIVE) != 0:
        for j in range(whole(block, NV)):
            row = coordinate_row(block, j)
            qi = whole(block, row + SPRING_QI)
            if qi >= 0:
                stretch = get(q, qi) - get(block, row + REST)
                potential = fma(0.5 * get(block, row + STIFFNESS) * stretch, stretch, potential)
    return potential
