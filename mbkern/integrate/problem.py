"""An initial value problem as compiled code sees it: addresses, sizes, and words for what may go wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import lazy, states
from ..core import checks
from ..core import constants as L
from ..errors import StateError
from ..explain import CODES, load_fault, plain_fault, rows_fault, singular
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
    momenta : callable
        (t, q, x) -> p of a state; x itself where that is p.
    variable : str
        What y has beside q: "p", or "u" where f is that of a `Frame`.
    desk : callable
        () -> memory for exact derivatives of f (:mod:`mbkern.variational`); None when there are none.
    settle, reveal : int
        Of models with constraints, addresses: what makes the state after a step, what shows its true momenta; else 0.
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
    momenta: Callable[[float, Array, Array], Array] = lambda t, q, x: x
    variable: str = "p"
    desk: Callable[[], Any] = lambda: None
    settle: int = 0
    reveal: int = 0

    @property
    def functions(self) -> dict[str, Any]:
        """The functions of a user that f calls."""
        found: dict[str, Any] = getattr(self.alive, "functions", {"f": None})
        return found


def problem_of(system: System, tau: Any = None, wrench: Any = None, wrenches: bool = False, gauge: str = "reset",
               project: bool = True) -> Problem:
    """The equations of a system with joint forces and wrenches: numbers or functions f(t, q, p, out).

    `wrenches`: whether some may act later, see `Frame.load`. `gauge`, `project`: of models with constraints, see
    `System.simulate`.
    """
    frame = make_frame(system, tau, wrench, wrenches=wrenches or wrench is not None)
    model, variable = system.model, system.variable
    if model.constraints:
        frame.carry_gauge(system, gauge, project)

    def explain(code: int, t: float) -> str:
        return _reason(code)

    def momenta(t: float, q: Array, x: Array) -> Array:
        return states.momenta(system, q, x, t)

    def fault(code: int, t: float, y: Array) -> StateError | None:
        if code == checks.SINGULAR:
            size = int(frame.array[L.SIZE])
            return singular(model, frame.array[:size], frame.array[size:], t)
        if code == checks.CALLBACK_FAILED and (error := plain_fault(frame.plain, t)) is not None:
            return error
        if code in (checks.CALLBACK_FAILED, checks.BAD_TAU):
            q = y[:model.nq]
            return load_fault(frame.functions, model, t, q, momenta(t, q, y[model.nq:]))
        if code == checks.NOT_FINITE and (error := rows_fault(model, y[:model.nq], t)) is not None:
            return error
        return None

    def desk() -> Any:
        variational = lazy.module("variational")
        try:
            return variational.Desk(model, frame) if variable == "p" and not model.constraints else None
        except StateError:  # the derivative of a force function is not known
            return None

    return Problem(frame.address, frame.user, frame.user + 8 * L.STATUS, model.nq + model.nv, model.nq,
                   model.quaternion_offsets, explain, lambda i: _name(model, variable, i), frame, fault, momenta,
                   variable, desk, frame.settle, frame.reveal)


def _name(model: Model, variable: str, i: int) -> str:
    """Coordinate, momentum or speed i of y = (q, p) or (q, u) and its body, in words."""
    q = i < model.nq
    names, offsets = (model.coordinate_names, model.q_offsets) if q else (model.speed_names, model.v_offsets)
    j = i if q else i - model.nq
    # the last body that begins at or before j: welded bodies begin where the next one does
    body = model.body_names[int(np.searchsorted(offsets, j, side="right")) - 1]
    what = "coordinate" if q else "momentum of" if variable == "p" else "speed of"
    return f"{what} {names[j]!r} (body {body!r})"


def _reason(code: int) -> str:
    """Why the right-hand side of a system failed."""
    if code == checks.BAD_QUATERNION:
        return "a quaternion leaves the unit sphere within a step; a smaller step is needed"
    return CODES[code or checks.NOT_FINITE][1]
