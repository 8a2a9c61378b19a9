"""States of a run at times between its outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicHermiteSpline, CubicSpline

from ..embed.handle import CFunc
from ..errors import IntegrationError, StateError
from ..inputs import Array
from ..model.arrays import numbers

if TYPE_CHECKING:
    from .solution import Solution


def states(solution: Solution, t: ArrayLike) -> tuple[Array, Array]:
    """See `Solution.resample`: the times, and (q, p) or (q, u) at them as rows, whichever the run has."""
    times = numbers(t, "resample(t)", "a list of times").copy()
    if times.ndim != 1:
        raise StateError(f"resample(t): expected a list of times, got shape {times.shape}")
    own = solution.t
    onward = np.sign(own[-1] - own[0]) if own.size else 1.0
    if not (np.diff(times) * onward > 0.0).all():
        raise StateError(f"resample(t): expected {'rising' if onward > 0.0 else 'falling'} times, as in the run")
    if solution._dense is not None:
        return times, np.hstack(solution.sol(times))
    if own.size < 2:
        raise IntegrationError("resample(t): the run has fewer than two outputs")
    low, high = min(own[0], own[-1]), max(own[0], own[-1])
    if not ((times >= low) & (times <= high)).all():
        raise StateError(f"resample(t): expected times between {low:g} and {high:g}, where the outputs are")
    order = slice(None, None, int(onward))
    upward, y = own[order], solution.y[order]
    curve = (CubicHermiteSpline(upward, y, rates(solution)[order]) if solution._loads.known
             else CubicSpline(upward, y))
    between = np.ascontiguousarray(curve(times))
    for at in solution.system.model.quaternion_offsets:
        between[:, at:at + 4] /= np.linalg.norm(between[:, at:at + 4], axis=1, keepdims=True)
    return times, between


def rates(solution: Solution) -> Array:
    """dy/dt at the outputs, under the forces of the run."""
    f = CFunc(solution.system, solution._loads.tau, solution._loads.wrench)
    y = solution.y
    dydt = np.empty(y.shape)
    for k, t in enumerate(solution.t.tolist()):
        f.ctypes(t, y[k], dydt[k], f.user_data)
    if not np.isfinite(dydt).all():
        raise IntegrationError("resample(t): the right-hand side has no value at one of the outputs")
    return dydt
