"""Operations on many states at once: arguments in, results of all states out."""

from __future__ import annotations

import ctypes
import math
import warnings
from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import inputs as single
from .. import threads as thread_pool
from ..core import rows as kernels
from ..core.checks import SINGULAR, UNCHECKED
from ..core.number import LANES
from ..errors import StateError
from ..explain import CODES, drive_fault
from ..inputs import Array
from ..lazy import cached_property
from ..operations import Argument, Operation, side_of
from ..waits import task
from ..workspace import builtin_rows, interpreter
from ..workspace import lanes as memory
from . import inputs
from .sharing import Sharing, whole_lanes

if TYPE_CHECKING:
    from ..model.model import Model
    from ..system import System

ONE_CALL = 0.1  # estimated seconds of one thread: a large batch can be interrupted between calls
_FLOAT64 = np.dtype(np.float64)
NO_LANES: Array = np.empty((1, 0, LANES))
_run_job = ctypes.CFUNCTYPE(ctypes.c_ssize_t, *[ctypes.c_ssize_t] * 4)


def _refuse(*_: Any) -> None:
    """What the quick way answers when it cannot go on."""


class BatchCall:
    """An operation of a system on many states, ready to be called.

    Parameters
    ----------
    system : System
    operation : Operation
    size : int
        Numbers of the workspace that it needs.
    varied : Operation, optional
        What is used where constants vary; by default the same.

    Attributes
    ----------
    n_inputs : int
        How many inputs `run` takes.
    """

    def __init__(self, system: System, operation: Operation, size: int = 0, varied: Operation | None = None) -> None:
        self.system, self.operation, self._varied = system, operation, varied or operation
        model = system.model
        self._shapes = [_of_one(result, model) for result in operation.results]
        self._columns = [math.prod(shape) for shape in self._shapes]
        self._flat = all(len(shape) == 1 for shape in self._shapes)
        numbers = sum(math.prod(_of_one(argument, model)) for argument in operation.inputs) + sum(self._columns)
        self._size = numbers + max(size, system.binding.work_size)
        self.n_inputs, self._nq = len(operation.inputs), model.nq
        # rough: what has many results takes longer
        self._seconds = max(1.0, sum(self._columns) / max(1, model.nq + model.nv)) * system.binding.seconds_a_state
        self._many = int(ONE_CALL / self._seconds)
        self._sharing, self._sharing_varied = Sharing(self._seconds), Sharing(self._seconds)
        # all inputs but Q: which, numbers of a row, and what an optional one is that is not given
        self._others = [(j, columns, np.empty((0, columns)) if argument.optional else None)
                        for j, argument in enumerate(operation.inputs) if j > 0
                        for columns in [math.prod(_of_one(argument, model))]]
        self._alone = 0 < operation.alone_from <= model.nv
        self._side = side_of(operation, model)
        self._pool: list[tuple[Array, NDArray[np.int64]]] = []
        self._frames: dict[int, Array] = {}  # by their addresses

    @cached_property
    def _function(self) -> tuple[int, int]:
        """Addresses of the operation, on lanes unless states go one by one, and of the block."""
        with task(f"{self.operation.called}_batch", self.system):
            if self._alone:
                return self.operation.compiled.one.address, self.system.binding.block.ctypes.data
            return self.operation.compiled.lanes.address, self.system.binding.lane_block.ctypes.data

    @cached_property
    def _varied_function(self) -> tuple[int, int]:
        """The same where every lane has constants of its own."""
        with task(f"{self._varied.called}_batch", self.system):
            return self._varied.compiled.varied.address, self.system.binding.lane_block.ctypes.data

    @cached_property
    def _quick(self) -> Callable[..., Any]:
        """run(t, out, inputs ...) on one thread: a built-in function of Python, which answers None where Python has to
        look at the arguments or at bad rows."""
        return self._builtin(None)

    @property
    def _quick_shared(self) -> Callable[..., Any]:
        """run(t, out, inputs ..., helpers, rows of a piece) likewise."""
        slots, made = self._shared
        if slots is not thread_pool.SLOTS:
            slots = thread_pool.SLOTS
            made = self._builtin(slots)
            self._shared = slots, made
        return made

    _shared: tuple[NDArray[np.int64] | None, Callable[..., Any]] = None, _refuse

    def _builtin(self, slots: NDArray[np.int64] | None) -> Callable[..., Any]:
        if not interpreter.known():
            return _refuse
        function, block = self._function
        model, operation = self.system.model, self.operation
        arrays = [(argument.check != UNCHECKED, argument.optional, _of_one(argument, model))
                  for argument in (*operation.inputs, *operation.results)]
        helpers = 0 if slots is None else slots.shape[0]
        returned: list[int] = []  # frames whose helpers were late, and are done
        each, before = memory.buffer_size(self._size), builtin_rows.frame_bytes(helpers)

        def go_on(code: int, t: Any, out: Any, *given: Any) -> Any:
            """None, unless helpers are late with a job, whose address the code then is."""
            if code not in self._frames:
                return None
            job = self._frames[code].reshape(-1)[:kernels.JOB].view(np.int64)
            bad = thread_pool.outwait(job, self, out, given)
            returned.append(code)
            return out if bad == 0 else None

        def new_frame() -> int:
            if returned:
                return returned.pop()
            frame = memory.lanes(before // (8 * LANES) + (helpers + 1) * each)
            self._frames[frame.ctypes.data] = frame
            return int(frame.ctypes.data)

        with task(f"{operation.called}_batch", self.system):
            made: Callable[..., Any] = builtin_rows.function(
                function, block, self._alone, self._side, arrays, self.n_inputs, go_on, new_frame, slots,
                8 * LANES * each)
        return made

    def run(self, t: Any, given: tuple[Any, ...], threads: Any = None, parameters: Any = None,
            return_status: bool = False, out: Any = None) -> Any:
        """Results for rows of arguments; an optional one may be None. Array, or a tuple, and the codes if wanted."""
        Q = given[0]
        if parameters is None and return_status is False and Q.__class__ is np.ndarray and Q.ndim == 2:
            total = Q.shape[0]
            if total <= self._many:
                answer = self._run_quickly(t, given, total, threads, self._new_results(total) if out is None else out)
                if answer is not None:
                    return answer
        return self._run(t, given, threads, parameters, return_status, out)

    def _run_quickly(self, t: Any, given: tuple[Any, ...], total: int, threads: Any, out: Any) -> Any:
        """The results in `out`, or None."""
        sharing = self._sharing
        helpers, step = sharing.plan(total, threads)
        run = self._quick_shared if helpers else self._quick
        thread_pool.CALLERS.append(None)
        try:
            if total < sharing.fewest:
                return run(t, out, *given)
            begin = perf_counter()
            answer = run(t, out, *given, helpers, step) if helpers else run(t, out, *given)
            if answer is not None:
                sharing.took(total, helpers, perf_counter() - begin)
            return answer
        finally:
            thread_pool.CALLERS.pop()

    def _run(self, t: Any, given: tuple[Any, ...], threads: Any, parameters: Any, return_status: bool, out: Any) -> Any:
        """The same with any arguments, on any number of threads."""
        system, operation = self.system, self.operation
        Q = given[0]
        if not _ready(Q, len(Q) if Q.__class__ is np.ndarray and Q.ndim else -1, self._nq):
            Q = inputs.rows(Q, "Q", system.model.coordinate_names)
        total = Q.shape[0]
        arrays: list[Array] = [Q]
        for j, columns, none in self._others:
            value = given[j]
            arrays.append(none if value is None and none is not None else value if _ready(value, total, columns) else
                          rows_of(value, operation.inputs[j], system, total))
        times = inputs.times(t, total)
        varied = inputs.parameters(parameters, system, total)
        results = memory.pieces(total, self._columns) if out is None else self._given_results(out, total)
        status = memory.room((total,), np.int64, np.zeros)
        function, block = self._function if varied is None else self._varied_function
        one_call = max(total, 1) if total <= self._many else whole_lanes(ONE_CALL / self._seconds)
        sharing = self._sharing if varied is None else self._sharing_varied
        helpers, step = sharing.plan(total, threads)
        workers = helpers + 1
        own = NO_LANES if varied is None else memory.own_block(system, workers)
        buffers, job = memory.lend(self._pool, self._size, workers)
        places, values = memory.constants(varied)
        alone = self._alone and varied is None
        self._put_job(job, function, block, step, alone, places, values, times, status, buffers, own,
                      [*arrays, *results])
        slots, bad = thread_pool.SLOTS, 0
        thread_pool.CALLERS.append(None)
        began = perf_counter()
        try:
            for begin in range(0, total, one_call):
                job[kernels.NEXT:kernels.CAME + 1] = begin, 0, 0, 0, 0
                job[kernels.END] = min(begin + one_call, total)
                code = _compiled_run()(job.ctypes.data, slots.ctypes.data, slots.shape[0], helpers)
                if code == kernels.STALLED:
                    code = thread_pool.outwait(job, self, buffers, own, values, times, status, arrays, results)
                if code == kernels.SHARED:
                    raise StateError("out: its arrays share memory with each other or with another argument, which "
                                     "they would change while it is read; give arrays of their own")
                bad += code
        finally:
            thread_pool.CALLERS.pop()
            if job[kernels.DONE] == job[kernels.CAME]:  # else some helper still writes there
                self._pool.append((buffers, job))
        if sharing.fewest <= total <= one_call:
            sharing.took(total, helpers, perf_counter() - began)
        if bad and not return_status:
            self._warn(bad, status, times)
        if not self._flat:
            results = [array.reshape(total, *shape) for array, shape in zip(results, self._shapes, strict=True)]
        if return_status:
            return (*results, status)
        return results[0] if len(results) == 1 else tuple(results)

    def _put_job(self, job: NDArray[np.int64], function: int, block: int, step: int, alone: bool,
                 places: NDArray[np.int64], values: Array, times: Array, status: NDArray[np.int64], buffers: Array,
                 own: Array, arrays: list[Array]) -> None:
        """Fill in the words of a job, see :mod:`mbkern.core.rows`, but for the rows that it goes through."""
        job[kernels.JOB_FUNCTION:kernels.OWN_SIZE + 1] = (
            function, block, 0, step, self.n_inputs, len(arrays), places.ctypes.data, places.size, values.ctypes.data,
            times.ctypes.data, times.size, status.ctypes.data, buffers.ctypes.data, buffers[0].nbytes, own.ctypes.data,
            own[0].nbytes)
        job[kernels.ALONE], job[kernels.N_VALUES], job[kernels.SIDE] = alone, values.size, self._side
        words = [word for array in arrays for word in (array.ctypes.data, array.shape[1], array.shape[0])]
        job[kernels.ARRAYS:kernels.ARRAYS + len(words)] = words

    def _new_results(self, total: int) -> Any:
        """New arrays, one or a tuple of several."""
        made = memory.pieces(total, self._columns)
        if not self._flat:
            made = [array.reshape(total, *shape) for array, shape in zip(made, self._shapes, strict=True)]
        return made[0] if len(made) == 1 else tuple(made)

    def _given_results(self, out: Any, total: int) -> list[Array]:
        """The arrays that a caller wants filled, as rows."""
        if self._flat and out.__class__ is tuple and len(out) == len(self._columns) and all(
                [_ready(array, total, columns) for array, columns in zip(out, self._columns, strict=True)]):
            return [*out]  # nothing to do: small batches feel the time that the rest takes
        names = [_capital(result.name) for result in self.operation.results]
        shapes = [(total, *shape) for shape in self._shapes]
        arrays = single.results(out, names, shapes, "row-major")
        return [*arrays] if self._flat else [array.reshape(total, -1) for array in arrays]

    def _warn(self, bad: int, status: NDArray[np.int64], times: Array) -> None:
        first = int(np.argmax(status != 0))
        name, meaning = CODES[status[first]]
        if status[first] == SINGULAR:
            meaning = str(drive_fault(self.system.model, float(times[first if times.size > 1 else 0])) or meaning)
        warnings.warn(f"{bad} of {status.size} states have no result, their rows are NaN; first is row {first}: "
                      f"{name}: {meaning} (return_status=True gives the code of every row)", RuntimeWarning,
                      stacklevel=6)


@cache
def _compiled_run() -> Callable[..., int]:
    """`run_job` of the core, called without the lock of Python."""
    return _run_job(kernels.run_job.address)


def _of_one(argument: Argument, model: Model) -> tuple[int, ...]:
    """Shape of an argument for one state; where there may be several vectors, one."""
    return argument.shape_for(model)[1:] if "k" in argument.shape else argument.shape_for(model)


def _ready(value: Any, count: int, columns: int) -> bool:
    """Whether a value is what compiled code takes."""
    return type(value) is np.ndarray and value.dtype == _FLOAT64 and value.shape == (count, columns) and (
        value.flags.carray)


def rows_of(value: Any, argument: Argument, system: System, count: int) -> Array:
    """An input as rows: none, one for all states, or one for each."""
    model = system.model
    if argument.name == "tau":
        return inputs.forces(value, system, count)
    if argument.shape[-1] == "nv":
        return inputs.rows(value, _capital(argument.name), model.speed_names, count)
    shape = argument.shape_for(model)
    if value is None and argument.optional:
        return np.empty((0, math.prod(shape)))
    one_for_all = argument.check == UNCHECKED or inputs.dimensions(value) == len(shape)
    wanted = shape if one_for_all else (count, *shape)
    return single.real_array(value, argument.name, wanted, argument.about).reshape(-1, math.prod(shape))


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]
