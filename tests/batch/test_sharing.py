"""Whether helpers are worth it: what they cost on a busy machine is bounded, whatever they do."""

from __future__ import annotations

import numpy as np
import pytest

import mbkern as mb
from mbkern import threads as thread_pool
from mbkern.batch import sharing as S
from mbkern.errors import StateError

ROW, ROWS = 1e-7, 4000  # seconds of one thread


@pytest.fixture
def sharing(monkeypatch):
    """Of a machine with two processors, on which nobody has computed anything."""
    monkeypatch.setattr(S, "BALANCE", S.Balance())
    monkeypatch.setattr(thread_pool, "spare", lambda wanted: min(wanted, 2))
    monkeypatch.setattr(thread_pool, "count", lambda threads=None: 2 if threads is None else int(threads))
    monkeypatch.setattr(thread_pool, "wake", lambda helpers, long: None)
    return S.Sharing(ROW)


def spent(sharing, calls, with_helper, alone=ROW):
    """Seconds of so many batches where one with a helper takes so long, and how many had one."""
    seconds, shared = 0.0, 0
    for k in range(calls):
        helpers, step = sharing.plan(ROWS)
        assert 0 < step <= ROWS
        took = with_helper(k) if helpers else alone * ROWS
        sharing.took(ROWS, helpers, took)
        seconds, shared = seconds + took, shared + helpers
    return seconds, shared


def test_helpers_that_gain_are_used(sharing):
    seconds, shared = spent(sharing, 1000, lambda k: 0.55 * ROW * ROWS)
    assert shared > 970 and seconds < 0.57 * 1000 * ROW * ROWS


@pytest.mark.parametrize("with_helper", (
    lambda k: 4e-3 if k % 3 == 0 else 0.55 * ROW * ROWS,  # loses its processor now and then
    lambda k: 1.4 * ROW * ROWS,  # slower, always
    lambda k: 1.02 * ROW * ROWS,  # never there
    lambda k: 2e-2), ids=["now and then", "slower", "never there", "always away"])
def test_helpers_that_lose_cost_a_few_per_cent(sharing, with_helper):
    seconds, _ = spent(sharing, 5000, with_helper)
    # one part in PART, and the very first batches that show it
    assert seconds < (1 + 1 / S.PART) * 5000 * ROW * ROWS + 2 * max(map(with_helper, range(3)))


def test_a_machine_that_becomes_quiet_is_noticed(sharing):
    spent(sharing, 500, lambda k: 4e-3)
    _, shared = spent(sharing, 3000, lambda k: 0.5 * ROW * ROWS)
    assert shared > 2000


def test_one_thread_is_measured_again(sharing):
    """A machine that has become faster since: what helpers seem to gain is a loss."""
    spent(sharing, 10, lambda k: 0.9 * ROW * ROWS)
    seconds, shared = spent(sharing, 5000, lambda k: 0.9 * ROW * ROWS, 0.5 * ROW)
    assert shared < 500 and seconds < 0.56 * 5000 * ROW * ROWS


def test_small_batches_and_one_thread_need_no_plan(sharing):
    assert sharing.plan(sharing.fewest - 1) == (0, sharing.fewest - 1)
    assert sharing.plan(0) == (0, 1)
    for _ in range(4):
        assert sharing.plan(10**6, 1) == (0, 10**6)


def test_what_is_no_number_of_threads_is_refused():
    system = mb.System(mb.zoo.chain(6), "emh-ldl")
    Q = np.zeros((3, 6))
    for threads in (0, -1, 1.5, "2", True):
        with pytest.raises(StateError, match=r"^threads: expected a whole number"):
            system.rhs_batch(Q, Q, threads=threads)
