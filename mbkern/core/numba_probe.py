"""Small functions that use every part of :mod:`.numba_private`: does it still do what it should?

`check` raises where a part raises or gives another result. It compiles for a second at first, and is asked where the
Numba at hand is none of those that mbkern was tried with (:mod:`.toolchain`).
"""

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy import array

from . import numba_private as parts

_vector = types.Array(types.float64, 1, "C")
_unary = types.float64(types.float64)
attempt, succeeds = parts.attempt, parts.succeeds


def _twice(x):
    return 2.0 * x


inlined = parts.inner(njit(error_model="numpy", forceinline=True, **parts.INLINED)(_twice))
counted = parts.inner(njit(error_model="numpy", forceinline=True, **parts.COUNTED)(_twice))
noinline = parts.inner(njit(error_model="numpy", nogil=True, **parts.NOINLINE)(_twice))


@njit
def root(x):
    if x < 0.0:
        raise ValueError("no root")
    return x ** 0.5


@intrinsic
def over(typingctx, address, size):
    """A float64 array over `size` numbers at an address."""
    def codegen(context, builder, sig, args):
        return parts.array_over(context, builder, _vector, builder.inttoptr(args[0], ir.DoubleType().as_pointer()),
                                [args[1]])
    return _vector(types.intp, types.intp), codegen


@njit(nogil=True, error_model="numpy", boundscheck=False, **parts.CALLED)
def called(x, address):
    return inlined(x) + counted(x) + noinline(x) + over(address, 2)[1]


def tried(x):
    good, value = attempt(root, (x,), -1.0)
    return value if good and succeeds(root, (x,)) else -1.0


def check():
    """Raise an exception unless all parts do what they should."""
    numbers = array([0.5, 1.5])
    parts.cache_on_disk(called, called.py_func, "probe")
    in_c = parts.c_callback(tried, _unary, "probe")
    symbol, text = parts.c_code(tried, _unary, "probe")
    found = called(3.0, numbers.ctypes.data), in_c.ctypes(9.0), in_c.ctypes(-9.0), f"@{symbol}(" in text
    if found != (19.5, 3.0, -1.0, True):
        raise RuntimeError(f"small functions give {found}")
    with parts.compiler_lock:
        if not all(hasattr(lock, "acquire") for lock in parts.locks()):
            raise RuntimeError("its locks cannot be acquired")
