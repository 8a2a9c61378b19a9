"""Event functions of a user as C functions that need no Python."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import carray, cfunc, types
from numpy import nan

from ..callbacks import attempt
from ..errors import ExportError

_SIGNATURE = types.float64(types.float64, types.CPointer(types.float64), types.int64, types.int64)


@lru_cache(maxsize=256)
def event_callback(g: Any) -> Any:
    """C function double (double t, const double *y, int64 nq, int64 nv) of an njit g(t, q, p), y = (q, p); not a number
    where g raises. (That of :mod:`mbkern.integrate.events` serves the state (q, u) as well, and allocates for it.)"""
    try:
        @cfunc(_SIGNATURE)
        def callback(t, y, nq, nv):
            state = carray(y, nq + nv)
            good, value = attempt(g, (t, state[:nq], state[nq:]), nan)
            return float(value) if good else nan
    except Exception as error:
        raise ExportError(f"event {g.__name__}: it does not compile as g(t, q, p) -> float for float64 t and arrays: "
                          f"{error}") from error
    return callback
