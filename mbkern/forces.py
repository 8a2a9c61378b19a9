"""Joint forces that machines have by nature: soft stops at the limits of joints, friction; and sums of forces.

They are compiled functions f(t, q, p, u, out, i=0) for the argument `tau` of `simulate`, `stepper`, `simulate_batch`
and `embed.CFunc`. `u` are the joint speeds; to have them costs one more sweep over the tree for each evaluation.

>>> import mbkern as mb
>>> b = mb.ModelBuilder()
>>> _ = b.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(1, 0, 0), limits=(-0.5, 0.5), friction=0.2)
>>> model = b.build()
>>> tau = mb.forces.combine(mb.forces.soft_limits(model), mb.forces.friction(model))
>>> run = mb.System(model).simulate([0.0], [0.0], (0.0, 1.0), tau=tau)
>>> bool(run.q.max() < 0.6)
True
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from math import tanh
from typing import Any

import numpy as np
from numba import njit
from numba.extending import is_jitted
from numpy.typing import ArrayLike

from .callbacks import check_arguments, name_of, wants_speeds
from .errors import ModelError, StateError
from .inputs import Array, numbers, vector
from .integrate.limits import coordinate_places
from .model.checks import number, show
from .model.model import Model
from .system import System
from .variational import forces as derivatives

__all__ = ["combine", "friction", "soft_limits", "with_derivative"]


def __dir__() -> list[str]:
    return __all__


RATE = 200.0  # 1/s, of a stop that is chosen here: it takes some milliseconds to turn a joint round
RATIO = 0.7  # its damping, 1 for no oscillation


def soft_limits(model: Model, stiffness: ArrayLike | None = None, damping: ArrayLike | None = None,
                width: float = 1e-3) -> Callable[..., Any]:
    """Springs and dampers that act where a coordinate is beyond `model.limits`.

    Beyond a limit by x, at a speed v outward, a joint is pushed back by ``stiffness x + damping v min(x / width, 1)``,
    but never pulled. The force is continuous, so steps of adaptive integrators stay long.

    Parameters
    ----------
    model : Model
        With limits: from a file, or of `ModelBuilder.add_body(..., limits=(lower, upper))`.
    stiffness : float or (nv,), optional
        N m/rad or N/m. By default such that the joint, with all others free, would swing on its stop at 200 1/s.
        Stiffer stops give way less and need shorter steps.
    damping : float or (nv,), optional
        N m s/rad or N s/m; by default 0.7 of what lets nothing bounce.
    width : float
        Over which the damper comes in, rad or m.

    Returns
    -------
    njit function f(t, q, p, u, out, i=0)

    Examples
    --------
    >>> import mbkern as mb
    >>> b = mb.ModelBuilder()
    >>> _ = b.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(1, 0, 0), limits=(-0.5, 0.5))
    >>> model = b.build()
    >>> run = mb.System(model).simulate([0.0], [0.0], (0.0, 1.0), tau=mb.forces.soft_limits(model))
    >>> bool(0.5 < run.q.max() < 0.55)
    True
    """
    _check_model(model, "soft_limits")
    lower, upper, places = model.limits.lower, model.limits.upper, coordinate_places(model)
    stops = (places >= 0) & (np.isfinite(lower) | np.isfinite(upper))
    if not stops.any():
        raise ModelError(f"soft_limits: model {model.name!r} has no limits; give them with "
                         "add_body(..., limits=(lower, upper))")
    inertia = np.zeros(model.nv)
    if stiffness is None or damping is None:
        inertia = 1.0 / np.diag(System(model).inverse_mass_matrix(model.neutral()))
    k = inertia * RATE**2 if stiffness is None else _of_dofs(stiffness, model, "soft_limits: stiffness")
    d = 2.0 * RATIO * np.sqrt(k * inertia) if damping is None else _of_dofs(damping, model, "soft_limits: damping")
    width = number(width, "soft_limits: width", StateError)
    if not width > 0.0:
        raise StateError(f"soft_limits: width: expected a positive number, got {width:g}")
    nq, dofs, over = model.nq, np.flatnonzero(stops), 1.0 / width

    @njit
    def soft_stops(t, q, p, u, out, i=0):
        if q.shape[0] != nq:
            raise ValueError("soft_limits: made for another model")
        for j in dofs:
            x = q[places[j]]
            if x > upper[j]:
                beyond = x - upper[j]
                out[j] -= max(0.0, k[j] * beyond + d[j] * u[j] * min(beyond * over, 1.0))
            elif x < lower[j]:
                beyond = lower[j] - x
                out[j] += max(0.0, k[j] * beyond - d[j] * u[j] * min(beyond * over, 1.0))

    @njit
    def by_state(t, q, p, u, tau_q, tau_p, tau_u):
        for j in dofs:
            x = q[places[j]]
            if x > upper[j]:
                beyond, sign = x - upper[j], 1.0
            elif x < lower[j]:
                beyond, sign = lower[j] - x, -1.0
            else:
                continue
            part = min(beyond * over, 1.0)
            if k[j] * beyond + sign * d[j] * u[j] * part > 0.0:
                tau_u[j, j] -= d[j] * part
                tau_q[j, places[j]] -= k[j] + (sign * d[j] * u[j] * over if beyond * over < 1.0 else 0.0)

    return with_derivative(soft_stops, by_state)


def friction(model: Model, coulomb: ArrayLike | None = None, viscous: ArrayLike = 0.0,
             speed: float = 1e-2) -> Callable[..., Any]:
    """Dry and viscous friction of the joints: ``-coulomb tanh(u / speed) - viscous u``.

    Dry friction jumps where a joint turns round; here it changes over a small speed. So a joint under load creeps
    instead of standing still, slower than `speed`. A smaller `speed` is nearer to the jump and needs shorter steps.

    Parameters
    ----------
    model : Model
    coulomb : float or (nv,), optional
        N m or N; by default `model.friction`, from a file or of `ModelBuilder.add_body(..., friction=...)`.
    viscous : float or (nv,)
        N m s/rad or N s/m, beside the model's own dampers.
    speed : float
        rad/s or m/s.

    Returns
    -------
    njit function f(t, q, p, u, out, i=0)

    Examples
    --------
    A puck slides 0.5 m with 0.2 N on 1 kg, from 0.447 m/s to rest:

    >>> import mbkern as mb
    >>> b = mb.ModelBuilder()
    >>> _ = b.add_body("puck", joint=mb.prismatic("x"), mass=1.0, friction=0.2)
    >>> model = b.build()
    >>> run = mb.System(model).simulate([0.0], [0.2 ** 0.5], (0.0, 4.0), tau=mb.forces.friction(model, speed=1e-3))
    >>> round(float(run.q[-1, 0]), 3)
    0.5
    """
    _check_model(model, "friction")
    dry = model.friction if coulomb is None else _of_dofs(coulomb, model, "friction: coulomb")
    wet = _of_dofs(viscous, model, "friction: viscous")
    if not (dry.any() or wet.any()):
        raise ModelError(f"friction: model {model.name!r} has none; give coulomb or viscous, or "
                         "add_body(..., friction=...)")
    speed = number(speed, "friction: speed", StateError)
    if not speed > 0.0:
        raise StateError(f"friction: speed: expected a positive number, got {speed:g}")
    nv, over = model.nv, 1.0 / speed

    @njit
    def joint_friction(t, q, p, u, out, i=0):
        if u.shape[0] != nv:
            raise ValueError("friction: made for another model")
        for j in range(nv):
            out[j] -= dry[j] * tanh(u[j] * over) + wet[j] * u[j]

    @njit
    def by_state(t, q, p, u, tau_q, tau_p, tau_u):
        for j in range(nv):
            slope = tanh(u[j] * over)
            tau_u[j, j] -= dry[j] * over * (1.0 - slope * slope) + wet[j]

    return with_derivative(joint_friction, by_state)


def with_derivative(f: Callable[..., Any], derivative: Callable[..., Any] | str | None = None) -> Callable[..., Any]:
    """Let tangents, gradients and Jacobians know the derivative of a force function; returns the function itself.

    The functions of this module have theirs.

    Parameters
    ----------
    f : njit function f(t, q, p, out) or f(t, q, p, u, out)
        For the argument `tau`; or, without a derivative, for `wrench`.
    derivative : njit function or "duals", optional
        df(t, q, p, tau_q, tau_p) writes the derivatives by q (nv, nq) and by p (nv, nv); they are zero when it is
        called. With joint speeds df(t, q, p, u, tau_q, tau_p, tau_u), each at constant others. "duals": exact, by
        compiling f once more for dual numbers; f may read and write numbers one by one, with arithmetic, powers,
        comparisons, min, max, abs and the usual functions of math and numpy. By default differences of fourth order
        over 1e-3 of each number of (q, p) (of 1 where that is smaller): good to about 1e-11 where f is smooth over that
        distance, and wrong where it bends within it.

    Examples
    --------
    >>> import mbkern as mb, numba
    >>> @numba.njit
    ... def spring(t, q, p, out):
    ...     out[0] = -4.0 * q[0] ** 3
    >>> @numba.njit
    ... def by_state(t, q, p, tau_q, tau_p):
    ...     tau_q[0, 0] = -12.0 * q[0] ** 2
    >>> tau = mb.forces.with_derivative(spring, by_state)
    >>> run = mb.System(mb.zoo.chain(1)).simulate([0.3], [0.0], (0.0, 0.1), tau=tau, tangent=True)
    >>> run.tangent.shape[1:]
    (2, 2)

    or, without the second function, ``mb.forces.with_derivative(spring, "duals")``.
    """
    known: Callable[..., Any] = derivatives.with_derivative(f, derivative)
    return known


@lru_cache(maxsize=64)
def _nature(model: Model, soft: bool, rough: bool) -> Callable[..., Any]:
    """Stops and friction of a model, as far as wanted: compiled once for a model."""
    parts = [soft_limits(model)] if soft else []
    return combine(*parts, *[friction(model)] if rough else [])


@lru_cache(maxsize=64)
def _nature_beside(nature: Callable[..., Any], tau: Any) -> Callable[..., Any]:
    """Stops and friction beside a function of joint forces."""
    if is_jitted(tau):
        return combine(nature, tau)
    check_arguments(tau, "tau", "f(t, q, p, u, out)" if wants_speeds(tau) else "f(t, q, p, out)")

    def beside(t: float, q: Array, p: Array, u: Array, out: Array) -> Any:
        more = np.zeros(out.size)
        answer = tau(t, q, p, u, more) if wants_speeds(tau) else tau(t, q, p, more)
        nature(t, q, p, u, out)
        out += more
        return answer

    beside.__name__ = name_of(tau)
    return beside


def with_nature(model: Model, tau: Any, limits: Any, rough: Any, control_step: Any) -> Callable[..., Any]:
    """The joint forces of a run with `limits` and `friction`, see `System.simulate`."""
    if limits not in (None, "soft"):
        raise StateError(f'limits: expected None or "soft", got {show(limits)}')
    if control_step is not None:
        raise StateError("control_step: what a controller gives is held between its calls, stops and friction change "
                         "all the time; leave limits and friction out, or control_step: without it tau may be Python "
                         "as well")
    nature = _nature(model, limits == "soft", bool(rough))
    if tau is None:
        return nature
    if not callable(tau):
        return _nature_beside(nature, _constant(tuple(vector(tau, "tau", model.speed_names).tolist())))
    return _nature_beside(nature, tau)


@lru_cache(maxsize=64)
def _constant(tau: tuple[float, ...]) -> Callable[..., Any]:
    numbers = np.array(tau)

    @njit
    def constant(t, q, p, u, out, i=0):
        for j in range(out.shape[0]):
            out[j] = numbers[j]

    return constant


def combine(*functions: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of several functions of joint forces, as one.

    Parameters
    ----------
    *functions : njit functions
        f(t, q, p, out) or f(t, q, p, u, out), each followed by i, the number of a state of a batch, or not. Each finds
        `out` zero.

    Returns
    -------
    njit function f(t, q, p, u, out, i=0)

    Examples
    --------
    >>> import mbkern as mb, numba
    >>> @numba.njit
    ... def motor(t, q, p, out):
    ...     out[0] = 2.0
    >>> model = mb.zoo.chain(2)
    >>> tau = mb.forces.combine(motor, mb.forces.friction(model, viscous=0.5))
    >>> mb.System(model).simulate(model.neutral(), [0, 0], (0, 0.1), tau=tau).success
    True
    """
    if not functions:
        raise StateError("combine: expected at least one function")
    total = _in_full(functions[0])
    for f in functions[1:]:
        total = _sum(total, _in_full(f))
    if all(map(derivatives.is_exact, functions)):
        return with_derivative(total, _sum_of_derivatives([derivatives.in_full(f) for f in functions]))
    return with_derivative(total) if all(map(derivatives.has_derivative, functions)) else total


def _in_full(f: Any) -> Any:
    """f with all arguments, whichever it takes."""
    if not is_jitted(f):
        raise StateError(f"combine: expected njit functions of joint forces, got {name_of(f)!r}; decorate it with "
                         "@numba.njit")
    count = len(inspect.signature(f.py_func).parameters)
    if wants_speeds(f):
        check_arguments(f, "combine", "f(t, q, p, u, out, i)" if count > 5 else "f(t, q, p, u, out)")
        if count > 5:
            @njit
            def call(t, q, p, u, out, i=0):
                f(t, q, p, u, out, i)
        else:
            @njit
            def call(t, q, p, u, out, i=0):
                f(t, q, p, u, out)
    else:
        check_arguments(f, "combine", "f(t, q, p, out, i)" if count > 4 else "f(t, q, p, out)")
        if count > 4:
            @njit
            def call(t, q, p, u, out, i=0):
                f(t, q, p, out, i)
        else:
            @njit
            def call(t, q, p, u, out, i=0):
                f(t, q, p, out)
    return call


def _sum(a: Any, b: Any) -> Any:
    @njit
    def forces(t, q, p, u, out, i=0):
        a(t, q, p, u, out, i)
        more = np.zeros(out.shape[0])
        b(t, q, p, u, more, i)
        for j in range(out.shape[0]):
            out[j] += more[j]

    return forces


def _sum_of_derivatives(parts: list[Any]) -> Any:
    """All derivatives add to what is there: one after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    rest = _sum_of_derivatives(parts[1:])

    @njit
    def by_state(t, q, p, u, tau_q, tau_p, tau_u):
        rest(t, q, p, u, tau_q, tau_p, tau_u)
        by_q, by_p, by_u = np.zeros(tau_q.shape), np.zeros(tau_p.shape), np.zeros(tau_u.shape)
        first(t, q, p, u, by_q, by_p, by_u)
        tau_q += by_q
        tau_p += by_p
        tau_u += by_u

    return by_state


def _check_model(model: Any, who: str) -> None:
    if not isinstance(model, Model):
        raise ModelError(f"{who}: expected a Model, got {show(model)}; system.model is that of a System")


def _of_dofs(value: ArrayLike, model: Model, what: str) -> Array:
    """A number for each dof, none of them negative."""
    expected = f"a number or one for each of {model.nv} dofs"
    given = numbers(value, what, expected)
    if given.shape not in ((), (1,), (model.nv,)):
        raise StateError(f"{what}: expected {expected}, got shape {given.shape}")
    array = np.array(np.broadcast_to(given, (model.nv,)))
    if not ((array >= 0.0) & (array < np.inf)).all():
        raise StateError(f"{what}: expected finite numbers that are not negative, got {show(value)}")
    return array
