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
FLAGS = frozenset({"nsz", "nnan", "ninf"})  # as in :mod:`.jit`, which cannot be imported from here
_unary = types.float64(types.float64)
attempt, succeeds = parts.attempt, parts.succeeds


def _made(function, inlined, options, flags=()):
    own = njit(error_model="numpy", nogil=True, fastmath=set(flags) or False, **options)(function)
    return parts.mark(parts.inner(own), inlined, flags)


def _twice(x, plus=0.0):
    return 2.0 * x + plus


def _walk(n, x):
    """Branches, loops, a tuple that changes: (sum of x + k over even k < n that are not 4, (the last k, x))."""
    total, last = 0, (0, x)
    for k in range(n):
        if k == 4:
            continue
        if k % 2 == 0:
            total += x + k
        last = (k, x) if k > 0 else last
    while total > 1000.0:
        total -= 1000.0
    return total, last


inlined = _made(_twice, "always", {"forceinline": True, **parts.INLINED}, FLAGS)
counted = _made(_twice, "always", {"forceinline": True, **parts.COUNTED})
noinline = _made(_twice, "may", parts.NOINLINE)
apart = _made(_walk, "never", {"forceinline": False, **parts.APART}, FLAGS)


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


@njit
def of_a_user(x):
    """Code of others calls ours."""
    return noinline(x) + inlined(x)


@njit(nogil=True, error_model="numpy", boundscheck=False, **parts.CALLED)
def called(x, address):
    total, (last, same) = apart(7, x)
    return inlined(x, plus=0.0) + counted(x) + noinline(x) + over(address, 2)[1] + total + last - same


def tried(x):
    good, value = attempt(root, (x,), -1.0)
    return value if good and succeeds(root, (x,)) else -1.0


def check():
    """Raise an exception unless all parts do what they should."""
    numbers = array([0.5, 1.5])
    parts.cache_on_disk(called, called.py_func, "probe")
    in_c = parts.c_callback(tried, _unary, "probe")
    symbol, text = parts.c_code(tried, _unary, "probe")
    found = (called(3.0, numbers.ctypes.data), of_a_user(3.0), in_c.ctypes(9.0), in_c.ctypes(-9.0),
             f"@{symbol}(" in text)
    if found != (39.5, 12.0, 3.0, -1.0, True):
        raise RuntimeError(f"small functions give {found}")
    with parts.compiler_lock:
        if not all(hasattr(lock, "acquire") for lock in parts.locks()):
            raise RuntimeError("its locks cannot be acquired")
