"""The locks of the process, and what a fork does with them.

`LOADING`    held while a module is loaded late, see :mod:`mbkern.lazy`
`COMPILING`  held while a function is compiled or comes from the cache on disk: Numba's own lock, after `LOADING`,
             because what is compiled may load its modules first

They are always taken in this order, and no code of a user runs under them. A forked process has the memory of
its parent but only one thread: a lock that another thread held at that moment would stay closed for ever, and what it
guards would stay half done. So a fork waits until nobody loads or compiles.
"""

from __future__ import annotations

import os
import threading
import warnings
from typing import Any

import numpy.ma  # noqa: F401  # Numba loads it at its first array, and holds no lock then

from .core.toolchain import parts

LOADING: Any = threading.RLock()


class _Compiling:
    """`LOADING`, then the lock of the compiler: the other way round, one waits for a fork that waits for it."""

    def __enter__(self) -> None:
        LOADING.acquire()
        try:
            parts.compiler_lock.__enter__()
        except BaseException:
            LOADING.release()
            raise

    def __exit__(self, *failure: object) -> None:
        try:
            parts.compiler_lock.__exit__(*failure)
        finally:
            LOADING.release()


COMPILING = _Compiling()

PATIENCE = 300.0  # seconds that a fork waits for other threads which load or compile

_held: list[Any] = []  # by the fork that is under way


def _hold() -> None:
    for lock in (LOADING, *parts.locks()):
        if not lock.acquire(timeout=PATIENCE):
            warnings.warn(f"fork: another thread of mbkern or Numba has been loading or compiling for {PATIENCE:g} s; "
                          "the new process may wait for ever where it needs the same", RuntimeWarning, stacklevel=2)
            return
        _held.append(lock)


def _let_go() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_let_go)
