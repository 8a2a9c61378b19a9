"""Large times: what float64 still resolves, and what is said where it does not."""

from __future__ import annotations

import numpy as np
import pytest
from integrate_cases import ORDER, pendulum
from scipy.integrate import solve_ivp

import mbkern as mb
from mbkern.errors import IntegrationError, StateError

UNIX = 1.7e9  # seconds since 1970: a float64 holds them to 2.4e-7 s


def swing(t0, **options):
    return pendulum().simulate([0.3], [0.0], (t0, t0 + 2.0), **options)


def test_an_autonomous_system_does_not_lose_accuracy_at_large_times():
    """Not less accurate than SciPy's RK45, which takes h = (t + h) - t, at the same tolerances and the same time."""
    system, tolerances = pendulum(), {"rtol": 1e-8, "atol": 1e-10}
    exact = swing(0.0, rtol=1e-13, atol=1e-14).q[-1, 0]
    for t0 in (UNIX, 1e12):
        peer = solve_ivp(system.ode(), (t0, t0 + 2.0), [0.3, 0.0], method="RK45", **tolerances)
        ours = swing(t0, dense=True, **tolerances)
        # 1.1e-8 of SciPy's at t0 = 0 as at 1e12; 1.3: the steps of the two are chosen differently
        assert abs(ours.q[-1, 0] - exact) <= 1.3 * abs(peer.y[0, -1] - exact)
        assert ours.sol(t0 + 2.0)[0][0] == ours.q[-1, 0]


def test_batches_at_large_times():
    system, start = pendulum(), (np.full((5, 1), 0.3), np.zeros((5, 1)))
    batch = system.simulate_batch(*start, (UNIX, UNIX + 2.0))
    assert np.array_equal(batch.q[3, -1], swing(UNIX, t_eval=[UNIX, UNIX + 2.0]).q[-1])


def test_the_message_blames_the_resolution_of_time():
    """At t = 1e14 float64 holds time to 0.016 s: the tolerance cannot be met, and no singularity is near."""
    solution = pendulum().simulate([0.3], [0.0], (1e14, 1e14 + 2.0), rtol=1e-12, atol=1e-14)
    assert solution.status == "failed" and "float64 holds this time to 0.016 s only" in solution.message
    assert "singularity" not in solution.message


@pytest.mark.parametrize("integrator", ORDER)
def test_steps_that_time_does_not_resolve(integrator):
    stepper = pendulum().stepper(integrator, step=1e-3)
    stepper.reset([0.3], [0.0], t=1e17)
    with pytest.raises(IntegrationError, match=r"a step of 0.001 s does not change t = 1e\+17 s"):
        stepper.step()
    assert stepper.t == 1e17 and stepper.q.tolist() == [0.3]
    if integrator != "dopri5":
        with pytest.raises(StateError, match=r"step: 0.001 s is too small at t = 1e\+17 s, which float64"):
            pendulum().simulate([0.3], [0.0], (1e17, 1e17 + 160.0), integrator, step=1e-3)
    if integrator in ("rk4", "midpoint"):
        with pytest.raises(StateError, match="too small at t"):
            pendulum().simulate_batch([[0.3]], [[0.0]], (1e17, 1e17 + 160.0), integrator, step=1e-3)


@pytest.mark.parametrize("longest, span", [(1e-300, (0.0, 1.0)), (5e-324, (0.0, 1.0)), (1e-9, (1e9, 1e9 + 1.0))])
def test_longest_steps_that_time_does_not_resolve(longest, span):
    """An adaptive run that may not take a step that changes t, or one of 1e300 steps, never ended."""
    with pytest.raises(StateError, match=r"max_step: \S+ s is too small"):
        pendulum().simulate([0.3], [0.0], span, max_step=longest)
    with pytest.raises(StateError, match=r"max_step: \S+ s is too small"):
        pendulum().simulate_batch([[0.3]], [[0.0]], span, max_step=longest)


@pytest.mark.parametrize("integrator", ORDER)
def test_a_machine_without_degrees_of_freedom(integrator):
    """Welds and driven joints only: times without numbers, in few steps."""
    builder = mb.ModelBuilder()
    builder.add_body("base", mass=1.0)
    builder.add_body("wheel", "base", [mb.rotate("z", mb.harmonic(0.3, 2.0))], mass=1.0, inertia=(1, 1, 1))
    system = mb.System(builder.build())
    step = None if integrator == "dopri5" else 0.1
    solution = system.simulate([], [], (0.0, 1.0), integrator, step=step, dense=True)
    assert solution.success and solution.t[-1] == 1.0 and 2 <= solution.t.size < 30
    assert solution.q.shape == solution.p.shape == (solution.t.size, 0)
    assert solution.sol([0.2, 0.7])[0].shape == (2, 0)
    assert system.simulate([], [], (0.0, 1.0), integrator, step=step, t_eval=[0.0, 0.25]).t.tolist() == [0.0, 0.25]
    assert "finished" in repr(solution) and np.isfinite(solution.energy().kinetic).all()
    stepper = system.stepper(integrator, step=0.1)
    stepper.reset([], [])
    assert stepper.step(10)[0].shape == (0,) and stepper.t == pytest.approx(1.0)
