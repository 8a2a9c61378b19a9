"""What a model looks like: simple shapes fixed in moving frames, the same for pictures and for the viewer.

A body is drawn as capsules from its origin to the joints that it carries; at the end of a branch to twice its centre of
mass, where a uniform rod would end. Frames come from plain NumPy over all states at once, so that looking at a model
compiles nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..model.checks import axis as unit_axis
from ..model.drives import Drive
from ..model.joint import Ball, Element, Free, Step
from ..model.model import Model

Array = NDArray[np.float64]
Role = Literal["body", "revolute", "prismatic", "ball", "com", "ground", "rail"]

#: Radius of a capsule as part of the typical length of a body.
THICKNESS = 0.1
#: A machine that sinks by more than this many times its size falls; the floor then stays at its start.
FALL = 2.5
#: What a rotation, a translation, a quaternion, a centre of mass, the ground and rails are painted in.
COLORS: dict[str, str] = {
    "revolute": "#e8743b", "prismatic": "#19a979", "ball": "#945ecf", "com": "#1f2430", "ground": "#8a919c",
    "rail": "#6b7280",
}  # fmt: skip
BODY_COLORS = ("#5899da", "#e8a33d", "#6fb98f", "#d9687a", "#8c7ccf", "#4bb3c3", "#c7a46b", "#9aa5b1")


@dataclass(slots=True)
class Shape:
    """A capsule, cylinder, box (square, along a line) or sphere, fixed in a track.

    Attributes
    ----------
    kind : "capsule", "cylinder", "box" or "sphere"
    track : int
        The moving frame that carries it; -1 is the world.
    a, b : (3,) arrays
        Ends in that frame, m (equal for a sphere).
    radius : float
    role : str
        What it stands for.
    color : str
    body : int
        The body that it belongs to, -1 for the ground.
    """

    kind: Literal["capsule", "cylinder", "box", "sphere"]
    track: int
    a: Array
    b: Array
    radius: float
    role: Role
    color: str
    body: int


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
    size : float
        Diagonal of the box around the first state, m.
    length : float
        Typical length of a body, m.
    """

    model: Model
    rotation: Array
    position: Array
    up: Array
    shapes: list[Shape] = field(default_factory=list)
    rails: list[Rail] = field(default_factory=list)
    size: float = 1.0
    length: float = 1.0
    floor: float = 0.0


def build(model: Model, q: Array, t: Array) -> Scene:
    """The scene of `model` in the states q (m, nq) at the times t (m,)."""
    R, r, places = _tracks(model, q, t)
    scene = Scene(model, R, r, _upright(model.gravity))
    points = _ends(model)
    lengths = [float(np.linalg.norm(point)) for ends in points for point in ends]
    lengths = [length for length in lengths if length > 0.0]
    scene.length = float(np.median(lengths)) if lengths else 0.3
    extent = np.concatenate([(r[0, i] + points[i] @ R[0, i].T) for i in range(model.n_bodies)])
    scene.size = max(float(np.linalg.norm(np.ptp(extent, axis=0))), scene.length)
    radius = min(max(THICKNESS * scene.length, 0.006 * scene.size), 0.04 * scene.size)
    anchors = np.array([body.position for body in model.body_specs if body.parent < 0])
    first = float((np.concatenate([extent, anchors]) @ scene.up[2]).min())
    lowest = min(
        float(((r[:, i, None] + np.einsum("mij,pj->mpi", R[:, i], ends)) @ scene.up[2]).min())
        for i, ends in enumerate(points)
    )
    # below the whole motion, unless that falls for ever
    scene.floor = (lowest if first - lowest < FALL * scene.size else first) - 1.6 * radius
    for i in range(model.n_bodies):
        _add_body(scene, i, points[i], radius)
        _add_joint(scene, i, places[i], radius)
    return scene


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
            R, r = _moved(R, r, element, q[:, at : at + element.nq], t)
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


def _moved(R: Array, r: Array, element: Element, q: Array, t: Array) -> tuple[Array, Array]:
    """The frame (R, r) after one element of a joint has moved it."""
    if isinstance(element, Ball):
        return R @ quaternion_matrices(q), r
    if isinstance(element, Free):
        return R @ quaternion_matrices(q[:, 3:]), r + np.einsum("mij,mj->mi", R, q[:, :3])
    if element.is_coordinate:
        amount = q[:, 0]
    elif isinstance(element.amount, Drive):
        amount = np.array([element.amount(float(time))[0] for time in t])
    else:
        amount = np.full(len(t), element.amount)
    if element.move == "translate":
        return R, r + amount[:, None] * (R @ np.array(element.axis))
    return R @ turns(np.array(element.axis), amount), r


def turns(axis: Array, angle: Array) -> Array:
    """Rotation matrices about a unit axis (Rodrigues)."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    s, c = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    return np.eye(3) + s * K + (1.0 - c) * (K @ K)


def quaternion_matrices(q: Array) -> Array:
    """Rotation matrices of quaternions (w, x, y, z) of any length, body -> parent."""
    w, x, y, z = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    ).transpose(2, 0, 1)


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


def _ends(model: Model) -> list[Array]:
    """Where the capsules of each body end, in its own frame."""
    worth = [body.mass > 0.0 or body.joint.nv > 0 for body in model.body_specs]
    ends: list[list[tuple[float, ...]]] = [[] for _ in model.body_specs]
    for i in range(model.n_bodies - 1, -1, -1):
        body = model.body_specs[i]
        if body.parent >= 0 and worth[i]:  # frames of sensors and tools without mass are not worth a capsule
            worth[body.parent] = True
            ends[body.parent].append(body.position)
    for body, points in zip(model.body_specs, ends, strict=True):
        if body.mass > 0.0 and not any(np.linalg.norm(point) > 1e-9 for point in points):
            points.append(tuple(2.0 * x for x in body.com))
    return [np.array([(0.0, 0.0, 0.0), *points]) for points in ends]


def _add_body(scene: Scene, i: int, points: Array, radius: float) -> None:
    body = scene.model.body_specs[i]
    color = BODY_COLORS[i % len(BODY_COLORS)]
    drawn = False
    for point in points[1:]:
        length = float(np.linalg.norm(point))
        if length > 1e-3 * scene.size:
            scene.shapes.append(
                Shape("capsule", i, np.zeros(3), point, min(radius, 0.25 * length), "body", color, i)
            )
            drawn = True
    com = np.array(body.com)
    if body.mass > 0.0:
        if not drawn:  # nothing but its own extent: a sphere with the same moments of inertia
            gyration = float(np.sqrt(max(np.trace(np.array(body.inertia)), 0.0) / 3.0 / body.mass))
            size = float(np.clip(1.58 * gyration, 1.2 * radius, 2.5 * radius))  # files often exaggerate it
            scene.shapes.append(Shape("sphere", i, com, com, size, "body", color, i))
        scene.shapes.append(Shape("sphere", i, com, com, 0.55 * radius, "com", COLORS["com"], i))


def _add_joint(scene: Scene, i: int, tracks: list[int], radius: float) -> None:
    body = scene.model.body_specs[i]
    if body.parent < 0 and not any(isinstance(element, Free) for element in body.joint.elements):
        foot = np.array(body.position)
        down = scene.up[2] * 0.9 * radius
        scene.shapes.append(
            Shape("cylinder", -1, foot - down, foot - 1.9 * down, 2.2 * radius, "ground", COLORS["ground"], -1)
        )
        height = float(scene.up[2] @ foot) - scene.floor
        if height > 4.0 * radius:  # what it stands on
            floor = foot - height * scene.up[2]
            scene.shapes.append(
                Shape("cylinder", -1, foot - 1.9 * down, floor, 0.6 * radius, "ground", COLORS["ground"], -1)
            )
    slides = False
    for element, track in zip(body.joint.elements, tracks, strict=True):
        origin = np.zeros(3)
        if isinstance(element, Ball):
            scene.shapes.append(Shape("sphere", track, origin, origin, 1.45 * radius, "ball", COLORS["ball"], i))
        elif isinstance(element, Step) and not element.is_constant:
            along = np.array(unit_axis(element.axis, "axis"))
            if element.move == "rotate":
                scene.shapes.append(
                    Shape("cylinder", track, -1.8 * radius * along, 1.8 * radius * along, 1.15 * radius, "revolute",
                          COLORS["revolute"], i)
                )  # fmt: skip
            else:
                slides = True
                scene.shapes.append(
                    Shape("box", track, -1.6 * radius * along, 1.6 * radius * along, 1.2 * radius, "prismatic",
                          COLORS["prismatic"], i)
                )  # fmt: skip
    if slides:
        scene.rails.append(Rail(body.parent, np.array(body.position), i, np.zeros(3)))
