"""A forked process can do all that its parent could, whatever other threads of the parent were about."""

from __future__ import annotations

import os

import pytest
from processes import FORKED, SLOW_IMPORTS, printed

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

BEGIN = FORKED + """
import threading, warnings
import numpy as np, mbkern as mb
warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, about forks and threads
system = mb.System(mb.zoo.chain(3), "emh-ldl")
q, Q = np.zeros(3), np.zeros((50, 3))
"""


@pytest.mark.parametrize("call", [
    "system.simulate(q, q, (0, 1e-3))", "system.simulate_batch(Q, Q, (0, 1e-3), threads=2)",
    "system.rhs_batch(Q, Q)"])
def test_while_other_threads_begin_the_same(call):
    """Eight threads of the parent start runs all the time; fourteen of fifteen children waited for ever."""
    assert printed(BEGIN + f"""
def work():
    {call}

work()
ended = False
def again():
    while not ended:
        work()
threads = [threading.Thread(target=again) for _ in range(8)]
for thread in threads:
    thread.start()
print([forked(work) for _ in range(8)])
ended = True
""") == str([True] * 8)


@pytest.mark.parametrize("call", [
    "system.momenta(q, q)", "system.rhs_batch(Q, Q)", "system.simulate(q, q, (0, 1e-3))", "mb.Event", "mb.embed",
    "mb.System(mb.zoo.chain(5)).rhs(np.zeros(5), np.zeros(5))"])
def test_while_another_thread_loads_what_the_child_needs(call):
    """The lock of a module that another thread loads stays closed in the child, unless the fork waits for it."""
    assert printed(BEGIN + SLOW_IMPORTS + f"""
def work():
    {call}

other = threading.Thread(target=work)
other.start()
time.sleep(0.015)
print(forked(work))
other.join()
""") == "True"


def test_while_another_thread_compiles():
    """Numba's compiler has one lock for all."""
    assert printed(BEGIN + """
import time
from numba import njit

def compile_one(k):
    @njit
    def motion(t):
        return 0.1 * t + k, 0.1, 0.0
    builder = mb.ModelBuilder()
    builder.add_body("slide", joint=[mb.translate("x", mb.drive(motion))], mass=1.0)
    mb.System(builder.build())

def compile_some():
    for k in range(3):
        compile_one(k)

other = threading.Thread(target=compile_some)
other.start()
time.sleep(0.3)
print(forked(lambda: compile_one(7)))
other.join()
""") == "True"
