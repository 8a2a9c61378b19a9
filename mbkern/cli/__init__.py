"""The command line of mbkern: one module a command.

``python -m mbkern`` runs the default command, `simulate`. Errors are one line on standard error and exit code 2 (bad
input) or 1 (a run that did not reach its end); ctrl-C exits with 130, a pipe that nobody reads any more with 141.
"""

from __future__ import annotations

import argparse
import inspect
import io
import os
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from ..errors import MbkernError, ModelWarning
from . import export, flops, info, simulate, warmup

COMMANDS: dict[str, Any] = {"simulate": simulate, "info": info, "export": export, "warmup": warmup,
                            **flops.COMMANDS}
DEFAULT = "simulate"


class Command(argparse.ArgumentParser):
    """The parser of one command, which says itself what it does not take: with its own usage."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As ever, and nothing may be left."""
        found, left = super().parse_known_args(args, namespace)
        if left:
            self.error(f"not understood: {' '.join(left)}; {self.prog} --help shows what is")
        return found, []


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    from .. import __version__

    top = argparse.ArgumentParser(
        prog="python -m mbkern",
        description="Motion of rigid multibody trees in Hamiltonian variables. Without a command: simulate.")
    top.add_argument("--version", action="version", version=f"mbkern {__version__}")
    commands = top.add_subparsers(dest="command", metavar="command", parser_class=Command)
    for name, module in COMMANDS.items():
        module.add_arguments(commands.add_parser(
            name, help=module.ABOUT, description=inspect.getdoc(module),
            formatter_class=argparse.RawDescriptionHelpFormatter))
    return top


def in_options(text: str, options: argparse.Namespace) -> str:
    """A message of the library in the terms of the command line: --mimic fix for mimic="fix".

    Examples
    --------
    >>> from argparse import Namespace
    >>> from mbkern.cli import in_options
    >>> print(in_options('held by mimic="fix"; check_inertia=True; x=True', Namespace(mimic="", check_inertia=False)))
    held by --mimic fix; --check-inertia; x=True
    """
    def option(found: re.Match[str]) -> str:
        name, value = found.groups()
        return f"--{name.replace('_', '-')}{f' {value}' if value else ''}" if hasattr(options, name) else found[0]

    return re.sub(r'\b(\w+)=(?:"(\w+)"|True)', option, text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code.

    Examples
    --------
    >>> from mbkern.cli import main
    >>> main(["simulate", "chain:x"])
    2
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or (given[0] not in COMMANDS and given[0] not in ("-h", "--help", "--version")):
        given.insert(0, DEFAULT)
    options = parser().parse_args(given)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a letter shows its number
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always", ModelWarning)
            try:
                code = int(COMMANDS[options.command].run(options))
                sys.stdout.flush()
                return code
            finally:
                for note in notes:
                    print(f"mbkern {options.command}: note: {in_options(str(note.message), options)}", file=sys.stderr)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python writes at its end
        return 141
    except (MbkernError, OSError) as error:
        message = in_options(" ".join(str(error).split()), options)
        print(f"mbkern {options.command}: {message}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
