"""What happened to many states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import lazy
from ..core.checks import CALLBACK_FAILED, SINGULAR
from ..errors import StateError
from ..explain import CODES, drive_fault
from ..inputs import Array
from ..integrate.kernels import lane_plan as LP
from ..integrate.solution import Energies, Solution, energies_and_speeds
from ..integrate.work import Loads
from ..lazy import cached_property
from ..model.checks import show
from ..model.vary import Varied
from ..states import momenta_of_rows, speeds_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..system import System
    from ..viz.viewer import Viewer

MOST_SHOWN = 8  # states in one viewer, by default
REASONS = {
    LP.STEP_COLLAPSED: "the step size collapsed: a singularity or a jump in the forces is near, or the tolerances are "
                       "too tight, or t is so large that float64 does not resolve the steps it takes",
    LP.NOT_CONVERGED: "the stages did not converge: take a smaller step",
    LP.INTERRUPTED: "interrupted",
}


class BatchSolution:
    """Trajectories of many states, and how each of them ended.

    Attributes
    ----------
    t : (T,)
        Times of the output in seconds.
    q : (B, T, nq)
        Configurations; (B, nq) with ``reduce="final"``, None with a reducing function. NaN after a failure.
    p, u : (B, T, nv)
        Momenta and joint speeds likewise: `variable` says which of them was integrated.
    variable : str
        "p" or "u", see `System.variable`.
    kept : (B, m) or None
        What a reducing function kept.
    status : (B,) int array
        0 where the end was reached, else a code: `message` puts it in words.
    reached : (B,)
        Time in seconds up to which each state came.
    steps, rejected : (B,) int arrays
        Steps that were taken, and steps that were too long.
    success : bool
        Whether all states reached the end.
    integrator : str
    system : System

    ``solution[i]`` is the run of state i as a `Solution`, and so is what a loop over the states gives.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> Q0 = np.zeros((3, 2))
    >>> Q0[1] = np.nan
    >>> solution = mb.System(mb.zoo.chain(2)).simulate_batch(Q0, np.zeros((3, 2)), (0, 1), "rk4", step=0.01)
    >>> solution
    BatchSolution by 'rk4': 3 states, t = 0 .. 1 s, 1 failed
      state 1 stopped at t = 0 s: q is not finite, or an angle or distance is beyond 1e12
    >>> solution.failed
    array([1])
    >>> solution[2].status, solution[2].q.shape
    ('finished', (2, 2))
    """

    def __init__(self, integrator: str, t_span: tuple[float, float], t: Array, q: Array | None, p: Array | None,
                 kept: Array | None, status: NDArray[np.int64], reached: Array, counts: NDArray[np.int64],
                 system: System, failed_at: Array, raised: str = "", tau: Array | None = None, known: bool = True,
                 varied: Varied | None = None) -> None:
        self.integrator = integrator
        self.t_span = t_span
        self.t = t
        self.q = q
        self._x = p  # p or u
        self.kept = kept
        self.status = status
        self.reached = reached
        self.steps, self.rejected = counts[:, 0], counts[:, 1]
        self.system = system
        self._failed_at = failed_at  # time of the evaluation that failed
        self._raised = raised  # what a user's function raised, in words
        self._tau, self._known = tau, known  # (B, nv) or none; whether these are all forces that acted
        self._varied = varied

    @property
    def variable(self) -> str:
        """What was integrated beside q: momenta "p" or joint speeds "u"."""
        return self.system.variable

    @cached_property
    def p(self) -> Array | None:
        """Momenta (B, T, nv), or (B, nv) with ``reduce="final"``; None with a reducing function."""
        return self._converted("p", momenta_of_rows)

    @cached_property
    def u(self) -> Array | None:
        """Joint speeds (B, T, nv), or (B, nv) with ``reduce="final"``; None with a reducing function.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> zeros = np.zeros((3, 2))
        >>> mb.System(mb.zoo.chain(2)).simulate_batch(zeros, zeros, (0, 1)).u.shape
        (3, 2, 2)
        """
        return self._converted("u", speeds_of_rows)

    def _converted(self, variable: str, of_rows: Callable[[System, Array, Array, Array], Array]) -> Array | None:
        """The states' own variable, or what follows from it: for each machine by itself where they vary."""
        q, x = self.q, self._x
        if q is None or x is None or self.variable == variable:
            return x
        t = np.broadcast_to(self.t if q.ndim == 3 else self.t[-1], q.shape[:-1])

        def rows(system: System, q: Array, x: Array, t: Array) -> Array:
            return of_rows(system, q.reshape(-1, q.shape[-1]), x.reshape(-1, x.shape[-1]), t.ravel()).reshape(x.shape)

        if self._varied is None:
            return rows(self.system, q, x, t)
        return np.array([rows(self._system_of(i), q[i], x[i], t[i]) for i in range(len(self))])

    @property
    def success(self) -> bool:
        """Whether all states reached the end."""
        return not self.status.any()

    @property
    def failed(self) -> NDArray[np.int64]:
        """Numbers of the states that did not reach the end.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> zeros = np.zeros((3, 2))
        >>> mb.System(mb.zoo.chain(2)).simulate_batch(zeros, zeros, (0, 1)).failed
        array([], dtype=int64)
        """
        return np.flatnonzero(self.status)

    def message(self, i: int) -> str:
        """How state i ended, as a sentence.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> zeros = np.zeros((3, 2))
        >>> mb.System(mb.zoo.chain(2)).simulate_batch(zeros, zeros, (0, 1)).message(2)
        'state 2 reached the end of t_span at t = 1 s'
        """
        if isinstance(i, bool) or not isinstance(i, int | np.integer) or not -len(self) <= i < len(self):
            raise StateError(f"message(i): expected the number of a state below {len(self)}, got {show(i)}")
        code = int(self.status[i])
        if code == 0:
            return f"state {i} reached the end of t_span at t = {self.reached[i]:.9g} s"
        return f"state {i} stopped at t = {self.reached[i]:.9g} s: {self._reason(code, float(self._failed_at[i]))}"

    def _reason(self, code: int, t: float) -> str:
        """What a status means that came up at time t."""
        if code == CALLBACK_FAILED and self._raised:
            return self._raised
        if code == SINGULAR and (fault := drive_fault(self.system.model, t)) is not None:
            return str(fault)
        return REASONS[code] if code in REASONS else CODES[code][1]

    def __len__(self) -> int:
        return int(self.status.size)

    def __getitem__(self, i: int) -> Solution:
        """The run of state i: the outputs that it reached. A machine that varies is that of state i."""
        if isinstance(i, bool) or not isinstance(i, int | np.integer):
            raise StateError(f"solution[i]: expected the number of a state, got {show(i)}")
        if not -len(self) <= i < len(self):
            raise IndexError(f"solution[i]: expected a number below {len(self)}, got {i}")
        i = int(i) % len(self)
        self._states(f"solution[{i}]")
        assert self.q is not None and self._x is not None
        q, x = (array[i].reshape(self.t.size, -1) for array in (self.q, self._x))
        reached = ~(np.isnan(q).any(axis=1) | np.isnan(x).any(axis=1))
        loads = Loads(None if self._tau is None else self._tau[i].copy(), known=self._known)
        code = int(self.status[i])
        status = "finished" if code == 0 else "interrupted" if code == LP.INTERRUPTED else "failed"
        return Solution(self._system_of(i), self.integrator, self.t[reached], np.hstack((q, x))[reached], status,
                        self.message(i), (None, int(self.steps[i]), int(self.rejected[i])), [], None, loads,
                        float(self.reached[i]))

    def _system_of(self, i: int) -> System:
        if self._varied is None:
            return self.system
        return type(self.system)(self._varied.model_of(i), self.system.method)

    def _states(self, what: str) -> tuple[Array, Array]:
        if self.q is None or self.p is None:
            raise StateError(f"{what}: the run kept what `reduce` made of the states, not the states; run it without")
        return self.q, self.p

    def trajectories(self, what: str) -> Array:
        """q (B, T, nq); an error that begins with `what` where the run kept less."""
        q, _ = self._states(what)
        if q.ndim != 3 or self.t.size < 2:
            raise StateError(f"{what}: expected a run with several outputs; give t_eval, and no reduce")
        return q

    def energy(self) -> Energies:
        """Energies of all states at all outputs, (B, T), or (B,) with ``reduce="final"``; NaN after a failure.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> Q0 = np.random.default_rng(0).normal(size=(100, 3))
        >>> batch = mb.System(mb.zoo.chain(3)).simulate_batch(Q0, np.zeros((100, 3)), (0, 1), "rk4", step=0.01)
        >>> batch.energy().hamiltonian.shape
        (100, 2)
        """
        q, p = self._states("energy()")
        shape, block = q.shape[:-1], self.system.njit()[1]
        out = np.full((3, *shape), np.nan)
        if self._varied is None:
            good = ~(np.isnan(q).any(axis=-1) | np.isnan(p).any(axis=-1))
            t = np.broadcast_to(self.t if q.ndim == 3 else self.t[-1], shape)
            out[:, good] = energies_and_speeds(self.system, block, t[good], q[good], p[good])[0]
            return Energies(*out)
        for i, values in enumerate(self._varied.values):
            block[self._varied.places] = values
            states = q[i].reshape(-1, q.shape[-1]), p[i].reshape(-1, p.shape[-1])
            good = ~(np.isnan(states[0]).any(axis=1) | np.isnan(states[1]).any(axis=1))
            found = energies_and_speeds(self.system, block, self.t[good], states[0][good], states[1][good])[0]
            out[:, i].reshape(3, -1)[:, good] = found
        return Energies(*out)

    def plot(self, coordinates: Sequence[int | str] | None = None, axes: Axes | None = None) -> Figure:
        """Coordinates of all states over time; needs matplotlib.

        A few states are drawn one by one. Of more, the median and the band between the 5 % and 95 % quantiles of those
        that reached the end.

        Parameters
        ----------
        coordinates : sequence of int or str, optional
            Which coordinates, by place or name; by default the first ten.
        axes : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        figure

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> zeros = np.zeros((5, 2))
        >>> batch = mb.System(mb.zoo.chain(2)).simulate_batch(zeros, zeros, (0, 1), t_eval=np.linspace(0, 1, 11))
        >>> figure = batch.plot(["body0"])  # doctest: +SKIP
        """
        return lazy.module("integrate.plots").plot_batch(self, coordinates, axes)

    def viewer(self, states: Sequence[int] | None = None, path: str | PathLike[str] | None = None,
               **options: Any) -> Viewer:
        """A page that shows some of the states together; see `mbkern.viz.viewer`.

        Parameters
        ----------
        states : sequence of int, optional
            Which; by default the first eight that reached the end.
        path : path, optional
            Where to write the page.
        **options
            What else `mbkern.viz.viewer` takes: layout, title, theme, names, ...

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> Q0 = np.linspace(0.0, 0.1, 10).reshape(5, 2)
        >>> system = mb.System(mb.zoo.chain(2))
        >>> batch = system.simulate_batch(Q0, np.zeros((5, 2)), (0, 1), t_eval=np.linspace(0, 1, 11))
        >>> page = batch.viewer([0, 4])
        """
        self.trajectories("viewer()")
        chosen = np.flatnonzero(self.status == 0)[:MOST_SHOWN].tolist() if states is None else list(states)
        if not chosen:
            raise StateError("viewer(): no state reached the end; say which to show, viewer([0, 1])")
        options.setdefault("names", [f"state {i}" for i in chosen])
        shown: Any = [self[i] for i in chosen]
        if len(chosen) == 1:
            del options["names"]
            shown = shown[0]
        page: Viewer = lazy.module("viz").viewer(shown, path=path, **options)
        return page

    def __repr__(self) -> str:
        failed = self.failed
        end = "all finished" if failed.size == 0 else f"{failed.size} failed"
        lines = [f"BatchSolution by {self.integrator!r}: {len(self)} states, t = {self.t_span[0]:g} .. "
                 f"{self.t_span[1]:g} s, {end}"]
        lines += [f"  {self.message(int(i))}" for i in failed[:3]]
        if failed.size > 3:
            lines.append(f"  ... ({failed.size - 3} more in .failed)")
        return "\n".join(lines)

    @staticmethod
    def joined(parts: Sequence[BatchSolution]) -> BatchSolution:
        """One solution of all states of several, in their order."""
        if not parts:
            raise StateError("parts: expected at least one solution")
        first = parts[0]

        def join(name: str) -> Any:
            return None if getattr(first, name) is None else np.concatenate([getattr(part, name) for part in parts])

        counts = np.stack([join("steps"), join("rejected")], axis=1)
        varied = None if first._varied is None else Varied.joined([part._varied for part in parts if part._varied])
        return BatchSolution(first.integrator, first.t_span, first.t, join("q"), join("_x"), join("kept"),
                             join("status"), join("reached"), counts, first.system, join("_failed_at"),
                             next((part._raised for part in parts if part._raised), ""), join("_tau"), first._known,
                             varied)
