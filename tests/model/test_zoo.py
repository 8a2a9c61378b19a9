"""The zoo: shapes of the trees, reproducibility, variety, and physically sound bodies."""

import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import ModelError
from mbkern.model.joint import Ball, Free, Step


def test_shapes():
    assert mb.zoo.chain(4).parents.tolist() == [-1, 0, 1, 2]
    assert mb.zoo.carousel(4).parents.tolist() == [-1, 0, 0, 0]
    assert mb.zoo.binary_tree(6).parents.tolist() == [-1, 0, 0, 1, 1, 2]
    parents = mb.zoo.random_tree(30, seed=1).parents
    assert parents[0] == -1 and (parents < np.arange(30)).all() and len(set(parents.tolist())) > 5


@pytest.mark.parametrize("make", [mb.zoo.chain, mb.zoo.carousel, mb.zoo.binary_tree, mb.zoo.random_tree])
def test_same_arguments_same_model(make):
    assert make(7) == make(7) == make(7, seed=0)
    assert make(7) != make(7, seed=1)


@pytest.mark.parametrize("make", [mb.zoo.chain, mb.zoo.carousel, mb.zoo.binary_tree])
def test_any_joint(make):
    assert make(5, joint=mb.ball()).nv == 15
    assert make(5, mb.universal("x", "y")).nv == 10
    assert make(5, [mb.rotate("x"), mb.translate("x", 0.1)]).nv == 5


def test_regular_chain_is_regular():
    bodies = mb.zoo.chain(4, mb.revolute("y"), seed=None).bodies
    for field in ("mass", "com", "inertia", "rotation"):
        assert (bodies[field] == bodies[field][0]).all()
    assert bodies.position.tolist() == [[0, 0, 0], *[[0.5, 0, 0]] * 3]


def test_random_tree_covers_all_joints():
    elements, dofs, driven, constant = set(), set(), 0, 0
    for seed in range(20):
        for body in mb.zoo.random_tree(20, seed=seed).body_specs:
            dofs.add(body.joint.nv)
            for element in body.joint.elements:
                elements.add((type(element), getattr(element, "move", None)))
                driven += isinstance(element, Step) and element.is_driven
                constant += isinstance(element, Step) and element.is_constant
    assert dofs == {0, 1, 2, 3, 4, 5, 6}
    assert elements == {(Step, "rotate"), (Step, "translate"), (Ball, "ball"), (Free, "free")}
    assert driven and constant


def test_random_tree_from_given_joints():
    model = mb.zoo.random_tree(30, seed=2, joints=[mb.revolute("x"), mb.prismatic("y")])
    assert {body.joint.kind for body in model.body_specs} == {"revolute", "prismatic"}
    assert mb.zoo.random_tree(3, joints=[mb.weld()]).nv == 0
    for seed in range(30):
        assert mb.zoo.random_tree(1, seed=seed).nv > 0
        assert mb.zoo.random_tree(2, seed=seed, joints=[mb.weld(), mb.ball()]).nv > 0


@pytest.mark.parametrize("model", [mb.zoo.chain(40), mb.zoo.random_tree(40), mb.zoo.chain(5, seed=None)])
def test_bodies_are_of_order_one(model):
    bodies = model.bodies
    assert ((bodies.mass >= 0.5) & (bodies.mass <= 2.0)).all()
    assert (np.linalg.eigvalsh(bodies.M) > 1e-5).all()
    assert np.abs(bodies.position).max() < 0.6


def test_pipelayer_has_the_documented_numbers():
    model = mb.zoo.pipelayer()
    assert model.name == "pipelayer" and model.gravity.tolist() == [0, 0, -9.81]
    assert model.body_names == ("chassis", "rotating", "lifting", "boom")
    assert model.coordinate_names == ("z", "alpha", "beta", "theta", "epsilon", "y")
    bodies = model.bodies
    assert bodies.mass.tolist() == [18000, 6000, 1500, 800]
    assert bodies.com.tolist() == [[0, 0.1, 0.8], [0, -0.4, 0.6], [0, 2.0, 0.1], [0, 1.5, 0]]
    assert bodies.position.tolist() == [[0, 0, 0], [0, 0.5, 1.4], [0, 1.0, 0.8], [0, 0, 0.3]]
    diagonals = [np.diag(J).tolist() for J in bodies.inertia]
    assert diagonals == [[30000, 24000, 40000], [9000, 7000, 8000], [4000, 200, 4000], [1500, 80, 1500]]
    assert model.steps.move.tolist() == [1, 0, 0, 0, 0, 1]
    assert np.argmax(model.steps.axis, axis=1).tolist() == [2, 0, 1, 2, 0, 1]


@pytest.mark.parametrize("n", [0, -1, 2.0, "3", None, True])
def test_bad_counts(n):
    for make in (mb.zoo.chain, mb.zoo.carousel, mb.zoo.binary_tree, mb.zoo.random_tree):
        with pytest.raises(ModelError, match="n: expected the number of bodies, 1 to"):
            make(n)


def test_nothing_to_draw_from():
    with pytest.raises(ModelError, match="joints: expected a list of joints to draw from"):
        mb.zoo.random_tree(3, joints=[])
