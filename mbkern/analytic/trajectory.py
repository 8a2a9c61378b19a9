"""What comes out of a run of a formulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.quasi import speeds_along
from ..inputs import Array
from ..integrate.dense_output import DenseOutput, interpolated
from ..integrate.driver import Outcome
from ..lazy import cached_property
from ..system import System

if TYPE_CHECKING:
    from .formulation import Formulation


class Crossings(NamedTuple):
    """Where an event function crossed zero, in order of the run.

    Attributes
    ----------
    t : (k,)
        Times in seconds.
    q : (k, nq)
    v : (k, m)
        Speeds.
    y : (k, n_states)
        States of the formulation.
    """

    t: Array
    q: Array
    v: Array
    y: Array


@dataclass(frozen=True)
class Switch:
    """Where a run went on with other ignored coordinates or other quasi-velocities.

    Attributes
    ----------
    t : float
        Time in seconds.
    why : str
    before, after : Formulation
    """

    t: float
    why: str
    before: Formulation
    after: Formulation

    def __str__(self) -> str:
        return f"t = {self.t:.9g} s: {self.why}; from there on {self.after}"


@dataclass(frozen=True)
class Segment:
    """A part of a run with one formulation: its memory, what was written, how it ended (a code of the core)."""

    formulation: Formulation
    frame: Array
    t: Array
    y: Array
    outcome: Outcome
    code: int
    counts: tuple[int, ...]
    crossings: Any
    dense: DenseOutput | None
    t_begin: float
    y_begin: Array
    t_end: float
    y_end: Array
    t_bad: float = 0.0  # when the evaluation failed that ended it

    def speeds(self, t: Array, y: Array) -> tuple[Array, Array]:
        """v (k, m) and 1/cond of S (k,) of states."""
        v, rcond = np.empty((t.size, self.formulation.m)), np.empty(t.size)
        speeds_along(self.frame, np.ascontiguousarray(t), np.ascontiguousarray(y), v, rcond)
        return v, rcond


class Trajectory:
    """A motion computed by one of the formulations.

    Attributes
    ----------
    t : (k,)
        Times in seconds.
    y : (k, n_states)
        States of `formulation`.
    q : (k, nq)
    v : (k, m)
        Speeds.
    work : (k,) or None
        Integral of Q^T v, when the formulation tracks it.
    rcond : (k,)
        1/cond of S (1 for Lagrange, which has none).
    success, status, message
        As in `mbkern.Solution`.
    nfev, n_accepted, n_rejected : int
    events : list of Crossings
        Crossings (t, q, v, y) of each event function.
    cause : exception or None
        What a function of the user raised, when that ended the run.
    formulation : Formulation
        That of the end of the run, when there were switches.
    switches : tuple of Switch
        Where the run went on with other ignored coordinates or quasi-velocities; see `Formulation.simulate`.

    Examples
    --------
    >>> import mbkern as mb
    >>> box = mb.analytic.cases.box()
    >>> run = mb.analytic.Volterra(box.system).simulate(box.q0, box.v0, (0.0, 1.0))
    >>> run
    Volterra by 'dopri5': finished, t = 0 .. 1 s, ... states
    >>> bool(abs(run.momenta() - run.momenta()[0])[:, :3].max() < 1e-12)
    True
    """

    def __init__(self, segments: list[Segment], switches: tuple[Switch, ...], integrator: str) -> None:
        last = segments[-1]
        self.formulation = formulation = last.formulation
        self.integrator, self.switches = integrator, switches
        self._segments = segments
        nq, speeds = formulation.nq, [segment.speeds(segment.t, segment.y) for segment in segments]
        self.t: Array = np.concatenate([segment.t for segment in segments])
        self.q: Array = np.vstack([segment.y[:, :nq] for segment in segments])
        self.v: Array = np.vstack([v for v, _ in speeds])
        self.rcond: Array = np.concatenate([rcond for _, rcond in speeds])
        self.work: Array | None = np.concatenate(
            [segment.y[:, -1] for segment in segments]) if formulation.setup.track_work else None
        self.y: Array = np.vstack([np.ascontiguousarray(self._in_terms_of_the_last(s, v))
                                   for s, (v, _) in zip(segments, speeds, strict=True)])
        self.events = [Crossings(c.t, c.q, last.speeds(c.t, np.hstack((c.q, c.p)))[0], np.hstack((c.q, c.p)))
                       for c in last.crossings]
        self.status, self.cause = last.outcome.status, last.outcome.cause
        self.message = last.outcome.message + (f"; switched at {switches[0]}" if switches else "") + (
            f"; {len(switches)} switches in all" if len(switches) > 1 else "")
        self.success = self.status in ("finished", "event")
        self.nfev, self.n_accepted, self.n_rejected = (sum(s.counts[k] for s in segments) for k in range(3))

    def _in_terms_of_the_last(self, segment: Segment, v: Array) -> Array:
        """States of a segment as those of the last formulation."""
        if segment.formulation is self.formulation:
            return segment.y
        rows = [self.formulation._unknowns(t, y[:self.formulation.nq], x, float(y[-1]))
                for t, y, x in zip(segment.t.tolist(), segment.y, v, strict=True)]
        return np.array(rows).reshape(len(rows), self.formulation.n_states)

    def __repr__(self) -> str:
        text = f"{self.formulation.name} by {self.integrator!r}: {self.status}, "
        if self.t.size:
            text += f"t = {self.t[0]:g} .. {self.t[-1]:g} s, "
        text += f"{self.t.size} states" + (f", {len(self.switches)} switches" if self.switches else "")
        return text if self.success else f"{text}\n  {self.message}"

    def sol(self, t: ArrayLike) -> tuple[Array, Array]:
        """Configuration and speeds at any time of the run, from the dense output.

        Parameters
        ----------
        t : float or (k,)
            Times within the run, in any order.

        Returns
        -------
        q : (nq,) or (k, nq)
        v : (m,) or (k, m)
            Of Kane and Volterra from interpolated quasi-velocities: constraints and ignorable momenta hold here too.

        Examples
        --------
        >>> import mbkern as mb
        >>> cart = mb.analytic.cases.cart()
        >>> kane = mb.analytic.Kane(cart.system, constraints=cart.constraints)
        >>> q, v = kane.simulate(cart.q0, cart.v0, (0.0, 1.0), dense=True).sol(0.123)
        >>> v.shape
        (3,)
        """
        segments = self._segments
        first, last = segments[0], segments[-1]
        times = np.atleast_1d(np.array(t, dtype=float)) if np.ndim(t) < 2 and len(segments) > 1 else None
        if times is None:
            times, y = interpolated(first.dense, t, first.t_begin, first.t_end, first.y_begin)
            q, (v, _) = y[:, :self.formulation.nq].copy(), first.speeds(np.atleast_1d(times), y)
            return (q[0], v[0]) if times.ndim == 0 else (q, v)
        q, v = np.empty((times.size, self.formulation.nq)), np.empty((times.size, self.formulation.m))
        way = np.sign(last.t_end - first.t_begin)
        for segment in segments:
            here = way * times >= way * segment.t_begin if segment is not first else np.full(times.size, True)
            if segment is not last:
                here &= way * times < way * segment.t_end
            if here.any():
                _, y = interpolated(segment.dense, times[here], segment.t_begin, segment.t_end, segment.y_begin)
                q[here], v[here] = y[:, :self.formulation.nq], segment.speeds(times[here], y)[0]
        return (q[0], v[0]) if np.ndim(t) == 0 else (q, v)

    def momenta(self) -> Array:
        """Momenta p = M v + N (k, m) of the speeds.

        Examples
        --------
        >>> import mbkern as mb
        >>> box = mb.analytic.cases.box()
        >>> mb.analytic.Kane(box.system).simulate(box.q0, box.v0, (0.0, 0.1)).momenta().shape[1]
        8
        """
        return self._momenta

    @cached_property
    def _momenta(self) -> Array:
        system = self.formulation.system
        return np.array([system.momenta(q, v, t) for t, q, v in zip(self.t.tolist(), self.q, self.v, strict=True)])

    def constraints(self) -> Array:
        """What is left of the constraints, a v + b (k, r).

        Examples
        --------
        >>> import mbkern as mb
        >>> cart = mb.analytic.cases.cart()
        >>> run = mb.analytic.Lagrange(cart.system, constraints=cart.constraints).simulate(cart.q0, cart.v0, (0, 0.1))
        >>> run.constraints().shape[1]
        1
        """
        given = self.formulation.constraints
        if given is None:
            return np.zeros((self.t.size, 0))
        values = (given.evaluate(t, q, v) for t, q, v in zip(self.t.tolist(), self.q, self.v, strict=True))
        return np.array([a @ v + b for (a, b, _), v in zip(values, self.v, strict=True)])

    def energy(self) -> Array:
        """Kinetic plus potential energy (k,), less the work of the forces when it is tracked, in joules.

        Of Dynamics, which has no potential, the kinetic energy.

        Examples
        --------
        >>> import mbkern as mb
        >>> cart = mb.analytic.cases.cart()
        >>> run = mb.analytic.Kane(cart.system, constraints=cart.constraints).simulate(cart.q0, cart.v0, (0, 0.1))
        >>> bool(abs(run.energy() - run.energy()[0]).max() < 1e-7)
        True
        """
        system = self.formulation.system
        if isinstance(system, System):
            energies = [system.energy(q, p, t) for t, q, p in zip(self.t.tolist(), self.q, self.momenta(), strict=True)]
            total = np.array([e.kinetic + e.potential for e in energies])
        else:
            total = np.array([0.5 * v @ system.mass_matrix(q, t) @ v
                              for t, q, v in zip(self.t.tolist(), self.q, self.v, strict=True)])
        return total if self.work is None else total - self.work
