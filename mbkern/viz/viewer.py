"""One HTML page that shows motions: 3D scene, time, energies. It needs no network and no server.

Drawn by three.js (three.min.js beside this file, licence in three.LICENSE), which is written into the page. Poses are
float32, meshes 16-bit integers, all in base64.
"""

from __future__ import annotations

import base64
import html
import json
import tempfile
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import files, lazy
from ..errors import MethodError, StateError
from ..model import checks
from ..model.arrays import numbers
from ..model.checks import show
from ..model.model import Model
from . import scene as scenes
from .part import Part
from .picture import _same_signs
from .scene import COLORS, Array, Scene

if TYPE_CHECKING:
    from ..integrate.solution import Solution

#: A page holds about this many pose numbers (4 bytes each, a third more in the file) and triangles (12 bytes).
MOST_NUMBERS = 400_000
MOST_TRIANGLES = 200_000
MOST_STATES = 3000
MOST_TRAILS = 12
NOTEBOOK_HEIGHT = 620
#: Room around machines whose joints are drawn, as part of their size.
JOINTS = 0.04
#: The camera follows a machine whose way is longer than this many times its size.
FAR = 2.5

Theme = Literal["auto", "light", "dark"]
Layout = Literal["auto", "side", "ghosts"]


class Viewer:
    """A page made by `viewer`; shows itself in a notebook.

    Attributes
    ----------
    html : str
        The whole page.
    """

    def __init__(self, page: str) -> None:
        self.html = page

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page to a file that any browser opens."""
        target = Path(files.named(path, "Viewer.save"))
        files.write(target, self.html.encode("utf-8", "replace"), "Viewer.save")
        return target

    def open(self) -> Path:
        """Show the page in the default browser, from a temporary file."""
        path = self.save(Path(tempfile.mkdtemp(prefix="mbkern-")) / "viewer.html")
        webbrowser.open(path.as_uri())
        return path

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html, quote=True)}" style="width: 100%; height: {NOTEBOOK_HEIGHT}px; '
            'border: 1px solid #d5d9e0; border-radius: 6px" allowfullscreen></iframe>'
        )

    def __repr__(self) -> str:
        return f"Viewer: {len(self.html) / 1e6:.1f} MB page; .save(path), .open(), or the last line of a notebook cell"


@dataclass(slots=True)
class _Run:
    """What is shown of one machine: times upward, configurations, energies if they are known, forces if asked for."""

    model: Model
    name: str
    about: str
    t: Array
    q: Array
    energy: dict[str, Array] | None = None
    forces: Array | None = None  # (states, bodies, 3) in body axes at the body origins


@overload
def viewer(shown: Solution | Sequence[Solution], t: str | PathLike[str] | None = None, q: None = None, *,
           path: str | PathLike[str] | None = None, title: str | None = None, autoplay: bool = True,
           theme: Theme = "auto", layout: Layout = "auto", forces: bool = False,
           names: Sequence[str] | None = None) -> Viewer: ...
@overload
def viewer(shown: Model, t: ArrayLike, q: ArrayLike, *, path: str | PathLike[str] | None = None,
           title: str | None = None, autoplay: bool = True, theme: Theme = "auto", layout: Layout = "auto",
           forces: bool = False, names: Sequence[str] | None = None) -> Viewer: ...
def viewer(shown: Any, t: Any = None, q: Any = None, *, path: str | PathLike[str] | None = None,
           title: str | None = None, autoplay: bool = True, theme: Theme = "auto", layout: Layout = "auto",
           forces: bool = False, names: Sequence[str] | None = None) -> Viewer:
    """A self-contained page with a 3D scene, play and pause, a time slider, speed, and the energies over time.

    ``viewer(solution, "run.html")`` shows a motion, ``viewer([a, b])`` several of them, ``viewer(model, t, q)`` data of
    your own. Drag to turn, wheel to zoom, right drag to move; the pointer shows names; space plays, arrows step. Boxes
    in the corner show joints, centres of mass, frames, trails and forces. Robots are drawn with their visual shapes;
    meshes that cannot be read are drawn as boxes and named in a `ModelWarning`.

    Parameters
    ----------
    shown : Solution, sequence of Solution, or Model
        What to show. Long runs are thinned to 3000 states; between states the page interpolates.
    t : (m,), with a Model
        Times in s, rising. (With a Solution, the second argument is the path of the page.)
    q : (m, nq), with a Model
        The configurations at these times.
    path : path, optional
        Where to write the page.
    title : str, optional
        By default the name of the model.
    autoplay : bool
        Start playing at once.
    theme : "auto", "light" or "dark"
        What the page looks like at first: as the system says, or one of the two.
    layout : "auto", "side" or "ghosts"
        Several machines stand side by side, or the second and later ones are transparent ghosts in the place of the
        first; by default ghosts if they all have the same model.
    forces : bool
        Offer the forces that the joints exert on the bodies, as arrows. Not for runs whose tau came from a controller
        in Python, a batch or a file: these solutions do not have it.
    names : sequence of str, optional
        What several machines are called.

    Returns
    -------
    Viewer
        `.html`, `.save(path)`, `.open()`; as the last line of a notebook cell it shows itself.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern import viz
    >>> model = mb.zoo.chain(3)
    >>> solution = mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1))
    >>> page = viz.viewer(solution)
    >>> "<script" in page.html
    True
    >>> viz.viewer(model, t=[0, 1], q=[[0, 0, 0], [0.5, 0, 0]])
    Viewer: ... MB page; .save(path), .open(), or the last line of a notebook cell
    """
    checks.word(theme, "viewer: theme", ("auto", "light", "dark"), MethodError)
    checks.word(layout, "viewer: layout", ("auto", "side", "ghosts"), MethodError)
    autoplay, forces = (checks.flag(value, f"viewer: {word}", MethodError) for word, value in (
        ("autoplay", autoplay), ("forces", forces)))
    if title is not None and not isinstance(title, str):
        raise MethodError(f"viewer: title: expected a text, got {show(title)}")
    if isinstance(shown, Model):
        runs = [_own_run(shown, t, q)]
    else:
        if path is None:
            path = t
        runs = _runs(shown, forces)
    if names is not None:
        words = [names] if isinstance(names, str) else names
        if not isinstance(words, list | tuple) or len(words) != len(runs) or not all(
                isinstance(word, str) for word in words):
            raise MethodError(f"viewer: names: expected {len(runs)} names, got {show(names)}")
        for run, name in zip(runs, words, strict=True):
            run.name = name
    data = _data(runs, title, autoplay, theme, layout)
    page = _template()
    for mark, text in (
        ("__TITLE__", html.escape(data["title"])),
        ("__THREE__", _library()),
        ("__DATA__", _safe(json.dumps(data, separators=(",", ":")))),
    ):
        before, after = page.split(mark)
        page = before + text + after
    result = Viewer(page)
    if path is not None:
        result.save(path)
    return result


# ---- what is shown --------------------------------------------------------------------------------------------------


def _own_run(model: Model, t: Any, q: Any) -> _Run:
    """Times and configurations that somebody hands over."""
    if t is None or q is None:
        raise MethodError("viewer: with a Model, give the times t (m,) and the configurations q (m, nq)")
    times, states = (numbers(value, f"viewer: {name}", "numbers").copy() for name, value in (("t", t), ("q", q)))
    if times.ndim != 1 or not times.size or not np.isfinite(times).all() or np.any(np.diff(times) < 0.0):
        raise StateError(f"viewer: t must be finite rising times of shape (m,), got shape {times.shape}")
    if states.shape != (times.size, model.nq) or not np.isfinite(states).all():
        raise StateError(f"viewer: q must be finite numbers of shape ({times.size}, {model.nq}), got {states.shape}")
    parts = model.quaternion_offsets[:, None] + np.arange(4)
    if np.any(np.linalg.norm(states[:, parts], axis=2) < 1e-12):
        raise StateError("viewer: q contains a quaternion of length 0")
    chosen = _chosen(times, model)
    return _Run(model, model.name or "mbkern", f"{_count(model)}", times[chosen], _same_signs(model, states)[chosen])


def _runs(shown: Any, forces: bool) -> list[_Run]:
    Solution = lazy.module("integrate.solution").Solution
    solutions = [shown] if isinstance(shown, Solution) else shown
    if not isinstance(solutions, list | tuple) or not solutions:
        raise MethodError(f"viewer: expected a Solution (System.simulate), several, or a Model, got {show(shown)}")
    runs = []
    for solution in solutions:
        if not isinstance(solution, Solution):
            raise MethodError(f"viewer: expected Solutions (System.simulate), got {show(solution)} among them")
        if solution.t.size == 0:
            raise MethodError("viewer: the solution has no states to show")
        runs.append(_run(solution, forces))
    if len(runs) > 1:
        for k, run in enumerate(runs):
            run.name = f"{k + 1}: {run.name}"
    return runs


def _run(solution: Solution, forces: bool) -> _Run:
    system, model = solution.system, solution.system.model
    chosen = _chosen(solution.t, model)
    if solution.t[-1] < solution.t[0]:  # a run back in time is shown forward
        chosen = chosen[::-1]
    energy = solution.energy()
    curves = {name: getattr(energy, name)[chosen] for name in ("kinetic", "potential", "hamiltonian")}
    pushes = None
    if forces:
        loads_at = lazy.module("integrate.work").loads_at
        pushes = np.array([
            system.reactions(solution.q[k], solution.p[k], float(solution.t[k]), *loads_at(solution, int(k)))[:, :3]
            for k in chosen])
    about = f"{_count(model)}, {system.method}, {solution.integrator}"
    return _Run(model, model.name or "mbkern", about, solution.t[chosen], _same_signs(model, solution.q)[chosen],
                curves, pushes)


def _count(model: Model) -> str:
    bodies = "1 body" if model.n_bodies == 1 else f"{model.n_bodies} bodies"
    return f"{bodies}, {'1 dof' if model.nv == 1 else f'{model.nv} dofs'}"


def _chosen(t: Array, model: Model) -> NDArray[np.int64]:
    """Which states to show: all, or those nearest to equally spaced times."""
    tracks = max(len(model.steps), 1)
    most = int(np.clip(MOST_NUMBERS // (7 * tracks), 2, MOST_STATES))
    if t.size <= most:
        return np.arange(t.size)
    forward = t if t[-1] >= t[0] else -t
    wanted = np.linspace(forward[0], forward[-1], most)
    return np.unique(np.clip(np.searchsorted(forward, wanted), 0, t.size - 1))


# ---- the numbers of the page ----------------------------------------------------------------------------------------


def _data(runs: list[_Run], title: str | None, autoplay: bool, theme: str, layout: str) -> dict[str, Any]:
    same = all(run.model == runs[0].model for run in runs)
    ghosts = len(runs) > 1 and (layout == "ghosts" or (layout == "auto" and same))
    built: dict[int, Scene] = {}
    for k, run in enumerate(runs):
        built[k] = scenes.build(run.model, run.q, run.t, MOST_TRIANGLES // (1 if same else len(runs)))
    views = [_view(scene) if scene.model.visuals else _with_joints(_view(scene)) for scene in built.values()]
    offsets = [np.zeros(3)] * len(runs) if ghosts else _side_by_side(views)
    parts: list[Part] = []
    machines = []
    for k, run in enumerate(runs):
        first = 0 if same and k else len(parts)
        if first == len(parts):
            parts += built[k].meshes
        machines.append(_machine(run, built[k], first, offsets[k], ghosts and k > 0))
    low = np.min([view[0] + offset for view, offset in zip(views, offsets, strict=True)], axis=0)
    high = np.max([view[1] + offset for view, offset in zip(views, offsets, strict=True)], axis=0)
    if any(run.forces is not None for run in runs):  # room for the arrows
        room = 0.15 * float(np.linalg.norm(high - low))
        low, high = low - room, high + room
    return {
        "title": title or runs[0].model.name or "mbkern",
        "subtitle": runs[0].about if len(runs) == 1 else f"{len(runs)} runs: " + "; ".join(run.name for run in runs),
        "machines": machines,
        "meshes": [_packed_mesh(part) for part in parts],
        "colors": COLORS,
        "low": _short(low),
        "high": _short(high),
        "length": float(f"{max(scene.length for scene in built.values()):.4g}"),
        "floor": min(scene.floor for scene in built.values()),
        "joints": not runs[0].model.visuals,
        "follow": len(runs) == 1 and views[0][2],
        "theme": theme,
        "autoplay": bool(autoplay),
    }


def _machine(run: _Run, scene: Scene, first_mesh: int, offset: Array, ghost: bool) -> dict[str, Any]:
    model = run.model
    carried = [*scenes.carriers(model)]
    moving = [i for i, (track, _, _) in enumerate(carried) if track == i]
    moving += range(model.n_bodies, scene.position.shape[1])
    number = {track: k for k, track in enumerate(moving)} | {-1: -1}

    def place(track: int, R: Array, r: Array) -> tuple[int, list[float], list[float]]:
        if 0 <= track < model.n_bodies:
            track, R0, r0 = carried[track]
            R, r = R0 @ R, r0 + R0 @ r
        turn = scenes.matrix_quaternions(np.asarray(R)[None])[0]
        return number[track], _short(r), [float(f"{x:.6g}") for x in turn]

    shapes = []
    for shape in scene.shapes:
        track, at, turn = place(shape.track, shape.rotation, shape.position)
        entry: dict[str, Any] = {
            "kind": shape.kind, "track": track, "at": at, "turn": turn, "size": _short(shape.size),
            "role": shape.role, "color": shape.color, "body": shape.body}
        if shape.opacity < 1.0:
            entry["opacity"] = round(shape.opacity, 3)
        if shape.mesh >= 0:
            entry["mesh"] = first_mesh + shape.mesh
        shapes.append(entry)
    frames = [(name, *place(frame.body, np.array(frame.rotation), np.array(frame.position)))
              for name, frame in model.frames.items()]
    weights = np.zeros(len(moving))
    for (track, _, _), body in zip(carried, model.body_specs, strict=True):
        if track >= 0:
            weights[number[track]] += body.mass
    weights = weights / weights.sum() if weights.any() else np.full(len(moving), 1.0 / max(len(moving), 1))
    poses = np.concatenate([scene.position, scenes.matrix_quaternions(scene.rotation)], axis=2)[:, moving]
    rails = []
    for rail in scene.rails:
        (track_a, a, _), (track_b, b, _) = (place(rail.track_a, np.eye(3), rail.a),
                                            place(rail.track_b, np.eye(3), rail.b))
        rails.append({"track_a": track_a, "a": a, "track_b": track_b, "b": b})
    data = {
        "name": run.name,
        "times": [float(f"{x:.9g}") for x in run.t],
        "tracks": len(moving),
        "poses": _base64(poses, "<f4"),
        "up": scenes.matrix_quaternions(scene.up[None])[0].tolist(),
        "bodies": list(model.body_names),
        "shapes": shapes,
        "rails": rails,
        "trails": [] if ghost else _trails(scene, place),
        "frames": [{"name": name, "track": track, "at": at, "turn": turn} for name, track, at, turn in frames],
        "weights": [float(f"{w:.4g}") for w in weights],
        "offset": _short(offset),
        "ghost": ghost,
    }  # fmt: skip
    if run.energy is not None:
        data["energy"] = {name: [float(f"{x:.7g}") for x in values] for name, values in run.energy.items()}
    if run.forces is not None:
        worlds = np.einsum("mnij,mnj->mni", scene.rotation[:, : model.n_bodies], run.forces)
        moved = [i for i in range(model.n_bodies) if model.dofs[i] or model.parents[i] < 0]
        data["forces"] = {"values": _base64(worlds[:, moved], "<f4"), "largest": float(np.abs(worlds).max(initial=0.0)),
                          "places": [dict(zip(("track", "at"), place(i, np.eye(3), np.zeros(3))[:2], strict=True))
                                     for i in moved]}
    return data


def _packed_mesh(part: Part) -> dict[str, Any]:
    """Corners as 16-bit parts of the box around the mesh, faces as indices of 16 or 32 bits."""
    low, high = part.vertices.min(axis=0), part.vertices.max(axis=0)
    step = np.maximum(high - low, 1e-12) / 65535.0
    wide = len(part.vertices) > 65535
    return {"low": [float(x) for x in low], "step": [float(x) for x in step], "wide": wide,
            "vertices": _base64(np.rint((part.vertices - low) / step), "<u2"),
            "faces": _base64(part.faces, "<u4" if wide else "<u2")}


def _base64(numbers: NDArray[Any], dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers).astype(dtype).tobytes()).decode("ascii")


def _view(scene: Scene) -> tuple[Array, Array, bool]:
    """Lower and upper corner, upright, of what the camera has to see: the machine in nearly all states.

    A machine that travels far is followed instead, from its first state on.
    """
    reach = scene.reach(scenes.samples(len(scene.position)))
    first_low, first_high = reach[0].min(axis=0), reach[0].max(axis=0)
    low = np.minimum(np.percentile(reach, 1.0, axis=(0, 1)), first_low)
    high = np.maximum(np.percentile(reach, 99.0, axis=(0, 1)), first_high)
    if np.linalg.norm(high - low) <= FAR * max(float(np.linalg.norm(first_high - first_low)), scene.length):
        return low, high, False
    return first_low, first_high, True


def _with_joints(view: tuple[Array, Array, bool]) -> tuple[Array, Array, bool]:
    """Room for joints and feet, which stand out a little."""
    low, high, follow = view
    room = JOINTS * float(np.linalg.norm(high - low))
    return low - room, high + room, follow


def _side_by_side(views: list[tuple[Array, Array, bool]]) -> list[Array]:
    """Where machines stand in a row along the horizontal x axis."""
    offsets, at = [], 0.0
    for k, (low, high, _) in enumerate(views):
        if k:
            at += 0.15 * float(np.linalg.norm(high - low)) - low[0]
        offsets.append(np.array([at, 0.0, 0.0]))
        at += high[0]
    return offsets


def _trails(scene: Scene, place: Any) -> list[dict[str, Any]]:
    """The farthest ends of the branches, whose ways are drawn; at most a dozen."""
    model = scene.model
    drawn = {shape.body for shape in scene.shapes if shape.role == "body"}
    carries = [i in drawn for i in range(model.n_bodies)]  # whether something is drawn of it or of what it carries
    inner: set[int] = set()
    for i in range(model.n_bodies - 1, -1, -1):
        parent = int(model.parents[i])
        if carries[i] and parent >= 0:
            carries[parent] = True
            inner.add(parent)
    ends = [i for i in sorted(drawn) if i >= 0 and i not in inner]
    if len(ends) > MOST_TRAILS:
        return []
    trails = []
    for i in ends:
        track, point, _ = place(i, np.eye(3), np.array(model.body_specs[i].com))
        if track >= 0:
            trails.append({"track": track, "point": point, "color": scenes.BODY_COLORS[i % len(scenes.BODY_COLORS)]})
    return trails


def _short(vector: Any) -> list[float]:
    return [float(f"{x:.6g}") for x in vector]


def _safe(text: str) -> str:
    """JSON that cannot end the script element that it stands in."""
    return text.replace("<", "\\u003c")


@cache
def _library() -> str:
    return _read("three.min.js").replace("</script", "<\\/script")


@cache
def _template() -> str:
    return _read("viewer.html")


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
