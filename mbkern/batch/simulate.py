"""`System.simulate_batch`: arguments in, BatchSolution out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import lazy, states
from .. import threads as thread_pool
from ..callbacks import name_of, raised, state_callback, wants_speeds
from ..core.number import LANES
from ..errors import StateError
from ..inputs import Array
from ..integrate import entries, options
from ..integrate import memory as budget
from ..integrate.kernels import lane_plan as LP
from ..integrate.kernels import lane_run as kernels
from ..integrate.kernels import plan as P
from ..integrate.progress import Interrupt, Tally
from ..methods import METHODS
from ..model.checks import show
from ..operations import OPERATIONS
from ..waits import task
from ..workspace import lanes as memory
from . import inputs
from .solution import BatchSolution

if TYPE_CHECKING:
    from ..system import System

INTEGRATORS = {name: options.INTEGRATORS[name] for name in ("rk4", "dopri5", "midpoint")}
SMALLEST_PIECE = 8 * LANES  # states: at the end of a piece some lanes are idle
CHUNK_SECONDS = 0.05  # how long compiled code runs before Python looks around


def simulate_batch(system: System, Q0: Any, P0: Any, t_span: Any, integrator: Any = "dopri5", rtol: Any = 1e-8,
                   atol: Any = 1e-10, step: Any = None, t_eval: Any = None, threads: Any = None, tau: Any = None,
                   reduce: Any = None, progress: bool = False, reduce_size: Any = 1, max_step: Any = None,
                   parameters: Any = None, first: int = 0) -> BatchSolution:
    """See `mbkern.System.simulate_batch`; `first` is the number that user functions get for the first state."""
    closed = lazy.module("batch.closed") if system.model.constraints else None
    make_run, make_job = (Run, Job) if closed is None else (closed.ClosedRun, closed.ClosedJob)
    with task("simulate_batch", system):
        run = make_run(system, Q0, P0, t_span, integrator, rtol, atol, step, t_eval, tau, reduce, reduce_size, max_step,
                       parameters, first)
        make_job(run).chunk()  # compiles, once, before several threads want it and before the clock of the bar starts
    grain, smallest = (LANES, SMALLEST_PIECE) if closed is None else (1, 1)
    workers = min(thread_pool.count(threads), max(1, run.total // smallest))
    pieces = thread_pool.Pieces(run.total, grain, workers, smallest)
    bar = Tally(run.total, "states") if options.bar(progress) else None
    jobs: list[Any] = []
    with Interrupt() as run.interrupt:
        interrupt = run.interrupt

        def done() -> int:
            return sum(int(job.plan[LP.DONE]) for job in jobs)

        def watch() -> list[Any]:
            if bar is not None:
                bar.show(done())
            return [job.chunks for job in jobs]  # it changes as long as the threads get on

        def work() -> None:
            job = make_job(run)
            jobs.append(job)
            while not interrupt.asked and (piece := pieces.take()) is not None:
                job.begin(*piece)
                while not interrupt.asked and job.chunk() == P.MORE:
                    if workers == 1:
                        watch()

        thread_pool.run(work, workers, watch)
        if bar is not None:
            bar.show(done(), True)
    for job in jobs:
        run.note(job.fault)
    return run.solution()


class Run:
    """All that the states of a batch share: validated arguments, and the arrays of the answer."""

    def __init__(self, system: System, Q0: Any, P0: Any, t_span: Any, integrator: Any, rtol: Any, atol: Any, step: Any,
                 t_eval: Any, tau: Any, reduce: Any, reduce_size: Any, max_step: Any, parameters: Any,
                 first: int) -> None:
        model = system.model
        self.system = system
        self.first = first
        self.interrupt = Interrupt()  # that of the call, once it runs
        self.method = inputs.integrator(integrator, INTEGRATORS, options.INTEGRATORS)
        self.Q0, self.P0 = inputs.states(system, Q0, P0, ("Q0", f"{system.variable.upper()}0"))
        self.total = total = self.Q0.shape[0]
        if model.nv == 0:
            raise StateError("simulate_batch: the model has no dofs, nothing can move")
        self.t0, self.t_end = options.interval(t_span)
        self.rtol, self.atol = options.tolerances(rtol, atol, model.nq + model.nv)
        self.varied = inputs.parameters(parameters, system, total)
        self._sizes(step, max_step)
        self._forces(tau)
        self._output(reduce, reduce_size, t_eval)
        self.status: NDArray[np.int64] = np.full(total, LP.INTERRUPTED, np.int64)
        self.reached: Array = np.full(total, self.t0)
        self.failed_at: Array = np.full(total, self.t0)
        self.fault: Array = np.zeros(LP.FAULT)
        self.counts: NDArray[np.int64] = np.zeros((total, 2), np.int64)

    def _sizes(self, step: Any, max_step: Any) -> None:
        """Steps of a fixed size, or the first one and a bound."""
        span = self.t_end - self.t0
        self.n_steps, self.max_step = 0, np.inf
        if self.method.adaptive:
            first = 0.0 if step is None else min(options.positive(step, "step"), abs(span))
            self.step = first if span > 0.0 else -first
            self.max_step = options.longest_step(max_step, span, self.t0)
        else:
            self.n_steps = options.fixed_steps(self.method, step, max_step, span, self.t0)
            self.step = span / self.n_steps

    def _forces(self, tau: Any) -> None:
        model = self.system.model
        self._tau = tau
        self.tau: Array = np.empty((0, model.nv))
        self.tau_call = 0
        self._alive: list[Any] = []
        if callable(tau):
            self.tau_kind = LP.CALL_TAU
            callback = state_callback(tau, "tau", model.nq, model.nv, model.nv, *self._converter(tau, "tau"))
            self._alive.append(callback)
            self.tau_call = callback.address
        else:
            self.tau = np.ascontiguousarray(inputs.forces(tau, self.system, self.total))
            one = tau is not None and np.ndim(tau) == 1
            self.tau_kind = LP.NO_TAU if tau is None else LP.ONE_TAU if one else LP.EACH_TAU

    def _converter(self, f: Any, what: str) -> tuple[int, ...]:
        """What `state_callback` needs to find joint speeds or momenta that the states do not have."""
        system, speeds = self.system, what == "tau" and wants_speeds(f)
        if system.variable == "p" and not speeds:
            return ()
        if self.varied is not None:
            raise StateError(
                f"{what}: {name_of(f)} wants joint speeds, which are not known where each state has a machine of its "
                "own; expected f(t, q, p, out, i)" if system.variable == "p" else
                f"{what}: {name_of(f)} wants momenta, which are not known where each state (q, u) has a machine of its "
                "own; use a method with the state (q, p)")
        block = system.block
        if system.variable == "p":
            return METHODS["emh-ldl"].native_for(block).address, 0, block.ctypes.data, system.binding.work_size
        return 0, OPERATIONS["momenta"].compiled.one.address, block.ctypes.data, system.binding.work_size

    def _output(self, reduce: Any, reduce_size: Any, t_eval: Any) -> None:
        """What is kept: states at some times, or the numbers of a function."""
        model, ends = self.system.model, np.array([self.t0, self.t_end])
        self._reduce = reduce
        self.final = isinstance(reduce, str) and reduce == "final"
        self.reduce_call = 0
        if self.final and t_eval is not None:
            raise StateError('t_eval: expected None beside reduce="final"')
        if reduce is not None and not self.final and not callable(reduce):
            raise StateError('reduce: expected None, "final" or an njit function f(t, q, p, kept, i), got '
                             f"{show(reduce)}")
        if t_eval is not None:
            self.times = options.output_times(t_eval, self.t0, self.t_end)
        else:
            self.times = ends[1:] if self.final else ends
        self.slopes = bool((~np.isin(self.times, ends)).any())
        count, rows = (0 if callable(reduce) else self.total), self.times.size
        wanted, most = 8 * count * rows * (model.nq + model.nv), budget.SHARE * budget.available()
        if wanted > most:
            raise StateError(
                f"the output of this run would take {budget.gigabytes(wanted)}, the limit is {budget.gigabytes(most)} "
                "(a part of the memory that is free); keep less with t_eval or reduce, or take parts of Q0 and P0")
        q, p = memory.pieces(count * rows, (model.nq, model.nv))
        self.q, self.p = q.reshape(count, rows, model.nq), p.reshape(count, rows, model.nv)
        self.q.fill(np.nan)
        self.p.fill(np.nan)
        self.kept = np.zeros((0, 0))
        self.output = LP.WRITE_TIMES
        if callable(reduce):
            size = options.count(reduce_size, "reduce_size")
            callback = state_callback(reduce, "reduce", model.nq, model.nv, size, *self._converter(reduce, "reduce"))
            self._alive.append(callback)
            self.reduce_call = callback.address
            self.kept = np.zeros((self.total, size))
            self.output = LP.REDUCE_STEPS if t_eval is None else LP.REDUCE_TIMES
            if t_eval is None:
                self.slopes = False

    @property
    def reducer(self) -> Any:
        """The function that reduces."""
        return self._reduce

    def note(self, fault: Array) -> None:
        """Where a user's function raised in a thread, see `kernels.lane_plan`; the state with the smallest number."""
        state, before = fault[LP.FAULT_STATE], self.fault[LP.FAULT_STATE]
        if state and (not before or state < before):
            self.fault = fault

    def _raised(self) -> str:
        """What a user's function raised, in words: it is called once more."""
        state, t, which = int(self.fault[LP.FAULT_STATE]) - 1, float(self.fault[LP.FAULT_TIME]), self.fault[LP.FAULT_IN]
        if state < 0:
            return ""
        model, y = self.system.model, self.fault[LP.FAULT:]
        what, f = ("tau", self._tau) if which == LP.IN_TAU else ("reduce", self._reduce)
        out = np.zeros(model.nv) if which == LP.IN_TAU else self.kept[state].copy()
        q, x = y[:model.nq].copy(), y[model.nq:].copy()
        p = states.momenta(self.system, q, x, t)
        u = [states.speeds(self.system, q, x, t)] if which == LP.IN_TAU and wants_speeds(f) else []
        cause = raised(f, t, q, p, *u, out, self.first + state)
        why = "an exception" if cause is None else f"{type(cause).__name__}: {cause}"
        return f"the function {name_of(f)!r} for {what} raised {why} (state {state}, t = {t:.9g} s)"

    def solution(self) -> BatchSolution:
        """The answer."""
        span = self.t0, self.t_end
        tau = np.broadcast_to(self.tau, (self.total, self.tau.shape[1])) if self.tau.size else None
        how = (self.status, self.reached, self.counts, self.system, self.failed_at, self._raised(), tau,
               not callable(self._tau), self.varied)
        if self.reduce_call:
            return BatchSolution(self.method.name, span, self.times, None, None, self.kept, *how)
        q, p = (self.q[:, 0], self.p[:, 0]) if self.final else (self.q, self.p)
        return BatchSolution(self.method.name, span, self.times, q, p, None, *how)


class Job:
    """Memory of one thread, see `kernels.lane_plan`."""

    def __init__(self, run: Run) -> None:
        self._run = run  # compiled code knows some of its arrays by their addresses
        system, model = run.system, run.system.model
        nq, nv = model.nq, model.nv
        quaternions = model.quaternion_offsets
        places, values = memory.constants(run.varied)
        own = np.empty((0, LANES)) if run.varied is None else memory.own_block(system)[0]
        self.plan: NDArray[np.int64] = np.zeros(LP.QUATERNIONS + quaternions.size, np.int64)
        plan = self.plan
        function, block = system.binding.lanes if run.varied is None else system.binding.varied
        plan[LP.RHS], plan[LP.BLOCK], plan[LP.OWN] = function, block, own.ctypes.data
        plan[LP.METHOD], plan[LP.N], plan[LP.NQ], plan[LP.NV] = run.method.kind, nq + nv, nq, nv
        plan[LP.TAU], plan[LP.TAU_CALL] = run.tau_kind, run.tau_call
        plan[LP.OUTPUT], plan[LP.REDUCE_CALL], plan[LP.SLOPES] = run.output, run.reduce_call, run.slopes
        plan[LP.FIRST] = run.first
        plan[LP.N_STEPS], plan[LP.N_QUATERNIONS] = run.n_steps, quaternions.size
        plan[LP.QUATERNIONS:] = quaternions
        num = np.zeros(P.NUM)
        num[P.T0], num[P.T_END], num[P.H] = run.t0, run.t_end, run.step
        num[P.MAX_STEP], num[P.RTOL] = run.max_step, run.rtol
        self.who: NDArray[np.int64] = np.zeros((LP.WHO, LANES), np.int64)
        self.who[LP.STATE] = -1
        lane = memory.lanes(LP.LANE)
        lane[LP.TIME] = run.t0
        vectors = memory.lanes(LP.VECTORS * (nq + nv) + nv + system.binding.work_size)
        scratch = np.zeros(nq + 2 * nv + LP.FAULT + nq + nv)
        self.fault = scratch[nq + 2 * nv:]
        done = np.zeros(1, np.int64)
        plan[LP.AT_NUM:LP.AT_DONE + 1] = [array.ctypes.data for array in (
            num, self.who, lane, vectors, run.atol, run.tau, scratch, done)]
        plan[LP.EVALUATE:LP.SEEK + 1] = entries.parts_on_lanes(run.method.kind)
        self._arguments = (plan, num, self.who, lane, vectors, run.Q0, run.P0, places, values, own, run.times, run.q,
                           run.p, run.kept, run.status, run.reached, run.failed_at, run.counts, scratch, done)
        self._budget = max(1, 4000 // max(nv, 1))
        self.chunks = 0

    def begin(self, begin: int, end: int) -> None:
        """States begin .. end are to be done next."""
        self.plan[LP.NEXT], self.plan[LP.END] = begin, end

    def chunk(self) -> int:
        """Some steps; a code of `kernels.plan`."""
        self.plan[LP.BUDGET] = self._budget
        before = time.perf_counter()
        code = int(kernels.run_lanes(*self._arguments))
        self.chunks += 1
        if code == P.MORE:
            seconds = max(time.perf_counter() - before, 1e-9)
            self._budget = max(1, int(self._budget * min(4.0, max(0.25, CHUNK_SECONDS / seconds))))
        return code
