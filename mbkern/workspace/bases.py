"""A block prepared for "hzu" and "lagrange-1": the bases of joints whose A is constant in the body's frame.

    L^T A = Q1 R,   Q = (Q1, Y),   Z = L Y,   M = L L^T the body's inertia         see :mod:`mbkern.core.multipliers`

A = X e is constant where one node has all dofs of a joint: X, the body in that node's frame, and the unit twist e are.
The same Householder reflections as in the kernel, here for all bodies at once.
"""

from __future__ import annotations

import numpy as np

from .. import plain
from ..core import constants as L
from ..core.spatial import PIVOT_TOLERANCE
from ..inputs import Array


def with_bases(block: Array) -> Array:
    """The block with a section of bases behind it."""
    at, count = int(block[L.SIZE]), int(block[L.N_BODIES])
    out = np.concatenate((block[:at], np.zeros(count * L.BASIS)))
    out[L.AT_BASES], out[L.SIZE] = at, out.size
    put_bases(out, out[at:].reshape(count, L.BASIS))
    return out


def put_bases(block: Array, bases: Array) -> None:
    """Fill the rows of all bodies whose A is constant."""
    first, end = int(block[L.AT_BODIES]), int(block[L.AT_COORDINATES])
    nodes = block[L.HEADER:first].reshape(-1, L.NODE)
    bodies = block[first:end].reshape(-1, L.BODY)
    dofs, last = bodies[:, L.BODY_DOFS].astype(int), bodies[:, L.BODY_NODE].astype(int)
    moved = bodies[:, L.N_JOINT_NODES] > 0
    for n in range(7):
        rows = np.flatnonzero(dofs == n)
        if n > 0:
            rows = rows[moved[rows]]
            rows = rows[nodes[last[rows], L.DOFS] == n]
        if rows.size:  # welds may have no node
            _put(bases, rows, bodies[rows], nodes[last[rows]] if n else nodes[:0], n)


def _put(bases: Array, rows: np.ndarray, bodies: Array, nodes: Array, n: int) -> None:
    """Bases of some bodies, all of them with n dofs."""
    count = len(rows)
    Q, R = np.tile(np.eye(6), (count, 1, 1)), np.empty((count, n, 6))  # columns one after the other
    margins = np.empty((count, n))
    for j in range(n):
        R[:, j] = transposed_times(bodies, in_body(bodies, twists(nodes, j)))
        margins[:, j] = np.sum(R[:, j] ** 2, axis=1)
    for j in range(n):
        v = R[:, j].copy()
        v[:, :j] = 0.0
        square = np.sum(v * v, axis=1)
        margins[:, j] = square - PIVOT_TOLERANCE * margins[:, j]
        side = np.copysign(np.sqrt(square), v[:, j])
        with np.errstate(all="ignore"):  # a singular inertia: the method refuses the model
            beta = 1.0 / (side * (side + v[:, j]))
        v[:, j] += side
        for i in range(j, n):
            R[:, i] -= (beta * np.sum(v * R[:, i], axis=1))[:, None] * v
        Qv = np.einsum("bi,bik->bk", v[:, j:], Q[:, j:]) * beta[:, None]
        Q[:, j:] -= v[:, j:, None] * Qv[:, None, :]
    bases[rows, L.IS_CONSTANT] = 1.0
    bases[rows, L.BASIS_Q:L.BASIS_Q + 36] = Q.reshape(count, 36)
    bases[rows, L.BASIS_R:L.BASIS_R + 6 * n] = R.reshape(count, 6 * n)
    bases[rows, L.BASIS_MARGINS:L.BASIS_MARGINS + n] = margins
    for a in range(6 - n):
        at = L.BASIS_Z + 6 * a
        bases[rows, at:at + 6] = times(bodies, Q[:, n + a])


def twists(nodes: Array, a: int) -> Array:
    """The unit twist of the a-th dof of each node, by `mbkern.core.joints.twist`; pitch aside that of its kind."""
    twist = plain.load("joints").twist
    e = np.empty((len(nodes), 6))
    for kind in np.unique(nodes[:, L.KIND]):
        some = nodes[:, L.KIND] == kind
        one = nodes[some][0]
        e[some] = np.concatenate(twist(one, 0, a))
        e[some, 2] += nodes[some, L.PITCH] - one[L.PITCH]
    return e


def in_body(bodies: Array, v: Array) -> Array:
    """Velocities of the nodes' frames as those of the bodies' frames."""
    G, rho = bodies[:, L.BODY_G:L.BODY_G + 9].reshape(-1, 3, 3), bodies[:, L.BODY_RHO:L.BODY_RHO + 3]
    moved = v[:, :3] + np.cross(v[:, 3:], rho)
    return np.concatenate([np.einsum("bij,bj->bi", G, moved), np.einsum("bij,bj->bi", G, v[:, 3:])], axis=1)


def transposed_times(bodies: Array, x: Array) -> Array:
    """L^T x."""
    l10, l20, l21 = bodies[:, L.ROOT_INERTIA:L.ROOT_INERTIA + 3].T
    w, roots, c = x[:, 3:], bodies[:, L.ROOTS:L.ROOTS + 4], bodies[:, L.CENTRE:L.CENTRE + 3]
    central = np.stack([w[:, 0] + l10 * w[:, 1] + l20 * w[:, 2], w[:, 1] + l21 * w[:, 2], w[:, 2]], axis=1)
    return np.concatenate([roots[:, :1] * (x[:, :3] + np.cross(w, c)), roots[:, 1:] * central], axis=1)


def times(bodies: Array, y: Array) -> Array:
    """L y."""
    l10, l20, l21 = bodies[:, L.ROOT_INERTIA:L.ROOT_INERTIA + 3].T
    roots, c = bodies[:, L.ROOTS:L.ROOTS + 4], bodies[:, L.CENTRE:L.CENTRE + 3]
    f, z = roots[:, :1] * y[:, :3], roots[:, 1:] * y[:, 3:]
    central = np.stack([z[:, 0], l10 * z[:, 0] + z[:, 1], l20 * z[:, 0] + l21 * z[:, 1] + z[:, 2]], axis=1)
    return np.concatenate([f, central + np.cross(c, f)], axis=1)
