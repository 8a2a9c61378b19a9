"""A user's compiled functions as plain addresses, so that cached kernels can call them without being recompiled."""

from __future__ import annotations

import weakref
from functools import lru_cache
from typing import Any, TypeVar

from numba import carray, cfunc, types
from numba.core.dispatcher import Dispatcher

from .core.cabi import LOAD, address_of, frame_at
from .core.checks import CALLBACK_FAILED
from .core.layout import N_BODIES, NQ, NV, STATUS
from .errors import ModelError, StateError

T = TypeVar("T")


def keep_alive(array: T, needed: list[Any]) -> T:
    """Return `array`, having tied the life of the compiled functions whose addresses it holds to its own."""
    if needed:
        weakref.finalize(array, lambda _: None, list(needed)).atexit = False
    return array


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


@lru_cache(maxsize=256)
def load_callback(f: Any, what: str) -> Any:
    """C function of an njit f(t, q, p, out) that gives tau (nv) or wrenches (N, 6), for a frame; see `core.cabi`.

    `what` is "tau" or "wrench". out is zero when f is called. The data that the C function gets is the frame, which
    knows the sizes. When f raises, the status of the frame says so.
    """
    name = getattr(f, "__name__", f)
    if not isinstance(f, Dispatcher):
        raise StateError(f"{what}: expected numbers or an njit function f(t, q, p, out), got {name!r}; "
                         "it is called from compiled code: decorate it with @numba.njit")
    if what == "tau":
        def callback(t, q, p, out, user):
            frame = frame_at(address_of(user))
            before, frame[STATUS] = frame[STATUS], CALLBACK_FAILED
            forces = carray(out, int(frame[NV]))
            forces[:] = 0.0
            f(t, carray(q, int(frame[NQ])), carray(p, int(frame[NV])), forces)
            frame[STATUS] = before
    else:
        def callback(t, q, p, out, user):
            frame = frame_at(address_of(user))
            before, frame[STATUS] = frame[STATUS], CALLBACK_FAILED
            wrenches = carray(out, (int(frame[N_BODIES]), 6))
            wrenches[:] = 0.0
            f(t, carray(q, int(frame[NQ])), carray(p, int(frame[NV])), wrenches)
            frame[STATUS] = before
    try:
        return cfunc(LOAD)(callback)
    except Exception as error:
        raise StateError(f"{what}: {name} does not compile as f(t, q, p, out) for float64 t and arrays: "
                         f"{error}") from error


@lru_cache(maxsize=256)
def state_callback(f: Any, what: str, nq: int, nv: int, size: int) -> Any:
    """C function of an njit f(t, q, p, out, i) for state number i of a batch; out has `size` numbers.

    void (double t, const double *q, const double *p, double *out, int64 i, int64 *done): done is set when f has not
    raised.
    """
    name = getattr(f, "__name__", f)
    if not isinstance(f, Dispatcher):
        raise StateError(f"{what}: expected an njit function f(t, q, p, out, i), got {name!r}; decorate it with "
                         "@numba.njit")
    doubles = types.CPointer(types.float64)

    def callback(t, q, p, out, i, done):
        f(t, carray(q, nq), carray(p, nv), carray(out, size), i)
        carray(done, 1)[0] = 1

    try:
        return cfunc(types.void(types.float64, doubles, doubles, doubles, types.int64, types.CPointer(types.int64)))(
            callback)
    except Exception as error:
        raise StateError(f"{what}: {name} does not compile as f(t, q, p, out, i) for float64 t and arrays and an "
                         f"int64 i: {error}") from error
