"""What is computed from one state: the operations of the table, as methods.

Each takes any array-like; with plain float64 arrays and `out=` a call costs a microsecond beside its computation. All
of them exist for many states too (:mod:`mbkern.system_batches`), and as functions for Numba and C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import inputs
from .errors import ModelError, StateError
from .inputs import Array
from .model.checks import show
from .operations import operation_named, with_nearest
from .workspace import places
from .workspace.calls import Call

if TYPE_CHECKING:
    from .model.model import Model
    from .workspace.binding import Binding

OPTIONAL = ("tau", "wrench")
_FLOAT64 = np.dtype(np.float64)
AXES = ("world", "body", "local-world-aligned")  # in the order of their codes, see :mod:`mbkern.core.frame_motions`


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


NAMED = {"energy": Energy}  # operations whose results are not arrays


class Runs:
    """The operations of a system as functions run(t, out, inputs ...), each made when it is first asked for."""

    def __init__(self, system: Operations) -> None:
        self._system = system

    def __getattr__(self, name: str) -> Any:
        """The operation of that name, all optional inputs left out."""
        operation = operation_named(name)
        given = tuple([argument.name for argument in operation.inputs if not argument.optional])
        run = self._system._call(name, given).run
        setattr(self, name, run)  # from now on found at once
        return run


class Operations:
    """The part of `System` that computes something from one state."""

    if TYPE_CHECKING:
        model: Model
        binding: Binding
        block: Array
        _nq: int
        _nv: int

        def _with_constraint_forces(self, q: ArrayLike, p: ArrayLike, t: float, tau: ArrayLike | None,
                                    wrench: ArrayLike | None) -> tuple[Any, Any]: ...

    def _begin(self) -> None:
        self._calls: dict[Any, Call] = {}  # operations in use, by name and inputs
        self._runs = Runs(self)
        self._frame_numbers: dict[tuple[str, str], Array] = {}

    def _call(self, name: str, given: tuple[str, ...]) -> Call:
        """An operation of the table for a choice of inputs."""
        key = name, given
        try:
            return self._calls[key]
        except KeyError:
            operation = operation_named(name).made_for(self.block, given)
            size = max(self.binding.work_size, operation.work_size(self.block))
            call = Call(self, operation, given, size, NAMED.get(name))  # type: ignore[arg-type]
            return self._calls.setdefault(key, call)

    def _run_with(self, name: str, t: float, out: Any, **arguments: Any) -> Any:
        """Run an operation with optional inputs, of which some may be None."""
        given = {key: value for key, value in arguments.items() if value is not None or key not in OPTIONAL}
        return self._call(name, tuple(given)).run(t, out, *given.values())

    # ---- joint forces ----------------------------------------------------------------------------------------------

    def inverse_dynamics(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike, t: float = 0.0,
                         wrench: ArrayLike | None = None, *, out: Array | None = None) -> Array:
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
        out : (nv,), optional
            Float64 array to write into; a new one by default.

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
        if wrench is None:
            return self._runs.inverse_dynamics(t, out, q, u, udot)
        return self._run_with("inverse_dynamics", t, out, q=q, u=u, udot=udot, wrench=wrench)

    def bias(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, wrench: ArrayLike | None = None, *,
             out: Array | None = None) -> Array:
        """Joint forces of a motion without joint accelerations: `inverse_dynamics` at udot = 0.

        Centrifugal and Coriolis terms, weight, springs, dampers, prescribed motion: all but the mass matrix times udot,
        tau = H udot + bias.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        u : (nv,)
            Joint speeds.
        t : float
            Time in seconds.
        wrench : (N, 6), optional
            (force; moment) on each body, in body axes, at the body origin.
        out : (nv,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        tau : (nv,)
            N and N m.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(4)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=3)
        >>> udot = system.accelerations(q, u)
        >>> bool(np.allclose(system.mass_matrix(q) @ udot + system.bias(q, u), 0.0, atol=1e-12))
        True
        """
        if wrench is None:
            return self._runs.bias(t, out, q, u)
        return self._run_with("bias", t, out, q=q, u=u, wrench=wrench)

    def gravity_forces(self, q: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Joint forces that hold the machine against its weight: what gravity compensation has to add.

        The derivative of the potential of weight with respect to the configuration; springs are not part of it. Weight
        itself acts with the opposite sign.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        t : float
            Time in seconds; matters for driven joints only.
        out : (nv,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        tau : (nv,)
            N and N m.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0.5, 0, 0))
        >>> mb.System(builder.build()).gravity_forces([0.0]).round(6)  # weight turns it about +y
        array([-9.81])
        """
        return self._runs.gravity_forces(t, out, q)

    def reactions(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                  wrench: ArrayLike | None = None, *, out: Array | None = None) -> Array:
        """The wrench that the parent exerts on each body through its joint.

        Along the joint's dofs it is the joint force: A^T R = tau less springs and dampers. Across them it is what
        the bearing has to stand.

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `rhs`.
        out : (N, 6), optional
            Float64 array to write into; a new one by default.

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
        tau, wrench = self._with_constraint_forces(q, p, t, tau, wrench)
        return self._run_with("reactions", t, out, q=q, p=p, tau=tau, wrench=wrench)

    # ---- momenta, speeds, inertia ------------------------------------------------------------------------------------

    def momenta(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Momenta p = A^T mu of the joint speeds u, in O(N).

        Parameters
        ----------
        q : (nq,)
            Configuration.
        u : (nv,)
            Joint speeds (qdot where nq = nv; body-frame (linear, angular) for ball and free joints), m/s and rad/s.
        t : float
            Time; prescribed motion contributes to p.
        out : (nv,), optional
            Float64 array to write into; a new one by default.

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
        return self._runs.momenta(t, out, q, u)

    def velocities(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Joint speeds u of the momenta p, in O(N): the inverse of `momenta`.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,)
            Momenta.
        t : float
            Time; prescribed motion contributes to p.
        out : (nv,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        u : (nv,)
            m/s and rad/s.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.random_tree(8, seed=3)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=3)
        >>> bool(np.allclose(system.velocities(q, system.momenta(q, u)), u))
        True
        """
        return self._runs.velocities(t, out, q, p)

    def mass_matrix(self, q: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Mass matrix (nv, nv) of the joint speeds at configuration q, by composite inertias.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        t : float
            Time in seconds; matters for driven joints only.
        out : (nv, nv), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        H : (nv, nv)
            Symmetric; kinetic energy is u^T H u / 2 without driven joints.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> H = mb.System(model).mass_matrix(model.neutral())
        >>> bool(H[0, 0] == model.total_mass)  # the first coordinate lifts everything
        True
        """
        return self._runs.mass_matrix(t, out, q)

    def inverse_mass_matrix(self, q: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Inverse of the mass matrix (nv, nv), by a recursion on the O(N) factorization, O(N^2) in all.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        t : float
            Time in seconds; matters for driven joints only.
        out : (nv, nv), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        W : (nv, nv)
            Symmetric.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(4)
        >>> system = mb.System(model)
        >>> q = model.neutral()
        >>> bool(np.allclose(system.mass_matrix(q) @ system.inverse_mass_matrix(q), np.eye(4)))
        True
        """
        return self._runs.inverse_mass_matrix(t, out, q)

    def solve_mass(self, q: ArrayLike, x: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Mass^-1 x in O(N); x of shape (nv,), or (nv, k) for k right-hand sides with one factorization.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        x : (nv,) or (nv, k)
            Right-hand sides: forces, momenta.
        t : float
            Time in seconds; matters for driven joints only.
        out : array of the shape of x, optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        y : array of the shape of x

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
        if _is_vector(x, self._nv) and (out is None or _is_vector(out, self._nv)):
            answer: Array = np.empty(self._nv) if out is None else out
            try:
                self._runs.solve_mass(t, answer[None], q, np.asarray(x)[None])
            except StateError:
                inputs.vector(x, "x", self.model.speed_names)  # says which number of x, if it is x
                raise
            return answer
        given = inputs.columns(x, "x", self._nv)
        if out is not None:
            answer, = inputs.results(out, ["y"], [given.shape])
            answer[...] = self.solve_mass(q, given, t)
            return answer
        if given.ndim == 1:
            return self._runs.solve_mass(t, None, q, given[None, :])[0]
        return self._runs.solve_mass(t, None, q, np.ascontiguousarray(given.T)).T

    # ---- energy, momentum, centre of mass ----------------------------------------------------------------------------

    def energy(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Energy:
        """Kinetic and potential energy and the Hamiltonian, in joules.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,)
            Momenta.
        t : float
            Time; prescribed motion contributes to p.
        out : (3,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        Energy
            (kinetic, potential, hamiltonian).

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> system = mb.System(model)
        >>> energy = system.energy(model.neutral(), [0.0] * 6)
        >>> energy.kinetic, energy.hamiltonian == energy.potential
        (0.0, True)
        """
        return self._runs.energy(t, out, q, p)

    def center_of_mass(self, q: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Centre of mass of all bodies, in the world.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        t : float
            Time in seconds; matters for driven joints only.
        out : (3,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        r : (3,)
            In metres.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0.5, 0, 0))
        >>> mb.System(builder.build()).center_of_mass([0.0])
        array([0.5, 0. , 0. ])
        """
        if not self.model.total_mass > 0.0:
            raise StateError("center_of_mass: the machine has no mass")
        return self._runs.center_of_mass(t, out, q)

    def total_momentum(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Momentum of the whole machine: linear, and angular about its centre of mass, in world axes.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,)
            Momenta.
        t : float
            Time in seconds; matters for driven joints only.
        out : (6,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        h : (6,)
            (linear; angular), kg m/s and kg m^2/s.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("stone", joint=mb.free(), mass=2.0, inertia=(1, 1, 1))
        >>> model = builder.build()
        >>> mb.System(model).total_momentum(model.neutral(), [6.0, 0, 0, 0, 0, 0.5])
        array([6. , 0. , 0. , 0. , 0. , 0.5])
        """
        if not self.model.total_mass > 0.0:
            raise StateError("total_momentum: the machine has no mass, hence no centre of mass")
        return self._runs.total_momentum(t, out, q, p)

    def total_momentum_matrix(self, q: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """The matrix A of the momentum of the whole machine: h = A u (the centroidal momentum matrix).

        Parameters
        ----------
        q : (nq,)
            Configuration.
        t : float
            Time in seconds; matters for driven joints only.
        out : (6, nv), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        A : (6, nv)
            Rows (linear; angular about the centre of mass), in world axes. Driven joints add to h what is not in A u.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=1)
        >>> bool(np.allclose(system.total_momentum_matrix(q) @ u, system.total_momentum(q, system.momenta(q, u))))
        True
        """
        if not self.model.total_mass > 0.0:
            raise StateError("total_momentum_matrix: the machine has no mass, hence no centre of mass")
        return self._runs.total_momentum_matrix(t, out, q)

    # ---- bodies ------------------------------------------------------------------------------------------------------

    def body_poses(self, q: ArrayLike, t: float = 0.0, *, out: tuple[Array, Array] | None = None
                   ) -> tuple[Array, Array]:
        """Where the bodies are.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        t : float
            Time in seconds; matters for driven joints only.
        out : (R, r), optional
            Float64 arrays to write into; new ones by default.

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
        return self._runs.body_poses(t, out, q)

    def body_velocities(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Velocities (N, 6) of the bodies: (linear; angular) of the body origin, in body axes.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,)
            Momenta.
        t : float
            Time; prescribed motion contributes to p.
        out : (N, 6), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        v : (N, 6)
            m/s and rad/s.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> mb.System(model).body_velocities(model.neutral(), [0.0, 0.0, 0.0]).shape
        (3, 6)
        """
        return self._runs.body_velocities(t, out, q, p)

    def body_accelerations(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                           wrench: ArrayLike | None = None, *, out: Array | None = None) -> Array:
        """Accelerations (N, 6) of the bodies: (linear; angular) of the body origin, in body axes.

        What an accelerometer at the origin would show, less g: the time derivative of the origin's velocity, taken in
        the world and written in the axes of the body.

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `rhs`.
        out : (N, 6), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        a : (N, 6)
            m/s^2 and rad/s^2.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("stone", joint=mb.free(), mass=2.0, inertia=(1, 1, 1))
        >>> model = builder.build()
        >>> mb.System(model).body_accelerations(model.neutral(), [0.0] * 6)
        array([[ 0.  ,  0.  , -9.81,  0.  ,  0.  ,  0.  ]])
        """
        tau, wrench = self._with_constraint_forces(q, p, t, tau, wrench)
        return self._run_with("body_accelerations", t, out, q=q, p=p, tau=tau, wrench=wrench)

    def body_momenta(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Accumulated momenta mu (N, 6): of each body and all bodies beyond it, in its axes, at its origin.

        A^T mu of a body's joint is its part of p.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,)
            Momenta.
        t : float
            Time; prescribed motion contributes to p.
        out : (N, 6), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        mu : (N, 6)
            kg m/s and kg m^2/s.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> mb.System(model).body_momenta(model.neutral(), [0.0, 0.0, 0.0]).shape
        (3, 6)
        """
        return self._runs.body_momenta(t, out, q, p)

    # ---- frames ------------------------------------------------------------------------------------------------------

    def frame_numbers(self, frame: str, axes: str = "body") -> Array:
        """A frame as numbers, as compiled code takes it (`njit("jacobian")` and the like).

        Parameters
        ----------
        frame : str
            Name of a frame of the model, of a body, or "world".
        axes : str
            As in `jacobian`.

        Returns
        -------
        array (14,)
            Yours.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.System(mb.zoo.chain(3)).frame_numbers("body2").shape
        (14,)
        """
        return self._frame(frame, axes).copy()

    def _frame(self, frame: str, axes: str = "body") -> Array:
        """The same, kept for the next call."""
        try:
            return self._frame_numbers[frame, axes]
        except (KeyError, TypeError):
            return self._frame_numbers.setdefault((frame, axes), numbers_of_frame(self.model, self.block, frame, axes))

    def frame_pose(self, q: ArrayLike, frame: str, t: float = 0.0, *, out: tuple[Array, Array] | None = None
                   ) -> tuple[Array, Array]:
        """Where a frame is.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        frame : str
            Name of a frame of the model, of a body, or "world".
        t : float
            Time in seconds; matters for driven joints only.
        out : (R, r), optional
            Float64 arrays to write into; new ones by default.

        Returns
        -------
        R : (3, 3)
            Rotation frame -> world (columns are its axes in the world).
        r : (3,)
            Its origin in the world, in metres.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("arm", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0))
        >>> _ = builder.add_frame("tool", "arm", position=(1.0, 0, 0))
        >>> system = mb.System(builder.build())
        >>> R, r = system.frame_pose([0.0], "tool")
        >>> r
        array([1., 0., 0.])
        """
        return self._runs.frame_pose(t, out, q, self._frame(frame))

    def frame_velocity(self, q: ArrayLike, p: ArrayLike, frame: str, t: float = 0.0, *, axes: str = "body",
                       out: Array | None = None) -> Array:
        """Velocity of a frame, (linear; angular).

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,)
            Momenta.
        frame : str
            Name of a frame of the model, of a body, or "world".
        t : float
            Time in seconds; matters for driven joints only.
        out : (6,), optional
            Float64 array to write into; a new one by default.
        axes : "world", "body" or "local-world-aligned"
            Of the six numbers: world axes and the point of the frame's moving space that passes the world's origin; the
            frame's own axes and origin; its own origin in axes parallel to the world's.

        Returns
        -------
        v : (6,)
            m/s and rad/s.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("arm", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0))
        >>> _ = builder.add_frame("tool", "arm", position=(1.0, 0, 0))
        >>> system = mb.System(builder.build())
        >>> system.frame_velocity([0.0], [0.5], "tool")
        array([0., 2., 0., 0., 0., 2.])
        """
        return self._runs.frame_velocity(t, out, q, p, self._frame(frame, axes))

    def frame_acceleration(self, q: ArrayLike, p: ArrayLike, frame: str, t: float = 0.0,
                           tau: ArrayLike | None = None, wrench: ArrayLike | None = None, *, axes: str = "body",
                           out: Array | None = None) -> Array:
        """Acceleration of a frame: time derivative of `frame_velocity`, number by number.

        With "local-world-aligned" axes the first three are the acceleration of the origin in the world.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,)
            Momenta.
        frame : str
            Name of a frame of the model, of a body, or "world".
        t : float
            Time in seconds; matters for driven joints only.
        out : (6,), optional
            Float64 array to write into; a new one by default.
        tau, wrench
            As in `rhs`.
        axes : "world", "body" or "local-world-aligned"
            Of the six numbers: world axes and the point of the frame's moving space that passes the world's origin; the
            frame's own axes and origin; its own origin in axes parallel to the world's.

        Returns
        -------
        a : (6,)
            m/s^2 and rad/s^2.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("arm", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0))
        >>> _ = builder.add_frame("tool", "arm", position=(1.0, 0, 0))
        >>> system = mb.System(builder.build())
        >>> system.frame_acceleration([0.0], [0.5], "tool", axes="local-world-aligned").round(6) + 0.0
        array([-4.,  0.,  0.,  0.,  0.,  0.])
        """
        return self.acceleration_of_numbered(q, p, self._frame(frame, axes), t, tau, wrench, out=out)

    def acceleration_of_numbered(self, q: ArrayLike, p: ArrayLike, numbers: Array, t: float = 0.0,
                                 tau: ArrayLike | None = None, wrench: ArrayLike | None = None, *,
                                 out: Array | None = None) -> Array:
        """`frame_acceleration` of a frame that is given by its numbers, see `frame_numbers`.

        Examples
        --------
        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.chain(2))
        >>> system.acceleration_of_numbered([0.0, 0.0], [0.0, 0.0], system.frame_numbers("body1")).shape
        (6,)
        """
        tau, wrench = self._with_constraint_forces(q, p, t, tau, wrench)
        result: Array = self._run_with("frame_acceleration", t, out, q=q, p=p, tau=tau, wrench=wrench, frame=numbers)
        return result

    def jacobian(self, q: ArrayLike, frame: str, t: float = 0.0, *, axes: str = "world", out: Array | None = None
                 ) -> Array:
        """Jacobian J (6, nv) of a frame: its velocity is J u, (linear; angular), plus what driven joints add.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        frame : str
            Name of a frame of the model, of a body, or "world".
        t : float
            Time in seconds; matters for driven joints only.
        out : (6, nv), optional
            Float64 array to write into; a new one by default.
        axes : "world", "body" or "local-world-aligned"
            Of the six numbers: world axes and the point of the frame's moving space that passes the world's origin; the
            frame's own axes and origin; its own origin in axes parallel to the world's.

        Returns
        -------
        J : (6, nv)

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("arm", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0))
        >>> _ = builder.add_frame("tool", "arm", position=(1.0, 0, 0))
        >>> system = mb.System(builder.build())
        >>> system.jacobian([0.0], "tool", axes="local-world-aligned").T
        array([[0., 1., 0., 0., 0., 1.]])
        """
        try:  # as `_frame` does, without the call: a tenth of the time for seven bodies
            numbers = self._frame_numbers[frame, axes]
        except (KeyError, TypeError):
            numbers = self._frame(frame, axes)
        return self._runs.jacobian(t, out, q, numbers)

    def jacobian_dot_u(self, q: ArrayLike, u: ArrayLike, frame: str, t: float = 0.0, *, axes: str = "world",
                       out: Array | None = None) -> Array:
        """dJ/dt u: the acceleration of a frame when no joint accelerates, driven motion included.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        u : (nv,)
            Joint speeds.
        frame : str
            Name of a frame of the model, of a body, or "world".
        t : float
            Time in seconds; matters for driven joints only.
        out : (6,), optional
            Float64 array to write into; a new one by default.
        axes : "world", "body" or "local-world-aligned"
            Of the six numbers: world axes and the point of the frame's moving space that passes the world's origin; the
            frame's own axes and origin; its own origin in axes parallel to the world's.

        Returns
        -------
        a : (6,)
            m/s^2 and rad/s^2.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("arm", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0))
        >>> _ = builder.add_frame("tool", "arm", position=(1.0, 0, 0))
        >>> system = mb.System(builder.build())
        >>> system.jacobian_dot_u([0.0], [2.0], "tool", axes="local-world-aligned").round(6) + 0.0
        array([-4.,  0.,  0.,  0.,  0.,  0.])
        """
        return self._runs.jacobian_dot_u(t, out, q, u, self._frame(frame, axes))

    def wrench_at(self, frame: str, force: ArrayLike = (0.0, 0.0, 0.0), moment: ArrayLike = (0.0, 0.0, 0.0), *,
                  axes: str = "body", q: ArrayLike | None = None, t: float = 0.0) -> Array:
        """The `wrench` argument of `rhs` and others for a force and a moment at a frame.

        Parameters
        ----------
        frame : str
            Name of a frame of the model or of a body.
        force, moment : (3,)
            What acts on the body there, in N and N m; the force at the origin of the frame.
        axes : "body" or "local-world-aligned"
            Axes of force and moment: the frame's own, or parallel to the world's. "world": such axes too, but the force
            acts at the world's origin.
        q : (nq,), optional
            Configuration; needed for all but "body".
        t : float
            Time in seconds; matters for driven joints only.

        Returns
        -------
        wrench : (N, 6)
            (force; moment) on each body, in body axes, at the body origin. Add several of them.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("arm", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0))
        >>> _ = builder.add_frame("tool", "arm", position=(1.0, 0, 0))
        >>> system = mb.System(builder.build())
        >>> system.wrench_at("tool", force=(0, 3, 0))
        array([[0., 3., 0., 0., 0., 3.]])
        >>> qdot, pdot = system.rhs([0.0], [0.0], wrench=system.wrench_at("tool", force=(0, 3, 0)))
        >>> pdot
        array([3.])
        """
        body, R, r = _place_of(self.model, frame)
        if body < 0:
            raise ModelError(f"frame: {frame!r} stands on the world, where a wrench moves nothing")
        f, m = (inputs.real_array(value, what, (3,), "three real numbers") for value, what in (
            (force, "force"), (moment, "moment")))
        if _axes_code(axes) != AXES.index("body"):
            if q is None:
                raise StateError(f"q: expected the configuration, because axes {axes!r} are not those of the frame")
            turn, origin = self.frame_pose(q, frame, t)
            m = m - np.cross(origin, f) if axes == "world" else m
            f, m = turn.T @ f, turn.T @ m
        wrench = np.zeros((self.model.n_bodies, 6))
        wrench[body, :3] = R @ f
        wrench[body, 3:] = R @ m + np.cross(r, wrench[body, :3])
        return wrench


def _is_vector(x: Any, n: int) -> bool:
    """Whether x is an array of n numbers as compiled code takes it."""
    return type(x) is np.ndarray and x.shape == (n,) and x.dtype == _FLOAT64 and x.flags.carray


def _axes_code(axes: Any) -> int:
    if not isinstance(axes, str) or axes not in AXES:
        raise StateError(f"axes: expected one of {', '.join(AXES)}, got {show(axes)}{with_nearest(axes, AXES)}")
    return AXES.index(axes)


def _place_of(model: Model, frame: Any) -> tuple[int, Array, Array]:
    """Body (-1: the world), rotation frame -> body and origin of a frame of that name, or of a body."""
    if isinstance(frame, str):
        if frame in model.frames:
            place = model.frames[frame]
            return place.body, np.array(place.rotation), np.array(place.position)
        if frame == "world" or frame in model.body_names:
            return (-1 if frame == "world" else model.body_index(frame)), np.eye(3), np.zeros(3)
    names = [*model.frames, *model.body_names, "world"]
    raise ModelError(f"frame: expected the name of a frame or a body, got {show(frame)}{with_nearest(frame, names)}")


def numbers_of_frame(model: Model, block: Array, frame: Any, axes: Any) -> Array:
    """Node, axes and origin of a frame in the node's frame, and how its six numbers are to be seen."""
    code = _axes_code(axes)
    body, R, r = _place_of(model, frame)
    node, G, rho = (-1.0, np.eye(3), np.zeros(3)) if body < 0 else places.body_place(block, body)
    numbers = np.concatenate(([node], (R.T @ G).ravel(), rho + G.T @ r, [code]))
    return numbers
