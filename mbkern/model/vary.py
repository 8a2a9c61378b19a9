"""One topology, many machines: masses, centres of mass, inertias and lengths that differ from state to state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import constants as L
from ..errors import ModelError
from ..lazy import cached_property
from ..workspace import places
from . import checks
from .lowering import numbers

if TYPE_CHECKING:
    from .model import Body, Model

Array = NDArray[np.float64]

SHAPES = {"mass": "(B,)", "com": "(B, 3)", "inertia": "(B, 3), (B, 6) or (B, 3, 3)", "position": "(B, 3)"}


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

    def __init__(self, model: Model, changes: Mapping[int, Mapping[str, Array]]) -> None:
        self.model = model
        self._changes = {body: dict(change) for body, change in changes.items()}
        self.count = next(len(array) for change in self._changes.values() for array in change.values())

    def __repr__(self) -> str:
        names = self.model.body_names
        what = ", ".join(f"{' '.join(change)} of {names[body]!r}" for body, change in self._changes.items())
        return f"Varied(Model {self.model.name!r}, {self.count} states: {what})"

    def __getitem__(self, rows: slice) -> Varied:
        """Some of the states."""
        if not isinstance(rows, slice):
            raise TypeError(f"expected a slice such as varied[10:20], got {rows!r}; varied.model_of(i) is one machine")
        return Varied(self.model, {body: {name: array[rows] for name, array in change.items()}
                                   for body, change in self._changes.items()})

    def vary(self, body: str, *, mass: ArrayLike | None = None, com: ArrayLike | None = None,
             inertia: ArrayLike | None = None, position: ArrayLike | None = None) -> Varied:
        """Vary one more body; see `Model.vary`.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> model.vary(body="boom", mass=[700.0, 900.0]).vary(body="lifting", mass=[1400.0, 1600.0])
        Varied(Model 'pipelayer', 2 states: mass of 'boom', mass of 'lifting')
        """
        index, change = validated(self.model, body, mass, com, inertia, position, self.count)
        return Varied(self.model, {**self._changes, index: {**self._changes.get(index, {}), **change}})

    def model_of(self, i: int) -> Model:
        """The machine of state i, as a model of its own.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.pipelayer().vary(body="boom", mass=[700.0, 900.0]).model_of(1).bodies[3].mass
        np.float64(900.0)
        """
        specs = list(self.model.body_specs)
        for body, change in self._changes.items():
            specs[body] = replace(specs[body], **{name: _plain(array[i]) for name, array in change.items()})
        return type(self.model)(self.model.name, tuple(self.model.gravity.tolist()), tuple(specs),
                                self.model.frame_specs, self.model.visuals)

    # ---- what the kernels read -------------------------------------------------------------------------------------

    @cached_property
    def _lowered(self) -> tuple[NDArray[np.int64], Array]:
        specs: list[Body | Any] = list(self.model.body_specs)
        for body, change in self._changes.items():
            specs[body] = replace(specs[body], **{name: _columns(array) for name, array in change.items()})
        block = numbers(specs, self.model.gravity.tolist())
        # also numbers that are the same for all, where frames are chosen otherwise than in the model's own block
        places = [place for place, (number, nominal) in enumerate(zip(block, self.model.block.tolist(), strict=True))
                  if isinstance(number, np.ndarray) or number != nominal]
        values = np.empty((self.count, len(places)))
        for column, place in enumerate(places):
            values[:, column] = block[place]
        return np.array(places, np.int64), values

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


def validated(model: Model, body: str, mass: Any, com: Any, inertia: Any, position: Any,
              count: int | None = None) -> tuple[int, dict[str, Array]]:
    """Number of the body, and its constants for each state: every one a possible body."""
    index = model.body_index(body)
    given = {name: value for name, value in (
        ("mass", mass), ("com", com), ("inertia", inertia), ("position", position)) if value is not None}
    if not given:
        raise ModelError(f"vary(body={body!r}): expected one of {', '.join(SHAPES)}")
    change: dict[str, Array] = {}
    for name, value in given.items():
        what = f"vary(body={body!r}): {name}"
        try:
            array = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ModelError(f"{what}: expected numbers of shape {SHAPES[name]} for B states, got "
                             f"{checks.show(value)}") from None
        fits = {"mass": array.ndim == 1, "com": array.ndim == 2 and array.shape[1] == 3,
                "position": array.ndim == 2 and array.shape[1] == 3,
                "inertia": array.ndim in (2, 3) and array.shape[1:] in ((3,), (6,), (3, 3))}[name]
        if not fits or array.shape[0] == 0:
            raise ModelError(f"{what}: expected shape {SHAPES[name]} for B states, got {array.shape}")
        if count is not None and array.shape[0] != count:
            raise ModelError(f"{what}: expected a value for each of {count} states, got {array.shape[0]}")
        count = array.shape[0]
        finite = np.isfinite(array.reshape(count, -1)).all(axis=1)
        if not finite.all():
            raise ModelError(f"{what}: expected finite numbers, got {array[np.argmin(finite)]} in state "
                             f"{np.argmin(finite)}")
        if name == "mass" and (array < 0.0).any():
            raise ModelError(f"{what}: expected masses that are not negative, got {array.min():g} kg in state "
                             f"{np.argmin(array)}")
        change[name] = _possible(array, what) if name == "inertia" else array
    return index, change


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


def _columns(array: Array) -> Any:
    """Nested tuples whose numbers are arrays over the states."""
    if array.ndim == 1:
        return array
    return tuple(_columns(np.ascontiguousarray(array[:, j])) for j in range(array.shape[1]))
