"""The README's Python examples run as printed, one after the other, and its commands are those that CI runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_every_python_block_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS) >= 3
    names: dict[str, object] = {}
    for number, block in enumerate(BLOCKS):
        try:
            exec(compile(block, f"README block {number}", "exec"), names)
        except Exception as error:
            pytest.fail(f"README block {number} failed: {error!r}\n{block}")


def test_ci_does_what_the_readme_says():
    ci = (README.parent / ".ci" / "run").read_text(encoding="utf-8")
    readme = README.read_text(encoding="utf-8")
    for part in ("install --editable .", '--editable ".[dev,peers,viz,notebooks,distributed', "-m mbkern", "-m pytest"):
        assert part in readme and part in ci
