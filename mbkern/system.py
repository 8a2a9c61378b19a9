"""A model bound to a method: rhs(q, p) and everything around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import inputs, lazy
from .accuracy import Watch, error
from .core import checks
from .errors import MethodError, ModelError, StateError
from .explain import failure
from .inputs import Array
from .lazy import cached_property
from .methods import ACCELERATIONS, AccelerationMethod, Method, acceleration_named, method_named
from .model.checks import show
from .model.model import Model
from .ode import Ode
from .operations import Operation, operation_named
from .signatures import Events, Load, options_by_name
from .system_batches import Batches
from .system_constraints import Constrained
from .system_derivatives import DerivativeBatches, Regressors
from .workspace.binding import Binding
from .workspace.calls import Call

if TYPE_CHECKING:
    from .batch.solution import BatchSolution
    from .costs import MethodReport
    from .derivatives import AccelerationDerivatives, Derivatives, ForceDerivatives, Jacobian
    from .derivatives.linear import Equilibrium, Linearization, Modes
    from .embed.handle import CFunc
    from .embed.operation import COperation
    from .integrate.solution import Solution
    from .integrate.stepper import Stepper
    from .model.vary import Varied

# What `rhs` does not need is imported where it is used, so that the first right-hand side of a process comes soon.

_empty = np.empty


class Blocks(NamedTuple):
    """The blocks of the extended system at one configuration, (linear; angular), in body axes.

    Attributes
    ----------
    C : array (N, 6, 6)
        Carries a velocity of the parent's frame to the body's frame.
    A : list of arrays (6, n_i)
        Joint bases: v = C v_parent + A u + vr.
    vr : array (N, 6)
        Velocity from prescribed motion.
    """

    C: Array
    A: list[Array]
    vr: Array


class System(Constrained, Batches, Regressors, DerivativeBatches):
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
            _cheapest(model) if method == "auto" and not model.constraints else method, model))
        self.block: Array = self.binding.block
        self.watch = Watch(model)
        self.binding.limit_loss(self.watch.limit)
        self._nq, self._nv = model.nq, model.nv
        self._begin()
        self._begin_batches()
        self._quick: Any = None  # the compiled right-hand side, after `warmup`
        self._quick_tau: Any = None  # and that with joint forces, once it was called

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
        if tau is None and wrench is None:
            if self._quick is None:
                self.warmup()
            idle = self._idle
            try:
                frame = idle.pop()
            except IndexError:
                frame = self._calls["rhs", False, False].new_frame()
            try:
                if out is None:
                    qdot, pdot = _empty(self._nq), _empty(self._nv)
                else:
                    qdot, pdot = out
                code = self._quick(frame, t, q, p, qdot, pdot)
            except (TypeError, ValueError):  # arguments that are not plain float64 arrays
                code = checks.BAD_SHAPE
            idle.append(frame)
            return self._calls["rhs", False, False].explain(t, out, (q, p), 4) if code else (qdot, pdot)
        if wrench is None:
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
        key = method, tau is not None, wrench is not None
        try:
            call = self._calls[key]
        except (KeyError, TypeError):
            call = self._forced_call(key, acceleration_named(self._chosen(method), self.model))
        if wrench is None:
            return call.run(t, out, q, u) if tau is None else call.run(t, out, q, u, tau)
        return call.run(t, out, q, u, wrench) if tau is None else call.run(t, out, q, u, tau, wrench)

    def _chosen(self, method: str) -> str:
        """The name of a way to evaluate joint accelerations, "auto" replaced by what it chooses."""
        chosen: str = lazy.module("costs").fastest_acceleration(self.model) if method == "auto" else method
        return chosen

    # ---- blocks --------------------------------------------------------------------------------------------------

    def blocks(self, q: ArrayLike, t: float = 0.0) -> Blocks:
        """The blocks C_i, A_i, vr_i of the extended system, for inspection.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> C, A, vr = mb.System(model).blocks(model.neutral())
        >>> C.shape, [a.shape for a in A]
        ((4, 6, 6), [(6, 3), (6, 1), (6, 1), (6, 1)])
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
        return Blocks(C, A, vr)

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

    # ---- derivatives ---------------------------------------------------------------------------------------------

    def jacobian_rhs(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                     wrench: ArrayLike | None = None, *, chart: str = "tangent", out: Array | None = None) -> Jacobian:
        """Exact derivatives of (u, pdot) with respect to (q, p), in closed form, O(N^2) for the whole matrix.

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `rhs`. Wrenches turn with their bodies; joint forces only add to pdot.
        chart : str
            How q moves: "tangent" (small turns and moves in body axes for ball and free joints, the coordinates for all
            others), or "coordinates" (the nq numbers of q, and qdot in the place of u).
        out : (2 nv, 2 nv) or, in coordinates, (nq + nv, nq + nv), optional
            Float64 array to write into.

        Returns
        -------
        Jacobian
            `.u_q`, `.u_p` (= Mass^-1), `.pdot_q`, `.pdot_p`, `.pdot_tau`; `.matrix` = [[u_q, u_p], [pdot_q, pdot_p]].

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0, 0, -0.5))
        >>> A = mb.System(builder.build()).jacobian_rhs([0.0], [0.0])
        >>> A.matrix.round(6)  # m g l = 9.81, m l^2 = 0.5
        array([[ 0.  ,  2.  ],
               [-9.81, -0.  ]])
        >>> float(np.abs(np.linalg.eigvals(A.matrix)[0]).round(6))  # sqrt(g / l)
        4.429447
        """
        derivatives = self._derivatives
        if tau is None and wrench is None and chart == "tangent":
            return derivatives.new(derivatives.run(t, out, q, p))
        return derivatives.jacobian_rhs(q, p, t, tau, wrench, chart, out)

    def jvp(self, q: ArrayLike, p: ArrayLike, dq: ArrayLike, dp: ArrayLike, t: float = 0.0,
            tau: ArrayLike | None = None, wrench: ArrayLike | None = None, *,
            out: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        """How (u, pdot) change along directions (dq, dp): the Jacobian times a vector, in O(N).

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `jacobian_rhs`.
        dq, dp : (nv,) or (nv, k)
            One direction, or k of them; dq along the tangent.
        out : (du, dpdot), optional
            Float64 arrays of that shape to write into; new ones by default.

        Returns
        -------
        du, dpdot : (nv,) or (nv, k)

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.random_tree(5, seed=1)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=1)
        >>> p, d = system.momenta(q, u), np.ones(model.nv)
        >>> du, dpdot = system.jvp(q, p, d, d)
        >>> A = system.jacobian_rhs(q, p)
        >>> bool(np.allclose(dpdot, A.pdot_q @ d + A.pdot_p @ d))
        True
        """
        self._need_momenta("jvp")
        return self._derivatives.product("jvp", q, p, dq, dp, t, tau, wrench, ("dq", "dp"), out)

    def vjp(self, q: ArrayLike, p: ArrayLike, u_weights: ArrayLike, pdot_weights: ArrayLike, t: float = 0.0,
            tau: ArrayLike | None = None, wrench: ArrayLike | None = None, *,
            out: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        """Gradient of u_weights . u + pdot_weights . pdot: the transposed Jacobian times a vector, in O(N).

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `jacobian_rhs`.
        u_weights, pdot_weights : (nv,) or (nv, k)
            One set of weights, or k of them.
        out : (gq, gp), optional
            Float64 arrays of that shape to write into; new ones by default.

        Returns
        -------
        gq, gp : (nv,) or (nv, k)
            Derivatives with respect to the tangent of q, and to p.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.random_tree(5, seed=1)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=1)
        >>> p, w = system.momenta(q, u), np.ones(model.nv)
        >>> gq, gp = system.vjp(q, p, w, w)
        >>> A = system.jacobian_rhs(q, p)
        >>> bool(np.allclose(gq, w @ A.u_q + w @ A.pdot_q))
        True
        """
        self._need_momenta("vjp")
        return self._derivatives.product("vjp", q, p, u_weights, pdot_weights, t, tau, wrench,
                                         ("u_weights", "pdot_weights"), out)

    def derivatives_accelerations(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                                  wrench: ArrayLike | None = None, *, out: tuple[Array, Array, Array] | None = None
                                  ) -> AccelerationDerivatives:
        """Exact derivatives of the joint accelerations udot(q, u, tau), in closed form, O(N^2).

        Parameters
        ----------
        q, u, t, tau, wrench
            As in `accelerations`.
        out : (udot_q, udot_u, udot_tau), optional
            Float64 arrays, (nv, nv) each, to write into; new ones by default.

        Returns
        -------
        AccelerationDerivatives
            `.udot_q` (q along its tangent), `.udot_u`, `.udot_tau` (= Mass^-1).

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0, 0, -0.5))
        >>> derivatives = mb.System(builder.build()).derivatives_accelerations([0.0], [0.0])
        >>> float(derivatives.udot_q[0, 0].round(6)), float(derivatives.udot_tau[0, 0].round(6))
        (-19.62, 2.0)
        """
        return self._derivatives.accelerations(q, u, t, tau, wrench, out)

    def derivatives_inverse_dynamics(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike, t: float = 0.0,
                                     wrench: ArrayLike | None = None, *, out: tuple[Array, Array, Array] | None = None
                                     ) -> ForceDerivatives:
        """Exact derivatives of the joint forces tau(q, u, udot) that a motion needs, in closed form, O(N depth).

        Parameters
        ----------
        q, u, udot, t, wrench
            As in `inverse_dynamics`.
        out : (tau_q, tau_u, tau_udot), optional
            Float64 arrays, (nv, nv) each, to write into; new ones by default.

        Returns
        -------
        ForceDerivatives
            `.tau_q` (q along its tangent), `.tau_u`, `.tau_udot` (= Mass).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=1)
        >>> derivatives = system.derivatives_inverse_dynamics(q, u, np.zeros(3))
        >>> bool(np.allclose(derivatives.tau_udot, system.mass_matrix(q)))
        True
        """
        return self._derivatives.inverse_dynamics(q, u, udot, t, wrench, out)

    def equilibrium(self, q_guess: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                    wrench: ArrayLike | None = None, *, hold: Sequence[str | int] = (), u: ArrayLike | None = None
                    ) -> Equilibrium:
        """A configuration near a guess that stays when all joint speeds are zero, or constant, by Newton's method.

        Parameters
        ----------
        q_guess : (nq,)
            Where to begin.
        t, tau, wrench
            As in `rhs`. Where joints are driven, the machine stays relative to them, as in a steady rotation.
        hold : names or numbers of dofs
            Coordinates that keep their values of q_guess, by whatever joint forces it takes.
        u : (nv,), optional
            Joint speeds that stay, for a steady rotation of joints that are not driven; zero by default.

        Returns
        -------
        Equilibrium
            `.q`, `.p`, `.tau` (with what holds), `.residual`, `.iterations`. Whether it is stable, `modes` tells. With
            constraints q closes all loops, and `constraint_forces` do their part.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0, 0, -0.5))
        >>> found = mb.System(builder.build()).equilibrium([0.3], tau=[-9.81 / 2])
        >>> round(float(found.q[0]), 6)  # asin(1/2)
        -0.523599
        """
        return lazy.module("derivatives.linear").equilibrium(self, q_guess, t, tau, wrench, hold, u)

    def linearize(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                  wrench: ArrayLike | None = None, *, inputs: Sequence[str | int] | None = None,
                  outputs: Sequence[str] | ArrayLike | None = None) -> Linearization:
        """State-space matrices of small deviations from a state.

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `rhs`.
        inputs : names or numbers of dofs, optional
            Where joint forces act; all by default.
        outputs : names or (k, 2 nv), optional
            What is seen: "q:", "u:" or "p:" and the name of a dof, or the matrix C; the whole state by default.

        Returns
        -------
        Linearization
            `.A`, `.B`, `.C`, `.D`, `.rate` (zero at an equilibrium), `.states`, `.inputs`, `.outputs` and
            `.state_space` for `scipy.signal`.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(2)
        >>> linear = mb.System(model).linearize([0, 0], [0, 0], inputs=[0], outputs=["u:body1"])
        >>> linear.A.shape, linear.B.shape, linear.C.shape
        ((4, 4), (4, 1), (1, 4))
        """
        self._need_momenta("linearize")
        self._refuse_constraints("linearize")
        return lazy.module("derivatives.linear").linearize(self, q, p, t, tau, wrench, inputs, outputs)

    def modes(self, q: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None, wrench: ArrayLike | None = None, *,
              u: ArrayLike | None = None) -> Modes:
        """Small vibrations about an equilibrium or a steady rotation: frequencies, damping, shapes.

        Parameters
        ----------
        q : (nq,)
            An equilibrium under tau and wrench, see `equilibrium`.
        t, tau, wrench
            As in `rhs`.
        u : (nv,), optional
            Joint speeds of a steady rotation, as in `equilibrium`; zero by default.

        Returns
        -------
        Modes
            `.eigenvalues`, `.frequencies` (Hz), `.damping`, `.shapes` (nv, k), slowest first. With constraints the
            motions that they allow.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0, 0, -0.5))
        >>> modes = mb.System(builder.build()).modes([0.0])
        >>> modes.frequencies.round(6), modes.eigenvalues.round(6)
        (array([0.704968]), array([0.+4.429447j]))
        """
        return lazy.module("derivatives.linear").modes(self, q, t, tau, wrench, u)

    @cached_property
    def _derivatives(self) -> Derivatives:
        """What does the work, loaded when it is first needed."""
        self._refuse_constraints("derivatives")
        made: Derivatives = lazy.module("derivatives").Derivatives(self)
        return made

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
            refinement.

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
        self._refuse_constraints("accuracy")
        if method is not None:
            acceleration_named(method, self.model)
        q, t = inputs.configuration(q, self.model), inputs.time(t)
        p = self.momenta(q, np.ones(self._nv), t) if p is None else inputs.vector(p, "p", self.model.speed_names)
        return error(self.model, method or self.method, q, p, t)[0]

    # ---- motion --------------------------------------------------------------------------------------------------

    @options_by_name(11)
    def simulate(self, q0: ArrayLike, p0: ArrayLike, t_span: tuple[float, float], integrator: str = "dopri5", *,
                 rtol: float = 1e-8, atol: ArrayLike = 1e-10, step: float | None = None,
                 t_eval: ArrayLike | None = None, events: Events | None = None, dense: bool = False,
                 progress: bool | float = False, tau: Load | None = None, wrench: Load | None = None,
                 max_step: float | None = None, save_every: int | None = None,
                 control_step: float | None = None, tangent: bool | ArrayLike = False, limits: str | None = None,
                 friction: bool = False, gauge: str = "reset", project: bool = True) -> Solution:
        """The motion from a state over a span of time, all steps in compiled code.

        Parameters
        ----------
        q0 : (nq,)
            Configuration at the beginning; quaternions are scaled to length one.
        p0 : (nv,)
            Momenta at the beginning; `momenta(q0, u0)` gives them for joint speeds. Where `variable` is "u", the joint
            speeds.
        t_span : (begin, end)
            Times in seconds; end before begin integrates backward.
        integrator : str
            "dopri5" (Dormand-Prince 5(4), adaptive), "rk4" (classical, fixed step), "midpoint", "gauss4", "gauss6"
            (Gauss collocation of order 2, 4, 6: symplectic and symmetric, fixed step, no secular energy drift).
        rtol, atol : float
            Tolerances of the local error of "dopri5": the root mean square of error / (atol + rtol ``|y|``) is at
            most 1, y = (q, p). atol may be an array (nq + nv).
        step : float
            Fixed-step methods: the largest step; it is shortened so that a whole number of steps fills t_span.
            "dopri5": the first step, chosen automatically by default.
        t_eval : (m,), optional
            Times of the output, in the order of the run. States between two steps come from the dense output: order
            4 for "dopri5", 3 (cubic Hermite, error O(step^4)) for the others. By default the ends of all steps.
        events : njit g(t, q, p), Event or a list of them, optional
            Zero crossings to record, or to stop at; see `mbkern.event`.
        dense : bool
            Keep the dense output of every step, for `Solution.sol`.
        progress : bool or float
            Show a bar on standard error; with a number, after so many seconds.
        tau : (nv,), or f(t, q, p, out) or f(t, q, p, u, out), optional
            Joint forces in N and N m; out (nv) is zero when f is called. An njit function is as fast as all else; plain
            Python works as well and takes some microseconds a call.
        wrench : (N, 6), or a function likewise, optional
            (force; moment) on each body, in body axes at the body origin; out is (N, 6).
        max_step : float, optional
            No step is longer.
        save_every : int, optional
            Keep the state after every so many steps only (and at the end).
        control_step : float, optional
            Seconds between two calls of a controller in plain Python: `tau` is then f(t, q, p) -> tau, or
            f(t, q, p, u) -> tau with the joint speeds u. What it returns is held until it is called again; steps end
            where it is called. It is called first at the beginning, and not at the end.
        tangent : bool or (2 nv, k)
            True: carry the state-transition matrix along, for `Solution.tangent`: the exact derivative of the steps
            that are taken, whatever the integrator. A matrix: its columns, increments (tangent of q, p) of the first
            state. The steps, and so the states, are those of the run without.
        limits : str, optional
            "soft": springs and dampers act where a coordinate is beyond `model.limits`, see
            `mbkern.forces.soft_limits`.
        friction : bool
            Let the joints have the friction of `model.friction`, see `mbkern.forces.friction`.
        gauge : "reset" or "keep"
            Of models with constraints: integrators carry momenta P = p + a^T sigma. "reset" makes them true momenta
            after each step; "keep" lets sigma go on, so that the Gauss methods are symplectic for holonomic
            constraints. The Solution has true momenta p in either case.
        project : bool
            Of models with constraints and gauge "reset": close loops after each step, by the shortest way in kinetic
            energy. Velocities satisfy the constraints to rounding also without it.

        Returns
        -------
        Solution
            With success False and all that was computed when the run could not be finished. Ctrl-C ends a run early,
            with status "interrupted".

        Notes
        -----
        Gauss methods are symplectic in (q, p); in (q, u), with a method of joint speeds, they are symmetric, which
        keeps the energy of reversible motions from drifting, and no more.

        Quaternions are scaled to length one after each step of "rk4" and "dopri5". That cannot spoil the order: the
        right-hand side uses ``q/|q|`` and the rate of a quaternion is linear in it, so scaling commutes with every
        Runge-Kutta step. The Gauss methods conserve the length, a quadratic invariant, by themselves.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(5)
        >>> solution = mb.System(model).simulate(model.neutral(), [0.0] * 5, (0.0, 2.0), t_eval=[0.0, 1.0, 2.0])
        >>> solution.success, solution.q.shape
        (True, (3, 5))

        A controller at 100 Hz:

        >>> hold = lambda t, q, p, u: -50.0 * q - 5.0 * u
        >>> solution = mb.System(model).simulate(model.neutral(), [0.0] * 5, (0.0, 0.5), tau=hold, control_step=0.01)
        >>> solution.success
        True
        """
        simulate: Callable[..., Solution] = lazy.module("integrate.simulate").simulate

        return simulate(self, q0, p0, t_span, integrator, rtol, atol, step, t_eval, events, dense, progress, tau,
                        wrench, max_step, save_every, control_step, tangent, limits, friction, gauge, project)

    @options_by_name(4)
    def stepper(self, integrator: str = "rk4", step: float = 1e-3, *, rtol: float = 1e-8, atol: ArrayLike = 1e-10,
                tau: Load | None = None, wrench: Load | None = None) -> Stepper:
        """One step at a time, for use in loops of your own; see `Stepper`.

        Parameters
        ----------
        integrator : str
            As in `simulate`; "dopri5" takes as many steps of its own as its tolerances need.
        step : float
            Seconds that a step advances the time by; negative goes back.
        rtol, atol, tau, wrench
            As in `simulate`.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> stepper = mb.System(model).stepper("rk4", step=1e-3)
        >>> stepper.reset(model.neutral(), [0.0, 0.0, 0.0])
        >>> q, p = stepper.step()
        """
        make: Callable[..., Stepper] = lazy.module("integrate.stepper").Stepper

        return make(self, integrator, step, rtol, atol, tau, wrench)

    # ---- many states at once -------------------------------------------------------------------------------------

    @options_by_name(8)
    def simulate_batch(self, Q0: ArrayLike, P0: ArrayLike, t_span: tuple[float, float], integrator: str = "dopri5", *,
                       rtol: float = 1e-8, atol: ArrayLike = 1e-10, step: float | None = None,
                       t_eval: ArrayLike | None = None, threads: int | None = None, tau: Load | None = None,
                       reduce: str | Callable[..., None] | None = None, progress: bool = False, reduce_size: int = 1,
                       max_step: float | None = None, parameters: Varied | None = None) -> BatchSolution:
        """`simulate` many states at once: several in each SIMD register, and on all processors.

        Each state is integrated as if it were alone: with "dopri5" it has a step size of its own, and when it is done,
        the next state takes its place in the register. So a trajectory has the very bits that `simulate` gives,
        whatever the other states do, and a state that diverges spoils no other. (One step size for the states that
        share a register would make results depend on the neighbours, and the slowest of them would set the pace.)

        Parameters
        ----------
        Q0 : (B, nq)
            Configurations at the beginning; quaternions are scaled to length one.
        P0 : (B, nv)
            Momenta.
        t_span : (begin, end)
            Times in seconds.
        integrator : str
            "rk4" (order 4, fixed step), "dopri5" (order 5, adaptive) or "midpoint" (implicit, order 2, symplectic,
            fixed step; by fixed-point iteration only, so where `simulate` turns to Newton's, a state fails here).
        rtol, atol
            Tolerances of "dopri5".
        step : float
            Seconds of a step; of "dopri5" the first one, by default its own choice.
        t_eval : (T,), optional
            Times of the output; by default the beginning and the end.
        threads : int, optional
            As in `rhs_batch`.
        tau : optional
            Joint forces: (nv,) for all states, (B, nv), or an njit function f(t, q, p, out, i), or with joint speeds
            u, f(t, q, p, u, out, i), that writes those of state number i to `out`, which is zero when it is called.
        reduce : optional
            What to keep, when the trajectories are too many: "final" for the states at the end, or an njit function
            f(t, q, p, kept, i) that updates the `reduce_size` numbers `kept` of state number i, zero at first. It is
            called at the times `t_eval`, or, if there are none, at the beginning and after every step.
        progress : bool
            Show a progress bar.
        reduce_size : int
            How many numbers the function `reduce` keeps of each state.
        max_step : float, optional
            No step is longer.
        parameters : Varied, optional
            Masses, inertias and lengths of each state's own machine, from `Model.vary`.

        Returns
        -------
        BatchSolution
            `.t` (T,), `.q` (B, T, nq), `.p` (B, T, nv), `.status` (B,), `.message(i)`; with `reduce`, `.q` (B, nq) and
            `.p` (B, nv), or `.kept` (B, reduce_size). Rows after the failure of a state are NaN.

        Beside its input and output, a run needs memory for a few states a thread, however many states there are. After
        ctrl-C the states that are done are kept.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> rng = np.random.default_rng(0)
        >>> Q0, P0 = rng.normal(size=(100, 3)), np.zeros((100, 3))
        >>> solution = mb.System(model).simulate_batch(Q0, P0, (0.0, 1.0), "rk4", step=0.01, t_eval=[0.0, 0.5, 1.0])
        >>> solution
        BatchSolution by 'rk4': 100 states, t = 0 .. 1 s, all finished
        >>> solution.q.shape
        (100, 3, 3)
        """
        simulate_batch: Callable[..., BatchSolution] = lazy.module("batch.simulate").simulate_batch

        return simulate_batch(self, Q0, P0, t_span, integrator, rtol, atol, step, t_eval, threads, tau, reduce,
                              progress, reduce_size, max_step, parameters)

    # ---- for other simulators ------------------------------------------------------------------------------------

    def work(self, operation: str = "rhs") -> Array:
        """A workspace for a compiled function of `njit`; one for each caller.

        Parameters
        ----------
        operation : str
            What it is for. Derivatives need more room than all others, which can share one.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.System(mb.zoo.chain(3)).work().ndim
        1
        """
        others = ("rhs", "accelerations")
        size = 0 if operation in others else operation_named(operation, others).work_size(self.block)
        return np.zeros(max(size, self.binding.work_size))

    def njit(self, operation: str = "rhs") -> tuple[Callable[..., int], Array]:
        """A compiled operation and the block it reads, for use inside `@njit` functions.

        Refer to the function as a global name of your module: then `@njit(cache=True)` works, and one compiled function
        serves every model with this method (pass `block` as an argument). Your cached function holds a copy of this
        code; when it is older than the mbkern that made the block, the status is 9 (STALE): delete your cache.

        Parameters
        ----------
        operation : str
            "rhs", "accelerations", or any operation of the table in the documentation: "inverse_dynamics", "jacobian",
            and so on.

        Returns
        -------
        f : compiled function
            "rhs": f(block, t, q, p, tau, qdot, pdot, work) -> status: 0 when all is well, else a code of
            `mbkern.embed.CODES`; with u and udot for p and pdot where `variable` is "u". All arrays are contiguous
            float64 of the right size, which is not checked: q, qdot (nq), p, pdot (nv), tau (nv, or empty), work from
            `work()`, one for each thread. Values are not checked either (but where `variable` is "u"); q, p and tau
            must be finite.
            Others: f(block, t, inputs ..., results ..., work) -> status, in the order of the table; an optional input
            that is not given is an empty array of its number of dimensions, and work from ``work(operation)``. Values
            are checked, sizes are not.
        block : array
            Constants of the model: a copy, yours.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system = mb.System(mb.zoo.chain(3))
        >>> rhs, block = system.njit()
        >>> qdot, pdot = np.empty(3), np.empty(3)
        >>> rhs(block, 0.0, np.zeros(3), np.zeros(3), np.empty(0), qdot, pdot, system.work())
        0
        >>> mass_matrix, block = system.njit("mass_matrix")
        >>> mass_matrix(block, 0.0, np.zeros(3), np.empty((3, 3)), system.work())
        0
        """
        keep_alive = lazy.module("callbacks").keep_alive

        function = self.binding.method.rhs if operation == "rhs" else (
            self._operation_for_others(operation).compiled.handle)
        # Numba compiles anew for a read-only array, hence a copy
        return function, keep_alive(self.block.copy(), self.binding.callbacks)

    @property
    def cfunc(self) -> CFunc:
        """The right-hand side as a C function, with memory of its own: each access makes a new, independent one.

        Hold on to it as long as C code uses its `user_data`; the System itself may go. See :mod:`mbkern.embed`.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> f = mb.System(model).cfunc
        >>> y = model.pack(q={"body1": 0.5})
        >>> dydt = np.empty(6)
        >>> f.ctypes(0.0, y, dydt, f.user_data)
        >>> f.status
        0
        """
        CFunc = lazy.module("embed.handle").CFunc

        return CFunc(self)

    def cfunc_of(self, operation: str, k: int = 1) -> COperation:
        """Any operation as a C function, with memory of its own: each call makes a new, independent one.

        Parameters
        ----------
        operation : str
            "rhs", "accelerations", or any operation of the table in the documentation, as in `njit`.
        k : int
            Number of vectors in one call, for operations that take several ("solve_mass").

        Returns
        -------
        COperation
            `.address`, `.user_data`, `.signature`, `.ctypes`, `.status`, `.error`; see :mod:`mbkern.embed`.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> f = mb.System(mb.zoo.chain(3)).cfunc_of("mass_matrix")
        >>> f.signature
        'int mass_matrix(double t, const double *q, double *H, void *user)'
        >>> H = np.empty((3, 3))
        >>> f.ctypes(0.0, np.zeros(3), H, f.user_data)
        0
        """
        make: Callable[..., COperation] = lazy.module("embed.operation").COperation

        return make(self, self._operation_for_others(operation), operation, k)

    def _operation_for_others(self, name: str) -> Operation:
        """Right-hand side by the method of this System, accelerations, or an operation of the table."""
        if name == "rhs":
            return self.binding.method.operation_with_wrenches
        if name == "accelerations":
            method = self.method if self.method in ACCELERATIONS else "newton-euler-ldl"
            return acceleration_named(method, self.model).operation_with_wrenches
        return operation_named(name, ("rhs", "accelerations"))

    def ode(self) -> Ode:
        """fun(t, y) with y = (q, p), as `scipy.integrate.solve_ivp` wants it; it pickles, for pools of processes.
        `fun.jac(t, y)` is its exact Jacobian, for implicit methods.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> fun = mb.System(mb.zoo.chain(3)).ode()
        >>> fun(0.0, np.zeros(6)).shape
        (6,)
        """
        return Ode(self)

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
            lazy.module("warming").warmup(self, names)
        elif self._quick is None:
            call = self._forced_call(("rhs", False, False), self.binding.method)
            self._idle, self._quick = call.idle, call.entry
        return self

    # ---- inside --------------------------------------------------------------------------------------------------

    def _need_momenta(self, what: str) -> None:
        """Refuse what is about (q, p) alone, where the state is (q, u)."""
        if self.variable != "p":
            raise MethodError(f"{what}: it is about the state (q, p), but method {self.method!r} has the state (q, u); "
                              "use derivatives_accelerations(q, u), or a System with \"emh-ldl\" and momenta(q, u)")

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
