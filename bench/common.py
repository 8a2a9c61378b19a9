"""Timing that survives a shared machine: competitors take turns, and only ratios of the same turn are compared."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np

Calls = dict[str, Callable[[], object]]


def interleaved(calls: Calls, repeats: int = 31, seconds: float = 2e-3,
                clock: Callable[[], float] = time.perf_counter) -> dict[str, np.ndarray]:
    """Seconds per call of each competitor, one number a turn.

    Parameters
    ----------
    calls : dict of name -> function without arguments
    repeats : int
        Turns; in each turn every competitor runs for about `seconds`.
    clock : function
        `time.thread_time` (processor time of this thread) for competitors that use one thread: it does not count the
        time that other processes have.
    """
    counts = {}
    for name, call in calls.items():
        call()
        start = clock()
        for _ in range(3):
            call()
        counts[name] = max(1, int(seconds / max((clock() - start) / 3, 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            n = counts[name]
            start = clock()
            for _ in range(n):
                call()
            times[name].append((clock() - start) / n)
    return {name: np.array(values) for name, values in times.items()}


def ratio(times: dict[str, np.ndarray], name: str, reference: str) -> float:
    """Median over the turns of time(name) / time(reference)."""
    return float(np.median(times[name] / times[reference]))


def markdown(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def arguments(about: str) -> argparse.Namespace:
    """The command line that every bench script has."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, smaller models")
    return parser.parse_args()
