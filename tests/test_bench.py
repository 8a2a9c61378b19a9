"""The scripts of bench/ that others rely on run as they are written down, and fail where they should."""

import argparse
import importlib.util
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
                          timeout=1200, env=dict(inherited, PYTHONPATH=str(ROOT), **environment))


def compare(folder, *arguments):
    return run([ROOT / "bench" / "compare.py", *arguments, "--turns", 3, "--pairs", 1, "--cold", 0], folder)


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "status"), [
    pytest.param(1000.0, 0, marks=pytest.mark.nightly), (0.001, 1)], ids=["no loss", "a loss"])
def test_compare_fails_above_its_limit(tmp_path, limit, status):
    done = compare(tmp_path, ROOT, ROOT, "--only", CASE, "--limit", limit, "--out", "times.json")
    assert done.returncode == status, done.stdout + done.stderr
    [case] = json.loads((tmp_path / "times.json").read_text())
    assert case["name"] == CASE and len(case["old"]) == len(case["new"]) == (3 if status == 0 else 9)
    assert f"{status} of 1 slower" in done.stdout and str(ROOT / "mbkern") in done.stdout


@pytest.mark.parametrize(("arguments", "said"), [
    (("/nowhere", ROOT), "/nowhere: expected a folder with mbkern/ in it"),
    pytest.param((ROOT, ROOT, "--only", "no such case"), "--only: no case has 'no such case' in its name",
                 marks=pytest.mark.nightly),
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


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_nothing_adds_up_over_long_runs(tmp_path):
    """1e7 steps, 1e6 calls, 1e6 states: a minute or two."""
    done = run([ROOT / "bench" / "long_runs.py"], tmp_path)
    assert done.returncode == 0 and done.stdout.count("kept") == 3, done.stdout + done.stderr


def test_every_script_is_explained():
    explained = set(re.findall(r"`(\w+\.py)[ `]", (ROOT / "bench" / "README.md").read_text()))
    assert explained == {path.name for path in (ROOT / "bench").glob("*.py")}


# ---- tables in the documentation ----
def common():
    spec = importlib.util.spec_from_file_location("bench_common", ROOT / "bench" / "common.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MARKED = "Before\n<!-- bench/a.py x: begin -->\nold\n<!-- bench/a.py x: end -->\nafter\n"


def test_a_table_replaces_what_is_between_its_marks(tmp_path, monkeypatch):
    tools = common()
    monkeypatch.setattr(tools, "ROOT", tmp_path)
    page, options = tmp_path / "page.md", argparse.Namespace(write=True)
    page.write_text(MARKED)
    for table in ("| 1 |", "| 2 |"):  # again and again
        tools.publish(options, "page.md", "bench/a.py x", table, "python bench/a.py")
    text = page.read_text()
    assert text.startswith("Before\n<!-- bench/a.py x: begin -->\n| 2 |\n\n(`python bench/a.py`, 20")
    assert text.endswith(")\n<!-- bench/a.py x: end -->\nafter\n") and "old" not in text and "| 1 |" not in text
    assert f"numpy {tools.np.__version__}" in text and f"{os.cpu_count()} processor" in text
    tools.publish(argparse.Namespace(write=False), "page.md", "bench/a.py x", "| 3 |", "python bench/a.py")
    assert page.read_text() == text  # printed only


@pytest.mark.parametrize("text", ["", MARKED.replace("end", "and"), MARKED + MARKED], ids=["none", "half", "twice"])
def test_a_table_without_its_marks_is_refused(text):
    with pytest.raises(SystemExit, match="expected one line"):
        common().replaced(text, "bench/a.py x", "| 1 |")


def test_marks_in_the_documentation_are_pairs_of_scripts_that_exist():
    for page in (*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"):
        found = re.findall(r"<!-- (bench/\S+ [^:]*): (begin|end) -->", page.read_text(encoding="utf-8"))
        assert [kind for _, kind in found] == ["begin", "end"] * (len(found) // 2), page
        for (mark, _), (closing, _) in zip(found[::2], found[1::2], strict=True):
            script, _, _ = mark.partition(" ")
            assert closing == mark and (ROOT / script).exists(), f"{page}: {mark}"
            assert mark in (ROOT / script).read_text(encoding="utf-8"), f"{script} does not write {mark!r}"
