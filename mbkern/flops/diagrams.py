"""Which method is cheapest: maps over trees of c equal chains of length L on a base body, as in the papers' diagrams.

The number of bodies is N = 1 + c L; all joints are equal, with n dofs. A map can be drawn from five kinds of
costs: the formulas of the English or of the Russian paper, the operations that the printed algorithms or our kernels
execute, and measured times.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .. import files
from ..errors import MbkernError, ModelError
from ..methods import METHODS
from ..model import joint as joints
from ..model.builder import WORLD, ModelBuilder
from ..model.checks import several, show, whole, word
from ..model.joint import Joint
from ..model.model import Model
from .count import count
from .table1 import ENGLISH, RUSSIAN, formulas, structure
from .timing import best_times, evaluation, spent

SOURCES = ("table1-en", "table1-ru", "textbook", "counted", "measured")
LETTERS = {"EMH": "E", "DAH": "D", "HZU": "H", "ERA": "E", "TSP": "D", "OSP": "H",
           "emh-ldl": "E", "dah": "D", "hzu": "H", "dah-ldl": "D", "hzu-ldl": "H"}
COLOURS = {"E": "#4c78a8", "D": "#f2b44d", "H": "#72b779"}
SMALL = [2, 3, 4, 5]  # four values give a cubic polynomial
MOST_BODIES = 10_000  # of a chain, and chains
ISOLINES = (5, 10, 20, 50, 100, 200, 300, 500, 1000, 2000)
_TITLES = {"table1-en": "formulas, English", "table1-ru": "formulas, Russian",
           "textbook": "printed algorithms, executed",
           "counted": "executed flops of our kernels", "measured": "times of our kernels"}


def joint_of(n: int) -> Joint:
    """The joint with n dofs of maps and benchmarks: revolute, universal, ball; then translations before a ball.

    Examples
    --------
    >>> from mbkern.flops.diagrams import joint_of
    >>> [joint_of(n).kind for n in (1, 2, 3, 6)]
    ['revolute', 'universal', 'ball', 'free']
    """
    _freedoms(n)
    if n <= 3:
        return (joints.revolute("z"), joints.universal("x", "y"), joints.ball())[n - 1]
    if n == 6:
        return joints.free()
    return joints.as_joint([*(joints.translate(axis) for axis in "xy"[: n - 3]), joints.ball()])


def _freedoms(n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= 6:
        raise ModelError(f"n: expected the dofs of every joint, 1 to 6, got {show(n)}")
    return int(n)


def _size(value: Any, what: str) -> int:
    return whole(value, what, 1, MOST_BODIES)


@dataclass(frozen=True)
class SelectionMap:
    """Cheapest method for c chains (rows, from 1) of length L (columns, from 1).

    Attributes
    ----------
    n : int
        Dofs of every joint.
    source : str
        Where the costs come from.
    methods : tuple of str
        The candidates.
    costs : dict of arrays (max_chains, max_length)
        Flops, or nanoseconds for "measured".
    """

    n: int
    source: str
    methods: tuple[str, ...]
    costs: dict[str, np.ndarray]

    @property
    def best(self) -> np.ndarray:
        """Name of the cheapest method in every cell; of equal ones the first of `methods`."""
        order = np.argmin([self.costs[name] for name in self.methods], axis=0)
        return np.array(self.methods)[order]

    def rows(self) -> list[str]:
        """The map as text: a row for each number of chains, E, D or H for the family of the method."""
        return ["".join(LETTERS[name] for name in row) for row in self.best]

    def shares(self) -> dict[str, float]:
        """Part of the map that each method wins."""
        return {name: float(np.mean(self.best == name)) for name in self.methods}

    @property
    def note(self) -> str:
        """What to say beside the picture."""
        if self.source.startswith("table1") and self.n >= 5:
            return ("The papers say that HZU wins for 3 and 4 dofs only;\n"
                    "their formulas favour it for 5 and 6 as well.")
        return ""

    def plot(self, axes: Any = None) -> Any:
        """Draw the map with isolines of the number of bodies; needs matplotlib. Returns the axes.

        Examples
        --------
        >>> import mbkern as mb
        >>> axes = mb.flops.selection_map(3).plot()  # doctest: +SKIP
        """
        plt = pyplot()
        if axes is None:
            _, axes = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch
        from matplotlib.ticker import MaxNLocator

        rows, columns = self.best.shape
        kinds = [LETTERS[name] for name in self.methods]
        number = np.array([[kinds.index(x) for x in row] for row in self.rows()])
        L, c = np.arange(1, columns + 1), np.arange(1, rows + 1)
        axes.pcolormesh(L, c, number, cmap=ListedColormap([COLOURS[x] for x in kinds]), vmin=0, vmax=len(kinds) - 1,
                        shading="nearest")
        bodies = 1 + np.outer(np.linspace(0.5, rows + 0.5, 200), np.linspace(0.5, columns + 0.5, 200))
        levels = [x for x in ISOLINES if bodies.min() < x < bodies.max()]
        if levels:
            axes.contour(np.linspace(0.5, columns + 0.5, 200), np.linspace(0.5, rows + 0.5, 200), bodies,
                         levels=levels, colors="k", linewidths=0.7)
            for N in levels:  # labels where an isoline crosses the diagonal of the map: there no edge cuts them off
                x, y = np.sqrt((N - 1) * columns / rows), np.sqrt((N - 1) * rows / columns)
                if x < columns and y < rows:
                    axes.text(x, y, f"N = {N}", fontsize=7, ha="center",
                              va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.8})
        shares = self.shares()
        axes.legend(handles=[Patch(color=COLOURS[LETTERS[name]], label=f"{name} {100 * shares[name]:.0f} %")
                             for name in self.methods], loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3,
                    fontsize=8, frameon=False, handlelength=1.2, columnspacing=1.2)
        axes.set(xlabel="length of a chain L", ylabel="number of chains c",
                 title=f"n = {self.n}: {_TITLES[self.source]}", xlim=(0.5, columns + 0.5), ylim=(0.5, rows + 0.5))
        axes.title.set_fontsize(10)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        if self.note:
            axes.text(0.98, 0.98, self.note, transform=axes.transAxes, fontsize=7, ha="right", va="top",
                      bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": "none"})
        return axes


class MissingMatplotlib(MbkernError, ImportError):
    """A picture was asked for, and matplotlib is not installed."""


def pyplot() -> Any:
    """matplotlib's pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingMatplotlib("pictures need matplotlib: pip install 'mbkern[viz]'") from None
    return plt


def selection_map(
    n: int, max_length: int = 20, max_chains: int = 20, source: str = "table1-en", joint: Joint | None = None,
    seconds: float = 0.002,
) -> SelectionMap:
    """Which method is cheapest for c chains of length L on a base body.

    Parameters
    ----------
    n : int
        Dofs of every joint, 1 to 6.
    max_length, max_chains : int
        Size of the map.
    source : str
        "table1-en" (EMH, DAH, HZU), "table1-ru" (ERA, TSP, OSP), "textbook" (flops that the printed algorithms
        execute, L^T D L to pdot), "counted" (flops that the kernels "emh-ldl", "dah" and "hzu" execute) or "measured"
        (nanoseconds of `System.rhs`).
    joint : Joint, optional
        The joint for "textbook", "counted" and "measured"; by default `joint_of(n)`.
    seconds : float
        "measured": time to spend on each method and cell.

    Returns
    -------
    SelectionMap
        `.best`, `.costs`, `.rows()`, `.plot()`.

    Notes
    -----
    The executed flops of a family of trees are polynomials in L and c. They are found from small trees, exactly, and
    checked on larger ones; where the check fails, every tree is counted. The trees are those of `equal_chains`.

    Examples
    --------
    >>> import mbkern as mb
    >>> print("\\n".join(mb.flops.selection_map(3, max_length=8, max_chains=4).rows()))
    DHHHHHHH
    DDHHHHHH
    DDHHHHHH
    DDHHHHHH
    """
    n, columns, rows = _freedoms(n), _size(max_length, "max_length"), _size(max_chains, "max_chains")
    if not isinstance(source, str) or source not in SOURCES:
        raise ModelError(f"source: expected one of {', '.join(SOURCES)}, got {show(source)}")
    spent(seconds)
    if joint is None:
        joint = joint_of(n)
    elif joints.as_joint(joint).nv != n:
        raise ModelError(f"joint: expected {n} dofs, got {joints.as_joint(joint).nv}")
    cells = [(c, L) for c in range(1, rows + 1) for L in range(1, columns + 1)]
    methods: tuple[str, ...]
    if source.startswith("table1"):
        methods = ENGLISH if source == "table1-en" else RUSSIAN
        values = [_printed(c, L, n) for c, L in cells]
        costs = {name: np.array([value[name] for value in values]).reshape(rows, columns) for name in methods}
    elif source == "textbook":
        methods = ("emh-ldl", "dah-ldl", "hzu-ldl")
        costs = {name: _counted(name, "textbook", joint, rows, columns) for name in methods}
    else:
        methods = tuple(name for name in ("emh-ldl", "dah", "hzu") if name in METHODS)
        if source == "counted":
            costs = {name: _counted(name, "kernel", joint, rows, columns) for name in methods}
        else:
            models = {(c, L): equal_chains(c, L, joint) for c, L in cells}
            times = best_times({(cell, name): evaluation(model, name) for cell, model in models.items()
                                for name in methods}, seconds)  # all cells take turns: noise hits none of them alone
            costs = {name: np.array([times[cell, name] for cell in cells]).reshape(rows, columns) for name in methods}
    return SelectionMap(n, source, methods, costs)


def _parents(chains: int, length: int) -> list[int]:
    parents = [-1]
    for _ in range(chains):
        parents += [0, *range(len(parents), len(parents) + length - 1)]
    return parents


def _printed(c: int, L: int, n: int) -> dict[str, int]:
    parents = _parents(c, L)
    return formulas(structure(parents, [n] * len(parents)))


# ---- executed flops of all trees of a map from those of small ones
# --------------------------------------------------


def equal_chains(chains: int, length: int, joint: Joint) -> Model:
    """Equal chains on a base body, all bodies and placements alike: the trees of the maps.

    Alike, because our kernels save operations where axes are parallel or meet at small angles: on trees with random
    placements, as those of `zoo.star`, chance would be part of the counts.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern.flops.diagrams import equal_chains
    >>> equal_chains(2, 3, mb.revolute("z")).parents.tolist()
    [-1, 0, 1, 2, 0, 4, 5]
    """
    builder = ModelBuilder(name=f"{chains} chains of {length}")
    for i, k in enumerate(_parents(chains, length)):
        builder.add_body(f"body{i}", WORLD if k < 0 else f"body{k}", joint, mass=1.0, com=(0.2, 0.03, -0.02),
                         inertia=(0.02, 0.03, 0.04), position=(0.4, 0.05, -0.03), rotation=(0.7, 0.1, 0.5, 0.5))
    return builder.build()


def _counted(method: str, level: str, joint: Joint, rows: int, columns: int) -> np.ndarray:
    @cache
    def flops(c: int, L: int) -> int:
        return count(equal_chains(c, L, joint), method, level).total

    def predicted(c: int, L: int) -> Fraction:
        # Chains meet in the base body alone, so each of them adds the same for its length, a cubic polynomial at most,
        # and their number a cubic of its own. A single chain, and chains of one body, are cases of their own: the
        # kernels know where a tree branches and where it ends.
        if (c, L) == (1, 1):
            return Fraction(flops(1, 1))
        if L == 1:
            return interpolate(SMALL, [flops(k, 1) for k in SMALL], c)
        if c == 1:
            return interpolate(SMALL, [flops(1, k) for k in SMALL], L)
        longer = interpolate(SMALL, [flops(2, k) for k in SMALL], L) - flops(2, 2)
        return interpolate(SMALL, [flops(k, 2) for k in SMALL], c) + longer * Fraction(c, 2)

    exact = all(predicted(c, L) == flops(c, L) for c, L in ((6, 1), (2, 7), (4, 3), (1, 8)))
    cost: Callable[[int, int], Any] = predicted if exact else flops
    return np.array([[int(cost(c, L)) for L in range(1, columns + 1)] for c in range(1, rows + 1)])


def interpolate(at: list[int], values: list[Any], x: int) -> Fraction:
    """The polynomial through (at, values), at x, in exact arithmetic."""
    total = Fraction(0)
    for i, value in enumerate(values):
        term = Fraction(value)
        for j, other in enumerate(at):
            if j != i:
                term *= Fraction(x - other, at[i] - other)
        total += term
    return total


# ---- crossovers and pictures
# -----------------------------------------------------------------------------------------


def first_cheaper(left: str, right: str, n: int, limit: int = 200) -> int | None:
    """First length N of a chain of n-dof joints at which the formula `left` is below `right`; None up to `limit`.

    Examples
    --------
    >>> from mbkern.flops import first_cheaper
    >>> first_cheaper("EMH", "DAH", 1), first_cheaper("ERA", "TSP", 1), first_cheaper("HZU", "EMH", 1)
    (17, 14, None)
    """
    _freedoms(n)
    for name in (left, right):
        if not isinstance(name, str) or name not in (*ENGLISH, *RUSSIAN):
            raise ModelError(f"formula: expected one of {', '.join((*ENGLISH, *RUSSIAN))}, got {show(name)}")
    for N in range(1, _size(limit, "limit") + 1):
        values = formulas(structure(range(-1, N - 1), [n] * N))
        if values[left] < values[right]:
            return N
    return None


def crossovers(n: int) -> dict[str, int | None]:
    """All six crossovers of a single chain of n-dof joints (None: never), by the formulas.

    Examples
    --------
    >>> from mbkern.flops import crossovers
    >>> crossovers(3)
    {'EMH<DAH': 5, 'HZU<EMH': 1, 'HZU<DAH': 3, 'ERA<TSP': 5, 'OSP<ERA': 1, 'OSP<TSP': 3}
    """
    pairs = [(a, b) for e, d, h in (ENGLISH, RUSSIAN) for a, b in ((e, d), (h, e), (h, d))]
    return {f"{left}<{right}": first_cheaper(left, right, n) for left, right in pairs}


def selection_figure(
    n: int, path: str | Path | None = None, sources: tuple[str, ...] = SOURCES, max_length: int = 20,
    max_chains: int = 20, joint: Joint | None = None, progress: Callable[[int], None] | None = None,
) -> Any:
    """The maps of several sources beside each other; written to `path` (PNG, SVG, PDF by its ending) when given.

    `progress` is told how many of the maps are done, after each of them.

    Examples
    --------
    >>> import mbkern as mb
    >>> figure = mb.flops.selection_figure(3, "map.png", sources=("table1-en",))  # doctest: +SKIP
    """
    plt = pyplot()
    maps = []
    target = None if path is None else Path(files.named(path, "selection_figure"))
    for source in several(sources, "sources"):
        maps.append(selection_map(n, max_length, max_chains, source, joint))
        if progress is not None:
            progress(len(maps))
    columns = len(maps) if len(maps) <= 3 else 2
    rows = -(-len(maps) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4.6 * columns, 4.4 * rows), squeeze=False,
                                layout="constrained")
    for one, ax in zip(maps, axes.flat, strict=False):
        one.plot(ax)
    for ax in axes.flat[len(maps):]:
        ax.remove()
    if target is not None:
        kinds = figure.canvas.get_supported_filetypes()
        kind = word(target.suffix[1:].lower(), "selection_figure: path: its ending", kinds)
        picture = io.BytesIO()
        figure.savefig(picture, format=kind, dpi=120)
        files.write(target, picture.getvalue(), "selection_figure")
    return figure
