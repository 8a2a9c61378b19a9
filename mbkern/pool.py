"""A pool of threads that a process which ends does not wait for without limit.

`concurrent.futures.ThreadPoolExecutor` joins its threads when the interpreter ends, however long they take: one of them
that never comes back, because a user's function waits for something that does not happen, would keep the process for
ever. The threads here are daemons; at the end of the process those at work have `LAST` seconds.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any

LAST = 10.0  # seconds that threads at work have when the process ends


class Pool:
    """At most `most` threads, started when they are needed.

    Examples
    --------
    >>> from mbkern.pool import Pool
    >>> Pool(2, "example").submit(pow, 2, 5).result(10.0)
    32
    """

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = threading.Semaphore(0)  # one for each thread that nobody has counted on yet
        self._busy: set[Future[Any]] = set()
        self._process = os.getpid()
        atexit.register(self.finish)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have a thread call the function; RuntimeError where the system has no more threads."""
        future: Future[Any] = Future()
        if not self._idle.acquire(blocking=False):
            with self._lock:
                if self._threads < self._most:
                    threading.Thread(target=self._serve, name=f"{self._name}_{self._threads}", daemon=True).start()
                    self._threads += 1
        self._jobs.put((future, function, arguments))
        return future

    def finish(self) -> None:
        """Begin nothing more, and give those at work `LAST` seconds."""
        if os.getpid() != self._process:  # forked: none of the threads exists
            return
        while True:
            try:
                self._jobs.get_nowait()[0].cancel()
            except Empty:
                break
        end = time.monotonic() + LAST
        while self._busy and time.monotonic() < end:
            time.sleep(1e-3)

    def _serve(self) -> None:
        while True:
            future, function, arguments = self._jobs.get()
            if future.set_running_or_notify_cancel():
                self._busy.add(future)
                try:
                    future.set_result(function(*arguments))
                except BaseException as error:  # the caller's
                    future.set_exception(error)
                finally:
                    self._busy.discard(future)
            del future, function, arguments  # what they hold is not this thread's to keep
            self._idle.release()
