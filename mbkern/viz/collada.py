"""Triangles and diffuse colours of Collada files (.dae), the meshes of most robots.

Of the format are read: geometries made of triangles and polygons, the nodes that place them, the colour of their
materials, the unit of length. The up axis is not applied, as in other readers of URDF. Textures, skins' deformations,
lights, cameras and animations have no place in a mesh.
"""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from .part import Array, Color, Faces, MeshError, Part

Node = ElementTree.Element
Primitive = tuple[Array, Faces, str]  # vertices, faces, symbol of the material

#: Nodes of meshes nest a few levels deep; far deeper is a loop or garbage.
DEEPEST = 64


def read(path: Path) -> list[Part]:
    """The parts of a Collada file, placed as its scene places them, in m."""
    data = path.read_bytes()
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise MeshError("a document type declaration is not allowed")
    root = ElementTree.fromstring(data)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return _Document(root).parts()


class _Document:
    def __init__(self, root: Node) -> None:
        self.root = root
        self.by_id = {element.get("id", ""): element for element in root.iter() if element.get("id")}
        self.geometries: dict[str, list[Primitive]] = {}

    def parts(self) -> list[Part]:
        unit = self.root.find("asset/unit")
        metre = float(unit.get("meter", "1")) if unit is not None else 1.0
        scene = self.root.find("scene/instance_visual_scene")
        shown = self._target(scene) if scene is not None else self.root.find("library_visual_scenes/visual_scene")
        if shown is None:
            raise MeshError("no scene")
        found: list[Part] = []
        self._collect(shown, np.diag([metre, metre, metre, 1.0]), found, 0)
        return found

    def _target(self, element: Node) -> Node | None:
        return self.by_id.get(element.get("url", "").lstrip("#"))

    def _collect(self, node: Node, outer: Array, found: list[Part], depth: int) -> None:
        if depth > DEEPEST:
            raise MeshError(f"nodes are nested more than {DEEPEST} deep")
        placed = outer @ _transform(node)
        for child in node:
            if child.tag == "node":
                self._collect(child, placed, found, depth + 1)
            elif child.tag == "instance_node" and (inner := self._target(child)) is not None:
                self._collect(inner, placed, found, depth + 1)
            elif child.tag in ("instance_geometry", "instance_controller"):
                found += self._instance(child, placed)

    def _instance(self, instance: Node, placed: Array) -> list[Part]:
        """A geometry, or the undeformed one of a skin."""
        target = self._target(instance)
        if target is not None and target.tag == "controller":
            skin = target.find("skin")
            target = None if skin is None else self.by_id.get(skin.get("source", "").lstrip("#"))
        if target is None or target.tag != "geometry":
            return []
        bound = {element.get("symbol", ""): element.get("target", "").lstrip("#")
                 for element in instance.iter("instance_material")}
        name = target.get("id", "")
        if name not in self.geometries:
            self.geometries[name] = self._primitives(target)
        return [Part(vertices @ placed[:3, :3].T + placed[:3, 3], faces, self._color(bound.get(symbol, symbol)))
                for vertices, faces, symbol in self.geometries[name]]

    def _color(self, material: str) -> Color | None:
        """The diffuse colour of a material; None where a texture gives it."""
        element = self.by_id.get(material)
        effect = None if element is None else element.find("instance_effect")
        target = None if effect is None else self._target(effect)
        color = None if target is None else target.find(".//diffuse/color")
        if color is None:
            return None
        red, green, blue = (min(max(float(x), 0.0), 1.0) for x in (color.text or "").split()[:3])
        return red, green, blue, 1.0

    # ---- geometries -------------------------------------------------------------------------------------------------

    def _primitives(self, geometry: Node) -> list[Primitive]:
        mesh = geometry.find("mesh")
        found = []
        for element in () if mesh is None else mesh:
            if element.tag not in ("triangles", "polylist", "polygons"):
                continue
            inputs = element.findall("input")
            offset = {entry.get("semantic"): int(entry.get("offset", "0")) for entry in inputs}
            stride = max(offset.values(), default=0) + 1
            corners = [_integers(p).reshape(-1, stride)[:, offset["VERTEX"]] for p in element.findall("p")]
            if not corners:
                continue
            if element.tag == "triangles":
                faces = np.concatenate(corners).reshape(-1, 3)
            elif element.tag == "polylist":
                faces = _fans(corners[0], _integers(element.find("vcount")))
            else:
                faces = _fans(np.concatenate(corners), np.array([len(corner) for corner in corners]))
            source = next(entry.get("source", "") for entry in inputs if entry.get("semantic") == "VERTEX")
            found.append((self._positions(source), faces, element.get("material", "")))
        return found

    def _positions(self, vertices: str) -> Array:
        entry = self.by_id[vertices.lstrip("#")].find("input[@semantic='POSITION']")
        source = None if entry is None else self.by_id.get(entry.get("source", "").lstrip("#"))
        numbers = None if source is None else source.find("float_array")
        if source is None or numbers is None:
            raise MeshError("vertices without positions")
        accessor = source.find("technique_common/accessor")
        stride = 3 if accessor is None else int(accessor.get("stride", "3"))
        return np.array((numbers.text or "").split(), dtype=np.float64).reshape(-1, stride)[:, :3]


def _integers(element: Node | None) -> Faces:
    return np.array(((element.text if element is not None else "") or "").split(), dtype=np.int64)


def _fans(corners: Faces, counts: Faces) -> Faces:
    """Polygons as triangles around their first corner."""
    starts = np.cumsum(counts) - counts
    faces = [np.column_stack([corners[starts[rows]], corners[starts[rows] + k], corners[starts[rows] + k + 1]])
             for k in range(1, int(counts.max(initial=0)) - 1) if (rows := np.flatnonzero(counts > k + 1)).size]
    return np.concatenate(faces) if faces else np.zeros((0, 3), dtype=np.int64)


def _transform(node: Node) -> Array:
    """The product of a node's matrices, translations, rotations and scales, in their order."""
    total = np.eye(4)
    for element in node:
        if element.tag not in ("matrix", "translate", "rotate", "scale"):
            continue
        numbers = [float(x) for x in (element.text or "").split()]
        step = np.eye(4)
        if element.tag == "matrix":
            step = np.array(numbers).reshape(4, 4)
        elif element.tag == "translate":
            step[:3, 3] = numbers
        elif element.tag == "scale":
            step[:3, :3] = np.diag(numbers)
        else:
            x, y, z = np.array(numbers[:3]) / np.linalg.norm(numbers[:3])
            K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            angle = math.radians(numbers[3])
            step[:3, :3] += math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K
        total = total @ step
    return total
