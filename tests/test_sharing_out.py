"""How tests are shared out to processes (tests/support/longest_first.py), also when one of these ends in a test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("xdist", reason="needs pytest-xdist: pip install mbkern[dev]")

SUPPORT = Path(__file__).parent / "support"
# The last files have one test each: a process that is new waits for what comes after it.
FILES = {
    "test_a.py": ("import os, signal",
                  "def test_before(): pass",
                  "def test_ends(): os.kill(os.getpid(), signal.SIGKILL)",
                  "def test_behind(): pass"),
    "test_b.py": ("def test_one(): pass", "def test_two(): pass"),
    "test_c.py": ("import os, signal",
                  "def test_ends_as_well(): os.kill(os.getpid(), signal.SIGKILL)"),
    "test_d.py": ("def test_alone(): pass",),
}


@pytest.mark.parametrize("processes", [1, 2])
def test_a_process_that_ends_fails_its_test_and_no_other(tmp_path, processes):
    """The run goes on and comes to an end; nothing is run twice."""
    for name, lines in FILES.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "pytest", "-p", "xdist", "-p", "longest_first", "-p", "no:cacheprovider", "-q",
               "-n", str(processes), "--dist", "loadfile"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300,
                          env=dict(os.environ, PYTHONPATH=str(SUPPORT), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"))
    failed = sorted(line.split(" - ")[0] for line in done.stdout.splitlines() if line.startswith("FAILED"))
    assert done.returncode == 1, done.stdout
    assert failed == ["FAILED test_a.py::test_ends", "FAILED test_c.py::test_ends_as_well"], done.stdout
    assert "2 failed, 5 passed" in done.stdout


def test_nothing_is_compiled_while_tests_are_collected(request):
    assert request.config.compiled_at_collection is False
