"""An initial value problem as compiled code sees it: addresses, sizes, and words for what may go wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import plain
from ..core import checks
from ..embed.frame import Frame, make_frame

if TYPE_CHECKING:
    from ..system import System

L = plain.load("layout")


@dataclass(frozen=True)
class Problem:
    """dy/dt = f(t, y) by the address of a C function void f(double t, const double *y, double *dydt, void *user).

    Attributes
    ----------
    address, user : int
        Of f, and what it gets as `user`.
    status : int
        Address of a double that f sets: 0 when all is well, else a code; 0 when there is none.
    split : int
        How many of the unknowns are q; the others are p.
    names : sequence of str
        What the unknowns are, for messages.
    quaternions : array of int
        Where unit quaternions begin in y.
    explain : callable
        (code, t) -> why f has no value there.
    alive : object
        Keeps what the addresses point at.
    """

    address: int
    user: int
    status: int
    split: int
    names: Sequence[str]
    quaternions: NDArray[np.int64]
    explain: Callable[[int, float], str]
    alive: Any = None

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return len(self.names)


def problem_of(system: System, tau: Any = None, wrench: Any = None) -> Problem:
    """Hamilton's equations of a system with joint forces and wrenches: numbers or njit f(t, q, p, out)."""
    frame = make_frame(system, tau, wrench)
    model = system.model

    def explain(code: int, t: float) -> str:
        return _reason(system, frame, code, t)

    return Problem(frame.address, frame.user, frame.user + 8 * L.STATUS, model.nq, _names(system), model._quaternions,
                   explain, frame)


def _names(system: System) -> list[str]:
    model = system.model
    names = [f"coordinate {name!r}" for name in model.coordinate_names]
    names += [f"momentum of {name!r}" for name in model.speed_names]
    starts = [*model.q_offsets.tolist(), model.nq], [*model.v_offsets.tolist(), model.nv]
    for offset, begin in zip((0, model.nq), starts, strict=True):
        for b, body in enumerate(model.body_names):
            for i in range(begin[b], begin[b + 1]):
                names[offset + i] += f" (body {body!r})"
    return names


def _reason(system: System, frame: Frame, code: int, t: float) -> str:
    """Why the right-hand side of a system failed."""
    if code == checks.SINGULAR:
        size = int(frame.array[L.SIZE])
        return str(system._singular(t, frame.array[size:]))
    return {
        checks.BAD_Q: "a coordinate is not finite or too large",
        checks.BAD_P: "a momentum is not finite or too large",
        checks.BAD_TAU: "the joint forces of tau or wrench are not finite",
        checks.BAD_QUATERNION: "a quaternion leaves the unit sphere within a step; a smaller step is needed",
        checks.CALLBACK_FAILED: "the function given as tau or wrench raised an exception",
    }.get(code, "the rates of the state are not finite")
