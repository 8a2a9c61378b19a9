"""The memory of one formulation for compiled code, see :mod:`mbkern.core.quasi`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..callbacks import keep_alive
from ..core import constants as L
from ..core import quasi_layout as C
from ..core import quasi_tree
from ..explain import moving_elements
from ..inputs import Array
from ..lazy import cached_property
from ..system import System
from ..workspace import places
from .functions import Callback, Constraints, Dynamics, QuasiVelocities, callback
from .ignorable import Ignorable, whole_free_joints
from .named import NamedSpeeds

# O(N) sweeps are faster than M itself from LARGE speeds on, and FOR_EACH more for each constraint or ignored coordinate
LARGE, FOR_EACH = 16, 4


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
    pattern : (m,) array of bool for each quasi-velocity, when they are given by a function
        Where Y is not zero.
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
    pattern: Any = None
    callbacks: dict[int, Callback] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Compile the functions, once for all frames."""
        calls, nq, m = self.callbacks, self.nq, self.m
        if isinstance(self.system, Dynamics):
            calls[C.MASS_CALL] = callback("mass", (self.system.M, self.system.N), nq, m, m)
            calls[C.BIAS_CALL] = callback("bias", (self.system.h,), nq, m, 1)
        if self.constraints is not None:
            calls[C.CONSTRAINT_CALL] = callback("matrix", (self.constraints.f,), nq, m, self.constraints.count)
            if self.constraints.rate is not None:
                calls[C.CONSTRAINT_RATE_CALL] = callback("rate", (self.constraints.rate,), nq, m, self.r)
        if isinstance(self.quasi, QuasiVelocities) and not isinstance(self.quasi, NamedSpeeds):
            calls[C.QUASI_CALL] = callback("matrix", (self.quasi.f,), nq, m, self.quasi.count)
            if self.quasi.rate is not None:
                calls[C.QUASI_RATE_CALL] = callback("rate", (self.quasi.rate,), nq, m, self.quasi.count)
        if callable(self.forces):
            calls[C.FORCE_CALL] = callback("force", (self.forces,), nq, m, 1)

    @cached_property
    def template(self) -> Array:
        """What all frames begin with."""
        return _template(self)

    @property
    def r(self) -> int:
        return 0 if self.constraints is None else self.constraints.count

    @property
    def nu(self) -> int:
        return self.quasi.count if isinstance(self.quasi, QuasiVelocities) else len(self.quasi)

    @cached_property
    def ignorable_speeds(self) -> tuple[int, ...]:
        """Speeds that momenta determine, in the order of the coordinates."""
        whole = whole_free_joints(self.ignorable)
        speeds = (entry.speed + entry.axis for entry in self.ignorable if entry.quaternion < 0 or entry.speed in whole)
        return tuple(speeds)

    @cached_property
    def speeds(self) -> tuple[int, ...]:
        """All speeds: first the quasi-velocities (or the speeds that are not ignorable), then those that follow."""
        ignorable = self.ignorable_speeds
        free = (tuple(j for j in range(self.m) if j not in ignorable) if isinstance(self.quasi, QuasiVelocities)
                else self.quasi)
        return (*free, *ignorable, *(j for j in range(self.m) if j not in ignorable and j not in free))

    @cached_property
    def triangular(self) -> bool:
        """Whether S is triangular: no constraints, no ignorable speeds in Y."""
        if self.method < C.KANE or self.r or len(self.ignorable_speeds) != len(self.ignorable):
            return False
        return self.pattern is None or not self.pattern[:, list(self.ignorable_speeds)].any()

    @cached_property
    def singles(self) -> dict[int, int]:
        """Rows of Y with a single number, and the speed that it belongs to."""
        singles: dict[int, int] = {}
        for i, row in enumerate(self.pattern):
            if row.sum() == 1 and int(np.argmax(row)) not in singles.values():
                singles[i] = int(np.argmax(row))
        return singles

    @cached_property
    def diagonal(self) -> bool:
        """Whether M_II is diagonal everywhere: slides across each other, linear speeds of free joints."""
        if isinstance(self.system, Dynamics):
            return not self.ignorable
        slides, block = set(), self.system.block
        for node, (_, element) in enumerate(moving_elements(self.system.model)):
            slides |= {int(block[places.node_row(node) + L.VI]) + k for k in element.slides}
        I = list(self.ignorable_speeds)
        if not slides.issuperset(I):
            return False
        for seed in range(3):
            M = self.system.mass_matrix(self.system.model.random_state(seed=seed)[0])[np.ix_(I, I)]
            if np.abs(M - np.diag(np.diag(M))).max(initial=0.0) > 1e-15 * np.abs(M).max(initial=0.0):
                return False
        return True

    @cached_property
    def rails(self) -> int:
        """How many of the first nodes are slides along ignorable coordinates."""
        if self.method != C.VOLTERRA or isinstance(self.system, Dynamics) or self.rheonomic or self.large:
            return 0
        speeds = {entry.speed for entry in self.ignorable if entry.quaternion < 0}
        block = self.system.block
        for node, (_, element) in enumerate(moving_elements(self.system.model)):
            if element.nv != 1 or not element.slides or block[places.node_row(node) + L.VI] not in speeds:
                return node
        return int(block[L.N_NODES])

    @cached_property
    def large(self) -> bool:
        """Whether O(N) sweeps of the tree take the place of its mass matrix."""
        return isinstance(self.system, System) and self.m >= LARGE + FOR_EACH * (self.r + len(self.ignorable))

    @property
    def linear_size(self) -> int:
        """Numbers that the sweeps of a large tree need, see `mbkern.core.quasi_linear`; vdot is at their end."""
        return (2 * (1 + self.r) + 1) * self.m + self.r * (self.r + 1)

    @property
    def rheonomic(self) -> bool:
        """Whether prescribed motion adds to the momenta."""
        if isinstance(self.system, Dynamics):
            return self.system.N is not None
        return bool(self.system.block[L.N_DRIVES])


def make_frame(setup: Setup) -> Array:
    """A frame; one for each thread or run. It keeps alive what its addresses point at."""
    frame = setup.template.copy()
    frame[C.SELF] = frame.ctypes.data
    alive: list[Any] = list(setup.callbacks.values())
    if isinstance(setup.system, System):
        alive += setup.system.binding.callbacks
    return keep_alive(frame, alive)


def _template(setup: Setup) -> Array:
    """A frame but for its own address."""
    m, nu, r, s = setup.m, setup.nu, setup.r, len(setup.ignorable)
    nd, tree = m - nu, isinstance(setup.system, System)
    sizes = {C.AT_SPEEDS: m, C.AT_IGNORABLE: s * C.IGNORABLE, C.AT_MOMENTA: s, C.AT_ZERO: m, C.AT_M: m * m, C.AT_N: m,
             C.AT_H: m, C.AT_A: r * m + 2 * r, C.AT_Y: nu * m + 2 * nu, C.AT_Q: m, C.AT_V: m, C.AT_ORDER: m,
             C.AT_W: m * nu, C.AT_P: m * nd, C.AT_GAMMA: m, C.AT_B: (s + r) * m, C.AT_C: s + r,
             C.AT_X: (m + r) ** 2, C.AT_E: m * m + m + r, C.AT_F: 2 * m + r, C.AT_REST: m,
             C.AT_PATTERN: 2 * m, C.AT_ROWS: nu * C.IGNORABLE, C.AT_PLACES: m, C.AT_AXES: 3 * setup.rails**2,
             C.AT_LINEAR: setup.linear_size}
    if tree:
        sizes[C.AT_BLOCK] = setup.system.block.size  # type: ignore[union-attr]
        sizes[C.AT_TREE] = setup.system.binding.work_size  # type: ignore[union-attr]
    header, at = np.zeros(C.QUASI_HEADER), C.QUASI_HEADER
    for place, size in sizes.items():
        header[place] = at
        at += size
    frame = np.zeros(at)
    header[C.QUASI_SIZE], header[C.METHOD] = at, setup.method
    header[C.NQ], header[C.NV], header[C.NU], header[C.R], header[C.S] = setup.nq, m, nu, r, s
    header[C.THRESHOLD], header[C.HAS_WORK], header[C.RHEONOMIC] = setup.threshold, setup.track_work, setup.rheonomic
    header[C.RCOND], header[C.OWN_DYNAMICS] = 1.0, not tree
    for place, call in setup.callbacks.items():
        header[place] = call.address
    if tree:
        header[C.MASS_CALL], header[C.BIAS_CALL] = quasi_tree.tree_mass.address, quasi_tree.tree_bias.address
        if setup.large:
            header[C.MASS_CALL], header[C.SOLVE_CALL] = quasi_tree.tree_rows.address, quasi_tree.tree_solve.address
        if setup.nq != m:
            header[C.RATES_CALL] = quasi_tree.tree_rates.address
    frame[:C.QUASI_HEADER] = header

    def part(place: int) -> Array:
        return frame[int(header[place]):int(header[place]) + sizes[place]]

    part(C.AT_SPEEDS)[:] = speeds = setup.speeds
    part(C.AT_ORDER)[:] = order = (*speeds[nu:], *speeds[:nu])
    if setup.triangular:
        frame[C.TRIANGULAR] = C.IN_PLACE if order == tuple(range(m)) else 1
        frame[C.DIAGONAL] = setup.diagonal
    if not isinstance(setup.quasi, QuasiVelocities):
        frame[C.SELECTED] = 1.0
        part(C.AT_W).reshape(m, nu)[list(speeds[:nu])] = np.eye(nu)
    elif setup.triangular:
        singles = setup.singles
        frame[C.N_SINGLE] = len(singles)
        pairs = [number for pair in singles.items() for number in pair]
        rows = [i for i in range(nu) if i not in singles]
        columns = [j for j in speeds[:nu] if j not in singles.values()]
        part(C.AT_PATTERN)[:2 * nu] = [*pairs, *rows, *columns]
        part(C.AT_PLACES)[list(speeds[:nu])] = np.arange(nu)
    if isinstance(setup.quasi, NamedSpeeds):
        frame[C.QUASI_CALL] = quasi_tree.tree_quasi.address
        frame[C.QUASI_RATE_CALL] = quasi_tree.tree_quasi_rates.address
        frame[C.BY_NAME] = 1.0
        part(C.AT_ROWS).reshape(nu, C.IGNORABLE)[:] = setup.quasi.rows
        Y = part(C.AT_Y)[:nu * m].reshape(nu, m)
        for i, (speed, quaternion, _, body) in enumerate(setup.quasi.rows):
            if quaternion < 0 and body < 0:
                Y[i, speed] = 1.0
    table = part(C.AT_IGNORABLE).reshape(s, C.IGNORABLE)
    vanishing = part(C.AT_ZERO)
    for row, entry in zip(table, setup.ignorable, strict=True):
        row[:] = entry.speed, entry.quaternion, entry.axis, -1
        if entry.quaternion < 0:
            vanishing[entry.speed] = 1.0
    for first in whole_free_joints(setup.ignorable):
        vanishing[first:first + 3] = 1.0
    if setup.forces is not None and not callable(setup.forces):
        part(C.AT_Q)[:] = setup.forces
    if isinstance(setup.system, System):
        part(C.AT_BLOCK)[:] = setup.system.block
        frame[C.RAILS] = setup.rails
        _prepare_rails(setup.system, part(C.AT_M).reshape(m, m), part(C.AT_TREE),
                       part(C.AT_AXES).reshape(setup.rails, setup.rails, 3))
    return frame


def _prepare_rails(system: System, M: Array, work: Array, axes: Array) -> None:
    """What is constant of the rails: their part of the mass matrix, their axes, the acceleration -g in these."""
    rails = len(axes)
    if rails == 0:
        return
    block, constant = system.block, system.mass_matrix(system.model.neutral())
    nodes = [block[places.node_row(i):places.node_row(i) + L.NODE] for i in range(rails)]
    speeds = [int(row[L.VI]) for row in nodes]
    M[np.ix_(speeds, speeds)] = constant[np.ix_(speeds, speeds)]
    upward = {-1: -block[L.GRAVITY:L.GRAVITY + 3]}
    for i, row in enumerate(nodes):
        G, k = row[L.PLACE_G:L.PLACE_G + 9].reshape(3, 3), int(row[L.PARENT])
        upward[i] = G @ upward[k]
        at = places.work_row(i) + L.W_W
        work[at:at + 3] = upward[i]
        if k >= 0:
            axes[i] = axes[k] @ G.T
        axes[i, i] = 0.0, 0.0, 1.0


def take(frame: Array, place: int, *shape: int) -> Array:
    """A view of numbers of a frame."""
    at = int(frame[place])
    return frame[at:at + int(np.prod(shape))].reshape(shape)
