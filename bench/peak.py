"""What the processor can do at most: a loop of fused multiply-adds on full registers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from mbkern.core.number import LANES, fma, get, put


@njit(nogil=True)
def _fma_loop(x, times):
    """12 independent chains of fma: enough to hide their latency in two units."""
    a, b = get(x, 0), get(x, 1)
    s0, s1, s2, s3 = get(x, 2), get(x, 3), get(x, 4), get(x, 5)
    s4, s5, s6, s7 = get(x, 6), get(x, 7), get(x, 8), get(x, 9)
    s8, s9, s10, s11 = get(x, 10), get(x, 11), get(x, 12), get(x, 13)
    for _ in range(times):
        s0, s1, s2, s3 = fma(a, s0, b), fma(a, s1, b), fma(a, s2, b), fma(a, s3, b)
        s4, s5, s6, s7 = fma(a, s4, b), fma(a, s5, b), fma(a, s6, b), fma(a, s7, b)
        s8, s9, s10, s11 = fma(a, s8, b), fma(a, s9, b), fma(a, s10, b), fma(a, s11, b)
    put(x, 0, s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11)


def fma_loop(times: int = 20000) -> tuple[Callable[[], None], int]:
    """A call that runs at the FMA peak, and its floating-point operations (an fma counts two)."""
    x = np.full((14, LANES), 0.5)
    return (lambda: _fma_loop(x, times)), 2 * 12 * LANES * times
