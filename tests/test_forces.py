"""Forces that get joint speeds; stops, friction and sums of forces."""

import pickle

import numba
import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import ModelError, StateError


@numba.njit
def speeds(t, q, p, u, out):
    for j in range(out.shape[0]):
        out[j] = u[j]


@numba.njit
def wind(t, q, p, u, out):
    out[0, 0] = u[0]


@numba.njit
def motor(t, q, p, out):
    out[0] = 2.0


@numba.njit
def numbered(t, q, p, out, i):
    out[1] = 10.0 + i


def arm(limits=(-0.5, 0.5), friction=0.2):
    builder = mb.ModelBuilder(name="arm")
    builder.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(1, 0, 0), inertia=(0.01, 0.01, 0.01), limits=limits,
                     friction=friction)
    builder.add_body("hand", "arm", mb.ball(), mass=0.2, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01),
                     position=(1, 0, 0), armature=(0.1, 0.1, 0.1))
    return builder.build()


@pytest.mark.parametrize("method", ["emh-ldl", pytest.param("emh-lu", marks=pytest.mark.slow),
                                    pytest.param("dah", marks=pytest.mark.slow),
                                    pytest.param("hzu", marks=pytest.mark.slow)])
def test_functions_get_the_joint_speeds(method):
    model = arm()
    system = mb.System(model, method)
    q, u = model.random_state(seed=1)
    p = system.momenta(q, u)
    for load in ("tau", "wrench"):
        f = mb.embed.CFunc(system, **{load: speeds if load == "tau" else wind})
        dydt = np.empty(f.size)
        f.ctypes(0.0, np.concatenate((q, p)), dydt, f.user_data)
        assert f.status == 0
        given = {"tau": u} if load == "tau" else {"wrench": np.array([[u[0], 0, 0, 0, 0, 0], [0] * 6])}
        qdot, pdot = system.rhs(q, p, **given)
        np.testing.assert_allclose(dydt, np.concatenate((qdot, pdot)), atol=1e-11)


def test_states_of_a_batch_have_their_speeds():
    model = arm()
    system = mb.System(model)
    states = [model.random_state(seed) for seed in range(5)]
    Q0, P0 = np.array([q for q, _ in states]), np.array([system.momenta(q, u) for q, u in states])
    tau = mb.forces.combine(mb.forces.soft_limits(model), mb.forces.friction(model))
    batch = system.simulate_batch(Q0, P0, (0.0, 0.2), "rk4", step=1e-3, tau=tau)
    for i in range(5):
        single = system.simulate(Q0[i], P0[i], (0.0, 0.2), "rk4", step=1e-3, tau=tau, t_eval=[0.0, 0.2])
        np.testing.assert_allclose(batch.q[i], single.q, atol=1e-12)
    with pytest.raises(StateError, match="machine of its own"):
        system.simulate_batch(Q0, P0, (0.0, 0.2), tau=tau, parameters=model.vary("arm", mass=np.ones(5)))


def test_stops_hold_and_their_work_is_accounted_for():
    model = arm()
    free = mb.System(model).simulate(model.neutral(), np.zeros(4), (0.0, 1.0))
    held = mb.System(model).simulate(model.neutral(), np.zeros(4), (0.0, 1.0), tau=mb.forces.soft_limits(model))
    assert free.q[:, 0].max() > 1.5 and len(free.notes) == 1
    assert 0.5 < held.q[:, 0].max() < 0.55
    assert held.drift()["energy"] < 1e-4 and held.work().loads[-1] < -1.0


def test_work_of_stops_between_outputs_that_are_far_apart():
    """The run takes short steps at the stops, and the outputs do not show them: their average is too long there."""
    b = mb.ModelBuilder()
    b.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(1, 0, 0), limits=(-0.5, 0.5))
    run = mb.System(b.build()).simulate([0.0], [0.0], (0, 5), limits="soft", t_eval=np.linspace(0, 5, 201))
    drift = run.drift()
    assert drift["energy"] < 1e-5 and drift["quadrature"] < 1e-5  # 1.6 J with steps as long as the run's are on average
    assert run.energy().kinetic.max() > 4.0


def test_the_force_of_a_stop():
    model = arm()
    stop = mb.forces.soft_limits(model, stiffness=100.0, damping=2.0, width=0.1)

    def force(angle, speed):
        q, out = model.neutral(), np.zeros(4)
        q[0] = angle
        stop(0.0, q, np.zeros(4), np.array([speed, 9.0, 9.0, 9.0]), out)
        assert not out[1:].any(), "a ball joint has no limits"
        return out[0]

    assert force(0.4, 5.0) == force(-0.4, 5.0) == 0.0
    assert force(0.7, 0.0) == pytest.approx(-20.0) and force(-0.7, 0.0) == pytest.approx(20.0)
    assert force(0.7, 3.0) == pytest.approx(-26.0) and force(-0.7, -3.0) == pytest.approx(26.0)
    assert force(0.55, 3.0) == pytest.approx(-5.0 - 3.0), "the damper comes in over the width"
    assert force(0.7, -30.0) == 0.0, "it never pulls"


def test_the_force_of_friction():
    model, u, out = arm(), np.array([0.3, 0.0, -2.0, 1e-3]), np.zeros(4)
    mb.forces.friction(model, viscous=[0.0, 1.0, 2.0, 0.0], speed=1e-3)(0.0, model.neutral(), np.zeros(4), u, out)
    np.testing.assert_allclose(out, [-0.2, 0.0, 4.0, 0.0], atol=1e-12)
    mb.forces.friction(model, coulomb=1.0, speed=1e-3)(0.0, model.neutral(), np.zeros(4), u, out := np.zeros(4))
    np.testing.assert_allclose(out, [-1.0, 0.0, 1.0, -np.tanh(1.0)], atol=1e-12)


def test_a_sum_of_all_kinds():
    total = mb.forces.combine(motor, numbered, speeds, mb.forces.friction(mb.zoo.chain(2), viscous=0.5))
    out = np.zeros(2)
    total(0.0, np.zeros(2), np.zeros(2), np.array([4.0, 6.0]), out, 3)
    assert out.tolist() == [2.0 + 4.0 - 2.0, 13.0 + 6.0 - 3.0]
    again = pickle.loads(pickle.dumps(total))
    again(0.0, np.zeros(2), np.zeros(2), np.array([4.0, 6.0]), out := np.zeros(2))
    assert out.tolist() == [4.0, 13.0]


def test_what_is_wrong_is_named():
    model = arm()
    for call, error, said in (
        (lambda: mb.forces.soft_limits(mb.zoo.chain(2)), ModelError, "no limits"),
        (lambda: mb.forces.friction(mb.zoo.chain(2)), ModelError, "has none"),
        (lambda: mb.forces.soft_limits(model, stiffness=[1.0, 2.0]), StateError, "stiffness: .*4 dofs"),
        (lambda: mb.forces.soft_limits(model, damping=-1.0), StateError, "damping: .*not negative"),
        (lambda: mb.forces.soft_limits(model, width=0.0), StateError, "width: expected a positive"),
        (lambda: mb.forces.friction(model, speed=-1.0), StateError, "speed: expected a positive"),
        (lambda: mb.forces.combine(), StateError, "at least one"),
        (lambda: mb.forces.combine(lambda t, q, p, out: None), StateError, "decorate"),
        (lambda: mb.forces.combine(numba.njit(lambda t, q: None)), StateError, r"a function f\(t, q, p, out\)"),
    ):
        with pytest.raises(error, match=said):
            call()
    other = mb.System(mb.zoo.chain(3)).simulate(np.zeros(3), np.zeros(3), (0.0, 0.1), tau=mb.forces.friction(model))
    assert not other.success and "made for another model" in other.message


# ---- limits="soft", friction=True ----
def slider():
    b = mb.ModelBuilder()
    b.add_body("puck", joint=mb.prismatic("x"), mass=1.0, limits=(-1.0, 0.4), friction=0.2)
    return mb.System(b.build())


def test_limits_and_friction_of_the_model_by_name():
    """The same bits as by functions; a puck at 0.447 m/s would slide 0.5 m and meets its stop at 0.4."""
    system, start = slider(), ([0.0], [0.2**0.5], (0.0, 3.0))
    named = system.simulate(*start, limits="soft", friction=True)
    by_hand = system.simulate(*start, tau=mb.forces.combine(mb.forces.soft_limits(system.model),
                                                            mb.forces.friction(system.model)))
    assert named.success and np.array_equal(named.q, by_hand.q) and named.q.max() < 0.42
    assert system.simulate(*start, friction=True).q[-1, 0] == pytest.approx(0.5, abs=0.01)
    assert system.simulate(*start, limits="soft").q[-1, 0] < 0.2  # thrown back
    assert system.simulate(*start).q[-1, 0] > 1.3


@pytest.mark.parametrize("push", [[-0.1], numba.njit(lambda t, q, p, out: out.fill(-0.1)),
                                  lambda t, q, p, out: out.fill(-0.1)], ids=["numbers", "njit", "plain"])
def test_beside_any_tau(push):
    """0.3 N on 1 kg from 0.3 m/s: at rest after 1 s and 0.15 m."""
    run = slider().simulate([0.0], [0.3], (0.0, 0.9), tau=push, friction=True)
    assert run.q[-1, 0] == pytest.approx(0.3 * 0.9 - 0.15 * 0.81, abs=1e-4)


def test_wrong_limits_and_a_controller():
    with pytest.raises(StateError, match='limits: expected None or "soft", got \'hard\''):
        slider().simulate([0.0], [0.0], (0.0, 1.0), limits="hard")
    with pytest.raises(StateError, match="control_step: what a controller gives is held"):
        slider().simulate([0.0], [0.0], (0.0, 1.0), friction=True, tau=lambda t, q, p: q, control_step=0.1)
    with pytest.raises(ModelError, match="has no limits"):
        mb.System(mb.zoo.chain(1)).simulate([0.0], [0.0], (0.0, 1.0), limits="soft")
