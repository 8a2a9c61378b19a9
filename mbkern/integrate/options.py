"""The arguments of `simulate` and `Stepper`, validated: every refusal names the argument and what to do."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import MethodError, StateError
from ..inputs import Array
from ..inputs import numbers as numbers_of
from ..model.checks import number, pair, show
from .kernels import plan as P

MOST = 2**53  # steps, crossings
SMALLEST_RTOL = 100 * np.finfo(float).eps
ROUNDING = 1e-12  # part of a step that is none


@dataclass(frozen=True)
class Integrator:
    """A way to take steps.

    Attributes
    ----------
    name : str
    about : str
        One line for people.
    kind, stages : int
        For the kernels.
    order : int
        The global error shrinks with this power of the step.
    adaptive : bool
        Whether it chooses its steps by a tolerance.
    dense : int
        Vectors of a step's dense output (4: cubic Hermite, order 3; 5: order 4).
    """

    name: str
    about: str
    kind: int
    stages: int
    order: int
    adaptive: bool = False
    dense: int = 4


INTEGRATORS = {entry.name: entry for entry in (
    Integrator("rk4", "classical Runge-Kutta, order 4, fixed step", P.RK4, 4, 4),
    Integrator("dopri5", "Dormand-Prince 5(4), adaptive", P.DOPRI5, 7, 5, True, 5),
    Integrator("midpoint", "implicit midpoint rule, order 2, symplectic, fixed step", P.GAUSS, 1, 2),
    Integrator("gauss4", "Gauss collocation, order 4, symplectic, fixed step", P.GAUSS, 2, 4),
    Integrator("gauss6", "Gauss collocation, order 6, symplectic, fixed step", P.GAUSS, 3, 6),
)}


def integrator_named(name: Any) -> Integrator:
    """The integrator of that name, or a MethodError that lists the names."""
    if not isinstance(name, str) or name not in INTEGRATORS:
        raise MethodError(f"integrator: expected one of {', '.join(INTEGRATORS)}, got {show(name)}")
    return INTEGRATORS[name]


def interval(value: Any) -> tuple[float, float]:
    """Two different finite times."""
    begin, end = value if type(value) is tuple and len(value) == 2 else pair(
        value, "t_span", "two times (begin, end)", StateError)
    if type(begin) is type(end) is float and begin != end and math.isfinite(end - begin):
        return begin, end
    t0, t1 = number(begin, "t_span[0]", StateError), number(end, "t_span[1]", StateError)
    if t0 == t1:
        raise StateError(f"t_span: begin and end are both {t0:g}; expected two different times "
                         "(end before begin integrates backward)")
    return t0, t1


def positive(value: Any, what: str) -> float:
    """A finite number greater than zero."""
    x = number(value, what, StateError)
    if not x > 0.0:
        raise StateError(f"{what}: expected a positive number, got {x:g}")
    return x


def nonzero(value: Any, what: str) -> float:
    """A finite number other than zero; a negative step goes back in time."""
    x = number(value, what, StateError)
    if x == 0.0:
        raise StateError(f"{what}: expected a number other than zero, got {x:g}")
    return x


@lru_cache(maxsize=100, typed=True)
def _usual(integrator: str, rtol: float, atol: float) -> tuple[Integrator, float, float]:
    """These three where they are a name and two numbers; short runs ask for the same ones again and again."""
    return integrator_named(integrator), relative_tolerance(rtol), positive(atol, "atol")


def method_and_tolerances(integrator: Any, rtol: Any, atol: Any, size: int) -> tuple[Integrator, float, float | Array]:
    """The integrator of that name, the relative tolerance, and the absolute one of all unknowns or of each."""
    if type(atol) is type(rtol) is float and type(integrator) is str:
        return _usual(integrator, rtol, atol)
    return integrator_named(integrator), relative_tolerance(rtol), absolute_tolerance(atol, size)


def tolerances(rtol: Any, atol: Any, size: int) -> tuple[float, Array]:
    """The relative tolerance, and the absolute one for each unknown."""
    relative, absolute = relative_tolerance(rtol), absolute_tolerance(atol, size)
    return relative, np.full(size, absolute) if isinstance(absolute, float) else absolute


def relative_tolerance(rtol: Any) -> float:
    """Not below what float64 can do."""
    relative = positive(rtol, "rtol")
    if relative < SMALLEST_RTOL:
        raise StateError(f"rtol: expected at least {SMALLEST_RTOL:.2g}, got {relative:g}: float64 cannot do better")
    return relative


def absolute_tolerance(atol: Any, size: int) -> float | Array:
    """One for all unknowns, or one for each."""
    if type(atol) is float:
        return positive(atol, "atol")
    absolute = numbers_of(atol, "atol", f"a number or {size} numbers").copy()
    if absolute.ndim == 0:
        return positive(atol, "atol")
    if absolute.shape != (size,):
        raise StateError(f"atol: expected a number or {size} numbers (nq + nv), got shape {absolute.shape}")
    if not (absolute > 0.0).all() or not np.isfinite(absolute).all():
        raise StateError("atol: expected positive finite numbers")
    return absolute


def fixed_steps(integrator: Integrator, step: Any, max_step: Any, span: float, t0: float = 0.0) -> int:
    """Number of equal steps from t0 on, none longer than `step` and `max_step`."""
    if step is None and max_step is None:
        raise StateError(f"step: integrator {integrator.name!r} has fixed steps and needs their size in seconds, "
                         f'e.g. step={10.0 ** math.floor(math.log10(abs(span) / 1000)):g}; "dopri5" chooses its own')
    size = min(positive(value, what) for value, what in ((step, "step"), (max_step, "max_step")) if value is not None)
    return parts(span, size, "step", t0)


def longest_step(value: Any, span: float, t0: float) -> float:
    """A bound of adaptive steps that time resolves; none for None."""
    if value is None:
        return math.inf
    size = positive(value, "max_step")
    parts(span, size, "max_step", t0)
    return size


def parts(span: float, size: float, what: str, t0: float) -> int:
    """In how many parts of this size, or a little less, to cut a span of time from t0 on."""
    wanted = abs(span) / size
    if wanted > MOST:
        raise StateError(f"{what}: {size:g} s is too small for {abs(span):g} s: the steps could not be counted")
    n = max(1, math.ceil(wanted * (1.0 - ROUNDING)))
    latest = max(abs(t0), abs(t0 + span))
    if abs(span) / n < math.ulp(latest):
        raise StateError(f"{what}: {abs(span) / n:g} s is too small at t = {latest:.9g} s, which float64 holds to "
                         f"{math.ulp(latest):.2g} s only; take longer steps, or let the time begin near 0")
    return n


def output_times(value: Any, t0: float, t_end: float) -> Array:
    """Times of the output: within the span, in the order of the run."""
    times = numbers_of(value, "t_eval", "times").copy()
    if times.ndim != 1 or times.size == 0:
        raise StateError(f"t_eval: expected a list of times, got shape {times.shape}")
    if not np.isfinite(times).all():
        raise StateError("t_eval: expected finite times")
    low, high = min(t0, t_end), max(t0, t_end)
    outside = (times < low) | (times > high)
    if outside.any():
        raise StateError(f"t_eval: {times[np.argmax(outside)]:g} is outside t_span ({t0:g}, {t_end:g})")
    order = np.diff(times) * (1.0 if t_end > t0 else -1.0)
    if not (order > 0.0).all():
        j = int(np.argmin(order > 0.0))
        direction = "increasing" if t_end > t0 else "decreasing (backward integration)"
        raise StateError(f"t_eval: expected {direction} times, got {times[j]:g} before {times[j + 1]:g}; sort it")
    return times


def bar(progress: Any) -> bool | float:
    """Whether to show a progress bar, or after how many seconds."""
    if isinstance(progress, bool | np.bool_) or progress is None:
        return bool(progress)
    seconds = number(progress, "progress", StateError)
    if seconds < 0.0:
        raise StateError(f"progress: expected True, False or a number of seconds, got {seconds:g}")
    return seconds or True


def count(value: Any, what: str) -> int:
    """A whole number, at least 1, that compiled code can count to."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1 or int(value) > MOST:
        raise StateError(f"{what}: expected a whole number from 1 to 2^53, got {show(value)}")
    return int(value)
