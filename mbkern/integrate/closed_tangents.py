"""How deviations grow along a run of a machine with constraints: the variational equation on its dense output.

    Phi' = A(t) Phi,      A = d(u, pdot)/d(q, p), the tangents of ball and free joints turning with their bodies

A is that of :meth:`System.jacobian_rhs`. Deviations that satisfy the constraints at the beginning satisfy them later,
and are those of the constrained motion: nothing needs to be projected. Others have no motion of the machine; their
columns are those of the right-hand side, which is defined off the constraints, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import solve_ivp

from .. import lazy
from ..errors import IntegrationError, StateError
from ..inputs import Array

if TYPE_CHECKING:
    from .solution import Solution

RTOL, ATOL = 1e-9, 1e-12  # finer than what the dense output of a usual run has


def refuse_functions(tau: Any, wrench: Any) -> None:
    """Raise a StateError where forces are functions of the state."""
    for name, load in (("tau", tau), ("wrench", wrench)):
        if callable(load):
            raise StateError(f"tangent: {name} is a function, and with constraints derivatives along a motion are for "
                             "constant forces alone; give it as an array, or take difference quotients of two runs")


def tangents_along(solution: Solution, first: Array, tau: Any, wrench: Any) -> Array:
    """Tangents (m, 2 nv, k) at the times of a run that has dense output, for those at its beginning, (2 nv, k)."""
    system, turning = solution.system, lazy.module("derivatives.jacobian").turning_of_tangents
    nv, shape = system.model.nv, first.shape

    def rate(t: float, columns: Array) -> Array:
        q, p = solution.sol(t)
        A = system.jacobian_rhs(q, p, t, tau, wrench).matrix
        A[:nv, :nv] -= turning(system.model, system.velocities(q, p, t))
        change: Array = (A @ columns.reshape(shape)).ravel()
        return change

    begin = float(solution._beginning()[0])
    times = np.array(solution.t)
    if times.size == 0:
        return np.empty((0, *shape))
    found = solve_ivp(rate, (begin, float(times[-1])), first.ravel(), "DOP853", t_eval=times, rtol=RTOL, atol=ATOL)
    if not found.success:
        raise IntegrationError(f"tangent: the variational equation could not be integrated: {found.message}")
    return np.ascontiguousarray(found.y.T).reshape(times.size, *shape)
