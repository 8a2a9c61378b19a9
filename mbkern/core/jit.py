"""The decorators of the core, and the stamp that keeps their disk cache honest.

`inline`   small algebra on tuples: always inlined, so that LLVM keeps the tuples in registers.
`exact`    the same without fast-math flags, for code whose rounding or NaN handling matters.
`noinline` a part of a kernel that is compiled once and called, without fast-math flags: for long code.
`apart`    one that LLVM never inlines either, with fast-math flags: for long code that is called from many places.
`kernel`   a function that others call: compiled on first use, cached on disk, releases the GIL.
`checked`  a kernel without fast-math flags: the place where NaN tests are allowed.
`c_function(signature)`  a `checked` kernel as a C function: made when its address is first asked for.

Numba's own cache looks only at the file of the cached function: after a change in a leaf such as `vec3.py` it would
go on using machine code that has the old leaf inlined. The cache used here is stamped with a hash over all sources of
this folder instead, and of the function's own folder where that is another one (the integrators). See
:mod:`mbkern.core.numba_private`, which has all that is not Numba's public interface.

When this file is loaded as part of :mod:`mbkern.plain`, every decorator returns the function as it is.
"""

import gc
import hashlib
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

HERE = Path(__file__).parent
PLAIN = __package__ != "mbkern.core"

# nsz, nnan, ninf: a product with a literal zero folds away. Nothing that lets LLVM choose how to round: where a*b + c
# is one operation the source says `fma`, so every number type, caller and compilation gives the same bits.
FLAGS = frozenset({"nsz", "nnan", "ninf"})


@lru_cache
def source_stamp(folder: Path = HERE) -> str:
    """Hash over the names and contents of all sources of a folder, the core's own unless another is given."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


SOURCE_STAMP = source_stamp()
STAMP_NUMBER = int(SOURCE_STAMP[:13], 16)  # 52 bits, so that a float64 of a model block holds it


@contextmanager
def no_collections():
    """Without Python's garbage collector, which takes a tenth of the time of a compilation and finds nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


if PLAIN:

    def _as_it_is(function):
        return function

    inline = exact = noinline = apart = kernel = checked = _as_it_is

    def c_function(signature):
        return _as_it_is

else:
    from numba import njit

    from .toolchain import parts

    def _stamp(function):
        """Of the core and of the function's own folder."""
        return SOURCE_STAMP, source_stamp(Path(function.__code__.co_filename).parent)

    def _cached(function, fastmath):
        dispatcher = njit(nogil=True, fastmath=fastmath, error_model="numpy", boundscheck=False,
                          **parts.CALLED)(function)
        parts.cache_on_disk(dispatcher, function, _stamp(function))
        return parts.mark(dispatcher, "may", fastmath)

    def _inner(inlined, fastmath=False, **options):
        return lambda function: parts.mark(
            parts.inner(njit(error_model="numpy", fastmath=fastmath, **options)(function)), inlined, fastmath)

    inline = _inner("always", set(FLAGS), forceinline=True, **parts.INLINED)
    exact = _inner("always", forceinline=True, **parts.COUNTED)
    noinline = _inner("may", nogil=True, **parts.NOINLINE)
    # forceinline: said explicitly, or it would be that of the first function that calls it
    apart = _inner("never", set(FLAGS), nogil=True, forceinline=False, **parts.APART)

    def kernel(function):
        """Compile on first call with fast-math flags, cache on disk."""
        return _cached(function, set(FLAGS))

    def checked(function):
        """Compile on first call without fast-math flags, cache on disk."""
        return _cached(function, False)

    class CFunction:
        """A function with a C signature. `numba.cfunc` compiles where it decorates; this waits until it is needed."""

        def __init__(self, function, signature):
            self._function, self._signature = function, signature
            self._compiled = None

        def __repr__(self):
            return f"<C function {self._function.__name__}>"

        @property
        def compiled(self):
            """The `CFunc`, compiled now or loaded from the cache on disk."""
            if self._compiled is None:
                with parts.compiler_lock:
                    if self._compiled is None:
                        with no_collections():
                            self._compiled = parts.c_callback(self._function, self._signature, _stamp(self._function))
            return self._compiled

        @property
        def ready(self):
            """Whether it has been compiled or loaded."""
            return self._compiled is not None

        @property
        def address(self):
            """Where it is in memory."""
            return self.compiled.address

        @property
        def code(self):
            """(symbol, LLVM code as text): the same function for whoever makes machine code of it elsewhere."""
            with parts.compiler_lock, no_collections():
                return parts.c_code(self._function, self._signature, _stamp(self._function))

    def c_function(signature):
        """Compile on first use to a C function without fast-math flags, cache on disk."""
        return lambda function: CFunction(function, signature)
