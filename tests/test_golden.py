"""The worked systems of golden/trees.json, to 1e-10 relative (the digits stored are good to about 1e-13)."""

import numpy as np
import pytest
from cases import assert_close
from golden_models import golden_cases

import mbkern as mb
from mbkern.methods import METHODS

GOLDEN = golden_cases()
TOLERANCE = 1e-10


@pytest.fixture(params=list(METHODS))
def method(request):
    return request.param


@pytest.mark.parametrize("name", GOLDEN)
def test_rhs(name, method):
    model, expected = GOLDEN[name]
    qdot, pdot = mb.System(model, method).rhs(expected["q"], expected["p"], expected["t"], tau=expected["tau"])
    assert_close(qdot, expected["qdot"], TOLERANCE, "qdot")
    assert_close(pdot, expected["pdot_with_tau"], TOLERANCE, "pdot")


@pytest.mark.parametrize("name", GOLDEN)
def test_rhs_without_joint_forces(name, method):
    model, expected = GOLDEN[name]
    _, pdot = mb.System(model, method).rhs(expected["q"], expected["p"], expected["t"])
    without = np.array(expected["pdot_with_tau"]) - np.array(expected["tau"])
    assert_close(pdot, without, TOLERANCE, "pdot")


@pytest.mark.parametrize("name", GOLDEN)
def test_momenta_velocities_and_mass(name, method):
    model, expected = GOLDEN[name]
    system = mb.System(model, method)
    q, p, u, t = (expected[key] for key in ("q", "p", "u", "t"))
    assert_close(system.momenta(q, u, t), p, TOLERANCE, "momenta")
    assert_close(system.velocities(q, p, t), u, TOLERANCE, "velocities")
    assert_close(system.mass_matrix(q, t), expected["mass_matrix"], TOLERANCE, "mass matrix")
    product = system.inverse_mass_matrix(q, t) @ np.array(expected["mass_matrix"])
    # cond(Mass) reaches 1e5 in these machines, which costs as many digits
    assert_close(product, np.eye(model.nv), 1e-9, "inverse")


@pytest.mark.parametrize("name", GOLDEN)
def test_kinematics_and_energy(name, method):
    model, expected = GOLDEN[name]
    system = mb.System(model, method)
    q, p, t = (expected[key] for key in ("q", "p", "t"))
    R, r = system.body_poses(q, t)
    assert_close(R, expected["body_rotation_to_world"], TOLERANCE, "rotations")
    assert_close(r, expected["body_position"], TOLERANCE, "positions")
    assert_close(system.body_velocities(q, p, t), expected["body_velocity"], TOLERANCE, "velocities")
    assert_close(system.body_momenta(q, p, t), expected["mu"], TOLERANCE, "mu")
    energy = system.energy(q, p, t)
    for kind in ("kinetic", "potential", "hamiltonian"):
        assert getattr(energy, kind) == pytest.approx(expected[kind], rel=TOLERANCE), kind


def test_zoo_pipelayer_is_the_golden_one():
    _, expected = GOLDEN["pipelayer"]
    model = mb.zoo.pipelayer()
    assert model.coordinate_names == ("z", "alpha", "beta", "theta", "epsilon", "y")
    assert model.body_names == ("chassis", "rotating", "lifting", "boom")
    qdot, pdot = mb.System(model).rhs(expected["q"], expected["p"], expected["t"], tau=expected["tau"])
    assert_close(qdot, expected["qdot"], TOLERANCE, "qdot")
    assert_close(pdot, expected["pdot_with_tau"], TOLERANCE, "pdot")
