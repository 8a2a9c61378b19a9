"""One step at a time, from Python: for control loops, co-simulation and games."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inputs, states
from ..core import constants as L
from ..errors import IntegrationError, StateError
from ..inputs import Array
from ..waits import task
from ..workspace import builtin, interpreter
from ..workspace.calls import LONG
from . import entries, options
from .driver import Run, beyond_resolution
from .kernels import plan as P
from .kernels import stepping
from .kernels.stepping import FEW
from .problem import problem_of
from .progress import Interrupt
from .simulate import state

if TYPE_CHECKING:
    from ..system import System


class Stepper:
    """A state that moves on by equal steps; made by `System.stepper`.

    A copy, or one that was pickled, goes on where this one is, apart from it. (The Gauss methods then begin with
    fixed-point iteration again: where they had turned to Newton's, the last bits may differ.)

    Attributes
    ----------
    t : float
        Current time in seconds.
    q, p, u : arrays
        Current configuration, momenta and joint speeds (copies). One of p and u, `System.variable`, belongs to the
        state that `reset` takes and `step` returns.
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
        self._made_of = integrator, step, rtol, atol, tau, wrench
        self._own_tau = tau is not None
        with task("stepper", system):
            self._compile(system, tau, wrench, relative, absolute)
        self._open(False)
        self._nq, self._nv = system.model.nq, system.model.nv

    def _compile(self, system: System, tau: Any, wrench: Any, relative: float, absolute: Array) -> None:
        self._problem = problem_of(system, tau, wrench)
        adaptive, size = self._integrator.adaptive, system.model.nq + system.model.nv
        self._run = Run(self._problem, self._integrator, np.zeros(size), 0.0, np.inf, rtol=relative, atol=absolute,
                        step=0.0 if adaptive else self.step_size)
        self._run.num[P.STEP_SIZE] = self.step_size
        self._counter = P.DONE if adaptive else P.ACCEPTED  # of steps since `reset`
        self._address, self._hold = self._run.address, entries.compiled(stepping.hold)
        self._few = self._quick(False), self._slowly if self._own_tau else self._quick(True)

    def _quick(self, tau: bool) -> Callable[..., tuple[Array, Array]]:
        """A few steps as a built-in function, quick(n, None) or quick(n, None, tau)."""
        if not interpreter.known():
            return self._slowly
        nq, nv = self.system.model.nq, self.system.model.nv
        shapes = [(0, (nv,)), (1, (nq,)), (2, (nv,))]
        made: Callable[..., tuple[Array, Array]] = builtin.function(
            stepping.advance.address, shapes if tau else shapes[1:], int(tau), self._go_on,
            lambda: self._address, releases=self._run.problem.alive.array.size > LONG)
        return made

    def _slowly(self, n: Any, out: None, tau: Any = None) -> tuple[Array, Array]:
        return self._step_general(n, tau)

    def _open(self, ready: bool) -> None:
        """Let `step` go the quick way from now on, or say that there is no state yet."""
        self._ready = ready
        quick: tuple[Any, Any] = self._few if ready else (self._slowly, self._slowly)
        self._advance, self._advance_with = quick

    def __repr__(self) -> str:
        where = f"t = {self.t:g} s" if self._ready else "not started"
        return f"Stepper({self._integrator.name!r}, step={self.step_size:g}): {where}"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        # the state, all that the method remembers, and forces that are held; the rest is memory of this process
        memory = None
        if self._ready:
            run, frame, at = self._run, self._problem.alive.array, int(self._problem.alive.array[L.AT_LOADS])
            held = frame[at:at + self._nv].copy() if frame[L.HAS_TAU] and not self._own_tau else None
            memory = run.plan[P.NFEV:P.AT_NUM].copy(), run.num.copy(), run.work.copy(), held
        return _restored, (self.system, self._made_of, memory)

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
        return states.momenta(self.system, self.q, self._run.y[self._problem.split:].copy(), self.t)

    @property
    def u(self) -> Array:
        """Current joint speeds (a copy)."""
        return states.speeds(self.system, self.q, self._run.y[self._problem.split:].copy(), self.t)

    def reset(self, q: Any, p: Any, t: Any = 0.0) -> None:
        """Begin at a state and time; p are joint speeds where the method has these, see `System.variable`.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> stepper = mb.System(model).stepper("gauss4", step=1e-3)
        >>> stepper.reset(model.neutral(), [0.0, 0.0, 0.0], t=2.0)
        >>> stepper.t
        2.0
        """
        run, num = self._run, self._run.num
        y, t = state(self.system, q, p), inputs.time(t)
        self._open(False)
        run.rewind()
        run.place(y)
        num[P.T] = num[P.T0] = num[P.LEG_BEGIN] = t
        if self._integrator.adaptive:
            num[P.H], num[P.ERROR_OLD] = 0.0, P.FIRST_ERROR
            num[P.T_END] = num[P.LEG_END] = t + self.step_size
        self._fail_if(run.start())
        self._open(True)

    def step(self, n: int = 1, tau: Any = None) -> tuple[Array, Array]:
        """Advance by n steps and return the new (q, p), or (q, u) where that is the state of the method.

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
        if n.__class__ is int and 0 < n <= FEW:
            return self._advance(n, None) if tau is None else self._advance_with(n, None, tau)
        return self._step_general(n, tau)

    def _go_on(self, code: int, n: int, out: None, tau: Any = None) -> tuple[Array, Array]:
        """What a few steps in compiled code have left to do: the rest of them, or to say what is wrong."""
        if code < stepping.STOPPED or code == stepping.STOPPED + P.BAD_START:  # tau is not as it must be
            return self._step_general(n, tau)
        self._fail_if(code - stepping.STOPPED)
        return self._reach_goal()

    def _step_general(self, n: Any, tau: Any) -> tuple[Array, Array]:
        """`step` for any input: converts, and explains what is wrong."""
        if not self._ready:
            raise IntegrationError("step(): no state yet; call reset(q, p) first")
        n = options.count(n, "n")
        if tau is not None:
            if self._own_tau:
                raise StateError("tau: this stepper was made with a tau of its own; make it without to set tau each "
                                 "step")
            self._hold(self._address, inputs.vector(tau, "tau", self.system.model.speed_names))
        plan = self._run.plan
        plan[P.GOAL] = plan[self._counter] + n
        return self._reach_goal()

    def _reach_goal(self) -> tuple[Array, Array]:
        """Steps until there are as many as wanted, with an eye on ctrl-C."""
        run, plan = self._run, self._run.plan
        with Interrupt() as interrupt:
            while plan[self._counter] < plan[P.GOAL] and not interrupt.asked:
                if self._integrator.adaptive:
                    self._aim()
                    code = run.paced()
                    plan[P.DONE] += code == P.FINISHED
                else:
                    code = run.paced(int(plan[P.GOAL] - plan[P.ACCEPTED]))
                self._fail_if(code)
        if interrupt.asked:
            raise KeyboardInterrupt
        y = run.y
        return y[:self._nq].copy(), y[self._nq:].copy()

    def _aim(self) -> None:
        """Let a method that chooses its own steps end at the next multiple of `step_size`."""
        num = self._run.num
        num[P.T_END] = num[P.LEG_END] = num[P.T0] + (self._run.plan[P.DONE] + 1) * self.step_size
        if num[P.LEG_END] == num[P.T]:
            raise IntegrationError(f"step(): {beyond_resolution(self.t, abs(self.step_size))}")

    def _fail_if(self, code: int) -> None:
        if code not in (P.MORE, P.FINISHED, P.NEED_MATRIX):
            message, cause = self._run.failure(code)
            if isinstance(cause, KeyboardInterrupt):  # ctrl-C within a function of the user's
                raise cause
            raise IntegrationError(message) from cause


def _restored(system: System, made_of: tuple[Any, ...], memory: tuple[Any, ...] | None) -> Stepper:
    """The stepper that was pickled."""
    stepper = Stepper(system, *made_of)
    if memory is not None:
        counters, num, work, held = memory
        if held is not None:
            stepper._hold(stepper._address, held)
        run = stepper._run
        run.plan[P.NFEV:P.AT_NUM], run.num[:], run.work[:] = counters, num, work
        run.plan[P.NEWTON] = run.plan[P.FACTORED] = 0  # Newton's matrices stay behind
        stepper._open(True)
    return stepper
