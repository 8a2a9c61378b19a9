"""Programs that run in a process of their own, with a limit of time: what hangs fails."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import children

LIMIT = 600.0  # seconds; a program takes a few, with a cold cache and on a busy machine a hundred times as many

#: Imports of parts of mbkern take so long that threads surely meet.
SLOW_IMPORTS = """
import sys, time
class Slow:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith("mbkern."):
            time.sleep(0.03)
sys.meta_path.insert(0, Slow)
"""

#: `forked(work)`: whether `work()` ends well in a forked process, and does not wait for ever.
FORKED = """
import os, signal
def forked(work, seconds=200):
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def python(program: str, *, env: dict[str, str] | None = None, seconds: float = LIMIT, cwd: Path | None = None,
           ) -> subprocess.CompletedProcess[str]:
    """The finished process; `subprocess.TimeoutExpired` when it does not end."""
    environment = os.environ | {"PYTHONPATH": children.FOLDERS} | (env or {})
    return children.python(program, env=environment, cwd=cwd, timeout=seconds)


def printed(program: str, **options) -> str:
    """What it prints; it must end well."""
    done = python(program, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()
