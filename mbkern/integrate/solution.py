"""What happened: states over time, how the run ended, energies, pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import IntegrationError, StateError
from ..inputs import Array
from ..lazy import cached_property
from ..methods import METHODS
from .events import EventRecord
from .kernels.dense import evaluate_dense
from .kernels.energies import energies

if TYPE_CHECKING:
    from ..system import System

SAMPLES = 200  # states that the drift of momenta is taken from


def interpolated(dense: DenseOutput | None, t: ArrayLike, begin: float, end: float,
                 first: Array) -> tuple[Array, Array]:
    """The times asked for, and the states at them as rows; `first` is the state of a run without a step."""
    if dense is None:
        raise IntegrationError("sol(t): the run kept no dense output; call simulate(..., dense=True)")
    try:
        times = np.array(t, dtype=float)
    except (TypeError, ValueError):
        raise StateError("sol(t): expected a time or a list of times") from None
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


class DenseOutput(NamedTuple):
    """Polynomials of all steps, as the kernels wrote them."""

    plan: NDArray[np.int64]
    starts: Array
    ends: Array
    rows: Array


class Solution:
    """A trajectory and how it came about.

    Attributes
    ----------
    t : (m,)
        Times in seconds, in the order of the run.
    q : (m, nq)
        Configurations; quaternions have length one.
    p : (m, nv)
        Momenta.
    success : bool
        Whether the run reached the end of t_span or a terminal event.
    status : str
        "finished", "event", "interrupted" or "failed".
    message : str
        The same as a sentence, with time, body and reason of a failure.
    cause : Exception or None
        What a function of yours (tau, wrench, event, drive) raised, when that ended the run.
    nfev : int
        Evaluations of the right-hand side.
    n_accepted, n_rejected : int
        Steps.
    events : list of EventRecord
        Crossings (t, q, p) of each event function.
    integrator : str
    system : System

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
      energy drift ... J, relative ...
    """

    def __init__(self, system: System, integrator: str, t: Array, y: Array, status: str, message: str, counts: Any,
                 events: list[EventRecord], dense: DenseOutput | None, loads: bool, t_end: float,
                 cause: BaseException | None = None) -> None:
        nq = system.model.nq
        self.system = system
        self.integrator = integrator
        self.t = t
        self.q: Array = np.ascontiguousarray(y[:, :nq])
        self.p: Array = np.ascontiguousarray(y[:, nq:])
        self.success = status in ("finished", "event")
        self.status = status
        self.message = message
        self.cause = cause
        self.nfev, self.n_accepted, self.n_rejected = counts
        self.events = events
        self._dense = dense
        self._loads = loads
        self._t_end = t_end  # how far the run came; the last output may be earlier

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
        q, p = out[:, :self.q.shape[1]].copy(), out[:, self.q.shape[1]:].copy()
        return (q[0], p[0]) if times.ndim == 0 else (q, p)

    def _beginning(self) -> tuple[float, Array]:
        """Time and state at the beginning of the run."""
        nq, dense = self.q.shape[1], self._dense
        if dense is not None and dense.starts.size:
            return float(dense.starts[0]), dense.rows[0, :nq + self.p.shape[1]]
        if self.t.size == 0:
            raise IntegrationError(f"sol(t): the run has no states: {self.message}")
        return float(self.t[0]), np.concatenate((self.q[0], self.p[0]))

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
        return self._energies

    @cached_property
    def _energies(self) -> Energies:
        system, nq, nv = self.system, self.q.shape[1], self.p.shape[1]
        out = np.empty((self.t.size, 3))
        block = system.njit()[1]  # writeable, as everywhere: another type would compile all kernels again
        rhs = METHODS["emh-ldl"].native_for(block).address
        energies(rhs, block, self.t, self.q, self.p, np.empty(nq), np.empty(nv), out, system.work())
        return Energies(*(np.ascontiguousarray(column) for column in out.T))

    def drift(self) -> dict[str, float]:
        """Largest change of each quantity that the equations conserve, over the times of the output.

        Returns
        -------
        dict
            "energy" in J without drives, dampers, tau and wrench; "linear momentum" in kg m/s and "angular momentum"
            in kg m^2/s (about the world's origin) when moreover nothing but free joints without armature carries the
            tree and there is no gravity.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> list(mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1)).drift())
        ['energy']
        """
        drift: dict[str, float] = {}
        if self.t.size == 0 or self._loads:
            return drift
        model = self.system.model
        driven = any(e.is_driven for body in model.body_specs for e in body.joint.elements)
        if driven:
            return drift
        if not model.damping.any():
            H = self.energy().hamiltonian
            drift["energy"] = float(np.abs(H - H[0]).max())
        roots = [i for i, body in enumerate(model.body_specs) if body.parent < 0]
        floating = not np.any(model.gravity) and all(
            len(model.body_specs[i].joint.elements) == 1 and model.body_specs[i].joint.elements[0].nv == 6
            and not any(model.body_specs[i].damping) and model.body_specs[i].armature is None for i in roots)
        if floating:
            chosen = np.unique(np.linspace(0, self.t.size - 1, SAMPLES).astype(int))
            totals = np.array([self._total_momentum(k, roots) for k in chosen])
            change = np.abs(totals - totals[0]).max(axis=0)
            drift["linear momentum"] = float(change[:3].max())
            drift["angular momentum"] = float(change[3:].max())
        return drift

    def _total_momentum(self, k: int, roots: list[int]) -> Array:
        """Linear momentum and angular momentum about the world's origin, in world axes."""
        t, q, p = float(self.t[k]), self.q[k], self.p[k]
        mu = self.system.body_momenta(q, p, t)
        R, r = self.system.body_poses(q, t)
        total = np.zeros(6)
        for i in roots:
            linear = R[i] @ mu[i, :3]
            total[:3] += linear
            total[3:] += R[i] @ mu[i, 3:] + np.cross(r[i], linear)
        return total

    # ---- for people ----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        span = f"t = {self.t[0]:g} .. {self.t[-1]:g} s" if self.t.size else "no output"
        lines = [f"Solution by {self.integrator!r}: {self.status}, {span}, {self.t.size} states",
                 f"  {self.n_accepted} steps ({self.n_rejected} rejected), {self.nfev} evaluations of the "
                 "right-hand side"]
        if not self.success:
            lines.append(f"  {self.message}")
        drift = self.drift()
        parts = []
        if "energy" in drift:
            scale = float(np.ptp(self.energy().kinetic)) or abs(float(self.energy().hamiltonian[0]))
            relative = f", relative {drift['energy'] / scale:.2g}" if scale else ""
            parts.append(f"energy drift {drift['energy']:.2g} J{relative}")
        if "linear momentum" in drift:
            parts.append(f"momentum drift {drift['linear momentum']:.2g} kg m/s, "
                         f"{drift['angular momentum']:.2g} kg m^2/s")
        if parts:
            lines.append("  " + "; ".join(parts))
        return "\n".join(lines)

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
            "t": self.t, "q": self.q, "p": self.p,
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
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise IntegrationError("plot(): matplotlib is not installed; pip install matplotlib") from None
        model = self.system.model
        chosen = range(min(10, model.nq)) if coordinates is None else [
            model.index(c) if isinstance(c, str) else int(c) for c in coordinates]
        if axes is None:
            try:
                from matplotlib import pyplot
                figure = pyplot.figure(figsize=(8, 6), layout="constrained")
            except ImportError:  # no display toolkit
                figure = Figure(figsize=(8, 6), layout="constrained")
            axes = figure.subplots(2, 1, sharex=True)
        above, below = axes
        for j in chosen:
            above.plot(self.t, self.q[:, j], label=model.coordinate_names[j], linewidth=1)
        above.set_ylabel("q (m, rad)")
        above.set_title(f"{model.name or 'model'}, {self.integrator}")
        above.legend(fontsize="small", ncols=2, loc="upper right")
        H = self.energy().hamiltonian
        below.plot(self.t, H - H[0] if H.size else H, color="black", linewidth=1)
        below.set_ylabel("H - H(0) (J)")
        below.set_xlabel("t (s)")
        return above.figure
