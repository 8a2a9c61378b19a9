"""Large trees: the formulations by O(N) sweeps agree with those by the mass matrix, and cost grows with the bodies."""

from __future__ import annotations

import time

import numpy as np
import pytest
from numba import njit

import mbkern as mb
from mbkern.analytic import Constraints, Kane, Lagrange, Maggi, QuasiVelocities, Volterra, frame
from mbkern.core.cabi import call_ode

FORMULATIONS = (Lagrange, Maggi, Kane, Volterra)
TOLERANCE = 1e-12  # of the largest number; both ways lose about the condition of M, 1e3, of 16 digits


@njit
def knife(t, q, v, a, b, rate):
    a[0, 0], a[0, 1], a[0, 4] = np.sin(q[2]), -np.cos(q[2]), 0.3
    rate[0] = v[2] * (np.cos(q[2]) * v[0] + np.sin(q[2]) * v[1])


@njit
def gear(t, q, v, a, b, rate):
    """Two rows, one of them rheonomic."""
    a[0, 3], a[0, 5] = 1.0, -2.0
    a[1, 4], a[1, 6] = 1.0 + 0.1 * np.sin(q[3]), -1.0
    b[1] = 0.2 * np.sin(t)
    rate[1] = 0.1 * np.cos(q[3]) * v[3] * v[4] + 0.2 * np.cos(t)


@njit
def thrust(t, q, v, out):
    if t > 1.0:
        out[0] = 3.0


@njit
def mixed(t, q, v, Y, Z, rate):
    """Quasi-velocities that are not speeds: sums of neighbours, the first two turned."""
    n = Y.shape[0]
    for i in range(n):
        Y[i, i] = 1.0
        if i > 1:
            Y[i, i - 1] = 0.5
    c, s = np.cos(q[2]), np.sin(q[2])
    Y[0, 0], Y[0, 1], Y[1, 0], Y[1, 1] = c, s, -s, c
    rate[0] = v[2] * (-s * v[0] + c * v[1])
    rate[1] = v[2] * (-c * v[0] - s * v[1])


def cart_with_arms(gravity=-9.81, driven=False, rotors=False):
    """A base that slides and turns in a plane, with a tree of fifteen links on it."""
    rng, builder = np.random.default_rng(4), mb.ModelBuilder(gravity=(0, 0, gravity))
    builder.add_body("base", joint=[mb.translate("x"), mb.translate("y"), mb.rotate("z")], mass=5, inertia=(1, 1, 1))
    for i in range(15):
        joint = mb.revolute(rng.normal(size=3))
        if driven and i % 4 == 1:
            joint = [mb.rotate("y", mb.harmonic(0.3, 2.0)), mb.rotate("z")]
        builder.add_body(f"link{i}", "base" if i == 0 else f"link{rng.integers(0, i)}", joint, mass=rng.uniform(0.5, 2),
                         com=rng.uniform(-0.2, 0.2, 3), inertia=(0.1, 0.12, 0.15), position=rng.uniform(-0.4, 0.4, 3),
                         armature=0.2 if rotors and i % 3 == 0 else 0.0)
    return builder.build()


def floating_tree():
    """A free body with links on ball joints and hinges, without gravity."""
    rng, builder = np.random.default_rng(5), mb.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("hull", joint=mb.free(), mass=5, com=(0.1, 0.2, 0.0), inertia=(1, 2, 2))
    for i in range(10):
        builder.add_body(f"link{i}", "hull" if i == 0 else f"link{rng.integers(0, i)}",
                         mb.ball() if i % 3 == 0 else mb.revolute(rng.normal(size=3)), mass=rng.uniform(0.5, 2),
                         com=rng.uniform(-0.2, 0.2, 3), inertia=(0.1, 0.12, 0.15), position=rng.uniform(-0.4, 0.4, 3))
    return builder.build()


CASES = {
    "weight": (cart_with_arms(), {}, 2),
    "drives": (cart_with_arms(driven=True), {}, 2),
    "rotors": (cart_with_arms(rotors=True), {}, 2),
    "knife edge": (cart_with_arms(), {"constraints": Constraints(knife, 1)}, 0),
    "gears": (cart_with_arms(rotors=True), {"constraints": Constraints(gear, 2)}, 2),
    "forces": (cart_with_arms(), {"forces": np.linspace(1.0, 2.0, 18)}, 0),
    "floating": (floating_tree(), {}, 3),
    "own u": (cart_with_arms(gravity=0.0), {"quasi": QuasiVelocities(mixed, 18)}, 0),
}


def both(make, model, options, monkeypatch):
    """The formulation by the mass matrix, and by sweeps."""
    made = []
    for large in (10**6, 0):
        monkeypatch.setattr(frame, "LARGE", large)
        made.append(make(mb.System(model), **options))
    assert not made[0].setup.large and made[1].setup.large
    return made


def test_which_trees_are_large():
    assert Lagrange(mb.System(mb.zoo.chain(16))).setup.large and not Lagrange(mb.System(mb.zoo.chain(15))).setup.large
    model, options, _ = CASES["gears"]
    assert not Kane(mb.System(model), **options).setup.large  # 18 speeds, and two constraints


@pytest.mark.parametrize("name", CASES)
def test_sweeps_give_what_the_mass_matrix_gives(name, monkeypatch):
    model, options, ignorable = CASES[name]
    q, v = model.random_state(seed=2)
    for make in FORMULATIONS:
        given = {key: value for key, value in options.items() if key != "quasi" or make is not Lagrange}
        if "quasi" in given and make is Volterra:
            given["ignorable"] = []
        dense, linear = both(make, model, given, monkeypatch)
        assert dense.s == (ignorable if make is Volterra else 0)
        v0 = dense.project(q, v, 0.3)
        y = dense.state(q, v0, 0.3)
        assert np.array_equal(linear.state(q, v0, 0.3), y)
        for what, expected, got in (("speeds", dense.speeds(0.3, y), linear.speeds(0.3, y)),
                                    ("rates", dense.rhs(0.3, y), linear.rhs(0.3, y)),
                                    ("vdot", dense.accelerations(q, v0, 0.3), linear.accelerations(q, v0, 0.3)),
                                    ("lambda", dense.multipliers(q, v0, 0.3), linear.multipliers(q, v0, 0.3))):
            size = max(1.0, np.abs(expected).max(initial=0.0))
            assert got.shape == expected.shape
            assert np.abs(got - expected).max(initial=0.0) < TOLERANCE * size, (make.__name__, what)


def test_multipliers_keep_the_constraints():
    """M vdot + h - Q = a^T lambda in every formulation, by inverse dynamics."""
    model, options, _ = CASES["gears"]
    system, t = mb.System(model), 0.3
    q, v = model.random_state(seed=2)
    for make in FORMULATIONS:
        formulation = make(system, **options)
        v0 = formulation.project(q, v, t)
        forces = system.inverse_dynamics(q, v0, formulation.accelerations(q, v0, t), t)
        a, _, _ = options["constraints"].evaluate(t, q, v0)
        lam = formulation.multipliers(q, v0, t)
        assert np.abs(forces - a.T @ lam).max() < 1e-11 * np.abs(forces).max()


def test_invariants_of_a_run(monkeypatch):
    monkeypatch.setattr(frame, "LARGE", 0)
    model, options, _ = CASES["gears"]
    q, v = model.random_state(seed=2)
    volterra = Volterra(mb.System(model), **options)
    run = volterra.simulate(q, volterra.project(q, 0.2 * v), (0.0, 0.5), t_eval=np.linspace(0, 0.5, 6))
    lagrange = Lagrange(mb.System(model), **options)
    other = lagrange.simulate(q, lagrange.project(q, 0.2 * v), (0.0, 0.5), t_eval=np.linspace(0, 0.5, 6))
    assert run.success and other.success
    assert np.abs(run.q - other.q).max() < 1e-6  # rtol 1e-8 on a lively tree
    assert np.abs(run.constraints()).max() < 1e-12


def test_a_force_that_begins_later_is_noticed(monkeypatch):
    monkeypatch.setattr(frame, "LARGE", 0)
    model = cart_with_arms(gravity=0.0)
    volterra = Volterra(mb.System(model), forces=thrust, ignorable=["base.0", "base.1"])
    q, v = model.random_state(seed=2)
    assert volterra.setup.large
    run = volterra.simulate(q, 0.1 * v, (0.0, 1.5))
    assert not run.success and run.t[-1] == pytest.approx(1.0, abs=1e-9)
    assert "a generalized force of 3 acts along 'base.0'" in run.message


def test_gimbal_lock_is_refused():
    builder = mb.ModelBuilder()
    for i in range(8):
        builder.add_body(f"b{i}", "world" if i == 0 else f"b{i - 1}", mb.euler_ball("zyx"), mass=1.0,
                         inertia=(1, 1, 1), position=(0, 0, 0.1))
    lagrange = Lagrange(mb.System(builder.build()))
    assert lagrange.setup.large
    y = np.zeros(48)
    y[13] = np.pi / 2
    with pytest.raises(mb.errors.StateError, match=r"equations of motion are singular at .*gimbal lock"):
        lagrange.rhs(0.0, y)


@njit
def repeat(address, user, y, dydt, n):
    for _ in range(n):
        call_ode(address, 0.0, y, 0, dydt, 0, user)


def seconds(make, n):
    """Of one evaluation of a chain, the best of several."""
    model = mb.zoo.chain(n, joint=mb.revolute("y"))
    formulation = make(mb.System(model))
    y = formulation.state(*model.random_state(seed=1))
    problem, _ = formulation.problem(y)
    dydt, best = np.empty(y.size), np.inf
    repeat(problem.address, problem.user, y, dydt, 1)
    for _ in range(7):
        begin = time.thread_time()
        repeat(problem.address, problem.user, y, dydt, 50)
        best = min(best, (time.thread_time() - begin) / 50)
    return best


@pytest.mark.parametrize("make", FORMULATIONS)
def test_cost_grows_with_the_number_of_bodies(make):
    """Four times the bodies: four times the time, where the mass matrix takes 16 to 64 times. Caches cost a little."""
    assert seconds(make, 200) < 8.0 * seconds(make, 50)
