"""The <visual> shapes of URDF links.

A shape that cannot be understood spoils a picture, not a robot: it is left out and named.
"""

from __future__ import annotations

from typing import Any

from ..errors import ModelError
from ..model.builder import ModelBuilder
from .resources import Resources
from .urdf_origin import origin
from .xml import Element

Color = tuple[float, ...]


def materials(root: Element) -> dict[str, Color]:
    """Colours by the names of materials, wherever in the file they are defined."""
    found: dict[str, Color] = {}
    for element in root.walk({"robot", "link", "visual", "material"}):
        name = element.attributes.get("name")
        if element.tag == "material" and name and (color := _color(element)) is not None:
            found.setdefault(name, color)
    return found


def add_visuals(builder: ModelBuilder, body: str, link: Element, colors: dict[str, Color], resources: Resources,
                notes: list[str]) -> None:
    """Hand all shapes of a link to the builder."""
    for visual in link.all("visual"):
        try:
            geometry = visual.one("geometry")
            if geometry is None or not geometry.children:
                continue
            shape = _shape(geometry.children[0], resources)
            material = visual.one("material")
            if material is not None:
                shape["color"] = _color(material) or colors.get(material.attributes.get("name", ""))
            place = origin(visual)
            builder.add_visual(body, position=place.position, rotation=place.rotation, **shape)
        except ModelError as error:
            notes.append(f"a shape of link {link.text('name')!r} left out: {error}")


def _shape(element: Element, resources: Resources) -> dict[str, Any]:
    if element.tag == "box":
        return {"kind": "box", "size": element.numbers("size", 3)}
    if element.tag == "sphere":
        return {"kind": "sphere", "size": element.number("radius")}
    if element.tag in ("cylinder", "capsule"):
        return {"kind": element.tag, "size": (element.number("radius"), element.number("length"))}
    if element.tag == "mesh":
        scale = element.numbers("scale", 3, (1.0, 1.0, 1.0))
        return {"kind": "mesh", "size": scale, "mesh": resources.path(element.text("filename").strip())}
    raise element.error("unknown shape")


def _color(material: Element) -> Color | None:
    """The colour that a <material> defines; None for a mere name, a texture or garbage."""
    element = material.one("color")
    if element is None:
        return None
    try:
        return tuple(min(max(x, 0.0), 1.0) for x in element.numbers("rgba", 4))
    except ModelError:
        return None
