"""Why a formulation has no value at a state, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import checks
from ..core import quasi_layout as C
from ..explain import CODES, singular
from ..inputs import Array
from ..system import System
from .choice import listed

if TYPE_CHECKING:
    from .formulation import Formulation

ACTS = (C.FORCE_ACTS, C.CONSTRAINT_ACTS, C.LAGRANGIAN_ACTS)
SINGULAR = (C.SINGULAR_S, C.CROSSED_S)


def what_acts(formulation: Formulation, frame: Array, code: int, t: float) -> str:
    """What acts along which ignored coordinate, how much and when."""
    name, value = formulation.ignorable[int(frame[C.ACTED_ON])].name, frame[C.ACTED]
    if code == C.FORCE_ACTS:
        what = f"a generalized force of {value:.6g} acts along {name!r}"
    elif code == C.CONSTRAINT_ACTS:
        what = f"constraint {int(frame[C.ACTED_BY])} contains the speed of {name!r}, with factor {value:.6g},"
    else:
        what = f"dL/dq of {name!r} is {value:.6g}"
    return f"{what} at t = {t:.9g} s"


def reason(formulation: Formulation, frame: Array, code: int, t: float, q: Array | None = None) -> str:
    """What a code means."""
    where = "" if q is None else " at " + listed(
        [f"{n} = {x:.6g}" for n, x in zip(formulation.coordinate_names, q, strict=True)])
    chosen = listed(formulation.quasi_names)
    if code in ACTS:
        return (f"{what_acts(formulation, frame, code, t)}, but it is taken for ignorable and its momentum for "
                "constant; go on with on_violation=\"switch\", or leave it out of ignorable=[...]")
    if code == C.CROSSED_S:
        return (f"S becomes singular just after{where}: its determinant changes sign; the quasi-velocities u = "
                f"({chosen}) do not determine the speeds there: choose others")
    if code == C.SINGULAR_S:
        return (f"S is singular{where}: 1/cond = {frame[C.RCOND]:.3g} is below the threshold {frame[C.THRESHOLD]:g}; "
                f"the quasi-velocities u = ({chosen}) do not determine the speeds there: choose others")
    if code == C.SINGULAR_MASS:
        return (f"the equations of motion are singular{where}: the constraints are dependent there, some motion "
                "has no inertia, or two rotations of a joint have come to one axis (gimbal lock)")
    if code == C.SINGULAR_TREE:
        assert isinstance(formulation.system, System)
        work = frame[int(frame[C.AT_TREE]):]
        return str(singular(formulation.system.model, formulation.system.block, work, t))
    if code == checks.CALLBACK_FAILED:
        return "a function of yours (constraints, quasi-velocities, forces, M or h) raised an exception"
    name, meaning = CODES[code]
    return f"{name}: {meaning}"
