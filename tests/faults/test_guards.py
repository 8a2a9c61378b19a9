"""The tables of defects, demands and promises: each line has a test, and the tests that it names exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
# pages with tables, and how many lines they have at least
TABLES = {"faults/README.md": 60, "constraints/README.md": 40, "DERIVATIVES.md": 30}


def functions(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", TABLES)
def test_every_line_has_a_test_that_exists(page):
    table = (TESTS / page).read_text(encoding="utf-8")
    heads = ("| defect", "| demand", "| place", "| promise", "| what", "| |")
    lines = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith(heads)]
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", table)
    known = {name: functions(TESTS / name) if (TESTS / name).exists() else set() for name, _ in named}
    assert len(lines) >= TABLES[page]
    assert not [line for line in lines if "::" not in line]
    assert not [f"{name}::{test}" for name, test in named if test not in known[name]]
