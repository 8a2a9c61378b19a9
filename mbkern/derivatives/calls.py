"""Derivatives of one System: the operations of the table, with charts, columns and names around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import inputs, lazy
from ..errors import MethodError, StateError
from ..inputs import Array
from ..lazy import cached_property
from ..model.checks import show
from ..operations import Argument, operation_named
from ..workspace.calls import Call
from .jacobian import AccelerationDerivatives, ForceDerivatives, Jacobian, in_coordinates

if TYPE_CHECKING:
    from ..model.model import Model
    from ..system import System

CHARTS = ("tangent", "coordinates")


def room(model: Model, block: Array) -> int:
    """Numbers of a workspace for derivatives."""
    return int(lazy.module("_plain_core.tangents").tangents_size(block) + model.nq + model.nv + 8)


class Derivatives:
    """What a System has derivatives from. Safe to share between threads.

    Parameters
    ----------
    system : System
    runs, run_with, need_momenta
        Its operations without and with optional inputs, and what refuses states (q, u); `System` hands them over.

    Attributes
    ----------
    run : callable
        run(t, out, q, p): the matrix of `jacobian_rhs` without wrenches, the quick way.
    new : type
        What it becomes.
    last : Jacobian
        Of the last matrix that was given as `out`, which serves for all that are written there.

    Examples
    --------
    >>> import mbkern as mb
    >>> model = mb.zoo.chain(2)
    >>> mb.System(model).jacobian_rhs(model.neutral(), [0.0, 0.0])
    Jacobian(nv=2)
    """

    def __init__(self, system: System, runs: Any, run_with: Callable[..., Any],
                 need_momenta: Callable[[str], None]) -> None:
        self.model, self.system, self.new = system.model, system, Jacobian
        self._runs, self._run_with, self._need_momenta = runs, run_with, need_momenta
        self._vector_runs: dict[str, Callable[..., Any]] = {}
        self.last = Jacobian(np.empty((0, 0)))

    @cached_property
    def run(self) -> Callable[..., Array]:
        """The quick way, compiled when it is first asked for."""
        self._need_momenta("jacobian_rhs")
        found: Callable[..., Array] = self._runs.jacobian_rhs
        return found

    def jacobian_rhs(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                     wrench: ArrayLike | None = None, chart: str = "tangent", out: Array | None = None) -> Jacobian:
        """See `System.jacobian_rhs`."""
        self._need_momenta("jacobian_rhs")
        check_chart(chart)
        self._look_at(tau)
        if chart == "tangent":
            return Jacobian(self._matrix(q, p, t, wrench, out))
        n = self.model.nq + self.model.nv
        if out is not None:
            inputs.results(out, ["matrix"], [(n, n)])
            if any(np.may_share_memory(out, np.asarray(x)) for x in (q, p)):
                raise StateError("out: it shares memory with q or p, which it would change while they are read; give "
                                 "an array of its own")
        q, p = inputs.configuration(q, self.model), inputs.vector(p, "p", self.model.speed_names)
        tangent = Jacobian(self._matrix(q, p, t, wrench, None))
        return in_coordinates(self.model, q, self.system.velocities(q, p, t), tangent, out)

    def _matrix(self, q: ArrayLike, p: ArrayLike, t: float, wrench: ArrayLike | None, out: Array | None) -> Array:
        matrix: Array = self._run_with("jacobian_rhs", t, out, q=q, p=p, wrench=wrench)
        return matrix

    def _look_at(self, tau: ArrayLike | None) -> None:
        """Joint forces have no derivative here, but should be some."""
        if tau is not None:
            inputs.vector(tau, "tau", self.model.speed_names)

    def _of_vectors(self, name: str) -> Callable[..., Any]:
        """"jvp" or "vjp" as run(t, out, q, p, first, second) for one direction: vectors in, vectors out."""
        try:
            return self._vector_runs[name]
        except KeyError:
            operation = operation_named(name).made_for(self.system.block, ())
            one = replace(operation, inputs=tuple(map(_vector, operation.inputs)),
                          results=tuple(map(_vector, operation.results)))
            given = tuple([argument.name for argument in one.inputs if not argument.optional])
            size = max(self.system.binding.work_size, operation.work_size(self.system.block))
            return self._vector_runs.setdefault(name, Call(self.system, one, given, size).run)

    def product(self, name: str, q: ArrayLike, p: ArrayLike, first: Any, second: Any, t: float,
                tau: ArrayLike | None, wrench: ArrayLike | None, names: tuple[str, str],
                out: tuple[Array, Array] | None) -> tuple[Array, Array]:
        """"jvp" or "vjp" of (first, second), each (nv,) or (nv, k)."""
        if tau is None and wrench is None and getattr(first, "ndim", 0) == 1:  # the quick way
            try:
                found: tuple[Array, Array] = self._of_vectors(name)(t, out, q, p, first, second)
                return found
            except (StateError, TypeError):
                pass  # the long way names the numbers of a vector as such
        nv = self.model.nv
        self._look_at(tau)
        above, below = inputs.columns(first, names[0], nv), inputs.columns(second, names[1], nv)
        if above.shape != below.shape:
            raise StateError(f"{names[1]}: expected the shape of {names[0]}, {above.shape}, got {below.shape}")
        if out is not None:
            results = ("du", "dpdot") if name == "jvp" else ("gq", "gp")
            answers = inputs.results(out, results, [above.shape, above.shape])
        one = above.ndim == 1
        rows = [x[None] if one else np.ascontiguousarray(x.T) for x in (above, below)]
        within = tuple([x[None] for x in answers]) if out is not None and one else (
            np.empty(rows[0].shape), np.empty(rows[0].shape))
        given = dict(zip(names, rows, strict=True))
        x, y = self._run_with(name, t, within, q=q, p=p, **given, wrench=wrench)
        if out is None:
            return (x[0], y[0]) if one else (x.T, y.T)
        if not one:
            answers[0][...], answers[1][...] = x.T, y.T
        return answers[0], answers[1]

    def accelerations(self, q: ArrayLike, u: ArrayLike, t: float, tau: ArrayLike | None, wrench: ArrayLike | None,
                      out: Any) -> AccelerationDerivatives:
        """See `System.derivatives_accelerations`."""
        if tau is None and wrench is None:
            return AccelerationDerivatives(*self._runs.derivatives_accelerations(t, out, q, u))
        run = self._run_with
        return AccelerationDerivatives(*run("derivatives_accelerations", t, out, q=q, u=u, tau=tau, wrench=wrench))

    def inverse_dynamics(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike, t: float, wrench: ArrayLike | None,
                         out: Any) -> ForceDerivatives:
        """See `System.derivatives_inverse_dynamics`."""
        if wrench is None:
            return ForceDerivatives(*self._runs.derivatives_inverse_dynamics(t, out, q, u, udot))
        run = self._run_with
        return ForceDerivatives(*run("derivatives_inverse_dynamics", t, out, q=q, u=u, udot=udot, wrench=wrench))


def _vector(argument: Argument) -> Argument:
    """The same argument for one vector where there may be several."""
    return replace(argument, shape=argument.shape[1:]) if argument.shape[0] == "k" else argument


def check_chart(chart: Any) -> None:
    """Raise a MethodError unless it is the name of a chart."""
    if not isinstance(chart, str) or chart not in CHARTS:
        raise MethodError(f"chart: expected one of {', '.join(map(repr, CHARTS))}, got {show(chart)}")
