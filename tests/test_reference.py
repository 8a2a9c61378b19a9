"""The dense reference against the worked systems, Pinocchio and itself: it must be beyond doubt."""

import numpy as np
import pytest
import reference
from cases import SCLERONOMIC, assert_close, derivative, random_loads, random_model, random_state
from golden_models import golden_cases
from peers import MuJoCo, Pinocchio

GOLDEN = golden_cases()
# both sides are dense double-precision solutions of well-conditioned systems
TOLERANCE = 1e-10


@pytest.mark.parametrize("name", GOLDEN)
def test_reference_reproduces_golden(name):
    model, expected = GOLDEN[name]
    q, p, u, t = expected["q"], expected["p"], np.array(expected["u"]), expected["t"]
    answer = reference.hamilton(model, q, p, t, tau=expected["tau"])
    assert_close(answer.qdot, expected["qdot"], TOLERANCE, "qdot")
    assert_close(answer.pdot, expected["pdot_with_tau"], TOLERANCE, "pdot")
    assert_close(answer.v, expected["body_velocity"], TOLERANCE, "body velocities")
    assert_close(answer.mu, expected["mu"], TOLERANCE, "mu")
    assert_close(reference.momenta(model, q, u, t), p, TOLERANCE, "momenta")
    assert_close(reference.mass_matrix(model, q, t), expected["mass_matrix"], TOLERANCE, "mass matrix")
    R, r = reference.body_poses(model, q, t)
    assert_close(R, expected["body_rotation_to_world"], TOLERANCE, "rotations")
    assert_close(r, expected["body_position"], TOLERANCE, "positions")
    energies = reference.energy(model, q, u, t)
    for kind in ("kinetic", "potential", "hamiltonian"):
        assert getattr(energies, kind) == pytest.approx(expected[kind], rel=TOLERANCE)
    newton = reference.newton_euler(model, q, u, t)
    assert_close(newton.udot, expected["qddot_without_tau"], TOLERANCE, "accelerations")
    assert_close(newton.reactions, expected["reactions_without_tau"], TOLERANCE, "reactions")


@pytest.mark.parametrize("seed", range(6))
def test_reference_agrees_with_pinocchio(seed):
    """Every joint type without drives: accelerations under tau and wrenches, momentum rate, mass matrix."""
    model = random_model("random", 7, seed, kinds=SCLERONOMIC)
    peer = Pinocchio(model)
    q, p = random_state(model, seed)
    tau, wrench = random_loads(model, seed)
    answer = reference.hamilton(model, q, p, 0.0, tau, wrench)
    newton = reference.newton_euler(model, q, answer.u, 0.0, tau, wrench)
    assert_close(newton.udot, peer.accelerations(q, answer.u, tau, wrench), TOLERANCE, "accelerations")
    assert_close(answer.pdot, peer.momentum_rate(q, answer.u, tau, wrench), TOLERANCE, "pdot")
    assert_close(reference.mass_matrix(model, q), peer.mass_matrix(q), TOLERANCE, "mass matrix")


@pytest.mark.parametrize("seed", range(3))
def test_reference_agrees_with_mujoco(seed):
    """Springs and dampers too (1e-8: MuJoCo diagonalises inertias with a finite tolerance)."""
    model = random_model("random", 7, seed, kinds=("revolute", "prismatic", "universal"), springs=True, rotors=True)
    peer = MuJoCo(model)
    q, p = random_state(model, seed)
    tau, wrench = random_loads(model, seed)
    u = reference.hamilton(model, q, p).u
    newton = reference.newton_euler(model, q, u, 0.0, tau, wrench)
    assert_close(newton.udot, peer.accelerations(q, u, tau, wrench), 1e-8, "accelerations")


@pytest.mark.parametrize("base", ["jointed", "driven", "free"])
@pytest.mark.parametrize("seed", range(3))
def test_momentum_rate_follows_from_newton_euler(base, seed):
    """d/dt p(q, u, t) along (u, du/dt) of Newton-Euler is the Hamiltonian pdot: two independent formulations.

    Eighth-order differences with step 2.5e-3 are good to about 1e-12 for unit-size machines; 1e-9 leaves room.
    """
    model = random_model("random", 6, seed, base=base, springs=True, rotors=True)
    t = 0.6
    q, p = random_state(model, seed, t)
    tau, wrench = random_loads(model, seed)
    answer = reference.hamilton(model, q, p, t, tau, wrench)
    udot = reference.newton_euler(model, q, answer.u, t, tau, wrench).udot

    def momentum(dt):
        moved = reference.advance(model, q, answer.u, dt)
        return reference.momenta(model, moved, answer.u + dt * udot, t + dt)

    assert_close(derivative(momentum), answer.pdot, 1e-9, "pdot")
