"""The compiled parts of the integrators: what Python calls, and the addresses of what these call.

What Python calls is compiled for one signature: arguments of other types are an error (TypeError), not a reason to
compile. Each part is compiled when it is first asked for: a run without events needs no events.
"""

from __future__ import annotations

from collections.abc import Callable

from numba import types

from ..locks import COMPILING
from ..waits import task
from .kernels import lane_common, lane_steps, look, run, stepping, steps, tangent
from .kernels import plan as P

_NUMBERS = types.Array(types.float64, 1, "C")
_SIGNATURES = {
    run.unit: (types.int64,),
    run.start: (types.int64,),
    run.prepare: (*[types.int64] * 8, *[types.float64] * 5),
    run.begin: (types.int64, _NUMBERS, _NUMBERS, types.int64),
    run.run: (types.int64, types.int64),
    stepping.hold: (types.int64, _NUMBERS),
}

Entry = Callable[..., int]


def compiled(function: Entry) -> Entry:
    """The function, compiled now or long ago."""
    if not function.signatures:  # type: ignore[attr-defined]
        with COMPILING:
            if not function.signatures:  # type: ignore[attr-defined]
                function.compile(_SIGNATURES[function])  # type: ignore[attr-defined]
                function.disable_compile()  # type: ignore[attr-defined]
    return function


def step_of(kind: int) -> int:
    """Address of the step of this kind of method; see `kernels.steps`."""
    parts = {P.RK4: steps.rk4, P.DOPRI5: steps.dopri5, P.GAUSS: steps.gauss}
    return int(parts[kind].address)


def newton_step() -> int:
    """Address of the step of a Gauss method that has room for Newton's matrices."""
    with task("Newton's iteration"):
        return int(steps.gauss_newton.address)


def tangents_of(kind: int) -> tuple[int, int]:
    """Addresses of the tangents of a step of this kind of method, and of what follows a step; see `kernels.tangent`."""
    parts = {P.RK4: tangent.rk4_tangents, P.DOPRI5: tangent.dopri5_tangents, P.GAUSS: tangent.gauss_tangents}
    with task("tangents"):
        return int(parts[kind].address), int(tangent.follow.address)


def look_at_steps() -> int:
    """Address of what happens between the ends of a step; see `kernels.look`."""
    if not look.look.ready:
        with task("output between steps"):
            return int(look.look.address)
    return int(look.look.address)


def look_at_start() -> int:
    """Address of what events need at the beginning."""
    return int(look.look_first.address)


def parts_on_lanes(kind: int) -> tuple[int, int, int]:
    """Addresses of f on all lanes, of the step of this kind of method, and of the search for a first one (0: none)."""
    parts = {P.RK4: lane_steps.rk4_lanes, P.DOPRI5: lane_steps.dopri5_lanes, P.GAUSS: lane_steps.midpoint_lanes}
    seek = int(lane_steps.first_steps.address) if kind == P.DOPRI5 else 0
    return int(lane_common.evaluate_lanes.address), int(parts[kind].address), seek
