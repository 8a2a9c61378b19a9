"""Execute notebooks and save them with their outputs: the one command after a change of a notebook.

    python notebooks/execute.py          # all
    python notebooks/execute.py 01 12    # these

Stored notebooks carry their outputs, and a digest of the code that gave them (`metadata.mbkern.code`): a test compares
it with the code that is there. A viewer is megabytes of page; what is stored is its picture, taken by Chromium where
that is installed.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SECONDS = 600  # a cell; a cold cache of kernels compiles for a minute
LARGE = 100_000  # characters of HTML that are a viewer
WIDTH, HEIGHT = 900, 520


def code_of(cells: list[Any]) -> str:
    """Digest of the code of a notebook."""
    digest = hashlib.sha256()
    for cell in cells:
        if cell["cell_type"] == "code":
            digest.update("".join(cell["source"]).encode() + b"\0")
    return digest.hexdigest()


def executed(path: Path) -> Any:
    """The notebook after a run from top to bottom."""
    import nbclient
    import nbformat

    os.environ["PYTHONPATH"] = str(FOLDER.parent)  # the mbkern of these sources, installed or not
    os.environ["MBKERN_ANNOUNCE"] = "off"
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=SECONDS, kernel_name="python3", record_timing=False,
                            resources={"metadata": {"path": str(FOLDER)}}).execute()
    return book


def picture_of(page: str) -> str | None:
    """A PNG picture of a page in the middle of its run, in base 64; None without a browser."""
    sys.path.insert(0, str(FOLDER.parent / "tests" / "viz"))
    from browser import Browser, chromium
    from PIL import Image

    if chromium() is None:
        return None
    with tempfile.TemporaryDirectory() as folder, Browser(WIDTH, HEIGHT) as browser:
        file = Path(folder) / "page.html"
        file.write_text(page, encoding="utf-8")
        browser.open(file)
        browser.wait("typeof mbkernViewer !== 'undefined'")
        browser.run("mbkernViewer.setPlaying(false)")
        browser.run("mbkernViewer.setTime(0.4 * document.getElementById('time').max)")
        shot = Image.open(io.BytesIO(browser.screenshot())).convert("RGB").quantize(96)
    out = io.BytesIO()
    shot.save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


def light(data: dict[str, Any]) -> None:
    """Replace a viewer by its picture."""
    page = data.get("text/html", "")
    if len(page) > LARGE:
        found = re.match(r'<iframe srcdoc="(.*?)" style=', page, re.S)
        picture = picture_of(html.unescape(found.group(1))) if found else None
        del data["text/html"]
        if picture is not None:
            data["image/png"] = picture


def main() -> None:
    import nbformat

    wanted = sys.argv[1:]
    for path in sorted(FOLDER.glob("*.ipynb")):
        if wanted and not path.name.startswith(tuple(wanted)):
            continue
        book = executed(path)
        for cell in book.cells:
            for output in cell.get("outputs", []):
                light(output.get("data", {}))
        book.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                         "language_info": {"name": "python"}, "mbkern": {"code": code_of(book.cells)}}
        nbformat.write(book, path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
