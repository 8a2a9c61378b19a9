"""`System.simulate`: arguments in, Solution out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inputs, lazy, states
from ..errors import StateError
from ..inputs import Array
from ..model.checks import flag, show
from ..waits import task
from . import options
from .control import Controller
from .driver import Record, Run, go_on, joined, reached, shown
from .events import Event, EventRecord, as_events
from .kernels import plan as P
from .options import Integrator
from .problem import problem_of
from .solution import DenseOutput, Solution
from .stiffness import hint
from .tangents import Tangents, first_tangents, in_tangents, increments
from .work import Loads

if TYPE_CHECKING:
    from ..system import System

GAUGES = ("reset", "keep")
UNLOADED = Loads()
KEPT = 1000  # unknowns: the memory of larger problems is not kept, to make it anew takes less time than a step


def simulate(system: System, q0: Any, p0: Any, t_span: Any, integrator: Any = "dopri5", rtol: Any = 1e-8,
             atol: Any = 1e-10, step: Any = None, t_eval: Any = None, events: Any = None, dense: bool = False,
             progress: Any = False, tau: Any = None, wrench: Any = None, max_step: Any = None, save_every: Any = None,
             control_step: Any = None, tangent: Any = False, limits: Any = None, friction: Any = False,
             gauge: Any = "reset", project: Any = True) -> Solution:
    """See `mbkern.System.simulate`."""
    model = system.model
    if dense is not False or friction is not False or project is not True:
        dense, friction = flag(dense, "dense", StateError), flag(friction, "friction", StateError)
        project = flag(project, "project", StateError)
    if limits is not None or friction:
        tau = lazy.module("forces").with_nature(model, tau, limits, friction, control_step)
    method, relative, absolute = options.method_and_tolerances(integrator, rtol, atol, model.nq + model.nv)
    t0, t_end = options.interval(t_span)
    times = None if t_eval is None else options.output_times(t_eval, t0, t_end)
    every = 1 if save_every is None else options.count(save_every, "save_every")
    if times is not None and save_every is not None:
        raise StateError("save_every: expected None beside t_eval, which says what to save")
    watched = [] if events is None else checked_events(events, t0, with_momenta(system, q0, p0, t0), model.nq)
    controller = None if control_step is None else Controller(system, tau, control_step, method, step, max_step, t0,
                                                              t_end)
    size, n_steps, longest = 0.0, 0, np.inf
    if method.adaptive:
        size = 0.0 if step is None else min(options.positive(step, "step"), abs(t_end - t0))
        size = size if t_end > t0 else -size
        longest = options.longest_step(max_step, t_end - t0, t0)
    elif controller is not None:
        n_steps = controller.n_steps
    else:
        n_steps = options.fixed_steps(method, step, max_step, t_end - t0, t0)
        size = (t_end - t0) / n_steps
    if not isinstance(gauge, str) or gauge not in GAUGES:
        raise StateError(f"gauge: expected one of {', '.join(map(repr, GAUGES))}, got {show(gauge)}")
    if model.constraints:
        begins = with_momenta(system, q0, p0, t0)
        system.check_consistent(begins[:model.nq], begins[model.nq:], t0)
    wanted = tangent is not False and tangent is not None
    deviations = None  # of a machine with constraints, which are carried along when the run is done
    if wanted and model.constraints:
        seen = lazy.module("derivatives.loads").Loads(system, tau, wrench)
        deviations = increments(system, tangent, control_step)
    columns = first_tangents(system, tangent, q0, control_step) if wanted and deviations is None else None
    run = (lend(system, method, wrench is not None, gauge, project) if columns is None
           else Run(problem_of(system, wrenches=wrench is not None), method))
    frame = run.problem.alive
    if tau is not None or wrench is not None:
        frame.load(None if controller is not None else tau, wrench)
    run.prepare(t0, t_end, step=size, n_steps=n_steps, rtol=relative, atol=absolute, max_step=longest, times=times,
                save_every=every, dense=dense or deviations is not None, events=watched)
    if columns is not None:
        rows = times.size if times is not None else n_steps // every + 2
        run.carry(Tangents(system, run, columns, rows if times is not None or n_steps else 0))
    bar = False if progress is False else options.bar(progress)
    code = begin(system, run, q0, p0, controller, not (bar or watched))
    loads = UNLOADED if tau is None and wrench is None else Loads(tau, wrench, controller is None)
    if code == P.FINISHED and run.writes_steps_only and not (model.constraints or frame.loss):
        t, y = run.steps
        solution = Solution(system, method.name, t, y, "finished", reached(t_end), run.counts, [], None, loads, t_end)
        give_back(system, run, loads, lost=False)
        return solution
    record = Record()
    outcome = go_on(run, record, code, bar, controller)
    t_last = float(run.num[P.T])
    if times is None:
        t, y = joined(record.t), joined(record.y, run.problem.size)
        if outcome.status in ("interrupted", "failed") and (t.size == 0 or t[-1] != t_last):
            t, y = np.append(t, t_last), np.vstack((y, run.y))  # the last state, also between saved ones
            if run.tangents is not None:
                record.tangent.append(run.tangents.now[None].copy())
    else:
        rows = int(run.plan[P.NEXT_EVAL])
        t, y = times[:rows], run.out_y[:rows]
    if model.constraints:
        y = shown(run.problem, t, y)
        record.event_y = [shown(run.problem, *rows, settle=False)
                          for rows in zip(record.event_t, record.event_y, strict=True)]
    dense_output = None
    if dense or deviations is not None:
        bounds = joined(record.dense_t, 2)
        dense_output = DenseOutput(run.plan.copy(), bounds[:, 0].copy(), bounds[:, 1].copy(),
                                   joined(record.dense_r, run.dense_r.shape[1]))
    message = outcome.message
    if frame.loss:
        ends = [(t0, state(system, q0, p0)), (t_last, run.y.copy())]
        note = system.watch.of_run(system.method, frame.loss, [(at, momenta_in(system, at, y)) for at, y in ends], 4)
        message = f"{message}; {note}" if note else message
    if outcome.status == "failed" and not (controller is not None and controller.fault):
        states = [(t0, state(system, q0, p0)), *((float(t[k]), y[k]) for k in range(t.size)[-4:])]
        message += hint(run.problem, method, run.num[P.H], states)
    crossings = records(record, watched, model.nq, run.problem.size, system) if watched else []
    kept = None
    if run.tangents is not None:
        kept = run.tangents.out[:t.size] if times is not None else joined(record.tangent)
        kept = in_tangents(model, y[:, :model.nq], kept)
    else:
        give_back(system, run, loads)
    solution = Solution(system, method.name, t, y, outcome.status, message, run.counts, crossings, dense_output, loads,
                        t_last, outcome.cause, kept)
    if deviations is not None:
        solution._tangent = lazy.module("integrate.closed_tangents").tangents_along(solution, deviations, seen)
        solution._dense = dense_output if dense else None
    return solution


def begin(system: System, run: Run, q0: Any, p0: Any, controller: Controller | None, short: bool = False) -> int:
    """Start from a state, which is validated, and if that is all right take a few steps; a code of `kernels.plan`."""
    code = run.begin(q0, p0, run.short if short else 0) if controller is None else P.BAD_START
    if code != P.BAD_START:
        return code
    run.place(state(system, q0, p0))
    if controller is not None:
        code = controller.next_leg(run)
        if code != P.MORE:
            return code
    return run.start()


def lend(system: System, method: Integrator, wrenches: bool, gauge: str = "reset", project: bool = True) -> Run:
    """Memory for a run, from an earlier one if there is any; who is done gives it back."""
    key = _kind_of_run(system, method, wrenches, gauge, project)
    idle = system.binding.runs.get(key)
    if idle:
        try:
            run: Run = idle.pop()
            return run
        except IndexError:  # another thread was faster
            pass
    with task(method.name, system):
        run = Run(problem_of(system, wrenches=wrenches, gauge=gauge, project=project), method)
    run.key = key
    return run


def give_back(system: System, run: Run, loads: Loads | None = None, lost: bool = True) -> None:
    """Keep the memory of a run for another one; `loads`: what acted in it, if that is known; `lost`: perhaps digits."""
    if run.problem.size <= KEPT:
        run.let_go()
        if loads is not UNLOADED or (lost and run.problem.alive.loss):
            run.problem.alive.unload()
        idle = system.binding.runs.get(run.key)
        if idle is None:
            idle = system.binding.runs.setdefault(run.key, [])
        idle.append(run)


def _kind_of_run(system: System, method: Integrator, wrenches: bool, gauge: str, project: bool) -> str:
    kind = f"{method.name} with wrenches" if wrenches else method.name
    return f"{kind} {gauge} {project}" if system.model.constraints else kind


def state(system: System, q: Any, x: Any) -> Array:
    """y = (q, p) or (q, u), validated; quaternions may still be a little too long or short."""
    model = system.model
    return np.concatenate((inputs.configuration(q, model, "q0"),
                           inputs.vector(x, f"{system.variable}0", model.speed_names)))


def momenta_in(system: System, t: float, y: Array) -> Array:
    """(q, p) of a state y."""
    q, x = y[:system.model.nq], y[system.model.nq:]
    return y if system.variable == "p" else np.concatenate((q, states.momenta(system, q, x, t)))


def with_momenta(system: System, q: Any, x: Any, t: float) -> Array:
    """(q, p), validated, with quaternions of length one."""
    y = state(system, q, x)
    for at in system.model.quaternion_offsets:
        y[at:at + 4] /= np.linalg.norm(y[at:at + 4])
    return momenta_in(system, t, y)


def checked_events(events: Any, t: float, y: Array, nq: int) -> list[Event]:
    """The events, each tried once at the beginning: mistakes in them show here, in Python."""
    watched = as_events(events)
    for event in watched:
        event.value(t, y[:nq].copy(), y[nq:].copy())
    return watched


def records(record: Record, watched: list[Event], nq: int, n: int, system: System | None = None) -> list[EventRecord]:
    """The crossings of each event; with momenta where the states of the system have joint speeds."""
    index, t, y = joined(record.event_index), joined(record.event_t), joined(record.event_y, n)
    q, p = np.ascontiguousarray(y[:, :nq]), np.ascontiguousarray(y[:, nq:])
    if system is not None:
        p = states.momenta_of_rows(system, q, p, t)
    return [EventRecord(t[index == e], q[index == e], p[index == e]) for e in range(len(watched))]
