"""Whether a run failed because the machine is stiff: rates of change that are too fast for its steps."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from ..inputs import Array
from .kernels import plan as P

if TYPE_CHECKING:
    from .options import Integrator
    from .problem import Problem

STABLE = 2.7  # largest |h lambda| of a damped motion that "rk4" does not blow up (2.79), with a little room
SANE = 1e6  # states beyond it are the result of a failure, not its cause
MOST = 300  # unknowns; the eigenvalues of a larger matrix take too long for a hint
_DOUBLES = ctypes.POINTER(ctypes.c_double)
_ODE = ctypes.CFUNCTYPE(None, ctypes.c_double, _DOUBLES, _DOUBLES, ctypes.c_void_p)


def hint(problem: Problem, integrator: Integrator, step: float, states: list[tuple[float, Array]]) -> str:
    """What to say about a run that failed with steps of this size near the states (t, y); nothing if it is not stiff.

    The fastest rate is the largest eigenvalue of the Jacobian of the right-hand side, forces included.
    """
    sane = [(t, y) for t, y in states if problem.size <= MOST and (np.abs(y) < SANE).all()]
    rate = max((fastest_rate(problem, t, y) for t, y in sane), default=0.0)
    if not rate * abs(step) > STABLE:
        return ""
    words = f"; the machine is stiff there: its fastest rate is {rate:.2g} 1/s (springs, dampers or forces)"
    if integrator.kind == P.GAUSS:
        return f"{words}, so take a smaller step, or a smaller stiffness"
    return (f"{words}, and {integrator.name!r} needs steps below {STABLE / rate:.1g} s for it: take \"gauss4\", a "
            "smaller step, or a smaller stiffness")


def fastest_rate(problem: Problem, t: float, y: Array) -> float:
    """Largest absolute eigenvalue of df/dy, by differences; 0 where f has no value."""
    call = _ODE(problem.address)
    rates, moved = np.empty((y.size + 1, y.size)), y.copy()

    def evaluate(row: int) -> None:
        call(t, moved.ctypes.data_as(_DOUBLES), rates[row].ctypes.data_as(_DOUBLES), problem.user)

    evaluate(y.size)
    change = 1e-7 * np.maximum(1.0, np.abs(y))
    for j in range(y.size):
        moved[j] = y[j] + change[j]
        evaluate(j)
        moved[j] = y[j]
    if not np.isfinite(rates).all():
        return 0.0
    return float(np.abs(np.linalg.eigvals((rates[:-1] - rates[-1]) / change[:, None])).max(initial=0.0))
