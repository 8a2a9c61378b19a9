"""How the documentation is built: python -m sphinx -W --keep-going docs docs/_build/html."""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mbkern

# the notebooks are pages, with the outputs that they are stored with (notebooks/execute.py)
HERE = Path(__file__).resolve().parent
(HERE / "notebooks").mkdir(exist_ok=True)
for old in (HERE / "notebooks").glob("*.ipynb"):
    old.unlink()
for notebook in (HERE.parent / "notebooks").glob("*.ipynb"):
    shutil.copyfile(notebook, HERE / "notebooks" / notebook.name)

project = "mbkern"
author = "the mbkern developers"
copyright = "the mbkern developers"
version = release = mbkern.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_nb",
]
nb_execution_mode = "off"  # the pages carry the outputs that the notebooks are stored with
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say shapes and units
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}  # .rst first: generated pages
templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = "mbkern"
html_static_path = ["_static"]
html_css_files = ["wide.css"]  # code and tables of 120 columns
html_sidebars = {page: [] for page in ("tutorial", "performance", "operations")}  # pages without pages below them
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sourcelink = False
