"""Batches of runs with constraints: each trajectory is that of `simulate`."""

import re
import sys

import numpy as np
import pytest
from interrupts import ctrl_c
from numba import njit

import mbkern as mb
from mbkern.errors import StateError


@pytest.fixture(scope="module")
def four_bar():
    return mb.System(mb.zoo.four_bar())


@pytest.fixture(scope="module")
def states(four_bar):
    found = [four_bar.consistent(np.zeros(3), [speed, 0.0, 0.0]) for speed in (0.5, 1.0, 2.0)]
    return np.array([q for q, _ in found]), np.array([four_bar.momenta(q, u) for q, u in found])


TIMES = [0.0, 0.3, 0.4]


def test_trajectories_are_those_of_single_runs(four_bar, states):
    Q, P = states
    batch = four_bar.simulate_batch(Q, P, (0.0, 0.4), t_eval=TIMES, tau=[[0.1 * k, 0.0, 0.0] for k in range(3)])
    assert batch.success
    for k in range(3):
        run = four_bar.simulate(Q[k], P[k], (0.0, 0.4), t_eval=TIMES, tau=[0.1 * k, 0.0, 0.0])
        np.testing.assert_array_equal(batch.q[k], run.q)
        np.testing.assert_array_equal(batch.p[k], run.p)
        assert np.abs(four_bar.constraint_residuals(batch.q[k, -1])).max() < 1e-13
    final = four_bar.simulate_batch(Q, P, (0.0, 0.4), reduce="final", threads=1)
    np.testing.assert_array_equal(final.q[0], batch.q[0, -1])  # no force on the first


def test_functions_know_the_number_of_their_state(four_bar, states):
    Q, P = states

    @njit
    def push(t, q, p, out, i):
        out[0] = 0.1 * i

    @njit
    def highest(t, q, p, kept, i):
        kept[0] = max(kept[0], q[0])
        kept[1] = i

    given = four_bar.simulate_batch(Q, P, (0.0, 0.4), t_eval=TIMES, tau=[[0.1 * k, 0.0, 0.0] for k in range(3)])
    Q, P = np.tile(Q, (8, 1)), np.tile(P, (8, 1))  # enough for several threads, each of which has its own number
    asked = four_bar.simulate_batch(Q, P, (0.0, 0.4), t_eval=TIMES, tau=push, threads=3)
    np.testing.assert_array_equal(asked.q[:3], given.q)
    assert len({run[-1, 0] for run in asked.q}) == 24
    alone = four_bar.simulate_batch(Q[5:], P[5:], (0.0, 0.4), t_eval=TIMES, tau=push, threads=1)
    assert not np.array_equal(alone.q[0], asked.q[5])  # it is number 0 there
    Q, P = states
    kept = four_bar.simulate_batch(Q, P, (0.0, 0.4), tau=push, reduce=highest, reduce_size=2).kept
    assert (kept[:, 1] == [0, 1, 2]).all() and (kept[:, 0] >= given.q[:, :, 0].max(axis=1)).all()


def test_a_function_that_raises_is_named_with_its_state(four_bar, states):
    @njit
    def late(t, q, p, u, out, i):
        if i == 1 and t > 0.2:
            raise ValueError("no more")
        out[0] = 0.1 * u[0]

    batch = four_bar.simulate_batch(*states, (0.0, 0.4), t_eval=TIMES, tau=late, threads=2)
    assert [row.success for row in batch] == [True, False, True]
    assert re.search(r"'late' for tau raised ValueError: no more \(state 1, t = 0\.[12]", batch.message(1))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_a_state_in_the_middle(four_bar, states):
    """In any thread: only the main one sees ctrl-C. To the end of one state it would be a day."""
    Q, P = states
    with ctrl_c(0.5):
        batch = four_bar.simulate_batch(Q, P, (0.0, 1e9), reduce="final", threads=2)
    assert "interrupted" in batch.message(0) and not batch.success


def test_machines_of_their_own(four_bar, states):
    Q, P = states
    crank = four_bar.model.body_specs[0].mass
    varied = four_bar.model.vary(body="crank", mass=crank * np.array([1.0, 1.5, 2.0]))
    P = np.array([mb.System(varied.model_of(k)).impact(Q[k], P[k]) for k in range(3)])
    batch = four_bar.simulate_batch(Q, P, (0.0, 0.4), "rk4", step=0.01, parameters=varied)
    run = mb.System(varied.model_of(2)).simulate(Q[2], P[2], (0.0, 0.4), "rk4", step=0.01)
    np.testing.assert_array_equal(batch.q[2, -1], run.q[-1])


def test_a_state_that_does_not_fit_is_named(four_bar, states):
    Q, P = states
    with pytest.raises(StateError, match=r"Q0\[1\]: the constraints are not satisfied"):
        four_bar.simulate_batch(Q + np.array([[0.0], [0.1], [0.0]]), P, (0.0, 0.4))
    with pytest.raises(StateError, match="tau: expected an njit function"):
        four_bar.simulate_batch(Q, P, (0.0, 0.4), tau=lambda t, q, p, out, i: None)


def test_reactions_motions_and_derivatives(four_bar, states):
    """What kernels of trees do not know: as the calls for one state have it."""
    Q, P = states
    tau = [0.5, 0.0, 0.0]
    np.testing.assert_array_equal(four_bar.reactions_batch(Q, P, tau=tau)[2], four_bar.reactions(Q[2], P[2], tau=tau))
    np.testing.assert_array_equal(four_bar.constraint_forces_batch(Q, P, tau=tau)[1],
                                  four_bar.constraint_forces(Q[1], P[1], tau=tau))
    np.testing.assert_array_equal(four_bar.frame_acceleration_batch(Q, P, "rocker")[1],
                                  four_bar.frame_acceleration(Q[1], P[1], "rocker"))
    np.testing.assert_array_equal(four_bar.jacobian_rhs_batch(Q, P)[2], four_bar.jacobian_rhs(Q[2], P[2]).matrix)
    np.testing.assert_array_equal(four_bar.jvp_batch(Q, P, Q, P)[1][2], four_bar.jvp(Q[2], P[2], Q[2], P[2])[1])
    U = np.array([four_bar.velocities(*state) for state in zip(Q, P, strict=True)])
    many, status = four_bar.derivatives_accelerations_batch(Q, U, return_status=True)[0::3]
    np.testing.assert_array_equal(many[0], four_bar.derivatives_accelerations(Q[0], U[0]).udot_q)
    assert status.tolist() == [0, 0, 0]
