"""How deviations grow along a run of a machine with constraints: the variational equation on its steps.

    Phi' = A(t) Phi + B(t),      A = d(u, pdot)/d(q, p), the tangents of ball and free joints turning with their bodies

A is that of :meth:`System.jacobian_rhs`. Deviations that satisfy the constraints at the beginning satisfy them later,
and are those of the constrained motion: nothing needs to be projected. Others have no motion of the machine; their
columns are those of the right-hand side, which is defined off the constraints, too. Force functions are part of A, see
:mod:`mbkern.derivatives.loads`.

Each step of the run is one of Gauss collocation of order 6 for Phi. The states that it needs in the midst of a step are
on the polynomial of degree 5 that has the states of both ends, their rates and second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import lazy
from ..inputs import Array
from .kernels.tableaus import GAUSS_A, GAUSS_B, GAUSS_C

if TYPE_CHECKING:
    from ..derivatives.loads import Acting, Loads
    from .solution import Solution

PART = 1.0 / 16.0  # of a step: that of the differences that give second derivatives, with one extrapolation


def tangents_along(solution: Solution, first: Array, loads: Loads,
                   forced: Callable[[float, Array, Array, Acting, Any], Array] | None = None) -> Array:
    """Tangents (m, 2 nv, k) at the times of a run that has dense output, for those at its beginning, (2 nv, k).

    Parameters
    ----------
    forced : callable
        B(t, q, p, what acts, A) with A as `jacobian_rhs` gives it for forces that do not change.
    """
    path = _Path(solution, loads)
    nv, turning = solution.system.model.nv, lazy.module("derivatives.jacobian").turning_of_tangents
    unit, system = np.eye(2 * nv), solution.system

    def stepped(Phi: Array, begin: float, end: float, state_at: Callable[[float], tuple[Array, Array]]) -> Array:
        """Phi at the end of one step of collocation."""
        h, stages = end - begin, []
        for c in GAUSS_C[3]:
            t = begin + c * h
            q, p = state_at(t)
            acting = loads.at(t, q, p)
            A = system.jacobian_rhs(q, p, t, *acting)
            matrix = A.matrix.copy()
            matrix[nv:] += loads.response(t, q, p, acting, A, unit[:nv], A.matrix[:nv])
            matrix[:nv, :nv] -= turning(system.model, system.velocities(q, p, t))
            stages.append((matrix, matrix @ Phi + (0.0 if forced is None else forced(t, q, p, acting, A))))
        left = np.block([[(i == j) * unit - h * GAUSS_A[3, i, j] * A for j in range(3)]
                         for i, (A, _) in enumerate(stages)])
        rates = np.linalg.solve(left, np.vstack([rate for _, rate in stages])).reshape(3, *Phi.shape)
        return Phi + h * np.tensordot(GAUSS_B[3], rates, 1)

    times, found, Phi = np.array(solution.t), [], first.copy()
    way, k = (1.0 if path.times[-1] >= path.times[0] else -1.0), 0
    for t in times.tolist():
        while k < path.steps and way * path.times[k + 1] <= way * t:
            Phi = stepped(Phi, path.times[k], path.times[k + 1], path.within(k))
            k += 1
        inside = k < path.steps and way * t > way * path.times[k]
        found.append(stepped(Phi, path.times[k], t, path.within(k)) if inside else Phi)
    return np.array(found).reshape(times.size, *first.shape)


class _Path:
    """States of a run between the ends of its steps.

    Attributes
    ----------
    times : list of float
        Ends of all steps, the beginning first.
    steps : int
    """

    def __init__(self, solution: Solution, loads: Loads) -> None:
        self._solution, self._loads = solution, loads
        ends = solution._dense.ends.tolist() if solution._dense is not None else []
        self.times: list[float] = [float(solution._beginning()[0]), *ends]
        self.steps = len(self.times) - 1
        self._nq, self._last = solution.system.model.nq, (-1, np.empty(0), np.empty(0), np.empty(0))

    def _rate(self, t: float, y: Array) -> Array:
        q, p = y[:self._nq], y[self._nq:]
        return np.concatenate(self._solution.system.rhs(q, p, t, *self._loads.at(t, q, p)))

    def _node(self, k: int, h: float) -> tuple[Array, Array, Array]:
        """State, rate and second derivative at the k-th time, for steps of h."""
        if self._last[0] == k:
            return self._last[1:]
        t = self.times[k]
        y = np.concatenate(self._solution.sol(t))
        rate, d = self._rate(t, y), PART * h
        bent = [(self._rate(t + s, y + s * rate) - self._rate(t - s, y - s * rate)) / (2.0 * s) for s in (d, 0.5 * d)]
        self._last = k, y, rate, (4.0 * bent[1] - bent[0]) / 3.0
        return self._last[1:]

    def within(self, k: int) -> Callable[[float], tuple[Array, Array]]:
        """(q, p) at times of step k."""
        solution, nq = self._solution, self._nq
        if solution.system.locks_when_open:  # nothing may be asked beside closed loops
            return solution.sol
        begin, h = self.times[k], self.times[k + 1] - self.times[k]
        y, v, a = self._node(k, h)
        z, w, b = self._node(k + 1, h)
        # y + v x + a x^2 / 2 + x^3 (c0 + c1 x + c2 x^2), x from 0 to 1
        v, w, a, b = h * v, h * w, h * h * a, h * h * b
        miss, slope, bend = z - y - v - 0.5 * a, w - v - a, b - a
        c0, c1, c2 = (10.0 * miss - 4.0 * slope + 0.5 * bend, -15.0 * miss + 7.0 * slope - bend,
                      6.0 * miss - 3.0 * slope + 0.5 * bend)

        def state(t: float) -> tuple[Array, Array]:
            x = (t - begin) / h
            s = y + x * (v + x * (0.5 * a + x * (c0 + x * (c1 + x * c2))))
            for at in solution.system.model.quaternion_offsets:
                s[at:at + 4] /= np.linalg.norm(s[at:at + 4])
            return s[:nq].copy(), s[nq:].copy()

        return state
