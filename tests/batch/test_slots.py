"""Threads that take jobs without Python: whoever comes, goes or is missing, every row is done, with its bits."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import children
import numpy as np
import pytest

import mbkern as mb
from mbkern import threads as thread_pool
from mbkern.batch.sharing import Sharing
from mbkern.core import rows as kernels

SYSTEM = mb.System(mb.zoo.chain(6), "emh-ldl")


def states(count):
    rng = np.random.default_rng(count)
    return rng.normal(size=(count, 6)), rng.normal(size=(count, 6))


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture
def slots(monkeypatch):
    """Three slots of our own, however many processors there are, and helpers that are always worth it."""
    own, occupied = np.zeros((3, kernels.SLOT_SIZE), np.int64), [False] * 3
    monkeypatch.delenv(thread_pool.VARIABLE, raising=False)
    monkeypatch.setattr(thread_pool, "SLOTS", own)
    monkeypatch.setattr(thread_pool, "_occupied", occupied)
    monkeypatch.setattr(Sharing, "_pays", lambda self, known, seconds: True)
    yield own
    deadline = time.monotonic() + 300
    while any(occupied) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(occupied) and not own[:, kernels.SLOT].any()  # all went, and left their slot empty


def calls_until(helped):
    """Go on until helpers took part: on a busy machine they come late."""
    deadline = time.monotonic() + 300
    while not helped():
        assert time.monotonic() < deadline
        yield


def test_helpers_take_part(slots):
    """Each of them, sooner or later; before, all of a batch was done by the caller."""
    Q, P = states(5000)
    expected = SYSTEM.rhs_batch(Q, P, threads=1)
    assert not slots.any()
    for _ in calls_until(slots[:, kernels.JOBS].all):
        assert same(SYSTEM.rhs_batch(Q, P, threads=4), expected)


def test_nobody_is_waited_for_who_has_not_begun(slots, monkeypatch):
    monkeypatch.setattr(thread_pool, "wake", lambda helpers, long: None)
    Q, P = states(3000)
    assert same(SYSTEM.rhs_batch(Q, P, threads=4), SYSTEM.rhs_batch(Q, P, threads=1))
    assert (slots == 0).all()


def test_a_post_where_another_job_is_or_somebody_works_is_left_alone(slots, monkeypatch):
    monkeypatch.setattr(thread_pool, "wake", lambda helpers, long: None)
    Q, P = states(3000)
    slots[:, kernels.SLOT] = (kernels.BUSY, 123456, kernels.ABSENT)
    assert same(SYSTEM.rhs_batch(Q, P, threads=4), SYSTEM.rhs_batch(Q, P, threads=1))
    assert slots[:, kernels.SLOT].tolist() == [kernels.BUSY, 123456, kernels.ABSENT]
    slots.fill(0)


def test_many_callers_many_sizes(slots):
    """Eight callers, four threads, each for himself or all together: jobs come, are taken, and taken back."""
    sizes = [1, 3, 170, 171, 340, 1000, 2500]
    given = {n: states(n) for n in sizes}
    expected = {n: SYSTEM.rhs_batch(*given[n], threads=1) for n in sizes}

    def call(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            n = int(rng.choice(sizes))
            out = np.full((n, 6), np.nan), np.full((n, 6), np.nan)
            SYSTEM.rhs_batch(*given[n], threads=int(rng.integers(1, 6)), out=out)
            if not same(out, expected[n]):
                return False
            if rng.random() < 0.1:
                time.sleep(rng.random() * 2e-3)  # helpers leave meanwhile
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(8)))


def test_bad_rows_are_counted_by_all_threads(slots):
    Q, P = states(4000)
    Q[::7, 2] = np.nan
    for _ in range(20):
        with pytest.warns(RuntimeWarning, match=f"{len(Q[::7])} of 4000 states have no result"):
            Qdot, _ = SYSTEM.rhs_batch(Q, P, threads=4)
        assert np.isnan(Qdot).all(1).nonzero()[0].tolist() == list(range(0, 4000, 7))


def test_constants_of_each_thread(slots):
    """Every state with a machine of its own: each thread has a block of its own."""
    Q, P = states(3000)
    varied = SYSTEM.model.vary(body=SYSTEM.model.body_names[2], mass=np.linspace(0.5, 3.0, 3000))
    expected = SYSTEM.rhs_batch(Q, P, threads=1, parameters=varied)
    for _ in calls_until(lambda: slots[:, kernels.JOBS].sum() > 20):
        assert same(SYSTEM.rhs_batch(Q, P, threads=4, parameters=varied), expected)


def test_a_large_batch_is_done_in_several_calls(slots, monkeypatch):
    from mbkern.batch import operations as rhs

    Q, P = states(2999)
    expected = SYSTEM.rhs_batch(Q, P, threads=1)
    monkeypatch.setattr(rhs, "ONE_CALL", 700 * SYSTEM.binding.seconds_a_state)
    system = mb.System(SYSTEM.model, "emh-ldl")
    for threads in (1, 4):
        assert same(system.rhs_batch(Q, P, threads=threads), expected)
    monkeypatch.setattr(thread_pool, "SLOTS", slots[:0])  # one processor
    assert same(system.rhs_batch(Q, P, threads=4), expected)


def test_a_helper_goes_when_there_is_nothing_to_do():
    slots = np.zeros((1, kernels.SLOT_SIZE), np.int64)
    helper = threading.Thread(target=kernels.serve, args=(slots.ctypes.data, 1000, 10))
    helper.start()
    helper.join(300)
    assert not helper.is_alive() and slots[0, kernels.SLOT] == kernels.ABSENT and slots[0, kernels.JOBS] == 0


def test_without_threads_to_be_had_the_caller_works_alone(slots, monkeypatch):
    def refuse():
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(thread_pool, "_helpers", refuse)
    Q, P = states(30000)
    assert same(SYSTEM.rhs_batch(Q, P, threads=4), SYSTEM.rhs_batch(Q, P, threads=1))
    assert not any(thread_pool._occupied)


def test_other_callers_have_their_processors(slots, monkeypatch):
    monkeypatch.setattr(thread_pool, "CALLERS", [])
    assert [thread_pool.spare(wanted) for wanted in (1, 2, 4, 9)] == [1, 2, 4, 4]
    thread_pool.CALLERS.extend([None] * 2)
    assert [thread_pool.spare(wanted) for wanted in (1, 2, 4, 9)] == [1, 2, 2, 2]
    thread_pool.CALLERS.extend([None] * 5)
    assert [thread_pool.spare(wanted) for wanted in (1, 2, 4, 9)] == [1, 1, 1, 1]
    before = len(thread_pool.CALLERS)
    with pytest.raises(mb.errors.StateError):
        SYSTEM.rhs_batch(*states(5), out=states(5)[:1] * 2)
    assert len(thread_pool.CALLERS) == before


def run_script(script):
    return children.python("import warnings; warnings.simplefilter('ignore')\n" + script)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_helpers_of_a_forked_process_are_its_own():
    """The threads of the parent do not exist in the child; it makes new ones."""
    script = """
import os, sys, time, numpy as np, mbkern as mb
from mbkern import threads
threads.SLOTS = np.zeros((1, 8), np.int64)
threads._occupied[:] = [False]
system = mb.System(mb.zoo.chain(6), "emh-ldl")
Q = P = np.ones((20000, 6))

def helped():
    before, deadline = int(threads.SLOTS[0, 1]), time.monotonic() + 200
    while threads.SLOTS[0, 1] == before and time.monotonic() < deadline:
        answer = system.rhs_batch(Q, P, threads=2)
    assert threads.SLOTS[0, 1] > before
    return answer[1]

expected = helped()
time.sleep(0.1)
threads.SLOTS[0, 0] = 2  # as if a helper were at work
child = os.fork()
if child == 0:
    try:
        good = np.array_equal(helped(), expected)
    except BaseException:
        good = False
    os._exit(0 if good else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_script(script).returncode == 0


def test_a_process_ends_while_a_daemon_thread_goes_on_calling():
    """Helpers that always have a next job, and never get tired, must not keep it alive."""
    script = """
import threading, time, numpy as np, mbkern as mb
from mbkern import threads
threads.AWAKE = 1e3
system = mb.System(mb.zoo.chain(3), "emh-ldl")
Q = P = np.ones((3000, 3))
system.rhs_batch(Q, P, threads=2)

def for_ever():
    while True:
        system.rhs_batch(Q, P, threads=2)

threading.Thread(target=for_ever, daemon=True).start()
time.sleep(0.5)
print("end", flush=True)
"""
    assert run_script(script).stdout == "end\n"


def test_who_has_not_begun_is_not_waited_for_in_long_work_either(monkeypatch):
    """All threads of the pool are busy elsewhere."""
    blocked = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(blocked.wait)
        monkeypatch.setattr(thread_pool, "_helpers", lambda: pool)
        done = []
        try:
            thread_pool.run(lambda: done.append(threading.get_ident()), 2)
            assert done == [threading.get_ident()]
        finally:
            blocked.set()
