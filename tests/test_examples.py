"""What a newcomer does, in processes of its own: an arm from a file, PD control, a page to look at."""

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "examples"


def panda():
    """The file of the package example-robot-data, if it is installed."""
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        pytest.skip("needs example-robot-data: pip install mbkern[peers]")
    return next(Path(str(file.locate())) for file in files if file.name == "panda.urdf")


@pytest.mark.parametrize("robot", ["arm", "panda"])
def test_an_arm_goes_to_its_goal(robot, tmp_path):
    path = FOLDER / "arm.urdf" if robot == "arm" else panda()
    done = subprocess.run([sys.executable, FOLDER / "pd_arm.py", path, tmp_path / "page.html"], capture_output=True,
                          text=True, timeout=300, env=dict(os.environ, PYTHONPATH=str(ROOT)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "finished, t = 0 .. 2 s" in done.stdout and "look at it" in done.stdout
    assert 500_000 < (tmp_path / "page.html").stat().st_size < 5_000_000


def test_ci_runs_it_with_runtime_dependencies_only():
    ci = (ROOT / ".ci" / "run").read_text()
    assert '"$place/newcomer/bin/python" docs/examples/pd_arm.py' in ci
    assert re.findall(r'newcomer/bin/pip".* install (.*)', ci) == ["--editable ."]
    assert ci.index("install --editable .\n") < ci.index("start main_job") < ci.index('install --editable ".[')
