"""One table for a model: what the papers print, what their algorithms and our kernels execute, how long it takes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..methods import METHODS
from ..model.checks import flag
from ..model.model import Model
from ..textbook import METHODS as TEXTBOOK
from .count import Counted, count
from .table1 import model_structure, table1
from .timing import evaluation_times, spent

# the formulas that speak about a method: English and Russian paper
PRINTED = {
    "emh-ldl": ("EMH", "ERA"), "emh-cholesky": ("EMH", "ERA"), "emh-lu": ("EMH", "ERA"),
    "dah": ("DAH", "TSP"), "dah-ldl": ("DAH", "TSP"), "hzu": ("HZU", "OSP"), "hzu-ldl": ("HZU", "OSP"),
}
# why a kernel can take more operations than its formula
_KINEMATICS = "C, A, vr and Adot^T - A^T Omega, which the formula takes as given"
WHY_ABOVE = {
    "emh-ldl": "the formula charges nothing for driven steps and for turns of the axes inside a joint",
    "emh-lu": f"it computes {_KINEMATICS}, estimates its rounding error, and is Algorithm 1 (two vectors carried for "
              "each dof) under the formula of Algorithm 2",
    "dah": "it works through compound joints step by step, with a frame and an inertia for each step",
    "hzu": f"it estimates its rounding error and computes Z (Householder reflections), {_KINEMATICS}",
}


@dataclass(frozen=True)
class Row:
    """One method; None where a method has no such number.

    Attributes
    ----------
    method : str
    english, russian : int
        Flops by the printed formulas.
    textbook_to_mu, textbook_to_mu_less_english : int
        Flops that the printed algorithm executes before F* and pdot, and these less the English formula, whose table
        ends there.
    textbook_to_pdot, textbook_to_pdot_less_russian : int
        All flops that the printed algorithm executes, and these less the Russian formula, whose table ends there.
    kernel, kernel_less_english : int
        Flops that the shipped kernel executes, and these less the English formula; `ratio` is kernel over formula.
    nanoseconds : float
        Of one right-hand side inside compiled code.
    gigaflops : float
        kernel / nanoseconds.
    textbook_by_sweep, kernel_by_sweep : dict
        The executed flops by sweep; the textbook's as far as `count` covers them (forms with square roots to mu, others
        to pdot).
    """

    method: str
    english: int | None
    russian: int | None
    textbook_to_mu: int | None
    textbook_to_mu_less_english: int | None
    textbook_to_pdot: int | None
    textbook_to_pdot_less_russian: int | None
    kernel: int | None
    kernel_less_english: int | None
    ratio: float | None
    nanoseconds: float | None
    gigaflops: float | None
    textbook_by_sweep: dict[str, int]
    kernel_by_sweep: dict[str, int]


@dataclass(frozen=True)
class Report:
    """The table of `report`; print it, or take `to_markdown()` or `to_dict()`."""

    model: str
    n_bodies: int
    nv: int
    formulas: dict[str, int]
    rows: tuple[Row, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each method whose kernel executes more than the English formula says."""
        return tuple(f"{row.method}: the kernel takes {row.kernel_less_english} flops more than the English formula; "
                     f"{WHY_ABOVE.get(row.method, 'not explained')}." for row in self.rows
                     if row.kernel_less_english is not None and row.kernel_less_english > 0)

    def _cells(self) -> list[list[str]]:
        table = [["method", "English", "Russian", "to mu", "- English", "to pdot", "- Russian", "kernel", "- English",
                  "ratio", "ns", "Gflop/s"]]
        for row in self.rows:
            table.append([row.method, _show(row.english), _show(row.russian),
                          _show(row.textbook_to_mu), _signed(row.textbook_to_mu_less_english),
                          _show(row.textbook_to_pdot), _signed(row.textbook_to_pdot_less_russian),
                          _show(row.kernel), _signed(row.kernel_less_english), _show(row.ratio),
                          _show(row.nanoseconds, 0), _show(row.gigaflops)])
        return table

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """The table for a terminal."""
        cells = self._cells()
        widths = [max(len(row[j]) for row in cells) for j in range(len(cells[0]))]
        table = ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
                 for row in cells]
        above, at = [], 0
        for title, columns in (("", 1), ("formulas", 2), ("printed algorithm, executed", 4),
                               ("our kernel, executed", 3), ("time", 2)):
            above.append(title.center(sum(widths[at:at + columns]) + 2 * (columns - 1)))
            at += columns
        head = f"{self.model}: {self.n_bodies} bodies, {self.nv} dofs; flops of one evaluation"
        return "\n".join([head, "  ".join(above).rstrip(), *table, *self.notes])

    def to_markdown(self) -> str:
        """The table for a document, then the notes."""
        cells = self._cells()
        cells[0] = ["method", "English formula", "Russian formula", "textbook to mu", "minus English",
                    "textbook to pdot", "minus Russian", "kernel", "minus English", "kernel / English", "ns", "Gflop/s"]
        head, *rows = ["| " + " | ".join(row) + " |" for row in cells]
        notes = ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join([head, "|---|" + "---:|" * (len(cells[0]) - 1), *rows, *notes])

    def to_dict(self) -> dict[str, Any]:
        """The table as plain dicts and numbers (fit for JSON)."""
        return {"model": self.model, "n_bodies": self.n_bodies, "nv": self.nv, "formulas": self.formulas,
                "methods": {row.method: asdict(row) for row in self.rows}, "notes": list(self.notes)}


def _show(x: float | int | None, digits: int = 2) -> str:
    return "-" if x is None else str(x) if isinstance(x, int) else f"{x:.{digits}f}"


def _signed(x: int | None) -> str:
    return "-" if x is None else f"{x:+d}" if x else "0"


def _less(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a - b


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
    Every printed algorithm is executed to pdot and summed up twice, by the same rule: to mu beside the English
    formula, whose table ends there, and to pdot beside the Russian one (:mod:`mbkern.flops.count` says why).
    Formulas and textbook counts leave out the kinematics (sines, C, A, Adot^T - A^T Omega, weights); kernel counts
    include all but the sine-cosine pairs. Where a kernel executes more than its formula, a note says why. "hzu"
    needs an invertible inertia of every body and is left out where it has none.

    Examples
    --------
    >>> import mbkern as mb
    >>> table = mb.flops.report(mb.zoo.pipelayer(), measure=False)
    >>> table.to_dict()["methods"]["emh-ldl"]["textbook_to_pdot_less_russian"]  # ERA is a literal count
    0
    """
    printed = table1(model)
    tree = model_structure(model)
    invertible = all(body.mass > 0.0 and _positive(body.inertia) for body in model.body_specs)
    names = [name for name in dict.fromkeys((*TEXTBOOK, *METHODS)) if invertible or not name.startswith("hzu")]
    kernels = tuple(name for name in names if name in METHODS)
    seconds = spent(seconds)
    times = evaluation_times(model, kernels, seconds) if flag(measure, "measure") else {}
    rows = []
    for name in names:
        english, russian = (printed.get(key) for key in PRINTED.get(name, ("", "")))
        textbook = count(model, name, level="textbook") if name in TEXTBOOK else None
        kernel = count(model, name) if name in METHODS else None
        to_mu, to_pdot = (None, None) if textbook is None else (textbook.to_mu, textbook.to_pdot)
        executed, ns = None if kernel is None else kernel.total, times.get(name)
        rows.append(Row(
            name, english, russian, to_mu, _less(to_mu, english), to_pdot, _less(to_pdot, russian),
            executed, _less(executed, english), None if executed is None or not english else executed / english,
            ns, None if ns is None or executed is None else executed / ns, _sweeps(textbook), _sweeps(kernel)))
    return Report(model.name, len(tree.n), sum(tree.n), printed, tuple(rows))


def _sweeps(counted: Counted | None) -> dict[str, int]:
    return {} if counted is None else dict(counted.by_sweep)


def _positive(inertia: Any) -> bool:
    """Whether a rotation about every axis has inertia."""
    values = np.linalg.eigvalsh(np.array(inertia, float))
    return bool(values[0] > 1e-12 * values[-1])
