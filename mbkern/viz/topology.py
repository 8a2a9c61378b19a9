"""The tree as a graph: who carries whom, by which joint, with how many dofs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import MethodError
from ..model.body import WORLD
from ..model.checks import flag, show
from ..model.model import Model
from .picture import _matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Fill of a node by the dofs of its joint, 0 to 6.
SHADES = ("#e5e7eb", "#cfe3f7", "#b5d3f2", "#93bfe9", "#6ea6dc", "#4a8acb", "#2e6db4")
MOST_BODIES = 400


def plot_tree(model: Model, *, axes: Axes | None = None, names: bool | None = None) -> Axes:
    """Draw the topology: a node a body, an edge a joint with its kind and dofs.

    Parameters
    ----------
    model : Model
        At most 400 bodies.
    axes : matplotlib axes, optional
        Where to draw; a new figure by default.
    names : bool, optional
        Write names and joints; by default when there is room for them (60 bodies).

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern import viz
    >>> axes = viz.plot_tree(mb.zoo.binary_tree(15))  # doctest: +SKIP
    """
    if not isinstance(model, Model):
        raise MethodError(f"plot_tree: expected a Model, got {show(model)}")
    if model.n_bodies > MOST_BODIES:
        raise MethodError(f"plot_tree: {model.n_bodies} bodies are too many to draw; at most {MOST_BODIES}")
    _matplotlib("plot_tree")
    x, y = layout(model)
    names = model.n_bodies <= 60 if names is None else flag(names, "plot_tree: names", MethodError)
    depth, width = int(x.max()), float(np.ptp(y))
    if axes is None:
        from matplotlib import pyplot

        size = min(3.2 + (1.9 if names else 0.5) * depth, 26.0), min(1.6 + (0.5 if names else 0.22) * width, 26.0)
        axes = pyplot.figure(figsize=size, layout="constrained").add_subplot()
    elif not hasattr(axes, "annotate"):
        raise MethodError(f"plot_tree: axes: expected matplotlib axes, got {show(axes)}")
    for i, parent in enumerate(model.parents.tolist()):
        x0, y0 = (x[parent], y[parent]) if parent >= 0 else (0.0, y[-1])
        bend = (x0 + x[i]) / 2
        axes.plot([x0, bend, bend, x[i]], [y0, y0, y[i], y[i]], color="#9aa5b1", linewidth=1.2, zorder=1,
                  solid_joinstyle="round")
        if names:
            joint = model.body_specs[i].joint
            axes.annotate(joint.kind, (bend, y[i]), xytext=(3, 3), textcoords="offset points", fontsize=7,
                          color="#4b5563")
    side = 190.0 if names else 40.0
    axes.scatter([0.0], [y[-1]], s=1.4 * side, marker="s", color="#374151", zorder=2)
    axes.scatter(x[:-1], y[:-1], s=side, c=[SHADES[n] for n in model.dofs], edgecolors="#1f2430", linewidths=0.8,
                 zorder=2)
    if names:
        axes.annotate(WORLD, (0.0, y[-1]), xytext=(0, 12), textcoords="offset points", ha="center", fontsize=8)
        for i, (name, dofs) in enumerate(zip(model.body_names, model.dofs.tolist(), strict=True)):
            ink = "white" if dofs >= 5 else "#1f2430"
            axes.annotate(str(dofs), (x[i], y[i]), ha="center", va="center", fontsize=8, color=ink, zorder=3)
            axes.annotate(name, (x[i], y[i]), xytext=(0, -15), textcoords="offset points", ha="center", fontsize=7.5)
    axes.set_title(f"{model.name or 'model'}: {model.n_bodies} bodies, {model.nv} dofs", fontsize=10)
    axes.set_xlim(-0.4, depth + 0.5)
    axes.set_ylim(float(y.min()) - 0.8, float(y.max()) + 0.8)
    axes.set_axis_off()
    return axes


def layout(model: Model) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Places of the bodies, and last of the world: depth to the right, leaves on lines of their own."""
    n = model.n_bodies
    parents = model.parents.tolist()
    x, y = np.zeros(n + 1), np.zeros(n + 1)
    children: list[list[int]] = [[] for _ in range(n + 1)]
    for i, parent in enumerate(parents):
        x[i] = x[parent] + 1.0 if parent >= 0 else 1.0
        children[parent].append(i)  # the world is the last entry, -1
    leaf = 0.0
    stack = [(n, False)]
    while stack:
        i, done = stack.pop()
        if done:
            below = y[children[i]]
            y[i] = (below[0] + below[-1]) / 2
        elif not children[i]:
            y[i] = leaf
            leaf -= 1.0
        else:
            stack.append((i, True))
            stack.extend((child, False) for child in reversed(children[i]))
    return x, y
