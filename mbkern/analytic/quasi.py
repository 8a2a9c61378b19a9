"""Lagrange, Maggi, Kane and reduced Volterra as interchangeable formulations of one system.

m speeds v (v = qdot where nq = nv), r constraints a(q, t) v + b(q, t) = 0, p = m - r freedoms, s ignorable coordinates:

============  ==================  ==========================================================  ==========
formulation   equations           what is solved                                              state
============  ==================  ==========================================================  ==========
`Lagrange`    m                   [[M, a^T], [a, 0]] (vdot; -lambda) = (Q - h; -rate)         q, v
`Maggi`       m                   [W^T M; a] vdot = (W^T (Q - h); -rate)                      q, v
`Kane`        p                   (W^T M W) udot = W^T (Q - h - M gamma), S = [Y; a]          q, u
`Volterra`    p - s               the same with S = [Y; M_I; a]                               q, u
============  ==================  ==========================================================  ==========

Mass matrix and bias come from the O(N) sweeps over the tree. The right-hand side is one compiled C function, which the
compiled integrators drive without the interpreter; see :mod:`mbkern.core.quasi` for the equations. An object of these
classes is for one thread at a time; `simulate` makes memory of its own for each run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import inputs
from ..core import checks, quasi_tree
from ..core import quasi as C
from ..embed.handle import ODE_TYPE
from ..errors import InconsistentSpeedsError, StateError
from ..explain import CODES, singular
from ..inputs import Array
from ..integrate.problem import Problem
from ..lazy import cached_property
from ..model.checks import number, show
from ..system import System
from .frame import Setup, make_frame, take
from .functions import Constraints, Dynamics, QuasiVelocities
from .ignorable import (
    Ignorable,
    NamedSpeeds,
    Row,
    candidates,
    claimed,
    ignorable,
    momentum_of,
    named_speeds,
    row_of,
    whole_free_joints,
)
from .trajectory import Trajectory, run_formulation

RATE_TOLERANCE = 1e-6  # of a user's rate against a difference quotient, relative to the terms in it
CONSISTENT = 1e-9  # of a v + b, relative to the terms in it
DEPENDENT = 1e-10  # smallest singular value of unit rows of a
MOST_SUBSETS = 400  # choices of quasi-velocities that are all tried; beyond it one pivoted elimination decides
POSES = 8


@dataclass(frozen=True)
class Conditioning:
    """How near the matrix of a formulation is to singular.

    Attributes
    ----------
    rcond : float
        1 / cond, between 0 (singular) and 1. Of S, and of the matrix with multipliers for Lagrange: cond is that of
        Bauer and Skeel, which does not depend on the units of the rows.
    matrix : str
        Which matrix that is, and which quasi-velocities are in it.
    threshold : float
        A run stops where rcond is smaller (not used by Lagrange).
    """

    rcond: float
    matrix: str
    threshold: float

    def __str__(self) -> str:
        verdict = "regular" if self.rcond >= self.threshold else f"singular: below the threshold {self.threshold:g}"
        return f"{self.matrix}: 1/cond = {self.rcond:.3g}, {verdict}"


class Formulation:
    """What the four formulations have in common. Use `Lagrange`, `Maggi`, `Kane` or `Volterra`.

    Parameters
    ----------
    system : System or Dynamics
        A tree, or functions M and h of your own.
    constraints : Constraints, optional
        a(q, t) v + b(q, t) = 0.
    forces : (m,) numbers or njit function f(t, q, v, out), optional
        Generalized forces Q in N and N m, beside weight, springs and dampers of the model; out (m) is zero when f is
        called.
    quasi : sequence of names, or QuasiVelocities, optional
        The quasi-velocities (not for Lagrange): names of speeds, of positions of free joints for the rates of these, or
        "body.wx", "body.wy", "body.wz" for the angular velocity of a body behind three rotations, in its axes; or
        u = Y v + Z by a function. By default those among the non-ignorable ones for which S is best conditioned over
        some random poses (`pose`, if given).
    pose : (nq,), optional
        Where the default choice of quasi-velocities should be good.
    track_work : bool
        Carry the integral of Q^T v as one more number of the state, for an energy balance.
    threshold : float
        Smallest 1/cond of S; where it is smaller, right-hand sides refuse and runs stop.
    """

    name = ""
    _method = -1

    def __init__(self, system: System | Dynamics, constraints: Constraints | None = None, forces: Any = None,
                 quasi: Any = None, pose: ArrayLike | None = None, track_work: bool = False, threshold: float = 1e-8,
                 _ignorable: Any = ()) -> None:
        if not isinstance(system, System | Dynamics):
            raise StateError(f"system: expected a System, or Dynamics of M and h functions, got {show(system)}")
        self.system = system
        if isinstance(system, System):
            self.coordinate_names: tuple[str, ...] = system.model.coordinate_names
            self.speed_names: tuple[str, ...] = system.model.speed_names
        else:
            self.coordinate_names = self.speed_names = tuple(system.names)
        self.m, self.nq = len(self.speed_names), len(self.coordinate_names)
        if constraints is not None and not isinstance(constraints, Constraints):
            raise StateError(f"constraints: expected mb.analytic.Constraints(f, count), got {show(constraints)}")
        self.constraints = constraints
        self.r = 0 if constraints is None else constraints.count
        self.p = self.m - self.r
        if self.p < 1:
            raise StateError(f"constraints: {self.r} of them leave no freedom of {self.m} speeds; leave some out")
        self.forces = self._forces(forces)
        self._try_functions()
        self.ignorable: tuple[Ignorable, ...] = self._ignorable(_ignorable)
        self.s = len(self.ignorable)
        self.threshold = number(threshold, "threshold", StateError)
        if not 0.0 <= self.threshold < 1.0:
            raise StateError(f"threshold: expected a number between 0 and 1, got {self.threshold:g}")
        chosen = self._quasi(quasi, pose)
        self.setup = Setup(self._method, system, self.nq, self.m, constraints, self.forces, chosen, self.ignorable,
                           bool(track_work), self.threshold, self._pattern(chosen))
        self._frame = make_frame(self.setup)
        self._pose: Array = system.model.neutral() if isinstance(system, System) else np.zeros(self.nq)

    # ---- what it is ----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        u = f", u = ({', '.join(self.quasi_names)})" if self._method != C.LAGRANGE else ""
        return f"{self.name}: {self.n_equations} equations, {self.n_states} states{u}"

    @property
    def n_equations(self) -> int:
        """Number of equations of motion: m, m, p or p - s."""
        return self.m if self._method <= C.MAGGI else self.setup.nu

    @property
    def n_states(self) -> int:
        """Numbers in the state: coordinates, speeds or quasi-velocities, and the work when it is tracked."""
        return self.nq + self.n_equations + int(self.setup.track_work)

    @property
    def quasi_names(self) -> tuple[str, ...]:
        """Names of the quasi-velocities u."""
        chosen = self.setup.quasi
        if isinstance(chosen, QuasiVelocities):
            return tuple(chosen.names)
        return tuple(self.speed_names[j] for j in chosen)

    # ---- arguments -----------------------------------------------------------------------------------------------

    def _forces(self, forces: Any) -> Any:
        if forces is None or callable(forces):
            return forces
        return inputs.vector(forces, "forces", self.speed_names)

    def _ignorable(self, _names: Any) -> tuple[Ignorable, ...]:
        return ()

    def _sample(self, seed: int) -> tuple[float, Array, Array]:
        """A random time, configuration and speeds."""
        t = 0.1 * seed
        if isinstance(self.system, System):
            q, v = self.system.model.random_state(seed=seed)
            return t, q, v
        rng = np.random.default_rng(seed)
        return t, rng.uniform(-1, 1, self.m), rng.normal(size=self.m)

    def _moved(self, q: Array, v: Array, e: float) -> Array:
        """q after a short time e at speeds v, to first order."""
        if not isinstance(self.system, System) or self.nq == self.m:
            return q + e * v
        qdot = np.empty(self.nq)
        quasi_tree.rates(self.system.block.copy(), q, v, qdot)
        return q + e * qdot

    def _try_functions(self) -> None:
        """Call each function once, in Python, so that mistakes show here; check rates against a difference quotient."""
        t, q, v = self._sample(1)
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
            self._check_rate(self.constraints, "constraints", "adot v + bdot")

    def _check_rate(self, given: Constraints | QuasiVelocities, what: str, meaning: str) -> None:
        t, q, v = self._sample(1)
        e = 1e-5
        try:
            rows = np.zeros((given.count, self.m)), np.zeros(given.count), np.zeros(given.count)
            for f in (given.f, given.rate):
                if f is not None:  # as Python, which finds what compiled code would not: a place outside an array
                    getattr(f, "py_func", f)(t, q.copy(), v.copy(), *rows)
            _, _, rate = given.evaluate(t, q, v)
            (a1, b1, _), (a0, b0, _) = (given.evaluate(t + x, self._moved(q, v, x), v) for x in (e, -e))
        except (TypeError, ValueError, IndexError) as error:
            if isinstance(error, StateError):
                raise
            raise StateError(f"{what}: {getattr(given.f, '__name__', given.f)} failed at a trial call with "
                             f"{given.count} rows of {self.m} speeds: {error}") from error
        quotient = (a1 @ v + b1 - a0 @ v - b0) / (2.0 * e)
        size = np.abs(a1) @ np.abs(v) + np.abs(b1) + np.abs(rate) + np.abs(quotient)
        bad = np.abs(quotient - rate) > RATE_TOLERANCE * size + 1e-9
        if bad.any():
            k = int(np.argmax(bad))
            raise StateError(f"{what}: row {k}: rate must be {meaning}; at a trial state it is {rate[k]:.6g}, but a "
                             f"difference quotient gives {quotient[k]:.6g}")

    # ---- quasi-velocities ----------------------------------------------------------------------------------------

    def _quasi(self, quasi: Any, pose: ArrayLike | None) -> QuasiVelocities | tuple[int, ...]:
        needed = self.p - self.s
        if self._method == C.LAGRANGE:
            if quasi is not None:
                raise StateError("quasi: Lagrange has no quasi-velocities; use Maggi, Kane or Volterra")
            return ()
        if needed < 1:
            raise StateError(f"nothing is left to integrate: {self.m} speeds, {self.r} constraints, {self.s} ignorable "
                             "coordinates")
        rule = f"{self.m} speeds - {self.r} constraints" + (f" - {self.s} ignorable" if self.s else "")
        if quasi is None:
            return self._default_quasi(needed, pose)
        if isinstance(quasi, QuasiVelocities):
            if quasi.count != needed:
                raise StateError(f"quasi: expected {needed} quasi-velocities ({rule}), got {quasi.count}")
            self._check_rate(quasi, "quasi", "Ydot v + Zdot")
            return quasi
        try:
            names = [quasi] if isinstance(quasi, str) else list(quasi)
        except TypeError:
            raise StateError(f"quasi: expected names of speeds or mb.analytic.QuasiVelocities(f, count), got "
                             f"{show(quasi)}") from None
        known = named_speeds(self.system)
        for name in names:
            if name not in known:
                raise StateError(f"quasi: {show(name)} is not one of the speeds {', '.join(known)}")
        if len(names) != needed or len(set(names)) != needed:
            raise StateError(f"quasi: expected {needed} different quasi-velocities ({rule}), got {len(names)}: "
                             f"{', '.join(names)}")
        rows = [known[name] for name in names]
        taken = [name for name, row in zip(names, rows, strict=True) if row in self._ignorable_rows]
        if taken:
            raise StateError(f"quasi: {taken[0]!r} is the speed of an ignorable coordinate, which its momentum gives "
                             "already; choose another")
        return self._chosen(rows)

    @property
    def _ignorable_rows(self) -> set[Row]:
        """What momenta determine: of a free joint also the linear speeds when all three positions are ignorable."""
        rows = {row_of(entry) for entry in self.ignorable}
        for first in whole_free_joints(self.ignorable):
            rows |= {(first + k, -1, 0, -1) for k in range(3)}
        return rows

    def _chosen(self, rows: Sequence[Row]) -> QuasiVelocities | tuple[int, ...]:
        """Quasi-velocities of rows: indices when all are speeds."""
        if all(quaternion < 0 and body < 0 for _, quaternion, _, body in rows):
            return tuple(speed for speed, _, _, _ in rows)
        names = {row: name if row[1] < 0 else f"{name}'" for name, row in named_speeds(self.system).items()}
        return self._named(rows, tuple(names[row] for row in rows))

    def _named(self, rows: Sequence[Row], names: tuple[str, ...] = ()) -> NamedSpeeds:
        assert isinstance(self.system, System)
        return NamedSpeeds(_nothing, len(rows), names, rows=tuple(rows), block=self.system.block)

    def _default_quasi(self, needed: int, pose: ArrayLike | None) -> QuasiVelocities | tuple[int, ...]:
        """Those whose S is best conditioned in the worst of some poses."""
        taken = self._ignorable_rows
        # a free joint some of whose positions are ignorable: not its linear speeds, which turn with the body
        turning = {first for first, quaternion, *_ in taken if quaternion >= 0} - whole_free_joints(self.ignorable)
        free: list[Row] = []
        for j in range(self.m):
            if j in turning:
                positions = (row_of(entry) for entry in candidates(self.system) if entry.quaternion >= 0)
                free += [row for row in positions if row[0] == j and row not in taken]
            elif (j, -1, 0, -1) not in taken and not {j - 1, j - 2} & turning:
                free.append((j, -1, 0, -1))
        if len(free) == needed:
            return self._chosen(free)
        if pose is None:
            poses = [self._sample(seed)[:2] for seed in range(POSES)]
        else:
            poses = [(0.0, self._configuration(pose, "pose"))]
        every = NamedSpeeds(_nothing, len(free), rows=tuple(free))
        rows = [(every.evaluate(t, q, np.zeros(self.m))[0], self._rows(t, q)) for t, q in poses]
        if comb(len(free), needed) <= MOST_SUBSETS:
            best = max(combinations(range(len(free)), needed),
                       key=lambda k: min(_skeel(np.vstack((Y[list(k)], B))) for Y, B in rows))
        else:  # null vectors of B: what a pivoted elimination takes first spans them best
            from scipy.linalg import null_space, qr

            Y, B = rows[0]
            *_, order = qr((Y @ null_space(B)).T, pivoting=True)
            best = tuple(sorted(int(k) for k in order[:needed]))
        return self._chosen([free[k] for k in best])

    def _pattern(self, chosen: QuasiVelocities | tuple[int, ...]) -> Any:
        """Where Y of a function is not zero, at any of some random states."""
        if not isinstance(chosen, QuasiVelocities):
            return None
        states = (self._sample(seed) for seed in range(POSES))
        return np.any([chosen.evaluate(t, q, v)[0] != 0.0 for t, q, v in states], axis=0)

    def _rows(self, t: float, q: Array) -> Array:
        """B = [M_I; a]."""
        B = np.zeros((self.s + self.r, self.m))
        if self.s:
            M = self._mass_matrix(q, t)
            for k, entry in enumerate(self.ignorable):
                B[k] = [momentum_of(entry, q, column) for column in M.T]
        if self.constraints is not None:
            B[self.s:] = self.constraints.evaluate(t, q, np.zeros(self.m))[0]
        return B

    # ---- states --------------------------------------------------------------------------------------------------

    def _configuration(self, q: Any, what: str = "q") -> Array:
        if isinstance(self.system, System):
            return inputs.configuration(q, self.system.model, what)
        return inputs.vector(q, what, self.coordinate_names)

    def _mass_matrix(self, q: Array, t: float) -> Array:
        return self.system.mass_matrix(q, t)

    def project(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """The nearest speeds, in the norm of the kinetic energy, that satisfy the constraints.

        Examples
        --------
        >>> import mbkern as mb
        >>> cart = mb.analytic.cases.cart()
        >>> kane = mb.analytic.Kane(cart.system, constraints=cart.constraints)
        >>> kane.project(cart.q0, cart.v0 + [0.0, 0.1, 0.0]).shape
        (3,)
        """
        q, v, t = self._configuration(q), inputs.vector(v, "v", self.speed_names), inputs.time(t)
        if self.constraints is None:
            return v.copy()
        a, b, _ = self.constraints.evaluate(t, q, v)
        self._check_independent(a, q)
        Minv_aT = np.linalg.solve(self._mass_matrix(q, t), a.T)
        for _ in range(2):  # the second time for the last digits
            v = v - Minv_aT @ np.linalg.solve(a @ Minv_aT, a @ v + b)
        return v

    def _check_independent(self, a: Array, q: Array) -> None:
        size = np.linalg.norm(a, axis=1)
        if not (size > 0.0).all():
            raise StateError(f"constraints: row {int(np.argmin(size))} is zero at q = {show(q)}: it constrains nothing")
        left, values, _ = np.linalg.svd(a / size[:, None])
        if values[-1] < DEPENDENT:
            share = np.abs(left[:, -1])
            rows = ", ".join(str(k) for k in np.flatnonzero(share > 0.1 * share.max()))
            raise StateError(f"constraints: rows {rows} are linearly dependent at q = {show(q)}; leave one of them out")

    def state(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """The state y that the right-hand side takes, from a configuration and speeds.

        Parameters
        ----------
        q : (nq,)
        v : (m,)
            Speeds, which must satisfy the constraints; `project` makes them do so.
        t : float

        Returns
        -------
        y : (n_states,)
            (q, v) or (q, u), and 0 for the work when it is tracked. `Volterra` also remembers the constant momenta of
            this state (`momenta`): its right-hand side belongs to them.

        Examples
        --------
        >>> import mbkern as mb
        >>> cart = mb.analytic.cases.cart()
        >>> kane = mb.analytic.Kane(cart.system, constraints=cart.constraints, quasi=["bend", "x"])
        >>> kane.state(cart.q0, cart.v0).round(3)
        array([ 4.   ,  1.571,  0.   , -2.   ,  3.   ])
        """
        q, v, t = self._configuration(q), inputs.vector(v, "v", self.speed_names), inputs.time(t)
        if self.constraints is not None:
            a, b, _ = self.constraints.evaluate(t, q, v)
            self._check_independent(a, q)
            left, size = a @ v + b, np.abs(a) @ np.abs(v) + np.abs(b)
            bad = np.abs(left) > CONSISTENT * (size + np.abs(a).max(axis=1) * 1e-3)
            if bad.any():
                k, projected = int(np.argmax(bad)), self.project(q, v, t)
                offer = ", ".join(f"{n} = {x:.9g}" for n, x in zip(self.speed_names, projected, strict=True))
                raise InconsistentSpeedsError(
                    f"v: constraint {k} is violated, a v + b = {left[k]:.6g}; the nearest speeds that satisfy all "
                    f"constraints are {offer} (attribute `projected` of this error, method `project`)", projected)
        self._remember(q, v, t)
        self._pose = q.copy()
        given = v
        if self._method >= C.KANE:
            chosen = self.setup.quasi
            if isinstance(chosen, QuasiVelocities):
                Y, Z, _ = chosen.evaluate(t, q, v)
                given = Y @ v + Z
            else:
                given = v[list(chosen)]
        return np.concatenate((q, given, np.zeros(int(self.setup.track_work))))

    def _remember(self, q: Array, v: Array, t: float) -> None:
        """What a formulation keeps of the first state."""

    def _state_vector(self, y: Any) -> Array:
        y = inputs.real_array(y, "y", (self.n_states,), f"{self.n_states} real numbers")
        if not np.isfinite(y).all():
            raise StateError(f"y: expected finite numbers, got {show(y)}")
        return y

    def rhs(self, t: float, y: ArrayLike) -> Array:
        """dy/dt at a state, the argument order of `scipy.integrate.solve_ivp`.

        Examples
        --------
        >>> import mbkern as mb
        >>> cart = mb.analytic.cases.cart()
        >>> kane = mb.analytic.Kane(cart.system, constraints=cart.constraints, quasi=["bend", "x"])
        >>> kane.rhs(0.0, kane.state(cart.q0, cart.v0)).round(3).tolist()
        [3.0, 1.0, -2.0, 147.15, 0.1]
        """
        t, y = inputs.time(t), self._state_vector(y)
        dydt = np.empty(self.n_states)
        self._call(t, y.ctypes.data_as(_DOUBLES), dydt.ctypes.data_as(_DOUBLES), self._frame.ctypes.data)
        code = int(self._frame[C.STATUS])
        if code != checks.OK:
            raise StateError(f"{self.name} at t = {t:g}: {self._reason(self._frame, code, t, y[:self.nq])}")
        return dydt

    @cached_property
    def _call(self) -> Any:
        return ODE_TYPE(C.ode_quasi.address)

    def speeds(self, t: float, y: ArrayLike) -> Array:
        """The speeds v (m) of a state.

        Examples
        --------
        >>> import mbkern as mb
        >>> cart = mb.analytic.cases.cart()
        >>> volterra = mb.analytic.Volterra(cart.system, constraints=cart.constraints)
        >>> volterra.speeds(0.0, volterra.state(cart.q0, cart.v0)).round(9)
        array([ 3.,  1., -2.])
        """
        t, y = inputs.time(t), self._state_vector(y)
        out, rcond = np.empty((1, self.m)), np.empty(1)
        code = C.speeds_along(self._frame, np.array([t]), y[None, :], out, rcond)
        if code == checks.OK and not np.isfinite(out).all():
            code = C.SINGULAR_S
        if code != checks.OK:
            raise StateError(f"{self.name} at t = {t:g}: {self._reason(self._frame, code, t, y[:self.nq])}")
        return out[0]

    def accelerations(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """vdot (m) at a configuration and speeds.

        Examples
        --------
        >>> import mbkern as mb
        >>> cart = mb.analytic.cases.cart()
        >>> maggi = mb.analytic.Maggi(cart.system, constraints=cart.constraints)
        >>> maggi.accelerations(cart.q0, cart.v0).round(6).tolist()
        [0.1, -73.575, 147.15]
        """
        y = self.state(q, v, t)
        rates = self.rhs(t, y)[self.nq:]
        if self._method <= C.MAGGI:
            return rates[:self.m]
        frame, m, nu = self._frame, self.m, self.setup.nu
        if frame[C.NOW_TRIANGULAR] == 0.0:
            return take(frame, C.AT_W, m, nu) @ rates[:nu] + take(frame, C.AT_GAMMA, m)
        # M_I vdot = -h_I for the ignorable speeds
        M, h, vdot = take(frame, C.AT_M, m, m), take(frame, C.AT_H, m), np.empty(m)
        N, I = list(self.setup.speeds[:nu]), list(self.setup.speeds[nu:])
        vdot[N] = take(frame, C.AT_E, nu)
        vdot[I] = np.linalg.solve(M[np.ix_(I, I)], -h[I] - M[np.ix_(I, N)] @ vdot[N])
        return vdot

    def conditioning(self, q: ArrayLike | None = None, t: float = 0.0) -> Conditioning:
        """How near S is to singular at a configuration (for Lagrange: the matrix with multipliers).

        Parameters
        ----------
        q : (nq,), optional
            By default that of the last `state`, or all zeros (identity quaternions) before any.
        t : float

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> cart = mb.analytic.cases.cart()
        >>> volterra = mb.analytic.Volterra(cart.system, constraints=cart.constraints)
        >>> volterra.conditioning(cart.q0).rcond > 0.1
        True
        >>> volterra.conditioning([0.0, 0.0, np.pi]).rcond < 1e-12  # folded back: S is singular there
        True
        """
        q, t = self._configuration(self._pose if q is None else q), inputs.time(t)
        chosen = self.setup.quasi
        if self._method == C.LAGRANGE:
            a = self._rows(t, q)
            K = np.block([[self._mass_matrix(q, t), a.T], [a, np.zeros((self.r, self.r))]])
            return Conditioning(_skeel(K), "[[M, a^T], [a, 0]]", self.threshold)
        B = self._rows(t, q)
        if isinstance(chosen, QuasiVelocities):
            value = _skeel(np.vstack((chosen.evaluate(t, q, np.zeros(self.m))[0], B)))
        else:
            value = _rcond(chosen, B)
        rows = "".join((", M_I" if self.s else "", ", a" if self.r else ""))
        return Conditioning(value, f"S = [Y{rows}] with u = ({', '.join(self.quasi_names)})", self.threshold)

    def _reason(self, frame: Array, code: int, t: float, q: Array | None = None) -> str:
        """What a code means, in words."""
        where = "" if q is None else " at " + ", ".join(
            f"{n} = {x:.6g}" for n, x in zip(self.coordinate_names, q, strict=True))
        if code == C.CROSSED_S:
            return (f"S becomes singular just after{where}: its determinant changes sign; the quasi-velocities u = "
                    f"({', '.join(self.quasi_names)}) do not determine the speeds there: choose others")
        if code == C.SINGULAR_S:
            return (f"S is singular{where}: 1/cond = {frame[C.RCOND]:.3g} is below the threshold {self.threshold:g}; "
                    f"the quasi-velocities u = ({', '.join(self.quasi_names)}) do not determine the speeds there: "
                    "choose others")
        if code == C.SINGULAR_MASS:
            return (f"the equations of motion are singular{where}: the constraints are dependent there, some motion "
                    "has no inertia, or two rotations of a joint have come to one axis (gimbal lock)")
        if code == C.SINGULAR_TREE:
            assert isinstance(self.system, System)
            work = frame[int(frame[C.AT_TREE]):]
            return str(singular(self.system.model, self.system.block, work, t))
        if code == checks.CALLBACK_FAILED:
            return "a function of yours (constraints, quasi-velocities, forces, M or h) raised an exception"
        name, meaning = CODES[code]
        return f"{name}: {meaning}"

    # ---- motion --------------------------------------------------------------------------------------------------

    def problem(self, y0: Array) -> tuple[Problem, Array]:
        """The initial value problem for the compiled integrators, with memory of its own."""
        frame = make_frame(self.setup)
        frame[int(frame[C.AT_MOMENTA]):int(frame[C.AT_MOMENTA]) + self.s] = take(self._frame, C.AT_MOMENTA, self.s)
        frame[C.WATCHED] = C.BEGINS
        names = [f"coordinate {n!r}" for n in self.coordinate_names]
        names += [f"speed {n!r}" if self._method <= C.MAGGI else f"quasi-velocity {n!r}" for n in (
            self.speed_names if self._method <= C.MAGGI else self.quasi_names)]
        names += ["the work"] * int(self.setup.track_work)
        quaternions = self.system.model._quaternions if isinstance(self.system, System) else np.empty(0, np.int64)
        last: dict[str, Array] = {}  # the run puts its last state here

        def explain(code: int, t: float) -> str:
            return self._reason(frame, code, t, last.get("q"))

        problem = Problem(C.ode_quasi.address, frame.ctypes.data, frame.ctypes.data + 8 * C.STATUS, len(names),
                          self.nq, quaternions, explain, names.__getitem__, (frame, last))
        return problem, frame

    def simulate(self, q0: ArrayLike, v0: ArrayLike, t_span: tuple[float, float], integrator: str = "dopri5",
                 rtol: float = 1e-8, atol: ArrayLike = 1e-10, step: float | None = None,
                 t_eval: ArrayLike | None = None, max_step: float | None = None, progress: bool = False,
                 events: Any = None, dense: bool = False, save_every: int | None = None) -> Trajectory:
        """The motion from a configuration and speeds, all steps in compiled code.

        S is checked in every evaluation of the right-hand side: the run stops where 1/cond is below `threshold`, and
        where the determinant has changed its sign, so that a step does not leap over a singular pose either.

        Parameters
        ----------
        q0 : (nq,)
        v0 : (m,)
            Speeds that satisfy the constraints.
        t_span : (begin, end)
            Times in seconds.
        integrator, rtol, atol, step, t_eval, max_step, progress, dense, save_every
            As in `mbkern.System.simulate`; atol may be an array of n_states numbers.
        events : njit function g(t, q, u), `mbkern.event`, or a list of them
            As in `mbkern.System.simulate`; u is what follows q in the state: speeds of Lagrange and Maggi,
            quasi-velocities of Kane and Volterra (and the work when it is tracked).

        Returns
        -------
        Trajectory
            With success False, the reason (time, pose, quasi-velocities) and all that was computed when the run could
            not be finished, for instance because S became singular.

        Examples
        --------
        >>> import mbkern as mb
        >>> cart = mb.analytic.cases.cart()
        >>> run = mb.analytic.Volterra(cart.system, constraints=cart.constraints).simulate(cart.q0, cart.v0, (0.0, 1.0))
        >>> run.success, run.q.shape[1]
        (True, 3)
        """
        return run_formulation(self, q0, v0, t_span, integrator, rtol, atol, step, t_eval, max_step, progress, events,
                               dense, save_every)


class Lagrange(Formulation):
    """Lagrange's equations with multipliers: m equations, state (q, v). Parameters: see `Formulation`.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.analytic.Lagrange(mb.System(mb.zoo.box_with_panels()))
    Lagrange: 8 equations, 16 states
    """

    name, _method = "Lagrange", C.LAGRANGE

    def __init__(self, system: System | Dynamics, constraints: Constraints | None = None, forces: Any = None,
                 track_work: bool = False) -> None:
        super().__init__(system, constraints, forces, None, None, track_work)


class Maggi(Formulation):
    """Maggi's equations: m equations without multipliers, state (q, v). Parameters: see `Formulation`.

    Examples
    --------
    >>> import mbkern as mb
    >>> cart = mb.analytic.cases.cart()
    >>> mb.analytic.Maggi(cart.system, constraints=cart.constraints, quasi=["bend", "x"])
    Maggi: 3 equations, 6 states, u = (bend, x)
    """

    name, _method = "Maggi", C.MAGGI


class Kane(Formulation):
    """Kane's equations (Gibbs-Appell): p equations, state (q, u). Parameters: see `Formulation`.

    The constraints hold to round-off by construction.

    Examples
    --------
    >>> import mbkern as mb
    >>> cart = mb.analytic.cases.cart()
    >>> mb.analytic.Kane(cart.system, constraints=cart.constraints, quasi=["bend", "x"])
    Kane: 2 equations, 5 states, u = (bend, x)
    """

    name, _method = "Kane", C.KANE


class Volterra(Formulation):
    """Reduced Volterra equations: p - s equations, state (q, u).

    Constraints and the momenta of ignorable coordinates hold to round-off by construction.

    Parameters
    ----------
    system, constraints, forces, quasi, pose, track_work, threshold
        See `Formulation`.
    ignorable : sequence of coordinate names, optional
        By default all that `mbkern.analytic.ignorable` finds (none for Dynamics). Of a free joint with one or two
        ignorable positions the rates of the others become quasi-velocities, not its speeds, which turn with the body.

    Attributes
    ----------
    momenta : (s,)
        Constant momenta G of the ignorable coordinates; `state` sets them.

    Examples
    --------
    >>> import mbkern as mb
    >>> cart = mb.analytic.cases.cart()
    >>> volterra = mb.analytic.Volterra(cart.system, constraints=cart.constraints)
    >>> volterra
    Volterra: 1 equations, 4 states, u = (bend)
    >>> y = volterra.state(cart.q0, cart.v0)
    >>> volterra.momenta.round(9)
    array([6.])
    """

    name, _method = "Volterra", C.VOLTERRA

    def __init__(self, system: System | Dynamics, constraints: Constraints | None = None, forces: Any = None,
                 quasi: Any = None, ignorable: Any = None, pose: ArrayLike | None = None, track_work: bool = False,
                 threshold: float = 1e-8) -> None:
        super().__init__(system, constraints, forces, quasi, pose, track_work, threshold, _ignorable=ignorable)

    def _ignorable(self, names: Any) -> tuple[Ignorable, ...]:
        if names is not None:
            return claimed(self.system, names, self.constraints, self.forces)
        if not isinstance(self.system, System):
            return ()
        return ignorable(self.system, self.constraints, self.forces).found

    @property
    def momenta(self) -> Array:
        return take(self._frame, C.AT_MOMENTA, self.s)

    @momenta.setter
    def momenta(self, values: ArrayLike) -> None:
        self.momenta[:] = inputs.vector(values, "momenta", [entry.name for entry in self.ignorable])

    def _remember(self, q: Array, v: Array, t: float) -> None:
        p = self.system.momenta(q, v, t)
        self.momenta[:] = [momentum_of(entry, q, p) for entry in self.ignorable]


_DOUBLES = ctypes.POINTER(ctypes.c_double)


def _nothing(*_: Any) -> None:
    """The function of quasi-velocities that need none."""


def _tried(what: str, f: Any, *arguments: Any) -> None:
    """Call a function as Python, which finds what compiled code would not: a place outside an array."""
    try:
        getattr(f, "py_func", f)(*arguments)
    except Exception as error:
        raise StateError(f"{what}: {getattr(f, '__name__', f)} failed at a trial call: {error}") from error


def _skeel(S: Array) -> float:
    """1 / max_i (|S^-1| |S| e)_i; 0 when S is singular."""
    try:
        inverse = np.linalg.inv(S)
    except np.linalg.LinAlgError:
        return 0.0
    value = float((np.abs(inverse) @ np.abs(S).sum(axis=1)).max())
    return 1.0 / value if np.isfinite(value) and value > 0.0 else 0.0


def _rcond(chosen: Any, B: Array) -> float:
    """The same for S = [unit rows of the chosen speeds; B]."""
    m = B.shape[1]
    return _skeel(np.vstack((np.eye(m)[list(chosen)], B)))
