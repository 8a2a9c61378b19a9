"""No silent wait: before a first call compiles for more than a second, one line on standard error says so.

What is compiled once is kept on disk; the line says what it is, that this is once on a machine, and about how long it
takes. It comes in terminals and notebooks only, and at most once for each thing that a user asked for. The environment
variable MBKERN_ANNOUNCE ("auto", "on", "off") or :func:`announce_compiling` say otherwise.

Numba tells when it begins to compile (its event "numba:compile"): where machine code comes from the disk, nothing is
said.
"""

from __future__ import annotations

import builtins
import multiprocessing
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .core.toolchain import parts
from .errors import StateError

VARIABLE = "MBKERN_ANNOUNCE"
SETTINGS = ("auto", "on", "off")
SHORTEST = 1.0  # seconds that are a wait

# Processor seconds that a first call takes with nothing on disk but what comes before it here, for trees of hinges and
# for any tree: measured by bench/waits.py, which writes this table.
# bench/waits.py seconds: begin
SECONDS: dict[str, tuple[float, float]] = {
    "rhs": (4.9, 12.3),
    "rhs_batch": (12.9, 27.0),
    "dopri5": (6.4, 8.8),
    "gauss4": (2.0, 2.2),
    "stepper": (1.7, 1.8),
    "simulate_batch": (8.5, 11.4),
    "accelerations": (5.8, 5.5),
    "inverse_dynamics": (6.3, 6.3),
    "bias": (1.5, 1.5),
    "gravity_forces": (1.2, 1.2),
    "momenta": (1.1, 1.1),
    "velocities": (8.1, 8.1),
    "energy": (2.0, 2.0),
    "mass_matrix": (2.0, 2.0),
    "inverse_mass_matrix": (3.8, 3.8),
    "solve_mass": (2.3, 2.3),
    "reactions": (5.0, 5.0),
    "body_poses": (1.1, 1.1),
    "body_velocities": (1.5, 1.5),
    "body_accelerations": (1.9, 1.9),
    "body_momenta": (1.3, 1.3),
    "center_of_mass": (0.8, 0.8),
    "total_momentum": (1.9, 1.9),
    "total_momentum_matrix": (0.7, 0.7),
    "frame_pose": (1.3, 1.3),
    "frame_velocity": (2.2, 2.2),
    "frame_acceleration": (2.6, 2.6),
    "jacobian": (1.1, 1.1),
    "jacobian_dot_u": (0.9, 0.9),
    "jacobian_rhs": (27.1, 27.1),
    "jvp": (5.6, 5.6),
    "vjp": (5.0, 5.0),
    "derivatives_accelerations": (10.6, 10.6),
    "derivatives_inverse_dynamics": (3.4, 3.4),
    "momentum_regressor": (1.9, 1.9),
    "momentum_rate_regressor": (1.0, 1.0),
    "torque_regressor": (1.7, 1.7),
    "energy_regressor": (1.1, 1.1),
    "batch": (12.9, 27.0),
    "simulate": (6.4, 8.8),
    "rk4": (6.4, 8.8),
    "midpoint": (2.0, 2.2),
    "gauss6": (2.0, 2.2),
}
# bench/waits.py seconds: end
SECONDS["constraints"] = (16.0, 16.0)  # the engine of models with constraints, which has no first call of its own
USUAL = (3.0, 4.0)  # of what is not in the table
RUNS = ("simulate", "stepper", "rk4", "dopri5", "midpoint", "gauss4", "gauss6")


class _Task:
    """What a user asked for, and may have to wait for."""

    def __init__(self, name: str, system: Any) -> None:
        self.name, self.system = name, system
        self.said = False

    def seconds(self) -> float:
        """About how long it takes from here on."""
        if self.system is None:
            return SECONDS.get(self.name, USUAL)[0]
        binding = self.system.binding
        needed = ["dopri5" if self.name in RUNS else self.name]  # all runs share most
        if self.name in RUNS and not binding.ready:
            needed.append("rhs")
        if self.name == "simulate_batch" and not binding.ready_on_lanes:
            needed.append("rhs_batch")
        return sum(SECONDS.get(name, USUAL)[0 if binding.only_hinges else 1] for name in needed)


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
        Of an operation, a batch or an integrator: see `SECONDS`.
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


def _compiling() -> None:
    """A function is about to be compiled: say so, if it is the first of a task."""
    current = _now.task
    if current is None or current.said:
        return
    current.said = True
    seconds = current.seconds()
    if seconds > SHORTEST and wanted():
        print(line(current.name, seconds), file=sys.stderr, flush=True)


parts.when_compiling(_compiling)
