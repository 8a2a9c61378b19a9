"""Arguments of the public calls, brought into the form that kernels read: validated once, copied only when needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import lazy
from .core.checks import LIMIT
from .errors import StateError
from .model.arrays import Array, configuration, numbers, real_array, refuse_masked, vector
from .model.checks import number, show
from .model.model import Model

__all__ = [
    "Array", "columns", "configuration", "numbers", "real_array", "refuse_masked", "results", "rows", "system", "time",
    "vector", "wrenches",
]


def system(value: Any) -> Any:
    """A System."""
    if not isinstance(value, lazy.module("system").System):
        raise StateError(f"system: expected a System, got {show(value)}; mb.System(model) makes one of a model")
    return value


def columns(value: Any, what: str, n: int) -> Array:
    """Finite numbers of shape (n,), or (n, k) for k columns."""
    array = numbers(value, what, f"{n} real numbers a column")
    wanted = (n, array.shape[1]) if array.ndim == 2 else (n,)
    return _all_finite(real_array(array, what, wanted, f"{n} real numbers a column"), what)


def _all_finite(array: Array, what: str) -> Array:
    """The array, unless a number is not finite."""
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


def rows(value: Any, what: str, n: int) -> Array:
    """Finite numbers of shape (k, n), for any k."""
    array = numbers(value, what, f"rows of {n} real numbers")
    return _all_finite(real_array(array, what, (len(array) if array.ndim else 1, n), f"rows of {n} real numbers"), what)


def results(out: Any, names: Sequence[str], shapes: Sequence[tuple[int, ...]], order: str = "contiguous"
            ) -> tuple[Array, ...]:
    """Arrays that can be written into as they are: one, or a tuple of several."""
    several = len(names) > 1
    try:
        arrays = tuple(out) if several else (out,)
        got = show(out) if len(arrays) != len(names) else ""
    except Exception:  # of any kind: it is asked for its parts
        arrays, got = (), show(out)
    for array, shape in zip(arrays, shapes, strict=False):
        got = got or _fault(array, shape, order)
    if not got:
        return arrays
    if not several:
        raise StateError(f"out: expected a {order} writeable float64 array of shape {shapes[0]}, got {got}")
    raise StateError(f"out: expected ({', '.join(names)}), {order} writeable float64 arrays of shapes "
                     f"{' and '.join(map(str, shapes))}, got {got}")


def _fault(array: Any, shape: tuple[int, ...], order: str) -> str:
    """Why results cannot be written into it, or nothing."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        return show(array)
    if array.dtype == np.float64 and array.shape == shape and array.flags.carray:
        return ""
    return f"{array.dtype} {array.shape}" + ("" if array.flags.carray else f", read-only, unaligned or not {order}")
