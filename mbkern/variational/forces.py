"""Derivatives of a user's force functions: given by the user, by dual numbers, or by differences when he says so."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numba import carray, cfunc, njit
from numba.extending import is_jitted

from .. import lazy
from ..callbacks import check_arguments, name_of, speeds, succeeds, wants_speeds
from ..core.arguments import data_of
from ..core.cabi import LOAD, address_of, frame_at
from ..core.checks import CALLBACK_FAILED, OK
from ..core.layout import NQ, NV, RHS_CALL, SIZE, STATUS, speeds_at
from ..errors import StateError
from ..model.checks import show

#: Of an njit function: its derivative, an njit function, or None for differences.
_KNOWN: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def with_derivative(f: Any, derivative: Any = None) -> Any:
    """A force function whose derivative is known: see `mbkern.forces.with_derivative`."""
    if not is_jitted(f):
        raise StateError(f"with_derivative: expected an njit force function, got {name_of(f)!r}; decorate it with "
                         "@numba.njit")
    if isinstance(derivative, str):
        if derivative != "duals":
            raise StateError(f'with_derivative: expected an njit function, "duals" or None, got {show(derivative)}')
        derivative = lazy.module("variational.duals").derivative_by_duals(f)
    elif derivative is not None:
        form = _form(f)
        if not is_jitted(derivative):
            raise StateError(f"with_derivative: expected an njit function {form} as the derivative of {name_of(f)!r}, "
                             f"got {name_of(derivative)!r}; decorate it with @numba.njit")
        check_arguments(derivative, f"with_derivative: derivative of {name_of(f)!r}", form)
    _KNOWN[f] = derivative
    return f


def _form(f: Any) -> str:
    return "df(t, q, p, u, tau_q, tau_p, tau_u)" if wants_speeds(f) else "df(t, q, p, tau_q, tau_p)"


def has_derivative(f: Any) -> bool:
    """Whether a derivative of this function is known, be it by differences."""
    return f in _KNOWN


def is_exact(f: Any) -> bool:
    """Whether the derivative of this function is one of the user's own."""
    return _KNOWN.get(f) is not None


def in_full(f: Any) -> Any:
    """The derivative of a function as df(t, q, p, u, tau_q, tau_p, tau_u), whichever form it has."""
    derivative = _KNOWN[f]
    if wants_speeds(f):
        return derivative

    @njit
    def by_state(t, q, p, u, tau_q, tau_p, tau_u):
        derivative(t, q, p, tau_q, tau_p)

    return by_state


def derivative_of(functions: dict[str, Any]) -> Any:
    """What gives the derivatives of these loads, by name: None where nothing has any, "differences", or a C function.

    Examples
    --------
    >>> from mbkern.variational import derivative_of
    >>> derivative_of({}) is None
    True
    """
    if not functions:
        return None
    refuse_unknown(functions)
    if set(functions) == {"tau"} and is_exact(functions["tau"]):
        return _callback(functions["tau"], _KNOWN[functions["tau"]])
    return "differences"


def exact(f: Any) -> Any:
    """The derivative of a function, an njit function; None where it is to be taken by differences."""
    return _KNOWN[f]


def refuse_unknown(functions: dict[str, Any]) -> None:
    """Raise a StateError that names the first function, by the name of its load, whose derivative is not known."""
    for what, f in functions.items():
        if not is_jitted(f) or not has_derivative(f):
            form = _form(f)
            give = (f"give one with mb.forces.with_derivative({name_of(f)}, df), an njit {form}, have it taken from "
                    f'its source with mb.forces.with_derivative({name_of(f)}, "duals"), or '
                    if what == "tau" else "")
            raise StateError(f"{what}: the derivative of the function {name_of(f)!r} is not known; {give}take it by "
                             f"differences with mb.forces.with_derivative({name_of(f)})")


@lru_cache(maxsize=256)
def _callback(f: Any, derivative: Any) -> Any:
    """C function of a derivative, with the signature of a load; `out` is the matrix nv x (nq + 2 nv), zero before."""
    if wants_speeds(f):
        @njit
        def call(frame, t, q, p, by_q, by_p, by_u):
            u, work = np.empty(int(frame[NV])), data_of(frame) + 8 * int(frame[SIZE])
            code = speeds(int(frame[RHS_CALL]), data_of(frame), work, speeds_at(frame), t, q, p, u)
            if code != OK:
                return code
            return OK if succeeds(derivative, (t, q, p, u, by_q, by_p, by_u)) else CALLBACK_FAILED
    else:
        @njit
        def call(frame, t, q, p, by_q, by_p, by_u):
            return OK if succeeds(derivative, (t, q, p, by_q, by_p)) else CALLBACK_FAILED

    def callback(t, q, p, out, user):
        frame = frame_at(address_of(user))
        nq, nv = int(frame[NQ]), int(frame[NV])
        matrix = carray(out, (nv, nq + 2 * nv))
        before, frame[STATUS] = frame[STATUS], CALLBACK_FAILED  # where nothing catches what it raises
        code = call(frame, t, carray(q, nq), carray(p, nv), matrix[:, :nq], matrix[:, nq:nq + nv], matrix[:, nq + nv:])
        frame[STATUS] = before if code == OK else code

    try:
        return cfunc(LOAD)(callback)
    except Exception as error:
        raise StateError(f"with_derivative: {name_of(derivative)}, the derivative of {name_of(f)!r}, does not compile "
                         f"as {_form(f)} for float64 t and arrays: {error}") from error
