"""Constants of a machine that a gradient may be taken by: their names, and what compiled code has summed up of them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import constants as L
from ..errors import ModelError
from ..inputs import Array
from ..lazy import cached_property
from ..model.checks import several, show
from ..model.model import Model
from ..workspace import places
from .kernels import desk as D

# of a body: where they are among its BODY numbers, and their shapes
OF_BODY: dict[str, tuple[int, tuple[int, ...]]] = {"mass": (0, ()), "com": (1, (3,)), "inertia": (4, (3, 3)),
                                                   "position": (13, (3,))}
BODY = 16
OF_JOINT = ("stiffness", "damping", "armature")
PAIRS = [[0, 3, 4], [3, 1, 5], [4, 5, 2]]  # xx yy zz xy xz yz as a matrix
GROUND = np.zeros((1, D.G_BODY))  # the row after those of all nodes
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
    node: NDArray[np.intp]
    G: Array
    rho: Array
    first: NDArray[np.intp]
    G_parent: Array


class Constants:
    """What a gradient by constants is made of, for one model; `nodes`: whether sums are those of nodes."""

    def __init__(self, model: Model, nodes: bool) -> None:
        self.model, self.nodes = model, nodes

    @cached_property
    def all_names(self) -> list[str]:
        """All constants there are, "gravity" last."""
        names = [f"{body.name}.{what}" for k, body in enumerate(self.model.body_specs) for what in (*OF_BODY, *OF_JOINT)
                 if _exists(self.model, k, what) and not (self.model.constraints and what == "position")]
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
        n, nv = self.model.n_bodies, self.model.nv
        begin, place = sums.size - D.G_DOF * nv - 3, self.places
        rows = sums[:begin].reshape(-1, D.G_BODY)
        values = np.empty(BODY * n + D.G_DOF * nv + 3)
        bodies = values[:BODY * n].reshape(n, BODY)
        if self.nodes:
            own = np.concatenate((rows, GROUND))
            bodies[:, 13:] = np.matmul(place.G_parent, own.take(place.first, 0)[:, 10:, None])[:, :, 0]
            rows = own.take(place.node, 0)
        else:
            bodies[:, 13:] = rows[:, 10:]
        bodies[:, :13] = (self._map @ rows[:, :10, None])[:, :, 0]
        joints = values[BODY * n:-3].reshape(D.G_DOF, nv)
        joints[:], values[-3:] = sums[begin:-3].reshape(nv, D.G_DOF).T, sums[-3:]
        found: dict[str, Any] = {}
        for name in names:
            begin, end, shape = self._slices[name]
            value = values[begin:end]
            found[name] = value.item() if shape == () else value.reshape(shape) if len(shape) > 1 else value
        return found

    @cached_property
    def _slices(self) -> dict[str, tuple[int, int, tuple[int, ...]]]:
        """Where the gradient by each constant is among the values of `gradient`: begin, end, shape."""
        model, found = self.model, {}
        n, nv = model.n_bodies, model.nv
        for k, name in enumerate(model.body_names):
            for what, (begin, shape) in OF_BODY.items():
                found[f"{name}.{what}"] = BODY * k + begin, BODY * k + begin + math.prod(shape), shape
            first, count = int(model.v_offsets[k]), model.body_specs[k].joint.nv
            for j, what in enumerate(OF_JOINT):
                begin = BODY * n + j * nv + first
                found[f"{name}.{what}"] = begin, begin + count, (count,)
        size = BODY * n + D.G_DOF * nv
        return {**found, "gravity": (size, size + 3, (3,))}

    @cached_property
    def _map(self) -> Array:
        """(n, 13, 10): by mass, centre of mass and inertia about it, from the sums by mass, moment and inertia."""
        n = self.model.n_bodies
        return np.stack([self._of_bodies(np.tile(unit, (n, 1))) for unit in np.eye(10)], axis=2)

    def _of_bodies(self, rows: Array) -> Array:
        """The same for one row of sums each."""
        at, G = self.places, rows[:, 4:][:, PAIRS] * HALVES
        by_mass, by_moment = rows[:, 0], rows[:, 1:4]
        if self.nodes:
            by_mass, by_moment, G = _in_bodies(by_mass, by_moment, G, at.G, at.rho)
        # the first moment is m c, the inertia about the origin J + m (c.c - c c^T)
        K = _traceless(G)
        Kc = np.einsum("nij,nj->ni", K, at.com)
        by_com = at.mass[:, None] * (by_moment + 2.0 * Kc)
        return np.hstack(((by_mass + np.sum(at.com * (by_moment + Kc), axis=1))[:, None], by_com, G.reshape(-1, 9)))


def _traceless(G: Array) -> Array:
    """tr G - G."""
    return np.trace(G, axis1=1, axis2=2)[:, None, None] * np.eye(3) - G


def _in_bodies(by_mass: Array, by_moment: Array, G: Array, R: Array, r: Array) -> tuple[Array, Array, Array]:
    """Gradients by mass, first moment and inertia about the origin, for frames at r that are turned by R.

    Of a particle at x = R^T x' + r the moment is m x, and the inertia G : m (x.x - x x^T) = m x.K x, K = tr G - G.
    """
    K = _traceless(G)
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
