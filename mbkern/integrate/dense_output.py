"""States between the steps of a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import IntegrationError, StateError
from ..inputs import Array
from ..model.arrays import numbers
from .kernels.dense import evaluate_dense


class DenseOutput(NamedTuple):
    """Polynomials of all steps, as the kernels wrote them."""

    plan: NDArray[np.int64]
    starts: Array
    ends: Array
    rows: Array


def interpolated(dense: DenseOutput | None, t: ArrayLike, begin: float, end: float,
                 first: Array) -> tuple[Array, Array]:
    """The times asked for, and the states at them as rows; `first` is the state of a run without a step."""
    if dense is None:
        raise IntegrationError("sol(t): the run kept no dense output; call simulate(..., dense=True)")
    times = numbers(t, "sol(t)", "a time or a list of times")
    if times.ndim > 1:
        raise StateError(f"sol(t): expected a time or a list of times, got shape {times.shape}")
    flat = np.atleast_1d(times)
    low, high = min(begin, end), max(begin, end)
    if not ((flat >= low) & (flat <= high)).all():
        raise StateError(f"sol(t): expected times between {low:g} and {high:g}, where the run was")
    plan, starts, ends, rows = dense
    out = np.empty((flat.size, first.size))
    if starts.size:
        evaluate_dense(plan, starts, ends, rows.reshape(-1), flat, out.reshape(-1))
    else:
        out[:] = first
    return times, out
