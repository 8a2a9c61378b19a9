"""Measure what the estimates of "auto" are made of, and print the table for `mbkern/costs.py`.

    python bench/calibrate.py [--quick | --write]

`--write` puts the table into that file.

Each method runs inside compiled code on trees of all shapes; its times are fitted by non-negative least squares of the
relative error to the counts of `mbkern.costs.structure`. Methods take turns on a tree, and the fastest turn counts:
whatever disturbs a measurement only adds to it.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator

import numpy as np
from common import ROOT, arguments, interleaved, markdown
from kernels import bundle, rhs_call
from scipy.optimize import nnls

import mbkern as mb
from mbkern.costs import NANOSECONDS, cost, structure
from mbkern.methods import STATE_METHODS

LIMIT = 3e-3  # seconds per call: longer ones say nothing about where methods meet

KINDS = {
    "revolute": mb.revolute("z"), "prismatic": mb.prismatic((1, 2, 2)), "universal": mb.universal("x", "y"),
    "ball": mb.ball(), "three angles": mb.euler_ball("zyx"), "planar": mb.planar("z"), "free": mb.free(),
    "driven": [mb.rotate("x", mb.harmonic(0.3, 2.0)), mb.rotate("y")],
    "five": [mb.translate("x"), mb.translate("y"), mb.ball()],
}


def trees() -> Iterator[mb.Model]:
    """All shapes, all joints, from one body to some hundred."""
    for joint in KINDS.values():
        for n in (1, 3, 10, 30):
            yield mb.zoo.chain(n, joint=joint)
        for n in (4, 12, 40):
            yield mb.zoo.carousel(n, joint=joint)
        yield mb.zoo.binary_tree(31, joint=joint)
        for chains, length in ((2, 2), (2, 8), (5, 3), (8, 2), (12, 1), (12, 6)):
            yield bundle(chains, length, joint, hub=True)
    for joint in (KINDS["revolute"], KINDS["universal"], KINDS["ball"]):
        yield mb.zoo.chain(100, joint=joint)
        yield mb.zoo.carousel(100, joint=joint)
        yield mb.zoo.binary_tree(127, joint=joint)
        for chains, length in ((1, 2), (3, 1), (6, 4), (12, 12)):
            yield bundle(chains, length, joint, hub=False)


def measure(models: list[mb.Model], counts: list[dict[str, float]], rounds: int,
            only: list[str]) -> dict[str, np.ndarray]:
    """Seconds of each method on each tree (nan: too long). Every round goes through all trees."""
    seconds = {name: np.full(len(models), np.nan) for name in only}
    for _ in range(rounds):
        for k, model in enumerate(models):
            able = [name for name in only if cost(name, counts[k]) < LIMIT]
            inner = {name: max(1, int(2e-4 / cost(name, counts[k]))) for name in able}
            times = interleaved({name: rhs_call(model, name, inner[name]) for name in able}, 7, 4e-4, time.thread_time)
            for name in able:
                seconds[name][k] = np.fmin(seconds[name][k], np.min(times[name]) / inner[name])
    return seconds


def fit(name: str, counts: list[dict[str, float]], seconds: np.ndarray) -> tuple[dict[str, float], np.ndarray]:
    """Nanoseconds of each term, and the relative errors of the fit."""
    terms, known = list(NANOSECONDS[name]), np.isfinite(seconds)
    A = np.array([[count[term] for term in terms] for count in counts])[known]
    A *= 1e-9 / seconds[known, None]
    x, _ = nnls(A, np.ones(len(A)))
    return dict(zip(terms, x.tolist(), strict=True)), A @ x - 1.0


def source(fitted: dict[str, dict[str, float]]) -> str:
    """The table as Python source, lines of at most 120 characters."""
    lines = ["NANOSECONDS: dict[str, dict[str, float]] = {"]
    for method, terms in fitted.items():
        head = f'"{method}":~{{'
        text = head + ", ".join(f'"{term}":~{value:.3g}' for term, value in terms.items()) + "},"  # ~: no break here
        wrapped = textwrap.wrap(text, 119, initial_indent=" " * 4, subsequent_indent=" " * (4 + len(head)))
        lines += [line.replace("~", " ") for line in wrapped]
    return "\n".join([*lines, "}"])


def write(table: str) -> None:
    """Replace the table of `mbkern/costs.py`."""
    path = ROOT / "mbkern" / "costs.py"
    text = path.read_text(encoding="utf-8")
    begin = text.index("NANOSECONDS: dict")
    end = text.index("\n}\n", begin) + 3
    path.write_text(text[:begin] + table + "\n" + text[end:], encoding="utf-8")


if __name__ == "__main__":
    options = arguments("calibrate the estimates of \"auto\"", publishes=True)
    methods = list(STATE_METHODS)
    forest = list(trees())
    found = [structure(model) for model in forest]
    measured = measure(forest, found, 1 if options.quick else 3, methods)
    fitted, rows = {}, []
    for method in methods:
        fitted[method], errors = fit(method, found, measured[method])
        rows.append([method, len(errors), f"{np.sqrt(np.mean(errors**2)):.1%}", f"{np.max(np.abs(errors)):.1%}"])
    print(source(fitted), "\n")
    print(markdown(["method", "trees", "error of the fit, rms", "largest"], rows))
    if options.write:
        write(source(fitted))
