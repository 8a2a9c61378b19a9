"""The same ensemble on one machine or on many: chunks of states on an engine that exists already.

A chunk is one call of `System.simulate_batch`, so the numbers are those of one machine, whoever computes them. Models
travel by pickle; each worker builds the system once and loads the kernels from its own cache. Engines:

* none: this process, with threads
* a `concurrent.futures.Executor`, for instance a pool of processes
* a client of Dask distributed (``pip install "mbkern[distributed]"``): a chunk whose worker dies is computed again by
  another
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, BrokenExecutor, Executor, wait
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import inputs as single
from ..errors import IntegrationError, MbkernError, StalledWarning, StateError
from ..integrate.options import bar, count
from ..integrate.progress import Interrupt, Tally
from ..model.checks import flag, pair, show
from ..system import System
from . import inputs
from .simulate import simulate_batch
from .solution import BatchSolution

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..model.model import Model
    from ..model.vary import Varied
    from ..signatures import Load

RETRIES = 3  # of a chunk that failed on a Dask worker
IN_FLIGHT = 4  # chunks for each worker that are on their way at once: enough to keep it busy, few enough for memory
CHUNK_NUMBERS = 2**20  # numbers of output in a chunk, by default
TICK = 0.2  # seconds between two looks at ctrl-C while workers work
GRACE = 1.0  # seconds after ctrl-C in which workers that noticed it too may return what they have
PATIENCE = 600.0  # seconds without any chunk after which this is said; how long one takes nobody knows here
ALONE = 60.0  # seconds without any worker after which nobody is expected to come


class Part(NamedTuple):
    """The solution of some of the states.

    Attributes
    ----------
    begin, end : int
        Numbers of the states: begin, ..., end - 1.
    solution : BatchSolution
    """

    begin: int
    end: int
    solution: BatchSolution


def run(system: System, states: tuple[ArrayLike, ArrayLike], t_span: tuple[float, float], *, client: Any = None,
        chunk: int | None = None, stream: bool = False, progress: bool = False, threads: int | None = None,
        tau: Load | None = None, parameters: Varied | None = None, **options: Any) -> BatchSolution | Iterator[Part]:
    """`System.simulate_batch` of many states, in chunks, on this machine or on many.

    Parameters
    ----------
    system : System
        Model and method.
    states : (Q0, P0)
        Configurations (B, nq) and momenta (B, nv).
    t_span : (begin, end)
        Times in seconds.
    client : optional
        Where to run: None for this process, a `concurrent.futures.Executor`, or a client of Dask distributed.
    chunk : int, optional
        States in a chunk; by default as many as give about a million numbers of output, at least 4 chunks.
    stream : bool
        Return an iterator over `Part`, in the order in which they are done: a part is forgotten when you have seen it,
        so that memory does not grow with the number of states.
    progress : bool
        Show a progress bar.
    threads : int, optional
        For each chunk; by default one on a `client`, which has workers of its own, and all processors without.
    tau : optional
        As in `simulate_batch`: numbers, one row for each state, or an njit function f(t, q, p, out, i), where i counts
        all the states of the ensemble.
    parameters : Varied, optional
        From `Model.vary`, for all states.
    **options
        What else `System.simulate_batch` takes: integrator, step, rtol, atol, t_eval, reduce, ...; a reducing function
        gets the number of the state in the whole ensemble, too.

    Returns
    -------
    BatchSolution
        Of all states in their order; with `stream` an iterator over `Part`.

    After ctrl-C the states that are done are kept, and the others have the status "interrupted", as in
    `simulate_batch`; with `stream` the iterator yields what is done and then raises KeyboardInterrupt.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> system = mb.System(mb.zoo.chain(3))
    >>> states = np.random.default_rng(0).normal(size=(50, 3)), np.zeros((50, 3))
    >>> with ThreadPoolExecutor(2) as pool:
    ...     solution = mb.ensemble.run(system, states, (0.0, 1.0), client=pool, integrator="rk4", step=0.01)
    >>> solution
    BatchSolution by 'rk4': 50 states, t = 0 .. 1 s, all finished
    """
    Q0, P0 = pair(states, "states", "(Q0, P0), two arrays with a row for each state", StateError)
    system, stream = single.system(system), flag(stream, "stream", StateError)
    Q, P = inputs.states(system, Q0, P0, ("Q0", "P0"))
    total = Q.shape[0]
    if total == 0:
        raise StateError("states: expected at least one state")
    varied = inputs.parameters(parameters, system, total)
    forces = tau if tau is None or callable(tau) else inputs.forces(tau, system, total)
    length = _length(chunk, total, system, options)
    submit, workers = _engine(client)
    options["threads"] = threads if client is None or threads is not None else 1

    def task(begin: int) -> tuple[Any, ...]:
        end = min(begin + length, total)
        part = forces
        if forces is not None and not callable(forces):
            part = forces[0] if forces.shape[0] == 1 else forces[begin:end]
        return (system.model, system.method, Q[begin:end], P[begin:end], t_span, begin, part,
                None if varied is None else varied[begin:end], options)

    begins = range(0, total, length)
    parts = _parts(task, begins, total, submit, workers * IN_FLIGHT, Tally(total, "states") if bar(progress) else None)
    if stream:
        return parts
    solutions: dict[int, BatchSolution] = {}
    with Interrupt() as interrupt:
        try:
            for part in parts:
                solutions[part.begin] = part.solution
        except KeyboardInterrupt:
            interrupt.ask()  # so that the chunks which are missing end before they begin
        return BatchSolution.joined([solutions[begin] if begin in solutions else chunk_solution(*task(begin))
                                     for begin in begins])


def _length(chunk: Any, total: int, system: System, options: dict[str, Any]) -> int:
    if chunk is not None:
        return count(chunk, "chunk")
    t_eval = options.get("t_eval")
    rows = 2 if t_eval is None else max(1, single.numbers(t_eval, "t_eval", "times").size)
    fitting = CHUNK_NUMBERS // max(1, rows * (system.model.nq + system.model.nv))
    return max(1, min(fitting, -(-total // 4)))


def _parts(task: Callable[[int], tuple[Any, ...]], begins: range, total: int, submit: Any, most: int,
           bar: Tally | None) -> Iterator[Part]:
    """Parts in the order in which they are done, at most `most` on their way."""
    done = 0
    for part in _local(task, begins) if submit is None else _remote(task, begins, submit, most):
        done += part.end - part.begin
        if bar is not None:
            bar.show(done, done == total)
        yield part


def _local(task: Callable[[int], tuple[Any, ...]], begins: range) -> Iterator[Part]:
    for begin in begins:
        with Interrupt() as interrupt:
            solution = chunk_solution(*task(begin))
        yield Part(begin, begin + len(solution), solution)
        if interrupt.asked:
            raise KeyboardInterrupt


def _remote(task: Callable[[int], tuple[Any, ...]], begins: range, submit: Any, most: int) -> Iterator[Part]:
    waiting: dict[Any, int] = {}
    left, said, patience = iter(begins), monotonic(), PATIENCE
    try:
        while True:
            while len(waiting) < most and (begin := next(left, None)) is not None:
                waiting[submit.start(chunk_solution, *task(begin))] = begin
            if not waiting:
                return
            with Interrupt() as interrupt:
                done = submit.finished(list(waiting), TICK)
                while not done and not interrupt.asked:
                    done = submit.finished(list(waiting), TICK)
                    if not done and monotonic() - said > patience:
                        warnings.warn(f"ensemble: no chunk has come back for {monotonic() - said:.0f} s, {len(waiting)}"
                                      " are on their way; this call waits for them, ctrl-C ends it and keeps what is "
                                      "done", StalledWarning, stacklevel=4)
                        patience *= 2.0
            said, patience = monotonic(), PATIENCE
            if interrupt.asked:  # whoever has not begun need not, and some may have something already
                begun = [future for future in waiting if not future.cancel()]
                done = submit.finished(begun, GRACE, everyone=True)
            for future in done:
                begin = waiting.pop(future)
                try:
                    solution = future.result()
                except MbkernError:
                    raise
                except Exception as error:
                    raise IntegrationError(f"ensemble: the chunk that begins with state {begin} failed on the "
                                           f"engine: {type(error).__name__}: {error}") from error
                yield Part(begin, begin + len(solution), solution)
            if interrupt.asked:
                raise KeyboardInterrupt
    finally:
        for future in waiting:
            future.cancel()


@lru_cache(maxsize=8)
def _system(model: Model, method: str) -> System:
    """One system for all chunks that a worker gets."""
    return System(model, method)


def chunk_solution(model: Model, method: str, Q: Any, P: Any, t_span: Any, first: int, tau: Any, parameters: Any,
                   options: dict[str, Any]) -> BatchSolution:
    """What a worker does: the states of one chunk, `first` being the number of the first one."""
    return simulate_batch(_system(model, method), Q, P, t_span, tau=tau, parameters=parameters, first=first, **options)


# ---- engines ---------------------------------------------------------------------------------------------------------

class _Futures:
    """Any `concurrent.futures.Executor`."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def start(self, function: Any, *arguments: Any) -> Any:
        try:
            return self._executor.submit(function, *arguments)
        except (BrokenExecutor, RuntimeError) as error:
            raise IntegrationError(f"client: the executor takes no more work: {error}") from error

    def finished(self, futures: list[Any], seconds: float, everyone: bool = False) -> Any:
        """Those that are done, after at most so many seconds; when one is, or when all are."""
        return wait(futures, seconds, ALL_COMPLETED if everyone else FIRST_COMPLETED).done


class _Dask:
    """A client of Dask distributed; the scheduler sees to workers that die."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._met = monotonic()  # when there was a worker

    def start(self, function: Any, *arguments: Any) -> Any:
        self._check()
        return self._client.submit(function, *arguments, retries=RETRIES, pure=False)

    def finished(self, futures: list[Any], seconds: float, everyone: bool = False) -> Any:
        """Those that are done, after at most so many seconds; when one is, or when all are."""
        from distributed import wait as wait_for

        try:
            return wait_for(futures, seconds, "ALL_COMPLETED" if everyone else "FIRST_COMPLETED").done
        except TimeoutError:
            self._check()
            return [future for future in futures if future.done()]

    def _check(self) -> None:
        """An error when nothing will ever be finished."""
        if self._client.status != "running":
            raise IntegrationError(f"client: the Dask client is {self._client.status}; make a new one")
        if self._client.ncores():
            self._met = monotonic()
        elif monotonic() - self._met > ALONE:
            raise IntegrationError(f"client: the Dask cluster has had no workers for {ALONE:g} s")


def _engine(client: Any) -> tuple[Any, int]:
    """How to start chunks on the client, and how many workers it has; None for this process."""
    if client is None:
        return None, 1
    if isinstance(client, Executor):
        return _Futures(client), max(1, int(getattr(client, "_max_workers", 8)))
    if type(client).__module__.partition(".")[0] == "distributed":
        if getattr(client, "asynchronous", False):
            raise StateError("client: expected a synchronous Dask client (asynchronous=False)")
        if client.status != "running":
            raise StateError(f"client: expected a Dask client that is connected, this one is {client.status}; make a "
                             "new one")
        return _Dask(client), max(1, sum(client.ncores().values()))
    raise StateError("client: expected None, a concurrent.futures.Executor or a client of Dask distributed, got "
                     f"{show(client)}")
