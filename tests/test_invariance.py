"""What must not change the motion: numbering, the world's place, welds, massless links, units, time's sense.

Tolerance 1e-11 relative to the largest number: both sides are the same well-conditioned problem (N <= 10) in
different arithmetic. Scaling by powers of two must not change a single bit.
"""

import numpy as np
import pytest
import reference
from cases import (
    BASES,
    FAMILIES,
    SCLERONOMIC,
    assert_close,
    random_loads,
    random_model,
    random_rotation,
    random_state,
)

import mbkern as mb

TOLERANCE = 1e-11
METHODS = ("emh-ldl", "emh-lu", "dah", "hzu")
T = 0.37


def arguments(model, body):
    """add_body's arguments that reproduce a body."""
    return {
        "name": body.name,
        "parent": "world" if body.parent < 0 else model.body_specs[body.parent].name,
        "joint": body.joint,
        "mass": body.mass,
        "com": body.com,
        "inertia": body.inertia,
        "position": body.position,
        "rotation": body.rotation,
        "stiffness": body.stiffness,
        "damping": body.damping,
        "rest": body.rest,
        "armature": body.armature,
    }


def build(bodies, gravity):
    """A model from a list of add_body arguments."""
    builder = mb.ModelBuilder(gravity=gravity)
    for body in bodies:
        builder.add_body(**body)
    return builder.build()


def positions(names, wanted):
    """Indices of `wanted` names."""
    where = {name: i for i, name in enumerate(names)}
    return np.array([where[name] for name in wanted], int)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", FAMILIES)
def test_renumbering(family, method):
    """Bodies added in any order, children before parents included."""
    model = random_model(family, 10, 1, springs=True, rotors=True)
    rng = np.random.default_rng(3)
    bodies = [arguments(model, b) for b in model.body_specs]
    renumbered = build([bodies[i] for i in rng.permutation(10)], model.gravity)
    iq = positions(model.coordinate_names, renumbered.coordinate_names)
    iv = positions(model.speed_names, renumbered.speed_names)
    ib = positions(model.body_names, renumbered.body_names)
    if family != "chain":
        assert not np.array_equal(ib, np.arange(10)), "the permutation must change something"
    q, p = random_state(model, 1, T)
    tau, wrench = random_loads(model, 1)
    qdot, pdot = mb.System(model, method).rhs(q, p, T, tau=tau, wrench=wrench)
    other = mb.System(renumbered, method)
    other_qdot, other_pdot = other.rhs(q[iq], p[iv], T, tau=tau[iv], wrench=wrench[ib])
    assert_close(other_qdot, qdot[iq], TOLERANCE, "qdot")
    assert_close(other_pdot, pdot[iv], TOLERANCE, "pdot")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("base", BASES)
def test_moving_and_rotating_the_world(base, method):
    """Everything, gravity included, carried elsewhere: same motion; only the potential's datum moves."""
    model = random_model("random", 10, 4, base=base, springs=True, rotors=True)
    rng = np.random.default_rng(5)
    R0, r0 = random_rotation(rng), rng.normal(size=3)
    bodies = [arguments(model, b) for b in model.body_specs]
    for body in bodies:
        if body["parent"] == "world":
            body["position"] = r0 + R0 @ np.array(body["position"])
            body["rotation"] = R0 @ np.array(body["rotation"])
    moved = build(bodies, R0 @ model.gravity)
    q, p = random_state(model, 4, T)
    tau, wrench = random_loads(model, 4)
    here, there = mb.System(model, method), mb.System(moved, method)
    for a, b in zip(here.rhs(q, p, T, tau=tau, wrench=wrench), there.rhs(q, p, T, tau=tau, wrench=wrench), strict=True):
        assert_close(b, a, TOLERANCE, "rhs")
    R, r = here.body_poses(q, T)
    moved_R, moved_r = there.body_poses(q, T)
    assert_close(moved_R, R0 @ R, TOLERANCE, "rotations")
    assert_close(moved_r, r0 + r @ R0.T, TOLERANCE, "positions")
    datum = -model.total_mass * (R0 @ model.gravity) @ r0
    energy, moved_energy = here.energy(q, p, T), there.energy(q, p, T)
    assert moved_energy.kinetic == pytest.approx(energy.kinetic, rel=TOLERANCE)
    assert moved_energy.potential == pytest.approx(energy.potential + datum, rel=TOLERANCE, abs=TOLERANCE * abs(datum))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", FAMILIES)
def test_splitting_bodies_with_welds(family, method):
    """Half of every body welded to the other half, every second child moved to the new half."""
    model = random_model(family, 6, 6, springs=True, rotors=True)
    rng = np.random.default_rng(7)
    bodies = []
    place = {}
    for body in model.body_specs:
        place[body.name] = random_rotation(rng), rng.uniform(-0.3, 0.3, size=3)
    for i, body in enumerate(model.body_specs):
        half = arguments(model, body)
        half["mass"] *= 0.5
        half["inertia"] = 0.5 * np.array(body.inertia)
        if i % 2 and half["parent"] != "world":
            X, x = place[half["parent"]]
            half["position"] = X.T @ (np.array(body.position) - x)
            half["rotation"] = X.T @ np.array(body.rotation)
            half["parent"] += "-half"
        bodies.append(half)
        X, x = place[body.name]
        inertia = 0.5 * X.T @ np.array(body.inertia) @ X
        bodies.append(
            {
                "name": body.name + "-half",
                "parent": body.name,
                "joint": mb.weld(),
                "mass": half["mass"],
                "com": X.T @ (np.array(body.com) - x),
                "inertia": 0.5 * (inertia + inertia.T),
                "position": x,
                "rotation": X,
            }
        )
    split = build(bodies, model.gravity)
    assert split.n_bodies == 12
    q, p = random_state(model, 6, T)
    tau, _ = random_loads(model, 6)
    for a, b in zip(
        mb.System(model, method).rhs(q, p, T, tau=tau),
        mb.System(split, method).rhs(q, p, T, tau=tau),
        strict=True,
    ):
        assert_close(b, a, TOLERANCE, "rhs")
    one, two = mb.System(model, method).energy(q, p, T), mb.System(split, method).energy(q, p, T)
    assert two.hamiltonian == pytest.approx(one.hamiltonian, rel=1e-10)


@pytest.mark.parametrize("method", ["emh-ldl", "emh-lu", "dah"])  # hzu inverts the inertia of every body
def test_splitting_joints_with_massless_bodies(method):
    """A joint of several steps is the same as massless bodies on joints of one step."""
    rng = np.random.default_rng(8)
    whole, parts = mb.ModelBuilder(), mb.ModelBuilder()
    last, last_part = "world", "world"
    for i, joint in enumerate([mb.universal("x", "y"), mb.planar("y"), mb.euler_ball("zyx"), mb.cylindrical("x")]):
        common = {"mass": 1.0 + i, "com": rng.uniform(-0.3, 0.3, 3), "inertia": (0.05, 0.06, 0.04)}
        place = {"position": rng.uniform(-0.4, 0.4, 3), "rotation": random_rotation(rng)}
        whole.add_body(f"b{i}", last, joint, **common, **place)
        last = f"b{i}"
        *first, final = joint.elements
        for k, step in enumerate(first):
            parts.add_body(f"b{i}-{k}", last_part, [step], **(place if k == 0 else {}))
            last_part = f"b{i}-{k}"
        parts.add_body(f"b{i}", last_part, [final], **common)
        last_part = f"b{i}"
    one, many = whole.build(), parts.build()
    assert many.n_bodies == 10 and many.nv == one.nv == 10
    q, p = random_state(one, 8)
    for a, b in zip(mb.System(one, method).rhs(q, p), mb.System(many, method).rhs(q, p), strict=True):
        assert_close(b, a, TOLERANCE, "rhs")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_time_reversal(seed, method):
    """(q, p, t) -> (q, -p, -t) of a machine without drives and dampers: speeds turn round, forces stay."""
    model = random_model("random", 8, seed, kinds=SCLERONOMIC, rotors=True)
    q, p = random_state(model, seed)
    tau, wrench = random_loads(model, seed)
    system = mb.System(model, method)
    qdot, pdot = system.rhs(q, p, tau=tau, wrench=wrench)
    back_qdot, back_pdot = system.rhs(q, -p, tau=tau, wrench=wrench)
    assert_close(back_qdot, -qdot, 1e-13, "qdot")
    assert_close(back_pdot, pdot, 1e-13, "pdot")


@pytest.mark.parametrize("method", METHODS)
def test_unit_of_mass(method):
    """Four times every mass, armature, stiffness, damping and load: same speeds, four times the forces, to the bit."""
    model = random_model("random", 8, 9, springs=True, rotors=True)
    bodies = [arguments(model, b) for b in model.body_specs]
    for body in bodies:
        for key in ("mass", "inertia", "stiffness", "damping", "armature"):
            body[key] = None if body[key] is None else 4.0 * np.array(body[key])
    heavy = build(bodies, model.gravity)
    q, p = random_state(model, 9, T)
    tau, wrench = random_loads(model, 9)
    qdot, pdot = mb.System(model, method).rhs(q, p, T, tau=tau, wrench=wrench)
    heavy_qdot, heavy_pdot = mb.System(heavy, method).rhs(q, 4 * p, T, tau=4 * tau, wrench=4 * wrench)
    assert np.array_equal(heavy_qdot, qdot)
    assert np.array_equal(heavy_pdot, 4 * pdot)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("length,mass", [(2.0**-20, 2.0**-50), (2.0**10, 2.0**30)])
def test_unit_of_length(length, mass, method):
    """Micrometres or kilometres: machines of angles move alike, to the bit; no threshold knows the unit."""
    model = random_model("random", 8, 13, kinds=["revolute", "universal", "ball"], rotors=True)
    bodies = [arguments(model, b) for b in model.body_specs]
    for body in bodies:
        body["mass"] *= mass
        body["inertia"] = np.array(body["inertia"]) * mass * length**2
        body["armature"] = None if body["armature"] is None else np.array(body["armature"]) * mass * length**2
        body["com"] = np.array(body["com"]) * length
        body["position"] = np.array(body["position"]) * length
    scaled = build(bodies, model.gravity * length)
    q, p = random_state(model, 13)
    qdot, pdot = mb.System(model, method).rhs(q, p)
    unit = mass * length**2
    scaled_qdot, scaled_pdot = mb.System(scaled, method).rhs(q, p * unit)
    assert np.array_equal(scaled_qdot, qdot)
    assert np.array_equal(scaled_pdot, pdot * unit)


@pytest.mark.parametrize("method", METHODS)
def test_the_ground_does_not_couple(method):
    """Two machines side by side move as each does alone."""
    one, two = random_model("random", 5, 10, rotors=True), random_model("binary", 5, 11)
    bodies = [arguments(one, b) for b in one.body_specs]
    for body in two.body_specs:
        other = arguments(two, body)
        other["name"] = "other-" + other["name"]
        if other["parent"] != "world":
            other["parent"] = "other-" + other["parent"]
        bodies.append(other)
    both = build(bodies, one.gravity)
    states = [random_state(one, 10, T), random_state(two, 11, T)]
    q, p = (np.concatenate(x) for x in zip(*states, strict=True))
    answers = [mb.System(m, method).rhs(*state, T) for m, state in zip((one, two), states, strict=True)]
    together = mb.System(both, method).rhs(q, p, T)
    for whole, parts in zip(together, zip(*answers, strict=True), strict=True):
        assert_close(whole, np.concatenate(parts), 1e-13, "rhs")


@pytest.mark.parametrize("method", METHODS)
def test_quaternion_sign(method):
    """A quaternion and its negative are the same orientation."""
    model = random_model("chain", 4, 12, kinds=["ball"], rotors=True)
    q, p = random_state(model, 12)
    system = mb.System(model, method)
    qdot, pdot = system.rhs(q, p)
    other_qdot, other_pdot = system.rhs(-q, p)
    assert_close(other_qdot, -qdot, 1e-14, "qdot")
    assert_close(other_pdot, pdot, 1e-14, "pdot")


@pytest.mark.parametrize("method", METHODS)
def test_ball_on_quaternion_is_ball_on_angles(method):
    """A ball joint and three Euler angles: same body motion, momenta related by p_angles = E^T p_ball."""
    quaternion_side, angle_side = mb.ModelBuilder(), mb.ModelBuilder()
    for builder, joint in ((quaternion_side, mb.ball()), (angle_side, mb.euler_ball("zyx"))):
        builder.add_body("top", joint=joint, mass=1.3, com=(0.1, 0.2, 0.4), inertia=(0.2, 0.25, 0.1))
    angles = np.array([0.4, -0.7, 1.1])
    quaternion = np.array([1.0, 0.0, 0.0, 0.0])
    for axis, angle in zip(np.eye(3)[::-1], angles, strict=True):
        quaternion = reference.quaternion_product(quaternion, reference.quaternion_exp(angle * axis))
    ball, euler = mb.System(quaternion_side.build(), method), mb.System(angle_side.build(), method)
    p = np.array([0.3, -0.2, 0.5])
    E = euler.blocks(angles)[1][0][3:]
    assert_close(euler.body_poses(angles)[0], ball.body_poses(quaternion)[0], 1e-14, "pose")
    v_ball, v_euler = ball.body_velocities(quaternion, p), euler.body_velocities(angles, E.T @ p)
    assert_close(v_euler, v_ball, 1e-13, "velocity")
    # momentum of the body about its fixed point changes by the weight alone: d/dt in body axes
    _, pdot = ball.rhs(quaternion, p)
    R = ball.body_poses(quaternion)[0][0]
    torque = np.cross([0.1, 0.2, 0.4], 1.3 * R.T @ np.array([0, 0, -9.81]))
    assert_close(pdot, np.cross(p, v_ball[0, 3:]) + torque, 1e-13, "Euler's equation")
