"""What a status code of the compiled code means, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import plain
from .core import checks
from .errors import SingularInertiaError, StateError
from .inputs import Array
from .model.drives import Spline
from .model.joint import Step
from .model.model import Model

L = plain.load("layout")

# name, meaning: in the order of the codes
CODES = (
    ("OK", "all is well"),
    ("BAD_Q", "q is not finite, or an angle or distance is beyond 1e12"),
    ("BAD_P", "p is not finite, or beyond 1e200"),
    ("BAD_TAU", "the joint forces are not finite, or beyond 1e200"),
    ("BAD_QUATERNION", "the length of a quaternion in q is not within 10 % of 1"),
    ("SINGULAR", "a joint has nothing to move (zero articulated inertia), or a drive has no value at this time"),
    ("NOT_FINITE", "the result overflowed"),
    ("BAD_SHAPE", "an array has the wrong size"),
    ("BAD_T", "t is not finite, or beyond 1e200"),
    ("STALE", "this machine code was compiled from other sources of mbkern than those that made the block: "
              "delete the cache of the function that calls it"),
    ("CALLBACK_FAILED", "the function that gives forces or wrenches raised an exception"),
)


def moving_elements(model: Model) -> list[tuple[Any, Any]]:
    """(body, element) of each node, in the order of the nodes."""
    return [(body, element) for body in model.body_specs for element in body.joint.elements
            if not (isinstance(element, Step) and element.is_constant)]


def singular(model: Model, block: Array, work: Array, t: float | None = None) -> StateError:
    """Which node has a margin that is not positive, in words."""
    at = L.margins_at(block)
    margins = work[at:at + int(block[L.N_NODES])]
    node = int(np.flatnonzero(~(margins > 0.0))[-1])
    body, element = moving_elements(model)[node]
    when = "" if t is None else f" at t = {t:g}"
    if isinstance(element, Step) and element.is_driven:
        drive = element.amount
        where = f"it is defined from {drive.t[0]:g} to {drive.t[-1]:g}" if isinstance(drive, Spline) else (
            "its values must be finite")
        return StateError(f"body {body.name!r}: the drive of its joint has no value{when or ' at this time'}; {where}")
    remedy = "give the body or a body beyond it mass or inertia there, or its joint armature"
    if len([e for e in body.joint.elements if e.nv]) > 1:
        remedy += ", or leave this configuration if axes of the joint line up in it (gimbal lock; ball() has none)"
    return SingularInertiaError(
        f"body {body.name!r}: its {body.joint.kind} joint ({element}) has nothing to move{when}: the "
        f"articulated inertia along it is zero to rounding; {remedy}", body.name, body.joint.kind)


def error_of(model: Model, frame: Array) -> StateError | None:
    """The error that the status of a frame stands for; None when all is well."""
    code, size = int(frame[L.STATUS]), int(frame[L.SIZE])
    if code == checks.OK:
        return None
    if code == checks.SINGULAR:
        return singular(model, frame[:size], frame[size:])
    name, meaning = CODES[code]
    return StateError(f"{name}: {meaning}")
