"""The operation counts that the papers print (their Table 1), as exact integers for any tree.

Ivanov & Shimanovskiy count three ways to bring the equations of a tree to normal form, in English (EMH, DAH, HZU) and
in Russian (ERA, TSP, OSP, the same three, counted differently). Sums run over the bodies; n dofs of a body's
joint, m = 6 - n, k the parent, and over the path from the ground to the body:

    eta = sum of n on the path,   theta = n times the number of joints on it,   tau = m + sum of m over the children

    EMH  sum(n^3/3 + 39/2 n^2 + 1105/6 n + 864) - sum_roots(84 n + 660)
    DAH  sum(eta^3/3 + 17/2 eta^2 + 109/6 eta + 42 theta + 222)
         - sum_others(eta_k^3/3 + 17/2 eta_k^2 + 109/6 eta_k - 205)
    HZU  sum(tau^3/3 + 17/2 tau^2 + 361/6 tau + 420) - sum_others(m^3/3 + 5/2 m^2 + 1/6 m) - sum_roots(48)
    ERA  sum(n^3/3 + 39/2 n^2 + 1537/6 n + 828) - sum_roots(6 n^2 + 145 n + 684)
    TSP  sum(eta^3/3 + 17/2 eta^2 + 235/6 eta + 42 theta + 147)
         - sum_others(eta_k^3/3 + 17/2 eta_k^2 + 235/6 eta_k - 397)
    OSP  sum(tau^3/3 + 17/2 tau^2 + 421/6 tau + 11 n + 239) - sum_others(m^3/3 + 5/2 m^2 - 11/6 m - 192)

Misprints are corrected (the Russian tau_i is theta_i, and the last eta of TSP is the parent's). The papers have one
body on the ground; with several, each is a root and pays the root's terms, and `others` are all bodies that hang on a
body.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

from ..errors import ModelError
from ..model import checks
from ..model.model import Model

ENGLISH = ("EMH", "DAH", "HZU")
RUSSIAN = ("ERA", "TSP", "OSP")
FORMULAS = ENGLISH + RUSSIAN


class Structure(NamedTuple):
    """What the formulas know about a tree: one tuple entry a body.

    Attributes
    ----------
    parents : tuple of int
        Parent of each body, -1 for the ground.
    n, m : tuple of int
        Dofs of the joint, and the 6 - n directions that it blocks.
    eta : tuple of int
        Dofs on the path from the ground.
    theta : tuple of int
        n times the number of joints on that path.
    tau : tuple of int
        m of the body and of its children.
    """

    parents: tuple[int, ...]
    n: tuple[int, ...]
    m: tuple[int, ...]
    eta: tuple[int, ...]
    theta: tuple[int, ...]
    tau: tuple[int, ...]


def structure(parents: Sequence[int], dofs: Sequence[int]) -> Structure:
    """The structure parameters of a tree.

    Parameters
    ----------
    parents : sequence of int
        Parent of each body, smaller than the body's own number; -1 is the ground.
    dofs : sequence of int
        Dofs of each body's joint, 0 to 6. A weld is a joint with 0 dofs.

    Examples
    --------
    >>> from mbkern.flops import structure
    >>> tree = structure([-1, 0, 0], [3, 1, 2])
    >>> tree.eta, tree.theta, tree.tau
    ((3, 4, 5), (3, 2, 4), (12, 5, 4))
    """
    k, n = _whole(parents, "parents"), _whole(dofs, "dofs")
    if not k or len(k) != len(n):
        raise ModelError(f"parents, dofs: expected one entry each for at least one body, got {len(k)} and {len(n)}")
    eta, depth, tau = [0] * len(k), [0] * len(k), [6 - x for x in n]
    for i, (parent, dofs_i) in enumerate(zip(k, n, strict=True)):
        if not -1 <= parent < i:
            raise ModelError(f"parents[{i}]: expected -1 (the ground) to {i - 1}, got {parent}")
        if not 0 <= dofs_i <= 6:
            raise ModelError(f"dofs[{i}]: expected 0 to 6 dofs, got {dofs_i}")
        eta[i], depth[i] = dofs_i, 1
        if parent >= 0:
            eta[i] += eta[parent]
            depth[i] += depth[parent]
            tau[parent] += 6 - dofs_i
    theta = tuple(a * b for a, b in zip(n, depth, strict=True))
    return Structure(k, n, tuple(6 - x for x in n), tuple(eta), theta, tuple(tau))


def _whole(values: Sequence[int], what: str) -> tuple[int, ...]:
    try:
        return tuple(index(x) for x in values)
    except Exception:  # of any kind: the values are asked
        raise ModelError(f"{what}: expected whole numbers, one a body, got {checks.show(values)}") from None


def formulas(tree: Structure) -> dict[str, int]:
    """The six printed formulas for a structure, as `table1` gives them for a model.

    Examples
    --------
    >>> from mbkern.flops import formulas, structure
    >>> formulas(structure([-1, 0, 1, 2], [3, 1, 1, 1]))["EMH"]
    3893
    """
    if not isinstance(tree, Structure):
        raise ModelError(f"tree: expected what structure(parents, dofs) gives, got {checks.show(tree)}")
    all_six = dict.fromkeys(FORMULAS, 0)  # six times the count: the fractions of the formulas are sixths
    for k, n, m, eta, theta, tau in zip(*tree, strict=True):
        cubic, paths = 2 * n**3 + 117 * n**2, 2 * eta**3 + 51 * eta**2
        cliques = 2 * tau**3 + 51 * tau**2
        all_six["EMH"] += cubic + 1105 * n + 5184
        all_six["ERA"] += cubic + 1537 * n + 4968
        all_six["DAH"] += paths + 109 * eta + 252 * theta + 1332
        all_six["TSP"] += paths + 235 * eta + 252 * theta + 882
        all_six["HZU"] += cliques + 361 * tau + 2520
        all_six["OSP"] += cliques + 421 * tau + 66 * n + 1434
        if k < 0:
            all_six["EMH"] -= 504 * n + 3960
            all_six["ERA"] -= 36 * n**2 + 870 * n + 4104
            all_six["HZU"] -= 288
        else:
            eta_k = tree.eta[k]
            paths_k = 2 * eta_k**3 + 51 * eta_k**2
            all_six["DAH"] -= paths_k + 109 * eta_k - 1230
            all_six["TSP"] -= paths_k + 235 * eta_k - 2382
            all_six["HZU"] -= 2 * m**3 + 15 * m**2 + m
            all_six["OSP"] -= 2 * m**3 + 15 * m**2 - 11 * m - 1152
    assert all(x % 6 == 0 for x in all_six.values())
    return {name: x // 6 for name, x in all_six.items()}


def model_structure(model: Model) -> Structure:
    """The structure parameters of a model (`structure` of its parents and dofs).

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.flops.model_structure(mb.zoo.pipelayer()).eta
    (3, 4, 5, 6)
    """
    model = checked_model(model)
    return structure(model.parents.tolist(), model.dofs.tolist())


def checked_model(model: Any) -> Model:
    """The model, or an error if it is none."""
    if not isinstance(model, Model):
        raise ModelError(f"model: expected a Model (ModelBuilder.build(), mb.load, mb.zoo), got {checks.show(model)}")
    return model


def table1(model: Model) -> dict[str, int]:
    """Flops of one evaluation by the formulas that the papers print.

    These are formulas, not measurements: only ERA is the literal operation count of an algorithm (of Algorithm 2 in
    its L^T D L form, see :func:`mbkern.flops.count`), and what remains of the others is stated term by term
    (:mod:`mbkern.flops.residuals`). With several bodies on the ground the root's terms apply to
    each. A welded body is charged as a body with a joint of 0 dofs, although "emh-ldl" and "dah" merge it with its
    parent for free.

    Parameters
    ----------
    model : Model

    Returns
    -------
    dict
        Exact integers under "EMH", "DAH", "HZU" (English paper) and "ERA", "TSP", "OSP" (Russian paper).

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.flops.table1(mb.zoo.pipelayer())
    {'EMH': 3893, 'DAH': 2494, 'HZU': 6638, 'ERA': 3920, 'TSP': 2896, 'OSP': 6964}
    """
    return formulas(model_structure(model))
