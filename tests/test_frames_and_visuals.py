"""Frames and shapes as data of a model: checked, kept through files and pickles, no part of the dynamics."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import ModelError
from mbkern.model.visual import equivalent

TETRAHEDRON = ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)])
TURN = (np.sqrt(0.5), 0, 0, np.sqrt(0.5))  # about z by 90 degrees


def arm():
    b = mb.ModelBuilder(name="arm")
    b.add_frame("tool", "hand", (0.1, 0, 0), TURN)  # its body comes later
    b.add_body("hand", "arm", mb.revolute("x"), mass=1, inertia=(1, 1, 1))
    b.add_body("arm", joint=mb.revolute("z"), mass=1, com=(1, 0, 0), inertia=(1, 1, 1))
    b.add_frame("camera", "world", (0, 0, 2))
    return b


def shown():
    b = arm()
    b.add_visual("hand", "box", (1, 2, 3), color="#ff8000", position=(0, 0, 1), rotation=TURN)
    b.add_visual("world", "mesh", 0.001, mesh=Path("rock.stl"))
    b.add_visual("hand", "mesh", mesh=TETRAHEDRON, color=(0, 1, 0, 0.5))
    return b


def test_frames_are_bodies_and_what_was_added():
    frames = arm().build().frames
    assert list(frames) == ["arm", "hand", "tool", "camera"]
    assert frames["hand"] == (1, ((1, 0, 0), (0, 1, 0), (0, 0, 1)), (0, 0, 0))
    assert frames["tool"].body == 1 and frames["tool"].position == (0.1, 0, 0) and frames["camera"].body == -1
    np.testing.assert_allclose(np.array(frames["tool"].rotation) @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    with pytest.raises(TypeError):
        frames["tool"] = frames["hand"]


@pytest.mark.parametrize("copy", [lambda m: mb.Model.from_json(m.to_json()), lambda m: pickle.loads(pickle.dumps(m))],
                         ids=["json", "pickle"])
def test_copies_keep_frames_and_shapes(copy):
    model = shown().build()
    twin = copy(model)
    assert twin == model and hash(twin) == hash(model) and dict(twin.frames) == dict(model.frames)
    assert twin.to_dict() == model.to_dict()
    assert twin.visuals["hand"][1].faces.tolist() == [list(face) for face in TETRAHEDRON[1]]
    assert twin.visuals["world"][0].path == "rock.stl" and twin.visuals["world"][0].size == (0.001,) * 3


def test_frames_make_another_model_and_shapes_do_not():
    plain, other = arm(), arm()
    other.add_frame("sensor", "arm")
    assert plain.build() != other.build()
    assert shown().build() == plain.build() and hash(shown().build()) == hash(plain.build())
    assert not np.any(mb.System(shown().build()).block != mb.System(plain.build()).block)


def test_varied_machines_keep_them():
    model = shown().build()
    one = model.vary("arm", mass=[1.0, 2.0]).model_of(1)
    assert dict(one.frames) == dict(model.frames) and one.visuals == model.visuals


def test_files_without_them_read_as_before():
    assert set(mb.zoo.chain(2).to_dict()) == {"format", "version", "name", "gravity", "bodies"}


@pytest.mark.parametrize(("add", "message"), [
    (lambda b: b.add_frame("tool", "arm"), "frame 'tool': a frame of this name"),
    (lambda b: b.add_frame("arm", "hand"), "frame 'arm': a body has this name"),
    (lambda b: b.add_frame("world", "hand"), "reserved for the ground"),
    (lambda b: b.add_frame("x", "hnad"), "frame 'x': its body 'hnad' was never added. Did you mean 'hand'"),
    (lambda b: b.add_frame("x", "hand", (0, 0)), "frame 'x': position: expected 3 numbers"),
    (lambda b: b.add_frame("x", "hand", rotation=np.diag([1, 1, 2])), "frame 'x': rotation: .*orthonormal"),
    (lambda b: b.add_frame(3, "hand"), "name: expected a non-empty string"),
    (lambda b: b.add_visual("amr", "sphere", 1), "visual: its body 'amr' was never added. Did you mean 'arm'"),
    (lambda b: b.add_visual("arm", "cube", 1), "kind must be one of 'box'"),
    (lambda b: b.add_visual("arm", "box", (1, 2)), "size of a box: expected .length along x"),
    (lambda b: b.add_visual("arm", "sphere", -1), "size of a sphere must not be negative"),
    (lambda b: b.add_visual("arm", "mesh"), "mesh .a file, or vertices and faces. belongs"),
    (lambda b: b.add_visual("arm", "box", (1, 1, 1), mesh="a.stl"), "belongs to kind 'mesh'"),
    (lambda b: b.add_visual("arm", "mesh", mesh=([(0, 0, 0)], [(0, 1, 2)])), "faces must be integers .*from 0 to 0"),
    (lambda b: b.add_visual("arm", "mesh", mesh=([(0, 0, np.nan)], [(0, 0, 0)])), "vertices must be finite"),
    (lambda b: b.add_visual("arm", "mesh", mesh=3), "expected a file, or .vertices, faces."),
    (lambda b: b.add_visual("arm", "mesh", (1, 0, 1), mesh="a.stl"), "no scale may be 0"),
    (lambda b: b.add_visual("arm", "sphere", 1, color="red"), "color: expected '#rrggbb'"),
    (lambda b: b.add_visual("arm", "sphere", 1, color=(2, 0, 0)), "numbers from 0 to 1"),
])
def test_bad_input(add, message):
    b = arm()
    with pytest.raises(ModelError, match=message):
        add(b)
        b.build()


@pytest.mark.parametrize(("change", "message"), [
    ({"frames": 3}, "frames must be a list"),
    ({"frames": [{"name": "x"}]}, r"frames\[0\]: .*missing: body"),
    ({"visuals": [{"body": "arm", "kind": "mesh", "size": [1, 1, 1], "position": [0, 0, 0], "rotation": None}]},
     "mesh .a file"),
])
def test_bad_files(change, message):
    with pytest.raises(ModelError, match=message):
        mb.Model.from_dict({**arm().build().to_dict(), **change})


@pytest.mark.parametrize(("kind", "size", "moments"), [
    ("sphere", (0.3,), [0.4 * 0.09] * 3),
    ("cylinder", (0.2, 3.0), [0.25 * 0.04 + 9 / 12] * 2 + [0.5 * 0.04]),  # a rod
    ("cylinder", (2.0, 0.3), [0.25 * 4 + 0.09 / 12] * 2 + [0.5 * 4]),  # a disc
    ("box", (1.0, 2.0, 3.0), [13 / 12, 10 / 12, 5 / 12]),
])
def test_the_equivalent_solid_has_the_inertia(kind, size, moments):
    rng = np.random.default_rng(1)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    J = R @ np.diag(moments) @ R.T * 7.0
    shape = equivalent(7.0, tuple(map(tuple, J.tolist())))
    assert shape.kind == kind and sorted(shape.size) == pytest.approx(sorted(size))
    turned = np.array(shape.rotation)
    assert np.linalg.det(turned) == pytest.approx(1)
    if kind == "cylinder":
        assert shape.size == pytest.approx(size) and abs(turned[:, 2] @ R[:, 2]) == pytest.approx(1)
    elif kind == "box":
        np.testing.assert_allclose(abs(turned.T @ R), np.eye(3), atol=1e-9)


def test_impossible_inertias_have_shapes_too():
    assert equivalent(1.0, ((1, 0, 0), (0, 1, 0), (0, 0, 5))).kind in ("cylinder", "box")
    assert equivalent(1.0, ((0, 0, 0),) * 3) is None and equivalent(0.0, ((1, 0, 0), (0, 1, 0), (0, 0, 1))) is None
