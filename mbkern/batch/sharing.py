"""How a batch is shared out: among how many threads, in pieces of how many rows.

A helper that takes a piece and then loses its processor to another process keeps the caller waiting for milliseconds,
many times what a small batch takes. Whether helpers are worth it depends on what else the machine does, so it is
measured: each kind of batch remembers how fast one thread was, `Balance` what all helpers of this process have gained
and lost. When they have lost time, batches are for one thread until that loss is a thirtieth of the time computed
since. Results do not depend on any of this.
"""

from __future__ import annotations

from typing import Any

from .. import threads as thread_pool
from ..core.number import LANES

# seconds of one thread
SMALLEST_SHARE = 20e-6  # of a thread: below, to share costs more than it gains
SMALLEST_PIECE = 5e-6
WORTH_WAKING = 0.4e-3  # a thread that sleeps takes 0.1 to 0.3 ms to come
LONG = 5e-3  # a batch that nobody knows yet is tried on one thread, but no longer one
PIECES = 8  # for each thread: one that is held up by other load takes fewer

PART = 30.0  # of the time computed, one in so many may be lost to helpers
MOST = 10e-3  # seconds of gain that later losses are weighed against
LONGEST = 2.0  # seconds of computing without helpers after a loss
AGAIN = 64  # one shared batch in so many is done by one thread, to see how long that takes now
FADING = 1.02  # what is remembered of one thread grows by so much with each batch, and falls at once


class Balance:
    """What helpers have gained, in seconds, and how long they are left alone for what they have lost.

    Examples
    --------
    >>> from mbkern.batch.sharing import Balance
    >>> balance = Balance()
    >>> balance.add(2e-3)
    >>> balance.add(-1e-3)
    >>> balance.pause
    0.0
    >>> balance.add(-3e-3)
    >>> round(balance.pause, 3)
    0.06
    """

    def __init__(self) -> None:
        self.gained = self.pause = 0.0

    def add(self, seconds: float) -> None:
        """Helpers have saved so much time, or lost it where that is negative."""
        self.gained = min(self.gained + seconds, MOST)
        if self.gained < 0.0:
            self.pause = min(-PART * self.gained, LONGEST)
            self.gained = 0.0


BALANCE = Balance()  # of this process


class Sharing:
    """What is known of one kind of batch.

    Parameters
    ----------
    estimate : float
        Seconds that a row may take on one thread.

    Attributes
    ----------
    fewest : int
        Rows from which on helpers may be worth it.
    """

    def __init__(self, estimate: float) -> None:
        self._estimate = estimate
        self._alone: dict[int, float] = {}  # seconds a row of one thread, by the number of binary digits of the rows
        self._left = 2  # shared batches until one is done by one thread
        self.fewest = int(2 * SMALLEST_SHARE / estimate) + 1

    def plan(self, total: int, threads: Any = None) -> tuple[int, int]:
        """Helpers that are worth it (they are on the way then), and rows of a piece; `threads` as callers give it."""
        if threads is not None and (threads.__class__ is not int or threads < 1):
            threads = thread_pool.count(threads)  # or an error that says what is wrong
        if threads == 1 or total < self.fewest:
            return 0, max(total, 1)
        known = self._alone.get(total.bit_length())
        each = self._estimate if known is None else known
        seconds = each * total
        if not self._pays(known, seconds):
            return 0, max(total, 1)
        wanted = min(thread_pool.spare(thread_pool.count(threads)), int(seconds / SMALLEST_SHARE)) - 1
        if wanted <= 0:
            return 0, max(total, 1)
        thread_pool.wake(wanted, seconds > WORTH_WAKING)
        return wanted, whole_lanes(max(total / (PIECES * (wanted + 1)), SMALLEST_PIECE / each))

    def _pays(self, known: float | None, seconds: float) -> bool:
        """Whether helpers are worth it for a batch of so many seconds, as far as one knows."""
        if BALANCE.pause > 0.0 or (known is None and seconds < LONG):
            return False
        self._left -= 1
        if self._left == 0:
            self._left = AGAIN
            return False
        return True

    def took(self, total: int, helpers: int, seconds: float) -> None:
        """So many rows took so long with these helpers."""
        size = total.bit_length()
        known = self._alone.get(size)
        if helpers <= 0:
            each = seconds / max(total, 1)
            self._alone[size] = each if known is None else min(each, FADING * known)
            BALANCE.pause = max(0.0, BALANCE.pause - seconds)
        elif known is not None:
            BALANCE.add(known * total - seconds)


def whole_lanes(rows: float) -> int:
    """So many rows, up to the next full block of lanes.

    Examples
    --------
    >>> from mbkern.batch.sharing import LANES, whole_lanes
    >>> whole_lanes(LANES - 0.5) == LANES
    True
    """
    return (int(rows) // LANES + 1) * LANES
