"""Nothing waits for ever: who waits for threads hears of it, can leave, and learns when they are gone."""

from __future__ import annotations

import threading
import time

import pytest
from processes import printed

from mbkern import threads
from mbkern.errors import StalledWarning


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

    with pytest.warns(StalledWarning, match=r"1 of 2 threads are still at work.*\(mbkern_\d+\).*ctrl-C") as said:
        threads.run(work, 2)
    assert len(done) == 2 and 1 <= len(said) <= 3


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
