"""Names of coordinates, speeds and bodies, and where each stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbkern.errors import ModelError
from mbkern.lazy import cached_property
from mbkern.model import checks
from mbkern.model.columns import Columns, columns_of
from mbkern.model.joint import Joint

# The endings of a joint whose one coordinate has the name of its body
OF_BODY = [(None, [""], [""])]


class Names:
    """The part of `Model` that finds places by names."""

    if TYPE_CHECKING:
        name: str
        body_names: tuple[str, ...]
        coordinate_names: tuple[str, ...]
        speed_names: tuple[str, ...]

    def index(self, name: str) -> int:
        """Position of a coordinate in q.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.pipelayer().index("theta")
        3
        """
        return _lookup(self._coordinate_index, name, "coordinate", self)

    def speed_index(self, name: str) -> int:
        """Position of a dof in the speeds u and the momenta p.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(2, joint=mb.ball())
        >>> model.index("body1.qw"), model.speed_index("body1.wx")
        (4, 3)
        """
        return _lookup(self._speed_index, name, "speed", self)

    def body_index(self, name: str) -> int:
        """Number of a body.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.pipelayer().body_index("boom")
        3
        """
        return _lookup(self._body_index, name, "body", self)

    @cached_property
    def _coordinate_index(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.coordinate_names)}

    @cached_property
    def _speed_index(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.speed_names)}

    @cached_property
    def _body_index(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.body_names)}


def joint_names(columns: Columns) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names along q and along the speeds."""
    endings = [_endings(joint) for joint in columns.kinds]
    if all(parts == OF_BODY for parts in endings):
        return columns.names, columns.names
    coordinates: list[str] = []
    speeds: list[str] = []
    for body, k in zip(columns.names, columns.kind.tolist(), strict=True):
        for name, of_coordinates, of_speeds in endings[k]:
            stem = name or body
            coordinates += [stem + ending for ending in of_coordinates]
            speeds += [stem + ending for ending in of_speeds]
    return tuple(coordinates), tuple(speeds)


def _endings(joint: Joint) -> list[tuple[str | None, list[str], list[str]]]:
    """Of each element that moves: its name, and the endings of its coordinates and speeds behind that or the body's."""
    moving = [element for element in joint.elements if element.nv]
    numbers = [""] if len(moving) == 1 else [f".{k}" for k in range(len(moving))]
    return [(element.name, *[[("" if element.name else number) + part for part in parts]
                             for parts in (element.coordinate_parts, element.speed_parts)])  # type: ignore[misc]
            for number, element in zip(numbers, moving, strict=True)]


def check_unique(names: tuple[str, ...], columns: Columns) -> None:
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    users = [repr(body.name) for body in columns.bodies()
             if any(twice in names for names in joint_names(columns_of([body])))]
    raise ModelError(
        f"coordinate name {twice!r} is used more than once (joint of body {' and '.join(users[:4])}); "
        "names given to steps and joints must be unique in the model"
    )


def _lookup(table: dict[str, int], name: str, what: str, model: Names) -> int:
    try:
        return table[name]
    except (KeyError, TypeError):
        hint = checks.near(name, table) if isinstance(name, str) else ""
        raise ModelError(f"model {model.name!r} has no {what} named {checks.show(name)}.{hint}") from None
