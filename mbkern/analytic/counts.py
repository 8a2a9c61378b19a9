"""How many equations each formulation has."""

from __future__ import annotations

from typing import Any

from ..errors import StateError
from ..model.checks import show
from ..system import System
from .functions import Constraints
from .ignorable import ignorable


def count_equations(system: System, constraints: Constraints | None = None, forces: Any = None) -> dict[str, int]:
    """Number of equations of motion of each method, for m speeds, r constraints and s ignorable coordinates.

    Parameters
    ----------
    system : System
    constraints : Constraints, optional
    forces : (nv,) numbers or function f(t, q, v, out), optional
        A coordinate along which a force acts is not ignorable.

    Returns
    -------
    dict
        "Lagrange", "Maggi" and "Udwadia" m; "Gibbs-Appell", "Kane", "Boltzmann-Hamel" and "standard Volterra"
        p = m - r; "reduced Volterra" (`Volterra`, also by the name "Volterra") p - s; "Routh" m - s.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.analytic.count_equations(mb.System(mb.zoo.box_with_panels()))
    {'Lagrange': 8, 'Maggi': 8, 'Udwadia': 8, 'Gibbs-Appell': 8, 'Kane': 8, ..., 'Volterra': 5, 'Routh': 5}
    """
    if not isinstance(system, System):
        raise StateError(f"system: expected a System, got {show(system)}")
    if constraints is not None and not isinstance(constraints, Constraints):
        raise StateError(f"constraints: expected mb.analytic.Constraints(f, count), got {show(constraints)}")
    m = system.model.nv
    p = m - (0 if constraints is None else constraints.count)
    s = len(ignorable(system, constraints, forces))
    return {"Lagrange": m, "Maggi": m, "Udwadia": m, "Gibbs-Appell": p, "Kane": p, "Boltzmann-Hamel": p,
            "standard Volterra": p, "reduced Volterra": p - s, "Volterra": p - s, "Routh": m - s}
