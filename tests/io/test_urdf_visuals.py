"""<visual> shapes of URDF files: what they are, and where their meshes are looked for."""

import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import ModelWarning

INERTIAL = """<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""


def robot(*visuals, more=""):
    shapes = "".join(f"<visual>{visual}</visual>" for visual in visuals)
    return f'''<robot name="r">{more}<link name="world"/><link name="a">{INERTIAL}{shapes}</link>
        <joint name="j" type="continuous"><parent link="world"/><child link="a"/></joint></robot>'''


def shapes(text, **options):
    return mb.load_urdf(text, **options).visuals.get("a", ())


def test_shapes_places_and_colours():
    box, cylinder, ball = shapes(robot(
        '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><geometry><box size="1 2 3"/></geometry>'
        '<material name="paint"><color rgba="1 0.5 0 0.4"/></material>',
        '<geometry><cylinder radius="0.1" length="2"/></geometry><material name="steel"/>',
        '<geometry><sphere radius="0.5"/></geometry><material name="paint"/>',
        more='<material name="steel"><color rgba="0.5 0.5 0.5 1"/></material>'))
    assert (box.kind, box.size, box.position, box.color) == ("box", (1, 2, 3), (1, 2, 3), (1, 0.5, 0, 0.4))
    np.testing.assert_allclose(np.array(box.rotation) @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    assert (cylinder.kind, cylinder.size, cylinder.color) == ("cylinder", (0.1, 2), (0.5, 0.5, 0.5, 1))
    assert (ball.kind, ball.size, ball.color) == ("sphere", (0.5,), (1, 0.5, 0, 0.4))


def test_a_mesh_is_drawn_as_large_as_it_is_unless_a_scale_is_given():
    plain, scaled = shapes(robot('<geometry><mesh filename="a.stl"/></geometry>',
                                 '<geometry><mesh filename="a.stl" scale="2 3 4"/></geometry>'))
    assert (plain.size, scaled.size) == ((1.0, 1.0, 1.0), (2.0, 3.0, 4.0))


def test_colours_beyond_what_there_is_are_the_nearest_there_are():
    [shape] = shapes(robot('<geometry><sphere radius="1"/></geometry>'
                           '<material name="glow"><color rgba="-0.5 1.5 0.2 255"/></material>'))
    assert shape.color == (0.0, 1.0, 0.2, 1.0)


@pytest.mark.parametrize("geometry", ['<box size="1 2"/>', "<torus/>", '<sphere radius="-1"/>',
                                      '<mesh filename=""/>', '<mesh filename="a.stl" scale="1 0 1"/>'])
def test_a_bad_shape_is_left_out_and_named(geometry):
    with pytest.warns(ModelWarning, match="a shape of link 'a' left out"):
        assert shapes(robot(f"<geometry>{geometry}</geometry>")) == ()


@pytest.fixture
def folder(tmp_path):
    for name in ("work/r_description/urdf", "work/r_description/meshes", "elsewhere/other/meshes"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("work/r_description/meshes/a.stl", "work/r_description/urdf/b.stl", "elsewhere/other/meshes/c.stl"):
        (tmp_path / name).touch()
    return tmp_path


def found(folder, address, **options):
    path = folder / "work/r_description/urdf/r.urdf"
    path.write_text(robot(f'<geometry><mesh filename="{address}" scale="1 2 3"/></geometry>'))
    [shape] = shapes(path, **options)
    assert shape.size == (1, 2, 3)
    return shape.path


def test_packages_above_the_file_and_names_beside_it(folder):
    assert found(folder, "package://r_description/meshes/a.stl") == str(folder / "work/r_description/meshes/a.stl")
    assert found(folder, "package:///r_description/meshes/a.stl") == str(folder / "work/r_description/meshes/a.stl")
    assert found(folder, "b.stl") == str(folder / "work/r_description/urdf/b.stl")
    assert found(folder, "../meshes/a.stl").endswith("r_description/urdf/../meshes/a.stl")
    assert found(folder, f"file://{folder}/x%20y.stl") == f"{folder}/x y.stl"


def test_packages_of_an_argument_and_of_ros(folder, monkeypatch):
    there = str(folder / "elsewhere/other/meshes/c.stl")
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    assert found(folder, "package://other/meshes/c.stl") == "package://other/meshes/c.stl"
    assert found(folder, "package://other/meshes/c.stl", package_dirs=[folder / "elsewhere"]) == there
    assert found(folder, "package://other/meshes/c.stl", package_dirs=folder / "elsewhere/other") == there
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{folder / 'elsewhere'}")
    assert found(folder, "package://other/meshes/c.stl") == there


def test_what_leads_nowhere_stays_as_it_is(folder):
    for address in ("package://nobody/a.stl", "http://example.org/a.stl", "c.stl"):
        assert found(folder, address) == address
