"""Constants of a machine that a gradient may be taken by: their names, and what compiled code has summed up for them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core import constants as L
from ..errors import ModelError
from ..inputs import Array
from ..lazy import cached_property
from ..model.checks import several, show
from ..model.model import Model
from ..workspace import places
from .kernels import desk as D

OF_BODY = ("mass", "com", "inertia", "position")
OF_JOINT = ("stiffness", "damping", "armature")
PAIRS = [[0, 3, 4], [3, 1, 5], [4, 5, 2]]  # xx yy zz xy xz yz as a matrix
HALVES = np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]])


class Places(NamedTuple):
    """Where the bodies of a model are: masses, centres of mass; nodes and frames in them; where their joints are fixed.

    Attributes
    ----------
    mass, com : (n,), (n, 3)
    node : (n,)
        Of each body, -1 for the ground.
    G, rho : (n, 3, 3), (n, 3)
        Frame of a body in its node: axes of the node -> of the body, origin.
    first : (n,)
        First node of each joint, -1 where it has none.
    G_parent : (n, 3, 3)
        Frame of the parent body in its node.
    """

    mass: Array
    com: Array
    node: Array
    G: Array
    rho: Array
    first: Array
    G_parent: Array


class Constants:
    """What a gradient by constants is made of, for one model; `nodes`: whether sums are those of nodes."""

    def __init__(self, model: Model, nodes: bool) -> None:
        self.model, self.nodes = model, nodes

    @cached_property
    def all_names(self) -> list[str]:
        """All constants there are, "gravity" last."""
        names = [f"{body.name}.{what}" for k, body in enumerate(self.model.body_specs) for what in (*OF_BODY, *OF_JOINT)
                 if _exists(self.model, k, what)]
        return [*names, "gravity"]

    @cached_property
    def places(self) -> Places:
        model, block = self.model, self.model.block
        own = [places.body_place(block, body) for body in range(model.n_bodies)]
        rows = [places.body_row(block, body) for body in range(model.n_bodies)]
        G = np.array([place[1] for place in own]).reshape(-1, 3, 3)
        parents = np.array(model.parents, int)
        return Places(np.array([spec.mass for spec in model.body_specs]),
                      np.array([spec.com for spec in model.body_specs], float).reshape(-1, 3),
                      np.array([place[0] for place in own], int), G,
                      np.array([place[2] for place in own]).reshape(-1, 3),
                      np.array([int(block[row + L.FIRST_NODE]) if block[row + L.N_JOINT_NODES] else -1 for row in rows],
                               int),
                      np.where(parents[:, None, None] >= 0, G[parents], np.eye(3)))

    def wanted(self, parameters: Any) -> list[str]:
        """The names, each checked."""
        if isinstance(parameters, str) and parameters == "all":
            return self.all_names
        names, model = several(parameters, "parameters", ModelError), self.model
        for name in names:
            body, _, what = name.rpartition(".") if isinstance(name, str) else ("", "", "")
            if not body and what == "gravity":
                continue
            if body not in model.body_names or what not in (*OF_BODY, *OF_JOINT):
                raise ModelError(f"parameters: expected 'gravity', 'all', or a body and one of "
                                 f"{', '.join((*OF_BODY, *OF_JOINT))} as 'body.mass', got {show(name)}")
            if not _exists(model, model.body_names.index(body), what):
                raise ModelError(f"parameters: {name!r}: this joint has no {what} that the gradient could be taken by "
                                 "(welded and driven joints have none of their own; armature must not be zero)")
        return names

    def gradient(self, names: list[str], sums: Array) -> dict[str, Any]:
        """The gradient by these constants, from the sums of :mod:`.kernels.desk`."""
        if not names:
            return {}
        model, nv = self.model, self.model.nv
        rows = sums[:-D.G_DOF * nv - 3].reshape(-1, D.G_BODY)
        by = dict(zip(OF_BODY, self._of_bodies(rows), strict=True))
        joints = sums[rows.size:-3].reshape(nv, D.G_DOF).T
        found: dict[str, Any] = {}
        for name in names:
            body, _, what = name.rpartition(".")
            if not body:
                found[name] = sums[-3:].copy()
                continue
            k = self._numbers[body]
            if what in OF_JOINT:
                first = int(model.v_offsets[k])
                found[name] = joints[OF_JOINT.index(what), first:first + model.body_specs[k].joint.nv].copy()
            else:
                value = by[what][k]
                found[name] = float(value) if what == "mass" else value
        return found

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.model.body_names)}

    def _of_bodies(self, rows: Array) -> tuple[Array, Array, Array, Array]:
        """By mass, centre of mass, inertia about it and position of all bodies."""
        at = self.places
        if self.nodes:
            own = np.vstack((rows, np.zeros(D.G_BODY)))  # the ground has the row after the last
            moved = _in_bodies(own[at.node, 0], own[at.node, 1:4], _matrices(own[at.node, 4:10]), at.G, at.rho)
            position = np.einsum("nij,nj->ni", at.G_parent, own[at.first, 10:])
        else:
            moved, position = (rows[:, 0], rows[:, 1:4], _matrices(rows[:, 4:10])), rows[:, 10:].copy()
        # the first moment is m c, the inertia about the origin J + m (c.c - c c^T)
        by_mass, by_moment, G = moved
        K = np.trace(G, axis1=1, axis2=2)[:, None, None] * np.eye(3) - G
        Kc = np.einsum("nij,nj->ni", K, at.com)
        return (by_mass + np.sum(at.com * (by_moment + Kc), axis=1), at.mass[:, None] * (by_moment + 2.0 * Kc), G,
                position)


def _matrices(rows: Array) -> Array:
    """Gradients by xx yy zz xy xz yz as those by symmetric matrices."""
    return rows[:, PAIRS] * HALVES


def _in_bodies(by_mass: Array, by_moment: Array, G: Array, R: Array, r: Array) -> tuple[Array, Array, Array]:
    """Gradients by mass, first moment and inertia about the origin, for frames at r that are turned by R.

    Of a particle at x = R^T x' + r the moment is m x, and the inertia G : m (x.x - x x^T) = m x.K x, K = tr G - G.
    """
    K = np.trace(G, axis1=1, axis2=2)[:, None, None] * np.eye(3) - G
    Kr = np.einsum("nij,nj->ni", K, r)
    return (by_mass + np.sum(r * (by_moment + Kr), axis=1), np.einsum("nij,nj->ni", R, by_moment + 2.0 * Kr),
            R @ G @ np.swapaxes(R, 1, 2))


def _exists(model: Model, body: int, what: str) -> bool:
    """Whether there is such a constant; positions are those of joints whose first step is a dof."""
    block, spec = model.block, model.body_specs[body]
    if what == "position":
        row = places.body_row(block, body)
        if int(block[row + L.N_JOINT_NODES]) == 0:
            return False
        return bool(block[places.node_row(int(block[row + L.FIRST_NODE])) + L.DOFS] > 0)
    if what == "armature":
        return spec.armature is not None and any(spec.armature)
    return what in OF_BODY or spec.joint.nv > 0
