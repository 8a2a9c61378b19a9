"""Running an integration in chunks of compiled steps.

Between two chunks there is time for Python: taking over full output buffers, the progress bar, ctrl-C, and between two
legs a controller.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import lazy
from ..errors import StateError
from ..inputs import Array
from . import entries, memory
from .events import Event
from .kernels import plan as P
from .kernels import run as kernels
from .options import Integrator
from .problem import Problem
from .progress import Interrupt, Progress

if TYPE_CHECKING:
    from .control import Controller
    from .tangents import Tangents

CHUNK_SECONDS = 0.05  # how long compiled code runs before Python looks around
SHORT = 0.02  # part of that in which nobody presses ctrl-C: to watch for it would take longer than a short run
BUFFER_NUMBERS = 2**15  # of the output buffers
NOTHING = np.empty(0)
TINY_PART = 1e-12  # of the span: where t is held less finely, that is what limits the step


class Run:
    """The arrays of one integration, see `kernels.plan`. They serve for another one after `prepare`.

    Parameters
    ----------
    problem : Problem
    integrator : Integrator
    y0 : (n,), optional
        Where it begins; or see `begin`.
    t0, t_end : float
    options
        Those of `prepare`.

    Attributes
    ----------
    plan, num, work : arrays
        See `kernels.plan`.
    budget : int
        Steps that take about CHUNK_SECONDS, as far as is known.
    compiled_for : float
        Seconds in which chunks had something compiled, which are not the run's own.
    """

    # only where somebody has asked for them
    times: NDArray[Any]
    dense_t: NDArray[Any]
    dense_r: NDArray[Any]
    events: NDArray[Any]
    theta_of: NDArray[Any]
    event_index: NDArray[Any]
    event_t: NDArray[Any]
    event_y: NDArray[Any]
    matrix: NDArray[Any]
    pivots: NDArray[Any]
    desk: Any

    def __init__(self, problem: Problem, integrator: Integrator, y0: Array | None = None, t0: float = 0.0,
                 t_end: float = 0.0, **options: Any) -> None:
        n = problem.size
        self.problem, self.integrator = problem, integrator
        self.key = integrator.name  # among the runs whose memory is kept
        self.plan: NDArray[np.int64] = np.zeros(P.QUATERNIONS + problem.quaternions.size, np.int64)
        self.num: Array = np.zeros(P.NUM)
        self.work: Array = np.zeros(P.VECTORS * n)
        plan = self.plan
        plan[P.RHS], plan[P.USER], plan[P.STATUS] = problem.address, problem.user, problem.status
        plan[P.SETTLE], plan[P.REVEAL] = problem.settle, problem.reveal
        plan[P.METHOD], plan[P.STAGES], plan[P.N], plan[P.SPLIT] = integrator.kind, integrator.stages, n, problem.split
        plan[P.N_QUATERNIONS] = problem.quaternions.size
        plan[P.QUATERNIONS:] = problem.quaternions
        plan[P.AT_NUM], plan[P.AT_WORK] = self.num.ctypes.data, self.work.ctypes.data
        rows = max(16, min(1024, BUFFER_NUMBERS // max(n, 1)))
        self._step_t, self._step_y = np.empty(rows), np.empty((rows, n))  # of runs that write their steps
        self._step_places, self._step_rows = (self._step_t.ctypes.data, self._step_y.ctypes.data), rows
        self._atol: Array | float | None = None
        self.compiled_for = 0.0
        self.budget, self._pace = max(1, 40_000 // max(n, 1)), 0.0  # seconds of a step; 0 where nobody knows
        self.address: int = plan.ctypes.data
        self._unit, self._start, self._begin = map(entries.compiled, (kernels.unit, kernels.start, kernels.begin))
        self._prepare, self._steps = map(entries.compiled, (kernels.prepare, kernels.run))
        plan[P.STEP] = self._step = entries.step_of(integrator.kind)
        self.tangents: Tangents | None = None
        self.prepare(t0, t_end, **options)
        if y0 is not None:
            self.place(y0)

    def prepare(self, t0: float, t_end: float, *, step: float = 0.0, n_steps: int = 0, rtol: float = 1e-8,
                atol: Array | float = 1e-10, max_step: float = math.inf, times: Array | None = None,
                save_every: int = 0, dense: bool = False, events: list[Event] | None = None) -> None:
        """Say what to integrate.

        Parameters
        ----------
        t0, t_end : float
        step : float
            Of a fixed-step method, with its sign; the first step of an adaptive one, 0 to choose it.
        n_steps : int
            Of a fixed-step method; 0 for any number.
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
        n = self.problem.size
        output = P.TIMES if times is not None else P.STEPS if save_every else P.NOTHING
        rows = times.size if times is not None else n_steps // save_every + 2 if save_every else 0
        if dense or 8 * rows * (n + 1) > memory.SMALL:
            _check_memory(8 * rows * (n + 1), 8 * n_steps * (self.integrator.dense * n + 2) if dense else 0)
        self.watched = events or []
        self._slopes = dense or times is not None or bool(events)
        self.out_t, self.out_y = self._step_t, self._step_y
        self._prepare(self.address, output, save_every or 1, n_steps or -1, int(self._slopes), *self._step_places,
                      self._step_rows if output == P.STEPS else 0, t0, t_end, step, max_step, rtol)
        if atol is not self._atol:
            self.work[P.ATOL * n:(P.ATOL + 1) * n] = self._atol = atol
        if not self._slopes:
            return
        self.plan[P.LOOK] = entries.look_at_steps()
        if times is not None:
            self._write_times(times)
        if dense:
            self._keep_dense()
        if events:
            self._watch(events)

    def _write_times(self, times: Array) -> None:
        plan = self.plan
        self.times, self.out_y = times, np.empty((times.size, self.problem.size))
        plan[P.AT_TIMES], plan[P.N_TIMES], plan[P.AT_OUT_Y] = times.ctypes.data, times.size, self.out_y.ctypes.data

    def _keep_dense(self) -> None:
        plan, rows, vectors = self.plan, self._step_t.size, self.integrator.dense
        self.dense_t, self.dense_r = np.empty((rows, 2)), np.empty((rows, vectors * self.problem.size))
        plan[P.DENSE], plan[P.DENSE_ROOM] = vectors, rows
        plan[P.AT_DENSE_T], plan[P.AT_DENSE_R] = self.dense_t.ctypes.data, self.dense_r.ctypes.data

    def _watch(self, events: list[Event]) -> None:
        plan, rows = self.plan, max(self._step_t.size, len(events))
        self.events = np.zeros((len(events), P.EVENT), np.int64)
        for row, event in zip(self.events, events, strict=True):
            row[P.ADDRESS], row[P.DIRECTION], row[P.LEFT] = event.address, event.direction, event.terminal or -1
        self.theta_of = np.empty(len(events))
        self.event_index, self.event_t = np.empty(rows, np.int64), np.empty(rows)
        self.event_y = np.empty((rows, self.problem.size))
        if self.problem.variable == "u":
            self.problem.alive.know_momenta()
            plan[P.FRAME] = self.problem.user
        plan[P.N_EVENTS], plan[P.EVENT_ROOM] = len(events), rows
        plan[P.AT_EVENTS], plan[P.AT_THETA] = self.events.ctypes.data, self.theta_of.ctypes.data
        plan[P.AT_EVENT_INDEX], plan[P.AT_EVENT_T] = self.event_index.ctypes.data, self.event_t.ctypes.data
        plan[P.AT_EVENT_Y] = self.event_y.ctypes.data
        plan[P.LOOK_FIRST] = entries.look_at_start()

    def carry(self, tangents: Tangents) -> None:
        """Take tangents along, after `prepare`; this run serves for no other one."""
        self.tangents = tangents
        self.plan[P.AT_TANGENT] = tangents.address
        self.plan[P.OUT_ROOM] = min(self.plan[P.OUT_ROOM], tangents.room)
        self.plan[P.TANGENTS], self.plan[P.FOLLOW] = entries.tangents_of(self.integrator.kind)

    def let_go(self) -> None:
        """Give up all memory that depends on what was asked for."""
        plan = self.plan
        if self._slopes:
            self.times = self.dense_t = self.dense_r = NOTHING
            self.events = self.theta_of = self.event_index = self.event_t = self.event_y = NOTHING
            self.out_y, self.watched = self._step_y, []
        if plan[P.MATRIX_SIZE]:
            self.matrix = self.pivots = NOTHING
            self.desk = None
            plan[P.MATRIX_SIZE] = plan[P.JACOBIAN] = plan[P.DESK] = 0
            plan[P.STEP] = self._step

    def rewind(self) -> None:
        """Forget what has been done."""
        self.plan[P.NFEV:P.AT_NUM] = 0

    @property
    def y(self) -> Array:
        """The current state (a view)."""
        return self.work[:self.problem.size]

    def place(self, y: Array) -> None:
        """Set the state; its quaternions are scaled to length one."""
        self.y[:] = y
        self._unit(self.address)

    def start(self) -> int:
        """Evaluate at the state `y`; a code of `kernels.plan`."""
        return self._start(self.address)

    def begin(self, q: Any, p: Any, budget: int = 0) -> int:
        """`place`, `start` and at most `budget` steps; BAD_START, and nothing is done, for what are no good arrays."""
        if type(q) is not np.ndarray or type(p) is not np.ndarray:  # Numba takes masked arrays for plain ones
            return P.BAD_START
        try:
            code = self._begin(self.address, q, p, budget)
        except Exception:  # of Numba: these are no plain float64 arrays
            return P.BAD_START
        return code if code == P.FINISHED else self._supplied(code)

    def chunk(self, budget: int) -> int:
        """At most `budget` steps; a code of `kernels.plan`."""
        return self._supplied(self._steps(self.address, budget))

    def _supplied(self, code: int) -> int:
        """The code of some steps, once they have what they lacked."""
        if code == P.NEED_MATRIX:  # fixed-point iteration is not enough: room for Newton's matrices
            before = time.perf_counter()
            self.make_matrices()
            self.compiled_for += time.perf_counter() - before
            return P.MORE
        return code

    def make_matrices(self) -> None:
        """Room for Newton's iteration, and its exact Jacobian; where a force has no derivative, differences do."""
        n, stages, plan = self.problem.size, self.integrator.stages, self.plan
        self.matrix, self.pivots = np.empty((stages**2 + 1) * n**2 + stages * n), np.empty(stages * n, np.int64)
        plan[P.AT_MATRIX], plan[P.MATRIX_SIZE] = self.matrix.ctypes.data, self.matrix.size
        plan[P.AT_PIVOTS], plan[P.STEP] = self.pivots.ctypes.data, entries.newton_step()
        self.desk = self.problem.desk()
        if self.desk is not None:
            self.plan[P.JACOBIAN], self.plan[P.DESK] = self.desk.jacobian_function.address, self.desk.address

    def paced(self, most: int | None = None) -> int:
        """Some steps, `most` at most, so that Python looks around every CHUNK_SECONDS; a code of `kernels.plan`."""
        plan = self.plan
        before, done = time.perf_counter(), int(plan[P.ACCEPTED] + plan[P.REJECTED])
        code = self.chunk(self.budget if most is None else min(most, self.budget))
        seconds = time.perf_counter() - before
        taken = int(plan[P.ACCEPTED] + plan[P.REJECTED]) - done
        if taken >= self.budget:  # not cut short by a buffer
            self.budget = max(1, int(self.budget * min(4.0, max(0.25, CHUNK_SECONDS / max(seconds, 1e-9)))))
        self._pace = seconds / taken if taken > 0 else self._pace
        return code

    @property
    def short(self) -> int:
        """Steps that are over before anybody has pressed ctrl-C; 0 where that is not known."""
        return int(SHORT * CHUNK_SECONDS / self._pace) if self._pace > 0.0 and not self.problem.functions else 0

    @property
    def rows_of_steps(self) -> int:
        """Rows of the buffer of states after steps."""
        return self._step_rows

    @property
    def counts(self) -> list[int]:
        """Evaluations, accepted and rejected steps."""
        numbers: list[int] = self.plan[P.NFEV:P.REJECTED + 1].tolist()
        return numbers

    @property
    def writes_steps_only(self) -> bool:
        """Whether the states after steps are all that it writes."""
        return not self._slopes and self.tangents is None

    @property
    def steps(self) -> tuple[Array, Array]:
        """The times after steps that are in the buffer (a copy), and the states (a view)."""
        rows = int(self.plan[P.ROWS])
        return self.out_t[:rows].copy(), self.out_y[:rows]

    def failure(self, code: int) -> tuple[str, BaseException | None]:
        """Words for a code that is a failure, and what a user's function raised if that is the reason."""
        plan, t = self.plan, float(self.num[P.T])
        stopped = f"stopped at t = {t:.9g} s: "
        if code in (P.FAILED_RHS, P.FAILED_EVENT):
            at, y = float(self.num[P.T_BAD]), self.state_at_fault()
            fault = (self._event_fault(self.watched[plan[P.WORST]], at, y) if code == P.FAILED_EVENT
                     else self.problem.fault(int(plan[P.CODE]), at, y))
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

    def _event_fault(self, event: Event, t: float, y: Array) -> StateError:
        """Why an event function has no value at a state."""
        q = y[:self.problem.split]
        return event.fault(t, q, self.problem.momenta(t, q, y[self.problem.split:]))

    def state_at_fault(self) -> Array:
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


class Record:
    """What a run has written."""

    def __init__(self) -> None:
        self.t: list[NDArray[Any]] = []
        self.y: list[NDArray[Any]] = []
        self.dense_t: list[NDArray[Any]] = []
        self.dense_r: list[NDArray[Any]] = []
        self.event_index: list[NDArray[Any]] = []
        self.event_t: list[NDArray[Any]] = []
        self.event_y: list[NDArray[Any]] = []
        self.tangent: list[NDArray[Any]] = []
        self.size = 0  # bytes

    def take(self, run: Run) -> None:
        """Move the contents of the buffers here."""
        plan = run.plan
        rows, _, dense, events = plan[P.ROWS:P.EVENT_ROWS + 1].tolist()
        if rows:
            self._move(rows, self.t, run.out_t)
            self._move(rows, self.y, run.out_y)
            if run.tangents is not None:
                self._move(rows, self.tangent, run.tangents.out)
            plan[P.ROWS] = 0
        if dense:
            self._move(dense, self.dense_t, run.dense_t)
            self._move(dense, self.dense_r, run.dense_r)
            plan[P.DENSE_ROWS] = 0
        if events:
            self._move(events, self.event_index, run.event_index)
            self._move(events, self.event_t, run.event_t)
            self._move(events, self.event_y, run.event_y)
            plan[P.EVENT_ROWS] = 0

    def _move(self, rows: int, kept: list[NDArray[Any]], buffer: NDArray[Any]) -> None:
        part = buffer[:rows].copy()
        kept.append(part)
        self.size += part.nbytes


class Outcome(NamedTuple):
    """How a run ended: status "finished", "event", "interrupted" or "failed", a sentence, and what was raised."""

    status: str
    message: str
    cause: BaseException | None = None


def reached(t: float) -> str:
    """How a run ends well."""
    return f"reached the end of t_span at t = {t:.9g} s"


def drive(run: Run, record: Record, progress: bool | float = False) -> Outcome:
    """Run from the state `run.y` to the end, an event, a failure, ctrl-C, or until the output fills the memory."""
    return go_on(run, record, run.start(), progress)


def go_on(run: Run, record: Record, code: int, progress: bool | float = False,
          controller: Controller | None = None, outer: Interrupt | None = None) -> Outcome:
    """The same after the run has begun, with this code; the controller acts between the legs. `outer`: see `Interrupt`.
    """
    interrupted = False
    if code == P.MORE and not (progress or controller or run.watched) and (short := run.short):
        code = run.chunk(short)
    if code == P.MORE:
        code, interrupted = _watched(run, record, progress, controller, outer)
    record.take(run)
    t = float(run.num[P.T])
    if code == P.FINISHED:
        return Outcome("finished", reached(t))
    if code == P.EVENT_STOP:
        return Outcome("event", f"a terminal event ended the run at t = {t:.9g} s")
    if code == P.FAILED_CONTROL and controller is not None:
        return Outcome("failed", f"stopped at t = {t:.9g} s: {controller.fault}", controller.cause)
    if code != P.MORE:
        message, cause = run.failure(code)
        interrupted = isinstance(cause, KeyboardInterrupt)  # ctrl-C within a function of the user's
        if not interrupted:
            return Outcome("failed", message, cause)
    if interrupted:
        return Outcome("interrupted", f"interrupted at t = {t:.9g} s of {float(run.num[P.T_END]):.9g} s")
    return Outcome("failed", f"stopped at t = {t:.9g} s: the output has come to {memory.gigabytes(record.size)}, the "
                             f"limit is {memory.gigabytes(memory.limit())} (a part of the memory that is free); keep "
                             "fewer states with save_every or t_eval, without dense=True, or loosen the tolerances")


def _watched(run: Run, record: Record, progress: bool | float, controller: Controller | None,
             outer: Interrupt | None) -> tuple[int, bool]:
    """Chunks with an eye on ctrl-C, the memory and the clock: the code of the last one, and whether to stop there."""
    plan, num, code = run.plan, run.num, P.MORE
    compiled_before = run.compiled_for
    after = 0.0 if progress is True else float(progress)
    bar = Progress(float(num[P.T0]), float(num[P.T_END]), after=after) if progress else None
    with Interrupt(outer) as interrupt:
        while code == P.MORE and not interrupt.asked and not memory.exceeded_by(record.size):
            code = run.paced()
            if code == P.MORE:  # a buffer may be full
                record.take(run)
            elif code == P.FINISHED and controller is not None:
                code = controller.next_leg(run)
            if bar is not None:
                bar.idle = run.compiled_for - compiled_before
                bar.show(float(num[P.T]), float(num[P.H_LAST] or num[P.H]), int(plan[P.ACCEPTED]))
    if bar is not None:
        bar.show(float(num[P.T]), float(num[P.H_LAST] or num[P.H]), int(plan[P.ACCEPTED]), True)
    return code, interrupt.asked


def shown(problem: Problem, t: Array, y: Array, settle: bool = True) -> Array:
    """States as others see them: with true momenta, where integrators carry them up to a gauge.

    `settle`: with closed loops too, where the run closes them; events are found on states as they are.
    """
    if not problem.reveal or not len(t):
        return y
    out = np.empty_like(y)
    function = problem.settle if settle and problem.settle else problem.reveal
    lazy.module("integrate.kernels.shown").show(function, problem.user, np.ascontiguousarray(t), y.reshape(-1),
                                                out.reshape(-1))
    return out


def joined(parts: list[Any], width: int | None = None) -> Any:
    """The parts as one array; an empty one of that width when there are none."""
    if parts:
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    return np.empty(0) if width is None else np.empty((0, width))
