"""The two momentum-like variables of a state: momenta p and joint speeds u, and from one to the other.

A system has the state (q, x), where x is p or u, see `System.variable`. One state, or many as rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .inputs import Array

if TYPE_CHECKING:
    from .system import System


def momenta(system: System, q: Array, x: Array, t: Any) -> Array:
    """p of a state (q, x) at time t."""
    return x if system.variable == "p" else system.momenta(q, x, t)


def speeds(system: System, q: Array, x: Array, t: Any) -> Array:
    """u of a state (q, x) at time t."""
    return x if system.variable == "u" else system.velocities(q, x, t)


def momenta_of_rows(system: System, q: Array, x: Array, t: Array) -> Array:
    """p of states (q, x), one a row, at times t; rows of NaN stay so."""
    return x if system.variable == "p" else _of_finite_rows(system.momenta_batch, q, x, t)


def speeds_of_rows(system: System, q: Array, x: Array, t: Array) -> Array:
    """u of states (q, x), one a row, at times t; rows of NaN stay so."""
    return x if system.variable == "u" else _of_finite_rows(system.velocities_batch, q, x, t)


def _of_finite_rows(convert: Callable[[Array, Array, Array], Any], q: Array, x: Array, t: Array) -> Array:
    """What a batched call makes of the rows that are finite; NaN for the others."""
    out = np.full(x.shape, np.nan)
    good = np.isfinite(q).all(axis=1) & np.isfinite(x).all(axis=1)
    if good.any():
        out[good] = convert(q[good], x[good], np.ascontiguousarray(t[good]))
    return out
