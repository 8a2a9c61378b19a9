"""Still pictures and films with matplotlib."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import files, inputs, lazy
from ..errors import MethodError
from ..model import checks
from ..model.checks import show
from ..model.model import Model
from . import scene as scenes
from .scene import COLORS, Array, Scene, Shape

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from mpl_toolkits.mplot3d.axes3d import Axes3D

    from ..integrate.solution import Solution
    from .viewer import Viewer

SEGMENTS = 14  # faces around a capsule
CAP_RINGS = 3  # rings of a half sphere
LIGHT = np.array([0.35, -0.5, 0.8]) / np.linalg.norm([0.35, -0.5, 0.8])
LABELS = {"revolute": "rotation", "prismatic": "translation", "ball": "ball", "com": "centre of mass"}
FRAMES_PER_SECOND = 25
MOST_PICTURES = 100_000  # of a film, and a second of it
MOST_DOTS = 5_000  # an inch
TRIANGLES = 16_000  # of all meshes: matplotlib sorts and paints them one by one


def draw(model: Model, q: ArrayLike | None = None, t: float = 0.0, *, axes: Axes3D | None = None,
         frames: bool = False, com: bool = True, names: bool = False, legend: bool = True,
         view: tuple[float, float] = (18.0, -58.0)) -> Axes3D:
    """Draw the machine in one configuration: its visual shapes or solids of its inertia, joint axes, centres of mass.

    Joints and centres of mass are drawn of machines without visual shapes, whose covers would hide them.

    Parameters
    ----------
    model : Model
    q : (nq,), optional
        Configuration; `model.neutral()` by default.
    t : float
        Time in s, for driven joints.
    axes : matplotlib 3D axes, optional
        Where to draw; a new figure by default.
    frames : bool
        Draw the axes x, y, z (red, green, blue) of every body.
    com : bool
        Draw centres of mass.
    names : bool
        Write the names of the bodies.
    legend : bool
        Explain the colours of the joints.
    view : (elevation, azimuth)
        Where to look from, degrees. Up is against gravity.

    Returns
    -------
    matplotlib 3D axes
        Its `.figure` can be saved.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern import viz
    >>> axes = viz.draw(mb.zoo.pipelayer(), [0, 0, 0, 0.4, 0.5, 1.0])  # doctest: +SKIP
    >>> axes.figure.savefig("pipelayer.png")  # doctest: +SKIP
    """
    if not isinstance(model, Model):
        raise MethodError(f"draw: expected a Model, got {show(model)}")
    state = model.neutral() if q is None else inputs.configuration(q, model)
    scene = scenes.build(model, state[None, :], np.array([inputs.time(t)]), TRIANGLES)
    canvas = _Canvas(scene, axes, frames=frames, com=com, names=names, legend=legend, view=view)
    canvas.show(0)
    return canvas.axes


def animate(solution: Solution, out: str | PathLike[str] | None = None, *, fps: int = FRAMES_PER_SECOND,
            speed: float = 1.0, dpi: int = 100, frames: bool = False, com: bool = True,
            view: tuple[float, float] = (18.0, -58.0)) -> FuncAnimation | Viewer:
    """A film of a solution.

    Parameters
    ----------
    solution : Solution
    out : path, optional
        File to write: .mp4 (needs the program ffmpeg), .gif, or .html for the page of `viewer`. Without it the
        animation is returned for a notebook.
    fps : int
        Pictures a second.
    speed : float
        Seconds of motion in a second of film.
    dpi : int
        Pixels an inch; the picture is 8 by 6 inches.
    frames, com, view
        As in `draw`.

    Returns
    -------
    matplotlib FuncAnimation, or Viewer for .html

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern import viz
    >>> model = mb.zoo.chain(3)
    >>> solution = mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 2))
    >>> _ = viz.animate(solution, "chain.gif")  # doctest: +SKIP
    """
    if not isinstance(solution, lazy.module("integrate.solution").Solution):
        raise MethodError(f"animate: expected a Solution (System.simulate), got {show(solution)}")
    kind = film_kind("animate", out)
    fps = checks.whole(fps, "animate: fps", 1, MOST_PICTURES, MethodError)
    seconds = checks.number(speed, "animate: speed", MethodError) / fps
    if kind == ".html":
        page = lazy.module("viz.viewer").viewer(solution)
        page.save(out)
        return page
    t, q = resampled(solution, seconds)
    return film(solution.system.model, t, q, out, fps, dpi, frames, com, view)


def film_kind(who: str, out: Any) -> str:
    """The ending of the file to write, or nothing; an error where it cannot be written."""
    if out is None:
        kind = ""
    else:
        kind = Path(files.named(out, who)).suffix.lower()
        if kind not in (".mp4", ".gif", ".html"):
            raise MethodError(f"{who}: out must end in .mp4, .gif or .html, got {show(str(out))}")
    if kind != ".html":
        _matplotlib(who)
        from matplotlib import animation

        if kind == ".mp4" and not animation.FFMpegWriter.isAvailable():
            raise MethodError(f"{who}: writing .mp4 needs the program ffmpeg; install it, or write .gif or .html")
    return kind


def film(model: Model, t: Array, q: Array, out: Any, fps: int, dpi: int, frames: bool, com: bool,
         view: tuple[float, float]) -> Any:
    """A film of configurations q at times t, a picture each; written to `out` where that is given."""
    from matplotlib import animation

    kind = "" if out is None else Path(out).suffix.lower()
    dpi = checks.whole(dpi, "dpi", 1, MOST_DOTS, MethodError)
    scene = scenes.build(model, q, t, TRIANGLES)
    canvas = _Canvas(scene, None, frames=frames, com=com, names=False, legend=False, view=view)
    clock = canvas.axes.text2D(0.02, 0.95, "", transform=canvas.axes.transAxes, family="monospace")

    def step(k: int) -> Sequence[Any]:
        canvas.show(k)
        clock.set_text(f"t = {t[k]:.2f} s")
        return ()

    made = animation.FuncAnimation(canvas.axes.figure, step, frames=len(t), interval=1000 / fps, blit=False)
    if kind:
        writer = animation.FFMpegWriter(fps=fps, bitrate=2400) if kind == ".mp4" else animation.PillowWriter(fps=fps)
        with tempfile.TemporaryDirectory(prefix="mbkern-") as folder:
            whole = Path(folder) / f"film{kind}"
            made.save(str(whole), writer=writer, dpi=dpi)
            files.write(out, whole.read_bytes(), "animate")
    return made


def resampled(solution: Solution, step: float) -> tuple[Array, Array]:
    """Times a `step` apart and the configurations there: from the dense output, else interpolated between states."""
    t, q = solution.t, solution.q
    if t.size == 0:
        raise MethodError("the solution has no states to show")
    pictures = abs(t[-1] - t[0]) / step if step > 0.0 else np.inf
    if not pictures < MOST_PICTURES:
        raise MethodError(f"speed and fps: a film of {pictures:.3g} pictures for {abs(t[-1] - t[0]):g} s of motion; "
                          f"give a positive speed, such that there are at most {MOST_PICTURES:g}")
    count = max(int(np.floor(pictures * (1.0 + 1e-12))) + 1, 1)
    times = t[0] + np.sign(t[-1] - t[0]) * step * np.arange(count)
    times = np.clip(times, min(t[0], t[-1]), max(t[0], t[-1]))
    if solution.dense:
        return times, solution.sol(times)[0]
    order = np.argsort(t, kind="stable")
    q = _same_signs(solution.system.model, q)
    return times, np.column_stack([np.interp(times, t[order], column[order]) for column in q.T])


def _same_signs(model: Model, q: Array) -> Array:
    """q with each quaternion in the half space of the one before it, so that lines between them do not cross zero."""
    q = q.copy()
    for at in model.quaternion_offsets.tolist():
        flips = np.sign(np.einsum("mi,mi->m", q[1:, at : at + 4], q[:-1, at : at + 4]))
        flips[flips == 0.0] = 1.0
        q[1:, at : at + 4] *= np.cumprod(flips)[:, None]
    return q


def _matplotlib(who: str) -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MethodError(f"{who}: matplotlib is not installed; pip install mbkern[viz]") from None


class _Canvas:
    """Faces of all shapes in one collection, so that matplotlib sorts them by depth together."""

    def __init__(self, scene: Scene, axes: Any, frames: bool, com: bool, names: bool, legend: bool,
                 view: tuple[float, float]) -> None:
        _matplotlib("draw")
        frames, com, names, legend = (checks.flag(value, f"draw: {word}", MethodError) for word, value in (
            ("frames", frames), ("com", com), ("names", names), ("legend", legend)))
        elevation, azimuth = checks.vector(view, "draw: view", 2)
        from matplotlib.colors import to_rgb
        from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

        self.scene, self.names, self.frames = scene, names, frames
        covered = bool(scene.model.visuals)
        shapes = [shape for shape in scene.shapes
                  if shape.role in ("body", "ground") or (not covered and shape.role != "com")]
        self.masses = [shape for shape in scene.shapes if shape.role == "com" and com and not covered]
        parts = [_faces(scene, shape) for shape in shapes]
        self.faces = np.concatenate([faces for faces in parts]) if parts else np.zeros((0, 4, 3))
        self.tracks = np.repeat([shape.track for shape in shapes], [len(faces) for faces in parts])
        colors = [(*to_rgb(shape.color), shape.opacity) for shape in shapes]
        self.colors = np.repeat(colors, [len(faces) for faces in parts], axis=0)
        if axes is None:
            from matplotlib import pyplot

            figure = pyplot.figure(figsize=(8, 6))
            axes = figure.add_axes((0, 0, 1, 1), projection="3d")
        elif getattr(axes, "name", "") != "3d":
            raise MethodError("draw: axes must be three-dimensional: figure.add_subplot(projection='3d')")
        self.axes = axes
        nowhere = np.zeros((1, 4, 3))
        self.collection = Poly3DCollection(nowhere, linewidths=0.3)
        axes.add_collection3d(self.collection)
        self.lines = Line3DCollection(nowhere, linewidths=2.0, colors="#6b7280", linestyles="--")
        if scene.rails and not covered:
            axes.add_collection3d(self.lines)
        [self.dots] = axes.plot([], [], [], "o", color=COLORS["com"], markersize=4, zorder=4)  # seen through the bodies
        self.triads = Line3DCollection(nowhere, linewidths=1.6, zorder=3)
        if frames:
            axes.add_collection3d(self.triads)
        self.labels: list[Any] = []
        self._frame_view((elevation, azimuth))
        self._floor()
        if legend:
            self._legend([*shapes, *self.masses])

    def show(self, k: int) -> None:
        """Put everything where it is in state k."""
        scene = self.scene
        R = np.concatenate([scene.rotation[k], np.eye(3)[None]])  # track -1, the world, is the last
        r = np.concatenate([scene.position[k], np.zeros((1, 3))])
        points = np.einsum("fij,fpj->fpi", R[self.tracks], self.faces) + r[self.tracks][:, None, :]
        points = points @ scene.up.T
        self.collection.set_verts(points)
        normals = np.cross(points[:, 2] - points[:, 0], points[:, 3] - points[:, 1])
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
        shade = (0.62 + 0.38 * normals @ LIGHT)[:, None]
        colors = np.clip(np.column_stack([self.colors[:, :3] * shade, self.colors[:, 3:]]), 0.0, 1.0)
        self.collection.set_facecolor(colors)
        self.collection.set_edgecolor(colors)
        places = [((rail.track_a, rail.a), (rail.track_b, rail.b)) for rail in scene.rails]
        ends = [[scene.up @ (R[track] @ point + r[track]) for track, point in pair] for pair in places]
        self.lines.set_segments(ends)
        dots = [scene.up @ (R[mass.track] @ mass.position + r[mass.track]) for mass in self.masses]
        self.dots.set_data_3d(*np.array(dots).reshape(-1, 3).T)
        if self.frames:
            length = 0.35 * scene.length
            n = scene.model.n_bodies
            segments = [[scene.up @ r[i], scene.up @ (r[i] + length * R[i][:, a])] for i in range(n) for a in range(3)]
            self.triads.set_segments(segments)
            self.triads.set_color(["#d62728", "#2ca02c", "#1f77b4"] * n)
        if self.names:
            for label in self.labels:
                label.remove()
            middles = [scene.up @ (r[i] + R[i] @ np.array(body.com)) for i, body in enumerate(scene.model.body_specs)]
            self.labels = [
                self.axes.text(*point, f"  {name}", fontsize=8, color="#1f2430")
                for point, name in zip(middles, scene.model.body_names, strict=True)
            ]

    def _frame_view(self, view: tuple[float, float]) -> None:
        """Limits that hold every state, the same scale along all axes."""
        scene = self.scene
        reach = scene.reach(scenes.samples(len(scene.position)))
        low, high = reach.min(axis=(0, 1)), reach.max(axis=(0, 1))
        low[2] = min(low[2], scene.floor)
        middle, half = (low + high) / 2, max(float((high - low).max()) / 2, 1e-6) * 1.08
        for k, name in enumerate("xyz"):
            getattr(self.axes, f"set_{name}lim")(middle[k] - half, middle[k] + half)
        self.axes.set_box_aspect((1, 1, 1), zoom=1.35)
        self.axes.view_init(*view)
        self.axes.set_axis_off()
        self.middle, self.half = middle, half

    def _floor(self) -> None:
        x0, y0, half = self.middle[0], self.middle[1], self.half
        ticks = np.linspace(-half, half, 11)
        for tick in ticks:
            for line in (([x0 + tick] * 2, [y0 - half, y0 + half]), ([x0 - half, x0 + half], [y0 + tick] * 2)):
                self.axes.plot(*line, [self.scene.floor] * 2, color="#d5d9e0", linewidth=0.7, zorder=-10)
        self.axes.computed_zorder = False  # the floor stays behind the machine

    def _legend(self, shapes: list[Shape]) -> None:
        from matplotlib.lines import Line2D

        roles = [role for role in LABELS if any(shape.role == role for shape in shapes)]
        marks = [Line2D([], [], marker="o", linestyle="", color=COLORS[role], label=LABELS[role]) for role in roles]
        if marks:
            self.axes.legend(handles=marks, loc="upper right", frameon=False, fontsize=9)


# ---- faces ---------------------------------------------------------------------------------------------------------


def _faces(scene: Scene, shape: Shape) -> Array:
    """Quadrilaterals (n, 4, 3) of a shape in the frame of its track; a triangle has a fourth corner on an edge."""
    if shape.mesh >= 0:
        part = scene.meshes[shape.mesh]
        corners = part.vertices[part.faces]
        quads = np.concatenate([corners, corners[:, :1] * 0.5 + corners[:, 2:] * 0.5], axis=1)
    else:
        quads = _solid(shape.kind, shape.size)
    return quads @ shape.rotation.T + shape.position


def _solid(kind: str, size: tuple[float, ...]) -> Array:
    """Quadrilaterals of a simple shape: turned about z, or a box."""
    if kind == "box":
        return _box(*size)
    if kind == "cylinder":
        radius, length = size
        pieces = [(z, radius) for z, _ in _pieces(length, radius)]
        profile = [(0.0, 0.0), (0.0, radius), *pieces, (length, radius), (length, 0.0)]
        profile = [(z - 0.5 * length, r) for z, r in profile]
    else:
        radius, length = (size[0], size[1]) if kind == "capsule" else (size[0] if kind == "sphere" else 1.0, 0.0)
        rings = 2 * CAP_RINGS if kind == "ellipsoid" else CAP_RINGS
        angles = np.linspace(0.0, np.pi / 2, rings + 1)
        lower = [(-0.5 * length - radius * np.cos(a), radius * np.sin(a)) for a in angles]
        upper = [(0.5 * length + radius * np.sin(a), radius * np.cos(a)) for a in angles]
        middle = [(z - 0.5 * length, radius) for z, _ in _pieces(length, radius)]
        profile = lower + (upper[1:] if length == 0.0 else middle + upper)
    turn = 2.0 * np.pi * np.arange(SEGMENTS + 1) / SEGMENTS
    ring = np.column_stack([np.cos(turn), np.sin(turn), np.zeros(SEGMENTS + 1)])
    rows = np.array([[0.0, 0.0, height] + radius * ring for height, radius in profile])
    quads = np.stack([rows[:-1, :-1], rows[:-1, 1:], rows[1:, 1:], rows[1:, :-1]], axis=2).reshape(-1, 4, 3)
    return quads * np.array(size) if kind == "ellipsoid" else quads


def _box(x: float, y: float, z: float) -> Array:
    """Six sides in pieces of similar depth, so that sorting them by depth works."""
    sides = []
    for k in range(3):
        u, v = (np.eye(3)[(k + 1) % 3], np.eye(3)[(k + 2) % 3])
        for sign in (-1.0, 1.0):
            a, b = np.meshgrid(np.linspace(-0.5, 0.5, 4), np.linspace(-0.5, 0.5, 4), indexing="ij")
            points = sign * 0.5 * np.eye(3)[k] + sign * a[..., None] * u + b[..., None] * v
            sides.append(np.stack([points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]], axis=2))
    return np.concatenate(sides).reshape(-1, 4, 3) * np.array([x, y, z])


def _pieces(length: float, radius: float) -> list[tuple[float, float]]:
    """Rings along a rod: faces of similar depth everywhere, so that sorting them by depth works."""
    count = min(int(length / (3.0 * radius)), 12) if radius > 0.0 else 0
    return [(length * k / (count + 1), radius) for k in range(1, count + 1)]
