"""Nothing waits for ever: who waits for threads hears of it, can leave, and learns when they are gone."""

from __future__ import annotations

import ctypes
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


def test_threads_that_take_long_are_named_and_waited_for(monkeypatch):
    monkeypatch.setattr(threads, "PATIENCE", 0.2)
    caller, begun, done = threading.current_thread(), threading.Event(), []

    def work():
        if threading.current_thread() is caller:
            assert begun.wait(10.0)
        else:
            begun.set()
            time.sleep(0.6)
        done.append(None)

    with pytest.warns(StalledWarning, match=r"1 of 1 threads \(mbkern_\d+\) have not got on.*ctrl-C") as said:
        threads.run(work, 2)
    assert len(done) == 2 and 1 <= len(said) <= 3


def test_threads_are_waited_for_as_long_as_they_get_on(monkeypatch):
    """Without a limit for the whole; the limit is for the time without a sign of life."""
    monkeypatch.setattr(threads, "PATIENCE", 0.3)
    monkeypatch.setattr(threads, "LONGEST", 0.4)
    beats = []

    def work():
        for _ in range(20):
            time.sleep(0.05)
            beats.append(None)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threads.run(work, 2, lambda: len(beats))
    assert len(beats) == 40


def test_threads_that_never_come_back_are_an_error(monkeypatch):
    monkeypatch.setattr(threads, "PATIENCE", 0.1)
    monkeypatch.setattr(threads, "LONGEST", 0.3)
    leave = threading.Event()
    try:
        with pytest.warns(StalledWarning), pytest.raises(
                StalledError, match=r"2 of 2 threads \(mbkern_\d+, mbkern_\d+\) have not got on for 0.3 s"):
            threads.run(lambda: leave.wait(60.0) and None, 2, lambda: 0)
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
    before = time.monotonic()
    assert printed("""
import os, signal, threading, time
from mbkern import pool, threads
from mbkern.integrate.progress import Interrupt
pool.LAST = 0.2
def press():
    for _ in range(2):
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
try:
    with Interrupt() as interrupt:
        threads.run(lambda: time.sleep(100.0), 2, lambda: 0)
except KeyboardInterrupt:
    print("ended", interrupt.asked)
""") == "ended True"
    assert time.monotonic() - before < 60.0


def test_an_error_of_a_helper_is_one_of_the_caller():
    caller, begun = threading.current_thread(), threading.Event()

    def work():
        if threading.current_thread() is caller:
            assert begun.wait(10.0)
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
            signal.alarm(20)
try:
    threads.run(lambda: time.sleep(1.0), 2, watch)
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
        begun.wait(10.0)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        begun.set()
        time.sleep(60.0)
before = time.monotonic()
try:
    threads.run(work, 2)
except KeyboardInterrupt:
    print("ended", time.monotonic() - before < 20.0, flush=True)
    os._exit(0)
""") == "ended True"


class Guest(threading.Thread):
    """Takes a job from a slot as a helper does, and leaves it after `stay` seconds or when it is told to."""

    def __init__(self, slots):
        super().__init__(daemon=True)
        self.slots, self.leave, self.took, self.stay = slots, threading.Event(), 0, 60.0
        slots[0, rows.SLOT] = rows.READY

    def run(self):
        while (job := int(self.slots[0, rows.SLOT])) == rows.READY:
            if self.leave.is_set():
                return
        self.took, self.slots[0, rows.SLOT] = job, rows.BUSY
        self.leave.wait(self.stay)
        word = ctypes.c_int64.from_address(self.took + 8 * rows.DONE)
        word.value += 1


@pytest.fixture
def guest(monkeypatch):
    monkeypatch.delenv(threads.VARIABLE, raising=False)
    monkeypatch.setattr(threads, "SLOTS", np.zeros((1, rows.SLOT_SIZE), np.int64))
    monkeypatch.setattr(threads, "wake", lambda helpers, long: None)
    monkeypatch.setattr(threads, "PATIENCE", 0.2)
    monkeypatch.setattr(threads, "_KEPT", [])
    monkeypatch.setattr(Sharing, "_pays", lambda self, known, seconds: True)
    thread = Guest(threads.SLOTS)
    thread.start()
    yield thread
    thread.leave.set()
    thread.join(60.0)


SYSTEM = mb.System(mb.zoo.chain(6), "emh-ldl")
STATES = np.random.default_rng(0).normal(size=(2, 30_000, 6))


def with_help(guest):
    """A batch of which the guest has taken a part: on a busy machine it comes too late for some."""
    for _ in range(1000):
        found = SYSTEM.rhs_batch(*STATES, threads=2)
        if guest.took:
            return found
    raise AssertionError("the guest never came")


def test_a_helper_of_a_batch_that_is_late_is_said_and_waited_for(guest):
    expected = SYSTEM.rhs_batch(*STATES, threads=1)
    guest.stay = 1.0
    with pytest.warns(StalledWarning, match=r"1 of 1 helpers of a batch have been at work .* ctrl-C ends it"):
        found = with_help(guest)
    assert guest.took and not threads._KEPT
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def test_a_helper_that_does_not_come_back_is_an_error_of_the_batch(guest, monkeypatch):
    """What it may still write to is not used again."""
    monkeypatch.setattr(threads, "LONGEST", 0.5)
    with pytest.warns(StalledWarning), pytest.raises(MbkernError, match=r"not come back .* threads=1"):
        with_help(guest)
    [(job, call, *_)] = threads._KEPT
    assert job.ctypes.data == guest.took and guest.took in call._frames
    threads.SLOTS[:] = rows.BUSY
    made = len(call._frames)
    assert all(np.isfinite(x).all() for x in SYSTEM.rhs_batch(*STATES, threads=2))
    assert len(call._frames) == made + 1


def test_an_ensemble_that_hears_nothing_of_its_workers_says_so(monkeypatch):
    """How long a chunk takes is known to nobody here, so there is no limit, but a word; ctrl-C keeps what is done."""
    monkeypatch.setattr(ensemble, "PATIENCE", 0.1)
    monkeypatch.setattr(ensemble, "TICK", 0.05)

    class Slow(ensemble._Futures):
        def start(self, function, *arguments):
            return super().start(lambda begin: time.sleep(0.5 if begin else 0.0) or [begin], arguments[0])

    with ThreadPoolExecutor(2) as pool, pytest.warns(
            StalledWarning, match=r"no chunk has come back for \d s, 1 are on their way.*ctrl-C") as said:
        parts = list(ensemble._remote(lambda begin: (begin,), range(2), Slow(pool), 2))
    assert [part.begin for part in parts] == [0, 1] and 1 <= len(said) <= 3
