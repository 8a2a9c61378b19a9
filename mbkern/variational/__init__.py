"""Derivatives along trajectories: memory and C functions that integrators call, derivatives of force functions."""

import mbkern.integrate  # noqa: F401  # a package before its parts, see `mbkern.lazy`

from .desk import Desk, needs_momenta
from .forces import derivative_of, with_derivative

__all__ = ["Desk", "derivative_of", "needs_momenta", "with_derivative"]
