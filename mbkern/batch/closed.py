"""Batches of machines with constraints: each state is a run of its own, as `simulate` makes it, on all processors.

Loops are closed and momenta made true after each step, state by state, so a trajectory is that of `simulate`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import is_jitted
from numpy.typing import NDArray

from ..callbacks import compiled_load, name_of
from ..core.checks import CALLBACK_FAILED
from ..errors import StateError
from ..inputs import Array
from ..integrate.driver import Record, go_on, joined, shown
from ..integrate.kernels import lane_plan as LP
from ..integrate.kernels import plan as P
from ..integrate.simulate import begin, give_back, lend
from ..system import System
from ..workspace.frame import Frame
from .simulate import Run


class ClosedRun(Run):
    """What the states of such a batch share; see `Run`."""

    def __init__(self, system: System, *arguments: Any) -> None:
        super().__init__(system, *arguments)
        for i, (q, p) in enumerate(zip(self.Q0, self.P0, strict=True)):
            machine = self.machine(i)
            machine.check_consistent(q, machine.momenta(q, p, self.t0) if system.variable == "u" else p, self.t0,
                                     (f"Q0[{i}]", f"P0[{i}]"))

    def machine(self, i: int) -> System:
        """The system of state i."""
        return self.system if self.varied is None else System(self.varied.model_of(i), self.system.method)

    def _forces(self, tau: Any) -> None:
        if not callable(tau):
            super()._forces(tau)
            return
        if not is_jitted(tau):
            raise StateError(f"tau: expected an njit function f(t, q, p, out, i), got {name_of(tau)!r}; decorate it "
                             "with @numba.njit")
        self._tau, self.tau, self.tau_call, self._alive = tau, np.empty((0, self.system.model.nv)), 0, []
        self.tau_kind = LP.CALL_TAU
        compiled_load(tau, "tau", numbered=True)  # which also looks at its arguments

    def load(self, frame: Frame, i: int) -> None:
        """Let the joint forces of state i act."""
        if self.tau_kind == LP.CALL_TAU:
            frame.load_of_state(self._tau, self.first + i)
        elif self.tau.size:
            frame.load(self.tau[0 if self.tau_kind == LP.ONE_TAU else i])


class ClosedJob:
    """One thread of such a batch: `begin` a piece, then a `chunk` is one state. See `simulate.Job`."""

    def __init__(self, run: ClosedRun) -> None:
        self._run = run
        self._next = self._end = 0
        self.fault: Array = np.zeros(LP.FAULT)
        self.plan: NDArray[np.int64] = np.zeros(LP.DONE + 1, np.int64)
        self._steps: NDArray[np.int64] = np.zeros(max(P.ACCEPTED, P.REJECTED) + 1, np.int64)  # of the state at work

    @property
    def chunks(self) -> tuple[int, ...]:
        """Changes as long as it gets on."""
        return int(self.plan[LP.DONE]), int(self._steps[P.ACCEPTED]), int(self._steps[P.REJECTED])

    def begin(self, begin: int, end: int) -> None:
        """States begin .. end are to be done next."""
        self._next, self._end = begin, end

    def chunk(self) -> int:
        """One state; a code of `kernels.plan`."""
        if self._next < self._end:
            self._integrate(self._next)
            self._next += 1
            self.plan[LP.DONE] += 1
        return P.MORE if self._next < self._end else P.FINISHED

    def _integrate(self, i: int) -> None:
        batch, system = self._run, self._run.machine(i)
        run = lend(system, batch.method, False)
        batch.load(run.problem.alive, i)
        each_step = batch.output == LP.REDUCE_STEPS
        run.prepare(batch.t0, batch.t_end, step=batch.step, n_steps=batch.n_steps, rtol=batch.rtol, atol=batch.atol,
                    max_step=batch.max_step, times=None if each_step else batch.times, save_every=int(each_step))
        record = Record()
        self._steps = run.plan
        outcome = go_on(run, record, begin(system, run, batch.Q0[i], batch.P0[i], None), outer=batch.interrupt)
        if each_step:
            t, y = joined(record.t), joined(record.y, run.problem.size)
        else:
            rows = int(run.plan[P.NEXT_EVAL])
            t, y = batch.times[:rows], run.out_y[:rows]
        self._keep(i, t, shown(run.problem, t, y))
        batch.reached[i] = batch.failed_at[i] = float(run.num[P.T])
        batch.counts[i] = int(run.plan[P.ACCEPTED]), int(run.plan[P.REJECTED])
        if outcome.status == "finished":
            batch.status[i] = 0
        elif outcome.status == "failed":
            if run.plan[P.CODE] == CALLBACK_FAILED and not self.fault[LP.FAULT_STATE]:
                self._note(i, run)
            other = LP.NOT_CONVERGED if batch.method.kind == P.GAUSS else LP.STEP_COLLAPSED
            batch.status[i] = int(run.plan[P.CODE]) or other
        give_back(system, run)

    def _note(self, i: int, run: Any) -> None:
        """The joint forces of state i raised: where that was."""
        self.fault = np.concatenate(([0.0] * LP.FAULT, run.state_at_fault()))
        self.fault[[LP.FAULT_STATE, LP.FAULT_TIME, LP.FAULT_IN]] = i + 1, run.num[P.T_BAD], LP.IN_TAU

    def _keep(self, i: int, t: Array, y: Array) -> None:
        """Write what is wanted of a trajectory."""
        batch, nq = self._run, self._run.system.model.nq
        if batch.reduce_call:
            for time, state in zip(t, y, strict=True):
                batch.reducer(time, state[:nq], state[nq:], batch.kept[i], batch.first + i)
        else:
            batch.q[i, :len(t)], batch.p[i, :len(t)] = y[:, :nq], y[:, nq:]
