"""Every notebook runs from top to bottom, and is stored with the outputs of the code that it has."""

import importlib.util
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
        "08_motion_studies", "09_derivatives", "10_closed_loops", "11_without_python", "12_control"]
    text = (FOLDER / "06_case_studies.ipynb").read_text()
    assert all(f"cases.{name}()" in text and f"{name}.markdown(rows)" in text for name in ("cart", "box", "satellite"))
    assert "appell_graph" in text


def executing():
    spec = importlib.util.spec_from_file_location("execute", FOLDER / "execute.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


AGAIN = "run `python notebooks/execute.py {}`, which executes and saves it"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_stored_with_the_outputs_of_its_code(path):
    book, again = json.loads(path.read_text()), AGAIN.format(path.stem[:2])
    assert book["metadata"].get("mbkern", {}).get("code") == executing().code_of(book["cells"]), again
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1)), again
    outputs = [output for cell in code for output in cell["outputs"]]
    assert outputs and all(output["output_type"] != "error" for output in outputs), again
    assert path.stat().st_size < 2_000_000, "pictures of this size do not belong into a repository"


def test_other_code_is_noticed():
    code_of = executing().code_of
    cells = [{"cell_type": "code", "source": ["a = 1\n", "b"]}, {"cell_type": "markdown", "source": ["words"]}]
    other = [{"cell_type": "code", "source": ["a = 1\n", "c"]}, {"cell_type": "markdown", "source": ["words"]}]
    assert code_of(cells) != code_of(other) and code_of(cells) == code_of([*cells[:1]])


# Half a minute and more, of what tests of the same things compute again: counts and maps (tests/flops), the study of
# scaling (tests/flops/test_report.py), the published tables (tests/analytic), exported code (tests/export).
LONG = ("03", "04", "06", "11")


@pytest.mark.slow
@pytest.mark.parametrize("path", [pytest.param(path, marks=pytest.mark.nightly if path.stem.startswith(LONG) else ())
                                  for path in NOTEBOOKS], ids=lambda path: path.stem)
def test_runs(path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient: pip install mbkern[notebooks]")
    pytest.importorskip("ipykernel", reason="needs ipykernel: pip install mbkern[notebooks]")
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install mbkern[viz]")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parent))  # the mbkern of these sources, installed or not
    monkeypatch.setenv("MBKERN_ANNOUNCE", "off")
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=SECONDS, kernel_name="python3",
                            resources={"metadata": {"path": str(FOLDER)}}).execute()
    pictures = [o for cell in book.cells if cell.cell_type == "code" for o in cell.outputs if "data" in o]
    assert pictures or path.stem.startswith(("05", "03"))
