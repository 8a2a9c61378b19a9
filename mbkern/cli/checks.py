"""Mistakes on a command line that show before the work begins, not after it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..errors import StateError


def whole(text: str) -> int:
    """A whole number, also as 1e5.

    Examples
    --------
    >>> from mbkern.cli.checks import whole
    >>> whole("1e3")
    1000
    """
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        number = 0.5
    if not number.is_integer():
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}")
    return int(number)


def writable(option: str, name: str | None) -> None:
    """Raise a StateError if a file of that name cannot be written."""
    if name is None:
        return
    path = Path(name)
    folder = path.parent
    if not folder.is_dir():
        raise StateError(f"{option} {name}: there is no folder {str(folder)!r}; make it first")
    if path.is_dir():
        raise StateError(f"{option} {name}: expected a file, but that is a folder")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise StateError(f"{option} {name}: expected a place that may be written to")


def drawable(option: str, name: str | None) -> None:
    """Raise a StateError if a picture of that name cannot be drawn: no matplotlib, or a kind of file that it does not
    know; and as `writable`."""
    if name is None:
        return
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise StateError(f"{option} {name}: needs matplotlib (pip install matplotlib)") from None
    kinds = FigureCanvasBase.get_supported_filetypes()
    if Path(name).suffix.lower().removeprefix(".") not in kinds:
        raise StateError(f"{option} {name}: expected a name that ends in {', '.join(f'.{kind}' for kind in kinds)}")
    writable(option, name)


def writable_folder(option: str, name: str | None) -> None:
    """Raise a StateError if files cannot be written to a folder of that name; it is made if need be."""
    if name is None:
        return
    try:
        Path(name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StateError(f"{option} {name}: expected a folder: {error}") from None
    if not os.access(name, os.W_OK):
        raise StateError(f"{option} {name}: expected a folder that may be written to")
