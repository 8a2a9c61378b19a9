"""`System.rhs_batch`: arguments in, rates of all states out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import threads as thread_pool
from ..core import rows as kernels
from ..core.checks import SINGULAR
from ..core.number import LANES
from ..errors import StateError
from ..explain import CODES, drive_fault
from ..inputs import Array
from ..workspace import lanes as memory
from . import inputs

if TYPE_CHECKING:
    from ..system import System

# estimated seconds of one thread
SMALLEST_SHARE = 20e-6  # of a thread: below, to share costs more than it gains
SMALLEST_PIECE = 5e-6
WORTH_WAKING = 0.4e-3  # a thread that sleeps takes 0.1 to 0.3 ms to come
ONE_CALL = 0.1  # a large batch can be interrupted between calls
PIECES = 8  # for each thread: one that is held up by other load takes fewer
NO_LANES: Array = np.empty((1, 0, LANES))


def rhs_batch(system: System, Q: Any, P: Any, t: Any = 0.0, tau: Any = None, threads: Any = None,
              parameters: Any = None, return_status: bool = False, out: Any = None
              ) -> tuple[Array, Array] | tuple[Array, Array, NDArray[np.int64]]:
    """See `mbkern.System.rhs_batch`."""
    q, p = inputs.states(system, Q, P)
    total = q.shape[0]
    times, forces = inputs.times(t, total), inputs.forces(tau, system, total)
    varied = inputs.parameters(parameters, system, total)
    places, values = memory.constants(varied)
    if out is None:
        Qdot, Pdot = memory.pair((total,), system.model.nq, system.model.nv)
    else:
        Qdot, Pdot = inputs.outputs(out, system, total)
    status = np.zeros(total, np.int64)
    binding = system.binding
    function, block = binding.lanes if varied is None else binding.varied
    workers, step, one_call = _shares(binding.seconds_a_state, total, thread_pool.count(threads))
    own = NO_LANES if varied is None else memory.own_block(system, workers)
    buffers, job = memory.lend(system, workers)
    bad = 0
    thread_pool.CALLERS.append(None)
    try:
        for begin in range(0, total, one_call):
            code = kernels.rhs_rows(function, block, places, values, times, q, p, forces, Qdot, Pdot, status, begin,
                                    min(begin + one_call, total), step, buffers, own, job, thread_pool.SLOTS,
                                    workers - 1)
            if code == kernels.SHARED:
                raise StateError("out: its arrays share memory with each other or with another argument, which they "
                                 "would change while it is read; give arrays of their own")
            bad += code
    finally:
        thread_pool.CALLERS.pop()
        binding.lane_buffers.append((buffers, job))
    if return_status:
        return Qdot, Pdot, status
    if bad:
        first = int(np.argmax(status != 0))
        name, meaning = CODES[status[first]]
        if status[first] == SINGULAR:
            meaning = str(drive_fault(system.model, float(times[first if times.size > 1 else 0])) or meaning)
        warnings.warn(f"rhs_batch: {bad} of {total} states have no result, their rows are NaN; first is row "
                      f"{first}: {name}: {meaning} (return_status=True gives the code of every row)", RuntimeWarning,
                      stacklevel=4)
    return Qdot, Pdot


def _shares(each: float, total: int, threads: int) -> tuple[int, int, int]:
    """Threads that are worth it (they are on the way then), rows of a piece and of a call; `each` row takes seconds."""
    seconds = each * total
    one_call = max(total, 1) if seconds <= ONE_CALL else _whole_lanes(ONE_CALL / each)
    workers = min(thread_pool.spare(threads), int(seconds / SMALLEST_SHARE)) if threads > 1 else 1
    if workers <= 1:
        return 1, one_call, one_call
    thread_pool.wake(workers - 1, seconds > WORTH_WAKING)
    return workers, _whole_lanes(max(total / (PIECES * workers), SMALLEST_PIECE / each)), one_call


def _whole_lanes(rows: float) -> int:
    """So many rows, up to the next full block of lanes."""
    return (int(rows) // LANES + 1) * LANES
