"""`mb.gradient`: against differences of whole runs, and against tangents along the same steps."""

import os
from ctypes import CFUNCTYPE, c_double, c_void_p

import numpy as np
import pytest
from cases import CANONICAL, random_model, random_state
from double_pendulum import double_pendulum
from dual import partials_of, seeded, values_of
from interrupts import assert_ctrl_c_ends, ctrl_c
from numba import njit

import mbkern as mb
from mbkern import plain
from mbkern.derivatives.jacobian import charts
from mbkern.errors import IntegrationError, ModelError, NotEnoughMemoryError, StateError
from mbkern.variational import Desk
from mbkern.variational.constants import Constants
from mbkern.variational.kernels import desk as D
from mbkern.variational.tape import Tape
from mbkern.workspace.frame import make_frame

Q, P, SPAN = np.array([0.4, 1.1]), np.array([0.3, -0.2]), (0.0, 0.6)
TIMES = np.array([0.0, 0.2, 0.35, 0.6])
HOW = {"rk4": {"step": 0.01}, "dopri5": {"rtol": 1e-10, "atol": 1e-12}, "midpoint": {"step": 0.01},
       "gauss4": {"step": 0.02}, "gauss6": {"step": 0.03}}


def swing(t, q, p):
    """A loss with its derivatives."""
    return (float(np.sum(q**2) + np.sum(np.sin(p) * q[:, :1])), 2.0 * q + np.eye(1, q.shape[1]) * np.sin(p).sum(
        axis=1)[:, None], np.cos(p) * q[:, :1])


def slope(f, x, h):
    """df/dx of order 4."""
    return (8.0 * (f(x + h) - f(x - h)) - (f(x + 2.0 * h) - f(x - 2.0 * h))) / (12.0 * h)


@pytest.mark.parametrize("integrator", HOW)
def test_gradient_by_the_beginning_is_that_of_the_tangents(integrator):
    """The same steps forward: J^T Phi of all samples. Explicit steps end at the samples, as here with t_eval."""
    model = double_pendulum(springs=True)
    system = mb.System(model)
    how = {"integrator": integrator, **HOW[integrator]}
    found = mb.gradient(swing, system, Q, P, SPAN, t_eval=TIMES, **how)
    expected, y, Phi = np.zeros(4), (Q, P), np.eye(4)
    _, q_bar, p_bar = swing(found.t, found.q, found.p)
    for k, t in enumerate(TIMES):
        if k:
            run = system.simulate(*y, (TIMES[k - 1], t), tangent=True, **how)
            y, Phi = (run.q[-1], run.p[-1]), run.tangent[-1] @ Phi
        assert np.abs(np.concatenate(y) - np.concatenate([found.q[k], found.p[k]])).max() < 1e-12
        expected += np.concatenate([q_bar[k], p_bar[k]]) @ Phi
    assert np.abs(np.concatenate([found.q0, found.p0]) - expected).max() < 1e-11 * np.abs(expected).max()


def test_gradient_where_the_stages_need_newton():
    """Springs that fixed-point iteration cannot follow (h omega = 9): back by factors of all stages."""
    builder = mb.ModelBuilder()
    for name, parent in (("upper", "world"), ("lower", "upper")):
        builder.add_body(name, parent, mb.revolute("y"), mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1),
                         position=(1.0, 0, 0) if parent == "upper" else (0.0, 0, 0), stiffness=1e5, damping=10.0)
    system, how = mb.System(builder.build()), {"integrator": "gauss4", "step": 0.02}
    found = mb.gradient(swing, system, 0.01 * Q, P, (0.0, 0.2), t_eval=[0.1, 0.2], **how)
    run = system.simulate(0.01 * Q, P, (0.0, 0.2), t_eval=[0.1, 0.2], tangent=True, **how)
    _, q_bar, p_bar = swing(found.t, found.q, found.p)
    expected = sum(np.concatenate(bars) @ Phi for *bars, Phi in zip(q_bar, p_bar, run.tangent, strict=True))
    # rounding of forces of 1e5 N m
    assert np.abs(np.concatenate([found.q0, found.p0]) - expected).max() < 1e-10 * np.abs(expected).max()


def test_gradient_is_that_of_dual_numbers():
    """Classical Runge-Kutta steps in plain Python, on numbers that carry their derivatives by q, p and tau."""
    model, tau, steps, h = double_pendulum(springs=True), np.array([0.4, -0.3]), 6, 0.05
    y, forces = seeded([*Q, *P], np.eye(4, 6)), seeded(tau, np.eye(2, 6, k=4))
    rhs, work = plain.rhs("extended"), np.full(40_000, np.nan, object)

    def rate(y):
        qdot, pdot = np.empty(2, object), np.empty(2, object)
        assert rhs(model.block, 0.0, y[:2], y[2:], forces, qdot, pdot, work) == 0
        return np.concatenate([qdot, pdot])

    for _ in range(steps):
        k1 = rate(y)
        k2 = rate(y + 0.5 * h * k1)
        k3 = rate(y + 0.5 * h * k2)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(y + h * k3))
    end = values_of(y)
    value, q_bar, p_bar = swing(None, end[None, :2], end[None, 2:])
    expected = np.concatenate([q_bar[0], p_bar[0]]) @ partials_of(y, 6)
    found = mb.gradient(swing, mb.System(model), Q, P, (0.0, steps * h), "rk4", step=h, tau=tau)
    assert found.value == pytest.approx(value, rel=1e-13)
    assert np.abs(np.concatenate([found.q0, found.p0, found.tau]) - expected).max() < 1e-12 * np.abs(expected).max()


def test_gradient_with_quaternions_drives_and_wrenches():
    model = random_model(family="random", n=3, seed=9, kinds=("ball", "free", "revolute"), springs=True)
    system, (q, p) = mb.System(model), random_state(model, 1, 0.0)
    q = q.copy()
    for at in model.quaternion_offsets:
        q[at:at + 4] /= np.linalg.norm(q[at:at + 4])
    wrench = np.random.default_rng(0).normal(size=(model.n_bodies, 6))

    def loss(t, q, p):
        return float(q[-1] @ np.cos(np.arange(model.nq)) + p[-1] @ np.sin(np.arange(model.nv))), np.cos(
            np.arange(model.nq))[None], np.sin(np.arange(model.nv))[None]

    for integrator, step in (("rk4", 0.01), ("gauss4", 0.01)):
        found = mb.gradient(loss, system, q, p, (0.0, 0.1), integrator, step=step, wrench=wrench)
        run = system.simulate(q, p, (0.0, 0.1), integrator, step=step, wrench=wrench, tangent=True)
        N = charts(model, run.q[-1], np.zeros(model.nv))[0]
        _, q_bar, p_bar = loss(run.t, run.q, run.p)
        expected = np.concatenate([q_bar[0] @ N, p_bar[0]]) @ run.tangent[-1]
        assert np.abs(np.concatenate([found.q0, found.p0]) - expected).max() < 1e-10 * np.abs(expected).max()


def arm():
    builder = mb.ModelBuilder()
    builder.add_body("upper", joint=mb.revolute("y"), mass=1.2, com=(0.5, 0.1, 0.05), inertia=(0.1, 0.2, 0.15),
                     stiffness=2.0, damping=0.3, armature=0.05)
    builder.add_body("lower", "upper", mb.universal("y", "x"), mass=0.7, com=(0.3, -0.1, 0.2),
                     inertia=(0.05, 0.06, 0.07), position=(1.0, 0.1, 0.0), damping=(0.1, 0.2), stiffness=(0.5, 0.8))
    return builder.build()


def varied(model, name, change):
    """The model with one constant changed."""
    if name == "gravity":
        return model.vary(gravity=[model.gravity + change]).model_of(0)
    body, what = name.split(".")
    spec = model.body_specs[model.body_names.index(body)]
    value = np.asarray(getattr(spec, what), float) + change
    return model.vary(body=body, **{what: value[None]}).model_of(0)


def shoulder():
    """The same with a ball joint: sums of another kind, see `single_adjoint`."""
    builder = mb.ModelBuilder()
    builder.add_body("upper", joint=mb.ball(), mass=1.2, com=(0.5, 0.1, 0.05), inertia=(0.1, 0.2, 0.15), damping=0.3)
    builder.add_body("lower", "upper", mb.revolute("x"), mass=0.7, com=(0.3, -0.1, 0.2), inertia=(0.05, 0.06, 0.07),
                     position=(1.0, 0.1, 0.0), stiffness=0.5)
    return builder.build()


@pytest.mark.parametrize("make, q, absent", [(arm, [0.4, 0.3, -0.2], ()), (
    shoulder, [0.8, 0.0, 0.6, 0.0, 0.3], ("upper.stiffness", "upper.armature", "lower.damping"))])
def test_gradient_by_constants_against_differences(make, q, absent):
    model, q = make(), np.array(q)
    p = np.array([0.3, -0.1, 0.2, 0.1])[:model.nv]
    times = [0.2, 0.5]

    def at(changed):
        run = mb.System(changed).simulate(q, p, (0.0, 0.5), "rk4", step=0.01, t_eval=times)
        return swing(run.t, run.q, run.p)[0]

    found = mb.gradient(swing, mb.System(model), q, p, (0.0, 0.5), "rk4", step=0.01, t_eval=times, parameters="all")
    assert set(found.parameters) >= {
        "gravity", "upper.mass", "upper.com", "upper.inertia", "upper.position", "upper.stiffness", "upper.damping",
        "upper.armature", "lower.mass", "lower.com", "lower.inertia", "lower.position", "lower.stiffness",
        "lower.damping"} - set(absent)
    rng = np.random.default_rng(1)
    for name, gradient in found.parameters.items():
        if name in absent:
            continue
        direction = rng.uniform(0.5, 1.0, size=np.shape(gradient))
        if np.ndim(gradient) == 2:
            direction = 0.02 * (direction + direction.T)
        h = 1e-2 if "inertia" in name else 1e-3
        expected = slope(lambda x, d=direction, name=name: at(varied(model, name, x * d)), 0.0, h)
        # differences of order 4: 1e-12 of the loss over the change, and h^4
        assert np.sum(gradient * direction) == pytest.approx(expected, rel=1e-7, abs=1e-8), name


def test_spans_of_more_steps_than_memory_are_refused_before_anything_is_taken():
    with pytest.raises(NotEnoughMemoryError, match=r"the times of \d+ steps alone need .* GB, the limit is"):
        mb.gradient(swing, mb.System(double_pendulum()), Q, P, (0.0, 1e12), "rk4", step=1e-3)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("family", ["chain", "random", "carousel"])
def test_both_ways_to_weigh_a_state(family, several):
    """Without wrenches there are short sweeps that sum up constants of nodes; all trees have rows, and those of bodies.
    Slides, screws, drives, welded bodies, springs, rotors, or ball and free joints; two weights at one state, one of
    them tried only.
    """
    kinds = [kind for kind in CANONICAL if kind not in ("ball", "free")] + (["ball", "free"] * 3 if several else [])
    model = random_model(family, 7 if several else 6, 4, kinds=kinds, springs=True, rotors=not several)
    elements = {type(element).__name__ for body in model.body_specs for element in body.joint.elements}
    assert several == bool(elements & {"Ball", "Free"}) and len(elements) == (3 if several else 1)
    system, (q, p) = mb.System(model), random_state(model, 1, 0.3)
    y, found = np.concatenate([q, p]), []
    weights = np.random.default_rng(3).normal(size=(2, y.size))
    for rows in (False, True):
        frame = make_frame(system)
        desk, out = Desk(model, frame, gradient=True, wrenches=rows), np.full(weights.shape, np.nan)
        assert desk.nodes != rows and desk.singles == (not several and not rows)
        pull = CFUNCTYPE(None, c_double, *[c_void_p] * 4)(desk.pull_function.address)
        for k, trial in ((0, 0), (1, 1), (1, 0)):
            desk.array[D.AGAIN], desk.array[D.TRIAL] = k, trial
            pull(0.3, y.ctypes.data, weights[k].ctypes.data, out[k].ctypes.data, desk.address)
            assert desk.code == 0
        constants = Constants(model, desk.nodes)
        found.append((out, constants.gradient(constants.wanted("all"), desk.gradient)))
    (short, by_nodes), (long, by_bodies) = found
    expected = Desk(model, make_frame(system)).jacobian(0.3, y)
    for out in (short, long):
        assert np.abs(out - weights @ expected).max() < 1e-11 * np.abs(weights @ expected).max()
    assert set(by_nodes) == set(by_bodies) and len(by_nodes) > 4 * model.n_bodies
    assert several or any(name.endswith(".armature") for name in by_nodes)
    for what in sorted({name.rpartition(".")[2] for name in by_nodes}):
        names = [name for name in by_nodes if name.rpartition(".")[2] == what]
        size = max(np.abs(by_bodies[name]).max() for name in names)
        for name in names:
            assert np.shape(by_nodes[name]) == np.shape(by_bodies[name])
            assert np.abs(by_nodes[name] - by_bodies[name]).max() < 1e-11 * size, name


@pytest.mark.parametrize("integrator", ["gauss4", "dopri5"])
def test_the_other_integrators_take_constants_and_forces_alike(integrator):
    """Fine steps: all methods come to the gradient of the motion itself."""
    model, q, p = arm(), np.array([0.4, 0.3, -0.2]), np.array([0.3, -0.1, 0.2])
    tau = np.random.default_rng(2).normal(size=(4, 3))
    fine = mb.gradient(swing, mb.System(model), q, p, (0.0, 0.5), "rk4", step=5e-4, parameters="all", tau=tau)
    how = {"step": 2.5e-3} if integrator == "gauss4" else {"rtol": 1e-11, "atol": 1e-13}
    other = mb.gradient(swing, mb.System(model), q, p, (0.0, 0.5), integrator, parameters="all", tau=tau, **how)
    for name, gradient in fine.parameters.items():
        assert np.allclose(other.parameters[name], gradient, rtol=1e-6, atol=1e-7), name
    assert other.tau.shape == (4, 3) and np.allclose(other.tau, fine.tau, rtol=1e-6, atol=1e-8)


def test_gradient_by_piecewise_constant_forces():
    system, tau = mb.System(double_pendulum()), np.random.default_rng(0).normal(size=(3, 2))

    def end(tau):
        q, p = Q, P
        for k in range(3):
            run = system.simulate(q, p, (0.2 * k, 0.2 * (k + 1)), "rk4", step=0.01, tau=tau[k])
            q, p = run.q[-1], run.p[-1]
        return swing(None, q[None], p[None])[0]

    found = mb.gradient(swing, system, Q, P, SPAN, "rk4", step=0.01, tau=tau)
    assert found.value == pytest.approx(end(tau), rel=1e-12)
    for k in np.ndindex(3, 2):
        unit = np.zeros((3, 2))
        unit[k] = 1.0
        assert found.tau[k] == pytest.approx(slope(lambda x, unit=unit: end(tau + x * unit), 0.0, 1e-2), rel=1e-8,
                                             abs=1e-10)
    constant = mb.gradient(swing, system, Q, P, SPAN, "rk4", step=0.01, tau=tau[0])
    assert constant.tau.shape == (2,)


@njit
def motor(t, q, p, out):
    out[0] = np.cos(t) - 2.0 * q[0] ** 3 + 0.1 * q[1] * p[0]


@njit
def motor_by_state(t, q, p, tau_q, tau_p):
    tau_q[0, 0], tau_q[0, 1], tau_p[0, 0] = -6.0 * q[0] ** 2, 0.1 * p[0], 0.1 * q[1]


def test_gradient_with_force_functions():
    system = mb.System(double_pendulum())
    with pytest.raises(StateError, match="derivative of the function 'motor' is not known"):
        mb.gradient(swing, system, Q, P, SPAN, "rk4", step=0.01, tau=motor)
    tau = mb.forces.with_derivative(motor, motor_by_state)
    for integrator in ("rk4", "gauss4"):
        found = mb.gradient(swing, system, Q, P, SPAN, integrator, step=0.01, tau=tau)
        run = system.simulate(Q, P, SPAN, integrator, step=0.01, tau=tau, tangent=True)
        _, q_bar, p_bar = swing(None, run.q[-1:], run.p[-1:])
        expected = np.concatenate([q_bar[0], p_bar[0]]) @ run.tangent[-1]
        assert np.allclose(np.concatenate([found.q0, found.p0]), expected, rtol=1e-11) and found.tau is None


def test_checkpoints_and_differences_of_the_loss_change_nothing():
    system = mb.System(double_pendulum(springs=True))
    for integrator in ("rk4", "gauss4"):
        how = {"integrator": integrator, "step": 1e-3, "t_eval": [0.1, 0.25, 0.6], "parameters": ["lower.mass"]}
        whole = mb.gradient(swing, system, Q, P, SPAN, **how)
        some = mb.gradient(swing, system, Q, P, SPAN, max_memory=4000.0 if integrator == "rk4" else 6000.0, **how)
        assert whole.checkpoints == whole.steps == 600 and some.checkpoints < 60
        assert np.allclose(some.p0, whole.p0, rtol=1e-11) and np.allclose(some.q0, whole.q0, rtol=1e-11)
        assert some.parameters["lower.mass"] == pytest.approx(whole.parameters["lower.mass"], rel=1e-10)
        rough = mb.gradient(lambda t, q, p: swing(t, q, p)[0], system, Q, P, SPAN, **how)
        assert np.allclose(rough.p0, whole.p0, rtol=1e-8)
    with pytest.raises(NotEnoughMemoryError, match=r"600 steps need .* checkpoint every \d+ steps"):
        mb.gradient(swing, system, Q, P, SPAN, "rk4", step=1e-3, max_memory=500.0)


@pytest.mark.parametrize("model", [double_pendulum(springs=True), shoulder()])
def test_steps_that_the_error_chooses_are_taken_again_where_memory_is_short(model):
    """The same numbers: each step begins with the state that it began with, quaternions once more of length one."""
    system, (q, _) = mb.System(model), model.random_state(seed=2)
    p = 0.1 * np.arange(1.0, model.nv + 1)
    how = {"integrator": "dopri5", "t_eval": [0.1, 0.25, 0.6], "parameters": ["lower.mass"], "rtol": 1e-11}
    whole = mb.gradient(swing, system, q, p, SPAN, **how)
    some = mb.gradient(swing, system, q, p, SPAN, max_memory=8000.0, **how)
    assert whole.checkpoints == whole.steps == some.steps > 50 and some.checkpoints < 0.7 * some.steps
    rounding = 1e-12 if model.quaternion_offsets.size else 0.0
    assert some.parameters["lower.mass"] == pytest.approx(whole.parameters["lower.mass"], rel=rounding, abs=0.0)
    for a, b in ((some.p0, whole.p0), (some.q0, whole.q0)):
        assert np.abs(a - b).max() <= rounding * np.abs(b).max()
    with pytest.raises(NotEnoughMemoryError, match=r"gradient: \d+ steps so far, at t = .* max_memory"):
        mb.gradient(swing, system, q, p, SPAN, max_memory=100.0, **how)


def test_memory_of_one_gradient_serves_for_the_next():
    """Whatever acted before, failed or was asked for: the bits are those of a system that has done nothing yet."""
    model, tau = double_pendulum(springs=True), np.array([[0.4, -0.3], [0.1, 0.2]])
    known = mb.forces.with_derivative(motor, motor_by_state)
    requests = [{"parameters": "all"}, {"tau": tau}, {"tau": known}, {}, {"wrench": np.ones((2, 6))},
                {"parameters": ["gravity"], "tau": tau[0]}]
    used = mb.System(model)
    for integrator in ("dopri5", "rk4"):
        how = {"integrator": integrator, **HOW[integrator]}
        for request in requests:
            with pytest.raises(StateError, match="loss: "):
                mb.gradient(lambda t, q, p: np.nan, used, Q, P, SPAN, **how, **request)
            a, b = (mb.gradient(swing, system, Q, P, SPAN, **how, **request) for system in (used, mb.System(model)))
            assert a.value == b.value and np.array_equal(a.q0, b.q0) and np.array_equal(a.p0, b.p0)
            assert np.array_equal(a.tau, b.tau) and all(np.array_equal(a.parameters[k], b.parameters[k])
                                                        for k in b.parameters)
        assert all(len(idle) == 1 for key, idle in used.binding.runs.items() if key.startswith("gradient"))


def test_backward_in_time():
    system = mb.System(double_pendulum())
    found = mb.gradient(swing, system, Q, P, (0.6, 0.0), "rk4", step=0.01, tau=np.ones((2, 2)))
    run = system.simulate(Q, P, (0.6, 0.0), "rk4", step=0.01, tau=[1.0, 1.0], tangent=True)
    _, q_bar, p_bar = swing(None, run.q[-1:], run.p[-1:])
    expected = np.concatenate([q_bar[0], p_bar[0]]) @ run.tangent[-1]
    assert np.allclose(np.concatenate([found.q0, found.p0]), expected, rtol=1e-11)


def test_what_is_refused():
    system, how = mb.System(double_pendulum()), {"integrator": "rk4", "step": 0.01}
    for wrong in ("elbow.mass", "upper.colour", "upper.armature", 5):
        with pytest.raises(ModelError, match="parameters: "):
            mb.gradient(swing, system, Q, P, SPAN, parameters=[wrong], **how)
    for wrong in (5, lambda t, q, p: np.nan, lambda t, q, p: (1.0, 2.0), lambda t, q, p: (1.0, np.ones(3), p),
                  lambda t, q, p: (1.0, np.nan * q, p)):
        with pytest.raises(StateError, match="loss: "):
            mb.gradient(wrong, system, Q, P, SPAN, **how)
    with pytest.raises(StateError, match="tau: expected shape"):
        mb.gradient(swing, system, Q, P, SPAN, tau=np.ones((2, 3)), **how)

    @njit
    def breaks(t, q, p, out):
        out[0] = np.nan if t > 0.3 else 0.0

    with pytest.raises(IntegrationError, match=r"gradient: the run stopped at t = 0\.3"):
        mb.gradient(swing, system, Q, P, SPAN, tau=mb.forces.with_derivative(breaks), **how)


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
def test_ctrl_c_ends_it(integrator, monkeypatch):
    """On the way forward, and on the way back. Small swings: in others weights grow beyond all
    numbers."""
    system = mb.System(double_pendulum())
    mb.gradient(swing, system, Q, P, SPAN, integrator=integrator, **HOW[integrator])  # compiles

    def long():
        mb.gradient(swing, system, 0.1 * Q, 0.1 * P, (0.0, 3e4), integrator=integrator, **HOW[integrator])

    assert_ctrl_c_ends(long, 0.2, watched=False)
    back, at = Tape.back, []

    def interrupted(self, *arguments):
        at.append("the way back")
        with ctrl_c(0.1, watched=False):
            return back(self, *arguments)

    monkeypatch.setattr(Tape, "back", interrupted)
    with pytest.raises(KeyboardInterrupt):
        long()
    assert at == ["the way back"]
