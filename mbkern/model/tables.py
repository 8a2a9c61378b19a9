"""The arrays that describe a machine, derived from its bodies when they are first asked for; all read-only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mbkern import collector, lazy
from mbkern.lazy import cached_property
from mbkern.model import checks
from mbkern.model.arrays import frozen
from mbkern.model.body import UNLIMITED, Body, Frame, Limits
from mbkern.model.checks import Vec3
from mbkern.model.columns import MASS, PLACES, Columns, Extras
from mbkern.model.joint import ELEMENTS, Element

if TYPE_CHECKING:
    from mbkern.model.constraints import Constraint

#: Codes of `Model.steps`; those of moves are the places of `ELEMENTS`.
COORDINATE, CONSTANT, DRIVEN = 0, 1, 2

STEP_DTYPE = np.dtype(
    [
        ("body", np.int64), ("move", np.int64), ("kind", np.int64), ("axis", np.float64, (3,)),
        ("value", np.float64), ("q_index", np.int64), ("v_index", np.int64),
    ]
)  # fmt: skip


class Tables:
    """The part of `Model` that is arrays: bodies, steps, numbers per dof, frames, and the block of the kernels."""

    if TYPE_CHECKING:
        _columns: Columns
        frame_specs: tuple[tuple[str, Frame], ...]
        constraints: tuple[Constraint, ...]
        body_names: tuple[str, ...]
        parents: NDArray[np.int64]
        dofs: NDArray[np.int64]
        q_offsets: NDArray[np.int64]
        v_offsets: NDArray[np.int64]

    @cached_property
    def body_specs(self) -> tuple[Body, ...]:
        """What the model consists of: one `Body` each, as plain numbers.

        Examples
        --------
        >>> import mbkern as mb
        >>> [body.name for body in mb.zoo.pipelayer().body_specs if body.mass > 5000.0]
        ['chassis', 'rotating']
        """
        with collector.paused():
            return self._columns.bodies()

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
        numbers, kinds = self._columns.numbers, self._columns.kinds
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
        table = np.zeros(len(numbers), dtype=dtype)
        n_steps = np.array([len(joint.elements) for joint in kinds], dtype=np.int64)[self._columns.kind]
        table["name"] = self.body_names
        table["parent"] = self.parents
        table["dofs"] = self.dofs
        table["nq"] = self._columns.counts("nq")
        table["q_offset"] = self.q_offsets
        table["v_offset"] = self.v_offsets
        table["first_step"] = np.cumsum(n_steps) - n_steps
        table["n_steps"] = n_steps
        for name, place in PLACES.items():
            table[name] = numbers[:, place].reshape(table[name].shape)
        table["M"] = _spatial_inertia(table["mass"], table["com"], table["inertia"])
        return frozen(table).view(np.recarray)

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
        return frozen(np.array(records, dtype=STEP_DTYPE)).view(np.recarray)

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

        return frozen(lower(self))

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
        def given(name: str) -> Callable[[Extras], Any]:
            return lambda extras: None if extras.limits is None else getattr(extras.limits, name)

        return Limits(*[frozen(self._columns.per_dof(given(name), unlimited))
                        for name, unlimited in zip(Limits._fields, UNLIMITED, strict=True)])

    @cached_property
    def friction(self) -> NDArray[np.float64]:
        """Coulomb friction per dof, N or N m; kept as data, the equations of motion do not apply it.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.chain(2).friction
        array([0., 0.])
        """
        return self._per_dof("friction")

    @cached_property
    def armature(self) -> NDArray[np.float64]:
        """Rotor inertia per dof, kg m^2 or kg: what it adds to the diagonal of the mass matrix.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.chain(2).armature
        array([0., 0.])
        """
        return self._per_dof("armature")

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
        return frozen(self._columns.per_dof(attrgetter(name)))

    @property
    def total_mass(self) -> float:
        """Sum of all masses in kg.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.pipelayer().total_mass
        26300.0
        """
        return sum(self._columns.numbers[:, MASS].tolist())

    @cached_property
    def quaternion_offsets(self) -> NDArray[np.int64]:
        """Where the quaternions start in q."""
        places = [at + e.quaternion for at, e in self._placed_elements if e.quaternion is not None]
        return frozen(np.array(places, np.int64))

    @property
    def _placed_elements(self) -> list[tuple[int, Element]]:
        """All elements with coordinates, and where these begin in q."""
        elements = [element for body in self.body_specs for element in body.joint.elements if element.nq]
        ends = np.cumsum([element.nq for element in elements], dtype=np.int64).tolist()
        return [(end - element.nq, element) for end, element in zip(ends, elements, strict=True)]


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
