"""Models written as URDF and read back move the same."""

import re
import warnings

import numpy as np
import pytest
from reference import rotation_about

import mbkern as mb
from mbkern.errors import ModelError
from mbkern.io.urdf_write import matrix_rpy
from mbkern.model.joint import Ball, Step


def writable(model):
    return not any(
        isinstance(element, Ball) or (isinstance(element, Step) and element.is_driven)
        for body in model.body_specs
        for element in body.joint.elements
    )


def expressible_trees():
    joints = [
        mb.revolute("x"), mb.prismatic((1, 2, 3)), mb.universal("x", "z"), mb.cylindrical("y"), mb.planar("z"),
        mb.weld(), mb.euler_ball("zxz"), mb.free(),
        [mb.rotate("x", 0.3), mb.translate("y", 0.2), mb.rotate("z"), mb.rotate("y", 1.0)],
    ]
    return [mb.zoo.random_tree(9, seed=seed, joints=joints) for seed in range(8)] + [mb.zoo.pipelayer()]


@pytest.mark.parametrize("model", expressible_trees(), ids=lambda model: model.name)
def test_round_trip_moves_the_same(model):
    assert writable(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin = mb.load_urdf(model.to_urdf(), gravity=model.gravity)
    assert sorted(twin.coordinate_names) == sorted(model.coordinate_names)
    q, u = model.random_state(seed=3)
    there = [twin.index(name) for name in model.coordinate_names]
    speeds = [twin.speed_index(name) for name in model.speed_names]
    q2, u2 = np.empty_like(q), np.empty_like(u)
    q2[there], u2[speeds] = q, u
    ours, theirs = mb.System(model, "emh-ldl"), mb.System(twin, "emh-ldl")
    p = ours.momenta(q, u)
    # round-off of the angles in rpy (1e-16) times the conditioning of nine bodies
    np.testing.assert_allclose(theirs.momenta(q2, u2)[speeds], p, rtol=1e-12, atol=1e-12 * np.abs(p).max())
    rate, twin_rate = ours.rhs(q, p)[1], theirs.rhs(q2, theirs.momenta(q2, u2))[1][speeds]
    np.testing.assert_allclose(twin_rate, rate, rtol=1e-11, atol=1e-11 * np.abs(rate).max())
    R, r = ours.body_poses(q)
    R2, r2 = theirs.body_poses(q2)
    for i, name in enumerate(model.body_names):
        np.testing.assert_allclose(R2[twin.body_index(name)], R[i], atol=1e-13)
        np.testing.assert_allclose(r2[twin.body_index(name)], r[i], atol=1e-13)


def test_limits_damping_and_friction_survive():
    b = mb.ModelBuilder(name="<r&b>")
    b.add_body("a", joint=mb.revolute("x"), mass=1, com=(0, 1, 0), limits=(-1, 2, 3, 4), damping=0.5, friction=0.25)
    b.add_body("b", "a", mb.prismatic("x"), mass=1, com=(0, 1, 0))
    b.add_body("c", "b", mb.free(), mass=1, inertia=(1, 1, 1), damping=2.0)
    model = b.build()
    twin = mb.load_urdf(model.to_urdf())
    assert twin.name == "<r&b>"
    assert all(np.array_equal(x, y) for x, y in zip(twin.limits, model.limits, strict=True))
    assert np.array_equal(twin.damping, model.damping) and np.array_equal(twin.friction, model.friction)


@pytest.mark.parametrize(("joint", "limits", "words"), [
    (mb.revolute("x"), (-1, 2), "lower upper effort velocity"),
    (mb.prismatic("x"), None, "lower upper effort velocity"),
    (mb.revolute("x"), (-np.inf, np.inf, 3.0, np.inf), "effort velocity"),
    (mb.revolute("x"), (-np.inf, np.inf, np.inf, 4.0), "effort velocity"),
    (mb.revolute("x"), None, ""), (mb.free(), None, ""),
])
def test_limits_are_written_where_the_format_demands_them_or_there_are_some(joint, limits, words):
    b = mb.ModelBuilder()
    b.add_body("arm", joint=joint, mass=1, com=(0, 1, 0), inertia=(1, 1, 1), limits=limits)
    found = re.findall("<limit (.*?)/>", b.build().to_urdf())
    assert [re.sub('="[^"]*"', "", text) for text in found] == ([words] if words else [])


@pytest.mark.parametrize(("joint", "options", "message"), [
    (mb.ball(), {}, "no ball joint"),
    (mb.rotate("x", mb.harmonic(1, 1)), {}, "no driven joints"),
    (mb.revolute("x"), {"stiffness": 2.0}, "no springs"),
    (mb.revolute("x"), {"armature": 2.0}, "no rotor inertia"),
    (mb.free(), {"damping": (1, 2, 3, 4, 5, 6)}, "one damping"),
])
def test_what_urdf_cannot_say_is_refused(joint, options, message):
    b = mb.ModelBuilder()
    b.add_body("arm", joint=joint, mass=1, com=(0, 1, 0), inertia=(1, 1, 1), **options)
    with pytest.raises(ModelError, match=f"body 'arm': .*{message}"):
        b.build().to_urdf()


def test_pinocchio_reads_what_we_write():
    pin = pytest.importorskip("pinocchio", reason="needs Pinocchio: pip install mbkern[peers]")
    model = mb.zoo.pipelayer()
    theirs = pin.buildModelFromXML(model.to_urdf())
    assert [name for name in theirs.names][1:] == list(model.coordinate_names)
    assert np.isclose(pin.computeTotalMass(theirs), model.total_mass)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, 0.4])
@pytest.mark.parametrize("roll, yaw", [(0.0, 0.7), (0.3, -1.1), (2.5, 2.0)])
def test_roll_pitch_yaw_give_the_rotation_back_also_in_gimbal_lock(roll, pitch, yaw):
    def turn(axis, angle):
        return rotation_about(np.eye(3)[axis], angle)

    R = turn(2, yaw) @ turn(1, pitch) @ turn(0, roll)
    r, p, y = matrix_rpy(R)
    np.testing.assert_allclose(turn(2, y) @ turn(1, p) @ turn(0, r), R, atol=1e-14)
