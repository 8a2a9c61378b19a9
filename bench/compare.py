"""Two versions of mbkern against each other in one run: is the new one as fast as the old one?

    python bench/compare.py OLD NEW [--limit 1.03] [--only TEXT] [--turns 15] [--pairs 3] [--cold 2] [--out FILE]

OLD and NEW are folders with the sources (`OLD/mbkern/...`), environments with mbkern installed, or their `python`. Each
version has a process of its own that stays and is told what to do: old and new take turns of some milliseconds, so that
a busy moment hits both alike, and only times of the same turn are compared. Where a process happens to put its code and
data changes its speed by some per cent; therefore there are several pairs of processes. The cold start, in processor
seconds of fresh processes with an empty cache, takes turns too.

Prints a table of new / old (above 1: the new one is slower), medians over all turns with the quartiles. A case above
the limit is measured once more, three times as long, and that counts; the program fails if it is still above.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
from common import markdown

HERE = Path(__file__).parent
TURN = 5e-3  # processor seconds of one version in one turn
LIMIT = 900.0  # seconds: no answer of a worker takes longer (the first compiles)
FIRST_CALL = ("import time, mbkern as mb; model = mb.zoo.{}; q, u = model.random_state(1); mb.System(model).rhs(q, u); "
              "print(time.process_time())")
COLD = {f"cold start to the first rhs, {model}": model for model in ("chain(10)", "pipelayer()")}


class Version:
    """Where a version is, and how to start its Python."""

    def __init__(self, given: str) -> None:
        path = Path(given).absolute()
        self.python, self.env = sys.executable, dict(os.environ)
        if (path / "mbkern" / "__init__.py").is_file():
            self.env["PYTHONPATH"] = str(path)
        elif (path / "bin" / "python").is_file():
            self.python = str(path / "bin" / "python")
        elif path.is_file() and os.access(path, os.X_OK):
            self.python = str(path)
        else:
            raise SystemExit(f"{given}: expected a folder with mbkern/ in it, an environment, or its python")
        if self.python != sys.executable:
            self.env.pop("PYTHONPATH", None)

    def first_call(self, model: str) -> float:
        """Processor seconds of a fresh process to its first right-hand side, nothing compiled before."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([self.python, "-c", FIRST_CALL.format(model)], cwd=folder, text=True, check=True,
                                  env=dict(self.env, NUMBA_CACHE_DIR=folder), stdout=subprocess.PIPE, timeout=LIMIT)
        return float(done.stdout)


class Worker:
    """A process of one version that waits for orders."""

    def __init__(self, version: Version) -> None:
        self.process = subprocess.Popen([version.python, str(HERE / "compare_worker.py")], env=version.env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.about = self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        timer = Timer(LIMIT, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        if not line:
            raise SystemExit(f"a worker ended with status {self.process.wait()} or took longer than {LIMIT:g} s")
        return json.loads(line)

    def __call__(self, **order: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


@dataclass
class Case:
    """What was measured: times of both, one of each a turn."""

    name: str
    old: list[float]
    new: list[float]
    missing: str = ""

    @property
    def ratio(self) -> float:
        return float(np.median(np.array(self.new) / self.old)) if self.new else float("nan")

    def row(self, limit: float) -> list[str]:
        if self.missing:
            return [self.name, "-", "-", "-", "-", self.missing]
        low, high = np.quantile(np.array(self.new) / self.old, (0.25, 0.75))
        return [self.name, show(np.median(self.old)), show(np.median(self.new)), f"{self.ratio:.3f}",
                f"{low:.3f} to {high:.3f}", "SLOWER" if self.ratio > limit else ""]


def show(seconds: float) -> str:
    """A time in a unit that suits it."""
    unit, many = ("s", 1.0) if seconds > 1.0 else ("ms", 1e3) if seconds > 1e-3 else ("us", 1e6)
    return f"{seconds * many:.2f} {unit}"


def take_turns(old: Worker, new: Worker, case: Case, turns: int) -> None:
    """Measure one case, the order of the two changing from turn to turn."""
    once = [worker(case=case.name) for worker in (old, new)]
    for name, said in zip(("old", "new"), once, strict=True):
        if "missing" in said:
            case.missing = f"not in {name}: {said['missing']}"
            return
    calls = max(1, round(TURN / max(once[0]["seconds"], 1e-7)))
    for turn in range(turns):
        pair = [(old, case.old), (new, case.new)]
        for worker, times in pair if turn % 2 == 0 else reversed(pair):
            times.append(worker(case=case.name, calls=calls)["seconds"])


def measure(old: Version, new: Version, names: list[str], turns: int, pairs: int) -> list[Case]:
    """All cases, the turns shared out among several pairs of processes."""
    cases = [Case(name, [], []) for name in names]
    for _ in range(pairs):
        with Worker(old) as first, Worker(new) as second:
            for case in cases:
                take_turns(first, second, case, turns)
    return cases


def cold_starts(old: Version, new: Version, names: list[str], repeats: int) -> list[Case]:
    cases = [Case(name, [], []) for name in names]
    for case in cases:
        for _ in range(repeats):
            for version, times in ((old, case.old), (new, case.new)):
                times.append(version.first_call(COLD[case.name]))
    return cases


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="two versions of mbkern in one run; fails where the new is slower")
    parser.add_argument("old", type=Version)
    parser.add_argument("new", type=Version)
    parser.add_argument("--limit", type=float, default=1.03, help="largest new / old that is no loss (1.03)")
    parser.add_argument("--only", default="", help="only cases with this text in their names")
    parser.add_argument("--turns", type=int, default=15, help="turns of each pair of processes (15)")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of processes (3)")
    parser.add_argument("--cold", type=int, default=2, help="cold starts of each version, 10 to 20 s each; 0: none (2)")
    parser.add_argument("--out", type=Path, help="write all times to this JSON file")
    options = parser.parse_args()
    if not (options.turns > 0 and options.pairs > 0 and options.cold >= 0 and options.limit > 0):
        parser.error("--turns, --pairs and --limit: expected more than 0; --cold: at least 0")
    return options


def main() -> int:
    options = arguments()
    old, new = options.old, options.new
    with Worker(old) as first, Worker(new) as second:
        print(f"old: {first.about['file']} ({first.about['version']})")
        print(f"new: {second.about['file']} ({second.about['version']})\n", flush=True)
        names = [name for name in first(list=True)["cases"] if options.only in name]
    cold = [name for name in COLD if options.only in name] if options.cold else []
    if not names and not cold:
        raise SystemExit(f"--only: no case has {options.only!r} in its name")
    cases = measure(old, new, names, options.turns, options.pairs) + cold_starts(old, new, cold, options.cold)
    suspects = {case.name for case in cases if case.ratio > options.limit}
    if suspects:
        print(f"{len(suspects)} above the limit, measured once more\n", flush=True)
        again = measure(old, new, [name for name in names if name in suspects], 3 * options.turns, options.pairs)
        again += cold_starts(old, new, [name for name in cold if name in suspects], 2 * options.cold)
        cases = [next((other for other in again if other.name == case.name), case) for case in cases]
    print(markdown(["case", "old", "new", "new / old", "quartiles", ""], [case.row(options.limit) for case in cases]))
    if options.out:
        options.out.write_text(json.dumps([{**asdict(case), "ratio": case.ratio} for case in cases], indent=1) + "\n")
    slower = [case for case in cases if case.ratio > options.limit]
    print(f"\n{len(slower)} of {len(cases)} slower than {options.limit:g} times the old version")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
