"""Events: functions of the state whose sign changes are found and recorded, and may end a run."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import carray, cfunc, types
from numba.extending import is_jitted
from numpy import nan

from ..callbacks import attempt, check_arguments, momenta_of_frame, raised
from ..core.cabi import frame_at
from ..core.checks import OK
from ..errors import StateError
from ..inputs import Array
from ..model.checks import show
from .options import MOST

_SIGNATURE = types.float64(types.float64, types.CPointer(types.float64), types.int64, types.int64, types.int64)


class EventRecord(NamedTuple):
    """Where an event function crossed zero, in order of the run.

    Attributes
    ----------
    t : (k,)
        Times in seconds.
    q : (k, nq)
    p : (k, nv)
    """

    t: Array
    q: Array
    p: Array


class Event:
    """A function g(t, q, p) whose zero crossings a run records.

    Parameters
    ----------
    g : njit function
        g(t, q, p) -> float; an event is where its sign changes. Compiled with `numba.njit`: it is called from compiled
        code at every step.
    direction : -1, 0 or 1
        1: only where g goes from negative to positive along the run, -1: from positive to negative, 0: both.
    terminal : bool or int
        True ends the run at the first crossing, k at the k-th.

    Examples
    --------
    A pendulum released from the side passes below its pivot:

    >>> import mbkern as mb, numba
    >>> builder = mb.ModelBuilder()
    >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=1.0, com=(1.0, 0, 0))
    >>> @numba.njit
    ... def below(t, q, p):
    ...     return q[0] - 1.5707963267948966
    >>> passing = mb.event(below, terminal=True)
    >>> solution = mb.System(builder.build()).simulate([0.0], [0.0], (0.0, 10.0), events=passing)
    >>> solution.status, round(float(solution.events[0].t[0]), 3)
    ('event', 0.592)
    """

    def __init__(self, g: Callable[..., float], direction: float = 0, terminal: bool | int = False) -> None:
        name = getattr(g, "__name__", None) or show(g)
        if not is_jitted(g):
            raise StateError(f"event {name}: expected an njit function g(t, q, p), got {type(g).__name__}; it is "
                             "called from compiled code: decorate it with @numba.njit")
        check_arguments(g, f"event {name}", "g(t, q, p)")
        way: Any = direction
        if isinstance(way, bool) or not isinstance(way, numbers.Real) or way not in (-1, 0, 1):
            raise StateError(f"event {name}: direction: expected -1, 0 or 1, got {show(direction)}")
        if not isinstance(terminal, bool | np.bool_ | numbers.Integral) or not 0 <= terminal <= MOST:
            raise StateError(f"event {name}: terminal: expected True, False or a number of crossings up to 2^53, "
                             f"got {show(terminal)}")
        self.g = g
        self.name = str(name)
        self.direction = int(direction)
        self.terminal = int(terminal)

    def __repr__(self) -> str:
        return f"Event({self.name}, direction={self.direction}, terminal={self.terminal})"

    def value(self, t: float, q: Array, p: Array) -> float:
        """g at a state, checked."""
        try:
            value = self.g(t, q, p)
        except Exception as error:
            raise StateError(f"event {self.name}: expected a function g(t, q, p) -> float, but at t = {t:g} it raised "
                             f"{type(error).__name__}: {error}") from error
        if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
            raise StateError(f"event {self.name}: expected g(t, q, p) to return a number whose sign changes at the "
                             f"event, got {show(value)}")
        if np.isnan(float(value)):
            raise StateError(f"event {self.name}: g is not a number at t = {t:g}")
        return float(value)

    def fault(self, t: float, q: Array, p: Array) -> StateError:
        """Why g has no value at a state, in words; what it raised is the cause."""
        cause = raised(self.g, t, q, p)
        if cause is None:
            return StateError(f"the event function {self.name!r} is not a number (t = {t:.9g} s)")
        error = StateError(f"the event function {self.name!r} raised {type(cause).__name__}: {cause} (t = {t:.9g} s)")
        error.__cause__ = cause
        return error

    @property
    def address(self) -> int:
        """Of the C function ``double (double t, const double *y, int64 nq, int64 nv, int64 frame)``.

        Not a number where g raises. y is (q, p), or (q, u) where the frame is not 0: it knows momenta.
        """
        return _callback(self.g).address


def event(g: Callable[..., float], direction: float = 0, terminal: bool | int = False) -> Event:
    """An event function with its flags, for `simulate(..., events=...)`; see `Event`.

    Examples
    --------
    >>> import mbkern as mb, numba
    >>> mb.event(numba.njit(lambda t, q, p: q[0]), direction=-1, terminal=2)
    Event(<lambda>, direction=-1, terminal=2)
    """
    return Event(g, direction, terminal)


def as_events(value: Any) -> list[Event]:
    """None, one function or Event, or a sequence of them; the flags may be attributes of a function."""
    if value is None:
        return []
    entries = value if isinstance(value, list | tuple) else [value]
    return [entry if isinstance(entry, Event) else
            Event(entry, getattr(entry, "direction", 0), getattr(entry, "terminal", False)) for entry in entries]


@lru_cache(maxsize=256)
def _callback(g: Any) -> Any:
    try:
        @cfunc(_SIGNATURE)
        def callback(t, y, nq, nv, frame):
            state = carray(y, nq + nv)
            p = state[nq:]
            if frame != 0:
                p = np.empty(nv)
                if momenta_of_frame(frame_at(frame), t, state[:nq], state[nq:], p) != OK:
                    return nan
            good, value = attempt(g, (t, state[:nq], p), nan)
            return float(value) if good else nan
    except Exception as error:
        raise StateError(f"event {g.__name__}: it does not compile as g(t, q, p) -> float for float64 t and arrays: "
                         f"{error}") from error
    return callback
