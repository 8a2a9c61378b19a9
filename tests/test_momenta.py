"""p -> u -> p, the mass matrix and its inverse applied by sweeps.

Tolerances: 1e-10 relative against the reference; products with the inverse lose cond(Mass) of accuracy, so
those compare with an error of 1e-14 times the condition number (at least 1e-10).
"""

import numpy as np
import pytest
import reference
from cases import BASES, FAMILIES, assert_close, random_model, random_state

import mbkern as mb

TOLERANCE = 1e-10
T = 0.37
CASES = [(family, base, n) for family in FAMILIES for base in BASES for n in (3, 12, 40)]


@pytest.fixture(scope="module", params=CASES, ids=lambda c: f"{c[0]}-{c[1]}-{c[2]}")
def case(request):
    family, base, n = request.param
    model = random_model(family, n, 50 + n, base=base, rotors=n % 2 == 0)
    q, p = random_state(model, n, T)
    return model, q, p, reference.mass_matrix(model, q, T)


def inverse_tolerance(mass):
    """What the condition number leaves of double precision."""
    return max(TOLERANCE, 1e-14 * np.linalg.cond(mass)) if mass.size else TOLERANCE


@pytest.mark.parametrize("method", ["emh-ldl", "emh-lu"])
def test_round_trip(case, method):
    model, q, p, mass = case
    system = mb.System(model, method)
    u = system.velocities(q, p, T)
    assert_close(u, reference.hamilton(model, q, p, T).u, TOLERANCE, "velocities")
    assert_close(system.momenta(q, u, T), p, TOLERANCE, "p -> u -> p")
    assert_close(system.velocities(q, system.momenta(q, u, T), T), u, inverse_tolerance(mass), "u -> p -> u")


def test_momenta(case):
    model, q, _, _ = case
    u = np.random.default_rng(0).normal(size=model.nv)
    assert_close(mb.System(model).momenta(q, u, T), reference.momenta(model, q, u, T), TOLERANCE, "momenta")


def test_mass_matrix(case):
    model, q, _, mass = case
    ours = mb.System(model).mass_matrix(q, T)
    assert_close(ours, mass, TOLERANCE, "mass matrix")
    assert np.array_equal(ours, ours.T)
    assert np.all(np.linalg.eigvalsh(ours) > 0.0)


def test_inverse(case):
    model, q, _, mass = case
    inverse = mb.System(model).inverse_mass_matrix(q, T)
    assert inverse.shape == (model.nv, model.nv)
    assert_close(inverse, inverse.T, inverse_tolerance(mass), "symmetry")
    assert_close(mass @ inverse, np.eye(model.nv), inverse_tolerance(mass), "M M^-1")
    assert_close(inverse @ mass, np.eye(model.nv), inverse_tolerance(mass), "M^-1 M")


def test_solve_mass(case):
    model, q, _, mass = case
    system = mb.System(model)
    x = np.random.default_rng(1).normal(size=model.nv)
    solved = system.solve_mass(q, x, T)
    assert_close(mass @ solved, x, inverse_tolerance(mass), "M (M^-1 x)")
    assert_close(solved, system.inverse_mass_matrix(q, T) @ x, inverse_tolerance(mass), "M^-1 x")


def test_solve_mass_with_many_right_hand_sides(case):
    """A column at a time gives the same bits."""
    model, q, _, _ = case
    system = mb.System(model)
    X = np.random.default_rng(2).normal(size=(model.nv, 3))
    together = system.solve_mass(q, X, T)
    assert together.shape == X.shape
    for k in range(3):
        assert np.array_equal(together[:, k], system.solve_mass(q, X[:, k], T))


def test_drives_shift_momenta_but_not_mass():
    """velocities(q, p) = M^-1 (p - p_drive) with p_drive the momentum at zero joint speeds."""
    model = random_model("random", 8, 2, base="driven", kinds=["driven", "revolute", "ball"], rotors=True)
    q, p = random_state(model, 2, T)
    system = mb.System(model)
    shift = system.momenta(q, np.zeros(model.nv), T)
    assert np.max(np.abs(shift)) > 1e-3, "the case must have a moving drive"
    assert_close(shift, reference.momenta(model, q, np.zeros(model.nv), T), TOLERANCE, "drive momentum")
    assert_close(system.solve_mass(q, p - shift, T), system.velocities(q, p, T), 1e-9, "affine map")
    later = system.mass_matrix(q, T + 0.5)
    assert_close(later, reference.mass_matrix(model, q, T + 0.5), TOLERANCE, "mass at another time")
