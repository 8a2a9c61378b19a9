"""One HTML page that shows a solution: 3D scene, time, energies. It needs no network and no server.

Drawn by three.js (three.min.js beside this file, licence in three.LICENSE), which is written into the page.
"""

from __future__ import annotations

import base64
import html
import json
import tempfile
import webbrowser
from functools import cache
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import lazy
from ..errors import MethodError
from ..model.checks import show
from . import scene as scenes
from .picture import _same_signs
from .scene import COLORS, Array, Scene

if TYPE_CHECKING:
    from ..integrate.solution import Solution

#: A page holds about this many pose numbers (4 bytes each, a third more in the file).
MOST_NUMBERS = 3_000_000
MOST_STATES = 3000
MOST_TRAILS = 12
NOTEBOOK_HEIGHT = 620
#: The camera follows a machine whose way is longer than this many times its size.
FAR = 5.0


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
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
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


def viewer(solution: Solution, path: str | PathLike[str] | None = None, *, title: str | None = None,
           autoplay: bool = True) -> Viewer:
    """A self-contained page with a 3D scene, play and pause, a time slider, speed, and the energies over time.

    Drag to turn, wheel to zoom, right drag to move; the pointer shows names; space plays, arrows step.

    Parameters
    ----------
    solution : Solution
        What to show. Long runs are thinned to 3000 states; between states the page interpolates.
    path : path, optional
        Where to write the page.
    title : str, optional
        By default the name of the model.
    autoplay : bool
        Start playing at once.

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
    """
    Solution = lazy.module("integrate.solution").Solution

    if not isinstance(solution, Solution):
        raise MethodError(f"viewer: expected a Solution (System.simulate), got {show(solution)}")
    if solution.t.size == 0:
        raise MethodError("viewer: the solution has no states to show")
    page = _template()
    for mark, text in (
        ("__TITLE__", html.escape(title or solution.system.model.name or "mbkern")),
        ("__THREE__", _library()),
        ("__DATA__", _safe(json.dumps(_data(solution, title, autoplay), separators=(",", ":")))),
    ):
        before, after = page.split(mark)
        page = before + text + after
    result = Viewer(page)
    if path is not None:
        result.save(path)
    return result


def _data(solution: Solution, title: str | None, autoplay: bool) -> dict[str, Any]:
    model = solution.system.model
    chosen = _chosen(solution.t, model.n_bodies + len(model.steps))
    t, q = solution.t[chosen], _same_signs(model, solution.q)[chosen]
    energy = solution.energy()
    curves = {name: getattr(energy, name)[chosen] for name in ("kinetic", "potential", "hamiltonian")}
    if t[-1] < t[0]:  # a run back in time is shown forward
        t, q, curves = t[::-1], q[::-1], {name: values[::-1] for name, values in curves.items()}
    scene = scenes.build(model, q, t)
    centre, size, follow = _view(scene)
    masses = np.array([body.mass for body in model.body_specs])
    weights = masses / masses.sum() if masses.any() else np.full(model.n_bodies, 1.0 / model.n_bodies)
    return {
        "title": title or model.name or "mbkern",
        "subtitle": f"{model.n_bodies} bodies, {model.nv} freedoms, {solution.system.method}, {solution.integrator}",
        "times": t.tolist(),
        "tracks": scene.position.shape[1],
        "poses": _packed(scene),
        "up": scenes.matrix_quaternions(scene.up[None])[0].tolist(),
        "bodies": list(model.body_names),
        "shapes": [
            {"kind": s.kind, "track": s.track, "a": _short(s.a), "b": _short(s.b), "r": float(f"{s.radius:.4g}"),
             "role": s.role, "color": s.color, "body": s.body}
            for s in scene.shapes
        ],
        "rails": [
            {"track_a": rail.track_a, "a": _short(rail.a), "track_b": rail.track_b, "b": _short(rail.b)}
            for rail in scene.rails
        ],
        "trails": _trails(scene),
        "colors": COLORS,
        "energy": {name: [float(f"{x:.7g}") for x in values] for name, values in curves.items()},
        "centre": centre.tolist(),
        "size": size,
        "length": scene.length,
        "floor": scene.floor,
        "follow": follow,
        "weights": [float(f"{w:.4g}") for w in weights],
        "autoplay": bool(autoplay),
    }  # fmt: skip


def _chosen(t: Array, tracks: int) -> np.ndarray[Any, Any]:
    """Which states to show: all, or those nearest to equally spaced times."""
    most = int(np.clip(MOST_NUMBERS // (7 * tracks), 2, MOST_STATES))
    if t.size <= most:
        return np.arange(t.size)
    forward = t if t[-1] >= t[0] else -t
    wanted = np.linspace(forward[0], forward[-1], most)
    return np.unique(np.clip(np.searchsorted(forward, wanted), 0, t.size - 1))


def _packed(scene: Scene) -> str:
    """Positions and quaternions of all tracks in all states, as base64 of little-endian float32."""
    poses = np.concatenate([scene.position, scenes.matrix_quaternions(scene.rotation)], axis=2)
    return base64.b64encode(poses.astype("<f4").tobytes()).decode("ascii")


def _view(scene: Scene) -> tuple[Array, float, bool]:
    """Middle and size of what the camera has to see, upright: the machine in nearly all states.

    A machine that travels far is followed instead, from its first state on.
    """
    places = scene.position[:, : scene.model.n_bodies].reshape(-1, 3)
    tips = np.concatenate([
        scene.position[:, shape.track] + scene.rotation[:, shape.track] @ shape.b
        for shape in scene.shapes if shape.track >= 0 and shape.role == "body"
    ] or [places])
    points = np.concatenate([places, tips]) @ scene.up.T
    low, high = np.percentile(points, 0.5, axis=0), np.percentile(points, 99.5, axis=0)
    middle, size = (low + high) / 2, max(float(np.linalg.norm(high - low)), 1.1 * scene.size, 1e-3)
    if size < FAR * scene.size:
        return middle, size, False
    first = scene.position[0, : scene.model.n_bodies] @ scene.up.T
    return first.mean(axis=0), 1.8 * scene.size, True


def _trails(scene: Scene) -> list[dict[str, Any]]:
    """The farthest ends of the branches, whose ways are drawn; at most a dozen."""
    model = scene.model
    shapes = {shape.body: shape for shape in scene.shapes if shape.role == "body"}
    carries = [i in shapes for i in range(model.n_bodies)]  # whether something is drawn of it or of what it carries
    inner: set[int] = set()
    for i in range(model.n_bodies - 1, -1, -1):
        parent = int(model.parents[i])
        if carries[i] and parent >= 0:
            carries[parent] = True
            inner.add(parent)
    ends = {i: shape for i, shape in shapes.items() if i not in inner}
    if len(ends) > MOST_TRAILS:
        return []
    return [{"track": i, "point": _short(shape.b), "color": shape.color} for i, shape in ends.items()]


def _short(vector: Array) -> list[float]:
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
