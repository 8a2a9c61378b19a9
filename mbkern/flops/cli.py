"""The subcommands of the command line about flops: `table1`, `bench`, `diagram`.

Each `add_...` takes the subparsers of :mod:`argparse` and sets `run`, a function of the parsed options that returns
the exit code: ``options.run(options)``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import ModelError
from ..model import zoo
from ..model.model import Model
from ..model.serial import load

ReadModel = Callable[[str], Model]


def read_model(text: str) -> Model:
    """A model from the command line: a JSON file, or a machine of the zoo such as "pipelayer", "chain:20", "star:4:10".

    Examples
    --------
    >>> from mbkern.flops.cli import read_model
    >>> read_model("chain:3").n_bodies
    3
    """
    name, *numbers = text.split(":")
    if name in ("chain", "carousel", "binary_tree", "random_tree", "star", "pipelayer"):
        try:
            return getattr(zoo, name)(*(int(x) for x in numbers))
        except (TypeError, ValueError) as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"model: cannot make {text!r} (write chain:20, star:4:10, pipelayer)") from None
    if not Path(text).is_file():
        raise ModelError(f"model: {text!r} is neither a file nor a machine of the zoo (chain:20, carousel:20, "
                         "binary_tree:20, random_tree:20, star:4:10, pipelayer)")
    return load(text)


def add_parsers(subparsers: Any, reader: ReadModel = read_model) -> None:
    """Add `table1`, `bench` and `diagram` to a command line.

    Examples
    --------
    >>> import argparse
    >>> from mbkern.flops.cli import add_parsers
    >>> parser = argparse.ArgumentParser()
    >>> add_parsers(parser.add_subparsers())
    >>> options = parser.parse_args(["table1", "pipelayer", "--no-times"])
    >>> options.run(options)
    pipelayer: 4 bodies, 6 freedoms; flops of one evaluation
    ...
    0
    """
    parser = subparsers.add_parser("table1", help="flops of one evaluation: formulas, executed operations, times")
    parser.add_argument("model", help="JSON file, or a machine of the zoo: pipelayer, chain:20, star:4:10, ...")
    parser.add_argument("--no-times", action="store_true", help="count only")
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text")
    parser.set_defaults(run=lambda options: run_table1(options, reader))
    parser = subparsers.add_parser("bench", help="time against the number of bodies, and the claims of the papers")
    parser.add_argument("--quick", action="store_true", help="at most 64 bodies, less than a minute or two")
    parser.add_argument("--out", metavar="FOLDER", help="write CSV files, the claims and figures here")
    parser.set_defaults(run=run_bench)
    parser = subparsers.add_parser("diagram", help="which method is cheapest: map over c chains of length L")
    parser.add_argument("--dofs", type=int, required=True, help="freedoms of every joint, 1 to 6")
    parser.add_argument("--out", metavar="PICTURE", required=True, help="PNG, SVG or PDF")
    parser.add_argument("--source", action="append", choices=("table1-en", "table1-ru", "counted", "measured"),
                        help="where costs come from; may be repeated (default: all but measured)")
    parser.add_argument("--size", type=int, default=20, help="largest number and length of chains (default 20)")
    parser.set_defaults(run=run_diagram)


def run_table1(options: argparse.Namespace, reader: ReadModel) -> int:
    """Print the report of a model."""
    from .report import report

    table = report(reader(options.model), measure=not options.no_times)
    if options.format == "json":
        print(json.dumps(table.to_dict(), indent=1))
    else:
        print(table.to_markdown() if options.format == "markdown" else table.to_text())
    return 0


def run_bench(options: argparse.Namespace) -> int:
    """Run the scaling study, print exponents and claims, and write files on request."""
    from .scaling import QUICK_SIZES, SIZES, can_integrate, claims_table, study

    result = study(sizes=QUICK_SIZES if options.quick else SIZES, integrate=can_integrate() and not options.quick,
                   seconds=0.005 if options.quick else 0.03)
    print("time ~ N^b of one evaluation, fitted to the largest trees")
    for family, n, method, what in result.curves():
        exponent = result.exponent(family, n, method, what)
        if exponent is not None:
            print(f"  {family:12s} n = {n}  {method:10s} {what:12s} b = {exponent:.2f}")
    print(claims_table(result.claims()))
    if options.out:
        for path in result.write(options.out):
            print(path)
    return 0


def run_diagram(options: argparse.Namespace) -> int:
    """Draw selection maps."""
    from .diagrams import selection_figure

    sources = tuple(options.source or ("table1-en", "table1-ru", "counted"))
    if Path(options.out).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ModelError(f"--out: expected a .png, .svg or .pdf file, got {options.out!r}")
    figure = selection_figure(options.dofs, options.out, sources, options.size, options.size)
    for axes in figure.axes:
        print(f"{axes.get_title()}: " + ", ".join(x.get_text() for x in axes.get_legend().get_texts()))
    print(options.out)
    return 0
