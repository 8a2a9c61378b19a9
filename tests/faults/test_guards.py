"""The table of defects in README.md: each has a test, and the tests that it names exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
TABLE = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")


def functions(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}


def test_every_defect_has_a_test_that_exists():
    heads = ("| defect", "| place", "| what", "| |")
    lines = [line for line in TABLE.splitlines() if line.startswith("| ") and not line.startswith(heads)]
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", TABLE)
    known = {name: functions(TESTS / name) if (TESTS / name).exists() else set() for name, _ in named}
    assert len(lines) > 60
    assert not [line for line in lines if "::" not in line]
    assert not [f"{name}::{test}" for name, test in named if test not in known[name]]
