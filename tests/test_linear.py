"""Equilibria, state-space matrices and vibrations: cases with a known answer, and bad input."""

import numpy as np
import pytest
from cases import random_model
from integrate_cases import flying

import mbkern as mb
from mbkern.errors import MethodError, StateError

G = 9.81


def double_pendulum(damping=0.0):
    """Two point masses of 1 kg on rods of 1 m."""
    builder = mb.ModelBuilder(gravity=(0, 0, -G))
    for name, parent, place in (("upper", "world", 0.0), ("lower", "upper", -1.0)):
        builder.add_body(name, parent, mb.revolute("y"), mass=1.0, com=(0, 0, -1), position=(0, 0, place),
                         damping=damping)
    return mb.System(builder.build())


def test_the_double_pendulum_has_the_frequencies_of_the_textbook():
    """omega^2 = (2 -+ sqrt 2) g / l."""
    modes = double_pendulum().modes([0.0, 0.0])
    omega = np.sqrt(G * (2.0 + np.array([-1.0, 1.0]) * np.sqrt(2.0)))
    assert np.allclose(2 * np.pi * modes.frequencies, omega, rtol=1e-13)
    assert np.allclose(modes.eigenvalues, 1j * omega, rtol=1e-13) and np.all(modes.damping == 0.0)
    # absolute angles (1, -+ sqrt 2), so that relative ones are (1, -1 -+ sqrt 2): in phase first
    assert np.allclose(modes.shapes[1] / modes.shapes[0], [np.sqrt(2.0) - 1.0, -np.sqrt(2.0) - 1.0])


def test_upright_pendulums_are_unstable():
    modes = double_pendulum().modes([np.pi, 0.0])
    assert np.all(modes.eigenvalues.imag == 0.0) and np.all(modes.eigenvalues.real > 0.0)
    assert np.all(modes.damping == -1.0)


def test_damped_modes_are_eigenvalues_of_the_state_matrix():
    system = double_pendulum(damping=0.3)
    modes = system.modes([0.0, 0.0])
    both = np.concatenate([modes.eigenvalues, modes.eigenvalues.conj()])
    A = system.linearize([0, 0], [0, 0]).A
    assert np.allclose(np.sort_complex(both), np.sort_complex(np.linalg.eigvals(A)))
    assert np.all(modes.damping > 0.0) and np.all(np.abs(modes.shapes).max(axis=0) == pytest.approx(1.0))


def test_a_governor_finds_its_steady_rotation():
    """A pendulum on a shaft that is driven with omega: cos(angle) = g / (omega^2 l)."""
    omega = 5.0
    builder = mb.ModelBuilder(gravity=(0, 0, -G))
    builder.add_body("shaft", joint=[mb.rotate("z", mb.polynomial([0.0, omega]))], mass=1.0, inertia=(1, 1, 1))
    builder.add_body("ball", "shaft", mb.revolute("y"), mass=1.0, com=(0, 0, -1))
    system = mb.System(builder.build())
    found = system.equilibrium([0.8])
    assert np.cos(found.q[0]) == pytest.approx(G / omega**2, rel=1e-9)
    qdot, pdot = system.rhs(found.q, found.p)
    assert abs(qdot[0]) < 1e-12 and abs(pdot[0]) < 1e-8
    # omega_n^2 = omega^2 sin^2(angle)
    assert 2 * np.pi * system.modes(found.q).frequencies[-1] == pytest.approx(omega * np.sin(abs(found.q[0])), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_random_machines_with_springs_come_to_rest(seed):
    model = random_model("chain", 4, seed, kinds=("revolute", "ball", "universal"), springs=True)
    system = mb.System(model)
    found = system.equilibrium(model.neutral())
    assert np.abs(system.inverse_dynamics(found.q, np.zeros(model.nv), np.zeros(model.nv))).max() <= 1e-8
    assert np.abs(system.linearize(found.q, found.p).rate).max() <= 1e-8


def test_held_coordinates_stay_and_their_forces_are_told():
    system = double_pendulum()
    found = system.equilibrium([0.4, 0.2], hold=[0])
    assert found.q[0] == 0.4 and found.q[1] == pytest.approx(-0.4, abs=1e-9)  # the lower one hangs
    assert found.tau[0] == pytest.approx(2 * G * np.sin(0.4)) and abs(found.tau[1]) < 1e-8
    pdot = system.rhs(found.q, found.p, tau=found.tau)[1]
    assert np.abs(pdot).max() < 1e-8
    by_name = system.equilibrium([0.4, 0.2], hold=system.model.speed_names[:1])
    assert np.array_equal(by_name.q, found.q)


def test_state_space_matrices_predict_small_deviations():
    model = random_model("binary", 4, 3, kinds=("revolute", "prismatic"), springs=True)
    system, h = mb.System(model), 1e-6
    q, u = model.random_state(seed=2)
    p, names = system.momenta(q, u), model.speed_names
    linear = system.linearize(q, p, inputs=[1], outputs=[f"u:{names[0]}", f"q:{names[1]}", f"p:{names[2]}"])
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=2 * model.nv), 0.7
    tau = np.zeros(model.nv)
    tau[1] = h * w
    moved = [q + h * x[:model.nv], p + h * x[model.nv:]]
    rate = np.concatenate(system.rhs(*moved, tau=tau))
    expected = linear.rate + h * (linear.A @ x + linear.B @ [w])
    assert np.abs(rate - expected).max() < 1e-8 * np.abs(rate).max()  # of second order in h
    y = np.array([system.velocities(*moved)[0] - u[0], h * x[1], h * x[model.nv + 2]])
    assert np.allclose(linear.C @ x * h, y, rtol=1e-4) and not linear.D.any()
    assert linear.inputs == (names[1],) and linear.outputs[0] == f"u:{names[0]}"
    assert linear.state_space.A.shape == (2 * model.nv, 2 * model.nv)


def test_state_matrices_of_moving_ball_and_free_joints():
    """Tangents in body axes turn with the body: A is the rate of the state-transition matrix."""
    model = flying()
    system, (q, u) = mb.System(model), model.random_state(seed=2)
    p, h = system.momenta(q, u), 1e-3
    near = [system.simulate(q, p, (0.0, sign * h), "rk4", step=h, tangent=True).tangent[-1] for sign in (-1, 1)]
    A = system.linearize(q, p).A
    # central differences: h^2 times a third derivative
    assert np.abs((near[1] - near[0]) / (2.0 * h) - A).max() < 1e-4 * np.abs(A).max()
    assert np.abs(system.jacobian_rhs(q, p).matrix - A).max() > 1e-2 * np.abs(A).max()


# ---- steady rotation ----


def governor():
    """A shaft of 2 kg m^2 that turns freely, with a ball of 1 kg on an arm of 1 m."""
    builder = mb.ModelBuilder(gravity=(0, 0, -G))
    builder.add_body("shaft", joint=mb.revolute("z"), mass=1.0, inertia=(1, 1, 2))
    builder.add_body("ball", "shaft", mb.revolute("y"), mass=1.0, com=(0, 0, -1))
    return mb.System(builder.build())


def test_a_free_governor_turns_steadily():
    """cos a = g / (omega^2 l) as if it were driven, but the shaft slows down where the ball goes out:
    omega_n^2 = omega^2 sin^2 a (1 + 4 m l^2 cos^2 a / J), J of the shaft with the ball."""
    system, omega = governor(), 5.0
    found = system.equilibrium([0.3, 0.8], u=[omega, 0.0])
    angle = abs(found.q[1])
    assert np.cos(angle) == pytest.approx(G / omega**2, rel=1e-9) and found.q[0] == pytest.approx(0.3)
    assert np.allclose(system.velocities(found.q, found.p), [omega, 0.0], atol=1e-12)
    modes = system.modes(found.q, u=[omega, 0.0])
    inertia = 2.0 + np.sin(angle) ** 2
    expected = omega * np.sin(angle) * np.sqrt(1.0 + 4.0 * np.cos(angle) ** 2 / inertia)
    assert 2 * np.pi * modes.frequencies[-1] == pytest.approx(expected, rel=1e-9)
    assert np.abs(modes.eigenvalues.real).max() < 1e-6  # stable; the double root 0 splits by the root of rounding


def test_a_body_that_spins_about_its_middle_axis_tumbles():
    """Euler: the rate of growth is omega sqrt((J2 - J1) (J3 - J2) / (J1 J3)); the other axes are stable."""
    builder = mb.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("brick", joint=mb.ball(), mass=1.0, inertia=(0.4, 0.6, 0.9))
    system, (a, b, c), omega = mb.System(builder.build()), (0.4, 0.6, 0.9), 3.0
    middle = system.modes([1, 0, 0, 0], u=[0, omega, 0]).eigenvalues
    assert middle.real.max() == pytest.approx(omega * np.sqrt((b - a) * (c - b) / (a * c)), rel=1e-9)
    largest = system.modes([1, 0, 0, 0], u=[0, 0, omega]).eigenvalues
    assert np.abs(largest.real).max() < 1e-6
    wobble = omega * np.sqrt((c - a) * (c - b) / (a * b))
    # by the momenta, and of the tangent, which turns with the body
    assert np.abs(largest.imag - wobble).min() < 1e-9 and np.abs(largest.imag - omega).min() < 1e-9


def test_motion_that_is_not_steady_is_refused():
    with pytest.raises(StateError, match=r"u: with these joint speeds the motion is not steady: .* change by"):
        system = double_pendulum()
        tau = system.inverse_dynamics([0.0, 0.0], [0.0, 1.0], [0.0, 0.0])
        system.modes([0.0, 0.0], tau=tau, u=[0.0, 1.0])
    with pytest.raises(StateError, match=r"u: "):
        governor().modes([0.0, 0.0], u=[1.0])


def test_bad_input_is_named():
    system = double_pendulum()
    with pytest.raises(StateError, match=r"no equilibrium: a joint force of 16\..* left over.*'upper"):
        system.modes([0.5, 0.3])
    with pytest.raises(StateError, match=r"hold: expected names or numbers of dofs .* got 'elbow'"):
        system.equilibrium([0.0, 0.0], hold=["elbow"])
    with pytest.raises(StateError, match="outputs: expected 'q:', 'p:' or 'u:'"):
        system.linearize([0, 0], [0, 0], outputs=["speed"])
    with pytest.raises(StateError, match=r"no equilibrium found .* joint force of .* is left over"):
        system.equilibrium([0.1, 0.1], tau=[100.0, 0.0])  # more than weight can hold


# ---- modes as films ----


def test_a_mode_becomes_a_page(tmp_path):
    system = double_pendulum()
    modes = system.modes([0.0, 0.0])
    mb.viz.animate_mode(system, [0.0, 0.0], modes, 1, tmp_path / "mode.html")
    assert "<html" in (tmp_path / "mode.html").read_text(encoding="utf-8")[:2000].lower()
    with pytest.raises(StateError, match="k, the number of a mode: expected a whole number from 0 to 1, got 2"):
        mb.viz.animate_mode(system, [0.0, 0.0], modes, 2)
    with pytest.raises(StateError, match="modes: expected what"):
        mb.viz.animate_mode(system, [0.0, 0.0], None)
    with pytest.raises(MethodError, match=r"animate_mode: out must end in"):
        mb.viz.animate_mode(system, [0.0, 0.0], modes, 0, "mode.png")
