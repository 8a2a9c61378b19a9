"""The tables of defects and of demands in README.md: each line has a test, and the tests that it names exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TABLES = {"faults": 60, "constraints": 40}  # folders whose README.md has tables, and how many lines at least


def functions(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("folder", TABLES)
def test_every_line_has_a_test_that_exists(folder):
    table = (TESTS / folder / "README.md").read_text(encoding="utf-8")
    heads = ("| defect", "| demand", "| place", "| |")
    lines = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith(heads)]
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", table)
    known = {name: functions(TESTS / name) if (TESTS / name).exists() else set() for name, _ in named}
    assert len(lines) >= TABLES[folder]
    assert not [line for line in lines if "::" not in line]
    assert not [f"{name}::{test}" for name, test in named if test not in known[name]]
