"""Running a formulation with the compiled integrators.

A run is one segment, or several: where something begins to act along an ignored coordinate, the run can go on with that
coordinate no longer ignored (`on_violation`); where S becomes singular, with other quasi-velocities (`on_singular`).

Speeds follow from quasi-velocities with an error that 1/cond of S divides. So a run that may choose again does so long
before S is singular: where 1/cond has come down to LEAVE of what it was where the choice was made, if another choice is
better by BETTER at least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import quasi_layout as C
from ..errors import StateError
from ..inputs import Array
from ..integrate import options
from ..integrate.dense_output import DenseOutput
from ..integrate.driver import Outcome, Record, Run, drive, joined
from ..integrate.events import Event
from ..integrate.kernels import plan as P
from ..integrate.options import Integrator
from ..integrate.simulate import checked_events, records
from ..model.checks import word
from . import choice
from .reasons import ACTS, SINGULAR, what_acts
from .trajectory import Segment, Switch, Trajectory

if TYPE_CHECKING:
    from .formulation import Formulation

LEAVE = 0.1
BETTER = 2.0
STOP, SWITCH = "stop", "switch"


@dataclass(frozen=True)
class Wishes:
    """What `Formulation.simulate` was asked for, checked."""

    method: Integrator
    t_end: float
    rtol: float
    atol: Array
    step: float  # of a method with fixed steps, or the first one; with its sign; 0 to choose it
    max_step: float
    times: Array | None
    save_every: int
    events: list[Event]
    dense: bool
    progress: bool


def run_formulation(formulation: Formulation, q0: Any, v0: Any, t_span: Any, integrator: Any, rtol: Any, atol: Any,
                    step: Any, t_eval: Any, max_step: Any, progress: bool, events: Any, dense: bool, save_every: Any,
                    on_violation: Any, on_singular: Any) -> Trajectory:
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
    switch_ignored = _answer(on_violation, "on_violation", formulation.on_violation == SWITCH, atol, events)
    switch_quasi = _answer(on_singular, "on_singular", formulation._chosen_here, atol, events)
    longest = np.inf
    if method.adaptive:
        size = 0.0 if step is None else min(options.positive(step, "step"), abs(t_end - t0))
        size = size if t_end > t0 else -size
        longest = options.longest_step(max_step, t_end - t0, t0)
    else:
        size = (t_end - t0) / options.fixed_steps(method, step, max_step, t_end - t0, t0)
    wishes = Wishes(method, t_end, relative, absolute, size, longest, times, every, watched, bool(dense),
                    bool(progress))
    segments: list[Segment] = []
    switches: list[Switch] = []
    current, t, y, leave = formulation, t0, y0, formulation.threshold
    if switch_quasi and formulation.setup.method != C.LAGRANGE and _rcond(current, t, y) < current.threshold:
        better = _rechosen(current, t, y[:current.nq])  # v is known here, though u does not determine it
        if better is not None:
            switches.append(Switch(t, _lost(current, t, y), current, better))
            current, y = better, better._state(t, y[:current.nq], formulation._mechanism.speeds(v0))
    if switch_quasi and current.r:
        leave = max(leave, LEAVE * _rcond(current, t, y))
    while True:
        segment = run_segment(current, wishes, t, y, leave, sum(s.t.size for s in segments))
        segments.append(segment)
        if segment.outcome.status != "failed":
            break
        t, y = segment.t_end, segment.y_end
        v = segment.speeds(np.array([t]), y[None, :])[0][0]
        work = float(y[-1]) if current.setup.track_work else 0.0
        if not np.isfinite(v).all():
            break
        if segment.code in ACTS and switch_ignored:
            why = what_acts(current, segment.frame, segment.code, segment.t_bad)
            following: Formulation | None = _released(current, int(segment.frame[C.ACTED_ON]), t, y[:current.nq])
        elif segment.code in SINGULAR and switch_quasi:
            why = _lost(current, t, y)
            following = _rechosen(current, t, y[:current.nq])
            if following is None and segment.code == C.SINGULAR_S and leave > current.threshold:
                leave = max(current.threshold, LEAVE * leave)  # no choice is better: go on with this one
                y = current._state(t, y[:current.nq], v, work)
                continue
        else:
            break
        if following is None:
            break
        switches.append(Switch(t, why, current, following))
        current, y = following, following._state(t, y[:current.nq], v, work)
        if switch_quasi and current.r:
            leave = max(current.threshold, LEAVE * _rcond(current, t, y))
    return Trajectory(segments, tuple(switches), method.name)


def run_segment(formulation: Formulation, wishes: Wishes, t0: float, y0: Array, leave: float, written: int) -> Segment:
    """One initial value problem, to its end or the first failure; so many of the wanted times are written already."""
    method, t_end = wishes.method, wishes.t_end
    times = None if wishes.times is None else wishes.times[written:]
    problem, frame = formulation.problem(y0)
    frame[C.THRESHOLD] = leave
    n_steps = 0 if method.adaptive else max(1, round((t_end - t0) / wishes.step))
    step = wishes.step if method.adaptive else (t_end - t0) / n_steps
    atol = wishes.atol if np.ndim(wishes.atol) == 0 or np.size(wishes.atol) == y0.size else np.max(wishes.atol)
    run = Run(problem, method, y0, t0, t_end, rtol=wishes.rtol, atol=atol, times=times, max_step=wishes.max_step,
              save_every=wishes.save_every, dense=wishes.dense, events=wishes.events, step=step, n_steps=n_steps)
    problem.alive[1]["q"] = run.y[:formulation.nq]
    record = Record()
    outcome: Outcome = drive(run, record, wishes.progress)
    frame[C.THRESHOLD] = formulation.threshold
    if times is None:
        t, y = joined(record.t), joined(record.y, y0.size)
        if outcome.status in ("interrupted", "failed") and (t.size == 0 or t[-1] != run.num[P.T]):
            t, y = np.append(t, run.num[P.T]), np.vstack((y, run.y))
        if written and t.size and t[0] == t0:
            t, y = t[1:], y[1:]  # where the segment before ended
    else:
        rows = int(run.plan[P.NEXT_EVAL])
        t, y = times[:rows], run.out_y[:rows]
    counts = tuple(int(run.plan[k]) for k in (P.NFEV, P.ACCEPTED, P.REJECTED))
    bounds = joined(record.dense_t, 2)
    dense = DenseOutput(run.plan, bounds[:, 0].copy(), bounds[:, 1].copy(),
                        joined(record.dense_r, run.dense_r.shape[1])) if wishes.dense else None
    return Segment(formulation, frame, t, y, outcome, int(run.plan[P.CODE]), counts,
                   records(record, wishes.events, formulation.nq, y0.size), dense, t0, y0, float(run.num[P.T]),
                   run.y.copy(), float(run.num[P.T_BAD]))


def _answer(given: Any, what: str, default: bool, atol: Any, events: Any) -> bool:
    """Whether to switch. Numbers that belong to one state, and functions of it, do not survive that."""
    fixed = "events: g(t, q, u)" if events is not None else "atol: an array" if np.ndim(atol) else ""
    if given is None:
        return default and not fixed
    word(given, what, (STOP, SWITCH), StateError)
    if given == SWITCH and fixed:
        raise StateError(f'{what}="switch": {fixed} belongs to the unknowns of one choice, which a switch replaces; '
                         'expected none of that, or "stop"')
    return bool(given == SWITCH)


def _rcond(formulation: Formulation, t: float, y: Array) -> float:
    return choice.rcond(formulation._mechanism, formulation.ignorable, formulation.setup.quasi, t, y[:formulation.nq])


def _lost(formulation: Formulation, t: float, y: Array) -> str:
    return f"1/cond of S is {_rcond(formulation, t, y):.2g} with u = ({choice.listed(formulation.quasi_names)})"


def _released(formulation: Formulation, k: int, t: float, q: Array) -> Formulation:
    """The same with ignored coordinate k no longer ignored: its rate is one more quasi-velocity."""
    entry, mechanism = formulation.ignorable[k], formulation._mechanism
    ignored = tuple(other for other in formulation.ignorable if other is not entry)
    quasi = choice.with_speed_of(mechanism, formulation.setup.quasi, entry)
    return formulation._variant(ignored, choice.best_quasi(mechanism, ignored, [(t, q)]) if quasi is None else quasi)


def _rechosen(formulation: Formulation, t: float, q: Array) -> Formulation | None:
    """The same with the best quasi-velocities of this pose; None where these are not much better."""
    mechanism, ignored = formulation._mechanism, formulation.ignorable
    best = choice.best_quasi(mechanism, ignored, [(t, q)])
    before, after = (choice.rcond(mechanism, ignored, quasi, t, q) for quasi in (formulation.setup.quasi, best))
    return formulation._variant(ignored, best) if after > max(BETTER * before, formulation.threshold) else None
