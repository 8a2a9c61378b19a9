"""Mesh files: read, welded, thinned; missing, broken and huge ones become boxes that are named once."""

import struct
import sys
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import ModelWarning
from mbkern.viz import collada, meshes, scene
from mbkern.viz.part import MeshError, Part

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


def binary_stl(count=None):
    triangles = [struct.pack("<12fH", 0, 0, 0, *CORNERS[face].ravel(), 0) for face in FACES]
    head = b"solid, but binary".ljust(80) + struct.pack("<I", len(FACES) if count is None else count)
    return head + b"".join(triangles)


def text_stl():
    lines = ["solid x"]
    for face in FACES:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += ["vertex " + " ".join(map(str, CORNERS[k])) for k in face] + ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid x"]).encode()


OBJ = b"""mtllib colors.mtl
v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
usemtl red
f 1/1/1 3//1 2
f 1 2 4
usemtl unknown
f -3 -2 -1
f 1 4 3
"""
DAE = b"""<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="centimeter" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="t"><phong><diffuse><color>1 0.5 0 1</color></diffuse>
</phong></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
<technique_common><accessor source="#a" count="4" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles material="s" count="2"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="NORMAL" source="#p" offset="1"/><p>0 0 2 0 1 0 0 0 1 0 3 0</p></triangles>
<polylist material="s" count="2"><input semantic="VERTEX" source="#v" offset="0"/>
<vcount>3 4</vcount><p>1 2 3  0 3 2 1</p></polylist>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s1"><node><translate>0 0 200</translate><rotate>0 0 1 90</rotate>
<scale>100 100 100</scale><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="s" target="#m"/></technique_common></bind_material></instance_geometry></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s1"/></scene></COLLADA>"""


@pytest.mark.parametrize(("name", "data"), [("a.stl", binary_stl()), ("a.STL", text_stl()), ("a.obj", OBJ)])
def test_a_tetrahedron_in_every_format(name, data, tmp_path):
    (tmp_path / name).write_bytes(data)
    (tmp_path / "colors.mtl").write_text("newmtl red\nKd 1 0 0\n")
    parts = meshes.read(str(tmp_path / name))
    assert sum(len(part.faces) for part in parts) == 4
    assert {tuple(point) for part in parts for point in part.vertices} == {tuple(corner) for corner in CORNERS}
    volume = sum(np.linalg.det(part.vertices[part.faces]).sum() / 6 for part in parts)
    assert volume == pytest.approx(1 / 6)  # the faces look outward
    if name == "a.obj":
        assert {part.color: len(part.faces) for part in parts} == {(1, 0, 0, 1): 2, None: 2}


def test_collada_places_colours_and_units(tmp_path):
    (tmp_path / "a.dae").write_bytes(DAE)
    [part] = meshes.read(str(tmp_path / "a.dae"))
    assert part.color == (1, 0.5, 0, 1) and len(part.faces) == 4  # one of them was there twice
    # 100 times, in centimetres, turned by 90 degrees about z, lifted by 200 cm
    expected = {(0, 0, 2), (0, 1, 2), (-1, 0, 2), (0, 0, 3)}
    assert {tuple(np.round(point, 12) + 0.0) for point in part.vertices} == expected


def test_collada_agrees_with_trimesh():
    pytest.importorskip("trimesh", reason="needs trimesh: pip install mbkern[viz]")
    pytest.importorskip("collada", reason="needs pycollada")
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        pytest.skip("needs robot files: pip install mbkern[peers]")
    for name in ("panda_description/meshes/visual/finger.dae", "panda_description/meshes/visual/link7.dae"):
        path = next(Path(str(file.locate())) for file in files if str(file).endswith(name))
        ours, theirs = collada.read(path), meshes._by_trimesh(path)
        assert sum(len(part.faces) for part in ours) == sum(len(part.faces) for part in theirs)
        a, b = (np.concatenate([p.vertices[p.faces.ravel()] for p in parts]) for parts in (ours, theirs))
        np.testing.assert_allclose([a.min(axis=0), a.max(axis=0)], [b.min(axis=0), b.max(axis=0)], atol=1e-7)


@pytest.mark.parametrize(("name", "data", "reason"), [
    ("nowhere.stl", None, "no such file"),
    ("package://x/y.stl", None, "no such file"),
    ("cut.stl", binary_stl(10_000), "neither a binary nor a text STL"),
    ("empty.stl", b"", "neither|no triangles"),
    ("a.obj", b"v 0 0 zero\nf 1 1 1", "not readable: ValueError"),
    ("b.obj", b"v 0 0 0\nf 1 2 3", "out of range"),
    ("c.obj", b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3", "out of range"),
    ("a.dae", b"<COLLADA/>", "no scene"),
    ("b.dae", b"<COLLADA>", "not readable: ParseError"),
    ("c.dae", b"<!DOCTYPE c [<!ENTITY a \"b\">]><COLLADA/>", "document type"),
    ("d.dae", DAE.replace(b"0 3 2 1</p>", b"0 3 2 9</p>"), "out of range"),
])
def test_bad_files_are_boxes_that_are_named_once(name, data, reason, tmp_path):
    path = name if "://" in name else str(tmp_path / name)
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(MeshError, match=reason):
        meshes.read(path)
    b = mb.ModelBuilder()
    b.add_body("arm", joint=mb.revolute("x"), mass=1, inertia=(1, 1.5, 2))
    b.add_visual("arm", "mesh", mesh=path)
    b.add_visual("arm", "mesh", mesh=path, position=(1, 0, 0))
    with pytest.warns(ModelWarning, match="meshes drawn as boxes") as caught:
        drawn = scene.build(b.build(), np.zeros((1, 1)), np.zeros(1), 1000)
    assert len(caught) == 1 and str(caught[0].message).count(path) == 1
    assert [shape.kind for shape in drawn.shapes if shape.role == "body"] == ["box", "box"]


def test_huge_files_are_not_read(tmp_path, monkeypatch):
    (tmp_path / "a.stl").write_bytes(binary_stl())
    monkeypatch.setattr(meshes, "LARGEST_FILE", 100)
    with pytest.raises(MeshError, match="too much to draw"):
        meshes.read(str(tmp_path / "a.stl"))


def test_other_formats_ask_for_trimesh(tmp_path, monkeypatch):
    (tmp_path / "a.ply").write_bytes(b"ply")
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(MeshError, match=r"reading \.ply needs the package trimesh: pip install mbkern\[viz\]"):
        meshes.read(str(tmp_path / "a.ply"))


def test_thinning_keeps_the_form():
    u, v = np.meshgrid(np.linspace(0, np.pi, 101), np.linspace(0, 2 * np.pi, 201), indexing="ij")
    points = np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)], axis=-1).reshape(-1, 3)
    k = (np.arange(100)[:, None] * 201 + np.arange(200)).ravel()
    ball = meshes.checked(Part(points, np.concatenate([np.column_stack([k, k + 201, k + 1]),
                                                       np.column_stack([k + 1, k + 201, k + 202])])))
    few = meshes.thinned(ball, 3000)
    assert 1000 < len(few.faces) <= 3000 < len(ball.faces)
    assert np.linalg.det(few.vertices[few.faces]).sum() / 6 == pytest.approx(4 / 3 * np.pi, rel=0.03)
    assert meshes.thinned(few, 3000) is few


def test_a_model_loads_without_reading_meshes(tmp_path, monkeypatch):
    monkeypatch.setattr(meshes, "read", lambda path: pytest.fail("read"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = mb.load_urdf('''<robot name="r"><link name="world"/><link name="a"><inertial><mass value="1"/>
            <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
            <visual><geometry><mesh filename="package://nowhere/a.stl"/></geometry></visual></link>
            <joint name="j" type="continuous"><parent link="world"/><child link="a"/></joint></robot>''')
    mb.System(model).mass_matrix([0.0])
    assert model.visuals["a"][0].path == "package://nowhere/a.stl"
