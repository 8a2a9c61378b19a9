"""`mbkern.gradient` for machines with constraints: tangents of the run, forward in time.

    Phi' = A(t) Phi + B(t),      A = d(u, pdot)/d(q, p),      B = d(u, pdot)/dc

for a basis of the changes of the first state that keep the constraints, for joint forces and for constants c of the
machine, on the dense output of the run. A change of masses leaves p at the beginning as it is, but for what the
constraints take away at once, as they do in `simulate`: the gauge of P (:mod:`mbkern.core.constrained`) carries that
part along without a say in the motion, and it is taken away where the loss looks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import lazy
from ..inputs import Array
from ..integrate.progress import Interrupt
from ..integrate.tangents import in_coordinates, refuse_failed

if TYPE_CHECKING:
    from ..system import System


class Found(NamedTuple):
    """What the gradient is made of: `back` has the derivatives for weights of the states.

    Attributes
    ----------
    states : (m, nq + nv)
        At the samples.
    back : callable
        From weights (m, nq + nv) to those of (tangent of q0, p0), of joint forces (parts, nv), of constants by name.
    steps : int
    """

    states: Array
    back: Callable[[Array], tuple[Array, Array, dict[str, Any]]]
    steps: int


def run_with_tangents(system: System, y0: Array, samples: Array, ends: tuple[float, float], names: Sequence[str],
                      forces: Array, bounds: Array, tau: Any, wrench: Any, how: dict[str, Any]) -> Found:
    """The run, its tangents at the samples, and what they say about the gradient."""
    model, nq, nv = system.model, system.model.nq, system.model.nv
    constants = _Constants(system, names)
    consistent = lazy.module("derivatives.consistent").Consistent(system)
    along, loads_of = lazy.module("integrate.closed_tangents").tangents_along, lazy.module("derivatives.loads").Loads
    q, p = y0[:nq], y0[nq:]
    system.check_consistent(q, p, ends[0])
    N = consistent.directions(q, p, ends[0])
    first, parts = N.shape[1], len(forces)
    of_constants = first + parts * nv
    Phi = np.hstack([N, np.zeros((2 * nv, parts * nv + constants.size))])
    shape = Phi.shape
    way = 1.0 if ends[1] > ends[0] else -1.0
    edges = way * np.unique(way * np.array([*ends, *bounds]))
    states, tangents, steps = np.empty((samples.size, nq + nv)), np.empty((samples.size, nq + nv, shape[1])), 0
    for k, (begin, end) in enumerate(pairwise(edges.tolist())):
        load = forces[k] if parts else tau
        loads = loads_of(system, load, wrench)
        inside = np.flatnonzero((way * samples >= way * begin) & (way * samples <= way * end))
        times = way * np.unique(way * np.array([*samples[inside], end]))
        with Interrupt() as interrupt:
            run = system.simulate(q, p, (begin, end), t_eval=times, dense=True, tau=load, wrench=wrench, **how)
        refuse_failed(run, f"gradient: the run {run.message}")
        interrupt.obey()

        def forced(t: float, q: Array, p: Array, acting: Any, A: Any, k: int = k, loads: Any = loads) -> Array:
            B = np.zeros(shape)
            if parts:
                B[nv:, first + k * nv:first + (k + 1) * nv] = A.pdot_tau
            own = constants.rates(q, p, t, acting.tau, acting.wrench, A)
            B[:, of_constants:] = own
            if constants.size:
                B[nv:, of_constants:] += loads.response(t, q, p, acting, A, np.zeros_like(own[:nv]), own[:nv],
                                                        constants.momenta(q, p, t))
            return B

        found = along(run, Phi, loads, forced)
        for i in inside:
            j = int(np.argmin(np.abs(run.t - samples[i])))
            moved = np.hstack([np.zeros((nv, of_constants)), constants.momenta(run.q[j], run.p[j], float(run.t[j]))])
            Psi = consistent.nearest(run.q[j], run.p[j], float(run.t[j]), found[j], moved)
            states[i], tangents[i] = np.hstack([run.q[j], run.p[j]]), in_coordinates(model, run.q[j], Psi)
        Phi, q, p, steps = found[-1], run.q[-1], run.p[-1], steps + int(run.n_accepted)

    def back(bars: Array) -> tuple[Array, Array, dict[str, Any]]:
        weights = np.einsum("mi,mik->k", bars, tangents)
        return N @ weights[:first], weights[first:of_constants].reshape(-1, nv), constants.named(weights[of_constants:])

    return Found(states, back, steps)


class _Constants:
    """Columns of the constants that are asked for, by the names of `mbkern.gradient`."""

    def __init__(self, system: System, names: Sequence[str]) -> None:
        self._system, self._names = system, list(names)
        self._kinds: dict[str, Any] = {}
        for name in self._names:
            body, _, what = name.rpartition(".")
            if body:
                self._kinds.setdefault(body, []).append(what)
            else:
                self._kinds["gravity"] = True
        self._columns: tuple[str, ...] = ()
        if self._names:
            q, v = system.some_closed_pose, np.zeros(system.model.nv)
            self._columns = self._of(q, v, 0.0, None, None, None).names
        self.size = len(self._columns)

    def _of(self, q: Array, p: Array, t: float, tau: Any, wrench: Any, A: Any) -> Any:
        columns = lazy.module("derivatives.parameters").columns_of
        return columns(self._system, q, p, t, tau, wrench, self._kinds, A)

    def rates(self, q: Array, p: Array, t: float, tau: Any, wrench: Any, A: Any) -> Array:
        """d(u, pdot)/dc at constant (q, p)."""
        if not self.size:
            return np.zeros((2 * self._system.model.nv, 0))
        found = self._of(q, p, t, tau, wrench, A)
        return np.vstack([found.u, found.pdot])

    def momenta(self, q: Array, p: Array, t: float) -> Array:
        """dp/dc at constant (q, u)."""
        if not self.size:
            return np.zeros((self._system.model.nv, 0))
        momenta: Array = self._of(q, p, t, None, None, None).momenta
        return momenta

    def named(self, weights: Array) -> dict[str, Any]:
        """By the names asked for: numbers, vectors, symmetric matrices."""
        made: dict[str, Any] = {}
        for name in self._names:
            own = np.array([w for w, column in zip(weights, self._columns, strict=True)
                            if column == name or column.startswith(f"{name}[")])
            if name.endswith(".inertia"):  # xx yy zz xy xz yz, each of the last for two places
                xx, yy, zz, xy, xz, yz = own * [1.0, 1.0, 1.0, 0.5, 0.5, 0.5]
                own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            made[name] = float(own[0]) if name.endswith(".mass") else own
        return made
