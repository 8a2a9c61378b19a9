"""What a right-hand side costs on a given tree: counts of its structure times nanoseconds; "auto" takes the cheapest.

The counts come from the model's block. The nanoseconds are fits to measured times of the compiled kernels on chains,
carousels, binary trees and bundles of chains with joints of one to six dofs: ``python bench/calibrate.py`` measures
again and prints `NANOSECONDS`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .core import constants as L
from .methods import ACCELERATIONS, METHODS, singular_body
from .model.model import Model

# What each method's time is made of, and the nanoseconds of one of each. See `structure` for what is counted.
NANOSECONDS: dict[str, dict[str, float]] = {
    "emh-ldl": {"call": 44.3, "steps": 25.4, "balls": 78.4, "frees": 131, "drives": 31.7, "carried": 42.7},
    "emh-lu": {"call": 0, "nodes": 49.8, "bodies": 215, "dofs": 157, "squares": 4.56},
    "dah": {"call": 50.2, "steps": 69.9, "balls": 100, "frees": 148, "drives": 133, "walks": 6.18, "pairs": 13.7,
            "triples": 0.537},
    "hzu": {"call": 0, "nodes": 121, "bodies": 420, "row pairs": 9.05, "row triples": 0.653},
    "newton-euler-ldl": {"call": 51.9, "steps": 35.4, "balls": 90.9, "frees": 158, "drives": 59, "carried": 68.6},
    "newton-euler-lu": {"call": 0, "nodes": 42.9, "bodies": 230, "dofs": 169, "squares": 1.18},
    "lagrange-2": {"call": 39.7, "steps": 95.2, "balls": 141, "frees": 219, "drives": 94.4, "walks": 6.73,
                   "pairs": 12.4, "triples": 0.597},
    "lagrange-1": {"call": 0, "nodes": 128, "bodies": 428, "row pairs": 8.73, "row triples": 0.648},
    "appell": {"call": 62.3, "nodes": 66.5, "probes": 22.1, "full triples": 2.58},
}


def structure(model: Model) -> dict[str, float]:
    """Count what the methods spend their time on.

    Returns
    -------
    dict
        call
            1.
        steps, balls, frees, drives, nodes
            Moving steps with a coordinate, ball joints, free joints, driven steps, and all of these.
        carried
            Nodes that hand an inertia on to a node before them.
        bodies, dofs, squares
            Bodies, joint speeds, and squares of the dofs of each joint.
        walks, pairs, triples
            The mass matrix of "dah": nodes on the way from each dof to the root, numbers beside the diagonal, and
            subtractions when it is factored.
        multipliers, row pairs, row triples
            The same of the matrix of "hzu".
        probes, full triples
            Of "appell": nodes times values of the energy of accelerations, subtractions when a full matrix is factored.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern.costs import structure
    >>> counts = structure(mb.zoo.chain(4))
    >>> counts["pairs"], counts["multipliers"]  # 3 + 2 + 1 below the diagonal; 5 constraints a joint
    (6.0, 20.0)
    """
    block = model.block
    nodes = block[L.HEADER:int(block[L.AT_BODIES])].reshape(-1, L.NODE)
    bodies = block[int(block[L.AT_BODIES]):int(block[L.AT_COORDINATES])].reshape(-1, L.BODY)
    before = block[int(block[L.AT_COORDINATES]):int(block[L.AT_DRIVES])].reshape(-1, L.COORDINATE)[:, L.N_BEFORE]
    dofs, parent = nodes[:, L.DOFS], nodes[:, L.PARENT].astype(np.int64)
    multipliers, elders = 6 - bodies[:, L.BODY_DOFS] + bodies[:, L.N_ROTORS], bodies[:, L.ELDERS]
    n = len(before)
    rows = [(elders + a)[multipliers > a] for a in range(6)]  # numbers beside the diagonal in the a-th rows
    return {name: float(count) for name, count in {
        "call": 1, "nodes": len(nodes), "bodies": len(bodies), "dofs": len(before),
        "steps": np.sum(dofs == 1), "balls": np.sum(dofs == 3), "frees": np.sum(dofs == 6),
        "drives": np.sum(dofs == 0), "carried": np.sum((parent >= 0) & (dofs != 6)),
        "squares": np.sum(bodies[:, L.BODY_DOFS] ** 2), "walks": np.sum(dofs * _levels(parent)),
        "pairs": np.sum(before), "triples": np.sum(before * (before + 1)) / 2, "multipliers": np.sum(multipliers),
        "row pairs": sum(np.sum(row) for row in rows),
        "row triples": sum(np.sum(row * (row + 1)) for row in rows) / 2,
        "probes": len(nodes) * (1 + 2 * n + n * (n - 1) / 2), "full triples": n * (n * n - 1) / 6,
    }.items()}


def _levels(parent: np.ndarray) -> np.ndarray:
    """Of each node, how many there are from it to the root, itself included (by doubling: no loop over nodes)."""
    levels, ancestor = np.ones(len(parent), np.int64), parent.copy()
    while (has := ancestor >= 0).any():
        levels[has] += levels[ancestor[has]]
        ancestor[has] = ancestor[ancestor[has]]
    return levels


def fastest_acceleration(model: Model) -> str:
    """The way to evaluate joint accelerations that should cost least for a model, among those that can serve it.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern.costs import fastest_acceleration
    >>> fastest_acceleration(mb.zoo.chain(50))
    'newton-euler-ldl'
    """
    counts, singular = structure(model), singular_body(model) >= 0
    able = [name for name, method in ACCELERATIONS.items() if not (singular and method.needs_inertias)]
    return min(able, key=lambda name: cost(name, counts))


def cost(method: str, counts: dict[str, float]) -> float:
    """Estimated seconds of one right-hand side inside compiled code, for the counts of `structure`."""
    return 1e-9 * sum(each * counts[name] for name, each in NANOSECONDS[method].items())


@dataclass(frozen=True)
class MethodReport:
    """What the methods should cost for one tree, and which one "auto" takes.

    Attributes
    ----------
    chosen : str
        The cheapest method that can serve the model.
    costs : dict of str to float
        Estimated seconds of one right-hand side inside compiled code, of every method that can serve the model.
    unable : dict of str to str
        Methods that cannot, and why.
    counts : dict of str to float
        What the estimate counts, see :func:`mbkern.costs.structure`.
    model : str
        What the model is.
    """

    chosen: str
    costs: dict[str, float]
    unable: dict[str, str]
    counts: dict[str, float]
    model: str

    def __str__(self) -> str:
        lines = [self.model, f"auto takes {self.chosen!r}, the lowest estimate:"]
        best = self.costs[self.chosen]
        for name, seconds in sorted(self.costs.items(), key=lambda item: item[1]):
            lines.append(f"  {name:8} {1e6 * seconds:12.3f} us  {seconds / best:8.2f} x  {METHODS[name].about}")
        lines += [f"  {name:8} cannot: {why}" for name, why in self.unable.items()]
        pairs, rows = self.counts["pairs"], self.counts["row pairs"]
        lines.append(f"because the tree has {self.counts['nodes']:.0f} moving joint steps, {pairs:.0f} numbers beside "
                     f"the diagonal of its mass matrix (dah) and {rows:.0f} beside that of its multipliers (hzu).")
        return "\n".join(lines)


def report(model: Model) -> MethodReport:
    """Estimate all methods for a model.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern.costs import report
    >>> print(report(mb.zoo.chain(50)))  # doctest: +ELLIPSIS
    Model 'chain50': ...
    auto takes 'emh-ldl', the lowest estimate:
    ...
    """
    counts = structure(model)
    costs = {name: cost(name, counts) for name in METHODS}
    unable = {}
    b = singular_body(model)
    if b >= 0:
        for name in [name for name, method in METHODS.items() if method.needs_inertias]:
            del costs[name]
            unable[name] = f"the inertia of body {model.body_names[b]!r} cannot be inverted"
    return MethodReport(min(costs, key=lambda name: costs[name]), costs, unable, counts, repr(model))
