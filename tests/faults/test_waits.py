"""Nothing waits for ever: who waits for threads hears of it, can leave, and learns when they are gone."""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from processes import printed

import mbkern as mb
from mbkern import threads
from mbkern.batch import ensemble
from mbkern.batch.sharing import Sharing
from mbkern.core import rows
from mbkern.errors import MbkernError, StalledError, StalledWarning

LONG = 300.0  # seconds; nothing here takes so long but what hangs


@pytest.fixture
def on_warning(monkeypatch):
    """Functions that are called at each warning: who is late stays until then, however slow the machine is."""
    functions, warn = [], warnings.warn

    def spy(*arguments, **options):
        for function in functions:
            function()
        warn(*arguments, **options)

    monkeypatch.setattr(warnings, "warn", spy)
    return functions


@pytest.fixture
def warned(on_warning):
    """That there was a warning."""
    event = threading.Event()
    on_warning.append(event.set)
    return event


def test_threads_that_take_long_are_named_and_waited_for(monkeypatch, warned):
    monkeypatch.setattr(threads, "PATIENCE", 0.2)
    caller, begun, done = threading.current_thread(), threading.Event(), []

    def work():
        if threading.current_thread() is caller:
            assert begun.wait(LONG)
        else:
            begun.set()
            assert warned.wait(LONG)
        done.append(None)

    before = time.monotonic()
    with pytest.warns(StalledWarning, match=r"1 of 1 threads \(mbkern_\d+\) have not got on.*ctrl-C") as said:
        threads.run(work, 2)
    assert len(done) == 2 and 1 <= len(said) <= (time.monotonic() - before) / 0.2


def test_threads_are_waited_for_as_long_as_they_get_on(monkeypatch):
    """Without a limit for the whole; the limit is for the time without a sign of life."""
    monkeypatch.setattr(threads, "PATIENCE", 0.2)
    monkeypatch.setattr(threads, "LONGEST", 0.3)
    looks, enough, begin = itertools.count(), threading.Event(), time.monotonic()

    def watch():
        """Something has happened at each look."""
        if time.monotonic() - begin > 1.0:
            enough.set()
        return next(looks)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threads.run(lambda: enough.wait(LONG) and None, 2, watch)
    assert enough.is_set()


def test_threads_that_never_come_back_are_an_error(monkeypatch, on_warning):
    monkeypatch.setattr(threads, "PATIENCE", 0.1)
    begun, leave = [], threading.Event()
    on_warning.append(lambda: len(begun) == 2 and monkeypatch.setattr(threads, "LONGEST", 0.3))

    def work():
        begun.append(None)
        leave.wait(LONG)

    try:
        with pytest.warns(StalledWarning), pytest.raises(
                StalledError, match=r"2 of 2 threads \(mbkern_\d+, mbkern_\d+\) have not got on for 0.3 s"):
            threads.run(work, 2, lambda: 0)
    finally:
        leave.set()


def test_a_system_without_more_threads(monkeypatch):
    """The caller does the work itself, as with threads=1."""
    def full(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "_pool", None)
    monkeypatch.setattr(threading.Thread, "start", full)
    done = []
    threads.run(lambda: done.append(threading.current_thread()), 3, lambda: 0)
    assert done == [threading.main_thread()]


def test_a_process_that_ends_does_not_wait_for_a_thread_that_does_not_come_back():
    """Nor does ctrl-C, pressed twice: the first lets compiled code end its step, which this one never does."""
    assert printed("""
import os, signal, threading, time
from mbkern import pool, threads
from mbkern.integrate.progress import Interrupt
pool.LAST = 0.2
begun = threading.Event()
def work():
    begun.set()
    time.sleep(1e5)
def press():
    begun.wait()
    os.kill(os.getpid(), signal.SIGINT)
    while not interrupt.asked:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
try:
    with Interrupt() as interrupt:
        threading.Thread(target=press).start()
        threads.run(work, 2, lambda: 0)
except KeyboardInterrupt:
    print("ended", interrupt.asked)
""") == "ended True"


def test_an_error_of_a_helper_is_one_of_the_caller():
    caller, begun = threading.current_thread(), threading.Event()

    def work():
        if threading.current_thread() is caller:
            assert begun.wait(LONG)
        else:
            begun.set()
            raise ValueError("in a helper")

    with pytest.raises(ValueError, match="in a helper"):
        threads.run(work, 2)


def test_a_process_that_is_forked_meanwhile_does_not_wait_for_threads_it_does_not_have():
    assert printed("""
import os, signal, time
from mbkern import threads
from mbkern.errors import MbkernError
children = []
def watch():
    if not children:
        children.append(os.fork())
        if children[0] == 0:
            signal.alarm(200)
def work():
    while not children:
        time.sleep(0.01)
    time.sleep(0.2)
try:
    threads.run(work, 2, watch)
    print("parent done", os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]))
except MbkernError as error:
    os._exit(0 if "ended in the middle" in str(error) and "mbkern_" in str(error) else 1)
""") == "parent done 0"


def test_an_interrupt_ends_the_wait():
    assert printed("""
import os, signal, threading, time
from mbkern import threads
caller, begun = threading.current_thread(), threading.Event()
def work():
    if threading.current_thread() is caller:
        begun.wait()
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        begun.set()
        time.sleep(1e5)
try:
    threads.run(work, 2)
except KeyboardInterrupt:
    print("ended", flush=True)
    os._exit(0)
""") == "ended"


class Guest(threading.Thread):
    """Takes a job from a slot as a helper does, and leaves it when it is told to."""

    def __init__(self, slots, leave):
        super().__init__(daemon=True)
        self.slots, self.leave, self.took = slots, leave, 0
        slots[0, rows.SLOT] = rows.READY

    def run(self):
        while (job := int(self.slots[0, rows.SLOT])) == rows.READY:
            if self.leave.is_set():
                return
        self.took, self.slots[0, rows.SLOT] = job, rows.BUSY
        self.leave.wait(LONG)
        word = ctypes.c_int64.from_address(self.took + 8 * rows.DONE)
        word.value += 1


@pytest.fixture
def leave():
    """When the guest leaves."""
    return threading.Event()


@pytest.fixture
def guest(monkeypatch, leave):
    monkeypatch.delenv(threads.VARIABLE, raising=False)
    monkeypatch.setattr(threads, "SLOTS", np.zeros((1, rows.SLOT_SIZE), np.int64))
    monkeypatch.setattr(threads, "wake", lambda helpers, long: None)
    monkeypatch.setattr(threads, "PATIENCE", 0.2)
    monkeypatch.setattr(threads, "_KEPT", [])
    monkeypatch.setattr(Sharing, "_pays", lambda self, known, seconds: True)
    thread = Guest(threads.SLOTS, leave)
    thread.start()
    yield thread
    leave.set()
    thread.join(LONG)


SYSTEM = mb.System(mb.zoo.chain(6), "emh-ldl")
STATES = np.random.default_rng(0).normal(size=(2, 30_000, 6))


def with_help(guest):
    """A batch of which the guest has taken a part: on a busy machine it comes too late for some."""
    for _ in range(1000):
        found = SYSTEM.rhs_batch(*STATES, threads=2)
        if guest.took:
            return found
    raise AssertionError("the guest never came")


def test_a_helper_of_a_batch_that_is_late_is_said_and_waited_for(guest, warned):
    guest.leave = warned
    expected = SYSTEM.rhs_batch(*STATES, threads=1)
    with pytest.warns(StalledWarning, match=r"1 of 1 helpers of a batch have been at work .* ctrl-C ends it"):
        found = with_help(guest)
    assert guest.took and not threads._KEPT
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def test_a_helper_that_does_not_come_back_is_an_error_of_the_batch(guest, monkeypatch, on_warning):
    """What it may still write to is not used again."""
    on_warning.append(lambda: monkeypatch.setattr(threads, "LONGEST", 0.5))
    with pytest.warns(StalledWarning), pytest.raises(MbkernError, match=r"not come back .* threads=1"):
        with_help(guest)
    [(job, call, *_)] = threads._KEPT
    assert job.ctypes.data == guest.took and guest.took in call._frames
    threads.SLOTS[:] = rows.BUSY
    made = len(call._frames)
    assert all(np.isfinite(x).all() for x in SYSTEM.rhs_batch(*STATES, threads=2))
    assert len(call._frames) == made + 1


def test_an_ensemble_that_hears_nothing_of_its_workers_says_so(monkeypatch, warned):
    """How long a chunk takes is known to nobody here, so there is no limit, but a word; ctrl-C keeps what is done."""
    monkeypatch.setattr(ensemble, "PATIENCE", 0.1)
    monkeypatch.setattr(ensemble, "TICK", 0.05)
    taken, parts, before = threading.Event(), [], time.monotonic()

    def work(begin):
        if begin:
            assert taken.wait(LONG) and warned.wait(LONG)
        return [begin]

    class Slow(ensemble._Futures):
        def start(self, function, *arguments):
            return super().start(work, arguments[0])

    with ThreadPoolExecutor(2) as pool, pytest.warns(
            StalledWarning, match=r"no chunk has come back for \d+ s, 1 are on their way.*ctrl-C") as said:
        for part in ensemble._remote(lambda begin: (begin,), range(2), Slow(pool), 2):
            parts.append(part.begin)
            if part.begin == 0:
                warned.clear()
                taken.set()
    assert parts == [0, 1] and 1 <= len(said) <= (time.monotonic() - before) / 0.1
