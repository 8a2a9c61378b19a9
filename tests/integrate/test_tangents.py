"""Tangents along runs: against differences of whole runs, heyoka's variational equations, and the symplectic form."""

import math

import numpy as np
import pytest
from cases import random_model, random_state
from double_pendulum import double_pendulum, heyoka_double_pendulum
from integrate_cases import FIXED, GAUSS, flying, pendulum, quarter_period, state
from numba import njit

import mbkern as mb
from mbkern.derivatives.jacobian import charts
from mbkern.errors import IntegrationError, MethodError, StateError
from mbkern.variational.duals import derivative_by_duals

HOW = {"rk4": {"step": 0.01}, "dopri5": {"max_step": 0.02, "rtol": 1e-12, "atol": 1e-13}, "midpoint": {"step": 0.02},
       "gauss4": {"step": 0.02}, "gauss6": {"step": 0.02}}


Q, P = np.array([0.4, 1.1]), np.array([0.3, -0.2])


def differences(system, q, p, span, h=1e-4, **options):
    """d(end)/d(begin) by differences of fourth order; q along its tangents."""
    model, nv = system.model, system.model.nv
    N = charts(model, q, np.zeros(nv))[0]

    def end(d):
        run = system.simulate(q + N @ d[:nv], p + d[nv:], span, **options)
        return np.concatenate([run.q[-1], run.p[-1]])

    T = charts(model, end(np.zeros(2 * nv))[:model.nq], np.zeros(nv))[1]
    columns = [(8 * (end(h * e) - end(-h * e)) - (end(2 * h * e) - end(-2 * h * e))) / (12 * h)
               for e in np.eye(2 * nv)]
    return np.array([np.concatenate([T @ column[:model.nq], column[model.nq:]]) for column in columns]).T


def assert_near(a, b, tolerance):
    assert np.abs(a - b).max() <= tolerance * np.abs(b).max()


@pytest.mark.parametrize("integrator", HOW)
def test_tangents_are_the_derivative_of_the_steps_and_leave_them_alone(integrator):
    system, how = mb.System(double_pendulum()), {"integrator": integrator, **HOW[integrator]}
    run, plain = system.simulate(Q, P, (0.0, 1.0), tangent=True, **how), system.simulate(Q, P, (0.0, 1.0), **how)
    assert np.array_equal(run.q, plain.q) and np.array_equal(run.t, plain.t) and np.array_equal(run.p, plain.p)
    assert np.array_equal(run.tangent[0], np.eye(4)) and run.tangent.shape == (run.t.size, 4, 4)
    # differences: h^4 times a fifth derivative, and 1e-15 / h
    assert_near(run.tangent[-1], differences(system, Q, P, (0.0, 1.0), **how), 1e-9)


@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "gauss4"])
def test_tangents_of_ball_and_free_joints(integrator):
    model = random_model(family="random", n=3, seed=9, kinds=("ball", "free", "revolute"), springs=True)
    system, (q, p) = mb.System(model), random_state(model, 1, 0.0)
    q = q.copy()
    for at in model.quaternion_offsets:
        q[at:at + 4] /= np.linalg.norm(q[at:at + 4])
    how = {"integrator": integrator, **HOW[integrator]}
    run = system.simulate(q, p, (0.0, 0.2), tangent=True, **how)
    assert_near(run.tangent[-1], differences(system, q, p, (0.0, 0.2), **how), 1e-9)


@pytest.mark.parametrize("integrator", GAUSS)
def test_gauss_tangents_are_symplectic_to_rounding(integrator):
    run = mb.System(double_pendulum()).simulate(Q, P, (0.0, 5.0), integrator, step=0.02, tangent=True)
    # rounding of 250 products, relative to the square of the largest number
    assert run.symplectic_error() <= 1e-14 * np.abs(run.tangent).max() ** 2
    other = mb.System(double_pendulum()).simulate(Q, P, (0.0, 5.0), "rk4", step=0.02, tangent=True)
    assert other.symplectic_error() > 1e-9


def test_columns_are_those_of_the_whole_matrix():
    system = mb.System(double_pendulum())
    columns = np.random.default_rng(0).normal(size=(4, 6))
    for integrator in ("rk4", "gauss4"):
        whole = system.simulate(Q, P, (0.0, 0.5), integrator, step=0.02, tangent=True)
        some = system.simulate(Q, P, (0.0, 0.5), integrator, step=0.02, tangent=columns)
        assert_near(some.tangent, whole.tangent @ columns, 1e-13)


def test_tangents_at_wanted_times_and_at_events():
    system = mb.System(double_pendulum())
    precise = {"rtol": 1e-11, "atol": 1e-12}
    times = [0.0, 0.31, 0.74, 1.0]
    run = system.simulate(Q, P, (0.0, 1.0), t_eval=times, tangent=True, **precise)
    for t, Phi in zip(times[1:], run.tangent[1:], strict=True):
        # order 4 between the steps, as the states
        assert_near(Phi, system.simulate(Q, P, (0.0, t), tangent=True, **precise).tangent[-1], 1e-7)

    @njit
    def passing(t, q, p):
        return q[0] - 1.0

    stopped = system.simulate(Q, P, (0.0, 1.0), events=mb.event(passing, terminal=True), tangent=True, **precise)
    assert stopped.status == "event"
    t = float(stopped.t[-1])
    assert_near(stopped.tangent[-1], system.simulate(Q, P, (0.0, t), tangent=True, **precise).tangent[-1], 1e-7)


def test_saved_every_few_steps_and_in_files(tmp_path):
    system = mb.System(double_pendulum())
    whole = system.simulate(Q, P, (0.0, 1.0), "gauss4", step=0.01, tangent=True)
    some = system.simulate(Q, P, (0.0, 1.0), "gauss4", step=0.01, tangent=True, save_every=10)
    assert np.array_equal(some.tangent, whole.tangent[::10]) and some.tangent.shape == (11, 4, 4)
    some.save(tmp_path / "run.npz")
    assert np.array_equal(mb.Solution.load(tmp_path / "run.npz").tangent, some.tangent)


def test_many_tangents_need_several_buffers():
    system, q, p = state(flying(), 3, 0.3)
    run = system.simulate(q, p, (0.0, 1.0), "rk4", step=2e-4, tangent=True)
    again = system.simulate(q, p, (0.0, 1.0), "rk4", step=2e-4, tangent=True, save_every=5000)
    assert run.tangent.shape == (5001, 2 * 11, 2 * 11) and np.array_equal(run.tangent[-1], again.tangent[-1])


# ---- forces of a user ----


@njit
def motor(t, q, p, out):
    out[0] = np.cos(t) - 2.0 * q[0] ** 3 + 0.1 * q[1] * p[0]
    out[1] = -0.4 * p[1] + np.sin(q[0])


@njit
def motor_by_state(t, q, p, tau_q, tau_p):
    tau_q[0, 0] = -6.0 * q[0] ** 2
    tau_q[0, 1] = 0.1 * p[0]
    tau_p[0, 0] = 0.1 * q[1]
    tau_p[1, 1] = -0.4
    tau_q[1, 0] = np.cos(q[0])


@njit
def unknown(t, q, p, out):
    out[0] = -2.0 * q[0] ** 3


@njit
def wind(t, q, p, out):
    out[1, 2] = 1.0 + 0.3 * np.sin(q[1] + t)


@pytest.mark.parametrize("kind", ["given", "differences", "duals", "friction", "wrench"])
def test_forces_with_derivatives(kind):
    model = double_pendulum(springs=True)
    system, how = mb.System(model), {"integrator": "rk4", "step": 0.01}
    if kind == "wrench":
        how["wrench"] = mb.forces.with_derivative(wind)
    elif kind == "friction":
        how["tau"] = mb.forces.combine(mb.forces.friction(model, coulomb=0.3, viscous=0.1, speed=0.5),
                                       mb.forces.with_derivative(motor, motor_by_state))
    else:
        derivative = {"given": motor_by_state, "duals": "duals", "differences": None}[kind]
        how["tau"] = mb.forces.with_derivative(motor, derivative)
    run = system.simulate(Q, P, (0.0, 0.5), tangent=True, **how)
    assert_near(run.tangent[-1], differences(system, Q, P, (0.0, 0.5), **how), 1e-9)
    implicit = {**how, "integrator": "gauss4"}
    run = system.simulate(Q, P, (0.0, 0.5), tangent=True, **implicit)
    assert_near(run.tangent[-1], differences(system, Q, P, (0.0, 0.5), **implicit), 1e-9)


@njit
def everything(t, q, p, u, out):
    """Whatever a force function may do with a number."""
    total = 0
    for j in range(q.size):
        total += 2 * q[j]
    out[0] = np.cos(t) * total ** 3 - 1.0 / (3 + p[-1] ** 2) + math.exp(-q[0]) + np.arctan2(p[1], 2.0)
    out[1] = max(math.tanh(u[0]), -0.5) - abs(u[1]) * np.sqrt(1.0 + q[1] * q[1]) + min(p[0], 1) * 2 ** p[1]
    if q[0] > 0.1 and len(out) == out.shape[0]:
        out[1] -= math.log(2.0 + np.sin(q[0])) ** 0.5 / 2 + math.atan2(q[1], p[1] + 3)
        out[0] += np.hypot(q[1], p[0]) * np.sign(u[1])


def test_duals_derive_what_a_function_computes():
    f = mb.forces.with_derivative(everything, "duals")
    assert f is everything
    df, x = derivative_by_duals(everything), np.array([0.4, 1.1, 0.3, -0.2, 0.7, -0.9])
    by = [np.zeros((2, 2)) for _ in range(3)]
    df(0.3, *x.reshape(3, 2), *by)

    def at(x):
        out = np.zeros(2)
        everything(0.3, *x.reshape(3, 2).copy(), out)
        return out

    h = 1e-3
    expected = [(8 * (at(x + h * e) - at(x - h * e)) - (at(x + 2 * h * e) - at(x - 2 * h * e))) / (12 * h)
                for e in np.eye(6)]
    # differences of fourth order: h^4 of fifth derivatives, which are about 10 here
    assert np.abs(np.hstack(by) - np.array(expected).T).max() < 1e-10


def test_functions_that_duals_cannot_run_are_refused():
    @njit
    def whole(t, q, p, out):
        out[:] = -2.0 * q

    with pytest.raises(StateError, match=r"'whole' cannot run on dual numbers.*'out\[:\] = -2.0 \* q' does not comp"):
        mb.forces.with_derivative(whole, "duals")
    with pytest.raises(StateError, match="expected an njit function, \"duals\" or None, got 'twins'"):
        mb.forces.with_derivative(whole, "twins")


def test_soft_stops_have_their_derivative():
    builder = mb.ModelBuilder()
    builder.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(1.0, 0.0, 0.0), limits=(-0.5, 0.5))
    model = builder.build()
    how = {"integrator": "rk4", "step": 5e-4, "tau": mb.forces.soft_limits(model, 400.0, 10.0, 0.05)}
    system, q, p = mb.System(model), np.array([0.51]), np.array([1.0])
    run = system.simulate(q, p, (0.0, 0.02), tangent=True, **how)
    assert_near(run.tangent[-1], differences(system, q, p, (0.0, 0.02), **how), 1e-8)


def test_a_constant_wrench_turns_with_its_body():
    system, wrench = mb.System(double_pendulum()), np.zeros((2, 6))
    wrench[1] = [0.5, 0.2, -1.0, 0.1, 0.3, 0.2]
    how = {"integrator": "rk4", "step": 0.01, "wrench": wrench, "tau": [0.3, 0.1]}
    run = system.simulate(Q, P, (0.0, 0.5), tangent=True, **how)
    assert_near(run.tangent[-1], differences(system, Q, P, (0.0, 0.5), **how), 1e-9)


# ---- refusals ----


def test_what_is_refused():
    model = double_pendulum()
    system, options = mb.System(model), {"integrator": "rk4", "step": 0.01}
    with pytest.raises(StateError, match=r"tau: the derivative of the function 'unknown' is not known.*with_deriv"):
        system.simulate(Q, P, (0.0, 0.1), tau=unknown, tangent=True, **options)
    with pytest.raises(StateError, match="control_step"):
        system.simulate(Q, P, (0.0, 0.1), tau=lambda t, q, p: [0.0, 0.0], control_step=0.01, tangent=True, **options)
    for wrong in ("yes", np.eye(3), np.full((4, 2), np.nan), np.ones(4), np.ones((4, 0))):
        with pytest.raises(StateError, match="tangent: expected"):
            system.simulate(Q, P, (0.0, 0.1), tangent=wrong, **options)
    plain = system.simulate(Q, P, (0.0, 0.1), **options)
    with pytest.raises(IntegrationError, match="tangent=True"):
        plain.tangent  # noqa: B018
    with pytest.raises(StateError, match=r"tangent: .* GB, the limit"):
        system.simulate(Q, P, (0.0, 1e3), "rk4", step=1e-2, tangent=np.ones((4, 100_000)))
    with pytest.raises(MethodError, match=r"tangent: .* state \(q, u\)"):
        mb.System(model, "newton-euler-ldl").simulate(Q, P, (0.0, 0.1), tangent=True, **options)
    with pytest.raises(MethodError, match=r"jac: .* state \(q, u\)"):
        mb.System(model, "newton-euler-ldl").ode().jac(0.0, np.zeros(4))
    with pytest.raises(StateError, match="njit"):
        mb.forces.with_derivative(lambda t, q, p, out: None)
    with pytest.raises(StateError, match=r"df\(t, q, p, tau_q, tau_p\)"):
        mb.forces.with_derivative(motor, motor)


def test_symplectic_errors_are_for_conservative_machines():
    how = {"integrator": "gauss4", "step": 0.02, "tangent": True}
    damped = mb.System(double_pendulum(springs=True)).simulate(Q, P, (0.0, 0.1), **how)
    with pytest.raises(StateError, match=r"dissipative \(damping of 'upper'\)"):
        damped.symplectic_error()
    tau = mb.forces.with_derivative(motor, motor_by_state)
    with pytest.raises(StateError, match="tau is a function"):
        mb.System(double_pendulum()).simulate(Q, P, (0.0, 0.1), tau=tau, **how).symplectic_error()
    system, q, p = state(flying(), 1)
    with pytest.raises(StateError, match="euler_ball"):
        system.simulate(q, p, (0.0, 0.1), **how).symplectic_error()


def test_a_run_that_fails_keeps_its_tangents():
    @njit
    def breaks(t, q, p, out):
        out[0] = 1.0 / (0.5 - t) if t < 0.5 else np.nan

    run = mb.System(double_pendulum()).simulate(Q, P, (0.0, 1.0), "rk4", step=0.01, tangent=True,
                                                tau=mb.forces.with_derivative(breaks))
    assert not run.success and run.tangent.shape[0] == run.t.size and np.isfinite(run.tangent).all()


# ---- heyoka, closed forms ----


def test_state_transition_matrix_against_heyoka():
    y, Phi = heyoka_double_pendulum([*Q, *P], 2.0)
    system = mb.System(double_pendulum())
    for how in ({"integrator": "gauss6", "step": 2e-3}, {"rtol": 1e-13, "atol": 1e-14}):
        run = system.simulate(Q, P, (0.0, 2.0), tangent=True, **how)
        assert np.abs(np.concatenate([run.q[-1], run.p[-1]]) - y).max() < 1e-10
        assert_near(run.tangent[-1], Phi, 1e-10)


def test_pendulum_over_a_whole_swing_comes_back():
    """Phi over a period has the eigenvalue 1 twice: along the orbit, and across energies."""
    system, period = pendulum(), 4.0 * quarter_period(1.0)
    Phi = system.simulate([0.5 * np.pi - 1.0], [0.0], (0.0, period), "gauss6", step=2e-3, tangent=True).tangent[-1]
    assert abs(np.trace(Phi) - 2.0) < 1e-9 and abs(np.linalg.det(Phi) - 1.0) < 1e-12


def test_all_fixed_methods_are_covered():
    assert set(FIXED) | {"dopri5"} == set(HOW)
