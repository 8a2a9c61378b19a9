"""A progress bar of one line, for terminals and notebooks alike, and a polite reaction to ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType
from typing import Any, TextIO

WIDTH = 30
INTERVAL = 0.1  # seconds between two pictures


class Progress:
    """Bar, simulated time, rate (simulated seconds per second) and current step, rewritten in place.

    Nothing is shown before `after` seconds.
    """

    def __init__(self, t0: float, t_end: float, stream: TextIO | None = None, after: float = 0.0) -> None:
        self._t0, self._t_end, self._after = t0, t_end, after
        self._stream = stream or sys.stderr
        self._begin = time.perf_counter()
        self.idle = 0.0  # seconds of these that do not count
        self._shown = 0.0
        self._length = 0

    def show(self, t: float, step: float, steps: int, last: bool = False) -> None:
        """Draw, unless it was just drawn."""
        now = time.perf_counter()
        if (not last and now - self._shown < INTERVAL) or now - self._begin - self.idle < self._after:
            return
        self._shown = now
        part = (t - self._t0) / (self._t_end - self._t0)
        rate = abs(t - self._t0) / max(now - self._begin - self.idle, 1e-9)
        bar = "#" * int(WIDTH * part)
        text = (f"[{bar:<{WIDTH}}] {part:4.0%}  t = {t:.6g} s  {rate:.3g} s/s  step {abs(step):.2g} s  "
                f"{steps} steps")
        # carriage return and padding instead of control codes: a notebook shows this as a terminal does
        self._stream.write("\r" + text.ljust(self._length) + ("\n" if last else ""))
        self._stream.flush()
        self._length = len(text)


class Tally:
    """Bar and number of things done, rewritten in place."""

    def __init__(self, total: int, what: str, stream: TextIO | None = None) -> None:
        self._total, self._what = total, what
        self._stream = stream or sys.stderr
        self._begin = time.perf_counter()
        self._shown = 0.0
        self._length = 0

    def show(self, done: int, last: bool = False) -> None:
        """Draw, unless it was just drawn."""
        now = time.perf_counter()
        if not last and now - self._shown < INTERVAL:
            return
        self._shown = now
        part = done / max(self._total, 1)
        rate = done / max(now - self._begin, 1e-9)
        text = f"[{'#' * int(WIDTH * part):<{WIDTH}}] {part:4.0%}  {done} of {self._total} {self._what}  {rate:.3g} /s"
        self._stream.write("\r" + text.ljust(self._length) + ("\n" if last else ""))
        self._stream.flush()
        self._length = len(text)


class Interrupt:
    """While active, ctrl-C sets `asked` instead of raising: compiled chunks finish, nothing computed is lost.

    Pressed once more it raises as ever: a function of the user may never return. One inside another shares its fate: it
    has been asked when the outer one has, and the other way round.

    Parameters
    ----------
    outer : Interrupt, optional
        That of the main thread, for work in other threads, which never see ctrl-C themselves.
    """

    def __init__(self, outer: Interrupt | None = None) -> None:
        self._asked = False
        self._outer = outer
        self._before: Any = None
        self._active = False

    @property
    def asked(self) -> bool:
        """Whether to end soon."""
        return self._asked or (self._outer is not None and self._outer.asked)

    def ask(self) -> None:
        """As ctrl-C would."""
        self._asked = True

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            # a program that ignores ctrl-C, or handles it outside Python, keeps doing so
            if callable(self._before):
                outer = getattr(self._before, "__self__", None)
                self._asked = isinstance(outer, Interrupt) and outer.asked
                signal.signal(signal.SIGINT, self._pressed)
                self._active = True
        return self

    def _pressed(self, number: int, frame: FrameType | None) -> None:
        again, self._asked = self._asked, True
        if again or isinstance(getattr(self._before, "__self__", None), Interrupt):
            self._before(number, frame)

    def obey(self) -> None:
        """Raise KeyboardInterrupt where ctrl-C was pressed, for who makes many runs: one of them may have finished all
        the same."""
        if self.asked:
            raise KeyboardInterrupt

    def __exit__(self, *_: object) -> None:
        if self._active:
            signal.signal(signal.SIGINT, self._before)
