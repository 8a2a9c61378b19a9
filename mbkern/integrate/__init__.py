"""From rhs to trajectories: integrators in compiled code, events, solutions.

>>> import mbkern as mb
>>> model = mb.zoo.chain(3)
>>> system = mb.System(model)
>>> solution = system.simulate(model.neutral(), [0.0, 0.0, 0.0], (0.0, 1.0))
>>> solution.success
True
"""

import mbkern.embed  # noqa: F401  # a package before its parts, see `mbkern.lazy`

from .events import Event, event
from .solution import Solution

__all__ = ["Event", "Solution", "event"]
