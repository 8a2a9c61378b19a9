"""The documentation: its Python blocks run as printed, its links lead somewhere, and no public name is missing."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("**/*.md"))
NAMES = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    """One page is one session: what a block defines the next one may use."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_public_name_is_in_the_reference():
    reference = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    missing = []
    for module in ("mbkern", "mbkern.analytic", "mbkern.embed", "mbkern.export", "mbkern.flops", "mbkern.forces",
                   "mbkern.sweeps", "mbkern.viz"):
        package = importlib.import_module(module)
        prefix = module.removeprefix("mbkern").lstrip(".")
        for name in package.__all__:
            value = getattr(package, name)
            if isinstance(value, type(re)) and module == "mbkern":
                continue  # a subpackage: its names are listed
            listed = f"{prefix}.{name}" if prefix else name
            if (callable(value) or isinstance(value, type(re))) and f"   {listed}\n" not in reference:
                missing.append(listed)
    assert not missing
