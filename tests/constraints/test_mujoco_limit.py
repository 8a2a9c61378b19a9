"""Loops and gears against MuJoCo's equality constraints, which are soft: in the limit of hard ones they agree."""

import numpy as np
import pytest

import mbkern as mb

mujoco = pytest.importorskip("mujoco", reason="needs MuJoCo: pip install mbkern[peers]")

MACHINE = """
<mujoco><option gravity="0 0 -9.81" solver="Newton" tolerance="1e-16" iterations="200"/>
<worldbody>
  <body name="a" pos="0 0 1"><joint name="ja" axis="0 1 0"/><geom size="0.1" pos="0.5 0.1 0" contype="0"/>
    <body name="b" pos="1 0 0"><joint name="jb" axis="0.6 0.8 0"/><geom size="0.12" pos="0.5 0 0.1" contype="0"/>
      <body name="c" pos="1 0 0"><joint name="jc" axis="0 0.8 0.6"/><geom size="0.1" pos="0.3 0 0" contype="0"/>
        <body name="d" pos="1 0 0"><joint name="jd" axis="1 0 0"/><joint name="je" axis="0 0 1"/>
          <geom size="0.1" pos="0.3 0.2 0" contype="0"/></body></body></body></body>
  <body name="w" pos="0 2 1"><joint name="jw" axis="1 0 0"/><geom size="0.1" pos="0 0.4 0" contype="0"/></body>
</worldbody><equality>
  <connect name="pin" body1="d" anchor="1 0 0" solimp="IMP IMP 1"/>
  <joint name="cam" joint1="jw" joint2="ja" polycoef="0 1.5 0 0 0" solimp="IMP IMP 1"/>
</equality></mujoco>
"""


def test_accelerations_at_rest():
    """At rest, since MuJoCo leaves out adot u. What is soft is 1 - d of it, d the impedance, at most 0.9999."""
    model = mb.load_mjcf(MACHINE.replace("IMP", "0.99"))
    ours = mb.System(model).accelerations(model.neutral(), np.zeros(model.nv))
    errors = []
    for impedance in (0.99, 0.999, 0.9999):
        theirs = mujoco.MjModel.from_xml_string(MACHINE.replace("IMP", str(impedance)))
        data = mujoco.MjData(theirs)
        mujoco.mj_forward(theirs, data)
        errors.append(np.abs(data.qacc - ours).max() / np.abs(ours).max())
    assert errors[2] < 1e-3
    np.testing.assert_allclose([errors[0] / errors[1], errors[1] / errors[2]], 10.0, rtol=0.2)


FOUR_BAR = """
<mujoco><option gravity="0 0 -9.81" integrator="RK4" timestep="1e-4" tolerance="1e-16" iterations="100"/>
<worldbody>
  <body name="crank"><joint name="crank" axis="0 1 0"/><geom size="0.1" pos="0 0 0.25" contype="0"/>
    <body name="coupler" pos="0 0 0.5"><joint name="coupler" axis="0 1 0"/>
      <geom size="0.1" pos="0.5 0 0.25" contype="0"/></body></body>
  <body name="rocker" pos="1.2 0 0"><joint name="rocker" axis="0 1 0"/>
    <geom size="0.1" pos="-0.1 0 0.5" contype="0"/></body>
</worldbody><equality>
  <connect body1="coupler" body2="rocker" anchor="1 0 0.5" solimp="0.9999 0.9999 1" solref="TIME 1"/>
</equality></mujoco>
"""


def motion(time_constant, end):
    """Where MuJoCo's four-bar is; its loop is a spring and damper of that time constant."""
    theirs = mujoco.MjModel.from_xml_string(FOUR_BAR.replace("TIME", str(time_constant)))
    data = mujoco.MjData(theirs)
    for _ in range(round(end / theirs.opt.timestep)):
        mujoco.mj_step(theirs, data)
    return data.qpos


def test_motion_as_the_spring_becomes_stiff():
    """adot u, which MuJoCo leaves out, is a force that the spring balances with a gap of adot u T^2: order 2 in T."""
    model, end = mb.load_mjcf(FOUR_BAR.replace("TIME", "0.01")), 0.5
    ours = mb.System(model).simulate(model.neutral(), np.zeros(3), (0.0, end), rtol=1e-11, atol=1e-13, t_eval=[end])
    assert np.abs(ours.q).max() > 0.4  # it has moved
    errors = [np.abs(motion(T, end) - ours.q[-1]).max() for T in (8e-3, 4e-3, 2e-3)]
    assert errors[2] < 1e-8
    np.testing.assert_allclose([errors[0] / errors[1], errors[1] / errors[2]], 4.0, rtol=0.1)
