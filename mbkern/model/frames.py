"""Where the frames of the nodes lie.

The frame of a node that moves along or about one axis may be turned about this axis and moved along it: nothing that
anybody sees changes. Both are used to make what :mod:`mbkern.core.extended` does for each node cheap.

* A frame with children is turned so that the axis z' of the last child lies in its y-z plane. That child's place is
  then a turn about z', which joins its motion, and a tilt about x.
* If that child is revolute, the frame is moved to where the two axes are nearest. The way from the one frame to the
  other then is a x + d z', without y: the child is *chained*. With parallel axes x points from the one to the other.
* The frame of a revolute node without children is turned and moved so that the centre of mass is on its x axis.

The rows of the block come in as tables, of objects where numbers are arrays over many machines (`Model.vary`). Axes are
the same for all of them, so that their frames are turned alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import plain
from ..core import constants as L
from . import rigid

_turns = plain.load("turns")
_spatial = plain.load("spatial")

Table = np.ndarray
Flags = NDArray[np.bool_]

# What rounding may leave of a zero in a product of rotations.
ROUNDING = 4e-16
# Sine of the smallest angle between two axes whose common perpendicular is used: it is at most 3 offsets away. For
# smaller ones frames would lie far from all bodies, and digits would be lost.
SMALLEST_TILT = 0.3
# How many times larger the inertia of a frame's own bodies may become when the frame is moved away from them to a
# common perpendicular, seen beside what the child brings: as many times larger are the errors of rounding.
LARGEST_SPREAD = 30.0


def choose_frames(nodes: Table, bodies: Table, fixed: Table) -> None:
    """Turn and move the frames, and enter all that follows for nodes and bodies.

    `fixed`: the bodies in the frames; what they are together is in the rows of the nodes already.
    """
    _put_subtree_masses(nodes)
    n, kind, parent = len(nodes), nodes[:, L.KIND].astype(int), nodes[:, L.PARENT].astype(int)
    last = np.full(n + 1, -1)  # the last child; the ground has place -1
    last[parent] = np.arange(n)
    outer = _outermost(nodes, last)
    leaf = outer & (parent >= 0)
    _turn(nodes, bodies, fixed, last, outer)
    chained = _join(nodes, last, leaf)
    _slide(nodes, bodies, fixed, chained, outer)
    node = bodies[:, L.BODY_NODE].astype(int)
    put_sums(nodes, node, fixed)
    _put_tolerances(nodes, node, fixed, last)
    nodes[_bare(nodes) & (last[:-1] >= 0), L.IS_LEAF] = -1.0
    nodes[leaf, L.MOMENT + 1] = nodes[leaf, L.MOMENT + 2] = 0.0  # but for rounding
    hinge = (kind == L.REVOLUTE) & (nodes[:, L.ROTOR] == 0.0)
    inner, beside = hinge & (nodes[:, L.IS_END] == 0.0), nodes[:, L.ROUTE] == L.BESIDE
    nodes[:, L.CASE] = leaf + np.select([hinge & (parent < 0), inner & chained, inner & beside],
                                        [L.ROOT, L.CHAINED, L.BRANCH], L.OTHER)


def put_sums(nodes: Table, node: NDArray[np.int64], fixed: Table) -> Table:
    """Enter mass, first moment and inertia of all that is fixed in each frame; those of what is fixed to the ground."""
    sums = rigid.summed(fixed, node, len(nodes))
    nodes[:, L.MASS:L.INERTIA + 6] = sums[:-1]
    ground: Table = sums[-1]
    return ground


def _put_tolerances(nodes: Table, node: NDArray[np.int64], fixed: Table, last: NDArray[np.int64]) -> None:
    """Enter what rounding may have left of a pivot, as a part of the inertia that it is a pivot of.

    Nothing where no child is eliminated before and no body has an inertia of its own about the axis, as an ideal rod
    along it: the pivot then is m e^2, known as well as the distance e of the centre of mass.
    """
    about = np.full(len(nodes) + 1, 0.0, dtype=fixed.dtype)
    np.add.at(about, node, np.abs(fixed[:, -1]))
    nodes[:, L.TOLERANCE] = _spatial.PIVOT_TOLERANCE
    end = np.flatnonzero((last[:-1] < 0) & ((nodes[:, L.KIND] == L.REVOLUTE) | (nodes[:, L.KIND] == L.SCREW)))
    nodes[end, L.TOLERANCE] = _spatial.PIVOT_TOLERANCE * rigid.greater(about[end], np.zeros(end.size))


def _bare(nodes: Table) -> Flags:
    """Which frames have no bodies of their own."""
    return np.asarray(_are_zero(nodes[:, L.MASS:L.INERTIA + 6]).all(axis=1))


def _put_subtree_masses(nodes: Table) -> None:
    """Mass of each node and of all that it carries."""
    mass, parent = nodes[:, L.MASS].tolist(), nodes[:, L.PARENT].astype(int).tolist()
    for i in range(len(mass) - 1, -1, -1):
        k = parent[i]
        if k >= 0:
            mass[k] = mass[k] + mass[i]  # never in place: it may be an array
    if nodes.dtype == float:
        nodes[:, L.SUBTREE_MASS] = mass
        return
    for i, m in enumerate(mass):
        nodes[i, L.SUBTREE_MASS] = m


def _outermost(nodes: Table, last: NDArray[np.int64]) -> Flags:
    """Which nodes are revolute, without child and rotor, their inertia the same in all machines."""
    alike = _are_numbers(nodes[:, L.MASS:L.INERTIA + 6]).all(axis=1)
    return (last[:-1] < 0) & (nodes[:, L.KIND] == L.REVOLUTE) & (nodes[:, L.ROTOR] == 0.0) & alike


def _turn(nodes: Table, bodies: Table, fixed: Table, last: NDArray[np.int64], outer: Flags) -> None:
    """Turn frames about their own axes."""
    n, kind, parent = len(nodes), nodes[:, L.KIND].astype(int), nodes[:, L.PARENT].astype(int)
    G = nodes[:, L.PLACE_G:L.PLACE_G + 9].astype(float).reshape(n, 3, 3)  # never varied
    cosine, sine = np.ones(n + 1), np.zeros(n + 1)
    carrier = np.flatnonzero((last[:-1] >= 0) & (kind != L.BALL) & (kind != L.FREE))
    spin_c, spin_s, tilt_s = _spin(G[last[carrier]])
    cosine[carrier], sine[carrier] = np.where(tilt_s < 0.0, -spin_c, spin_c), spin_s  # no tilt is negative
    child = last[carrier]
    alike = _are_numbers(nodes[child, L.PLACE_RHO:L.PLACE_RHO + 2]).all(axis=1)
    parallel = child[(kind[child] == L.REVOLUTE) & (np.hypot(G[child, 2, 0], G[child, 2, 1]) < ROUNDING) & alike]
    above = parent[parallel]
    cosine[above], sine[above] = _direction(*nodes[parallel, L.PLACE_RHO:L.PLACE_RHO + 2].astype(float).T)
    cosine[:-1][outer], sine[:-1][outer] = _direction(*nodes[outer, L.MOMENT:L.MOMENT + 2].astype(float).T)
    W = np.zeros((n + 1, 3, 3))
    W[:, 0, 0] = W[:, 1, 1] = cosine
    W[:, 0, 1], W[:, 1, 0], W[:, 2, 2] = sine, -sine, 1.0
    G = W[:-1] @ G @ W[parent].transpose(0, 2, 1)
    G[last[carrier], 2, 0] = 0.0  # but for rounding
    nodes[:, L.PLACE_G:L.PLACE_G + 9] = G.reshape(n, 9)
    spin_c, spin_s, tilt_s = _spin(G)
    nodes[:, L.TURN] = G[:, 0, 0] * spin_c + G[:, 0, 1] * spin_s
    nodes[:, L.TURN + 1] = -(G[:, 1, 0] * spin_c + G[:, 1, 1] * spin_s)
    nodes[:, L.TILT], nodes[:, L.TILT + 1] = G[:, 2, 2], tilt_s
    nodes[:, L.SPIN], nodes[:, L.SPIN + 1] = spin_c, spin_s
    _apply(nodes, L.PLACE_RHO, 3, lambda x: _turns.turn_z(cosine[parent], -sine[parent], x))
    nodes[parallel, L.PLACE_RHO + 1] = 0.0  # but for rounding
    node = bodies[:, L.BODY_NODE].astype(int)
    axes = bodies[:, L.BODY_G:L.BODY_G + 9].astype(float).reshape(-1, 3, 3) @ W[node].transpose(0, 2, 1)
    bodies[:, L.BODY_G:L.BODY_G + 9] = axes.reshape(-1, 9)
    c, s = cosine[node], -sine[node]
    _apply(bodies, L.BODY_RHO, 3, lambda x: _turns.turn_z(c, s, x))
    _apply(fixed, rigid.CENTRE, 3, lambda x: _turns.turn_z(c, s, x))
    _apply(fixed, rigid.INERTIA, 6, lambda x: _turns.sturn_z(c, s, x))


def _spin(G: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cosine and sine of the spin, and the sine of the tilt, in G = Gz(turn) Gx(tilt) Gz(spin)."""
    x, y = G[:, 2, 0], G[:, 2, 1]
    tilt = np.hypot(x, y)
    spins = np.abs(x) > ROUNDING
    tilt = np.where(spins, tilt, 1.0)
    return np.where(spins, -y / tilt, 1.0), np.where(spins, x / tilt, 0.0), np.where(spins, tilt, -y)


def _direction(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of the angle from the x axis to (x, y); 1 and 0 when both vanish."""
    size = np.hypot(x, y)
    there = size > 0.0
    size = np.where(there, size, 1.0)
    return np.where(there, x / size, 1.0), y / size


def _join(nodes: Table, last: NDArray[np.int64], leaf: Flags) -> Flags:
    """Enter how nodes are joined to their parents; which of them are chained."""
    kind, parent = nodes[:, L.KIND].astype(int), nodes[:, L.PARENT].astype(int)
    tilt_c, tilt_s = nodes[:, L.TILT].astype(float), nodes[:, L.TILT + 1].astype(float)
    is_last = last[parent] == np.arange(len(nodes))
    here, no_y = _are_zero(nodes[:, L.PLACE_RHO:L.PLACE_RHO + 3]).all(axis=1), _are_zero(nodes[:, L.PLACE_RHO + 1])
    # no mass does not mean that nothing is there: a body may have inertia alone
    bare = np.append(_bare(nodes), False)[parent]
    in_line = is_last & (nodes[:, L.SPIN + 1] == 0.0) & (kind != L.BALL) & (kind != L.FREE)
    square = in_line & here & bare & (np.abs(tilt_c) < ROUNDING) & (tilt_s > 0.0) & ~leaf
    in_line &= (kind == L.REVOLUTE) | (kind == L.PRISMATIC)
    near = (tilt_s > SMALLEST_TILT) | ((np.abs(tilt_s) < ROUNDING) & no_y)
    may_slide = (kind != L.BALL) & (kind != L.FREE) & ~square
    chained = in_line & ~square & (kind == L.REVOLUTE) & (parent >= 0) & near & may_slide[parent]
    chained[chained] = _keep_digits(nodes, np.flatnonzero(chained))
    in_line &= chained | (kind == L.PRISMATIC) | (~leaf & ~may_slide[parent])  # others: one way for all hinges
    route = np.select([parent < 0, square, in_line], [L.ON_GROUND, L.SQUARE, L.IN_LINE], L.BESIDE)
    nodes[:, L.ROUTE], nodes[:, L.IS_LAST] = route, is_last & (route == L.BESIDE)
    nodes[:, L.IS_LEAF], nodes[:, L.IS_END] = leaf, (last[:-1] < 0) & ~leaf
    return chained


def _perpendicular(nodes: Table, chained: Any) -> tuple[np.ndarray, np.ndarray]:
    """From the frames of the parents and of chained nodes to the common perpendicular, along the axis of each."""
    rho, tilt_c, tilt_s = nodes[:, L.PLACE_RHO:L.PLACE_RHO + 3], nodes[chained, L.TILT], nodes[chained, L.TILT + 1]
    d = -rho[chained, 1] / np.where(tilt_s > SMALLEST_TILT, tilt_s, 1.0)  # parallel axes: 0
    return rho[chained, 2] - tilt_c * d, d


def _keep_digits(nodes: Table, chained: NDArray[np.int64]) -> Flags:
    """Which nodes may be chained so that the frames of their parents stay near enough to heavy bodies of their own."""
    slide, _ = _perpendicular(nodes, chained)
    parents, rho = nodes[nodes[chained, L.PARENT].astype(int)], nodes[chained, L.PLACE_RHO:L.PLACE_RHO + 3]
    m, s, J = parents[:, L.MASS], parents[:, L.MOMENT + 2], parents[:, L.INERTIA:L.INERTIA + 6]
    brought = nodes[chained, L.SUBTREE_MASS] * (rho * rho).sum(axis=1)
    least = m * (J[:, 0] + J[:, 3] + J[:, 5] + brought) - 2.0 * s * s  # m times what they have at least
    excess = 2.0 * (m * slide - s) ** 2 - LARGEST_SPREAD * least
    if excess.dtype == float:
        return excess <= 0.0
    return np.array([bool(np.all(x <= 0.0)) for x in excess], dtype=bool)


def _slide(nodes: Table, bodies: Table, fixed: Table, chained: Flags, outer: Flags) -> None:
    """Move frames along their own axes."""
    parent = nodes[:, L.PARENT].astype(int)
    rho, tilt_c, tilt_s = nodes[:, L.PLACE_RHO:L.PLACE_RHO + 3], nodes[chained, L.TILT], nodes[chained, L.TILT + 1]
    slide = np.full(len(nodes) + 1, 0.0, dtype=nodes.dtype)  # the ground stays
    slide[parent[chained]], d = _perpendicular(nodes, chained)
    heavy = np.flatnonzero(outer)
    heavy = heavy[nodes[heavy, L.MASS].astype(float) > 0.0]
    slide[heavy] = nodes[heavy, L.MOMENT + 2] / nodes[heavy, L.MASS]
    own, others = slide[:-1], ~chained
    nodes[:, L.HOME] = -own
    d = d + own[chained]
    nodes[chained, L.ALONG_X], nodes[chained, L.ALONG_Z] = rho[chained, 0], d
    rho[chained, 1], rho[chained, 2] = -tilt_s * d, tilt_c * d
    for a in range(3):
        rho[others, a] = rho[others, a] + own[others] * nodes[others, L.PLACE_G + 6 + a]
    rho[others, 2] = rho[others, 2] - slide[parent][others]
    along = slide[bodies[:, L.BODY_NODE].astype(int)]
    bodies[:, L.BODY_RHO + 2] = bodies[:, L.BODY_RHO + 2] - along
    fixed[:, rigid.CENTRE + 2] = fixed[:, rigid.CENTRE + 2] - along


def _apply(table: Table, at: int, size: int, change: Any) -> None:
    """Replace columns by what `change` makes of them."""
    for j, column in enumerate(change(table[:, at:at + size].T)):
        table[:, at + j] = column


def _are_numbers(table: Table) -> Flags:
    """Which entries are numbers and no arrays."""
    if table.dtype == float:
        return np.ones(table.shape, bool)
    return np.vectorize(lambda x: not isinstance(x, np.ndarray), otypes=[bool])(table)


def _are_zero(table: Table) -> Flags:
    """Which entries are the number 0."""
    if table.dtype == float:
        return table == 0.0
    return np.vectorize(lambda x: not isinstance(x, np.ndarray) and x == 0.0, otypes=[bool])(table)
