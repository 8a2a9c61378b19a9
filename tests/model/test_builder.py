"""The builder: order of bodies, placements, and everything that is refused."""

import gc
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mbkern as mb
from mbkern.errors import MbkernError, ModelError

BOX = dict(mass=1.0, inertia=(1.0, 1.0, 1.0))
HINGE = mb.revolute("z")


def build(**kwargs):
    """A model of one body named 'arm'."""
    builder = mb.ModelBuilder()
    builder.add_body("arm", **{"joint": HINGE, **BOX, **kwargs})
    return builder.build()


def tree(*edges):
    """Model from (name, parent) pairs in this order of adding."""
    builder = mb.ModelBuilder()
    for name, parent in edges:
        builder.add_body(name, parent, HINGE, **BOX)
    return builder.build()


# ---- order


def test_order_of_adding_is_kept_when_parents_come_first():
    model = tree(("b", "world"), ("a", "b"), ("d", "b"), ("c", "a"))
    assert model.body_names == ("b", "a", "d", "c")
    assert model.parents.tolist() == [-1, 0, 0, 1]


def test_otherwise_bodies_move_behind_their_parents():
    model = tree(("hand", "arm"), ("foot", "world"), ("arm", "world"))
    assert model.body_names == ("foot", "arm", "hand")
    assert model.parents.tolist() == [-1, -1, 1]


@given(st.randoms(use_true_random=False), st.integers(1, 30))
def test_any_order_of_adding_gives_the_same_tree(random, n):
    parents = [-1] + [random.randrange(i) for i in range(1, n)]
    edges = [(f"b{i}", "world" if p < 0 else f"b{p}") for i, p in enumerate(parents)]
    shuffled = random.sample(edges, n)
    model = tree(*shuffled)
    assert (model.parents < np.arange(n)).all()
    found = {
        name: "world" if p < 0 else model.body_names[p]
        for name, p in zip(model.body_names, model.parents.tolist(), strict=True)
    }
    assert found == dict(edges)


def test_builder_stays_usable_after_build():
    builder = mb.ModelBuilder(name="growing")
    builder.add_body("a", joint=HINGE, **BOX)
    first = builder.build()
    builder.add_body("b", "a", HINGE, **BOX)
    assert (first.n_bodies, builder.build().n_bodies, len(builder)) == (1, 2, 2)


# ---- what is stored


def test_inertia_in_its_three_forms():
    six = (2.0, 3.0, 4.0, 0.1, -0.2, 0.3)
    full = [[2.0, 0.1, -0.2], [0.1, 3.0, 0.3], [-0.2, 0.3, 4.0]]
    assert build(inertia=six) == build(inertia=full) == build(inertia=np.array(full))
    assert build(inertia=six).bodies.inertia[0].tolist() == full
    assert build(inertia=(2, 3, 4)) == build(inertia=np.diag([2.0, 3.0, 4.0]))


def test_rotation_as_matrix_and_quaternion():
    c, s = math.cos(0.3), math.sin(0.3)
    turned = [[1, 0, 0], [0, c, -s], [0, s, c]]  # the joint frame turned about the parent's x axis
    quaternion = (math.cos(0.15), math.sin(0.15), 0.0, 0.0)
    assert build(rotation=turned).bodies.rotation[0].tolist() == turned
    np.testing.assert_allclose(build(rotation=quaternion).bodies.rotation[0], turned, rtol=0, atol=1e-15)
    assert build(rotation=(1, 0, 0, 0)) == build(rotation=np.eye(3)) == build()


@pytest.mark.parametrize(
    "rotation",
    [
        [[0.7071068, -0.7071068, 0], [0.7071068, 0.7071068, 0], [0, 0, 1]],
        (0.9238795, 0.0, 0.0, 0.3826834),
    ],
)
def test_rotation_of_seven_digits_becomes_exact(rotation):
    R = np.array(build(rotation=rotation).bodies.rotation[0])
    np.testing.assert_allclose(R @ R.T, np.eye(3), rtol=0, atol=1e-15)
    assert math.atan2(R[1, 0], R[0, 0]) == pytest.approx(math.pi / 4, abs=1e-7)
    assert build(rotation=R).bodies.rotation[0].tolist() == R.tolist()  # once exact, no bit changes any more


def test_springs_and_dampers_broadcast():
    model = build(joint=mb.planar("z"), stiffness=2, damping=(1.0, 2.0, 3.0), rest=0.1)
    assert model.stiffness.tolist() == [2.0, 2.0, 2.0]
    assert model.damping.tolist() == [1.0, 2.0, 3.0]
    assert model.rest.tolist() == [0.1, 0.1, 0.1]
    assert build(joint=mb.free(), damping=0.5).damping.tolist() == [0.5] * 6


def test_boundary_inertias_are_accepted():
    build(inertia=(1.0, 2.0, 3.0))  # a plate: the triangle inequality is an equality
    build(inertia=(0.0, 1.0, 1.0))  # a rod
    build(inertia=(0.0, 0.0, 0.0))  # a point
    build(inertia=(1.0, 2.0, 3.000001))  # a plate of seven digits
    plate = np.diag([1.0, 2.0, 3.0])
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    build(inertia=Q @ plate @ Q.T)


@given(st.lists(st.floats(0.01, 1.0), min_size=4, max_size=9), st.integers(0, 2**32 - 1))
def test_every_cloud_of_points_is_a_possible_body(masses, seed):
    points = np.random.default_rng(seed).normal(size=(len(masses), 3))
    m = np.array(masses)
    r = points - m @ points / m.sum()
    J = np.einsum("i,ij,ij->", m, r, r) * np.eye(3) - np.einsum("i,ij,ik->jk", m, r, r)
    build(inertia=J)


def test_massless_bodies_and_rotors_are_accepted_when_something_moves():
    builder = mb.ModelBuilder()
    builder.add_body("slide", joint=mb.prismatic("x"))
    builder.add_body("cross", "slide", HINGE)
    builder.add_body("load", "cross", mb.revolute("x"), **BOX)
    builder.add_body("sensor", "load")
    builder.add_body("rotor", "load", mb.revolute("y"), inertia=(1, 1, 1))
    assert builder.build().total_mass == 1.0


# ---- what is refused

NAN, INF = math.nan, math.inf
BAD = [
    (dict(mass=-1.0), "mass must not be negative, got -1.0"),
    (dict(mass=NAN), "mass: expected a finite number, got nan"),
    (dict(mass=10**400), "mass: expected a finite number"),
    (dict(mass="heavy"), "mass: expected a finite number, got 'heavy'"),
    (dict(mass=True), "mass: expected a finite number, got True"),
    (dict(mass=None), "mass: expected a finite number, got None"),
    (dict(mass=1e300, com=(1e10, 0, 0)), "too large"),
    (dict(com=(0, 0)), r"com: expected 3 numbers, got \(0, 0\)"),
    (dict(com=(0, 0, INF)), "com: expected a finite number, got inf"),
    (dict(com=(INF, -INF, 0.0)), "com: expected a finite number, got inf"),
    (dict(com="abc"), "com: expected 3 numbers, got 'abc'"),
    (dict(com=np.zeros((3, 1))), "com"),
    (dict(com={1: 2, 3: 4, 5: 6}), "com: expected 3 numbers"),
    (dict(position=(0, NAN, 0)), "position: expected a finite number, got nan"),
    (dict(position=[[0, 0, 0]]), "position: expected 3 numbers"),
    (dict(inertia=(1.0, 1.0, NAN)), "inertia: expected a finite number, got nan"),
    (dict(inertia=(1.0, 1.0)), r"inertia: expected 3 numbers \(diagonal\), 6"),
    (dict(inertia=1.0), r"inertia: expected 3 numbers \(diagonal\), 6"),
    (dict(inertia=np.eye(2)), "inertia: expected 3 numbers"),
    (dict(inertia=np.zeros((3, 2))), "inertia: expected 3 numbers"),
    (dict(inertia=(1, 1, 3)), r"triangle inequality \(1 \+ 1 < 3\)"),
    (dict(inertia=(1.0, 2.0, 3.00001)), "triangle inequality"),
    (dict(inertia=(-1, 1, 1)), "inertia: not positive: principal moments -1, 1, 1"),
    (dict(inertia=(-1, -1, -1)), "not positive"),
    (dict(inertia=(0, 0, 0, 1, 0, 0)), "not positive"),
    (dict(inertia=(1, 1, 1, 2, 0, 0)), "not positive"),
    (dict(inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
    (dict(inertia=(1e200, 1e200, 1e200)), "too large"),
    (dict(rotation=np.diag([1, 1, -1])), "reflection"),
    (dict(rotation=2 * np.eye(3)), "not orthonormal, .* by 3"),
    (dict(rotation=[[1, 0, 0], [1e-5, 1, 0], [0, 0, 1]]), "not orthonormal"),
    (dict(rotation=[[1, 0, 0], [0, 1, 0], [0, 1e-5, 1]]), "not orthonormal"),
    (dict(rotation=[[1, 0, 1e-5], [0, 1, 0], [0, 0, 1]]), "not orthonormal"),
    (dict(rotation=(2, 0, 0, 0)), "unit quaternion .* of length 2"),
    (dict(rotation=(0, 0, 0, 0)), "unit quaternion"),
    (dict(rotation=(1, 0, 0, NAN)), "rotation: expected a finite number, got nan"),
    (dict(rotation=(0.1, 0.2, 0.3)), "rotation: expected 3 numbers"),
    (dict(rotation="z"), "rotation: expected a 3x3 rotation matrix or a unit quaternion"),
    (dict(stiffness=-1.0), "stiffness must not be negative"),
    (dict(armature=-1.0), "armature must not be negative"),
    (dict(armature=float("inf")), "armature: expected a finite number"),
    (dict(armature=(1.0, 2.0)), "armature: expected one number, or one for each of the 1 dofs"),
    (dict(damping=-1.0), "damping must not be negative"),
    (dict(damping=(1.0, 2.0)), "damping: expected one number, or one for each of the 1 dofs"),
    (dict(rest=NAN), "rest: expected a finite number, got nan"),
    (dict(joint=mb.ball(), stiffness=1.0), "a spring on a quaternion joint has no single coordinate"),
    (dict(joint=[mb.ball(), mb.translate("x")], stiffness=(0, 0, 1, 1)), "a spring on a quaternion joint"),
    (dict(joint=[mb.ball(), mb.ball()], stiffness=(0, 0, 0, 1, 0, 0)), "a spring on a quaternion joint"),
    (dict(joint=[mb.free(), mb.rotate("x")]), "at most 6 dofs between two bodies, got 7"),
    (dict(joint="revolute"), "joint: expected steps"),
    (dict(parent=3), "parent: expected a non-empty string, got 3"),
    (dict(parent="arm"), "its own parent"),
]


@pytest.mark.parametrize(("wrong", "message"), BAD, ids=lambda value: str(value)[:40])
def test_bad_values_name_the_body_and_leave_the_builder_alone(wrong, message):
    builder = mb.ModelBuilder()
    builder.add_body("base", joint=HINGE, **BOX)
    before = builder.build()
    with pytest.raises(ModelError, match=message) as error:
        builder.add_body("arm", **{"parent": "base", "joint": HINGE, **BOX, **wrong})
    assert str(error.value).startswith("body 'arm': ")
    assert builder.build() == before
    builder.add_body("arm", "base", HINGE, **BOX)  # the name is still free


def test_a_spring_beside_a_quaternion_is_fine():
    model = build(joint=[mb.ball(), mb.translate("x")], stiffness=(0, 0, 0, 5))
    assert model.stiffness.tolist() == [0, 0, 0, 5]


@pytest.mark.parametrize("name", ["", None, 3, b"arm"])
def test_bad_names(name):
    with pytest.raises(ModelError, match="name: expected a non-empty string"):
        mb.ModelBuilder().add_body(name, joint=HINGE, **BOX)


def test_duplicate_and_reserved_names():
    builder = mb.ModelBuilder()
    builder.add_body("arm", joint=HINGE, **BOX)
    with pytest.raises(ModelError, match="body 'arm': a body of this name was already added"):
        builder.add_body("arm", joint=HINGE, **BOX)
    with pytest.raises(ModelError, match="body 'world': this name is reserved"):
        builder.add_body("world", joint=HINGE, **BOX)


def test_unknown_parent_suggests_a_name():
    with pytest.raises(ModelError, match=r"body 'hand': its parent 'amr' was never added\. Did you mean 'arm'"):
        tree(("arm", "world"), ("hand", "amr"))


def test_cycles_are_spelled_out():
    with pytest.raises(ModelError, match="not form a tree: 'a' is carried by 'c' is carried by 'b' is carried by 'a'"):
        tree(("root", "world"), ("tail", "a"), ("a", "c"), ("b", "a"), ("c", "b"))


def test_empty_model():
    with pytest.raises(ModelError, match="the model is empty"):
        mb.ModelBuilder().build()


def test_joints_that_move_nothing():
    with pytest.raises(ModelError, match="body 'arm': nothing to move"):
        build(mass=0.0, inertia=None)
    with pytest.raises(ModelError, match="body 'arm': no mass to move"):
        build(mass=0.0, joint=mb.prismatic("x"))
    with pytest.raises(ModelError, match="body 'arm': no mass to move"):
        build(mass=0.0, joint=mb.free())
    builder = mb.ModelBuilder()
    builder.add_body("load", joint=HINGE, **BOX)
    builder.add_body("flap", "load", HINGE)
    builder.add_body("tip", "flap")
    with pytest.raises(ModelError, match=r"body 'flap': nothing to move: .* joint \(revolute \[rotate z\]\)"):
        builder.build()
    build(mass=0.0, inertia=None, joint=mb.rotate("z", mb.harmonic(1, 1)))  # a driven frame carries nothing: fine


@pytest.mark.parametrize("gravity", [(0, 0), (0, 0, NAN), 9.81, "down", None])
def test_bad_gravity(gravity):
    with pytest.raises(ModelError, match="gravity: expected"):
        mb.ModelBuilder(gravity=gravity)


def test_bad_model_name():
    with pytest.raises(ModelError, match="name: expected a string, got 5"):
        mb.ModelBuilder(name=5)


def test_coordinate_names_must_be_unique():
    builder = mb.ModelBuilder()
    builder.add_body("a", joint=mb.revolute("z", name="angle"), **BOX)
    builder.add_body("b", joint=mb.revolute("z", name="angle"), **BOX)
    with pytest.raises(ModelError, match=r"'angle' is used more than once .*'a' and 'b'"):
        builder.build()


def test_every_error_has_the_one_root():
    with pytest.raises(MbkernError):
        mb.ModelBuilder().build()


anything = st.one_of(
    st.none(), st.booleans(), st.floats(), st.integers(), st.text(max_size=4), st.binary(max_size=4),
    st.lists(st.one_of(st.floats(), st.text(max_size=2), st.lists(st.floats(), max_size=4)), max_size=5),
    st.dictionaries(st.text(max_size=2), st.floats(), max_size=3), st.complex_numbers(), st.just(object()),
)  # fmt: skip


@given(
    st.sampled_from(["mass", "com", "inertia", "position", "rotation", "stiffness", "damping", "rest", "joint"]),
    anything,
)
def test_no_value_does_more_than_raise_a_model_error(field, value):
    try:
        model = build(**{field: value})
    except ModelError:
        return
    for name in ("mass", "com", "inertia", "M", "position", "rotation"):
        assert np.isfinite(model.bodies[name]).all()


def test_the_time_to_build_grows_with_the_number_of_bodies():
    """Ten times as many take ten times as long; quadratic work anywhere would make it a hundred. Without the collector,
    which would look through what other tests have left."""
    seconds = {2_000: math.inf, 20_000: math.inf}
    gc.disable()
    try:
        for n in 3 * list(seconds):
            start = time.process_time()
            assert mb.zoo.chain(n).n_bodies == n
            seconds[n] = min(seconds[n], time.process_time() - start)
    finally:
        gc.enable()
    assert seconds[20_000] < 40.0 * seconds[2_000]


def test_deep_trees_in_reverse_order_build():
    n = 20_000  # far beyond the recursion limit
    model = tree(*((f"b{i}", f"b{i - 1}" if i else "world") for i in reversed(range(n))))
    assert model.parents.tolist() == list(range(-1, n - 1))
