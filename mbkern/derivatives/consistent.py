"""Changes of a state that keep the constraints: the tangent space of the motion with constraints.

A state (q, p) of the motion satisfies the holonomic rows and, with the speeds u = u(q, p) of the tree,

    g(q, t) = 0,      r(q, p, t) = a(q, t) u(q, p, t) + b(q, t) = 0

A change (dq, dp), dq along tangents of q, keeps them where a dq = 0 for the holonomic rows and R_q dq + R_p dp = 0,

    R_q e = (da/de) u + db/de + a u_q e,      R_p = a u_p = a Mass^-1

with derivatives da/de of the rows along unit speeds e, which are their rates, and u_q, u_p of the tree. Others are
brought there by the shortest way in kinetic energy, as steps of a run are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import lazy
from ..inputs import Array
from ..model.constraints import Constraint, Rolling
from .constrained import RANK, null_space, tree_of

if TYPE_CHECKING:
    from ..system import System


class Consistent:
    """The changes of one state that keep the constraints; without constraints all.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> from mbkern.derivatives.consistent import Consistent
    >>> system = mb.System(mb.zoo.four_bar())
    >>> q = system.assemble([0.3, 0.0, 0.0])
    >>> Consistent(system).directions(q, np.zeros(3), 0.0).shape  # one freedom: its coordinate, its momentum
    (6, 2)
    """

    def __init__(self, system: System) -> None:
        self._system, model = system, system.model
        self._n = model.nv
        self._tree: System = lazy.module("system").System(tree_of(model)) if model.constraints else system
        of_rows = [_holonomic_rows(constraint) for constraint in model.constraints]
        self._holonomic = np.concatenate([np.zeros(0, bool), *of_rows])

    def _rows(self, q: Array, p: Array, t: float) -> tuple[Array, Array, Array]:
        """a, R_q, R_p."""
        system, n = self._system, self._n
        a, _ = system.constraint_matrix(q, t)
        A = self._tree.jacobian_rhs(q, p, t)
        u = self._tree.velocities(q, p, t)

        def rate(e: Array) -> Array:
            by_q, by_t = system.constraint_matrix_rate(q, e, t)
            found: Array = by_q @ u + by_t
            return found

        still = rate(np.zeros(n))
        turned = np.column_stack([rate(e) - still for e in np.eye(n)])
        return a, turned + a @ A.u_q, a @ A.u_p

    def directions(self, q: Array, p: Array, t: float) -> Array:
        """An orthonormal basis, (2 nv, k), q along its tangents."""
        if not self._system.model.constraints:
            return np.eye(2 * self._n)
        a, by_q, by_p = self._rows(q, p, t)
        closed = a[self._holonomic]
        return null_space(_scaled(np.vstack([np.hstack([closed, np.zeros_like(closed)]), np.hstack([by_q, by_p])])))

    def nearest(self, q: Array, p: Array, t: float, columns: Array, moved: Array | None = None) -> Array:
        """Columns (2 nv, k) brought to changes that keep the constraints, by the shortest way in kinetic energy.

        Parameters
        ----------
        moved : (nv, k), optional
            By how much momenta p(q, u) grow with each column, where it changes the masses of the machine as well.
        """
        if not self._system.model.constraints:
            return columns
        n = self._n
        a, by_q, by_p = self._rows(q, p, t)
        dq, dp, closed = columns[:n].copy(), columns[n:].copy(), self._holonomic
        inverse = self._tree.inverse_mass_matrix(q, t)
        if closed.any():
            dq -= inverse @ a[closed].T @ _solved(a[closed] @ inverse @ a[closed].T, a[closed] @ dq)
        violated = by_q @ dq + by_p @ (dp if moved is None else dp - moved)
        dp -= a.T @ _solved(by_p @ a.T, violated)
        return np.vstack([dq, dp])


def _holonomic_rows(constraint: Constraint) -> NDArray[np.bool_]:
    """Which rows of a constraint are those of positions: of a wheel the height of its contact alone."""
    count = constraint.rows if constraint.holonomic else int(isinstance(constraint, Rolling))
    return np.arange(constraint.rows) < count


def _scaled(rows: Array) -> Array:
    """Each row with length one, zero rows as they are."""
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(sizes > 0.0, sizes, 1.0)


def _solved(G: Array, right: Array) -> Array:
    """G x = right for G that may have redundant rows."""
    size = 1.0 / np.sqrt(np.maximum(np.diag(G), 1e-300))
    scaled = size[:, None] * G * size
    found: Array = size[:, None] * np.linalg.lstsq(scaled, size[:, None] * right, rcond=RANK)[0]
    return found
