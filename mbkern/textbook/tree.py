"""What the papers take for granted at a state: the blocks of all bodies, and the two lines of pdot.

    C_i, A_i, vr_i    v_i = C_i v_k + A_i qdot_i + vr_i          k the parent
    M_i, F_i          inertia and weight in body axes, at the body's origin
    N_i, Z_i          A_i^T N_i = E (N = A (A^T A)^-1) and A_i^T Z_i = 0, Z orthonormal
    r_i               inertia of the rotors (armature), which the papers do not have: A^T mu + r qdot = p

All are numbers that cost nothing; what is done with them is counted when the tree has a ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import lazy, plain
from ..core import constants as L
from ..errors import ModelError
from ..inputs import Array
from ..model.model import Model
from ..workspace import places
from .algebra import Frame, Numbers, plus, to_child, to_parent

if TYPE_CHECKING:
    from ..flops.numbers import Ledger

BACKWARD, FORWARD, FACTOR, RATE = "backward", "forward", "factor", "rate"
Vectors = list[Numbers]  # one for each body
Solved = tuple[Vectors, Vectors, Vectors]  # qdot, v, mu


@dataclass
class Tree:
    """The blocks of all bodies, parents first; of each list one entry a body."""

    ledger: Ledger | None
    names: Sequence[str]
    parents: list[int]
    C: list[Frame]
    A: list[Numbers]
    vr: Vectors
    M: list[Numbers]
    F: Vectors
    r: list[Array]

    def __len__(self) -> int:
        return len(self.parents)

    def numbers(self, values: Any) -> Numbers:
        """Given numbers: of the ledger if there is one."""
        return np.array(values, float) if self.ledger is None else self.ledger.numbers(values)

    def zeros(self, *shape: int) -> Numbers:
        """Zeros that are numbers: adding to them counts."""
        return self.numbers(np.zeros(shape))

    def line(self, sweep: str, text: str) -> AbstractContextManager[None]:
        """What follows is this line of the algorithm."""
        return nullcontext() if self.ledger is None else self.ledger.under(sweep, text)

    def with_rotors(self, i: int, X: Numbers) -> Numbers:
        """The n x n matrix X of body i's joint, plus r on its diagonal."""
        if self.r[i].any():
            X = X.copy()
            for k, r in enumerate(self.numbers(self.r[i])):
                if self.r[i][k]:
                    X[k, k] = X[k, k] + r
        return X

    def N(self, i: int) -> Numbers:
        """A (A^T A)^-1."""
        return self.numbers(np.linalg.pinv(_floats(self.A[i])).T)

    def Z(self, i: int) -> Numbers:
        """An orthonormal basis of what the joint blocks; then the columns of N of dofs with armature."""
        A = _floats(self.A[i])
        left, _, _ = np.linalg.svd(A)
        return self.numbers(np.hstack([left[:, A.shape[1]:], np.linalg.pinv(A).T[:, self.r[i] > 0.0]]))

    def inverse_inertia(self, i: int) -> tuple[Any, Numbers, Numbers]:
        """Mass, centre of mass and inverse of the inertia about it."""
        M = _floats(self.M[i])
        if not np.linalg.cond(M) < 1e14:
            raise ModelError(f"body {self.names[i]!r}: hzu inverts the inertia of every body, "
                             "but this one's is singular")
        m, s = M[0, 0], np.array([M[5, 1], M[3, 2], M[4, 0]])
        about_com = M[3:, 3:] - (s @ s * np.eye(3) - np.outer(s, s)) / m
        return self.numbers(m)[()], self.numbers(s / m), self.numbers(np.linalg.inv(about_com))


def velocities(tree: Tree, qdot: Vectors, vr: Vectors) -> Vectors:
    """v = C v_k + A qdot + vr, root first."""
    v: Vectors = []
    for i, k in enumerate(tree.parents):
        with tree.line(FORWARD, "A qdot + vr"):
            own = plus(vr[i], tree.A[i], qdot[i])
        if k >= 0:
            with tree.line(FORWARD, "C v_k"):
                own = to_child(tree.C[i], v[k]) + own
        v.append(own)
    return v


def momentum_rates(tree: Tree, mu: Vectors, rates: Callable[[int], Numbers]) -> Vectors:
    """pdot = (Adot^T - A^T Omega) mu + A^T F*,  F*_k = F_k + sum C^T F*_i; `rates` gives the n x 6 matrix of a body."""
    F, pdot = list(tree.F), list(mu)
    for i in range(len(tree) - 1, -1, -1):
        k = tree.parents[i]
        if k >= 0:
            with tree.line(RATE, "F*"):
                F[k] = F[k] + to_parent(tree.C[i], F[i])
        matrix = rates(i)
        with tree.line(RATE, "pdot"):
            pdot[i] = matrix @ mu[i] + tree.A[i].T @ F[i]
    return pdot


# ---- from a model --------------------------------------------------------------------------------------------------


class State:
    """A model at q and t: its tree, and what depends on the joint speeds too; by the core's sources as plain Python."""

    def __init__(self, model: Model, q: Array, t: float, ledger: Ledger | None = None) -> None:
        sources = lazy.module("flops.sources")  # flops counts what is written here, and imports it
        self.model, self.q = model, q
        self.blocks = plain.load("blocks")
        self.block, drives = sources.with_drives(model)
        n, nv = model.n_bodies, model.nv
        self.work = np.zeros(self.blocks.blocks_row(self.block, n))
        C, columns, vr = np.zeros((n, 6, 6)), np.zeros((nv, 6)), np.zeros((n, 6))
        sources.rebound(self.blocks.blocks, evaluate_drives=sources.evaluate_drives(drives))(
            self.block, t, q, C.reshape(-1), columns.reshape(-1), vr.reshape(-1), self.work)
        starts = (self.blocks.blocks_row(self.block, b) + self.blocks.B_G for b in range(n))
        frames = [self.work[at:at + 12].copy() for at in starts]
        self.parts = [slice(at, at + dofs) for at, dofs in zip(model.v_offsets.tolist(), model.dofs.tolist(),
                                                               strict=True)]
        tree = Tree(ledger, model.body_names, model.parents.tolist(), [], [], [], [], [], [])
        tree.C = [(tree.numbers(x[:9].reshape(3, 3)), tree.numbers(x[9:])) for x in frames]
        tree.A = [tree.numbers(columns[part].T) for part in self.parts]
        tree.vr = [tree.numbers(x) for x in vr]
        tree.M = [tree.numbers(M) for M in model.bodies["M"]]
        tree.F = [tree.numbers(F) for F in _weights(model, frames)]
        tree.r = [model.armature[part] for part in self.parts]
        self.tree = tree

    def split(self, x: Array) -> Vectors:
        """One number a dof as one vector a body."""
        return [self.tree.numbers(x[part]) for part in self.parts]

    def put_speeds(self, speeds: Array) -> int:
        """Put the joint speeds into the workspace; where they are there."""
        at = places.speeds_at(self.block)
        self.work[at:at + self.model.nv] = speeds
        return at

    def momentum_matrix(self, i: int, v: Array, speeds: Array) -> Numbers:
        """Adot^T - A^T Omega of body i: what the core makes of unit momenta, column by column."""
        self.put_speeds(speeds)
        rates, zero = np.zeros(self.model.nv), ((0.0,) * 3,) * 2
        out = np.empty((self.parts[i].stop - self.parts[i].start, 6))
        for j, unit in enumerate(np.eye(6).tolist()):
            self.blocks.joint_momentum_rates(self.block, i, _pair(v), _pair(unit), zero, rates, self.work)
            out[:, j] = rates[self.parts[i]]
        return self.tree.numbers(out)

    def joint_forces(self, speeds: Array, tau: Array) -> Array:
        """tau, springs, dampers and what spinning rotors add."""
        self.put_speeds(speeds)
        out = np.zeros(self.model.nv)
        plain.load("forces").add_joint_forces(self.block, self.q, tau, out, self.work)
        return out

    def configuration_rates(self, speeds: Array) -> Array:
        """qdot = N(q) u: the rates of quaternions too."""
        at, rates = self.put_speeds(speeds), np.zeros(self.model.nq)
        plain.load("joints").put_rates(self.block, self.q, self.work, at, rates)
        return rates

    def acceleration_drifts(self, speeds: Array) -> Vectors:
        """wr = (Omega^T C - C Omega_k^T) v_k + Adot u + vrdot; on the ground C (-g; 0) more: it accelerates by -g."""
        layout, spatial, block, work = plain.load("layout"), plain.load("spatial"), self.block, self.work
        plain.load("newton_euler").put_motions(block, speeds, work)
        zero, out = (0.0, 0.0, 0.0), []
        for b, body in enumerate(self.model.body_specs):
            row = layout.body_row(block, b)
            wr = (tuple(-g for g in self.model.gravity.tolist()) if body.parent < 0 else zero, zero)
            first = int(block[row + L.FIRST_NODE])
            for i in range(first, first + int(block[row + L.N_JOINT_NODES])):  # from node to node of the joint
                w = layout.work_row(i)
                wr = spatial.add6(spatial.motion_to_child(layout.get_frame(work, w + L.W_G), wr),
                                  layout.get_pair(work, w + L.W_DRIFT))
            wr = spatial.motion_to_child(layout.get_frame(block, row + L.BODY_G), wr)
            out.append(self.tree.numbers(np.concatenate(wr)))
        return out


def _floats(x: Numbers) -> Array:
    return x.astype(float)


def _pair(x: Any) -> Any:
    x = [float(a) for a in x]
    return tuple(x[:3]), tuple(x[3:])


def _weights(model: Model, frames: list[Array]) -> list[Array]:
    """(m g; rc x m g) of each body in its own axes."""
    gravity: list[Array] = []
    out = []
    for body, frame in zip(model.body_specs, frames, strict=True):
        before = model.gravity if body.parent < 0 else gravity[body.parent]
        gravity.append(frame[:9].reshape(3, 3) @ before)
        force = body.mass * gravity[-1]
        out.append(np.concatenate([force, np.cross(body.com, force)]))
    return out
