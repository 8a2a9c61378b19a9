"""The part of `ModelBuilder` that takes closed loops, gears, blades and rolling contacts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mbkern.errors import ModelError
from mbkern.model import checks
from mbkern.model.checks import Mat3
from mbkern.model.constraints import LENGTHS, LOOPS, Blade, Constraint, Gear, Loop, Rolling, UserRows
from mbkern.model.drives import Drive
from mbkern.model.joint import Axis
from mbkern.model.user_rows import trial_of_rows

if TYPE_CHECKING:
    from mbkern.analytic.functions import Constraints
    from mbkern.model.body import Body

WORLD = "world"
AXES = ("x", "y", "z")
DEPENDENT = 1e-12  # of a row's length: what is left of it when it depends on others


class ConstraintBuilder:
    """Collects constraints; `ModelBuilder` inherits it."""

    def __init__(self) -> None:
        # name -> names of its two bodies, and what makes it from their numbers
        self._constraints: dict[str, tuple[tuple[str, ...], Callable[..., Constraint]]] = {}

    def add_loop(self, name: str, body_a: str, body_b: str = WORLD, kind: str = "point",
                 position_a: ArrayLike = (0.0, 0.0, 0.0), position_b: ArrayLike = (0.0, 0.0, 0.0),
                 rotation_a: ArrayLike | None = None, rotation_b: ArrayLike | None = None, axis: str = "z",
                 length: float | Drive | None = None) -> str:
        """Close a loop: a joint between two bodies that the tree does not have.

        Each body carries a frame. The loop is closed where the two frames fit as `kind` says; the motion keeps them so.

        Parameters
        ----------
        name : str
            Unique among the constraints.
        body_a, body_b : str
            Names of the two bodies, or "world". They may be added later.
        kind : str
            What fits, with the `axis` of the frames called z:

            - "point": the origins (3 rows; a ball joint)
            - "revolute": origins and z axes (5)
            - "cylindrical": the z axes as lines (4);  "prismatic": the same without turning (5)
            - "universal": origins, z of a square to x of b (4)
            - "weld": all (6);  "orientation": all axes, not the origins (3)
            - "distance": the origins have the distance `length` (1; a massless rod)
            - "point-on-line": origin of a on the z axis of b (2)
            - "point-on-plane": origin of a at the height `length` above the x-y plane of b (1)
            - "plane": the same and z axes parallel: plane on plane (3)
            - "plane-point" (2), "plane-prismatic" (along x; 2), "plane-weld" (3): for machines that move in the
              x-y plane alone, without rows that they satisfy anyway
        position_a, position_b : 3 numbers
            Origin of each frame in its body's axes, m.
        rotation_a, rotation_b : 3x3 or 4 numbers
            Axes of each frame -> axes of its body, or the same as a unit quaternion (w, x, y, z).
        axis : "x", "y" or "z"
            Which axis of the frames takes the place of z; the others follow in cyclic order.
        length : float or Drive
            Of "distance" (positive), "point-on-plane" and "plane" (0 by default), m. A drive prescribes it.

        Returns
        -------
        str
            The name.

        Examples
        --------
        A four-bar linkage: two cranks on the ground and a coupler between them.

        >>> import mbkern as mb
        >>> b = mb.ModelBuilder(gravity=(0, -9.81, 0))
        >>> _ = b.add_body("crank", joint=mb.revolute("z"), mass=1.0, com=(0, 0.5, 0), inertia=(0.1, 0.1, 0.1))
        >>> _ = b.add_body("coupler", "crank", mb.revolute("z"), 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1), position=(0, 1, 0))
        >>> _ = b.add_body("rocker", joint=mb.revolute("z"), mass=1.0, com=(0, 0.5, 0), inertia=(0.1, 0.1, 0.1),
        ...                position=(1, 0, 0))
        >>> b.add_loop("pin", "coupler", "rocker", "plane-point", position_a=(1, 0, 0), position_b=(0, 1, 0))
        'pin'
        >>> b.build().constraints[0].row_names
        ('distance along x of b', 'distance along y of b')
        """
        name, who = self._new_name(name, "loop")
        a, b = checks.label(body_a, f"{who}: body_a"), checks.label(body_b, f"{who}: body_b")
        if a == b:
            raise ModelError(f"{who}: body_a and body_b are both {a!r}; a loop connects two different bodies")
        if not isinstance(kind, str) or kind not in LOOPS:
            raise ModelError(f"{who}: kind: expected one of {', '.join(LOOPS)}, got {checks.show(kind)}")
        _letter(axis, f"{who}: axis")
        places = (checks.vector3(position_a, f"{who}: position_a"), checks.vector3(position_b, f"{who}: position_b"),
                  checks.rotation(rotation_a, f"{who}: rotation_a"), checks.rotation(rotation_b, f"{who}: rotation_b"))
        size = _length(length, kind, who)
        self._constraints[name] = (a, b), lambda i, j: Loop(name, kind, i, j, *places, axis, size)
        return name

    def add_gear(self, coordinate: str, of: str | Sequence[str], ratio: ArrayLike | None = None,
                 offset: float | Drive = 0.0, *, polynomial: ArrayLike | None = None, name: str | None = None) -> str:
        """Couple coordinates: coordinate = ratio * of + offset.

        Parameters
        ----------
        coordinate : str
            Name of a coordinate, see `Model.coordinate_names`; not one of a ball or free joint.
        of : str or several
            Name of the other coordinate, or names of several: coordinate = sum of ratio * of + offset.
        ratio : float or several
            One for each.
        offset : float or Drive
            In the unit of the coordinate; a drive prescribes it.
        polynomial : numbers, optional
            In the place of ratio, for a single `of`: coordinate = c0 + c1 of + c2 of^2 + ... + offset.
        name : str
            Unique among the constraints; "gear of" the coordinate by default, the next one of it "gear of ... 2".

        Returns
        -------
        str
            The name.

        Examples
        --------
        >>> import mbkern as mb
        >>> b = mb.ModelBuilder()
        >>> _ = b.add_body("motor", joint=mb.revolute("z"), mass=1.0, inertia=(1, 1, 1))
        >>> _ = b.add_body("wheel", joint=mb.revolute("z"), mass=1.0, inertia=(1, 1, 1), position=(1, 0, 0))
        >>> b.add_gear("wheel", "motor", -0.2)
        'gear of wheel'
        >>> b.build().constraints[0].terms
        (('motor', (0.0, -0.2)),)
        """
        coordinate = checks.label(coordinate, "add_gear: coordinate")
        if name is None:
            first = f"gear of {coordinate}"
            free = (f"{first} {k}" for k in count(2))
            name = first if first not in self._constraints else next(x for x in free if x not in self._constraints)
        name, who = self._new_name(name, "gear")
        names = [of] if isinstance(of, str) else checks.items(of)
        if not names or not all(isinstance(other, str) and other for other in names):
            raise ModelError(f"{who}: of: expected the name of a coordinate, or a list of names, got {checks.show(of)}")
        if coordinate in names or len(set(names)) < len(names):
            raise ModelError(f"{who}: a coordinate stands twice in the relation, which couples {coordinate!r} with "
                             f"{', '.join(map(repr, names))}")
        if (ratio is None) == (polynomial is None):
            raise ModelError(f"{who}: give either ratio or polynomial")
        if polynomial is not None:
            rows = checks.items(polynomial)
            if len(names) > 1 or not rows or len(rows) < 2:
                raise ModelError(f"{who}: polynomial: expected two or more coefficients c0, c1, ... for a single "
                                 f"coordinate, got {checks.show(polynomial)} for {', '.join(map(repr, names))}")
            terms: tuple[tuple[str, tuple[float, ...]], ...] = (
                (names[0], tuple([checks.number(c, f"{who}: polynomial") for c in rows])),)
        else:
            values = checks.items(ratio) or [ratio]
            if len(values) != len(names):
                raise ModelError(f"{who}: ratio: expected {len(names)} numbers, got {checks.show(ratio)}")
            terms = tuple([(other, (0.0, checks.number(value, f"{who}: ratio")))
                           for other, value in zip(names, values, strict=True)])
        if not isinstance(offset, Drive):
            offset = checks.number(offset, f"{who}: offset")
        made = Gear(name, coordinate, terms, offset)
        self._constraints[name] = (), lambda: made
        return name

    def add_blade(self, name: str, body: str, position: ArrayLike = (0.0, 0.0, 0.0), across: str = "y",
                  rotation: ArrayLike | None = None, on: str = WORLD) -> str:
        """Forbid a point of a body to move along a body axis: the blade of a skate, a sledge, a thin wheel.

        Parameters
        ----------
        name : str
            Unique among the constraints.
        body : str
            Name of the body that has the blade. It may be added later.
        position : 3 numbers
            The point, in the body's axes, m.
        across : "x", "y" or "z"
            The axis along which the point has no velocity: of the body, or of the frame that `rotation` gives.
        rotation : 3x3 or 4 numbers
            Axes of a frame -> axes of the body.
        on : str
            The body that it moves on; the velocity is that relative to this body.

        Returns
        -------
        str
            The name.

        Examples
        --------
        >>> import mbkern as mb
        >>> b = mb.ModelBuilder(gravity=(0, 0, 0))
        >>> _ = b.add_body("sleigh", joint=mb.planar("z"), mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))
        >>> b.add_blade("blade", "sleigh", across="y")
        'blade'
        """
        name, who = self._new_name(name, "blade")
        a, b = checks.label(body, f"{who}: body"), checks.label(on, f"{who}: on")
        if a == b:
            raise ModelError(f"{who}: body and on are both {a!r}; it must move on another body")
        _letter(across, f"{who}: across")
        place = checks.vector3(position, f"{who}: position"), checks.rotation(rotation, f"{who}: rotation")
        self._constraints[name] = (a, b), lambda i, j: Blade(name, i, j, *place, across)
        return name

    def add_rolling(self, name: str, body: str, radius: float, kind: str = "disc",
                    position: ArrayLike = (0.0, 0.0, 0.0), axis: Axis = "y", *, tube: float = 0.0, on: str = WORLD,
                    plane_position: ArrayLike = (0.0, 0.0, 0.0), normal: Axis = "z", slips: bool = False) -> str:
        """Let a wheel or ball roll on a plane without slipping: three rows, contact and no slip in two directions.

        Parameters
        ----------
        name : str
            Unique among the constraints.
        body : str
            Name of the body that rolls. It may be added later.
        radius : float
            Of the disc or sphere, m, positive.
        kind : "disc" or "sphere"
        position : 3 numbers
            Its middle, in the body's axes, m.
        axis : "x", "y", "z" or 3 numbers
            Axis of the disc in the body's axes.
        tube : float
            Radius of the edge of a disc: the wheel is a torus of this radius around a circle of radius - tube, m.
        on : str
            The body that has the plane.
        plane_position : 3 numbers
            A point of the plane in axes of `on`, m.
        normal : "x", "y", "z" or 3 numbers
            The plane's normal in axes of `on`, on the side of the wheel.
        slips : bool
            True keeps the contact alone: the wheel may slip without friction.

        Returns
        -------
        str
            The name.

        Examples
        --------
        >>> import mbkern as mb
        >>> b = mb.ModelBuilder()
        >>> _ = b.add_body("ball", joint=mb.free(), mass=1.0, inertia=(0.4, 0.4, 0.4))
        >>> b.add_rolling("floor", "ball", 1.0, "sphere")
        'floor'
        >>> b.build().constraints[0].row_names
        ('height of the contact', 'slip along x', 'slip along y')
        """
        name, who = self._new_name(name, "rolling")
        a, b = checks.label(body, f"{who}: body"), checks.label(on, f"{who}: on")
        if a == b:
            raise ModelError(f"{who}: body and on are both {a!r}; it must roll on another body")
        if not isinstance(kind, str) or kind not in ("disc", "sphere"):
            raise ModelError(f"{who}: kind: expected 'disc' or 'sphere', got {checks.show(kind)}")
        size, edge = checks.number(radius, f"{who}: radius"), checks.number(tube, f"{who}: tube")
        if size <= 0.0 or not 0.0 <= edge <= size:
            raise ModelError(f"{who}: expected a positive radius and a tube between 0 and it, got {size} and {edge} m")
        if kind == "sphere":
            edge = size
        numbers = (size - edge, edge, checks.vector3(position, f"{who}: position"),
                   _with_z(checks.axis(axis, f"{who}: axis")), checks.vector3(plane_position, f"{who}: plane_position"),
                   _with_z(checks.axis(normal, f"{who}: normal")), checks.flag(slips, f"{who}: slips"))
        self._constraints[name] = (a, b), lambda i, j: Rolling(name, i, j, *numbers)
        return name

    def add_constraint(self, f: Callable[..., None] | Constraints, rows: int = 1, *,
                       position: Callable[..., None] | None = None, name: str | None = None) -> str:
        """Add rows of your own: a(q, t) u + b(q, t) = 0.

        Their time derivatives are exact: the function is compiled once more for numbers that carry a rate.

        Parameters
        ----------
        f : njit function
            f(t, q, a, b) fills a (rows, nv) and b (rows), which are zero before; q is the whole configuration. Use
            ``+ - * / **``, comparisons, `abs`, `min`, `max`, and sqrt, exp, log, sin, cos, tan, their inverses, sinh,
            cosh, tanh, atan2 and hypot of `math` or `numpy`, number by number. An `mb.analytic.Constraints` does, too.
        rows : int
            How many there are.
        position : njit function, optional
            position(t, q, g) fills the values g (rows) that the rows are time derivatives of. With it loops are
            assembled, and closed along the motion; without it the rows restrict velocities alone.
        name : str
            Unique among the constraints; the name of the function by default.

        Returns
        -------
        str
            The name.

        Examples
        --------
        A bead on a parabola y = x^2 that rises by 0.1 m/s:

        >>> import mbkern as mb, numba
        >>> @numba.njit
        ... def parabola(t, q, a, b):
        ...     a[0, 0], a[0, 1], b[0] = 2.0 * q[0], -1.0, 0.1
        >>> @numba.njit
        ... def height(t, q, g):
        ...     g[0] = q[0]**2 + 0.1 * t - q[1]
        >>> b = mb.ModelBuilder(gravity=(0, -9.81, 0))
        >>> _ = b.add_body("bead", joint=[mb.translate("x"), mb.translate("y")], mass=1.0, inertia=(1, 1, 1))
        >>> b.add_constraint(parabola, position=height)
        'parabola'
        >>> b.build().constraints[0].holonomic
        True
        """
        fill: Any = f
        if hasattr(f, "count") and hasattr(f, "rate") and hasattr(f, "f"):  # mb.analytic.Constraints
            fill, rows = f.f, f.count
        name, who = self._new_name(getattr(fill, "__name__", "rows") if name is None else name, "constraint")
        if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1:
            raise ModelError(f"{who}: rows: expected how many there are, at least 1, got {checks.show(rows)}")
        for function, what, form in ((fill, "f", "f(t, q, a, b)"), (position, "position", "position(t, q, g)")):
            if function is None and what == "position":
                continue
            if not hasattr(function, "py_func"):
                raise ModelError(f"{who}: {what}: expected a function {form} compiled with @numba.njit, got "
                                 f"{checks.show(function)}")
        made = UserRows(name, fill, int(rows), position)
        self._constraints[name] = (), lambda: made
        return name

    def add_plain(self, word: str, entry: dict[str, Any]) -> None:
        """Add a constraint as :mod:`mbkern.model.serial` has written it: "loop", "gear", "blade" or "rolling"."""
        if word == "loop":
            if entry["kind"] not in LENGTHS:
                entry = {**entry, "length": None}
            self.add_loop(**entry)
        elif word == "blade":
            self.add_blade(**entry)
        elif word == "gear":
            name, who = self._new_name(entry["name"], "gear")
            try:
                terms = tuple([(checks.label(other, "terms"), tuple([checks.number(c, "terms") for c in numbers]))
                               for other, numbers in entry["terms"]])
            except Exception:  # of any kind: the values are asked
                terms = ()
            if not terms or any(len(numbers) < 2 for _, numbers in terms):
                raise ModelError(f"{who}: terms: expected pairs of a name and two or more coefficients, got "
                                 f"{checks.show(entry['terms'])}")
            offset = entry["offset"]
            offset = offset if isinstance(offset, Drive) else checks.number(offset, f"{who}: offset")
            made = Gear(name, checks.label(entry["coordinate"], f"{who}: coordinate"), terms, offset)
            self._constraints[name] = (), lambda: made
        else:
            name, who = self._new_name(entry["name"], "rolling")
            numbers: tuple[Any, ...] = (*(checks.number(entry[part], f"{who}: {part}") for part in ("radius", "tube")),
                       checks.vector3(entry["position"], f"{who}: position"),
                       checks.rotation(entry["rotation"], f"{who}: rotation"),
                       checks.vector3(entry["plane_position"], f"{who}: plane_position"),
                       checks.rotation(entry["plane_rotation"], f"{who}: plane_rotation"),
                       checks.flag(entry["slips"], f"{who}: slips"))
            bodies = tuple([checks.label(entry[part], f"{who}: {part}") for part in ("body", "on")])
            self._constraints[name] = bodies, lambda i, j: Rolling(name, i, j, *numbers)

    # ---- building ------------------------------------------------------------------------------------------------

    def _new_name(self, name: Any, what: str) -> tuple[str, str]:
        """The name of a new constraint, and how errors call it."""
        name = checks.label(name, f"{what}: name")
        if name in self._constraints:
            raise ModelError(f"{what} {name!r}: a constraint of this name was already added; give another one")
        return name, f"{what} {name!r}"

    def _made_constraints(self, bodies: Sequence[Body], coordinates: Sequence[str]) -> tuple[Constraint, ...]:
        """All constraints for these bodies."""
        number = {WORLD: -1} | {body.name: i for i, body in enumerate(bodies)}
        made: list[Constraint] = []
        for name, (names, make) in self._constraints.items():
            for body in names:
                if body not in number:
                    raise ModelError(f"constraint {name!r}: its body {body!r} was never added."
                                     f"{checks.near(body, number)}")
            constraint = make(*[number[body] for body in names])
            if isinstance(constraint, Gear):
                _check_coordinates(constraint, bodies, coordinates)
            elif isinstance(constraint, UserRows):
                trial_of_rows(constraint, bodies)
            elif not _moves_between(bodies, *[number[body] for body in names]):
                raise ModelError(f"constraint {name!r}: nothing between {names[0]!r} and {names[1]!r} moves, so it can "
                                 "only hold always or never; leave it out")
            made.append(constraint)
        _check_gears([gear for gear in made if isinstance(gear, Gear) and gear.linear], coordinates)
        return tuple(made)


def _letter(value: Any, what: str) -> None:
    if not isinstance(value, str) or value not in AXES:
        raise ModelError(f"{what}: expected 'x', 'y' or 'z', got {checks.show(value)}; turn the frame for others")


def _length(value: Any, kind: str, who: str) -> float | Drive:
    if kind not in LENGTHS:
        if value is not None:
            raise ModelError(f"{who}: a loop of kind {kind!r} has no length; {', '.join(LENGTHS)} have one")
        return 0.0
    if isinstance(value, Drive):
        return value
    if value is None and kind == "distance":
        raise ModelError(f"{who}: a loop of kind 'distance' needs its length")
    length = 0.0 if value is None else checks.number(value, f"{who}: length")
    if kind == "distance" and length <= 0.0:
        raise ModelError(f"{who}: length: expected a positive distance, got {length} m; \"point\" keeps two points "
                         "together")
    return length


def _with_z(axis: Any) -> Mat3:
    """A rotation whose z axis is this unit vector; the identity for z itself."""
    z = np.array(axis)
    x = np.eye(3)[0 if abs(z[0]) < 0.9 else 1]
    x = x - (x @ z) * z
    x /= np.linalg.norm(x)
    rows = np.column_stack([x, np.cross(z, x), z]).tolist()
    return tuple([tuple(row) for row in rows])  # type: ignore[return-value]


def _moves_between(bodies: Sequence[Body], a: int, b: int) -> bool:
    """Whether a joint between two bodies moves."""
    paths = []
    for i in (a, b):
        path = []
        while i >= 0:
            path.append(i)
            i = bodies[i].parent
        paths.append(path)
    between = set(paths[0]) ^ set(paths[1])
    return any(bodies[i].joint.nv > 0 for i in between)


def _check_coordinates(gear: Gear, bodies: Sequence[Body], coordinates: Sequence[str]) -> None:
    quaternions: set[str] = set()
    known, at = set(coordinates), 0
    for body in bodies:
        for element in body.joint.elements:
            if element.quaternion is not None:
                quaternions.update(coordinates[at:at + element.nq])
            at += element.nq
    for name in (gear.coordinate, *[name for name, _ in gear.terms]):
        if name not in known:
            raise ModelError(f"gear {gear.name!r}: there is no coordinate {name!r}.{checks.near(name, coordinates)}")
        if name in quaternions:
            raise ModelError(f"gear {gear.name!r}: {name!r} belongs to a ball or free joint, whose numbers are not "
                             "coordinates one by one; use a joint made of steps")


def _check_gears(gears: Sequence[Gear], coordinates: Sequence[str]) -> None:
    """Refuse linear gears that follow from others, or contradict them."""
    basis: list[Any] = []
    place = {name: i for i, name in enumerate(coordinates)}
    for gear in gears:
        row = np.zeros(len(coordinates))
        row[place[gear.coordinate]] = 1.0
        for name, coefficients in gear.terms:
            row[place[name]] = -coefficients[1]
        left, used = row / np.linalg.norm(row), []
        for other, vector in basis:
            part = left @ vector
            if abs(part) > DEPENDENT:
                used.append(other)
            left = left - part * vector
        size = np.linalg.norm(left)
        if size < 1e-9:
            raise ModelError(f"gear {gear.name!r} couples what {', '.join(map(repr, used))} couple already: it follows "
                             "from them or contradicts them; leave one out")
        basis.append((gear.name, left / size))
