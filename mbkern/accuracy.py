"""How many digits a method has lost, and who is told.

The methods that invert the inertia of each body ("hzu", "lagrange-1") or of each joint ("emh-lu", "newton-euler-lu")
lose digits where masses of neighbours differ by many orders of magnitude, or where a body's centre of mass is very far
from its joint; "appell" takes differences of the energy of accelerations, which is large where something heavy is
driven. Their kernels leave a rough estimate of the relative error of the speeds (accelerations) in the
workspace, see :func:`mbkern.core.layout.loss_at`. Above `SUSPICIOUS` it is measured: "emh-ldl" and "newton-euler-ldl"
lose nothing that the state itself does not, so they are the measure for the others. Above `LOSS_LIMIT` a system warns,
once.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from . import lazy
from .errors import AccuracyWarning, MbkernError
from .inputs import Array
from .methods import METHODS
from .model.model import Model

if TYPE_CHECKING:
    from .system import System

LOSS_LIMIT = 1e-6  # relative error from which on a loss is reported
SUSPICIOUS = 1e-9  # what a kernel finds, from which on it is measured; some of the estimates are 100 times too small
ROUNDING = 2.0**-52


def relative(difference: Array, of: Array, least: float = 0.0) -> float:
    """Largest difference over the largest number, or over `least` if that is more; 0 where nothing differs."""
    worst = float(np.abs(difference).max(initial=0.0))
    return worst / max(float(np.abs(of).max(initial=0.0)), least, 1e-300) if worst > 0.0 else 0.0


def error(model: Model, method: str, q: Array, p: Array, t: float) -> tuple[float, str]:
    """Relative error of a method at a state, and the body in whose joint it is largest.

    The measure, by L^T D L, has the error that one step of iterative refinement shows: what the momenta (joint forces)
    of its speeds (accelerations) miss, divided by the mass matrix.

    The terms of pdot = -dH/dq are as large as the kinetic energy. Where they cancel, as about an axis of symmetry,
    what is left of them is compared with that energy, and not with what they leave.
    """
    System = lazy.module("system").System
    exact, asked = System(model, "emh-ldl"), System(model, method if method in METHODS else "emh-ldl")
    asked.watch.limit = 0.0  # who asks need not be warned
    u = exact.velocities(q, p, t)
    if method in METHODS:
        missing, of = p - exact.momenta(q, u, t), u
        rates, best, offsets = [*asked.rhs(q, p, t)], [*exact.rhs(q, p, t)], model.q_offsets
        least = [0.0, float(np.abs(p) @ np.abs(u)) / 2.0]
    else:
        of = exact.accelerations(q, u, t)
        missing = -exact.inverse_dynamics(q, u, of, t)
        rates, best, offsets = [asked.accelerations(q, u, t, method=method)], [of], model.v_offsets
        least = [1.0 if method == "appell" else 0.0]  # it sees accelerations beside its trial ones, which are units
    own = relative(exact.solve_mass(q, missing, t), of)
    worst = int(np.argmax(np.abs(rates[0] - best[0]))) if of.size else 0
    body = model.body_names[max(0, int(np.searchsorted(offsets, worst, side="right")) - 1)]
    return max(own, *map(relative, [a - b for a, b in zip(rates, best, strict=True)], best, least)) + ROUNDING, body


def error_with_constraints(system: System, q: Array, p: Array, t: float) -> float:
    """Relative error of the joint speeds and accelerations of a machine with constraints, by one step of refinement.

    What these miss of the equations of motion and of the constraints, both as dense matrices,

        Mass du + a^T dsigma = p - p(u),      a du = -(a u + b)            p: the true momenta

    and the same for accelerations, with the joint forces and adot u + db/dt.
    """
    charts = lazy.module("derivatives.jacobian").charts
    qdot, _ = system.rhs(q, p, t)
    u = np.linalg.lstsq(charts(system.model, q, np.zeros(p.size))[0], qdot, rcond=None)[0]
    udot = system.accelerations(q, u, t)
    M, (a, b), (adot, bdot) = system.mass_matrix(q, t), system.constraint_matrix(q, t), system.constraint_matrix_rate(
        q, u, t)
    KKT = np.block([[M, a.T], [a, np.zeros((len(a), len(a)))]])

    def missing(force: Array, rows: Array) -> Array:
        found: Array = np.linalg.lstsq(KKT, np.concatenate([force, -rows]), rcond=ROUNDING * len(KKT))[0][:p.size]
        return found

    true = system.impact(q, p, t)
    speeds = relative(missing(true - system.momenta(q, u, t), a @ u + b), u)
    return max(speeds, relative(missing(-system.inverse_dynamics(q, u, udot, t), a @ udot + adot @ u + bdot), udot)
               ) + ROUNDING


def text(method: str, loss: float, body: str) -> str:
    """What is lost and what to do."""
    instead = "emh-ldl" if method in METHODS else "newton-euler-ldl"
    why = ("it moves so little mass that the energy of accelerations of the others hides it" if method == "appell" else
           "neighbours of very different mass, or a centre of mass far from its joint")
    return (f"method {method!r} has lost digits: relative error about {loss:.1g}, most of it in the joint of body "
            f"{body!r} ({why}); use method {instead!r}")


class Watch:
    """What a system does about the losses of its methods: it looks into those that are suspicious, and warns once.

    Attributes
    ----------
    limit : float
        A kernel's estimate that calls for a look; 0 when there is nothing more to say.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.limit = SUSPICIOUS

    def look(self, method: str, loss: float, q: Array, p: Array, t: float) -> str:
        """Look into a loss that a kernel has found at a state; what to say about it, or nothing."""
        if not 0.0 < self.limit < loss:
            return ""
        measured, body = error(self._model, method, q, p, t)
        if measured > LOSS_LIMIT:
            self.limit = 0.0
            return text(method, measured, body)
        self.limit = 10.0 * loss  # it was nothing: look again only when there is more
        return ""

    def warn(self, method: str, loss: float, q: Array, p: Array, t: float, stacklevel: int) -> None:
        """The same, said as a warning."""
        said = self.look(method, loss, q, p, t)
        if said:
            warnings.warn(said, AccuracyWarning, stacklevel=stacklevel + 1)

    def of_run(self, method: str, loss: float, states: list[tuple[float, Array]], stacklevel: int) -> str:
        """What to say about a run whose largest loss a kernel has estimated: measured at states (t, y) of it."""
        if not loss > SUSPICIOUS:
            return ""
        nq, found = self._model.nq, []
        for t, y in states:
            try:
                found.append(error(self._model, method, y[:nq], y[nq:], t))
            except MbkernError:  # where the run has failed
                pass
        measured, body = max(found, default=(0.0, ""))
        if not measured > LOSS_LIMIT:
            return ""
        said = text(method, measured, body)
        if self.limit:
            self.limit = 0.0
            warnings.warn(said, AccuracyWarning, stacklevel=stacklevel + 1)
        return said
