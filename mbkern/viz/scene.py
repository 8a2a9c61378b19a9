"""What a model looks like: shapes fixed in moving frames, the same for pictures and for the viewer.

A body is drawn as its visual shapes (`Model.visuals`). A body without them is drawn as the uniform solid that has its
mass and inertia; if no body has any, rods show how the joints hang together. Frames come from plain NumPy over all
states at once, so that looking at a model compiles nothing.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelWarning
from ..model.body import WORLD, Body
from ..model.model import Model
from ..model.visual import Visual, equivalent
from . import meshes
from .part import MeshError, Part

Array = NDArray[np.float64]
Kind = Literal["capsule", "cylinder", "box", "sphere", "ellipsoid", "mesh"]

#: Radius of a rod as part of the typical length of a body.
THICKNESS = 0.06
#: A machine that sinks by more than this many times its size falls; the floor then stays at its start.
FALL = 2.5
#: A solid is a bar if its length is so many radii. Hung up at an end it is twice as long as the way to its middle, and
#: may be somewhat longer than that; larger ones have an inertia that somebody made up.
SLENDER, LONGEST_BAR = 8.0, 2.5
#: States that are looked at to find out where the machine gets to.
SAMPLES = 150
#: What a rotation, a translation, a quaternion, a centre of mass and the ground are painted in.
COLORS: dict[str, str] = {
    "revolute": "#e8743b", "prismatic": "#19a979", "ball": "#945ecf", "com": "#e5484d", "ground": "#8a919c",
}  # fmt: skip
#: Shape, half its length along the axis and its radius (in radii of a body) for each role of a joint.
JOINT_SHAPES: dict[str, tuple[Kind, float, float]] = {
    "revolute": ("cylinder", 2.4, 1.4), "prismatic": ("box", 2.0, 1.4), "ball": ("sphere", 0.0, 1.7),
}  # fmt: skip
BODY_COLORS = ("#5899da", "#e8a33d", "#6fb98f", "#d9687a", "#8c7ccf", "#4bb3c3", "#c7a46b", "#9aa5b1")
#: A mesh without colour, and a box in the place of a mesh.
PLAIN_COLOR, MISSING_COLOR = "#c3c9d2", "#b59a6a"


@dataclass(slots=True)
class Shape:
    """A solid fixed in a track.

    Attributes
    ----------
    kind, size : str and numbers
        As in `mbkern.model.visual.Visual`; a mesh has no size of its own.
    track : int
        The moving frame that carries it; -1 is the world.
    position, rotation : (3,) and (3, 3) arrays
        Its middle and axes in that frame.
    role : str
        What it stands for.
    color : str
    body : int
        The body that it belongs to, -1 for the ground.
    opacity : float
    mesh : int
        Its number in `Scene.meshes`, -1 for a simple shape.
    """

    kind: Kind
    size: tuple[float, ...]
    track: int
    position: Array
    rotation: Array
    role: str
    color: str
    body: int
    opacity: float = 1.0
    mesh: int = -1


@dataclass(slots=True)
class Rail:
    """A line between points of two tracks: the way along which a body slides."""

    track_a: int
    a: Array
    track_b: int
    b: Array


@dataclass(slots=True)
class Scene:
    """Shapes and rails of a model, and where the tracks are in each state.

    Attributes
    ----------
    rotation, position : (m, tracks, 3, 3) and (m, tracks, 3) arrays
        Frames of the tracks in the world. The first `n_bodies` tracks are the bodies.
    up : (3, 3) array
        Turns world axes so that gravity points along -z.
    meshes : list of Part
        Triangles of the mesh shapes.
    size : float
        Diagonal of the box around the first state, m.
    length : float
        Typical length of a body, m.
    floor : float
        Height of the ground, upright.
    """

    model: Model
    rotation: Array
    position: Array
    up: Array
    shapes: list[Shape] = field(default_factory=list)
    rails: list[Rail] = field(default_factory=list)
    meshes: list[Part] = field(default_factory=list)
    size: float = 1.0
    length: float = 1.0
    floor: float = 0.0

    def reach(self, states: NDArray[np.int64]) -> Array:
        """Corners (states, points, 3) of the boxes around all shapes of bodies, upright."""
        shapes = [shape for shape in self.shapes if shape.role == "body"]
        points = [np.zeros((states.size, 0, 3))]
        for shape in shapes:
            corners = self._corners(shape)
            if shape.track < 0:
                points.append(np.broadcast_to(corners @ self.up.T, (states.size, *corners.shape)))
                continue
            R, r = self.rotation[states, shape.track], self.position[states, shape.track]
            points.append((np.einsum("mij,pj->mpi", R, corners) + r[:, None]) @ self.up.T)
        if not shapes:
            points.append(self.position[states, : self.model.n_bodies] @ self.up.T)
        return np.concatenate(points, axis=1)

    def _corners(self, shape: Shape) -> Array:
        if shape.mesh >= 0:
            vertices = self.meshes[shape.mesh].vertices
            low, high = vertices.min(axis=0), vertices.max(axis=0)
        else:
            high = half_extent(shape.kind, shape.size)
            low = -high
        box = np.array([[(low, high)[i][0], (low, high)[j][1], (low, high)[k][2]]
                        for i in (0, 1) for j in (0, 1) for k in (0, 1)])
        return box @ shape.rotation.T + shape.position


def half_extent(kind: str, size: tuple[float, ...]) -> Array:
    """Half the lengths of the box around a simple shape."""
    if kind == "box":
        return 0.5 * np.array(size)
    if kind == "ellipsoid":
        return np.array(size)
    if kind == "sphere":
        return np.full(3, size[0])
    return np.array([size[0], size[0], 0.5 * size[1] + (size[0] if kind == "capsule" else 0.0)])


def build(model: Model, q: Array, t: Array, triangles: int) -> Scene:
    """The scene of `model` in the states q (m, nq) at the times t (m,), with about so many triangles in its meshes."""
    R, r, places = _tracks(model, q, t)
    scene = Scene(model, R, r, _upright(model.gravity))
    _add_visuals(scene, triangles)
    points = _ends(model)
    lengths = [float(np.linalg.norm(point)) for ends in points for point in ends]
    lengths = [length for length in lengths if length > 0.0] or _extents(model)
    scene.length = float(np.median(lengths)) if lengths else 0.3
    joints = np.concatenate([(r[0, i] + points[i] @ R[0, i].T) for i in range(model.n_bodies)]) @ scene.up.T
    first = scene.reach(np.array([0]))[0] if scene.shapes else joints
    scene.size = max(float(np.linalg.norm(np.ptp(first, axis=0))), scene.length)
    radius = min(max(THICKNESS * scene.length, 0.006 * scene.size), 0.03 * scene.size)
    bare = not scene.shapes
    carried = carriers(model)
    dressed = {carried[model.body_index(name)][0] for name in model.visuals if name != WORLD}
    for i, body in enumerate(model.body_specs):
        if carried[i][0] not in dressed:  # bodies that are welded together look like one
            _add_solid(scene, i, body, radius, bare)
        if bare:
            _add_rods(scene, i, points[i], radius)
        if body.mass > 0.0:
            scene.shapes.append(_ball(i, np.array(body.com), 0.8 * radius, "com", COLORS["com"], i))
        _add_joint(scene, i, places[i], radius)
    states = samples(len(t))
    reach = scene.reach(states)
    lowest, start = float(reach[..., 2].min()), float(reach[0, :, 2].min())
    scene.size = max(float(np.linalg.norm(np.ptp(reach[0], axis=0))), scene.length)
    # below the whole motion, unless that falls for ever
    scene.floor = lowest if start - lowest < FALL * scene.size else start
    if bare:
        scene.floor -= 0.6 * radius
        for body in model.body_specs if any(model.gravity) else ():  # nothing stands in space
            _add_ground(scene, body, radius)
    return scene


def samples(count: int) -> NDArray[np.int64]:
    """Numbers of some of so many states, the first among them."""
    return np.unique(np.linspace(0, count - 1, min(count, SAMPLES)).astype(np.int64))


def carriers(model: Model) -> list[tuple[int, Array, Array]]:
    """Of each body: the moving body that it is welded to (or itself; -1 for the world), and its frame in that one."""
    found: list[tuple[int, Array, Array]] = []
    for i, body in enumerate(model.body_specs):
        if any(not element.is_constant for element in body.joint.elements):
            found.append((i, np.eye(3), np.zeros(3)))
            continue
        track, R, r = found[body.parent] if body.parent >= 0 else (-1, np.eye(3), np.zeros(3))
        r = (r + R @ np.array(body.position))[None]
        R = (R @ np.array(body.rotation))[None]
        for element in body.joint.elements:
            R, r = element.moved(R, r, np.zeros((1, 0)), np.zeros(1))
        found.append((track, R[0], r[0]))
    return found


# ---- frames ---------------------------------------------------------------------------------------------------------


def _tracks(model: Model, q: Array, t: Array) -> tuple[Array, Array, list[list[int]]]:
    """Frames of all bodies and, behind them, of the steps within joints of several.

    Also, for each body, the track in which each element of its joint stands still after it has moved.
    """
    m, n = len(q), model.n_bodies
    rotations: list[Array] = [np.empty(0)] * n
    positions: list[Array] = [np.empty(0)] * n
    places: list[list[int]] = []
    for i, body in enumerate(model.body_specs):
        R = np.broadcast_to(np.eye(3), (m, 3, 3)) if body.parent < 0 else rotations[body.parent]
        r = np.zeros((m, 3)) if body.parent < 0 else positions[body.parent]
        r = r + R @ np.array(body.position)
        R = R @ np.array(body.rotation)
        at = int(model.q_offsets[i])
        elements = body.joint.elements
        tracks = []
        for k, element in enumerate(elements):
            R, r = element.moved(R, r, q[:, at : at + element.nq], t)
            at += element.nq
            if k == len(elements) - 1:
                tracks.append(i)
            else:
                tracks.append(len(rotations))
                rotations.append(R)
                positions.append(r)
        rotations[i], positions[i] = R, r
        places.append(tracks)
    return np.stack(rotations, axis=1), np.stack(positions, axis=1), places


def matrix_quaternions(R: Array) -> Array:
    """Unit quaternions (x, y, z, w), the order of graphics libraries, of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat()).reshape(*R.shape[:-2], 4)


def _upright(gravity: Array) -> Array:
    """Rotation that turns the direction against gravity into +z."""
    strength = float(np.linalg.norm(gravity))
    z = -np.asarray(gravity) / strength if strength > 0.0 else np.array([0.0, 0.0, 1.0])
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - z * (z @ x)
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(z, x), z])


# ---- shapes ---------------------------------------------------------------------------------------------------------


def _add_visuals(scene: Scene, triangles: int) -> None:
    """The shapes that the model carries; meshes that cannot be read become boxes, named in one warning."""
    model = scene.model
    numbers: dict[tuple[str, tuple[float, ...]], list[int]] = {}  # file and scale -> its parts among the meshes
    failed: dict[str, str] = {}
    for name, visuals in model.visuals.items():
        i = -1 if name == WORLD else model.body_index(name)
        for visual in visuals:
            at, turn = np.array(visual.position), np.array(visual.rotation)
            color = None if visual.color is None else _hex(visual.color)
            opacity = 1.0 if visual.color is None else visual.color[3]
            if visual.kind != "mesh":
                scene.shapes.append(
                    Shape(visual.kind, visual.size, i, at, turn, "body", color or PLAIN_COLOR, i, opacity))
                continue
            key = (visual.path or f"{name}/{len(numbers)}", visual.size)
            if key not in numbers and key[0] not in failed:
                try:
                    parts = meshes.read(key[0]) if visual.vertices is None else (_own_part(visual),)
                    numbers[key] = list(range(len(scene.meshes), len(scene.meshes) + len(parts)))
                    scene.meshes += [_scaled(part, visual.size) for part in parts]
                except MeshError as error:
                    failed[key[0]] = str(error)
            if key in numbers:
                for k in numbers[key]:
                    own = scene.meshes[k].color
                    shade = color or (PLAIN_COLOR if own is None else _hex(own))
                    scene.shapes.append(Shape("mesh", (), i, at, turn, "body", shade, i, opacity, k))
            else:
                scene.shapes.append(_box_instead(scene, i, at))
    _thin(scene, triangles)
    if failed:
        some = "; ".join(f"{path} ({reason})" for path, reason in list(failed.items())[:5])
        more = f" and {len(failed) - 5} more" if len(failed) > 5 else ""
        warnings.warn(f"meshes drawn as boxes: {some}{more}", ModelWarning, stacklevel=4)


def _own_part(visual: Visual) -> Part:
    assert visual.vertices is not None and visual.faces is not None
    return meshes.checked(Part(visual.vertices, visual.faces))


def _scaled(part: Part, scale: tuple[float, ...]) -> Part:
    faces = part.faces if np.prod(scale) > 0.0 else part.faces[:, ::-1]  # a mirror turns the outside in
    return Part(part.vertices * np.array(scale), faces, part.color)


def _thin(scene: Scene, triangles: int) -> None:
    """Take triangles away from the largest meshes until all together have about as many as allowed."""
    counts = np.sort([len(part.faces) for part in scene.meshes])
    if counts.sum() <= triangles:
        return
    left = float(triangles)
    for k, count in enumerate(counts.tolist()):  # the small ones stay whole
        share = left / (len(counts) - k)
        if count > share:
            scene.meshes = [meshes.thinned(part, max(int(share), 40)) for part in scene.meshes]
            return
        left -= count


def _box_instead(scene: Scene, i: int, at: Array) -> Shape:
    """A box of the size of the body in the place of a mesh."""
    body = scene.model.body_specs[i] if i >= 0 else None
    solid = equivalent(body.mass, body.inertia) if body is not None else None
    if body is None or solid is None:
        return Shape("box", (0.1, 0.1, 0.1), i, at, np.eye(3), "body", MISSING_COLOR, i)
    size = tuple((2.0 * half_extent(solid.kind, solid.size)).tolist())
    return Shape("box", size, i, np.array(body.com), np.array(solid.rotation), "body", MISSING_COLOR, i)


def _hex(color: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(255 * x):02x}" for x in color[:3])


def _ball(track: int, at: Array, radius: float, role: str, color: str, body: int) -> Shape:
    return Shape("sphere", (radius,), track, at, np.eye(3), role, color, body)


def _rod(kind: Kind, track: int, a: Array, b: Array, radius: float, role: str, color: str, body: int) -> Shape:
    """A capsule, a cylinder or a square bar from a to b."""
    length = float(np.linalg.norm(b - a))
    size = (1.7 * radius, 1.7 * radius, length) if kind == "box" else (radius, length)
    return Shape(kind, size, track, 0.5 * (a + b), _along((b - a) / length), role, color, body)


def _along(z: Array) -> Array:
    """A rotation that turns the z axis into z."""
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - z * (z @ x)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _ends(model: Model) -> list[Array]:
    """Where the rods of each body end, in its own frame."""
    worth = [body.mass > 0.0 or body.joint.nv > 0 for body in model.body_specs]
    ends: list[list[tuple[float, ...]]] = [[] for _ in model.body_specs]
    for i in range(model.n_bodies - 1, -1, -1):
        body = model.body_specs[i]
        if body.parent >= 0 and worth[i]:  # frames of sensors and tools without mass are not worth a rod
            worth[body.parent] = True
            ends[body.parent].append(body.position)
    for body, points in zip(model.body_specs, ends, strict=True):
        if body.mass > 0.0 and not any(np.linalg.norm(point) > 1e-9 for point in points):
            points.append(body.com)
    return [np.array([(0.0, 0.0, 0.0), *points]) for points in ends]


def _add_solid(scene: Scene, i: int, body: Body, radius: float, bare: bool) -> None:
    """The uniform solid of the body's mass and inertia; small ones are drawn large enough to be seen."""
    if not body.mass > 0.0:
        return
    color = BODY_COLORS[i % len(BODY_COLORS)]
    solid = equivalent(body.mass, body.inertia)
    extent = 0.0 if solid is None else 2.0 * float(half_extent(solid.kind, solid.size).max())
    if not bare and (extent < 0.02 * scene.size or extent > scene.size):
        return  # a sensor, or a number that somebody made up
    if solid is None or extent < 3.0 * radius:
        scene.shapes.append(_ball(i, np.array(body.com), 1.6 * radius, "body", color, i))
        return
    bar = solid.kind == "cylinder" and solid.size[1] > SLENDER * solid.size[0]
    shrink = min(1.0, (LONGEST_BAR if bar else 1.0) * scene.size / extent)
    thinnest = radius if bar else 0.3 * radius  # as thick as the rod from the joint; a plate that can be seen
    size = tuple(max(x * shrink, thinnest) for x in solid.size)
    scene.shapes.append(Shape(solid.kind, size, i, np.array(body.com), np.array(solid.rotation), "body", color, i))


def _extents(model: Model) -> list[float]:
    """Lengths of the solids of all bodies."""
    solids = [equivalent(body.mass, body.inertia) for body in model.body_specs]
    return [2.0 * float(half_extent(solid.kind, solid.size).max()) for solid in solids if solid is not None]


def _add_rods(scene: Scene, i: int, points: Array, radius: float) -> None:
    for point in points[1:]:
        length = float(np.linalg.norm(point))
        if length > 1e-3 * scene.size:
            color = BODY_COLORS[i % len(BODY_COLORS)]
            scene.shapes.append(
                _rod("capsule", i, np.zeros(3), point, min(radius, 0.25 * length), "body", color, i))


def _add_ground(scene: Scene, body: Body, radius: float) -> None:
    """What a machine without visual shapes stands on."""
    if body.parent >= 0 or any(element.nv == 6 for element in body.joint.elements):
        return
    foot, down = np.array(body.position), scene.up[2] * 0.9 * radius
    scene.shapes.append(
        _rod("cylinder", -1, foot - down, foot - 1.9 * down, 2.2 * radius, "ground", COLORS["ground"], -1))
    height = float(scene.up[2] @ foot) - scene.floor
    if height > 4.0 * radius:
        below = foot - height * scene.up[2]
        scene.shapes.append(
            _rod("cylinder", -1, foot - 1.9 * down, below, 0.6 * radius, "ground", COLORS["ground"], -1))


def _add_joint(scene: Scene, i: int, tracks: list[int], radius: float) -> None:
    body = scene.model.body_specs[i]
    slides = False
    for element, track in zip(body.joint.elements, tracks, strict=True):
        slides |= "prismatic" in element.drawn
        for role in element.drawn:
            kind, length, width = JOINT_SHAPES[role]
            end = length * radius * np.array(element.axis)
            if kind == "sphere":
                scene.shapes.append(_ball(track, np.zeros(3), width * radius, role, COLORS[role], i))
            else:
                scene.shapes.append(_rod(kind, track, -end, end, width * radius, role, COLORS[role], i))
    if slides:
        scene.rails.append(Rail(body.parent, np.array(body.position), i, np.zeros(3)))
