"""Threads that take jobs without Python: whoever comes, goes or is missing, every row is done once and with its bits."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mbkern as mb
from mbkern import threads as crew
from mbkern.core import rows as kernels

SYSTEM = mb.System(mb.zoo.chain(6), "emh-ldl")


def states(count):
    rng = np.random.default_rng(count)
    return rng.normal(size=(count, 6)), rng.normal(size=(count, 6))


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture
def posts(monkeypatch):
    """Three posts of our own, however many processors there are."""
    own = np.zeros((3, kernels.POST_SIZE), np.int64)
    monkeypatch.setattr(crew, "POSTS", own)
    monkeypatch.setattr(crew, "_manned", [False] * 3)
    yield own
    deadline = time.monotonic() + 20
    while any(crew._manned) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(crew._manned) and not own[:, kernels.POST].any()  # all went, and left their post empty


def test_helpers_take_part(posts):
    """Each of them, sooner or later; before, all of a batch was done by the caller."""
    Q, P = states(5000)
    expected = SYSTEM.rhs_batch(Q, P, threads=1)
    assert not posts.any()
    deadline = time.monotonic() + 60
    while not posts[:, kernels.JOBS].all() and time.monotonic() < deadline:
        assert same(SYSTEM.rhs_batch(Q, P, threads=4), expected)
    assert posts[:, kernels.JOBS].all()


def test_nobody_is_waited_for_who_has_not_begun(posts, monkeypatch):
    monkeypatch.setattr(crew, "rouse", lambda helpers, long: None)
    Q, P = states(3000)
    assert same(SYSTEM.rhs_batch(Q, P, threads=4), SYSTEM.rhs_batch(Q, P, threads=1))
    assert (posts == 0).all()


def test_a_post_where_another_job_is_or_somebody_works_is_left_alone(posts, monkeypatch):
    monkeypatch.setattr(crew, "rouse", lambda helpers, long: None)
    Q, P = states(3000)
    posts[:, kernels.POST] = (kernels.BUSY, 123456, kernels.ABSENT)
    assert same(SYSTEM.rhs_batch(Q, P, threads=4), SYSTEM.rhs_batch(Q, P, threads=1))
    assert posts[:, kernels.POST].tolist() == [kernels.BUSY, 123456, kernels.ABSENT]
    posts.fill(0)


def test_many_callers_many_sizes(posts):
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


def test_bad_rows_are_counted_by_all_threads(posts):
    Q, P = states(4000)
    Q[::7, 2] = np.nan
    for _ in range(20):
        with pytest.warns(RuntimeWarning, match=f"{len(Q[::7])} of 4000 states have no result"):
            Qdot, _ = SYSTEM.rhs_batch(Q, P, threads=4)
        assert np.isnan(Qdot).all(1).nonzero()[0].tolist() == list(range(0, 4000, 7))


def test_a_helper_works_goes_and_comes_back():
    """`serve` by itself: it takes the job that is left at its post, and leaves the post when there is none."""
    posts = np.zeros((1, kernels.POST_SIZE), np.int64)
    helper = threading.Thread(target=kernels.serve, args=(posts.ctypes.data, 1000))
    helper.start()
    helper.join(20)
    assert not helper.is_alive() and posts[0, kernels.POST] == kernels.ABSENT and posts[0, kernels.JOBS] == 0


def test_a_forked_process_has_no_helpers_and_knows_it():
    """The threads of the parent do not exist in the child; it would wait for them for ever."""
    script = """
import os, sys, numpy as np, mbkern as mb
system = mb.System(mb.zoo.chain(6), "emh-ldl")
Q = P = np.ones((20000, 6))
for _ in range(20):
    expected = system.rhs_batch(Q, P, threads=2)
child = os.fork()
if child == 0:
    good = all(np.array_equal(system.rhs_batch(Q, P, threads=2)[1], expected[1]) for _ in range(5))
    os._exit(0 if good else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", script], timeout=120).returncode == 0


def test_who_has_not_begun_is_not_waited_for_in_long_work_either(monkeypatch):
    """All threads of the pool are busy elsewhere."""
    blocked = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(blocked.wait)
        monkeypatch.setattr(crew, "_helpers", lambda: pool)
        done = []
        crew.run(lambda: done.append(threading.get_ident()), 2)
        assert done == [threading.get_ident()]
        blocked.set()
