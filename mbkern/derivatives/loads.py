"""Force functions of a machine with constraints, and what their change with the state does to the rates.

    pdot = pdot(q, p, tau, w),  tau = tau(t, q, p, u(q, p)):      d pdot/dx = pdot_x + pdot_tau (tau_x + tau_u u_x)

for x = q, p, and likewise for wrenches w, in which pdot is linear. Functions see true momenta, those of the speeds,

    dp = Mass (du - u_q dq) + p_c dc,      u_q of the tree, p_c by constants of the machine at constant (q, u)

and not the gauge that a change of constants leaves in P. Derivatives of a function are those that
`mbkern.forces.with_derivative` knows, or differences of order 4 by each number of q, p and u: nothing is asked where
loops are open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import lazy
from ..callbacks import raised, wants_speeds
from ..explain import load_fault
from ..inputs import Array
from .constrained import tree_of

if TYPE_CHECKING:
    from ..system import System

STEP = 1e-3  # of differences, relative: of order 4, so that both their error and rounding are about 1e-12
WEIGHTS = ((-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0))


class Acting(NamedTuple):
    """What acts at a state.

    Attributes
    ----------
    tau, wrench : array or None
    """

    tau: Any
    wrench: Any


class Loads:
    """Joint forces and wrenches of a run: numbers, or functions whose derivatives are known.

    Raises a StateError that names a function of which no derivative is known.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> from mbkern.derivatives.loads import Loads
    >>> system = mb.System(mb.zoo.four_bar())
    >>> Loads(system, [1.0, 0.0, 0.0], None).at(0.0, np.zeros(3), np.zeros(3)).tau
    [1.0, 0.0, 0.0]
    """

    def __init__(self, system: System, tau: Any, wrench: Any) -> None:
        self._system, self._given = system, {"tau": tau, "wrench": wrench}
        self._shapes = {"tau": (system.model.nv,), "wrench": (system.model.n_bodies, 6)}
        self.functions = {what: f for what, f in self._given.items() if callable(f)}
        self._known = lazy.module("variational.forces")
        self._known.refuse_unknown(self.functions)
        self._tree = type(system)(tree_of(system.model)) if self.functions else system

    def at(self, t: float, q: Array, p: Array) -> Acting:
        """The forces at a state."""
        if not self.functions:
            return Acting(**self._given)
        u = self._system.velocities(q, p, t)
        return Acting(*(self._value(what, t, q, p, u) if callable(given) else given
                        for what, given in self._given.items()))

    def response(self, t: float, q: Array, p: Array, acting: Acting, A: Any, dq: Array, du: Array,
                 heavier: Array | float = 0.0) -> Array:
        """By how much pdot grows, (nv, k), where functions see the state change.

        Parameters
        ----------
        A : JacobianRhs
            At this state, with what acts.
        dq, du : (nv, k)
            Changes of q along its tangents, and of the speeds.
        heavier : (nv, k), optional
            By how much momenta grow at constant (q, u), where constants of the machine change.
        """
        out = np.zeros(dq.shape)
        if not self.functions:
            return out
        system, u = self._system, self._system.velocities(q, p, t)
        tree = self._tree.jacobian_rhs(q, p, t)
        dp = np.linalg.solve(tree.u_p, du - tree.u_q @ dq) + heavier
        moved = np.vstack([lazy.module("integrate.tangents").in_coordinates(system.model, q, np.vstack([dq, dp])), du])
        for what in self.functions:
            change = self._by_state(what, t, q, p, u) @ moved
            if what == "tau":
                out += A.pdot_tau @ change
                continue
            pdot = system.rhs(q, p, t, *acting)[1]
            for k in np.flatnonzero(np.abs(change).max(axis=0)):
                more = acting.wrench + change[:, k].reshape(acting.wrench.shape)
                out[:, k] += system.rhs(q, p, t, acting.tau, more)[1] - pdot
        return out

    def _value(self, what: str, t: float, q: Array, p: Array, u: Array) -> Array:
        f, out = self.functions[what], np.zeros(self._shapes[what])
        if raised(f, t, q, p, *([u] if wants_speeds(f) else []), out) is not None or not np.isfinite(out).all():
            fault = load_fault({what: f}, self._system.model, t, q, p)
            if fault is not None:
                raise fault
        return out

    def _by_state(self, what: str, t: float, q: Array, p: Array, u: Array) -> Array:
        """d f/d(q, p, u), (size of f, nq + 2 nv), each at constant others."""
        f, speeds = self.functions[what], wants_speeds(self.functions[what])
        out = np.zeros((int(np.prod(self._shapes[what])), q.size + 2 * p.size))
        by_q, by_p, by_u = out[:, :q.size], out[:, q.size:q.size + p.size], out[:, q.size + p.size:]
        derivative = self._known.exact(f)
        if derivative is not None:
            derivative(t, q, p, *((u, by_q, by_p, by_u) if speeds else (by_q, by_p)))
            return out
        for x, by in ((q, by_q), (p, by_p), *([(u, by_u)] if speeds else [])):
            for j in range(x.size):
                here, h = x[j], STEP * max(1.0, abs(x[j]))
                for shift, weight in WEIGHTS:
                    x[j] = here + shift * h
                    by[:, j] += weight / (12.0 * h) * self._value(what, t, q, p, u).ravel()
                x[j] = here
        return out
