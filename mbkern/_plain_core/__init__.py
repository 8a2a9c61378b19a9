"""The modules of :mod:`mbkern.core` a second time, as ordinary Python; see :mod:`mbkern.plain`, which loads them.

An ordinary package whose files are those of the core, so that Python's own import sees to threads that want the same
module at once.
"""

from pathlib import Path

__path__ = [str(Path(__file__).parents[1] / "core")]
