"""Every notebook runs from top to bottom, and is stored without outputs."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SECONDS = 300  # a cell; a cold kernel cache compiles for a minute


def test_all_are_there():
    """Those that other texts refer to; the case studies are those of the papers, each by all four methods."""
    assert [path.stem for path in NOTEBOOKS] == [
        "01_first_steps", "02_formulations_side_by_side", "03_table1_and_diagrams",
        "04_scaling_chain_carousel_binary_tree", "05_embedding_numba_and_c", "06_case_studies", "07_real_robots",
        "08_motion_studies"]
    text = (FOLDER / "06_case_studies.ipynb").read_text()
    assert all(f"cases.{name}()" in text and f"{name}.markdown(rows)" in text for name in ("cart", "box", "satellite"))
    assert "appell_graph" in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_stored_without_outputs(path):
    for cell in json.loads(path.read_text())["cells"]:
        assert cell["cell_type"] == "markdown" or (cell["outputs"] == [] and cell["execution_count"] is None)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient: pip install mbkern[notebooks]")
    pytest.importorskip("ipykernel", reason="needs ipykernel: pip install mbkern[notebooks]")
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install mbkern[viz]")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parent))  # the mbkern of these sources, installed or not
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=SECONDS, kernel_name="python3",
                            resources={"metadata": {"path": str(FOLDER)}}).execute()
    pictures = [o for cell in book.cells if cell.cell_type == "code" for o in cell.outputs if "data" in o]
    assert pictures or path.stem.startswith(("05", "03"))
