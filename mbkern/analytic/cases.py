"""The three case studies of Yoosefian Nooshabadi & Nejat Pishkenari, ready to run by the four formulations.

    cart        cart with a two-bar pendulum and a knife edge: 3 coordinates, 1 constraint, 1 ignorable
    box         box with two hinged panels, floating: 8 coordinates, 3 ignorable
    satellite   satellite with a deployable boom: 7 coordinates, 3 ignorable, a force on the boom

Models: `mb.zoo.knife_edge_cart`, `box_with_panels`, `satellite_with_boom`. The paper's quasi-velocities are used: Kane
and Volterra of the floating machines integrate the angular velocity in body axes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import cos, pi, sin
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ..inputs import Array
from ..model import zoo
from ..system import System
from . import ode45
from .formulation import Formulation
from .functions import Constraints
from .quasi import Kane, Lagrange, Maggi, Volterra
from .trajectory import Trajectory

LENGTH = 0.2  # of a bar of the cart, m


@njit
def knife_edge(t, q, v, a, b, rate):
    """l cos(theta1 - theta2) theta1' + l theta2' = 0 in the coordinates x, theta1, bend = theta2 - theta1."""
    a[0, 1] = LENGTH * (cos(q[2]) + 1.0)
    a[0, 2] = LENGTH


@njit
def knife_edge_rate(t, q, v, a, b, rate):
    """adot v of the knife edge."""
    rate[0] = -LENGTH * sin(q[2]) * v[2] * v[1]


@njit
def boom_force(t, q, v, out):
    """Force on rho, N."""
    out[6] = -0.018 * sin(0.089 * t) + 0.012 * cos(0.0485 * t)


class Errors(NamedTuple):
    """Error rows of the paper's tables: 2-norms over all output samples.

    Attributes
    ----------
    energy, momentum : float
        Of (x - x0) / x0; the momentum is that along x.
    constraint : float
        Of a v.
    """

    energy: float
    momentum: float
    constraint: float


@dataclass(frozen=True)
class Case:
    """A case study.

    Attributes
    ----------
    name : str
    system : System
    q0, v0 : array
        Initial configuration and speeds, in the order of the model's coordinates.
    constraints : Constraints or None
    forces : function or None
    quasi : dict
        The paper's quasi-velocities of "Maggi", "Kane" and "Volterra".
    max_step : float
        The paper's maximum step and output interval, s.
    energy_offset : float
        The paper's energy less that of `System.energy`, J.
    printed : dict
        The paper's error rows by formulation; None where there is none to compare with.
    """

    name: str
    system: System
    q0: Array
    v0: Array
    constraints: Constraints | None
    forces: Callable[..., None] | None
    quasi: dict[str, Any]
    max_step: float
    energy_offset: float = 0.0
    printed: dict[str, Errors] = field(default_factory=dict)

    def formulations(self) -> dict[str, Formulation]:
        """The four formulations with the paper's quasi-velocities.

        Examples
        --------
        >>> import mbkern as mb
        >>> for f in mb.analytic.cases.satellite().formulations().values():
        ...     print(f.name, f.n_equations, f.n_states)
        Lagrange 7 15
        Maggi 7 15
        Kane 7 15
        Volterra 4 12
        """
        common: dict[str, Any] = dict(constraints=self.constraints, forces=self.forces,
                                      track_work=self.forces is not None)
        return {"Lagrange": Lagrange(self.system, **common),
                **{kind.__name__: kind(self.system, quasi=self.quasi[kind.__name__], **common)
                   for kind in (Maggi, Kane, Volterra)}}

    def errors(self, run: Trajectory) -> Errors:
        """The error rows of a run.

        Examples
        --------
        >>> import mbkern as mb
        >>> cart = mb.analytic.cases.cart()
        >>> run = cart.formulations()["Volterra"].simulate(cart.q0, cart.v0, (0.0, 1.0))
        >>> cart.errors(run).momentum < 1e-13
        True
        """
        energy = run.energy() + self.energy_offset
        along_x = run.momenta()[:, 0]
        left = run.constraints()
        return Errors(float(np.linalg.norm((energy - energy[0]) / energy[0])),
                      float(np.linalg.norm((along_x - along_x[0]) / along_x[0])), float(np.linalg.norm(left)))

    def table(self, seconds: float = 50.0) -> dict[str, Errors]:
        """The paper's table: error rows of the four formulations by the emulation of ode45.

        Examples
        --------
        >>> import mbkern as mb
        >>> rows = mb.analytic.cases.cart().table(seconds=1.0)
        >>> rows["Lagrange"].constraint > rows["Kane"].constraint, rows["Volterra"].momentum < 1e-13
        (True, True)
        """
        grid = self.max_step * np.arange(round(seconds / self.max_step) + 1)
        return {name: self.errors(ode45.simulate(method, self.q0, self.v0, grid, self.max_step))
                for name, method in self.formulations().items()}


    def markdown(self, rows: dict[str, Errors]) -> str:
        """A table of error rows as Markdown, with the paper's numbers in brackets, and the numbers of equations.

        Examples
        --------
        >>> import mbkern as mb
        >>> box = mb.analytic.cases.box()
        >>> print(box.markdown(box.printed).splitlines()[2])
        | energy | 2.96e-07 (2.96e-07) | 2.96e-07 (2.96e-07) | 9.1e-09 (9.1e-09) | 6.36e-09 (6.36e-09) |
        """
        formulations = self.formulations()
        lines = ["| | " + " | ".join(formulations) + " |", "|" + "---|" * (1 + len(formulations))]
        for part in Errors._fields:
            if part == "constraint" and self.constraints is None:
                continue
            cells = [f"{getattr(rows[name], part):.3g}" + (
                f" ({getattr(self.printed[name], part):.3g})" if name in self.printed else "") for name in formulations]
            lines.append(f"| {part} | " + " | ".join(cells) + " |")
        lines.append("| states | " + " | ".join(str(f.n_states) for f in formulations.values()) + " |")
        lines.append("| equations | " + " | ".join(str(f.n_equations) for f in formulations.values()) + " |")
        return "\n".join(lines)


def cart(gravity: float = 9.81) -> Case:
    """Cart with a two-bar pendulum and a knife edge (case 1).

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.analytic.cases.cart().v0
    array([ 3.,  1., -2.])
    """
    printed = {"Lagrange": Errors(6.05e-4, 3.83e-6, 7.51e-5), "Maggi": Errors(6.05e-4, 3.93e-6, 7.52e-5),
               "Kane": Errors(9.77e-5, 3.96e-5, 6.5e-15), "Volterra": Errors(3.55e-6, 2.4e-15, 0.0)}
    both = ("bend", "x")
    # zero of the potential 0.2 m above the hinge, for the two bars
    return Case("cart", System(zoo.knife_edge_cart(gravity)), np.array([4.0, pi / 2, 0.0]), np.array([3.0, 1.0, -2.0]),
                Constraints(knife_edge, 1, knife_edge_rate), None,
                {"Maggi": both, "Kane": both, "Volterra": ("bend",)}, 0.01, -1.0 * gravity * 0.2, printed)


def _floating(body: str, others: tuple[str, ...]) -> dict[str, Any]:
    """The angular velocity in body axes, other speeds, and where nothing is ignorable, X', Y', Z'."""
    reduced = (f"{body}.wx", f"{body}.wy", f"{body}.wz", *others)
    whole = (*reduced, "X", "Y", "Z")
    return {"Maggi": whole, "Kane": whole, "Volterra": reduced}


def box() -> Case:
    """Box with two hinged panels (case 2).

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.analytic.cases.box().formulations()["Volterra"]
    Volterra: 5 equations, 13 states, u = (box.wx, box.wy, box.wz, g1, g2)
    """
    printed = {"Lagrange": Errors(2.96e-7, 1.55e-6, 0.0), "Maggi": Errors(2.96e-7, 1.55e-6, 0.0),
               "Kane": Errors(9.10e-9, 3.75e-8, 0.0), "Volterra": Errors(6.36e-9, 0.0, 0.0)}
    return Case("box", System(zoo.box_with_panels()), np.array([3.0, 3.0, 9.0, pi / 10, pi / 6, 0.03, 0.0, 0.0]),
                np.array([0.1, -0.3, -0.4, 0.3, 0.0, -0.3, 0.0, 0.2]), None, None, _floating("box", ("g1", "g2")), 0.1,
                printed=printed)


def satellite() -> Case:
    """Satellite with a deployable boom (case 3); the state carries the work of the boom's force.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.analytic.cases.satellite().forces is not None
    True
    """
    return Case("satellite", System(zoo.satellite_with_boom()), np.array([0.0, 0.0, 0.0, pi / 8, pi / 12, 0.08, 0.5]),
                np.array([2.0, 1.0, 0.0, -0.1, 0.05, -0.05, 0.0]), None, boom_force,
                _floating("satellite", ("rho",)), 0.1)
