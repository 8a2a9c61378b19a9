"""Laws that hold for every machine: hypothesis looks for one that breaks them.

Tolerance 1e-9: hypothesis is free to find the worst conditioned machine of the family.
"""

import pickle

import numpy as np
import reference
from cases import (
    BASES,
    FAMILIES,
    JOINT_KINDS,
    SCLERONOMIC,
    assert_close,
    random_loads,
    random_model,
    random_state,
)
from hypothesis import given
from hypothesis import strategies as st

import mbkern as mb

TOLERANCE = 1e-9
T = 0.37
seeds = st.integers(0, 2**31)


def machines(kinds=JOINT_KINDS, springs=False, bases=BASES):
    """Strategy: (model, seed) with up to ten bodies."""
    return st.builds(
        lambda family, n, seed, base, some, rotors: (
            random_model(family, n, seed, base=base, kinds=sorted(some), springs=springs, rotors=rotors),
            seed,
        ),
        st.sampled_from(FAMILIES),
        st.integers(1, 10),
        seeds,
        st.sampled_from(bases),
        st.sets(st.sampled_from(kinds), min_size=1),
        st.booleans(),
    )


@given(machines(springs=True))
def test_both_methods_are_the_dense_solution(machine):
    model, seed = machine
    q, p = random_state(model, seed, T)
    tau, wrench = random_loads(model, seed)
    expected = reference.hamilton(model, q, p, T, tau, wrench)
    for method in ("emh-ldl", "emh-lu"):
        qdot, pdot = mb.System(model, method).rhs(q, p, T, tau=tau, wrench=wrench)
        assert_close(qdot, expected.qdot, TOLERANCE, f"{method} qdot")
        assert_close(pdot, expected.pdot, TOLERANCE, f"{method} pdot")


@given(machines(), seeds)
def test_momenta_and_velocities_are_inverse(machine, speeds):
    model, seed = machine
    q, _ = random_state(model, seed, T)
    u = np.random.default_rng(speeds).normal(size=model.nv)
    system = mb.System(model)
    p = system.momenta(q, u, T)
    assert_close(system.velocities(q, p, T), u, TOLERANCE, "u -> p -> u")


@given(machines(SCLERONOMIC, bases=("jointed", "free", "fixed")))
def test_kinetic_energy_is_half_p_u(machine):
    model, seed = machine
    q, p = random_state(model, seed)
    system = mb.System(model)
    kinetic = system.energy(q, p).kinetic
    assert kinetic >= 0.0
    assert abs(kinetic - 0.5 * p @ system.velocities(q, p)) <= 1e-10 * max(kinetic, 1e-12)


@given(machines(SCLERONOMIC, bases=("jointed", "free", "fixed")), st.floats(-4, 4))
def test_velocities_are_linear_in_momenta(machine, factor):
    model, seed = machine
    q, p = random_state(model, seed)
    system = mb.System(model)
    other = np.random.default_rng(seed).normal(size=model.nv)
    combined = system.velocities(q, p + factor * other)
    parts = system.velocities(q, p), factor * system.velocities(q, other)
    scale = sum(np.max(np.abs(x), initial=0.0) for x in parts)
    assert np.max(np.abs(combined - sum(parts)), initial=0.0) <= 1e-10 * max(scale, 1e-300)


@given(machines(), seeds)
def test_inverse_mass_is_symmetric_and_positive(machine, numbers):
    model, seed = machine
    q, _ = random_state(model, seed, T)
    x, y = np.random.default_rng(numbers).normal(size=(2, model.nv))
    system = mb.System(model)
    solved_x, solved_y = system.solve_mass(q, x, T), system.solve_mass(q, y, T)
    scale = np.sqrt((x @ solved_x) * (y @ solved_y)) if model.nv else 0.0
    assert x @ solved_x > 0.0 or model.nv == 0
    assert abs(y @ solved_x - x @ solved_y) <= TOLERANCE * scale


@given(machines(springs=True))
def test_loads_are_additive(machine):
    """tau adds to pdot as it is, wrenches by their virtual power; qdot does not notice either."""
    model, seed = machine
    q, p = random_state(model, seed, T)
    tau, wrench = random_loads(model, seed)
    system = mb.System(model)
    qdot, pdot = system.rhs(q, p, T)
    loaded_qdot, loaded_pdot = system.rhs(q, p, T, tau=tau, wrench=wrench)
    assert np.array_equal(loaded_qdot, qdot)
    s = reference.stack(model, q, T)
    generalized = s.A.T @ np.linalg.solve(s.S.T, wrench.ravel()) if model.nv else np.zeros(0)
    difference = loaded_pdot - pdot
    scale = np.max(np.abs(np.concatenate([pdot, tau, generalized])), initial=1.0)
    assert np.max(np.abs(difference - tau - generalized), initial=0.0) <= 1e-12 * scale * model.n_bodies


@given(machines())
def test_whole_turns_change_nothing(machine):
    """2 pi more on every rotation coordinate."""
    model, seed = machine
    q, p = random_state(model, seed, T)
    turned = q.copy()
    for record in model.steps:
        if record["move"] == 0 and record["kind"] == 0:
            turned[record["q_index"]] += 2 * np.pi
    system = mb.System(model)
    for a, b in zip(system.rhs(q, p, T), system.rhs(turned, p, T), strict=True):
        assert_close(b[: model.nv], a[: model.nv], TOLERANCE, "rhs")


@given(machines(springs=True))
def test_copies_of_a_model_give_the_same_bits(machine):
    """Through pickle and JSON."""
    model, seed = machine
    q, p = random_state(model, seed, T)
    expected = mb.System(model).rhs(q, p, T)
    for copy in (pickle.loads(pickle.dumps(model)), type(model).from_json(model.to_json())):
        assert copy == model and hash(copy) == hash(model)
        for a, b in zip(mb.System(copy).rhs(q, p, T), expected, strict=True):
            assert np.array_equal(a, b)
