"""The motion over a span of time: one state, step by step, many states at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from . import lazy
from .signatures import Events, Load, options_by_name

if TYPE_CHECKING:
    from .batch.solution import BatchSolution
    from .integrate.solution import Solution
    from .integrate.stepper import Stepper
    from .model.vary import Varied


class Simulations:
    """The part of `System` that integrates."""

    @options_by_name(11)
    def simulate(self, q0: ArrayLike, p0: ArrayLike, t_span: tuple[float, float], integrator: str = "dopri5", *,
                 rtol: float = 1e-8, atol: ArrayLike = 1e-10, step: float | None = None,
                 t_eval: ArrayLike | None = None, events: Events | None = None, dense: bool = False,
                 progress: bool | float = False, tau: Load | None = None, wrench: Load | None = None,
                 max_step: float | None = None, save_every: int | None = None,
                 control_step: float | None = None, tangent: bool | ArrayLike = False, limits: str | None = None,
                 friction: bool = False, gauge: str = "reset", project: bool = True) -> Solution:
        """The motion from a state over a span of time, all steps in compiled code.

        Parameters
        ----------
        q0 : (nq,)
            Configuration at the beginning; quaternions are scaled to length one.
        p0 : (nv,)
            Momenta at the beginning; `momenta(q0, u0)` gives them for joint speeds. Where `variable` is "u", the joint
            speeds.
        t_span : (begin, end)
            Times in seconds; end before begin integrates backward.
        integrator : str
            "dopri5" (Dormand-Prince 5(4), adaptive), "rk4" (classical, fixed step), "midpoint", "gauss4", "gauss6"
            (Gauss collocation of order 2, 4, 6: symplectic and symmetric, fixed step, no secular energy drift).
        rtol, atol : float
            Tolerances of the local error of "dopri5": the root mean square of error / (atol + rtol ``|y|``) is at
            most 1, y = (q, p). atol may be an array (nq + nv).
        step : float
            Fixed-step methods: the largest step; it is shortened so that a whole number of steps fills t_span.
            "dopri5": the first step, chosen automatically by default.
        t_eval : (m,), optional
            Times of the output, in the order of the run. States between two steps come from the dense output: order
            4 for "dopri5", 3 (cubic Hermite, error O(step^4)) for the others. By default the ends of all steps.
        events : njit g(t, q, p), Event or a list of them, optional
            Zero crossings to record, or to stop at; see `mbkern.event`.
        dense : bool
            Keep the dense output of every step, for `Solution.sol`.
        progress : bool or float
            Show a bar on standard error; with a number, after so many seconds.
        tau : (nv,), or f(t, q, p, out) or f(t, q, p, u, out), optional
            Joint forces in N and N m; out (nv) is zero when f is called. An njit function is as fast as all else; plain
            Python works as well and takes some microseconds a call.
        wrench : (N, 6), or a function likewise, optional
            (force; moment) on each body, in body axes at the body origin; out is (N, 6).
        max_step : float, optional
            No step is longer.
        save_every : int, optional
            Keep the state after every so many steps only (and at the end).
        control_step : float, optional
            Seconds between two calls of a controller in plain Python: `tau` is then f(t, q, p) -> tau, or
            f(t, q, p, u) -> tau with the joint speeds u. What it returns is held until it is called again; steps end
            where it is called. It is called first at the beginning, and not at the end.
        tangent : bool or (2 nv, k)
            True: carry the state-transition matrix along, for `Solution.tangent`: the exact derivative of the steps
            that are taken, whatever the integrator. A matrix: its columns, increments (tangent of q, p) of the first
            state. The steps, and so the states, are those of the run without. With constraints: the solution of the
            variational equation along the run, for increments that satisfy them; forces must be constant.
        limits : str, optional
            "soft": springs and dampers act where a coordinate is beyond `model.limits`, see
            `mbkern.forces.soft_limits`.
        friction : bool
            Let the joints have the friction of `model.friction`, see `mbkern.forces.friction`.
        gauge : "reset" or "keep"
            Of models with constraints: integrators carry momenta P = p + a^T sigma. "reset" makes them true momenta
            after each step; "keep" lets sigma go on, so that the Gauss methods are symplectic for holonomic
            constraints. The Solution has true momenta p in either case.
        project : bool
            Of models with constraints and gauge "reset": close loops after each step, by the shortest way in kinetic
            energy. Velocities satisfy the constraints to rounding also without it.

        Returns
        -------
        Solution
            With success False and all that was computed when the run could not be finished. Ctrl-C ends a run early,
            with status "interrupted".

        Notes
        -----
        Gauss methods are symplectic in (q, p); in (q, u), with a method of joint speeds, they are symmetric, which
        keeps the energy of reversible motions from drifting, and no more.

        Quaternions are scaled to length one after each step of "rk4" and "dopri5". That cannot spoil the order: the
        right-hand side uses ``q/|q|`` and the rate of a quaternion is linear in it, so scaling commutes with every
        Runge-Kutta step. The Gauss methods conserve the length, a quadratic invariant, by themselves.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(5)
        >>> solution = mb.System(model).simulate(model.neutral(), [0.0] * 5, (0.0, 2.0), t_eval=[0.0, 1.0, 2.0])
        >>> solution.success, solution.q.shape
        (True, (3, 5))

        A controller at 100 Hz:

        >>> hold = lambda t, q, p, u: -50.0 * q - 5.0 * u
        >>> solution = mb.System(model).simulate(model.neutral(), [0.0] * 5, (0.0, 0.5), tau=hold, control_step=0.01)
        >>> solution.success
        True
        """
        simulate: Callable[..., Solution] = lazy.module("integrate.simulate").simulate

        return simulate(self, q0, p0, t_span, integrator, rtol, atol, step, t_eval, events, dense, progress, tau,
                        wrench, max_step, save_every, control_step, tangent, limits, friction, gauge, project)

    @options_by_name(4)
    def stepper(self, integrator: str = "rk4", step: float = 1e-3, *, rtol: float = 1e-8, atol: ArrayLike = 1e-10,
                tau: Load | None = None, wrench: Load | None = None) -> Stepper:
        """One step at a time, for use in loops of your own; see `Stepper`.

        Parameters
        ----------
        integrator : str
            As in `simulate`; "dopri5" takes as many steps of its own as its tolerances need.
        step : float
            Seconds that a step advances the time by; negative goes back.
        rtol, atol, tau, wrench
            As in `simulate`.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> stepper = mb.System(model).stepper("rk4", step=1e-3)
        >>> stepper.reset(model.neutral(), [0.0, 0.0, 0.0])
        >>> q, p = stepper.step()
        """
        make: Callable[..., Stepper] = lazy.module("integrate.stepper").Stepper

        return make(self, integrator, step, rtol, atol, tau, wrench)

    @options_by_name(8)
    def simulate_batch(self, Q0: ArrayLike, P0: ArrayLike, t_span: tuple[float, float], integrator: str = "dopri5", *,
                       rtol: float = 1e-8, atol: ArrayLike = 1e-10, step: float | None = None,
                       t_eval: ArrayLike | None = None, threads: int | None = None, tau: Load | None = None,
                       reduce: str | Callable[..., None] | None = None, progress: bool = False, reduce_size: int = 1,
                       max_step: float | None = None, parameters: Varied | None = None) -> BatchSolution:
        """`simulate` many states at once: several in each SIMD register, and on all processors.

        Each state is integrated as if it were alone: with "dopri5" it has a step size of its own, and when it is done,
        the next state takes its place in the register. So a trajectory has the very bits that `simulate` gives,
        whatever the other states do, and a state that diverges spoils no other. (One step size for the states that
        share a register would make results depend on the neighbours, and the slowest of them would set the pace.)

        Parameters
        ----------
        Q0 : (B, nq)
            Configurations at the beginning; quaternions are scaled to length one.
        P0 : (B, nv)
            Momenta.
        t_span : (begin, end)
            Times in seconds.
        integrator : str
            "rk4" (order 4, fixed step), "dopri5" (order 5, adaptive) or "midpoint" (implicit, order 2, symplectic,
            fixed step; by fixed-point iteration only, so where `simulate` turns to Newton's, a state fails here).
        rtol, atol
            Tolerances of "dopri5".
        step : float
            Seconds of a step; of "dopri5" the first one, by default its own choice.
        t_eval : (T,), optional
            Times of the output; by default the beginning and the end.
        threads : int, optional
            As in `rhs_batch`.
        tau : optional
            Joint forces: (nv,) for all states, (B, nv), or an njit function f(t, q, p, out, i), or with joint speeds
            u, f(t, q, p, u, out, i), that writes those of state number i to `out`, which is zero when it is called.
        reduce : optional
            What to keep, when the trajectories are too many: "final" for the states at the end, or an njit function
            f(t, q, p, kept, i) that updates the `reduce_size` numbers `kept` of state number i, zero at first. It is
            called at the times `t_eval`, or, if there are none, at the beginning and after every step.
        progress : bool
            Show a progress bar.
        reduce_size : int
            How many numbers the function `reduce` keeps of each state.
        max_step : float, optional
            No step is longer.
        parameters : Varied, optional
            Masses, inertias and lengths of each state's own machine, from `Model.vary`.

        Returns
        -------
        BatchSolution
            `.t` (T,), `.q` (B, T, nq), `.p` (B, T, nv), `.status` (B,), `.message(i)`; with `reduce`, `.q` (B, nq) and
            `.p` (B, nv), or `.kept` (B, reduce_size). Rows after the failure of a state are NaN.

        Beside its input and output, a run needs memory for a few states a thread, however many states there are. After
        ctrl-C the states that are done are kept.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> rng = np.random.default_rng(0)
        >>> Q0, P0 = rng.normal(size=(100, 3)), np.zeros((100, 3))
        >>> solution = mb.System(model).simulate_batch(Q0, P0, (0.0, 1.0), "rk4", step=0.01, t_eval=[0.0, 0.5, 1.0])
        >>> solution
        BatchSolution by 'rk4': 100 states, t = 0 .. 1 s, all finished
        >>> solution.q.shape
        (100, 3, 3)
        """
        simulate_batch: Callable[..., BatchSolution] = lazy.module("batch.simulate").simulate_batch

        return simulate_batch(self, Q0, P0, t_span, integrator, rtol, atol, step, t_eval, threads, tau, reduce,
                              progress, reduce_size, max_step, parameters)
