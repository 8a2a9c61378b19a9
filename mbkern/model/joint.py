"""Joints: sequences of elementary steps, and unit-quaternion joints.

A step rotates about, or translates along, a unit axis of the current frame, starting from the joint frame in
the parent and ending in the body frame. Its amount is a generalized coordinate, a constant, or a prescribed
function of time. Ball and free joints without singular positions carry a unit quaternion instead of angles
and may stand in the sequence like a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from mbkern.errors import ModelError
from mbkern.model import checks
from mbkern.model.checks import Vec3
from mbkern.model.drives import Drive

DEEPEST = 100  # of lists of steps in one another

Axis: TypeAlias = str | Sequence[float]
Amount: TypeAlias = float | Drive | None

MAX_FREEDOMS = 6


@dataclass(frozen=True, slots=True)
class Step:
    """One rotation or translation; made by `rotate` and `translate`.

    Attributes
    ----------
    move : "rotate" or "translate"
    axis : (3,) tuple
        Unit vector in the current frame.
    amount : None, float or Drive
        None: a generalized coordinate. A number: constant. A drive: prescribed in time. In rad or m.
    name : str or None
        Name of the coordinate.
    """

    move: Literal["rotate", "translate"]
    axis: Vec3
    amount: Amount = None
    name: str | None = None

    def __post_init__(self) -> None:
        if self.move not in ("rotate", "translate"):
            raise ModelError(f"step: move must be 'rotate' or 'translate', got {checks.show(self.move)}")
        object.__setattr__(self, "axis", checks.axis(self.axis, f"{self.move}: axis"))
        if self.amount is not None and not isinstance(self.amount, Drive):
            object.__setattr__(self, "amount", _constant(self.amount, self.move))
        _check_name(self.name, self.move)

    @property
    def is_coordinate(self) -> bool:
        """Whether the amount is a generalized coordinate."""
        return self.amount is None

    @property
    def is_driven(self) -> bool:
        """Whether the amount is a prescribed function of time."""
        return isinstance(self.amount, Drive)

    @property
    def is_constant(self) -> bool:
        """Whether the amount is a fixed number."""
        return not (self.is_coordinate or self.is_driven)

    @property
    def nq(self) -> int:
        """Configuration numbers: 1 for a coordinate, else 0."""
        return int(self.is_coordinate)

    @property
    def nv(self) -> int:
        """Freedoms: 1 for a coordinate, else 0."""
        return int(self.is_coordinate)

    def __str__(self) -> str:
        axis = next((name for name, unit in checks.AXES.items() if unit == self.axis), None)
        direction = axis or "({:g}, {:g}, {:g})".format(*self.axis)
        if self.is_coordinate:
            return f"{self.move} {direction}"
        amount = f"{type(self.amount).__name__.lower()}(t)" if self.is_driven else f"{self.amount:g}"
        return f"{self.move} {direction} by {amount}"


@dataclass(frozen=True, slots=True)
class Ball:
    """Three rotational freedoms on a unit quaternion (w, x, y, z), body -> parent; made by `ball`."""

    name: str | None = None

    def __post_init__(self) -> None:
        _check_name(self.name, "ball")

    @property
    def nq(self) -> int:
        """Configuration numbers: 4."""
        return 4

    @property
    def nv(self) -> int:
        """Freedoms: 3, the angular velocity in body axes."""
        return 3

    def __str__(self) -> str:
        return "ball"


@dataclass(frozen=True, slots=True)
class Free:
    """Six freedoms: position, then a unit quaternion (w, x, y, z), body -> parent; made by `free`."""

    name: str | None = None

    def __post_init__(self) -> None:
        _check_name(self.name, "free")

    @property
    def nq(self) -> int:
        """Configuration numbers: 7."""
        return 7

    @property
    def nv(self) -> int:
        """Freedoms: 6, the velocity of the body origin and the angular velocity, both in body axes."""
        return 6

    def __str__(self) -> str:
        return "free"


Element: TypeAlias = Step | Ball | Free


@dataclass(frozen=True, slots=True)
class Joint:
    """A sequence of steps (and quaternion joints) from the joint frame in the parent to the body frame.

    Parameters
    ----------
    elements : step, joint, or any nested list of them
        In the order in which they are applied; at most six freedoms together.
    kind : str
        A word for people to read. Joints with the same elements are equal whatever their kind.

    Attributes
    ----------
    nq, nv : int
        Configuration numbers and freedoms.

    Examples
    --------
    >>> import mbkern as mb
    >>> arm = mb.model.joint.Joint([mb.translate("z", 0.3), mb.revolute("x")])
    >>> arm.nv
    1
    >>> print(arm)
    custom [translate z by 0.3, rotate x]
    """

    elements: tuple[Element, ...]
    kind: str = field(default="custom", compare=False)
    nq: int = field(init=False, repr=False, compare=False)
    nv: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        elements = tuple(_flatten(self.elements))
        freedoms = sum(element.nv for element in elements)
        if freedoms > MAX_FREEDOMS:
            raise ModelError(
                f"joint: at most {MAX_FREEDOMS} freedoms between two bodies, got {freedoms} "
                f"({', '.join(map(str, elements))}); put a massless body between two joints"
            )
        object.__setattr__(self, "elements", elements)
        object.__setattr__(self, "kind", checks.label(self.kind, "joint: kind"))
        object.__setattr__(self, "nq", sum(element.nq for element in elements))
        object.__setattr__(self, "nv", freedoms)

    def __str__(self) -> str:
        return f"{self.kind} [{', '.join(map(str, self.elements))}]" if self.elements else self.kind


def as_joint(value: Any) -> Joint:
    """`value` as a joint: a joint itself, a step, or a list of steps and joints; None is a weld."""
    if isinstance(value, Joint):
        return value
    return weld() if value is None else Joint(value)


def rotate(axis: Axis, amount: Amount = None, name: str | None = None) -> Step:
    """One rotation about an axis of the current frame.

    Parameters
    ----------
    axis : "x", "y", "z" or 3 numbers
        The axis in the current frame, of any non-zero length.
    amount : None, float or Drive
        None for a generalized coordinate, a constant angle in rad, or a prescribed angle x(t).
    name : str, optional
        Name of the coordinate; by default it is named after the body.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.rotate((0, 0, 2)).axis
    (0.0, 0.0, 1.0)
    >>> mb.rotate("x", 0.5).is_constant
    True
    """
    return Step("rotate", axis, amount, name)  # type: ignore[arg-type]  # the axis becomes a unit vector


def translate(axis: Axis, amount: Amount = None, name: str | None = None) -> Step:
    """One translation along an axis of the current frame.

    Parameters
    ----------
    axis : "x", "y", "z" or 3 numbers
        The direction in the current frame, of any non-zero length.
    amount : None, float or Drive
        None for a generalized coordinate, a constant distance in m, or a prescribed distance x(t).
    name : str, optional
        Name of the coordinate; by default it is named after the body.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.translate("z", mb.harmonic(0.1, 2.0)).is_driven
    True
    """
    return Step("translate", axis, amount, name)  # type: ignore[arg-type]  # the axis becomes a unit vector


def revolute(axis: Axis, name: str | None = None) -> Joint:
    """One rotation about an axis fixed in both bodies. Also called hinge.

    Examples
    --------
    >>> import mbkern as mb
    >>> print(mb.revolute("z"))
    revolute [rotate z]
    """
    return Joint((rotate(axis, name=name),), "revolute")


def prismatic(axis: Axis, name: str | None = None) -> Joint:
    """One translation along an axis fixed in both bodies. Also called slider.

    Examples
    --------
    >>> import mbkern as mb
    >>> print(mb.prismatic((1, 0, 0)))
    prismatic [translate x]
    """
    return Joint((translate(axis, name=name),), "prismatic")


def cylindrical(axis: Axis, names: Sequence[str] | None = None) -> Joint:
    """Rotation about an axis, then translation along the same axis.

    Examples
    --------
    >>> import mbkern as mb
    >>> print(mb.cylindrical("z", names=["angle", "height"]))
    cylindrical [rotate z, translate z]
    """
    angle, distance = _names(names, 2, "cylindrical")
    return Joint((rotate(axis, name=angle), translate(axis, name=distance)), "cylindrical")


def universal(a: Axis, b: Axis, names: Sequence[str] | None = None) -> Joint:
    """Rotation about `a`, then about `b` of the frame already turned: a Cardan or Hooke joint.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.universal("x", "y").nv
    2
    """
    first, second = _names(names, 2, "universal")
    return Joint((rotate(a, name=first), rotate(b, name=second)), "universal")


def euler_ball(order: str = "zyx", names: Sequence[str] | None = None) -> Joint:
    """Three rotations about body axes in the given order: a ball joint on angles.

    It has singular positions (for "zyx", the second angle at +-90 degrees); `ball` has none.

    Parameters
    ----------
    order : str
        Three letters out of x, y, z, neighbours different: the axes of the successive rotations, each in the
        frame already turned.
    names : sequence of 3 str, optional
        Names of the coordinates.

    Examples
    --------
    >>> import mbkern as mb
    >>> print(mb.euler_ball("zxz"))
    euler_ball [rotate z, rotate x, rotate z]
    """
    ok = isinstance(order, str) and len(order) == 3 and set(order) <= set("xyz")
    if not ok or order[0] == order[1] or order[1] == order[2]:
        raise ModelError(
            "euler_ball: order must be three of the letters x, y, z with neighbours different, as 'zyx'; "
            f"got {checks.show(order)}"
        )
    labels = _names(names, 3, "euler_ball")
    return Joint(tuple(rotate(a, name=n) for a, n in zip(order, labels, strict=True)), "euler_ball")


def ball(name: str | None = None) -> Joint:
    """A ball joint on a unit quaternion (w, x, y, z), body -> parent: no singular positions.

    Four configuration numbers, three speeds (angular velocity relative to the parent, in body axes).

    Examples
    --------
    >>> import mbkern as mb
    >>> joint = mb.ball()
    >>> joint.nq, joint.nv
    (4, 3)
    """
    return Joint((Ball(name),), "ball")


def planar(normal: Axis, names: Sequence[str] | None = None) -> Joint:
    """Two translations in a plane, then a rotation about its normal.

    Parameters
    ----------
    normal : "x", "y", "z" or 3 numbers
        Normal of the plane. The in-plane axes a, b make (a, b, normal) right-handed: x, y for z; y, z for x;
        z, x for y; for other normals a is the projection of the coordinate axis that follows the normal's
        largest component in the cycle x, y, z.
    names : sequence of 3 str, optional
        Names of the two distances and the angle.

    Examples
    --------
    >>> import mbkern as mb
    >>> print(mb.planar("z"))
    planar [translate x, translate y, rotate z]
    """
    n = checks.axis(normal, "planar: normal")
    largest = max(range(3), key=lambda k: abs(n[k]))
    following = checks.IDENTITY[(largest + 1) % 3]
    along = n[(largest + 1) % 3]
    a = checks.axis([e - along * c for e, c in zip(following, n, strict=True)], "planar: normal")
    b = (n[1] * a[2] - n[2] * a[1], n[2] * a[0] - n[0] * a[2], n[0] * a[1] - n[1] * a[0])
    first, second, angle = _names(names, 3, "planar")
    return Joint((translate(a, name=first), translate(b, name=second), rotate(n, name=angle)), "planar")


def free(name: str | None = None) -> Joint:
    """Six freedoms on position and unit quaternion: a floating base.

    Seven configuration numbers (position of the body origin in the joint frame of the parent, then the
    quaternion (w, x, y, z), body -> parent), six speeds (velocity of the origin, angular velocity; both in
    body axes).

    Examples
    --------
    >>> import mbkern as mb
    >>> joint = mb.free()
    >>> joint.nq, joint.nv
    (7, 6)
    """
    return Joint((Free(name),), "free")


def weld() -> Joint:
    """No freedom: the body is fixed to its parent.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.weld().nv
    0
    """
    return Joint((), "weld")


def _flatten(value: Any, depth: int = 0) -> Iterable[Element]:
    if depth > DEEPEST:
        raise ModelError(f"joint: lists are nested more than {DEEPEST} deep; does one contain itself?")
    if isinstance(value, Step | Ball | Free):
        yield value
    elif isinstance(value, Joint):
        yield from value.elements
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _flatten(entry, depth + 1)
    else:
        raise ModelError(
            "joint: expected steps (rotate, translate), joints (revolute, ball, ...) or a list of them, "
            f"got {checks.show(value)}"
        )


def _names(names: Sequence[str] | None, count: int, what: str) -> Sequence[str | None]:
    if names is None:
        return [None] * count
    if not isinstance(names, list | tuple) or len(names) != count:
        raise ModelError(f"{what}: names must be {count} strings, got {checks.show(names)}")
    return names


def _check_name(name: Any, what: str) -> None:
    if name is not None:
        checks.label(name, f"{what}: name")


def _constant(amount: Any, what: str) -> float:
    try:
        return checks.number(amount, f"{what}: amount")
    except ModelError as error:
        raise ModelError(
            f"{error}. Leave the amount out for a generalized coordinate; a prescribed motion is a drive "
            "(harmonic, polynomial, spline, or drive(f) for a function of your own)"
        ) from None
