"""What mbkern uses of Numba beside its public interface."""

from __future__ import annotations

from typing import Any

from llvmlite.binding import ffi
from numba.core.compiler_lock import global_compiler_lock

compiler_lock: Any = global_compiler_lock


def locks() -> list[Any]:
    """The locks behind Numba's compiler and LLVM, in the order in which they are taken."""
    return [global_compiler_lock._lock, ffi.lib._lock._lock]
