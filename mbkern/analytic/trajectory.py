"""Running a formulation with the compiled integrators, and what comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import quasi as C
from ..errors import StateError
from ..inputs import Array
from ..integrate import options
from ..integrate.driver import Record, Run, drive, joined
from ..integrate.kernels import plan as P
from ..integrate.simulate import checked_events, records
from ..integrate.solution import DenseOutput, interpolated
from ..lazy import cached_property
from ..system import System

if TYPE_CHECKING:
    from .quasi import Formulation


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


class Trajectory:
    """A motion computed by one of the formulations.

    Attributes
    ----------
    t : (k,)
        Times in seconds.
    y : (k, n_states)
        States of the formulation.
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
    formulation : Formulation

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

    def __init__(self, formulation: Formulation, frame: Array, integrator: str, t: Array, y: Array, status: str,
                 message: str, counts: tuple[int, ...], crossings: Any = (), dense: DenseOutput | None = None,
                 t_end: float | None = None) -> None:
        nq = formulation.nq
        self.formulation = formulation
        self.integrator = integrator
        self._frame, self._dense = frame, dense
        self.t, self.y = t, np.ascontiguousarray(y)
        self.q: Array = np.ascontiguousarray(y[:, :nq])
        self.v, self.rcond = self._speeds(t, self.y)
        self.events = [Crossings(c.t, c.q, self._speeds(c.t, np.hstack((c.q, c.p)))[0], np.hstack((c.q, c.p)))
                       for c in crossings]
        self._t_end = float(t[-1]) if t_end is None else t_end  # how far the run came; the last output may be earlier
        self.work: Array | None = self.y[:, -1].copy() if formulation.setup.track_work else None
        self.success = status in ("finished", "event")
        self.status, self.message = status, message
        self.nfev, self.n_accepted, self.n_rejected = counts

    def __repr__(self) -> str:
        text = (f"{self.formulation.name} by {self.integrator!r}: {self.status}, t = {self.t[0]:g} .. "
                f"{self.t[-1]:g} s, {self.t.size} states")
        return text if self.success else f"{text}\n  {self.message}"

    def _speeds(self, t: Array, y: Array) -> tuple[Array, Array]:
        """v (k, m) and 1/cond of S (k,) of states."""
        v, rcond = np.empty((t.size, self.formulation.m)), np.empty(t.size)
        C.speeds_along(self._frame, np.ascontiguousarray(t), np.ascontiguousarray(y), v, rcond)
        return v, rcond

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
        starts = None if self._dense is None else self._dense.starts
        begin = float(self.t[0]) if starts is None or not starts.size else float(starts[0])
        times, y = interpolated(self._dense, t, begin, self._t_end, self.y[0])
        q, (v, _) = y[:, :self.formulation.nq].copy(), self._speeds(np.atleast_1d(times), y)
        return (q[0], v[0]) if times.ndim == 0 else (q, v)

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


def run_formulation(formulation: Formulation, q0: Any, v0: Any, t_span: Any, integrator: Any, rtol: Any, atol: Any,
                    step: Any, t_eval: Any, max_step: Any, progress: bool, events: Any, dense: bool,
                    save_every: Any) -> Trajectory:
    """See `Formulation.simulate`."""
    method = options.integrator_named(integrator)
    t0, t_end = options.interval(t_span)
    y0 = formulation.state(q0, v0, t0)
    times = None if t_eval is None else options.output_times(t_eval, t0, t_end)
    every = 1 if save_every is None else options.count(save_every, "save_every")
    if times is not None and save_every is not None:
        raise StateError("save_every: expected None beside t_eval, which says what to save")
    relative, absolute = options.tolerances(rtol, atol, y0.size)
    watched = checked_events(events, t0, y0, formulation.nq)
    sizes: dict[str, Any] = {}
    if method.adaptive:
        first = 0.0 if step is None else min(options.positive(step, "step"), abs(t_end - t0))
        sizes["step"] = first if t_end > t0 else -first
        sizes["max_step"] = np.inf if max_step is None else options.positive(max_step, "max_step")
    else:
        sizes["n_steps"] = options.fixed_steps(method, step, max_step, t_end - t0)
        sizes["step"] = (t_end - t0) / sizes["n_steps"]
    problem, frame = formulation.problem(y0)
    run = Run(problem, method, y0, t0, t_end, rtol=relative, atol=absolute, times=times, save_every=every,
              dense=bool(dense), events=watched, **sizes)
    problem.alive[1]["q"] = run.y[:formulation.nq]
    record = Record()
    outcome = drive(run, record, bool(progress))
    if times is None:
        t, y = joined(record.t), joined(record.y, y0.size)
        if outcome.status in ("interrupted", "failed") and (t.size == 0 or t[-1] != run.num[P.T]):
            t, y = np.append(t, run.num[P.T]), np.vstack((y, run.y))
    else:
        rows = int(run.plan[P.NEXT_EVAL])
        t, y = times[:rows], run.out_y[:rows]
    counts = tuple(int(run.plan[k]) for k in (P.NFEV, P.ACCEPTED, P.REJECTED))
    bounds = joined(record.dense_t, 2)
    dense_output = DenseOutput(run.plan, bounds[:, 0].copy(), bounds[:, 1].copy(),
                               joined(record.dense_r, run.dense_r.shape[1])) if dense else None
    return Trajectory(formulation, frame, method.name, t, y, outcome.status, outcome.message, counts,
                      records(record, watched, formulation.nq, y0.size), dense_output, float(run.num[P.T]))
