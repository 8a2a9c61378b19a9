"""From an object file to a shared library: by the compiler or linker of the machine, where there is one."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from ..errors import ExportError
from .targets import Target

COMPILERS = ("cc", "gcc", "clang")
LONGEST = 300.0  # seconds that one of them may take


def compiler(target: Target) -> list[str]:
    """The C compiler for a target: $CC, or the first that is found; nothing when there is none."""
    if not target.here:
        cross = "linux" in target.triple and shutil.which(f"{target.triple.split('-')[0]}-linux-gnu-gcc")
        return [cross] if cross else []
    wanted = os.environ.get("CC")
    if wanted:
        words = shlex.split(wanted)
        return words if words and shutil.which(words[0]) else []
    return next(([found] for found in map(shutil.which, COMPILERS) if found), [])


def link_command(cc: list[str], target: Target, objects: list[Path], library: Path) -> list[str]:
    """Words of the command that makes a shared library."""
    shared = ["-dynamiclib"] if "apple" in target.triple else ["-shared"]
    maths = [] if "windows" in target.triple else ["-lm"]
    return [*cc, *shared, "-o", str(library), *map(str, objects), *maths]


def run(command: list[str], what: str, folder: Path | None = None) -> None:
    """Run a compiler or linker, in a folder if one is given; an ExportError with what it said when it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False, cwd=folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExportError(f"{what}: {shlex.join(command)} did not run: {error}") from None
    if done.returncode != 0:
        raise ExportError(f"{what}: {shlex.join(command)} failed:\n{done.stderr.strip()[-2000:]}")
