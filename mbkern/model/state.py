"""A state y = (q, p) from names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import StateError
from . import arrays
from .checks import near, show
from .model import Model


def pack(model: Model, q: Any, p: Any) -> NDArray[np.float64]:
    """See :meth:`Model.pack`."""
    sizes = np.diff([*model.q_offsets, model.nq])
    q = _filled(model, "q", q, model.neutral(), model._coordinate_index, model.q_offsets, sizes)
    p = _filled(model, "p", p, np.zeros(model.nv), model._speed_index, model.v_offsets, model.dofs)
    return np.concatenate((arrays.configuration(q, model), arrays.vector(p, "p", model.speed_names)))


def _filled(model: Model, what: str, given: Any, rest: NDArray[np.float64], places: dict[str, int],
            starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Any:
    """`given`, or `rest` with the named numbers of `given` in their places."""
    if given is None:
        return rest
    if not isinstance(given, Mapping):
        return given
    for name, value in given.items():
        if name in places:
            at, size = places[name], 1
        elif name in model._body_index:
            body = model._body_index[name]
            at, size = int(starts[body]), int(sizes[body])
        else:
            names = {**places, **model._body_index}
            hint = near(name, names) if isinstance(name, str) else ""
            raise StateError(f"{what}: model {model.name!r} has no coordinate or body named {show(name)}.{hint}")
        meaning = "one number" if size == 1 else f"{size} numbers"
        own = arrays.numbers(value, f"{what}[{name!r}]", meaning)
        rest[at:at + size] = arrays.real_array(own if own.ndim else own[None], f"{what}[{name!r}]", (size,), meaning)
    return rest
