"""`System.rhs_batch`: arguments in, rates of all states out."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import threads as crew
from ..core import lanes as kernels
from ..core.number import LANES
from ..errors import StateError
from ..explain import CODES
from ..inputs import Array
from . import inputs, memory

if TYPE_CHECKING:
    from ..system import System

SMALLEST_PIECE = 16 * LANES  # states; below it a thread costs more than it does
ONE_PIECE = 4096  # states that one thread does at a time; a large batch can be interrupted between pieces
NO_LANES: Array = np.empty((0, LANES))
_COMPILING = threading.Lock()


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
        Qdot, Pdot = memory.pair((total,), system._nq, system._nv)
    else:
        Qdot, Pdot = inputs.outputs(out, system, total)
    status = np.zeros(total, np.int64)
    function, block = system._lanes if varied is None else system._varied
    failed: list[int] = []

    def rows(begin: int, end: int, own: Array, buffer: Array) -> None:
        bad = kernels.rhs_rows(function, block, places, values, own, times, q, p, forces, Qdot, Pdot, status, begin,
                               end, buffer)
        if bad:
            failed.append(bad)

    def work() -> None:
        own = NO_LANES if varied is None else memory.own_block(system)
        try:
            buffer = system._lane_buffers.pop()
        except IndexError:
            buffer = memory.lanes(memory.buffer_size(system))
        if pieces is None:
            rows(0, total, own, buffer)
        else:
            for piece in iter(pieces.take, None):
                rows(*piece, own, buffer)
        system._lane_buffers.append(buffer)

    workers = min(crew.count(threads), max(1, total // SMALLEST_PIECE))
    if workers == 1 and total <= ONE_PIECE:  # sharing out takes a tenth of the time of 1024 states of 7 bodies
        pieces = None
        work()
    else:
        pieces = crew.Pieces(total, LANES, workers, SMALLEST_PIECE)
        with _COMPILING:  # once, before several threads want it
            rows(0, 0, NO_LANES, NO_LANES)
        crew.run(work, workers)
    if failed:
        _explain(failed, status, return_status)
    return (Qdot, Pdot, status) if return_status else (Qdot, Pdot)


def _explain(failed: list[int], status: NDArray[np.int64], told: bool) -> None:
    """What went wrong; rows without a result are no surprise to who is `told` the status of each."""
    if min(failed) == kernels.SHARED:
        raise StateError("out: its arrays share memory with each other or with Q, P or tau, which they would change "
                         "while they are read; give arrays of their own")
    if told:
        return
    first = int(np.argmax(status != 0))
    name, meaning = CODES[status[first]]
    warnings.warn(f"rhs_batch: {sum(failed)} of {status.size} states have no result, their rows are NaN; first is row "
                  f"{first}: {name}: {meaning} (return_status=True gives the code of every row)", RuntimeWarning,
                  stacklevel=4)
