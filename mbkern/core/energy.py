"""Kinetic and potential energy and the Hamiltonian.

    T = sum v^T M v / 2 + sum r u^2 / 2,   Pi = -sum m g . r + sum k (q - rest)^2 / 2,   H = p^T u - T + Pi

r is the position of the centre of mass from the world's origin. Without driven joints H = T + Pi.
"""

from .jit import kernel
from .joints import put_frames
from .layout import (
    ARMATURE, GRAVITY, GROUND_MOMENT, N_NODES, NV, PARENT, REST, SPRING_QI, STIFFNESS, SUBTREE_MASS, W_G, W_MOMENT,
    W_V, coordinate_row, get3, get_frame, get_pair, node_row, work_row,
)
from .momenta import own_momentum, put_velocities
from .number import get, put, whole
from .spatial import dot6
from .vec3 import add, dot, scale, tmul


@kernel
def energy(block, q, p, u, out, work):
    """(T, Pi, H) for joint speeds u; the workspace is as a sweep of "emh-ldl" at (q, p) has left it."""
    n = whole(block, N_NODES)
    put_frames(block, q, work)
    put_velocities(block, u, work)
    g = get3(block, GRAVITY)
    kinetic, potential = 0.0, -dot(g, get3(block, GROUND_MOMENT))
    for i in range(n):
        c, w = node_row(i), work_row(i)
        v = get_pair(work, w + W_V)
        kinetic = kinetic + 0.5 * dot6(v, own_momentum(block, c, v))
        if whole(block, c + PARENT) < 0:
            G, rho = get_frame(work, w + W_G)
            moment = add(tmul(G, get3(work, w + W_MOMENT)), scale(get(block, c + SUBTREE_MASS), rho))
            potential = potential - dot(g, moment)
    power = 0.0
    for j in range(whole(block, NV)):
        row = coordinate_row(block, j)
        rate = get(u, j)
        power = power + get(p, j) * rate
        kinetic = kinetic + 0.5 * get(block, row + ARMATURE) * rate * rate
        qi = whole(block, row + SPRING_QI)
        if qi >= 0:
            stretch = get(q, qi) - get(block, row + REST)
            potential = potential + 0.5 * get(block, row + STIFFNESS) * stretch * stretch
    put(out, 0, kinetic)
    put(out, 1, potential)
    put(out, 2, power - kinetic + potential)
