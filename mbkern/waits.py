"""No silent wait: before a first call compiles for more than a second, one line on standard error says so.

What is compiled once is kept on disk; the line says what it is, that this is once on a machine, and about how long it
takes. It comes in terminals and notebooks only, and at most once for each thing that a user asked for. The environment
variable MBKERN_ANNOUNCE ("auto", "on", "off") or :func:`announce_compiling` say otherwise. Where something is compiled
that nobody asked for by name, a line comes after the first second of it.

The compiler of the core tells when it begins: where machine code comes from the disk, nothing is said.
"""

from __future__ import annotations

import builtins
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .core.toolchain import parts
from .errors import StateError

VARIABLE = "MBKERN_ANNOUNCE"
SETTINGS = ("auto", "on", "off")
SHORTEST = 1.0  # seconds that are a wait
PAUSE = 0.25  # seconds between two things that are compiled, if they have nothing to do with each other

# Processor seconds of first calls with nothing on disk, measured by bench/waits.py, which writes these tables: alone,
# and after what comes before, of trees of hinges and of any tree.
# bench/waits.py alone: begin
ALONE: dict[str, tuple[float, float]] = {
    "rhs": (4.2, 6.2),
    "rhs_batch": (6.9, 10.1),
    "dopri5": (7.6, 10.3),
    "gauss4": (8.3, 10.7),
    "stepper": (8.0, 9.6),
    "simulate_batch": (10.6, 14.0),
    "accelerations": (6.1, 6.2),
    "batch": (6.9, 10.1),
    "simulate": (7.6, 10.3),
    "rk4": (7.6, 10.3),
    "midpoint": (8.3, 10.7),
    "gauss6": (8.3, 10.7),
}
# bench/waits.py alone: end
# bench/waits.py after: begin
AFTER: dict[str, tuple[float, float]] = {
    "rhs": (4.3, 6.9),
    "rhs_batch": (5.4, 8.4),
    "dopri5": (5.8, 6.1),
    "gauss4": (0.8, 0.9),
    "stepper": (0.9, 1.3),
    "simulate_batch": (5.9, 7.7),
    "accelerations": (2.5, 2.4),
    "batch": (5.4, 8.4),
    "simulate": (5.8, 6.1),
    "rk4": (5.8, 6.1),
    "midpoint": (0.8, 0.9),
    "gauss6": (0.8, 0.9),
}
# bench/waits.py after: end
# Operations: alone, and after `rhs` and what comes before.
# bench/waits.py operation: begin
OPERATION: dict[str, tuple[float, float]] = {
    "inverse_dynamics": (4.1, 1.0),
    "bias": (4.0, 0.8),
    "gravity_forces": (3.5, 0.6),
    "momenta": (4.0, 0.8),
    "velocities": (6.0, 2.2),
    "energy": (7.0, 2.2),
    "mass_matrix": (4.6, 1.4),
    "inverse_mass_matrix": (5.3, 1.6),
    "solve_mass": (5.0, 1.3),
    "reactions": (6.9, 2.7),
    "body_poses": (3.2, 0.6),
    "body_velocities": (5.3, 1.9),
    "body_accelerations": (6.9, 2.5),
    "body_momenta": (6.6, 2.1),
    "center_of_mass": (3.5, 0.5),
    "total_momentum": (6.9, 2.2),
    "total_momentum_matrix": (4.3, 0.9),
    "frame_pose": (3.7, 0.5),
    "frame_velocity": (6.1, 2.0),
    "frame_acceleration": (7.5, 2.6),
    "jacobian": (3.7, 0.6),
    "jacobian_dot_u": (3.7, 0.6),
    "jacobian_rhs": (10.6, 6.7),
    "jvp": (9.7, 5.1),
    "vjp": (10.0, 5.0),
    "derivatives_accelerations": (12.2, 7.0),
    "derivatives_inverse_dynamics": (5.5, 1.6),
    "momentum_regressor": (4.1, 0.7),
    "momentum_rate_regressor": (4.2, 1.0),
    "torque_regressor": (3.9, 0.6),
    "energy_regressor": (4.3, 0.7),
}
# bench/waits.py operation: end
# Machines with constraints, after what comes before, and from the disk; the first is a System.
# bench/waits.py loop: begin
LOOP: dict[str, tuple[float, float]] = {
    "constraints": (12.3, 0.3),
    "rhs": (1.6, 0.3),
    "dopri5": (6.5, 0.1),
    "accelerations": (2.1, 0.0),
    "constraint_residuals": (0.0, 0.0),
    "constraint_matrix": (0.0, 0.0),
    "constraint_matrix_rate": (0.3, 0.0),
    "constraint_multipliers": (0.6, 0.0),
    "constraint_wrenches": (0.6, 0.0),
    "true_momenta": (0.0, 0.0),
    "closer": (0.0, 0.0),
    "simulate": (6.5, 0.1),
    "stepper": (6.5, 0.1),
    "rk4": (6.5, 0.1),
    "midpoint": (6.5, 0.1),
    "gauss4": (6.5, 0.1),
    "gauss6": (6.5, 0.1),
}
# bench/waits.py loop: end
USUAL = 4.0  # of what is in no table


def expected(name: str, kind: str, alone: bool) -> float:
    """About how many seconds a first call takes.

    Parameters
    ----------
    name : str
        Of an operation, a batch or an integrator; "rhs (dah)" is the right-hand side by one of the methods.
    kind : "hinges", "any" or "loops"
        Of the machine.
    alone : bool
        Whether nothing else has been compiled.

    Examples
    --------
    >>> from mbkern.waits import expected
    >>> expected("dopri5", "any", alone=True) > expected("dopri5", "any", alone=False)
    True
    """
    name = name.partition(" (")[0]
    if kind == "loops" and name in LOOP:
        return LOOP[name][0]
    if name in OPERATION:
        return OPERATION[name][0 if alone else 1]
    return (ALONE if alone else AFTER).get(name, (USUAL, USUAL))[kind != "hinges"]


class _Task:
    """What a user asked for, and may have to wait for."""

    def __init__(self, name: str, system: Any) -> None:
        self.name, self.system = name, system
        self.said = False

    def seconds(self, alone: bool) -> float:
        """About how long it takes; `alone`: nothing else has been compiled."""
        kind = "any"
        if self.system is not None:
            kind = "loops" if self.system.model.constraints else "hinges" if self.system.binding.only_hinges else kind
        elif self.name in LOOP:
            kind = "loops"
        return expected(self.name, kind, alone)


class _Now(threading.local):
    task: _Task | None = None


_now = _Now()
_setting = os.environ.get(VARIABLE, "auto")


def announce_compiling(when: str = "auto") -> None:
    """Say when a line on standard error announces that something is compiled for more than a second.

    Parameters
    ----------
    when : str
        "auto" (in terminals and notebooks, as the environment variable MBKERN_ANNOUNCE does by default), "on", "off".

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.announce_compiling("off")
    >>> mb.announce_compiling("auto")
    """
    global _setting
    if not isinstance(when, str) or when not in SETTINGS:
        raise StateError(f"when: expected one of {', '.join(SETTINGS)}, got {when!r}")
    _setting = when


@contextmanager
def task(name: str, system: Any = None) -> Iterator[None]:
    """While it lasts, what is compiled is for this; inside another one, for that.

    Parameters
    ----------
    name : str
        Of an operation, a batch or an integrator: see `expected`.
    system : System, optional
        Which decides how long it takes.
    """
    if _now.task is not None:
        yield
        return
    _now.task = _Task(name, system)
    try:
        yield
    finally:
        _now.task = None


def wanted() -> bool:
    """Whether somebody is there to read such a line."""
    if _setting in ("on", "off"):
        return _setting == "on"
    if multiprocessing.parent_process() is not None:  # a worker of somebody who has read it
        return False
    try:
        return bool(sys.stderr.isatty()) or hasattr(builtins, "__IPYTHON__")
    except (AttributeError, ValueError):  # no standard error, or a closed one
        return False


def line(name: str, seconds: float) -> str:
    """What is said.

    Examples
    --------
    >>> from mbkern.waits import line
    >>> print(line("rhs_batch", 9.4))
    mbkern: compiling rhs_batch, about 9 s, once on this machine (MBKERN_ANNOUNCE=off: without this line)
    """
    return (f"mbkern: compiling {name}, about {max(round(seconds), 1)} s, once on this machine "
            f"({VARIABLE}=off: without this line)")


class _Unasked(threading.local):
    """What is compiled outside of all tasks, such as kernels inside a function of the user; nobody knows how long."""

    depth = 0
    since = until = 0.0  # times of a clock: when it began, and when the last piece of it ended
    said = False

    def start(self, function: Any) -> None:
        """A function is about to be compiled: say so once when this has gone on for more than a second."""
        now = time.monotonic()
        if self.depth == 0 and now - self.until > PAUSE:
            self.since, self.said = now, False
        self.depth += 1
        if not self.said and now - self.since > SHORTEST and (function.__module__ or "").startswith("mbkern."):
            self.said = True
            if wanted():
                print(longer_line(function.__module__.rpartition(".")[2]), file=sys.stderr, flush=True)

    def end(self) -> None:
        """It is compiled."""
        self.depth, self.until = max(self.depth - 1, 0), time.monotonic()


_unasked = _Unasked()


def longer_line(name: str) -> str:
    """What is said about what nobody asked for by name.

    Examples
    --------
    >>> from mbkern.waits import longer_line
    >>> print(longer_line("energies"))
    mbkern: compiling energies and what belongs to it, some seconds more (MBKERN_ANNOUNCE=off: without this line)
    """
    return f"mbkern: compiling {name} and what belongs to it, some seconds more ({VARIABLE}=off: without this line)"


_first_function = True  # of a user, in this process


def function(name: str) -> None:
    """A function of the user that compiled code calls is about to be compiled.

    The first one of a program takes some seconds, as Numba loads what it needs for it; later ones about one.
    """
    global _first_function
    first, _first_function = _first_function, False
    if first and wanted():
        print(function_line(name), file=sys.stderr, flush=True)


def function_line(name: str) -> str:
    """What is said about a function of the user.

    Examples
    --------
    >>> from mbkern.waits import function_line
    >>> print(function_line("pd"))
    mbkern: compiling the function 'pd', some seconds, once in each program (MBKERN_ANNOUNCE=off: without this line)
    """
    return (f"mbkern: compiling the function {name!r}, some seconds, once in each program "
            f"({VARIABLE}=off: without this line)")


class _Listener:
    """Is told that a function is about to be compiled."""

    def begin(self, function: Any, first: bool) -> None:
        """Say so, if this is the first of a task; `first` of all that this process has compiled?"""
        current = _now.task
        if current is None:
            _unasked.start(function)
        elif not current.said:
            current.said = True
            seconds = current.seconds(first)
            if seconds > SHORTEST and wanted():
                print(line(current.name, seconds), file=sys.stderr, flush=True)

    def end(self) -> None:
        """Nothing to say."""
        if _now.task is None:
            _unasked.end()


parts.listen(_Listener())
