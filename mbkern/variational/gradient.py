"""`mbkern.gradient`: the gradient of a scalar of a trajectory, by the adjoint of its steps, with checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import ArrayLike

from .. import inputs, lazy
from ..core import constants as L
from ..errors import IntegrationError, ModelError, NotEnoughMemoryError, StateError
from ..inputs import Array
from ..integrate import memory, options
from ..integrate.driver import Run
from ..integrate.kernels import adjoint
from ..integrate.kernels import plan as P
from ..integrate.problem import problem_of
from ..integrate.progress import Interrupt
from ..integrate.tangents import in_coordinates, refuse_failed, unit_state
from ..locks import COMPILING
from ..model.checks import number, several, show
from ..model.model import Model
from ..model.rigid import of_unit_mass
from ..workspace import places
from .desk import Desk
from .kernels import desk as D
from .kernels import flow

if TYPE_CHECKING:
    from ..signatures import Load
    from ..system import System

PIECE = 2000  # steps of one call into compiled code: Python looks around between them
OF_BODY = ("mass", "com", "inertia", "position")
OF_JOINT = ("stiffness", "damping", "armature")
NOTHING = np.empty(0)

Loss = Callable[[Array, Array, Array], Any]


class Gradient(NamedTuple):
    """A scalar of a trajectory and its gradient; `mbkern.gradient`.

    Attributes
    ----------
    value : float
        Of the loss.
    q0 : (nv,)
        By the configuration at the beginning, along its tangents (the coordinates themselves but for quaternions, and
        positions of free joints).
    p0 : (nv,)
        By the momenta at the beginning.
    tau : array or None
        By joint forces that are numbers, in their shape.
    parameters : dict
        By constants, by the names asked for: a number for a mass, (3,) for a centre of mass, position or gravity, a
        symmetric (3, 3) for an inertia, one number for each dof of a joint.
    t, q, p : arrays
        The states that the loss has seen.
    steps, checkpoints : int
        Steps of the run, and states kept of it: one each step, or fewer where memory is short.
    """

    value: float
    q0: Array
    p0: Array
    tau: Array | None
    parameters: dict[str, Any]
    t: Array
    q: Array
    p: Array
    steps: int
    checkpoints: int


def gradient(loss: Loss, system: System, q0: ArrayLike, p0: ArrayLike, t_span: tuple[float, float],
             integrator: str = "dopri5", *, t_eval: ArrayLike | None = None, parameters: Sequence[str] | str = (),
             tau: Load | None = None, wrench: Load | None = None, step: float | None = None, rtol: float = 1e-8,
             atol: ArrayLike = 1e-10, max_memory: float | None = None) -> Gradient:
    """The gradient of a scalar of a trajectory by its beginning, by joint forces and by constants of the machine.

    By the adjoint of the very steps that the integrator takes (their sizes kept as they are): exact for what is
    computed, at the price of a few runs (`bench/trajectories.py`) however many numbers the gradient has. With
    constraints it is computed forward in time, along the dense output of the run, to about eight digits; q0 and p0 then
    change along the constraints alone.

    Parameters
    ----------
    loss : callable
        loss(t, q, p) with the times (m,) and states (m, nq), (m, nv) of `t_eval`. It returns (value, q_bar, p_bar): the
        scalar and its derivatives by q and p, in their shapes; or the scalar alone, whose derivatives are then taken by
        differences of fourth order (4 m (nq + nv) calls, about ten digits).
    system : System
    q0, p0 : arrays
        Where the trajectory begins.
    t_span : (begin, end)
        Times in seconds.
    integrator, step, rtol, atol
        As in `System.simulate`. All steps end at the times of `t_eval`, and where piecewise-constant forces jump.
    t_eval : (m,), optional
        Times of the states that the loss gets; by default the end alone.
    parameters : sequence of str, or "all"
        Constants to differentiate by, the names of `Model.vary`: "gravity", or a body and one of mass, com, inertia,
        position (not with constraints: it would open loops), stiffness, damping, armature, as "boom.mass".
    tau : (nv,), (m, nv), or njit function with a derivative, optional
        Joint forces: constant, constant on each of m equal parts of t_span (the gradient is by these numbers), or a
        function of the state, see `mbkern.forces.with_derivative`.
    wrench : (N, 6) or njit function with a derivative, optional
        As in `System.simulate`.
    max_memory : float, optional
        Bytes for states of the run; by default a part of the memory that is free. Where all of them do not fit, every
        k-th is kept and the steps between are taken again, which costs one run more.

    Returns
    -------
    Gradient

    Examples
    --------
    How far a pendulum gets in one second, and what that has to do with its mass and its first speed:

    >>> import mbkern as mb, numpy as np
    >>> builder = mb.ModelBuilder()
    >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(1.0, 0, 0), damping=0.1)
    >>> def angle(t, q, p):
    ...     return q[-1, 0], np.ones((1, 1)), np.zeros((1, 1))
    >>> g = mb.gradient(angle, mb.System(builder.build()), [0.0], [0.0], (0.0, 1.0), parameters=["bob.mass"])
    >>> round(g.value, 4), g.p0.shape, bool(g.parameters["bob.mass"] > 0.0)
    (2.9353, (1,), True)
    """
    y0, model = unit_state(system, q0, p0, "gradient"), system.model
    method = options.integrator_named(integrator)
    t0, t_end = options.interval(t_span)
    samples = np.array([t_end]) if t_eval is None else options.output_times(t_eval, t0, t_end)
    wanted = _wanted(model, parameters)
    forces, bounds = _forces(model, tau, t0, t_end)
    if model.constraints:
        sizes = {"rtol": rtol, "atol": atol} if method.adaptive else {}
        return _with_constraints(loss, system, y0, samples, (t0, t_end), wanted, forces, bounds, tau, wrench,
                                 {"integrator": integrator, "step": step, **sizes})
    problem = problem_of(system, np.zeros(model.nv) if forces.size else tau, wrench)
    stops = np.unique(np.concatenate([[t0, t_end], samples, bounds]))
    stops = stops if t_end > t0 else stops[::-1]
    slots = method.stages if method.kind == P.GAUSS else 6
    desk = Desk(model, problem.alive, slots=slots, gradient=bool(wanted))
    most = memory.limit() if max_memory is None else options.positive(max_memory, "max_memory")
    if method.adaptive:
        times, kept = _adaptive(system, y0, stops, forces, bounds, t0, t_end, tau, wrench, integrator, rtol, atol, step)
    else:
        times, kept = _fixed(method, step, stops, t0), None
    tape = _Tape(problem, method, desk, times, forces, bounds, y0, kept, most)
    at = np.searchsorted(times, samples) if t_end > t0 else times.size - 1 - np.searchsorted(times[::-1], samples)
    states = tape.record(at)
    q, p = states[:, :model.nq].copy(), states[:, model.nq:].copy()
    value, bars = _judged(loss, samples, q, p)
    weights, by_force = tape.back(at, bars)
    N = in_coordinates(model, y0[:model.nq], np.eye(2 * model.nv))
    start = N.T @ weights
    own = None
    if forces.size:
        own = by_force if len(np.shape(tau)) == 2 else by_force[0]  # type: ignore[arg-type]
    return Gradient(value, start[:model.nv], start[model.nv:], own,
                    {name: _constant(model, desk.gradient, name) for name in wanted}, samples, q, p, times.size - 1,
                    tape.kept)


def _with_constraints(loss: Loss, system: System, y0: Array, samples: Array, ends: tuple[float, float],
                      wanted: list[str], forces: Array, bounds: Array, tau: Any, wrench: Any, how: dict[str, Any]
                      ) -> Gradient:
    """The same forward in time, see :mod:`.closed_gradient`."""
    if callable(tau):
        raise StateError("gradient: tau is a function, and with constraints derivatives along a motion are for "
                         "constant forces alone; give it as an array, or take difference quotients of two runs")
    found = lazy.module("variational.closed_gradient").run_with_tangents(system, y0, samples, ends, wanted, forces,
                                                                         bounds, wrench, how)
    nq, nv = system.model.nq, system.model.nv
    q, p = found.states[:, :nq].copy(), found.states[:, nq:].copy()
    value, bars = _judged(loss, samples, q, p)
    start, by_force, constants = found.back(bars)
    own = None
    if forces.size:
        own = by_force if len(np.shape(tau)) == 2 else by_force[0]
    return Gradient(value, start[:nv], start[nv:], own, constants, samples, q, p, found.steps, found.steps)


# ---- the run and its way back ----------------------------------------------------------------------------------------

_NUMBERS, _WORDS = types.Array(types.float64, 1, "C"), types.Array(types.int64, 1, "C")
_FORWARD = (types.int64, _NUMBERS, _NUMBERS, _WORDS, types.int64, types.int64, _NUMBERS)
_BACKWARD = (*_FORWARD, _WORDS, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS)


def _compiled(function: Any, signature: tuple[Any, ...]) -> Any:
    """The function, compiled for this signature alone."""
    if not function.signatures:
        with COMPILING:
            if not function.signatures:
                function.compile(signature)
                function.disable_compile()
    return function


class _Tape:
    """States of a run, all or some of them, and the adjoint along them."""

    def __init__(self, problem: Any, method: options.Integrator, desk: Desk, times: Array, forces: Array, bounds: Array,
                 y0: Array, kept: Array | None, most: float) -> None:
        n, steps = problem.size, times.size - 1
        self.times, self.forces = np.ascontiguousarray(times), forces.reshape(-1)
        middle = 0.5 * (times[:-1] + times[1:])
        inner = np.sort(bounds)
        self.which = np.searchsorted(inner, middle).astype(np.int64)
        if times[-1] < times[0]:
            self.which = inner.size - self.which
        self.run = Run(problem, method, y0, float(times[0]), float(times[-1]))
        self.desk, self.n, self.steps = desk, n, steps
        self._row = n * (1 + method.stages) if method.kind == P.GAUSS else n
        self._wire()
        self.all = kept  # states at the beginnings of all steps, and at the end
        self.stride = steps
        if kept is None and 8.0 * steps * self._row > most:
            self.stride = max(1, math.ceil(math.sqrt(steps * n / self._row)))
            needed = 8.0 * (self.stride * self._row + n * (steps / self.stride + 1))
            if needed > most:
                raise NotEnoughMemoryError(
                    f"gradient: {steps} steps need {memory.gigabytes(needed)} with a checkpoint every {self.stride} "
                    f"steps, the limit is {memory.gigabytes(most)}; take longer steps, or more max_memory")
        self.kept = steps if self.stride == steps else -(-steps // self.stride)
        self.checkpoints: list[Array] = []
        self.rows = NOTHING

    def _wire(self) -> None:
        """The plan of derivatives."""
        plan = np.zeros(P.QUATERNIONS, np.int64)
        plan[adjoint.SWEEP], plan[adjoint.PULL] = flow.sweep.address, self.desk.pull_function.address
        for word, place in ((adjoint.SLOT, D.SLOT), (adjoint.AGAIN, D.AGAIN), (adjoint.TRIAL, D.TRIAL)):
            plan[word] = self.desk.address + 8 * place
        plan[adjoint.SUMS] = self.desk.gradient.size > 0
        plan[P.DESK], plan[P.STATUS] = self.desk.address, self.desk.address + 8 * D.CODE
        self.run.plan[P.AT_TANGENT] = plan.ctypes.data
        self.derived = plan

    def _make_matrices(self) -> None:
        """What the way back needs where a Gauss method has needed Newton's iteration."""
        plan, n, stages = self.derived, self.n, self.run.integrator.stages
        self.matrix, self.pivots = np.empty((stages**2 + stages) * n * n), np.empty(stages * n, np.int64)
        plan[P.JACOBIAN] = self.desk.jacobian_function.address
        plan[P.AT_MATRIX], plan[P.MATRIX_SIZE] = self.matrix.ctypes.data, self.matrix.size
        plan[P.AT_PIVOTS] = self.pivots.ctypes.data

    def record(self, at: Any) -> Array:
        """Run, and return the states at these places of the times."""
        out = np.empty((at.size, self.n))
        if self.all is not None:
            out[:] = self.all[at]
            self.rows = np.ascontiguousarray(self.all[:-1]).reshape(-1)
            return out
        for first in range(0, self.steps, self.stride):
            last = min(first + self.stride, self.steps)
            self.checkpoints.append(self.run.y.copy())
            inside = (at >= first) & (at < last)
            self.rows = self._forward(first, last)
            out[inside] = self.rows.reshape(-1, self._row)[at[inside] - first, :self.n]
        out[at == self.steps] = self.run.y
        return out

    def _forward(self, first: int, last: int) -> Array:
        """What the steps first to last begin with."""
        rows, forward = np.empty((last - first) * self._row), _compiled(adjoint.forward, _FORWARD)
        begin = first
        while begin < last:
            end = min(begin + PIECE, last)
            part = rows[(begin - first) * self._row:(end - first) * self._row]
            code = forward(self.run.address, self.times, self.forces, self.which, begin, end, part)
            begin = int(self.run.plan[P.NEXT_EVAL])
            if code == P.NEED_MATRIX:
                self.run.make_matrices()
            elif code != P.FINISHED:
                self.run.num[P.T] = self.times[begin]
                message, cause = self.run.failure(code)
                raise IntegrationError(f"gradient: the run {message}") from cause
        return rows

    def back(self, at: Any, bars: Array) -> tuple[Array, Array]:
        """Weights of the beginning, and of the forces, for weights of the states at these places."""
        sample = np.full(self.steps + 1, -1, np.int64)
        sample[at] = np.arange(at.size)
        weights = np.zeros(self.n)
        nv = self.n - self.run.problem.split
        by_force = np.zeros((max(1, self.forces.size // max(nv, 1)), nv))
        room = np.zeros(20 * self.n)
        backward = _compiled(adjoint.backward, _BACKWARD)
        flat = np.ascontiguousarray(bars).reshape(-1)
        for first in range((self.steps - 1) // self.stride * self.stride, -1, -self.stride):
            last = min(first + self.stride, self.steps)
            if last < self.steps:  # the last ones are still there
                self.run.rewind()
                self.run.place(self.checkpoints[first // self.stride])
                self.rows = self._forward(first, last)
            end = last
            while end > first:
                begin = max(first, end - PIECE)
                part = self.rows[(begin - first) * self._row:(end - first) * self._row]
                code = backward(self.run.address, self.times, self.forces, self.which, begin, end, part, sample, flat,
                                weights, by_force.reshape(-1), room)
                if code == P.NEED_MATRIX:
                    self._make_matrices()
                    begin = int(self.run.plan[P.NEXT_EVAL])
                elif code != P.FINISHED:
                    raise IntegrationError(f"gradient: no derivative at t = {self.run.num[P.T_BAD]:.9g} s: "
                                           f"{self.run.problem.explain(int(self.run.plan[P.CODE]), 0.0)}")
                end = begin
        if sample[0] >= 0:
            weights += bars[sample[0]]
        return weights, by_force


def _fixed(method: options.Integrator, step: Any, stops: Array, t0: float) -> Array:
    """Times of all steps, none longer than `step`, from one stop to the next."""
    parts = [np.linspace(a, b, options.fixed_steps(method, step, None, b - a, t0) + 1)[:-1]
             for a, b in pairwise(stops)]
    return np.append(np.concatenate(parts), stops[-1])


def _adaptive(system: System, y: Array, stops: Array, forces: Array, bounds: Array, t0: float, t_end: float, tau: Any,
              wrench: Any, integrator: str, rtol: Any, atol: Any, step: Any) -> tuple[Array, Array]:
    """Times and states of a run that chooses its steps, and ends one at every stop."""
    nq, times, states = system.model.nq, [np.array([t0])], [y[None]]
    for a, b in pairwise(stops):
        acting = tau
        if forces.size:
            k = int(np.searchsorted(np.sort(bounds), 0.5 * (a + b)))
            acting = forces[k if t_end > t0 else len(bounds) - k]
        with Interrupt() as interrupt:
            run = system.simulate(y[:nq], y[nq:], (float(a), float(b)), integrator, rtol=rtol, atol=atol, step=step,
                                  tau=acting, wrench=wrench)
        refuse_failed(run, f"gradient: the run {run.message}")
        interrupt.obey()
        times.append(run.t[1:])
        states.append(np.hstack([run.q, run.p])[1:])
        y = states[-1][-1]
    return np.concatenate(times), np.concatenate(states)


def _forces(model: Model, tau: Any, t0: float, t_end: float) -> tuple[Array, Array]:
    """Joint forces that are numbers, one row a part of the span, and the times between the parts."""
    if tau is None or callable(tau):
        return np.empty((0, model.nv)), np.empty(0)
    given = inputs.numbers(tau, "tau", "joint forces, shape (nv,) or (m, nv)")
    if given.ndim <= 1:
        return inputs.vector(given, "tau", model.speed_names)[None].copy(), np.empty(0)
    shape = given.shape
    if len(shape) != 2 or shape[1] != model.nv or shape[0] == 0:
        raise StateError(f"tau: expected shape (nv,) = ({model.nv},), or (m, nv) for m equal parts of t_span, got "
                         f"{shape}")
    rows = np.array([inputs.vector(row, f"tau[{k}]", model.speed_names) for k, row in enumerate(given)])
    return rows, t0 + (t_end - t0) * np.arange(1, shape[0]) / shape[0]


# ---- the loss --------------------------------------------------------------------------------------------------------


def _judged(loss: Loss, t: Array, q: Array, p: Array) -> tuple[float, Array]:
    """The loss and its derivatives, (m, nq + nv)."""
    if not callable(loss):
        raise StateError(f"loss: expected a function loss(t, q, p), got {show(loss)}")
    answer = loss(t, q.copy(), p.copy())
    if not isinstance(answer, tuple):
        return _number(answer), _differences(loss, t, q, p)
    if len(answer) != 3:
        raise StateError(f"loss: expected a number or (value, q_bar, p_bar), got {len(answer)} things")
    bars = [inputs.real_array(bar, f"loss: {name}", like.shape, "derivatives in the shape of the states")
            for bar, name, like in ((answer[1], "q_bar", q), (answer[2], "p_bar", p))]
    if not all(np.isfinite(bar).all() for bar in bars):
        raise StateError("loss: its derivatives are not finite")
    return _number(answer[0]), np.hstack(bars)


def _number(value: Any) -> float:
    return number(value, "loss", StateError)


def _differences(loss: Loss, t: Array, q: Array, p: Array) -> Array:
    """Derivatives of a loss that is a number by each number of the states, of order 4."""
    y, bars = np.hstack([q, p]), np.empty((len(q), q.shape[1] + p.shape[1]))
    nq = q.shape[1]

    def at(k: tuple[int, ...], x: float) -> float:
        moved = y.copy()
        moved[k] = x
        return _number(loss(t, moved[:, :nq], moved[:, nq:]))

    for k in np.ndindex(*y.shape):
        h = 1e-3 * max(1.0, abs(float(y[k])))
        x = float(y[k])
        near, far = at(k, x + h) - at(k, x - h), at(k, x + 2.0 * h) - at(k, x - 2.0 * h)
        bars[k] = (8.0 * near - far) / (12.0 * h)
    return bars


# ---- constants -------------------------------------------------------------------------------------------------------


def _wanted(model: Model, parameters: Any) -> list[str]:
    """The names, each checked."""
    if isinstance(parameters, str) and parameters == "all":
        names = [f"{body.name}.{what}" for k, body in enumerate(model.body_specs) for what in (*OF_BODY, *OF_JOINT)
                 if _exists(model, k, what) and not (model.constraints and what == "position")]
        return [*names, "gravity"]
    names = several(parameters, "parameters", ModelError)
    for name in names:
        body, _, what = name.rpartition(".") if isinstance(name, str) else ("", "", "")
        if not body and what == "gravity":
            continue
        if body not in model.body_names or what not in (*OF_BODY, *OF_JOINT):
            raise ModelError(f"parameters: expected 'gravity', 'all', or a body and one of "
                             f"{', '.join((*OF_BODY, *OF_JOINT))} as 'body.mass', got {show(name)}")
        if not _exists(model, model.body_names.index(body), what):
            raise ModelError(f"parameters: {name!r}: this joint has no {what} that the gradient could be taken by "
                             "(welded and driven joints have none of their own; armature must not be zero)")
    return names


def _exists(model: Model, body: int, what: str) -> bool:
    """Whether there is such a constant; positions are those of joints whose first step is a dof."""
    block, spec = model.block, model.body_specs[body]
    if what == "position":
        row = places.body_row(block, body)
        if int(block[row + L.N_JOINT_NODES]) == 0:
            return False
        return bool(block[places.node_row(int(block[row + L.FIRST_NODE])) + L.DOFS] > 0)
    if what == "armature":
        return spec.armature is not None and any(spec.armature)
    return what in OF_BODY or spec.joint.nv > 0


def _constant(model: Model, gradient: Array, name: str) -> Any:
    """The gradient by one constant, from what compiled code has summed up (:mod:`.kernels.desk`)."""
    n = model.n_bodies
    if name == "gravity":
        return gradient[-3:].copy()
    body, _, what = name.rpartition(".")
    k = model.body_names.index(body)
    if what in OF_JOINT:
        first, count = int(model.v_offsets[k]), model.body_specs[k].joint.nv
        rows = gradient[D.G_BODY * n:D.G_BODY * n + D.G_DOF * model.nv].reshape(model.nv, D.G_DOF)
        return rows[first:first + count, OF_JOINT.index(what)].copy()
    own, spec = gradient[D.G_BODY * k:D.G_BODY * (k + 1)], model.body_specs[k]
    c, by_moment = np.array(spec.com, float), own[1:4]
    xx, yy, zz, xy, xz, yz = own[4:10]
    G = np.array([[xx, 0.5 * xy, 0.5 * xz], [0.5 * xy, yy, 0.5 * yz], [0.5 * xz, 0.5 * yz, zz]])
    if what == "position":
        return own[10:13].copy()
    if what == "inertia":
        return G
    if what == "com":  # the first moment is m c, the inertia about the origin J + m (c.c - c c^T)
        return spec.mass * (by_moment + 2.0 * (np.trace(G) * c - G @ c))
    return float(own[0] + by_moment @ c + np.sum(G * of_unit_mass(c)))
