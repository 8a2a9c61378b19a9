"""How long does the first call of everything take, with nothing compiled on disk? Processor seconds, in a new process.

For what people call first, alone in its process, and after other things, whose parts it shares.

    python bench/waits.py                          # the tables
    python bench/waits.py --part alone             # one of them: alone, after, operations, loops, all
    python bench/waits.py --write                  # into docs/howto/waits.md and mbkern/waits.py, which announces them
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from common import ROOT, arguments, markdown, part_of, publish_parts

from mbkern.operations import CONSTRAINT_OPERATIONS, OPERATIONS

PAGE, COMMAND = "docs/howto/waits.md", "python bench/waits.py"
MODELS = {"hinges": "mb.zoo.chain(5)", "any": "mb.zoo.random_tree(5, seed=1)", "loops": "mb.zoo.four_bar()"}
MAIN = {  # name for `warmup`: what people call
    "rhs": "`rhs`", "rhs_batch": "`rhs_batch`", "dopri5": '`simulate`, "dopri5"', "gauss4": '`simulate`, "gauss4"',
    "stepper": "`stepper`", "simulate_batch": "`simulate_batch`", "accelerations": "`accelerations`",
}
SYSTEM = "constraints"  # what a machine with constraints compiles when a System is made of it
LOOPS = (SYSTEM, "rhs", "dopri5", "accelerations", *CONSTRAINT_OPERATIONS)
RUNS = ("simulate", "stepper", "rk4", "midpoint", "gauss4", "gauss6")  # share most with "dopri5"
SAME = {"batch": "rhs_batch", "simulate": "dopri5", "rk4": "dopri5", "midpoint": "gauss4", "gauss6": "gauss4"}
ONE = """
import time
import mbkern as mb
begin = time.process_time()
system = mb.System({model})
for name in {names}:
    if name != "constraints":
        begin = time.process_time()
        system.warmup(name)
    print(time.process_time() - begin)
"""

Seconds = Mapping[str, tuple[float, float]]


def process(names: Iterable[str], model: str, folder: str) -> list[float]:
    """Processor seconds of `warmup(name)`, one after the other in a new process, with this cache on disk."""
    script = ONE.format(model=MODELS[model], names=list(names))
    environment = dict(os.environ, NUMBA_CACHE_DIR=folder, MBKERN_ANNOUNCE="off")
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, env=environment,
                          check=True)
    return [float(line) for line in done.stdout.split()]


def seconds(names: Iterable[str], model: str) -> dict[str, tuple[float, float]]:
    """The same with nothing on disk, and with all."""
    with tempfile.TemporaryDirectory() as folder:
        both = zip(process(names, model, folder), process(names, model, folder), strict=True)
        return dict(zip(names, both, strict=True))


def cold(names: Iterable[str], model: str) -> dict[str, float]:
    """The same with nothing on disk."""
    with tempfile.TemporaryDirectory() as folder:
        return dict(zip(names, process(names, model, folder), strict=True))


def alone(name: str, model: str) -> float:
    """Processor seconds of a first call in a process of its own, with nothing on disk."""
    return cold([name], model)[name]


def whole(options: Iterable[str]) -> tuple[str, float, float]:
    """What `python -m mbkern warmup` says with nothing on disk, processor seconds of its one process, MB on disk."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "mbkern", "warmup", "--jobs", "1", *options]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True,
                              env=dict(os.environ, NUMBA_CACHE_DIR=folder))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        kept = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return done.stdout.split()[0], used, kept / 1e6


def announced(name: str, found: Seconds) -> None:
    """Put what was found into the package, which announces it, as the table of that name."""
    lines = "".join(f'    "{key}": ({first:.1f}, {second:.1f}),\n' for key, (first, second) in found.items())
    path = ROOT / "mbkern" / "waits.py"
    begin, end = f"# bench/waits.py {name.lower()}: begin\n", f"# bench/waits.py {name.lower()}: end\n"
    head, _, rest = path.read_text(encoding="utf-8").partition(begin)
    table = f"{name}: dict[str, tuple[float, float]] = {{\n{lines}}}\n"
    path.write_text(f"{head}{begin}{table}{end}{rest.partition(end)[2]}", encoding="utf-8")


def with_same(found: Seconds) -> Seconds:
    """And other names of the same."""
    return {**found, **{name: found[other] for name, other in SAME.items()}}


def alone_table(quick: bool, write: bool) -> str:
    names = ["rhs"] if quick else list(MAIN)
    found = {name: (alone(name, "hinges"), alone(name, "any")) for name in names}
    if write:
        announced("ALONE", with_same(found))
    return markdown(["first call of", "hinges only", "any joints"],
                    [[MAIN[name], f"{hinges:.1f}", f"{others:.1f}"] for name, (hinges, others) in found.items()])


def after_table(quick: bool, write: bool) -> str:
    names = ["rhs"] if quick else list(MAIN)
    hinges, others = (seconds(names, model) for model in ("hinges", "any"))
    if write:
        announced("AFTER", with_same({name: (hinges[name][0], others[name][0]) for name in names}))
    return markdown(["first call of, after the rows above", "hinges only", "any joints", "any joints, from the disk"],
                    [[MAIN[name], f"{hinges[name][0]:.1f}", f"{others[name][0]:.1f}", f"{others[name][1]:.2f}"]
                     for name in names])


def operations_table(quick: bool, write: bool) -> str:
    names = ["momenta"] if quick else list(OPERATIONS)
    after = cold(["rhs", *names], "any")
    found = {name: (alone(name, "any"), after[name]) for name in names}
    if write:
        announced("OPERATION", found)
    return markdown(["first call of", "alone", "after `rhs` and the rows above"],
                    [[f"`{name}`", f"{first:.1f}", f"{later:.1f}"] for name, (first, later) in found.items()])


def loops_table(quick: bool, write: bool) -> str:
    found = seconds(LOOPS[:1] if quick else LOOPS, "loops")
    if write:
        announced("LOOP", {**found, **{name: found["dopri5"] for name in RUNS}})
    words = {SYSTEM: "`System(model)`", **MAIN}
    return markdown(["first call of, after the rows above", "closed loops", "from the disk"],
                    [[words.get(name, f"`{name}`"), f"{cold:.1f}", f"{warm:.2f}"]
                     for name, (cold, warm) in found.items()])


def all_table(quick: bool) -> str:
    rows = []
    for words in ([["rhs"]] if quick else [[], ["--all"]]):
        count, took, kept = whole(words)
        rows.append([f"`{' '.join(['python -m mbkern warmup', *words])}`", count, f"{took:.0f}", f"{kept:.0f} MB"])
    return markdown(["command, with nothing on disk", "things compiled", "processor seconds of one process",
                     "kept on disk"], rows)


if __name__ == "__main__":
    tables = {
        "bench/waits.py alone": lambda: alone_table(options.quick, options.write),
        "bench/waits.py after": lambda: after_table(options.quick, options.write),
        "bench/waits.py operations": lambda: operations_table(options.quick, options.write),
        "bench/waits.py loops": lambda: loops_table(options.quick, options.write),
        "bench/waits.py all": lambda: all_table(options.quick)}
    options = arguments(__doc__.splitlines()[0], publishes=True, parts=[part_of(mark) for mark in tables])
    publish_parts(options, PAGE, tables, COMMAND)
