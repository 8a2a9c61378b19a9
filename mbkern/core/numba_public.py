"""How the core is compiled with Numba's public interface alone: the same bits, compiled more slowly and not cached.

The same names as :mod:`mbkern.core.numba_private`, which says what each of them is for.
"""

import threading

from numba import cfunc

compiler_lock = threading.RLock()
CALLED: dict = {}
INLINED: dict = {}
COUNTED: dict = {}
PIECE: dict = {}


def locks():
    """Our own; Numba's is its private affair, so a fork does not wait for other threads that compile."""
    return [compiler_lock]


def cache_on_disk(dispatcher, function, stamp):
    """Not without Numba's private parts: its cache looks at one file only, and would become stale."""


def inner(dispatcher):
    """As it is."""
    return dispatcher


def c_callback(function, signature, stamp):
    """The function compiled to a C function, with its `.address`."""
    return cfunc(signature, nopython=True, nogil=True, error_model="numpy", boundscheck=False)(function)
