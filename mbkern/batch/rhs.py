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
              parameters: Any = None, return_status: bool = False
              ) -> tuple[Array, Array] | tuple[Array, Array, NDArray[np.int64]]:
    """See `mbkern.System.rhs_batch`."""
    q, p = inputs.states(system, Q, P)
    total = q.shape[0]
    times, forces = inputs.times(t, total), inputs.forces(tau, system, total)
    varied = inputs.parameters(parameters, system, total)
    places, values = memory.constants(varied)
    Qdot, Pdot, status = np.empty_like(q), np.empty_like(p), np.zeros(total, np.int64)
    function = (system._method.lanes if varied is None else system._method.varied).address
    block = system._lane_block
    workers = min(crew.count(threads), max(1, total // SMALLEST_PIECE))
    if workers == 1 and total <= ONE_PIECE:  # sharing out takes a tenth of the time of 1024 states of 7 bodies
        take = iter(((0, total), None)).__next__
    else:
        take = crew.Pieces(total, LANES, workers, SMALLEST_PIECE).take

    def work() -> None:
        own = NO_LANES if varied is None else memory.own_block(system)
        try:
            buffer = system._lane_buffers.pop()
        except IndexError:
            buffer = memory.lanes(memory.buffer_size(system))
        while (piece := take()) is not None:
            kernels.rhs_rows(function, block, places, values, own, times, q, p, forces, Qdot, Pdot, status, *piece,
                             buffer)
        system._lane_buffers.append(buffer)

    if workers > 1:
        with _COMPILING:  # once, before several threads want it
            kernels.rhs_rows(function, block, places, values, NO_LANES, times, q, p, forces, Qdot, Pdot, status, 0, 0,
                             NO_LANES)
    crew.run(work, workers)
    if return_status:
        return Qdot, Pdot, status
    if np.count_nonzero(status):
        bad = np.flatnonzero(status)
        name, meaning = CODES[status[bad[0]]]
        warnings.warn(f"rhs_batch: {bad.size} of {total} states have no result, their rows are NaN; first is row "
                      f"{bad[0]}: {name}: {meaning} (return_status=True gives the code of every row)", RuntimeWarning,
                      stacklevel=3)
    return Qdot, Pdot
