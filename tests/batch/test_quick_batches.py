"""Batches as built-in functions of Python: what they take as it is, and what they leave to Python."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import mbkern as mb
from mbkern.batch.operations import BatchCall
from mbkern.core.number import LANES
from mbkern.errors import StateError
from mbkern.workspace import interpreter

SYSTEM = mb.System(mb.zoo.chain(6), "emh-ldl")
COUNT = 2 * LANES + 3
Q, P, TAU = np.random.default_rng(0).normal(size=(3, COUNT, 6))


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def one_by_one(tau=None):
    rows = [SYSTEM.rhs(Q[k], P[k], tau=None if tau is None else tau[k]) for k in range(COUNT)]
    return [np.array(x) for x in zip(*rows, strict=True)]


@pytest.fixture
def no_slow_way(monkeypatch):
    if not interpreter.known():
        pytest.skip("objects of this Python are not as compiled code takes them")
    SYSTEM.rhs_batch(Q, P, threads=1)

    def refuse(*args):
        raise AssertionError("the slow way")

    monkeypatch.setattr(BatchCall, "_run", refuse)


@pytest.mark.parametrize("options", ({}, {"threads": 1}, {"tau": TAU}, {"t": 1}, {"t": np.float64(0.5)}), ids=str)
def test_plain_arrays_take_the_quick_way(no_slow_way, options):
    expected = one_by_one(options.get("tau"))
    assert same(SYSTEM.rhs_batch(Q, P, **options), expected)
    out = np.full((COUNT, 6), np.nan), np.full((COUNT, 6), np.nan)
    before = sys.getrefcount(out[0]), sys.getrefcount(Q)
    for _ in range(100):
        assert SYSTEM.rhs_batch(Q, P, **options, out=out) is out
    assert (sys.getrefcount(out[0]), sys.getrefcount(Q)) == before
    assert same(out, expected)
    assert len(SYSTEM._batches["rhs"]._frames) == 1  # lent and put back


def test_no_states(no_slow_way):
    assert [x.shape for x in SYSTEM.rhs_batch(Q[:0], P[:0], threads=1)] == [(0, 6), (0, 6)]


@pytest.mark.parametrize("given", (
    (Q.tolist(), P), (np.asfortranarray(Q), P), (Q, np.repeat(P, 2, axis=1)[:, ::2]), (Q, P, np.zeros(COUNT)),
    (Q, P, [0.0] * COUNT), (Q, P, 0.0, np.zeros(6))),
    ids=["list", "columns", "steps", "times", "list of times", "one tau"])
def test_anything_else_is_converted(given):
    assert same(SYSTEM.rhs_batch(*given, threads=1), one_by_one())


@pytest.mark.parametrize(("given", "out", "message"), (
    ((Q[:, :5], P), None, "^Q: expected a row of 6 numbers"), ((Q, P[1:]), None, "^P: expected as many rows as Q"),
    ((np.ma.masked_array(Q), P), None, "^Q"), ((Q[0], P[0]), None, "^Q: expected shape"),
    ((Q, P, None), None, "^t"), ((Q, P, "now"), None, "^t"),
    ((Q, P), (Q, P.copy()), "^out: its arrays share memory"), ((Q, P), (P.copy(), Q[::-1][::-1]), "^out: its arrays"),
    ((Q, P), (np.empty((COUNT, 5)), P.copy()), "^out"), ((Q, P), P.copy(), "^out"), ((Q, P), (P.copy(),) * 2, "^out"),
    ((Q, P), (P.copy(), np.empty((COUNT, 6), np.float32)), "^out")))
def test_what_is_wrong_is_named(given, out, message):
    before = Q.copy()
    with pytest.raises(StateError, match=message):
        SYSTEM.rhs_batch(*given, threads=1, out=out)
    assert np.array_equal(Q, before)


def test_read_only_results_are_refused():
    out = P.copy(), P.copy()
    out[1].flags.writeable = False
    with pytest.raises(StateError, match=r"^out"):
        SYSTEM.rhs_batch(Q, P, threads=1, out=out)
    assert np.array_equal(out[1], P)


def test_a_bad_row_is_said_once_and_leaves_the_others_alone():
    bad = Q.copy()
    bad[LANES, 3] = np.inf
    out = np.zeros((COUNT, 6)), np.zeros((COUNT, 6))
    with pytest.warns(RuntimeWarning, match=f"1 of {COUNT} states .* first is row {LANES}: BAD_Q") as said:
        SYSTEM.rhs_batch(bad, P, threads=1, out=out)
    assert len(said) == 1 and said[0].filename == __file__
    expected = one_by_one()
    for rows, right in zip(out, expected, strict=True):
        assert np.isnan(rows[LANES]).all()
        assert np.array_equal(np.delete(rows, LANES, 0), np.delete(right, LANES, 0))


def test_results_of_more_dimensions(no_slow_way):
    R, r = SYSTEM.body_poses_batch(Q, threads=1)
    assert R.shape == (COUNT, 6, 3, 3) and r.shape == (COUNT, 6, 3)
    for k in range(COUNT):
        assert same((R[k], r[k]), SYSTEM.body_poses(Q[k]))
