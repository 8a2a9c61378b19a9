"""rhs of many states: every row has the bits of a single call, whatever the others are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from cases import random_model

import mbkern as mb
from mbkern import methods, plain
from mbkern import threads as thread_pool
from mbkern.batch.operations import BatchCall
from mbkern.core import checks
from mbkern.embed import CODES

L = plain.load("layout")
METHODS = ("emh-ldl", "emh-lu", "dah", "hzu")


def rows(model, count):
    """Random states as rows; momenta of order one."""
    drawn = [model.random_state(seed) for seed in range(count)]
    return np.array([q for q, _ in drawn]), np.array([u for _, u in drawn])


def one_by_one(system, Q, P, t, tau):
    count = len(Q)
    t = np.broadcast_to(t, count)
    tau = [None] * count if tau is None else np.broadcast_to(tau, (count, system.model.nv))
    answers = [system.rhs(*arguments) for arguments in zip(Q, P, t.tolist(), tau, strict=True)]
    return np.array([a for a, _ in answers]), np.array([b for _, b in answers])


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def model():
    """All joint types, quaternions and drives among them, springs, dampers and rotors."""
    model = random_model("random", 24, 5, springs=True, rotors=True)
    moves = {(int(step.move), int(step.kind)) for step in model.steps}
    assert {(0, 0), (1, 0), (2, 0), (3, 0), (0, 2)} <= moves
    return model


@pytest.mark.parametrize("method", METHODS)
def test_bits_of_single_calls(model, method):
    """Explicit fma, no contraction: a lane is a float64. So not one bit may differ, for any B, t and tau."""
    system = mb.System(model, method)
    rng = np.random.default_rng(1)
    for count in (1, 3, 4, 7):
        Q, P = rows(model, count)
        times, tau = rng.uniform(0, 2, count), rng.normal(size=(count, model.nv))
        assert same(system.rhs_batch(Q, P), one_by_one(system, Q, P, 0.0, None))
        assert same(system.rhs_batch(Q, P, 0.4, tau[0]), one_by_one(system, Q, P, 0.4, tau[0]))
        assert same(system.rhs_batch(Q, P, times, tau), one_by_one(system, Q, P, times, tau))


@pytest.mark.parametrize("seed", range(4))
def test_bits_on_random_trees(seed):
    model = random_model("random", 9, seed, springs=seed % 2 == 0)
    system = mb.System(model, "emh-ldl")
    Q, P = rows(model, 7)
    tau = np.random.default_rng(seed).normal(size=(7, model.nv))
    assert same(system.rhs_batch(Q, P, 0.3, tau), one_by_one(system, Q, P, 0.3, tau))


@pytest.mark.parametrize("shape", ["chain", "carousel", "binary"])
def test_bits_on_trees_of_hinges(shape):
    """They have functions of their own, single and on lanes: the same bits as those for any tree."""
    model = random_model(shape, 9, 3, kinds=("revolute",), springs=True)
    system = mb.System(model, "emh-ldl")
    assert model.block[L.ONLY_HINGES]
    Q, P = rows(model, 11)
    tau = np.random.default_rng(1).normal(size=(11, model.nv))
    expected = one_by_one(system, Q, P, 0.0, tau)
    assert same(system.rhs_batch(Q, P, 0.0, tau), expected)
    any_tree = BatchCall(system, methods.METHODS["emh-ldl"].operation)
    assert same(any_tree.run(0.0, (Q, P, tau), 1, None, False, None), expected)


def test_a_thousand_states_in_any_order_on_any_threads(model):
    system = mb.System(model, "emh-ldl")
    Q, P = rows(model, 1000)
    rng = np.random.default_rng(2)
    times, tau, order = rng.uniform(0, 2, 1000), rng.normal(size=(1000, model.nv)), rng.permutation(1000)
    expected = one_by_one(system, Q, P, times, tau)
    for threads in (1, 2, 8, None):
        assert same(system.rhs_batch(Q, P, times, tau, threads=threads), expected)
    shuffled = system.rhs_batch(Q[order], P[order], times[order], tau[order], threads=2)
    assert same(shuffled, (expected[0][order], expected[1][order]))


def test_any_kind_of_rows():
    """Other dtypes, orders and strides, read-only arrays, nested lists, no rows at all."""
    model = mb.zoo.chain(5)
    system = mb.System(model, "emh-ldl")
    Q, P = rows(model, 6)
    Q, P = Q.astype(np.float32).astype(float), P.astype(np.float32).astype(float)
    expected = system.rhs_batch(Q, P)
    frozen = Q.copy()
    frozen.flags.writeable = False
    wide = np.zeros((12, 10))
    wide[::2, ::2] = Q
    for given in (Q.astype(np.float32), np.asfortranarray(Q), frozen, wide[::2, ::2], Q.tolist()):
        assert same(system.rhs_batch(given, P), expected)
    assert [part.shape for part in system.rhs_batch(np.empty((0, 5)), np.empty((0, 5)))] == [(0, 5), (0, 5)]


def test_into_given_arrays(model):
    """The same bits, in the very arrays given; every number of them is written, by any number of threads."""
    system = mb.System(model, "emh-ldl")
    Q, P = rows(model, 203)
    expected = system.rhs_batch(Q, P)
    for threads in (1, 2):
        given = np.full_like(Q, np.nan), np.full_like(P, np.nan)
        answer = system.rhs_batch(Q, P, threads=threads, out=given)
        assert answer[0] is given[0] and answer[1] is given[1] and same(answer, expected)
    Q[5, 0] = np.nan
    *answer, status = system.rhs_batch(Q, P, return_status=True, out=given)
    assert status[5] == checks.BAD_Q and np.flatnonzero(status).tolist() == [5]
    assert np.isnan(answer[1][5]).all() and np.isfinite(answer[1][4]).all()


@pytest.mark.parametrize("shift", [0, 1, 20, 39])
def test_results_that_would_go_where_states_are(shift):
    """Refused, wherever the arrays meet; arrays that only lie side by side are fine."""
    system = mb.System(mb.zoo.chain(5), "emh-ldl")
    Q, P, tau, other = np.zeros((8, 5)), np.ones((8, 5)), np.ones((8, 5)), np.zeros((8, 5))
    expected = system.rhs_batch(Q, P, tau=tau)

    def neighbours(part, shift):
        memory = np.zeros(80)
        memory[:40] = part.ravel()
        return memory[:40].reshape(8, 5), memory[shift:shift + 40].reshape(8, 5)

    for k in range(3):
        states = [Q, P, tau]
        states[k], near = neighbours(states[k], 40)
        assert same(system.rhs_batch(*states[:2], tau=states[2], out=(near, other)), expected)
        states[k], near = neighbours(states[k], shift)
        for out in ((near, other), (other, near)):
            with pytest.raises(mb.errors.StateError, match="share memory"):
                system.rhs_batch(*states[:2], tau=states[2], out=out)
    with pytest.raises(mb.errors.StateError, match="share memory"):
        system.rhs_batch(Q, P, out=neighbours(other, shift))
    near = neighbours(other, shift)[1]
    with pytest.raises(mb.errors.StateError, match="share memory"):
        system.rhs_batch(Q, P, near.ravel()[:8], out=(near, other))
    assert same(system.rhs_batch(Q, P, tau=tau, out=neighbours(other, 40)), expected)


def test_bad_rows_get_a_status_and_leave_the_others_alone():
    builder = mb.ModelBuilder()
    moving = mb.translate("x", mb.spline([0.0, 1.0, 2.0], [0.0, 0.1, 0.0]))
    builder.add_body("base", joint=[moving, mb.ball()], mass=1.0, inertia=(1, 1, 1))
    builder.add_body("arm", "base", mb.revolute("z"), mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    model = builder.build()
    system = mb.System(model, "emh-ldl")
    Q, P = rows(model, 22)
    times, tau = np.full(22, 0.5), np.zeros((22, 4))
    good = system.rhs_batch(Q, P, times, tau)
    wrong = {1: checks.BAD_Q, 4: checks.BAD_Q, 6: checks.BAD_P, 9: checks.BAD_P, 12: checks.BAD_QUATERNION,
             15: checks.BAD_TAU, 17: checks.BAD_T, 20: checks.SINGULAR, 21: checks.NOT_FINITE}
    Q[1, 4], Q[4, 0], P[6, 2], P[9, 0] = np.nan, np.inf, np.nan, 1e250
    Q[12, :4] *= 1.2
    tau[15, 1], times[17], times[20], P[21] = np.nan, np.nan, 2.5, (1e180, -2e180, 3e180, 1e180)
    Qdot, Pdot, status = system.rhs_batch(Q, P, times, tau, return_status=True)
    assert {int(i): int(status[i]) for i in np.flatnonzero(status)} == wrong
    fine = status == 0
    assert same((Qdot[fine], Pdot[fine]), (good[0][fine], good[1][fine]))
    assert np.isnan(Qdot[~fine]).all() and np.isnan(Pdot[~fine]).all()
    assert [CODES[code][0] for code in (1, 5)] == ["BAD_Q", "SINGULAR"]
    with pytest.warns(RuntimeWarning, match=r"9 of 22 states have no result.* row 1: BAD_Q"):
        assert np.array_equal(system.rhs_batch(Q, P, times, tau)[0], Qdot, equal_nan=True)
    # one that cannot be evaluated at all in every lane of a block
    assert (system.rhs_batch(Q[[1] * 5], P[[1] * 5], return_status=True)[2] == checks.BAD_Q).all()


@pytest.mark.parametrize(("change", "said"), [
    ({"Q": np.zeros(3)}, r"Q: expected shape \(B, 3\).*got shape \(3,\); for a single state write Q\[None, :\]"),
    ({"Q": np.zeros((4, 2))}, r"Q: .*shape \(4, 3\), got shape \(4, 2\)"),
    ({"Q": [[0.0, 0, 0], [0.0, 0]]}, "Q: expected rows of equal length"),
    ({"P": np.zeros((3, 3))}, r"P: expected as many rows as Q \(4\), got 3"),
    ({"P": 1.0}, "P: expected shape"),
    ({"Q": np.zeros((4, 3), complex)}, "Q: expected"),
    ({"t": np.zeros(3)}, r"t: .*shape \(4,\), got shape \(3,\)"),
    ({"t": [[0.0], [0.0, 1.0]]}, r"t: .*shape \(4,\)"),
    ({"t": np.nan}, "t: expected a finite number"),
    ({"tau": np.zeros(4)}, r"tau: .*shape \(3,\)"),
    ({"tau": np.zeros((3, 3))}, r"tau: expected as many rows as Q \(4\), got 3"),
    ({"tau": [[0.0, 0.0, 0.0], [0.0]]}, "tau: expected rows of equal length"),
    ({"tau": [0.0, np.nan, 0.0]}, r"tau\[1\]"),
    ({"tau": lambda t: t}, "tau: expected numbers"),
    ({"threads": 0}, "threads: expected a whole number, at least 1"),
    ({"threads": 1.5}, "threads: expected a whole number"),
    ({"parameters": 3}, "parameters: expected what model.vary"),
    ({"out": np.zeros((4, 3))}, r"out: expected \(Qdot, Pdot\), row-major .*shapes \(4, 3\) and \(4, 3\), got"),
    ({"out": (np.zeros((4, 3)), [1.0])}, r"out: expected .*, got \[1.0\]"),
    ({"out": (np.zeros((4, 3)), np.zeros((3, 3)))}, r"out: expected .*, got float64 \(3, 3\)"),
    ({"out": (np.zeros((4, 3), np.float32), np.zeros((4, 3)))}, r"out: expected .*, got float32 \(4, 3\)"),
    ({"out": (np.zeros((3, 4)).T, np.zeros((4, 3)))}, r"out: expected .*, read-only, unaligned or not row-major"),
])
def test_bad_input(change, said):
    arguments = {"Q": np.zeros((4, 3)), "P": np.zeros((4, 3))} | change
    with pytest.raises(mb.errors.MbkernError, match=said):
        mb.System(mb.zoo.chain(3), "emh-ldl").rhs_batch(**arguments)


def test_the_environment_limits_the_threads(monkeypatch):
    monkeypatch.setenv("MBKERN_NUM_THREADS", "2")
    assert thread_pool.count(8) == 2 and thread_pool.count(1) == 1 and thread_pool.count() <= 2
    monkeypatch.setenv("MBKERN_NUM_THREADS", "many")
    with pytest.raises(mb.errors.MbkernError, match="MBKERN_NUM_THREADS: expected a whole number"):
        thread_pool.count(2)
    monkeypatch.delenv("MBKERN_NUM_THREADS")
    assert thread_pool.count(3) == 3


@pytest.mark.parametrize(("files", "quota"), [
    ({"cpu.max": "250000 100000\n"}, 2.5), ({"cpu.max": "max 100000\n"}, np.inf), ({}, np.inf),
    ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5),
    ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, np.inf),
    ({"cpu.max": "what\n"}, np.inf), ({"cpu.max": "100000 0\n"}, np.inf),
])
def test_the_limit_of_a_container_counts(tmp_path, monkeypatch, files, quota):
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert thread_pool._quota(tmp_path) == quota
    monkeypatch.setattr(thread_pool, "_QUOTA", quota)
    monkeypatch.setattr(thread_pool.os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    assert thread_pool.processors() == min(8, max(1, np.ceil(quota)))


def test_threads_really_work_at_once_and_tell_their_errors():
    """Two workers meet at a barrier: that takes two threads. What one raises, the caller gets."""
    import threading

    barrier = threading.Barrier(2, timeout=300)
    thread_pool.run(lambda: barrier.wait() and None, 2)

    def fail():
        raise mb.errors.StateError("from a helper")

    with pytest.raises(mb.errors.StateError, match="from a helper"):
        thread_pool.run(fail, 3)
    pieces = thread_pool.Pieces(103, 4, threads=3, smallest=8)
    taken = list(iter(pieces.take, None))
    assert taken[0][0] == 0 and taken[-1][1] == 103
    assert all(a[1] == b[0] and (a[1] - a[0]) % 4 == 0 for a, b in pairwise(taken))


def test_concurrent_callers_leave_numba_alone():
    """Eight Python threads, each asking for several: no thread count of Numba changes, and no bit of the answer."""
    import numba

    before = numba.get_num_threads()
    system = mb.System(mb.zoo.chain(6), "emh-ldl")
    Q, P = rows(system.model, 300)
    expected = system.rhs_batch(Q, P, threads=1)
    with ThreadPoolExecutor(8) as pool:
        for answer in pool.map(lambda n: system.rhs_batch(Q, P, threads=n % 3 + 1), range(40)):
            assert same(answer, expected)
    assert numba.get_num_threads() == before
