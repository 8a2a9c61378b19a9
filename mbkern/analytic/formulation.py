"""What Lagrange, Maggi, Kane and reduced Volterra have in common: states, right-hand sides, runs."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import inputs
from ..core import checks
from ..core import quasi_layout as C
from ..core.quasi import ode_quasi, speeds_along
from ..embed.handle import ODE_TYPE
from ..errors import StateError
from ..inputs import Array
from ..integrate.problem import Problem
from ..lazy import cached_property
from ..model.checks import flag, number, show
from ..signatures import Events, Load
from ..system import System
from . import choice
from .conditioning import Conditioning, skeel
from .faults import fault_of
from .frame import Setup, make_frame, take
from .functions import Constraints, Dynamics, QuasiVelocities
from .ignorable import Ignorable
from .mechanism import Mechanism
from .reasons import reason
from .run import run_formulation
from .trajectory import Trajectory

_DOUBLES = ctypes.POINTER(ctypes.c_double)


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
    on_violation = "stop"  # of the runs of `Volterra`
    _method = -1

    def __init__(self, system: System | Dynamics, constraints: Constraints | None = None, forces: Load | None = None,
                 quasi: QuasiVelocities | Sequence[str] | None = None, pose: ArrayLike | None = None,
                 track_work: bool = False, threshold: float = 1e-8, _ignorable: Any = ()) -> None:
        mechanism = Mechanism(system, constraints, forces)
        ignored = self._ignored(mechanism, _ignorable)
        limit = number(threshold, "threshold", StateError)
        if not 0.0 <= limit < 1.0:
            raise StateError(f"threshold: expected a number between 0 and 1, got {limit:g}")
        poses = [] if pose is None else [(0.0, mechanism.configuration(pose, "pose"))]
        self._chosen_here = quasi is None
        work = flag(track_work, "track_work", StateError)
        self._assemble(mechanism, ignored, self._choose(mechanism, ignored, quasi, poses), work, limit)

    def _assemble(self, mechanism: Mechanism, ignored: tuple[Ignorable, ...], quasi: choice.Quasi, track_work: bool,
                  threshold: float) -> None:
        self._mechanism = mechanism
        self.system, self.constraints, self.forces = mechanism.system, mechanism.constraints, mechanism.forces
        self.coordinate_names, self.speed_names = mechanism.coordinate_names, mechanism.speed_names
        self.m, self.nq, self.r = mechanism.m, mechanism.nq, mechanism.r
        self.p = self.m - self.r
        self.ignorable, self.s = ignored, len(ignored)
        self.threshold = threshold
        self.setup = Setup(self._method, self.system, self.nq, self.m, self.constraints, self.forces, quasi, ignored,
                           track_work, threshold, choice.pattern_of(mechanism, quasi))
        self._frame = make_frame(self.setup)
        self._pose: Array = mechanism.neutral()

    def _variant(self, ignored: tuple[Ignorable, ...], quasi: choice.Quasi) -> Formulation:
        """The same formulation of the same mechanism with other ignored coordinates or quasi-velocities."""
        other = copy(self)
        other._assemble(self._mechanism, ignored, quasi, self.setup.track_work, self.threshold)
        return other

    def _ignored(self, _mechanism: Mechanism, _names: Any) -> tuple[Ignorable, ...]:
        return ()

    def _choose(self, mechanism: Mechanism, ignored: tuple[Ignorable, ...], quasi: Any,
                poses: list[tuple[float, Array]]) -> choice.Quasi:
        if self._method == C.LAGRANGE:
            return ()
        if mechanism.m - mechanism.r - len(ignored) < 1:
            raise StateError(f"nothing is left to integrate: {mechanism.m} speeds, {mechanism.r} constraints, "
                             f"{len(ignored)} ignorable coordinates")
        if quasi is None:
            return choice.best_quasi(mechanism, ignored, poses)
        given = choice.given_quasi(mechanism, ignored, quasi)
        choice.check_determines(mechanism, ignored, given)
        return given

    # ---- what it is ----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        u = f", u = ({choice.listed(self.quasi_names)})" if self._method != C.LAGRANGE else ""
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
        return choice.names_of(self.setup.quasi, self.speed_names)

    # ---- states --------------------------------------------------------------------------------------------------

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
        mechanism = self._mechanism
        return mechanism.project(mechanism.configuration(q), mechanism.speeds(v), inputs.time(t))

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
        mechanism = self._mechanism
        q, v, t = mechanism.configuration(q), mechanism.speeds(v), inputs.time(t)
        mechanism.check_consistent(q, v, t)
        return self._state(t, q, v)

    def _state(self, t: float, q: Array, v: Array, work: float = 0.0) -> Array:
        """The state that a run begins with: the constant momenta are those of this one from now on."""
        self._remember(q, v, t)
        self._pose = q.copy()
        return self._unknowns(t, q, v, work)

    def _unknowns(self, t: float, q: Array, v: Array, work: float) -> Array:
        """(q, v) or (q, u = Y v + Z), and the work."""
        chosen, given = self.setup.quasi, v
        if self._method >= C.KANE:
            if isinstance(chosen, QuasiVelocities):
                Y, Z, _ = chosen.evaluate(t, q, v)
                given = Y @ v + Z
            else:
                given = v[list(chosen)]
        return np.concatenate((q, given, [work] * int(self.setup.track_work)))

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
        code = int(self._frame[C.QUASI_STATUS])
        if code != checks.OK:
            fault = fault_of(self, self._frame, code, t, y[:self.nq])
            words = reason(self, self._frame, code, t, y[:self.nq]) if fault is None else str(fault)
            raise StateError(f"{self.name} at t = {t:g}: {words}") from (None if fault is None else fault.__cause__)
        return dydt

    @cached_property
    def _call(self) -> Any:
        return ODE_TYPE(ode_quasi.address)

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
        code = speeds_along(self._frame, np.array([t]), y[None, :], out, rcond)
        if code == checks.OK and not np.isfinite(out).all():
            code = C.SINGULAR_S
        if code != checks.OK:
            raise StateError(f"{self.name} at t = {t:g}: {reason(self, self._frame, code, t, y[:self.nq])}")
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
        if self.setup.large:
            return take(frame, C.AT_LINEAR, self.setup.linear_size)[-m:].copy()
        if frame[C.NOW_TRIANGULAR] == 0.0:
            return take(frame, C.AT_W, m, nu) @ rates[:nu] + take(frame, C.AT_GAMMA, m)
        # M_I vdot = -h_I for the ignorable speeds
        M, h, vdot = take(frame, C.AT_M, m, m), take(frame, C.AT_H, m), np.empty(m)
        N, I = list(self.setup.speeds[:nu]), list(self.setup.speeds[nu:])
        vdot[N] = take(frame, C.AT_E, nu)
        vdot[I] = np.linalg.solve(M[np.ix_(I, I)], -h[I] - M[np.ix_(I, N)] @ vdot[N])
        return vdot

    def multipliers(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """The multipliers lambda (r) of the constraints: M vdot + h = Q + a^T lambda.

        a^T lambda are the generalized forces that keep the constraints, in N and N m. They are the same in all
        formulations, also in those that do without them.

        Parameters
        ----------
        q : (nq,)
        v : (m,)
            Speeds, which must satisfy the constraints.
        t : float

        Examples
        --------
        >>> import mbkern as mb
        >>> cart = mb.analytic.cases.cart()
        >>> lagrange = mb.analytic.Lagrange(cart.system, constraints=cart.constraints)
        >>> kane = mb.analytic.Kane(cart.system, constraints=cart.constraints)
        >>> lagrange.multipliers(cart.q0, cart.v0).round(6), kane.multipliers(cart.q0, cart.v0).round(6)
        (array([1.22625]), array([1.22625]))
        """
        vdot, frame, m, r = self.accelerations(q, v, t), self._frame, self.m, self.r
        if r == 0:
            return np.empty(0)
        if self.setup.large:
            return take(frame, C.AT_LINEAR, self.setup.linear_size)[-m - r:-m].copy()
        M, h, Q = take(frame, C.AT_M, m, m), take(frame, C.AT_H, m), take(frame, C.AT_Q, m)
        a = take(frame, C.AT_A, r, m)
        return np.asarray(np.linalg.solve(a @ a.T, a @ (M @ vdot + h - Q)), float)

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
        q, t = self._mechanism.configuration(self._pose if q is None else q), inputs.time(t)
        if self._method == C.LAGRANGE:
            a = choice.lower_rows(self._mechanism, (), t, q)
            K = np.block([[self.system.mass_matrix(q, t), a.T], [a, np.zeros((self.r, self.r))]])
            return Conditioning(skeel(K), "[[M, a^T], [a, 0]]", self.threshold)
        rows = "".join((", M_I" if self.s else "", ", a" if self.r else ""))
        return Conditioning(choice.rcond(self._mechanism, self.ignorable, self.setup.quasi, t, q),
                            f"S = [Y{rows}] with u = ({choice.listed(self.quasi_names)})", self.threshold)

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
        quaternions = self.system.model.quaternion_offsets if isinstance(self.system, System) else np.empty(0, np.int64)
        last: dict[str, Array] = {}  # the run puts its last state here

        def explain(code: int, t: float) -> str:
            return reason(self, frame, code, t, last.get("q"))

        def fault(code: int, t: float, y: Array) -> StateError | None:
            return fault_of(self, frame, code, t, y[:self.nq])

        problem = Problem(ode_quasi.address, frame.ctypes.data, frame.ctypes.data + 8 * C.QUASI_STATUS, len(names),
                          self.nq, quaternions, explain, names.__getitem__, (frame, last), fault)
        return problem, frame

    def simulate(self, q0: ArrayLike, v0: ArrayLike, t_span: tuple[float, float], integrator: str = "dopri5",
                 rtol: float = 1e-8, atol: ArrayLike = 1e-10, step: float | None = None,
                 t_eval: ArrayLike | None = None, max_step: float | None = None, progress: bool = False,
                 events: Events | None = None, dense: bool = False, save_every: int | None = None,
                 on_violation: str | None = None, on_singular: str | None = None) -> Trajectory:
        """The motion from a configuration and speeds, all steps in compiled code.

        S is checked in every evaluation of the right-hand side, and a step does not leap over a singular pose either,
        because det S must keep its sign. So are the ignored coordinates of `Volterra`: a force along one of them or a
        constraint with its speed that begins to act later is noticed where it begins.

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
        on_violation : "stop" or "switch", optional
            Where something acts along an ignored coordinate (`Volterra`): stop, or go on with that coordinate no longer
            ignored. By default what `Volterra` was made with, "stop".
        on_singular : "stop" or "switch", optional
            Where the quasi-velocities do not determine the speeds: stop, or go on with others. By default "switch" when
            the choice was not yours (no `quasi`) and there are no events, whose u must not change its meaning.

        Returns
        -------
        Trajectory
            With success False, the reason (time, pose, quasi-velocities) and all that was computed when the run could
            not be finished, for instance because S became singular. `switches` says where it went on with others.

        Examples
        --------
        >>> import mbkern as mb
        >>> cart = mb.analytic.cases.cart()
        >>> run = mb.analytic.Volterra(cart.system, constraints=cart.constraints).simulate(cart.q0, cart.v0, (0.0, 1.0))
        >>> run.success, run.q.shape[1]
        (True, 3)
        """
        return run_formulation(self, q0, v0, t_span, integrator, rtol, atol, step, t_eval, max_step, progress, events,
                               dense, save_every, on_violation, on_singular)
