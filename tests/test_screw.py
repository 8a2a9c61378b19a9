"""Screw joints: against the dense reference, Pinocchio, the joints that they are limits of, and through every accessor.

Tolerance 1e-10 relative against the reference, as for all joints (tests/test_dense.py); 1e-8 for Appell's equations,
whose differences of energies lose digits.
"""

import numpy as np
import pytest
import reference
from cases import assert_close, random_inertia, random_rotation, unit

import mbkern as mb
from mbkern.methods import ACCELERATIONS, METHODS
from mbkern.model.joint import Step

TOLERANCE = 1e-10
T = 0.3
SEEDS = range(4)


def random_joint(rng):
    axis, pitch = unit(rng), rng.uniform(-0.4, 0.4)
    return (
        mb.screw(axis, pitch),
        [mb.twist(axis, pitch, mb.harmonic(0.4, 2.0, 0.3)), mb.revolute("x")],
        [mb.twist(axis, pitch, 0.7), mb.screw("y", -0.2)],
        [mb.screw("z", 0.1), mb.screw("x", 0.2), mb.prismatic("y")],
        mb.revolute(axis),
        mb.ball(),
    )[rng.integers(6)]


def tree(seed, joint=random_joint, armature=False, n=7, chain=False):
    """Bodies on screws of all sorts: first and last in a joint, on the ground, leaves, in forks."""
    rng = np.random.default_rng(seed)
    builder = mb.ModelBuilder(gravity=(0.5, -0.3, -9.7))
    for i in range(n):
        parent = "world" if i == 0 or rng.random() < 0.15 else f"b{rng.integers(i)}"
        if chain and i > 0:
            parent = f"b{i - 1}"
        made = mb.screw(unit(rng), 0.3) if i == 0 else joint(rng)
        nv = mb.model.joint.as_joint(made).nv
        mass = rng.uniform(0.5, 2.0)
        builder.add_body(f"b{i}", parent, made, mass, rng.normal(size=3) * 0.2, random_inertia(rng, mass),
                         position=rng.normal(size=3) * 0.4, rotation=random_rotation(rng),
                         armature=rng.uniform(0.1, 1.0, nv) if armature else None)
    return builder.build()


@pytest.mark.parametrize("armature", [False, True], ids=["plain", "armature"])
@pytest.mark.parametrize("seed", SEEDS)
def test_against_the_dense_reference(seed, armature):
    model = tree(seed, armature=armature)
    rng = np.random.default_rng(100 + seed)
    q, u = model.random_state(seed)
    p, tau, wrench = rng.normal(size=model.nv), rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))
    expected = reference.hamilton(model, q, p, T, tau, wrench)
    for method in METHODS:
        system = mb.System(model, method)
        qdot, pdot = system.rhs(q, p, T, tau, wrench)
        assert_close(qdot, expected.qdot, TOLERANCE, f"{method} qdot")
        assert_close(pdot, expected.pdot, TOLERANCE, f"{method} pdot")
    expected = reference.newton_euler(model, q, u, T, tau, wrench)
    for method in ACCELERATIONS:
        udot = system.accelerations(q, u, T, tau, wrench, method=method)
        assert_close(udot, expected.udot, 1e-8 if method == "appell" else TOLERANCE, method)
    own = mb.System(model)
    mass = reference.mass_matrix(model, q, T)
    assert_close(own.mass_matrix(q, T), mass, TOLERANCE, "mass matrix")
    assert_close(own.solve_mass(q, p, T), np.linalg.solve(mass, p), TOLERANCE, "solution with the mass matrix")
    assert_close(own.momenta(q, u, T), reference.momenta(model, q, u, T), TOLERANCE, "momenta")
    p = own.momenta(q, u, T)
    assert_close(own.reactions(q, p, T, tau, wrench), expected.reactions, TOLERANCE, "reactions")
    assert_close(own.energy(q, p, T).hamiltonian, reference.energy(model, q, u, T).hamiltonian, TOLERANCE, "H")
    R, r = own.body_poses(q, T)
    assert_close(R, reference.body_poses(model, q, T)[0], TOLERANCE, "rotations")
    assert_close(r, reference.body_poses(model, q, T)[1], TOLERANCE, "positions")


def test_against_pinocchio():
    pin = pytest.importorskip("pinocchio", reason="needs pin: pip install mbkern[peers]")
    rng = np.random.default_rng(5)
    # a chain: its crba wants joints depth first
    model = tree(5, joint=lambda rng: mb.screw(unit(rng), rng.uniform(-0.4, 0.4)), n=6, chain=True)
    peer = pin.Model()
    peer.gravity.linear = np.array(model.gravity)
    for body in model.body_specs:
        (step,) = body.joint.elements
        placement = pin.SE3(np.array(body.rotation), np.array(body.position))
        helical = pin.JointModelHelicalUnaligned(np.array(step.axis), step.pitch)
        joint = peer.addJoint(body.parent + 1, helical, placement, body.name)
        inertia = pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia))
        peer.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    data = peer.createData()
    q, u, tau = rng.normal(size=(3, model.nv))
    M = pin.crba(peer, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    system = mb.System(model)
    assert_close(system.mass_matrix(q), M, TOLERANCE, "crba")
    assert_close(system.accelerations(q, u, tau=tau), pin.aba(peer, data, q, u, tau), TOLERANCE, "aba")


def swapped(model, change):
    """The same machine with other elements in its joints."""
    builder = mb.ModelBuilder(gravity=model.gravity)
    for body in model.body_specs:
        joint = [change(element) for element in body.joint.elements]
        builder.add_body(body.name, "world" if body.parent < 0 else model.body_names[body.parent], joint, body.mass,
                         body.com, body.inertia, body.position, body.rotation)
    return builder.build()


def test_pitch_0_is_a_rotation():
    screws = swapped(tree(2), lambda e: mb.twist(e.axis, 0.0, e.amount) if e.move == "twist" else e)
    hinges = swapped(tree(2), lambda e: mb.rotate(e.axis, e.amount) if e.move == "twist" else e)
    q, p = hinges.random_state(2)
    for ours, theirs in zip(mb.System(screws).rhs(q, p, T), mb.System(hinges).rhs(q, p, T), strict=True):
        assert_close(ours, theirs, 1e-12, "right-hand side")


def test_a_driven_screw_of_constant_rate_is_a_driven_rotation_and_a_driven_translation():
    rate, pitch = 1.7, 0.25

    def machine(joint):
        builder = mb.ModelBuilder()
        builder.add_body("base", "world", [mb.revolute("x"), *joint], 1.0, (0.1, 0.2, 0.0), (0.1, 0.1, 0.1))
        builder.add_body("arm", "base", mb.universal("y", "z"), 1.0, (0.3, 0.0, 0.1), (0.1, 0.1, 0.1), (0.2, 0.0, 0.1))
        return mb.System(builder.build())

    screw = machine([mb.twist((1, 2, 2), pitch, mb.polynomial([0.2, rate]))])
    pair = machine([mb.rotate((1, 2, 2), mb.polynomial([0.2, rate])),
                    mb.translate((1, 2, 2), mb.polynomial([0.2 * pitch, rate * pitch]))])
    q, p = np.array([0.3, -0.4, 0.9]), np.array([0.5, 0.2, -0.3])
    for ours, theirs in zip(screw.rhs(q, p, T), pair.rhs(q, p, T), strict=True):
        assert_close(ours, theirs, 1e-12, "right-hand side")


def test_energy_along_a_run():
    model = tree(3, joint=lambda rng: mb.screw(unit(rng), rng.uniform(-0.4, 0.4)), n=3)
    system = mb.System(model)
    q, u = model.random_state(3)
    H = system.simulate(q, system.momenta(q, u), (0.0, 1.0), rtol=1e-10, atol=1e-12).energy().hamiltonian
    assert np.abs(H - H[0]).max() < 1e-8 * np.abs(H).max()  # what the tolerance of the integrator lets pass


def test_batches_and_varied_machines():
    model = tree(1)
    system = mb.System(model)
    rng = np.random.default_rng(0)
    Q = np.array([model.random_state(k)[0] for k in range(6)])
    P = rng.normal(size=(6, model.nv))
    Qdot, Pdot = system.rhs_batch(Q, P, T)
    for k in range(6):
        qdot, pdot = system.rhs(Q[k], P[k], T)
        assert np.array_equal(Qdot[k], qdot) and np.array_equal(Pdot[k], pdot)
    varied = model.vary("b3", mass=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    _, Pdot = system.rhs_batch(Q, P, T, parameters=varied)
    builder = mb.ModelBuilder(gravity=model.gravity)
    for body in model.body_specs:
        builder.add_body(body.name, "world" if body.parent < 0 else model.body_names[body.parent], body.joint,
                         4.0 if body.name == "b3" else body.mass, body.com, body.inertia, body.position, body.rotation)
    assert_close(Pdot[3], mb.System(builder.build()).rhs(Q[3], P[3], T)[1], 1e-11, "varied machine")


@pytest.mark.parametrize("method", METHODS)
def test_counted_operations_give_the_numbers(method):
    model = tree(0)
    q, p = model.random_state(0)
    pdot = mb.System(model).rhs(q, p, T)[1]
    for level in ("kernel", "textbook"):
        counted = mb.flops.count(model, method, level=level, q=q, p=p, t=T)
        assert counted.total > 0
        assert_close(counted.pdot, pdot, 1e-9, level)


def test_files(tmp_path):
    model = tree(0)
    model.save(tmp_path / "screws.json")
    again = mb.load(tmp_path / "screws.json")
    assert again == model and np.array_equal(again.block, model.block)
    with pytest.raises(mb.errors.ModelError, match=r"b0.*URDF has no screw joint"):
        model.to_urdf()


def test_pictures(tmp_path):
    model = tree(0)
    system = mb.System(model)
    q, u = model.random_state(0)
    solution = system.simulate(q, u, (0.0, 0.1), step=0.05, integrator="rk4")
    mb.viz.viewer(solution, tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000
    from mbkern.viz.scene import _tracks

    R, r, _ = _tracks(model, q[None], np.array([T]))
    assert_close(R[0, : model.n_bodies], system.body_poses(q, T)[0], 1e-12, "drawn rotations")
    assert_close(r[0, : model.n_bodies], system.body_poses(q, T)[1], 1e-12, "drawn positions")


def test_a_screw_without_gravity_is_ignorable():
    def machine(gravity):
        builder = mb.ModelBuilder(gravity=gravity)
        builder.add_body("nut", "world", mb.screw("z", 0.1), 1.0, (0.1, 0.0, 0.0), (0.1, 0.1, 0.1))
        builder.add_body("arm", "nut", mb.revolute("x"), 1.0, (0.0, 0.3, 0.0), (0.1, 0.1, 0.1), (0.2, 0.0, 0.0))
        return mb.System(builder.build())

    assert "nut" in [entry.name for entry in mb.analytic.ignorable(machine((0, 0, 0))).found]
    assert "nut" not in [entry.name for entry in mb.analytic.ignorable(machine((0, 0, -9.81))).found]


def test_the_description():
    joint = mb.screw((0, 0, 2), -0.5, name="turns")
    (step,) = joint.elements
    assert (joint.nq, joint.nv, joint.kind, step.pitch, step.axis) == (1, 1, "screw", -0.5, (0.0, 0.0, 1.0))
    assert mb.twist("x", 0.1, 0.5).is_constant and mb.twist("x", 0.1, mb.harmonic(1, 1)).is_driven
    assert mb.twist("x", 0.1) == mb.twist("x", 0.1) != mb.twist("x", 0.2)
    for wrong in (np.nan, "0.1", None):
        with pytest.raises(mb.errors.ModelError, match="twist: pitch"):
            mb.screw("z", wrong)
    with pytest.raises(mb.errors.ModelError, match="move must be 'rotate' or 'translate'"):
        Step("twist", "z")
