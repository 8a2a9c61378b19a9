"""Many states of one model at once: SIMD lanes, threads, and machines whose constants differ.

>>> import mbkern as mb, numpy as np
>>> model = mb.zoo.chain(3)
>>> system = mb.System(model)
>>> Qdot, Pdot = system.rhs_batch(np.zeros((1000, 3)), np.zeros((1000, 3)))
>>> Qdot.shape
(1000, 3)
"""

import mbkern.integrate  # noqa: F401  # a package before its parts, see `mbkern.lazy`

from ..model.vary import Varied
from .solution import BatchSolution

__all__ = ["BatchSolution", "Varied"]
