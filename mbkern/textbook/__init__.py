"""The readable twin of the compiled core: the algorithms of the papers as printed, to be read, run and counted.

In the order of the paper, one short file a method, on dense matrices and with its symbols:

    algebra, tree    what a product costs; what is given: C, A, vr, M, F of each body
    emh_lu           Algorithm 1: the extended system by block LU
    emh              Algorithm 2: the extended system by L^T D L, or by L^T L
    algorithm3       Algorithm 3: block matrices with the pattern of a tree, without fill
    dah              Hamilton's equations, by Algorithm 3
    hzu              Hamilton's equations with multipliers, by Algorithm 3
    newton_euler     the same matrices with accelerations and reactions
    lagrange         second and first kind
    appell           Appell's equations, by probing the energy of accelerations

`equations()` returns the equations with the misprints of the printed sources. Each file names the compiled kernel that
computes the same, and each kernel its twin here. Run on counting numbers, these files give the textbook level of
:func:`mbkern.flops.count`; what remains to the printed counts is in :mod:`mbkern.flops.residuals`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .. import inputs
from ..errors import MethodError, ModelError, StateError
from ..inputs import Array
from ..model.checks import show
from ..model.model import Model
from . import appell, dah, emh, emh_lu, hzu, lagrange
from .newton_euler import right_side
from .tree import Solved, State, Vectors, momentum_rates

if TYPE_CHECKING:
    from ..flops.numbers import Ledger

__all__ = ["ACCELERATIONS", "METHODS", "accelerations", "equations", "rhs"]

Solver = Callable[..., Solved]
METHODS: dict[str, Solver] = {
    "emh-ldl": emh.solve, "emh-cholesky": partial(emh.solve, roots=True), "emh-lu": emh_lu.solve,
    "dah": partial(dah.solve, roots=True), "dah-ldl": dah.solve, "hzu": partial(hzu.solve, roots=True),
    "hzu-ldl": hzu.solve,
}


def _by(solve: Solver) -> Callable[[State, Array, Array], tuple[Vectors, Vectors]]:
    """udot and reactions by a solver of the extended system."""

    def accelerate(state: State, u: Array, tau: Array) -> tuple[Vectors, Vectors]:
        udot, _, R = solve(state.tree, *right_side(state, u, tau))
        return udot, R

    return accelerate


ACCELERATIONS: dict[str, Callable[[State, Array, Array], tuple[Vectors, Vectors]]] = {
    "newton-euler-ldl": _by(emh.solve), "newton-euler-lu": _by(emh_lu.solve), "lagrange-2": _by(lagrange.second_kind),
    "lagrange-1": _by(lagrange.first_kind), "appell": appell.accelerations,
}


def equations() -> str:
    """The equations of mbkern, corrected and checked, with the misprints of the printed sources (Markdown).

    Examples
    --------
    >>> import mbkern as mb
    >>> print(mb.textbook.equations().splitlines()[0])
    # The equations of mbkern, corrected and checked
    """
    return files(__package__).joinpath("EQUATIONS.md").read_text(encoding="utf-8")


def rhs(
    model: Model, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None, method: str = "emh-ldl",
    *, ledger: Ledger | None = None,
) -> tuple[Array, Array]:
    """qdot and pdot of Hamilton's equations by a printed algorithm: slow, and easy to follow.

    Parameters
    ----------
    model : Model
    q, p, t, tau : state and joint forces, as for `System.rhs`
    method : str
        "emh-ldl", "emh-cholesky" (Algorithm 2), "emh-lu" (Algorithm 1), "dah", "hzu" (Algorithm 3 with square roots),
        "dah-ldl", "hzu-ldl" (without).
    ledger : Ledger, optional
        Where all operations are written down (:mod:`mbkern.flops.numbers`).

    Returns
    -------
    qdot, pdot : arrays

    Examples
    --------
    >>> import mbkern as mb
    >>> model = mb.zoo.chain(3)
    >>> qdot, pdot = mb.textbook.rhs(model, [0.1, 0.2, 0.3], [0.0, 0.0, 1.0])
    >>> bool(abs(qdot - mb.System(model).rhs([0.1, 0.2, 0.3], [0.0, 0.0, 1.0])[0]).max() < 1e-10)
    True
    """
    _known(method, METHODS)
    q, p, forces = _state(model, q, p, "p", tau)
    state = State(model, q, inputs.time(t), ledger)
    qdot, v, mu = METHODS[method](state.tree, state.split(p), state.tree.vr)
    speeds = np.concatenate(qdot).astype(float)
    pdot = momentum_rates(state.tree, mu, lambda i: state.momentum_matrix(i, v[i], speeds))
    rates = np.concatenate(pdot).astype(float) + state.joint_forces(speeds, forces)
    return _finite("p", state.configuration_rates(speeds), rates)


def accelerations(
    model: Model, q: ArrayLike, u: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
    method: str = "newton-euler-ldl", *, ledger: Ledger | None = None,
) -> tuple[Array, Array]:
    """Joint accelerations and reactions by Newton-Euler's, Lagrange's or Appell's equations as printed.

    Parameters
    ----------
    model : Model
    q, u, t, tau : configuration, joint speeds, time and joint forces, as for `System.accelerations`
    method : str
        "newton-euler-ldl", "newton-euler-lu", "lagrange-2", "lagrange-1" or "appell".
    ledger : Ledger, optional
        Where all operations are written down.

    Returns
    -------
    udot : (nv,)
    reactions : (N, 6)
        What the parent exerts on each body through the joint: (force; moment), body axes, at the body's origin.

    Examples
    --------
    >>> import mbkern as mb
    >>> udot, reactions = mb.textbook.accelerations(mb.zoo.chain(3), [0.1, 0.2, 0.3], [0.0, 0.0, 1.0])
    >>> udot.shape, reactions.shape
    ((3,), (3, 6))
    """
    _known(method, ACCELERATIONS)
    q, u, forces = _state(model, q, u, "u", tau)
    state = State(model, q, inputs.time(t), ledger)
    udot, R = ACCELERATIONS[method](state, u, forces)
    return _finite("u", np.concatenate(udot).astype(float), np.array(R).astype(float))


def _finite(name: str, first: Array, second: Array) -> tuple[Array, Array]:
    """Both results, unless a number has overflowed on the way to them."""
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise StateError(f"{name}, tau: the result is not finite, they are too large for this machine")
    return first, second


def _known(method: str, table: Mapping[str, object]) -> None:
    if not isinstance(method, str) or method not in table:
        raise MethodError(f"method: expected one of {', '.join(table)} at the textbook level, got {show(method)}")


def _state(model: Model, q: ArrayLike, x: ArrayLike, name: str, tau: ArrayLike | None) -> tuple[Array, Array, Array]:
    if not isinstance(model, Model):
        raise ModelError(f"model: expected a Model, got {show(model)}; system.model is that of a System")
    if model.constraints:
        raise ModelError(f"textbook: the equations are those of trees; this model has constraints "
                         f"({model.constraints[0].name!r}, ...), see System.rhs")
    forces = np.empty(0) if tau is None else inputs.vector(tau, "tau", model.speed_names)
    return inputs.configuration(q, model), inputs.vector(x, name, model.speed_names), forces
