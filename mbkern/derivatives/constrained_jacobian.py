"""Derivatives of models with constraints: the same equations on dual numbers, COLUMNS directions at a time.

The right-hand side of a model with constraints is defined for all (q, p), and so are its derivatives; along directions
that keep the constraints they are those of the motion on them. Nothing is differenced: :mod:`mbkern.core.constrained`
runs on numbers that are a value and COLUMNS partial derivatives.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import explain, inputs, lazy, plain
from ..core import constants as L
from ..errors import ModelError, StateError
from ..inputs import Array
from ..lazy import cached_property
from ..workspace import places
from ..workspace.binding import user_rows
from .calls import Derivatives
from .jacobian import AccelerationDerivatives, Jacobian

if TYPE_CHECKING:
    from ..system import System

COLUMNS = 4  # directions of a dual number, those of :mod:`mbkern.core.number`
_joints, _layout = plain.load("joints"), plain.load("layout")


class ConstrainedJacobian(Jacobian):
    """`Jacobian` of a model with constraints, whose forces answer to joint forces as well."""

    __slots__ = ("_by_tau",)

    def __init__(self, matrix: Array, by_tau: Array | None = None) -> None:
        super().__init__(matrix)
        self._by_tau = by_tau

    @property
    def u_p(self) -> Array:
        """du/dp: speeds that keep the constraints; singular."""
        return super().u_p

    @property
    def pdot_tau(self) -> Array:
        """dpdot/dtau: the unit matrix and what the constraints answer."""
        return super().pdot_tau if self._by_tau is None else self._by_tau


class ConstrainedDerivatives(Derivatives):
    """`Derivatives` of a model with constraints.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> system = mb.System(mb.zoo.four_bar())
    >>> q = system.assemble([0.3, 0.0, 0.0])
    >>> A = system.jacobian_rhs(q, np.zeros(3))
    >>> a, _ = system.constraint_matrix(q)
    >>> bool(np.abs(a @ A.u_p).max() < 1e-12)  # whatever p is, speeds satisfy the constraints
    True
    """

    def __init__(self, system: System, runs: Any, run_with: Callable[..., Any],
                 need_momenta: Callable[[str], None]) -> None:
        super().__init__(system, runs, run_with, need_momenta)
        self.new: Any = _as_it_is

    @cached_property
    def run(self) -> Callable[..., Any]:
        """As `Derivatives.run`, but it gives the whole answer."""
        return lambda t, out, q, p: self.jacobian_rhs(q, p, t, out=out)

    def jacobian_rhs(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                     wrench: ArrayLike | None = None, chart: str = "tangent", out: Array | None = None) -> Jacobian:
        """See `System.jacobian_rhs`."""
        if chart != "tangent":
            raise ModelError("jacobian_rhs: chart: models with constraints have the chart \"tangent\" alone")
        model, t = self.model, inputs.time(t)
        q, p = inputs.configuration(q, model), inputs.vector(p, "p", model.speed_names)
        force, force_q = self._loads(q, t, tau, wrench)
        nv = model.nv
        columns = np.empty((2 * nv, 3 * nv))
        for first in range(0, 3 * nv, COLUMNS):
            dq, dp, dtau = (_units(first - part * nv, nv) for part in range(3))
            work = self._duals(t)
            results = self._call(_RIGHT_SIDE, work, self._moved(q, dq), _dual(p, dp),
                                 _dual(force, dtau + force_q @ dq), (model.nq, nv), t)
            at = places.speeds_at(self.system.block)
            count = min(COLUMNS, 3 * nv - first)
            columns[:nv, first:first + count] = work[at:at + nv, 0, 1:1 + count]
            columns[nv:, first:first + count] = results[1][:, 0, 1:1 + count]
        matrix = columns[:, :2 * nv]
        if out is not None:
            inputs.results(out, ["matrix"], [(2 * nv, 2 * nv)])
            out[...] = matrix
            matrix = out
        return ConstrainedJacobian(np.ascontiguousarray(matrix) if out is None else matrix, columns[nv:, 2 * nv:])

    def _matrix(self, q: ArrayLike, p: ArrayLike, t: float, wrench: ArrayLike | None, out: Array | None) -> Array:
        return self.jacobian_rhs(q, p, t, None, wrench, out=out).matrix

    def product(self, name: str, q: ArrayLike, p: ArrayLike, first: Any, second: Any, t: float,
                tau: ArrayLike | None, wrench: ArrayLike | None, names: tuple[str, str],
                out: tuple[Array, Array] | None) -> tuple[Array, Array]:
        """"jvp" or "vjp", by the matrix."""
        nv = self.model.nv
        above, below = inputs.columns(first, names[0], nv), inputs.columns(second, names[1], nv)
        if above.shape != below.shape:
            raise StateError(f"{names[1]}: expected the shape of {names[0]}, {above.shape}, got {below.shape}")
        A = self.jacobian_rhs(q, p, t, tau, wrench).matrix
        product = (A if name == "jvp" else A.T) @ np.concatenate([above, below])
        if out is None:
            return product[:nv], product[nv:]
        answers = inputs.results(out, ("du", "dpdot") if name == "jvp" else ("gq", "gp"), [above.shape, above.shape])
        answers[0][...], answers[1][...] = product[:nv], product[nv:]
        return answers[0], answers[1]

    def accelerations(self, q: ArrayLike, u: ArrayLike, t: float, tau: ArrayLike | None, wrench: ArrayLike | None,
                      out: Any) -> AccelerationDerivatives:
        """See `System.derivatives_accelerations`."""
        model, t = self.model, inputs.time(t)
        q, u = inputs.configuration(q, model), inputs.vector(u, "u", model.speed_names)
        force, force_q = self._loads(q, t, tau, wrench)
        nv = model.nv
        columns = np.empty((nv, 3 * nv))
        for first in range(0, 3 * nv, COLUMNS):
            dq, du, dtau = (_units(first - part * nv, nv) for part in range(3))
            results = self._call(_ACCELERATIONS, self._duals(t), self._moved(q, dq), _dual(u, du),
                                 _dual(force, dtau + force_q @ dq), (nv, nv), t)
            count = min(COLUMNS, 3 * nv - first)
            columns[:, first:first + count] = results[0][:, 0, 1:1 + count]
        parts = [np.ascontiguousarray(columns[:, k * nv:(k + 1) * nv]) for k in range(3)]
        if out is not None:
            answers = inputs.results(out, ("udot_q", "udot_u", "udot_tau"), [(nv, nv)] * 3)
            for answer, part in zip(answers, parts, strict=True):
                answer[...] = part
            parts = list(answers)
        return AccelerationDerivatives(*parts)

    def _loads(self, q: Array, t: float, tau: ArrayLike | None, wrench: ArrayLike | None) -> tuple[Array, Array]:
        """Joint forces that do what tau and wrenches do, and their derivative by q: that of what holds the tree."""
        model = self.model
        rest = np.zeros(model.nv)
        force = rest if tau is None else inputs.vector(tau, "tau", model.speed_names)
        if wrench is None:
            return force, np.zeros((model.nv, model.nv))
        wrench, system, tree = inputs.wrenches(wrench, model), self.system, self._tree
        held = [system.inverse_dynamics(q, rest, rest, t, given) for given in (None, wrench)]
        by_q = [tree.derivatives_inverse_dynamics(q, rest, rest, t, given).tau_q for given in (None, wrench)]
        return force + held[0] - held[1], by_q[0] - by_q[1]

    @cached_property
    def _tree(self) -> System:
        made: System = lazy.module("system").System(lazy.module("derivatives.constrained").tree_of(self.model))
        return made

    # ---- dual numbers: (n, 1, 1 + COLUMNS), a value and its derivatives --------------------------------------------
    @cached_property
    def _engine(self) -> Callable[..., None]:
        with lazy.module("waits").task("jacobian_rhs"):
            address = lazy.module("core.constrained_engine").engine_of_duals.address
        function: Callable[..., None] = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 8)(address)
        return function

    @cached_property
    def _block(self) -> Array:
        """The block of the system; where a function of the user fills rows, with the one that has their derivatives."""
        block, model = self.system.block, self.model
        places_of_users = user_rows(model, block)
        if places_of_users:
            block = block.copy()
            with lazy.module("waits").task("jacobian_rhs"):
                self._moved_rows = [lazy.module("user_rows").moved_rows_callback(c.f, c.rows, model.nq, model.nv)
                                    for _, c in places_of_users]
            for (place, _), made in zip(places_of_users, self._moved_rows, strict=True):
                block[place] = made.address
        return block

    def _duals(self, t: float) -> Array:
        """A workspace with the drive values of time t."""
        block = self.system.block
        values = np.zeros(self.system.binding.work_size)
        code = lazy.module("core.drives").evaluate_drives(block, t, values)
        if code:
            raise explain.singular(self.model, block, values, t)
        work = np.zeros((values.size, 1, 1 + COLUMNS))
        first, count = int(_layout.drive_values(block, 0)), int(block[L.N_DRIVES]) * L.DRIVE_VALUES
        work[first:first + count, 0, 0] = values[first:first + count]
        return work

    def _moved(self, q: Array, directions: Array) -> Array:
        """q with its derivatives along COLUMNS unit tangents."""
        made, rate = _dual(q, np.zeros((q.size, COLUMNS))), np.empty(q.size)
        for k in range(COLUMNS):
            _joints.put_rates(self.system.block, q, np.ascontiguousarray(directions[:, k]), 0, rate)
            made[:, 0, 1 + k] = rate
        return made

    def _call(self, action: int, work: Array, q: Array, x: Array, tau: Array, sizes: tuple[int, int], t: float
              ) -> tuple[Array, Array]:
        """Both results of an action of the engine."""
        out = tuple([np.zeros((size, 1, 1 + COLUMNS)) for size in sizes])
        block = self._block
        self._engine(action, block.ctypes.data, work.ctypes.data, q.ctypes.data, x.ctypes.data, tau.ctypes.data,
                     out[0].ctypes.data, out[1].ctypes.data)
        at = places.margins_at(block)
        if not (work[at:at + int(block[L.N_NODES]), 0, 0] > 0.0).all():
            values = np.ascontiguousarray(work[:, 0, 0])
            asked = explain.asked_of_rows(self.model, block, values)
            if asked is not None:  # dual numbers lie there in an order of their own
                asked[:] = q[:, 0, 0]
            raise explain.singular(self.model, block, values, t)
        return out[0], out[1]


def _as_it_is(jacobian: Jacobian) -> Jacobian:
    return jacobian


_RIGHT_SIDE, _ACCELERATIONS = 1, 2  # actions of :mod:`mbkern.core.constrained`


def _units(first: int, n: int) -> Array:
    """Columns `first` to `first` + COLUMNS - 1 of the n x n unit matrix; zero where there is none."""
    columns = np.zeros((n, COLUMNS))
    for k in range(COLUMNS):
        if 0 <= first + k < n:
            columns[first + k, k] = 1.0
    return columns


def _dual(x: Array, derivatives: Array) -> Array:
    """Dual numbers of values and derivatives along COLUMNS directions."""
    made = np.empty((x.size, 1, 1 + COLUMNS))
    made[:, 0, 0], made[:, 0, 1:] = x, derivatives
    return made
