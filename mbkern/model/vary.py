"""One topology, many machines: constants that differ from state to state.

Masses, centres of mass, inertias and lengths go through the lowering of the model, with an array over the states in the
place of every number. Springs, dampers, rotors and gravity stand in the block as they are: their places are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import constants as L
from ..errors import ModelError
from ..lazy import cached_property
from ..workspace import places
from . import checks
from .arrays import too_large
from .doubts import room_in
from .lowering import numbers

if TYPE_CHECKING:
    from .model import Model

Array = NDArray[np.float64]

SHAPES = {"mass": "(B,)", "com": "(B, 3)", "inertia": "(B, 3), (B, 6) or (B, 3, 3)", "position": "(B, 3)"}
#: Of each dof of a joint, and where it is in a coordinate row of the block.
JOINT = {"stiffness": L.STIFFNESS, "damping": L.DAMPING, "armature": L.ARMATURE}


class Varied:
    """A model whose bodies have other constants in each of B states; made by `Model.vary`.

    Attributes
    ----------
    model : Model
        The machine that is varied.
    count : int
        B, the number of states.
    places : (m,) int array
        Which numbers of the model's block differ.
    values : (B, m) array
        What they are in each state.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> model = mb.zoo.pipelayer()
    >>> varied = model.vary(body="boom", mass=np.linspace(700.0, 900.0, 1000))
    >>> Qdot, Pdot = mb.System(model).rhs_batch(np.zeros((1000, 6)), np.zeros((1000, 6)), parameters=varied)
    >>> Pdot.shape
    (1000, 6)
    """

    def __init__(self, model: Model, changes: Mapping[int, Mapping[str, Array]], gravity: Array | None = None) -> None:
        self.model = model
        self._changes = {body: dict(change) for body, change in changes.items()}
        self._gravity = gravity
        self.count = len(gravity) if gravity is not None else next(
            len(array) for change in self._changes.values() for array in change.values())

    def __repr__(self) -> str:
        names = self.model.body_names
        what = [f"{' '.join(change)} of {names[body]!r}" for body, change in self._changes.items()]
        what += [] if self._gravity is None else ["gravity"]
        return f"Varied(Model {self.model.name!r}, {self.count} states: {', '.join(what)})"

    def __getitem__(self, rows: slice) -> Varied:
        """Some of the states."""
        if not isinstance(rows, slice):
            raise ModelError(f"expected a slice such as varied[10:20], got {checks.show(rows)}; varied.model_of(i) is "
                             "one machine")
        return Varied(self.model, {body: {name: array[rows] for name, array in change.items()}
                                   for body, change in self._changes.items()},
                      None if self._gravity is None else self._gravity[rows])

    @staticmethod
    def joined(parts: Sequence[Varied]) -> Varied:
        """All states of several, in their order, which vary the same constants."""
        first = parts[0]
        changes = {body: {name: np.concatenate([part._changes[body][name] for part in parts]) for name in change}
                   for body, change in first._changes.items()}
        gravities = [part._gravity for part in parts if part._gravity is not None]
        return Varied(first.model, changes, np.concatenate(gravities) if gravities else None)

    def vary(self, body: str | None = None, *, mass: ArrayLike | None = None, com: ArrayLike | None = None,
             inertia: ArrayLike | None = None, position: ArrayLike | None = None, stiffness: ArrayLike | None = None,
             damping: ArrayLike | None = None, armature: ArrayLike | None = None, gravity: ArrayLike | None = None
             ) -> Varied:
        """Vary one more body, or gravity; see `Model.vary`.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> model.vary(body="boom", mass=[700.0, 900.0]).vary(body="lifting", mass=[1400.0, 1600.0])
        Varied(Model 'pipelayer', 2 states: mass of 'boom', mass of 'lifting')
        """
        return varied(self.model, body, mass=mass, com=com, inertia=inertia, position=position, stiffness=stiffness,
                      damping=damping, armature=armature, gravity=gravity, before=self)

    def model_of(self, i: int) -> Model:
        """The machine of state i, as a model of its own.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.pipelayer().vary(body="boom", mass=[700.0, 900.0]).model_of(1).bodies[3].mass
        np.float64(900.0)
        """
        i = checks.whole(i, "model_of(i), the number of a state", -self.count, self.count - 1)
        specs = list(self.model.body_specs)
        for body, change in self._changes.items():
            specs[body] = specs[body]._replace(**{name: _plain(array[i]) for name, array in change.items()})
        gravity = self.model.gravity if self._gravity is None else self._gravity[i]
        return type(self.model)(self.model.name, tuple(gravity.tolist()), tuple(specs),
                                self.model.frame_specs, self.model.visuals, self.model.constraints)

    # ---- what the kernels read -------------------------------------------------------------------------------------

    @cached_property
    def _lowered(self) -> tuple[NDArray[np.int64], Array]:
        changes = {body: {name: array for name, array in change.items() if name in SHAPES}
                   for body, change in self._changes.items()}
        block = numbers(self.model._columns, self.model.gravity.tolist(), changes, self.model.constraints,
                        self.model.coordinate_names, room_in(self.model.block)).astype(object)
        for place, values_there in self._standing():
            block[place] = values_there
        # also numbers that are the same for all, where frames are chosen otherwise than in the model's own block
        differing = [place for place, (number, nominal) in enumerate(zip(block, self.model.block.tolist(), strict=True))
                     if isinstance(number, np.ndarray) or number != nominal]
        values = np.empty((self.count, len(differing)))
        for column, place in enumerate(differing):
            values[:, column] = block[place]
        return np.array(differing, np.int64), values

    def _standing(self) -> Iterator[tuple[int, Any]]:
        """Places and values of what stands in the block as it is."""
        block = self.model.block
        if self._gravity is not None:
            yield from zip(range(L.GRAVITY, L.GRAVITY + 3), self._gravity.T, strict=True)
        nodes = {int(block[places.node_row(i) + L.VI]): places.node_row(i) for i in range(int(block[L.N_NODES]))
                 if block[places.node_row(i) + L.DOFS] == 1.0}
        for body, change in self._changes.items():
            for name, at in JOINT.items():
                for k, column in enumerate(change[name].T if name in change else ()):
                    dof = int(self.model.v_offsets[body]) + k
                    yield int(block[L.AT_COORDINATES]) + dof * L.COORDINATE + at, column
                    if name == "armature" and dof in nodes:
                        yield nodes[dof] + L.ROTOR_INERTIA, column
                    elif name != "armature" and column.any():
                        yield L.HAS_PASSIVE, 1.0

    @property
    def places(self) -> NDArray[np.int64]:
        """Which numbers of the model's block differ."""
        return self._lowered[0]

    @property
    def values(self) -> Array:
        """What they are in each state, (B, m)."""
        return self._lowered[1]

    def first_singular(self) -> tuple[str, int] | None:
        """Body and state of the first inertia of a varied body that cannot be inverted."""
        block = self.model.block
        for body in self._changes:
            column = np.flatnonzero(self.places == places.body_row(block, body) + L.ROOT_MASS)
            if column.size and not self.values[:, column[0]].all():
                return self.model.body_names[body], int(np.argmin(self.values[:, column[0]] != 0.0))
        return None


def varied(model: Model, body: str | None, before: Varied | None = None, **constants: Any) -> Varied:
    """See `Model.vary`; `before` is what varies already."""
    given = {name: value for name, value in constants.items() if value is not None}
    gravity = given.pop("gravity", None)
    changes: dict[int, dict[str, Array]] = {} if before is None else dict(before._changes)
    pull, count = (None, None) if before is None else (before._gravity, before.count)
    if body is None:
        if given:
            raise ModelError(f"vary: {', '.join(given)}: of which body? Expected vary(body=name, ...)")
        if gravity is None:
            raise ModelError(f"vary: expected gravity, or a body and one of {', '.join([*SHAPES, *JOINT])}")
    else:
        index = model.body_index(body)
        if not given and gravity is None:
            raise ModelError(f"vary(body={body!r}): expected one of {', '.join([*SHAPES, *JOINT])}")
        change = dict(changes.get(index, {}))
        for name, value in given.items():
            what = f"vary(body={body!r}): {name}"
            change[name] = (_of_joint(model, index, name, value, what, count) if name in JOINT
                            else _of_body(name, value, what, count))
            count = len(change[name])
        if change:
            changes[index] = change
    if gravity is not None:
        pull = _numbers(gravity, "vary: gravity", "(B, 3)", _are_vectors, count)
    return Varied(model, changes, pull)


def _are_vectors(array: Array) -> bool:
    return array.ndim == 2 and array.shape[1] == 3


def _of_body(name: str, value: Any, what: str, count: int | None) -> Array:
    """Constants of a body for each state: every one a possible body."""
    array = _numbers(value, what, SHAPES[name], {
        "mass": lambda array: array.ndim == 1, "com": _are_vectors, "position": _are_vectors,
        "inertia": lambda array: array.ndim in (2, 3) and array.shape[1:] in ((3,), (6,), (3, 3))}[name], count)
    if name == "mass" and (array < 0.0).any():
        raise ModelError(f"{what}: expected masses that are not negative, got {array.min():g} kg in state "
                         f"{np.argmin(array)}")
    return _possible(array, what) if name == "inertia" else array


def _of_joint(model: Model, body: int, name: str, value: Any, what: str, count: int | None) -> Array:
    """Springs, dampers or rotors of a joint for each state, (B, dofs)."""
    spec = model.body_specs[body]
    n = spec.joint.nv
    if n == 0:
        raise ModelError(f"{what}: its {spec.joint.kind} joint has no dofs")
    shape = "(B,) or (B, 1)" if n == 1 else f"(B, {n}), a number for each dof of its joint"
    array = _numbers(value, what, shape, lambda array: array.shape[1:] == (n,) or (n == 1 and array.ndim == 1), count)
    array = array.reshape(-1, n)
    if (array < 0.0).any():
        raise ModelError(f"{what}: expected numbers that are not negative, got {array.min():g} in state "
                         f"{np.argmin(array.min(axis=1))}")
    if name == "stiffness":
        springless = [k for k, at in enumerate(own_coordinates(model, body)) if at < 0 and array[:, k].any()]
        if springless:
            raise ModelError(f"{what}: dof {springless[0] + 1} of its {spec.joint.kind} joint has no coordinate of its "
                             "own that a spring could stretch")
    if name == "armature":
        nominal = np.array(spec.armature or (0.0,) * n)
        if ((array > 0.0) != (nominal > 0.0)).any():
            raise ModelError(f"{what}: a rotor that some states have and others have not makes other equations; "
                             "expected positive numbers where the model has armature, and 0 elsewhere; the model has "
                             f"{nominal.tolist()}")
    return array


def own_coordinates(model: Model, body: int) -> list[int]:
    """Of each dof of a joint the place in q that its spring stretches; -1 where there is none."""
    block, first = model.block, int(model.v_offsets[body])
    rows = [int(block[L.AT_COORDINATES]) + (first + k) * L.COORDINATE for k in range(model.body_specs[body].joint.nv)]
    return [int(block[row + L.SPRING_QI]) for row in rows]


def _numbers(value: Any, what: str, shape: str, fits: Callable[[Array], bool], count: int | None) -> Array:
    """Finite numbers for each state, in a shape that fits."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu" or isinstance(value, np.ma.MaskedArray):
            raise TypeError
        array = np.array(array, dtype=np.float64)
    except MemoryError:
        raise too_large(value, what) from None
    except Exception:  # of any kind: the value itself may do the converting
        raise ModelError(f"{what}: expected numbers of shape {shape} for B states, got {checks.show(value)}") from None
    if array.ndim == 0 or not fits(array) or array.shape[0] == 0:
        raise ModelError(f"{what}: expected shape {shape} for B states, got {array.shape}")
    if count is not None and array.shape[0] != count:
        raise ModelError(f"{what}: expected a value for each of {count} states, got {array.shape[0]}")
    finite = np.isfinite(array.reshape(array.shape[0], -1)).all(axis=1)
    if not finite.all():
        raise ModelError(f"{what}: expected finite numbers, got {array[np.argmin(finite)]} in state "
                         f"{np.argmin(finite)}")
    return array


def _possible(given: Array, what: str) -> Array:
    """Inertias as (B, 3, 3), each that of a rigid body."""
    if given.ndim == 3:
        J = given
    elif given.shape[1] == 3:
        J = given[:, :, None] * np.eye(3)
    else:
        xx, yy, zz, xy, xz, yz = given.T
        J = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=1).reshape(-1, 3, 3)
    moments = np.linalg.eigvalsh(J)
    trace = np.trace(J, axis1=1, axis2=2)
    asymmetric = np.abs(J - J.transpose(0, 2, 1)).max(axis=(1, 2)) > 0.0
    doubtful = asymmetric | (moments[:, 0] <= 0.0) | (0.5 * trace - moments[:, 2] <= 0.0)
    J = J.copy()
    for row in np.flatnonzero(doubtful):  # flat bodies, rods, mistakes: the checks of a single body decide
        J[row] = checks.inertia(given[row], f"{what} in state {row}")
    return J


def _plain(value: Any) -> Any:
    """A number or nested tuples of them."""
    return tuple(_plain(x) for x in value) if np.ndim(value) else float(value)
