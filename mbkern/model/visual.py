"""What a body looks like: shapes fixed in it, for pictures alone.

Shapes take no part in the dynamics. They stay with the model when it is saved, pickled or varied, but two models that
move alike are equal whatever they look like. A mesh in a file is remembered by its path and read when it is drawn.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbkern.errors import ModelError
from mbkern.model import checks
from mbkern.model.checks import Mat3, Vec3

Kind = Literal["box", "sphere", "cylinder", "capsule", "ellipsoid", "mesh"]
Color = tuple[float, float, float, float]
#: A file, or vertices (n, 3) and faces (m, 3)
Mesh: TypeAlias = str | PathLike[str] | tuple[ArrayLike, ArrayLike]

#: What the numbers of `Visual.size` are.
SIZES: dict[str, tuple[str, ...]] = {
    "box": ("length along x", "length along y", "length along z"),
    "sphere": ("radius",),
    "cylinder": ("radius", "length along z"),
    "capsule": ("radius", "length along z without the caps"),
    "ellipsoid": ("half axis x", "half axis y", "half axis z"),
    "mesh": ("scale x", "scale y", "scale z"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Visual:
    """One shape of a body; made by `ModelBuilder.add_visual`.

    Attributes
    ----------
    kind : "box", "sphere", "cylinder", "capsule", "ellipsoid" or "mesh"
    size : tuple of floats
        Box: lengths along x, y, z. Sphere: radius. Cylinder and capsule: radius, length along z (of a capsule without
        its caps). Ellipsoid: half axes. Mesh: scale along x, y, z. In m.
    position : (3,) tuple
        Middle of the shape (origin of a mesh) in the body frame, m.
    rotation : (3, 3) tuple of rows
        Axes of the shape -> axes of the body.
    color : (red, green, blue, opacity) from 0 to 1, or None
        None leaves it to the mesh file, or to the viewer.
    path : str or None
        The file of a mesh.
    vertices, faces : (n, 3) float array and (m, 3) int array, or None
        A mesh that is given by its triangles.
    """

    kind: Kind
    size: tuple[float, ...]
    position: Vec3 = checks.ZERO3
    rotation: Mat3 = checks.IDENTITY
    color: Color | None = None
    path: str | None = None
    vertices: NDArray[np.float64] | None = None
    faces: NDArray[np.int64] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain dicts, lists, numbers and strings."""
        data: dict[str, Any] = {"kind": self.kind, "size": list(self.size), "position": list(self.position),
                                "rotation": [list(row) for row in self.rotation]}
        if self.color is not None:
            data["color"] = list(self.color)
        if self.path is not None:
            data["path"] = self.path
        if self.vertices is not None and self.faces is not None:
            data |= {"vertices": self.vertices.tolist(), "faces": self.faces.tolist()}
        return data


def visual(kind: str, size: ArrayLike | None, what: str, *, mesh: Any = None, color: Any = None,
           position: ArrayLike = checks.ZERO3, rotation: ArrayLike | None = None) -> Visual:
    """A checked shape."""
    if not isinstance(kind, str) or kind not in SIZES:
        raise ModelError(f"{what}: kind must be one of {', '.join(map(repr, SIZES))}, got {checks.show(kind)}")
    if (kind == "mesh") != (mesh is not None):
        raise ModelError(f"{what}: mesh (a file, or vertices and faces) belongs to kind 'mesh' and only to it")
    path, vertices, faces = _mesh(mesh, f"{what}: mesh") if mesh is not None else (None, None, None)
    return Visual(
        kind=kind,  # type: ignore[arg-type]  # checked above
        size=_size(kind, size, f"{what}: size"),
        position=checks.vector3(position, f"{what}: position"),
        rotation=checks.rotation(rotation, f"{what}: rotation"),
        color=None if color is None else _color(color, f"{what}: color"),
        path=path,
        vertices=vertices,
        faces=faces,
    )


def _size(kind: str, value: Any, what: str) -> tuple[float, ...]:
    meaning = SIZES[kind]
    if kind == "mesh" and value is None:
        return 1.0, 1.0, 1.0
    entries = checks.items(value)
    if entries is None and (len(meaning) == 1 or kind == "mesh"):
        entries = [value] * len(meaning)
    if entries is None or len(entries) != len(meaning):
        raise ModelError(f"{what} of a {kind}: expected ({', '.join(meaning)}), got {checks.show(value)}")
    numbers = tuple([checks.number(entry, what) for entry in entries])
    if kind == "mesh" and 0.0 in numbers:
        raise ModelError(f"{what} of a mesh: no scale may be 0, got {numbers}")
    if kind != "mesh" and min(numbers) < 0.0:
        raise ModelError(f"{what} of a {kind} must not be negative, got {numbers}")
    return numbers


def _color(value: Any, what: str) -> Color:
    if isinstance(value, str) and re.fullmatch(r"#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{8})", value):
        entries: Any = [int(value[k : k + 2], 16) / 255.0 for k in range(1, len(value), 2)]
    else:
        entries = checks.items(value)
    if entries is None or len(entries) not in (3, 4):
        raise ModelError(f"{what}: expected '#rrggbb', '#rrggbbaa', or 3 or 4 numbers from 0 to 1, "
                         f"got {checks.show(value)}")
    numbers = [checks.number(entry, what) for entry in entries]
    if min(numbers) < 0.0 or max(numbers) > 1.0:
        raise ModelError(f"{what}: expected numbers from 0 to 1, got {checks.show(value)}")
    red, green, blue, opacity = (*numbers, 1.0)[:4]
    return red, green, blue, opacity


def _mesh(value: Any, what: str) -> tuple[str | None, NDArray[np.float64] | None, NDArray[np.int64] | None]:
    if isinstance(value, str | PathLike):
        path = fspath(value)
        if not isinstance(path, str) or not path or "\0" in path:
            raise ModelError(f"{what}: expected the name of a file, got {checks.show(value)}")
        return path, None, None
    try:
        vertices = np.array(value[0], dtype=np.float64)
        faces = np.array(value[1])
    except Exception:  # of any kind: the value itself may do the converting
        raise ModelError(f"{what}: expected a file, or (vertices, faces), got {checks.show(value)}") from None
    if vertices.ndim != 2 or vertices.shape[1] != 3 or not vertices.size or not np.isfinite(vertices).all():
        raise ModelError(f"{what}: vertices must be finite numbers of shape (n, 3), got shape {vertices.shape}")
    whole = faces.ndim == 2 and faces.shape[1] == 3 and faces.size and np.issubdtype(faces.dtype, np.integer)
    if not whole or faces.min() < 0 or faces.max() >= len(vertices):
        raise ModelError(f"{what}: faces must be integers of shape (m, 3) from 0 to {len(vertices) - 1}")
    faces = faces.astype(np.int64)
    vertices.flags.writeable = faces.flags.writeable = False
    return None, vertices, faces


def equivalent(mass: float, inertia: Mat3) -> Visual | None:
    """The uniform solid of this mass and inertia, about the origin: a ball, a cylinder or a box; None for a point.

    Of an inertia that no body has, negative second moments are taken as zero.
    """
    if not mass > 0.0:
        return None
    J, axes = np.linalg.eigh(np.array(inertia))
    second = np.maximum(0.5 * J.sum() - J, 0.0) / mass  # mean squares x^2, y^2, z^2
    order = np.argsort(second)
    second, axes = second[order], axes[:, order]
    if not second[2] > 0.0 or not math.isfinite(second.sum()):
        return None
    near = 0.1 * float(second[2])
    a, b, c = (float(x) for x in second)
    if c - a < near:
        return Visual("sphere", (math.sqrt(5.0 * (a + b + c) / 3.0),))
    if min(b - a, c - b) < near:  # a rod or a disc: z along its axis, with mean squares h^2 / 12 and r^2 / 4
        along, radius = (2, math.sqrt(2.0 * (a + b))) if b - a < c - b else (0, math.sqrt(2.0 * (b + c)))
        z = axes[:, along]
        x = axes[:, 1]
        R = np.column_stack([x, np.cross(z, x), z])
        return Visual("cylinder", (radius, math.sqrt(12.0 * float(second[along]))), rotation=_rows(R))
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    return Visual("box", (math.sqrt(12.0 * a), math.sqrt(12.0 * b), math.sqrt(12.0 * c)), rotation=_rows(axes))


def _rows(R: NDArray[np.float64]) -> Mat3:
    a, b, c = R.tolist()
    return tuple(a), tuple(b), tuple(c)
