"""Memory of compiled code on lanes: one buffer a thread, lent by its System."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import lazy
from ..core import constants as L
from ..core import rotor_calls
from ..core.number import LANES
from ..core.rows import B_ARGUMENTS, JOB
from ..errors import MethodError, NotEnoughMemoryError
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


def room(shape: tuple[int, ...], kind: Any = np.float64, make: Callable[..., NDArray[Any]] = np.empty) -> NDArray[Any]:
    """A new array for results of a batch; what is in it is not defined, unless `make` says."""
    try:
        return make(shape, kind)
    except (MemoryError, ValueError):
        size = 1e-9 * math.prod(shape) * np.dtype(kind).itemsize
        raise NotEnoughMemoryError(f"there are not the {size:.3g} GB of memory that the results of this batch need; "
                                   "take the states in parts") from None


def pieces(count: int, columns: Sequence[int]) -> list[Array]:
    """New arrays of shapes (count, n) for n in columns, in one piece of memory.

    Two pieces of half the size are returned to the operating system and asked for again in every call (two of 0.8 MB:
    0.8 ms instead of 0.1, a third of what the states need that fill them).
    """
    if len(columns) == 1:
        return [room((count, columns[0]))]
    whole = room((count * sum(columns),))
    made, at = [], 0
    for n in columns:
        made.append(whole[at:at + count * n].reshape(count, n))
        at += count * n
    return made


def lend(pool: list[tuple[Array, NDArray[np.int64]]], size: int, threads: int) -> tuple[Array, NDArray[np.int64]]:
    """A buffer of arguments and workspace, `size` numbers of lanes, for each thread, on cache lines of its own, and
    words for a job; who is done puts them back into the pool."""
    try:
        buffers, job = pool.pop()
        if buffers.shape[0] >= threads:
            return buffers, job
    except IndexError:
        pass
    size = buffer_size(size)
    return lanes(threads * size).reshape(threads, size, LANES), np.zeros(JOB + 2 * threads, np.int64)


def buffer_size(size: int) -> int:
    """Numbers of lanes of the buffer of one thread, with arguments and workspace of that size, in whole cache lines."""
    size += B_ARGUMENTS
    return size + -size % (LINE // (8 * LANES))


def own_block(system: System, threads: int = 1) -> Array:
    """The block in every lane, for states with constants of their own; for each thread."""
    size = system.block.size
    own = lanes(threads * size).reshape(threads, size, LANES)
    own[:] = system.block[:, None]
    own[:, L.AT_BASES] = 0.0  # they are those of the nominal machine
    if system.block[L.HAS_ROTORS]:
        own[:, L.ROTOR_CALLS + 2] = rotor_calls.rotor_of_varied.address
    if system.model.constraints:
        own[:, L.ENGINE_CALLS + 2] = lazy.module("core.constrained_engine").engine_of_varied.address
    return own


def constants(varied: Varied | None) -> tuple[NDArray[np.int64], Array]:
    """Places in the block that vary, and their values for each state."""
    return (NO_PLACES, NO_VALUES) if varied is None else (varied.places, varied.values)
