"""A user's compiled functions as plain addresses, so that cached kernels can call them without being recompiled."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import carray, cfunc, types

from .errors import ModelError


@lru_cache(maxsize=256)
def drive_callback(f: Any) -> Any:
    """C function void (double t, double *x_xdot_xddot) of an njit drive f; use its `.address` while it lives."""
    signature = types.void(types.float64, types.CPointer(types.float64))
    try:
        @cfunc(signature)
        def callback(t, out):
            x, xdot, xddot = f(t)
            values = carray(out, 3)
            values[0] = x
            values[1] = xdot
            values[2] = xddot
    except Exception as error:
        raise ModelError(f"drive({getattr(f, '__name__', f)}): expected an njit function t -> (x, xdot, xddot), "
                         f"but it does not compile for a float64 t: {error}") from error
    return callback
