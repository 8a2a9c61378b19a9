"""Joints: sequences of elementary steps, and unit-quaternion joints.

A step rotates about, or translates along, a unit axis of the current frame, starting from the joint frame in
the parent and ending in the body frame. Its amount is a generalized coordinate, a constant, or a prescribed
function of time. Ball and free joints without singular positions carry a unit quaternion instead of angles
and may stand in the sequence like a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from mbkern.errors import ModelError
from mbkern.model import checks
from mbkern.model.checks import Vec3
from mbkern.model.drives import Drive
from mbkern.model.rotations import Array, quaternion_matrices, turns

DEEPEST = 100  # of lists of steps in one another

Axis: TypeAlias = str | Sequence[float]
Amount: TypeAlias = float | Drive | None

MAX_DOFS = 6


QUATERNION = (".qw", ".qx", ".qy", ".qz")
POSITION = (".x", ".y", ".z")
LINEAR = (".vx", ".vy", ".vz")
ANGULAR = (".wx", ".wy", ".wz")


class Element:
    """What an element of a joint tells about itself. The rest of the package knows elements by this description only.

    Attributes
    ----------
    move : str
        Its word, in texts and in files.
    name : str or None
    nq, nv : int
        Configuration numbers and dofs.
    axis : (3,) tuple
        Unit vector in the current frame; zero where there is none.
    amount : None, float or Drive
    node : str
        The kind of node that it becomes (:mod:`mbkern.core.layout`); a driven one has DRIVEN_ before it.
    about, along : float
        Of a step: how far it turns about, and moves along, its axis for a unit of the amount (rad, m).
    pitch : float
        Of a twist: how far it moves along its axis for a turn by 1 rad, m; 0 for all others.
    slides : tuple of int
        The dofs that move and do not turn; their coordinates are lengths and have the same places.
    quaternion : int or None
        Where its unit quaternion begins among its configuration numbers.
    coordinate_parts, speed_parts : tuple of str
        What is added to its name to name these numbers.
    fields : tuple of str
        What a file says about it besides its move, in the order of the constructor.
    drawn : tuple of str
        The roles of the shapes that show it (:mod:`mbkern.viz.scene`).
    urdf : str
        The type of joint that URDF has for it; empty where there is none, and `no_urdf` says what to do.
    """

    __slots__ = ()
    move: str
    name: str | None
    nq: int
    nv: int
    axis: Vec3 = checks.ZERO3
    amount: Amount = None
    node: str
    about = along = pitch = 0.0
    slides: tuple[int, ...] = ()
    quaternion: int | None = None
    coordinate_parts: tuple[str, ...] = ("",)
    speed_parts: tuple[str, ...] = ("",)
    fields: tuple[str, ...] = ("name",)
    drawn: tuple[str, ...] = ()
    urdf: str = ""
    no_urdf: str = ""

    @property
    def is_coordinate(self) -> bool:
        """Whether it has generalized coordinates."""
        return self.amount is None

    @property
    def is_driven(self) -> bool:
        """Whether the amount is a prescribed function of time."""
        return isinstance(self.amount, Drive)

    @property
    def is_constant(self) -> bool:
        """Whether the amount is a fixed number."""
        return not (self.is_coordinate or self.is_driven)

    @classmethod
    def made(cls, move: str, **fields: Any) -> Element:
        """The element of that word with these `fields`."""
        return cls(**fields)

    def moved(self, R: Array, r: Array, q: Array, t: Array) -> tuple[Array, Array]:
        """Frames (R, r) of many states after the element has moved them: q its own numbers, a row for each time t."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.move


@dataclass(frozen=True)
class Move:
    """One way to move along or about an axis: what `Element` says of it."""

    node: str
    about: float
    along: float
    drawn: tuple[str, ...]
    urdf: str


MOVES = {
    "rotate": Move("REVOLUTE", 1.0, 0.0, ("revolute",), "revolute"),
    "translate": Move("PRISMATIC", 0.0, 1.0, ("prismatic",), "prismatic"),
    "twist": Move("SCREW", 1.0, 0.0, ("revolute", "prismatic"), ""),  # along: its pitch
}


@dataclass(frozen=True, slots=True)
class Step(Element):
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

    move: Literal["rotate", "translate", "twist"]
    axis: Vec3
    amount: Amount = None
    name: str | None = None
    fields: ClassVar[tuple[str, ...]] = ("axis", "amount", "name")  # type: ignore[misc]

    def __post_init__(self) -> None:
        if not isinstance(self.move, str) or ELEMENTS.get(self.move) is not type(self):
            own = [move for move in MOVES if ELEMENTS[move] is type(self)]
            raise ModelError(f"step: move must be {' or '.join(map(repr, own))}, got {checks.show(self.move)}")
        object.__setattr__(self, "axis", checks.axis(self.axis, f"{self.move}: axis"))
        if self.amount is not None and not isinstance(self.amount, Drive):
            object.__setattr__(self, "amount", _constant(self.amount, self.move))
        _check_name(self.name, self.move)

    @classmethod
    def made(cls, move: str, **fields: Any) -> Step:
        """The step of that word with these `fields`."""
        return cls(move, **fields)  # type: ignore[arg-type]  # the step checks it

    @property
    def nq(self) -> int:  # type: ignore[override]
        """Configuration numbers: 1 for a coordinate, else 0."""
        return int(self.amount is None)

    @property
    def nv(self) -> int:  # type: ignore[override]
        """Dofs: 1 for a coordinate, else 0."""
        return int(self.amount is None)

    @property
    def node(self) -> str:  # type: ignore[override]
        """The kind of node that it becomes."""
        return MOVES[self.move].node

    @property
    def about(self) -> float:  # type: ignore[override]
        """How far it turns about its axis for a unit of the amount, rad."""
        return MOVES[self.move].about

    @property
    def along(self) -> float:  # type: ignore[override]
        """How far it moves along its axis for a unit of the amount, m."""
        return MOVES[self.move].along

    @property
    def slides(self) -> tuple[int, ...]:  # type: ignore[override]
        """The dofs that move and do not turn."""
        return () if self.about or not self.nv else (0,)

    @property
    def drawn(self) -> tuple[str, ...]:  # type: ignore[override]
        """The roles of the shapes that show it."""
        return () if self.is_constant else MOVES[self.move].drawn

    @property
    def urdf(self) -> str:  # type: ignore[override]
        """The type of joint that URDF has for it."""
        return "" if self.is_driven else MOVES[self.move].urdf

    @property
    def no_urdf(self) -> str:  # type: ignore[override]
        """Why URDF has none."""
        return "URDF has no driven joints"

    def moved(self, R: Array, r: Array, q: Array, t: Array) -> tuple[Array, Array]:
        """Frames (R, r) of many states after the step has moved them."""
        if self.amount is None:
            amount = q[:, 0]
        elif isinstance(self.amount, Drive):
            amount = np.array([self.amount(float(time))[0] for time in t])
        else:
            amount = np.full(len(t), self.amount)
        axis = np.array(self.axis)
        if self.along:
            r = r + (self.along * amount)[:, None] * (R @ axis)
        return (R @ turns(axis, self.about * amount) if self.about else R), r

    def __str__(self) -> str:
        axis = next((name for name, unit in checks.AXES.items() if unit == self.axis), None)
        direction = axis or "({:g}, {:g}, {:g})".format(*self.axis)
        if self.is_coordinate:
            return f"{self.move} {direction}"
        amount = f"{type(self.amount).__name__.lower()}(t)" if self.is_driven else f"{self.amount:g}"
        return f"{self.move} {direction} by {amount}"


@dataclass(frozen=True, slots=True)
class Twist(Step):
    """A rotation by the amount and a translation by pitch times the amount along the same axis; made by `twist`.

    Attributes
    ----------
    move : "twist"
    axis, amount, name
        As of a `Step`; the amount in rad.
    pitch : float
        m/rad; negative for a left-handed thread.
    """

    pitch: float = 0.0
    fields = ("axis", "pitch", "amount", "name")  # type: ignore[misc]

    def __post_init__(self) -> None:
        Step.__post_init__(self)
        object.__setattr__(self, "pitch", checks.number(self.pitch, "twist: pitch"))

    @property
    def along(self) -> float:  # type: ignore[override]
        """How far it moves along its axis for a unit of the amount, m."""
        return self.pitch

    @property
    def no_urdf(self) -> str:  # type: ignore[override]
        """Why URDF has none."""
        return "URDF has no driven joints" if self.is_driven else "URDF has no screw joint; save the model as JSON"

    def __str__(self) -> str:
        return f"{Step.__str__(self)} (pitch {self.pitch:g})"


@dataclass(frozen=True, slots=True)
class Ball(Element):
    """Three rotational dofs on a unit quaternion (w, x, y, z), body -> parent; made by `ball`.

    Four configuration numbers; the speeds are the angular velocity in body axes.
    """

    name: str | None = None
    move = "ball"
    nq = 4
    nv = 3
    node = "BALL"
    quaternion = 0
    coordinate_parts = QUATERNION
    speed_parts = ANGULAR
    drawn = ("ball",)
    no_urdf = "URDF has no ball joint; use euler_ball, three rotations"

    def __post_init__(self) -> None:
        _check_name(self.name, "ball")

    def moved(self, R: Array, r: Array, q: Array, t: Array) -> tuple[Array, Array]:
        """Frames (R, r) of many states after the joint has turned them."""
        return R @ quaternion_matrices(q), r

    def __str__(self) -> str:
        return self.move


@dataclass(frozen=True, slots=True)
class Free(Element):
    """Six dofs: position, then a unit quaternion (w, x, y, z), body -> parent; made by `free`.

    Seven configuration numbers; the speeds are the velocity of the body origin and the angular velocity, both in body
    axes.
    """

    name: str | None = None
    move = "free"
    nq = 7
    nv = 6
    node = "FREE"
    slides = (0, 1, 2)
    quaternion = 3
    coordinate_parts = POSITION + QUATERNION
    speed_parts = LINEAR + ANGULAR
    urdf = "floating"

    def __post_init__(self) -> None:
        _check_name(self.name, "free")

    def moved(self, R: Array, r: Array, q: Array, t: Array) -> tuple[Array, Array]:
        """Frames (R, r) of many states after the joint has moved them."""
        return R @ quaternion_matrices(q[:, 3:]), r + np.einsum("mij,mj->mi", R, q[:, :3])

    def __str__(self) -> str:
        return self.move


#: All elements by their word; their order gives the codes of `Model.steps`.
ELEMENTS: dict[str, type[Element]] = {"rotate": Step, "translate": Step, "ball": Ball, "free": Free,
                                      "twist": Twist}


@dataclass(frozen=True, slots=True)
class Joint:
    """A sequence of steps (and quaternion joints) from the joint frame in the parent to the body frame.

    Parameters
    ----------
    elements : step, joint, or any nested list of them
        In the order in which they are applied; at most six dofs together.
    kind : str
        A word for people to read. Joints with the same elements are equal whatever their kind.

    Attributes
    ----------
    nq, nv : int
        Configuration numbers and dofs.

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
        dofs = sum([element.nv for element in elements])
        if dofs > MAX_DOFS:
            raise ModelError(
                f"joint: at most {MAX_DOFS} dofs between two bodies, got {dofs} "
                f"({', '.join(map(str, elements))}); put a massless body between two joints"
            )
        object.__setattr__(self, "elements", elements)
        object.__setattr__(self, "kind", checks.label(self.kind, "joint: kind"))
        object.__setattr__(self, "nq", sum([element.nq for element in elements]))
        object.__setattr__(self, "nv", dofs)

    def __str__(self) -> str:
        return f"{self.kind} [{', '.join(map(str, self.elements))}]" if self.elements else self.kind


#: What stands for a joint: itself, a step, or a list of steps and joints
JointLike: TypeAlias = Joint | Element | Sequence[Any]


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


def twist(axis: Axis, pitch: float, amount: Amount = None, name: str | None = None) -> Twist:
    """One turn of a screw: a rotation about an axis of the current frame and a translation along it.

    Parameters
    ----------
    axis : "x", "y", "z" or 3 numbers
        The axis in the current frame, of any non-zero length.
    pitch : float
        Translation per angle, m/rad: the lead of a thread divided by 2 pi. Negative for a left-handed thread; with 0
        it is a rotation.
    amount : None, float or Drive
        None for a generalized coordinate, a constant angle in rad, or a prescribed angle x(t).
    name : str, optional
        Name of the coordinate; by default it is named after the body.

    Examples
    --------
    >>> import mbkern as mb
    >>> print(mb.twist("z", 0.01, mb.harmonic(0.5, 2.0)))
    twist z by harmonic(t) (pitch 0.01)
    """
    return Twist("twist", axis, amount, name, pitch)  # type: ignore[arg-type]  # the axis becomes a unit vector


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


def screw(axis: Axis, pitch: float, name: str | None = None) -> Joint:
    """A screw: it turns about an axis fixed in both bodies and moves along it by `pitch` times the angle.

    Parameters
    ----------
    axis : "x", "y", "z" or 3 numbers
    pitch : float
        Translation per angle, m/rad: the lead of a thread divided by 2 pi. Negative for a left-handed thread.
    name : str, optional
        Name of the coordinate, the angle in rad.

    Examples
    --------
    >>> import mbkern as mb
    >>> print(mb.screw("z", 0.002))
    screw [twist z (pitch 0.002)]
    """
    return Joint((twist(axis, pitch, name=name),), "screw")


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
    """Six dofs on position and unit quaternion: a floating base.

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
    """No dof: the body is fixed to its parent.

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
    if isinstance(value, Element):
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
