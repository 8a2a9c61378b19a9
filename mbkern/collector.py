"""Python's collector of cyclic garbage, and when it is in the way.

While a large machine is read or built, tuples and lists become more and more and none of them is garbage. The collector
looks through all of them again each time their number has grown by a quarter: that takes as long as the work itself.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

_paused = False


@contextmanager
def paused() -> Iterator[None]:
    """Look for no cyclic garbage meanwhile, in the whole process; all else is freed as ever.

    Examples
    --------
    >>> import gc
    >>> from mbkern import collector
    >>> with collector.paused():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    global _paused
    if not gc.isenabled():  # who turned it off, turns it on
        yield
        return
    _paused = True
    gc.disable()
    try:
        yield
    finally:
        _resume()


def _resume() -> None:
    global _paused
    if _paused:
        _paused = False
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_resume)  # a thread that has paused it does not live on there
