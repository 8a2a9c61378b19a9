"""Where the frames of nodes are put must not be seen from outside, and must make the block what the kernels expect."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from cases import assert_close, random_inertia, random_model, random_state

import mbkern as mb
from mbkern import plain
from mbkern.methods import METHODS
from mbkern.model.frames import SMALLEST_TILT

L = plain.load("layout")
TOLERANCE = 1e-10  # as in test_dense


def node_rows(model):
    n = int(model.block[L.N_NODES])
    return model.block[L.HEADER:L.HEADER + n * L.NODE].reshape(n, L.NODE)


def two_axes(tilt, offset, arms=1):
    """Hinges whose axes enclose the angle `tilt`, in general position otherwise."""
    rng = np.random.default_rng(5)
    builder = mb.ModelBuilder(gravity=(0.3, -0.2, -9.8))
    for i in range(4):
        builder.add_body(f"b{i}", f"b{i - 1}" if i else "world", mb.revolute((0.0, np.sin(i * tilt), np.cos(i * tilt))),
                         mass=1.0 + 0.3 * i, com=rng.uniform(-0.2, 0.2, 3), inertia=random_inertia(rng, 1.0),
                         position=offset)
        for k in range(arms if i else 0):
            builder.add_body(f"b{i}{k}", f"b{i - 1}", mb.revolute((0, 1, k)), mass=0.4, com=(0.1, 0.2, 0.0),
                             inertia=(0.1, 0.1, 0.1), position=(0.0, 0.2, 0.1))
    return builder.build()


def check(model, seed=3):
    t = 0.3
    q, p = random_state(model, seed, t)
    expected = reference.hamilton(model, q, p, t)
    system = mb.System(model, "emh-ldl")
    for rates, wanted in zip(system.rhs(q, p, t), (expected.qdot, expected.pdot), strict=True):
        assert_close(rates, wanted, TOLERANCE, model.name)
    for given, wanted in zip(system.body_poses(q, t), reference.body_poses(model, q, t), strict=True):
        assert_close(given, wanted, 1e-13, "poses")


@pytest.mark.parametrize(("height", "chained"), [(0.0, True), (0.5, False), (-0.5, False)])
def test_frames_stay_with_heavy_bodies_of_small_inertia(height, chained):
    """The common perpendicular is at the origin; a point-like body half a metre from there would lose its digits."""
    builder = mb.ModelBuilder()
    builder.add_body("a", joint=mb.revolute("z"), mass=5.0, com=(0.0, 1e-3, height), inertia=(1e-4, 1e-4, 1e-4))
    builder.add_body("b", "a", mb.revolute("x"), mass=0.01, com=(0.0, 0.1, 0.0), inertia=(1e-3, 1e-3, 1e-3))
    builder.add_body("c", "b", mb.revolute("z"), mass=0.01, com=(0.1, 0.0, 0.0), inertia=(1e-3, 1e-3, 1e-3),
                     position=(0.0, 0.2, 0.0))
    assert (node_rows(builder.build())[1, L.CASE] == L.CHAINED) == chained


@pytest.mark.parametrize("tilt", [0.0, 1e-17, 1e-12, 1e-6, 1e-3, 0.1, 0.3, 0.31, 1.0, np.pi / 2, 3.0, np.pi, -1.2])
@pytest.mark.parametrize("arms", [0, 1])
def test_any_angle_between_axes(tilt, arms):
    check(two_axes(tilt, (0.4, -0.3, 0.2), arms))


@pytest.mark.parametrize("offset", [(0.0, 0.0, 0.0), (0.0, 0.0, 0.5), (0.0, 0.4, 0.0), (0.3, 0.0, 0.0)])
@pytest.mark.parametrize("tilt", [0.0, 0.5, np.pi / 2])
def test_special_offsets(tilt, offset):
    check(two_axes(tilt, offset))


@pytest.mark.parametrize("base", ["fixed", "ball", "free", "prismatic", "universal", "driven"])
@pytest.mark.parametrize("axes", ["zz", "xz", "yz", "zx", "yy", "xy"])
def test_axes_along_those_of_the_parent(axes, base):
    """As in robot files: angles and offsets are exactly 0 and 90 degrees here and there."""
    joints = {"fixed": mb.weld(), "ball": mb.ball(), "free": mb.free(), "prismatic": mb.prismatic("x"),
              "universal": mb.universal("z", "x"), "driven": mb.rotate("y", mb.harmonic(0.3, 1.0))}
    for offset in ((0.3, 0.0, 0.0), (0.0, 0.4, 0.0), (0.0, 0.0, 0.5), (0.2, 0.0, 0.3)):
        builder = mb.ModelBuilder(gravity=(0.1, 0.2, -9.8))
        builder.add_body("base", "world", joints[base], mass=2.0, com=(0.0, 0.1, 0.0), inertia=(0.1, 0.2, 0.15))
        for i, axis in enumerate(axes * 2):
            builder.add_body(f"b{i}", f"b{i - 1}" if i else "base", mb.revolute(axis), mass=1.0, com=(0.1, 0.0, 0.2),
                             inertia=(0.1, 0.1, 0.05), position=offset)
        check(builder.build())


def test_blocks_of_chained_nodes_and_leaves():
    seen = {case: 0 for case in range(L.OTHER + 1)}
    for seed in range(30):
        rows = node_rows(random_model("random", 9, seed, kinds=["revolute", "universal", "prismatic", "ball"]))
        for row in rows:
            case = int(row[L.CASE])
            seen[case] += 1
            if case in (L.CHAINED, L.CHAINED_LEAF):
                z = np.array([0.0, -row[L.TILT + 1], row[L.TILT]])  # its own axis in the frame of its parent
                assert np.allclose(row[L.PLACE_G + 6:L.PLACE_G + 9], z, atol=1e-15)
                way = row[L.ALONG_X] * np.array([1.0, 0.0, 0.0]) + row[L.ALONG_Z] * z
                assert np.allclose(row[L.PLACE_RHO:L.PLACE_RHO + 3], way, atol=1e-15)
                assert row[L.TILT + 1] > SMALLEST_TILT or abs(row[L.TILT + 1]) < 1e-15
            if case in (L.CHAINED_LEAF, L.BRANCH_LEAF):
                assert row[L.MOMENT] >= 0.0 and row[L.MOMENT + 1] == row[L.MOMENT + 2] == 0.0
    assert all(seen.values())


def test_planar_chains_are_chained():
    rows = node_rows(mb.zoo.chain(5, joint=mb.revolute("y"), seed=None))
    assert rows[1:, L.CASE].tolist() == [L.CHAINED] * 3 + [L.CHAINED_LEAF]


@pytest.mark.parametrize("what", ["mass", "com", "inertia", "position", "all"])
@pytest.mark.parametrize("body", ["b1", "b3", "b30"])
def test_varied_machines_have_the_rates_of_separate_models(what, body):
    """The frame of a leaf whose inertia varies is left where it is, so the last bits differ from separate models."""
    rng = np.random.default_rng(8)
    count = 5
    values = {"mass": rng.uniform(0.5, 2.0, count), "com": rng.uniform(-0.3, 0.3, (count, 3)),
              "inertia": np.array([random_inertia(rng, 2.0) for _ in range(count)]),
              "position": rng.uniform(-0.5, 0.5, (count, 3))}
    values = values if what == "all" else {what: values[what]}
    model = two_axes(0.9, (0.4, -0.3, 0.2))
    varied = model.vary(body=body, **values)
    Q, P = rng.uniform(-2.0, 2.0, (count, model.nq)), rng.normal(size=(count, model.nv))
    rates = mb.System(model, "emh-ldl").rhs_batch(Q, P, parameters=varied)
    for i in range(count):
        alone = mb.System(varied.model_of(i), "emh-ldl").rhs(Q[i], P[i])
        for one, wanted in zip(rates, alone, strict=True):
            assert_close(one[i], wanted, 1e-12, f"{what} of {body}")


@pytest.mark.parametrize("make", [mb.zoo.chain, mb.zoo.carousel, mb.zoo.binary_tree], ids=lambda make: make.__name__)
@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize("seed", [None, 4])
def test_trees_of_hinges_have_the_bits_of_the_general_code(make, n, seed):
    model = make(n, mb.revolute("y"), seed=seed)
    system = mb.System(model, "emh-ldl")
    q, u = model.random_state(1)
    p = system.momenta(q, u)
    block, qdot, pdot = system.njit()[1], np.empty(n), np.empty(n)
    assert block[L.ONLY_HINGES] == 1.0
    assert METHODS["emh-ldl"].rhs(block, 0.0, q, p, np.empty(0), qdot, pdot, system.work()) == 0
    for alone, general in zip(system.rhs(q, p), (qdot, pdot), strict=True):
        assert np.array_equal(alone, general)


@pytest.mark.parametrize("joint", [mb.prismatic("x"), mb.universal("x", "y"), mb.ball(), mb.free(),
                                   [mb.rotate("z", mb.harmonic(0.2, 1.0)), mb.rotate("x")]])
def test_other_trees_are_no_trees_of_hinges(joint):
    assert mb.zoo.chain(3, joint).block[L.ONLY_HINGES] <= 0.0


def test_a_hinge_with_a_rotor_is_no_hinge():
    builder = mb.ModelBuilder()
    builder.add_body("arm", "world", mb.revolute("y"), mass=1.0, inertia=(0.1, 0.1, 0.1), armature=0.1)
    assert builder.build().block[L.ONLY_HINGES] <= 0.0
