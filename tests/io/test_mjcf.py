"""MJCF files: mass matrix and unconstrained accelerations are MuJoCo's own."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import ModelError, ModelWarning
from mbkern.model.joint import Free

mujoco = pytest.importorskip("mujoco", reason="needs MuJoCo: pip install mbkern[mjcf]")
MACHINE = Path(__file__).parent / "machine.xml"
# Both sides compute in double precision on the same numbers.
TOLERANCE = 1e-9


def errors(model, theirs, seeds=range(3)):
    """Largest relative differences of mass matrix and accelerations."""
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
    data = mujoco.MjData(theirs)
    system = mb.System(model)
    worst = np.zeros(2)
    for seed in seeds:
        q, u = model.random_state(seed)
        J, bias = np.eye(model.nv), np.zeros(model.nv)  # their speeds are J u, their accelerations J (udot + bias)
        for body, iq, iv in zip(model.body_specs, model.q_offsets, model.v_offsets, strict=True):
            if any(isinstance(element, Free) for element in body.joint.elements):
                R = np.empty(9)
                mujoco.mju_quat2Mat(R, q[iq + 3 : iq + 7])
                J[iv : iv + 3, iv : iv + 3] = R.reshape(3, 3)
                bias[iv : iv + 3] = np.cross(u[iv + 3 : iv + 6], u[iv : iv + 3])
        data.qpos[:], data.qvel[:] = q, J @ u
        mujoco.mj_forward(theirs, data)
        M = np.empty((model.nv, model.nv))
        for row, e in zip(M, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(theirs, data, row, e)
        expected, udot = J.T @ M @ J, J.T @ data.qacc_smooth - bias
        worst[0] = max(worst[0], np.abs(system.mass_matrix(q) - expected).max() / np.abs(expected).max())
        worst[1] = max(worst[1], np.abs(system.accelerations(q, u) - udot).max() / np.abs(udot).max())
    return worst


def load(source, **options):
    with pytest.warns(ModelWarning):
        return mb.load_mjcf(source, **options)


def test_agrees_with_mujoco():
    assert (errors(load(MACHINE, equality="drop"), mujoco.MjModel.from_xml_path(str(MACHINE))) < TOLERANCE).all()


def test_states_have_the_same_layout():
    model, theirs = load(MACHINE), mujoco.MjModel.from_xml_path(str(MACHINE))
    assert (model.nq, model.nv, model.n_bodies) == (theirs.nq, theirs.nv, theirs.nbody - 1)
    for name in ("slide", "hinge_1", "hinge_2", "spin"):
        assert model.index(name) == theirs.joint(name).qposadr[0]
        assert model.speed_index(name) == theirs.joint(name).dofadr[0]
    assert model.index("neck.qw") == theirs.joint("neck").qposadr[0]
    assert model.index("flight.x") == theirs.joint("flight").qposadr[0]


def test_poses_agree():
    model, theirs = load(MACHINE), mujoco.MjModel.from_xml_path(str(MACHINE))
    data = mujoco.MjData(theirs)
    q, _ = model.random_state(5)
    data.qpos[:] = q
    mujoco.mj_kinematics(theirs, data)
    R, r = mb.System(model).body_poses(q)
    np.testing.assert_allclose(r, data.xpos[1:], atol=1e-12)
    np.testing.assert_allclose(R, data.xmat[1:].reshape(-1, 3, 3), atol=1e-12)


def test_springs_limits_and_friction():
    model = load(MACHINE)
    slide, hinge = model.speed_index("slide"), model.speed_index("hinge_1")
    assert model.stiffness[slide] == 40 and model.rest[slide] == 0.1 and model.damping[slide] == 3
    assert (model.limits.lower[hinge], model.limits.upper[hinge]) == (-1, 2)
    assert model.friction[model.speed_index("hinge_2")] == 0.2
    assert model.gravity.tolist() == [0.3, -0.2, -9.5] and model.name == "machine"


def test_what_does_not_map_is_listed_once():
    with pytest.warns(ModelWarning) as caught:
        mb.load_mjcf(MACHINE, equality="drop")
    assert len(caught) == 1 and caught[0].filename == __file__
    for words in ("contacts (7 geoms", "actuators (1)", "equality constraints (1)"):
        assert words in str(caught[0].message)


def test_text_and_path_give_the_same_model():
    assert load(MACHINE) == load(MACHINE.read_text()) == load(str(MACHINE))


def one(joint, geom='<geom size="0.1" pos="1 0.5 0.2" contype="0" conaffinity="0"/>', head=""):
    return f"<mujoco>{head}<worldbody><body>{joint}{geom}</body></worldbody></mujoco>"


def test_armature_is_kept_or_dropped():
    text = one('<joint name="motor" axis="0 1 0" armature="0.1"/>')
    model = mb.load_mjcf(text)
    assert model.armature.tolist() == [0.1]
    theirs = mujoco.MjModel.from_xml_string(text)
    assert (errors(model, theirs) < TOLERANCE).all()
    with pytest.warns(ModelWarning, match="armature of motor"):
        model = mb.load_mjcf(text, armature="drop")
    assert model.armature.tolist() == [0.0]
    assert errors(model, theirs).max() > 1e-3  # it is felt
    theirs.dof_armature[:] = 0
    assert (errors(model, theirs) < TOLERANCE).all()


@pytest.mark.parametrize("joint", [
    '<joint type="ball" armature="0.2"/>', '<joint type="free" armature="0.3"/>', '<joint type="slide" armature="2"/>',
    '<joint type="slide" axis="1 1 0" armature="0.5"/><joint type="hinge" axis="0 1 0" armature="0.02"/>',
])
def test_armature_of_every_joint_type(joint):
    """With an arm on the body, so that the rotor is not at the end of the tree."""
    arm = '<body pos="0.3 0.1 0"><joint axis="0 1 0" armature="0.05"/><geom size="0.1" pos="0.4 0 0.1" contype="0" ' \
          'conaffinity="0"/></body>'
    text = one(joint, geom='<geom size="0.1" pos="1 0.5 0.2" contype="0" conaffinity="0"/>' + arm)
    assert (errors(mb.load_mjcf(text), mujoco.MjModel.from_xml_string(text)) < TOLERANCE).all()


@pytest.mark.parametrize("flag", ["gravity", "spring", "damper"])
def test_disabled_forces(flag):
    head = f'<option><flag {flag}="disable"/></option>'
    text = one('<joint axis="0 1 1" stiffness="3" springref="20" damping="0.5"/>', head=head)
    assert (errors(mb.load_mjcf(text), mujoco.MjModel.from_xml_string(text)) < TOLERANCE).all()


@pytest.mark.parametrize(("text", "message"), [
    (one('<joint type="screw"/>'), "line 1"),
    (one('<joint type="ball" stiffness="2"/>'), "spring on a quaternion joint"),
    ("<mujoco><worldbody/></mujoco>", "no body"),
    ("<robot/>", "load_urdf reads it"),
    ("<urdf/>", "expected <mujoco>"),
    ("<mujoco>", "line 1.*not well-formed"),
    ('<!DOCTYPE m [<!ENTITY a "b">]><mujoco model="&a;"/>', "document type declaration"),
    ("x" * 10_000_000, "not well-formed"),
])
def test_bad_files(text, message):
    with pytest.raises(ModelError, match=message):
        mb.load_mjcf(text)


@pytest.mark.parametrize(("joints", "kind"), [
    ("", "weld"), ("<joint/>", "revolute"), ('<joint type="slide"/>', "prismatic"), ('<joint type="ball"/>', "ball"),
    ('<joint type="free"/>', "free"), ('<joint type="slide"/><joint axis="1 0 0"/>', "custom"),
])
def test_kinds_of_joints(joints, kind):
    assert mb.load_mjcf(one(joints)).body_specs[0].joint.kind == kind


@pytest.mark.parametrize(("geoms", "touching"), [(((1, 0), (0, 1), (1, 1), (0, 0)), 3), (((0, 0),), 0)])
def test_geoms_that_can_touch_are_counted(geoms, touching):
    text = one("<joint/>", "".join(f'<geom size="0.1" contype="{a}" conaffinity="{b}"/>' for a, b in geoms))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mb.load_mjcf(text)
    assert [f"contacts ({touching} geoms" in str(warning.message) for warning in caught] == [True] * bool(touching)


def test_rotations_need_not_be_given_as_unit_quaternions():
    """MuJoCo scales them."""
    model = mb.load_mjcf(one("<joint/>", '<geom size="0.1" quat="2 0 0 2" contype="0" conaffinity="0"/>').replace(
        "<body>", '<body quat="0 3 0 0" name="b">'))
    assert np.allclose(model.body_specs[0].rotation, np.diag([1.0, -1.0, -1.0]), atol=1e-15)
    assert np.allclose(model.visuals["b"][0].rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_missing_file(tmp_path):
    with pytest.raises(ModelError, match="no file"):
        mb.load_mjcf(tmp_path / "nowhere.xml")
    with pytest.raises(ModelError, match="armature: expected 'keep' or 'drop'"):
        mb.load_mjcf(MACHINE, armature="error")


def test_sites_are_frames():
    model = mb.load_mjcf('''<mujoco><worldbody><site name="corner" pos="1 2 3"/>
        <body name="arm"><joint name="j"/><geom size="0.1" contype="0" conaffinity="0"/>
        <site name="tool" pos="0 0 0.5" euler="0 0 90"/><site name="arm"/></body></worldbody></mujoco>''')
    assert list(model.frames) == ["arm", "corner", "tool", "arm_site"]
    assert model.frames["corner"].body == -1 and model.frames["corner"].position == (1, 2, 3)
    assert model.frames["tool"].position == (0, 0, 0.5)
    np.testing.assert_allclose(np.array(model.frames["tool"].rotation) @ [1, 0, 0], [0, 1, 0], atol=1e-12)


def test_geoms_are_shapes():
    model = mb.load_mjcf('''<mujoco><option><flag contact="disable"/></option>
        <asset><mesh name="tent" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>
        <worldbody><geom type="plane" size="1 1 1"/><body name="arm"><joint name="j" axis="1 0 0"/>
        <geom type="box" size="0.1 0.2 0.3" pos="0 0 1" rgba="1 0.5 0 1"/><geom type="capsule" size="0.1 0.4"/>
        <geom type="ellipsoid" size="0.1 0.2 0.3"/><geom type="sphere" size="0.1" group="3"/>
        <geom type="mesh" mesh="tent"/></body></worldbody></mujoco>''')
    assert list(model.visuals) == ["arm"]
    box, capsule, ellipsoid, mesh = model.visuals["arm"]
    assert (box.kind, capsule.kind, ellipsoid.kind, mesh.kind) == ("box", "capsule", "ellipsoid", "mesh")
    assert box.size == pytest.approx((0.2, 0.4, 0.6)) and box.position == (0, 0, 1)
    assert box.color == pytest.approx((1, 0.5, 0, 1)) and capsule.size == pytest.approx((0.1, 0.8))
    corners = mesh.vertices @ np.array(mesh.rotation).T + mesh.position  # MuJoCo moves meshes into their inertia axes
    expected = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert np.abs(corners[:, None] - expected[None]).sum(axis=2).min(axis=0).max() < 1e-6


EQUALITIES = """
<mujoco><worldbody>
  <body name="a" pos="0 0 1"><joint name="ja" axis="0 1 0" ref="0.2"/><geom size="0.1" pos="0.5 0 0" contype="0"/>
    <body name="b" pos="1 0 0"><joint name="jb" axis="0 1 0"/><geom size="0.1" pos="0.5 0 0" contype="0"/></body></body>
  <body name="c" pos="2 0 1"><joint name="jc" type="slide" axis="1 0 0"/><geom size="0.1" contype="0"/></body>
  <body name="d" pos="3 1 1"><freejoint/><geom size="0.1" pos="0.1 0 0" contype="0"/></body>
</worldbody><equality>
  <connect name="pin" body1="b" body2="c" anchor="1 0 0"/>
  <weld name="glue" body1="c" body2="d"/>
  <joint name="cam" joint1="jc" joint2="ja" polycoef="0.1 2 0.3 0 0"/>
  <connect name="asleep" body1="b" body2="d" anchor="0 0 0" active="false"/>
</equality></mujoco>
"""


def test_equality_constraints_become_loops_and_gears():
    with pytest.warns(ModelWarning, match="equality constraints asleep \\(not active\\)"):
        model = mb.load_mjcf(EQUALITIES)
    assert [(c.name, c.kind) for c in model.constraints] == [("pin", "point"), ("glue", "weld"), ("cam", "gear")]
    theirs = mujoco.MjModel.from_xml_string(EQUALITIES)
    data = mujoco.MjData(theirs)
    data.qpos[:] = theirs.qpos0
    data.qpos[:3] += [0.3, -0.2, 0.15]
    mujoco.mj_forward(theirs, data)
    system = mb.System(model)
    g = system.constraint_residuals(data.qpos.copy())
    # MuJoCo's residuals: positions in world axes here and in those of b there, angles near zero like sines
    np.testing.assert_allclose(np.linalg.norm(g[:3]), np.linalg.norm(data.efc_pos[:3]), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(g[3:6]), np.linalg.norm(data.efc_pos[3:6]), atol=1e-12)
    np.testing.assert_allclose(g[-1], data.efc_pos[9], atol=1e-12)
    assert np.abs(system.constraint_residuals(theirs.qpos0.copy())[:9]).max() < 1e-12
