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
