"""Running an integration in chunks of compiled steps.

Between two chunks there is time for Python: taking over full output buffers, the progress bar, ctrl-C.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import StateError
from ..inputs import Array
from . import memory
from .events import Event
from .kernels import plan as P
from .kernels import run as kernels
from .options import Integrator
from .problem import Problem
from .progress import Interrupt, Progress

CHUNK_SECONDS = 0.05  # how long compiled code runs before Python looks around
BUFFER_NUMBERS = 2**17  # of the output buffers
TINY_PART = 1e-12  # of the span: where t is held less finely, that is what limits the step


class Run:
    """The arrays of one integration, see `kernels.plan`.

    Parameters
    ----------
    problem : Problem
    integrator : Integrator
    y0 : (n,)
    t0, t_end : float
    step : float
        Of a fixed-step method, with its sign; the first step of an adaptive one, 0 to choose it.
    n_steps : int
        Of a fixed-step method.
    rtol, atol, max_step
        Of an adaptive method.
    times : array, optional
        Write the states at these times.
    save_every : int
        Write every so many steps, when no times are given; 0 for nothing.
    dense : bool
        Keep the dense output.
    events : list of Event
    """

    def __init__(self, problem: Problem, integrator: Integrator, y0: Array, t0: float, t_end: float, *,
                 step: float = 0.0, n_steps: int = 0, rtol: float = 1e-8, atol: Array | float = 1e-10,
                 max_step: float = np.inf, times: Array | None = None, save_every: int = 0, dense: bool = False,
                 events: list[Event] | None = None) -> None:
        n, events = problem.size, events or []
        rows = times.size if times is not None else n_steps // save_every + 2 if save_every else 0
        _check_memory(8 * rows * (n + 1), 8 * n_steps * (integrator.dense * n + 2) if dense else 0)
        self.problem, self.integrator, self.watched = problem, integrator, events
        self.plan: NDArray[np.int64] = np.zeros(P.QUATERNIONS + problem.quaternions.size, np.int64)
        plan = self.plan
        self._run = kernels.run_explicit if integrator.kind in (P.RK4, P.DOPRI5) else kernels.run_implicit
        plan[P.RHS], plan[P.USER], plan[P.STATUS] = problem.address, problem.user, problem.status
        plan[P.METHOD], plan[P.STAGES], plan[P.N], plan[P.SPLIT] = integrator.kind, integrator.stages, n, problem.split
        plan[P.OUTPUT] = P.TIMES if times is not None else P.STEPS if save_every else P.NOTHING
        plan[P.SAVE_EVERY] = max(save_every, 1)
        plan[P.DENSE] = integrator.dense if dense else 0
        plan[P.SLOPES] = dense or times is not None or bool(events)
        plan[P.N_STEPS], plan[P.N_EVENTS] = n_steps, len(events)
        plan[P.N_QUATERNIONS] = problem.quaternions.size
        plan[P.QUATERNIONS:] = problem.quaternions
        self.num: Array = np.zeros(P.NUM)
        num = self.num
        num[P.T], num[P.T0], num[P.T_END], num[P.H] = t0, t0, t_end, step
        num[P.MAX_STEP], num[P.RTOL], num[P.ERROR_OLD] = max_step, rtol, 1e-4
        self.work: Array = np.zeros(P.VECTORS * n)
        self.work[P.Y * n:(P.Y + 1) * n] = y0
        self.work[P.ATOL * n:(P.ATOL + 1) * n] = atol
        rows = max(16, min(4096, BUFFER_NUMBERS // max(n, 1)))
        self.times = np.empty(0) if times is None else times
        steps_rows = rows if plan[P.OUTPUT] == P.STEPS else 0
        self.out_t = np.empty(steps_rows)
        self.out_y = np.empty((self.times.size if times is not None else steps_rows, n))
        dense_rows = rows if dense else 0
        self.dense_t = np.empty((dense_rows, 2))
        self.dense_r = np.empty((dense_rows, plan[P.DENSE] * n))
        self.events = np.zeros((len(events), P.EVENT), np.int64)
        for row, event in zip(self.events, events, strict=True):
            row[P.ADDRESS], row[P.DIRECTION], row[P.LEFT] = event.address, event.direction, event.terminal or -1
        event_rows = max(rows, len(events)) if events else 0
        self.theta_of = np.empty(len(events))
        self.event_index = np.empty(event_rows, np.int64)
        self.event_t = np.empty(event_rows)
        self.event_y = np.empty((event_rows, n))
        self._arguments = [plan, num, self.work, self.times, self.out_t, self.out_y.reshape(-1),
                           self.dense_t.reshape(-1), self.dense_r.reshape(-1), self.events, self.theta_of,
                           self.event_index, self.event_t, self.event_y.reshape(-1),
                           np.empty(0), np.empty(0, np.int64)]

    @property
    def y(self) -> Array:
        """The current state (a view)."""
        return self.work[:self.problem.size]

    def start(self) -> int:
        """Evaluate at the beginning; a code of `kernels.plan`."""
        self.plan[P.BUDGET] = 0
        self._run(*self._arguments)  # does nothing, but is compiled here
        return int(kernels.start(self.plan, self.num, self.events, self.times, self.out_t, self._arguments[5],
                                 self.work))

    def chunk(self, budget: int) -> int:
        """At most `budget` steps; a code of `kernels.plan`."""
        self.plan[P.BUDGET] = budget
        code = int(self._run(*self._arguments))
        if code == P.NEED_MATRIX:  # fixed-point iteration is not enough: room for Newton's matrices
            n, stages = self.problem.size, self.integrator.stages
            self._arguments[-2:] = np.empty((stages**2 + 1) * n**2 + stages * n), np.empty(stages * n, np.int64)
            return P.MORE
        return code

    def failure(self, code: int) -> tuple[str, BaseException | None]:
        """Words for a code that is a failure, and what a user's function raised if that is the reason."""
        plan, t = self.plan, float(self.num[P.T])
        stopped = f"stopped at t = {t:.9g} s: "
        if code in (P.FAILED_RHS, P.FAILED_EVENT):
            at, y = float(self.num[P.T_BAD]), self._state_at_fault()
            fault = (self.watched[plan[P.WORST]].fault(at, y[:self.problem.split], y[self.problem.split:])
                     if code == P.FAILED_EVENT else self.problem.fault(int(plan[P.CODE]), at, y))
            reason = str(fault) if fault is not None else self.problem.explain(int(plan[P.CODE]), at)
            if self.integrator.kind == P.GAUSS and code == P.FAILED_RHS:
                reason += f" (where the iteration of the stages went with step {abs(self.num[P.H]):g} s)"
            return stopped + reason, fault.__cause__ if fault is not None else None
        if code == P.FAILED_STAGES:
            return stopped + (
                f"the stages of {self.integrator.name!r} did not converge with step {abs(self.num[P.H]):g} s, neither "
                "by fixed-point nor by Newton iteration; take a smaller step"), None
        if code == P.FAILED_TIME:
            return stopped + beyond_resolution(t, abs(self.num[P.H])), None
        worst = self.problem.name(int(plan[P.WORST]))
        if np.spacing(abs(t)) > TINY_PART * abs(self.num[P.T_END] - self.num[P.T0]):
            return stopped + (
                f"the step size came down to {abs(self.num[P.H]):.2g} s, and float64 holds this time to "
                f"{np.spacing(abs(t)):.2g} s only, with an error above the tolerance; largest for {worst}: let the "
                "time begin near 0 (without drives and forces of t it does not matter), or loosen the tolerances"), None
        return stopped + (
            f"the step size collapsed to {abs(self.num[P.H]):.2g} s, the error stays above the tolerance; largest for "
            f"{worst}: a singularity or a jump in the forces is near, or the tolerances are too tight"), None

    def _state_at_fault(self) -> Array:
        at = int(self.plan[P.Y_BAD])
        return self.work[at:at + self.problem.size].copy()


def _check_memory(output: int, dense: int) -> None:
    """Refuse a run whose output is known to fill the memory; how many steps an adaptive method takes is not known."""
    if memory.exceeded_by(output + dense):
        polynomials = f", {memory.gigabytes(dense)} of it for dense=True" if dense else ""
        raise StateError(
            f"the output of this run would take {memory.gigabytes(output + dense)}{polynomials}, the limit is "
            f"{memory.gigabytes(memory.limit())} (a part of the memory that is free); keep fewer states with "
            "save_every or t_eval, without dense=True, or take longer steps")


def beyond_resolution(t: float, step: float) -> str:
    """Why no step of this size can be taken at time t."""
    return (f"a step of {step:g} s does not change t = {t:.9g} s, which float64 holds to {np.spacing(abs(t)):.2g} s "
            "only; take longer steps, or let the time begin near 0")


@dataclass
class Record:
    """What a run has written."""

    t: list[NDArray[Any]] = field(default_factory=list)
    y: list[NDArray[Any]] = field(default_factory=list)
    dense_t: list[NDArray[Any]] = field(default_factory=list)
    dense_r: list[NDArray[Any]] = field(default_factory=list)
    event_index: list[NDArray[Any]] = field(default_factory=list)
    event_t: list[NDArray[Any]] = field(default_factory=list)
    event_y: list[NDArray[Any]] = field(default_factory=list)

    size: int = 0  # bytes

    def take(self, run: Run) -> None:
        """Move the contents of the buffers here."""
        buffers: tuple[tuple[int, tuple[tuple[list[NDArray[Any]], NDArray[Any]], ...]], ...] = (
            (P.ROWS, ((self.t, run.out_t), (self.y, run.out_y))),
            (P.DENSE_ROWS, ((self.dense_t, run.dense_t), (self.dense_r, run.dense_r))),
            (P.EVENT_ROWS, ((self.event_index, run.event_index), (self.event_t, run.event_t),
                            (self.event_y, run.event_y))),
        )
        for counter, pairs in buffers:
            rows = int(run.plan[counter])
            if rows:
                for kept, buffer in pairs:
                    kept.append(buffer[:rows].copy())
                    self.size += kept[-1].nbytes
                run.plan[counter] = 0


@dataclass(frozen=True)
class Outcome:
    """How a run ended: status "finished", "event", "interrupted" or "failed", a sentence, and what was raised."""

    status: str
    message: str
    cause: BaseException | None = None


class Pace:
    """How many steps a chunk may take so that Python looks around every CHUNK_SECONDS."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._budget = max(1, 40_000 // max(run.problem.size, 1))

    def chunk(self, most: int | None = None) -> int:
        """Some steps, `most` at most; a code of `kernels.plan`."""
        plan = self._run.plan
        before, done = time.perf_counter(), int(plan[P.ACCEPTED] + plan[P.REJECTED])
        code = self._run.chunk(self._budget if most is None else min(most, self._budget))
        seconds = time.perf_counter() - before
        if int(plan[P.ACCEPTED] + plan[P.REJECTED]) - done >= self._budget:  # not cut short by a buffer
            self._budget = max(1, int(self._budget * min(4.0, max(0.25, CHUNK_SECONDS / max(seconds, 1e-9)))))
        return code


def drive(run: Run, record: Record, progress: bool = False) -> Outcome:
    """Run to the end, an event, a failure, ctrl-C, or until the output fills the memory."""
    plan, num = run.plan, run.num
    code = run.start()
    pace = Pace(run)
    bar = Progress(float(num[P.T0]), float(num[P.T_END])) if progress else None
    with Interrupt() as interrupt:
        while code == P.MORE and not interrupt.asked and not memory.exceeded_by(record.size):
            code = pace.chunk()
            record.take(run)
            if bar is not None:
                bar.show(float(num[P.T]), float(num[P.H_LAST] or num[P.H]), int(plan[P.ACCEPTED]), code != P.MORE)
    record.take(run)
    t = float(num[P.T])
    if code == P.FINISHED:
        return Outcome("finished", f"reached the end of t_span at t = {t:.9g} s")
    if code == P.EVENT_STOP:
        return Outcome("event", f"a terminal event ended the run at t = {t:.9g} s")
    if code != P.MORE:
        return Outcome("failed", *run.failure(code))
    if bar is not None:
        bar.show(t, float(num[P.H]), int(plan[P.ACCEPTED]), True)
    if interrupt.asked:
        return Outcome("interrupted", f"interrupted at t = {t:.9g} s of {float(num[P.T_END]):.9g} s")
    return Outcome("failed", f"stopped at t = {t:.9g} s: the output has come to {memory.gigabytes(record.size)}, the "
                             f"limit is {memory.gigabytes(memory.limit())} (a part of the memory that is free); keep "
                             "fewer states with save_every or t_eval, without dense=True, or loosen the tolerances")


def joined(parts: list[Any], width: int | None = None) -> Any:
    """The parts as one array; an empty one of that width when there are none."""
    if parts:
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    return np.empty(0) if width is None else np.empty((0, width))
