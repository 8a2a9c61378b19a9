"""Exact derivatives of Hamilton's equations, by closed forms: no differences, no tapes.

>>> import mbkern as mb
>>> model = mb.zoo.chain(3)
>>> system = mb.System(model)
>>> q, u = model.random_state(seed=0)
>>> A = system.jacobian_rhs(q, system.momenta(q, u))
>>> A.matrix.shape, A.pdot_q.shape
((6, 6), (3, 3))
"""

import mbkern.identification  # noqa: F401  # a package before its parts, see `mbkern.lazy`

from .calls import Derivatives
from .jacobian import AccelerationDerivatives, CoordinateJacobian, ForceDerivatives, Jacobian
from .linear import Equilibrium, Linearization, Modes
from .parameters import ParameterDerivatives

__all__ = [
    "AccelerationDerivatives", "CoordinateJacobian", "Derivatives", "Equilibrium", "ForceDerivatives", "Jacobian",
    "Linearization", "Modes", "ParameterDerivatives",
]
