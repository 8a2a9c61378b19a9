"""One table for a model: what the papers print, what their algorithms and our kernels execute, how long it takes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..methods import METHODS
from ..model.model import Model
from .count import count
from .table1 import model_structure, table1
from .textbook import TEXTBOOK
from .timing import evaluation_times

# the formulas that speak about a method: English and Russian paper
PRINTED = {
    "emh-ldl": ("EMH", "ERA"), "emh-cholesky": ("EMH", "ERA"), "emh-lu": ("EMH", "ERA"),
    "dah": ("DAH", "TSP"), "hzu": ("HZU", "OSP"),
}
# the formula that a textbook count is set against
COMPARED = {"emh-ldl": "ERA", "emh-cholesky": "EMH", "emh-lu": "ERA", "dah": "TSP", "hzu": "OSP"}


@dataclass(frozen=True)
class Row:
    """One method; None where a method has no such number.

    Attributes
    ----------
    method : str
    english, russian : int
        Flops by the printed formulas.
    textbook : int
        Flops that the printed algorithm executes; `difference` is textbook less the formula `compared`.
    kernel : int
        Flops that the shipped kernel executes; `ratio` is kernel over the English formula.
    nanoseconds : float
        Of one `System.rhs` called from Python.
    gigaflops : float
        kernel / nanoseconds.
    """

    method: str
    english: int | None
    russian: int | None
    textbook: int | None
    compared: str | None
    difference: int | None
    kernel: int | None
    ratio: float | None
    nanoseconds: float | None
    gigaflops: float | None


@dataclass(frozen=True)
class Report:
    """The table of `report`; print it, or take `to_markdown()` or `to_dict()`."""

    model: str
    n_bodies: int
    nv: int
    formulas: dict[str, int]
    rows: tuple[Row, ...]

    def _cells(self) -> list[list[str]]:
        head = ["method", "English", "Russian", "textbook", "less formula", "kernel", "kernel/English", "ns", "Gflop/s"]
        table = [head]
        for row in self.rows:
            less = "-" if row.difference is None else f"{row.difference:+d} ({row.compared})"
            table.append([row.method, *(_show(x) for x in (row.english, row.russian, row.textbook)), less,
                          _show(row.kernel), _show(row.ratio), _show(row.nanoseconds, 0), _show(row.gigaflops)])
        return table

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """The table for a terminal."""
        cells = self._cells()
        widths = [max(len(row[j]) for row in cells) for j in range(len(cells[0]))]
        lines = [f"{self.model}: {self.n_bodies} bodies, {self.nv} freedoms; flops of one evaluation"]
        lines += ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
                  for row in cells]
        return "\n".join(lines)

    def to_markdown(self) -> str:
        """The table for a document."""
        head, *rows = ["| " + " | ".join(row) + " |" for row in self._cells()]
        return "\n".join([head, "|---|" + "---:|" * (len(self._cells()[0]) - 1), *rows])

    def to_dict(self) -> dict[str, Any]:
        """The table as plain dicts and numbers (fit for JSON)."""
        return {"model": self.model, "n_bodies": self.n_bodies, "nv": self.nv, "formulas": self.formulas,
                "methods": {row.method: asdict(row) for row in self.rows}}


def _show(x: float | int | None, digits: int = 2) -> str:
    return "-" if x is None else str(x) if isinstance(x, int) else f"{x:.{digits}f}"


def report(model: Model, measure: bool = True, seconds: float = 0.05) -> Report:
    """Formulas, executed operations and measured times of every method for one model.

    Parameters
    ----------
    model : Model
    measure : bool
        Whether to measure times (compiles the kernels on first use).
    seconds : float
        Time to spend on measuring each method.

    Returns
    -------
    Report
        Prints as text; `to_markdown()`, `to_dict()`.

    Notes
    -----
    The formulas and textbook counts leave out the kinematics (sines, C, A, Adot^T - A^T Omega, weights); kernel
    counts include all but the sine-cosine pairs. "hzu" needs an invertible inertia of every body and is left out
    where it has none.

    Examples
    --------
    >>> import mbkern as mb
    >>> table = mb.flops.report(mb.zoo.pipelayer(), measure=False)
    >>> table.to_dict()["methods"]["emh-ldl"]["difference"]  # textbook less ERA
    0
    """
    printed = table1(model)
    tree = model_structure(model)
    invertible = all(body.mass > 0.0 and _positive(body.inertia) for body in model.body_specs)
    names = [name for name in dict.fromkeys((*TEXTBOOK, *METHODS)) if invertible or name != "hzu"]
    kernels = tuple(name for name in names if name in METHODS)
    times = evaluation_times(model, kernels, seconds) if measure else {}
    rows = []
    for name in names:
        english, russian = (printed.get(key) for key in PRINTED.get(name, ("", "")))
        textbook = count(model, name, level="textbook").total if name in TEXTBOOK else None
        kernel = count(model, name).total if name in METHODS else None
        compared, ns = COMPARED.get(name), times.get(name)
        rows.append(Row(
            name, english, russian, textbook, compared,
            None if textbook is None or compared is None else textbook - printed[compared],
            kernel, None if kernel is None or not english else kernel / english,
            ns, None if ns is None or kernel is None else kernel / ns))
    return Report(model.name, len(tree.n), sum(tree.n), printed, tuple(rows))


def _positive(inertia: Any) -> bool:
    """Whether a rotation about every axis has inertia."""
    values = np.linalg.eigvalsh(np.array(inertia, float))
    return bool(values[0] > 1e-12 * values[-1])
