"""Constraints in builder and model: what is said comes back, what cannot be is refused."""

import pickle

import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import ModelError
from mbkern.model.constraint_order import meetings, order


def builder():
    b = mb.ModelBuilder()
    b.add_body("arm", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0), inertia=(1, 1, 1))
    b.add_body("hand", "arm", mb.revolute("z"), mass=1.0, com=(0.5, 0, 0), inertia=(1, 1, 1), position=(1, 0, 0))
    b.add_body("ball", joint=mb.ball(), mass=1.0, com=(0.5, 0, 0), inertia=(1, 1, 1))
    b.add_body("plate", "arm", mass=1.0)
    return b


def everything():
    b = builder()
    b.add_loop("pin", "hand", "ball", "revolute", (1, 0, 0), (0, 1, 0), rotation_a=(1, 0, 0, 0), axis="y")
    b.add_loop("rod", "hand", kind="distance", length=mb.harmonic(0.1, 2.0, 0.0, 1.0))
    b.add_loop("floor", "hand", kind="point-on-plane", length=0.5)
    b.add_gear("hand", "arm", -2.0, offset=0.1)
    b.add_gear("arm", "hand", polynomial=[0.0, 1.0, 0.5], name="cam")
    b.add_blade("skate", "hand", position=(1, 0, 0), across="x")
    b.add_rolling("wheel", "ball", 0.5, tube=0.1, axis=(1, 1, 0))
    b.add_rolling("marble", "ball", 0.5, "sphere", slips=True)
    return b.build()


def test_a_model_with_constraints_is_a_value():
    model = everything()
    assert mb.Model.from_json(model.to_json()) == model
    assert pickle.loads(pickle.dumps(model)) == model
    assert hash(model) == hash(everything()) and model == everything()
    assert model != builder().build()
    np.testing.assert_array_equal(mb.Model.from_json(model.to_json()).block, model.block)


def test_rows_and_their_names():
    model = everything()
    assert [c.rows for c in model.constraints] == [5, 1, 1, 1, 1, 1, 3, 1]
    assert model.n_rows == len(model.row_names) == 14
    assert model.row_names[0] == "pin: distance along z of b"  # y takes the place of z, the others follow
    assert "skate: velocity along x" in model.row_names
    assert "constraint pin: revolute" in model.describe()


@pytest.mark.parametrize("words, wrong", [
    ("both 'hand'", lambda b: b.add_loop("x", "hand", "hand")),
    ("kind: expected one of", lambda b: b.add_loop("x", "hand", "arm", "hinge")),
    ("axis: expected 'x', 'y' or 'z'", lambda b: b.add_loop("x", "hand", axis="w")),
    ("position_a", lambda b: b.add_loop("x", "hand", position_a=(1, 2))),
    ("rotation_b", lambda b: b.add_loop("x", "hand", rotation_b=np.ones((3, 3)))),
    ("needs its length", lambda b: b.add_loop("x", "hand", kind="distance")),
    ("positive distance", lambda b: b.add_loop("x", "hand", kind="distance", length=-1.0)),
    ("has no length", lambda b: b.add_loop("x", "hand", length=1.0)),
    ("already added", lambda b: (b.add_loop("x", "hand"), b.add_blade("x", "hand"))),
    ("either ratio or polynomial", lambda b: b.add_gear("hand", "arm")),
    ("expected 2 numbers", lambda b: b.add_gear("hand", ["arm", "x"], 1.0)),
    ("stands twice", lambda b: b.add_gear("hand", "hand", 1.0)),
    ("finite number", lambda b: b.add_gear("hand", "arm", float("nan"))),
    ("across", lambda b: b.add_blade("x", "hand", across="up")),
    ("positive radius", lambda b: b.add_rolling("x", "hand", 0.0)),
    ("'disc' or 'sphere'", lambda b: b.add_rolling("x", "hand", 1.0, "cube")),
])
def test_what_is_refused_at_once(words, wrong):
    b = builder()
    with pytest.raises(ModelError, match=words):
        wrong(b)


@pytest.mark.parametrize("words, wrong", [
    ("'hnad' was never added. Did you mean 'hand'", lambda b: b.add_loop("x", "hnad")),
    ("nothing between 'arm' and 'plate' moves", lambda b: b.add_loop("x", "arm", "plate")),
    ("no coordinate 'elbow'", lambda b: b.add_gear("elbow", "arm", 1.0)),
    ("belongs to a ball or free joint", lambda b: b.add_gear(b.build().coordinate_names[2], "arm", 1.0)),
    ("follows from them or contradicts them", lambda b: (b.add_gear("hand", "arm", 2.0),
                                                         b.add_gear("arm", "hand", 0.5))),
    ("'gear of hand 2' couples what 'gear of hand' couple", lambda b: (b.add_gear("hand", "arm", 2.0),
                                                                        b.add_gear("hand", "arm", 2.0))),
])
def test_what_is_refused_when_built(words, wrong):
    b = builder()
    wrong(b)
    with pytest.raises(ModelError, match=words):
        b.build()


def test_order_and_fill():
    chain = meetings([[k, k + 1] for k in range(50)])
    sequence, rows = order(chain, [2] * 50)
    assert sorted(sequence) == list(range(50))
    assert max(map(len, rows)) <= 2  # a row of loops fills in nothing but a neighbour
    star = meetings([[0, k] for k in range(1, 10)])  # all on one moving body: all meet
    assert sum(map(len, order(star, [1] * 9)[1])) == 9 * 8 // 2


def test_models_without_constraints_say_so():
    system = mb.System(mb.zoo.chain(2))
    with pytest.raises(ModelError, match="no constraints"):
        system.assemble([0.0, 0.0])
