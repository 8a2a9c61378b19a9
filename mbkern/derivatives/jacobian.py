"""The Jacobian of the right-hand side as people use it: blocks by name, in tangents or in coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import plain
from ..core import constants as L
from ..inputs import Array
from ..model.model import Model
from ..workspace import places


class Jacobian:
    """Derivatives of (u, pdot) with respect to (q, p), q along its tangent.

    The tangent of a quaternion is a small turn d in body axes, q o (0, d/2); of the position of a free joint a small
    move in body axes. For all other coordinates it is the coordinate itself, and u is qdot.

    Attributes
    ----------
    matrix : (2 nv, 2 nv)
        [[u_q, u_p], [pdot_q, pdot_p]]; all others are views of it.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> model = mb.zoo.chain(3)
    >>> A = mb.System(model).jacobian_rhs(model.neutral(), np.zeros(3))
    >>> bool(np.allclose(A.u_p, mb.System(model).inverse_mass_matrix(model.neutral())))
    True
    """

    __slots__ = ("matrix",)

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nv={self._nv})"

    @property
    def _nv(self) -> int:
        return len(self.matrix) // 2

    @property
    def u_q(self) -> Array:
        """du/dq: joint speeds by tangents of the configuration, momenta kept."""
        nv = self._nv
        return self.matrix[:nv, :nv]

    @property
    def u_p(self) -> Array:
        """du/dp, the inverse of the mass matrix."""
        nv = self._nv
        return self.matrix[:nv, nv:]

    @property
    def pdot_q(self) -> Array:
        """dpdot/dq, momenta kept."""
        nv = self._nv
        return self.matrix[nv:, :nv]

    @property
    def pdot_p(self) -> Array:
        """dpdot/dp."""
        nv = self._nv
        return self.matrix[nv:, nv:]

    @property
    def pdot_tau(self) -> Array:
        """dpdot/dtau: the unit matrix, since joint forces add to pdot."""
        return np.eye(self._nv)


class CoordinateJacobian(Jacobian):
    """Derivatives of (qdot, pdot) with respect to (q, p), number by number, for solvers that integrate q itself.

    Functions of a quaternion do not depend on its length, so that pdot_q vanishes along it.

    Attributes
    ----------
    matrix : (nq + nv, nq + nv)
        [[qdot_q, qdot_p], [pdot_q, pdot_p]].
    u_q : (nv, nq)
    u_p : (nv, nv)

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> builder = mb.ModelBuilder()
    >>> _ = builder.add_body("top", joint=mb.ball(), mass=1.0, com=(0, 0, 1), inertia=(1, 1, 1))
    >>> A = mb.System(builder.build()).jacobian_rhs([1, 0, 0, 0], [0, 0, 1], chart="coordinates")
    >>> A.matrix.shape, A.u_q.shape
    ((7, 7), (3, 4))
    """

    __slots__ = ("_rows", "_u")

    def __init__(self, matrix: Array, u: Array, nv: int) -> None:
        super().__init__(matrix)
        self._u, self._rows = u, nv

    @property
    def _nv(self) -> int:
        return self._rows

    @property
    def u_q(self) -> Array:
        """du/dq, (nv, nq)."""
        return self._u[:, :-self._nv]

    @property
    def u_p(self) -> Array:
        """du/dp, the inverse of the mass matrix."""
        return self._u[:, -self._nv:]

    @property
    def qdot_q(self) -> Array:
        """dqdot/dq, (nq, nq)."""
        return self.matrix[:-self._nv, :-self._nv]

    @property
    def qdot_p(self) -> Array:
        """dqdot/dp, (nq, nv)."""
        return self.matrix[:-self._nv, -self._nv:]

    @property
    def pdot_q(self) -> Array:
        """dpdot/dq, (nv, nq), momenta kept."""
        return self.matrix[-self._nv:, :-self._nv]

    @property
    def pdot_p(self) -> Array:
        """dpdot/dp, (nv, nv)."""
        return self.matrix[-self._nv:, -self._nv:]


class AccelerationDerivatives(NamedTuple):
    """Derivatives of the joint accelerations udot(q, u, tau), q along its tangent.

    Attributes
    ----------
    udot_q, udot_u, udot_tau : (nv, nv)
        The last one is the inverse of the mass matrix.
    """

    udot_q: Array
    udot_u: Array
    udot_tau: Array


class ForceDerivatives(NamedTuple):
    """Derivatives of the joint forces tau(q, u, udot) that a motion needs, q along its tangent.

    Attributes
    ----------
    tau_q, tau_u, tau_udot : (nv, nv)
        The last one is the mass matrix.
    """

    tau_q: Array
    tau_u: Array
    tau_udot: Array


def in_coordinates(model: Model, q: Array, u: Array, tangent: Jacobian, out: Array | None = None) -> CoordinateJacobian:
    """The same in coordinates: qdot = N(q) u, and dq moves the tangent by T(q) dq."""
    nq, nv = model.nq, model.nv
    N, T, bent = charts(model, q, u)
    speeds = np.hstack([tangent.u_q @ T, tangent.u_p])
    matrix = np.empty((nq + nv, nq + nv)) if out is None else out
    matrix[:nq] = N @ speeds
    matrix[:nq, :nq] += bent
    matrix[nq:, :nq] = tangent.pdot_q @ T
    matrix[nq:, nq:] = tangent.pdot_p
    return CoordinateJacobian(matrix, speeds, nv)


def charted_nodes(model: Model) -> list[tuple[int, int, int, int, bool]]:
    """Of each node that has dofs: its place in q and in u; where its angular velocity is in u and its quaternion in q
    (-1: it has one coordinate of its own); whether a position is before that."""
    block, joints = model.block, plain.load("joints")
    rows = [places.node_row(i) for i in range(int(block[L.N_NODES]))]
    return [(int(block[c + L.QI]), int(block[c + L.VI]), joints.turn_place(block, c), joints.quaternion_place(block, c),
             joints.floats(block, c)) for c in rows if not joints.is_driven(block, c)]


def charts(model: Model, q: Array, u: Array) -> tuple[Array, Array, Array]:
    """N (nq, nv), T (nv, nq) with T N = 1, and d(N u)/dq (nq, nq) at constant u."""
    N, T, bent = np.zeros((model.nq, model.nv)), np.zeros((model.nv, model.nq)), np.zeros((model.nq, model.nq))
    for qi, vi, turns, at, floats in charted_nodes(model):
        if at < 0:
            N[qi, vi] = T[vi, qi] = 1.0
        else:
            turn, quaternion = slice(turns, turns + 3), slice(at, at + 4)
            length2 = float(q[quaternion] @ q[quaternion])
            E = _half_product(q[quaternion])
            N[quaternion, turn], T[turn, quaternion] = E, 4.0 / length2 * E.T
            bent[quaternion, quaternion] = _rate_by(u[turn])
            if floats:
                R = _rotation(q[quaternion])
                place, move = slice(qi, qi + 3), slice(vi, vi + 3)
                N[place, move], T[move, place] = R, R.T
                bent[place, quaternion] = -R @ _cross(u[move]) @ T[turn, quaternion]
    return N, T, bent


def turning_of_tangents(model: Model, u: Array) -> Array:
    """ad_u, (nv, nv): tangents of ball and free joints are in body axes, which turn, so that d' = du - ad_u d.

    For small deviations d of the configuration while the joints move with the speeds u, angular (w) or (v, w):
    ad_w d = w x d, and ad_(v, w) (x, d) = (w x x + v x d, w x d). Zero for all other joints.
    """
    ad = np.zeros((model.nv, model.nv))
    for _, vi, turns, at, floats in charted_nodes(model):
        if at >= 0:
            turn = slice(turns, turns + 3)
            ad[turn, turn] = _cross(u[turn])
            if floats:
                move = slice(vi, vi + 3)
                ad[move, move], ad[move, turn] = _cross(u[turn]), _cross(u[move])
    return ad


def _cross(x: Array) -> Array:
    """The matrix of the cross product with x."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def _half_product(q: Array) -> Array:
    """The matrix (4, 3) of w -> q o (0, w) / 2."""
    return 0.5 * np.vstack([-q[1:], q[0] * np.eye(3) + _cross(q[1:])])


def _rate_by(w: Array) -> Array:
    """The matrix (4, 4) of q -> q o (0, w) / 2."""
    rate = np.zeros((4, 4))
    rate[0, 1:], rate[1:, 0], rate[1:, 1:] = -w, w, -_cross(w)
    return 0.5 * rate


def _rotation(q: Array) -> Array:
    """The rotation body -> parent of a quaternion of any length."""
    w, v = q[0], q[1:]
    return np.eye(3) + 2.0 / (q @ q) * (w * _cross(v) + _cross(v) @ _cross(v))
