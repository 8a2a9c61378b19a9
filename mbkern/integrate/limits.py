"""Where a run left the limits of its machine, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..inputs import Array

if TYPE_CHECKING:
    from ..model.model import Model

MOST = 3  # dofs that are named
SLIGHT = 1e-6  # of the way between two limits, or of a limit: no machine knows its stops any better


def coordinate_places(model: Model) -> np.ndarray:
    """Of each dof the place of its coordinate in q; -1 for those of ball and free joints, which have none."""
    places: list[int] = []
    at = 0
    for body in model.body_specs:
        for element in body.joint.elements:
            places += [at] if element.nq == element.nv == 1 else [-1] * element.nv
            at += element.nq
    return np.array(places, np.int64)


def violations(model: Model, t: Array, q: Array, u: Array) -> list[str]:
    """A sentence for each dof whose coordinate or speed was beyond its limit at one of the times."""
    limits, places, said = model.limits, coordinate_places(model), []
    for j in np.flatnonzero(places >= 0) if t.size else ():
        name, x = model.speed_names[j], q[:, places[j]]
        beyond = np.maximum(limits.lower[j] - x, x - limits.upper[j])
        slight = SLIGHT * _way(limits.lower[j], limits.upper[j])
        if (beyond > slight).any():
            said.append(f"coordinate {name!r} left its limits {limits.lower[j]:g} .. {limits.upper[j]:g} at t = "
                        f"{t[np.argmax(beyond > slight)]:.6g} s, by at most {beyond.max():.3g}")
    for j in np.flatnonzero(np.isfinite(limits.velocity)) if t.size else ():
        fast, allowed = np.abs(u[:, j]), (1.0 + SLIGHT) * limits.velocity[j]
        if (fast > allowed).any():
            said.append(f"the speed of {model.speed_names[j]!r} was above its limit {limits.velocity[j]:g} at t = "
                        f"{t[np.argmax(fast > allowed)]:.6g} s, at most {fast.max():.3g}")
    return said


def _way(lower: float, upper: float) -> float:
    """Between two limits; where there is one, its own size."""
    finite = [x for x in (lower, upper) if np.isfinite(x)]
    return float(upper - lower if len(finite) == 2 else max(map(abs, finite), default=0.0))


def summary(said: tuple[str, ...]) -> list[str]:
    """The first few of the sentences, as lines of a printed run."""
    more = [f"note: {len(said) - MOST} more of this kind in .notes"] if len(said) > MOST else []
    return [f"note: {sentence}" for sentence in said[:MOST]] + more
