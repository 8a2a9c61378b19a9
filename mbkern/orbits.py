"""Periodic motions and their stability, and where motions cross a section.

>>> import mbkern as mb
>>> builder = mb.ModelBuilder()
>>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=1.0, com=(1.0, 0, 0))
>>> orbit = mb.orbits.periodic(mb.System(builder.build()), [0.6], [0.0], 2.3, step=0.005)
>>> orbit.residual < 1e-9
True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from . import inputs, lazy
from .errors import IntegrationError, StateError
from .inputs import Array
from .integrate import options
from .integrate.events import Event, EventRecord
from .integrate.progress import Interrupt
from .integrate.tangents import in_coordinates, in_tangents, refuse_failed, unit_state
from .model.checks import flag, number, show
from .model.model import Model

if TYPE_CHECKING:
    from .signatures import Load
    from .system import System

__all__ = ["PeriodicOrbit", "monodromy", "periodic", "poincare"]

ITERATIONS = 40
RANK = 1e-9  # singular values below this part of the largest say nothing: along the orbit, across families
HALVINGS = 8
SHORTEST, LONGEST = 0.1, 10.0  # of the guess of a period: every state is periodic with period 0, and far is not near
REACH = 3.0  # radians or metres of a correction, and in a period, where states and speeds are smaller
EFFORT = 2000  # runs of a period, as long as the first one, until shooting gives up
FIRST = 10.0  # seconds of the first part of a run that collects crossings
ON_CIRCLE = 1e-5  # nearer than this to the unit circle is on it: a double multiplier splits by the root of an error


class PeriodicOrbit(NamedTuple):
    """A motion that repeats itself.

    Attributes
    ----------
    q, p : arrays
        A state of it.
    period : float
        In seconds.
    monodromy : (2 nv, 2 nv)
        Derivative of the state after a period with respect to the state before, for changes that keep the constraints.
    multipliers : (k,) complex
        Its eigenvalues, largest first: 2 nv, with constraints two for each freedom. In a conservative machine two of
        them are 1: along the orbit, across energies.
    stable : bool
        Whether no multiplier is outside the unit circle.
    residual : float
        Largest difference of the states before and after a period.
    iterations : int
    """

    q: Array
    p: Array
    period: float
    monodromy: Array
    multipliers: Array
    stable: bool
    residual: float
    iterations: int


def monodromy(system: System, q0: ArrayLike, p0: ArrayLike, period: float, *, t0: float = 0.0,
              integrator: str = "gauss6", step: float | None = None, rtol: float = 1e-11, atol: ArrayLike = 1e-12,
              tau: Load | None = None) -> Array:
    """The state-transition matrix over a period, (2 nv, 2 nv), q along its tangents; arguments as in `periodic`.

    With constraints it is that of changes which keep them, and zero for those across.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> M = mb.orbits.monodromy(mb.System(mb.zoo.chain(2)), [0.1, 0.2], [0.0, 0.0], 1.0)
    >>> bool(abs(np.linalg.det(M) - 1.0) < 1e-11)
    True
    """
    length = options.positive(period, "period")
    _, M, N = _flow(system, unit_state(system, q0, p0, "monodromy"), inputs.time(t0), length, integrator, step, rtol,
                    atol, tau, [])
    return M @ N.T


def periodic(system: System, q0: ArrayLike, p0: ArrayLike, period: float, *, fixed_period: bool | None = None,
             energy: float | None = None, turns: ArrayLike | None = None, t0: float = 0.0, integrator: str = "gauss6",
             step: float | None = None, rtol: float = 1e-11, atol: ArrayLike = 1e-12, tau: Load | None = None,
             tolerance: float = 1e-9) -> PeriodicOrbit:
    """The periodic motion near a state, by shooting: Newton's method for y(T) = y(0) with exact derivatives.

    Periodic motions of a conservative machine come in families; the nearest one is found, by the smallest corrections
    (of state and period) that the linear equations allow. `energy` picks one.

    Parameters
    ----------
    system : System
    q0, p0 : arrays
        A state near the orbit.
    period : float
        A guess of the period, in seconds.
    fixed_period : bool, optional
        Keep the period; by default for machines with driven joints, and force functions, which know the time.
    energy : float, optional
        Hamiltonian of the orbit, in joules.
    turns : (nq,), optional
        Whole turns by which coordinates advance in a period: q(T) = q(0) + 2 pi turns.
    t0 : float
        Time at the beginning, for what depends on it.
    integrator, step, rtol, atol
        As in `System.simulate`; a fixed step is a 400th of the period by default.
    tau : (nv,) or njit function with a derivative, optional
        Joint forces, see `mbkern.forces.with_derivative`.
    tolerance : float
        Of the largest difference of the states before and after, relative to their size (1 where that is smaller).

    Returns
    -------
    PeriodicOrbit

    Raises
    ------
    IntegrationError
        Where Newton's method stalls, with the residual and the multipliers that it came to, or finds an equilibrium. It
        goes no further from the guess than ten periods and a tenth of one, and takes no longer than 2000 runs over the
        first period.

    Examples
    --------
    A pendulum that swings by 1 rad to each side:

    >>> import mbkern as mb, numpy as np
    >>> builder = mb.ModelBuilder()
    >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=1.0, com=(1.0, 0, 0))
    >>> system = mb.System(builder.build())
    >>> E = -9.81 * np.cos(1.0)
    >>> orbit = mb.orbits.periodic(system, [np.pi / 2 - 1.0], [0.0], 2.0, energy=E)
    >>> round(orbit.period, 6), orbit.stable
    (2.139138, True)
    """
    model = inputs.system(system).model
    if model.nv == 0:
        raise StateError("periodic: the model has no dofs, nothing can move")
    y, T, t = unit_state(system, q0, p0, "periodic"), options.positive(period, "period"), inputs.time(t0)
    keep = _knows_time(model, tau) if fixed_period is None else flag(fixed_period, "fixed_period", StateError)
    if energy is not None and (keep or callable(tau) or model.damping.any()):
        raise StateError("energy: the machine is dissipative, driven or forced: its energy is none that an orbit keeps")
    E = None if energy is None else number(energy, "energy", StateError)
    winding = np.zeros(model.nq) if turns is None else inputs.vector(turns, "turns", model.coordinate_names)
    limit = options.positive(tolerance, "tolerance")
    effort: list[int] = []
    how = integrator, step, rtol, atol, tau, effort
    end, M, N = _flow(system, y, t, T, *how)
    F, missing = _apart(model, y, end, winding), _missing(system, y, t, E)
    for iteration in range(ITERATIONS + 1):
        size, residual = max(1.0, float(np.abs(y).max(initial=0.0))), float(np.abs(F).max(initial=0.0))
        if residual <= limit * size and abs(missing) <= limit * max(1.0, abs(E or 0.0)):
            if not keep and not winding.any() and T * _speed(system, y, t) <= limit * size:
                raise IntegrationError(
                    f"periodic: Newton's method came to an equilibrium, q = {show(y[:model.nq].tolist())}, which "
                    "repeats itself after any time; begin farther from it, with another guess of the period, or give "
                    "energy")
            return _orbit(y, model, T, M, N, residual, iteration)
        if iteration == ITERATIONS:
            break
        correction = _newton(system, y, end, t, T, M, N, F, missing if E is not None else None, keep)
        correction *= _trusted(system, y, t, T, correction)
        for halving in range(HALVINGS + 1):
            part = 0.5**halving
            longer = T + part * float(correction[-1])
            if SHORTEST * period < longer < LONGEST * period and sum(effort) < EFFORT * effort[0]:
                try:
                    moved = _closed(system, _moved(model, y, part * correction[:-1]), t)
                    new_end, new_M, new_N = _flow(system, moved, t, longer, *how)
                except IntegrationError:
                    continue
                new_F, new_missing = _apart(model, moved, new_end, winding), _missing(system, moved, t, E)
                nearer = math.hypot(np.linalg.norm(new_F), new_missing) < math.hypot(np.linalg.norm(F), missing)
                if nearer or np.abs(new_F).max(initial=0.0) <= limit * size:
                    break
        else:
            break
        y, T, end, M, N, F, missing = moved, longer, new_end, new_M, new_N, new_F, new_missing
    multipliers = _multipliers(N.T @ M)
    off = "" if E is None else f", the energy is {-missing:.3g} J off"
    raise IntegrationError(
        f"periodic: Newton's method stalls after {iteration} iterations at a period of {T:.9g} s: the states before "
        f"and after differ by {residual:.3g}{off}; multipliers so far {np.array2string(multipliers, precision=4)}; "
        f"begin nearer to the orbit, with another guess of the period, or "
        f"{'give energy' if E is None else 'another energy'}")


def poincare(system: System, q0: ArrayLike, p0: ArrayLike, section: Callable[..., float] | Event | str, count: int, *,
             value: float = 0.0, direction: int = 1, longest: float = 1e4, integrator: str = "dopri5",
             step: float | None = None, rtol: float = 1e-10, atol: ArrayLike = 1e-12, tau: Load | None = None
             ) -> EventRecord:
    """Where a motion crosses a section: its Poincare map, point by point.

    Parameters
    ----------
    system : System
    q0, p0 : arrays
        Where the motion begins.
    section : str, njit g(t, q, p) or Event
        The name of a coordinate, which is to pass `value` (angles: at every turn); or a function that is to change its
        sign.
    count : int
        Crossings.
    value : float
        Of the coordinate, in rad or m.
    direction : -1, 0 or 1
        1: with growing coordinate or function only, -1: with falling, 0: both.
    longest : float
        Seconds after which an IntegrationError says how many crossings there were.
    integrator, step, rtol, atol, tau
        As in `System.simulate`.

    Returns
    -------
    EventRecord
        t (count,), q (count, nq), p (count, nv).

    Examples
    --------
    >>> import mbkern as mb
    >>> model = mb.zoo.chain(2)
    >>> points = mb.orbits.poincare(mb.System(model), [1.5, 2.0], [0.0, 0.0], model.coordinate_names[0], 5)
    >>> points.q.shape
    (5, 2)
    """
    model, wanted = inputs.system(system).model, options.count(count, "count")
    limit, y, t = options.positive(longest, "longest"), unit_state(system, q0, p0, "poincare"), 0.0
    sense = Event(_always, direction).direction
    if isinstance(section, str):
        g, j = _named(system, section, number(value, "value", StateError))
        event = Event(g)  # which way it crosses is told by its speed
    else:
        event, j = Event(section.g if isinstance(section, Event) else section, sense), -1
    event.name = section if isinstance(section, str) else event.name
    times, states, length = [np.empty(0)], [np.empty((0, y.size))], min(FIRST, limit)
    while True:
        with Interrupt() as interrupt:
            run = system.simulate(y[:model.nq], y[model.nq:], (t, t + length), integrator, step=step, rtol=rtol,
                                  atol=atol, events=event, tau=tau, save_every=2**40)
        found = run.events[0]
        keep = [k for k in range(found.t.size) if j < 0 or sense == 0
                or sense * system.rhs(found.q[k], found.p[k], float(found.t[k]))[0][j] > 0.0]
        times.append(found.t[keep])
        states.append(np.hstack([found.q, found.p])[keep])
        total, t, y = sum(map(len, times)), float(run.t[-1]), np.concatenate([run.q[-1], run.p[-1]])
        if total >= wanted:
            all_t, all_y = np.concatenate(times)[:wanted], np.concatenate(states)[:wanted]
            return EventRecord(all_t, all_y[:, :model.nq].copy(), all_y[:, model.nq:].copy())
        said = (f"poincare: {total} of {wanted} crossings of {event.name!r}, then the run {run.message}; begin "
                "elsewhere, or give it longer")
        refuse_failed(run, said)
        interrupt.obey()
        if t >= limit:
            raise IntegrationError(said)
        length = min(2.0 * length, limit - t)


# ---- inside --------------------------------------------------------------------------------------------------------


def _flow(system: System, y: Array, t: float, T: float, integrator: str, step: float | None, rtol: float,
          atol: ArrayLike, tau: Load | None, effort: list[int]) -> tuple[Array, Array, Array]:
    """The state after T seconds, its derivative by changes (2 nv, k) of the first one, and these; its evaluations are
    added to the effort."""
    method, nq = options.integrator_named(integrator), system.model.nq
    how: dict[str, Any] = ({"rtol": rtol, "atol": atol, "step": step} if method.adaptive
                           else {"step": T / 400.0 if step is None else step})
    consistent = lazy.module("derivatives.consistent").Consistent(system)
    if system.model.constraints:
        system.check_consistent(y[:nq], y[nq:], t)
    N = consistent.directions(y[:nq], y[nq:], t)
    with Interrupt() as interrupt:
        run = system.simulate(y[:nq], y[nq:], (t, t + T), integrator, tau=tau, tangent=N, t_eval=[t + T], **how)
    effort.append(run.nfev)
    refuse_failed(run, f"the run over a period of {T:.9g} s {run.message}")
    interrupt.obey()
    q, p = run.q[-1], run.p[-1]
    return np.concatenate([q, p]), consistent.nearest(q, p, t + T, run.tangent[-1]), N


def _newton(system: System, y: Array, end: Array, t: float, T: float, M: Array, N: Array, F: Array,
            missing: float | None, keep: bool) -> Array:
    """The smallest correction of (tangent of y, T) that brings both ends together, to first order."""
    model = system.model
    late = np.concatenate([system.velocities(end[:model.nq], end[model.nq:], t + T),
                           system.rhs(end[:model.nq], end[model.nq:], t + T)[1]])
    if keep:
        late[:] = 0.0
    A, b = np.hstack([M - N, late[:, None]]), -F
    if missing is not None:
        # dH = u . dp - pdot . d: along tangents too, since the Lie-Poisson terms do no work
        u, pdot = system.velocities(y[:model.nq], y[model.nq:], t), system.rhs(y[:model.nq], y[model.nq:], t)[1]
        A, b = np.vstack([A, np.append(np.concatenate([-pdot, u]) @ N, 0.0)]), np.append(b, missing)
    step: Array = np.linalg.lstsq(A, b, rcond=RANK)[0]
    return np.append(N @ step[:-1], 0.0 if keep else step[-1])


def _speed(system: System, y: Array, t: float) -> float:
    """How fast a state changes."""
    nq = system.model.nq
    return float(np.abs(np.concatenate(system.rhs(y[:nq], y[nq:], t))).max(initial=0.0))


def _missing(system: System, y: Array, t: float, E: float | None) -> float:
    """Energy that a state lacks."""
    nq = system.model.nq
    return 0.0 if E is None else E - system.energy(y[:nq], y[nq:], t).hamiltonian


def _trusted(system: System, y: Array, t: float, T: float, correction: Array) -> float:
    """How much of a correction is worth a try: far away the linear equations know nothing, and runs may take for ever.

    The configuration changes by no more than its size, joint speeds likewise, the period by no more than half.
    """
    nq, nv = system.model.nq, system.model.nv
    q, p, move, longer = y[:nq], y[nq:], correction[:nv], float(correction[-1])
    u = system.velocities(q, p, t)
    faster = system.velocities(q, p + correction[nv:2 * nv], t) - u
    bounds = ((np.abs(move).max(initial=0.0), max(REACH, np.abs(q).max(initial=0.0))),
              (np.abs(faster).max(initial=0.0), max(REACH / T, np.abs(u).max(initial=0.0))), (abs(longer), 0.5 * T))
    return min([1.0, *(most / wanted for wanted, most in bounds if wanted > most)])


def _apart(model: Model, y: Array, end: Array, winding: Array) -> Array:
    """(tangent, dp) from y to the end, to first order in the tangents of quaternions."""
    d = end - y
    d[:model.nq] -= 2.0 * np.pi * winding
    for at in model.quaternion_offsets:
        if end[at:at + 4] @ y[at:at + 4] < 0.0:  # the same rotation
            d[at:at + 4] = -end[at:at + 4] - y[at:at + 4]
    return in_tangents(model, y[None, :model.nq], d[None, :, None])[0, :, 0]


def _moved(model: Model, y: Array, step: Array) -> Array:
    """The state moved along its tangent; quaternions scaled to length one."""
    new: Array = y + in_coordinates(model, y[:model.nq], step[:, None])[:, 0]
    for at in model.quaternion_offsets:
        new[at:at + 4] /= np.linalg.norm(new[at:at + 4])
    return new


def _closed(system: System, y: Array, t: float) -> Array:
    """The state, brought back to the constraints that a step along their tangents has left."""
    if not system.model.constraints:
        return y
    q = system.assemble(y[:system.model.nq], t=t)
    return np.concatenate([q, system.impact(q, y[system.model.nq:], t)])


def _multipliers(M: Array) -> Array:
    values = np.linalg.eigvals(M)
    return np.asarray(values[np.argsort(-np.abs(values), kind="stable")])


def _orbit(y: Array, model: Model, T: float, M: Array, N: Array, residual: float, iterations: int) -> PeriodicOrbit:
    multipliers = _multipliers(N.T @ M)
    stable = bool((np.abs(multipliers) <= 1.0 + ON_CIRCLE).all())
    q, p = y[:model.nq].copy(), y[model.nq:].copy()
    return PeriodicOrbit(q, p, T, M @ N.T, multipliers, stable, residual, iterations)


def _knows_time(model: Model, tau: Any) -> bool:
    """Whether something depends on the time."""
    return callable(tau) or any(element.is_driven for body in model.body_specs for element in body.joint.elements)


@njit
def _always(t, q, p):
    return 1.0


def _named(system: System, name: str, value: float) -> tuple[Any, int]:
    """A function that changes its sign where a coordinate passes a value, an angle at every turn; its place in q."""
    model = system.model
    if name not in model.coordinate_names:
        raise StateError(f"section: expected a coordinate ({', '.join(model.coordinate_names)}) or an njit function, "
                         f"got {show(name)}")
    j = model.coordinate_names.index(name)
    if any(at <= j < at + 4 for at in model.quaternion_offsets):
        raise StateError(f"section: {name!r} is a number of a quaternion; give an njit function g(t, q, p)")
    q = model.neutral()
    before = system.body_poses(q)
    q[j] += 2.0 * np.pi
    after = system.body_poses(q)
    angle = all(np.allclose(a, b, rtol=0.0, atol=1e-9) for a, b in zip(before, after, strict=True))
    return _passing(j, value, angle), j


@lru_cache(maxsize=64)
def _passing(j: int, value: float, angle: bool) -> Any:
    """The function of coordinate j; kept, because to compile it takes longer than many crossings."""
    if angle:
        @njit
        def passing(t, q, p):
            return np.sin(0.5 * (q[j] - value))
    else:
        @njit
        def passing(t, q, p):
            return q[j] - value
    return passing
