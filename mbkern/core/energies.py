"""Kinetic and potential energy and the Hamiltonian of a state (q, p).

    T = sum v^T M v / 2 + sum r u^2 / 2,   Pi = -sum m g . c + sum k (q - rest)^2 / 2,   H = p^T u - T + Pi

    c   centre of mass of a body, from the world's origin        k   stiffness of a spring
    r   inertia of the rotors (armature)                         u   joint speeds of the momenta p

Without driven joints p = Mass u, so that T = p^T u / 2 and H = T + Pi. The backward sweep of :mod:`.extended` then is
enough: what it leaves of p is z = p - e^T phi, and with y = z / D

    T = p^T Mass^-1 p / 2 = sum z^T y / 2

dof by dof, which saves the forward sweep. The first moments that Pi needs are those of the nodes on the ground.
"""

from .centroid import moment_about_origin
from .columns import tail
from .extended import backward
from .jit import inline
from .joints import eliminated_energy
from .layout import (
    GRAVITY, HAS_PASSIVE, HAS_ROTORS, N_DRIVES, N_NODES, NV, REST, SPRING_QI, STIFFNESS, W_V, coordinate_row, get3,
    get_pair, node_row, put_pair, speeds_at, work_row,
)
from .momenta import own_momentum
from .number import fma, get, put, whole
from .rotors import armature
from .spatial import ZERO6, dot6
from .speeds import forward
from .vec3 import dot


@inline
def energy(block, q, p, out, work):
    """(T, Pi, H)."""
    backward(block, q, p, work)
    if whole(block, N_DRIVES) == 0 and whole(block, HAS_ROTORS) == 0:
        kinetic = energy_of_momenta(block, p, work)
        power = kinetic + kinetic
    else:
        forward(block, q, p, tail(work, speeds_at(block)), work)
        power, kinetic = energy_of_speeds(block, p, work)
    potential = potential_energy(block, q, work)
    put(out, 0, kinetic)
    put(out, 1, potential)
    put(out, 2, power - kinetic + potential)


@inline
def nothing(block, work):
    """Zero, as a number of the type of the workspace."""
    at = work_row(whole(block, N_NODES)) + W_V
    put_pair(work, at, ZERO6)
    return get(work, at)


@inline
def energy_of_momenta(block, p, work):
    """T of a tree without drives and rotors, from the backward sweep alone."""
    twice = nothing(block, work)
    for i in range(whole(block, N_NODES)):
        twice = twice + eliminated_energy(block, i, p, work)
    return 0.5 * twice


@inline
def energy_of_speeds(block, p, work):
    """p^T u and T; joint speeds and velocities of all nodes are in the workspace."""
    n, u = whole(block, N_NODES), speeds_at(block)
    power = nothing(block, work)
    for j in range(whole(block, NV)):
        power = fma(get(p, j), get(work, u + j), power)
    if whole(block, N_DRIVES) == 0:
        return power, 0.5 * power
    kinetic = nothing(block, work)
    for i in range(n):
        v = get_pair(work, work_row(i) + W_V)
        kinetic = fma(0.5, dot6(v, own_momentum(block, node_row(i), v)), kinetic)
    for j in range(whole(block, NV)):
        rate = get(work, u + j)
        kinetic = fma(0.5 * armature(block, j) * rate, rate, kinetic)
    return power, kinetic


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
