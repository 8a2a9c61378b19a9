"""A user's compiled functions as plain addresses, so that cached kernels can call them without being recompiled.

No exception leaves such a function: nothing above it could tell. Each catches what the user's function raises and
leaves word of it where its caller looks. Who explains the failure calls the user's function once more, from Python,
and has the exception itself (`raised`).
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numba import carray, cfunc, njit, types
from numba.extending import is_jitted
from numpy import nan

from . import lazy, waits
from .core.arguments import data_of
from .core.cabi import LOAD, address_of, frame_at
from .core.checks import CALLBACK_FAILED, OK
from .core.entry import call_momenta, call_rhs
from .core.layout import HEADER, MOMENTA_CALL, N_BODIES, NQ, NV, RHS_CALL, SIZE, STATUS, speeds_at
from .core.number import array_at
from .core.toolchain import parts
from .errors import ModelError, StateError

T = TypeVar("T")
SPEEDS = ("u", "v", "qd", "dq", "qdot", "speeds", "velocities")  # names by which people expect joint speeds
attempt, succeeds = parts.attempt, parts.succeeds


def keep_alive(array: T, needed: list[Any]) -> T:
    """Return `array`, having tied the life of the compiled functions whose addresses it holds to its own."""
    if needed:
        weakref.finalize(array, lambda _: None, list(needed)).atexit = False
    return array


def name_of(f: Any) -> str:
    """What a user calls a function."""
    return str(getattr(f, "__name__", f))


def check_arguments(f: Any, what: str, wanted: str, hint: str = "") -> None:
    """Refuse a function that cannot be called with the arguments of `wanted`, such as "f(t, q, p, out)"."""
    try:
        signature = inspect.signature(getattr(f, "py_func", f))
    except (AttributeError, TypeError, ValueError):  # compiled by other means: the compiler will tell
        return
    try:
        signature.bind(*range(wanted.count(",") + 1))
    except TypeError:
        raise StateError(f"{what}: expected a function {wanted}, got {name_of(f)}{signature}{hint}") from None
    if wanted.startswith("f(t, q, p, out"):
        refuse_speeds(f, what, wanted.replace("p, ", "p, u, ", 1))


def refuse_speeds(f: Any, what: str, both: str) -> None:
    """Refuse a function whose third argument, the momenta, has a name of speeds; `both` is a form that takes both."""
    signature = inspect.signature(getattr(f, "py_func", f))
    names = list(signature.parameters)
    if len(names) > 2 and names[2] in SPEEDS:
        raise StateError(f"{what}: the third argument of {name_of(f)}{signature} is the momenta p, not speeds; call it "
                         f"p, or take both: {both}")


def wants_speeds(f: Any) -> bool:
    """Whether a function of forces is f(t, q, p, u, out, ...): its fourth argument is called u, and more follow."""
    try:
        names = list(inspect.signature(getattr(f, "py_func", f)).parameters)
    except (TypeError, ValueError):
        return False
    return len(names) > 4 and names[3] == "u"


class OfState:
    """A function f(..., i) of a batch for one of its states: to be called once more where it has failed."""

    def __init__(self, f: Any, i: int) -> None:
        self._f, self._i, self.__name__ = f, i, name_of(f)
        given = inspect.signature(f.py_func)
        self.__signature__ = given.replace(parameters=list(given.parameters.values())[:-1])

    def __call__(self, *arguments: Any) -> Any:
        return self._f(*arguments, self._i)


def raised(f: Callable[..., Any], *arguments: Any) -> Exception | None:
    """What a function raises for these arguments; None when it returns."""
    try:
        f(*arguments)
    except Exception as error:
        return error
    return None


@njit
def speeds(rhs, block, work, at, t, q, p, u):
    """Joint speeds u of a state by a right-hand side without loads, which leaves them in the workspace from `at` on.

    rhs, block and work are addresses. Returns the status.
    """
    qdot, pdot = np.empty(q.shape[0]), np.empty(p.shape[0])
    code = call_rhs(rhs, t, data_of(q), data_of(p), 0, data_of(qdot), data_of(pdot), block, work)
    left = array_at(work, at + u.shape[0])
    for j in range(u.shape[0]):
        u[j] = left[at + j]
    return code


@njit
def momenta(address, block, work, t, q, u, p):
    """Momenta p of joint speeds by the operation at `address`; block and work are addresses. Returns the status."""
    return call_momenta(address, t, data_of(q), data_of(u), data_of(p), block, work)


@njit
def momenta_of_frame(frame, t, q, u, p):
    """The same for a frame whose state is (q, u)."""
    return momenta(int(frame[MOMENTA_CALL]), data_of(frame), data_of(frame) + 8 * int(frame[SIZE]), t, q, u, p)


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
            good, result = attempt(f, (t,), (nan, nan, nan))
            if good:
                values[0], values[1], values[2] = result
    except Exception as error:
        raise ModelError(f"drive({name_of(f)}): expected an njit function t -> (x, xdot, xddot), "
                         f"but it does not compile for a float64 t: {error}") from error
    return callback


def load_callback(f: Any, what: str) -> Any:
    """C function of a function that gives tau (nv) or wrenches (N, 6), be it compiled or plain Python."""
    if not is_jitted(f):
        return lazy.module("plain_callbacks").PlainCallback(f, what)
    return compiled_load(f, what)


@lru_cache(maxsize=256)
def compiled_load(f: Any, what: str, numbered: bool = False) -> Any:
    """C function of an njit f(t, q, p, out) that gives tau (nv) or wrenches (N, 6), for a frame; see `core.cabi`.

    Or f(t, q, p, u, out) with the joint speeds u: the right-hand side of the frame, evaluated without loads before,
    leaves them in the workspace. Where the state of the frame is (q, u), p is found instead.

    `what` is "tau" or "wrench". out is zero when f is called. The data that the C function gets is the frame, which
    knows the sizes. When f raises, the status of the frame says so.

    `numbered`: f has one more argument i, the number of a state of a batch. The data are then two integers, the address
    of the frame and i.
    """
    name = name_of(f)
    with_speeds = wants_speeds(f)
    form = f"f(t, q, p{', u' if with_speeds else ''}, out{', i' if numbered else ''})"
    check_arguments(f, what, form)
    waits.function(name)
    if numbered:
        @njit
        def found(data):
            pair = array_at(data, 2).view(np.int64)
            return frame_at(pair[0]), (pair[1],)
    else:
        @njit
        def found(data):
            return frame_at(data), ()
    if with_speeds:
        @njit
        def call(frame, t, q, x, out, number):
            p = u = x
            other, work = np.empty(int(frame[NV])), data_of(frame) + 8 * int(frame[SIZE])
            if int(frame[MOMENTA_CALL]) != 0:
                p, code = other, momenta_of_frame(frame, t, q, x, other)
            else:
                u = other
                code = speeds(int(frame[RHS_CALL]), data_of(frame), work, speeds_at(frame), t, q, x, other)
            if code != OK:
                return code
            arguments = (t, q, p, u, out)
            return OK if succeeds(f, arguments + number) else CALLBACK_FAILED
    else:
        @njit
        def call(frame, t, q, x, out, number):
            p = x
            if int(frame[MOMENTA_CALL]) != 0:
                p = np.empty(int(frame[NV]))
                code = momenta_of_frame(frame, t, q, x, p)
                if code != OK:
                    return code
            arguments = (t, q, p, out)
            return OK if succeeds(f, arguments + number) else CALLBACK_FAILED

    if what == "tau":
        def callback(t, q, p, out, user):
            frame, number = found(address_of(user))
            forces = carray(out, int(frame[NV]))
            forces[:] = 0.0
            before, frame[STATUS] = frame[STATUS], CALLBACK_FAILED  # where nothing catches what f raises
            code = call(frame, t, carray(q, int(frame[NQ])), carray(p, int(frame[NV])), forces, number)
            frame[STATUS] = before if code == OK else code
    else:
        def callback(t, q, p, out, user):
            frame, number = found(address_of(user))
            wrenches = carray(out, (int(frame[N_BODIES]), 6))
            wrenches[:] = 0.0
            before, frame[STATUS] = frame[STATUS], CALLBACK_FAILED  # where nothing catches what f raises
            code = call(frame, t, carray(q, int(frame[NQ])), carray(p, int(frame[NV])), wrenches, number)
            frame[STATUS] = before if code == OK else code
    try:
        return cfunc(LOAD)(callback)
    except Exception as error:
        raise StateError(f"{what}: {name} does not compile as {form} for float64 t and arrays: {error}") from error


@lru_cache(maxsize=256)
def state_callback(f: Any, what: str, nq: int, nv: int, size: int, rhs: int = 0, to_momenta: int = 0, block: int = 0,
                   work: int = 0) -> Any:
    """C function of an njit f(t, q, p, out, i) for state number i of a batch; out has `size` numbers.

    void (double t, const double *q, const double *p, double *out, int64 i, int64 *done): done is set when f has not
    raised. For f(t, q, p, u, out, i) with joint speeds: the address `rhs` of "emh-ldl". Where the states are (q, u):
    the address `to_momenta` of the operation "momenta". Either needs the address of a block, and how many numbers a
    workspace has. The block is alive as long as the function is called.
    """
    name = name_of(f)
    last = "out" if what == "tau" else "kept"
    if not is_jitted(f):
        raise StateError(f"{what}: expected an njit function f(t, q, p, {last}, i), got {name!r}; decorate it with "
                         "@numba.njit")
    with_speeds = wants_speeds(f) and (rhs != 0 or to_momenta != 0)
    form = f"f(t, q, p, u, {last}, i)" if with_speeds else f"f(t, q, p, {last}, i)"
    check_arguments(f, what, form)
    doubles = types.CPointer(types.float64)
    if to_momenta and with_speeds:
        def callback(t, q, x, out, i, done):
            place, u, p, scratch = carray(q, nq), carray(x, nv), np.empty(nv), np.empty(work)
            if momenta(to_momenta, block, data_of(scratch), t, place, u, p) == OK:
                if succeeds(f, (t, place, p, u, carray(out, size), i)):
                    carray(done, 1)[0] = 1
    elif to_momenta:
        def callback(t, q, x, out, i, done):
            place, u, p, scratch = carray(q, nq), carray(x, nv), np.empty(nv), np.empty(work)
            if momenta(to_momenta, block, data_of(scratch), t, place, u, p) == OK:
                if succeeds(f, (t, place, p, carray(out, size), i)):
                    carray(done, 1)[0] = 1
    elif with_speeds:
        def callback(t, q, p, out, i, done):
            place, u, scratch = carray(q, nq), np.empty(nv), np.empty(work)
            given = carray(p, nv)
            if speeds(rhs, block, data_of(scratch), speeds_at(array_at(block, HEADER)), t, place, given, u) == OK:
                if succeeds(f, (t, place, given, u, carray(out, size), i)):
                    carray(done, 1)[0] = 1
    else:
        def callback(t, q, p, out, i, done):
            if succeeds(f, (t, carray(q, nq), carray(p, nv), carray(out, size), i)):
                carray(done, 1)[0] = 1

    try:
        return cfunc(types.void(types.float64, doubles, doubles, doubles, types.int64, types.CPointer(types.int64)))(
            callback)
    except Exception as error:
        raise StateError(f"{what}: {name} does not compile as {form} for float64 t and arrays and an int64 i: "
                         f"{error}") from error
