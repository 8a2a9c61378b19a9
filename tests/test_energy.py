"""Energies against the reference, and the energy balance along the motion that rhs defines."""

import numpy as np
import pytest
import reference
from cases import (
    BASES,
    FAMILIES,
    JOINT_KINDS,
    SCLERONOMIC,
    derivative,
    random_loads,
    random_model,
    random_state,
)

import mbkern as mb

T = 0.6  # half way between two knots of the spline drives: they are only C2 there


@pytest.mark.parametrize("method", ["emh-ldl", "emh-lu"])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("family", FAMILIES)
def test_energies(family, base, method):
    """1e-10 relative; every term of the potential counts, so its scale is the sum of their magnitudes."""
    model = random_model(family, 12, 61, base=base, springs=True, rotors=True)
    q, p = random_state(model, 61, T)
    u = reference.hamilton(model, q, p, T).u
    expected = reference.energy(model, q, u, T)
    energy = mb.System(model, method).energy(q, p, T)
    scale = expected.kinetic + model.total_mass * np.linalg.norm(model.gravity)
    assert energy.kinetic == pytest.approx(expected.kinetic, rel=1e-10)
    assert energy.potential == pytest.approx(expected.potential, abs=1e-10 * scale)
    assert energy.hamiltonian == pytest.approx(expected.hamiltonian, abs=1e-10 * (scale + np.abs(p) @ np.abs(u)))


def test_hamiltonian_is_legendre_transform():
    """H = p.u - T + Pi; for drives that is not T + Pi."""
    model = random_model("random", 6, 3, base="driven")
    q, p = random_state(model, 3, T)
    system = mb.System(model)
    energy, u = system.energy(q, p, T), system.velocities(q, p, T)
    assert energy.hamiltonian == pytest.approx(p @ u - energy.kinetic + energy.potential, rel=1e-12)
    assert abs(energy.hamiltonian - energy.kinetic - energy.potential) > 1e-3


def test_closed_form_pendulum():
    """A rod hanging from a y axis: everything on one line of algebra."""
    builder = mb.ModelBuilder(gravity=(0, 0, -9.81))
    builder.add_body("rod", joint=mb.revolute("y"), mass=2.0, com=(0, 0, -0.5), inertia=(0.2, 0.2, 0.01))
    system = mb.System(builder.build())
    angle, p = 0.7, 1.3
    inertia = 0.2 + 2.0 * 0.25
    qdot, pdot = system.rhs([angle], [p])
    assert qdot[0] == pytest.approx(p / inertia, rel=1e-14)
    assert pdot[0] == pytest.approx(-2.0 * 9.81 * 0.5 * np.sin(angle), rel=1e-14)
    energy = system.energy([angle], [p])
    assert energy.kinetic == pytest.approx(p * p / (2 * inertia), rel=1e-14)
    assert energy.potential == pytest.approx(-2.0 * 9.81 * 0.5 * np.cos(angle), rel=1e-14)
    assert energy.hamiltonian == pytest.approx(energy.kinetic + energy.potential, rel=1e-14)


def energy_rate(system, q, p, tau=None, wrench=None, time=1.0):
    """dH/dt along the motion; `time` = 0 freezes the explicit time."""
    _, pdot = system.rhs(q, p, T, tau=tau, wrench=wrench)
    u = system.velocities(q, p, T)

    def hamiltonian(h):
        return system.energy(reference.advance(system.model, q, u, h), p + h * pdot, T + time * h).hamiltonian

    return float(derivative(hamiltonian))


def rate_scale(system, q, p):
    """Size of the terms that cancel in an energy rate: |u| |pdot|."""
    _, pdot = system.rhs(q, p, T)
    return float(np.abs(system.velocities(q, p, T)) @ np.abs(pdot)) + 1.0


@pytest.mark.parametrize("rotors", [False, True])
@pytest.mark.parametrize("kind", SCLERONOMIC)
def test_conservation(kind, rotors):
    """Without drives and loads dH/dt = 0 for every joint type (1e-9: the differences, see test_hamilton)."""
    model = random_model("chain", 4, 9, kinds=[kind], rotors=rotors)
    q, p = random_state(model, 9, T)
    system = mb.System(model)
    assert abs(energy_rate(system, q, p)) < 1e-9 * rate_scale(system, q, p)


@pytest.mark.parametrize("seed", range(4))
def test_power_of_loads_and_dampers(seed):
    """d(T + Pi)/dt = tau.u + sum wrench.v - sum damping u^2 (springs are part of Pi)."""
    model = random_model("random", 6, seed, kinds=SCLERONOMIC, springs=True, rotors=True)
    q, p = random_state(model, seed, T)
    tau, wrench = random_loads(model, seed)
    system = mb.System(model)
    u = system.velocities(q, p, T)
    damping = np.concatenate([b.damping for b in model.body_specs])
    power = tau @ u + np.sum(wrench * system.body_velocities(q, p, T)) - damping @ u**2
    assert energy_rate(system, q, p, tau, wrench) == pytest.approx(power, abs=1e-9 * rate_scale(system, q, p))


@pytest.mark.parametrize("seed", range(4))
def test_power_with_drives(seed):
    """dH/dt = dH/dt at fixed (q, p) + power of the loads on the motion relative to the drives."""
    model = random_model("random", 6, seed, base="driven", kinds=JOINT_KINDS, rotors=True)
    q, p = random_state(model, seed, T)
    tau, wrench = random_loads(model, seed)
    system = mb.System(model)
    u = system.velocities(q, p, T)
    explicit = float(derivative(lambda h: system.energy(q, p, T + h).hamiltonian))
    relative = system.body_velocities(q, p, T) - reference.drift_velocities(model, q, T)
    power = tau @ u + np.sum(wrench * relative)
    scale = rate_scale(system, q, p) + abs(explicit)
    assert energy_rate(system, q, p, tau, wrench) == pytest.approx(explicit + power, abs=1e-9 * scale)
    # and with frozen time only the loads work
    assert energy_rate(system, q, p, tau, wrench, time=0.0) == pytest.approx(power, abs=1e-9 * scale)
