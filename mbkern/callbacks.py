"""A user's compiled functions as plain addresses, so that cached kernels can call them without being recompiled.

No exception leaves such a function: nothing above it could tell. Each catches what the user's function raises and
leaves word of it where its caller looks. Who explains the failure calls the user's function once more, from Python,
and has the exception itself (`raised`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from numba import carray, cfunc, types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic
from numpy import nan

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


def name_of(f: Any) -> str:
    """What a user calls a function."""
    return str(getattr(f, "__name__", f))


def raised(f: Callable[..., Any], *arguments: Any) -> Exception | None:
    """What a function raises for these arguments; None when it returns."""
    try:
        f(*arguments)
    except Exception as error:
        return error
    return None


@intrinsic
def attempt(typingctx, f, arguments):
    """(True, f(*arguments)) for an njit function f; (False, nothing of meaning) where it raises.

    The exception is dropped. A `try` of compiled code would miss those of Python code (`objmode`), and a C function
    without one would print them, once for each try at a step.
    """
    call = f.get_call_type(typingctx, tuple(arguments), {})

    def codegen(context, builder, sig, args):
        compiled = f.dispatcher.get_compile_result(call)
        context.add_linking_libs([compiled.library])
        given = cgutils.unpack_tuple(builder, args[1])
        defaults = [context.get_constant_null(kind) for kind in call.args[len(given):]]  # their types are their values
        status, value = context.call_internal_no_propagate(builder, compiled.fndesc, call, given + defaults)
        with cgutils.if_unlikely(builder, status.is_error):
            python = context.get_python_api(builder)
            lock = python.gil_ensure()
            python.err_clear()
            python.gil_release(lock)
        return context.make_tuple(builder, sig.return_type, [status.is_ok, value])

    return types.Tuple((types.boolean, call.return_type))(f, arguments), codegen


@lru_cache(maxsize=256)
def drive_callback(f: Any) -> Any:
    """C function void (double t, double *x_xdot_xddot) of an njit drive f; use its `.address` while it lives.

    Where f raises, all three are not numbers.
    """
    signature = types.void(types.float64, types.CPointer(types.float64))
    try:
        @cfunc(signature)
        def callback(t, out):
            values = carray(out, 3)
            values[0], values[1], values[2] = nan, nan, nan
            good, result = attempt(f, (t,))
            if good:
                values[0], values[1], values[2] = result
    except Exception as error:
        raise ModelError(f"drive({name_of(f)}): expected an njit function t -> (x, xdot, xddot), "
                         f"but it does not compile for a float64 t: {error}") from error
    return callback


@lru_cache(maxsize=256)
def load_callback(f: Any, what: str) -> Any:
    """C function of an njit f(t, q, p, out) that gives tau (nv) or wrenches (N, 6), for a frame; see `core.cabi`.

    `what` is "tau" or "wrench". out is zero when f is called. The data that the C function gets is the frame, which
    knows the sizes. When f raises, the status of the frame says so.
    """
    name = name_of(f)
    if not isinstance(f, Dispatcher):
        raise StateError(f"{what}: expected numbers or an njit function f(t, q, p, out), got {name!r}; "
                         "it is called from compiled code: decorate it with @numba.njit")
    if what == "tau":
        def callback(t, q, p, out, user):
            frame = frame_at(address_of(user))
            before, frame[STATUS] = frame[STATUS], CALLBACK_FAILED
            forces = carray(out, int(frame[NV]))
            forces[:] = 0.0
            good, _ = attempt(f, (t, carray(q, int(frame[NQ])), carray(p, int(frame[NV])), forces))
            if good:
                frame[STATUS] = before
    else:
        def callback(t, q, p, out, user):
            frame = frame_at(address_of(user))
            before, frame[STATUS] = frame[STATUS], CALLBACK_FAILED
            wrenches = carray(out, (int(frame[N_BODIES]), 6))
            wrenches[:] = 0.0
            good, _ = attempt(f, (t, carray(q, int(frame[NQ])), carray(p, int(frame[NV])), wrenches))
            if good:
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
    name = name_of(f)
    if not isinstance(f, Dispatcher):
        raise StateError(f"{what}: expected an njit function f(t, q, p, out, i), got {name!r}; decorate it with "
                         "@numba.njit")
    doubles = types.CPointer(types.float64)

    def callback(t, q, p, out, i, done):
        good, _ = attempt(f, (t, carray(q, nq), carray(p, nv), carray(out, size), i))
        if good:
            carray(done, 1)[0] = 1

    try:
        return cfunc(types.void(types.float64, doubles, doubles, doubles, types.int64, types.CPointer(types.int64)))(
            callback)
    except Exception as error:
        raise StateError(f"{what}: {name} does not compile as f(t, q, p, out, i) for float64 t and arrays and an "
                         f"int64 i: {error}") from error
