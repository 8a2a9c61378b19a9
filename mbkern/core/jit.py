"""The decorators of the core, and the stamp that keeps their disk cache honest.

`inline`   small algebra on tuples: always inlined, so that LLVM keeps the tuples in registers.
`exact`    the same without fast-math flags, for code whose rounding or NaN handling matters.
`kernel`   a function that others call: compiled on first use, cached on disk, releases the GIL.
`checked`  a kernel without fast-math flags: the place where NaN tests are allowed.

Numba's own cache looks only at the file of the cached function: after a change in a leaf such as `vec3.py` it would
go on using machine code that has the old leaf inlined. The cache used here is stamped with a hash over all sources of
this folder instead.

When this file is loaded as part of :mod:`mbkern.plain`, every decorator returns the function as it is.
"""

import hashlib
from pathlib import Path

PLAIN = __package__ != "mbkern.core"

# nsz, nnan, ninf: a product with a literal zero folds away. Nothing that lets LLVM choose how to round: where a*b + c
# is one operation the source says `fma`, so every number type, caller and compilation gives the same bits.
FLAGS = frozenset({"nsz", "nnan", "ninf"})


def source_stamp(folder: Path | None = None) -> str:
    """Hash over the names and contents of all sources of the core (of `folder`, when given)."""
    digest = hashlib.sha256()
    for path in sorted((folder or Path(__file__).parent).glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


if PLAIN:

    def _as_it_is(function):
        return function

    inline = exact = kernel = checked = _as_it_is

else:
    from numba import njit
    from numba.core.caching import FunctionCache

    STAMP = source_stamp()

    class _StampedCache(FunctionCache):
        """Numba's disk cache, valid only for the very sources of this folder."""

        def __init__(self, py_func):
            super().__init__(py_func)
            if not hasattr(self._cache_file, "_source_stamp"):  # another Numba: no cache rather than a stale one
                self.disable()
            self._cache_file._source_stamp = (STAMP, self._cache_file._source_stamp)

    def _cached(function, fastmath):
        dispatcher = njit(nogil=True, fastmath=fastmath, error_model="numpy", boundscheck=False)(function)
        try:
            dispatcher._cache = _StampedCache(function)
        except RuntimeError:  # no folder to cache in: compile in every process
            pass
        return dispatcher

    # Inlined code is never called from Python or C: without those wrappers it compiles in half the time.
    _INNER = dict(forceinline=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
    inline = njit(fastmath=set(FLAGS), **_INNER)
    exact = njit(**_INNER)

    def kernel(function):
        """Compile on first call with fast-math flags, cache on disk."""
        return _cached(function, set(FLAGS))

    def checked(function):
        """Compile on first call without fast-math flags, cache on disk."""
        return _cached(function, False)
