"""Timing that survives a shared machine: competitors take turns, and only ratios of the same turn are compared.

And where the tables go: a script run with `--write` puts them into the documentation itself, between two marks

    <!-- bench/operations.py one-state: begin -->
    <!-- bench/operations.py one-state: end -->

with a line that says when, on what machine and with which versions they were measured. Nobody types a number.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
PACKAGES = ("numpy", "numba", "scipy", "pin", "mujoco", "casadi", "jax", "heyoka", "exudyn")  # named where imported
_IMPORTED_AS = {"pin": "pinocchio"}

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


def machine() -> str:
    """Kind of processor and how many there are of it, in words."""
    kind = platform.processor() or platform.machine()
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
        kind = found.group(1) if found else kind
    except OSError:  # not Linux
        pass
    count = os.cpu_count() or 1
    return f"{re.sub(r'[(](R|TM)[)]|CPU ', '', kind).strip()}, {count} processor{'s' if count > 1 else ''}"


def versions() -> str:
    """Versions of Python, mbkern and all that this process has imported and times depend on."""
    used = [name for name in PACKAGES if _IMPORTED_AS.get(name, name) in sys.modules]
    named = [f"{_IMPORTED_AS.get(name, name)} {importlib.metadata.version(name)}" for name in used]
    import mbkern

    return ", ".join([f"Python {platform.python_version()}", f"mbkern {mbkern.__version__}", *named])


def provenance(command: str) -> str:
    """One line: how, when, where and with what a table was measured."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return f"(`{command}`, {today}; {machine()}; {versions()})"


def replaced(text: str, mark: str, table: str) -> str:
    """A page with a new table between the two marks of that name, which it must have.

    Parameters
    ----------
    text : str
        The page.
    mark : str
        "bench/operations.py one-state": the script, and which of its tables.
    table : str
        What comes between `<!-- mark: begin -->` and `<!-- mark: end -->`.
    """
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise SystemExit(f"expected one line {begin!r} and after it one line {end!r}")
    head, _, rest = text.partition(begin)
    return f"{head}{begin}\n{table.strip()}\n{end}{rest.partition(end)[2]}"


def publish(options: argparse.Namespace, page: str, mark: str, table: str, command: str) -> None:
    """Print a table; with `--write` also put it into a page of the documentation, with its provenance.

    Parameters
    ----------
    options : Namespace
        From `arguments`.
    page : str
        Path from the root of the repository, "docs/performance.md".
    mark, table : str
        See `replaced`.
    command : str
        What to type to measure it again, "python bench/operations.py".
    """
    print(table, end="\n\n", flush=True)
    if options.write:
        path = ROOT / page
        whole = replaced(path.read_text(encoding="utf-8"), mark, f"{table.strip()}\n\n{provenance(command)}")
        path.write_text(whole, encoding="utf-8")


def publish_parts(options: argparse.Namespace, page: str, tables: Mapping[str, Callable[[], str]],
                  command: str) -> None:
    """Measure and publish tables one after the other, or with `--part` one of them: "rhs" of "bench/batch.py rhs"."""
    for mark, make in tables.items():
        if options.part in (None, part_of(mark)):
            publish(options, page, mark, make(), command)


def part_of(mark: str) -> str:
    """What `--part` calls a table."""
    return mark.split()[1]


def arguments(about: str, publishes: bool = False, parts: Sequence[str] = ()) -> argparse.Namespace:
    """The command line that every bench script has; `--write` where the script publishes its tables, `--part` where it
    has several."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, smaller models")
    parser.set_defaults(write=False, part=None)
    if parts:
        parser.add_argument("--part", choices=parts, help="this table alone")
    if publishes:
        parser.add_argument("--write", action="store_true", help="put the tables into the documentation")
    options = parser.parse_args()
    if options.quick and options.write:
        parser.error("--write: the documentation has the figures of whole runs, not of --quick ones")
    return options
