"""Meshes: read from files, welded, and thinned until a page can hold them.

STL and OBJ are read here, Collada in :mod:`.collada`, all else by the package trimesh. A file that is missing, broken
or huge raises `MeshError` with the reason; whoever draws puts a box in its place.
"""

from __future__ import annotations

import os
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from . import collada
from .part import Array, Color, Faces, MeshError, Part

#: Larger files, or more triangles, are not read: no robot has such parts, and a browser could not show them.
LARGEST_FILE = 200_000_000
LARGEST_COUNT = 4_000_000
#: Vertices closer than this part of the mesh's extent are one.
WELD = 1e-5


def read(path: str) -> tuple[Part, ...]:
    """The parts of a mesh file, one for each colour, with welded vertices."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        raise MeshError("no such file") from None
    if status.st_size > LARGEST_FILE:
        raise MeshError(f"{status.st_size / 1e6:.0f} MB are too much to draw")
    return _read(path, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _read(path: str, _: int) -> tuple[Part, ...]:
    reader = {".stl": _stl, ".obj": _obj, ".dae": collada.read}.get(Path(path).suffix.lower(), _by_trimesh)
    try:
        parts = reader(Path(path))
    except MeshError:
        raise
    except Exception as error:  # whatever a broken file makes a reader stumble over
        raise MeshError(f"not readable: {type(error).__name__}: {error}") from None
    count = sum(len(part.faces) for part in parts)
    if not count:
        raise MeshError("no triangles")
    if count > LARGEST_COUNT:
        raise MeshError(f"{count} triangles are too many to draw")
    return tuple(checked(part) for part in _by_color(parts))


def checked(part: Part) -> Part:
    """The part with vertices welded and faces without extent left out."""
    vertices, faces = np.asarray(part.vertices, dtype=np.float64), np.asarray(part.faces, dtype=np.int64)
    if not np.isfinite(vertices).all() or faces.min() < 0 or faces.max() >= len(vertices):
        raise MeshError("coordinates or indices out of range")
    return _clustered(vertices, faces, WELD * float(np.ptp(vertices, axis=0).max()), part.color)


def thinned(part: Part, most: int) -> Part:
    """The part with at most about `most` triangles.

    Vertices in the same cell of a grid become one if their surfaces look the same way: the two sides of a thin shell
    stay apart.
    """
    if len(part.faces) <= most:
        return part
    sides = _sides(part)
    extent = float(np.ptp(part.vertices, axis=0).max())
    fine, coarse = 1e-4 * extent, extent
    best = _clustered(part.vertices, part.faces, coarse / 4, part.color)  # if all else has too many
    for _ in range(12):
        cell = float(np.sqrt(fine * coarse))
        tried = _clustered(part.vertices, part.faces, cell, part.color, sides)
        if len(tried.faces) > most:
            fine = cell
        else:
            coarse, best = cell, tried
    return best


def _sides(part: Part) -> Faces:
    """For each vertex, which of the six directions +-x, +-y, +-z its surface faces most."""
    a, b, c = (part.vertices[part.faces[:, k]] for k in range(3))
    normals = np.zeros_like(part.vertices)
    for k in range(3):
        np.add.at(normals, part.faces[:, k], np.cross(b - a, c - a))
    along = np.abs(normals).argmax(axis=1)
    return 2 * along + (normals[np.arange(len(along)), along] > 0.0)


def _clustered(vertices: Array, faces: Faces, cell: float, color: Color | None, sides: Faces | int = 0) -> Part:
    """Vertices of a cell (and side) replaced by their mean; faces that lose a corner, or are there twice, left out."""
    if not len(vertices):
        return Part(vertices, faces, color)
    keys = np.floor((vertices - vertices.min(axis=0)) / max(cell, 1e-300) + 0.5).astype(np.int64)
    limit = keys.max(axis=0) + 1
    flat = ((keys[:, 0] * limit[1] + keys[:, 1]) * limit[2] + keys[:, 2]) * 6 + sides
    _, place, count = np.unique(flat, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    means = np.column_stack([np.bincount(place, weights=vertices[:, k]) for k in range(3)]) / count[:, None]
    corners = place[faces]
    whole = (corners[:, 0] != corners[:, 1]) & (corners[:, 1] != corners[:, 2]) & (corners[:, 2] != corners[:, 0])
    corners = corners[whole]
    _, once = np.unique(np.sort(corners, axis=1), axis=0, return_index=True)
    corners = corners[np.sort(once)]
    used, numbered = np.unique(corners, return_inverse=True)
    return Part(means[used], numbered.reshape(-1, 3), color)


def _by_color(parts: list[Part]) -> list[Part]:
    """Parts of the same colour as one."""
    groups: dict[Color | None, list[Part]] = {}
    for part in parts:
        if len(part.faces):
            groups.setdefault(part.color, []).append(part)
    merged = []
    for color, group in groups.items():
        starts = np.cumsum([0, *(len(part.vertices) for part in group[:-1])])
        faces = np.concatenate([part.faces + start for part, start in zip(group, starts, strict=True)])
        merged.append(Part(np.concatenate([part.vertices for part in group]), faces, color))
    return merged


# ---- formats --------------------------------------------------------------------------------------------------------

_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def _stl(path: Path) -> list[Part]:
    data = path.read_bytes()
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else 0
    if len(data) >= 84 and len(data) >= 84 + 50 * count and (count or not data.lstrip().startswith(b"solid")):
        if count > LARGEST_COUNT:
            raise MeshError(f"{count} triangles are too many to draw")
        corners = np.frombuffer(data, _TRIANGLE, count, 84)["corners"].reshape(-1, 3).astype(np.float64)
    else:  # text: "vertex x y z"
        words = data.split()
        at = np.flatnonzero(np.array([word == b"vertex" for word in words]))
        if not at.size or at.size % 3:
            raise MeshError("neither a binary nor a text STL file")
        corners = np.array([[float(words[k + j]) for j in (1, 2, 3)] for k in at])
    return [Part(corners, np.arange(len(corners)).reshape(-1, 3))]


def _obj(path: Path) -> list[Part]:
    vertices: list[list[float]] = []
    colors: dict[str, Color] = {}
    faces: dict[Color | None, list[tuple[int, int, int]]] = {}
    current: list[tuple[int, int, int]] = faces.setdefault(None, [])
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            vertices.append([float(x) for x in rest[:3]])
        elif word == "f":
            corners = [int(corner.split("/", 1)[0]) for corner in rest]
            corners = [k - 1 if k > 0 else len(vertices) + k for k in corners]
            current.extend((corners[0], b, c) for b, c in pairwise(corners[1:]))
        elif word == "usemtl":
            current = faces.setdefault(colors.get(" ".join(rest)), [])
        elif word == "mtllib":
            colors |= _mtl(path.parent / " ".join(rest))
    points = np.array(vertices, dtype=np.float64).reshape(-1, 3)
    return [Part(points, np.array(found, dtype=np.int64), color) for color, found in faces.items() if found]


def _mtl(path: Path) -> dict[str, Color]:
    """Diffuse colours of the materials of an OBJ file; nothing where the file is missing."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    colors: dict[str, Color] = {}
    name = ""
    for line in lines:
        word, *rest = line.split() or [""]
        if word == "newmtl":
            name = " ".join(rest)
        elif word == "Kd" and len(rest) >= 3:
            colors[name] = (*(min(max(float(x), 0.0), 1.0) for x in rest[:3]), 1.0)
    return colors


def _by_trimesh(path: Path) -> list[Part]:
    try:
        import trimesh
    except ImportError:
        raise MeshError(f"reading {path.suffix} needs the package trimesh: pip install mbkern[viz]") from None
    scene: Any = trimesh.load_scene(str(path), process=False)
    parts = []
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        mesh = scene.geometry[name]
        if hasattr(mesh, "faces"):
            vertices = np.asarray(mesh.vertices) @ transform[:3, :3].T + transform[:3, 3]
            parts.append(Part(vertices, np.asarray(mesh.faces, dtype=np.int64), _trimesh_color(mesh)))
    return parts


def _trimesh_color(mesh: Any) -> Color | None:
    """The colour of a mesh of trimesh: that of its material, or the mean of its texture or vertices."""
    material = getattr(mesh.visual, "material", None)
    image = getattr(material, "image", None)
    if image is not None:
        return (*(float(x) / 255.0 for x in np.asarray(image.convert("RGB")).reshape(-1, 3).mean(axis=0)), 1.0)
    main = getattr(material, "main_color", None)
    if main is None:
        main = getattr(mesh.visual, "main_color", None)
    return None if main is None else tuple(float(x) / 255.0 for x in main)
