"""The tables of defects (README.md) and promises (DERIVATIVES.md): each has a test, and those that they name exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TABLES = {TESTS / "faults" / "README.md": 60, TESTS / "DERIVATIVES.md": 30}  # lines that they have at least


def functions(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("path, least", TABLES.items(), ids=lambda value: getattr(value, "stem", value))
def test_every_defect_has_a_test_that_exists(path, least):
    table, heads = path.read_text(encoding="utf-8"), ("| defect", "| place", "| promise", "| what", "| |")
    lines = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith(heads)]
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", table)
    known = {name: functions(TESTS / name) if (TESTS / name).exists() else set() for name, _ in named}
    assert len(lines) > least
    assert not [line for line in lines if "::" not in line]
    assert not [f"{name}::{test}" for name, test in named if test not in known[name]]
