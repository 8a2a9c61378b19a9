"""What follows from the states of a run: momenta, speeds, poses, tangents, how well constraints are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import lazy
from ..errors import IntegrationError
from ..inputs import Array
from ..lazy import cached_property
from ..methods import METHODS
from ..states import momenta_of_rows
from .kernels.energies import energies
from .limits import violations

if TYPE_CHECKING:
    from ..system import System


class Energies(NamedTuple):
    """Energies over time, in joules; see `mbkern.system.Energy`.

    Attributes
    ----------
    kinetic, potential, hamiltonian : (m,)
    """

    kinetic: Array
    potential: Array
    hamiltonian: Array


class Momentum(NamedTuple):
    """Momenta of the whole machine over time, in world axes.

    Attributes
    ----------
    linear : (m, 3)
        In kg m/s.
    angular : (m, 3)
        About the world's origin, in kg m^2/s.
    """

    linear: Array
    angular: Array


def energies_and_speeds(system: System, block: Array, t: Array, q: Array, p: Array) -> tuple[Energies, Array]:
    """Energies and joint speeds of many states, one a row; `block` is the system's, or that of a varied machine."""
    m, nq, nv = t.size, q.shape[1], p.shape[1]
    out, speeds = np.empty((m, 3)), np.empty((m, nv))
    rhs = METHODS["emh-ldl"].native_for(block).address
    energies(rhs, block, t, q, p, np.empty(nq), np.empty(nv), out, speeds, system.work())
    return Energies(*(np.ascontiguousarray(column) for column in out.T)), speeds


class RunStates:
    """The part of `Solution` that computes something from each of its states."""

    if TYPE_CHECKING:
        system: System
        t: Array
        q: Array
        _x: Array
        _tangent: Array | None

    @property
    def variable(self) -> str:
        """What the run has integrated beside q: momenta "p" or joint speeds "u".

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> solution = mb.System(model, "lagrange-2").simulate(model.neutral(), [0, 0, 0], (0, 1), t_eval=[0.0, 1.0])
        >>> solution.variable, solution.u.shape, solution.p.shape
        ('u', (2, 3), (2, 3))
        """
        return self.system.variable

    @property
    def y(self) -> Array:
        """The states (m, nq + nv) as they were integrated: (q, p) or (q, u), see `variable`."""
        return np.hstack((self.q, self._x))

    @cached_property
    def p(self) -> Array:
        """Momenta (m, nv) at the times of the output, conjugate to u; kg m/s and kg m^2/s.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1), t_eval=[0.0, 1.0]).p.shape
        (2, 3)
        """
        return momenta_of_rows(self.system, self.q, self._x, self.t)

    @cached_property
    def u(self) -> Array:
        """Joint speeds (m, nv) at the times of the output: qdot where nq = nv, body-frame (linear, angular) for ball
        and free joints; m/s and rad/s.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1), t_eval=[0.0, 1.0]).u.shape
        (2, 3)
        """
        return self._x if self.variable == "u" else self._energies_and_speeds[1]

    @property
    def tangent(self) -> Array:
        """How the states follow what they began with: (m, 2 nv, k) at the times of the output, of a run with `tangent`.

        With ``tangent=True`` these are state-transition matrices Phi: a small change (d, dp) of the first state becomes
        Phi (d, dp). Quaternions, and positions of free joints, change along their tangents, see
        `mbkern.derivatives.Jacobian`. They are the exact derivatives of the steps that the run has taken, the sizes of
        the steps kept as they are. With constraints they solve the variational equation along the run instead, and
        are meant for changes that satisfy the constraints.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(2)
        >>> run = mb.System(model).simulate([0.1, 0.2], [0, 0], (0, 1), "gauss4", step=0.01, tangent=True)
        >>> Phi = run.tangent[-1]
        >>> Phi.shape, bool(abs(np.linalg.det(Phi) - 1.0) < 1e-12)
        ((4, 4), True)
        """
        if self._tangent is None:
            raise IntegrationError("tangent: the run carried no tangents along; call simulate(..., tangent=True)")
        return self._tangent

    def symplectic_error(self) -> float:
        """Largest number of Phi^T J Phi - J over the times of the output, J = [[0, 1], [-1, 0]], of a run with
        ``tangent=True``: rounding for the Gauss methods, their errors for the others.

        For conservative machines whose joints are all made of rotations and translations: dampers, and forces that are
        functions of the state, do not conserve phase space, and for the quaternions of ball and free joints the
        invariant form is another one.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(2)
        >>> run = mb.System(model).simulate([0.1, 0.2], [0, 0], (0, 1), "gauss4", step=0.01, tangent=True)
        >>> bool(run.symplectic_error() < 1e-12)
        True
        """
        error: float = lazy.module("integrate.tangents").symplectic_error(self)
        return error

    def body_poses(self) -> tuple[Array, Array]:
        """Where the bodies are at the times of the output.

        Returns
        -------
        R : (m, N, 3, 3)
            Rotations body -> world.
        r : (m, N, 3)
            Positions of the body origins in the world, in metres.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> R, r = mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1), t_eval=[0.0, 1.0]).body_poses()
        >>> R.shape, r.shape
        ((2, 3, 3, 3), (2, 3, 3))
        """
        n, count = self.t.size, self.system.model.n_bodies
        R, r = np.empty((n, count, 3, 3)), np.empty((n, count, 3))
        for k in range(n):
            R[k], r[k] = self.system.body_poses(self.q[k], float(self.t[k]))
        return R, r

    def momentum(self) -> Momentum:
        """Linear and angular momentum of the whole machine at the times of the output, in world axes.

        Those of rotors (armature) are not in it: they belong to no body.

        Examples
        --------
        A body that falls:

        >>> import mbkern as mb
        >>> model = mb.zoo.chain(1, joint=mb.free())
        >>> solution = mb.System(model).simulate(model.neutral(), [0.0] * 6, (0, 2), t_eval=[0.0, 1.0, 2.0])
        >>> (solution.momentum().linear / model.total_mass).round(6)[:, 2] + 0.0
        array([  0.  ,  -9.81, -19.62])
        """
        total = self._momenta(range(self.t.size))
        return Momentum(np.ascontiguousarray(total[:, :3]), np.ascontiguousarray(total[:, 3:]))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing about the run: where it left `model.limits`, which nothing enforces by itself (see
        `mbkern.forces.soft_limits`).

        Examples
        --------
        >>> import mbkern as mb
        >>> b = mb.ModelBuilder()
        >>> _ = b.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(1, 0, 0), limits=(-1.5, 1.5))
        >>> mb.System(b.build()).simulate([0.0], [0.0], (0, 1), t_eval=[0.0, 0.5, 1.0]).notes
        ("coordinate 'arm' left its limits -1.5 .. 1.5 at t = 1 s, by at most 1.26",)
        """
        return tuple(violations(self.system.model, self.t, self.q, self.u))

    @property
    def constraint_drift(self) -> Array:
        """How far the constraints are from being satisfied at each time: (m, rows), 0 for a model without any.

        In the order and units of `System.constraint_residuals`: rows of positions; velocities satisfy the constraints
        to rounding. With `project` (the default of `System.simulate`) it is what the projection leaves.

        Examples
        --------
        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.four_bar())
        >>> q0 = system.assemble([0.3, 0.0, 0.0])
        >>> solution = system.simulate(q0, [0.0, 0.0, 0.0], (0.0, 1.0))
        >>> bool(abs(solution.constraint_drift).max() < 1e-12)
        True
        """
        if not self.system.model.constraints:
            return np.zeros((self.t.size, 0))
        residuals = [self.system.constraint_residuals(q, float(t)) for t, q in zip(self.t, self.q, strict=True)]
        return np.array(residuals).reshape(self.t.size, self.system.model.n_rows)

    @cached_property
    def _energies_and_speeds(self) -> tuple[Energies, Array]:
        block = self.system.njit()[1]  # writeable, as everywhere: another type would compile all kernels again
        return energies_and_speeds(self.system, block, self.t, self.q, self.p)

    def _momenta(self, rows: Sequence[int] | range | NDArray[np.int64]) -> Array:
        """Linear momentum and angular momentum about the world's origin, in world axes, of some of the states."""
        roots = np.flatnonzero(self.system.model.parents < 0)
        total = np.zeros((len(rows), 6))
        for row, k in zip(total, rows, strict=True):
            t, q, p = float(self.t[k]), self.q[k], self.p[k]
            mu = self.system.body_momenta(q, p, t)
            R, r = self.system.body_poses(q, t)
            for i in roots:
                linear = R[i] @ mu[i, :3]
                row[:3] += linear
                row[3:] += R[i] @ mu[i, 3:] + np.cross(r[i], linear)
        return total
