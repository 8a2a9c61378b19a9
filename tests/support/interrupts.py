"""Ctrl-C in the middle of a call."""

import os
import signal
import threading
import time

import pytest

LATE = 10.0  # seconds: a chunk of compiled code takes a fraction of one, a busy machine more


def assert_ctrl_c_ends(call, seconds=0.3):
    """Send SIGINT that many seconds after the call has begun; it must end by KeyboardInterrupt, soon."""
    timer, begin = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)), time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        call()
        timer.cancel()
    assert time.perf_counter() - begin < seconds + LATE
