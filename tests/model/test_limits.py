"""Limits, friction and unchecked inertias: data of the model that survive JSON and pickling."""

import json
import math
import pickle

import pytest

import mbkern as mb
from mbkern.errors import ModelError


def arm(**options):
    b = mb.ModelBuilder()
    b.add_body("arm", joint=mb.universal("x", "y"), **({"mass": 1.0, "inertia": (1, 1, 1)} | options))
    b.add_body("drone", "arm", mb.free(), mass=1.0, inertia=(1, 1, 1))
    return b.build()


def test_limits_per_freedom():
    limits = arm(limits=((-1, -2), (1, 2), 3, 4)).limits
    assert limits.lower.tolist() == [-1, -2] + [-math.inf] * 6
    assert limits.upper.tolist() == [1, 2] + [math.inf] * 6
    assert limits.velocity.tolist() == [3, 3] + [math.inf] * 6 and limits.effort.tolist() == [4, 4] + [math.inf] * 6
    with pytest.raises(ValueError, match="read-only"):
        limits.lower[0] = 0


def test_no_limit_is_no_limit_however_it_is_said():
    assert arm(limits=(-math.inf, math.inf), friction=0.0) == arm() and "limits" not in arm().to_json()


@pytest.mark.parametrize("options", [
    {"limits": (-1, 2)}, {"friction": (0.1, 0.2)}, {"inertia": (1, 1, 5), "check_inertia": False},
])
def test_round_trips(options):
    model = arm(**options)
    assert mb.Model.from_json(model.to_json()) == pickle.loads(pickle.dumps(model)) == model != arm()
    assert "Infinity" not in model.to_json()


@pytest.mark.parametrize(("options", "message"), [
    ({"limits": (1, -1)}, "lower limit 1.0 is above the upper limit -1.0"),
    ({"limits": 1}, r"expected \(lower, upper\)"),
    ({"limits": ((1, 2, 3), 4)}, "2 dofs"),
    ({"limits": (math.nan, 1)}, "finite number"),
    ({"limits": (-1, 1, -3, 4)}, "must not be negative"),
    ({"friction": -1}, "friction must not be negative"),
    ({"inertia": (1, 1, 5)}, "triangle inequality"),
    ({"inertia": (1, 1, math.inf), "check_inertia": False}, "finite"),
])
def test_bad_input(options, message):
    with pytest.raises(ModelError, match=f"body 'arm'.*{message}"):
        arm(**options)


def test_bad_limits_in_a_file():
    data = json.loads(arm(limits=(-1, 1)).to_json())
    data["bodies"][0]["limits"]["lower"] = 3
    with pytest.raises(ModelError, match=r"bodies\[0\]: limits: lower must be a list"):
        mb.Model.from_dict(data)
