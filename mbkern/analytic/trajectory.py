"""Running a formulation with the compiled integrators, and what comes out."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import quasi as C
from ..inputs import Array
from ..integrate import options
from ..integrate.driver import Record, Run, drive, joined
from ..integrate.kernels import plan as P
from ..system import System

if TYPE_CHECKING:
    from .quasi import Formulation


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
                 message: str, counts: tuple[int, ...]) -> None:
        nq = formulation.nq
        self.formulation = formulation
        self.integrator = integrator
        self.t, self.y = t, np.ascontiguousarray(y)
        self.q: Array = np.ascontiguousarray(y[:, :nq])
        self.v: Array = np.empty((t.size, formulation.m))
        self.rcond: Array = np.empty(t.size)
        C.speeds_along(frame, t, self.y, self.v, self.rcond)
        self.work: Array | None = self.y[:, -1].copy() if formulation.setup.track_work else None
        self.success = status in ("finished", "event")
        self.status, self.message = status, message
        self.nfev, self.n_accepted, self.n_rejected = counts

    def __repr__(self) -> str:
        text = (f"{self.formulation.name} by {self.integrator!r}: {self.status}, t = {self.t[0]:g} .. "
                f"{self.t[-1]:g} s, {self.t.size} states")
        return text if self.success else f"{text}\n  {self.message}"

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
                    step: Any, t_eval: Any, max_step: Any, progress: bool) -> Trajectory:
    """See `Formulation.simulate`."""
    method = options.integrator_named(integrator)
    t0, t_end = options.interval(t_span)
    y0 = formulation.state(q0, v0, t0)
    times = None if t_eval is None else options.output_times(t_eval, t0, t_end)
    relative, absolute = options.tolerances(rtol, atol, y0.size)
    sizes: dict[str, Any] = {}
    if method.adaptive:
        first = 0.0 if step is None else min(options.positive(step, "step"), abs(t_end - t0))
        sizes["step"] = first if t_end > t0 else -first
        sizes["max_step"] = np.inf if max_step is None else options.positive(max_step, "max_step")
    else:
        sizes["n_steps"] = options.fixed_steps(method, step, max_step, t_end - t0)
        sizes["step"] = (t_end - t0) / sizes["n_steps"]
    problem, frame = formulation.problem(y0)
    run = Run(problem, method, y0, t0, t_end, rtol=relative, atol=absolute, times=times, save_every=1, **sizes)
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
    return Trajectory(formulation, frame, method.name, t, y, outcome.status, outcome.message, counts)
