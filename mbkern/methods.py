"""The registry of right-hand sides: a name, its kernel, and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import plain
from .core import cabi, entry
from .errors import MethodError

_layout = plain.load("layout")
_blocks = plain.load("blocks")
_lu = plain.load("extended_lu")


@dataclass(frozen=True)
class Method:
    """A way to evaluate qdot and pdot.

    Attributes
    ----------
    name : str
        What `System(model, method=...)` takes.
    about : str
        One line for people.
    rhs : compiled function
        rhs(block, t, q, p, tau, qdot, pdot, work) -> status, callable from other compiled code.
    entry : compiled function
        The same behind checks, (frame, t, q, p, tau, qdot, pdot) -> status, for calls from Python.
    quick : compiled function
        `entry` without tau.
    ode, ode_tau : C functions
        The same for callers outside Python, see :mod:`mbkern.core.cabi`.
    work_size : callable
        Numbers its workspace holds, from the block.
    """

    name: str
    about: str
    rhs: Any
    entry: Any
    quick: Any
    ode: Any
    ode_tau: Any
    work_size: Callable[[np.ndarray], int]


def _work_lu(block: np.ndarray) -> int:
    return _lu.lu_row(block, int(block[_layout.N_BODIES]) + 1)


METHODS = {method.name: method for method in (
    Method("emh-ldl", "extended Hamiltonian system, L^T D L (Algorithm 2), coordinate by coordinate",
           entry.emh_ldl, entry.rhs_emh_ldl, entry.quick_emh_ldl, cabi.ode_emh_ldl, cabi.ode_tau_emh_ldl,
           _layout.work_size),
    Method("emh-lu", "extended Hamiltonian system, block LU (Algorithm 1), body by body",
           entry.emh_lu, entry.rhs_emh_lu, entry.quick_emh_lu, cabi.ode_emh_lu, cabi.ode_tau_emh_lu,
           _work_lu),
)}


def method_named(name: str) -> Method:
    """The method of that name, or a MethodError that lists the names."""
    if name == "auto":
        name = "emh-ldl"
    if not isinstance(name, str) or name not in METHODS:
        raise MethodError(f"method: expected one of {', '.join([*METHODS, 'auto'])}, got {name!r}")
    return METHODS[name]
