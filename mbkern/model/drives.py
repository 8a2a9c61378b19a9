"""Prescribed motions x(t) with their first and second derivatives.

A drive is the amount of a rheonomic step: `mb.rotate("z", mb.harmonic(0.1, 2.0))` turns by 0.1 sin(2 t)
whatever the loads. Every drive is callable and returns ``(x, xd, xdd)``; the kernels evaluate the same
formulas from the same numbers. Amounts are radians for rotations, metres for translations; time is in
seconds.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mbkern.errors import ModelError, StateError
from mbkern.model import checks

#: Of a spline's duration: a last time step that ends a rounding error late is still inside.
SPAN_TOLERANCE = 1e-9


class Drive:
    """Base of all prescribed motions: call it with a time to get ``(x, xd, xdd)``."""

    __slots__ = ()

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Amount, rate and acceleration at time `t` in seconds."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Harmonic(Drive):
    """x = offset + amplitude sin(omega t + phase); see `harmonic`."""

    amplitude: float
    omega: float
    phase: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        for name in ("amplitude", "omega", "phase", "offset"):
            object.__setattr__(self, name, checks.number(getattr(self, name), f"harmonic: {name}"))

    def __call__(self, t: float) -> tuple[float, float, float]:
        t = checks.number(t, "t", StateError)
        angle = self.omega * t + self.phase
        swing = self.amplitude * math.sin(angle)
        return (
            self.offset + swing,
            self.amplitude * self.omega * math.cos(angle),
            -self.omega * self.omega * swing,
        )


@dataclass(frozen=True, slots=True)
class Polynomial(Drive):
    """x = coeffs[0] + coeffs[1] t + coeffs[2] t^2 + ...; see `polynomial`."""

    coeffs: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "coeffs", checks.vector(self.coeffs, "polynomial: coeffs"))

    def __call__(self, t: float) -> tuple[float, float, float]:
        t = checks.number(t, "t", StateError)
        x = xd = half_xdd = 0.0
        for c in reversed(self.coeffs):  # Horner, differentiated twice
            half_xdd = half_xdd * t + xd
            xd = xd * t + x
            x = x * t + c
        return x, xd, 2.0 * half_xdd


@dataclass(frozen=True, slots=True)
class Spline(Drive):
    """The twice continuously differentiable cubic through the points (t, x); see `spline`.

    Attributes
    ----------
    t, x : tuple of float
        The knots.
    coefficients : tuple of (c0, c1, c2, c3)
        Piece k, with s = time - t[k]: x = c0 + c1 s + c2 s^2 + c3 s^3. Derived from the knots.
    """

    t: tuple[float, ...]
    x: tuple[float, ...]
    coefficients: tuple[tuple[float, float, float, float], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        t = checks.vector(self.t, "spline: t")
        x = checks.vector(self.x, "spline: x")
        if len(t) != len(x) or len(t) < 2:
            raise ModelError(
                f"spline: expected as many values x as times t, at least 2, got {len(t)} times and {len(x)} values"
            )
        for k in range(1, len(t)):
            if not t[k] > t[k - 1]:
                raise ModelError(f"spline: t must increase strictly, got t[{k - 1}] = {t[k - 1]}, t[{k}] = {t[k]}")
        object.__setattr__(self, "t", t)
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "coefficients", _cubics(t, x))

    def __call__(self, t: float) -> tuple[float, float, float]:
        t = checks.number(t, "t", StateError)
        slack = SPAN_TOLERANCE * (self.t[-1] - self.t[0])
        if not self.t[0] - slack <= t <= self.t[-1] + slack:
            raise StateError(f"t = {t} is outside the spline drive, which is defined from {self.t[0]} to {self.t[-1]}")
        k = min(max(bisect.bisect_right(self.t, t), 1), len(self.t) - 1) - 1
        s = t - self.t[k]
        c0, c1, c2, c3 = self.coefficients[k]
        return c0 + s * (c1 + s * (c2 + s * c3)), c1 + s * (2.0 * c2 + 3.0 * c3 * s), 2.0 * c2 + 6.0 * c3 * s


@dataclass(frozen=True, slots=True)
class Function(Drive):
    """A user's compiled function t -> (x, xd, xdd); see `drive`."""

    f: Callable[[float], tuple[float, float, float]]

    def __post_init__(self) -> None:
        # imported here: describing a machine need not load the compiler
        from numba.extending import is_jitted

        if not is_jitted(self.f):
            raise ModelError(
                f"drive: f must be compiled by Numba, got {checks.show(self.f)}; decorate it with "
                "@numba.njit, or use harmonic, polynomial or spline"
            )
        try:
            values = self.f(0.0)
        except Exception as problem:
            raise ModelError(f"drive: f(0.0) failed with {type(problem).__name__}: {problem}") from problem
        if not isinstance(values, tuple):
            raise ModelError(f"drive: f must return a tuple (x, xd, xdd), f(0.0) returned {checks.show(values)}")
        checks.vector(values, "drive: (x, xd, xdd) = f(0.0)", 3)

    def __call__(self, t: float) -> tuple[float, float, float]:
        x, xd, xdd = self.f(checks.number(t, "t", StateError))
        return float(x), float(xd), float(xdd)


def harmonic(amplitude: float, omega: float, phase: float = 0.0, offset: float = 0.0) -> Harmonic:
    """Drive a step harmonically: x = offset + amplitude sin(omega t + phase).

    Parameters
    ----------
    amplitude, offset : float
        In rad or m.
    omega : float
        Angular frequency in rad/s.
    phase : float
        In rad.

    Examples
    --------
    >>> import mbkern as mb
    >>> shaker = mb.harmonic(amplitude=0.1, omega=2.0)
    >>> shaker(0.0)
    (0.0, 0.2, -0.0)
    """
    return Harmonic(amplitude, omega, phase, offset)


def polynomial(coeffs: Sequence[float]) -> Polynomial:
    """Drive a step by a polynomial: x = coeffs[0] + coeffs[1] t + coeffs[2] t^2 + ...

    Parameters
    ----------
    coeffs : sequence of float
        From the constant term upwards, in rad/s^k or m/s^k.

    Examples
    --------
    A turntable at 3 rad/s:

    >>> import mbkern as mb
    >>> mb.polynomial([0.0, 3.0])(2.0)
    (6.0, 3.0, 0.0)
    """
    return Polynomial(coeffs)  # type: ignore[arg-type]  # becomes a tuple


def spline(t: Sequence[float], x: Sequence[float]) -> Spline:
    """Drive a step along the smooth cubic spline through given points.

    Position, rate and acceleration are continuous ("not-a-knot" ends; two points give a line, three a
    parabola). The drive is defined between the first and the last time only; evaluating it elsewhere is an
    error.

    Parameters
    ----------
    t : sequence of float
        Times in s, strictly increasing, at least two.
    x : sequence of float
        The amounts at these times in rad or m.

    Examples
    --------
    >>> import mbkern as mb
    >>> lift = mb.spline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])
    >>> [round(value, 12) for value in lift(0.5)]
    [0.25, 1.0, 2.0]
    """
    return Spline(t, x)  # type: ignore[arg-type]  # become tuples


def drive(f: Callable[[float], tuple[float, float, float]]) -> Function:
    """Drive a step by a function of your own, compiled by Numba.

    Parameters
    ----------
    f : function decorated with ``@numba.njit``
        ``f(t) -> (x, xd, xdd)``: amount, first and second time derivative. The derivatives must be those of
        x; they are used as given.

    Notes
    -----
    A model with such a drive pickles, but cannot be written as JSON.

    Examples
    --------
    >>> import mbkern as mb, numba
    >>> @numba.njit
    ... def ramp(t):
    ...     return 0.5 * t * t, t, 1.0
    >>> mb.drive(ramp)(2.0)
    (2.0, 2.0, 1.0)
    """
    return Function(f)


def _cubics(t: tuple[float, ...], x: tuple[float, ...]) -> tuple[Any, ...]:
    from scipy.interpolate import CubicSpline  # here, because loading scipy takes longer than loading mbkern

    with np.errstate(all="ignore"):
        try:
            rows = CubicSpline(t, x).c[::-1].T  # scipy stores the highest power first
        except ValueError:  # it meets its own infinities
            rows = np.full((1, 4), np.nan)
    if not np.isfinite(rows).all():
        raise ModelError(f"spline: its polynomials overflow; the values reach from {min(x):g} to {max(x):g}, the "
                         f"shortest piece is {min(b - a for a, b in itertools.pairwise(t)):g} s long: scale them")
    return tuple(tuple(row) for row in rows.tolist())
