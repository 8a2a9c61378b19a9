"""Lagrange, Maggi, Kane and reduced Volterra as interchangeable formulations of one system.

m speeds v (v = qdot where nq = nv), r constraints a(q, t) v + b(q, t) = 0, p = m - r dofs, s ignorable coordinates:

============  ==================  ==========================================================  ==========
formulation   equations           what is solved                                              state
============  ==================  ==========================================================  ==========
`Lagrange`    m                   [[M, a^T], [a, 0]] (vdot; -lambda) = (Q - h; -rate)         q, v
`Maggi`       m                   [W^T M; a] vdot = (W^T (Q - h); -rate)                      q, v
`Kane`        p                   (W^T M W) udot = W^T (Q - h - M gamma), S = [Y; a]          q, u
`Volterra`    p - s               the same with S = [Y; M_I; a]                               q, u
============  ==================  ==========================================================  ==========

Mass matrix and bias come from the O(N) sweeps over the tree. The right-hand side is one compiled C function, which the
compiled integrators drive without the interpreter; see :mod:`mbkern.core.quasi` for the equations. An object of these
classes is for one thread at a time; `simulate` makes memory of its own for each run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from .. import inputs
from ..core import quasi_layout as C
from ..errors import StateError
from ..inputs import Array
from ..model.checks import word
from ..signatures import Load
from ..system import System
from .formulation import Formulation
from .frame import take
from .functions import Constraints, Dynamics, QuasiVelocities
from .ignorable import Ignorable, claimed, ignorable, momentum_of
from .mechanism import Mechanism


class Lagrange(Formulation):
    """Lagrange's equations with multipliers: m equations, state (q, v). Parameters: see `Formulation`.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.analytic.Lagrange(mb.System(mb.zoo.box_with_panels()))
    Lagrange: 8 equations, 16 states
    """

    name, _method = "Lagrange", C.LAGRANGE

    def __init__(self, system: System | Dynamics, constraints: Constraints | None = None, forces: Load | None = None,
                 track_work: bool = False) -> None:
        super().__init__(system, constraints, forces, None, None, track_work)


class Maggi(Formulation):
    """Maggi's equations: m equations without multipliers, state (q, v). Parameters: see `Formulation`.

    Examples
    --------
    >>> import mbkern as mb
    >>> cart = mb.analytic.cases.cart()
    >>> mb.analytic.Maggi(cart.system, constraints=cart.constraints, quasi=["bend", "x"])
    Maggi: 3 equations, 6 states, u = (bend, x)
    """

    name, _method = "Maggi", C.MAGGI


class Kane(Formulation):
    """Kane's equations (Gibbs-Appell): p equations, state (q, u). Parameters: see `Formulation`.

    The constraints hold to round-off by construction.

    Examples
    --------
    >>> import mbkern as mb
    >>> cart = mb.analytic.cases.cart()
    >>> mb.analytic.Kane(cart.system, constraints=cart.constraints, quasi=["bend", "x"])
    Kane: 2 equations, 5 states, u = (bend, x)
    """

    name, _method = "Kane", C.KANE


class Volterra(Formulation):
    """Reduced Volterra equations: p - s equations, state (q, u).

    Constraints and the momenta of ignorable coordinates hold to round-off by construction.

    Parameters
    ----------
    system, constraints, forces, quasi, pose, track_work, threshold
        See `Formulation`.
    ignorable : sequence of coordinate names, optional
        By default all that `mbkern.analytic.ignorable` finds (none for Dynamics). Of a free joint with one or two
        ignorable positions the rates of the others become quasi-velocities, not its speeds, which turn with the body.
    on_violation : "stop" or "switch"
        What runs do where something acts along an ignored coordinate after all, e.g. a force that begins later: stop
        with its name, time and value, or go on with that coordinate no longer ignored.

    Attributes
    ----------
    momenta : (s,)
        Constant momenta G of the ignorable coordinates; `state` sets them.

    Examples
    --------
    >>> import mbkern as mb
    >>> cart = mb.analytic.cases.cart()
    >>> volterra = mb.analytic.Volterra(cart.system, constraints=cart.constraints)
    >>> volterra
    Volterra: 1 equations, 4 states, u = (bend)
    >>> y = volterra.state(cart.q0, cart.v0)
    >>> volterra.momenta.round(9)
    array([6.])
    """

    name, _method = "Volterra", C.VOLTERRA

    def __init__(self, system: System | Dynamics, constraints: Constraints | None = None, forces: Load | None = None,
                 quasi: QuasiVelocities | Sequence[str] | None = None, ignorable: Sequence[str] | None = None,
                 pose: ArrayLike | None = None, track_work: bool = False, threshold: float = 1e-8,
                 on_violation: str = "stop") -> None:
        self.on_violation = word(on_violation, "on_violation", ("stop", "switch"), StateError)
        super().__init__(system, constraints, forces, quasi, pose, track_work, threshold, _ignorable=ignorable)

    def _ignored(self, mechanism: Mechanism, names: Any) -> tuple[Ignorable, ...]:
        system, constraints, forces = mechanism.system, mechanism.constraints, mechanism.forces
        if names is not None:
            return claimed(system, names, constraints, forces)
        if not isinstance(system, System):
            return ()
        return ignorable(system, constraints, forces).found

    @property
    def momenta(self) -> Array:
        return take(self._frame, C.AT_MOMENTA, self.s)

    @momenta.setter
    def momenta(self, values: ArrayLike) -> None:
        self.momenta[:] = inputs.vector(values, "momenta", [entry.name for entry in self.ignorable])

    def _remember(self, q: Array, v: Array, t: float) -> None:
        p = self.system.momenta(q, v, t)
        self.momenta[:] = [momentum_of(entry, q, p) for entry in self.ignorable]
