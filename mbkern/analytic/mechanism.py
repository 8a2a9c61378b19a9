"""What the formulations are about: a system with constraints and forces, checked.

    M(q, t) vdot + h(q, v, t) = Q + a^T lambda,   a(q, t) v + b(q, t) = 0        m speeds v, r constraints, p = m - r
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import inputs
from ..core import quasi_tree
from ..errors import InconsistentSpeedsError, StateError
from ..inputs import Array
from ..model.checks import show
from ..system import System
from .functions import Constraints, Dynamics, QuasiVelocities
from .of_model import nearby, opened

RATE_TOLERANCE = 1e-6  # of a user's rate against a difference quotient, relative to the terms in it
CONSISTENT = 1e-9  # of a v + b, relative to the terms in it
DEPENDENT = 1e-10  # smallest singular value of unit rows of a


class Mechanism:
    """A system, its constraints and forces. Arguments and attributes: see `Formulation`."""

    def __init__(self, system: System | Dynamics, constraints: Constraints | None, forces: Any) -> None:
        if not isinstance(system, System | Dynamics):
            raise StateError(f"system: expected a System, or Dynamics of M and h functions, got {show(system)}")
        self.closed = system if isinstance(system, System) and system.model.constraints else None
        if isinstance(system, System):
            system, constraints = opened(system, constraints)
        self.system = system
        if isinstance(system, System):
            self.coordinate_names: tuple[str, ...] = system.model.coordinate_names
            self.speed_names: tuple[str, ...] = system.model.speed_names
        else:
            self.coordinate_names = self.speed_names = tuple(system.names)
        self.m, self.nq = len(self.speed_names), len(self.coordinate_names)
        if self.m == 0:
            raise StateError("system: it has no degrees of freedom, so there are no equations of motion")
        if constraints is not None and not isinstance(constraints, Constraints):
            raise StateError(f"constraints: expected mb.analytic.Constraints(f, count), got {show(constraints)}")
        self.constraints = constraints
        self.r = 0 if constraints is None else constraints.count
        if self.r >= self.m:
            raise StateError(f"constraints: {self.r} of them leave no dof of {self.m} speeds; leave some out")
        self.forces = forces if forces is None or callable(forces) else inputs.vector(
            forces, "forces", self.speed_names)
        self._try_functions()

    # ---- configurations and speeds -------------------------------------------------------------------------------

    def configuration(self, q: Any, what: str = "q") -> Array:
        """A configuration, checked."""
        if isinstance(self.system, System):
            return inputs.configuration(q, self.system.model, what)
        return inputs.vector(q, what, self.coordinate_names)

    def speeds(self, v: Any) -> Array:
        """Speeds, checked."""
        return inputs.vector(v, "v", self.speed_names)

    def neutral(self) -> Array:
        """All coordinates zero, quaternions the identity."""
        return self.system.model.neutral() if isinstance(self.system, System) else np.zeros(self.nq)

    def sample(self, seed: int) -> tuple[float, Array, Array]:
        """A random time, configuration and speeds."""
        t = 0.1 * seed
        if isinstance(self.system, System):
            q, v = self.system.model.random_state(seed=seed)
            return t, q if self.closed is None else nearby(self.closed, q, t), v
        rng = np.random.default_rng(seed)
        return t, rng.uniform(-1, 1, self.m), rng.normal(size=self.m)

    def moved(self, q: Array, v: Array, e: float) -> Array:
        """q after a short time e at speeds v, to first order."""
        if not isinstance(self.system, System) or self.nq == self.m:
            return q + e * v
        qdot = np.empty(self.nq)
        quasi_tree.rates(self.system.block.copy(), q, v, qdot)
        return q + e * qdot

    def project(self, q: Array, v: Array, t: float) -> Array:
        """The nearest speeds, in the norm of the kinetic energy, that satisfy the constraints."""
        if self.constraints is None:
            return v.copy()
        a, b, _ = self.constraints.evaluate(t, q, v)
        check_independent(a, q)
        Minv_aT = np.linalg.solve(self.system.mass_matrix(q, t), a.T)
        for _ in range(2):  # the second time for the last digits
            v = v - Minv_aT @ np.linalg.solve(a @ Minv_aT, a @ v + b)
        return v

    def check_consistent(self, q: Array, v: Array, t: float) -> None:
        """Raise when speeds violate the constraints."""
        if self.constraints is None:
            return
        a, b, _ = self.constraints.evaluate(t, q, v)
        check_independent(a, q)
        left, size = a @ v + b, np.abs(a) @ np.abs(v) + np.abs(b)
        bad = np.abs(left) > CONSISTENT * (size + np.abs(a).max(axis=1) * 1e-3)
        if bad.any():
            k, projected = int(np.argmax(bad)), self.project(q, v, t)
            offer = ", ".join(f"{n} = {x:.9g}" for n, x in zip(self.speed_names, projected, strict=True))
            raise InconsistentSpeedsError(
                f"v: constraint {k} is violated, a v + b = {left[k]:.6g}; the nearest speeds that satisfy all "
                f"constraints are {offer} (attribute `projected` of this error, method `project`)", projected)

    # ---- functions of the user -----------------------------------------------------------------------------------

    def _try_functions(self) -> None:
        """Call each function once, in Python, so that mistakes show here; check rates against a difference quotient."""
        t, q, v = self.sample(1)
        if callable(self.forces):
            out = np.zeros(self.m)
            _tried("forces", self.forces, t, q.copy(), v.copy(), out)
            if not np.isfinite(out).all():
                raise StateError(f"forces: not finite at t = {t:g}: {show(out)}")
        if isinstance(self.system, Dynamics):
            _tried("M", self.system.M, t, q.copy(), np.zeros((self.m, self.m)))
            _tried("h", self.system.h, t, q.copy(), v.copy(), np.zeros(self.m))
            self.system.mass_matrix(q, t)
        if self.constraints is not None:
            self.check_rate(self.constraints, "constraints", "adot v + bdot")

    def check_rate(self, given: Constraints | QuasiVelocities, what: str, meaning: str) -> None:
        """Raise unless the rates of rows agree with a difference quotient at a random state."""
        t, q, v = self.sample(1)
        e = 1e-5
        try:
            rows = np.zeros((given.count, self.m)), np.zeros(given.count), np.zeros(given.count)
            for f in (given.f, given.rate):
                if f is not None:  # as Python, which finds what compiled code would not: a place outside an array
                    getattr(f, "py_func", f)(t, q.copy(), v.copy(), *rows)
            _, _, rate = given.evaluate(t, q, v)
            (a1, b1, _), (a0, b0, _) = (given.evaluate(t + x, self.moved(q, v, x), v) for x in (e, -e))
        except StateError:
            raise
        except Exception as error:
            raise StateError(f"{what}: {getattr(given.f, '__name__', given.f)} failed at a trial call with "
                             f"{given.count} rows of {self.m} speeds: {error}") from error
        quotient = (a1 @ v + b1 - a0 @ v - b0) / (2.0 * e)
        size = np.abs(a1) @ np.abs(v) + np.abs(b1) + np.abs(rate) + np.abs(quotient)
        bad = np.abs(quotient - rate) > RATE_TOLERANCE * size + 1e-9
        if bad.any():
            k = int(np.argmax(bad))
            raise StateError(f"{what}: row {k}: rate must be {meaning}; at a trial state it is {rate[k]:.6g}, but a "
                             f"difference quotient gives {quotient[k]:.6g}")


def check_independent(a: Array, q: Array) -> None:
    """Raise when rows of constraints are linearly dependent."""
    size = np.linalg.norm(a, axis=1)
    if not (size > 0.0).all():
        raise StateError(f"constraints: row {int(np.argmin(size))} is zero at q = {show(q)}: it constrains nothing")
    left, values, _ = np.linalg.svd(a / size[:, None])
    if values[-1] < DEPENDENT:
        share = np.abs(left[:, -1])
        rows = ", ".join(str(k) for k in np.flatnonzero(share > 0.1 * share.max()))
        raise StateError(f"constraints: rows {rows} are linearly dependent at q = {show(q)}; leave one of them out")


def _tried(what: str, f: Any, *arguments: Any) -> None:
    """Call a function as Python, which finds what compiled code would not: a place outside an array."""
    try:
        getattr(f, "py_func", f)(*arguments)
    except Exception as error:
        raise StateError(f"{what}: {getattr(f, '__name__', f)} failed at a trial call: {error}") from error
