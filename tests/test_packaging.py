"""What the repository says about itself: one version, one licence, a word on every script."""

import re
import tomllib
from pathlib import Path

import pytest

import mbkern

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_is_written_once():
    assert "version" not in PROJECT["project"] and "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "mbkern.__version__"}
    # setuptools reads it without importing the package: it must be a literal
    assert re.search(rf'^__version__ = "{re.escape(mbkern.__version__)}"$', Path(mbkern.__file__).read_text(), re.M)


def test_the_changelog_knows_the_version():
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in changelog and f"## [{mbkern.__version__}]" in changelog


def test_an_editable_install_is_a_path():
    """An import hook, which setuptools would take for this layout, is nothing that mypy and Pylance follow."""
    assert PROJECT["tool"]["distutils"]["editable_wheel"]["mode"] == "compat"


def test_one_licence_everywhere():
    assert PROJECT["project"]["license"] == "BSD-3-Clause"
    assert "BSD 3-Clause License" in (ROOT / "LICENSE").read_text()
    assert "license: BSD-3-Clause" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize("name", ["CITATION.cff", ".pre-commit-config.yaml"])
def test_yaml_files_parse(name):
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load((ROOT / name).read_text())
