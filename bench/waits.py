"""How long does the first call of everything take, with nothing compiled on disk? Processor seconds, in a new process.

For what people call first, alone in its process and after what comes before it in the table, whose parts it shares.

    python bench/waits.py            # the tables
    python bench/waits.py --write    # and into docs/howto/waits.md and mbkern/waits.py, which announces these times
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable

from common import ROOT, arguments, markdown, publish

from mbkern.operations import OPERATIONS

MODELS = {"hinges": "mb.zoo.chain(5)", "any": "mb.zoo.random_tree(5, seed=1)"}
MAIN = {  # name for `warmup`: what people call
    "rhs": "`rhs`", "rhs_batch": "`rhs_batch`", "dopri5": '`simulate`, "dopri5"', "gauss4": '`simulate`, "gauss4"',
    "stepper": "`stepper`", "simulate_batch": "`simulate_batch`", "accelerations": "`accelerations`",
}
SAME = {"batch": "rhs_batch", "simulate": "dopri5", "rk4": "dopri5", "midpoint": "gauss4", "gauss6": "gauss4"}
ONE = """
import time
import mbkern as mb
system = mb.System({model})
for name in {names}:
    begin = time.process_time()
    system.warmup(name)
    print(time.process_time() - begin)
"""


def seconds(names: Iterable[str], model: str) -> dict[str, tuple[float, float]]:
    """Processor seconds of `warmup(name)`, one after the other in a new process, with nothing on disk and with all."""
    script = ONE.format(model=MODELS[model], names=list(names))
    times = []
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, NUMBA_CACHE_DIR=folder, MBKERN_ANNOUNCE="off")
        for _ in range(2):
            done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True,
                                  env=environment, check=True)
            times.append([float(line) for line in done.stdout.split()])
    return {name: (cold, warm) for name, cold, warm in zip(names, *times, strict=True)}


def whole(options: Iterable[str]) -> tuple[str, float]:
    """What `python -m mbkern warmup` says, and its seconds (of a clock) with nothing on disk, on all processors."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "mbkern", "warmup", *options], cwd=ROOT, capture_output=True,
                              text=True, env=dict(os.environ, NUMBA_CACHE_DIR=folder), check=True)
        return done.stdout.split()[0], time.perf_counter() - begin


def write_seconds(found: dict[str, tuple[float, float]]) -> None:
    """Put what was found into the package, which announces it."""
    found = found | {name: found[other] for name, other in SAME.items()}
    lines = "".join(f'    "{name}": ({hinges:.1f}, {others:.1f}),\n' for name, (hinges, others) in found.items())
    path = ROOT / "mbkern" / "waits.py"
    begin, end = "# bench/waits.py seconds: begin\n", "# bench/waits.py seconds: end\n"
    head, _, rest = path.read_text(encoding="utf-8").partition(begin)
    table = f"SECONDS: dict[str, tuple[float, float]] = {{\n{lines}}}\n"
    path.write_text(f"{head}{begin}{table}{end}{rest.partition(end)[2]}", encoding="utf-8")


def main() -> None:
    options = arguments(__doc__.splitlines()[0], publishes=True)
    page, command = "docs/howto/waits.md", "python bench/waits.py"
    names = ["rhs"] if options.quick else list(MAIN)
    hinges, others = (seconds(names, model) for model in MODELS)
    alone = {(name, model): seconds([name], model)[name][0] for name in names for model in MODELS}
    publish(options, page, "bench/waits.py main", markdown(
        ["first call of", "hinges only", "any joints", "hinges, after the rows above", "any, after the rows above",
         "any, from the disk"],
        [[MAIN[name], f"{alone[name, 'hinges']:.1f}", f"{alone[name, 'any']:.1f}", f"{hinges[name][0]:.1f}",
          f"{others[name][0]:.1f}", f"{others[name][1]:.2f}"] for name in names]),
        command)
    rows = []
    for words in ([["rhs"]] if options.quick else [[], ["--all"]]):
        count, took = whole(words)
        rows.append([f"`{' '.join(['python -m mbkern warmup', *words])}`", count, f"{took:.0f} s"])
    publish(options, page, "bench/waits.py all", markdown(["command", "things compiled", "time"], rows), command)
    table = seconds([] if options.quick else OPERATIONS, "any")
    publish(options, page, "bench/waits.py operations", markdown(
        ["first call of", "any joints"], [[f"`{name}`", f"{cold:.1f}"] for name, (cold, _) in table.items()]), command)
    if options.write:
        write_seconds({name: (hinges[name][0], others[name][0]) for name in names}
                      | {name: (cold, cold) for name, (cold, _) in table.items()})


if __name__ == "__main__":
    main()
