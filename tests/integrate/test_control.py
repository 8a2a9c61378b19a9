"""A controller in plain Python: when it is called, what it sees, what its forces do, and what happens when it fails."""

from __future__ import annotations

import os
import signal
import sys
import threading

import numba
import numpy as np
import pytest
from integrate_cases import ORDER, pendulum

import mbkern as mb
from mbkern.errors import StateError

STEP = {"dopri5": None, "rk4": 5e-3, "midpoint": 5e-3, "gauss4": 5e-3, "gauss6": 5e-3}
PERIOD = 0.02


class Spy:
    """f(t, q, p) -> tau that remembers what it was called with."""

    def __init__(self, f):
        self.f = f
        self.calls = []

    def __call__(self, t, q, p):
        self.calls.append((t, q, p))
        return self.f(t, q, p)

    def times(self):
        return np.array([t for t, _, _ in self.calls])


def arm():
    model = mb.zoo.chain(3, seed=1)
    return mb.System(model), np.array([0.3, -0.4, 0.5]), np.array([0.1, 0.0, -0.1])


def spring(t, q, p):
    return -20.0 * q - 3.0 * p + np.sin(9.0 * t)


# ------------------------------------------------------------------------------- what it does


@pytest.mark.parametrize("integrator", ORDER)
def test_is_a_loop_of_steps_with_forces_held(integrator):
    """`simulate` with a controller has the bits of a `Stepper` that is given the same forces."""
    system, q, p = arm()
    solution = system.simulate(q, p, (0.0, 0.2), integrator, step=STEP[integrator], tau=spring, control_step=PERIOD,
                               t_eval=PERIOD * np.arange(11) if integrator == "dopri5" else None)
    assert solution.status == "finished"
    stepper = system.stepper(integrator, step=PERIOD if integrator == "dopri5" else 5e-3)
    stepper.reset(q, p)
    per_period = 1 if integrator == "dopri5" else 4
    for k in range(10):
        tau = spring(stepper.t, q, p)
        for _ in range(per_period):
            q, p = stepper.step(tau=tau)
        i = per_period * (k + 1)
        if integrator == "dopri5":  # its first steps differ: one knows the whole span, one a period
            np.testing.assert_allclose(solution.q[i], q, atol=1e-8)
        else:
            assert solution.t[i] == pytest.approx(stepper.t, rel=1e-15)
            np.testing.assert_allclose(solution.q[i], q, rtol=1e-13)


def test_forces_are_held_between_two_calls():
    """A mass without gravity: p grows by tau(t_k) times the period, to rounding."""
    builder = mb.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("cart", joint=mb.prismatic("x"), mass=2.0)
    system = mb.System(builder.build())
    for integrator in ORDER:
        solution = system.simulate([0.0], [0.0], (0.0, 1.0), integrator, tau=lambda t, q, p: [np.sin(3.0 * t)],
                                   control_step=0.1)
        kicks = 0.1 * np.sin(0.3 * np.arange(10))
        assert solution.p[-1, 0] == pytest.approx(kicks.sum(), rel=1e-12)
        p = np.concatenate(([0.0], kicks.cumsum()))
        assert solution.q[-1, 0] == pytest.approx(0.05 * (0.5 * p[:-1] + 0.5 * p[1:]).sum(), rel=1e-11)


@pytest.mark.parametrize("integrator", ["dopri5", "rk4", "gauss4"])
def test_is_called_at_a_fixed_rate_and_sees_the_states_of_the_output(integrator):
    system, q, p = arm()
    spy = Spy(spring)
    solution = system.simulate(q, p, (1.0, 1.25), integrator, tau=spy, control_step=0.1)
    np.testing.assert_allclose(spy.times(), [1.0, 1.1, 1.2], rtol=1e-15)  # a last period of half the length
    assert solution.t[-1] == 1.25
    for t, seen_q, seen_p in spy.calls:
        k = np.flatnonzero(solution.t == t)
        assert k.size == 1 and np.array_equal(solution.q[k[0]], seen_q) and np.array_equal(solution.p[k[0]], seen_p)
    steps = np.diff(solution.t)
    assert steps.max() <= 0.1 * (1 + 1e-12) and steps.min() > 0.0


def test_backward_in_time():
    system, q, p = arm()
    spy = Spy(lambda t, q, p: np.zeros(3))
    solution = system.simulate(q, p, (0.0, -0.3), tau=spy, control_step=0.1)
    np.testing.assert_allclose(spy.times(), [0.0, -0.1, -0.2])
    free = system.simulate(q, p, (0.0, -0.3))
    np.testing.assert_allclose(solution.q[-1], free.q[-1], atol=1e-8)


def test_joint_speeds_for_those_who_want_them():
    system, q, p = arm()
    seen = []

    def with_speeds(t, q, p, u):
        seen.append((q, p, u))
        return -u

    def with_gain(t, q, p, gain=2.0):
        assert gain == 2.0
        return -gain * p

    assert system.simulate(q, p, (0.0, 0.1), tau=with_speeds, control_step=0.05).success
    for q_seen, p_seen, u in seen:
        assert np.array_equal(u, system.velocities(q_seen, p_seen))
    assert system.simulate(q, p, (0.0, 0.1), tau=with_gain, control_step=0.05).success
    assert system.simulate(q, p, (0.0, 0.1), tau=lambda *state: 0.0 * state[2], control_step=0.05).success


def test_works_beside_output_events_wrenches_and_quaternions():
    model = mb.zoo.random_tree(5, seed=4, joints=[mb.ball(), mb.revolute("x"), mb.free()])
    system = mb.System(model)
    q, u = model.random_state(seed=2)
    p = system.momenta(q, 0.1 * u)
    times = np.linspace(0.0, 0.1, 7)
    wrench = np.full((model.n_bodies, 6), 0.1)
    spy = Spy(lambda t, q, p: -0.5 * p)
    at_times = system.simulate(q, p, (0.0, 0.1), t_eval=times, tau=spy,
                               control_step=0.01, wrench=wrench, rtol=1e-10, atol=1e-12)
    assert at_times.success and np.array_equal(at_times.t, times) and len(spy.calls) == 10
    every = system.simulate(q, p, (0.0, 0.1), "rk4", step=1e-3, tau=spy, control_step=0.01, wrench=wrench,
                            save_every=30, dense=True)
    assert np.allclose(every.t, [0.0, 0.03, 0.06, 0.09, 0.1])  # not at every call of the controller
    np.testing.assert_allclose(every.q[-1], at_times.q[-1], atol=1e-7)
    np.testing.assert_allclose(every.sol(times)[0], at_times.q, atol=1e-6)


def test_an_event_ends_the_run():
    system = pendulum()
    low = mb.event(numba.njit(lambda t, q, p: q[0] - 1.0), terminal=True)
    spy = Spy(lambda t, q, p: [1.0])
    solution = system.simulate([0.0], [0.0], (0.0, 5.0), tau=spy, control_step=0.05, events=low)
    assert solution.status == "event" and solution.q[-1, 0] == pytest.approx(1.0, abs=1e-7)
    assert spy.calls[-1][0] <= solution.t[-1] < spy.calls[-1][0] + 0.05


def test_a_controller_may_use_the_system_itself():
    system, q, p = arm()

    def predictive(t, q, p):
        ahead = system.simulate(q, p, (t, t + 0.01))
        return -10.0 * ahead.q[-1]

    assert system.simulate(q, p, (0.0, 0.1), tau=predictive, control_step=0.01).success


# ------------------------------------------------------------------------------- what goes wrong


def fails(when, how):
    def clumsy(t, q, p):
        return how(q) if t >= when - 1e-9 else np.zeros(q.size)
    return clumsy


def raises(q):
    raise ValueError("no signal")


@pytest.mark.parametrize("integrator", ["dopri5", "rk4", "midpoint"])
@pytest.mark.parametrize("when", [0.0, 0.06])
@pytest.mark.parametrize(("how", "said"), [
    (raises, "the function 'clumsy' for tau raised ValueError: no signal"),
    (lambda q: np.zeros(2), "the function 'clumsy' for tau returned no joint forces: tau: expected 3 real numbers, "
                            "shape (3,), got shape (2,)"),
    (lambda q: np.array([0.0, np.nan, 0.0]), "returned no joint forces: tau[1] (body1) = nan: expected a finite"),
    (lambda q: [0.0, 0.0, 1e300], "returned no joint forces: tau[2] (body2) = 1e+300"),
    (lambda q: None, "returned no joint forces: tau: expected 3 real numbers, shape (3,), got None"),
    (lambda q: "much", "returned no joint forces: tau: expected 3 real numbers"),
])
def test_a_controller_without_forces_ends_the_run(integrator, when, how, said):
    system, q, p = arm()
    solution = system.simulate(q, p, (0.0, 0.2), integrator, step=STEP[integrator], tau=fails(when, how),
                               control_step=PERIOD)
    assert solution.status == "failed" and solution.message.startswith(f"stopped at t = {when:.9g} s: ")
    assert said in solution.message
    assert isinstance(solution.cause, ValueError) == (how is raises)
    assert solution.t[0] == 0.0 and solution.t[-1] == pytest.approx(when) and np.isfinite(solution.q).all()
    assert np.array_equal(solution.q[0], q)
    again = system.simulate(q, p, (0.0, 0.2), integrator, step=5e-3)  # nothing is left behind
    assert again.success and np.array_equal(again.q, mb.System(system.model).simulate(
        q, p, (0.0, 0.2), integrator, step=5e-3).q)


@numba.njit
def writes(t, q, p, out):
    out[0] = 1.0


@pytest.mark.parametrize(("options", "said"), [
    ({"tau": spring, "control_step": 0.0}, "control_step: expected a positive number, got 0"),
    ({"tau": spring, "control_step": "1 ms"}, "control_step: expected a finite number"),
    ({"tau": spring, "control_step": 1e-300}, "control_step: 1e-300 s is too small"),
    ({"tau": None, "control_step": 0.1}, "control_step: expected a function f"),
    ({"tau": [0.0, 0.0, 0.0], "control_step": 0.1}, "control_step: expected a function f"),
    ({"tau": writes, "control_step": 0.1}, r"tau: writes\(t, q, p, out\) writes its forces"),
    ({"tau": lambda t, q: q, "control_step": 0.1}, "tau: expected a function"),
    ({"tau": lambda t, q, p, u, w: q, "control_step": 0.1}, "tau: expected a function"),
    ({"tau": spring}, "control_step"),
])
def test_bad_arguments(options, said):
    system, q, p = arm()
    with pytest.raises(StateError, match=said):
        system.simulate(q, p, (0.0, 1.0), **options)


def test_bad_states_are_refused_before_the_controller_is_called():
    system, _, p = arm()
    spy = Spy(spring)
    for bad in ([0.0, np.nan, 0.0], [0.0, 0.0]):
        with pytest.raises(StateError, match="q0"):
            system.simulate(bad, p, (0.0, 1.0), tau=spy, control_step=0.1)
    assert not spy.calls


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_keeps_what_was_computed():
    system, q, p = arm()
    before = signal.getsignal(signal.SIGINT)
    begun = threading.Event()

    def slow(t, q, p):
        if t > 0.1 and not begun.is_set():
            begun.set()
            os.kill(os.getpid(), signal.SIGINT)
        return np.zeros(3)

    solution = system.simulate(q, p, (0.0, 1e4), tau=slow, control_step=0.01)
    assert solution.status == "interrupted" and 0.1 < solution.t[-1] < 1.0
    assert signal.getsignal(signal.SIGINT) is before
