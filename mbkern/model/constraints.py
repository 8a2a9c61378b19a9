"""Constraints as a user describes them: closed loops, gears, blades, rolling contacts. Plain numbers, immutable.

A constraint is one or more scalar rows a(q, t) u + b(q, t) = 0. `lowered` says what rows those are in the words of the
compiled core (:mod:`mbkern.core.constraint_rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from mbkern.core import constraint_constants as K
from mbkern.model.checks import IDENTITY, ZERO3, Mat3, Vec3
from mbkern.model.drives import Drive, Polynomial

Rows = tuple[tuple[int, int, int], ...]

_LETTERS = "xyz"
#: Kind of a loop -> its rows, for the axis z: (kind of row, number of an axis, of another one).
_POINT = ((K.ALONG, 0, 0), (K.ALONG, 1, 0), (K.ALONG, 2, 0))
_SAME_AXIS = ((K.PERPENDICULAR, 0, 2), (K.PERPENDICULAR, 1, 2))
_SAME_AXES = ((K.PERPENDICULAR, 0, 1), (K.PERPENDICULAR, 0, 2), (K.PERPENDICULAR, 1, 2))
LOOPS: dict[str, Rows] = {
    "point": _POINT,
    "revolute": _POINT + _SAME_AXIS,
    "prismatic": _POINT[:2] + _SAME_AXES,
    "cylindrical": _POINT[:2] + _SAME_AXIS,
    "universal": (*_POINT, (K.PERPENDICULAR, 2, 0)),
    "weld": _POINT + _SAME_AXES,
    "distance": ((K.DISTANCE, 0, 0),),
    "point-on-line": _POINT[:2],
    "point-on-plane": ((K.ALONG, 2, 1),),
    "plane": ((K.ALONG, 2, 1), *_SAME_AXIS),
    "orientation": _SAME_AXES,
    "plane-point": _POINT[:2],
    "plane-prismatic": ((K.ALONG, 1, 0), (K.PERPENDICULAR, 0, 1)),
    "plane-weld": (*_POINT[:2], (K.PERPENDICULAR, 0, 1)),
}
#: Kinds that have a length: a distance that must be given, or a height above a plane, 0 by default.
LENGTHS = ("distance", "point-on-plane", "plane")


class Lowered(NamedTuple):
    """A constraint in the words of the core; frames are (axes of the frame -> body, origin in the body)."""

    form: int
    rows: Rows
    body_a: int = -1
    frame_a: tuple[Mat3, Vec3] = (IDENTITY, ZERO3)
    body_b: int = -1
    frame_b: tuple[Mat3, Vec3] = (IDENTITY, ZERO3)
    length: float = 0.0
    tube: float = 0.0
    drive: Drive | None = None
    terms: tuple[tuple[int, float, tuple[float, ...]], ...] = ()  # of gears: place in q, side, polynomial


@dataclass(frozen=True, slots=True)
class Loop:
    """Two frames on two bodies that are to fit: a joint that closes a loop. Made by `ModelBuilder.add_loop`.

    Attributes
    ----------
    name : str
    kind : str
        What is to fit, see `ModelBuilder.add_loop`.
    body_a, body_b : int
        Indices of the bodies, -1 for the world.
    position_a, position_b : (3,) tuples
        Origins of the frames, each in its body's axes, m.
    rotation_a, rotation_b : (3, 3) tuples of rows
        Axes of the frames -> axes of their bodies.
    axis : str
        The axis of the frames that the kind speaks of: "x", "y" or "z".
    length : float or Drive
        Distance of the points, or height of the point above the plane, m.
    """

    name: str
    kind: str
    body_a: int
    body_b: int
    position_a: Vec3
    position_b: Vec3
    rotation_a: Mat3
    rotation_b: Mat3
    axis: str = "z"
    length: float | Drive = 0.0

    holonomic: ClassVar[bool] = True

    @property
    def rows(self) -> int:
        """Number of its scalar rows."""
        return len(LOOPS[self.kind])

    @property
    def row_names(self) -> tuple[str, ...]:
        """What each row keeps at zero, in axes of the frames."""
        return tuple(_row_name(row) for row in _turned(LOOPS[self.kind], self.axis))

    def lowered(self, coordinates: dict[str, int]) -> Lowered:
        """In the words of the core."""
        driven = isinstance(self.length, Drive)
        length = 1.0 if driven else float(self.length)  # type: ignore[arg-type]
        return Lowered(K.GEOMETRIC, _turned(LOOPS[self.kind], self.axis), self.body_a,
                       (self.rotation_a, self.position_a), self.body_b, (self.rotation_b, self.position_b), length,
                       drive=self.length if driven else None)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Gear:
    """A relation between coordinates. Made by `ModelBuilder.add_gear`.

    Attributes
    ----------
    name : str
    coordinate : str
        coordinate = sum of polynomials of the others + offset
    terms : tuple of (name of a coordinate, coefficients c0, c1, ... of a polynomial of it)
    offset : float or Drive
    """

    name: str
    coordinate: str
    terms: tuple[tuple[str, tuple[float, ...]], ...]
    offset: float | Drive = 0.0

    kind: ClassVar[str] = "gear"
    holonomic: ClassVar[bool] = True
    rows: ClassVar[int] = 1

    @property
    def row_names(self) -> tuple[str, ...]:
        """What the row keeps at zero."""
        return (f"{self.coordinate} - f({', '.join(name for name, _ in self.terms)})",)

    @property
    def linear(self) -> bool:
        """Whether the relation is linear, up to a constant or a drive."""
        return all(not any(coefficients[2:]) for _, coefficients in self.terms)

    def lowered(self, coordinates: dict[str, int]) -> Lowered:
        """In the words of the core."""
        driven = isinstance(self.offset, Drive)
        terms = ((coordinates[self.coordinate], 1.0, (0.0, 1.0)),
                 *((coordinates[name], -1.0, coefficients) for name, coefficients in self.terms))
        return Lowered(K.GEAR, ((K.LINEAR, 0, 0),), length=0.0 if driven else float(self.offset),  # type: ignore[arg-type]
                       drive=self.offset if driven else None, terms=terms)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Blade:
    """A point of a body that does not move along one body axis: a skate, a sledge. Made by `ModelBuilder.add_blade`.

    Attributes
    ----------
    name : str
    body, on : int
        Indices of the body and of what it moves on, -1 for the world.
    position : (3,) tuple
        The point, in the body's axes, m.
    rotation : (3, 3) tuple of rows
        Axes of the frame -> axes of the body.
    across : str
        The axis of that frame: "x", "y" or "z".
    """

    name: str
    body: int
    on: int
    position: Vec3
    rotation: Mat3
    across: str = "y"

    kind: ClassVar[str] = "blade"
    holonomic: ClassVar[bool] = False
    rows: ClassVar[int] = 1

    @property
    def row_names(self) -> tuple[str, ...]:
        """What the row keeps at zero."""
        return (f"velocity along {self.across}",)

    def lowered(self, coordinates: dict[str, int]) -> Lowered:
        """In the words of the core."""
        return Lowered(K.GEOMETRIC, ((K.BLADE, _LETTERS.index(self.across), 0),), self.body,
                       (self.rotation, self.position), self.on)


@dataclass(frozen=True, slots=True)
class Rolling:
    """A wheel or ball that rolls on a plane without slipping. Made by `ModelBuilder.add_rolling`.

    Attributes
    ----------
    name : str
    body, on : int
        Indices of the wheel and of the body that has the plane, -1 for the world.
    radius, tube : float
        Of the wheel's middle circle, and of the tube around it, m: a disc has no tube, a ball no circle.
    position, rotation
        Middle of the wheel in its body, m; z of the frame is the wheel's axis.
    plane_position, plane_rotation
        A point of the plane in its body, m; z of the frame is the plane's normal, towards the wheel.
    slips : bool
        Whether it may slip: then only the contact itself is kept.
    """

    name: str
    body: int
    on: int
    radius: float
    tube: float
    position: Vec3
    rotation: Mat3
    plane_position: Vec3
    plane_rotation: Mat3
    slips: bool = False

    kind: ClassVar[str] = "rolling"

    @property
    def holonomic(self) -> bool:
        """Whether all rows are those of positions."""
        return self.slips

    @property
    def rows(self) -> int:
        """Number of its scalar rows."""
        return 1 if self.slips else 3

    @property
    def row_names(self) -> tuple[str, ...]:
        """What each row keeps at zero, in axes of the plane."""
        return ("height of the contact", "slip along x", "slip along y")[:self.rows]

    def lowered(self, coordinates: dict[str, int]) -> Lowered:
        """In the words of the core."""
        rows = ((K.CONTACT, 2, 0), (K.SLIP, 0, 0), (K.SLIP, 1, 0))[:self.rows]
        return Lowered(K.GEOMETRIC, rows, self.body, (self.rotation, self.position), self.on,
                       (self.plane_rotation, self.plane_position), self.radius, self.tube)


@dataclass(frozen=True, slots=True)
class UserRows:
    """Rows a(q, t) u + b(q, t) = 0 that a function of the user fills. Made by `ModelBuilder.add_constraint`.

    Attributes
    ----------
    name : str
    f : njit function
        f(t, q, a, b) fills a (rows, nv) and b (rows), which are zero before.
    rows : int
        Number of its scalar rows.
    position : njit function or None
        position(t, q, g) fills what the rows are time derivatives of, where they are; None: velocities alone.
    """

    name: str
    f: Callable[..., None]
    rows: int = 1
    position: Callable[..., None] | None = None

    kind: ClassVar[str] = "user"

    @property
    def holonomic(self) -> bool:
        """Whether all rows are those of positions."""
        return self.position is not None

    @property
    def row_names(self) -> tuple[str, ...]:
        """Numbers of the rows."""
        return tuple(f"row {k}" for k in range(self.rows))

    def lowered(self, coordinates: dict[str, int]) -> Lowered:
        """In the words of the core."""
        return Lowered(K.USER, ((K.GIVEN, 0, 0),) * self.rows)


Constraint = Loop | Gear | Blade | Rolling | UserRows


def _turned(rows: Rows, axis: str) -> Rows:
    """The rows for another axis in the place of z, the others in cyclic order."""
    shift = _LETTERS.index(axis) + 1
    return tuple([(kind, (i + shift) % 3, j if kind == K.ALONG else (j + shift) % 3) for kind, i, j in rows])


def _row_name(row: tuple[int, int, int]) -> str:
    kind, i, j = row
    if kind == K.ALONG:
        return f"distance along {_LETTERS[i]} of b"
    if kind == K.PERPENDICULAR:
        return f"{_LETTERS[i]} of a times {_LETTERS[j]} of b"
    return "distance"


def prescribed(constraints: Sequence[Constraint]) -> list[Drive]:
    """The drives of all constraints, in the order of their rows in the block."""
    amounts = [getattr(c, "length", getattr(c, "offset", None)) for c in constraints]
    drives = [amount for amount in amounts if isinstance(amount, Drive)]
    if any(isinstance(c, UserRows) for c in constraints):
        drives.append(Polynomial((0.0, 1.0)))  # the time itself, for functions of it
    return drives
