"""Steps and joints: what they consist of, and what is refused."""

import dataclasses
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mbkern as mb
from mbkern.errors import ModelError
from mbkern.model.joint import Ball, Free, Joint, Step, as_joint

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def moves(joint):
    return [(step.move, step.axis) for step in joint.elements]


@pytest.mark.parametrize(
    ("joint", "kind", "nq", "nv"),
    [
        (mb.weld(), "weld", 0, 0),
        (mb.revolute("z"), "revolute", 1, 1),
        (mb.prismatic("z"), "prismatic", 1, 1),
        (mb.cylindrical("z"), "cylindrical", 2, 2),
        (mb.universal("x", "y"), "universal", 2, 2),
        (mb.euler_ball("zyx"), "euler_ball", 3, 3),
        (mb.ball(), "ball", 4, 3),
        (mb.planar("z"), "planar", 3, 3),
        (mb.free(), "free", 7, 6),
    ],
)
def test_named_joints_have_their_freedoms(joint, kind, nq, nv):
    assert (joint.kind, joint.nq, joint.nv) == (kind, nq, nv)


def test_order_of_steps_is_the_documented_one():
    assert moves(mb.cylindrical("y")) == [("rotate", AXES["y"]), ("translate", AXES["y"])]
    assert moves(mb.universal("x", "z")) == [("rotate", AXES["x"]), ("rotate", AXES["z"])]
    assert moves(mb.euler_ball("zxy")) == [("rotate", AXES[a]) for a in "zxy"]
    assert moves(mb.planar("z")) == [("translate", AXES["x"]), ("translate", AXES["y"]), ("rotate", AXES["z"])]
    assert moves(mb.planar("x")) == [("translate", AXES["y"]), ("translate", AXES["z"]), ("rotate", AXES["x"])]


finite = st.floats(-1e3, 1e3)


@given(st.tuples(finite, finite, finite).filter(lambda v: math.hypot(*v) > 1e-3))
def test_axes_are_normalised_once(v):
    axis = mb.rotate(v).axis
    length = math.hypot(*v)
    assert axis == pytest.approx([c / length for c in v], abs=1e-15)
    assert mb.rotate(axis).axis == axis  # no bit changes the second time: models survive files


@given(st.tuples(finite, finite, finite).filter(lambda v: math.hypot(*v) > 1e-3))
def test_planar_axes_are_a_right_handed_triad(normal):
    a, b, n = (step.axis for step in mb.planar(normal).elements)
    cross = (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    assert cross == pytest.approx(n, abs=1e-14)
    assert sum(x * y for x, y in zip(a, b, strict=True)) == pytest.approx(0.0, abs=1e-14)


def test_axis_of_any_magnitude():
    assert mb.rotate((0, 3e300, 4e300)).axis == pytest.approx((0, 0.6, 0.8))
    assert mb.rotate((0, 3e-9, 4e-9)).axis == pytest.approx((0, 0.6, 0.8))


def test_a_step_is_coordinate_constant_or_driven():
    coordinate, constant, driven = mb.rotate("x"), mb.rotate("x", 2), mb.rotate("x", mb.polynomial([0, 1]))
    assert [s.is_coordinate for s in (coordinate, constant, driven)] == [True, False, False]
    assert [s.is_constant for s in (coordinate, constant, driven)] == [False, True, False]
    assert [s.is_driven for s in (coordinate, constant, driven)] == [False, False, True]
    assert [s.nv for s in (coordinate, constant, driven)] == [1, 0, 0]
    assert type(constant.amount) is float


def test_lists_nest_and_flatten():
    joint = as_joint([mb.translate("x", 0.1), [mb.universal("x", "y"), mb.ball()]])
    assert [type(element) for element in joint.elements] == [Step, Step, Step, Ball]
    assert (joint.nq, joint.nv, joint.kind) == (6, 5, "custom")
    assert as_joint(mb.rotate("z")) == mb.revolute("z")
    assert as_joint(None) == as_joint([]) == mb.weld()


def test_equality_is_by_elements():
    assert Joint([mb.rotate("z")]) == mb.revolute("z")
    assert hash(Joint([mb.rotate("z")])) == hash(mb.revolute("z"))
    assert mb.revolute("z") != mb.revolute("y")
    assert mb.revolute("z") != mb.prismatic("z")
    assert mb.revolute("z", name="a") != mb.revolute("z", name="b")
    assert mb.ball() != mb.free()


def test_joints_are_immutable_and_pickle():
    joint = as_joint([mb.rotate("z", mb.spline([0, 1, 2], [0, 1, 0])), mb.free("base")])
    assert pickle.loads(pickle.dumps(joint)) == joint
    with pytest.raises(dataclasses.FrozenInstanceError):
        joint.kind = "other"


def test_names_reach_the_steps():
    assert [s.name for s in mb.planar("z", names=["a", "b", "c"]).elements] == ["a", "b", "c"]
    assert [s.name for s in mb.cylindrical("z", names=["a", "b"]).elements] == ["a", "b"]
    assert mb.free("base").elements == (Free("base"),)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mb.rotate((0, 0, 0)), "rotate: axis: a zero vector"),
        (lambda: mb.rotate((0, 1e-13, 0)), "zero vector"),
        (lambda: mb.translate((0, math.nan, 1)), "translate: axis: expected a finite number, got nan"),
        (lambda: mb.rotate((1, 0)), r"expected 3 numbers, got \(1, 0\)"),
        (lambda: mb.rotate("w"), "'x', 'y', 'z' or 3 numbers, got 'w'"),
        (lambda: mb.rotate(None), "rotate: axis"),
        (lambda: mb.rotate("z", math.inf), "rotate: amount: expected a finite number, got inf"),
        (lambda: mb.rotate("z", lambda t: t), r"a prescribed motion is a drive \(harmonic, polynomial, spline"),
        (lambda: mb.rotate("z", True), "rotate: amount"),
        (lambda: mb.rotate("z", "1"), "rotate: amount"),
        (lambda: mb.rotate("z", name=""), "rotate: name: expected a non-empty string"),
        (lambda: mb.ball(name=3), "ball: name"),
        (lambda: Step("twist", "x"), "'rotate' or 'translate', got 'twist'"),
        (lambda: mb.euler_ball("zzx"), "got 'zzx'"),
        (lambda: mb.euler_ball("zy"), "got 'zy'"),
        (lambda: mb.euler_ball("abc"), "got 'abc'"),
        (lambda: mb.universal("x", "y", names=["a"]), "universal: names must be 2 strings"),
        (lambda: mb.universal("x", "y", names="ab"), "universal: names must be 2 strings"),
        (lambda: mb.universal("x", "y", names=5), "universal: names must be 2 strings"),
        (lambda: as_joint([mb.free(), mb.rotate("x")]), "at most 6 dofs between two bodies, got 7"),
        (lambda: as_joint([mb.rotate(a) for a in "xyzxyzx"]), "got 7"),
        (lambda: as_joint([mb.rotate("x"), 5]), "got 5"),
        (lambda: as_joint("revolute"), "got 'revolute'"),
    ],
)
def test_bad_joints_are_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


def test_six_freedoms_with_constant_and_driven_steps_are_fine():
    steps = [mb.rotate(a) for a in "xyz"] + [mb.translate(a) for a in "xyz"]
    joint = as_joint([mb.translate("x", 1.0), *steps, mb.rotate("z", mb.harmonic(1, 1))])
    assert joint.nv == 6 and len(joint.elements) == 8


def test_a_list_that_contains_itself_is_refused():
    endless = [mb.rotate("x")]
    endless.append(endless)
    with pytest.raises(mb.errors.ModelError, match="does one contain itself"):
        mb.ModelBuilder().add_body("a", joint=endless, mass=1.0)
