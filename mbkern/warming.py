"""`System.warmup`: compile by name what is needed later."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import MethodError
from .integrate import entries
from .integrate.options import INTEGRATORS
from .integrate.simulate import give_back, lend
from .operations import OPERATIONS, Argument, with_nearest
from .waits import task

if TYPE_CHECKING:
    from .inputs import Array
    from .system import System

TINY = 1e-6  # seconds of a run that only wants to be compiled


def warmup(system: System, names: tuple[str, ...], accelerations: Callable[[], Any], runs: Any,
           run_batch: Callable[..., Any]) -> None:
    """See `mbkern.System.warmup`, which hands over its accelerations, its operations, and those of many states."""
    known = _jobs(system, accelerations, runs, run_batch)
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise MethodError(f"warmup: expected one of {', '.join(known)}, got {name!r}{with_nearest(name, [*known])}")
    for name in names:
        with task(name, system):
            known[name]()


def _jobs(system: System, accelerations: Callable[[], Any], runs: Any, run_batch: Callable[..., Any]
          ) -> dict[str, Callable[[], Any]]:
    """What to do for each name."""
    jobs: dict[str, Callable[[], Any]] = {
        "rhs": system.warmup,
        "batch": lambda: _rhs_batch(system),
        "rhs_batch": lambda: _rhs_batch(system),
        "simulate": lambda: _simulate(system, "dopri5"),
        "simulate_batch": lambda: system.simulate_batch(_rows(system, "nq"), _rows(system, "nv"), (0.0, TINY)),
        "stepper": system.stepper,
        "accelerations": accelerations,
    }
    jobs.update({name: lambda name=name: _simulate(system, name) for name in INTEGRATORS})  # type: ignore[misc]
    jobs.update({name: lambda name=name: getattr(runs, name) for name in OPERATIONS})  # type: ignore[misc]
    jobs.update({f"{name}_batch": lambda name=name: run_batch(  # type: ignore[misc]
        name, 0.0, _neutral(system, name), return_status=True) for name in OPERATIONS})
    return jobs


def _rows(system: System, size: str) -> Array:
    """One row: the neutral configuration, or zeros."""
    return system.model.neutral()[None] if size == "nq" else np.zeros((1, system.model.nv))


def _simulate(system: System, integrator: str) -> None:
    give_back(system, lend(system, INTEGRATORS[integrator], False))
    entries.look_at_steps()


def _rhs_batch(system: System) -> None:
    system.rhs_batch(_rows(system, "nq"), _rows(system, "nv"), return_status=True)


def _neutral(system: System, name: str) -> tuple[Any, ...]:
    """Inputs of an operation: one state at rest."""
    def value(argument: Argument) -> Any:
        if argument.optional:
            return None
        if argument.name == "frame":
            return system.frame_numbers(system.model.body_names[0])
        return _rows(system, "nq") if argument.name == "q" else np.zeros((1, system.model.nv))

    return tuple([value(argument) for argument in OPERATIONS[name].inputs])
