"""One step at a time, from Python: for control loops, co-simulation and games."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inputs
from ..core import constants as L
from ..errors import IntegrationError, MbkernError, StateError
from ..inputs import Array
from . import options
from .driver import Pace, Run, beyond_resolution
from .kernels import plan as P
from .problem import problem_of
from .progress import Interrupt
from .simulate import state

if TYPE_CHECKING:
    from ..system import System

FEW = 100  # steps that are over before anybody has pressed ctrl-C


class Stepper:
    """A state that moves on by equal steps; made by `System.stepper`.

    Attributes
    ----------
    t : float
        Current time in seconds.
    q, p : arrays
        Current state (copies).
    step_size : float
        What one `step` advances the time by.

    Examples
    --------
    >>> import mbkern as mb
    >>> model = mb.zoo.chain(3)
    >>> stepper = mb.System(model).stepper("rk4", step=1e-3)
    >>> stepper.reset(model.neutral(), [0.0, 0.0, 0.0])
    >>> q, p = stepper.step()
    >>> stepper.t
    0.001
    >>> q, p = stepper.step(n=9)
    >>> round(stepper.t, 6)
    0.01
    """

    def __init__(self, system: System, integrator: Any, step: Any, rtol: Any = 1e-8, atol: Any = 1e-10, tau: Any = None,
                 wrench: Any = None) -> None:
        self.system = system
        self._integrator = options.integrator_named(integrator)
        self.step_size = options.nonzero(step, "step")
        size = system.model.nq + system.model.nv
        relative, absolute = options.tolerances(rtol, atol, size)
        self._problem = problem_of(system, tau, wrench)
        self._own_tau = tau is not None
        adaptive = self._integrator.adaptive
        self._run = Run(self._problem, self._integrator, np.zeros(size), 0.0, np.inf, rtol=relative, atol=absolute,
                        step=0.0 if adaptive else self.step_size)
        self._ready = False
        self._done = 0  # steps since `reset`

    def __repr__(self) -> str:
        where = f"t = {self.t:g} s" if self._ready else "not started"
        return f"Stepper({self._integrator.name!r}, step={self.step_size:g}): {where}"

    def __reduce__(self) -> Any:
        raise MbkernError("a Stepper holds memory of compiled code and cannot be copied or pickled; make another one "
                          "with System.stepper and reset it to q, p and t of this one")

    @property
    def t(self) -> float:
        """Current time in seconds."""
        return float(self._run.num[P.T])

    @property
    def q(self) -> Array:
        """Current configuration (a copy)."""
        return self._run.y[:self._problem.split].copy()

    @property
    def p(self) -> Array:
        """Current momenta (a copy)."""
        return self._run.y[self._problem.split:].copy()

    def reset(self, q: Any, p: Any, t: Any = 0.0) -> None:
        """Begin at a state and time.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> stepper = mb.System(model).stepper("gauss4", step=1e-3)
        >>> stepper.reset(model.neutral(), [0.0, 0.0, 0.0], t=2.0)
        >>> stepper.t
        2.0
        """
        run, plan, num = self._run, self._run.plan, self._run.num
        y, t = state(self.system, q, p), inputs.time(t)
        run.work[:P.ATOL * y.size] = 0.0
        run.y[:] = y
        plan[P.ACCEPTED] = self._done = 0
        num[P.T] = num[P.T0] = t
        if self._integrator.adaptive:
            num[P.H], num[P.ERROR_OLD] = 0.0, 1e-4
            num[P.T_END] = t + self.step_size
        self._fail_if(run.start())
        self._ready = True

    def step(self, n: int = 1, tau: Any = None) -> tuple[Array, Array]:
        """Advance by n steps and return the new (q, p).

        Parameters
        ----------
        n : int
            Number of steps.
        tau : (nv,), optional
            Joint forces in N and N m, constant over these steps and from then on, until others are given.

        Returns
        -------
        q : (nq,)
        p : (nv,)

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(2, gravity=(0, 0, 0))
        >>> stepper = mb.System(model).stepper("midpoint", step=0.01)
        >>> stepper.reset([0.0, 0.0], [0.0, 0.0])
        >>> q, p = stepper.step(tau=[1.0, 0.0])
        >>> bool(p[0] > 0.009)
        True
        """
        if not self._ready:
            raise IntegrationError("step(): no state yet; call reset(q, p) first")
        n = options.count(n, "n")
        run = self._run
        if tau is not None:
            self._set_tau(tau)
        if not self._integrator.adaptive:
            self._fixed_steps(int(run.plan[P.ACCEPTED]) + n)
        else:
            for _ in range(n):
                self._adaptive_step()
        y = run.y
        return y[:self._problem.split].copy(), y[self._problem.split:].copy()

    def _fixed_steps(self, target: int) -> None:
        """Steps until so many have been taken since `reset`."""
        run = self._run
        if target - run.plan[P.ACCEPTED] <= FEW:  # not worth looking at ctrl-C in between
            while run.plan[P.ACCEPTED] < target:
                self._fail_if(run.chunk(int(target - run.plan[P.ACCEPTED])))
            return
        pace = Pace(run)
        with Interrupt() as interrupt:
            while run.plan[P.ACCEPTED] < target and not interrupt.asked:
                self._fail_if(pace.chunk(int(target - run.plan[P.ACCEPTED])))
        if interrupt.asked:
            raise KeyboardInterrupt

    def _adaptive_step(self) -> None:
        """As many steps of the method's own size as bring the time to the next multiple of `step_size`."""
        run, code = self._run, P.MORE
        run.num[P.T_END] = run.num[P.T0] + (self._done + 1) * self.step_size
        if run.num[P.T_END] == run.num[P.T]:
            raise IntegrationError(f"step(): {beyond_resolution(self.t, abs(self.step_size))}")
        pace = Pace(run)
        with Interrupt() as interrupt:
            while code == P.MORE and not interrupt.asked:
                code = pace.chunk()
        self._fail_if(code)
        if code == P.FINISHED:
            self._done += 1
        if interrupt.asked:
            raise KeyboardInterrupt

    def _set_tau(self, tau: Any) -> None:
        if self._own_tau:
            raise StateError("tau: this stepper was made with a tau of its own; make it without to set tau each step")
        frame = self._problem.alive.array
        forces = inputs.vector(tau, "tau", self.system.model.speed_names)
        at = int(frame[L.AT_LOADS])
        frame[L.HAS_TAU] = 1.0
        frame[at:at + forces.size] = forces
        self._run.plan[P.FRESH] = 0

    def _fail_if(self, code: int) -> None:
        if code not in (P.MORE, P.FINISHED):
            message, cause = self._run.failure(code)
            raise IntegrationError(message) from cause
