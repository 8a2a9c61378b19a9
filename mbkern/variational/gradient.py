"""`mbkern.gradient`: the gradient of a scalar of a trajectory, by the adjoint of its steps, with checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import inputs, lazy
from ..errors import NotEnoughMemoryError, StateError
from ..inputs import Array
from ..integrate import memory, options
from ..integrate.tangents import in_coordinates, unit_state
from ..model.checks import number, show
from ..model.model import Model
from .forces import derivative_of
from .tape import give_back, lend

if TYPE_CHECKING:
    from ..signatures import Load
    from ..system import System

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
    method, relative, absolute = options.method_and_tolerances(integrator, rtol, atol, model.nq + model.nv)
    t0, t_end = options.interval(t_span)
    samples = np.array([t_end]) if t_eval is None else options.output_times(t_eval, t0, t_end)
    forces, bounds = _forces(model, tau, t0, t_end)
    if model.constraints:
        sizes = {"rtol": rtol, "atol": atol} if method.adaptive else {}
        return _with_constraints(loss, system, y0, samples, (t0, t_end), parameters, forces, bounds, tau, wrench,
                                 {"integrator": integrator, "step": step, **sizes})
    most = None if max_memory is None else options.positive(max_memory, "max_memory")
    derivative_of({name: f for name, f in (("tau", tau), ("wrench", wrench)) if callable(f)})
    stops = _stops(t0, t_end, samples, bounds)
    tape = lend(system, method, wrench is not None)
    wanted = tape.constants.wanted(parameters)
    tape.begin(y0, tau, wrench, forces, bounds, bool(wanted), most)
    if method.adaptive:
        first = 0.0 if step is None else options.positive(step, "step")
        states = tape.choose_steps(stops, first, relative, absolute)[_places(stops, samples)]
        at = _places(tape.times, samples)
    else:
        times = _fixed(method, step, stops, t0)
        at = _places(times, samples)
        states = tape.take_steps(times, at)
    q, p = states[:, :model.nq].copy(), states[:, model.nq:].copy()
    value, bars = _judged(loss, samples, q, p)
    weights, by_force = tape.back(at, bars)
    if model.quaternion_offsets.size:
        weights = in_coordinates(model, y0[:model.nq], np.eye(2 * model.nv)).T @ weights
    own = None
    if forces.size:
        own = by_force if len(np.shape(tau)) == 2 else by_force[0]  # type: ignore[arg-type]
    found = Gradient(value, weights[:model.nv], weights[model.nv:], own,
                     tape.constants.gradient(wanted, tape.desk.gradient), samples, q, p, tape.steps, tape.kept)
    give_back(system, tape)
    return found


def _with_constraints(loss: Loss, system: System, y0: Array, samples: Array, ends: tuple[float, float],
                      parameters: Any, forces: Array, bounds: Array, tau: Any, wrench: Any, how: dict[str, Any]
                      ) -> Gradient:
    """The same forward in time, see :mod:`.closed_gradient`."""
    constants = lazy.module("variational.constants").Constants(system.model, False)
    found = lazy.module("variational.closed_gradient").run_with_tangents(
        system, y0, samples, ends, constants.wanted(parameters), forces, bounds, tau, wrench, how)
    nq, nv = system.model.nq, system.model.nv
    q, p = found.states[:, :nq].copy(), found.states[:, nq:].copy()
    value, bars = _judged(loss, samples, q, p)
    start, by_force, by_constants = found.back(bars)
    own = None
    if forces.size:
        own = by_force if len(np.shape(tau)) == 2 else by_force[0]
    return Gradient(value, start[:nv], start[nv:], own, by_constants, samples, q, p, found.steps, found.steps)


# ---- times and forces ------------------------------------------------------------------------------------------------


def _stops(t0: float, t_end: float, samples: Array, bounds: Array) -> Array:
    """All times at which a step has to end, and the beginning."""
    if samples.size == 1 and samples[0] == t_end and not bounds.size:
        return np.array([t0, t_end])
    stops = np.unique(np.concatenate([[t0, t_end], samples, bounds]))
    return stops if t_end > t0 else stops[::-1].copy()


def _places(times: Array, samples: Array) -> Any:
    """Where samples are among times, in whichever direction these go."""
    forth = times[-1] > times[0]
    return np.searchsorted(times, samples) if forth else times.size - 1 - np.searchsorted(times[::-1], samples)


def _fixed(method: options.Integrator, step: Any, stops: Array, t0: float) -> Array:
    """Times of all steps, none longer than `step`, from one stop to the next."""
    counts = [options.fixed_steps(method, step, None, b - a, t0) for a, b in pairwise(stops)]
    needed = 8.0 * sum(counts)
    if needed > memory.SMALL and needed > memory.limit():
        raise NotEnoughMemoryError(f"gradient: the times of {sum(counts)} steps alone need {memory.gigabytes(needed)}, "
                                   f"the limit is {memory.gigabytes(memory.limit())}; take longer steps, or a shorter "
                                   "t_span")
    parts = [np.linspace(a, b, count + 1)[:-1] for count, (a, b) in zip(counts, pairwise(stops), strict=True)]
    return np.append(np.concatenate(parts), stops[-1])


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
    bars = np.concatenate([
        inputs.real_array(bar, f"loss: {name}", like.shape, "derivatives in the shape of the states")
        for bar, name, like in ((answer[1], "q_bar", q), (answer[2], "p_bar", p))], axis=1)
    if not np.isfinite(bars).all():
        raise StateError("loss: its derivatives are not finite")
    return _number(answer[0]), bars


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
