"""Force functions in plain Python: the same motion as by compiled ones, and every fault in words."""

import warnings

import numba
import numpy as np
import pytest

import mbkern as mb
from mbkern import plain_callbacks
from mbkern.errors import SlowFunctionWarning, StateError

Q0, P0 = [0.3, -0.2], [0.0, 0.1]


def pd(t, q, p, u, out):
    out[0] = 3.0 * (0.5 - q[0]) - 2.0 * u[0] + np.sin(t)
    out[1] = -1.5 * u[1]


def brake(t, q, p, out):
    out[0] = -p[0]


def push(t, q, p, out):
    out[1, 2] = 2.0 + q[0]


@pytest.fixture
def system():
    return mb.System(mb.zoo.chain(2))


@pytest.fixture(autouse=True)
def told(monkeypatch):
    monkeypatch.setattr(plain_callbacks, "_told", True)


@pytest.mark.parametrize(("what", "f"), [("tau", pd), ("tau", brake), ("wrench", push)])
def test_the_very_bits_of_a_compiled_one(system, what, f):
    plain = system.simulate(Q0, P0, (0.0, 0.5), **{what: f})
    fast = system.simulate(Q0, P0, (0.0, 0.5), **{what: numba.njit(f)})
    assert plain.success and plain.nfev == fast.nfev > 50
    assert np.array_equal(plain.q, fast.q) and np.array_equal(plain.p, fast.p)


def test_where_the_state_is_of_speeds():
    """p is found for the function, as compiled code finds it."""
    system = mb.System(mb.zoo.chain(2), "newton-euler-ldl")
    for f in (pd, brake):
        plain, fast = (system.simulate(Q0, P0, (0.0, 0.1), tau=g) for g in (f, numba.njit(f)))
        assert plain.success and np.array_equal(plain.q, fast.q)


def test_stepper_takes_one(system):
    steppers = [system.stepper("rk4", step=0.01, tau=f) for f in (pd, numba.njit(pd))]
    for stepper in steppers:
        stepper.reset(Q0, P0)
        stepper.step(20)
    assert np.array_equal(steppers[0].q, steppers[1].q) and abs(steppers[0].q[0] - Q0[0]) > 1e-3


def test_its_state_is_its_own(system):
    """Objects are functions too, and what f does to its arguments stays there."""

    class Controller:
        calls = 0

        def __call__(self, t, q, p, out):
            self.calls += 1
            q[:] = np.nan
            out[:] = [0.1, 0.0]

    f = Controller()
    run = system.simulate(Q0, P0, (0.0, 0.1), tau=f)
    assert run.success and f.calls == run.nfev
    assert np.array_equal(run.q, system.simulate(Q0, P0, (0.0, 0.1), tau=[0.1, 0.0]).q)


def test_what_it_raises_is_the_cause(system):
    def fails(t, q, p, out):
        if t > 0.05:
            raise ZeroDivisionError("no more fuel")

    run = system.simulate(Q0, P0, (0.0, 1.0), tau=fails)
    assert not run.success and isinstance(run.cause, ZeroDivisionError)
    assert "the function 'fails' for tau raised ZeroDivisionError: no more fuel" in run.message
    assert 0.0 < run.t[-1] <= 0.05 and run.t.size > 1  # all up to there is kept


def test_ctrl_c_within_it_ends_the_run_as_anywhere(system):
    def pressed(t, q, p, out):
        if t > 0.05:
            raise KeyboardInterrupt

    run = system.simulate(Q0, P0, (0.0, 1.0), tau=pressed)
    assert run.status == "interrupted" and "interrupted at t = 0.0" in run.message
    assert 0.0 < run.t[-1] <= 0.05 and run.t.size > 1
    stepper = system.stepper("rk4", step=0.01, tau=pressed)
    stepper.reset(Q0, P0)
    with pytest.raises(KeyboardInterrupt):
        stepper.step(20)
    assert 0.03 < stepper.t <= 0.05 and np.isfinite(stepper.q).all()


def test_what_is_returned_is_refused(system):
    run = system.simulate(Q0, P0, (0.0, 1.0), tau=lambda t, q, p, out: -q)
    assert not run.success and "expected nothing returned, got ndarray; write the result into" in run.message


def test_not_a_number_is_named(system):
    def nothing(t, q, p, out):
        out[1] = np.nan

    run = system.simulate(Q0, P0, (0.0, 1.0), tau=nothing)
    assert not run.success and "'nothing' for tau gave out[1] = nan" in run.message


def test_wrong_arguments(system):
    with pytest.raises(StateError, match=r"f\(t, q, p, out\), got .*; or f\(t, q, p\) -> tau beside control_step"):
        system.simulate(Q0, P0, (0.0, 1.0), tau=lambda t, q, p: -q)


def test_it_is_said_once_that_it_is_slow(system, monkeypatch):
    monkeypatch.setattr(plain_callbacks, "_told", False)
    with pytest.warns(SlowFunctionWarning, match="'brake' is plain Python and is called at every evaluation"):
        system.simulate(Q0, P0, (0.0, 0.01), tau=brake)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        system.simulate(Q0, P0, (0.0, 0.01), tau=brake)
