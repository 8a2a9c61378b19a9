"""What happened: states over time, how the run ended, energies, pictures."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import lazy
from ..errors import IntegrationError
from ..inputs import Array
from .dense_output import DenseOutput, interpolated
from .driver import shown
from .events import EventRecord
from .limits import summary
from .problem import problem_of
from .run_states import Energies, Momentum, energies_and_speeds
from .run_tables import RunTables
from .work import Loads

if TYPE_CHECKING:
    from ..model.model import Model
    from ..system import System

__all__ = ["Energies", "Momentum", "Solution", "energies_and_speeds"]


class Solution(RunTables):
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

    # ---- files ------------------------------------------------------------------------------------------

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
