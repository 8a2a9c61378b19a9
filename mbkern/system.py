"""A model bound to a method: rhs(q, p) and everything around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numba import types
from numpy.typing import ArrayLike, NDArray

from . import inputs, lazy
from .accuracy import Watch, error
from .core import checks, entry
from .core import constants as L
from .errors import ModelError, StateError
from .explain import failure
from .inputs import Array
from .lazy import cached_property
from .locks import COMPILING
from .methods import METHODS, acceleration_named, method_named
from .model.checks import show
from .model.model import Model
from .signatures import Events, Load, options_by_name
from .workspace import places
from .workspace.binding import Binding

if TYPE_CHECKING:
    from .batch.solution import BatchSolution
    from .costs import MethodReport
    from .embed.handle import CFunc
    from .integrate.solution import Solution
    from .integrate.stepper import Stepper
    from .model.vary import Varied

# What `rhs` does not need is imported where it is used, so that the first right-hand side of a process comes soon.

_ARRAY = types.Array(types.float64, 1, "C")
_ENTRY = (_ARRAY, types.float64, _ARRAY, _ARRAY, _ARRAY, _ARRAY, _ARRAY)
_QUICK = (types.intp, types.float64, _ARRAY, _ARRAY, _ARRAY, _ARRAY)
_empty = np.empty


class Energy(NamedTuple):
    """Energies of a state, in joules.

    Attributes
    ----------
    kinetic : float
        T = sum v^T M v / 2.
    potential : float
        Weight of all bodies, zero at the world's origin, plus the joint springs.
    hamiltonian : float
        H = p^T u - T + Pi; equal to T + Pi when no joint is driven.
    """

    kinetic: float
    potential: float
    hamiltonian: float


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


class System:
    """A model with a method to evaluate it; safe to share between threads.

    Parameters
    ----------
    model : Model
        What the machine is.
    method : str
        "emh-ldl" (extended Hamiltonian system by L^T D L, linear in the number of bodies for every tree), "emh-lu" (the
        same by block LU), "dah" (Hamilton's equations by the mass matrix: linear on wide, flat trees, cubic on chains),
        "hzu" (with multipliers: linear on chains, cubic on wide trees; every body needs an invertible inertia), or
        "auto": the one that should be the fastest for this tree, see `method_report`.

    Attributes
    ----------
    model : Model
    method : str
        The method in use; "auto" has been replaced by what it chose.
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
        self.binding = Binding(model, method_named(_cheapest(model) if method == "auto" else method, model))
        self.block: Array = self.binding.block
        self.watch = Watch(model)
        self.binding.limit_loss(self.watch.limit)
        self._nq, self._nv = model.nq, model.nv
        self._no_tau = np.empty(0)
        self._idle = self.binding.idle
        self._quick: Any = None  # the compiled right-hand side, after `warmup`

    def __repr__(self) -> str:
        return f"System({self.model!r}, method={self.method!r})"

    @property
    def method(self) -> str:
        """Name of the method in use."""
        return self.binding.method.name

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
            Momenta conjugate to the joint speeds, kg m/s and kg m^2/s.
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
                address = idle.pop()
            except IndexError:
                address = self.binding.new_frame()
            try:
                if out is None:
                    qdot, pdot = _empty(self._nq), _empty(self._nv)
                else:
                    qdot, pdot = out
                code = self._quick(address, t, q, p, qdot, pdot)
            except (TypeError, ValueError):  # arguments that are not plain float64 arrays
                code = checks.BAD_SHAPE
            idle.append(address)
            if not code:
                return qdot, pdot
        return self._rhs_general(q, p, t, tau, wrench, out)

    def _rhs_general(self, q: ArrayLike, p: ArrayLike, t: float, tau: ArrayLike | None, wrench: ArrayLike | None,
                     out: tuple[Array, Array] | None) -> tuple[Array, Array]:
        """`rhs` for any input: converts, explains what is wrong."""
        self.warmup()
        model = self.model
        q, p, t = inputs.configuration(q, model), inputs.vector(p, "p", model.speed_names), inputs.time(t)
        qdot, pdot = (np.empty(self._nq), np.empty(self._nv)) if out is None else inputs.outputs(out, model, q, p, tau)
        with self.binding.lent() as (frame, block, work):
            forces = self._joint_forces(block, t, q, tau, wrench, work)
            if forces.size:
                code = _compiled(entry.rhs, _ENTRY)(frame, t, q, p, forces, qdot, pdot)
            else:
                code = entry.quick(frame.ctypes.data, t, q, p, qdot, pdot)
            if code != checks.LOSSY:
                self._explain(code, t, work)
                return qdot, pdot
            loss = float(work[places.loss_at(block)])
        self.watch.warn(self.method, loss, q, p, t, 3)
        self.binding.limit_loss(self.watch.limit)
        return qdot, pdot

    def _joint_forces(self, block: Array, t: float, q: Array, tau: ArrayLike | None, wrench: ArrayLike | None,
                      work: Array) -> Array:
        """tau plus the joint forces that do the work of the wrenches; empty when there are none."""
        forces = self._no_tau if tau is None else inputs.vector(tau, "tau", self.model.speed_names)
        if wrench is None:
            return forces
        wrenches_to_joints = lazy.module("core.momenta").wrenches_to_joints

        given = inputs.wrenches(wrench, self.model).ravel()
        equivalent = np.empty(self._nv)
        self._explain(wrenches_to_joints(block, t, q, given, equivalent, work), t, work)
        _finite(equivalent)
        return equivalent + forces if forces.size else equivalent

    # ---- accelerations, joint forces, reactions -----------------------------------------------------------------

    def accelerations(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                      wrench: ArrayLike | None = None, method: str = "newton-euler-ldl") -> Array:
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
            matrix), "lagrange-1" (multipliers) or "appell" (probing the energy of accelerations: for checks and
            teaching, its cost grows with the cube of the number of dofs).

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
        model = self.model
        q, u, t = inputs.configuration(q, model), inputs.vector(u, "u", model.speed_names), inputs.time(t)
        chosen = acceleration_named(method, model)
        udot = np.empty(self._nv)
        with self.binding.lent(chosen.work_size(self.block)) as (_, block, work):
            forces = self._joint_forces(block, t, q, tau, wrench, work)
            self._explain(chosen.kernel(block, t, q, u, forces, udot, work), t, work)
            loss = float(work[places.loss_at(block)]) if chosen.may_lose_digits else 0.0
        if loss > self.watch.limit > 0.0:
            self.watch.warn(method, loss, q, self.momenta(q, u, t), t, 2)
        return _finite(udot)

    def inverse_dynamics(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike, t: float = 0.0,
                         wrench: ArrayLike | None = None) -> Array:
        """Joint forces tau that a motion needs, by the recursive Newton-Euler equations.

        They act beside the model's own springs and dampers and beside `wrench`, so that
        ``accelerations(q, u, t, tau=tau, wrench=wrench)`` gives udot back.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        u, udot : (nv,)
            Joint speeds and their time derivatives.
        t : float
            Time in seconds.
        wrench : (N, 6), optional
            (force; moment) on each body, in body axes, at the body origin.

        Returns
        -------
        tau : (nv,)
            N and N m.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.random_tree(8, seed=3)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=3)
        >>> udot = np.linspace(-1.0, 1.0, model.nv)
        >>> tau = system.inverse_dynamics(q, u, udot)
        >>> bool(np.allclose(system.accelerations(q, u, tau=tau), udot))
        True
        """
        kernels = lazy.module("core.inverse_dynamics")

        model, names = self.model, self.model.speed_names
        q, u, t = inputs.configuration(q, model), inputs.vector(u, "u", names), inputs.time(t)
        udot = inputs.vector(udot, "udot", names)
        tau = np.empty(self._nv)
        with self.binding.lent() as (_, block, work):
            equivalent = self._joint_forces(block, t, q, None, wrench, work)
            self._explain(kernels.inverse_dynamics(block, t, q, u, udot, tau, work), t, work)
        return _finite(tau - equivalent if equivalent.size else tau)

    def reactions(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                  wrench: ArrayLike | None = None) -> Array:
        """The wrench that the parent exerts on each body through its joint.

        Along the joint's dofs it is the joint force: A^T R = tau less springs and dampers. Across them it is what
        the bearing has to stand.

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `rhs`.

        Returns
        -------
        R : (N, 6)
            (force; moment) about the body origin, in body axes, N and N m.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("table", mass=3.0, inertia=(1, 1, 1))
        >>> _ = builder.add_body("lamp", "table", mb.ball(), mass=1.0, com=(0, 0, 0.2), inertia=(1, 1, 1))
        >>> model = builder.build()
        >>> R = mb.System(model).reactions(model.neutral(), [0.0, 0.0, 0.0])
        >>> R[:, 2].round(6)  # the ground carries both, the table carries the lamp
        array([39.24,  9.81])
        """
        kernels = lazy.module("core.inverse_dynamics")

        model, names = self.model, self.model.speed_names
        q, p, t = inputs.configuration(q, model), inputs.vector(p, "p", names), inputs.time(t)
        given = self._no_tau if wrench is None else inputs.wrenches(wrench, model).ravel()
        u = self.velocities(q, p, t)
        udot = self.accelerations(q, u, t, tau, wrench)
        R = np.empty((model.n_bodies, 6))
        with self.binding.lent() as (_, block, work):
            self._explain(kernels.reactions(block, t, q, u, udot, given, R.reshape(-1), work), t, work)
        return _finite(R)

    # ---- velocities, momenta, inertia --------------------------------------------------------------------------

    def momenta(self, q: ArrayLike, u: ArrayLike, t: float = 0.0) -> Array:
        """Momenta p = A^T mu of the joint speeds u, in O(N).

        Parameters
        ----------
        q : (nq,)
            Configuration.
        u : (nv,)
            Joint speeds (qdot where nq = nv; body-frame (linear, angular) for ball and free joints), m/s and rad/s.
        t : float
            Time; prescribed motion contributes to p.

        Returns
        -------
        p : (nv,)

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> p = mb.System(model).momenta(model.neutral(), [0.1, 0, 0, 0, 0, 0])
        >>> round(float(p[0]), 6) == round(0.1 * model.total_mass, 6)  # the whole machine lifts
        True
        """
        kernels = lazy.module("core.momenta")

        model = self.model
        q, u, t = inputs.configuration(q, model), inputs.vector(u, "u", model.speed_names), inputs.time(t)
        p = np.empty(self._nv)
        with self.binding.lent() as (_, block, work):
            self._explain(kernels.momenta(block, t, q, u, p, work), t, work)
        return _finite(p)

    def velocities(self, q: ArrayLike, p: ArrayLike, t: float = 0.0) -> Array:
        """Joint speeds u of the momenta p, in O(N): the inverse of `momenta`.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.random_tree(8, seed=3)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=3)
        >>> bool(np.allclose(system.velocities(q, system.momenta(q, u)), u))
        True
        """
        with self.binding.lent() as (frame, _, work):
            return self._sweep(q, p, t, frame, work)[2]

    def _sweep(self, q: ArrayLike, p: ArrayLike, t: float, frame: Array, work: Array) -> tuple[Array, Array, Array]:
        """Run "emh-ldl" at a state for what it leaves in the workspace; returns the validated q and p, and u."""
        self.warmup()
        model = self.model
        q, p, t = inputs.configuration(q, model), inputs.vector(p, "p", model.speed_names), inputs.time(t)
        own, frame[L.RHS_CALL] = frame[L.RHS_CALL], METHODS["emh-ldl"].native_for(self.block).address
        code = entry.quick(frame.ctypes.data, t, q, p, np.empty(self._nq), np.empty(self._nv))
        frame[L.RHS_CALL] = own
        self._explain(checks.OK if code == checks.LOSSY else code, t, work)  # a loss of the call before this one
        at = places.speeds_at(self.block)
        return q, p, work[at:at + self._nv].copy()

    def mass_matrix(self, q: ArrayLike, t: float = 0.0) -> Array:
        """Mass matrix (nv, nv) of the joint speeds at configuration q, by composite inertias.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> H = mb.System(model).mass_matrix(model.neutral())
        >>> bool(H[0, 0] == model.total_mass)  # the first coordinate lifts everything
        True
        """
        kernels = lazy.module("core.mass")

        q, t = inputs.configuration(q, self.model), inputs.time(t)
        H = np.empty((self._nv, self._nv))
        with self.binding.lent() as (_, block, work):
            self._explain(kernels.mass_matrix(block, t, q, H.reshape(-1), work), t, work)
        return _finite(H)

    def solve_mass(self, q: ArrayLike, x: ArrayLike, t: float = 0.0) -> Array:
        """Mass^-1 x in O(N); x of shape (nv,), or (nv, k) for k right-hand sides with one factorization.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(4)
        >>> system = mb.System(model)
        >>> q = model.neutral()
        >>> x = np.array([1.0, 0.0, 0.0, 0.0])
        >>> bool(np.allclose(system.mass_matrix(q) @ system.solve_mass(q, x), x))
        True
        """
        kernels = lazy.module("core.mass")

        q, t = inputs.configuration(q, self.model), inputs.time(t)
        given = inputs.columns(x, "x", self._nv)
        many = given.ndim == 2
        rows = np.ascontiguousarray(given.T) if many else given[None, :]
        y = np.empty(rows.shape)
        with self.binding.lent() as (_, block, work):
            self._explain(kernels.factor(block, t, q, np.zeros(self._nv), work), t, work)
            for x_k, y_k in zip(rows, y, strict=True):
                kernels.solve(block, x_k, y_k, work)
        return _finite(y.T if many else y[0])

    def inverse_mass_matrix(self, q: ArrayLike, t: float = 0.0) -> Array:
        """Inverse of the mass matrix (nv, nv), by the O(N) factorization applied to each unit vector.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(4)
        >>> system = mb.System(model)
        >>> q = model.neutral()
        >>> bool(np.allclose(system.mass_matrix(q) @ system.inverse_mass_matrix(q), np.eye(4)))
        True
        """
        inverse = self.solve_mass(q, np.eye(self._nv), t)
        return 0.5 * (inverse + inverse.T)

    # ---- energy, bodies ------------------------------------------------------------------------------------------

    def energy(self, q: ArrayLike, p: ArrayLike, t: float = 0.0) -> Energy:
        """Kinetic and potential energy and the Hamiltonian, in joules.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> system = mb.System(model)
        >>> energy = system.energy(model.neutral(), [0.0] * 6)
        >>> energy.kinetic, energy.hamiltonian == energy.potential
        (0.0, True)
        """
        kernels = lazy.module("core.energy")

        out = np.empty(3)
        with self.binding.lent() as (frame, block, work):
            q, p, u = self._sweep(q, p, t, frame, work)
            kernels.energy(block, q, p, u, out, work)
        return Energy(*_finite(out).tolist())

    def body_poses(self, q: ArrayLike, t: float = 0.0) -> tuple[Array, Array]:
        """Where the bodies are.

        Returns
        -------
        R : (N, 3, 3)
            Rotations body -> world (columns are the body's axes in the world).
        r : (N, 3)
            Positions of the body origins in the world, in metres.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> R, r = mb.System(model).body_poses(model.neutral())
        >>> [round(float(x), 6) for x in r[model.body_index("boom")]]
        [0.0, 1.5, 2.5]
        """
        kernels = lazy.module("core.bodies")

        q, t = inputs.configuration(q, self.model), inputs.time(t)
        n = self.model.n_bodies
        R, r = np.empty((n, 3, 3)), np.empty((n, 3))
        with self.binding.lent() as (_, block, work):
            self._explain(kernels.poses(block, t, q, R.reshape(-1), r.reshape(-1), work), t, work)
        return _finite(R), _finite(r)

    def body_velocities(self, q: ArrayLike, p: ArrayLike, t: float = 0.0) -> Array:
        """Velocities (N, 6) of the bodies: (linear; angular) of the body origin, in body axes.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> mb.System(model).body_velocities(model.neutral(), [0.0, 0.0, 0.0]).shape
        (3, 6)
        """
        kernels = lazy.module("core.bodies")

        return self._of_bodies(kernels.velocities, q, p, t)

    def body_momenta(self, q: ArrayLike, p: ArrayLike, t: float = 0.0) -> Array:
        """Accumulated momenta mu (N, 6): of each body and all bodies beyond it, in its axes, at its origin.

        A^T mu of a body's joint is its part of p.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> mb.System(model).body_momenta(model.neutral(), [0.0, 0.0, 0.0]).shape
        (3, 6)
        """
        kernels = lazy.module("core.bodies")

        return self._of_bodies(kernels.momenta, q, p, t)

    def _of_bodies(self, kernel: Callable[..., None], q: ArrayLike, p: ArrayLike, t: float) -> Array:
        kinematics = lazy.module("core.momenta").kinematics

        out = np.empty((self.model.n_bodies, 6))
        with self.binding.lent() as (frame, block, work):
            q, _, u = self._sweep(q, p, t, frame, work)
            kinematics(block, q, u, work)
            kernel(block, out.reshape(-1), work)
        return _finite(out)

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
            Largest error of qdot over the largest number of qdot, or the same of pdot, whichever is greater; with
            `method`, of the accelerations. An estimate, within a factor of ten as a rule: what differs from "emh-ldl",
            and what "emh-ldl" itself is off by one step of iterative refinement.

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
        return error(self.model, method or self.method, q, p, t)[0]

    # ---- motion --------------------------------------------------------------------------------------------------

    @options_by_name(11)
    def simulate(self, q0: ArrayLike, p0: ArrayLike, t_span: tuple[float, float], integrator: str = "dopri5", *,
                 rtol: float = 1e-8, atol: ArrayLike = 1e-10, step: float | None = None,
                 t_eval: ArrayLike | None = None, events: Events | None = None, dense: bool = False,
                 progress: bool = False, tau: Load | None = None, wrench: Load | None = None,
                 max_step: float | None = None, save_every: int | None = None) -> Solution:
        """The motion from a state over a span of time, all steps in compiled code.

        Parameters
        ----------
        q0 : (nq,)
            Configuration at the beginning; quaternions are scaled to length one.
        p0 : (nv,)
            Momenta at the beginning; `momenta(q0, u0)` gives them for joint speeds.
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
        progress : bool
            Show a bar on standard error.
        tau : (nv,) or njit f(t, q, p, out), optional
            Joint forces in N and N m; out (nv) is zero when f is called.
        wrench : (N, 6) or njit f(t, q, p, out), optional
            (force; moment) on each body, in body axes at the body origin; out is (N, 6).
        max_step : float, optional
            No step is longer.
        save_every : int, optional
            Keep the state after every so many steps only (and at the end).

        Returns
        -------
        Solution
            With success False and all that was computed when the run could not be finished. Ctrl-C ends a run early,
            with status "interrupted".

        Notes
        -----
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
        """
        simulate: Callable[..., Solution] = lazy.module("integrate.simulate").simulate

        return simulate(self, q0, p0, t_span, integrator, rtol, atol, step, t_eval, events, dense, progress, tau,
                        wrench, max_step, save_every)

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

    @overload
    def rhs_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = ..., tau: ArrayLike | None = ..., *,
                  threads: int | None = ..., parameters: Varied | None = ..., return_status: Literal[False] = ...,
                  out: tuple[Array, Array] | None = ...) -> tuple[Array, Array]: ...

    @overload
    def rhs_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = ..., tau: ArrayLike | None = ..., *,
                  threads: int | None = ..., parameters: Varied | None = ..., return_status: Literal[True],
                  out: tuple[Array, Array] | None = ...) -> tuple[Array, Array, NDArray[np.int64]]: ...

    @options_by_name(1)
    def rhs_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = 0.0, tau: ArrayLike | None = None, *,
                  threads: int | None = None, parameters: Varied | None = None, return_status: bool = False,
                  out: tuple[Array, Array] | None = None
                  ) -> tuple[Array, Array] | tuple[Array, Array, NDArray[np.int64]]:
        """`rhs` of many states at once: several in each SIMD register, and on all processors.

        Every row has the very bits that `rhs` gives for it alone, however many rows there are, in whichever order and
        on however many threads.

        Parameters
        ----------
        Q : (B, nq)
            Configurations, one row for each state.
        P : (B, nv)
            Momenta.
        t : float or (B,)
            Time in seconds, one for all or one for each.
        tau : (nv,) or (B, nv), optional
            Joint forces in N and N m, the same for all states or a row for each.
        threads : int, optional
            At most so many threads; all processors by default. The environment variable MBKERN_NUM_THREADS is an upper
            bound.
        parameters : Varied, optional
            Masses, inertias and lengths of each state's own machine, from `Model.vary`.
        return_status : bool
            Return the code of each row as well.
        out : (Qdot, Pdot), optional
            Row-major float64 arrays to write into, of the shapes of Q and P and apart from them; new ones by default.
            To use them again and again saves the time in which the operating system provides new memory.

        Returns
        -------
        Qdot : (B, nq)
        Pdot : (B, nv)
        status : (B,) int array
            With `return_status`: 0, or why the row has no result, see `mbkern.embed.CODES`.

        A wrong shape raises a StateError. What is wrong with the numbers of a row (NaN, a quaternion without length, a
        joint that has nothing to move) makes that row NaN and leaves the others alone; unless `return_status` is given,
        a RuntimeWarning says how many there are, and what is wrong with the first.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(7)
        >>> system = mb.System(model)
        >>> rng = np.random.default_rng(0)
        >>> Q, P = rng.normal(size=(1000, 7)), rng.normal(size=(1000, 7))
        >>> Qdot, Pdot = system.rhs_batch(Q, P)
        >>> bool(np.array_equal(Pdot[123], system.rhs(Q[123], P[123])[1]))
        True
        """
        return self._rhs_batch(self, Q, P, t, tau, threads, parameters, return_status, out)

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
            Joint forces: (nv,) for all states, (B, nv), or an njit function f(t, q, p, out, i) that writes those of
            state number i to `out`, which is zero when it is called.
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

    def work(self) -> Array:
        """A workspace for the compiled right-hand side of `njit`; one for each caller.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.System(mb.zoo.chain(3)).work().ndim
        1
        """
        return np.zeros(self.binding.work_size)

    def njit(self) -> tuple[Callable[..., int], Array]:
        """The compiled right-hand side and the block it reads, for use inside `@njit` functions.

        Refer to `rhs` as a global name of your module: then `@njit(cache=True)` works, and one compiled function serves
        every model with this method (pass `block` as an argument). Your cached function holds a copy of this code; when
        it is older than the mbkern that made the block, the status is 9 (STALE): delete your cache.

        Returns
        -------
        rhs : compiled function
            rhs(block, t, q, p, tau, qdot, pdot, work) -> status: 0 when all is well, else a code of
            `mbkern.embed.CODES`. All arrays are contiguous float64 of the right size, which is not checked: q, qdot
            (nq), p, pdot (nv), tau (nv, or empty), work from `work()`, one for each thread. Values are not checked
            either; q, p and tau must be finite.
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
        """
        keep_alive = lazy.module("callbacks").keep_alive

        # Numba compiles anew for a read-only array, hence a copy
        return self.binding.method.rhs, keep_alive(self.block.copy(), self.binding.callbacks)

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

    def ode(self) -> Callable[[float, Array], Array]:
        """fun(t, y) with y = (q, p), as `scipy.integrate.solve_ivp` wants it.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> fun = mb.System(mb.zoo.chain(3)).ode()
        >>> fun(0.0, np.zeros(6)).shape
        (6,)
        """
        nq, n = self._nq, self._nq + self._nv

        def fun(t: float, y: Array) -> Array:
            dydt = _empty(n)
            self.rhs(y[:nq], y[nq:], t, out=(dydt[:nq], dydt[nq:]))
            return dydt

        return fun

    def warmup(self) -> System:
        """Compile the right-hand side now, or load it from the cache on disk; later calls take no time.

        Examples
        --------
        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.chain(3)).warmup()
        """
        if self._quick is None:
            _compiled(entry.quick, _QUICK)
            self.binding.compile()
            self._quick = entry.quick
        return self

    @cached_property
    def _rhs_batch(self) -> Any:
        """What does the work of `rhs_batch`, loaded when it is first needed."""
        rhs_batch = lazy.module("batch.rhs").rhs_batch

        return rhs_batch

    # ---- inside --------------------------------------------------------------------------------------------------

    def _explain(self, code: int, t: float, work: Array) -> None:
        """Raise what a kernel's status means; arguments have been checked before."""
        if code != checks.OK:
            raise failure(self.model, self.block, work, code, t)


def _compiled(function: Any, signature: tuple[Any, ...]) -> Any:
    """The function, compiled for this signature alone: another argument type is an error, not a reason to compile."""
    if not function.signatures:
        with COMPILING:
            if not function.signatures:
                function.compile(signature)
                function.disable_compile()
    return function


def _finite(result: Array) -> Array:
    """The result, unless it has overflowed."""
    if not np.isfinite(result).all():
        raise StateError("the result is not finite: coordinates, speeds or forces are too large for this model")
    return result


def _cheapest(model: Model) -> str:
    """The method that should be the fastest for this tree."""
    report = lazy.module("costs").report

    return report(model).chosen
