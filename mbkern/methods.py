"""The registries: of right-hand sides and of joint accelerations a name, the kernel, and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import plain
from .core import (
    appell,
    entry,
    extended,
    extended_lu,
    lagrange,
    lanes,
    multipliers,
    newton_euler,
    newton_euler_lu,
    reduced,
)
from .errors import MethodError, SingularInertiaError
from .model.model import Model

_layout = plain.load("layout")
_blocks = plain.load("blocks")
_lu = plain.load("extended_lu")
_hzu = plain.load("multipliers")
_appell = plain.load("appell")


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
    native : C function
        The same by addresses, see :mod:`mbkern.core.entry`.
    work_size : callable
        Numbers its workspace holds, from the block.
    lanes, varied : C functions
        The same on several states side by side, of one machine or each of its own, see :mod:`mbkern.core.lanes`.
    """

    name: str
    about: str
    rhs: Any
    native: Any
    work_size: Callable[[np.ndarray], int]
    lanes: Any
    varied: Any
    needs_inertias: bool = False  # whether every body needs an invertible inertia


@dataclass(frozen=True)
class AccelerationMethod:
    """A way to evaluate joint accelerations.

    Attributes
    ----------
    name : str
        What `System.accelerations(method=...)` takes.
    about : str
        One line for people.
    kernel : compiled function
        kernel(block, t, q, u, tau, udot, work) -> status, callable from other compiled code.
    work_size : callable
        Numbers its workspace holds, from the block.
    """

    name: str
    about: str
    kernel: Any
    work_size: Callable[[np.ndarray], int]
    needs_inertias: bool = False  # whether every body needs an invertible inertia


def _work_lu(block: np.ndarray) -> int:
    return _lu.lu_row(block, int(block[_layout.N_BODIES]) + 1)


def _work_dah(block: np.ndarray) -> int:
    return _layout.work_size(block) + int(block[_layout.MASS_SIZE])


def _work_hzu(block: np.ndarray) -> int:
    return _hzu.hzu_row(block, int(block[_layout.N_BODIES]) + 1) + int(block[_layout.MULTIPLIERS_SIZE])


METHODS = {method.name: method for method in (
    Method("emh-ldl", "extended Hamiltonian system, L^T D L (Algorithm 2), coordinate by coordinate",
           extended.rhs, entry.rhs_emh_ldl, _layout.work_size, lanes.lanes_emh_ldl, lanes.varied_emh_ldl),
    Method("emh-lu", "extended Hamiltonian system, block LU (Algorithm 1), body by body",
           extended_lu.rhs, entry.rhs_emh_lu, _work_lu, lanes.lanes_emh_lu, lanes.varied_emh_lu),
    Method("dah", "Hamilton's equations, mass matrix along the paths to the root, fill-free L^T D L (Algorithm 3)",
           reduced.rhs, entry.rhs_dah, _work_dah, lanes.lanes_dah, lanes.varied_dah),
    Method("hzu", "Hamilton's equations with multipliers on the orthogonal complement, fill-free L^T D L (Algorithm 3)",
           multipliers.rhs, entry.rhs_hzu, _work_hzu, lanes.lanes_hzu, lanes.varied_hzu, needs_inertias=True),
)}

ACCELERATIONS = {method.name: method for method in (
    AccelerationMethod("newton-euler-ldl", "Newton-Euler, L^T D L (Algorithm 2), coordinate by coordinate",
                       newton_euler.accelerations, _layout.work_size),
    AccelerationMethod("newton-euler-lu", "Newton-Euler, block LU (Algorithm 1), body by body",
                       newton_euler_lu.accelerations, _work_lu),
    AccelerationMethod("lagrange-2", "Lagrange's equations of the second kind, the matrix of \"dah\"",
                       lagrange.accelerations_2, _work_dah),
    AccelerationMethod("lagrange-1", "Lagrange's equations of the first kind, the matrix of \"hzu\"",
                       lagrange.accelerations_1, _work_hzu, needs_inertias=True),
    AccelerationMethod("appell", "Appell's equations, by probing the energy of accelerations",
                       appell.accelerations, _appell.appell_size),
)}


def method_named(name: str, model: Model) -> Method:
    """The method of that name if it can serve the model, else an error that says what to do."""
    if not isinstance(name, str) or name not in METHODS:
        raise MethodError(f"method: expected one of {', '.join([*METHODS, 'auto'])}, got {name!r}")
    check_inertias(METHODS[name], model)
    return METHODS[name]


def acceleration_named(name: str, model: Model) -> AccelerationMethod:
    """The method of that name for joint accelerations if it can serve the model, else an error."""
    if not isinstance(name, str) or name not in ACCELERATIONS:
        raise MethodError(f"method: expected one of {', '.join(ACCELERATIONS)}, got {name!r}")
    check_inertias(ACCELERATIONS[name], model)
    return ACCELERATIONS[name]


def singular_body(model: Model) -> int:
    """Number of the first body whose own inertia cannot be inverted, or -1."""
    block = model.block
    first, count = int(block[_layout.AT_BODIES]), int(block[_layout.N_BODIES])
    roots = block[first:first + count * _layout.BODY].reshape(count, _layout.BODY)[:, _layout.ROOT_MASS]
    singular = np.flatnonzero(roots == 0.0)
    return int(singular[0]) if singular.size else -1


def check_inertias(method: Method | AccelerationMethod, model: Model) -> None:
    """Raise a SingularInertiaError if the method inverts the bodies' own inertias and one has none."""
    if not method.needs_inertias:
        return
    b = singular_body(model)
    if b >= 0:
        body = model.body_specs[b]
        raise SingularInertiaError(
            f"method {method.name!r} inverts the inertia of every body, but that of body {body.name!r} is singular "
            f"(mass {body.mass:g} kg, moments of inertia {', '.join(f'{x:g}' for x in np.diag(body.inertia))} kg m^2); "
            "give it mass and three positive moments of inertia, or use another method", body.name, body.joint.kind)

