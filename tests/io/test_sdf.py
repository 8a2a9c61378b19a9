"""SDF: the machine that a file describes, built by hand from the same numbers; and every refusal in words."""

import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import ModelError, ModelWarning


def rpy(roll, pitch, yaw):
    c, s = np.cos, np.sin
    x = np.array([[1, 0, 0], [0, c(roll), -s(roll)], [0, s(roll), c(roll)]])
    y = np.array([[c(pitch), 0, s(pitch)], [0, 1, 0], [-s(pitch), 0, c(pitch)]])
    z = np.array([[c(yaw), -s(yaw), 0], [s(yaw), c(yaw), 0], [0, 0, 1]])
    return z @ y @ x


def link(name, pose, inertial="0.1 0.2 -0.3 0.3 0.2 0.1", mass=2.0, more=""):
    return f"""<link name="{name}"><pose>{pose}</pose><inertial><pose>{inertial}</pose><mass>{mass}</mass><inertia>
        <ixx>0.5</ixx><iyy>0.4</iyy><izz>0.3</izz><ixy>0.01</ixy><ixz>-0.02</ixz><iyz>0.03</iyz></inertia></inertial>
        {more}</link>"""


ARM = f"""<sdf version="1.9"><model name="arm"><pose>0.5 0 0.2 0 0 0.4</pose>
{link("upper", "0.3 0.1 1.0 0.2 -0.1 0.5")}
{link("lower", "0.9 0.2 1.3 -0.4 0.3 0.1", mass=1.0, more='<visual name="v"><geometry><box><size>1 2 3</size></box></geometry></visual>')}
<joint name="shoulder" type="revolute"><parent>world</parent><child>upper</child><pose>0.05 -0.1 0.2 0.1 0.3 -0.2</pose>
  <axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>2</upper><effort>50</effort></limit>
  <dynamics><damping>0.3</damping><friction>0.1</friction></dynamics></axis></joint>
<joint name="slide" type="prismatic"><parent>upper</parent><child>lower</child>
  <axis><xyz expressed_in="__model__">0 0 1</xyz></axis></joint>
</model></sdf>"""  # noqa: E501


def test_the_same_machine_as_by_hand():
    """Everything in world axes at q = 0: bodies whose frames are parallel to the world's, joints through points."""
    model = mb.load_sdf(ARM)
    P, p = rpy(0, 0, 0.4), np.array([0.5, 0, 0.2])
    frames = {"upper": (rpy(0.2, -0.1, 0.5), np.array([0.3, 0.1, 1.0])),
              "lower": (rpy(-0.4, 0.3, 0.1), np.array([0.9, 0.2, 1.3]))}
    inertia = np.array([[0.5, 0.01, -0.02], [0.01, 0.4, 0.03], [-0.02, 0.03, 0.3]])
    com, turned = np.array([0.1, 0.2, -0.3]), rpy(0.3, 0.2, 0.1)
    world = {name: (P @ R, P @ r + p) for name, (R, r) in frames.items()}
    center = {name: R @ com + r for name, (R, r) in world.items()}
    tensor = {name: R @ turned @ inertia @ turned.T @ R.T for name, (R, _) in world.items()}
    R, r = world["upper"]
    hinge = R @ np.array([0.05, -0.1, 0.2]) + r
    axis = R @ rpy(0.1, 0.3, -0.2) @ [0, 1, 0]
    b = mb.ModelBuilder()
    b.add_body("upper", joint=mb.revolute(axis), mass=2.0, com=center["upper"] - hinge, inertia=tensor["upper"],
               position=hinge, damping=0.3)
    b.add_body("lower", "upper", mb.prismatic(P @ [0, 0, 1]), mass=1.0, com=center["lower"] - world["lower"][1],
               inertia=tensor["lower"], position=world["lower"][1] - hinge)
    hand, read = mb.System(b.build()), mb.System(model)
    for q, u in (([0.0, 0.0], [0.3, -0.2]), ([0.7, -0.4], [1.0, 2.0])):
        assert np.allclose(read.mass_matrix(q), hand.mass_matrix(q), rtol=1e-12, atol=1e-13)
        assert np.allclose(read.gravity_forces(q), hand.gravity_forces(q), rtol=1e-12, atol=1e-12)
        p0 = read.momenta(q, u)
        assert np.allclose(read.rhs(q, p0), hand.rhs(q, p0), rtol=1e-11, atol=1e-11)  # two placements: roundings
    assert model.coordinate_names == ("shoulder", "slide")
    assert model.limits.lower[0] == -1.0 and model.limits.upper[0] == 2.0 and model.limits.effort[0] == 50.0
    assert model.friction[0] == 0.1 and len(model.visuals) == 1


def test_what_nothing_holds_is_free():
    body = link("box", "0 0 1 0 0 0")
    text = f"<sdf version='1.6'><model name='m'>{{}}{body}{link('lid', '0 0 2 0 0 0')}" + """
        <joint name="hinge" type="ball"><parent>box</parent><child>lid</child></joint></model></sdf>"""
    free = mb.load_sdf(text.format(""))
    assert (free.nq, free.nv) == (11, 9) and free.body_names == ("box", "lid")
    assert mb.load_sdf(text.format("<static>true</static>")).nv == 3


def model_of(joint="", links=None, version="1.7"):
    links = links or link("a", "0 0 0 0 0 0") + link("b", "0 0 1 0 0 0")
    return f"<sdf version='{version}'><model name='m'>{links}{joint}</model></sdf>"


HINGE = "<joint name='{}' type='{}'><parent>{}</parent><child>{}</child><axis><xyz>{}</xyz></axis></joint>"


@pytest.mark.parametrize(("text", "words"), [
    ("<robot name='r'/>", "this is URDF; load_urdf reads it"),
    ("<sdf version='1.7'/>", "expected one <model>, got 0"),
    (model_of("<include><uri>x</uri></include>"), "other files are not included"),
    (model_of(HINGE.format("j", "revolute", "a", "c", "0 0 1")), r"<child>: expected the name of a link, got 'c'"),
    (model_of(HINGE.format("j", "gearbox", "a", "b", "0 0 1")), "type: expected one of revolute, .*got 'gearbox'"),
    (model_of(HINGE.format("j", "revolute", "a", "b", "0 0 up")), "expected 3 finite numbers, got '0 0 up'"),
    (model_of(HINGE.format("j", "revolute", "a", "b", "0 0 0")), "axis|xyz"),
    (model_of(HINGE.format("j", "revolute", "a", "b", "0 0 1") + HINGE.format("k", "revolute", "world", "b", "1 0 0")),
     "child of another joint, too: a loop"),
    (model_of(HINGE.format("j", "revolute", "a", "b", "0 0 1") + HINGE.format("k", "revolute", "b", "a", "1 0 0")),
     "hold each other"),
    (model_of(links="<link name='a'><pose relative_to='a'>0 0 0 0 0 0</pose></link>"), "relative to itself"),
    (model_of(links="<link name='a'><pose relative_to='z'>0 0 0 0 0 0</pose></link>"), "relative_to: expected"),
    (model_of(links="<link name='a'><pose>0 0 0</pose></link>"), "expected 6 finite numbers"),
])
def test_refusals(text, words):
    with pytest.raises(ModelError, match=words):
        mb.load_sdf(text)


def test_what_is_not_used_is_named_once():
    text = model_of(links=link("a", "0 0 0 0 0 0", more="<collision name='c'/><sensor name='s' type='imu'/>"))
    with pytest.warns(ModelWarning, match=r"not used, as dynamics does not need it: <collision> \(1\), <sensor> \(1\)"):
        mb.load_sdf(text)
