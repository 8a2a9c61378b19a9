"""The registries: of right-hand sides and of joint accelerations a name, the kernel, and what it needs.

Kernels are loaded when they are first asked for: a program uses one or two of the methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import lazy
from .core import constants as L
from .errors import MethodError, SingularInertiaError
from .lazy import cached_property
from .model.model import Model
from .workspace import places

# those that invert inertias of bodies or joints one by one, see :mod:`mbkern.accuracy`
LOSSY_METHODS = ("emh-lu", "hzu", "newton-euler-lu", "lagrange-1")


def _core(module: str, function: str) -> Any:
    """A function of the compiled core."""
    return getattr(lazy.module(f"core.{module}"), function)


@dataclass(frozen=True)
class Wrappers:
    """Names of the C functions of a method.

    Attributes
    ----------
    native : str
        For one state, in :mod:`mbkern.core.entry`.
    lanes, varied : str
        For several states side by side, of one machine or each of its own, in :mod:`mbkern.core.lanes`.
    """

    native: str
    lanes: str
    varied: str


@dataclass(frozen=True)
class Method:
    """A way to evaluate qdot and pdot.

    Attributes
    ----------
    name : str
        What `System(model, method=...)` takes.
    about : str
        One line for people.
    module : str
        Of the core, where the equations are.
    work_size : callable
        Numbers its workspace holds, from the block.
    """

    name: str
    about: str
    module: str
    work_size: Callable[[np.ndarray], int]
    wrappers: Wrappers
    wrappers_of_hinges: Wrappers | None = None  # the same for trees of hinges, compiled sooner
    needs_inertias: bool = False  # whether every body needs an invertible inertia

    @cached_property
    def rhs(self) -> Any:
        """rhs(block, t, q, p, tau, qdot, pdot, work) -> status, callable from other compiled code."""
        return _core(self.module, "rhs")

    @property
    def may_lose_digits(self) -> bool:
        """Whether it leaves an estimate of what it has lost, see :mod:`mbkern.accuracy`."""
        return self.name in LOSSY_METHODS

    def native_for(self, block: np.ndarray) -> Any:
        """The same as a C function, by addresses, see :mod:`mbkern.core.entry`."""
        return _core("entry", self._wrappers_for(block).native)

    def lanes_for(self, block: np.ndarray) -> Any:
        """The C function for several states of one machine side by side, see :mod:`mbkern.core.lanes`."""
        return _core("lanes", self._wrappers_for(block).lanes)

    @cached_property
    def varied(self) -> Any:
        """The C function for several states side by side, each of a machine of its own."""
        return _core("lanes", self.wrappers.varied)

    def _wrappers_for(self, block: np.ndarray) -> Wrappers:
        of_hinges = self.wrappers_of_hinges
        return of_hinges if of_hinges is not None and block[L.ONLY_HINGES] else self.wrappers


@dataclass(frozen=True)
class AccelerationMethod:
    """A way to evaluate joint accelerations.

    Attributes
    ----------
    name : str
        What `System.accelerations(method=...)` takes.
    about : str
        One line for people.
    module, function : str
        Of the core.
    work_size : callable
        Numbers its workspace holds, from the block.
    """

    name: str
    about: str
    module: str
    function: str
    work_size: Callable[[np.ndarray], int]
    needs_inertias: bool = False  # whether every body needs an invertible inertia

    @property
    def may_lose_digits(self) -> bool:
        """Whether it leaves an estimate of what it has lost, see :mod:`mbkern.accuracy`."""
        return self.name in LOSSY_METHODS

    @cached_property
    def kernel(self) -> Any:
        """kernel(block, t, q, u, tau, udot, work) -> status, callable from other compiled code."""
        return _core(self.module, self.function)


def _work_lu(block: np.ndarray) -> int:
    return lazy.module("_plain_core.extended_lu").lu_row(block, int(block[L.N_BODIES]) + 1)


def _work_dah(block: np.ndarray) -> int:
    return places.work_size(block) + int(block[L.MASS_SIZE])


def _work_hzu(block: np.ndarray) -> int:
    rows = lazy.module("_plain_core.multipliers").hzu_row(block, int(block[L.N_BODIES]) + 1)
    return rows + int(block[L.MULTIPLIERS_SIZE])


def _work_appell(block: np.ndarray) -> int:
    return lazy.module("_plain_core.appell").appell_size(block)


METHODS = {method.name: method for method in (
    Method("emh-ldl", "extended Hamiltonian system, L^T D L (Algorithm 2), coordinate by coordinate",
           "extended", places.work_size, Wrappers("rhs_emh_ldl", "lanes_emh_ldl", "varied_emh_ldl"),
           Wrappers("rhs_emh_ldl_of_hinges", "lanes_emh_ldl_of_hinges", "varied_emh_ldl")),
    Method("emh-lu", "extended Hamiltonian system, block LU (Algorithm 1), body by body",
           "extended_lu", _work_lu, Wrappers("rhs_emh_lu", "lanes_emh_lu", "varied_emh_lu")),
    Method("dah", "Hamilton's equations, mass matrix along the paths to the root, fill-free L^T D L (Algorithm 3)",
           "reduced", _work_dah, Wrappers("rhs_dah", "lanes_dah", "varied_dah")),
    Method("hzu", "Hamilton's equations with multipliers on the orthogonal complement, fill-free L^T D L (Algorithm 3)",
           "multipliers", _work_hzu, Wrappers("rhs_hzu", "lanes_hzu", "varied_hzu"), needs_inertias=True),
)}

ACCELERATIONS = {method.name: method for method in (
    AccelerationMethod("newton-euler-ldl", "Newton-Euler, L^T D L (Algorithm 2), coordinate by coordinate",
                       "newton_euler", "accelerations", places.work_size),
    AccelerationMethod("newton-euler-lu", "Newton-Euler, block LU (Algorithm 1), body by body",
                       "newton_euler_lu", "accelerations", _work_lu),
    AccelerationMethod("lagrange-2", "Lagrange's equations of the second kind, the matrix of \"dah\"",
                       "lagrange", "accelerations_2", _work_dah),
    AccelerationMethod("lagrange-1", "Lagrange's equations of the first kind, the matrix of \"hzu\"",
                       "lagrange", "accelerations_1", _work_hzu, needs_inertias=True),
    AccelerationMethod("appell", "Appell's equations, by probing the energy of accelerations",
                       "appell", "accelerations", _work_appell),
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
    first, count = int(block[L.AT_BODIES]), int(block[L.N_BODIES])
    roots = block[first:first + count * L.BODY].reshape(count, L.BODY)[:, L.ROOT_MASS]
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

