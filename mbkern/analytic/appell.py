"""Appell's equations by probing the energy of accelerations S (Garifulin).

Four modules: S of a motion, the coefficients of the equations of motion from values of S, the generalized forces, and
the accelerations. See :mod:`mbkern.core.appell` for the formulas; all of it is compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import inputs, plain
from ..core import appell as kernels
from ..core import constants as _L
from ..errors import ModelError
from ..explain import drive_fault
from ..inputs import Array
from ..model.checks import show
from ..model.model import Model
from ..system import System

_layout = plain.load("appell")


class Coefficients(NamedTuple):
    """Coefficients of A udot + u^T K u + D^T u + H = Q at one configuration and time, n speeds.

    Attributes
    ----------
    A : (n, n)
        Mass matrix.
    K : (n, n, n)
        K[k] is the symmetric matrix of the quadratic form in equation k; where u = qdot, the Christoffel symbols of the
        first kind.
    D : (n, n)
        D[i, k] multiplies speed i in equation k; zero unless something is driven.
    H : (n,)
        What prescribed motion leaves at u = 0.
    evaluations : int
        Values of S that were needed: 1 + 3n + 5n^2/2 + n^3/2.
    """

    A: Array
    K: Array
    D: Array
    H: Array
    evaluations: int


def acceleration_energy(system: System, q: ArrayLike, u: ArrayLike, udot: ArrayLike, t: float = 0.0) -> float:
    """Energy of accelerations S of a motion, without the terms that have no accelerations in them.

    Bodies welded to each other count as one, about the frame of the joint that moves them.

    Parameters
    ----------
    system : System
    q : (nq,)
        Configuration.
    u, udot : (nv,)
        Joint speeds and accelerations.
    t : float
        Time in seconds.

    Returns
    -------
    float
        In kg m^2/s^4.

    Examples
    --------
    >>> import mbkern as mb
    >>> system = mb.System(mb.zoo.appell_graph())
    >>> round(mb.analytic.appell.acceleration_energy(
    ...     system, [0.3, -0.4, 0.5, 0.2], [0.1, 0.2, -0.3, 0.4], [0.5, -1, 2, 0.3]), 6)
    11.476298
    """
    model = _checked(system).model
    q, u, t = inputs.configuration(q, model), inputs.vector(u, "u", model.speed_names), inputs.time(t)
    udot = inputs.vector(udot, "udot", model.speed_names)
    with system.binding.lent(_layout.appell_size(system.block)) as (_, block, work):
        return float(kernels.acceleration_energy(block, t, q, u, udot, work))


def coefficients(system: System, q: ArrayLike, t: float = 0.0) -> Coefficients:
    """All coefficients of Appell's equations at a configuration, by values of S at unit speeds and accelerations.

    Parameters
    ----------
    system : System
    q : (nq,)
        Configuration.
    t : float
        Time in seconds.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> system, q = mb.System(mb.zoo.appell_graph(moving=True)), [0.3, -0.4, 0.5, 0.2]
    >>> c = mb.analytic.appell.coefficients(system, q, t=0.7)
    >>> c.evaluations, bool(np.allclose(c.A, system.mass_matrix(q, 0.7)))
    (85, True)
    """
    model = _checked(system).model
    q, t, n = inputs.configuration(q, model), _time(t, model), model.nv
    A, K, D, H = np.zeros((n, n)), np.zeros((n, n, n)), np.zeros((n, n)), np.zeros(n)
    with system.binding.lent(_layout.appell_size(system.block)) as (_, block, work):
        count = kernels.coefficients(block, t, q, A.reshape(-1), K.reshape(-1), D.reshape(-1), H, work)
    return Coefficients(A, K, D, H, int(count))


def gravity_forces(system: System, q: ArrayLike, t: float = 0.0) -> Array:
    """Generalized forces of gravity, Q = d/dq (g . sum m r_C).

    Examples
    --------
    >>> import mbkern as mb
    >>> system = mb.System(mb.zoo.appell_graph())
    >>> mb.analytic.appell.gravity_forces(system, [0.3, -0.4, 0.5, 0.2]).round(3)
    array([-37.936,  39.171,   0.331,  -2.317])
    """
    model = _checked(system).model
    q, t, out = inputs.configuration(q, model), _time(t, model), np.empty(model.nv)
    with system.binding.lent() as (_, block, work):
        kernels.gravity_forces(block, t, q, out, work)
    return out


def spring_forces(system: System, q: ArrayLike, u: ArrayLike | None = None) -> Array:
    """Generalized forces of the joint springs, and of the dampers when speeds u are given.

    Examples
    --------
    >>> import mbkern as mb
    >>> system = mb.System(mb.zoo.appell_graph())
    >>> mb.analytic.appell.spring_forces(system, [0.3, -0.4, 0.5, 0.2])
    array([ 0.,  0.,  0., -8.])
    """
    model = _checked(system).model
    q, out = inputs.configuration(q, model), np.zeros(model.nv)
    first = int(system.block[_L.AT_COORDINATES])
    rows = system.block[first:first + model.nv * _L.COORDINATE].reshape(model.nv, _L.COORDINATE)
    sprung = rows[:, _L.SPRING_QI] >= 0
    places = rows[sprung, _L.SPRING_QI].astype(int)
    out[sprung] = -rows[sprung, _L.STIFFNESS] * (q[places] - rows[sprung, _L.REST])
    damping = 0.0 if u is None else model.damping * inputs.vector(u, "u", model.speed_names)
    return out - damping + 0.0  # no -0.0


def accelerations(system: System, q: ArrayLike, u: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None) -> Array:
    """Joint accelerations; the same as ``system.accelerations(q, u, t, tau, method="appell")``.

    Needs `evaluations(system)` values of S, as the probes are taken at the actual speeds.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> system = mb.System(mb.zoo.appell_graph())
    >>> udot = mb.analytic.appell.accelerations(system, [0.3, -0.4, 0.5, 0.2], [0.1, 0.2, -0.3, 0.4])
    >>> bool(np.allclose(udot, system.accelerations([0.3, -0.4, 0.5, 0.2], [0.1, 0.2, -0.3, 0.4])))
    True
    """
    return _checked(system).accelerations(q, u, t, tau, method="appell")


def evaluations(system: System) -> int:
    """Values of S that joint accelerations need: 1 + 2n + n(n-1)/2.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.analytic.appell.evaluations(mb.System(mb.zoo.appell_graph()))
    15
    """
    n = _checked(system).model.nv
    return 1 + 2 * n + n * (n - 1) // 2


def _time(t: Any, model: Model) -> float:
    """A time at which all drives have values."""
    checked = inputs.time(t)
    fault = drive_fault(model, checked)
    if fault is not None:
        raise fault
    return checked


def _checked(system: System) -> System:
    if not isinstance(system, System):
        raise ModelError(f"system: expected a System, got {show(system)}")
    return system
