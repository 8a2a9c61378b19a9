"""What is computed from one state: the operations of the table, as methods.

Each takes any array-like; with plain float64 arrays and `out=` a call costs a microsecond beside its computation. All
of them exist for many states too (:mod:`mbkern.system_batches`), and as functions for Numba and C.
"""

from __future__ import annotations

from .system_bodies import Bodies
from .system_calls import Energy
from .system_frames import AXES, Frames, numbers_of_frame
from .system_inertia import Inertia
from .system_joint_forces import JointForces
from .system_totals import Totals

__all__ = ["AXES", "Energy", "Operations", "numbers_of_frame"]


class Operations(JointForces, Inertia, Totals, Bodies, Frames):
    """The part of `System` that computes something from one state."""
