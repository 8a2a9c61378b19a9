"""Ignorable coordinates: those on which neither the Lagrangian nor forces or constraints depend.

A coordinate q_I is ignorable when dL/dq_I = 0, no force acts along it and no constraint contains its speed; then its
momentum is constant. dL/dq_I is what Hamilton's equations give as dp_I/dt without forces, so it is evaluated exactly:
no finite differences. The three positions of a free joint count as coordinates, with momenta along fixed axes.

What is found here at some random states is not proven for all: of forces and constraints, which may begin to act later,
every evaluation of reduced Volterra looks again (:mod:`mbkern.core.quasi_ignored`). The Lagrangian of a tree depends on
a coordinate everywhere or nowhere, unless a drive begins to move later: then the shape of the tree must tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import inputs
from ..core import constants as L
from ..core.quasi_ignored import ROUNDING
from ..errors import StateError
from ..explain import moving_elements
from ..inputs import Array
from ..model.checks import several, show
from ..signatures import Load
from ..system import System
from ..workspace import places
from .functions import Constraints, Dynamics
from .of_model import opened
from .structure import reasons_of

TRIALS = 12  # random states at which everything is checked
TIMES = (0.0, 0.37, 0.81)
TOLERANCE = 1e-10  # of the largest force or energy at the state: round-off of the sweeps
QUATERNION = ("a quaternion: its speeds are the angular velocity in body axes, so none of its four numbers is a cyclic "
              "coordinate, and their momenta, in body axes too, change even where the angular momentum is conserved")


@dataclass(frozen=True)
class Ignorable:
    """One ignorable coordinate.

    Attributes
    ----------
    name : str
    why : str
        What makes it ignorable.
    coordinate : int
        Place in q.
    speed : int
        Place of its speed in v; for a position of a free joint, of the first of its three linear speeds.
    quaternion, axis : int
        Of a free joint: where its quaternion is in q and which position (0, 1, 2) this is; else -1 and 0.
    """

    name: str
    why: str
    coordinate: int
    speed: int
    quaternion: int = -1
    axis: int = 0


@dataclass(frozen=True)
class IgnorableReport:
    """Which coordinates are ignorable, and why, or why not.

    Attributes
    ----------
    found : tuple of Ignorable
    others : dict
        Name of each other coordinate, and what depends on it.
    """

    found: tuple[Ignorable, ...]
    others: dict[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the ignorable coordinates."""
        return tuple(entry.name for entry in self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Ignorable]:
        return iter(self.found)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def explain(self) -> str:
        """One line for each coordinate: whether it is ignorable, and why or why not.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder(gravity=(0, 0, 0))
        >>> _ = builder.add_body("stone", joint=mb.ball(), mass=1.0, inertia=(1, 2, 3))
        >>> print(mb.analytic.ignorable(mb.System(builder.build())).explain())
        stone.qw, stone.qx, stone.qy, stone.qz: no; a quaternion: ... in body axes, ...
        """
        return str(self)

    def __str__(self) -> str:
        lines = [f"{entry.name}: ignorable; {entry.why}" for entry in self.found]
        return "\n".join(lines + [f"{name}: no; {why}" for name, why in self.others.items()])


def ignorable(system: System, constraints: Constraints | None = None, forces: Load | None = None) -> IgnorableReport:
    """Find the ignorable coordinates of a system.

    What the tree shows (a translation of everything across gravity, a rotation of everything about a fixed axis along
    gravity, the spin of a symmetric body) explains the answer; all candidates are verified at random states.

    Parameters
    ----------
    system : System
    constraints : Constraints, optional
        Of a model with constraints of its own (loops, gears, ...) these are taken.
    forces : (nv,) numbers or function f(t, q, v, out), optional

    Returns
    -------
    IgnorableReport
        Its `str` is a table of reasons.

    Examples
    --------
    >>> import mbkern as mb
    >>> report = mb.analytic.ignorable(mb.System(mb.zoo.knife_edge_cart()))
    >>> print(report)
    x: ignorable; it moves all that it carries along a fixed direction across gravity
    theta1: no; dL/dq = ... at a random state
    bend: no; dL/dq = ... at a random state
    """
    if not isinstance(system, System):
        raise StateError(f"system: expected a System, got {show(system)}; of M and h functions name the ignorable "
                         "coordinates yourself: Volterra(dynamics, ignorable=[...])")
    if constraints is not None and not isinstance(constraints, Constraints):
        raise StateError(f"constraints: expected mb.analytic.Constraints(f, count), got {show(constraints)}")
    if forces is not None and not callable(forces):
        forces = inputs.vector(forces, "forces", system.model.speed_names)
    system, constraints = opened(system, constraints)
    reasons = reasons_of(system)
    found, others = [], {}
    states = _states(system)
    for entry in candidates(system):
        name = entry.name
        fault = _fault(system, entry, constraints, forces, states, reasons)
        if fault:
            others[name] = fault
        else:
            why = reasons.get(entry.coordinate, f"dL/dq = 0 to rounding at {len(states)} random states")
            if entry.quaternion >= 0:
                why += "; its momentum is along an axis of the frame before the joint, its speeds are in body axes"
            found.append(Ignorable(name, why, entry.coordinate, entry.speed, entry.quaternion, entry.axis))
    for node, (_, element) in enumerate(moving_elements(system.model)):
        if element.quaternion is not None:
            first = int(system.block[places.node_row(node) + L.QUATERNION])
            others[", ".join(system.model.coordinate_names[first:first + 4])] = QUATERNION
    return IgnorableReport(tuple(found), others)


def claimed(system: System | Dynamics, names: Any, constraints: Constraints | None,
            forces: Any) -> tuple[Ignorable, ...]:
    """The ignorable coordinates that a user names, each verified."""
    names = several(names, "ignorable", StateError)
    all_of = {entry.name: entry for entry in candidates(system)}
    chosen: list[Ignorable] = []
    states, reasons = _states(system), reasons_of(system) if isinstance(system, System) else {}
    for name in names:
        if not isinstance(name, str) or name not in all_of:
            raise StateError(f"ignorable: {show(name)} is not one of {', '.join(all_of)}")
        fault = _fault(system, all_of[name], constraints, forces, states, reasons)
        if fault:
            raise StateError(f"ignorable: {name!r} is not ignorable: {fault}; leave it out, or use Kane, which needs "
                             "no ignorable coordinates")
        if all_of[name] in chosen:
            raise StateError(f"ignorable: {name!r} is there twice")
        chosen.append(all_of[name])
    return tuple(chosen)


def candidates(system: System | Dynamics) -> list[Ignorable]:
    """All coordinates that could be ignorable: those of steps, and positions of free joints."""
    if isinstance(system, Dynamics):
        return [Ignorable(name, "named by the user and verified", k, k) for k, name in enumerate(system.names)]
    names, out, model = system.model.coordinate_names, [], system.model
    for node, (_, element) in enumerate(moving_elements(model)):
        row = places.node_row(node)
        qi, vi = int(system.block[row + L.QI]), int(system.block[row + L.VI])
        if element.quaternion is not None:
            out += [Ignorable(names[qi + k], "", qi + k, vi, qi + element.quaternion, k) for k in element.slides]
        elif element.is_coordinate:
            out.append(Ignorable(names[qi], "", qi, vi))
    return out


def whole_free_joints(entries: tuple[Ignorable, ...]) -> set[int]:
    """First speeds of the free joints all of whose positions are among the entries."""
    firsts = [entry.speed for entry in entries if entry.quaternion >= 0]
    return {first for first in firsts if firsts.count(first) == 3}


# ---- verification ----------------------------------------------------------------------------------------------------

State = tuple[float, Array, Array]


def _states(system: System | Dynamics) -> list[State]:
    if isinstance(system, Dynamics):
        rng, m = np.random.default_rng(0), len(system.names)
        return [(TIMES[k % 3], rng.uniform(-1, 1, m), rng.normal(size=m)) for k in range(TRIALS)]
    states = []
    for k in range(TRIALS):
        t = TIMES[k % 3]
        q, v = system.model.random_state(seed=k)
        try:
            system.momenta(q, v, t)
            system.rhs(q, v, t)
        except StateError:  # outside the range of a drive
            continue
        states.append((t, q, v))
    if not states:
        raise StateError(f"ignorable: the system has no value at any of the times {TIMES}: check its drives")
    return states


def _fault(system: System | Dynamics, entry: Ignorable, constraints: Constraints | None, forces: Any,
           states: list[State], reasons: dict[int, str]) -> str:
    """What depends on the coordinate, with a number; empty when nothing does."""
    for t, q, v in states:
        rate, scale = lagrangian_derivative(system, entry, t, q, v)
        if abs(rate) > (1e-7 if isinstance(system, Dynamics) else TOLERANCE) * scale:
            return f"dL/dq = {rate:.3g} at a random state" + ("" if t == 0.0 else f", t = {t:g} s")
        if forces is not None:
            Q = np.zeros(v.size)
            if callable(forces):
                forces(t, q.copy(), v.copy(), Q)
            else:
                Q[:] = forces
            force = momentum_of(entry, q, Q)
            if force != 0.0 and abs(force) > ROUNDING * _size_of_forces(system, entry, t, q, v, Q):
                return f"a force of {force:.3g} acts along it"
        if constraints is not None:
            a, _, _ = constraints.evaluate(t, q, v)
            factors = np.array([momentum_of(entry, q, row) for row in a])
            acting = np.abs(factors) > ROUNDING * np.abs(a).max(axis=1)
            if acting.any():
                i = int(np.argmax(acting))
                return f"constraint {i} contains its speed, with factor {factors[i]:.3g}"
    if isinstance(system, System) and system.block[L.N_DRIVES] and entry.coordinate not in reasons:
        return (f"dL/dq = 0 to rounding at {len(states)} random states, but nothing in the tree shows that the "
                "prescribed motion cannot act on it at another time")
    return ""


def _size_of_forces(system: System | Dynamics, entry: Ignorable, t: float, q: Array, v: Array, Q: Array) -> float:
    """What a force is measured by, see :mod:`mbkern.core.quasi_ignored`."""
    own = slice(entry.speed, entry.speed + (1 if entry.quaternion < 0 else 3))
    h = system.bias(q, v, t) if isinstance(system, Dynamics) else system.inverse_dynamics(q, v, 0.0 * v, t)
    rest = v.copy()
    rest[own] = 0.0
    momentum = np.abs(system.mass_matrix(q, t)[own] * rest).max()
    return float(np.abs(Q).max() + np.abs(h).max() + momentum * np.abs(rest).max())


def lagrangian_derivative(system: System | Dynamics, entry: Ignorable, t: float, q: Array,
                          v: Array) -> tuple[float, float]:
    """dL/dq along the coordinate (springs and dampers included), and the size that it is to be compared with."""
    if isinstance(system, Dynamics):
        # the momentum's rate without accelerations must be h: by differences, M is all there is
        def momentum(e: float) -> float:
            return float(system.momenta(q + e * v, v, t + e)[entry.speed])

        h = system.bias(q, v, t)
        step, weights = 1e-2, {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
        rate = sum(w * (momentum(k * step) - momentum(-k * step)) for k, w in weights.items()) / step
        return rate - float(h[entry.speed]), float(np.abs(h).max() + np.abs(v).max() ** 2 * np.abs(
            system.mass_matrix(q, t)).max())
    p = system.momenta(q, v, t)
    _, pdot = system.rhs(q, p, t)
    scale = float(np.abs(pdot).max() + np.abs(p).max() * np.abs(v).max())
    if entry.quaternion < 0:
        return float(pdot[entry.speed]), scale
    linear, first = slice(entry.speed, entry.speed + 3), entry.speed
    # momenta of a free joint are in body axes: their rate in axes that do not turn with the body
    R = rotation(q[entry.quaternion:entry.quaternion + 4])
    turned = R @ (pdot[linear] + np.cross(v[first + 3:first + 6], p[linear]))
    return float(turned[entry.axis]), scale


def rotation(quaternion: Array) -> Array:
    """Body -> frame before the joint."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def momentum_of(entry: Ignorable, q: Array, p: Array) -> float:
    """The constant momentum of an ignorable coordinate, from q and the momenta p of the speeds."""
    if entry.quaternion < 0:
        return float(p[entry.speed])
    return float(rotation(q[entry.quaternion:entry.quaternion + 4])[entry.axis] @ p[entry.speed:entry.speed + 3])
