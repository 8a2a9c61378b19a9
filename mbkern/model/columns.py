"""The bodies of a machine field by field, from which large models are named and lowered.

Each body is a name, a parent, a joint and a row of 25 numbers. Springs, limits and the like are kept of those bodies
alone that have any. The objects of `Model.body_specs` are made when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbkern.model.body import Body, Limits
from mbkern.model.drives import Drive
from mbkern.model.joint import MAX_DOFS, Joint

if TYPE_CHECKING:
    from mbkern.model.model import Model

Integers = NDArray[np.int64]
Array = NDArray[np.float64]

# Where the numbers of a body are in its row; matrices by rows
PLACES = {"mass": slice(0, 1), "com": slice(1, 4), "inertia": slice(4, 13), "position": slice(13, 16),
          "rotation": slice(16, 25)}
WIDTH = 25
MASS = 0
# How deep the numbers of a `Body` are nested, three each time
DEPTHS = {"mass": 0, "com": 1, "inertia": 2, "position": 1, "rotation": 2}
# Bodies that are gone through together, field by field or made: their numbers are in the cache meanwhile
TOGETHER = 512

_new = tuple.__new__  # of a named tuple: half of the time of the call of its class


class Extras(NamedTuple):
    """What a joint has besides its motion, as in `Body`."""

    stiffness: tuple[float, ...]
    damping: tuple[float, ...]
    rest: tuple[float, ...]
    limits: Limits | None = None
    friction: tuple[float, ...] | None = None
    armature: tuple[float, ...] | None = None


NOTHING = [Extras((0.0,) * n, (0.0,) * n, (0.0,) * n) for n in range(MAX_DOFS + 1)]  # for each number of dofs


class Columns:
    """Bodies, parents first.

    Attributes
    ----------
    names : tuple of str
    parents : (n,)
        -1: the ground.
    joints : sequence of Joint
    numbers : (n, 25)
        See `PLACES`.
    extras : mapping of int to Extras
        Of the bodies that have any.
    kinds : list of Joint
        The different objects among the joints: large machines repeat themselves.
    kind : (n,)
        Which of them each body has.
    """

    def __init__(self, names: Iterable[str], parents: Integers, joints: Sequence[Joint], numbers: Array,
                 extras: Mapping[int, Extras]) -> None:
        self.names = tuple(names)
        self.parents, self.joints, self.numbers, self.extras = parents, joints, numbers, extras
        kinds = dict(zip(map(id, joints), joints, strict=True))
        place = {one: k for k, one in enumerate(kinds)}
        self.kinds = list(kinds.values())
        self.kind = np.fromiter(map(place.__getitem__, map(id, joints)), np.int64, len(joints))

    def __len__(self) -> int:
        return len(self.names)

    def counts(self, name: str) -> Integers:
        """`nq` or `nv` of each joint."""
        return np.array([getattr(joint, name) for joint in self.kinds], np.int64)[self.kind]

    def per_dof(self, of: Callable[[Extras], tuple[float, ...] | None], none: float = 0.0) -> Array:
        """The numbers `of` the extras along the speeds, and what stands where there are none."""
        dofs = self.counts("nv")
        values = np.full(int(dofs.sum()), none)
        begins = (np.cumsum(dofs) - dofs)[np.fromiter(self.extras, np.int64, len(self.extras))]
        for extras, begin in zip(self.extras.values(), begins.tolist(), strict=True):
            given = of(extras)
            if given is not None:
                values[begin:begin + len(given)] = given
        return values

    def drives(self) -> list[Drive]:
        """Of all driven steps, body by body."""
        if not any(element.is_driven for joint in self.kinds for element in joint.elements):
            return []
        amounts = [element.amount for joint in self.joints for element in joint.elements]
        return [amount for amount in amounts if isinstance(amount, Drive)]

    def bodies(self) -> tuple[Body, ...]:
        """The same as objects."""
        made: list[Body] = []
        for begin in range(0, len(self), TOGETHER):
            part = slice(begin, begin + TOGETHER)
            rows = zip(self.names[part], self.parents[part].tolist(), self.joints[part], self.numbers[part].tolist(),
                       strict=True)
            for i, (name, parent, joint, row) in enumerate(rows, begin):
                mass, x, y, z, a, b, c, d, e, f, g, h, k, u, v, w, *R = row
                xx, xy, xz, yx, yy, yz, zx, zy, zz = R
                made.append(_new(Body, (name, parent, joint, mass, (x, y, z), ((a, b, c), (d, e, f), (g, h, k)),
                                        (u, v, w), ((xx, xy, xz), (yx, yy, yz), (zx, zy, zz)),
                                        *(self.extras[i] if i in self.extras else NOTHING[joint.nv]))))
        return tuple(made)


def columns_of(bodies: Sequence[Body]) -> Columns:
    """The columns of objects."""
    numbers = np.empty((len(bodies), WIDTH))
    for begin in range(0, len(bodies), TOGETHER):
        part = bodies[begin:begin + TOGETHER]
        for name, depth in DEPTHS.items():
            flat: Any = map(attrgetter(name), part)
            for _ in range(depth):
                flat = chain.from_iterable(flat)
            numbers[begin:begin + TOGETHER, PLACES[name]] = np.fromiter(
                flat, np.float64, len(part) * 3**depth).reshape(len(part), -1)
    extras = {i: more for i, body in enumerate(bodies) if (more := body[8:]) != NOTHING[body.joint.nv]}
    return Columns([body.name for body in bodies], np.array([body.parent for body in bodies], np.int64),
                   [body.joint for body in bodies], numbers, {i: Extras(*more) for i, more in extras.items()})


def drives_of(model: Model) -> list[Drive]:
    """All drives of a model's joints, body by body."""
    return model._columns.drives()
