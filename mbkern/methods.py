"""The registries: of right-hand sides and of joint accelerations a name, the kernel, and what it needs.

A right-hand side has the state (q, p) of Hamilton's equations, or (q, u) with joint speeds u in the place of momenta:
each way to evaluate joint accelerations is such a method too.

Kernels are loaded when they are first asked for: a program uses one or two of the methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import lazy
from .core import constants as L
from .errors import MethodError, SingularInertiaError
from .lazy import cached_property
from .model.checks import show
from .model.model import Model
from .operations import PDOT, QDOT, TAU, WRENCH, Operation, P, Q, U, result
from .workspace import places

RATES_OF_SPEEDS = result("udot", ("nv",), "time derivatives of u")
# those that lose digits, by inverting inertias of bodies or joints one by one or by differences: :mod:`mbkern.accuracy`
INVERTING_METHODS = ("emh-lu", "hzu", "newton-euler-lu", "lagrange-1")
LOSSY_METHODS = (*INVERTING_METHODS, "appell")


def _core(module: str, function: str) -> Any:
    """A function of the compiled core."""
    return getattr(lazy.module(f"core.{module}"), function)


@dataclass(frozen=True)
class Method:
    """A way to evaluate qdot and pdot, or qdot and udot.

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
    hinges: str = ""  # the function of its module for trees of hinges: the same bits, compiled sooner
    needs_inertias: bool = False  # whether every body needs an invertible inertia
    variable: str = "p"  # what its state has beside q: momenta "p" or joint speeds "u"
    function: str = "sweeps"  # of its module: the equations

    @cached_property
    def rhs(self) -> Any:
        """rhs(block, t, q, p, tau, qdot, pdot, work) -> status, callable from other compiled code; with u and udot in
        the place of p and pdot where these are its variables."""
        if self.variable == "u":
            return self.operation.compiled.handle
        return _core("right_hand_sides", "rhs_of")(_core(self.module, self.function), self.operation.name + "_at")

    @property
    def may_lose_digits(self) -> bool:
        """Whether it leaves an estimate of what it has lost, see :mod:`mbkern.accuracy`."""
        return self.name in LOSSY_METHODS

    @cached_property
    def operation(self) -> Operation:
        """(q, p, tau) -> (qdot, pdot), or (q, u, tau) -> (qdot, udot)."""
        momenta = self.variable == "p"
        return Operation("rhs_" + self.name.replace("-", "_"), self.about, self.module, self.function,
                         (Q, P if momenta else U, TAU), (QDOT, PDOT if momenta else RATES_OF_SPEEDS),
                         loses_digits=self.may_lose_digits, with_rates=not momenta, method=self.name)

    @cached_property
    def operation_of_hinges(self) -> Operation:
        """The same for trees of hinges."""
        if not self.hinges:
            return self.operation
        return replace(self.operation, name=self.operation.name + "_of_hinges", function=self.hinges, only_hinges=True)

    @cached_property
    def operation_with_wrenches(self) -> Operation:
        """The same with wrenches."""
        return replace(self.operation, name=self.operation.name + "_with_wrenches",
                       inputs=(*self.operation.inputs, WRENCH), with_wrenches="rhs_with_wrenches")

    def operation_for(self, block: np.ndarray) -> Operation:
        """The right-hand side, whatever is compiled sooner for a model."""
        return self.operation_of_hinges if block[L.ONLY_HINGES] > 0.0 else self.operation

    def native_for(self, block: np.ndarray) -> Any:
        """The C function for one state, see :mod:`mbkern.core.operations`."""
        return self.operation_for(block).compiled.one

    def lanes_for(self, block: np.ndarray) -> Any:
        """The C function for several states of one machine side by side."""
        return self.operation_for(block).compiled.lanes

    @property
    def varied(self) -> Any:
        """The C function for several states side by side, each of a machine of its own."""
        return self.operation.compiled.varied


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
    def operation(self) -> Operation:
        """(q, u, tau) -> udot."""
        return Operation("accelerations_" + self.name.replace("-", "_"), self.about, self.module, self.function,
                         (Q, U, TAU), (RATES_OF_SPEEDS,),
                         loses_digits=self.may_lose_digits, method=self.name)

    @cached_property
    def operation_with_wrenches(self) -> Operation:
        """(q, u, tau, wrench) -> udot."""
        return replace(self.operation, name=self.operation.name + "_with_wrenches", inputs=(Q, U, TAU, WRENCH),
                       with_wrenches="accelerations_with_wrenches")

    @property
    def of_states(self) -> Method:
        """The same equations as a right-hand side with the state (q, u)."""
        return Method(self.name, self.about, self.module, self.work_size, needs_inertias=self.needs_inertias,
                      variable="u", function=self.function)


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
           "extended", places.work_size, hinges="sweeps_of_hinges"),
    Method("emh-lu", "extended Hamiltonian system, block LU (Algorithm 1), body by body",
           "extended_lu", _work_lu),
    Method("dah", "Hamilton's equations, mass matrix along the paths to the root, fill-free L^T D L (Algorithm 3)",
           "reduced", _work_dah),
    Method("hzu", "Hamilton's equations with multipliers on the orthogonal complement, fill-free L^T D L (Algorithm 3)",
           "multipliers", _work_hzu, needs_inertias=True),
)}

ACCELERATIONS = {method.name: method for method in (
    AccelerationMethod("newton-euler-ldl", "Newton-Euler, L^T D L (Algorithm 2), coordinate by coordinate",
                       "newton_euler", "sweeps", places.work_size),
    AccelerationMethod("newton-euler-lu", "Newton-Euler, block LU (Algorithm 1), body by body",
                       "newton_euler_lu", "sweeps", _work_lu),
    AccelerationMethod("lagrange-2", "Lagrange's equations of the second kind, the matrix of \"dah\"",
                       "lagrange", "sweeps_2", _work_dah),
    AccelerationMethod("lagrange-1", "Lagrange's equations of the first kind, the matrix of \"hzu\"",
                       "lagrange", "sweeps_1", _work_hzu, needs_inertias=True),
    AccelerationMethod("appell", "Appell's equations, by probing the energy of accelerations",
                       "appell", "sweeps", _work_appell),
)}

# all right-hand sides: with the state (q, p) and with (q, u)
STATE_METHODS = METHODS | {method.name: method.of_states for method in ACCELERATIONS.values()}


def _work_constrained(block: np.ndarray) -> int:
    return int(lazy.module("_plain_core.constraint_layout").constrained_size(block))


#: Of models with constraints, the only ones: :mod:`mbkern.core.constrained`.
CONSTRAINED = Method("constrained", "Hamilton's equations with constraints on velocities: closed loops, gears, rolling",
                     "constrained_sweeps", _work_constrained)
CONSTRAINED_ACCELERATION = AccelerationMethod(
    "constrained", "joint accelerations with constraints, by the factored mass matrix", "constrained_sweeps",
    "accelerations", _work_constrained)


def method_named(name: str, model: Model) -> Method:
    """The method of that name if it can serve the model, else an error that says what to do."""
    if model.constraints:
        if not isinstance(name, str) or name not in ("auto", CONSTRAINED.name):
            raise MethodError(f"method: a model with constraints ({model.constraints[0].name!r}, ...) has one method, "
                              f"\"constrained\" (or \"auto\"), got {show(name)}")
        return CONSTRAINED
    if not isinstance(name, str) or name not in STATE_METHODS:
        raise MethodError(f"method: expected one of {', '.join([*STATE_METHODS, 'auto'])}, got {show(name)}")
    check_inertias(STATE_METHODS[name], model)
    return STATE_METHODS[name]


def acceleration_named(name: str, model: Model) -> AccelerationMethod:
    """The method of that name for joint accelerations if it can serve the model, else an error."""
    if model.constraints:
        if not isinstance(name, str) or name not in ("auto", "newton-euler-ldl", CONSTRAINED.name):
            raise MethodError("method: accelerations of a model with constraints have one method, \"constrained\", got "
                              f"{name!r}")
        return CONSTRAINED_ACCELERATION
    if not isinstance(name, str) or name not in ACCELERATIONS:
        raise MethodError(f"method: expected one of {', '.join([*ACCELERATIONS, 'auto'])}, got {show(name)}")
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

