"""Machines with constraints near rest: equilibria and vibrations on the constraint manifold.

With rows a(q) u = 0, multipliers lambda, residuals g of the holonomic rows, and f(q) the joint forces that keep the
tree without constraints at rest (less those given), an equilibrium is

    f(q) = a^T lambda,   g(q) = 0

and by Newton's method, K = df/dq of the tree (`derivatives_inverse_dynamics`) and L = d(a^T lambda)/dq at constant
lambda, both along tangents of q,

    [[K - L, -a^T], [a, 0]] (dq, dlambda) = -(f - a^T lambda, g)

Small motions are dq = X x with X the null space of the holonomic rows, du = Z y with Z that of all rows:

    x' = X^T Z y,    (Z^T M Z) y' = -Z^T (K - L) X x - Z^T C Z y

C has the dampers. L_ij = sum over rows of lambda_k da_ki/dq_j: rates of the rows for unit speeds, no differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from .. import lazy
from ..errors import ModelError, StateError
from ..inputs import Array
from ..model.model import Model

if TYPE_CHECKING:
    from ..system import System

RANK = 1e-9  # singular values below this part of the largest are zero
ITERATIONS = 100


def tree_of(model: Model) -> Model:
    """The model without its constraints."""
    return type(model)(model.name, tuple(model.gravity.tolist()), model.body_specs, model.frame_specs, model.visuals)


class AtRest:
    """A machine with constraints at rest: its rows, those of dofs that are held, and the derivatives.

    Parameters
    ----------
    system : System
    t : float
    tau : (nv,)
        Joint forces given.
    wrench : (N, 6) or None
    held : places of dofs
        Each is one more row: its coordinate keeps its value, and its multiplier is the joint force that holds it.
    """

    def __init__(self, system: System, t: float, tau: Array, wrench: ArrayLike | None, held: Sequence[int]) -> None:
        self.system, self.t, self.tau, self.wrench = system, t, tau, wrench
        self.nv = system.model.nv
        self.tree: System = lazy.module("system").System(tree_of(system.model))
        self.own = np.eye(self.nv)[np.asarray(held, int)]
        kept = [constraint.holonomic for constraint in system.model.constraints for _ in range(constraint.rows)]
        self.holonomic = np.array([*kept, *[True] * len(self.own)])

    def rows(self, q: Array) -> Array:
        """a, those of held dofs last; a ModelError where they ask for motion."""
        a, b = self.system.constraint_matrix(q, self.t)
        if np.abs(b).max(initial=0.0) > RANK * max(1.0, float(np.abs(a).max(initial=0.0))):
            raise ModelError("constraints that prescribe motion leave nothing at rest: equilibrium and modes are for "
                             "those that do not depend on time")
        return np.vstack([a, self.own])

    def residuals(self, q: Array) -> Array:
        return np.concatenate([self.system.constraint_residuals(q, self.t), np.zeros(len(self.own))])

    def forces(self, q: Array) -> Array:
        """f: the joint forces that the tree lacks to stay."""
        rest = np.zeros(self.nv)
        needed: Array = self.system.inverse_dynamics(q, rest, rest, self.t, self.wrench) - self.tau
        return needed

    def stiffness(self, q: Array, multipliers: Array) -> Array:
        """K - L."""
        rest, count = np.zeros(self.nv), len(multipliers) - len(self.own)
        K = self.tree.derivatives_inverse_dynamics(q, rest, rest, self.t, self.wrench).tau_q
        L = [self.system.constraint_matrix_rate(q, e, self.t)[0].T @ multipliers[:count] for e in np.eye(self.nv)]
        return K - np.array(L).reshape(self.nv, self.nv).T

    def multipliers(self, q: Array, force: Array) -> Array:
        """Those that balance the forces best."""
        found: Array = np.linalg.lstsq(self.rows(q).T, force, rcond=RANK)[0].astype(np.float64)
        return found


def null_space(rows: Array) -> Array:
    """Orthonormal columns that no row sees."""
    if not len(rows):
        return np.eye(rows.shape[1])
    _, sizes, right = np.linalg.svd(rows)
    rank = int((sizes > RANK * max(float(sizes.max(initial=0.0)), 1e-300)).sum())
    return np.ascontiguousarray(right[rank:].T)


def equilibrium(system: System, q: Array, t: float, tau: Array, wrench: ArrayLike | None, held: Sequence[int],
                scale: float, tolerance: float) -> tuple[Array, Array, float, int]:
    """q, the joint forces that the held dofs need beside tau, what is left over, steps; a StateError if there is none.

    Examples
    --------
    >>> import mbkern as mb
    >>> system = mb.System(mb.zoo.four_bar())
    >>> system.modes(system.equilibrium([-2.5, 0.0, 0.0]).q).frequencies.shape
    (1,)
    """
    machine, moved = AtRest(system, t, tau, wrench, held), lazy.module("derivatives.linear").moved
    names = [system.model.coordinate_names[int(np.flatnonzero(row)[0])] for row in machine.own]
    q = system.assemble(q, names, t)
    force = machine.forces(q)
    balance = machine.multipliers(q, force)

    def left(q: Array, force: Array, balance: Array) -> tuple[Array, Array]:
        return force - machine.rows(q).T @ balance, machine.residuals(q)

    def size(parts: tuple[Array, Array]) -> float:
        return float(np.linalg.norm(parts[0]) / scale + np.linalg.norm(parts[1]))

    missing = left(q, force, balance)
    for iteration in range(ITERATIONS + 1):
        residual = float(np.abs(missing[0]).max(initial=0.0))
        if residual <= tolerance * scale and float(np.abs(missing[1]).max(initial=0.0)) <= 1e-10:
            return q, machine.own.T @ balance[len(balance) - len(machine.own):], residual, iteration
        a = machine.rows(q)
        zero = np.zeros((len(a), len(a)))
        KKT = np.block([[machine.stiffness(q, balance) / scale, -a.T / scale], [a, zero]])
        step = np.linalg.lstsq(KKT, -np.concatenate([missing[0] / scale, missing[1]]), rcond=1e-13)[0]
        part = min(1.0, 0.5 / max(float(np.abs(step[:machine.nv]).max(initial=0.0)), 1e-300))
        for _ in range(30):
            new = moved(system.model, q, part * step[:machine.nv])
            force = machine.forces(new)
            found = left(new, force, balance + part * step[machine.nv:])
            if size(found) < size(missing):
                break
            part *= 0.5
        else:
            break
        q, balance, missing = new, balance + part * step[machine.nv:], found
    worst = system.model.speed_names[int(np.argmax(np.abs(missing[0])))]
    raise StateError(f"no equilibrium found near q_guess: after {iteration} steps of Newton's method a joint force of "
                     f"{residual:.3g} is left over beside those of the constraints, most in {worst!r}; give another "
                     "guess, hold some coordinates, or give the joint forces tau that keep the machine there")


def vibrations(system: System, q: Array, t: float, tau: Array, wrench: ArrayLike | None, largest: float
               ) -> tuple[Any, Any]:
    """Eigenvalues and shapes (nv, k) of small motions about q; a StateError unless it is an equilibrium.

    Parameters
    ----------
    largest : float
        Joint force that may be left over.
    """
    machine = AtRest(system, t, tau, wrench, ())
    system.check_consistent(q, np.zeros(machine.nv), t, ("q", "p"))
    force = machine.forces(q)
    a, balance = machine.rows(q), machine.multipliers(q, force)
    left = force - a.T @ balance
    if float(np.abs(left).max(initial=0.0)) > largest:
        worst = system.model.speed_names[int(np.argmax(np.abs(left)))]
        raise StateError(f"q is no equilibrium: a joint force of {np.abs(left).max():.3g} is left over beside those of "
                         f"the constraints, most in {worst!r}; find one with equilibrium(q), or give the joint forces "
                         "tau that keep the machine there")
    Z, X = null_space(a), null_space(a[machine.holonomic])
    mass = Z.T @ machine.tree.mass_matrix(q, t) @ Z
    K, damping = machine.stiffness(q, balance), system.model.damping
    if X.shape == Z.shape and not damping.any():
        squares, vectors = eigh(0.5 * (Z.T @ (K + K.T) @ Z), mass)
        small = 1e-12 * float(np.abs(squares).max(initial=0.0))
        squares = np.where(np.abs(squares) <= small, 0.0, squares)
        return np.where(squares >= 0.0, 1j * np.sqrt(np.abs(squares)), np.sqrt(np.abs(squares))), Z @ vectors
    lower = -np.linalg.solve(mass, np.hstack([Z.T @ K @ X, Z.T @ (damping[:, None] * Z)]))
    n = X.shape[1]
    eigenvalues, vectors = np.linalg.eig(np.vstack([np.hstack([np.zeros((n, n)), X.T @ Z]), lower]))
    keep = eigenvalues.imag >= 0.0
    return eigenvalues[keep], X @ vectors[:n, keep]
