"""The finished machine: an immutable tree of bodies, and the flat arrays that describe it.

`Model.body_specs` is the one source of truth: what the user said, checked, as plain numbers. Everything else
here (record arrays, offsets, names, the packed block of the kernels) is derived from it and read-only.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbkern import lazy
from mbkern.errors import FrozenError, ModelError
from mbkern.lazy import cached_property
from mbkern.model import checks
from mbkern.model.checks import Mat3, Vec3
from mbkern.model.joint import ELEMENTS, Element, Joint

if TYPE_CHECKING:
    from os import PathLike

    from mbkern.model.constraints import Constraint
    from mbkern.model.vary import Varied
    from mbkern.model.visual import Visual

WORLD = "world"

#: Codes of `Model.steps`; those of moves are the places of `ELEMENTS`.
COORDINATE, CONSTANT, DRIVEN = 0, 1, 2

STEP_DTYPE = np.dtype(
    [
        ("body", np.int64), ("move", np.int64), ("kind", np.int64), ("axis", np.float64, (3,)),
        ("value", np.float64), ("q_index", np.int64), ("v_index", np.int64),
    ]
)  # fmt: skip


class Limits(NamedTuple):
    """What a machine's joints and motors stand, one number per dof; infinite where there is no limit.

    Kept as data for whoever plans or controls a motion: the equations of motion do not enforce them.

    Attributes
    ----------
    lower, upper : (nv,)
        Range of the coordinate, rad or m; infinite for the dofs of ball and free joints.
    velocity : (nv,)
        Largest speed, rad/s or m/s.
    effort : (nv,)
        Largest joint force, N m or N.
    """

    lower: Any
    upper: Any
    velocity: Any
    effort: Any


UNLIMITED = (-float("inf"), float("inf"), float("inf"), float("inf"))


class Body(NamedTuple):
    """One body and the joint that carries it, as plain numbers; made by `ModelBuilder.add_body`.

    Attributes
    ----------
    name : str
    parent : int
        Index of the parent body, -1 for the world.
    joint : Joint
    mass : float
        In kg.
    com : (3,) tuple
        Centre of mass in the body frame, in m.
    inertia : (3, 3) tuple of rows
        About the centre of mass in body axes, in kg m^2.
    position : (3,) tuple
        Origin of the joint frame in the parent frame, in m.
    rotation : (3, 3) tuple of rows
        Joint frame -> parent frame.
    stiffness, damping, rest : tuples of nv floats
        Spring, damper and unloaded position per dof: force = -stiffness (q - rest) - damping u.
    limits : Limits of tuples of nv floats, or None
        What the joint stands, as data; None is no limit.
    friction : tuple of nv floats, or None
        Coulomb friction, as data; None is none.
    armature : tuple of nv floats, or None
        Inertia of a rotor per dof, in kg m^2 or kg; None is none.
    """

    name: str
    parent: int
    joint: Joint
    mass: float
    com: Vec3
    inertia: Mat3
    position: Vec3
    rotation: Mat3
    stiffness: tuple[float, ...]
    damping: tuple[float, ...]
    rest: tuple[float, ...]
    limits: Limits | None = None
    friction: tuple[float, ...] | None = None
    armature: tuple[float, ...] | None = None


class Frame(NamedTuple):
    """A named place on a body: a tool, a sensor, a point to push at. Read from `Model.frames`.

    Attributes
    ----------
    body : int
        Index of the body that it is fixed in, -1 for the world.
    rotation : (3, 3) tuple of rows
        Axes of the frame -> axes of the body.
    position : (3,) tuple
        Its origin in the body frame, in m.
    """

    body: int
    rotation: Mat3
    position: Vec3


class Model:
    """A tree of rigid bodies. Made by `ModelBuilder.build`, never changed afterwards.

    Bodies are numbered so that parents come first. The configuration q and the momenta p follow that order,
    within a joint step by step. Models with the same content are equal and have the same hash; they pickle
    and, unless they contain a `drive(f)`, round-trip through JSON. Equal means: the same machine with the same frames;
    what it looks like (`visuals`) does not count.

    Attributes
    ----------
    name : str
    gravity : (3,) array
        In world axes, m/s^2.
    body_specs : tuple of Body
        What the model consists of; all else is derived from it.
    n_bodies, nq, nv : int
        Bodies, configuration numbers, dofs.
    parents : (n_bodies,) int array
        Index of the parent, -1 for the world.
    dofs : (n_bodies,) int array
        Dofs of each joint.
    q_offsets, v_offsets : (n_bodies,) int arrays
        Where each joint's numbers start in q and in the speeds and momenta.
    quaternion_offsets : int array
        Where each quaternion starts in q.
    body_names, coordinate_names, speed_names : tuples of str
        Names along the bodies, q, and the speeds u (and momenta p).
    stiffness, damping, rest : (nv,) arrays
        Joint springs and dampers: force = -stiffness (q - rest) - damping u.
    limits : Limits
        Range, speed and force that the joints stand; data only.
    friction : (nv,) array
        Coulomb friction of the joints; data only.
    armature : (nv,) array
        Rotor inertia of the joints: adds armature u^2 / 2 to the kinetic energy.
    frames : read-only mapping of names to Frame
        Named places: every body, and what `ModelBuilder.add_frame` added.
    visuals : read-only mapping of body names to tuples of Visual
        What the bodies look like, if anybody said; for pictures alone.
    constraints : tuple of Loop, Gear, Blade, Rolling
        Closed loops, gears, blades and rolling contacts, see `ModelBuilder.add_loop` and its neighbours.

    Examples
    --------
    >>> import mbkern as mb
    >>> model = mb.zoo.pipelayer()
    >>> model
    Model 'pipelayer': 4 bodies, 6 dofs (nq = 6), total mass 26300 kg
    >>> model.coordinate_names
    ('z', 'alpha', 'beta', 'theta', 'epsilon', 'y')
    >>> model.bodies.mass.tolist()
    [18000.0, 6000.0, 1500.0, 800.0]
    """

    name: str
    gravity: NDArray[np.float64]
    body_specs: tuple[Body, ...]
    n_bodies: int
    nq: int
    nv: int
    parents: NDArray[np.int64]
    dofs: NDArray[np.int64]
    q_offsets: NDArray[np.int64]
    v_offsets: NDArray[np.int64]
    body_names: tuple[str, ...]
    coordinate_names: tuple[str, ...]
    speed_names: tuple[str, ...]
    frame_specs: tuple[tuple[str, Frame], ...]
    visuals: Mapping[str, tuple[Visual, ...]]
    constraints: tuple[Constraint, ...]

    def __init__(self, name: str, gravity: Vec3, body_specs: tuple[Body, ...],
                 frame_specs: tuple[tuple[str, Frame], ...] = (),
                 visuals: Mapping[str, tuple[Visual, ...]] | None = None,
                 constraints: tuple[Constraint, ...] = ()) -> None:
        if not isinstance(name, str) or not isinstance(body_specs, tuple) or not all(
                [isinstance(body, Body) for body in body_specs]):
            raise ModelError("Model: expected a name and bodies as ModelBuilder.build makes them, got "
                             f"{checks.show(name)} and {checks.show(body_specs)}; use ModelBuilder")
        gravity = checks.vector3(gravity, "gravity")
        dofs = np.array([body.joint.nv for body in body_specs], dtype=np.int64)
        sizes = np.array([body.joint.nq for body in body_specs], dtype=np.int64)
        coordinates, speeds = joint_names(body_specs)
        _check_unique(coordinates, body_specs)
        _check_unique(speeds, body_specs)
        self.__dict__.update(  # past __setattr__, which refuses
            name=name,
            gravity=_frozen(np.array(gravity, dtype=np.float64)),
            body_specs=body_specs,
            n_bodies=len(body_specs),
            nq=int(sizes.sum()),
            nv=int(dofs.sum()),
            parents=_frozen(np.array([body.parent for body in body_specs], dtype=np.int64)),
            dofs=_frozen(dofs),
            q_offsets=_frozen(np.cumsum(sizes) - sizes),
            v_offsets=_frozen(np.cumsum(dofs) - dofs),
            body_names=tuple(body.name for body in body_specs),
            coordinate_names=coordinates,
            speed_names=speeds,
            frame_specs=frame_specs,
            visuals=MappingProxyType(dict(visuals or {})),
            constraints=constraints,
        )

    # ---- identity

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenError(f"a model cannot be changed (attribute {name!r}); build a new one with ModelBuilder")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenError(f"a model cannot be changed (attribute {name!r}); build a new one with ModelBuilder")

    @property
    def _content(self) -> tuple[Any, ...]:
        return self.name, tuple(self.gravity.tolist()), self.body_specs, self.frame_specs, self.constraints

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return self is other or self._content == other._content

    @cached_property
    def _hash(self) -> int:
        return hash(self._content)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Model], tuple[Any, ...]]:
        # derived arrays and the hash (salted per process) are made anew
        *content, constraints = self._content
        return type(self), (*content, dict(self.visuals), constraints)

    # ---- derived arrays

    @cached_property
    def bodies(self) -> np.recarray[Any, Any]:
        """One read-only record a body.

        Fields: name, parent, dofs, nq, q_offset, v_offset, first_step and n_steps (its slice of `steps`),
        mass, com (3), inertia (3, 3) about the centre of mass, M (6, 6) at the body origin in (linear;
        angular) order, position (3), rotation (3, 3). All in the body's own frame, position and rotation in
        the parent's.

        Examples
        --------
        >>> import mbkern as mb
        >>> boom = mb.zoo.pipelayer().bodies[3]
        >>> str(boom.name), int(boom.parent), float(boom.M[0, 0])
        ('boom', 2, 800.0)
        """
        specs = self.body_specs
        width = max(len(name) for name in self.body_names)
        dtype = np.dtype(
            [
                ("name", f"U{width}"), ("parent", np.int64), ("dofs", np.int64), ("nq", np.int64),
                ("q_offset", np.int64), ("v_offset", np.int64),
                ("first_step", np.int64), ("n_steps", np.int64),
                ("mass", np.float64), ("com", np.float64, (3,)), ("inertia", np.float64, (3, 3)),
                ("M", np.float64, (6, 6)), ("position", np.float64, (3,)), ("rotation", np.float64, (3, 3)),
            ]
        )  # fmt: skip
        table = np.zeros(len(specs), dtype=dtype)
        n_steps = np.array([len(body.joint.elements) for body in specs], dtype=np.int64)
        table["name"] = self.body_names
        table["parent"] = self.parents
        table["dofs"] = self.dofs
        table["nq"] = [body.joint.nq for body in specs]
        table["q_offset"] = self.q_offsets
        table["v_offset"] = self.v_offsets
        table["first_step"] = np.cumsum(n_steps) - n_steps
        table["n_steps"] = n_steps
        table["mass"] = [body.mass for body in specs]
        table["com"] = [body.com for body in specs]
        table["inertia"] = [body.inertia for body in specs]
        table["M"] = _spatial_inertia(table["mass"], table["com"], table["inertia"])
        table["position"] = [body.position for body in specs]
        table["rotation"] = [body.rotation for body in specs]
        return _frozen(table).view(np.recarray)

    @cached_property
    def steps(self) -> np.recarray[Any, Any]:
        """One read-only record per joint element, body by body.

        Fields: body; move (place in `ELEMENTS`: 0 rotate, 1 translate, 2 ball, 3 free, ...); kind (0 coordinate,
        1 constant, 2 driven); axis (3), zero for ball and free; value, the constant amount or NaN; q_index and
        v_index, where its numbers start in q and in the speeds, -1 if it has none.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.pipelayer().steps.move.tolist()
        [1, 0, 0, 0, 0, 1]
        """
        records = []
        q_index = v_index = 0
        for i, body in enumerate(self.body_specs):
            for element in body.joint.elements:
                where = (q_index, v_index) if element.nv else (-1, -1)
                records.append((i, *_step_record(element), *where))
                q_index += element.nq
                v_index += element.nv
        return _frozen(np.array(records, dtype=STEP_DTYPE)).view(np.recarray)

    @property
    def n_rows(self) -> int:
        """Number of scalar rows of all constraints; 0 for a tree."""
        return sum(constraint.rows for constraint in self.constraints)

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """Name of each scalar row of the constraints: that of its constraint, and what it keeps at zero."""
        return tuple(f"{constraint.name}: {row}" for constraint in self.constraints for row in constraint.row_names)

    @cached_property
    def block(self) -> NDArray[np.float64]:
        """The packed, read-only numbers that the kernels read.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.pipelayer().block.dtype
        dtype('float64')
        """
        lower = lazy.module("model.lowering").lower

        return _frozen(lower(self))

    @cached_property
    def stiffness(self) -> NDArray[np.float64]:
        """Spring stiffness per dof, N/m or N m/rad."""
        return self._per_dof("stiffness")

    @cached_property
    def damping(self) -> NDArray[np.float64]:
        """Damping per dof, N s/m or N m s/rad."""
        return self._per_dof("damping")

    @cached_property
    def rest(self) -> NDArray[np.float64]:
        """Coordinate at which the spring of each dof is unloaded, m or rad."""
        return self._per_dof("rest")

    @cached_property
    def limits(self) -> Limits:
        """What the joints stand: `.lower`, `.upper`, `.velocity`, `.effort`, (nv,) arrays, infinite without a limit.

        Data for planning and control; the equations of motion do not enforce it.

        Examples
        --------
        >>> import mbkern as mb
        >>> b = mb.ModelBuilder()
        >>> _ = b.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(1, 0, 0), limits=(-1.5, 1.5))
        >>> b.build().limits.upper, b.build().limits.effort
        (array([1.5]), array([inf]))
        """
        rows = [
            np.array(body.limits if body.limits is not None else [[x] * body.joint.nv for x in UNLIMITED])
            for body in self.body_specs
        ]
        return Limits(*(_frozen(np.ascontiguousarray(row)) for row in np.concatenate(rows, axis=1)))

    @cached_property
    def friction(self) -> NDArray[np.float64]:
        """Coulomb friction per dof, N or N m; kept as data, the equations of motion do not apply it.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.chain(2).friction
        array([0., 0.])
        """
        values = [x for body in self.body_specs for x in (body.friction or (0.0,) * body.joint.nv)]
        return _frozen(np.array(values, dtype=np.float64))

    @cached_property
    def armature(self) -> NDArray[np.float64]:
        """Rotor inertia per dof, kg m^2 or kg: what it adds to the diagonal of the mass matrix.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.chain(2).armature
        array([0., 0.])
        """
        values = [x for body in self.body_specs for x in (body.armature or (0.0,) * body.joint.nv)]
        return _frozen(np.array(values, dtype=np.float64))

    @cached_property
    def frames(self) -> Mapping[str, Frame]:
        """Named places on the machine: `.body` (index, -1 for the world), `.rotation`, `.position`, by name.

        First every body, whose frame is its own, then what `ModelBuilder.add_frame` added. Read-only.

        Examples
        --------
        >>> import mbkern as mb
        >>> b = mb.ModelBuilder()
        >>> _ = b.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(0.5, 0, 0))
        >>> _ = b.add_frame("tool", "arm", position=(1, 0, 0))
        >>> list(b.build().frames), b.build().frames["tool"].position
        (['arm', 'tool'], (1.0, 0.0, 0.0))
        """
        own = {name: Frame(i, checks.IDENTITY, checks.ZERO3) for i, name in enumerate(self.body_names)}
        return MappingProxyType(own | dict(self.frame_specs))

    def _per_dof(self, name: str) -> NDArray[np.float64]:
        values = [value for body in self.body_specs for value in getattr(body, name)]
        return _frozen(np.array(values, dtype=np.float64))

    @property
    def total_mass(self) -> float:
        """Sum of all masses in kg.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.pipelayer().total_mass
        26300.0
        """
        return sum(body.mass for body in self.body_specs)

    # ---- states

    def neutral(self) -> NDArray[np.float64]:
        """The configuration with every coordinate zero and every quaternion the identity.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.chain(1, joint=mb.ball()).neutral()
        array([1., 0., 0., 0.])
        """
        q = np.zeros(self.nq)
        q[self.quaternion_offsets] = 1.0
        return q

    def random_state(self, seed: int | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A random configuration and random speeds for trying things out.

        Angles lie within +-1 rad (away from the singular positions of Euler angles), distances within +-0.5
        m, quaternions are uniform, speeds normal with unit variance in rad/s and m/s.

        Parameters
        ----------
        seed : int, optional
            The same seed gives the same state.

        Returns
        -------
        q : (nq,) array
        u : (nv,) array
            Joint speeds; `System.momenta` turns them into momenta.

        Examples
        --------
        >>> import mbkern as mb
        >>> q, u = mb.zoo.chain(3).random_state(seed=1)
        >>> q.shape, u.shape
        ((3,), (3,))
        """
        rng = checks.generator(seed)
        q = rng.uniform(-1.0, 1.0, self.nq)
        q[[at + place for at, element in self._placed_elements for place in element.slides]] *= 0.5
        parts = self.quaternion_offsets[:, None] + np.arange(4)
        quaternions = rng.normal(size=parts.shape)
        q[parts] = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
        return q, rng.normal(size=self.nv)

    def pack(self, q: ArrayLike | Mapping[str, ArrayLike] | None = None,
             p: ArrayLike | Mapping[str, ArrayLike] | None = None) -> NDArray[np.float64]:
        """The state y = (q, p) that integrators carry, from numbers or from names.

        y[:nq] is q, y[nq:] is p; `index` and `speed_index` tell the places within them.

        Parameters
        ----------
        q : (nq,) or dict, optional
            Configuration: all of it, or some of it by name. A name is that of a coordinate (one number) or of a body
            (all numbers of its joint; a unit quaternion is (w, x, y, z)). What is not named is as in `neutral`.
        p : (nv,) or dict, optional
            Momenta likewise, by the names of speeds or bodies; what is not named is zero.

        Returns
        -------
        y : (nq + nv,) array

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> y = model.pack(q={"alpha": 0.1, "y": 2.0}, p={"boom": 30.0})
        >>> y[model.index("alpha")], y[model.nq + model.speed_index("y")]
        (np.float64(0.1), np.float64(30.0))
        """
        state = lazy.module("model.state")

        return state.pack(self, q, p)

    @cached_property
    def quaternion_offsets(self) -> NDArray[np.int64]:
        """Where the quaternions start in q."""
        places = [at + e.quaternion for at, e in self._placed_elements if e.quaternion is not None]
        return _frozen(np.array(places, np.int64))

    @property
    def _placed_elements(self) -> list[tuple[int, Element]]:
        """All elements with coordinates, and where these begin in q."""
        elements = [element for body in self.body_specs for element in body.joint.elements if element.nq]
        ends = np.cumsum([element.nq for element in elements], dtype=np.int64).tolist()
        return [(end - element.nq, element) for end, element in zip(ends, elements, strict=True)]

    # ---- many machines

    def vary(self, body: str | None = None, *, mass: ArrayLike | None = None, com: ArrayLike | None = None,
             inertia: ArrayLike | None = None, position: ArrayLike | None = None, stiffness: ArrayLike | None = None,
             damping: ArrayLike | None = None, armature: ArrayLike | None = None, gravity: ArrayLike | None = None
             ) -> Varied:
        """The same tree with other constants of one body in each of B states, for `System.rhs_batch` and the like.

        Parameters
        ----------
        body : str, optional
            Name of the body; call `vary` of the result for another one. Gravity needs none.
        mass : (B,), optional
            In kg.
        com : (B, 3), optional
            Centre of mass in the body frame, in m.
        inertia : (B, 3), (B, 6) or (B, 3, 3), optional
            About the centre of mass in body axes, in kg m^2; diagonal, (xx yy zz xy xz yz) or full.
        position : (B, 3), optional
            Origin of the body's joint frame in the parent frame, in m: the lengths of the machine.
        stiffness, damping : (B, n), optional
            Springs and dampers of the n dofs of its joint, N/m, N s/m or N m/rad, N m s/rad; (B,) if n is 1.
        armature : (B, n), optional
            Rotor inertias of its dofs, kg or kg m^2: positive where the model has armature, and 0 elsewhere.
        gravity : (B, 3), optional
            In world axes, m/s^2.

        What is not given stays as it is in the model; the first axis is always that of the states.

        Returns
        -------
        Varied
            To be passed as `parameters` to `System.rhs_batch`, `System.simulate_batch` and `mbkern.ensemble.run`.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.pipelayer()
        >>> varied = model.vary(body="boom", mass=[700.0, 800.0, 900.0])
        >>> Qdot, Pdot = mb.System(model).rhs_batch(np.zeros((3, 6)), np.ones((3, 6)), parameters=varied)
        >>> bool(np.array_equal(Qdot[2], mb.System(varied.model_of(2)).rhs(np.zeros(6), np.ones(6))[0]))
        True
        """
        varied = lazy.module("model.vary").varied

        return varied(self, body, mass=mass, com=com, inertia=inertia, position=position, stiffness=stiffness,
                      damping=damping, armature=armature, gravity=gravity)

    # ---- names

    def index(self, name: str) -> int:
        """Position of a coordinate in q.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.pipelayer().index("theta")
        3
        """
        return _lookup(self._coordinate_index, name, "coordinate", self)

    def speed_index(self, name: str) -> int:
        """Position of a dof in the speeds u and the momenta p.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(2, joint=mb.ball())
        >>> model.index("body1.qw"), model.speed_index("body1.wx")
        (4, 3)
        """
        return _lookup(self._speed_index, name, "speed", self)

    def body_index(self, name: str) -> int:
        """Number of a body.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.pipelayer().body_index("boom")
        3
        """
        return _lookup(self._body_index, name, "body", self)

    @cached_property
    def _coordinate_index(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.coordinate_names)}

    @cached_property
    def _speed_index(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.speed_names)}

    @cached_property
    def _body_index(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.body_names)}

    # ---- text

    def __repr__(self) -> str:
        bodies = "1 body" if self.n_bodies == 1 else f"{self.n_bodies} bodies"
        dofs = "1 dof" if self.nv == 1 else f"{self.nv} dofs"
        return f"Model {self.name!r}: {bodies}, {dofs} (nq = {self.nq}), total mass {self.total_mass:g} kg"

    def describe(self, limit: int = 100) -> str:
        """The tree as text: each body under its parent with its joint, coordinates and mass.

        Parameters
        ----------
        limit : int
            Write at most this many bodies.

        Examples
        --------
        >>> import mbkern as mb
        >>> print(mb.zoo.pipelayer().describe())
        Model 'pipelayer': 4 bodies, 6 dofs (nq = 6), total mass 26300 kg
        world
          chassis: custom [translate z, rotate x, rotate y] (z, alpha, beta), 18000 kg
            rotating: revolute [rotate z] (theta), 6000 kg
              lifting: revolute [rotate x] (epsilon), 1500 kg
                boom: prismatic [translate y] (y), 800 kg
        """
        limit = checks.count(limit, "limit", "the number of bodies to list")
        children: dict[int, list[int]] = {}
        for i, parent in enumerate(self.parents.tolist()):
            children.setdefault(parent, []).append(i)
        lines = [repr(self), WORLD]
        stack = [(i, 1) for i in reversed(children[-1])]
        while stack and len(lines) < limit + 2:
            i, depth = stack.pop()
            body, start = self.body_specs[i], int(self.q_offsets[i])
            names = ", ".join(self.coordinate_names[start : start + body.joint.nq])
            lines.append(f"{'  ' * depth}{body.name}: {body.joint}{f' ({names})' if names else ''}, {body.mass:g} kg")
            stack.extend((child, depth + 1) for child in reversed(children.get(i, [])))
        if self.n_bodies > limit:
            lines.append(f"... and {self.n_bodies - limit} more")
        lines += [f"constraint {c.name}: {c.kind}" for c in self.constraints[:limit]]
        return "\n".join(lines)

    # ---- files

    def to_dict(self) -> dict[str, Any]:
        """The model as plain dicts, lists, numbers and strings, ready for JSON.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.pipelayer().to_dict()["bodies"][3]["mass"]
        800.0
        """
        serial = lazy.module("model.serial")

        return serial.to_dict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Model:
        """The model that `to_dict` wrote; checked like any other input.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> mb.Model.from_dict(model.to_dict()) == model
        True
        """
        serial = lazy.module("model.serial")

        return serial.from_dict(data)

    def to_json(self) -> str:
        """The model as JSON text; every number is reproduced exactly.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> mb.Model.from_json(model.to_json()) == model
        True
        """
        serial = lazy.module("model.serial")

        return serial.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Model:
        """The model that `to_json` wrote; checked like any other input.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.Model.from_json(mb.zoo.chain(2).to_json()).nv
        2
        """
        serial = lazy.module("model.serial")

        return serial.from_json(text)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a JSON file; `mb.load` reads it back.

        Examples
        --------
        >>> import mbkern as mb, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "crane.json"
        ...     mb.zoo.pipelayer().save(path)
        ...     mb.load(path) == mb.zoo.pipelayer()
        True
        """
        serial = lazy.module("model.serial")

        serial.save(self, path)

    def to_urdf(self) -> str:
        """The model as the text of a URDF file, where that format can express it; see `mbkern.io.to_urdf`.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.load_urdf(mb.zoo.pipelayer().to_urdf()).coordinate_names
        ('z', 'alpha', 'beta', 'theta', 'epsilon', 'y')
        """
        to_urdf = lazy.module("io").to_urdf

        return to_urdf(self)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _spatial_inertia(
    mass: NDArray[np.float64], com: NDArray[np.float64], inertia: NDArray[np.float64]
) -> NDArray[np.float64]:
    """M = [[m E, -m rc~], [m rc~, J]] of every body at its origin, J = J_com - m rc~ rc~."""
    cross = np.zeros((len(mass), 3, 3))  # rc~
    cross[:, 2, 1], cross[:, 0, 2], cross[:, 1, 0] = com.T
    cross -= cross.transpose(0, 2, 1).copy()
    first = mass[:, None, None] * cross
    M = np.empty((len(mass), 6, 6))
    M[:, :3, :3] = mass[:, None, None] * np.eye(3)
    M[:, :3, 3:] = -first
    M[:, 3:, :3] = first
    M[:, 3:, 3:] = inertia - first @ cross
    return M


def _step_record(element: Element) -> tuple[int, int, Vec3, float]:
    """(move, kind, axis, value) of `Model.steps`."""
    move = list(ELEMENTS).index(element.move)
    if element.is_coordinate:
        return move, COORDINATE, element.axis, np.nan
    if element.is_driven:
        return move, DRIVEN, element.axis, np.nan
    return move, CONSTANT, element.axis, element.amount  # type: ignore[return-value]  # a number here


def joint_names(bodies: tuple[Body, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names along q and along the speeds."""
    coordinates: list[str] = []
    speeds: list[str] = []
    known: dict[int, list[tuple[str | None, list[str], list[str]]]] = {}  # many bodies share a joint
    for body in bodies:
        parts = known.get(id(body.joint))
        if parts is None:
            parts = known[id(body.joint)] = _endings(body.joint)
        for name, of_coordinates, of_speeds in parts:
            stem = name or body.name
            coordinates += [stem + ending for ending in of_coordinates]
            speeds += [stem + ending for ending in of_speeds]
    return tuple(coordinates), tuple(speeds)


def _endings(joint: Joint) -> list[tuple[str | None, list[str], list[str]]]:
    """Of each element that moves: its name, and the endings of its coordinates and speeds behind that or the body's."""
    moving = [element for element in joint.elements if element.nv]
    numbers = [""] if len(moving) == 1 else [f".{k}" for k in range(len(moving))]
    return [(element.name, *[[("" if element.name else number) + part for part in parts]
                             for parts in (element.coordinate_parts, element.speed_parts)])  # type: ignore[misc]
            for number, element in zip(numbers, moving, strict=True)]


def _check_unique(names: tuple[str, ...], bodies: tuple[Body, ...]) -> None:
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    users = [
        repr(body.name) for body in bodies if twice in (names_of := joint_names((body,)))[0] or twice in names_of[1]
    ]
    raise ModelError(
        f"coordinate name {twice!r} is used more than once (joint of body {' and '.join(users[:4])}); "
        "names given to steps and joints must be unique in the model"
    )


def _lookup(table: dict[str, int], name: str, what: str, model: Model) -> int:
    try:
        return table[name]
    except (KeyError, TypeError):
        hint = checks.near(name, table) if isinstance(name, str) else ""
        raise ModelError(f"model {model.name!r} has no {what} named {checks.show(name)}.{hint}") from None
