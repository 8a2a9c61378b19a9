"""Runs whose output would fill the memory, and calls that go on for ever: refused, or ended with what there is."""

from __future__ import annotations

import copy
import pickle

import numba
import numpy as np
import pytest
from integrate_cases import ORDER, pendulum
from interrupts import assert_ctrl_c_ends

import mbkern as mb
from mbkern.errors import IntegrationError, ModelError, StateError
from mbkern.integrate import memory


@pytest.fixture
def small(monkeypatch):
    """A machine with 6 MB of free memory: a run may keep 1 MB."""
    monkeypatch.setattr(memory, "available", lambda: 6e6)


def test_free_memory():
    assert 0.0 < memory.available() < 1e15 or memory.available() == float("inf")


def test_a_run_may_keep_a_part_of_it(small):
    assert 0.0 < memory.limit() < 0.2 * 6e6


def test_a_run_too_large_is_refused_before_it_begins():
    """1e9 states of a pendulum: 24 GB in three copies, whatever the machine."""
    with pytest.raises(StateError, match=r"would take 2.4e\+04 GB, the limit is .* save_every or t_eval"):
        pendulum().simulate([0.0], [0.0], (0.0, 1000.0), "rk4", step=1e-9)


@pytest.mark.parametrize("integrator", [name for name in ORDER if name != "dopri5"])
def test_fixed_steps_are_counted_first(small, integrator):
    run = dict(integrator=integrator, step=1e-5)
    with pytest.raises(StateError, match=r"would take 0.0024 GB, the limit is 0.001 GB"):
        pendulum().simulate([0.0], [0.0], (0.0, 1.0), **run)
    with pytest.raises(StateError, match=r"would take 0.008 GB, 0.008 GB of it for dense=True"):
        pendulum().simulate([0.0], [0.0], (0.0, 1.0), save_every=10_000, dense=True, **run)
    assert pendulum().simulate([0.0], [0.0], (0.0, 0.1), save_every=1000, **run).success


def test_times_and_batches_are_counted_first(small):
    times = np.linspace(0.0, 1.0, 100_000)
    with pytest.raises(StateError, match=r"would take 0.0024 GB"):
        pendulum().simulate([0.0], [0.0], (0.0, 1.0), t_eval=times)
    zeros = np.zeros((1000, 1))
    with pytest.raises(StateError, match=r"would take 0.016 GB, the limit is 0.003 GB"):
        pendulum().simulate_batch(zeros, zeros, (0.0, 1.0), t_eval=times[::100])


@pytest.mark.parametrize("options", [{"max_step": 1e-4}, {"dense": True, "max_step": 1e-3}])
def test_an_adaptive_run_that_fills_the_memory_ends_with_what_it_has(small, options):
    solution = pendulum().simulate([0.3], [0.0], (0.0, 1e6), **options)
    assert solution.status == "failed" and not solution.success and "limit is 0.001 GB" in solution.message
    assert "stopped at t = " in solution.message and solution.t.size > 1000 and np.isfinite(solution.q).all()
    kept = solution.t.nbytes + solution.q.nbytes + solution.p.nbytes
    assert kept < 5e6, "the limit, and at most what the buffers take"
    if "dense" in options:
        assert np.isfinite(solution.sol(0.5 * solution.t[-1])[0]).all()


@pytest.mark.parametrize("integrator", ["rk4", "gauss4", "dopri5"])
def test_ctrl_c_ends_a_long_call_of_a_stepper(integrator):
    stepper = pendulum().stepper(integrator, step=1e-4)
    stepper.reset([0.0], [0.0])
    stepper.step(2)
    assert_ctrl_c_ends(lambda: stepper.step(10**9))
    before = stepper.t
    assert 2e-4 < before < 1e5 and np.isfinite(stepper.q).all()
    stepper.step()
    assert stepper.t == pytest.approx(before + 1e-4, rel=1e-9), "it goes on from where it was"


def test_steps_of_a_stepper_are_the_same_in_one_call_or_many():
    """A long call goes by chunks."""
    ends = []
    for counts in ([1000], 10 * [100], 1000 * [1]):
        stepper = pendulum().stepper("rk4", step=1e-3)
        stepper.reset([0.3], [0.0])
        for n in counts:
            stepper.step(n)
        ends.append((stepper.t, *stepper.q, *stepper.p))
    assert ends[0] == ends[1] == ends[2]


def test_numbers_that_nobody_counts_to():
    with pytest.raises(StateError, match="save_every: expected a whole number from 1"):
        pendulum().simulate([0.0], [0.0], (0.0, 1.0), save_every=10**30)
    with pytest.raises(StateError, match="terminal: expected"):
        mb.event(numba.njit(lambda t, q, p: t), terminal=10**30)
    stepper = pendulum().stepper("rk4")
    stepper.reset([0.0], [0.0])
    with pytest.raises(StateError, match="n: expected"):
        stepper.step(10**30)


@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "gauss4"])
def test_a_stepper_goes_on_where_its_copy_was_made(integrator):
    stepper = pendulum().stepper(integrator, step=0.01)
    assert "not started" in repr(pickle.loads(pickle.dumps(stepper)))
    stepper.reset([0.3], [0.0], t=1.0)
    stepper.step(7, tau=[0.5])
    copies = [attempt(stepper) for attempt in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)))]
    expected = [*stepper.step(5), stepper.t]
    for again in copies:  # after the first one has moved on: they share nothing
        assert again.t == pytest.approx(1.07) and [*again.step(5), again.t] == expected


def test_a_copied_stepper_keeps_its_function():
    @numba.njit
    def push(t, q, p, out):
        out[0] = np.sin(t)

    stepper = pendulum().stepper("rk4", step=0.01, tau=push)
    stepper.reset([0.3], [0.0])
    again = pickle.loads(pickle.dumps(stepper))
    assert again.step(3) == stepper.step(3)
    with pytest.raises(StateError, match="a tau of its own"):
        again.step(tau=[1.0])


def test_dense_output_of_a_run_that_failed_at_once():
    builder = mb.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("frame", joint=mb.revolute("z"))
    builder.add_body("bob", "frame", mb.revolute("x"), mass=1.0, com=(0, 0, 1.0))
    system = mb.System(builder.build())
    solution = system.simulate([0.0, 0.0], [0.0, 0.0], (0.0, 1.0), dense=True, t_eval=[0.5, 1.0])
    assert solution.status == "failed" and solution.t.size == 0
    with pytest.raises(IntegrationError, match=r"sol\(t\): the run has no states: stopped at t = 0 s"):
        solution.sol(0.0)
    solution = system.simulate([0.0, 0.0], [0.0, 0.0], (0.0, 1.0), dense=True)
    assert solution.sol(0.0)[0].tolist() == [0.0, 0.0]


def test_masked_arrays_are_refused():
    masked = np.ma.array([0.1], mask=[True])
    good = {"q0": [0.0], "p0": [0.0], "t_span": (0.0, 1.0)}
    for name in ("q0", "p0", "t_eval", "tau"):
        with pytest.raises(StateError, match=f"{name}: expected an array without a mask"):
            pendulum().simulate(**good | {name: masked})
    with pytest.raises(StateError, match="Q0: expected an array without a mask"):
        pendulum().simulate_batch(np.ma.array([[0.1]]), [[0.0]], (0.0, 1.0))


def test_a_spline_that_overflows():
    for t, x in (([0, 1, 2, 3], [0, 1e308, -1e308, 1e308]), ([0, 1e-300, 2e-300, 1], [0, 1, 0, 1])):
        with pytest.raises(ModelError, match="spline: its polynomials overflow"):
            mb.spline(t, x)
