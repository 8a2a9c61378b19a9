"""Describe a machine body by body, then build the immutable model."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbkern import collector
from mbkern.errors import ModelError
from mbkern.model import checks
from mbkern.model.body import UNLIMITED, WORLD, Body, Frame, Limits
from mbkern.model.checks import Mat3, Vec3
from mbkern.model.columns import MASS, NOTHING, WIDTH, Columns, Extras
from mbkern.model.constraint_builder import ConstraintBuilder
from mbkern.model.joint import Element, Joint, JointLike, as_joint
from mbkern.model.model import Model
from mbkern.model.names import joint_names
from mbkern.model.numbers import row
from mbkern.model.visual import Mesh, Visual, visual

STANDARD_GRAVITY = (0.0, 0.0, -9.81)


class ModelBuilder(ConstraintBuilder):
    """Collects bodies in any order and builds a `Model` from them.

    Every argument is checked when it is given. A call that raises leaves the builder as it was.

    Parameters
    ----------
    gravity : 3 numbers
        Acceleration of gravity in world axes, m/s^2.
    name : str
        Name of the machine.

    Examples
    --------
    A pendulum of 1 kg on a rod of half a metre, swinging in the x-z plane:

    >>> import mbkern as mb
    >>> b = mb.ModelBuilder(name="pendulum")
    >>> b.add_body("bob", joint=mb.revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.01, 0.01, 0.01))
    'bob'
    >>> b.build()
    Model 'pendulum': 1 body, 1 dof (nq = 1), total mass 1 kg
    """

    def __init__(self, gravity: ArrayLike = STANDARD_GRAVITY, name: str = "") -> None:
        if not isinstance(name, str):
            raise ModelError(f"name: expected a string, got {checks.show(name)}")
        super().__init__()
        self._name = name
        self._gravity = checks.vector3(gravity, "gravity")
        self._bodies: dict[str, int] = {}  # their places in the lists
        self._parents: list[str] = []
        self._joints: list[Joint] = []
        self._numbers: list[bytes] = []  # rows of the table of columns
        self._extras: dict[int, Extras] = {}
        self._frames: dict[str, tuple[str, Mat3, Vec3]] = {}  # body, rotation, position
        self._visuals: dict[str, list[Visual]] = {}

    def __len__(self) -> int:
        return len(self._bodies)

    def __repr__(self) -> str:
        return f"ModelBuilder {self._name!r}: {len(self)} {'body' if len(self) == 1 else 'bodies'} so far"

    def add_body(
        self,
        name: str,
        parent: str = WORLD,
        joint: JointLike | None = None,
        mass: float = 0.0,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        stiffness: ArrayLike | None = None,
        damping: ArrayLike | None = None,
        rest: ArrayLike | None = None,
        limits: Sequence[ArrayLike] | None = None,
        friction: ArrayLike | None = None,
        armature: ArrayLike | None = None,
        check_inertia: bool = True,
    ) -> str:
        """Add one body and the joint that connects it to its parent.

        Parameters
        ----------
        name : str
            Name of the body, unique in the model; "world" is the ground.
        parent : str
            Name of the body that carries it, or "world". It may be added later.
        joint : Joint, step, or list of steps and joints
            From the joint frame to the body frame; without one the body is welded to its parent.
        mass : float
            In kg. A body may be massless as long as each joint moves some mass.
        com : 3 numbers
            Centre of mass in the body frame, m.
        inertia : 3 numbers, 6 numbers or 3x3
            About the centre of mass in body axes, kg m^2: the diagonal, (xx, yy, zz, xy, xz, yz) with the
            signs of the matrix entries, or the matrix. Zero if left out (a point mass). The principal moments
            must satisfy the triangle inequality to 1e-6 of their sum.
        position : 3 numbers
            Origin of the joint frame in the parent frame, m.
        rotation : 3x3 or 4 numbers
            Joint frame -> parent (columns are the joint frame's axes in the parent), or the same as a unit
            quaternion (w, x, y, z). It must be orthonormal (of unit length) to 1e-6; the nearest exact
            rotation is used.
        stiffness, damping, rest : number or nv numbers
            Linear spring and damper per dof: force = -stiffness (q - rest) - damping u. One number holds
            for all dofs of the joint. Quaternion joints can be damped but not sprung.
        limits : (lower, upper), (lower, upper, velocity, effort), or Limits
            What the joint stands, each a number or nv numbers, infinite for no limit: see `Model.limits`. Data only.
        friction : number or nv numbers
            Coulomb friction, N or N m: see `Model.friction`. Data only.
        armature : number or nv numbers
            Inertia of a rotor that turns (or moves) with the dof, seen through its gear: the rotor's own times the
            ratio squared, kg m^2 or kg. It adds armature u^2 / 2 to the kinetic energy, hence armature to the diagonal
            of the mass matrix, and nothing else: the rotor has no weight and its spin does not act on the parent.
        check_inertia : bool
            False takes an inertia that no rigid body has (many robot files contain such); the equations of motion hold
            as long as every joint moves a positive inertia.

        Returns
        -------
        str
            The name, to be used as parent of the next body.

        Examples
        --------
        >>> import mbkern as mb
        >>> b = mb.ModelBuilder()
        >>> cart = b.add_body("cart", joint=mb.prismatic("x"), mass=2.0)
        >>> pole = b.add_body("pole", cart, mb.revolute("y"), mass=0.1, com=(0, 0, 0.5), damping=0.01)
        >>> b.build().coordinate_names
        ('cart', 'pole')
        """
        if type(name) is not str or not name:
            name = checks.label(name, "name")
        if name == WORLD:
            raise ModelError(f"body {name!r}: this name is reserved for the ground; choose another")
        if name in self._bodies:
            raise ModelError(f"body {name!r}: a body of this name was already added; names must be unique")
        try:
            if type(parent) is not str or not parent:
                parent = checks.label(parent, "parent")
            if parent == name:
                raise ModelError("a body cannot be its own parent")
            if type(joint) is not Joint:
                joint = as_joint(joint)
            numbers = row(mass, com, inertia, position, rotation, check_inertia)
            if (stiffness is damping is rest is limits is friction is armature is None):
                extras = None
            else:
                extras = _extras(joint, stiffness, damping, rest, limits, friction, armature)
        except ModelError as error:
            raise ModelError(f"body {name!r}: {error}") from None
        if extras is not None:
            self._extras[len(self._joints)] = extras
        self._bodies[name] = len(self._joints)
        self._parents.append(parent)
        self._joints.append(joint)
        self._numbers.append(numbers)
        return name

    def add_frame(self, name: str, body: str, position: ArrayLike = (0.0, 0.0, 0.0),
                  rotation: ArrayLike | None = None) -> str:
        """Name a place on a body: a tool, a sensor, a point where a force acts.

        Every body is a frame of its own name already. Frames are data: the motion does not depend on them.

        Parameters
        ----------
        name : str
            Name of the frame, unique among frames and bodies.
        body : str
            Name of the body that it is fixed in, or "world". It may be added later.
        position : 3 numbers
            Origin of the frame in the body frame, m.
        rotation : 3x3 or 4 numbers
            Axes of the frame -> axes of the body, or the same as a unit quaternion (w, x, y, z).

        Returns
        -------
        str
            The name.

        Examples
        --------
        >>> import mbkern as mb
        >>> b = mb.ModelBuilder()
        >>> arm = b.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(0.5, 0, 0))
        >>> b.add_frame("tool", arm, position=(1, 0, 0))
        'tool'
        >>> b.build().frames["tool"].body
        0
        """
        name = checks.label(name, "name")
        who = f"frame {name!r}"
        if name == WORLD:
            raise ModelError(f"{who}: this name is reserved for the ground; choose another")
        if name in self._frames:
            raise ModelError(f"{who}: a frame of this name was already added; names must be unique")
        self._frames[name] = (
            checks.label(body, f"{who}: body"),
            checks.rotation(rotation, f"{who}: rotation"),
            checks.vector3(position, f"{who}: position"),
        )
        return name

    def add_visual(self, body: str, kind: str, size: ArrayLike | None = None, *, mesh: Mesh | None = None,
                   color: str | ArrayLike | None = None,
                   position: ArrayLike = (0.0, 0.0, 0.0), rotation: ArrayLike | None = None) -> None:
        """Say what a body looks like: one more shape fixed in it, for pictures and the viewer alone.

        Parameters
        ----------
        body : str
            Name of the body, or "world". It may be added later.
        kind : "box", "sphere", "cylinder", "capsule", "ellipsoid" or "mesh"
        size : number or numbers
            In m: lengths of a box along x, y, z; radius of a sphere; radius and length along z of a cylinder, or of a
            capsule (without its caps); half axes of an ellipsoid; scale of a mesh (1 by default).
        mesh : path, or (vertices, faces)
            A file (.stl, .obj, .dae; others with the package trimesh), which is read when it is drawn, or
            triangles: (n, 3) numbers and (m, 3) indices into them.
        color : "#rrggbb", 3 or 4 numbers from 0 to 1, optional
            Red, green, blue, opacity.
        position : 3 numbers
            Middle of the shape in the body frame, m.
        rotation : 3x3 or 4 numbers
            Axes of the shape -> axes of the body, or the same as a unit quaternion (w, x, y, z).

        Examples
        --------
        >>> import mbkern as mb
        >>> b = mb.ModelBuilder()
        >>> arm = b.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(0.5, 0, 0))
        >>> b.add_visual(arm, "box", (1.0, 0.1, 0.1), position=(0.5, 0, 0), color="#3070b0")
        >>> b.build().visuals["arm"][0].kind
        'box'
        """
        body = checks.label(body, "body")
        shape = visual(kind, size, f"visual of body {body!r}", mesh=mesh, color=color, position=position,
                       rotation=rotation)
        self._visuals.setdefault(body, []).append(shape)

    def build(self) -> Model:
        """The finished model.

        Bodies keep the order in which they were added if parents came first; otherwise each body is moved
        back just far enough to follow its parent. The builder stays usable: more bodies can be added for
        another model.

        Examples
        --------
        >>> import mbkern as mb
        >>> b = mb.ModelBuilder()
        >>> _ = b.add_body("hand", parent="arm", joint=mb.revolute("x"), mass=1.0, inertia=(1, 1, 1))
        >>> _ = b.add_body("arm", joint=mb.revolute("z"), mass=1.0, inertia=(1, 1, 1))
        >>> b.build().body_names
        ('arm', 'hand')
        """
        with collector.paused():
            return self._built()

    def _built(self) -> Model:
        if not self._bodies:
            raise ModelError("the model is empty; add at least one body with add_body")
        columns = self._columns()
        _check_something_moves(columns)
        number = dict(zip((WORLD, *columns.names), range(-1, len(columns)), strict=True)) if (
            self._frames or self._visuals) else {}
        constraints = self._made_constraints(columns.bodies(), joint_names(columns)[0]) if self._constraints else ()
        return Model(self._name, self._gravity, columns, self._placed_frames(number), self._sorted_visuals(number),
                     constraints)

    def _columns(self) -> Columns:
        """All bodies, parents first."""
        parents, names = self._parent_numbers(), list(self._bodies)
        numbers = np.frombuffer(b"".join(self._numbers)).reshape(-1, WIDTH)
        order = _parents_first(parents, names)
        if order is None:
            return Columns(names, parents, list(self._joints), numbers, dict(self._extras))
        place = np.empty(len(order) + 1, np.int64)
        place[order], place[-1] = np.arange(len(order)), -1  # of the ground
        return Columns([names[old] for old in order], place[parents[order]], [self._joints[old] for old in order],
                       numbers[order], {int(place[old]): self._extras[old] for old in order if old in self._extras})

    def _placed_frames(self, number: dict[str, int]) -> tuple[tuple[str, Frame], ...]:
        for name, (body, _, _) in self._frames.items():
            if name in number:
                raise ModelError(f"frame {name!r}: a body has this name and is a frame of its own; choose another name")
            if body not in number:
                raise ModelError(f"frame {name!r}: its body {body!r} was never added.{checks.near(body, number)}")
        return tuple((name, Frame(number[body], R, r)) for name, (body, R, r) in self._frames.items())

    def _sorted_visuals(self, number: dict[str, int]) -> dict[str, tuple[Visual, ...]]:
        for body in self._visuals:
            if body not in number:
                raise ModelError(f"visual: its body {body!r} was never added.{checks.near(body, number)}")
        return {body: tuple(self._visuals[body]) for body in sorted(self._visuals, key=number.__getitem__)}

    def _parent_numbers(self) -> NDArray[np.int64]:
        number = self._bodies | {WORLD: -1}
        try:
            return np.fromiter(map(number.__getitem__, self._parents), np.int64, len(self._parents))
        except KeyError:
            name, parent = next(
                (name, parent) for name, parent in zip(self._bodies, self._parents, strict=True) if parent not in number
            )
            raise ModelError(
                f"body {name!r}: its parent {parent!r} was never added.{checks.near(parent, number)}"
            ) from None


def _per_dof(value: Any, joint: Joint, what: str) -> tuple[float, ...]:
    """`nv` numbers from one number, or `nv` numbers."""
    entries = checks.items(value)
    if entries is None:
        return (checks.number(value, what),) * joint.nv
    if len(entries) != joint.nv:
        raise ModelError(
            f"{what}: expected one number, or one for each of the {joint.nv} dofs of its joint "
            f"({joint}), got {checks.show(value)}"
        )
    return tuple([checks.number(entry, what) for entry in entries])


def _limits(value: Any, joint: Joint, what: str) -> Limits | None:
    """Limits per dof; None where nothing is limited, so that equal models compare equal."""
    entries = checks.items(value)
    if entries is None or len(entries) not in (2, 4):
        raise ModelError(
            f"{what}: expected (lower, upper) or (lower, upper, velocity, effort), got {checks.show(value)}"
        )
    rows = [_bounds(entry, joint, what) for entry in entries]
    rows += [(bound,) * joint.nv for bound in UNLIMITED[len(rows) :]]
    limits = Limits(*rows)
    for lower, upper in zip(limits.lower, limits.upper, strict=True):
        if lower > upper:
            raise ModelError(f"{what}: the lower limit {lower} is above the upper limit {upper}")
    if any(x < 0.0 for x in limits.velocity + limits.effort):
        raise ModelError(f"{what}: velocity and effort must not be negative, got {checks.show(value)}")
    free = all(x == bound for row, bound in zip(limits, UNLIMITED, strict=True) for x in row)
    return None if free else limits


def _bounds(value: Any, joint: Joint, what: str) -> tuple[float, ...]:
    """`nv` numbers that may be infinite, from one number or `nv` of them."""
    entries = checks.items(value)
    if entries is None:
        entries = [value] * joint.nv
    if len(entries) != joint.nv:
        raise ModelError(
            f"{what}: expected one number, or one for each of the {joint.nv} dofs of its joint ({joint}), "
            f"got {checks.show(value)}"
        )
    infinite = (math.inf, -math.inf)
    return tuple([x if isinstance(x, float) and x in infinite else checks.number(x, what) for x in entries])


def _not_negative(value: Any, joint: Joint, what: str) -> tuple[float, ...] | None:
    """`nv` numbers, none below zero; None where all are zero, so that equal models compare equal."""
    numbers = _per_dof(value, joint, what)
    if any(x < 0.0 for x in numbers):
        raise ModelError(f"{what} must not be negative, got {numbers}")
    return numbers if any(numbers) else None


def _check_springs(joint: Joint, stiffness: tuple[float, ...], damping: tuple[float, ...]) -> None:
    if any(damping) and min(damping) < 0.0:
        raise ModelError(f"damping must not be negative, got {damping}; apply tau to drive a joint")
    if not any(stiffness):
        return
    if min(stiffness) < 0.0:
        raise ModelError(f"stiffness must not be negative, got {stiffness}; apply tau to drive a joint")
    start = 0
    for element in joint.elements:
        if element.quaternion is not None and any(stiffness[start : start + element.nv]):
            raise ModelError(
                "a spring on a quaternion joint has no single coordinate; stiffness must be 0 for "
                f"the dofs of its {element} joint, got {stiffness}; use euler_ball, or apply tau"
            )
        start += element.nv


def _extras(joint: Joint, stiffness: Any, damping: Any, rest: Any, limits: Any, friction: Any, armature: Any) -> Extras:
    """Springs, dampers, limits, friction and rotors of a joint, checked."""
    none = NOTHING[joint.nv]
    extras = Extras(
        none.stiffness if stiffness is None else _per_dof(stiffness, joint, "stiffness"),
        none.damping if damping is None else _per_dof(damping, joint, "damping"),
        none.rest if rest is None else _per_dof(rest, joint, "rest"),
        None if limits is None else _limits(limits, joint, "limits"),
        None if friction is None else _not_negative(friction, joint, "friction"),
        None if armature is None else _not_negative(armature, joint, "armature"),
    )
    if stiffness is not None or damping is not None:
        _check_springs(joint, extras.stiffness, extras.damping)
    return extras


def _check_something_moves(columns: Columns) -> None:
    """Refuse joints that move nothing: their articulated inertia is singular in every configuration.

    A dof with armature always moves its rotor.
    """
    if (columns.numbers[:, MASS] > 0.0).all():
        return
    bodies = columns.bodies()
    mass = [body.mass for body in bodies]
    has_inertia = [body.mass > 0.0 or body.inertia != checks.ZERO33 for body in bodies]
    for i in range(len(bodies) - 1, -1, -1):
        body = bodies[i]
        if not has_inertia[i] and any(not r for _, r in _moving(body)):
            raise ModelError(
                f"body {body.name!r}: nothing to move: neither it nor any body it carries has mass or "
                f"inertia, so its joint ({body.joint}) has no defined motion; give a mass or weld it"
            )
        if not mass[i] and any(_translates(element, j) and not r for (element, j), r in _moving(body)):
            raise ModelError(
                f"body {body.name!r}: no mass to move: it and the bodies it carries have inertia but no "
                f"mass, so the translation of its joint ({body.joint}) has no defined motion; give a mass"
            )
        if body.parent >= 0:
            mass[body.parent] += mass[i]
            has_inertia[body.parent] |= has_inertia[i]


def _moving(body: Body) -> list[tuple[tuple[Element, int], float]]:
    """The dofs of a joint as (element, number within it), and their armature."""
    dofs = [(element, j) for element in body.joint.elements for j in range(element.nv)]
    return list(zip(dofs, body.armature or (0.0,) * len(dofs), strict=True))


def _translates(element: Element, j: int) -> bool:
    return j in element.slides


def _parents_first(numbers: NDArray[np.int64], names: list[str]) -> list[int] | None:
    """Numbers of the bodies with parents first, otherwise as close to their own order as possible; None: they are."""
    if (numbers < np.arange(len(numbers))).all():
        return None
    parents = numbers.tolist()
    children: list[list[int]] = [[] for _ in parents]
    ready: list[int] = []
    for i, parent in enumerate(parents):
        (children[parent] if parent >= 0 else ready).append(i)
    order = []
    while ready:  # a heap, initially sorted
        i = heapq.heappop(ready)
        order.append(i)
        for child in children[i]:
            heapq.heappush(ready, child)
    if len(order) < len(parents):
        cycle = _find_cycle(parents, set(range(len(parents))) - set(order))
        raise ModelError(
            "the bodies do not form a tree: " + " is carried by ".join(repr(names[i]) for i in cycle)
            + ". One of them must be carried by the world or by a body outside this ring"
        )  # fmt: skip
    return order


def _find_cycle(parents: list[int], left: set[int]) -> list[int]:
    """A closed ring of bodies, first = last, among those that no path connects with the world."""
    i = min(left)
    seen: list[int] = []
    position: dict[int, int] = {}
    while i not in position:
        position[i] = len(seen)
        seen.append(i)
        i = parents[i]
    return [*seen[position[i] :], i]
