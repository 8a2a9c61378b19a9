"""The finished machine: an immutable tree of bodies, and the flat arrays that describe it.

`Model.body_specs` is the one source of truth: what the user said, checked, as plain numbers. Everything else
(record arrays, offsets, names, the packed block of the kernels) is derived from it and read-only.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbkern import lazy
from mbkern.errors import FrozenError, ModelError
from mbkern.lazy import cached_property
from mbkern.model import checks
from mbkern.model.arrays import frozen
from mbkern.model.body import WORLD, Body, Frame
from mbkern.model.checks import Vec3
from mbkern.model.columns import Columns, columns_of
from mbkern.model.files import Files
from mbkern.model.names import Names, check_unique, joint_names
from mbkern.model.tables import Tables

if TYPE_CHECKING:
    from mbkern.model.constraints import Constraint
    from mbkern.model.vary import Varied
    from mbkern.model.visual import Visual


class Model(Tables, Names, Files):
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

    def __init__(self, name: str, gravity: Vec3, body_specs: tuple[Body, ...] | Columns,
                 frame_specs: tuple[tuple[str, Frame], ...] = (),
                 visuals: Mapping[str, tuple[Visual, ...]] | None = None,
                 constraints: tuple[Constraint, ...] = ()) -> None:
        if isinstance(body_specs, Columns):
            columns = body_specs
        else:
            if not isinstance(name, str) or not isinstance(body_specs, tuple) or not all(
                    [isinstance(body, Body) for body in body_specs]):
                raise ModelError("Model: expected a name and bodies as ModelBuilder.build makes them, got "
                                 f"{checks.show(name)} and {checks.show(body_specs)}; use ModelBuilder")
            gravity = checks.vector3(gravity, "gravity")
            columns = columns_of(body_specs)
            self.__dict__["body_specs"] = body_specs
        dofs, sizes = columns.counts("nv"), columns.counts("nq")
        coordinates, speeds = joint_names(columns)
        check_unique(coordinates, columns)
        if speeds is not coordinates:
            check_unique(speeds, columns)
        self.__dict__.update(  # past __setattr__, which refuses
            name=name,
            gravity=frozen(np.array(gravity, dtype=np.float64)),
            _columns=columns,
            n_bodies=len(columns),
            nq=int(sizes.sum()),
            nv=int(dofs.sum()),
            parents=frozen(columns.parents),
            dofs=frozen(dofs),
            q_offsets=frozen(np.cumsum(sizes) - sizes),
            v_offsets=frozen(np.cumsum(dofs) - dofs),
            body_names=columns.names,
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
