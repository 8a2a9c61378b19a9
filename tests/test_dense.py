"""All compiled algorithms against the dense solution of the extended system: all joints, all tree families.

Tolerance 1e-10 relative to the largest number of each answer: the sweeps lose a few digits to the condition
of the articulated inertias (up to about 1e4 here), never six.
"""

import numba
import numpy as np
import pytest
import reference
from cases import (
    BASES,
    FAMILIES,
    JOINT_KINDS,
    assert_close,
    random_joint,
    random_loads,
    random_model,
    random_state,
)

import mbkern as mb
from mbkern.methods import singular_body

TOLERANCE = 1e-10
METHODS = ("emh-ldl", "emh-lu", "dah", "hzu")


def able(model):
    """The methods that can serve a model: hzu inverts the inertia of every body."""
    return [name for name in METHODS if name != "hzu" or singular_body(model) < 0]


def tolerance_of(method, model, q, t):
    """The multipliers of hzu go through M^-1 and the constraint forces: a digit less (1.3e-10 seen at N = 40).

    dah solves with the mass matrix, so rounding is multiplied by its condition (7e6 for a chain of 40 free bodies).
    """
    if method == "dah" and model.nv:
        return max(TOLERANCE, np.finfo(float).eps * np.linalg.cond(reference.mass_matrix(model, q, t)))
    return 1e-9 if method == "hzu" else TOLERANCE


def check(model, seed, t=0.37, loads=True):
    """rhs of every method against the dense reference."""
    q, p = random_state(model, seed, t)
    tau, wrench = random_loads(model, seed) if loads else (None, None)
    expected = reference.hamilton(model, q, p, t, tau, wrench)
    for method in able(model):
        qdot, pdot = mb.System(model, method).rhs(q, p, t, tau=tau, wrench=wrench)
        tolerance = tolerance_of(method, model, q, t)
        assert_close(qdot, expected.qdot, tolerance, f"{method} qdot")
        assert_close(pdot, expected.pdot, tolerance, f"{method} pdot")


@pytest.mark.parametrize("kind", JOINT_KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_one_body(kind, seed):
    check(random_model("chain", 1, seed, kinds=[kind], springs=True), seed)


@pytest.mark.parametrize("kind", JOINT_KINDS)
@pytest.mark.parametrize("family", ["chain", "carousel"])
def test_one_kind_of_joint(kind, family):
    check(random_model(family, 6, 11, kinds=[kind], springs=True), 11)


@pytest.mark.parametrize("dofs", range(1, 7))
@pytest.mark.parametrize("family", FAMILIES)
def test_joints_of_equal_freedoms(dofs, family):
    """1 to 6 dofs a joint."""
    kinds = {
        1: ["revolute", "prismatic"],
        2: ["cylindrical", "universal"],
        3: ["planar", "ball", "euler_ball"],
        6: ["free", "six_steps"],
    }.get(dofs)
    if kinds:
        check(random_model(family, 9, dofs, kinds=kinds, springs=True), dofs)
        return
    rng = np.random.default_rng(dofs)
    builder = mb.ModelBuilder(gravity=(1.0, 2.0, -9.0))
    for i in range(7):
        # four and five dofs: a ball carried by translations
        joint = [mb.translate("x"), mb.rotate("y", 0.3), mb.ball()]
        if dofs == 5:
            joint.insert(1, mb.translate("z"))
        parent = {"chain": i - 1, "carousel": 0 if i else -1, "binary": (i - 1) // 2, "random": i // 3 - 1}[family]
        builder.add_body(
            f"b{i}",
            parent=f"b{parent}" if i and parent >= 0 else "world",
            joint=joint,
            mass=1.0 + 0.1 * i,
            com=rng.uniform(-0.2, 0.2, 3),
            inertia=(0.03, 0.04, 0.05),
            position=rng.uniform(-0.4, 0.4, 3),
        )
    check(builder.build(), dofs)


@pytest.mark.parametrize("n", [2, 5, 12])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("family", FAMILIES)
def test_random_trees(family, base, n):
    check(random_model(family, n, 100 + n, base=base, springs=True), n)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("family", FAMILIES)
def test_forty_bodies(family, base):
    check(random_model(family, 40, 7, base=base, springs=True), 7)


@pytest.mark.parametrize("kinds", [["revolute"], ["prismatic"], ["ball"], ["universal"]])
def test_long_chains(kinds):
    check(random_model("chain", 40, 3, kinds=kinds), 3)


@pytest.mark.parametrize("loads", ["none", "tau", "wrench"])
def test_each_load_alone(loads):
    model = random_model("random", 8, 5)
    q, p = random_state(model, 5)
    tau, wrench = random_loads(model, 5)
    tau = tau if loads == "tau" else None
    wrench = wrench if loads == "wrench" else None
    expected = reference.hamilton(model, q, p, 0.37, tau, wrench)
    for method in METHODS:
        qdot, pdot = mb.System(model, method).rhs(q, p, 0.37, tau=tau, wrench=wrench)
        assert_close(qdot, expected.qdot, TOLERANCE, "qdot")
        assert_close(pdot, expected.pdot, TOLERANCE, "pdot")


@pytest.mark.parametrize("gravity", [(0, 0, 0), (9.81, 0, 0), (0, -3.7, 0), (1.0, 2.0, 3.0)])
def test_gravity_in_any_direction(gravity):
    check(random_model("random", 6, 8, gravity=gravity), 8, loads=False)


@pytest.mark.parametrize("seed", range(8))
def test_zoo_random_tree(seed):
    check(mb.zoo.random_tree(15, seed=seed), seed, t=0.2)


@pytest.mark.parametrize("make", ["chain", "carousel", "binary_tree"])
@pytest.mark.parametrize("n", [1, 2, pytest.param(40, marks=pytest.mark.nightly)])
def test_zoo_families(make, n):
    for joint in (mb.revolute("z"), mb.universal("x", "y"), mb.ball(), mb.free()):
        check(getattr(mb.zoo, make)(n, joint=joint, seed=n), n)


def test_user_function_drive():
    """A drive written by the user as a compiled function."""

    @numba.njit
    def wobble(t):
        return 0.3 * np.cos(2.0 * t) + 0.1 * t, -0.6 * np.sin(2.0 * t) + 0.1, -1.2 * np.cos(2.0 * t)

    @numba.njit
    def ramp(t):
        return 0.2 * t * t, 0.4 * t, 0.4

    builder = mb.ModelBuilder()
    builder.add_body(
        "base",
        joint=[mb.translate("x", mb.drive(wobble)), mb.rotate("y", mb.drive(ramp)), mb.rotate("z")],
        mass=2.0,
        com=(0.1, 0.2, 0.0),
        inertia=(0.1, 0.2, 0.15),
    )
    builder.add_body(
        "arm",
        "base",
        [mb.rotate("x"), mb.translate("z", mb.drive(wobble))],
        mass=1.0,
        com=(0.0, 0.3, 0.0),
        inertia=(0.02, 0.01, 0.02),
        position=(0.3, 0.0, 0.1),
    )
    for t in (0.0, 0.8, 3.0):
        check(builder.build(), 1, t=t)


@pytest.mark.parametrize("t", [0.0, 0.37, 1.9])
def test_drives_at_different_times(t):
    check(random_model("random", 8, 21, base="driven", kinds=["driven", "revolute", "ball"]), 21, t=t)


def test_no_freedoms_at_all():
    """Only welds and drives: nothing to solve, the bodies still move."""
    builder = mb.ModelBuilder()
    builder.add_body("base", joint=[mb.rotate("z", mb.harmonic(1.0, 2.0))], mass=1.0, inertia=(1, 1, 1))
    builder.add_body("tip", "base", mb.weld(), mass=1.0, inertia=(1, 1, 1), position=(1.0, 0.0, 0.0))
    model = builder.build()
    for method in METHODS:
        system = mb.System(model, method)
        qdot, pdot = system.rhs([], [], 0.4)
        assert qdot.shape == pdot.shape == (0,)
        expected = reference.hamilton(model, [], [], 0.4)
        assert_close(system.body_velocities([], [], 0.4), expected.v, TOLERANCE, "velocities")
        assert_close(system.body_momenta([], [], 0.4), expected.mu, TOLERANCE, "mu")
        assert system.mass_matrix([], 0.4).shape == system.inverse_mass_matrix([], 0.4).shape == (0, 0)
        for call in (system.momenta, system.velocities, system.solve_mass):
            assert call([], [], 0.4).shape == (0,)
        energy = reference.energy(model, [], [], 0.4)
        assert system.energy([], [], 0.4).kinetic == pytest.approx(energy.kinetic, rel=TOLERANCE)


def test_massless_bodies_between_joints():
    """A universal joint built from a massless cross and two revolutes."""
    builder = mb.ModelBuilder()
    builder.add_body("cross", joint=mb.revolute("x"), position=(0.1, 0.2, 0.3))
    builder.add_body("rod", "cross", mb.revolute("y"), mass=1.5, com=(0, 0, -0.4), inertia=(0.1, 0.1, 0.02))
    builder.add_body("mid", "rod", mb.prismatic((0, 1, 1)), position=(0, 0, -0.8))
    builder.add_body("tip", "mid", mb.ball(), mass=0.7, com=(0.1, 0, 0), inertia=(0.02, 0.03, 0.02))
    check(builder.build(), 2)


def test_rotor_without_mass():
    """Inertia without mass (a flywheel counted into its carrier)."""
    builder = mb.ModelBuilder()
    builder.add_body("arm", joint=mb.revolute("y"), mass=2.0, com=(0.3, 0, 0), inertia=(0.01, 0.1, 0.1))
    builder.add_body("rotor", "arm", mb.revolute("x"), mass=0.0, inertia=(0.02, 0.01, 0.01), position=(0.4, 0, 0))
    check(builder.build(), 4)


@pytest.mark.parametrize("seed", range(4))
def test_random_joint_sequences(seed):
    """Deep mixtures of steps, constants and drives in one joint, two in a row."""
    rng = np.random.default_rng(seed)
    builder = mb.ModelBuilder(gravity=(0, -9.81, 0))
    for i, kind in enumerate(["driven", "custom", "driven"]):
        builder.add_body(
            f"b{i}",
            parent="world" if i == 0 else f"b{i - 1}",
            joint=random_joint(rng, kind),
            mass=1.0,
            com=rng.uniform(-0.2, 0.2, 3),
            inertia=(0.04, 0.05, 0.06),
            position=rng.uniform(-0.4, 0.4, 3),
            rotation=(0.5, 0.5, -0.5, 0.5),
        )
    check(builder.build(), seed, t=1.1)


@pytest.mark.slow
def test_hundred_thousand_bodies():
    """Speeds of a long chain are ill-conditioned (errors to 1e-3), but they belong to the given momenta to 1e-12."""
    model = mb.zoo.chain(100_000)
    q, u = model.random_state(1)
    # the mass matrix of dah would have five thousand million numbers; hzu keeps p to 5e-3 only on such a chain
    for method in ("emh-ldl", "emh-lu"):
        system = mb.System(model, method)
        p = system.momenta(q, u)
        qdot, pdot = system.rhs(q, p)
        assert np.all(np.isfinite(pdot))
        assert_close(system.momenta(q, qdot), p, 1e-12, "p -> u -> p")
