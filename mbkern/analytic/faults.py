"""Which function of the user failed: each is called once more, from Python, where compiled code had no value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..callbacks import name_of
from ..core import checks
from ..core import quasi_layout as C
from ..errors import StateError
from ..inputs import Array
from .frame import take
from .functions import Dynamics, QuasiVelocities
from .named import NamedSpeeds

if TYPE_CHECKING:
    from .formulation import Formulation


def fault_of(formulation: Formulation, frame: Array, code: int, t: float, q: Array) -> StateError | None:
    """The first function that raises or gives no finite numbers; None when the reason is another one."""
    if code not in (checks.CALLBACK_FAILED, checks.NOT_FINITE):
        return None
    v = np.nan_to_num(take(frame, C.AT_V, formulation.m), nan=0.0, posinf=0.0, neginf=0.0)
    for what, f, call in _calls(formulation, t, q.copy(), v):
        where = f"the function {name_of(f)!r} for {what}"
        try:
            values = call()
        except Exception as cause:
            if isinstance(cause, StateError):  # its numbers were checked
                return cause
            error = StateError(f"{where} raised {type(cause).__name__}: {cause} (t = {t:.9g} s)")
            error.__cause__ = cause
            return error
        if values is not None and not np.isfinite(values).all():
            return StateError(f"{where} gave numbers that are not finite (t = {t:.9g} s)")
    return None


def _calls(formulation: Formulation, t: float, q: Array, v: Array) -> Iterator[tuple[str, Any, Callable[[], Any]]]:
    """What each function is for, the function, and a call of it that returns numbers or None."""
    constraints, quasi, forces = formulation.constraints, formulation.setup.quasi, formulation.forces
    system = formulation.system
    if isinstance(system, Dynamics):
        yield "M", system.M, lambda: system.mass_matrix(q, t)
        yield "h", system.h, lambda: system.bias(q, v, t)
    if constraints is not None:
        yield "constraints", constraints.f, lambda: constraints.evaluate(t, q, v) and None
    if isinstance(quasi, QuasiVelocities) and not isinstance(quasi, NamedSpeeds):
        yield "quasi", quasi.f, lambda: quasi.evaluate(t, q, v) and None
    if callable(forces):
        yield "forces", forces, lambda: _filled(forces, t, q, v)


def _filled(forces: Any, t: float, q: Array, v: Array) -> Array:
    out = np.zeros(v.size)
    forces(t, q.copy(), v.copy(), out)
    return out
