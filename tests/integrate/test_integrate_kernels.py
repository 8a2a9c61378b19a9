"""The arithmetic of the integrators, step by step: errors and steps of Dormand-Prince, stages, Jacobians, output."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from integrate_cases import pendulum
from scipy.integrate import RK45

import mbkern as mb
from mbkern.core.cabi import ODE
from mbkern.integrate.driver import Record, Run, drive, joined
from mbkern.integrate.kernels import newton
from mbkern.integrate.kernels import plan as P
from mbkern.integrate.options import INTEGRATORS
from mbkern.integrate.problem import Problem


@numba.cfunc(ODE)
def kepler(t, y, dydt, user):
    y, dydt = numba.carray(y, 4), numba.carray(dydt, 4)
    cube = (y[0] ** 2 + y[1] ** 2) ** 1.5
    dydt[0], dydt[1], dydt[2], dydt[3] = y[2], y[3], -y[0] / cube, -y[1] / cube


ORBIT = np.array([0.4, 0.0, 0.0, 2.0])  # eccentricity 0.6, semi-axis 1


def kepler_rates(t, y):
    cube = (y[0] ** 2 + y[1] ** 2) ** 1.5
    return np.array([y[2], y[3], -y[0] / cube, -y[1] / cube])


@numba.cfunc(ODE)
def noisy(t, y, dydt, user):
    y, dydt = numba.carray(y, 2), numba.carray(dydt, 2)
    for i in range(2):
        dydt[i] = -y[i] + 1e-5 * np.sin(1e10 * y[i])


@numba.cfunc(ODE)
def jump(t, y, dydt, user):
    dydt = numba.carray(dydt, 2)
    dydt[0] = dydt[1] = 1e3 if t > 1.0 else 0.0


@numba.cfunc(ODE)
def squares(t, y, dydt, user):
    y, dydt = numba.carray(y, 2), numba.carray(dydt, 2)
    dydt[0], dydt[1] = y[0] ** 2, y[1] ** 2


@numba.cfunc(ODE)
def identity(t, y, dydt, user):
    y, dydt = numba.carray(y, 2), numba.carray(dydt, 2)
    dydt[0], dydt[1] = y[0], y[1]


def problem(f, size):
    return Problem(f.address, 0, 0, size, size // 2, np.empty(0, np.int64), lambda code, t: "no value", str)


# ------------------------------------------------------------------------------- Dormand-Prince


def test_error_of_each_step_is_that_of_scipy():
    """The error norm, step by step from the same state with the same step, to rounding."""
    rtol, atol = 1e-6, 1e-8
    run = Run(problem(kepler, 4), INTEGRATORS["dopri5"], ORBIT, 0.0, 20.0, rtol=rtol, atol=atol)
    run.start()
    compared = 0
    for _ in range(60):
        t, y, accepted = float(run.num[P.T]), run.y.copy(), int(run.plan[P.ACCEPTED])
        assert run.chunk(1) == P.MORE
        if run.plan[P.ACCEPTED] == accepted:
            continue
        h, error = float(run.num[P.H_LAST]), float(run.num[P.ERROR_OLD])
        peer = RK45(kepler_rates, t, y, 20.0, rtol=1e3, atol=1e3, first_step=h)  # accepts every step
        peer.step()
        assert peer.t - t == h
        np.testing.assert_allclose(run.y, peer.y, rtol=0, atol=1e-14)
        scale = atol + rtol * np.maximum(np.abs(y), np.abs(peer.y))
        expected = np.sqrt(np.mean((h * (peer.K.T @ RK45.E) / scale) ** 2))
        if expected > 1e-4:  # what is smaller is not remembered
            # the estimate is a difference of slopes: 1e-16 of them, in units of a tolerance of 1e-6
            assert error == pytest.approx(expected, rel=1e-5)
            compared += 1
    assert compared > 20


def test_no_growth_after_a_rejected_step():
    """Before a jump of f there is no error at all: a step that does not reach it may be followed by one ten times as
    long, but not when it was tried after one that was rejected."""
    run = Run(problem(jump, 2), INTEGRATORS["dopri5"], np.ones(2), 0.0, 10.0, step=1e-3, rtol=1e-6, atol=1e-8)
    run.start()
    rejected, held, grown = False, 0, 0
    while run.num[P.T] < 0.99:
        before = int(run.plan[P.REJECTED])
        assert run.chunk(1) == P.MORE
        if run.plan[P.REJECTED] > before:
            rejected = True
        elif rejected:
            assert run.num[P.H] == run.num[P.H_LAST]
            rejected, held = False, held + 1
        else:
            assert run.num[P.H] == pytest.approx(10.0 * run.num[P.H_LAST])
            grown += 1
    assert held >= 2 and grown >= 2


# ------------------------------------------------------------------------------- Gauss


def test_stages_that_do_not_settle_are_not_accepted():
    """Slopes with noise of 1e-5: the iteration changes the state by 1e-6 of itself for ever, far above rounding."""
    for name in ("midpoint", "gauss4"):
        run = Run(problem(noisy, 2), INTEGRATORS[name], np.array([1.0, 0.7]), 0.0, 1.0, step=0.1, n_steps=10)
        outcome = drive(run, Record())
        assert outcome.status == "failed" and "did not converge" in outcome.message


def test_jacobian_by_differences():
    """Of a linear f it is exact, as the step is the difference of two numbers; its size shows in that of y^2."""
    J = np.empty(4)

    def jacobian(f, y):
        run = Run(problem(f, 2), INTEGRATORS["gauss4"], np.array(y), 0.0, 1.0, step=0.1, n_steps=10)
        assert newton.jacobian(run.plan, run.num, 0.0, run.work, J)
        return J.reshape(2, 2).copy()

    for y in ([0.1, 3.0], [1e5, 1.0 / 3.0], [0.0, 0.0]):
        assert np.array_equal(jacobian(identity, y), np.eye(2))
    for y, steps in (([0.0, 0.0], [1.5e-11, 1.5e-11]), ([0.0, 100.0], [1.5e-9, 1.5e-6]),
                     ([3.0, 0.0], [4.5e-8, 4.5e-11])):
        found = jacobian(squares, y)
        assert found[0, 1] == found[1, 0] == 0.0
        # 2 y + step; a difference of squares of size y^2 is rounded to 1e-16 y^2 / step
        bound = [1e-6 * step if x == 0.0 else 0.2 * step for x, step in zip(y, steps, strict=True)]
        assert np.all(np.abs(np.diag(found) - 2.0 * np.array(y) - steps) < bound)


# ------------------------------------------------------------------------------- output and events


@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "gauss4"])
def test_the_state_at_a_terminal_event_is_saved(integrator):
    """Also between the states that `save_every` keeps."""
    stop = mb.event(numba.njit(lambda t, q, p: t - 0.1234), terminal=True)
    step = None if integrator == "dopri5" else 1e-3
    solution = pendulum().simulate([0.3], [0.0], (0.0, 1.0), integrator, step=step, save_every=10_000, events=stop)
    assert solution.status == "event" and solution.t.size == 2
    assert solution.t[-1] == solution.events[0].t[0] == pytest.approx(0.1234, abs=1e-15)
    assert np.array_equal(solution.q[-1], solution.events[0].q[0])


def test_a_crossing_at_the_end_of_a_step_is_found_once():
    """Steps end at k h, and t + (t_new - t) differs from t_new by rounding now and then: the sign that a step begins
    with need not be the one that the step before has ended with."""
    h, found = 0.1, 0
    for k in range(2, 60):
        t, t_new = (k - 1) * h, k * h
        if t + (t_new - t) == t_new:
            continue
        mark = numba.njit(lambda t, q, p, at=t_new: t - at)
        solution = pendulum().simulate([0.3], [0.0], (0.0, 60 * h), "rk4", step=h, events=mark)
        assert solution.events[0].t.size <= 1 and np.all(np.abs(solution.events[0].t - t_new) < 1e-14)
        found += solution.events[0].t.size
        if found == 2:
            break


def test_dense_rows_are_those_of_the_accepted_steps():
    run = Run(problem(kepler, 4), INTEGRATORS["dopri5"], np.array([0.1, 0.0, 0.0, 4.2]), 0.0, 5.0, rtol=1e-6, atol=1e-8,
              save_every=1, dense=True)
    record = Record()
    assert drive(run, record).status == "finished" and run.plan[P.REJECTED] > 0
    t, bounds = joined(record.t), joined(record.dense_t, 2)
    assert np.array_equal(bounds[:, 0], t[:-1]) and np.array_equal(bounds[:, 1], t[1:])
