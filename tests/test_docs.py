"""The documentation: its Python blocks run as printed, its links lead somewhere, and no public name is missing."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

import pytest
from exported import quickly

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("**/*.md"))
NUMBER = re.compile(r"-?\d[\d.]*(e[+-]?\d+)?")
NAMES = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_python_blocks_run(page, tmp_path, monkeypatch, capsys):
    """One page is one session: what a block defines the next one may use; and print what the page shows below them."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page.read_text(encoding="utf-8"), re.DOTALL)
    for number, (block, shown) in enumerate(blocks):
        capsys.readouterr()
        with quickly():
            exec(compile(block, f"{page.name}, block {number}", "exec"), names)
        if shown:  # its output: word by word; of the numbers, that there are as many
            printed = capsys.readouterr().out
            assert "".join(NUMBER.sub("#", printed).split()) == "".join(NUMBER.sub("#", shown).split())


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_broken_links_of_the_site_are_found(tmp_path):
    """By the script that CI runs over the built pages."""
    spec = importlib.util.spec_from_file_location("links", ROOT / "docs" / "links.py")
    links = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(links)
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "template.html").write_text("<a href='{{ nothing }}'>")
    (tmp_path / "a.html").write_text(
        "<h1 id='top'></h1><a href='b.html#part'></a><a href='#top'></a><a href='#end'></a><img src='no.png'>"
        "<a href='https://example.org/x#y'></a><a href='mailto:a@b'></a>")
    (tmp_path / "b.html").write_text("<p id='part'><a href='a.html'></a><a href='a.html#bottom'></a>")
    found, elsewhere = links.missing(tmp_path)
    assert found == ["a.html: #end (no such anchor)", "a.html: no.png", "b.html: a.html#bottom (no such anchor)"]
    assert elsewhere == {"https://example.org/x"}
    assert "docs/links.py" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_public_name_is_in_the_reference():
    """Functions, classes and submodules of every public module; whole modules that have a page of their own list theirs
    there."""
    reference = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    public = importlib.import_module("mbkern")
    modules = {name: getattr(public, name) for name in public.__all__ if isinstance(getattr(public, name), type(re))}
    whole = {name for name in modules if f"   {modules[name].__name__.removeprefix('mbkern.')}\n" in reference}
    assert "zoo" in whole and ".. automodule:: mbkern.errors\n" in reference
    missing = []
    for prefix, module in {"": public, **{f"{name}.": module for name, module in modules.items()}}.items():
        for name in getattr(module, "__all__", ()):
            value, listed = getattr(module, name), {f"   {prefix}{name}\n", f"   {name}\n"}
            if prefix.rstrip(".") in whole or (module is public and name in modules):
                continue
            if (callable(value) or isinstance(value, type(re))) and not any(line in reference for line in listed):
                missing.append(prefix + name)
    assert not missing


def test_the_page_of_a_system_lists_what_its_parts_give_it():
    """Most methods of System come from its base classes, which autodoc leaves out unless told."""
    template = (ROOT / "docs" / "_templates" / "autosummary" / "class.rst").read_text(encoding="utf-8")
    assert re.search(r'if objname in \("System", [^)]*\) %}\n   :inherited-members:\n', template)
