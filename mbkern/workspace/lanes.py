"""Memory of compiled code on lanes: one buffer a thread, lent by its System."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..core import constants as L
from ..core import rotor_calls
from ..core.number import LANES
from ..core.rows import B_Y, JOB
from ..errors import MethodError
from ..inputs import Array
from ..model.vary import Varied

if TYPE_CHECKING:
    from ..system import System

LINE = 64  # bytes of a cache line: a number of lanes that lies across two costs twice
NO_PLACES: NDArray[np.int64] = np.empty(0, np.int64)
NO_VALUES: Array = np.empty((0, 0))


def lanes(size: int) -> Array:
    """Zeros of shape (size, LANES), on a cache line."""
    try:
        raw = np.zeros(size * LANES + LINE // 8)
    except (MemoryError, ValueError):
        raise MethodError(f"this method needs {8e-9 * LANES * size:.3g} GB of memory for batches of such a tree; "
                          '"emh-ldl" needs little for every tree') from None
    skip = -raw.ctypes.data % LINE // 8
    return raw[skip:skip + size * LANES].reshape(size, LANES)


def pair(rows: tuple[int, ...], nq: int, nv: int) -> tuple[Array, Array]:
    """New arrays of shapes (*rows, nq) and (*rows, nv), in one piece of memory.

    Two pieces of half the size are returned to the operating system and asked for again in every call (two of 0.8 MB:
    0.8 ms instead of 0.1, a third of what the states need that fill them).
    """
    n = math.prod(rows)
    both = np.empty(n * (nq + nv))
    return both[:n * nq].reshape(*rows, nq), both[n * nq:].reshape(*rows, nv)


def buffer_size(system: System) -> int:
    """Numbers of a buffer: t, codes, y, tau, dydt, work."""
    model = system.model
    return B_Y + 2 * (model.nq + model.nv) + model.nv + system.binding.work_size


def lend(system: System, threads: int) -> tuple[Array, NDArray[np.int64]]:
    """A buffer for each thread, on cache lines of its own, and words for a job; who is done puts them back."""
    try:
        buffers, job = system.binding.lane_buffers.pop()
        if buffers.shape[0] >= threads:
            return buffers, job
    except IndexError:
        pass
    size = buffer_size(system)
    size += -size % (LINE // (8 * LANES))
    return lanes(threads * size).reshape(threads, size, LANES), np.zeros(JOB + 2 * threads, np.int64)


def own_block(system: System, threads: int = 1) -> Array:
    """The block in every lane, for states with constants of their own; for each thread."""
    size = system.block.size
    own = lanes(threads * size).reshape(threads, size, LANES)
    own[:] = system.block[:, None]
    if system.block[L.HAS_ROTORS]:
        own[:, L.ROTOR_CALLS + 2] = rotor_calls.rotor_of_varied.address
    return own


def constants(varied: Varied | None) -> tuple[NDArray[np.int64], Array]:
    """Places in the block that vary, and their values for each state."""
    return (NO_PLACES, NO_VALUES) if varied is None else (varied.places, varied.values)
