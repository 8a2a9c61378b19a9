"""Robot files on the command line."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mbkern as mb
from mbkern.cli import main

HERE = Path(__file__).parent


def test_info(capsys):
    assert main(["info", str(HERE / "arm.urdf"), "--limits"]) == 0
    out, err = capsys.readouterr()
    for words in ("6 bodies, 4 dofs", "slider: prismatic", "(reach), 0.8 kg", "4 moving joints, 2 welds", "emh-"):
        assert words in out
    assert [line.split()[0] for line in out.splitlines() if " inf" in line] == ["turn"]
    assert err.count("\n") == 1 and "note:" in err and "<transmission> (1)" in err


def test_simulate_writes_numbers_and_a_page(tmp_path, capsys):
    out, page = tmp_path / "run.npz", tmp_path / "run.html"
    code = main(["simulate", str(HERE / "arm.urdf"), "--time", "0.2", "--integrator", "gauss4", "--out", str(out),
                 "--view", str(page), "--no-picture", "--frames", "21"])
    assert code == 0
    with np.load(out) as data:
        assert data["q"].shape == (21, 4) and data["t"][-1] == 0.2
    assert "mbkernViewer" in page.read_text()
    assert f"wrote {page}" in capsys.readouterr().out


def test_limits_are_noted_or_kept(tmp_path, capsys):
    builder = mb.ModelBuilder()
    builder.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(1, 0, 0), limits=(-0.5, 0.5), friction=0.2)
    builder.build().save(tmp_path / "arm.json")
    job = [str(tmp_path / "arm.json"), "--time", "1", "--frames", "101", "--out", str(tmp_path / "run.npz")]
    assert main(job) == 0
    assert "note: coordinate 'arm' left its limits -0.5 .. 0.5 at t = " in capsys.readouterr().out
    assert main([*job, "--limits", "soft", "--friction"]) == 0
    assert np.abs(mb.Solution.load(tmp_path / "run.npz").q).max() < 0.6


def test_options_of_robot_files(capsys):
    assert main(["info", str(HERE / "rover.urdf"), "--mimic", "error"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["info", str(HERE / "rover.urdf"), "--floating-base"]) == 0
    assert "17 dofs" in capsys.readouterr().out
    pytest.importorskip("mujoco", reason="needs MuJoCo: pip install mbkern[mjcf]")
    assert main(["info", str(HERE / "machine.xml")]) == 0
    assert "satellite: free" in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "message"), [
    (["info", "nowhere.urdf"], "no such file"),
    (["info", "robot.step"], "expected"),
    (["simulate", "chain:3", "--view", "run.pdf"], "--view run.pdf"),
])
def test_errors_are_one_line(arguments, message, capsys):
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1 and "Traceback" not in err


def test_a_bad_file_in_a_new_process(tmp_path):
    path = tmp_path / "bad.urdf"
    path.write_text('<robot>\n<link name="a"/>\n<link name="b"/>\n</robot>')
    run = subprocess.run([sys.executable, "-m", "mbkern", "info", str(path)], capture_output=True, text=True)
    assert run.returncode == 2 and run.stdout == ""
    assert "(line 3): more than one root link" in run.stderr and run.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["simulate", "info", "export", "warmup"])
def test_joints_that_mimic_others_are_the_same_machine_everywhere(command, capsys):
    """As `load_urdf` has it: exported machines were others, without a word."""
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "made free, held or refused; default gear" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", ["simulate", "info"])
def test_help(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0 and "examples:" in capsys.readouterr().out


def test_xacro_files_are_refused_with_a_hint(tmp_path, capsys):
    path = tmp_path / "robot.urdf.xacro"
    path.write_text('<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="m"/></robot>')
    assert main(["info", str(path)]) == 2
    assert "expand it first" in capsys.readouterr().err


def test_the_names_that_are_offered_are_valid(capsys):
    assert main(["info", "unknown"]) == 2
    names = re.findall("'([a-z]+:[0-9:]+)'", capsys.readouterr().err)
    assert "star:4:5" in names
    for name in names:
        assert main(["info", name, "--bodies", "1"]) == 0


GRIPPER = """<robot name="gripper"><link name="base"/>{fingers}</robot>"""
FINGER = """<link name="{0}"><inertial><mass value="0.1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link><joint name="{0}" type="prismatic"><parent link="base"/><child link="{0}"/><axis xyz="0 0 1"/>
{1}</joint>"""


def test_joints_that_mimic_others_are_gears(tmp_path, capsys):
    path = tmp_path / "gripper.urdf"
    path.write_text(GRIPPER.format(
        fingers=FINGER.format("left", "") + FINGER.format("right", '<mimic joint="left" multiplier="-1"/>')))
    assert main(["info", str(path)]) == 0
    assert "1 equation of constraints couples the 2 dofs" in capsys.readouterr().out
    assert main(["simulate", str(path), "--time", "0.1"]) == 0
    assert "constraints are satisfied to" in capsys.readouterr().out
    assert main(["info", str(path), "--mimic", "free"]) == 0
    free = capsys.readouterr()
    assert "auto takes" in free.out and "(--mimic fix holds them)" in free.err
