"""How the core is compiled with Numba's public interface alone: the same bits, compiled more slowly.

The same names as :mod:`mbkern.core.numba_private`, which says what each of them is for.

The cache on disk is Numba's own, which looks at the file of a function only and not at those that it has inlined. So
all compiled code of one state of the sources goes to a folder of its own, whose name is their stamp: code of other
sources is never found there. (Old folders stay; `numba_private` writes a stamp into the files instead.) What this cache
does not do: to check files for damage, and to load code without the compiler.
"""

import hashlib
import os
import threading
from contextlib import contextmanager
from pathlib import Path

from numba import carray, cfunc, config, njit, types
from numba.core import event

compiler_lock = threading.RLock()
CALLED: dict = {}
INLINED: dict = {}
COUNTED: dict = {}
NOINLINE: dict = {}
APART: dict = {}


def locks():
    """Our own; Numba's is its private affair, so a fork does not wait for other threads that compile."""
    return [compiler_lock]


class _Listener(event.Listener):
    """Is told by Numba that a function is about to be compiled; whether it is the first of all, nobody knows."""

    def __init__(self, listener):
        self.listener = listener

    def on_start(self, event):
        self.listener.begin(event.data["dispatcher"].py_func, False)

    def on_end(self, event):
        self.listener.end()


def listen(listener):
    """Tell listener.begin(function, first) of every function that is about to be compiled, and listener.end()."""
    event.register("numba:compile", _Listener(listener))


# ---- the cache on disk -----------------------------------------------------------------------------------------------
def cache_folder(stamp):
    """Where code of this state of the sources is kept; None when nothing can be written anywhere."""
    name = "mbkern-" + hashlib.sha256(repr(stamp).encode()).hexdigest()[:16]
    wanted = [Path(config.CACHE_DIR)] if config.CACHE_DIR else [Path(__file__).parent / "__pycache__",
                                                                Path.home() / ".cache" / "mbkern"]
    for folder in wanted:
        try:
            (folder / name).mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder / name, os.W_OK):
            return str(folder / name)
    return None


@contextmanager
def _caching(stamp):
    """Functions that are decorated meanwhile use the folder of this stamp: yields the option of `njit` that says so."""
    folder, before = cache_folder(stamp), config.CACHE_DIR
    if folder is None:
        yield {}
        return
    config.CACHE_DIR = folder
    try:
        yield {"cache": True}
    finally:
        config.CACHE_DIR = before


def cache_on_disk(dispatcher, function, stamp):
    """Keep its compiled code on disk, as long as `stamp` is the same."""
    with compiler_lock, _caching(stamp) as option:
        if option:
            dispatcher.enable_caching()


def c_callback(function, signature, stamp):
    """The function compiled to a C function, now or long ago, with its `.address`."""
    with compiler_lock, _caching(stamp) as option:
        return cfunc(signature, nopython=True, nogil=True, error_model="numpy", boundscheck=False, **option)(function)


def c_code(function, signature, stamp):
    """(symbol, LLVM code as text) of the function that `c_callback` compiles: compiled anew, code from the disk has no
    text."""
    with compiler_lock:
        made = cfunc(signature, nopython=True, nogil=True, error_model="numpy", boundscheck=False)(function)
        return made.native_name, made.inspect_llvm()


def mark(dispatcher, inlined, flags):
    """As it is."""
    return dispatcher


def inner(dispatcher):
    """As it is."""
    return dispatcher


# ---- arrays ----------------------------------------------------------------------------------------------------------
def _over(pointer, count):
    return carray(pointer, (count,))


def _rows_over(pointer, count, columns):
    return carray(pointer, (count, columns))


def _duals_over(pointer, count, one, columns):
    return carray(pointer, (count, one, columns))


def _columns_over(pointer, count, one, another, columns):
    return carray(pointer, (count, one, another, columns))


def array_over(context, builder, array_type, data, shape):
    """Row-major array of a type over the numbers that `data` points at; for the code of an intrinsic."""
    sig = array_type(types.CPointer(array_type.dtype), *[types.intp] * len(shape))
    over = (_over, _rows_over, _duals_over, _columns_over)[len(shape) - 1]
    return context.compile_internal(builder, over, sig, [data, *shape])


# ---- types -----------------------------------------------------------------------------------------------------------
PROMOTES = types.Optional(types.int64).can_convert_from(None, types.none)  # that is such an answer

# ---- functions of users ----------------------------------------------------------------------------------------------
@njit
def attempt(f, arguments, otherwise):
    """(True, f(*arguments)) for an njit function f; (False, otherwise) where it raises.

    Not for what Python code inside f raises (`objmode`), which no `try` of compiled code catches: that is printed, and
    leaves the results that were there before.
    """
    try:
        return True, f(*arguments)
    except Exception:
        return False, otherwise


@njit
def succeeds(f, arguments):
    """Whether f(*arguments) returns; the same for functions whose result nobody wants."""
    try:
        f(*arguments)
    except Exception:
        return False
    return True
