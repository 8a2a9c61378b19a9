"""The decorators of the core, and the stamp that keeps their disk cache honest.

`inline`   small algebra on tuples: always inlined, so that LLVM keeps the tuples in registers.
`exact`    the same without fast-math flags, for code whose rounding or NaN handling matters.
`piece`    a part of a kernel that is compiled once and called, without fast-math flags: for long code.
`kernel`   a function that others call: compiled on first use, cached on disk, releases the GIL.
`checked`  a kernel without fast-math flags: the place where NaN tests are allowed.
`c_function(signature)`  a `checked` kernel as a C function: made when its address is first asked for.

Numba's own cache looks only at the file of the cached function: after a change in a leaf such as `vec3.py` it would
go on using machine code that has the old leaf inlined. The cache used here is stamped with a hash over all sources of
this folder instead, and of the function's own folder where that is another one (the integrators).

When this file is loaded as part of :mod:`mbkern.plain`, every decorator returns the function as it is.
"""

import gc
import hashlib
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PLAIN = __package__ != "mbkern.core"

# nsz, nnan, ninf: a product with a literal zero folds away. Nothing that lets LLVM choose how to round: where a*b + c
# is one operation the source says `fma`, so every number type, caller and compilation gives the same bits.
FLAGS = frozenset({"nsz", "nnan", "ninf"})


@lru_cache
def source_stamp(folder: Path = HERE) -> str:
    """Hash over the names and contents of all sources of a folder, the core's own unless another is given."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


STAMP = source_stamp()
STAMP_NUMBER = int(STAMP[:13], 16)  # 52 bits, so that a float64 of a model block holds it


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

    inline = exact = piece = kernel = checked = _as_it_is

    def c_function(signature):
        return _as_it_is

else:
    from numba import njit
    from numba.core.caching import FunctionCache
    from numba.core.ccallback import CFunc
    from numba.core.registry import CPUDispatcher
    from numba.core.runtime import rtsys
    from numba.core.sigutils import normalize_signature

    from . import numba_private
    from .compilers import Called, Inlined

    class _StampedCache(FunctionCache):
        """Numba's disk cache, valid only for the very sources of this folder and of the function's own."""

        def __init__(self, py_func):
            super().__init__(py_func)
            if not hasattr(self._cache_file, "_source_stamp"):  # another Numba: no cache rather than a stale one
                self.disable()
            own = source_stamp(Path(py_func.__code__.co_filename).parent)
            self._cache_file._source_stamp = (STAMP, own, self._cache_file._source_stamp)

        def load_overload(self, sig, target_context):
            """Numba's, but for its first step: it would load all that its compiler may need (and SciPy's linear
            algebra with it), half of the time of a first result, and machine code needs no compiler. When there is
            none on disk, the compiler loads it itself."""
            rtsys.initialize(target_context)  # the symbols that machine code of Numba may refer to
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)

    # Nothing allocates, so Numba need not count references to arrays: a fifth of a small call from Python, and calls in
    # the midst of a sweep that break its registers up.
    _COUNTED: dict[str, Any] = dict(_nrt=True)
    _UNCOUNTED: dict[str, Any] = dict(_nrt=False)

    def _cached(function, fastmath):
        dispatcher = njit(nogil=True, fastmath=fastmath, error_model="numpy", boundscheck=False, pipeline_class=Called,
                          **_UNCOUNTED)(function)
        try:
            dispatcher._cache = _StampedCache(function)
        except RuntimeError:  # no folder to cache in: compile in every process
            pass
        return dispatcher

    # Inlined code is never called from Python or C: without those wrappers it compiles in half the time.
    _INNER: dict[str, Any] = dict(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)

    class _Inner(CPUDispatcher):
        """A function without machine code of its own, or without the wrapper that Python would call."""

        def __call__(self, *args, **kwargs):
            raise TypeError(f"{self.__module__}.{self.__name__} is a part of kernels and cannot be called from Python; "
                            "mbkern.plain loads the formulas as Python functions")

    def _inner(**options):
        def decorate(function):
            dispatcher = njit(**_INNER, **options)(function)
            dispatcher.__class__ = _Inner
            return dispatcher
        return decorate

    inline = _inner(forceinline=True, fastmath=set(FLAGS), pipeline_class=Inlined, **_UNCOUNTED)
    exact = _inner(forceinline=True, pipeline_class=Inlined, **_COUNTED)  # it may return arrays
    piece = _inner(nogil=True, pipeline_class=Called, **_UNCOUNTED)

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
                with numba_private.compiler_lock:
                    if self._compiled is None:
                        options = dict(nopython=True, nogil=True, error_model="numpy", boundscheck=False, _nrt=False)
                        made = CFunc(self._function, normalize_signature(self._signature), locals={}, options=options,
                                     pipeline_class=Called)
                        try:
                            made._cache = _StampedCache(self._function)
                        except RuntimeError:  # no folder to cache in: compile in every process
                            pass
                        with no_collections():
                            made.compile()
                        self._compiled = made
            return self._compiled

        @property
        def address(self):
            """Where it is in memory."""
            return self.compiled.address

    def c_function(signature):
        """Compile on first use to a C function without fast-math flags, cache on disk."""
        return lambda function: CFunction(function, signature)
