"""Armature: rotors that add r u^2 / 2 to the kinetic energy and nothing else. Closed forms, other libraries, edges.

Random machines with rotors in all formulations are in test_formulations, test_properties, test_hamilton, test_energy.
"""


import numpy as np
import pytest
import reference
from cases import FAMILIES, SCLERONOMIC, assert_close, random_loads, random_model, random_state
from numba import njit
from peers import MuJoCo

import mbkern as mb
from mbkern.analytic import Kane, Lagrange, Maggi, Volterra
from mbkern.errors import ModelError, SingularInertiaError
from mbkern.methods import ACCELERATIONS, METHODS
from mbkern.textbook import METHODS as TEXTBOOK

T = 0.37
BOX = {"mass": 2.0, "com": (0.0, 0.1, -0.5), "inertia": (0.2, 0.25, 0.1)}


def one(joint, **more):
    builder = mb.ModelBuilder()
    builder.add_body("a", joint=joint, **{**BOX, **more})
    return builder.build()


# ------------------------------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("method", METHODS)
def test_pendulum_with_a_rotor(method):
    """J becomes J + r; weight and stiffness stay."""
    system, J = mb.System(one(mb.revolute("x"), armature=0.3, stiffness=1.5), method), 0.2 + 2.0 * (0.1**2 + 0.5**2)
    q, u = 0.6, 0.8
    p = system.momenta([q], [u])
    assert p[0] == pytest.approx((J + 0.3) * u, rel=1e-14)
    qdot, pdot = system.rhs([q], p)
    assert qdot[0] == pytest.approx(u, rel=1e-14)
    assert pdot[0] == pytest.approx(-2.0 * 9.81 * (0.1 * np.cos(q) + 0.5 * np.sin(q)) - 1.5 * q, rel=1e-13)
    assert system.energy([q], p).kinetic == pytest.approx(0.5 * (J + 0.3) * u * u, rel=1e-14)
    assert system.mass_matrix([q])[0, 0] == pytest.approx(J + 0.3, rel=1e-14)
    assert system.inverse_mass_matrix([q])[0, 0] == pytest.approx(1 / (J + 0.3), rel=1e-14)


def test_a_rotor_is_a_flywheel_that_a_gear_turns():
    """A disc of inertia i turned n times as fast has armature n^2 i, when its axis is fixed in the world."""
    n, i = 7.0, 0.004

    @njit
    def geared(t, q, v, a, b, rate):
        a[0, 0], a[0, 1] = n, -1.0

    builder = mb.ModelBuilder()
    builder.add_body("arm", joint=mb.revolute("x"), **BOX)
    builder.add_body("disc", joint=mb.revolute("x"), mass=0.1, inertia=(i, i, i))
    with_disc = Lagrange(mb.System(builder.build()), mb.analytic.Constraints(geared, 1))
    with_rotor = mb.System(one(mb.revolute("x"), armature=n * n * i))
    expected = with_disc.accelerations([0.4, 0.0], [0.3, n * 0.3])[0]
    assert with_rotor.accelerations([0.4], [0.3])[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_free_body_with_rotors_on_its_linear_speeds(method):
    """Equal rotors on the three linear speeds add to the mass that accelerates, not to the weight: MuJoCo's meaning."""
    model = one(mb.free(), com=(0.0, 0.0, 0.0), armature=(3.0, 3.0, 3.0, 0.0, 0.0, 0.0))
    system = mb.System(model, method)
    q, u = model.random_state(3)
    R, _ = system.body_poses(q)
    p = system.momenta(q, u)
    assert_close(p[:3], 5.0 * u[:3], 1e-14, "momentum")
    # in world axes: d/dt (R p) = R (pdot + w x p) is the weight
    _, pdot = system.rhs(q, p)
    assert_close(R[0] @ (pdot[:3] + np.cross(u[3:], p[:3])), 2.0 * model.gravity, 1e-13, "force")


# ---------------------------------------------------------------------------------- MuJoCo, other formulations


@pytest.mark.parametrize("family", FAMILIES)
def test_mujoco(family):
    """Its joints have one armature each, so that of a ball is the same about all axes."""
    rng = np.random.default_rng(5)
    builder = mb.ModelBuilder(gravity=(0.4, -1.1, -9.6))
    parents = {"chain": [-1, 0, 1, 2, 3], "carousel": [-1, 0, 0, 0, 0], "binary": [-1, 0, 0, 1, 1],
               "random": [-1, 0, -1, 2, 0]}[family]
    joints = [mb.free(), mb.ball(), mb.universal("x", "y"), mb.prismatic((1, 2, 2)),
              [mb.rotate("z"), mb.translate("x")]]
    for k, (parent, joint) in enumerate(zip(parents, joints, strict=True)):
        joint = mb.revolute("y") if family == "random" and k == 2 else joint
        rotors = rng.uniform(0.05, 1.0, size=2) if one(joint).nv == 2 else rng.uniform(0.05, 1.0)
        builder.add_body(f"b{k}", "world" if parent < 0 else f"b{parent}", joint, position=rng.normal(size=3) * 0.3,
                         armature=rotors, **BOX)
    model = builder.build()
    peer, system = MuJoCo(model), mb.System(model)
    q, u = model.random_state(7)
    tau, wrench = random_loads(model, 7)
    assert_close(system.mass_matrix(q), peer.mass_matrix(q), 1e-12, "mass matrix")
    expected = peer.accelerations(q, u, tau, wrench)
    for method in ACCELERATIONS:
        assert_close(system.accelerations(q, u, 0.0, tau, wrench, method), expected, 1e-9, method)


@pytest.mark.parametrize("name", TEXTBOOK)
@pytest.mark.parametrize("seed", range(3))
def test_the_printed_algorithms(name, seed):
    """They have no armature in print: a diagonal more, multipliers more. Counting goes on."""
    model = random_model("random", 6, seed, springs=True, rotors=True)
    q, p = random_state(model, seed, T)
    tau, _ = random_loads(model, seed)
    expected = reference.hamilton(model, q, p, T, tau)
    counted = mb.flops.count(model, name, level="textbook", q=q, p=p, t=T, tau=tau)
    assert_close(counted.qdot, expected.qdot, 1e-9, "qdot")
    assert_close(counted.pdot, expected.pdot, 1e-9, "pdot")
    bare = mb.Model(model.name, tuple(model.gravity), tuple(b._replace(armature=None) for b in model.body_specs))
    assert counted.total > mb.flops.count(bare, name, level="textbook").total


@pytest.mark.parametrize("method", METHODS)
def test_kernel_counts(method):
    model = random_model("random", 6, 2, springs=True, rotors=True)
    q, p = random_state(model, 2, T)
    counted, expected = mb.flops.count(model, method, q=q, p=p, t=T), reference.hamilton(model, q, p, T)
    assert_close(counted.qdot, expected.qdot, 1e-9, "qdot")
    assert_close(counted.pdot, expected.pdot, 1e-9, "pdot")


def test_analytical_mechanics_on_a_free_base():
    """Hamel's term is in all of them; momenta of ignorable positions include the rotors'."""
    builder = mb.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("base", joint=mb.free(), armature=(1.0, 2.0, 3.0, 0.4, 0.5, 0.6), **BOX)
    builder.add_body("arm", "base", mb.ball(), armature=(0.1, 0.2, 0.3), **BOX)
    system = mb.System(builder.build())
    q, u = system.model.random_state(2)
    expected = reference.newton_euler(system.model, q, u).udot
    volterra = Volterra(system, pose=q)
    assert tuple(entry.name for entry in volterra.ignorable) == ("base.x", "base.y", "base.z")
    for method in (Lagrange(system), Maggi(system), Kane(system), volterra):
        assert_close(method.accelerations(q, u), expected, 1e-11, repr(method))
    coefficients = mb.analytic.appell.coefficients(system, q)
    bias = np.einsum("kij,i,j->k", coefficients.K, u, u)
    assert_close(bias, system.inverse_dynamics(q, u, np.zeros(9)), 1e-11, "Appell's coefficients")


# ------------------------------------------------------------------------------------------------ motion, batches


@pytest.mark.parametrize("kind", [kind for kind in SCLERONOMIC if kind != "weld"])
def test_energy_along_a_motion(kind):
    model = random_model("chain", 3, 4, kinds=[kind], rotors=True)
    assert model.nv
    q, u = model.random_state(4)
    system = mb.System(model)
    run = system.simulate(q, system.momenta(q, 0.3 * u), (0.0, 0.5), rtol=1e-11, atol=1e-12)
    energy = run.energy()
    assert run.success and run.drift()["energy"] < 1e-8 * (energy.kinetic.max() + np.ptp(energy.potential))


def test_varied_machines_keep_their_rotors():
    """A machine of its own for each lane: the bits of that machine alone. For "hzu" the bases of joints are prepared
    for one machine and made by the kernel where constants vary, by sums in another order: a few roundings."""
    model = random_model("random", 8, 3, springs=True, rotors=True)
    masses = np.linspace(0.7, 1.9, 5)
    varied = model.vary("b3", mass=masses)
    states = [model.random_state(k) for k in range(5)]
    Q, P = np.array([q for q, _ in states]), np.array([u for _, u in states])
    for method in METHODS:
        Qdot, Pdot = mb.System(model, method).rhs_batch(Q, P, T, parameters=varied)
        for k in range(5):
            qdot, pdot = mb.System(varied.model_of(k), method).rhs(Q[k], P[k], T)
            if method == "hzu":
                assert_close(Qdot[k], qdot, 1e-13, "qdot")
                assert_close(Pdot[k], pdot, 1e-13, "pdot")
            else:
                assert np.array_equal(Qdot[k], qdot) and np.array_equal(Pdot[k], pdot)


def test_total_momentum_with_rotors_inside():
    """Rotors of inner joints do not push the machine; one on the free base does, so nothing is promised there."""
    for base, promised in ((None, True), (0.5, False)):
        builder = mb.ModelBuilder(gravity=(0, 0, 0))
        builder.add_body("base", joint=mb.free(), armature=base, **BOX)
        builder.add_body("arm", "base", mb.revolute("x"), position=(0.2, 0, 0), armature=0.4, **BOX)
        system = mb.System(builder.build())
        q, u = system.model.random_state(1)
        drift = system.simulate(q, system.momenta(q, u), (0.0, 1.0), rtol=1e-11, atol=1e-12).drift()
        assert ("linear momentum" in drift) is promised
        assert all(value < 1e-8 for value in drift.values())


# --------------------------------------------------------------------------------------------------------- edges


def test_zero_armature_is_none():
    assert one(mb.ball(), armature=0.0) == one(mb.ball())
    assert one(mb.ball(), armature=0.0).body_specs[0].armature is None
    model = one(mb.ball(), armature=(0.0, 1.0, 0.0))
    assert model.armature.tolist() == [0.0, 1.0, 0.0] and model != one(mb.ball(), armature=1.0)
    assert mb.Model.from_json(model.to_json()) == model
    assert "armature" not in one(mb.ball()).to_json()


def test_a_rotor_is_enough_to_move():
    """Massless bodies may hang on joints whose dofs all have a rotor; hzu inverts body inertias and cannot."""
    builder = mb.ModelBuilder()
    builder.add_body("arm", joint=mb.revolute("x"), **BOX)
    builder.add_body("empty", "arm", [mb.translate("x"), mb.ball()], armature=(1.0, 0.1, 0.2, 0.3))
    model = builder.build()
    q, u = model.random_state(1)
    p = reference.momenta(model, q, u)
    expected = reference.hamilton(model, q, p)
    for method in ("emh-ldl", "emh-lu", "dah"):
        qdot, pdot = mb.System(model, method).rhs(q, p)
        assert_close(qdot, expected.qdot, 1e-12, method)
        assert_close(pdot, expected.pdot, 1e-12, method)
    for rotors in (0.0, (1.0, 0.1, 0.2, 0.0), (0.0, 0.1, 0.2, 0.3)):
        with pytest.raises(ModelError, match="'empty': nothing to move"):
            builder = mb.ModelBuilder()
            builder.add_body("empty", joint=[mb.translate("x"), mb.ball()], armature=rotors)
            builder.build()
    with pytest.raises(ModelError, match="'turning': no mass to move"):
        builder = mb.ModelBuilder()
        builder.add_body("turning", joint=mb.free(), inertia=(1, 1, 1), armature=(1.0, 1.0, 0.0, 0, 0, 0))
        builder.build()


def test_gimbal_lock_with_rotors():
    """Where two axes line up rotors keep the mass matrix regular; hzu needs independent axes all the same."""
    model = one(mb.euler_ball("zyx"), armature=0.1)
    q, p = np.array([0.4, np.pi / 2, -0.3]), np.array([0.2, 0.5, -0.1])
    expected = reference.hamilton(model, q, p)
    for method in ("emh-ldl", "emh-lu", "dah"):
        qdot, pdot = mb.System(model, method).rhs(q, p)
        assert_close(qdot, expected.qdot, 1e-12, method)
        assert_close(pdot, expected.pdot, 1e-12, method)
    with pytest.raises(SingularInertiaError, match="'a'"):
        mb.System(model, "hzu").rhs(q, p)


@pytest.mark.parametrize("size", [1e-9, 1e6])
def test_tiny_and_huge_rotors(size):
    """Very small ones hardly matter, very large ones hold the joint (what is left of p - r u has fewer digits then)."""
    model = random_model("random", 6, 1, kinds=["revolute", "prismatic", "ball"])
    builder = mb.ModelBuilder(gravity=model.gravity)
    for body in model.body_specs:
        builder.add_body(body.name, "world" if body.parent < 0 else f"b{body.parent}", body.joint, body.mass, body.com,
                         body.inertia, body.position, body.rotation, armature=size)
    model = builder.build()
    q, p = random_state(model, 1)
    expected = reference.hamilton(model, q, p)
    for method in METHODS:
        qdot, pdot = mb.System(model, method).rhs(q, p)
        assert_close(qdot, expected.qdot, 1e-9, method)
        assert_close(pdot, expected.pdot, 1e-9, method)
