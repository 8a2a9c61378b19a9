"""Nodes without bodies of their own whose pivots may be rounding: at these the kernels look (:mod:`..core.bare`).

Such a node k moves what the elimination of its child i leaves, and its pivot is looked at in every evaluation, unless
the numbers of the machine show once and for all that it is large enough. Its pivot is twice the smallest kinetic energy
at unit rate of k over all rates of what it carries, so at least that of the bodies in the frame of i alone, of mass m
and inertia J about their centre of mass. With s the sine of the angle between the axes of k and i, which is constant,

- both hinges, as in a universal joint: the angular velocity is at least s, and the pivot at least s^2 min(J);
- both prismatic: m s^2;
- i prismatic on a hinge: min(J);
- i a hinge on a prismatic k: m j / (j + m c^2), with j the inertia about a parallel to the axis of i through the centre
  of mass, and c the distance between the two.

It is compared with the inertia that the kernel takes rounding from, at all postures: :func:`_largest_inertia`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import plain
from ..core import constants as L
from ..core.spatial import PIVOT_TOLERANCE

_joints = plain.load("joints")

# A pivot that is at least so many times what rounding may leave needs no look. Roundings add up along a path, and what
# is eliminated below was rounded as well.
SURE = 1e3


def section(nodes: NDArray, room: int = 0) -> list[int]:
    """The section of the block: how many pairs (i, k) there are, then the pairs, then zeros for pairs that are sure.

    k is a node without bodies of its own that gets what i leaves. Empty where no node is such a one. With arrays in
    the finished rows `nodes`, the numbers of many machines, nothing is sure that depends on them, and `room` says how
    many pairs the section of the model itself has room for.
    """
    pairs = _pairs(nodes)
    room = max(room, len(pairs))
    if not room:
        return []
    nodes = _floats(nodes)
    largest = _largest_inertia(nodes)
    kept = [x for i, k in pairs if not _is_sure(nodes, i, k, largest[i]) for x in (i, k)]
    return [len(kept) // 2, *kept, *[0] * (2 * room - len(kept))]


def room_in(block: NDArray) -> int:
    """For how many pairs there is room in the section of a block."""
    begin, end = int(block[L.AT_DOUBTS]), int(block[L.AT_CONSTRAINTS]) or block.size
    return (end - begin - 1) // 2 if begin else 0


def _pairs(nodes: NDArray) -> list[tuple[int, int]]:
    """All children of nodes without bodies of their own, with these; driven ones pass on what they get."""
    bare = (nodes[:, L.IS_LEAF].astype(float) < 0.0).tolist()
    if not any(bare):
        return []
    parent = nodes[:, L.PARENT].astype(int).tolist()
    pairs = []
    for i, k in enumerate(parent):
        while k >= 0 and bare[k] and _joints.is_driven(nodes[k], 0):
            k = parent[k]
        if k >= 0 and bare[k] and not _joints.floats(nodes[k], 0):
            pairs.append((i, k))
    return pairs


def _floats(nodes: NDArray) -> NDArray[np.float64]:
    """The rows with infinity in place of the numbers of many machines."""
    if nodes.dtype == float:
        return nodes
    return np.array([[math.inf if isinstance(x, np.ndarray) else x for x in row] for row in nodes], float)


def _twists(row: NDArray[np.float64]) -> list[Any]:
    """Of each dof of a node, or of its prescribed motion: the linear and the angular part of its twist."""
    return [_joints.twist(row, 0, a) for a in range(max(1, _joints.dofs(row, 0)))]


def _slides(row: NDArray[np.float64]) -> bool:
    """Whether the origin of a node moves with the node."""
    return any(any(linear) for linear, _ in _twists(row))


def _is_single(row: NDArray[np.float64]) -> bool:
    """Whether a node has one dof, which either turns or slides."""
    linear, angular = _twists(row)[0]
    return _joints.dofs(row, 0) == 1 and any(linear) != any(angular)


def _is_sure(nodes: NDArray[np.float64], i: int, k: int, largest: float) -> bool:
    """Whether node i leaves enough to node k, which has no bodies of its own."""
    node, rigid = nodes[i], nodes[i, L.MASS:L.INERTIA + 6]
    if node[L.PARENT] != k or not _is_single(nodes[i]) or not _is_single(nodes[k]) or not np.isfinite(rigid).all():
        return False
    slides, slides_below = _slides(nodes[i]), _slides(nodes[k])
    m, x, y, z, xx, xy, xz, yy, yz, zz = rigid.tolist()
    if m <= 0.0:
        return False
    c = np.array([x, y, z]) / m
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (c @ c * np.eye(3) - np.outer(c, c))
    smallest, about_axis = float(np.linalg.eigvalsh(J)[0]), float(J[2, 2])
    if smallest <= 1e-6 * zz:  # nearly a rod or a point, or all digits went with m c^2
        return False
    sine, subtree = float(node[L.TILT + 1]), float(node[L.SUBTREE_MASS])
    if slides_below:
        pivot = m * sine * sine if slides else m * about_axis / (about_axis + m * (c[0]**2 + c[1]**2))
        return pivot > SURE * PIVOT_TOLERANCE * subtree
    pivot = smallest if slides else smallest * sine * sine
    # the pivot that was eliminated before was rounded as well: that counts at most trace / pivot times
    return pivot > SURE * PIVOT_TOLERANCE * largest * (1.0 + largest / zz)


def _largest_inertia(nodes: NDArray[np.float64]) -> list[float]:
    """A bound for the trace of the inertia of all that a node carries, about its origin, at all postures.

    Infinite where something on the way slides, floats or is a screw, or where machines have numbers of their own.
    """
    parent, slides = nodes[:, L.PARENT].astype(int).tolist(), list(map(_slides, nodes))
    squares = (0.5 * np.abs(nodes[:, [L.INERTIA, L.INERTIA + 3, L.INERTIA + 5]].sum(axis=1))).tolist()  # of m |x|^2
    offset = np.linalg.norm(nodes[:, L.PLACE_RHO:L.PLACE_RHO + 3], axis=1)
    mass = np.maximum(np.sqrt(nodes[:, L.SUBTREE_MASS]), 1e-300)
    carried = (mass * np.maximum(offset, 1e-300)).tolist()  # infinite times 0 is none
    for i in range(len(squares) - 1, -1, -1):
        k = parent[i]
        if k >= 0:  # roots of sums of squares obey the triangle inequality
            squares[k] += math.inf if slides[i] else (math.sqrt(squares[i]) + carried[i])**2
    return [2.0 * x for x in squares]
