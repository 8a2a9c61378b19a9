"""Arguments of batches: shapes are checked here and raise; the numbers of a row are checked in compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inputs
from ..core.checks import LIMIT
from ..errors import MethodError, ModelError, NotEnoughMemoryError, SingularInertiaError, StateError
from ..inputs import Array
from ..model.checks import show
from ..model.vary import Varied

if TYPE_CHECKING:
    from ..system import System


START: Array = np.zeros(1)  # the default time; nobody writes into it


def rows(value: Any, what: str, names: tuple[str, ...], count: int | None = None, first: str = "Q") -> Array:
    """One row of len(names) numbers for each state, row-major; any numbers, NaN included."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.ndim == 2 and value.flags.carray and (
            value.shape == (value.shape[0] if count is None else count, len(names))):
        return value  # nothing to do: small batches feel the time that the rest takes
    try:
        shape = np.shape(value)
    except ValueError:
        raise StateError(f"{what}: expected rows of equal length, one for each state, got rows of different "
                         "lengths") from None
    except Exception:  # of any kind: the value itself may do the converting
        raise StateError(f"{what}: expected rows of numbers, one for each state, got {show(value)}") from None
    n = len(names)
    if len(shape) != 2:
        hint = f"; for a single state write {what}[None, :]" if shape == (n,) else ""
        raise StateError(f"{what}: expected shape (B, {n}), one row for each state, got shape {shape}{hint}")
    if count is not None and shape[0] != count:
        raise StateError(f"{what}: expected as many rows as {first} ({count}), got {shape[0]}")
    wanted = shape[0] if count is None else count
    try:
        return inputs.real_array(value, what, (wanted, n), f"a row of {n} numbers for each state")
    except MemoryError:
        raise NotEnoughMemoryError(f"{what}: there are not the {8e-9 * wanted * n:.3g} GB of memory for a row-major "
                                   f"float64 copy of it, {wanted} rows of {n} numbers; give such an array, or take the "
                                   "states in parts") from None


def states(system: System, Q: Any, P: Any, names: tuple[str, str] = ("Q", "P")) -> tuple[Array, Array]:
    """Configurations (B, nq) and momenta (B, nv) of the same states."""
    model = system.model
    q = rows(Q, names[0], model.coordinate_names)
    return q, rows(P, names[1], model.speed_names, q.shape[0], names[0])


def dimensions(value: Any) -> int:
    """How many axes a value has; 2 where it does not say."""
    try:
        return np.ndim(value)
    except Exception:  # ragged, or converting fails otherwise: whoever takes rows refuses it
        return 2


def times(value: Any, count: int) -> Array:
    """One time for all states, or one for each."""
    if value.__class__ is float and value == 0.0:
        return START
    if isinstance(value, float | int) or dimensions(value) == 0:
        return np.array([inputs.time(value)])
    return inputs.real_array(value, "t", (count,), "a number, or one for each state")


def forces(value: Any, system: System, count: int) -> Array:
    """Joint forces as rows: none, one for all states, or one for each."""
    model = system.model
    if value is None:
        return np.empty((0, model.nv))
    if callable(value):
        raise StateError("tau: expected numbers; functions act in simulate_batch only")
    axes = dimensions(value)
    if axes == 1:
        return inputs.vector(value, "tau", model.speed_names, LIMIT)[None, :].copy()
    if axes != 2:
        raise StateError(f"tau: expected shape ({model.nv},) or ({count}, {model.nv}), got {show(value)}")
    return rows(value, "tau", model.speed_names, count)


def parameters(value: Any, system: System, count: int) -> Varied | None:
    """Constants of each state's own machine, if they are those of the system's model."""
    if value is None:
        return None
    if not isinstance(value, Varied):
        raise ModelError(f"parameters: expected what model.vary(...) returns, got {show(value)}")
    if value.model != system.model:
        raise ModelError("parameters: they vary another model than that of this system; use system.model.vary(...)")
    if value.count != count:
        raise StateError(f"parameters: expected one set for each of the {count} states, got {value.count}")
    if system.binding.method.needs_inertias:
        bad = value.first_singular()
        if bad is not None:
            body, row = bad
            raise SingularInertiaError(
                f"parameters: method {system.method!r} inverts the inertia of every body, but that of body {body!r} of "
                f"state {row} is singular; use another method", body)
    return value


def integrator(name: Any, known: dict[str, Any], all_known: dict[str, Any]) -> Any:
    """The integrator of that name, if it works on batches."""
    if isinstance(name, str) and name in known:
        return known[name]
    single = " (it works in simulate, for one state)" if isinstance(name, str) and name in all_known else ""
    raise MethodError(f"integrator: batches have {', '.join(known)}, got {show(name)}{single}")
