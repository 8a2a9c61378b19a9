"""What happened: states over time, how the run ended, energies, pictures."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import lazy
from ..errors import IntegrationError, MbkernError, StateError
from ..inputs import Array
from ..lazy import cached_property
from ..methods import METHODS
from ..model.arrays import numbers
from ..states import momenta_of_rows
from .driver import shown
from .events import EventRecord
from .kernels.dense import evaluate_dense
from .kernels.energies import energies
from .limits import summary, violations
from .problem import problem_of
from .work import Loads, Work, driven, work_along

if TYPE_CHECKING:
    from ..model.model import Model
    from ..system import System

SAMPLES = 200  # states that the drift of momenta is taken from


def interpolated(dense: DenseOutput | None, t: ArrayLike, begin: float, end: float,
                 first: Array) -> tuple[Array, Array]:
    """The times asked for, and the states at them as rows; `first` is the state of a run without a step."""
    if dense is None:
        raise IntegrationError("sol(t): the run kept no dense output; call simulate(..., dense=True)")
    times = numbers(t, "sol(t)", "a time or a list of times")
    if times.ndim > 1:
        raise StateError(f"sol(t): expected a time or a list of times, got shape {times.shape}")
    flat = np.atleast_1d(times)
    low, high = min(begin, end), max(begin, end)
    if not ((flat >= low) & (flat <= high)).all():
        raise StateError(f"sol(t): expected times between {low:g} and {high:g}, where the run was")
    plan, starts, ends, rows = dense
    out = np.empty((flat.size, first.size))
    if starts.size:
        evaluate_dense(plan, starts, ends, rows.reshape(-1), flat, out.reshape(-1))
    else:
        out[:] = first
    return times, out


class Energies(NamedTuple):
    """Energies over time, in joules; see `mbkern.system.Energy`.

    Attributes
    ----------
    kinetic, potential, hamiltonian : (m,)
    """

    kinetic: Array
    potential: Array
    hamiltonian: Array


class Momentum(NamedTuple):
    """Momenta of the whole machine over time, in world axes.

    Attributes
    ----------
    linear : (m, 3)
        In kg m/s.
    angular : (m, 3)
        About the world's origin, in kg m^2/s.
    """

    linear: Array
    angular: Array


class DenseOutput(NamedTuple):
    """Polynomials of all steps, as the kernels wrote them."""

    plan: NDArray[np.int64]
    starts: Array
    ends: Array
    rows: Array


def energies_and_speeds(system: System, block: Array, t: Array, q: Array, p: Array) -> tuple[Energies, Array]:
    """Energies and joint speeds of many states, one a row; `block` is the system's, or that of a varied machine."""
    m, nq, nv = t.size, q.shape[1], p.shape[1]
    out, speeds = np.empty((m, 3)), np.empty((m, nv))
    rhs = METHODS["emh-ldl"].native_for(block).address
    energies(rhs, block, t, q, p, np.empty(nq), np.empty(nv), out, speeds, system.work())
    return Energies(*(np.ascontiguousarray(column) for column in out.T)), speeds


class Solution:
    """A trajectory and how it came about.

    Attributes
    ----------
    t : (m,)
        Times in seconds, in the order of the run.
    q : (m, nq)
        Configurations; quaternions have length one.
    p, u : (m, nv)
        Momenta and joint speeds: `variable` says which of them the run has integrated, the other one follows from it.
    variable : str
        "p" or "u", see `System.variable`.
    success : bool
        Whether the run reached the end of t_span or a terminal event.
    status : str
        "finished", "event", "interrupted" or "failed".
    message : str
        The same as a sentence, with time, body and reason of a failure.
    cause : Exception or None
        What a function of yours (tau, wrench, event, drive) raised, when that ended the run.
    nfev : int or None
        Evaluations of the right-hand side; None for a state of a batch, where nobody counts them.
    n_accepted, n_rejected : int
        Steps.
    events : list of EventRecord
        Crossings (t, q, p) of each event function.
    integrator : str
    system : System
    dense, loaded : bool
        Whether `sol` has the dense output of all steps; whether forces (tau, wrench) acted.

    Examples
    --------
    >>> import mbkern as mb
    >>> model = mb.zoo.chain(3)
    >>> solution = mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1), t_eval=[0.0, 0.5, 1.0])
    >>> solution.q.shape, solution.success
    ((3, 3), True)
    >>> solution
    Solution by 'dopri5': finished, t = 0 .. 1 s, 3 states
      ... steps (... rejected), ... evaluations of the right-hand side
      energy drift ... J, ... of the largest kinetic energy
    """

    def __init__(self, system: System, integrator: str, t: Array, y: Array, status: str, message: str, counts: Any,
                 events: list[EventRecord], dense: DenseOutput | None, loads: Loads, t_end: float,
                 cause: BaseException | None = None, tangent: Array | None = None) -> None:
        nq = system.model.nq
        self.system = system
        self.integrator = integrator
        self.t = t
        self.q: Array = y[:, :nq].copy()  # y may be memory of a run
        self._x: Array = y[:, nq:].copy()  # p or u
        self.success = status in ("finished", "event")
        self.status = status
        self.message = message
        self.cause = cause
        self.nfev, self.n_accepted, self.n_rejected = counts
        self.events = events
        self._dense = dense
        self._loads = loads
        self._t_end = t_end  # how far the run came; the last output may be earlier
        self._tangent = tangent

    @property
    def dense(self) -> bool:
        """Whether the dense output of all steps was kept, for `sol`."""
        return self._dense is not None

    @property
    def loaded(self) -> bool:
        """Whether joint forces or wrenches acted, beside the model's own."""
        return bool(self._loads.act)

    # ---- between the steps ---------------------------------------------------------------------------------------

    def sol(self, t: ArrayLike) -> tuple[Array, Array]:
        """The state at any time of the run, from the dense output.

        Parameters
        ----------
        t : float or (k,)
            Times within the run, in any order. Order of the interpolation: 4 for "dopri5", 3 (cubic Hermite) for the
            others.

        Returns
        -------
        q : (nq,) or (k, nq)
        p : (nv,) or (k, nv)
            Or u, whichever `variable` says.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> solution = mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1), dense=True)
        >>> q, p = solution.sol(0.123)
        >>> q.shape
        (3,)
        """
        begin, first = self._beginning()
        times, out = interpolated(self._dense, t, begin, self._t_end, first)
        if self.system.model.constraints:
            out = shown(problem_of(self.system), np.atleast_1d(times), np.ascontiguousarray(out))
        q, p = out[:, :self.q.shape[1]].copy(), out[:, self.q.shape[1]:].copy()
        return (q[0], p[0]) if times.ndim == 0 else (q, p)

    @property
    def constraint_drift(self) -> Array:
        """How far the constraints are from being satisfied at each time: (m, rows), 0 for a model without any.

        In the order and units of `System.constraint_residuals`: rows of positions; velocities satisfy the constraints
        to rounding. With `project` (the default of `System.simulate`) it is what the projection leaves.

        Examples
        --------
        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.four_bar())
        >>> q0 = system.assemble([0.3, 0.0, 0.0])
        >>> solution = system.simulate(q0, [0.0, 0.0, 0.0], (0.0, 1.0))
        >>> bool(abs(solution.constraint_drift).max() < 1e-12)
        True
        """
        if not self.system.model.constraints:
            return np.zeros((self.t.size, 0))
        residuals = [self.system.constraint_residuals(q, float(t)) for t, q in zip(self.t, self.q, strict=True)]
        return np.array(residuals).reshape(self.t.size, self.system.model.n_rows)

    def _beginning(self) -> tuple[float, Array]:
        """Time and state at the beginning of the run."""
        nq, dense = self.q.shape[1], self._dense
        if dense is not None and dense.starts.size:
            return float(dense.starts[0]), dense.rows[0, :nq + self._x.shape[1]]
        if self.t.size == 0:
            raise IntegrationError(f"sol(t): the run has no states: {self.message}")
        return float(self.t[0]), np.concatenate((self.q[0], self._x[0]))

    def resample(self, t: ArrayLike) -> Solution:
        """The same run at other times.

        Parameters
        ----------
        t : (k,)
            Times within the run, rising or falling as it went.

        Returns
        -------
        Solution
            From the dense output where the run kept one (``simulate(..., dense=True)``), as accurate as `sol`. Else
            by cubic interpolation between the outputs, with the slopes that the equations give (or, where the forces
            are not known, those of a spline): its error shrinks with the fourth power of the distance of the outputs,
            and `drift` shows it.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> solution = mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1), dense=True)
        >>> solution.resample(np.linspace(0.0, 1.0, 101)).q.shape
        (101, 3)
        """
        resampled = lazy.module("integrate.resample").states

        times, y = resampled(self, t)
        return Solution(self.system, self.integrator, times, y, self.status, self.message,
                        (self.nfev, self.n_accepted, self.n_rejected), self.events, self._dense, self._loads,
                        self._t_end, self.cause)

    # ---- what follows from the states ------------------------------------------------------------------------------

    @property
    def variable(self) -> str:
        """What the run has integrated beside q: momenta "p" or joint speeds "u".

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> solution = mb.System(model, "lagrange-2").simulate(model.neutral(), [0, 0, 0], (0, 1), t_eval=[0.0, 1.0])
        >>> solution.variable, solution.u.shape, solution.p.shape
        ('u', (2, 3), (2, 3))
        """
        return self.system.variable

    @property
    def y(self) -> Array:
        """The states (m, nq + nv) as they were integrated: (q, p) or (q, u), see `variable`."""
        return np.hstack((self.q, self._x))

    @cached_property
    def p(self) -> Array:
        """Momenta (m, nv) at the times of the output, conjugate to u; kg m/s and kg m^2/s.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1), t_eval=[0.0, 1.0]).p.shape
        (2, 3)
        """
        return momenta_of_rows(self.system, self.q, self._x, self.t)

    @cached_property
    def u(self) -> Array:
        """Joint speeds (m, nv) at the times of the output: qdot where nq = nv, body-frame (linear, angular) for ball
        and free joints; m/s and rad/s.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1), t_eval=[0.0, 1.0]).u.shape
        (2, 3)
        """
        return self._x if self.variable == "u" else self._energies_and_speeds[1]

    @property
    def tangent(self) -> Array:
        """How the states follow what they began with: (m, 2 nv, k) at the times of the output, of a run with `tangent`.

        With ``tangent=True`` these are state-transition matrices Phi: a small change (d, dp) of the first state becomes
        Phi (d, dp). Quaternions, and positions of free joints, change along their tangents, see
        `mbkern.derivatives.Jacobian`. They are the exact derivatives of the steps that the run has taken, the sizes of
        the steps kept as they are. With constraints they solve the variational equation along the run instead, and
        are meant for changes that satisfy the constraints.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(2)
        >>> run = mb.System(model).simulate([0.1, 0.2], [0, 0], (0, 1), "gauss4", step=0.01, tangent=True)
        >>> Phi = run.tangent[-1]
        >>> Phi.shape, bool(abs(np.linalg.det(Phi) - 1.0) < 1e-12)
        ((4, 4), True)
        """
        if self._tangent is None:
            raise IntegrationError("tangent: the run carried no tangents along; call simulate(..., tangent=True)")
        return self._tangent

    def symplectic_error(self) -> float:
        """Largest number of Phi^T J Phi - J over the times of the output, J = [[0, 1], [-1, 0]], of a run with
        ``tangent=True``: rounding for the Gauss methods, their errors for the others.

        For conservative machines whose joints are all made of rotations and translations: dampers, and forces that are
        functions of the state, do not conserve phase space, and for the quaternions of ball and free joints the
        invariant form is another one.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(2)
        >>> run = mb.System(model).simulate([0.1, 0.2], [0, 0], (0, 1), "gauss4", step=0.01, tangent=True)
        >>> bool(run.symplectic_error() < 1e-12)
        True
        """
        error: float = lazy.module("integrate.tangents").symplectic_error(self)
        return error

    def body_poses(self) -> tuple[Array, Array]:
        """Where the bodies are at the times of the output.

        Returns
        -------
        R : (m, N, 3, 3)
            Rotations body -> world.
        r : (m, N, 3)
            Positions of the body origins in the world, in metres.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> R, r = mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1), t_eval=[0.0, 1.0]).body_poses()
        >>> R.shape, r.shape
        ((2, 3, 3, 3), (2, 3, 3))
        """
        n, count = self.t.size, self.system.model.n_bodies
        R, r = np.empty((n, count, 3, 3)), np.empty((n, count, 3))
        for k in range(n):
            R[k], r[k] = self.system.body_poses(self.q[k], float(self.t[k]))
        return R, r

    def momentum(self) -> Momentum:
        """Linear and angular momentum of the whole machine at the times of the output, in world axes.

        Those of rotors (armature) are not in it: they belong to no body.

        Examples
        --------
        A body that falls:

        >>> import mbkern as mb
        >>> model = mb.zoo.chain(1, joint=mb.free())
        >>> solution = mb.System(model).simulate(model.neutral(), [0.0] * 6, (0, 2), t_eval=[0.0, 1.0, 2.0])
        >>> (solution.momentum().linear / model.total_mass).round(6)[:, 2] + 0.0
        array([  0.  ,  -9.81, -19.62])
        """
        total = self._momenta(range(self.t.size))
        return Momentum(np.ascontiguousarray(total[:, :3]), np.ascontiguousarray(total[:, 3:]))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing about the run: where it left `model.limits`, which nothing enforces by itself (see
        `mbkern.forces.soft_limits`).

        Examples
        --------
        >>> import mbkern as mb
        >>> b = mb.ModelBuilder()
        >>> _ = b.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(1, 0, 0), limits=(-1.5, 1.5))
        >>> mb.System(b.build()).simulate([0.0], [0.0], (0, 1), t_eval=[0.0, 0.5, 1.0]).notes
        ("coordinate 'arm' left its limits -1.5 .. 1.5 at t = 1 s, by at most 1.26",)
        """
        return tuple(violations(self.system.model, self.t, self.q, self.u))


    # ---- invariants ----------------------------------------------------------------------------------------------

    def energy(self) -> Energies:
        """Kinetic and potential energy and the Hamiltonian at the times of the output.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> solution = mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1))
        >>> H = solution.energy().hamiltonian
        >>> bool(abs(H - H[0]).max() < 1e-6)
        True
        """
        return self._energies_and_speeds[0]

    @cached_property
    def _energies_and_speeds(self) -> tuple[Energies, Array]:
        block = self.system.njit()[1]  # writeable, as everywhere: another type would compile all kernels again
        return energies_and_speeds(self.system, block, self.t, self.q, self.p)

    def work(self) -> Work:
        """What changed the Hamiltonian between the first output and each of them, in joules.

        The power of tau and wrenches, of dampers and of drives is integrated anew: from every output Dormand-Prince
        steps of order 5, about as long as those of the run, lead to the next one. So the functions of the run are
        called again, and `error` says how far the integrals can be trusted: 1e-8 of the work and better where forces
        are smooth, worse where they jump (friction, switches).

        Returns
        -------
        Work
            `.loads`, `.dampers`, `.drives`, `.total` (m,), and `.error`.

        Examples
        --------
        A motor of 2 N m lifts a weight; what it does is in the energy:

        >>> import mbkern as mb
        >>> b = mb.ModelBuilder()
        >>> _ = b.add_body("arm", joint=mb.revolute("y"), mass=0.1, com=(1, 0, 0), damping=0.1)
        >>> run = mb.System(b.build()).simulate([0.0], [0.0], (0, 1), tau=[2.0])
        >>> work, H = run.work(), run.energy().hamiltonian
        >>> bool(abs(H - H[0] - work.total).max() < 1e-6)
        True
        """
        return self._work

    @cached_property
    def _work(self) -> Work:
        return work_along(self)

    def drift(self) -> dict[str, float]:
        """Largest change of each quantity that the equations conserve, over the times of the output.

        Returns
        -------
        dict
            "energy" in J: of H, less the work of tau, wrenches, dampers and drives where there are any (`work`). Then
            "quadrature" says by how much the integral of that work may be off: a drift below it says nothing. Neither
            is there when the forces are not known (a file that does not have their work, a state of a batch with a
            force function).
            "linear momentum" in kg m/s and "angular momentum" in kg m^2/s (about the world's origin) without forces
            and gravity, when nothing but free joints without armature and dampers carries the tree.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> list(mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1)).drift())
        ['energy']
        >>> list(mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1), tau=[1, 0, 0]).drift())
        ['energy', 'quadrature']
        """
        drift: dict[str, float] = {}
        if self.t.size == 0:
            return drift
        H = self.energy().hamiltonian
        if self._closed:
            drift["energy"] = float(np.abs(H - H[0]).max())
        else:
            try:
                work = self.work()
            except MbkernError:  # nobody knows
                return drift
            drift["energy"] = float(np.abs(H - H[0] - work.total).max())
            drift["quadrature"] = work.error
        model = self.system.model
        roots = [body for body in model.body_specs if body.parent < 0]
        floating = not self._loads.act and not driven(self) and not np.any(model.gravity) and all(
            len(body.joint.elements) == 1 and body.joint.elements[0].nv == 6
            and not any(body.damping) and body.armature is None for body in roots)
        if floating:
            chosen = np.unique(np.linspace(0, self.t.size - 1, SAMPLES).astype(int))
            totals = self._momenta(chosen)
            change = np.abs(totals - totals[0]).max(axis=0)
            drift["linear momentum"] = float(change[:3].max())
            drift["angular momentum"] = float(change[3:].max())
        return drift

    @property
    def _closed(self) -> bool:
        """Whether nothing changes the energy."""
        return not (self._loads.act or self.system.model.damping.any() or driven(self))

    def _momenta(self, rows: Sequence[int] | range | NDArray[np.int64]) -> Array:
        """Linear momentum and angular momentum about the world's origin, in world axes, of some of the states."""
        roots = np.flatnonzero(self.system.model.parents < 0)
        total = np.zeros((len(rows), 6))
        for row, k in zip(total, rows, strict=True):
            t, q, p = float(self.t[k]), self.q[k], self.p[k]
            mu = self.system.body_momenta(q, p, t)
            R, r = self.system.body_poses(q, t)
            for i in roots:
                linear = R[i] @ mu[i, :3]
                row[:3] += linear
                row[3:] += R[i] @ mu[i, 3:] + np.cross(r[i], linear)
        return total

    # ---- for people ----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        span = f"t = {self.t[0]:g} .. {self.t[-1]:g} s" if self.t.size else "no output"
        evaluations = "" if self.nfev is None else f", {self.nfev} evaluations of the right-hand side"
        lines = [f"Solution by {self.integrator!r}: {self.status}, {span}, {self.t.size} states",
                 f"  {self.n_accepted} steps ({self.n_rejected} rejected){evaluations}"]
        if not self.success:
            lines.append(f"  {self.message}")
        parts = []
        drift = self.drift() if self._closed else {}  # to integrate the work of forces may take long
        if "energy" in drift:
            scale = float(self.energy().kinetic.max()) or abs(float(self.energy().hamiltonian[0]))
            relative = f", {drift['energy'] / scale:.2g} of the largest kinetic energy" if scale else ""
            parts.append(f"energy drift {drift['energy']:.2g} J{relative}")
        if "linear momentum" in drift:
            parts.append(f"momentum drift {drift['linear momentum']:.2g} kg m/s, "
                         f"{drift['angular momentum']:.2g} kg m^2/s")
        if parts:
            lines.append("  " + "; ".join(parts))
        lines += [f"  {line}" for line in summary(self.notes)]
        return "\n".join(lines)

    # ---- files and tables ------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run to a NumPy archive (.npz), which `Solution.load` reads back.

        The file appears when it is complete, or not at all. It holds everything but the functions of the run (tau,
        wrench, events) and `cause`: of forces it has what they did (`work`). All of `to_dict` is in it by name, for
        programs that know no mbkern.

        Parameters
        ----------
        path : path

        Examples
        --------
        >>> import mbkern as mb, pathlib, tempfile
        >>> model = mb.zoo.chain(3)
        >>> solution = mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     solution.save(pathlib.Path(folder) / "run.npz")
        ...     again = mb.Solution.load(pathlib.Path(folder) / "run.npz")
        >>> bool((again.q == solution.q).all()), again.system.model == model
        (True, True)
        """
        lazy.module("integrate.archive").save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], model: Model | None = None) -> Solution:
        """The run that `save` wrote.

        Parameters
        ----------
        path : path
        model : Model, optional
            The machine, instead of the one in the file; needed when it has a ``drive(f)``, which no file can hold.

        Examples
        --------
        See `save`.
        """
        System = lazy.module("system").System

        data = lazy.module("integrate.archive").load(path, model)
        dense = data["dense"]
        solution = cls(System(data["model"], data["method"]), data["integrator"], data["t"], data["y"], data["status"],
                       data["message"], data["counts"], data["events"],
                       None if dense is None else DenseOutput(*dense), data["loads"], data["t_end"],
                       tangent=data["tangent"])
        if data["work"] is not None:
            solution.__dict__["_work"] = data["work"]
        return solution

    def to_frame(self) -> Any:
        """A pandas DataFrame: one row an output, t as its index; needs pandas.

        Columns are "q:name" of every coordinate, "u:name" and "p:name" of every dof, and the energies "kinetic",
        "potential", "hamiltonian".

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> solution = mb.System(model).simulate(model.neutral(), [0.0] * 6, (0, 1))
        >>> table = solution.to_frame()  # doctest: +SKIP
        >>> table["q:theta"].plot()  # doctest: +SKIP
        """
        return lazy.module("integrate.tables").to_frame(self)

    def to_xarray(self) -> Any:
        """An xarray Dataset: q (t, coordinate), u and p (t, speed), energies (t), with names, units and how the run
        ended; needs xarray.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> solution = mb.System(model).simulate(model.neutral(), [0.0] * 6, (0, 1))
        >>> solution.to_xarray().q.sel(coordinate="theta")  # doctest: +SKIP
        """
        return lazy.module("integrate.tables").to_xarray(self)

    def to_dict(self) -> dict[str, Any]:
        """All results in a plain dictionary of arrays, numbers and strings.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> data = mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1)).to_dict()
        >>> sorted(data)[:4]
        ['coordinate_names', 'events', 'hamiltonian', 'integrator']
        """
        model, energy = self.system.model, self.energy()
        return {
            "t": self.t, "q": self.q, "p": self.p, "u": self.u, "variable": self.variable,
            "kinetic": energy.kinetic, "potential": energy.potential, "hamiltonian": energy.hamiltonian,
            "coordinate_names": list(model.coordinate_names), "speed_names": list(model.speed_names),
            "model": model.name, "method": self.system.method, "integrator": self.integrator,
            "success": self.success, "status": self.status, "message": self.message,
            "nfev": self.nfev, "n_accepted": self.n_accepted, "n_rejected": self.n_rejected,
            "events": [record._asdict() for record in self.events],
        }

    def plot(self, coordinates: Any = None, axes: Any = None) -> Any:
        """Coordinates and change of the energy over time; needs matplotlib.

        Parameters
        ----------
        coordinates : sequence of int or str, optional
            Which coordinates, by place or name; by default the first ten.
        axes : two matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        figure

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> solution = mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1))
        >>> figure = solution.plot()  # doctest: +SKIP
        """
        return lazy.module("integrate.plots").plot_run(self, coordinates, axes)
