"""The scripts of bench/ that others rely on run as they are written down, and fail where they should."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CASE = "rhs from Python, emh-ldl, chain(10)"


def run(arguments, folder, **environment):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}  # not a worker
    return subprocess.run([sys.executable, *map(str, arguments)], cwd=folder, capture_output=True, text=True,
                          timeout=300, env=dict(inherited, PYTHONPATH=str(ROOT), **environment))


def compare(folder, *arguments):
    return run([ROOT / "bench" / "compare.py", *arguments, "--turns", 3, "--pairs", 1, "--cold", 0], folder)


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "status"), [(1000.0, 0), (0.001, 1)], ids=["no loss", "a loss"])
def test_compare_fails_above_its_limit(tmp_path, limit, status):
    done = compare(tmp_path, ROOT, ROOT, "--only", CASE, "--limit", limit, "--out", "times.json")
    assert done.returncode == status, done.stdout + done.stderr
    [case] = json.loads((tmp_path / "times.json").read_text())
    assert case["name"] == CASE and len(case["old"]) == len(case["new"]) == (3 if status == 0 else 9)
    assert f"{status} of 1 slower" in done.stdout and str(ROOT / "mbkern") in done.stdout


@pytest.mark.parametrize(("arguments", "said"), [
    (("/nowhere", ROOT), "/nowhere: expected a folder with mbkern/ in it"),
    ((ROOT, ROOT, "--only", "no such case"), "--only: no case has 'no such case' in its name"),
], ids=["no such version", "no such case"])
def test_compare_refuses(tmp_path, arguments, said):
    done = compare(tmp_path, *arguments)
    assert done.returncode != 0 and said in done.stderr


@pytest.mark.slow
def test_benchmarks_run_as_documented(tmp_path):
    """With the settings of the tests, which share tests out among processes, pytest-benchmark would disable itself."""
    command = re.search(r"python -m (pytest bench/test_scaling.py)$",
                        (ROOT / "bench" / "test_scaling.py").read_text(), re.M).group(1).split()
    done = run(["-m", *command, "-k", "chain-revolute-4-emh-ldl and evaluation", "--benchmark-max-time=0.01",
                f"--benchmark-json={tmp_path / 'times.json'}", f"--benchmark-storage={tmp_path}"], ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    [benchmark] = json.loads((tmp_path / "times.json").read_text())["benchmarks"]
    assert benchmark["stats"]["median"] > 0.0
    assert list(tmp_path.rglob("0001_*.json"))  # kept for --benchmark-compare


def test_every_script_is_explained():
    explained = set(re.findall(r"`(\w+\.py)[ `]", (ROOT / "bench" / "README.md").read_text()))
    assert explained == {path.name for path in (ROOT / "bench").glob("*.py")}
