"""The commands about flops: `table1`, `bench`, `diagram`.

A command is an object with `ABOUT` (one line), a docstring, `add_arguments(parser)` and `run(options)`, which returns
the exit code.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from ..flops.diagrams import SOURCES, selection_figure
from ..flops.report import report
from ..flops.scaling import DOFS, FAMILIES, QUICK_SIZES, SIZES, can_integrate, claims_table, study
from ..integrate.progress import Tally
from .checks import drawable, writable_folder
from .models import HELP, model_named


class Table1:
    """Flops of one evaluation: the papers' formulas, executed operations of their algorithms and of our kernels, times.

    examples:
      python -m mbkern table1 pipelayer
      python -m mbkern table1 machine.json --format markdown
    """

    ABOUT = "flops of one evaluation: formulas, executed operations, times"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """The options of this command."""
        parser.add_argument("model", help=HELP)
        parser.add_argument("--no-times", action="store_true", help="count only")
        parser.add_argument("--format", choices=("text", "markdown", "json"), default="text")

    @staticmethod
    def run(options: argparse.Namespace) -> int:
        """Print the report of a model."""
        table = report(model_named(options.model), measure=not options.no_times)
        if options.format == "json":
            print(json.dumps(table.to_dict(), indent=1))
        else:
            print(table.to_markdown() if options.format == "markdown" else table.to_text())
        return 0


class Bench:
    """Time against the number of bodies for chains, carousels and binary trees, and the claims of the papers.

    examples:
      python -m mbkern bench --quick
      python -m mbkern bench --out results
    """

    ABOUT = "time against the number of bodies, and the claims of the papers"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """The options of this command."""
        parser.add_argument("--quick", action="store_true", help="at most 64 bodies; about a minute")
        parser.add_argument("--out", metavar="FOLDER", help="write CSV files, the claims and figures here")

    @staticmethod
    def run(options: argparse.Namespace) -> int:
        """Run the scaling study, print exponents and claims, and write files on request."""
        writable_folder("--out", options.out)
        result = study(sizes=QUICK_SIZES if options.quick else SIZES, integrate=can_integrate() and not options.quick,
                       seconds=0.005 if options.quick else 0.03,
                       progress=progress(len(FAMILIES) * len(DOFS), "kinds of trees"))
        print("time ~ N^b, fitted to the largest trees")
        for family, n, method, what in result.curves():
            exponent = result.exponent(family, n, method, what)
            if exponent is not None:
                print(f"  {family:12s} n = {n}  {method:10s} {what:12s} b = {exponent:.2f}")
        claims = result.claims()
        print(claims_table(claims))
        if options.out:
            for path in result.write(options.out, claims):
                print(path)
        return 0


class Diagram:
    """Which method is cheapest: maps over c chains of length L on a base body, with isolines of the number of bodies.

    examples:
      python -m mbkern diagram --dofs 3 --out map.png
      python -m mbkern diagram --dofs 1 --out map.svg --source counted --source measured
    """

    ABOUT = "which method is cheapest: map over c chains of length L"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """The options of this command."""
        parser.add_argument("--dofs", type=int, required=True, help="dofs of every joint, 1 to 6")
        parser.add_argument("--out", metavar="PICTURE", required=True, help="PNG, SVG or PDF")
        parser.add_argument("--source", action="append", choices=SOURCES,
                            help="where costs come from; may be repeated (default: all but measured)")
        parser.add_argument("--size", type=int, default=20, help="largest number and length of chains (default 20)")

    @staticmethod
    def run(options: argparse.Namespace) -> int:
        """Draw selection maps."""
        drawable("--out", options.out)
        sources = tuple(options.source or SOURCES[:-1])
        figure = selection_figure(options.dofs, options.out, sources, options.size, options.size,
                                  progress=progress(len(sources), "maps"))
        for axes in figure.axes:
            print(f"{axes.get_title()}: " + ", ".join(x.get_text() for x in axes.get_legend().get_texts()))
        print(options.out)
        return 0


def progress(total: int, what: str) -> Callable[[int], None] | None:
    """What shows how many of all are done, if somebody looks at a terminal."""
    if not sys.stderr.isatty():
        return None
    bar = Tally(total, what)
    bar.show(0)
    return lambda done: bar.show(done, last=done == total)


COMMANDS: dict[str, Any] = {"table1": Table1, "bench": Bench, "diagram": Diagram}
