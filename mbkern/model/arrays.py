"""Numbers of a state, brought into the form that kernels read: validated, copied only when needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.checks import ANGLE_LIMIT, LIMIT, QUATERNION_SLACK
from ..errors import NotEnoughMemoryError, StateError
from .checks import show

if TYPE_CHECKING:
    from .model import Model

Array = NDArray[np.float64]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, which refuses to be written to from now on."""
    array.flags.writeable = False
    return array


def refuse_masked(value: Any, what: str) -> None:
    """Masked entries have no value; NumPy would take what lies below the mask."""
    if isinstance(value, np.ma.MaskedArray):
        raise StateError(f"{what}: expected an array without a mask, got a masked array; fill it (.filled()) or leave "
                         "the masked entries out (.compressed())")


def too_large(value: Any, what: str) -> NotEnoughMemoryError:
    """The error for a view that nothing can copy."""
    return NotEnoughMemoryError(f"{what}: {8e-9 * np.size(value):.3g} GB of numbers, shape {np.shape(value)}, do not "
                                "fit into the memory; take them in parts")


def numbers(value: Any, what: str, meaning: str) -> Array:
    """A C-contiguous, writeable float64 array of any shape from anything array-like."""
    refuse_masked(value, what)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise TypeError
        return np.require(array, np.float64, ("C", "A", "W"))
    except MemoryError:
        raise too_large(value, what) from None
    except Exception as error:  # of any kind: the value itself may do the converting
        ours = isinstance(error, TypeError | ValueError)
        raise StateError(f"{what}: expected {meaning}, got {show(value)}") from (None if ours else error)


def real_array(value: Any, what: str, shape: tuple[int, ...], meaning: str) -> Array:
    """The same of a given shape."""
    array = numbers(value, what, f"{meaning}, shape {shape}")
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
    starts = model.quaternion_offsets
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
