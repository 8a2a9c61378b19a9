"""Every function of an exported library has the bits of the call from Python."""

import ctypes

import numpy as np
import pytest
from exported import Caller, machine

import mbkern as mb
from mbkern.core.number import LANES

T = 0.4


@pytest.fixture(scope="module")
def setup(tmp_path_factory):
    model = machine()
    system = mb.System(model, "emh-ldl")
    made = mb.export.library(system, tmp_path_factory.mktemp("bits") / "robot", (
        "rhs", "rhs_with_wrenches", "rk4", "dopri5", "jacobian_rhs", "inverse_dynamics", "energy", "frame_velocity",
        "solve_mass"))
    q, u = model.random_state(seed=3)
    return model, system, Caller(made), q, u, system.momenta(q, u, T)


def test_right_hand_sides(setup):
    model, system, call, q, _, p = setup
    rng = np.random.default_rng(1)
    tau, wrench = rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))
    qdot, pdot = np.empty(model.nq), np.empty(model.nv)
    for forces in (None, tau):
        assert call("rhs", T, q, p, forces, qdot, pdot) == 0
        expected = system.rhs(q, p, T, tau=forces)
        assert np.array_equal(qdot, expected[0]) and np.array_equal(pdot, expected[1])
    assert call("rhs_with_wrenches", T, q, p, tau, wrench, qdot, pdot) == 0
    expected = system.rhs(q, p, T, tau=tau, wrench=wrench)
    assert np.array_equal(qdot, expected[0]) and np.array_equal(pdot, expected[1])


def test_operations(setup):
    model, system, call, q, u, p = setup
    tau, energy = np.empty(model.nv), np.empty(3)
    udot = np.linspace(-1, 1, model.nv)
    assert call("inverse_dynamics", T, q, u, udot, None, tau) == 0
    assert np.array_equal(tau, system.inverse_dynamics(q, u, udot, T))
    assert call("energy", T, q, p, energy) == 0
    assert np.array_equal(energy, np.array(system.energy(q, p, T)))
    x, y = np.random.default_rng(0).normal(size=(3, model.nv)), np.empty((3, model.nv))
    assert call("solve_mass", T, 3, q, x, y) == 0 and np.array_equal(y, system.solve_mass(q, x.T, T).T)


def test_frames(setup):
    model, system, call, q, _, p = setup
    names = [call.made.robot_frame_name(ctypes.c_int64(i)) for i in range(model.n_bodies + 2)]
    assert names == [*[name.encode() for name in model.body_names], b"tip", b"world"]
    frame = call.made.robot_frame
    frame.restype = ctypes.c_void_p
    for axes, number in (("world", 0), ("body", 1)):
        place = frame(ctypes.c_int64(model.n_bodies), ctypes.c_int64(number))
        tip = np.ctypeslib.as_array(ctypes.cast(place, ctypes.POINTER(ctypes.c_double)), (14,)).copy()
        v = np.empty(6)
        assert call("frame_velocity", T, q, p, tip, v) == 0
        assert np.array_equal(v, system.frame_velocity(q, p, "tip", T, axes=axes))
    assert frame(ctypes.c_int64(99), ctypes.c_int64(0)) is None and frame(ctypes.c_int64(0), ctypes.c_int64(3)) is None


def test_jacobian(setup):
    model, system, call, q, _, p = setup
    A = np.empty((2 * model.nv, 2 * model.nv))
    assert call("jacobian_rhs", T, q, p, None, A) == 0
    assert np.array_equal(A, system.jacobian_rhs(q, p, T).matrix)


def test_joint_speeds_as_state(tmp_path):
    model = mb.zoo.chain(3)
    system = mb.System(model, "newton-euler-ldl")
    made = mb.export.library(system, tmp_path / "arm", ("rhs", "rk4"))
    assert "const double *u, const double *tau, double *qdot, double *udot" in made.header.read_text()
    call, (q, u) = Caller(made), model.random_state(seed=2)
    qdot, udot = np.empty(3), np.empty(3)
    assert call("rhs", T, q, u, None, qdot, udot) == 0
    assert np.array_equal((qdot, udot), system.rhs(q, u, T))
    stepper = system.stepper("rk4", step=1e-3)
    stepper.reset(q, u, T)
    expected = stepper.step(5)
    assert call("rk4", T, 1e-3, 5, q, u, None, None) == 0 and np.array_equal((q, u), expected)


def test_methods_with_tables_of_their_own(tmp_path):
    """They went without, and took another way to the same numbers: slower, and other last digits."""
    model = mb.zoo.chain(3)
    system = mb.System(model, "hzu")
    call, (q, p) = Caller(mb.export.library(system, tmp_path / "arm")), model.random_state(seed=1)
    qdot, pdot = np.empty(3), np.empty(3)
    assert call("rhs", T, q, p, None, qdot, pdot) == 0
    assert np.array_equal((qdot, pdot), system.rhs(q, p, T))


def test_steps_are_those_of_stepper_and_simulate(setup):
    model, system, call, q0, _, p0 = setup
    stepper = system.stepper("rk4", step=1e-3)
    stepper.reset(q0, p0, T)
    expected = stepper.step(20)
    q, p = q0.copy(), p0.copy()
    assert call("rk4", T, 1e-3, 20, q, p, None, None) == 0
    assert np.array_equal(q, expected[0]) and np.array_equal(p, expected[1])

    wrench = np.random.default_rng(2).normal(size=(model.n_bodies, 6))
    stepper = system.stepper("rk4", step=1e-3, wrench=wrench)
    stepper.reset(q0, p0, T)
    expected = stepper.step(3)
    q, p = q0.copy(), p0.copy()
    assert call("rk4", T, 1e-3, 3, q, p, None, wrench) == 0
    assert np.array_equal(q, expected[0]) and np.array_equal(p, expected[1])

    solution = system.simulate(q0, p0, (T, T + 0.5), rtol=1e-7, atol=1e-9, tau=np.full(model.nv, 0.1))
    q, p, clock = q0.copy(), p0.copy(), np.array([T, 0.0, 0.0, 0.0])
    tau = np.full(model.nv, 0.1)
    assert call("dopri5", T + 0.5, 100000, 1e-7, 1e-9, clock, q, p, tau, None) == 0
    assert clock[0] == T + 0.5
    assert np.array_equal(q, solution.q[-1]) and np.array_equal(p, solution.p[-1])


def test_single_steps_of_dopri5_go_on_where_the_last_one_ended(setup):
    _, system, call, q0, _, p0 = setup
    solution = system.simulate(q0, p0, (T, T + 0.5), rtol=1e-7, atol=1e-9)
    q, p, clock, n = q0.copy(), p0.copy(), np.array([T, 0.0, 0.0, 0.0]), 0
    while clock[0] < T + 0.5:
        assert call("dopri5", T + 0.5, 1, 1e-7, 1e-9, clock, q, p, None, None) == 0
        n += 1
    # slopes are evaluated anew in each call, where simulate takes those of the step before (quaternions rescaled)
    assert abs(n - len(solution.t) + 1) <= 3
    assert np.abs(q - solution.q[-1]).max() < 1e-7 and np.abs(p - solution.p[-1]).max() < 1e-7


def test_what_is_wrong_is_said(setup):
    model, _, call, q, _, p = setup
    qdot, pdot = np.empty(model.nq), np.empty(model.nv)
    bad = p.copy()
    bad[2] = np.inf
    assert call("rhs", T, q, bad, None, qdot, pdot) == 2 and np.isnan(qdot).all() and np.isnan(pdot).all()
    assert call("rhs", T, 1.5 * q, p, None, qdot, pdot) == 4
    assert call("rhs", np.nan, q, p, None, qdot, pdot) == 8
    assert call("rhs", T, None, p, None, qdot, pdot) == 35 and call("rhs", T, q, p, None, None, pdot) == 35
    before = q.copy()
    assert call("rk4", T, 1e-3, 5, before, bad, None, None) == 2 and np.array_equal(before, q)
    clock = np.array([T, 0.0, 0.0, 0.0])
    assert call("dopri5", 1.0, 100, 1e-8, 1e-8, clock, before, bad, None, None) == 2
    text = call.made.robot_status_text
    assert text(2).startswith(b"p is not finite") and text(35).endswith(b"null pointer") and b"no status" in text(99)


def test_facts(setup):
    model, _, call, *_ = setup
    made = call.made
    assert (made.robot_nq(), made.robot_nv(), made.robot_n_bodies()) == (model.nq, model.nv, model.n_bodies)
    index = ctypes.c_int64
    assert [made.robot_coordinate_name(index(i)).decode() for i in range(model.nq)] == list(model.coordinate_names)
    assert [made.robot_speed_name(index(i)).decode() for i in range(model.nv)] == list(model.speed_names)
    assert [made.robot_body_name(index(i)).decode() for i in range(model.n_bodies)] == list(model.body_names)
    assert made.robot_coordinate_name(index(model.nq)) is None and made.robot_body_name(index(-1)) is None
    q = np.empty(model.nq)
    made.robot_neutral(q.ctypes.data_as(ctypes.c_void_p))
    assert np.array_equal(q, model.neutral())
    assert made.robot_model_name() == b"every kind" and made.robot_version() == mb.__version__.encode()
    assert b"target native" in made.robot_build() and made.robot_ready() == 0 and made.robot_work_size() == call.size


def test_batches(tmp_path):
    model = machine()
    system = mb.System(model, "emh-ldl")
    call = Caller(mb.export.library(system, tmp_path / "many", ("rhs", "solve_mass"), batch=True))
    count = LANES + 3
    states = [model.random_state(seed=k) for k in range(count)]
    Q, P = np.array([q for q, _ in states]), np.array([u for _, u in states])
    Qdot, Pdot, codes = np.empty_like(Q), np.empty_like(P), np.full(count, 99, np.int64)
    rhs = dict(result=ctypes.c_int64)
    for tau in (None, np.tile(np.linspace(0, 1, model.nv), (count, 1))):
        assert call("rhs_batch", count, T, Q, P, tau, Qdot, Pdot, codes, **rhs) == 0 and not codes.any()
        for k in range(count):
            qdot, pdot = system.rhs(Q[k], P[k], T, tau=None if tau is None else tau[k])
            assert np.array_equal(Qdot[k], qdot) and np.array_equal(Pdot[k], pdot)
    P[4, 0] = np.nan
    assert call("rhs_batch", count, T, Q, P, None, Qdot, Pdot, codes, **rhs) == 1
    assert np.flatnonzero(codes).tolist() == [4] and codes[4] == 2
    assert np.isnan(Qdot[4]).all() and np.isfinite(Qdot[[0, 3, 5]]).all()
    assert call("rhs_batch", 0, T, Q, P, None, Qdot, Pdot, codes, **rhs) == 0
    assert call("rhs_batch", 3, T, Q, P, None, None, Pdot, codes, **rhs) == -35
    assert call("solve_mass_batch", count, T, Q, Pdot, Qdot[:, :model.nv].copy(), codes, **rhs) == 1
    Y = np.empty_like(Pdot)
    assert call("solve_mass_batch", 4, T, Q, Pdot, Y, codes, **rhs) == 0
    assert np.array_equal(Y[3], system.solve_mass(Q[3], Pdot[3], T))
