"""A model bound to a method: rhs(q, p) and everything around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import inputs, lazy
from .accuracy import Watch, error, error_with_constraints
from .blocks import Blocks
from .core import checks
from .errors import ModelError, StateError
from .explain import failure
from .inputs import Array
from .methods import ACCELERATIONS, AccelerationMethod, Method, acceleration_named, method_named
from .model.checks import show
from .model.model import Model
from .system_batches import Batches
from .system_derivative_batches import DerivativeBatches
from .system_derivatives import Differentiable
from .system_embedding import Embedding
from .system_regressors import Regressors
from .system_simulations import Simulations
from .workspace.binding import Binding
from .workspace.calls import Call

if TYPE_CHECKING:
    from .costs import MethodReport

# What `rhs` does not need is imported where it is used, so that the first right-hand side of a process comes soon.


class System(Differentiable, Batches, Regressors, DerivativeBatches, Simulations, Embedding):
    """A model with a method to evaluate it; safe to share between threads.

    Parameters
    ----------
    model : Model
        What the machine is.
    method : str
        "emh-ldl" (extended Hamiltonian system by L^T D L, linear in the number of bodies for every tree), "emh-lu" (the
        same by block LU), "dah" (Hamilton's equations by the mass matrix: linear on wide, flat trees, cubic on chains),
        "hzu" (with multipliers: linear on chains, cubic on wide trees; every body needs an invertible inertia), or
        "auto": the one of these that should be the fastest for this tree, see `method_report`.
        With joint speeds u in the place of momenta p everywhere in the state: "newton-euler-ldl", "newton-euler-lu",
        "lagrange-2", "lagrange-1", "appell", see `accelerations` and `variable`.

    Attributes
    ----------
    model : Model
    method : str
        The method in use; "auto" has been replaced by what it chose.
    variable : str
        What the state of the method has beside q: "p" or "u".
    block : array
        The packed constants that kernels read.
    binding : Binding
        Memory and addresses for compiled code, see :mod:`mbkern.workspace`.
    watch : Watch
        Of the digits that the method loses, see `accuracy`.

    Examples
    --------
    >>> import mbkern as mb
    >>> builder = mb.ModelBuilder()
    >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0, 0, -0.5))
    >>> pendulum = mb.System(builder.build())
    >>> qdot, pdot = pendulum.rhs([0.1], [0.3])
    >>> round(float(qdot[0]), 6), round(float(pdot[0]), 6)
    (0.6, -0.979366)
    """

    def __init__(self, model: Model, method: str = "auto") -> None:
        if not isinstance(model, Model):
            raise ModelError(f"model: expected a Model (ModelBuilder.build(), mb.load, mb.zoo), got {show(model)}")
        self.model = model
        self.binding = Binding(model, method_named(
            _cheapest(model) if isinstance(method, str) and method == "auto" and not model.constraints else method,
            model))
        self.block: Array = self.binding.block
        self.watch = Watch(model)
        self.binding.limit_loss(self.watch.limit)
        self._nq, self._nv = model.nq, model.nv
        self._begin()
        self._begin_batches()
        self._quick: Any = None  # the compiled right-hand side, after `warmup`
        self._quick_tau: Any = None  # and that with joint forces, once it was called
        self._quick_udot: Any = None  # joint accelerations by the usual method likewise
        self._quick_udot_tau: Any = None

    def __repr__(self) -> str:
        return f"System({self.model!r}, method={self.method!r})"

    @property
    def method(self) -> str:
        """Name of the method in use."""
        return self.binding.method.name

    @property
    def variable(self) -> str:
        """What the state of the method has beside q: momenta "p", or joint speeds "u".

        Where it is "u", `rhs`, `simulate`, `stepper` and their batches take and give u where they say p, and C
        functions and `ode` have y = (q, u). All other operations keep their arguments: `momenta(q, u)` and
        `velocities(q, p)` convert. Functions of forces and events get p (and u) as ever, whatever the method.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system = mb.System(model, "newton-euler-ldl")
        >>> system.variable
        'u'
        >>> q, u = model.random_state(seed=1)
        >>> qdot, udot = system.rhs(q, u)
        >>> bool((qdot == u).all()), bool((udot == system.accelerations(q, u)).all())
        (True, True)
        """
        return self.binding.method.variable

    def __reduce__(self) -> tuple[type[System], tuple[Model, str]]:
        return System, (self.model, self.method)

    def method_report(self) -> MethodReport:
        """What each method should cost for this tree, which one "auto" takes, and why.

        Returns
        -------
        MethodReport
            `.chosen`, `.costs` (estimated seconds per call), `.unable` (methods that cannot serve the model, and why)
            and `.counts`; printed, it is a table.

        Examples
        --------
        >>> import mbkern as mb
        >>> report = mb.System(mb.zoo.chain(50)).method_report()
        >>> report.chosen == min(report.costs, key=report.costs.get)
        True
        """
        report = lazy.module("costs").report

        return report(self.model)

    # ---- the right-hand side -----------------------------------------------------------------------------------

    def rhs(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
            wrench: ArrayLike | None = None, out: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        """Hamilton's equations: how the state changes.

        Parameters
        ----------
        q : (nq,)
            Configuration: metres, radians, unit quaternions (w, x, y, z).
        p : (nv,)
            Momenta conjugate to the joint speeds, kg m/s and kg m^2/s; where `variable` is "u", the joint speeds.
        t : float
            Time in seconds; matters for driven joints only.
        tau : (nv,), optional
            Joint forces in N and N m, beside the model's own springs and dampers.
        wrench : (N, 6), optional
            (force; moment) on each body, in body axes, at the body origin.
        out : (qdot, pdot), optional
            Float64 arrays to write into, apart from q, p and tau; new ones by default.

        Returns
        -------
        qdot : (nq,)
        pdot : (nv,)
            Or udot.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> system = mb.System(model)
        >>> qdot, pdot = system.rhs(model.neutral(), [0.0, 0.0, 0.0])
        >>> qdot
        array([0., 0., 0.])
        """
        if wrench is None:
            if tau is None:
                if self._quick is None:
                    self.warmup()
                return self._quick(t, out, q, p)
            if self._quick_tau is None:
                self._quick_tau = self._forced_call(("rhs", True, False), self.binding.method).run
            return self._quick_tau(t, out, q, p, tau)
        key = "rhs", tau is not None, True
        call = self._calls.get(key) or self._forced_call(key, self.binding.method)
        return call.run(t, out, q, p, wrench) if tau is None else call.run(t, out, q, p, tau, wrench)

    def _forced_call(self, key: tuple[str, bool, bool], method: Method | AccelerationMethod) -> Call:
        """A right-hand side or joint accelerations with or without tau and wrench, as the key says."""
        _, tau, wrench = key
        operation = method.operation_with_wrenches if wrench else (
            method.operation_for(self.block) if isinstance(method, Method) else method.operation)
        given = tuple([argument.name for argument in operation.inputs if argument.name != "tau" or tau])
        return self._calls.setdefault(key, Call(self, operation, given, method.work_size(self.block)))

    # ---- accelerations -------------------------------------------------------------------------------------------

    def accelerations(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                      wrench: ArrayLike | None = None, method: str = "newton-euler-ldl", *,
                      out: Array | None = None) -> Array:
        """Joint accelerations udot: forward dynamics in velocity variables.

        Parameters
        ----------
        q : (nq,)
            Configuration: metres, radians, unit quaternions (w, x, y, z).
        u : (nv,)
            Joint speeds (qdot where nq = nv; body-frame (linear, angular) for ball and free joints), m/s and rad/s.
        t : float
            Time in seconds; matters for driven joints only.
        tau : (nv,), optional
            Joint forces in N and N m, beside the model's own springs and dampers.
        wrench : (N, 6), optional
            (force; moment) on each body, in body axes, at the body origin.
        method : str
            "newton-euler-ldl" (articulated bodies, L^T D L), "newton-euler-lu" (by block LU), "lagrange-2" (mass
            matrix), "lagrange-1" (multipliers), "appell" (probing the energy of accelerations: for checks and
            teaching, its cost grows with the cube of the number of dofs), or "auto": the one that should be the fastest
            for this tree.
        out : (nv,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        udot : (nv,)
            Time derivatives of u (of its body-frame components for ball and free joints).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.pipelayer()
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=1)
        >>> udot = system.accelerations(q, u)
        >>> all(np.allclose(udot, system.accelerations(q, u, method=method))
        ...     for method in ("newton-euler-lu", "lagrange-2", "lagrange-1", "appell"))
        True
        """
        if wrench is None and method == "newton-euler-ldl":  # as it mostly is
            if tau is None:
                if self._quick_udot is None:
                    self._quick_udot = self._acceleration_call(method, False, False).run
                return self._quick_udot(t, out, q, u)
            if self._quick_udot_tau is None:
                self._quick_udot_tau = self._acceleration_call(method, True, False).run
            return self._quick_udot_tau(t, out, q, u, tau)
        call = self._acceleration_call(method, tau is not None, wrench is not None)
        if wrench is None:
            return call.run(t, out, q, u) if tau is None else call.run(t, out, q, u, tau)
        return call.run(t, out, q, u, wrench) if tau is None else call.run(t, out, q, u, tau, wrench)

    def _acceleration_call(self, method: str, tau: bool, wrench: bool) -> Call:
        """Joint accelerations by a method, with or without tau and wrench."""
        key = method, tau, wrench
        try:
            return self._calls[key]
        except (KeyError, TypeError):
            return self._forced_call(key, acceleration_named(self._chosen(method), self.model))

    def _chosen(self, method: str) -> str:
        """The name of a way to evaluate joint accelerations, "auto" replaced by what it chooses."""
        by_itself = isinstance(method, str) and method == "auto"
        chosen: str = lazy.module("costs").fastest_acceleration(self.model) if by_itself else method
        return chosen

    # ---- blocks --------------------------------------------------------------------------------------------------

    def blocks(self, q: ArrayLike, t: float = 0.0) -> Blocks:
        """The blocks C_i, A_i, vr_i of the extended system, for inspection; and all of them as one record array.

        Returns
        -------
        Blocks
            To unpack as C, A, vr, or with all fields of `block_records` by name, as `mbkern.sweeps` takes them.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> C, A, vr = mb.System(model).blocks(model.neutral())
        >>> C.shape, [a.shape for a in A]
        ((4, 6, 6), [(6, 3), (6, 1), (6, 1), (6, 1)])
        >>> mb.System(model).blocks(model.neutral())["dofs"].tolist()
        [3, 1, 1, 1]
        """
        kernels = lazy.module("core.blocks")

        q, t = inputs.configuration(q, self.model), inputs.time(t)
        n = self.model.n_bodies
        C, columns, vr = np.empty((n, 6, 6)), np.empty((self._nv, 6)), np.empty((n, 6))
        with self.binding.lent() as (_, block, work):
            code = kernels.blocks(block, t, q, C.reshape(-1), columns.reshape(-1), vr.reshape(-1), work)
            self._explain(code, t, work)
        _finite(C), _finite(columns), _finite(vr)
        A = [columns[at:at + dofs].T.copy() for at, dofs in zip(self.model.v_offsets, self.model.dofs, strict=True)]
        return Blocks.at(self, q, t, C, A, vr)

    def block_records(self, q: ArrayLike, t: float = 0.0) -> NDArray[np.void]:
        """The bodies at a configuration as one record array, which `mbkern.sweeps` takes: change it as you like.

        Returns
        -------
        (N,) array of `mbkern.sweeps.BLOCK`
            parent, dofs, C, A, M, vr, F (weight), r (armature), A_q, A_t of each body, in body axes, at its origin.
            Springs, dampers, and what spinning rotors add in ball and free joints are forces in the joints, not here.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> blocks = mb.System(model).block_records(model.neutral())
        >>> blocks["parent"].tolist(), blocks["dofs"].tolist(), blocks["C"].shape
        ([-1, 0, 1, 2], [3, 1, 1, 1], (4, 6, 6))
        """
        records: NDArray[np.void] = lazy.module("sweeps.of_model").block_records(self, q, t)
        return records

    # ---- digits --------------------------------------------------------------------------------------------------

    def accuracy(self, q: ArrayLike, p: ArrayLike | None = None, t: float = 0.0, *, method: str | None = None) -> float:
        """Estimate of the relative error of the method at a state.

        "hzu", "lagrange-1", "emh-lu" and "newton-euler-lu" lose digits where neighbours differ much in mass, or where a
        centre of mass is far from its joint: compare with 2e-16 of a double. A loss above 1e-6 gives an
        `mbkern.errors.AccuracyWarning` in any call, once for a System.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,), optional
            Momenta; by default those of joint speeds that are all one.
        t : float
            Time in seconds.
        method : str, optional
            Of `accelerations`; by default the method of this System, and its right-hand side.

        Returns
        -------
        float
            Largest error of qdot over the largest number of qdot, or the same of pdot (over the kinetic energy where
            that is larger), whichever is greater; with `method`, of the accelerations. An estimate, within a factor
            of ten as a rule: what differs from "emh-ldl", and what "emh-ldl" itself is off by one step of iterative
            refinement. With constraints: of joint speeds and accelerations, by a step of refinement.

        Notes
        -----
        The states of `rhs_batch` and `simulate_batch` are not watched: ask here for some of them before, or use
        "emh-ldl" or "dah", which lose nothing. Where forces of gravity balance each other the estimate of pdot is too
        large, as it is relative to what they leave.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(10)
        >>> mb.System(model, "hzu").accuracy(model.neutral()) < 1e-9
        True
        """
        if method is not None:
            acceleration_named(method, self.model)
        q, t = inputs.configuration(q, self.model), inputs.time(t)
        p = self.momenta(q, np.ones(self._nv), t) if p is None else inputs.vector(p, "p", self.model.speed_names)
        if self.model.constraints:
            return error_with_constraints(self, q, p, t)
        return error(self.model, method or self.method, q, p, t)[0]

    # ---- compile now ------------------------------------------------------------------------------------------------

    def warmup(self, *names: str) -> System:
        """Compile what is needed later now, or load it from the cache on disk; later calls take no time.

        Parameters
        ----------
        *names : str
            "rhs" (also without any name), "simulate", "stepper", "simulate_batch", "rhs_batch" (or "batch"), the name
            of an integrator ("gauss4": a run with that), "accelerations", any operation ("mass_matrix") and any
            batched one ("mass_matrix_batch").

        Returns
        -------
        System
            This one.

        Examples
        --------
        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.chain(3)).warmup("rhs", "energy")
        >>> system.warmup("simulat")
        Traceback (most recent call last):
        ...
        mbkern.errors.MethodError: warmup: expected one of rhs, batch, ..., got 'simulat'; the nearest is 'simulate'
        """
        if names:
            accelerations = ("newton-euler-ldl", False, False), ACCELERATIONS["newton-euler-ldl"]
            lazy.module("warming").warmup(self, names, lambda: self._forced_call(*accelerations), self._runs,
                                          self._run_batch)
        elif self._quick is None:
            self._quick = self._forced_call(("rhs", False, False), self.binding.method).run
        return self

    # ---- inside --------------------------------------------------------------------------------------------------

    def _explain(self, code: int, t: float, work: Array) -> None:
        """Raise what a kernel's status means; arguments have been checked before."""
        if code != checks.OK:
            raise failure(self.model, self.block, work, code, t)


def _finite(result: Array) -> Array:
    """The result, unless it has overflowed."""
    if not np.isfinite(result).all():
        raise StateError("the result is not finite: coordinates, speeds or forces are too large for this model")
    return result


def _cheapest(model: Model) -> str:
    """The method that should be the fastest for this tree."""
    report = lazy.module("costs").report

    return report(model).chosen
