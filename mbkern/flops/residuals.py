"""What remains between the printed operation counts and the printed algorithms, executed: term by term.

Each of the six formulas of Table 1 (:mod:`mbkern.flops.table1`) is set beside the reading of its algorithm that
comes closest to it for all trees, executed on counting numbers (:mod:`mbkern.textbook`): English formulas beside
the forms with square roots, to mu; Russian ones beside L^T D L, to pdot. Counted less printed, exactly and for
every tree without armature (others: bodies that hang on a body; m = 6 - n):

    EMH   sum_others(44 n - 84) - sum_roots(6 n^2 + 10 n + 60)
    DAH   sum_others(12 n + 6) + sum_roots(12 n - 138)
    HZU   sum_others(18 m) - sum_roots(12 m + 144) + 6 for each weld
    ERA   0
    TSP   sum_all(12 n - 63)
    OSP   sum_others(18 n + 1) + sum_roots(36 n - 155) + 6 for each weld

The readings: composites of rigid bodies are rigid (ten numbers, 157 flops to the parent by Huygens and Steiner: with
five sums over the tree of 48 flops a body, the printed 397 of TSP; A^T Mc takes 42 n, which is what the printed 42
theta says); an entry of H or of Z^T S M^-1 S^T Z is added to what is there (12); M^-1 goes through the centre of mass
(42); A (A^T A)^-1 and Z are given as A is. Nothing is bent: `terms` finds the coefficients of every line from executed
operations, and `readings` how far other readings are from the print.

What the print does not say. DAH and TSP have room for one of the two products with A that a driven tree needs, p -
A^T y and A qdot + vr: 12 n. DAH charges a root 138 more than its lines take, and all others 6 less; TSP charges every
body 63 more, for which no line was found. HZU and OSP leave no line for C^T Z (42 m); HZU has 12 tau instead, OSP a
dense M^-1 (66 tau), and both charge a root for lines that it does not have. EMH charges a root for U, which it does not
have, and 44 n less than the lines of all others take.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..errors import ModelError
from ..model import zoo
from ..model.checks import show
from ..model.model import Model
from .count import count
from .diagrams import joint_of
from .table1 import FORMULAS, Structure, formulas, model_structure

# the algorithm that each formula is set beside
EXECUTED = {"EMH": "emh-cholesky", "DAH": "dah", "HZU": "hzu", "ERA": "emh-ldl", "TSP": "dah-ldl", "OSP": "hzu-ldl"}


def residual(formula: str, tree: Structure) -> int:
    """Counted less printed, worked out by hand (the formulas above).

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern.flops.residuals import residual
    >>> model = mb.zoo.pipelayer()
    >>> residual("DAH", mb.flops.model_structure(model))
    -48
    >>> mb.flops.count(model, "dah", level="textbook").total - mb.flops.table1(model)["DAH"]
    -48
    """
    others, root, weld = {
        "EMH": (lambda n: 44 * n - 84, lambda n: -(6 * n * n + 10 * n + 60), 0),
        "DAH": (lambda n: 12 * n + 6, lambda n: 12 * n - 138, 0),
        "HZU": (lambda n: 18 * (6 - n), lambda n: -12 * (6 - n) - 144, 6),
        "ERA": (lambda n: 0, lambda n: 0, 0),
        "TSP": (lambda n: 12 * n - 63, lambda n: 12 * n - 63, 0),
        "OSP": (lambda n: 18 * n + 1, lambda n: 36 * n - 155, 6),
    }[_known(formula)]
    return sum((others(n) if k >= 0 else root(n)) + (weld if n == 0 else 0)
               for k, n in zip(tree.parents, tree.n, strict=True))


# ---- the terms of the formulas -------------------------------------------------------------------------------------

Term = Callable[[Structure], int]


def _over(values: Callable[[Structure], tuple[int, ...]], power: int, which: str = "all") -> Term:
    """Sum of a parameter to a power over all bodies, the roots or the others."""
    def term(tree: Structure) -> int:
        return sum(x**power for k, x in zip(tree.parents, values(tree), strict=True)
                   if which == "all" or (which == "roots") == (k < 0))
    return term


def _along(power: int) -> Term:
    """Sum of eta^power less the sum over the others of the parent's."""
    return lambda tree: sum(x**power for x in tree.eta) - sum(tree.eta[k]**power for k in tree.parents if k >= 0)


def _power(x: str, k: int) -> str:
    return x if k == 1 else f"{x}^{k}"


def _bodies(which: str) -> Term:
    return _over(lambda tree: tree.n, 0, which)


_EXTENDED: dict[str, Term] = {
    **{_power("n", k): _over(lambda tree: tree.n, k) for k in (3, 2, 1)}, "1": _bodies("all"),
    **{_power("roots: n", k): _over(lambda tree: tree.n, k, "roots") for k in (2, 1)}, "roots: 1": _bodies("roots"),
}
_PATHS: dict[str, Term] = {
    **{f"{_power('eta', k)} - {_power('eta_k', k)}": _along(k) for k in (3, 2, 1)},
    "theta": _over(lambda tree: tree.theta, 1), "1": _bodies("all"), "others: 1": _bodies("others"),
}
_CLIQUES: dict[str, Term] = {
    **{_power("tau", k): _over(lambda tree: tree.tau, k) for k in (3, 2, 1)}, "1": _bodies("all"),
    **{_power("others: m", k): _over(lambda tree: tree.m, k, "others") for k in (3, 2, 1)},
    "others: 1": _bodies("others"),
    "welds: 1": lambda tree: sum(n == 0 for n in tree.n),
}
TERMS = {"EMH": _EXTENDED, "ERA": _EXTENDED, "DAH": _PATHS, "TSP": _PATHS, "HZU": _CLIQUES, "OSP": _CLIQUES}
# lines that are polynomials of these terms only together
_TOGETHER = {
    **dict.fromkeys(("H_ii", "H_ij"), "H_ii, H_ij"), **dict.fromkeys(("A^T Mc", "(A^T Mc) C"), "(A^T Mc) C ... C"),
    **dict.fromkeys(("L_ii", "L_ij", "X_jk - L_ij^T L_ik", "h_i", "Q_j - L_ij^T h_i", "h_i - L_ij u_j", "u_i"),
                    "Algorithm 3"),
}


@dataclass(frozen=True)
class Terms:
    """The coefficients of a printed formula, of every line of the executed algorithm, and of what remains.

    Attributes
    ----------
    formula, method : str
    terms : tuple of str
        What the coefficients multiply, summed over all bodies, the roots or the others.
    lines : dict of str -> tuple of Fraction
        Of every line of the algorithm.
    printed, counted, remains : tuple of Fraction
    """

    formula: str
    method: str
    terms: tuple[str, ...]
    lines: dict[str, tuple[Fraction, ...]]
    printed: tuple[Fraction, ...]

    @property
    def counted(self) -> tuple[Fraction, ...]:
        return tuple(sum(column, Fraction(0)) for column in zip(*self.lines.values(), strict=True))

    @property
    def remains(self) -> tuple[Fraction, ...]:
        return tuple(a - b for a, b in zip(self.counted, self.printed, strict=True))

    def to_markdown(self) -> str:
        """A row for every line of the algorithm, a column for every term."""
        rows = [*self.lines.items(), ("**counted**", self.counted), (f"**printed: {self.formula}**", self.printed),
                ("**counted less printed**", self.remains)]
        head = [f"| {self.method} | " + " | ".join(self.terms) + " |", "|---|" + "---:|" * len(self.terms)]
        return "\n".join(head + [f"| {name} | " + " | ".join(str(x) if x else "" for x in row) + " |"
                                 for name, row in rows])


def terms(formula: str, trees: int = 40) -> Terms:
    """Compare a printed formula with its algorithm, executed: coefficient by coefficient, line by line.

    The coefficients come from executed operations on random trees, as fractions that reproduce all of them exactly.

    Parameters
    ----------
    formula : str
        "EMH", "DAH", "HZU", "ERA", "TSP" or "OSP".
    trees : int
        How many random trees to execute the algorithm on.

    Returns
    -------
    Terms

    Examples
    --------
    >>> from mbkern.flops.residuals import terms
    >>> terms("ERA").remains == (0,) * 7
    True
    """
    basis, method = TERMS[_known(formula)], EXECUTED[formula]
    models = [_tree(seed) for seed in range(trees)]
    structures = [model_structure(model) for model in models]
    steps = [_lines(model, method) for model in models]
    names = list(dict.fromkeys(name for step in steps for name in step))
    features = [[term(tree) for term in basis.values()] for tree in structures]
    lines = {name: _fit(features, [step.get(name, 0) for step in steps], f"{method}: {name}") for name in names}
    printed = _fit(features, [formulas(tree)[formula] for tree in structures], formula)
    return Terms(formula, method, tuple(basis), lines, printed)


def _tree(seed: int) -> Model:
    return zoo.random_tree(1 + seed % 7, seed=seed)


def _lines(model: Model, method: str) -> dict[str, int]:
    out: dict[str, int] = {}
    for name, flops in count(model, method, level="textbook").by_step.items():
        name = _TOGETHER.get(name, name)
        out[name] = out.get(name, 0) + flops
    return out


def _fit(features: list[list[int]], values: list[int], what: str) -> tuple[Fraction, ...]:
    """The coefficients, sixths, that give all values exactly."""
    found, _, rank, _ = np.linalg.lstsq(np.array(features, float), np.array(values, float), rcond=None)
    coefficients = tuple(Fraction(round(6 * x), 6) for x in found)
    exact = all(sum(c * x for c, x in zip(coefficients, row, strict=True)) == value
                for row, value in zip(features, values, strict=True))
    if rank < len(features[0]) or not exact:
        raise AssertionError(f"{what}: not a polynomial of these terms, or too few trees")
    return coefficients


def _known(formula: str) -> str:
    if not isinstance(formula, str) or formula not in FORMULAS:
        raise ModelError(f"formula: expected one of {', '.join(FORMULAS)}, got {show(formula)}")
    return formula


def percentages() -> str:
    """Counted less printed in per cent of the printed count, a row for each of some trees; Markdown."""
    trees = {
        "pipelayer": zoo.pipelayer(), "chain of 10 hinges": zoo.chain(10), "chain of 30 hinges": zoo.chain(30),
        "carousel of 20 hinges": zoo.carousel(20), "binary tree of 15, universal": zoo.binary_tree(15, joint_of(2)),
        "binary tree of 15, ball": zoo.binary_tree(15, joint_of(3)),
        "chain of 5 free bodies": zoo.chain(5, joint_of(6)),
    }
    lines = ["| counted less printed | " + " | ".join(FORMULAS) + " |", "|---|" + "---:|" * len(FORMULAS)]
    for name, model in trees.items():
        tree = model_structure(model)
        printed = formulas(tree)
        cells = [f"{100 * residual(formula, tree) / printed[formula]:+.1f} %" for formula in FORMULAS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _rate(tree: Structure) -> int:
    """The lines F* and pdot."""
    return 23 * sum(tree.n) + 48 * sum(k >= 0 for k in tree.parents)


def _carried(tree: Structure) -> int:
    """C^T Z of all bodies that hang on a body."""
    return 42 * sum(m for k, m in zip(tree.parents, tree.m, strict=True) if k >= 0)


def _dense(tree: Structure) -> int:
    """What C^T Mc C of a dense 6 x 6 takes more."""
    return (540 - 157) * sum(k >= 0 for k in tree.parents)


# how else an algorithm could be read, and what it would execute more
_READ: tuple[str, Term] = ("as executed", lambda tree: 0)
_OF_MASS: tuple[tuple[str, Term], ...] = (
    ("composites dense 6 x 6 (540 a body)", _dense), ("A^T Mc dense (66 theta)", lambda tree: 24 * sum(tree.theta)),
    ("one of the products p - A^T y, A qdot + vr", lambda tree: -12 * sum(tree.n)))
_OF_MULTIPLIERS: tuple[tuple[str, Term], ...] = (
    ("M^-1 dense (66)", lambda tree: 24 * sum(tree.tau) + 48 * len(tree.n)), ("no C^T Z", lambda tree: -_carried(tree)),
    ("M^-1 of S^T Z dense, no C^T Z", lambda tree: 24 * sum(tree.tau) - _carried(tree)))
READINGS: dict[str, tuple[tuple[str, Term], ...]] = {
    "EMH": (_READ, ("half of (A^T M*) A", lambda tree: -sum(11 * n * (n - 1) // 2 for n in tree.n)),
            ("no A qdot + vr", lambda tree: -12 * sum(tree.n)), ("to pdot", _rate)),
    "DAH": (_READ, *_OF_MASS, ("to pdot", _rate)),
    "HZU": (_READ, *_OF_MULTIPLIERS, ("to pdot", _rate)),
    "TSP": (_READ, *_OF_MASS, ("to mu", lambda tree: -_rate(tree))),
    "OSP": (_READ, *_OF_MULTIPLIERS, ("to mu", lambda tree: -_rate(tree))),
}


def readings(trees: int = 300) -> str:
    """How far other readings of the algorithms are from the printed formulas, on random trees; Markdown.

    Trees of up to three bodies are told apart because there the constants of the root are most of a formula.

    Parameters
    ----------
    trees : int
        How many, of 1 to 9 bodies.

    Examples
    --------
    >>> from mbkern.flops.residuals import readings
    >>> print(readings(20).splitlines()[0])
    | formula | reading | mean | of more than three bodies | largest of these |
    """
    structures = [model_structure(zoo.random_tree(1 + seed % 9, seed=1000 + seed)) for seed in range(trees)]
    lines = ["| formula | reading | mean | of more than three bodies | largest of these |", "|---|---|---:|---:|---:|"]
    for formula, options in READINGS.items():
        for name, more in options:
            far = [abs(residual(formula, tree) + more(tree)) / formulas(tree)[formula] for tree in structures]
            large = [x for x, tree in zip(far, structures, strict=True) if len(tree.n) > 3]
            cells = (f"{100 * x:.1f} %" for x in (np.mean(far), np.mean(large), max(large)))
            lines.append(f"| {formula} | {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def page() -> str:
    """The page of the documentation: all six tables.

    Examples
    --------
    >>> from mbkern.flops import residuals
    >>> print(residuals.page())  # doctest: +SKIP
    """
    parts = ["# Operation counts, term by term", re.sub(":mod:", "", __doc__ or "").strip()]
    parts += ["That is not much but for free bodies, of which HZU and OSP have few multipliers and many constants:",
              percentages(),
             "How far other readings would be from the print, in per cent of the printed count, on 300 random trees "
             "(ERA is exact\nas it is executed):", readings()]
    for formula in FORMULAS:
        parts += [f"## {formula}: `{EXECUTED[formula]}`", terms(formula).to_markdown()]
    parts.append("Sums run over all bodies, the roots, or the others; `eta`, `theta`, `tau` and `m` as in "
                 "`mbkern.flops.table1`. In HZU and OSP sums of n are written as 6 less m, and the sum of m over all "
                 "bodies is that of tau less that of m over the others. Written by "
                 "`python -m mbkern.flops.residuals > docs/theory/flops.md`.")
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(page())
