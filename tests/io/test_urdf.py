"""URDF files: the same machine as Pinocchio reads, and files that are refused with their line."""

import math
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import ModelError, ModelWarning
from mbkern.io import xml

HERE = Path(__file__).parent
ARM, ROVER = HERE / "arm.urdf", HERE / "rover.urdf"
# Both sides compute in double precision; only conditioning separates them (worst robot known: 3e-10).
TOLERANCE = 1e-9


def load(path, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return mb.load_urdf(path, *args, **options)


@pytest.mark.parametrize("floating_base", [False, True])
@pytest.mark.parametrize("path", [ARM, ROVER], ids=lambda path: path.stem)
def test_agrees_with_pinocchio(path, floating_base):
    pytest.importorskip("pinocchio", reason="needs Pinocchio: pip install mbkern[peers]")
    from pin_urdf import PinUrdf

    model = load(path, floating_base, mimic="free")
    assert (PinUrdf(path, model, floating_base).compare(seeds=range(3)) < TOLERANCE).all()


def robot_files():
    """All URDF files of the package example-robot-data, if it is installed."""
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        return []
    return sorted(Path(str(file.locate())) for file in files if file.suffix == ".urdf")


def test_every_robot_loads_by_default():
    paths = robot_files()
    if not paths:
        pytest.skip("needs robot files: pip install mbkern[peers]")
    refused = []
    for path in paths:
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            try:
                mb.load_urdf(path)
            except ModelError as error:
                refused.append(f"{path.name}: {error}")
        assert len(notes) <= 1, path
    assert len(paths) >= 69 and all("no <link>" in text for text in refused) and len(refused) <= 1, refused


@pytest.mark.slow
def test_agrees_with_pinocchio_on_real_robots():
    pytest.importorskip("pinocchio", reason="needs Pinocchio: pip install mbkern[peers]")
    from pin_urdf import PinUrdf

    paths = robot_files()
    if not paths:
        pytest.skip("needs robot files: pip install mbkern[peers]")
    agreed = 0
    for path in paths:
        if b"<link" not in path.read_bytes():
            continue
        for floating_base in (False, True):
            model = load(path, floating_base, mimic="free")  # as Pinocchio takes them
            if model.nv:
                errors = PinUrdf(path, model, floating_base).compare()
                assert (errors < TOLERANCE).all(), (path.name, floating_base, errors)
                agreed += 1
    assert agreed >= 134


# ---- what is in the model -------------------------------------------------------------------------------------------


def test_names_limits_damping_and_friction():
    model = load(ARM)
    assert model.coordinate_names == ("turn", "lift", "reach", "spin")
    assert model.body_names == ("table", "shoulder", "upper_arm", "slider", "flange", "tool")
    assert model.parents.tolist() == [-1, 0, 1, 2, 3, 4]
    assert model.damping.tolist() == [0.5, 0.0, 12.0, 0.0]
    assert model.friction.tolist() == [0.2, 0.0, 0.0, 0.0]
    assert model.limits.lower.tolist() == [-math.inf, -1.2, 0.0, -3.0]
    assert model.limits.upper.tolist() == [math.inf, 2.5, 0.4, 3.0]
    assert model.limits.velocity.tolist() == [3.0, 2.0, 0.5, 10.0]
    assert model.limits.effort.tolist() == [80.0, 60.0, 200.0, 5.0]
    assert model.body_specs[5].joint.elements[0].axis == (1.0, 0.0, 0.0)  # the default axis of the format
    twin = mb.Model.from_json(model.to_json())
    assert twin == model and all(np.array_equal(a, b) for a, b in zip(twin.limits, model.limits, strict=True))


@pytest.mark.filterwarnings("ignore::mbkern.errors.ModelWarning")
def test_every_link_is_a_frame():
    """Those on fixed joints too, with mass or without; "world" is the ground and needs no name."""
    frames = mb.load_urdf(ARM).frames
    assert list(frames) == ["table", "shoulder", "upper_arm", "slider", "flange", "tool"]
    assert all(frame.body >= 0 and frame.position == (0, 0, 0) for frame in frames.values())


def test_floating_base_and_planar_names():
    assert load(ARM, floating_base=True).coordinate_names[:7] == tuple(
        f"floating_base.{part}" for part in ("x", "y", "z", "qw", "qx", "qy", "qz"))
    assert "world_link" in load(ARM, floating_base=True).body_names
    names = load(ROVER, mimic="free").coordinate_names
    assert names[:5] == ("drive.x", "drive.y", "drive.angle", "open", "open_too") and names[5] == "flight.x"


@pytest.mark.parametrize("axis, plane", [("0 0 1", "xy"), ("1 0 0", "yz"), ("0 -2 0", "zx"), (None, "yz")])
@pytest.mark.filterwarnings("ignore:planar joints")
def test_the_axis_of_a_planar_joint_is_its_normal(axis, plane):
    """The format says so, and that (1, 0, 0) is the default; Pinocchio's loader ignores it, so it is no witness."""
    element = "" if axis is None else f'<axis xyz="{axis}"/>'
    model = mb.load_urdf(f'''<robot name="r"><link name="world"/><link name="b"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="planar"><parent link="world"/><child link="b"/>{element}</joint></robot>''')
    R, r = mb.System(model).body_poses([0.3, 0.2, 0.7])
    normal = ({"x", "y", "z"} - set(plane)).pop()
    n = np.eye(3)["xyz".index(normal)]
    assert r[0] @ n == 0.0 and np.hypot(*r[0][["xyz".index(c) for c in plane]]) == pytest.approx(np.hypot(0.3, 0.2))
    np.testing.assert_allclose(R[0] @ n, n, atol=1e-15)


def test_planar_joints_as_pinocchio_reads_them():
    text = '''<robot name="r"><link name="base"/><link name="b"><inertial>
        <origin xyz="0.1 0.2 0.3"/><mass value="2"/>
        <inertia ixx="1" iyy="1.5" izz="2" ixy="0.1" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="planar"><parent link="base"/><child link="b"/><axis xyz="0 1 0"/></joint></robot>'''
    with pytest.warns(mb.errors.ModelWarning, match="planar joints j.*planar=\"z\""):
        standard = mb.load_urdf(text)
    with pytest.warns(mb.errors.ModelWarning, match="planar joints j: z is the normal"):
        ours = mb.load_urdf(text, planar="z")
    pinocchio = pytest.importorskip("pinocchio")
    peer = pinocchio.buildModelFromXML(text)
    M = pinocchio.crba(peer, peer.createData(), pinocchio.neutral(peer))
    M = np.triu(M) + np.triu(M, 1).T
    np.testing.assert_allclose(mb.System(ours).mass_matrix(ours.neutral()), M, rtol=1e-12, atol=1e-14)
    assert not np.allclose(mb.System(standard).mass_matrix(standard.neutral()), M)
    with pytest.raises(ModelError, match="planar must be 'axis' or 'z'"):
        mb.load_urdf(text, planar="y")


def test_text_bytes_and_paths_give_the_same_model():
    model = load(ARM)
    assert load(str(ARM)) == load(ARM.read_text()) == load(ARM.read_bytes()) == model


def test_ignored_tags_are_listed_once():
    with pytest.warns(ModelWarning) as caught:
        mb.load_urdf(ARM)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert text.count("<transmission> (1)") == 1
    assert not any(word in text for word in ("visual", "collision", "material"))  # shapes are no part of the dynamics
    assert caught[0].filename == __file__


def test_a_file_with_nothing_ignored_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mb.load_urdf(robot(link("a", 1), link("b", 1), joint("a", "b")))


def test_mimic_joints():
    with pytest.raises(ModelError, match=r"<mimic> \(line 32\): joint 'open_too' mimics 'open'.*mimic=\"free\""):
        mb.load_urdf(ROVER, mimic="error")
    with pytest.warns(ModelWarning, match="mimic joints made coordinates of their own.*open_too"):
        free = mb.load_urdf(ROVER, mimic="free")
    geared = load(ROVER)
    assert geared.constraints[0].terms == (("open", (0.0, -1.0)),) and geared.constraints[0].offset == 0.1
    assert geared.coordinate_names == free.coordinate_names
    fixed = load(ROVER, mimic="fix")
    assert "open_too" in free.coordinate_names and "open_too" not in fixed.coordinate_names
    assert fixed.body_specs[3].joint.elements[0].amount == 0.1  # the offset: where it is when the leader is at zero
    with pytest.raises(ModelError, match="mimic must be"):
        mb.load_urdf(ROVER, mimic="maybe")


def test_gravity():
    assert mb.load_urdf(robot(link("a", 1)), True, gravity=(0, 0, -1.6)).gravity.tolist() == [0, 0, -1.6]


def test_quaternion_origins_agree_with_angles():
    turned = dict(rpy='<origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/>',
                  quat=f'<origin xyz="1 0 0" quat_xyzw="0 0 {math.sqrt(0.5)!r} {math.sqrt(0.5)!r}"/>')
    a, b = (mb.load_urdf(robot(link("a", 1), link("b", 1), joint("a", "b", more=text))) for text in turned.values())
    assert np.allclose(a.bodies.rotation, b.bodies.rotation, atol=1e-15)


def test_an_impossible_inertia_can_be_taken_as_it_is(tmp_path):
    text = robot(link("a", 1), link("b", 1, "1 1 5"), joint("a", "b"))
    with pytest.warns(ModelWarning, match="inertia that no rigid body has, taken as it is: b"):
        model = mb.load_urdf(text)
    assert model.bodies.inertia[1].diagonal().tolist() == [1, 1, 5]
    model.save(tmp_path / "model.json")
    assert mb.load(tmp_path / "model.json") == model


def test_joints_that_move_no_mass_are_welded_or_named():
    """The slider has inertia but no mass, the hand and its finger have neither."""
    text = robot(link("a", 1), link("slider", 0), link("hand"), link("finger"), link("b", 1), joint("a", "slider",
                 "prismatic"), joint("slider", "hand"), joint("hand", "finger", "floating"), joint("a", "b"))
    with pytest.warns(ModelWarning, match=r'welded.*a_slider \(link .slider.\), slider_hand.*, hand_finger') as caught:
        model = mb.load_urdf(text)
    assert len(caught) == 1
    assert model.coordinate_names == ("a_b",) and model.n_bodies == 5
    with pytest.raises(ModelError, match=r'line 5\).*hand_finger.*moves nothing.*massless="weld"'):
        mb.load_urdf(text, massless="error")
    with pytest.raises(ModelError, match="massless must be 'weld' or 'error', got 'drop'"):
        mb.load_urdf(text, massless="drop")


@pytest.mark.parametrize(("more", "note"), [
    ('<dynamics damping="-1"/>', "negative damping of joint 'a_b' left out"),
    ('<limit lower="1" upper="0"/>', "limits of joint 'a_b' left out"),
    ('<limit lower="0" upper="1" velocity="-1"/>', "negative limit of the velocity"),
    ('<axis xyz="1 0 0"/><axis xyz="0 1 0"/>', r"second <axis> of <joint name='a_b'> \(line 4\) is not used"),
])
def test_slips_are_named_and_left_out(more, note):
    with pytest.warns(ModelWarning, match=note):
        model = mb.load_urdf(robot(a1, b1, joint("a", "b", "revolute", more)))
    assert model.damping.tolist() == [0] and model.limits.velocity.tolist() == [math.inf]
    assert model.body_specs[1].joint.elements[0].axis == (1, 0, 0)


# ---- what is refused -------------------------------------------------------------------------------------------------


def link(name, mass=None, moments="1 1 1"):
    if mass is None:
        return f'<link name="{name}"/>'
    xx, yy, zz = moments.split()
    return (f'<link name="{name}"><inertial><mass value="{mass}"/>'
            f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/></inertial></link>')


def joint(parent, child, kind="continuous", more='<axis xyz="0 0 1"/>', name=None):
    name = name or f"{parent}_{child}"
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{more}</joint>'


def robot(*lines):
    return "\n".join(["<robot name='r'>", *lines, "</robot>"])


BOMB = """<?xml version="1.0"?>
<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;">]>
<robot name="&c;"><link name="a"/></robot>"""
a1, b1, c1 = link("a", 1), link("b", 1), link("c", 1)
BAD = {
    "cycle": (robot(link("root", 1), a1, b1, joint("a", "b"), joint("b", "a")), r"line 5|line 6", "carried by"),
    "no root": (robot(a1, b1, joint("a", "b"), joint("b", "a")), r"line [45]", "carried by"),
    "two roots": (robot(a1, b1), "line 3", "more than one root link: 'a' \\(line 2\\), 'b' \\(line 3\\)"),
    "two parents": (robot(a1, b1, c1, joint("a", "c"), joint("a", "b"), joint("b", "c")), "line 7", "closed loop"),
    "own parent": (robot(a1, joint("a", "a")), "line 3", "its own parent"),
    "unknown joint type": (robot(a1, b1, joint("a", "b", "helical")), "line 4", "unknown joint type 'helical'"),
    "missing link": (robot(a1, b1, joint("a", "bb")), "line 4", "child link 'bb' does not exist. Did you mean 'b'"),
    "no child": (robot(a1, '<joint name="j" type="fixed"><parent link="a"/></joint>'), "line 3", "<child link"),
    "zero axis": (robot(a1, b1, joint("a", "b", more='\n<axis xyz="0 0 0"/>')), "line 5", "zero vector"),
    "negative inertia": (robot(a1, link("b", 1, "1 1 -1"), joint("a", "b")), "line 3", "link 'b'.*not positive"),
    "triangle inequality": (robot(a1, link("b", 1, "1 1 5"), joint("a", "b")), "line 3", "link 'b'.*triangle"),
    "negative mass": (robot(link("a", -1)), "line 2", "must not be negative"),
    "not a number": (robot(link("a", "1,5")), "line 2", "expected a finite number, got '1,5'"),
    "not finite": (robot(link("a", "inf")), "line 2", "expected a finite number"),
    "infinite inertia": (robot(link("a", 1, "nan 1 1")), "line 2", "expected a finite number"),
    "two numbers": (robot(a1, b1, joint("a", "b", more='<axis xyz="0 1"/>')), "line 4", "expected 3 numbers"),
    "no inertia": (robot('<link name="a"><inertial><mass value="1"/></inertial></link>'), "line 2", "<inertia>.*'a'"),
    "same link twice": (robot(a1, a1), "line 3", "stands already in line 2"),
    "same joint twice": (robot(a1, b1, c1, joint("a", "b", name="j"), joint("a", "c", name="j")), "line 6", "line 5"),
    "nameless": (robot("<link/>"), "line 2", "attribute 'name' is missing"),
    "nothing moves": (robot(a1, link("b"), joint("a", "b")), "line 3", "'b'.*moves nothing.*massless=\"weld\""),
    "no links": ("<robot/>", "line 1", "no <link>"),
    "only the world": ('<robot><link name="world"/></robot>', "line 1", "no link beside the world"),
    "another format": ("<urdf/>", "line 1", "expected <robot>"),
    "MJCF": ("<mujoco/>", "line 1", "load_mjcf reads it"),
    "SDF": ('<sdf version="1.7"/>', "line 1", "load_sdf reads it"),
    "xacro": (robot(a1, '<xacro:property name="width" value="0.2"/>'), "line 3", "xacro file.*expand it first"),
    "xacro value": (robot(link("a", "${m}")), "line 2", "xacro file.*expand it first"),
    "entity bomb": (BOMB, "line 2", "document type declaration"),
    "external entity": ('<!DOCTYPE r SYSTEM "file:///etc/hostname"><robot/>', "line 1", "document type declaration"),
    "cut short": (ARM.read_text()[:900], "line 18", "not well-formed"),
    "garbage": ("<\x00\x01garbage", "line 1", "not well-formed"),
    "empty": (b"", "line 1", "not well-formed"),
    "deep": ("<robot>" + "<a>" * 100_000, "line 1", "nested"),
    "unknown encoding": (b'<?xml version="1.0" encoding="klingon"?><robot/>', "line 1", "klingon|encoding|unknown"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_with_their_line(case):
    text, line, message = BAD[case]
    with pytest.raises(ModelError, match=line) as caught:
        load(text, check_inertia=True, massless="error", mimic="error")
    assert caught.match(message)


def test_elements_may_be_nested_as_deep_as_the_message_says():
    parse = xml.parse
    assert sum(1 for _ in parse(b"<a>" * 200 + b"</a>" * 200, "").walk()) == 200
    with pytest.raises(ModelError, match="nested more than 200 deep"):
        parse(b"<a>" * 201 + b"</a>" * 201, "")


@pytest.mark.parametrize("garbage", [b"\x93\x07" * 5_000_000, b"<a" * 5_000_000, b"<a>" * 3_500_000, b"x" * 10_000_000])
def test_ten_megabytes_of_garbage(garbage, tmp_path):
    path = tmp_path / "garbage.urdf"
    path.write_bytes(garbage)
    for source in (path, garbage, garbage.decode("latin-1")):
        with pytest.raises(ModelError, match="line 1"):
            mb.load_urdf(source)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ModelError, match=r"no file '.*nowhere\.urdf'"):
        mb.load_urdf(tmp_path / "nowhere.urdf")
    with pytest.raises(ModelError, match="cannot read"):
        mb.load_urdf(tmp_path)
    with pytest.raises(ModelError, match="cannot read"):
        mb.load_urdf("robot\0.urdf")
    with pytest.raises(ModelError, match="expected a path or XML text, got 3"):
        mb.load_urdf(3)


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "two_roots.urdf"
    path.write_text(BAD["two roots"][0])
    with pytest.raises(ModelError, match=r"two_roots\.urdf: <link name='b'> \(line 3\)"):
        mb.load_urdf(path)
