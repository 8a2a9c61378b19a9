"""Appell's equations by probing: golden numbers, mass matrix, Christoffel symbols, inverse dynamics."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import reference
from cases import CANONICAL, assert_close, derivative, random_configuration, random_model
from scipy.integrate import solve_ivp

import mbkern as mb
from mbkern import plain
from mbkern.analytic import appell
from mbkern.core import appell as kernels
from mbkern.core import drives
from mbkern.core.number import LANES

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "analytic.json").read_text())["appell_graph"]
Q0, U0 = GOLDEN["q0"], GOLDEN["qd0"]


def graph(base):
    return mb.System(mb.zoo.appell_graph(moving=base == "moving"))


@pytest.mark.parametrize("base", ["fixed", "moving"])
def test_golden_coefficients(base):
    """Probing loses about eps max|S| (S is about 30 here), and the golden numbers were probed as well."""
    golden, system = GOLDEN[base], graph(base)
    t = golden["t_coeff"]
    c = appell.coefficients(system, Q0, t)
    for name, value, expected in (("A", c.A, golden["A"]), ("K", c.K, golden["K_k_ij"]), ("D", c.D, golden["D_ik"]),
                                  ("H", c.H, golden["H"])):
        assert np.abs(value - np.array(expected)).max() < 1e-12, name
    assert c.evaluations == 1 + 3 * 4 + 5 * 16 // 2 + 64 // 2
    assert_close(appell.gravity_forces(system, Q0, t), golden["Qgrav"], 1e-14, "gravity")
    assert np.array_equal(appell.gravity_forces(system, Q0), appell.gravity_forces(system, Q0, 0.0))
    S = appell.acceleration_energy(system, Q0, U0, [0.5, -1.0, 2.0, 0.3], t)
    assert abs(S - golden["S_sample"]) < 1e-13 * abs(golden["S_sample"])


@pytest.mark.parametrize("base", ["fixed", "moving"])
def test_golden_trajectory(base):
    """The golden trajectories are good to about 1e-11; Appell's own by a general solver, Hamilton's by ours."""
    golden, system = GOLDEN[base], graph(base)
    times = np.array(golden["t"], float)
    run = system.simulate(Q0, system.momenta(Q0, U0), (0.0, 5.0), rtol=1e-12, atol=1e-13, t_eval=times)
    assert_close(run.q, golden["q"], 1e-9, "q by Hamilton's equations")

    def f(t, y):
        return np.concatenate((y[4:], appell.accelerations(system, y[:4], y[4:], t)))

    y = solve_ivp(f, (0.0, 2.0), [*Q0, *U0], method="DOP853", rtol=1e-11, atol=1e-12, t_eval=times[:3]).y.T
    assert_close(y[:, :4], golden["q"][:3], 1e-9, "q by Appell's equations")
    assert_close(y[:, 4:], golden["qd"][:3], 1e-9, "qdot by Appell's equations")


@pytest.mark.parametrize("seed", range(4))
def test_coefficients_of_random_trees(seed):
    """A is the mass matrix, K the Christoffel symbols of the first kind of its derivatives; at rest D = H = 0."""
    kinds = ("revolute", "prismatic", "cylindrical", "universal", "euler_ball", "planar", "custom")
    model = random_model("random", 4, seed, base="jointed", kinds=kinds)
    system, n = mb.System(model), model.nv
    q = random_configuration(model, np.random.default_rng(seed))
    c = appell.coefficients(system, q)
    M = reference.mass_matrix(model, q, 0.0)
    assert_close(c.A, M, 1e-12, "A")
    dM = np.array([derivative(lambda e, x=x: reference.mass_matrix(model, q + e * x, 0.0)) for x in np.eye(n)])
    K = 0.5 * (np.einsum("ikj->kij", dM) + np.einsum("jki->kij", dM) - np.einsum("kij->kij", dM))
    scale = np.abs(M).max()
    assert np.abs(c.K - K).max() < 1e-10 * scale  # eighth-order differences: about 1e-11
    assert np.abs(c.D).max() < 1e-12 * scale and np.abs(c.H).max() < 1e-12 * scale


@pytest.mark.parametrize("seed", range(4))
def test_bias_on_driven_bases(seed):
    """u^T K u + D^T u + H is what inverse dynamics needs at udot = 0 beside gravity and springs, for any joints."""
    model = random_model("random", 4, seed, base="driven", springs=True, rotors=True)
    system, t = mb.System(model), 0.4
    rng = np.random.default_rng(seed)
    q, u = random_configuration(model, rng), rng.normal(size=model.nv)
    c = appell.coefficients(system, q, t)
    bias = np.einsum("kij,i,j->k", c.K, u, u) + c.D.T @ u + c.H
    forces = appell.gravity_forces(system, q, t) + appell.spring_forces(system, q, u)
    assert_close(bias - forces, system.inverse_dynamics(q, u, np.zeros(model.nv), t), 1e-11, "bias")
    assert max(np.abs(c.D).max(), np.abs(c.H).max()) > 1e-6  # the drives are felt


@pytest.mark.parametrize("family, base, seed", [("chain", "fixed", 1), ("random", "driven", 2), ("binary", "free", 3),
                                                ("random", "jointed", 4)])
def test_accelerations(family, base, seed):
    """Against the dense reference; differences of S lose digits where S is large beside its parts."""
    model = random_model(family, 6, seed, base=base, springs=True, rotors=True)
    rng = np.random.default_rng(seed)
    q, u, tau = random_configuration(model, rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    system = mb.System(model)
    udot = system.accelerations(q, u, 0.3, tau, method="appell")
    assert_close(udot, system.accelerations(q, u, 0.3, tau), 1e-8, "accelerations")
    M = reference.mass_matrix(model, q, 0.3)
    left = M @ udot + system.inverse_dynamics(q, u, np.zeros(model.nv), 0.3) - tau
    assert np.abs(left).max() < 1e-11 * np.abs(M).max() * max(1.0, np.abs(udot).max())


def test_lanes_and_plain_python():
    """One source: lanes give the bits of float64, plain Python the same to round-off."""
    model = random_model("random", 5, 3, base="driven", kinds=CANONICAL, springs=True, rotors=True)
    system, t, n = mb.System(model), 0.4, model.nv
    block, size = system.binding.lane_block.copy(), plain.load("appell").appell_size(system.block)
    rng = np.random.default_rng(0)
    Q, U, tau = (rng.normal(size=(n, LANES)) for _ in range(3))
    scalar = np.zeros(size)
    drives.evaluate_drives(block, t, scalar)
    work = np.repeat(scalar[:, None], LANES, axis=1)
    out = np.zeros((n, LANES))
    kernels.sweeps(block, Q, U, tau, out, work)
    for k in range(LANES):
        one = np.zeros(n)
        kernels.sweeps(block, Q[:, k].copy(), U[:, k].copy(), tau[:, k].copy(), one, scalar.copy())
        assert np.array_equal(one, out[:, k])
    plainly = np.zeros(n)
    plain.load("appell").sweeps(block, Q[:, 0].copy(), U[:, 0].copy(), tau[:, 0].copy(), plainly, scalar.copy())
    assert_close(plainly, out[:, 0], 1e-9, "plain Python")


def test_a_joint_without_inertia_is_named():
    builder = mb.ModelBuilder()
    builder.add_body("rod", joint=mb.revolute("z"), mass=1.0, com=(1, 0, 0))
    builder.add_body("wire", "rod", mb.revolute("x"), mass=1.0)
    system = mb.System(builder.build())
    with pytest.raises(mb.errors.SingularInertiaError, match="wire"):
        system.accelerations([0.0, 0.0], [0.0, 0.0], method="appell")


def test_bad_input():
    system = graph("fixed")
    with pytest.raises(mb.errors.StateError, match="udot"):
        appell.acceleration_energy(system, Q0, U0, [1.0])
    with pytest.raises(mb.errors.StateError, match="q"):
        appell.coefficients(system, [0.0])
    with pytest.raises(mb.errors.ModelError, match="System"):
        appell.coefficients(mb.zoo.appell_graph(), Q0)
