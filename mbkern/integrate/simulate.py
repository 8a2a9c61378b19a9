"""`System.simulate`: arguments in, Solution out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inputs
from ..errors import StateError
from ..inputs import Array
from . import options
from .driver import Record, Run, drive, joined
from .events import Event, EventRecord, as_events
from .kernels import plan as P
from .problem import problem_of
from .solution import DenseOutput, Solution

if TYPE_CHECKING:
    from ..system import System


def simulate(system: System, q0: Any, p0: Any, t_span: Any, integrator: Any = "dopri5", rtol: Any = 1e-8,
             atol: Any = 1e-10, step: Any = None, t_eval: Any = None, events: Any = None, dense: bool = False,
             progress: bool = False, tau: Any = None, wrench: Any = None, max_step: Any = None,
             save_every: Any = None) -> Solution:
    """See `mbkern.System.simulate`."""
    model = system.model
    method = options.integrator_named(integrator)
    y0 = state(system, q0, p0)
    t0, t_end = options.interval(t_span)
    times = None if t_eval is None else options.output_times(t_eval, t0, t_end)
    every = 1 if save_every is None else options.count(save_every, "save_every")
    if times is not None and save_every is not None:
        raise StateError("save_every: expected None beside t_eval, which says what to save")
    relative, absolute = options.tolerances(rtol, atol, y0.size)
    watched = checked_events(events, t0, y0, model.nq)
    sizes: dict[str, Any] = {}
    if method.adaptive:
        first = 0.0 if step is None else min(options.positive(step, "step"), abs(t_end - t0))
        sizes["step"] = first if t_end > t0 else -first
        sizes["max_step"] = np.inf if max_step is None else options.positive(max_step, "max_step")
    else:
        sizes["n_steps"] = options.fixed_steps(method, step, max_step, t_end - t0, t0)
        sizes["step"] = (t_end - t0) / sizes["n_steps"]
    problem = problem_of(system, tau, wrench)
    run = Run(problem, method, y0, t0, t_end, rtol=relative, atol=absolute, times=times, save_every=every,
              dense=bool(dense), events=watched, **sizes)
    record = Record()
    outcome = drive(run, record, bool(progress))
    if times is None:
        t, y = joined(record.t), joined(record.y, y0.size)
        if outcome.status in ("interrupted", "failed") and (t.size == 0 or t[-1] != run.num[P.T]):
            t, y = np.append(t, run.num[P.T]), np.vstack((y, run.y))  # the last state, also between saved ones
    else:
        rows = int(run.plan[P.NEXT_EVAL])
        t, y = times[:rows], run.out_y[:rows]
    bounds = joined(record.dense_t, 2)
    dense_output = DenseOutput(run.plan, bounds[:, 0].copy(), bounds[:, 1].copy(),
                               joined(record.dense_r, run.dense_r.shape[1])) if dense else None
    note = system.watch.of_run(system.method, problem.alive.loss, [(t0, y0), (float(run.num[P.T]), run.y.copy())], 4)
    message = f"{outcome.message}; {note}" if note else outcome.message
    counts = tuple(int(run.plan[k]) for k in (P.NFEV, P.ACCEPTED, P.REJECTED))
    return Solution(system, method.name, t, y, outcome.status, message, counts,
                    records(record, watched, model.nq, y0.size), dense_output, tau is not None or wrench is not None,
                    float(run.num[P.T]), outcome.cause)


def state(system: System, q: Any, p: Any) -> Array:
    """y = (q, p), validated, quaternions scaled to length one."""
    model = system.model
    y = np.concatenate((inputs.configuration(q, model, "q0"), inputs.vector(p, "p0", model.speed_names)))
    for at in model._quaternions:
        y[at:at + 4] /= np.linalg.norm(y[at:at + 4])
    return y


def checked_events(events: Any, t: float, y: Array, nq: int) -> list[Event]:
    """The events, each tried once at the beginning: mistakes in them show here, in Python."""
    watched = as_events(events)
    for event in watched:
        event.value(t, y[:nq].copy(), y[nq:].copy())
    return watched


def records(record: Record, watched: list[Event], nq: int, n: int) -> list[EventRecord]:
    """The crossings of each event."""
    index, t, y = joined(record.event_index), joined(record.event_t), joined(record.event_y, n)
    return [EventRecord(t[index == e], y[index == e, :nq], y[index == e, nq:]) for e in range(len(watched))]
