"""Wall-clock times that survive a busy machine: the best of many short rounds, interleaved."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from time import perf_counter
from typing import Any, TypeVar

from ..errors import ModelError
from ..inputs import Array
from ..model.checks import number
from ..model.model import Model
from ..system import System
from .repeated import Repeated

ROUNDS = 30  # short ones: a round that no other process interrupts is likely among them
FEWEST = 3  # of a call that takes longer than all its rounds should
LONG = 2e-3  # seconds: a longer call does not notice whether its data are in the caches
LONGEST = 3600.0  # seconds to spend


Name = TypeVar("Name", bound=Hashable)


def spent(seconds: Any) -> float:
    """Seconds that may be spent on a measurement."""
    value = number(seconds, "seconds")
    if not 0.0 < value <= LONGEST:
        raise ModelError(f"seconds: expected a positive number, at most {LONGEST:g}, got {value:g}")
    return value


def best_times(calls: Mapping[Name, Callable[[], object]], seconds: float = 0.05) -> dict[Name, float]:
    """Nanoseconds of each call: the smallest mean over rounds that take turns, so that all see the same machine.

    Parameters
    ----------
    calls : dict of callables without arguments
        One that has an attribute `times` does so many things at once (:class:`.repeated.Repeated`).
    seconds : float
        Time to spend on each of them, or on three rounds of a call that takes longer.

    Examples
    --------
    >>> from mbkern.flops.timing import best_times
    >>> best_times({"nothing": lambda: None}, seconds=0.001)["nothing"] > 0.0
    True
    """
    once, repeats, best = {}, {}, dict.fromkeys(calls, float("inf"))
    for name, call in calls.items():
        call()
        start = perf_counter()
        call()
        once[name] = max(perf_counter() - start, 1e-7)
        repeats[name] = max(1, int(seconds / ROUNDS / once[name]))
    for k in range(ROUNDS):
        for name, call in calls.items():
            if k >= FEWEST and k * once[name] > seconds:
                continue
            if once[name] < LONG:
                call()  # the one before has filled the caches with its own data
            again = range(repeats[name])
            start = perf_counter()
            for _ in again:
                call()
            best[name] = min(best[name], (perf_counter() - start) / repeats[name] * 1e9)
    return {name: found / getattr(calls[name], "times", 1) for name, found in best.items()}


def evaluation(model: Model, method: str) -> Callable[[], object]:
    """Right-hand sides at a fixed state, in compiled code."""
    system = System(model, method).warmup()
    return Repeated(system, *some_state(system))


def some_state(system: System) -> tuple[Array, Array]:
    """The same motion for every method: (q, p), or (q, u) where that is the state."""
    q, u = system.model.random_state(0)
    return q, u if system.variable == "u" else system.momenta(q, u)


def evaluation_times(model: Model, methods: tuple[str, ...], seconds: float = 0.05) -> dict[str, float]:
    """Nanoseconds of one right-hand side inside compiled code for each method; from Python a call costs some more.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern.flops.timing import evaluation_times
    >>> evaluation_times(mb.zoo.chain(5), ("emh-ldl",), seconds=0.01)["emh-ldl"] > 100
    True
    """
    return best_times({name: evaluation(model, name) for name in methods}, seconds)
