"""Ignorable coordinates: those on which neither the Lagrangian nor forces or constraints depend.

A coordinate q_I is ignorable when dL/dq_I = 0, no force acts along it and no constraint contains its speed; then its
momentum is constant. dL/dq_I is what Hamilton's equations give as dp_I/dt without forces, so it is evaluated exactly:
no finite differences. The three positions of a free joint count as coordinates, with momenta along fixed axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import inputs
from ..core import constants as L
from ..errors import StateError
from ..explain import moving_elements
from ..inputs import Array
from ..model.checks import show
from ..model.joint import Ball, Free, Step
from ..system import System
from ..workspace import places
from .functions import Constraints, Dynamics, QuasiVelocities

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


def ignorable(system: System, constraints: Constraints | None = None, forces: Any = None) -> IgnorableReport:
    """Find the ignorable coordinates of a system.

    What the tree shows (a translation of everything across gravity, a rotation of everything about a fixed axis along
    gravity, the spin of a symmetric body) explains the answer; all candidates are verified at random states.

    Parameters
    ----------
    system : System
    constraints : Constraints, optional
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
    reasons = _structure(system)
    found, others = [], {}
    states = _states(system)
    for entry in candidates(system):
        name = entry.name
        fault = _fault(system, entry, constraints, forces, states)
        if fault:
            others[name] = fault
        else:
            why = reasons.get(entry.coordinate, f"dL/dq = 0 to rounding at {len(states)} random states")
            if entry.quaternion >= 0:
                why += "; its momentum is along an axis of the frame before the joint, its speeds are in body axes"
            found.append(Ignorable(name, why, entry.coordinate, entry.speed, entry.quaternion, entry.axis))
    for node, (_, element) in enumerate(moving_elements(system.model)):
        if isinstance(element, Ball | Free):
            first = int(system.block[places.node_row(node) + L.QI]) + (3 if isinstance(element, Free) else 0)
            others[", ".join(system.model.coordinate_names[first:first + 4])] = QUATERNION
    return IgnorableReport(tuple(found), others)


def claimed(system: System | Dynamics, names: Any, constraints: Constraints | None,
            forces: Any) -> tuple[Ignorable, ...]:
    """The ignorable coordinates that a user names, each verified."""
    if isinstance(names, str):
        names = [names]
    all_of = {entry.name: entry for entry in candidates(system)}
    chosen = []
    states = _states(system)
    for name in names:
        if name not in all_of:
            raise StateError(f"ignorable: {show(name)} is not one of {', '.join(all_of)}")
        fault = _fault(system, all_of[name], constraints, forces, states)
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
        if isinstance(element, Free):
            out += [Ignorable(names[qi + k], "", qi + k, vi, qi + 3, k) for k in range(3)]
        elif isinstance(element, Step) and element.is_coordinate:
            out.append(Ignorable(names[qi], "", qi, vi))
    return out


def whole_free_joints(entries: tuple[Ignorable, ...]) -> set[int]:
    """First speeds of the free joints all of whose positions are among the entries."""
    firsts = [entry.speed for entry in entries if entry.quaternion >= 0]
    return {first for first in firsts if firsts.count(first) == 3}


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
                Y[i, three] = _rotation(q[quaternion:quaternion + 4])[axis]
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
    for body, name in enumerate(model.body_names):
        at = places.body_row(block, body)
        last, first = int(block[at + L.BODY_NODE]), int(block[at + L.FIRST_NODE])
        nodes = [places.node_row(i) for i in range(last - 2, last + 1)]
        if last - 2 >= first and all(block[row + L.KIND] == L.REVOLUTE for row in nodes):
            vi = int(block[nodes[0] + L.VI])
            known.update((f"{name}.w{'xyz'[k]}", (vi, -1, k, body)) for k in range(3))
    return known


def row_of(entry: Ignorable) -> Row:
    """The row of a coordinate's speed."""
    return entry.speed, entry.quaternion, entry.axis, -1


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
           states: list[State]) -> str:
    """What depends on the coordinate, with a number; empty when nothing does."""
    for t, q, v in states:
        rate, scale = lagrangian_derivative(system, entry, t, q, v)
        if abs(rate) > (1e-7 if isinstance(system, Dynamics) else TOLERANCE) * scale:
            return f"dL/dq = {rate:.3g} at a random state" + ("" if t == 0.0 else f", t = {t:g} s")
        m = v.size
        columns = slice(entry.speed, entry.speed + (1 if entry.quaternion < 0 else 3))
        if forces is not None:
            Q = np.zeros(m)
            if callable(forces):
                forces(t, q.copy(), v.copy(), Q)
            else:
                Q[:] = forces
            if Q[columns].any():
                return f"a force of {Q[columns][np.argmax(np.abs(Q[columns]))]:.3g} acts along it"
        if constraints is not None:
            a, _, _ = constraints.evaluate(t, q, v)
            if a[:, columns].any():
                i, j = np.unravel_index(int(np.argmax(np.abs(a[:, columns]))), a[:, columns].shape)
                return f"constraint {i} contains its speed, with factor {a[:, columns][i, j]:.3g}"
    return ""


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
    R = _rotation(q[entry.quaternion:entry.quaternion + 4])
    turned = R @ (pdot[linear] + np.cross(v[first + 3:first + 6], p[linear]))
    return float(turned[entry.axis]), scale


def _rotation(quaternion: Array) -> Array:
    """Body -> frame before the joint."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def momentum_of(entry: Ignorable, q: Array, p: Array) -> float:
    """The constant momentum of an ignorable coordinate, from q and the momenta p of the speeds."""
    if entry.quaternion < 0:
        return float(p[entry.speed])
    return float(_rotation(q[entry.quaternion:entry.quaternion + 4])[entry.axis] @ p[entry.speed:entry.speed + 3])


# ---- what the tree shows ---------------------------------------------------------------------------------------------


def _structure(system: System) -> dict[int, str]:
    """Reasons by place in q."""
    block, reasons = system.block, {}
    n = int(block[L.N_NODES])
    g = block[L.GRAVITY:L.GRAVITY + 3]
    weight = "without gravity" if not g.any() else "across gravity"
    rows = [block[places.node_row(i):places.node_row(i) + L.NODE] for i in range(n)]
    parents = [int(row[L.PARENT]) for row in rows]
    axes, origins = _neutral(rows, parents)
    for i, row in enumerate(rows):
        kind, qi = int(row[L.KIND]), int(row[L.QI])
        before = _ancestors(i, parents)
        moves_only = all(int(rows[k][L.KIND]) in (L.PRISMATIC, L.DRIVEN_PRISMATIC) for k in before)
        if kind == L.PRISMATIC and moves_only and _across(g, axes[i][2]):
            reasons[qi] = f"it moves all that it carries along a fixed direction {weight}"
        elif kind == L.FREE and moves_only:
            for k in range(3):
                if _across(g, axes[i][k]):
                    reasons[qi + k] = f"it moves all that it carries along a fixed direction {weight}"
        elif kind == L.REVOLUTE:
            axis = axes[i][2]
            if all(_coaxial(rows[k], axes[k][2], origins[k], axis, origins[i]) for k in before) and _along(g, axis):
                reasons[qi] = "it turns all that it carries about a fixed axis" + (" along gravity" if g.any() else "")
            elif i not in parents and _symmetric(row):
                reasons[qi] = "the body that it turns is symmetric about the axis"
    return reasons


def _neutral(rows: list[Array], parents: list[int]) -> tuple[list[Array], list[Array]]:
    """Axes (rows, in the world) and origins of all nodes where all joints are at zero."""
    axes: list[Array] = []
    origins: list[Array] = []
    for row, k in zip(rows, parents, strict=True):
        G, rho = row[L.PLACE_G:L.PLACE_G + 9].reshape(3, 3), row[L.PLACE_RHO:L.PLACE_RHO + 3]
        R, r = (axes[k], origins[k]) if k >= 0 else (np.eye(3), np.zeros(3))
        axes.append(G @ R)
        origins.append(r + R.T @ rho)
    return axes, origins


def _ancestors(i: int, parents: list[int]) -> list[int]:
    out = []
    while parents[i] >= 0:
        i = parents[i]
        out.append(i)
    return out


def _across(g: Array, axis: Array) -> bool:
    return abs(float(g @ axis)) <= 1e-12 * float(np.linalg.norm(g))


def _along(g: Array, axis: Array) -> bool:
    return float(np.linalg.norm(np.cross(g, axis))) <= 1e-12 * float(np.linalg.norm(g))


def _coaxial(row: Array, axis: Array, origin: Array, wanted: Array, at: Array) -> bool:
    """Whether a node before moves along, or turns about, the very axis."""
    if float(np.linalg.norm(np.cross(axis, wanted))) > 1e-12:
        return False
    kind = int(row[L.KIND])
    if kind in (L.PRISMATIC, L.DRIVEN_PRISMATIC):
        return True
    return kind in (L.REVOLUTE, L.DRIVEN_REVOLUTE) and float(np.linalg.norm(np.cross(at - origin, wanted))) < 1e-12


def _symmetric(row: Array) -> bool:
    """Whether the mass fixed in a node's frame is symmetric about its z axis."""
    s, J = row[L.MOMENT:L.MOMENT + 3], row[L.INERTIA:L.INERTIA + 6]
    xx, xy, xz, yy, yz, zz = J
    off = max(abs(s[0]), abs(s[1]), abs(xy), abs(xz), abs(yz), abs(xx - yy))
    return bool(off <= 1e-12 * max(abs(xx), abs(zz), 1e-300))
