"""What a user gives as functions (constraints, quasi-velocities, forces, M and h), as C functions for compiled code.

Each fills arrays that are zero when it is called. Compiled with `numba.njit` it runs at full speed; an ordinary Python
function works too, but every evaluation then goes through the interpreter (some ten microseconds).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numba import carray, cfunc
from numba.extending import is_jitted

from ..callbacks import succeeds
from ..core.cabi import LOAD, address_of
from ..core.checks import CALLBACK_FAILED
from ..core.number import array_at
from ..core.quasi_layout import QUASI_STATUS
from ..errors import ModelError, StateError
from ..inputs import Array
from ..model.checks import several, show

MOST = 100_000  # constraints, or quasi-velocities: their matrices are dense
_DOUBLES = ctypes.POINTER(ctypes.c_double)
_LOAD_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_double, _DOUBLES, _DOUBLES, _DOUBLES, ctypes.c_void_p)


@dataclass(frozen=True)
class Constraints:
    """Velocity constraints a(q, t) v + b(q, t) = 0: closed loops differentiated once, rolling, knife edges.

    Parameters
    ----------
    f : njit function
        f(t, q, v, a, b, rate) fills a (count, m), b (count) and rate = adot v + bdot (count); m is the number of speeds
        v (qdot where nq = nv). All three are zero when it is called; a and b must not depend on v.
    count : int
        Number of constraints r.
    rate : njit function, optional
        rate(t, q, v, a, b, rate) fills rate alone, from a and b that f has filled; f then need not. It saves time: a
        and b are needed before the speeds are known, and without it f is called once more.

    Examples
    --------
    A skate that does not slip sideways, in coordinates x, y, theta:

    >>> import mbkern as mb, numba
    >>> from math import cos, sin
    >>> @numba.njit
    ... def skate(t, q, v, a, b, rate):
    ...     a[0, 0], a[0, 1] = -sin(q[2]), cos(q[2])
    ...     rate[0] = -v[2] * (cos(q[2]) * v[0] + sin(q[2]) * v[1])
    >>> mb.analytic.Constraints(skate, 1).count
    1
    """

    f: Callable[..., None]
    count: int
    rate: Callable[..., None] | None = None

    def __post_init__(self) -> None:
        _check_function(self.f, "constraints", "f(t, q, v, a, b, rate)")
        _check_count(self.count, "constraints")
        if self.rate is not None:
            _check_function(self.rate, "constraints: rate", "rate(t, q, v, a, b, rate)")

    def evaluate(self, t: float, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """(a, b, rate) at a state."""
        return _filled(self, "constraints", t, q, v)


@dataclass(frozen=True)
class QuasiVelocities:
    """Quasi-velocities u = Y(q, t) v + Z(q, t) of a user's choice.

    Parameters
    ----------
    f : njit function
        f(t, q, v, Y, Z, rate) fills Y (count, m), Z (count) and rate = Ydot v + Zdot (count), zero when it is called.
    count : int
        How many there are: m - r for Kane and Maggi, m - r - s for Volterra.
    names : sequence of str, optional
        For messages.
    rate : njit function, optional
        rate(t, q, v, Y, Z, rate) fills rate alone, from Y and Z that f has filled; f then need not. It saves time: Y
        and Z are needed before the speeds are known, and without it f is called once more.

    Examples
    --------
    >>> import mbkern as mb, numba
    >>> @numba.njit
    ... def difference(t, q, v, Y, Z, rate):
    ...     Y[0, 0], Y[0, 1] = 1.0, -1.0
    >>> mb.analytic.QuasiVelocities(difference, 1).names
    ('u0',)
    """

    f: Callable[..., None]
    count: int
    names: Sequence[str] = ()
    rate: Callable[..., None] | None = None

    def __post_init__(self) -> None:
        _check_function(self.f, "quasi", "f(t, q, v, Y, Z, rate)")
        if self.rate is not None:
            _check_function(self.rate, "quasi: rate", "rate(t, q, v, Y, Z, rate)")
        _check_count(self.count, "quasi")
        names = tuple(several(self.names, "quasi: names", StateError)) or tuple(f"u{k}" for k in range(self.count))
        if len(names) != self.count or not all(isinstance(name, str) for name in names):
            raise StateError(f"quasi: names: expected {self.count} names, got {show(self.names)}")
        object.__setattr__(self, "names", names)

    def evaluate(self, t: float, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """(Y, Z, rate) at a state."""
        return _filled(self, "quasi", t, q, v)


@dataclass(frozen=True)
class Dynamics:
    """A system that is no tree of mbkern: M(q, t) vdot + h(q, v, t) = Q, v = qdot, by functions of the user.

    Parameters
    ----------
    M : njit function
        M(t, q, out) fills the mass matrix (m, m), symmetric and positive definite.
    h : njit function
        h(t, q, v, out) fills the bias (m): all that is left of the equations without vdot, weight and springs included.
    names : sequence of str
        Of the m coordinates.
    N : njit function, optional
        N(t, q, out) fills the momenta (m) that prescribed motion leaves at v = 0; needed when ignorable coordinates are
        used in a system with prescribed motion.

    Examples
    --------
    A pendulum of 1 kg and 1 m:

    >>> import mbkern as mb, numba, numpy as np
    >>> @numba.njit
    ... def M(t, q, out):
    ...     out[0, 0] = 1.0
    >>> @numba.njit
    ... def h(t, q, v, out):
    ...     out[0] = 9.81 * np.sin(q[0])
    >>> pendulum = mb.analytic.Lagrange(mb.analytic.Dynamics(M, h, names=["angle"]))
    >>> run = pendulum.simulate([0.1], [0.0], (0.0, 1.0))
    >>> run.success
    True
    """

    M: Callable[..., None]
    h: Callable[..., None]
    names: Sequence[str]
    N: Callable[..., None] | None = None

    def __post_init__(self) -> None:
        _check_function(self.M, "M", "M(t, q, out)")
        _check_function(self.h, "h", "h(t, q, v, out)")
        if self.N is not None:
            _check_function(self.N, "N", "N(t, q, out)")
        names = [] if isinstance(self.names, str) else several(self.names, "names")
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
            raise ModelError(f"names: expected one name for each coordinate, all different, got {show(self.names)}")
        object.__setattr__(self, "names", tuple(names))

    def mass_matrix(self, q: Array, t: float = 0.0) -> Array:
        """M at a configuration, checked.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> def M(t, q, out):
        ...     out[0, 0] = 2.0
        >>> mb.analytic.Dynamics(M, lambda t, q, v, out: None, ["x"]).mass_matrix(np.zeros(1))
        array([[2.]])
        """
        m = len(self.names)
        out = np.zeros((m, m))
        self.M(t, q.copy(), out)
        _check_finite((out,), "M", self.M, t)
        if np.abs(out - out.T).max() > 1e-10 * np.abs(out).max():
            i, j = np.unravel_index(int(np.argmax(np.abs(out - out.T))), out.shape)
            raise ModelError(f"M: expected a symmetric matrix, got {out[i, j]:g} at {i}, {j} and {out[j, i]:g} at "
                             f"{j}, {i}")
        return out

    def momenta(self, q: Array, v: Array, t: float = 0.0) -> Array:
        """M v + N.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> def M(t, q, out):
        ...     out[0, 0] = 2.0
        >>> mb.analytic.Dynamics(M, lambda t, q, v, out: None, ["x"]).momenta(np.zeros(1), np.ones(1))
        array([2.])
        """
        N = np.zeros(len(self.names))
        if self.N is not None:
            self.N(t, q.copy(), N)
        return self.mass_matrix(q, t) @ v + N

    def bias(self, q: Array, v: Array, t: float = 0.0) -> Array:
        """h at a state.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> mb.analytic.Dynamics(lambda t, q, out: None, lambda t, q, v, out: None, ["x"]).bias(np.zeros(1), np.ones(1))
        array([0.])
        """
        out = np.zeros(len(self.names))
        self.h(t, q.copy(), v.copy(), out)
        _check_finite((out,), "h", self.h, t)
        return out


def _check_function(f: Any, what: str, form: str) -> None:
    if not callable(f):
        raise StateError(f"{what}: expected a function {form}, compiled with @numba.njit, got {show(f)}")


def _check_count(count: Any, what: str) -> None:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= MOST:
        raise StateError(f"{what}: count: expected how many there are, 1 to {MOST}, got {show(count)}")


def _filled(user: Constraints | QuasiVelocities, what: str, t: float, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """(matrix, vector, rate) as the functions of the user fill them at a state."""
    count = user.count
    matrix, vector, rate = np.zeros((count, v.size)), np.zeros(count), np.zeros(count)
    user.f(t, q.copy(), v.copy(), matrix, vector, rate)
    if user.rate is not None:
        rate[:] = 0.0
        user.rate(t, q.copy(), v.copy(), matrix, vector, rate)
    _check_finite((matrix, vector, rate), what, user.f, t)
    return matrix, vector, rate


def _check_finite(arrays: tuple[Array, ...], what: str, f: Any, t: float) -> None:
    if not all(np.isfinite(x).all() for x in arrays):
        raise StateError(f"{what}: {getattr(f, '__name__', f)} gave numbers that are not finite at t = {t:g}")


class Callback:
    """A C function void (double t, const double *q, const double *v, double *out, void *frame) that lives with this."""

    def __init__(self, made: Any, address: int) -> None:
        self._made = made
        self.address = address


def callback(kind: str, functions: tuple[Any, ...], nq: int, m: int, count: int) -> Callback:
    """The C function of a user's function, by what it fills.

    Kinds: "matrix" (constraints, quasi-velocities), "rate" (of these alone), "force", "mass" or "bias".
    """
    if all(f is None or is_jitted(f) for f in functions):
        made = _compiled(kind, functions, nq, m, count)
        return Callback(made, made.address)
    return _interpreted(kind, functions, nq, m, count)


@lru_cache(maxsize=256)
def _compiled(kind: str, functions: tuple[Any, ...], nq: int, m: int, count: int) -> Any:
    f, n = functions[0], count * m
    if kind == "matrix":
        def call(t, q, v, out, user):
            header = array_at(address_of(user), 1)
            before, header[QUASI_STATUS] = header[QUASI_STATUS], CALLBACK_FAILED
            numbers = carray(out, n + 2 * count)
            for i in range(n + 2 * count):
                numbers[i] = 0.0
            if succeeds(f, (t, carray(q, nq), carray(v, m), numbers[:n].reshape((count, m)), numbers[n:n + count],
                            numbers[n + count:])):
                header[QUASI_STATUS] = before
    elif kind == "rate":
        def call(t, q, v, out, user):
            header = array_at(address_of(user), 1)
            before, header[QUASI_STATUS] = header[QUASI_STATUS], CALLBACK_FAILED
            numbers = carray(out, n + 2 * count)
            for i in range(n + count, n + 2 * count):
                numbers[i] = 0.0
            if succeeds(f, (t, carray(q, nq), carray(v, m), numbers[:n].reshape((count, m)), numbers[n:n + count],
                            numbers[n + count:])):
                header[QUASI_STATUS] = before
    elif kind == "mass" and functions[1] is not None:
        N = functions[1]

        def call(t, q, v, out, user):
            header = array_at(address_of(user), 1)
            before, header[QUASI_STATUS] = header[QUASI_STATUS], CALLBACK_FAILED
            numbers = carray(out, m * m + m)
            for i in range(m * m + m):
                numbers[i] = 0.0
            good = succeeds(f, (t, carray(q, nq), numbers[:m * m].reshape((m, m))))
            if succeeds(N, (t, carray(q, nq), numbers[m * m:])) and good:
                header[QUASI_STATUS] = before
    elif kind == "mass":
        def call(t, q, v, out, user):
            header = array_at(address_of(user), 1)
            before, header[QUASI_STATUS] = header[QUASI_STATUS], CALLBACK_FAILED
            numbers = carray(out, m * m + m)
            for i in range(m * m + m):
                numbers[i] = 0.0
            if succeeds(f, (t, carray(q, nq), numbers[:m * m].reshape((m, m)))):
                header[QUASI_STATUS] = before
    else:
        def call(t, q, v, out, user):
            header = array_at(address_of(user), 1)
            before, header[QUASI_STATUS] = header[QUASI_STATUS], CALLBACK_FAILED
            numbers = carray(out, m)
            for i in range(m):
                numbers[i] = 0.0
            if succeeds(f, (t, carray(q, nq), carray(v, m), numbers)):
                header[QUASI_STATUS] = before
    try:
        return cfunc(LOAD)(call)
    except Exception as error:
        raise StateError(f"{getattr(f, '__name__', f)} does not compile for a float64 t and float64 arrays: "
                         f"{error}") from error


def _interpreted(kind: str, functions: tuple[Any, ...], nq: int, m: int, count: int) -> Callback:
    f, n = functions[0], count * m
    sizes = {"matrix": n + 2 * count, "rate": n + 2 * count, "mass": m * m + m}

    def call(t: float, q: Any, v: Any, out: Any, user: int) -> None:
        status = np.ctypeslib.as_array(ctypes.cast(user, _DOUBLES), (1,))
        numbers = np.ctypeslib.as_array(out, (sizes.get(kind, m),))
        numbers[n + count if kind == "rate" else 0:] = 0.0
        position, speeds = np.ctypeslib.as_array(q, (nq,)), np.ctypeslib.as_array(v, (m,))
        before, status[QUASI_STATUS] = status[QUASI_STATUS], CALLBACK_FAILED
        try:
            if kind in ("matrix", "rate"):
                f(t, position, speeds, numbers[:n].reshape(count, m), numbers[n:n + count], numbers[n + count:])
            elif kind == "mass":
                f(t, position, numbers[:m * m].reshape(m, m))
                if functions[1] is not None:
                    functions[1](t, position, numbers[m * m:])
            else:
                f(t, position, speeds, numbers)
        except Exception:  # the status says so; `faults` calls it again and has the exception
            return
        status[QUASI_STATUS] = before

    made = _LOAD_TYPE(call)
    address = ctypes.cast(made, ctypes.c_void_p).value
    assert address is not None
    return Callback(made, address)
