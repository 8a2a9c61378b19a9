"""Quasi-velocities that have a name: speeds, rates of positions of free joints, angular velocities of bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import constants as L
from ..explain import moving_elements
from ..inputs import Array
from ..system import System
from ..workspace import places
from .functions import Dynamics, QuasiVelocities
from .ignorable import Ignorable, candidates, rotation
from .structure import turns_only

Row = tuple[int, int, int, int]  # speed, quaternion, axis as in `Ignorable`; body of an angular velocity, else -1


@dataclass(frozen=True)
class NamedSpeeds(QuasiVelocities):
    """Quasi-velocities that have a name: speeds, rates of positions of free joints, angular velocities of bodies.

    Attributes
    ----------
    rows : tuple of Row
    block : array
        Of the system.
    """

    rows: tuple[Row, ...] = ()
    block: Any = None

    def __post_init__(self) -> None:
        pass

    def evaluate(self, t: float, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """(Y, Z, rate) at a state."""
        Y, rate = np.zeros((self.count, v.size)), np.zeros(self.count)
        for i, (first, quaternion, axis, body) in enumerate(self.rows):
            three = slice(first, first + 3)
            if body >= 0:
                axes = self._rotation_axes(body, q)
                a, b, c = axes * v[three, None]
                Y[i, three] = axes[:, axis]
                rate[i] = (np.cross(a, b + c) + np.cross(b, c))[axis]
            elif quaternion < 0:
                Y[i, first] = 1.0
            else:
                Y[i, three] = rotation(q[quaternion:quaternion + 4])[axis]
                rate[i] = Y[i, three] @ np.cross(v[first + 3:first + 6], v[three])
        return Y, np.zeros(self.count), rate

    def _rotation_axes(self, body: int, q: Array) -> Array:
        """The axes of the last three rotations before a body, one a row, in body axes."""
        block, at = self.block, places.body_row(self.block, body)
        turned = block[at + L.BODY_G:at + L.BODY_G + 9].reshape(3, 3)
        axes = []
        for node in range(int(block[at + L.BODY_NODE]), int(block[at + L.BODY_NODE]) - 3, -1):
            axes.append(turned[:, 2])
            row = places.node_row(node)
            s, c = np.sin(q[int(block[row + L.QI])]), np.cos(q[int(block[row + L.QI])])
            G = block[row + L.PLACE_G:row + L.PLACE_G + 9].reshape(3, 3)
            turned = turned @ np.array([c * G[0] + s * G[1], c * G[1] - s * G[0], G[2]])
        return np.array(axes[::-1])


def named_speeds(system: System | Dynamics) -> dict[str, Row]:
    """All that may be a quasi-velocity by its name."""
    if isinstance(system, Dynamics):
        return {name: (j, -1, 0, -1) for j, name in enumerate(system.names)}
    model, block = system.model, system.block
    known: dict[str, Row] = {name: (j, -1, 0, -1) for j, name in enumerate(model.speed_names)}
    known.update((entry.name, row_of(entry)) for entry in candidates(system) if entry.quaternion >= 0)
    turning = [turns_only(element) for _, element in moving_elements(model)]
    for body, name in enumerate(model.body_names):
        at = places.body_row(block, body)
        last, first = int(block[at + L.BODY_NODE]), int(block[at + L.FIRST_NODE])
        if last - 2 >= first and all(turning[last - 2:last + 1]):
            vi = int(block[places.node_row(last - 2) + L.VI])
            known.update((f"{name}.w{'xyz'[k]}", (vi, -1, k, body)) for k in range(3))
    return known


def row_of(entry: Ignorable) -> Row:
    """The row of a coordinate's speed."""
    return entry.speed, entry.quaternion, entry.axis, -1
