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


def test_the_output_shown_is_the_output(tmp_path, monkeypatch, capsys):
    """Word by word; of the numbers, those that rounding does not touch."""
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[0], "README block 0", "exec"), {})
    shown = re.search(r"```text\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL).group(1)
    number = r"\d[\d.e+-]*"
    printed = capsys.readouterr().out
    assert re.sub(number, "#", printed) == re.sub(number, "#", shown)
    assert printed.splitlines()[0].split(",")[1] == shown.splitlines()[0].split(",")[1]  # t = 0 .. 5 s
    assert (tmp_path / "cart.html").exists()


def test_it_is_a_front_page():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 170


def test_pictures_and_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", README.read_text(encoding="utf-8")):
        assert (README.parent / target).exists(), target


def test_ci_does_what_the_readme_says():
    ci = (README.parent / ".ci" / "run").read_text(encoding="utf-8")
    readme = README.read_text(encoding="utf-8")
    for part in ("install --editable .", '--editable ".[dev,peers,viz,notebooks,distributed', "-m mbkern", "-m pytest"):
        assert part in readme and part in ci


def test_headline_figures_are_those_of_the_tables():
    """A fifth, a seventh and a twentieth of Pinocchio's time, to a quarter: what the scripts wrote for trees of 30."""
    tables = (README.parent / "docs" / "performance.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:chain|carousel|binary tree) \| 30 \| ([\d.]+) \| [\d.]+ \| ([\d.]+) \|", tables, re.M)
    many = tables.partition("bench/batch.py rhs: begin")[2].partition("bench/batch.py rhs: end")[0]
    batches = re.findall(r"^\| (?:chain|binary tree|carousel) of \d+ \| ([\d.]+) \|", many, re.M)
    ones = rows[:3]
    assert len(ones) == 3 and len(batches) >= 3
    words = " ".join(README.read_text(encoding="utf-8").split())
    for word, times in (("about a fifth", [1.0 / float(row[0]) for row in ones]),
                        ("about a seventh", [1.0 / float(row[1]) for row in ones]),
                        ("about a twentieth", [float(x) for x in batches])):
        assert word in words
        part = {"fifth": 5, "seventh": 7, "twentieth": 20}[word.split()[-1]]
        assert times == pytest.approx([part] * len(times), rel=0.25)
