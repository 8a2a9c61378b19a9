"""JSON: exact round trips, and files that are refused."""

import copy
import json

import numba
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mbkern as mb
from mbkern.errors import ModelError


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_random_trees_round_trip_exactly(n, seed):
    model = mb.zoo.random_tree(n, seed=seed)
    twin = mb.Model.from_json(model.to_json())
    assert twin == model and hash(twin) == hash(model)
    assert twin.bodies.tobytes() == model.bodies.tobytes()
    assert twin.steps.tobytes() == model.steps.tobytes()
    assert [body.joint.kind for body in twin.body_specs] == [body.joint.kind for body in model.body_specs]


def everything():
    b = mb.ModelBuilder(gravity=(0.1, 0.2, 0.3), name="Zürich")
    box = dict(mass=0.1 + 0.2, com=(1 / 3, 0, 0), inertia=(0.3, 0.4, 0.5, 0.01, 0.02, -0.03))
    drives = [mb.harmonic(0.1, 0.2, 0.3, 0.4), mb.polynomial([1 / 3, 2 / 3]), mb.spline([0, 1, 3], [0.1, 0.2, 0.7])]
    b.add_body("a", joint=[mb.rotate((1, 2, 3), drive) for drive in drives], **box)
    b.add_body("b", "a", mb.free("base"), damping=0.1, **box)
    b.add_body("c", "b", [mb.ball(), mb.translate("z", 1 / 7), mb.rotate("z", name="spin")], **box)
    b.add_body("d", "c", mb.revolute("x"), stiffness=1.1, damping=2.2, rest=3.3, armature=4.4,
               rotation=(0.6, 0.8, 0, 0), **box)
    return b.build()


def test_everything_round_trips(tmp_path):
    model = everything()
    path = tmp_path / "model.json"
    model.save(path)
    assert mb.load(path) == mb.load(str(path)) == model
    assert mb.Model.from_dict(model.to_dict()) == model
    twin = mb.load(path)
    assert twin.coordinate_names == model.coordinate_names
    assert twin.body_specs[0].joint.elements[2].amount(0.5) == model.body_specs[0].joint.elements[2].amount(0.5)


def test_the_file_is_plain_json():
    data = json.loads(everything().to_json())
    assert data["format"] == "mbkern-model" and data["version"] == 1
    assert data["bodies"][1]["parent"] == "a" and data["bodies"][0]["parent"] == "world"
    assert data["bodies"][0]["joint"]["elements"][0]["amount"]["drive"] == "harmonic"


@numba.njit
def ramp(t):
    return t, 1.0, 0.0


def test_a_function_drive_cannot_be_written(tmp_path):
    b = mb.ModelBuilder()
    b.add_body("table", joint=mb.rotate("z", mb.drive(ramp)), mass=1.0)
    model = b.build()
    path = tmp_path / "model.json"
    with pytest.raises(ModelError, match=r"body 'table': a drive\(f\) is compiled code and cannot be written as JSON"):
        model.save(path)
    assert not path.exists()


def change(*keys, value):
    """`everything()` as a dict with one entry replaced."""
    data = copy.deepcopy(everything().to_dict())
    inner = data
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "model: expected an object"),
        ([], "model: expected an object"),
        ({}, "missing: format, version, name, gravity, bodies"),
        (change("colour", value=1), "unknown: colour"),
        (change("format", value="urdf"), "expected format 'mbkern-model' version 1, got 'urdf'"),
        (change("version", value=2), "version 2"),
        (change("bodies", value={}), "bodies must be a list"),
        (change("bodies", value=[]), "the model is empty"),
        (change("bodies", 1, value=3), r"bodies\[1\]: expected an object"),
        (change("bodies", 1, "mass", value=-1), "body 'b': mass must not be negative"),
        (change("bodies", 1, "parent", value="x"), "body 'b': its parent 'x' was never added"),
        (change("bodies", 1, "joint", value=None), r"bodies\[1\]: joint: expected an object"),
        (change("bodies", 1, "joint", "elements", value=3), r"bodies\[1\]: joint: elements must be a list"),
        (change("bodies", 1, "joint", "kind", value=""), r"bodies\[1\]: joint: joint: kind"),
        (change("bodies", 1, "joint", "elements", 0, "move", value="fly"), r"elements\[0\]: move must be"),
        (change("bodies", 2, "joint", "elements", 1, "axis", value=[0, 0, 0]), r"elements\[1\]: translate: axis"),
        (change("bodies", 2, "joint", "elements", 1, "move", value=["x"]), r"elements\[1\]: move must be"),
        (change("bodies", 0, "joint", "elements", 0, "amount", "drive", value="f"), "drive must be one of 'harmonic'"),
        (change("bodies", 0, "joint", "elements", 0, "amount", "drive", value=["f"]), "drive must be one of"),
        (change("bodies", 0, "joint", "elements", 0, "amount", "omega", value=None), r"elements\[0\]: .*omega"),
        (change("bodies", 0, "joint", "elements", 2, "amount", "t", value=[0, 0, 0]), "increase strictly"),
    ],
)
def test_bad_data_is_refused_and_located(data, message):
    with pytest.raises(ModelError, match=message):
        mb.Model.from_dict(data)


@pytest.mark.parametrize("text", ["", "{", "nonsense", "[" * 100_000])
def test_texts_that_are_not_json(text):
    with pytest.raises(ModelError, match="not a JSON text"):
        mb.Model.from_json(text)


def test_not_a_number_in_a_file():
    text = everything().to_json().replace('"mass": 0.30000000000000004', '"mass": NaN', 1)
    with pytest.raises(ModelError, match="body 'a': mass: expected a finite number, got nan"):
        mb.Model.from_json(text)


def test_errors_of_load_name_the_file(tmp_path):
    path = tmp_path / "broken.json"
    path.write_text("{")
    with pytest.raises(ModelError, match=r"broken\.json: not a JSON text"):
        mb.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelError, match=r"broken\.json: not a text file"):
        mb.load(path)
    for error in (ModelError, FileNotFoundError):  # whoever expects either
        with pytest.raises(error, match=r"load: no file '.*absent\.json'"):
            mb.load(tmp_path / "absent.json")
    with pytest.raises(ModelError, match="load: cannot read"):
        mb.load(tmp_path)
