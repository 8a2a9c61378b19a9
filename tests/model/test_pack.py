"""States from names: `Model.pack`."""

import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import StateError


@pytest.fixture
def model():
    builder = mb.ModelBuilder()
    builder.add_body("base", joint=mb.free(), mass=1.0, inertia=(1, 1, 1))
    builder.add_body("arm", "base", [mb.rotate("x", name="pitch"), mb.translate("z")], mass=1.0, inertia=(1, 1, 1))
    builder.add_body("fixed", "arm", mb.weld(), mass=1.0)
    builder.add_body("hand", "fixed", mb.ball(), mass=1.0, inertia=(1, 1, 1))
    builder.add_body("tip", "hand", mb.revolute("y"), mass=1.0, inertia=(1, 1, 1))
    return builder.build()


def test_nothing_given_is_neutral_and_at_rest(model):
    assert np.array_equal(model.pack(), np.concatenate((model.neutral(), np.zeros(model.nv))))


def test_numbers(model):
    q, u = model.random_state(seed=1)
    assert np.array_equal(model.pack(q, u), np.concatenate((q, u)))
    assert np.array_equal(model.pack(p=list(u))[model.nq:], u)


def test_names_find_their_places(model):
    """By hand: q = base 7, pitch, arm.1, hand 4, tip; p = base 6, pitch, arm.1, hand 3, tip."""
    y = model.pack(
        q={"base.x": 1.5, "pitch": 0.1, "arm.1": 0.2, "hand": [0.6, 0.0, 0.8, 0.0], "tip": 0.4},
        p={"base": [1, 2, 3, 4, 5, 6], "pitch": 7.0, "hand.wz": 8.0, "tip": [9.0]},
    )
    expected = [1.5, 0, 0, 1, 0, 0, 0, 0.1, 0.2, 0.6, 0, 0.8, 0, 0.4, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 8, 9]
    assert np.array_equal(y, expected)
    assert y[model.index("arm.1")] == 0.2
    assert y[model.nq + model.speed_index("hand.wz")] == 8.0


def test_all_names_of_the_model_work(model):
    q, u = model.random_state(seed=2)
    named = [dict(zip(names, x, strict=True)) for names, x in ((model.coordinate_names, q), (model.speed_names, u))]
    assert np.array_equal(model.pack(*named), model.pack(q, u))


def test_driven_and_constant_steps_have_no_place():
    builder = mb.ModelBuilder()
    builder.add_body("a", joint=[mb.translate("x", mb.harmonic(1, 2)), mb.rotate("z", 0.3), mb.rotate("y")], mass=1.0,
                     com=(1, 0, 0))
    assert builder.build().pack(q={"a": 0.5}, p={"a": 0.25}).tolist() == [0.5, 0.25]


@pytest.mark.parametrize("arguments,message", [
    ({"q": {"pich": 0.1}}, r"q: .*'pich'.*pitch"), ({"p": {"nobody": 0.1}}, "p: .*'nobody'"),
    ({"q": {"hand": [1.0, 0.0]}}, r"q\['hand'\]: expected 4 numbers"), ({"q": {"fixed": 1.0}}, "fixed"),
    ({"q": {"hand": [1.0, 1.0, 0.0, 0.0]}}, "unit quaternion"), ({"q": {"pitch": np.nan}}, "pitch"),
    ({"q": {"pitch": "much"}}, r"q\['pitch'\]"), ({"q": [1.0]}, "q: expected 14"), ({"p": {3: 1.0}}, "3"),
    ({"p": {"pitch": 1j}}, "pitch"),
])
def test_bad_states(model, arguments, message):
    with pytest.raises(StateError, match=message):
        model.pack(**arguments)
