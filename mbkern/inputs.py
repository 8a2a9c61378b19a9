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


def refuse_masked(value: Any, what: str) -> None:
    """Masked entries have no value; NumPy would take what lies below the mask."""
    if isinstance(value, np.ma.MaskedArray):
        raise StateError(f"{what}: expected an array without a mask, got a masked array; fill it (.filled()) or leave "
                         "the masked entries out (.compressed())")


def real_array(value: Any, what: str, shape: tuple[int, ...], meaning: str) -> Array:
    """A C-contiguous, writeable float64 array of the given shape from anything array-like."""
    refuse_masked(value, what)
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
    bad = ~(np.abs(array) <= LIMIT)
    if bad.any():
        place = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
        raise StateError(f"{what}[{', '.join(map(str, place))}] = {array[place]}: expected a finite number of size at "
                         f"most {LIMIT:g}")
    return array


def time(value: Any, what: str = "t") -> float:
    """A finite time."""
    t = number(value, what, StateError)
    if not abs(t) <= LIMIT:
        raise StateError(f"{what} = {t}: expected a finite number of size at most {LIMIT:g}")
    return t


def wrenches(value: Any, model: Model, what: str = "wrench") -> Array:
    """(force; moment) of each body, (N, 6)."""
    array = real_array(value, what, (model.n_bodies, 6), "force and moment of each body")
    bad = ~(np.abs(array) <= LIMIT)
    if bad.any():
        b, j = (int(x) for x in np.unravel_index(int(np.argmax(bad)), bad.shape))
        raise StateError(f"{what}[{b}, {j}] (body {model.body_names[b]!r}) = {array[b, j]}: expected a finite "
                         f"number of size at most {LIMIT:g}")
    return array


def outputs(out: Any, model: Model, q: Array, p: Array, tau: Any = None) -> tuple[Array, Array]:
    """The arrays (qdot, pdot) that a caller wants filled for a state (q, p) under forces tau."""
    qdot, pdot = output_arrays(out, ("qdot", "pdot"), ((model.nq,), (model.nv,)), "contiguous")
    for name, array, others in (("qdot", qdot, (q, p, tau, pdot)), ("pdot", pdot, (q, p, tau))):
        if any(isinstance(other, np.ndarray) and np.may_share_memory(array, other) for other in others):
            raise StateError(f"out: {name} shares memory with another argument, which it would change while it is "
                             "read; give an array of its own")
    return qdot, pdot


def output_arrays(out: Any, names: tuple[str, str], shapes: tuple[tuple[int, ...], tuple[int, ...]], order: str
                  ) -> tuple[Array, Array]:
    """Two arrays that can be written into as they are."""
    try:
        first, second = out
    except (TypeError, ValueError):
        got = show(out)
    else:
        got = _fault(first, shapes[0], order) or _fault(second, shapes[1], order)
        if not got:
            return first, second
    raise StateError(f"out: expected ({names[0]}, {names[1]}), {order} writeable float64 arrays of shapes {shapes[0]} "
                     f"and {shapes[1]}, got {got}")


def _fault(array: Any, shape: tuple[int, ...], order: str) -> str:
    """Why results cannot be written into it, or nothing."""
    if not isinstance(array, np.ndarray):
        return show(array)
    if array.dtype == np.float64 and array.shape == shape and array.flags.carray:
        return ""
    return f"{array.dtype} {array.shape}" + ("" if array.flags.carray else f", read-only, unaligned or not {order}")
