"""`System.warmup`: compile by name what is needed later; and which names there are for everything (`stages`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from . import lazy
from .errors import MethodError
from .integrate import entries
from .integrate.options import INTEGRATORS
from .integrate.simulate import give_back, lend
from .methods import STATE_METHODS
from .model.checks import show
from .operations import CONSTRAINT_OPERATIONS, OPERATIONS, Argument, with_nearest
from .waits import expected, task

if TYPE_CHECKING:
    from .inputs import Array
    from .model.model import Model
    from .system import System

TINY = 1e-6  # seconds of a run that only wants to be compiled


def warmup(system: System, names: tuple[str, ...], accelerations: Callable[[], Any], runs: Any,
           run_batch: Callable[..., Any]) -> None:
    """See `mbkern.System.warmup`, which hands over its accelerations, its operations, and those of many states."""
    known = _jobs(system, accelerations, runs, run_batch)
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise MethodError(f"warmup: expected one of {', '.join(known)}, got {show(name)}"
                              f"{with_nearest(name, [*known])}")
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
        name, 0.0, neutral_inputs(system, name), return_status=True) for name in OPERATIONS})
    if system.model.constraints:
        jobs.update({name: lambda name=name: getattr(runs, name)  # type: ignore[misc]
                     for name in CONSTRAINT_OPERATIONS})
        jobs["jacobian_rhs"] = lambda: lazy.module("core.constrained_engine").engine_of_duals.address
    return jobs


def _rows(system: System, size: str) -> Array:
    """One row: the neutral configuration, or zeros."""
    return system.model.neutral()[None] if size == "nq" else np.zeros((1, system.model.nv))


def _simulate(system: System, integrator: str) -> None:
    give_back(system, lend(system, INTEGRATORS[integrator], False))
    entries.look_at_steps()


def _rhs_batch(system: System) -> None:
    system.rhs_batch(_rows(system, "nq"), _rows(system, "nv"), return_status=True)


def neutral_inputs(system: System, name: str) -> tuple[Any, ...]:
    """Inputs of an operation: one state at rest."""
    def value(argument: Argument) -> Any:
        if argument.optional:
            return None
        if argument.name == "frame":
            return system.frame_numbers(system.model.body_names[0])
        return _rows(system, "nq") if argument.name == "q" else np.zeros((1, system.model.nv))

    return tuple([value(argument) for argument in OPERATIONS[name].inputs])


# ---- everything, in several processes --------------------------------------------------------------------------------

WORDS = ("rhs", "batch", "rhs_batch", "simulate", "simulate_batch", "stepper", "accelerations")  # beside operations
COMMON = ("rhs", "rhs_batch", "simulate", "stepper", "simulate_batch", "momenta", "velocities", "energy")
# what trees of hinges have of their own, derivatives with all trees of single dofs; all else serves any tree
OF_HINGES = ("rhs", "rhs_batch", "simulate_batch", "jacobian_rhs", "jvp", "vjp", "jacobian_rhs_batch", "jvp_batch",
             "vjp_batch")
OF_LOOPS = ("rhs", "rhs_batch", "simulate", "accelerations", "jacobian_rhs", *CONSTRAINT_OPERATIONS)
FIRST, LAST = ("rhs",), ("simulate_batch",)  # others need the first; the last needs others
ANY = "emh-ldl"  # the method of trees, unless one is named


@dataclass(frozen=True)
class Job:
    """One thing to compile: `System(model, method).warmup(name)`.

    Attributes
    ----------
    machine : str or Model
        "hinges", "any" (joints) or "loops": trees of hinges have a quicker right-hand side, closed loops another one;
        or a model.
    method, name : str
    """

    machine: str | Model
    method: str
    name: str

    def __str__(self) -> str:
        kind = {"hinges": " of trees of hinges", "any": "", "loops": " of closed loops"}.get(str(self.machine), "")
        return f"{self.name}{'' if self.method in (ANY, 'auto') else f' by {self.method}'}{kind}"

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        kind = self.machine if isinstance(self.machine, str) else "loops" if self.machine.constraints else "any"
        return expected(self.name, kind, self.name in FIRST)


def stages(names: Sequence[str] = (), everything: bool = False, model: Model | None = None) -> list[list[Job]]:
    """What to compile, for trees of all kinds or for one model; what is in one list may be done side by side.

    Examples
    --------
    >>> from mbkern.warming import stages
    >>> [[str(job) for job in jobs] for jobs in stages(["rhs", "energy"])]
    [['rhs', 'rhs of trees of hinges'], ['energy']]
    """
    if model is not None:
        known = names_for(model.constraints)
        every = OF_LOOPS if model.constraints else _every(known)
        _look_at(names, known)
        jobs = [Job(model, "auto", name) for name in (every if everything else names or COMMON)
                if name in known]
    elif everything:
        known = names_for(())
        jobs = [Job("hinges", ANY, name) for name in OF_HINGES]
        jobs += [Job("any", ANY, name) for name in _every(known)]
        jobs += [Job("any", method, name) for method in STATE_METHODS if method != ANY for name in ("rhs", "rhs_batch")]
        jobs += [Job("loops", "auto", name) for name in OF_LOOPS]
    else:
        _look_at(names, names_for(()))
        jobs = [Job(machine, ANY, name) for name in names or COMMON for machine in ("any", "hinges")
                if machine == "any" or name in OF_HINGES]
    jobs.sort(key=lambda job: -job.seconds)
    parts = [[job for job in jobs if job.name in FIRST],
             [job for job in jobs if job.name not in (*FIRST, *LAST)], [job for job in jobs if job.name in LAST]]
    return [part for part in parts if part]


def compile_job(job: Job) -> None:
    """Do it."""
    _system(job.machine, job.method).warmup(job.name)


def names_for(constraints: Sequence[Any]) -> list[str]:
    """What `System.warmup` takes for a model with these constraints."""
    return [*WORDS, *INTEGRATORS, *OPERATIONS, *[f"{name}_batch" for name in OPERATIONS],
            *(CONSTRAINT_OPERATIONS if constraints else ())]


def _every(known: Sequence[str]) -> list[str]:
    """All names, those that are other words for the same left out."""
    return [name for name in known if name not in ("batch", "simulate")]


def _look_at(names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise MethodError(f"warmup: expected some of {', '.join(known)}, got {show(name)}"
                              f"{with_nearest(name, known)}")


@lru_cache
def _system(machine: str | Model, method: str) -> System:
    zoo, system = lazy.module("model.zoo"), lazy.module("system").System
    made = {"hinges": lambda: zoo.chain(2), "any": lambda: zoo.random_tree(5, seed=1), "loops": zoo.four_bar}
    model = made[machine]() if isinstance(machine, str) else machine
    result: System = system(model, method)
    return result
