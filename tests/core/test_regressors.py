"""Regressors as ordinary Python: times the parameters they are what the other kernels compute."""

import numpy as np
import pytest
from cases import BASES, FAMILIES, assert_close, random_model, random_state

import mbkern as mb
from mbkern import plain
from mbkern.identification.parameters import inertial_parameters

T = 0.37
NONE = np.empty(0)
TOLERANCE = 1e-12  # of the largest number: rounding of sums of a few hundred terms


def machine(seed):
    """Random trees of every joint on every base, without springs, dampers and rotors, which add their own."""
    model = random_model(FAMILIES[seed % 4], 5, seed, base=BASES[seed // 4 % 4])
    q, _ = random_state(model, 1, T)
    u, udot = np.random.default_rng(seed).normal(size=(2, model.nv))
    return model, q, u, udot


def workspace(model):
    work = np.full(int(plain.load("tangents").rows_size(model.block)), np.nan)
    plain.load("drives").evaluate_drives(model.block, T, work)
    return work


def regressor(name, model, *arguments, rows=None):
    out = np.full((model.nv if rows is None else rows, 10 * model.n_bodies), np.nan)
    getattr(plain.load("regressors"), name)(model.block, *arguments, out.reshape(-1), workspace(model))
    return out


@pytest.mark.parametrize("seed", range(12))
def test_regressors_times_parameters(seed):
    model, q, u, udot = machine(seed)
    pi, block, nv = inertial_parameters(model), model.block, model.nv
    work, p, pdot, tau = np.full(40_000, np.nan), np.empty(nv), np.empty(nv), np.empty(nv)
    plain.load("drives").evaluate_drives(block, T, work)
    plain.load("joint_momenta").momenta(block, q, u, p, work)
    assert_close(regressor("momentum_regressor", model, q, u) @ pi, p, TOLERANCE, "p")
    plain.rhs("extended")(block, T, q, p, NONE, np.empty(model.nq), pdot, work)
    # round-off of u, which the rates are quadratic in, times the condition of the mass matrix
    assert_close(regressor("momentum_rate_regressor", model, q, u) @ pi, pdot, 1e-10, "pdot")
    plain.load("joint_forces").inverse_dynamics(block, q, u, udot, NONE, tau, work)
    assert_close(regressor("torque_regressor", model, q, u, udot) @ pi, tau, TOLERANCE, "tau")
    energies = np.empty(3)
    plain.load("energies").energy(block, q, p, energies, work)
    assert_close(regressor("energy_regressor", model, q, u, rows=2) @ pi, energies[:2], 1e-11, "energies")


@pytest.mark.parametrize("near", [1e-3, 1e-6, 1e-9])
def test_a_point_mass_near_the_axis_keeps_its_digits(near):
    """p = m e^2 u: the inertia about the origin must not be m (c.c - z^2)."""
    builder = mb.ModelBuilder()
    builder.add_body("bob", joint=mb.revolute("z"), mass=2.0, com=(near, 0.0, 1.0))
    model = builder.build()
    Y = regressor("momentum_regressor", model, np.array([0.4]), np.array([3.0]))
    assert Y @ inertial_parameters(model) == pytest.approx(2.0 * near**2 * 3.0, rel=1e-14)
