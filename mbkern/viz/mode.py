"""A vibration as a film: the machine swings about its equilibrium in one of its modes."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import files, inputs, lazy
from ..errors import StateError
from ..model.checks import number, show, whole
from .picture import film, film_kind

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation

    from ..derivatives import Modes
    from ..system import System
    from .viewer import Viewer

PICTURES = 36  # of a swing
FPS = 24
MOST_SWINGS = 1000


def animate_mode(system: System, q: ArrayLike, modes: Modes, k: int = 0, out: str | PathLike[str] | None = None, *,
                 amplitude: float = 0.3, swings: int = 2, dpi: int = 100, frames: bool = False, com: bool = True,
                 view: tuple[float, float] = (18.0, -58.0)) -> FuncAnimation | Viewer:
    """A film of one mode of vibration, slowed down or sped up to 1.5 s a swing.

    Every dof moves by the real part of amplitude shape exp(i phase): dofs out of phase pass one after the other. What
    grows or dies out is shown as if it did neither, a motion that does not vibrate as one that goes to and fro.

    Parameters
    ----------
    system : System
    q : (nq,)
        The equilibrium.
    modes : Modes
        What `system.modes(q)` has given.
    k : int
        Which mode, 0 is the slowest.
    out : path, optional
        File to write: .mp4 (needs the program ffmpeg), .gif, or .html for the page of `viewer`. Without it the
        animation is returned for a notebook.
    amplitude : float
        Of the dof that moves most, in m or rad.
    swings : int
    dpi, frames, com, view
        As in `animate`.

    Returns
    -------
    matplotlib FuncAnimation, or Viewer for .html

    Examples
    --------
    >>> import mbkern as mb
    >>> model = mb.zoo.chain(3)
    >>> system = mb.System(model)
    >>> rest = system.equilibrium([0.1, 0.1, 0.1])
    >>> _ = mb.viz.animate_mode(system, rest.q, system.modes(rest.q), 0, "mode.gif")  # doctest: +SKIP
    """
    model = inputs.system(system).model
    place = inputs.configuration(q, model)
    shapes: Any = getattr(modes, "shapes", None)
    count = shapes.shape[1] if isinstance(shapes, np.ndarray) and shapes.ndim == 2 else -1
    if count < 0 or shapes.shape[0] != model.nv:
        raise StateError(f"modes: expected what system.modes(q) gives for this model, got {show(modes)}")
    k = whole(k, "k, the number of a mode", 0, count - 1, StateError)
    swings = whole(swings, "swings", 1, MOST_SWINGS, StateError)
    amplitude = number(amplitude, "amplitude", StateError)
    if amplitude <= 0.0:
        raise StateError(f"amplitude: expected a positive number, got {amplitude:g}")
    kind = film_kind("animate_mode", out)
    moved = lazy.module("derivatives.linear").moved
    phases = np.linspace(0.0, 2.0 * np.pi * swings, PICTURES * swings + 1)
    steps = amplitude * np.real(shapes[:, k, None] * np.exp(1j * phases)).T
    Q = np.array([moved(model, place, step) for step in steps])
    t = np.arange(len(phases)) / FPS
    if kind == ".html":
        page = lazy.module("viz.viewer").viewer(model, t, Q)
        page.save(files.named(out, "animate_mode"))
        return page
    return film(model, t, Q, out, FPS, dpi, frames, com, view)
