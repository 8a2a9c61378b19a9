"""How many equations and unknowns each formulation has: Table 1 of Yoosefian Nooshabadi & Nejat Pishkenari."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import StateError
from ..model.checks import show
from ..signatures import Load
from ..system import System
from .functions import Constraints
from .ignorable import ignorable
from .of_model import opened


class Method(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    name : str
    equations : int
        Equations of motion.
    states : int
        Numbers that are integrated, coordinates included.
    unknowns : str
        What the equations are solved for.
    runs_as : str
        What does it here; "" where nothing does.
    """

    name: str
    equations: int
    states: int
    unknowns: str
    runs_as: str


def table1(system: System, constraints: Constraints | None = None, forces: Load | None = None) -> tuple[Method, ...]:
    """All methods that the Volterra paper compares, for a system with m speeds, r constraints, s ignorable coordinates.

    Methods with the same number of equations differ in how these are derived. Udwadia and Kalaba's give Lagrange's
    accelerations with the multipliers eliminated; those of Boltzmann and Hamel and of Gibbs and Appell are Kane's,
    derived from energies. Volterra's standard form is the one without ignorable coordinates; Routh's knows of no
    constraints beside them.

    Parameters
    ----------
    system : System
    constraints : Constraints, optional
        Of a model with constraints of its own (loops, gears, ...) these are counted, without redundant rows.
    forces : (nv,) numbers or function f(t, q, v, out), optional
        A coordinate along which a force acts is not ignorable.

    Returns
    -------
    tuple of Method

    Examples
    --------
    >>> import mbkern as mb
    >>> cart = mb.analytic.cases.cart()
    >>> for row in mb.analytic.table1(cart.system, cart.constraints):
    ...     print(f"{row.name:18}{row.equations:3}{row.states:3}  {row.runs_as}")
    Lagrange            3  6  Lagrange
    Maggi               3  6  Maggi
    Udwadia             3  6  Lagrange
    Gibbs-Appell        2  5  Kane
    Kane                2  5  Kane
    Boltzmann-Hamel     2  5  Kane
    standard Volterra   2  5  Volterra(ignorable=[])
    reduced Volterra    1  4  Volterra
    Routh               2  5
    """
    if not isinstance(system, System):
        raise StateError(f"system: expected a System, got {show(system)}")
    if constraints is not None and not isinstance(constraints, Constraints):
        raise StateError(f"constraints: expected mb.analytic.Constraints(f, count), got {show(constraints)}")
    system, constraints = opened(system, constraints)
    m, nq = system.model.nv, system.model.nq
    r = 0 if constraints is None else constraints.count
    p, s = m - r, len(ignorable(system, constraints, forces))
    all_speeds, some = "accelerations of all speeds", "rates of p quasi-velocities"
    rows = (
        ("Lagrange", m, f"{all_speeds}, and multipliers", "Lagrange"),
        ("Maggi", m, all_speeds, "Maggi"),
        ("Udwadia", m, all_speeds, "Lagrange"),
        ("Gibbs-Appell", p, some, "Kane"),
        ("Kane", p, some, "Kane"),
        ("Boltzmann-Hamel", p, some, "Kane"),
        ("standard Volterra", p, some, "Volterra(ignorable=[])"),
        ("reduced Volterra", p - s, "rates of p - s quasi-velocities", "Volterra"),
        ("Routh", m - s, "accelerations of the other speeds, and multipliers", "" if r else "Volterra"),
    )
    return tuple(Method(name, n, nq + n, unknowns, runs_as) for name, n, unknowns, runs_as in rows)


def count_equations(system: System, constraints: Constraints | None = None, forces: Load | None = None
                    ) -> dict[str, int]:
    """Number of equations of motion of each method of `table1`, by its name.

    Parameters
    ----------
    system, constraints, forces
        As for `table1`.

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
    counts: dict[str, int] = {}
    for row in table1(system, constraints, forces):
        counts[row.name] = row.equations
        if row.name == "reduced Volterra":
            counts["Volterra"] = row.equations
    return counts
