"""Force functions in plain Python, which compiled code calls by address, as it calls compiled ones.

They are called at every evaluation, with the interpreter's lock: some microseconds each, instead of some nanoseconds.
See :mod:`mbkern.callbacks` for the compiled ones.
"""

from __future__ import annotations

import ctypes
import warnings
from typing import Any

import numpy as np

from .callbacks import check_arguments, name_of, wants_speeds
from .core import constants as L
from .core.checks import CALLBACK_FAILED, OK
from .errors import SlowFunctionWarning, StateError
from .inputs import Array
from .workspace import places

_ADDRESS = ctypes.c_ssize_t
_LOAD = ctypes.CFUNCTYPE(None, ctypes.c_double, _ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS)  # see core.cabi
_OPERATION = ctypes.CFUNCTYPE(_ADDRESS, ctypes.c_double, _ADDRESS, _ADDRESS, _ADDRESS)  # see core.arguments

_told = False


class PlainCallback:
    """A function f(t, q, p, out) or f(t, q, p, u, out) of Python as a C function.

    Parameters
    ----------
    f : callable
    what : str
        "tau" or "wrench".

    Attributes
    ----------
    address : int
        Of the C function; it lives as long as this object.
    error : Exception or None
        What f raised last, or what was wrong with what it did.
    """

    def __init__(self, f: Any, what: str) -> None:
        self.function, self._what = f, what
        self._with_speeds = wants_speeds(f)
        check_arguments(f, what, "f(t, q, p, u, out)" if self._with_speeds else "f(t, q, p, out)",
                        "; or f(t, q, p) -> tau beside control_step" if what == "tau" else "")
        self.error: BaseException | None = None
        self._pointer = _LOAD(self._call)
        self.address = int(ctypes.cast(self._pointer, ctypes.c_void_p).value or 0)
        _tell(f, what)

    def _call(self, t: float, q: int, x: int, out: int, user: int) -> None:
        header = _numbers(user, L.HEADER)
        nq, nv, bodies = int(header[L.NQ]), int(header[L.NV]), int(header[L.N_BODIES])
        forces = _numbers(out, nv if self._what == "tau" else 6 * bodies)
        forces[:] = 0.0
        try:
            given = [_numbers(q, nq).copy(), _numbers(x, nv).copy()]  # whatever f does to them
            if header[L.MOMENTA_CALL]:  # the state is (q, u)
                given = [*given[:1], _momenta(user, header, t, *given), *given[1:][:self._with_speeds]]
            elif self._with_speeds:
                given.append(_speeds(user, header, t, *given))
            room = forces.copy() if self._what == "tau" else forces.reshape(bodies, 6).copy()
            answer = self.function(t, *given, room)
            if answer is not None:
                raise StateError(f"expected nothing returned, got {type(answer).__name__}; write the result into the "
                                 "last argument: out[:] = ...")
            forces[:] = room.ravel()
        except BaseException as error:  # nothing above could take it: the run ends and has it as its cause
            self.error = error
            header[L.STATUS] = CALLBACK_FAILED


def _numbers(address: int, count: int) -> Array:
    """An array over numbers at an address."""
    memory: Any = (ctypes.c_double * count).from_address(address)
    return np.frombuffer(memory, float) if count else np.empty(0)


def _run(user: int, header: Array, which: int, t: float, *arrays: Array) -> None:
    """Call the operation whose address is at a place of a frame: each argument is an array, empty for none."""
    words = np.array([[array.ctypes.data if array.size else 0, array.size] for array in arrays], np.int64)
    if _OPERATION(int(header[which]))(t, words.ctypes.data, user, user + 8 * int(header[L.SIZE])) != OK:
        raise StateError("momenta and joint speeds of this state do not give each other")


def _speeds(user: int, header: Array, t: float, q: Array, p: Array) -> Array:
    """Joint speeds, which the right-hand side of a frame leaves in its workspace."""
    size = int(header[L.SIZE])
    _run(user, header, L.RHS_CALL, t, q, p, np.empty(0), np.empty(q.size), np.empty(p.size))
    at = places.speeds_at(_numbers(user, size))
    return _numbers(user + 8 * (size + at), p.size).copy()


def _momenta(user: int, header: Array, t: float, q: Array, u: Array) -> Array:
    """Momenta of joint speeds."""
    p = np.empty(u.size)
    _run(user, header, L.MOMENTA_CALL, t, q, u, p)
    return p


def _tell(f: Any, what: str) -> None:
    """Once in a process."""
    global _told
    if not _told:
        _told = True
        warnings.warn(f"{what}: {name_of(f)!r} is plain Python and is called at every evaluation, some microseconds "
                      "each; decorate it with @numba.njit, or let simulate call it at a fixed rate: control_step=1e-3 "
                      "(said once)", SlowFunctionWarning, stacklevel=9)
