"""A user's rows of constraints as C functions, with time derivatives by numbers that carry a rate.

    void rows(double t, const double *q, const double *qdot, double *out)        see :mod:`mbkern.core.constraint_calls`
    void rows_moved(double t, const double *q, const double *qdot, double *out)

q and qdot of `rows_moved` are followed by their derivatives along a direction, and so is out: by those of all of it but
g. Where the user's function raises, all of out is NaN: no result passes for one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import carray, cfunc, njit, types

from .callbacks import name_of, succeeds
from .changing import changing_at, changing_rows_at, pair, twice_at, twice_rows_at
from .core.arguments import data_of, stack_words
from .core.number import array_at
from .errors import ModelError
from .model.user_rows import wants_rate

_DOUBLES = types.CPointer(types.float64)
ROWS = types.void(types.float64, _DOUBLES, _DOUBLES, _DOUBLES)


@lru_cache(maxsize=256)
def rows_callback(f: Any, position: Any, rows: int, nq: int, nv: int, on_stack: bool = False) -> Any:
    """`rows` as a C function; use its `.address` while it lives.

    The memory that it needs is on the heap: four small arrays, for all of them one allocation. Where there is no Python
    (:mod:`mbkern.export`) it is `on_stack`.
    """
    n = rows * nv
    size = 2 * (nq + n + 2 * rows + nv)
    fill = _filler(f, rows, nv, changing_at, changing_rows_at, 16)

    if position is None:
        @njit
        def value(t, q, g):
            return True
    else:
        @njit
        def value(t, q, g):
            return succeeds(position, (t, q, g))

    @njit
    def put_rows(t, q, qdot, out, room):
        given, result = carray(q, nq), carray(out, 2 * n + 3 * rows)
        speeds = carray(qdot, nq)
        for i in range(nq):
            room[2 * i], room[2 * i + 1] = given[i], speeds[i]
        for i in range(rows):
            result[i] = 0.0
        good = fill(pair(t, 1.0), changing_at(data_of(room), nq), data_of(room) + 16 * nq)
        if value(t, given, result[:rows]) and good:
            for i in range(n + rows):
                result[rows + i], result[2 * rows + n + i] = room[2 * (nq + i)], room[2 * (nq + i) + 1]
        else:
            for i in range(2 * n + 3 * rows):
                result[i] = np.nan

    if on_stack:
        def callback(t, q, qdot, out):
            room = array_at(stack_words(size), size)
            room[:] = 0.0
            put_rows(t, q, qdot, out, room)
    else:
        def callback(t, q, qdot, out):
            put_rows(t, q, qdot, out, np.zeros(size))

    return _compiled(callback, f)


@lru_cache(maxsize=64)
def moved_rows_callback(f: Any, rows: int, nq: int, nv: int) -> Any:
    """`rows_moved` as a C function, likewise."""
    n = rows * nv
    size = 4 * (nq + n + 2 * rows + nv)
    fill = _filler(f, rows, nv, twice_at, twice_rows_at, 32)

    @njit
    def put_rows(t, q, qdot, out, room):
        given, speeds, result = carray(q, 2 * nq), carray(qdot, 2 * nq), carray(out, 2 * (2 * n + 3 * rows))
        for i in range(nq):
            room[4 * i], room[4 * i + 1] = given[i], given[nq + i]
            room[4 * i + 2], room[4 * i + 3] = speeds[i], speeds[nq + i]
        time = pair(pair(t, 0.0), pair(1.0, 0.0))
        good = fill(time, twice_at(data_of(room), nq), data_of(room) + 32 * nq)
        for k in range(2):  # values, derivatives
            part = result[k * (2 * n + 3 * rows):(k + 1) * (2 * n + 3 * rows)]
            for i in range(rows):
                part[i] = 0.0 if good else np.nan
            for i in range(n + rows):
                part[rows + i] = room[4 * (nq + i) + k] if good else np.nan
                part[2 * rows + n + i] = room[4 * (nq + i) + 2 + k] if good else np.nan

    def callback(t, q, qdot, out):
        put_rows(t, q, qdot, out, np.zeros(size))

    return _compiled(callback, f)


def _filler(f: Any, rows: int, nv: int, vector_at: Any, rows_at: Any, size: int) -> Any:
    """fill(t, q, address): have a and b of such numbers, `size` bytes each, filled from an address on."""
    n = rows * nv
    if wants_rate(f):
        @njit
        def fill(t, q, numbers):
            a, b = rows_at(numbers, rows, nv), vector_at(numbers + size * n, rows)
            v, rate = vector_at(numbers + size * (n + rows), nv), vector_at(numbers + size * (n + rows + nv), rows)
            return succeeds(f, (t, q, v, a, b, rate))
    else:
        @njit
        def fill(t, q, numbers):
            return succeeds(f, (t, q, rows_at(numbers, rows, nv), vector_at(numbers + size * n, rows)))
    return fill


def _compiled(callback: Any, f: Any) -> Any:
    try:
        return cfunc(ROWS)(callback)
    except Exception as error:
        raise ModelError(f"constraint: {name_of(f)} does not compile as f(t, q, a, b) for numbers that carry a rate "
                         f"(ModelBuilder.add_constraint says what these know): {error}") from error
