"""Analytical mechanics on the same model: Appell by probing; Lagrange, Maggi, Kane and reduced Volterra.

>>> import mbkern as mb
>>> from mbkern.analytic import cases
>>> cart = cases.cart()
>>> kane = mb.analytic.Kane(cart.system, constraints=cart.constraints, quasi=("bend", "x"))
>>> run = kane.simulate(cart.q0, cart.v0, (0.0, 1.0))
>>> run.success, bool(abs(run.constraints()).max() < 1e-13)
(True, True)
"""

import mbkern.integrate  # noqa: F401  # a package before its parts, see `mbkern.lazy`

from . import appell, cases, ode45
from .conditioning import Conditioning
from .counts import Method, count_equations, table1
from .formulation import Formulation
from .functions import Constraints, Dynamics, QuasiVelocities
from .ignorable import Ignorable, IgnorableReport, ignorable
from .quasi import Kane, Lagrange, Maggi, Volterra
from .trajectory import Crossings, Switch, Trajectory

__all__ = [
    "Conditioning", "Constraints", "Crossings", "Dynamics", "Formulation", "Ignorable", "IgnorableReport", "Kane",
    "Lagrange", "Maggi", "Method", "QuasiVelocities", "Switch", "Trajectory", "Volterra", "appell", "cases",
    "count_equations", "ignorable", "ode45", "table1",
]
