"""The threads of mbkern, all in one place.

Compiled code here releases the GIL and starts no threads of its own, so plain Python threads run it in parallel, and
Numba's threading layers and thread counts are left alone. `run` shares a list of independent tasks between the
calling thread and helpers from one pool. A task never waits for another, so any number of callers may use the pool at
once, and as each task writes its own part of the answer, the answer does not depend on who did what.

For jobs of less than a millisecond that is too slow: to wake a thread takes 0.1 to 0.3 ms. So some helpers stand at
`SLOTS`: they stay awake for half a millisecond after a job and take the next one without Python, see
:mod:`mbkern.core.rows`. There is one slot less than processors, however many callers there are.
"""

from __future__ import annotations

import math
import numbers
import os
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import lazy
from .errors import MbkernError, StalledError, StalledWarning, StateError
from .model.checks import show
from .pool import Pool

VARIABLE = "MBKERN_NUM_THREADS"
MOST = 256  # helpers in the pool, over all callers; they are started only when needed
TICK = 0.05  # seconds between two looks at progress and ctrl-C
PATIENCE = 60.0  # seconds without a sign of life, then a warning
LONGEST = 600.0  # seconds that one may take for a piece of some milliseconds: then it does not come back

AWAKE = 0.5e-3  # seconds that a helper stays at its slot without a job
JOBS = 1000  # that it does before it goes for a moment; a process that ends would wait for one that never does
RECENT = 2e-3  # seconds; where the last job was begun so shortly ago, even a short one is worth waking helpers

_lock = threading.Lock()
_pool: Pool | None = None
_KEPT: list[Any] = []  # memory that helpers who are not waited for any more may still write to


def _quota(root: Path = Path("/sys/fs/cgroup")) -> float:
    """Processors whose time a container may use; its limit does not show in what the system calls processors."""
    for files in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):  # of two versions of Linux
        try:
            quota, period = " ".join((root / file).read_text() for file in files).split()
            return math.inf if quota in {"max", "-1"} else float(quota) / float(period)
        except (OSError, ValueError, ZeroDivisionError):
            continue
    return math.inf


_QUOTA = _quota()


def processors() -> int:
    """Processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return int(max(1, min(len(affinity(0)) if affinity else os.cpu_count() or 1, math.ceil(min(_QUOTA, MOST)))))


SLOTS: NDArray[np.int64] = np.zeros((processors() - 1, 8), np.int64)  # see `mbkern.core.rows`
CALLERS: list[None] = []  # one for each that works on a job of its own now: processors that helpers do not get
_occupied = [False] * SLOTS.shape[0]
_last = 0.0  # when the last job for helpers was begun
_looks = 0  # of a helper in the time `AWAKE`, once that is known


def _forget_pool() -> None:
    """In a forked process the threads of the pool do not exist."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()
    SLOTS.fill(0)
    CALLERS.clear()
    _occupied[:] = [False] * len(_occupied)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def count(threads: Any = None) -> int:
    """Number of threads to use.

    Parameters
    ----------
    threads : int, optional
        As many as wanted; by default the processors that this process may use. The environment variable
        MBKERN_NUM_THREADS is an upper bound for both.

    Examples
    --------
    >>> from mbkern import threads
    >>> threads.count(1)
    1
    """
    if threads.__class__ is int and threads == 1:
        return 1
    if threads is None:
        wanted = processors()
    elif isinstance(threads, bool) or not isinstance(threads, numbers.Integral) or int(threads) < 1:
        raise StateError("threads: expected a whole number, at least 1, or None for all processors, got "
                         f"{show(threads)}")
    else:
        wanted = int(threads)
    text = os.environ.get(VARIABLE, "").strip()
    if text:
        if not text.isdecimal() or int(text) < 1:
            raise MbkernError(f"{VARIABLE}: expected a whole number, at least 1, got {text!r}; correct it or unset it")
        wanted = min(wanted, int(text))
    return min(wanted, MOST)


def run(work: Callable[[], None], threads: int, watch: Callable[[], object] | None = None) -> None:
    """Call `work` from `threads` threads at once, the caller's among them, and wait for all that have begun.

    A long computation is waited for as long as it gets on. Threads that give no sign of life for `PATIENCE` seconds are
    named in a `StalledWarning`, after `LONGEST` seconds, or when they no longer exist, they are an error. Ctrl-C ends
    the wait.

    Parameters
    ----------
    work : callable
        Takes pieces from a shared list (see `Pieces`) until none is left.
    threads : int
        From `count`.
    watch : callable, optional
        Called a few times a second from the calling thread while the helpers work, which then does not work itself.
        What it returns changes as long as they get on. Without it, a thread that ends its part is the only sign of
        life.
    """
    helpers = threads if watch is not None and threads > 1 else threads - 1
    if helpers == 0:
        work()
        return
    workers: list[threading.Thread] = []  # that have begun

    def help_along() -> None:
        workers.append(threading.current_thread())
        work()

    futures: list[Future[None]] = []
    try:
        for _ in range(helpers):
            futures.append(_helpers().submit(help_along))
    except RuntimeError:  # the system has no more threads: then with those that there are
        pass
    try:
        if helpers < threads or not futures:
            work()
        else:
            _wait_for(futures, workers, watch)
    except BaseException as error:
        begun = _begun(futures)
        if isinstance(error, Exception) and not isinstance(error, StalledError):
            _wait_for(begun, workers)  # they may write to what is the caller's
        raise
    begun = _begun(futures)
    _wait_for(begun, workers)
    for future in begun:
        future.result()  # an exception of a helper becomes one of the caller


def _begun(futures: list[Future[None]]) -> list[Future[None]]:
    """Without those who have not: they would find nothing to do."""
    return [future for future in futures if not future.cancel()]


def _wait_for(futures: list[Future[None]], workers: list[threading.Thread], watch: Callable[[], object] | None = None,
              ) -> None:
    """Wait until all are done; an error when that will not happen."""
    sign: object = None
    seen = said = time.monotonic()
    while busy := len(wait(futures, TICK).not_done):
        dead = [thread for thread in workers if not thread.is_alive()]
        if dead:
            raise StalledError(f"{len(dead)} of the threads that did this work have ended in the middle of it "
                               f"({_names(dead)}), as they do in a process that was forked meanwhile; begin again "
                               "there, or fork before or after")
        before, sign, now = sign, (busy, watch and watch()), time.monotonic()
        late = f"{busy} of {len(futures)} threads ({_names(workers)}) have"
        if sign != before:
            seen = said = now
        elif now - seen > LONGEST:
            raise StalledError(f"{late} not got on for {LONGEST:g} s: does a function that they call wait for "
                               f"something? They are given up; threads=1 (or {VARIABLE}=1) calls it from this thread")
        elif now - said > PATIENCE:
            said = now
            warnings.warn(f"{late} not got on for {now - seen:.0f} s; this call waits for them, at most {LONGEST:g} s, "
                          "ctrl-C (twice) ends it", StalledWarning, stacklevel=4)


def _names(workers: list[threading.Thread]) -> str:
    return ", ".join(sorted(thread.name for thread in workers)[:4]) + (", ..." if len(workers) > 4 else "")


def spare(wanted: int) -> int:
    """Of so many threads that a caller wants, itself included, those that have a processor beside all other callers."""
    return max(1, min(wanted, SLOTS.shape[0] + 1 - len(CALLERS)))


def wake(helpers: int, long: bool) -> None:
    """Have so many helpers at slots if that pays: for a `long` job, or when the last one was a moment ago.

    Examples
    --------
    >>> from mbkern import threads
    >>> threads.wake(0, long=True)
    """
    global _last
    now = time.perf_counter()
    recent, _last = now - _last < RECENT, now
    if not (long or recent):
        return
    rows = lazy.module("core.rows")

    slots, occupied = SLOTS, _occupied
    for slot in range(slots.shape[0]):
        if helpers == 0:
            return
        if occupied[slot]:
            helpers -= int(slots[slot, rows.SLOT]) in (rows.ABSENT, rows.READY)  # on the way, or there; else it is busy
            continue
        helpers -= 1
        with _lock:
            if occupied[slot]:
                continue
            if not rows.serve.signatures:  # here: a process that is forked while another thread compiles could not
                nobody = np.zeros(rows.SLOT_SIZE, np.int64)
                rows.serve(nobody.ctypes.data, 1, 1)
            occupied[slot] = True
        try:
            _helpers().submit(_serve, slots, occupied, slot)
        except BaseException as error:
            occupied[slot] = False
            if not isinstance(error, RuntimeError):  # no more threads, the process ends: then without helpers
                raise


def outwait(job: NDArray[np.int64], *used: Any) -> int:
    """Wait for helpers that are late with a job (`STALLED`); how many rows have no result.

    Ctrl-C ends the wait, and so does `LONGEST`. Helpers may come back later: what they write to is then kept for ever.

    Parameters
    ----------
    job : (n,)
        The words of the job.
    used
        All that the helpers read and write.
    """
    rows = lazy.module("core.rows")
    begun = said = time.monotonic()
    try:
        while (bad := rows.wait_on(job.ctypes.data)) == rows.STALLED:
            now = time.monotonic()
            late = f"{job[rows.CAME] - job[rows.DONE]} of {job[rows.CAME]} helpers of a batch have"
            if now - begun > LONGEST:
                raise StalledError(f"{late} not come back from their last rows for {LONGEST:g} s; is this process "
                                   f"short of processors? threads=1 (or {VARIABLE}=1) does without them")
            if now - said > PATIENCE:
                said = now
                warnings.warn(f"{late} been at work on their last rows for {now - begun:.0f} s; this call waits for "
                              f"them, at most {LONGEST:g} s, ctrl-C ends it", StalledWarning, stacklevel=4)
    except BaseException:
        _KEPT.append((job, *used))
        raise
    return bad


def _serve(slots: NDArray[np.int64], occupied: list[bool], slot: int) -> None:
    """Do jobs at a slot as long as there are some."""
    global _looks
    rows = lazy.module("core.rows")

    try:
        _looks = _looks or _looks_awake()
        rows.serve(slots[slot].ctypes.data, _looks, JOBS)
    finally:
        occupied[slot] = False


def _looks_awake() -> int:
    """How often a helper looks in the time `AWAKE`. The shortest of some trials, as other threads may run meanwhile."""
    rows = lazy.module("core.rows")

    nobody, trial, shortest = np.zeros(rows.SLOT_SIZE, np.int64), 1000, AWAKE
    for _ in range(8):
        begun = time.perf_counter()
        rows.serve(nobody.ctypes.data, trial, 1)
        shortest = min(shortest, max(time.perf_counter() - begun, 1e-6))
    return int(trial * AWAKE / shortest)


def _helpers() -> Pool:
    global _pool
    with _lock:
        if _pool is None:
            _pool = Pool(MOST, "mbkern")
        return _pool


class Pieces:
    """Contiguous pieces of range(total), each a multiple of `grain` long but the last; threads take them in turn.

    Parameters
    ----------
    total, grain : int
    threads : int
        Several pieces a thread: one that is held up by other load takes fewer.
    smallest : int
        A piece is at least so long, if there are enough.

    Examples
    --------
    >>> from mbkern.threads import Pieces
    >>> pieces = Pieces(10, 4, threads=1, smallest=4)
    >>> list(iter(pieces.take, None))
    [(0, 4), (4, 8), (8, 10)]
    """

    PER_THREAD = 4

    def __init__(self, total: int, grain: int, threads: int, smallest: int) -> None:
        wanted = max(smallest, -(-total // (threads * self.PER_THREAD)))
        self._length = -(-wanted // grain) * grain
        self._total = total
        self._next = 0
        self._lock = threading.Lock()

    def take(self) -> tuple[int, int] | None:
        """The next piece (begin, end); None when all are taken."""
        with self._lock:
            begin = self._next
            if begin >= self._total:
                return None
            self._next = end = min(begin + self._length, self._total)
        return begin, end
