"""The memory of one formulation for compiled code, see :mod:`mbkern.core.quasi`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import plain
from ..callbacks import keep_alive
from ..core import quasi as C
from ..core import quasi_tree
from ..inputs import Array
from ..system import System
from .functions import Callback, Constraints, Dynamics, QuasiVelocities, callback
from .ignorable import Ignorable, whole_free_joints

L = plain.load("layout")


@dataclass(frozen=True)
class Setup:
    """All that a formulation is about.

    Attributes
    ----------
    method : int
        LAGRANGE, MAGGI, KANE or VOLTERRA of the core.
    system : System or Dynamics
    nq, m : int
        Coordinates and speeds.
    constraints : Constraints or None
    forces : None, numbers (m) or a function f(t, q, v, out)
    quasi : QuasiVelocities, or indices of the speeds that are the quasi-velocities
    ignorable : tuple of Ignorable
    track_work : bool
    threshold : float
    """

    method: int
    system: System | Dynamics
    nq: int
    m: int
    constraints: Constraints | None
    forces: Any
    quasi: QuasiVelocities | tuple[int, ...]
    ignorable: tuple[Ignorable, ...]
    track_work: bool
    threshold: float
    callbacks: dict[int, Callback] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Compile the functions, once for all frames."""
        calls, nq, m = self.callbacks, self.nq, self.m
        if isinstance(self.system, Dynamics):
            calls[C.MASS_CALL] = callback("mass", (self.system.M, self.system.N), nq, m, m)
            calls[C.BIAS_CALL] = callback("bias", (self.system.h,), nq, m, 1)
        if self.constraints is not None:
            calls[C.CONSTRAINT_CALL] = callback("matrix", (self.constraints.f,), nq, m, self.constraints.count)
        if isinstance(self.quasi, QuasiVelocities):
            calls[C.QUASI_CALL] = callback("matrix", (self.quasi.f,), nq, m, self.quasi.count)
        if callable(self.forces):
            calls[C.FORCE_CALL] = callback("force", (self.forces,), nq, m, 1)

    @property
    def r(self) -> int:
        return 0 if self.constraints is None else self.constraints.count

    @property
    def nu(self) -> int:
        return self.quasi.count if isinstance(self.quasi, QuasiVelocities) else len(self.quasi)

    @property
    def dependent(self) -> tuple[int, ...]:
        """Speeds that are no quasi-velocities; the ignorable ones first, in their order."""
        first = [entry.speed for entry in self.ignorable if entry.quaternion < 0]
        return (*first, *(j for j in range(self.m) if j not in first and j not in self.quasi))  # type: ignore[operator]

    @property
    def ordered(self) -> bool:
        """Whether the quasi-velocities are speeds and all other speeds are ignorable: then M alone decides."""
        return (self.method >= C.KANE and self.r == 0 and not isinstance(self.quasi, QuasiVelocities)
                and all(entry.quaternion < 0 for entry in self.ignorable))

    @property
    def rheonomic(self) -> bool:
        """Whether prescribed motion adds to the momenta."""
        if isinstance(self.system, Dynamics):
            return self.system.N is not None
        return bool(self.system.block[L.N_DRIVES])


def make_frame(setup: Setup) -> Array:
    """A frame; one for each thread or run. It keeps alive what its addresses point at."""
    m, nu, r, s = setup.m, setup.nu, setup.r, len(setup.ignorable)
    nd, tree = m - nu, isinstance(setup.system, System)
    sizes = {C.AT_SPEEDS: m, C.AT_IGNORABLE: s * C.IGNORABLE, C.AT_MOMENTA: s, C.AT_ZERO: m, C.AT_M: m * m, C.AT_N: m,
             C.AT_H: m, C.AT_A: r * m + 2 * r, C.AT_Y: nu * m + 2 * nu, C.AT_Q: m, C.AT_V: m, C.AT_VDOT: m,
             C.AT_W: m * nu, C.AT_P: m * nd, C.AT_GAMMA: m, C.AT_B: (s + r) * m, C.AT_C: s + r,
             C.AT_X: (m + r) ** 2, C.AT_E: m * m + m + r, C.AT_F: 2 * m + r, C.AT_REST: m}
    if tree:
        sizes[C.AT_BLOCK] = setup.system.block.size  # type: ignore[union-attr]
        sizes[C.AT_TREE] = setup.system._work_size  # type: ignore[union-attr]
    header, at = np.zeros(C.HEADER), C.HEADER
    for place, size in sizes.items():
        header[place] = at
        at += size
    frame = np.zeros(at)
    header[C.SIZE], header[C.METHOD], header[C.SELF] = at, setup.method, frame.ctypes.data
    header[C.NQ], header[C.NV], header[C.NU], header[C.R], header[C.S] = setup.nq, m, nu, r, s
    header[C.THRESHOLD], header[C.HAS_WORK], header[C.RHEONOMIC] = setup.threshold, setup.track_work, setup.rheonomic
    header[C.RCOND] = 1.0
    for place, call in setup.callbacks.items():
        header[place] = call.address
    if tree:
        header[C.MASS_CALL], header[C.BIAS_CALL] = quasi_tree.tree_mass.address, quasi_tree.tree_bias.address
        if setup.nq != m:
            header[C.RATES_CALL] = quasi_tree.tree_rates.address
    frame[:C.HEADER] = header

    def part(place: int) -> Array:
        return frame[int(header[place]):int(header[place]) + sizes[place]]

    if not isinstance(setup.quasi, QuasiVelocities):
        frame[C.SELECTED] = 1.0
        part(C.AT_SPEEDS)[:] = [*setup.quasi, *setup.dependent]
        if setup.ordered:
            frame[C.ORDERED] = C.IN_PLACE if (*setup.dependent, *setup.quasi) == tuple(range(m)) else 1
    table = part(C.AT_IGNORABLE).reshape(s, C.IGNORABLE)
    vanishing = part(C.AT_ZERO)
    for row, entry in zip(table, setup.ignorable, strict=True):
        row[C.FIRST], row[C.QUATERNION], row[C.AXIS] = entry.speed, entry.quaternion, entry.axis
        if entry.quaternion < 0:
            vanishing[entry.speed] = 1.0
    for first in whole_free_joints(setup.ignorable):
        vanishing[first:first + 3] = 1.0
    if setup.forces is not None and not callable(setup.forces):
        part(C.AT_Q)[:] = setup.forces
    alive: list[Any] = list(setup.callbacks.values())
    if tree:
        part(C.AT_BLOCK)[:] = setup.system.block  # type: ignore[union-attr]
        alive += setup.system._callbacks  # type: ignore[union-attr]
    return keep_alive(frame, alive)


def take(frame: Array, place: int, *shape: int) -> Array:
    """A view of numbers of a frame."""
    at = int(frame[place])
    return frame[at:at + int(np.prod(shape))].reshape(shape)
