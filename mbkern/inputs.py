"""Arguments of the public calls, brought into the form that kernels read: validated once, copied only when needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .core.checks import ANGLE_LIMIT, LIMIT, QUATERNION_SLACK
from .errors import StateError
from .model.checks import number, show
from .model.model import Model

Array = NDArray[np.float64]


def real_array(value: Any, what: str, shape: tuple[int, ...], meaning: str) -> Array:
    """A C-contiguous, writeable float64 array of the given shape from anything array-like."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise TypeError
        array = np.require(array, np.float64, ("C", "A", "W"))
    except (TypeError, ValueError):
        raise StateError(f"{what}: expected {meaning}, shape {shape}, got {show(value)}") from None
    if array.shape != shape:
        raise StateError(f"{what}: expected {meaning}, shape {shape}, got shape {array.shape}")
    return array


def vector(value: Any, what: str, names: Sequence[str], limit: float = LIMIT) -> Array:
    """One finite number for each of `names`."""
    array = real_array(value, what, (len(names),), f"{len(names)} real numbers")
    bad = ~(np.abs(array) <= limit)
    if bad.any():
        j = int(np.argmax(bad))
        raise StateError(f"{what}[{j}] ({names[j]}) = {array[j]}: expected a finite number of size at most {limit:g}")
    return array


def configuration(value: Any, model: Model, what: str = "q") -> Array:
    """A configuration q with unit quaternions."""
    q = vector(value, what, model.coordinate_names, ANGLE_LIMIT)
    starts = model._quaternions
    if starts.size:
        length = np.linalg.norm(q[starts[:, None] + np.arange(4)], axis=1)
        far = np.abs(length - 1.0) > QUATERNION_SLACK
        if far.any():
            k = int(np.argmax(far))
            at = int(starts[k])
            name = model.coordinate_names[at]
            raise StateError(
                f"{what}[{at}:{at + 4}] ({name} ...): expected a unit quaternion (w, x, y, z), got length "
                f"{length[k]:.6g}; divide it by its length")
    return q


def columns(value: Any, what: str, n: int) -> Array:
    """Finite numbers of shape (n,), or (n, k) for k columns."""
    try:
        shape = np.shape(value)
    except ValueError:  # ragged
        shape = ()
    wanted = (n, shape[1]) if len(shape) == 2 else (n,)
    array = real_array(value, what, wanted, f"{n} real numbers a column")
    if not np.isfinite(array).all():
        raise StateError(f"{what}: expected finite numbers, got {show(value)}")
    return array


def time(value: Any, what: str = "t") -> float:
    """A finite time."""
    return number(value, what, StateError)


def wrenches(value: Any, model: Model, what: str = "wrench") -> Array:
    """(force; moment) of each body, (N, 6)."""
    array = real_array(value, what, (model.n_bodies, 6), "force and moment of each body")
    bad = ~(np.abs(array) <= LIMIT)
    if bad.any():
        b, j = (int(x) for x in np.unravel_index(int(np.argmax(bad)), bad.shape))
        raise StateError(f"{what}[{b}, {j}] (body {model.body_names[b]!r}) = {array[b, j]}: expected a finite number")
    return array


def outputs(out: Any, model: Model) -> tuple[Array, Array]:
    """The arrays (qdot, pdot) that a caller wants filled."""
    wanted = f"out: expected (qdot, pdot), contiguous writeable float64 arrays of {model.nq} and {model.nv} numbers"
    try:
        qdot, pdot = out
    except (TypeError, ValueError):
        raise StateError(f"{wanted}, got {show(out)}") from None
    for array, n in ((qdot, model.nq), (pdot, model.nv)):
        if not isinstance(array, np.ndarray):
            raise StateError(f"{wanted}, got {show(array)}")
        if array.dtype != np.float64 or array.shape != (n,) or not array.flags.carray:
            fault = "" if array.flags.carray else ", read-only or not contiguous"
            raise StateError(f"{wanted}, got {array.dtype} {array.shape}{fault}")
    return qdot, pdot
