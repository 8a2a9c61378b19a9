"""Files are written in one piece or not at all.

The bytes go to a file beside the target, which takes the target's name when all of them are on the disk: who reads
sees the old file or the new one. A disk that is full, a process that is killed: the old file stays as it was.
"""

from __future__ import annotations

import io
import os
import reprlib
import stat
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from .errors import FileError, MbkernError


def named(path: Any, what: str, error: type[MbkernError] = FileError) -> str:
    """The name of a file; an error for what is no name."""
    try:
        name = fspath(path)
    except Exception:  # of any kind: it is asked for its name
        name = None
    if not isinstance(name, str):
        raise error(f"{what}: path: expected the name of a file, got {reprlib.repr(path)} ({type(path).__name__})")
    return name


def write(path: str | PathLike[str], content: bytes | Callable[[BinaryIO], object], what: str) -> None:
    """Write a file.

    Parameters
    ----------
    path : path
        The file. A link is followed; a device or a pipe is written to as it is.
    content : bytes or callable
        What to write, or a function that writes it to an open file.
    what : str
        Who writes, for messages.

    Raises
    ------
    FileError
        When the system does not let it be written; nothing half-written remains.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mbkern import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files.write(pathlib.Path(folder) / "note", b"all of it", "example")
    ...     (pathlib.Path(folder) / "note").read_bytes()
    b'all of it'
    """
    name = named(path, what)
    try:
        target = Path(os.path.realpath(name))
        mode = target.stat().st_mode if target.exists() else None
        if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            whole = io.BytesIO()  # archives are not written in one go, from front to back
            _fill(whole, content)
            with open(target, "wb") as file:
                file.write(whole.getvalue())
            return
        half = target.with_name(f".{target.name}.{uuid4().hex}")
        try:
            with open(half, "xb") as file:
                _fill(file, content)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(half, stat.S_IMODE(mode))
            os.replace(half, target)
        finally:
            half.unlink(missing_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileError(f"{what}: cannot write {name!r}: {reason}; nothing of it was written, what was there "
                        "before still is") from error


def _fill(file: BinaryIO, content: bytes | Callable[[BinaryIO], object]) -> None:
    if callable(content):
        content(file)
    else:
        file.write(content)
