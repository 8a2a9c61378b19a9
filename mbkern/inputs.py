"""Arguments of the public calls, brought into the form that kernels read: validated once, copied only when needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core.checks import LIMIT
from .errors import StateError
from .model.arrays import Array, configuration, real_array, refuse_masked, vector
from .model.checks import number, show
from .model.model import Model

__all__ = [
    "Array", "columns", "configuration", "output_arrays", "outputs", "real_array", "refuse_masked", "time", "vector",
    "wrenches",
]


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
