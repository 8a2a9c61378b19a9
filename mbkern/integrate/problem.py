"""An initial value problem as compiled code sees it: addresses, sizes, and words for what may go wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core import constants as L
from ..errors import StateError
from ..explain import CODES, load_fault, singular
from ..inputs import Array
from ..model.model import Model
from ..workspace.frame import make_frame

if TYPE_CHECKING:
    from ..system import System



@dataclass(frozen=True)
class Problem:
    """dy/dt = f(t, y) by the address of a C function void f(double t, const double *y, double *dydt, void *user).

    Attributes
    ----------
    address, user : int
        Of f, and what it gets as `user`.
    status : int
        Address of a double that f sets: 0 when all is well, else a code; 0 when there is none.
    size, split : int
        Number of unknowns, and how many of them are q; the others are p.
    quaternions : array of int
        Where unit quaternions begin in y.
    explain : callable
        (code, t) -> why f has no value there.
    name : callable
        (i) -> what unknown i is, for messages.
    alive : object
        Keeps what the addresses point at.
    fault : callable
        (code, t, y) -> the error of a user's function that has no value there, with what it raised as its cause;
        None when the reason is another one.
    """

    address: int
    user: int
    status: int
    size: int
    split: int
    quaternions: NDArray[np.int64]
    explain: Callable[[int, float], str]
    name: Callable[[int], str]
    alive: Any = None
    fault: Callable[[int, float, Array], StateError | None] = lambda code, t, y: None


def problem_of(system: System, tau: Any = None, wrench: Any = None) -> Problem:
    """Hamilton's equations of a system with joint forces and wrenches: numbers or njit f(t, q, p, out)."""
    frame = make_frame(system, tau, wrench)
    model = system.model

    functions = {what: f for what, f in (("tau", tau), ("wrench", wrench)) if callable(f)}

    def explain(code: int, t: float) -> str:
        return _reason(code)

    def fault(code: int, t: float, y: Array) -> StateError | None:
        if code == checks.SINGULAR:
            size = int(frame.array[L.SIZE])
            return singular(model, frame.array[:size], frame.array[size:], t)
        if code in (checks.CALLBACK_FAILED, checks.BAD_TAU):
            return load_fault(functions, model, t, y[:model.nq], y[model.nq:])
        return None

    return Problem(frame.address, frame.user, frame.user + 8 * L.STATUS, model.nq + model.nv, model.nq,
                   model._quaternions, explain, lambda i: _name(model, i), frame, fault)


def _name(model: Model, i: int) -> str:
    """Coordinate or momentum i of y = (q, p) and its body, in words."""
    q = i < model.nq
    names, offsets = (model.coordinate_names, model.q_offsets) if q else (model.speed_names, model.v_offsets)
    j = i if q else i - model.nq
    # the last body that begins at or before j: welded bodies begin where the next one does
    body = model.body_names[int(np.searchsorted(offsets, j, side="right")) - 1]
    return f"{'coordinate' if q else 'momentum of'} {names[j]!r} (body {body!r})"


def _reason(code: int) -> str:
    """Why the right-hand side of a system failed."""
    if code == checks.BAD_QUATERNION:
        return "a quaternion leaves the unit sphere within a step; a smaller step is needed"
    return CODES[code or checks.NOT_FINITE][1]
