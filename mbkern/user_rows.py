"""A user's rows of constraints as a C function, with time derivatives by numbers that carry a rate.

    void rows(double t, const double *q, const double *qdot, double *out)        see :mod:`mbkern.core.constraint_calls`

Where the user's function raises, all of out is NaN: no result passes for one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import carray, cfunc, njit, types

from .callbacks import name_of, succeeds
from .changing import changing_at, changing_rows_at, pair
from .core.arguments import data_of, stack_words
from .core.number import array_at
from .errors import ModelError
from .model.user_rows import wants_rate

_DOUBLES = types.CPointer(types.float64)
ROWS = types.void(types.float64, _DOUBLES, _DOUBLES, _DOUBLES)


@lru_cache(maxsize=256)
def rows_callback(f: Any, position: Any, rows: int, nq: int, nv: int, on_stack: bool = False) -> Any:
    """The C function; use its `.address` while it lives.

    The memory that it needs is on the heap: four small arrays, for all of them one allocation. Where there is no Python
    (:mod:`mbkern.export`) it is `on_stack`.
    """
    n = rows * nv
    size = 2 * (nq + n + 2 * rows + nv)
    if wants_rate(f):
        @njit
        def fill(t, q, numbers):
            a, b = changing_rows_at(numbers, rows, nv), changing_at(numbers + 16 * n, rows)
            v, rate = changing_at(numbers + 16 * (n + rows), nv), changing_at(numbers + 16 * (n + rows + nv), rows)
            return succeeds(f, (t, q, v, a, b, rate))
    else:
        @njit
        def fill(t, q, numbers):
            return succeeds(f, (t, q, changing_rows_at(numbers, rows, nv), changing_at(numbers + 16 * n, rows)))

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

    try:
        return cfunc(ROWS)(callback)
    except Exception as error:
        raise ModelError(f"constraint: {name_of(f)} does not compile as f(t, q, a, b) for numbers that carry a rate "
                         f"(ModelBuilder.add_constraint says what these know): {error}") from error
