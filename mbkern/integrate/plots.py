"""Coordinates over time, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import IntegrationError, StateError
from ..model.checks import several, show

if TYPE_CHECKING:
    from ..batch.solution import BatchSolution
    from ..model.model import Model
    from .solution import Solution

SHOWN = 10  # coordinates of a run, by default
FEW = 12  # states of a batch that are drawn one by one
BAND = (0.05, 0.95)  # quantiles between which the states of a larger one are


def plot_run(solution: Solution, coordinates: Any, axes: Any) -> Any:
    """See `Solution.plot`."""
    model = solution.system.model
    chosen = _chosen(model, coordinates)
    above, below = _own_axes(axes, 2)
    for j in chosen:
        above.plot(solution.t, solution.q[:, j], label=model.coordinate_names[j], linewidth=1)
    _label(above, model, solution.integrator)
    H = solution.energy().hamiltonian
    below.plot(solution.t, H - H[0] if H.size else H, color="black", linewidth=1)
    below.set_ylabel("H - H(0) (J)")
    below.set_xlabel("t (s)")
    return above.figure


def plot_batch(batch: BatchSolution, coordinates: Any, axes: Any) -> Any:
    """See `BatchSolution.plot`."""
    q = batch.trajectories("plot()")
    model = batch.system.model
    chosen = _chosen(model, coordinates)
    (above,) = _own_axes(axes, 1)
    for j in chosen:
        if len(batch) <= FEW:
            lines = above.plot(batch.t, q[:, :, j].T, linewidth=1, alpha=0.7)
            for line in lines:
                line.set_color(lines[0].get_color())
            lines[0].set_label(model.coordinate_names[j])
        else:
            good = q[~np.isnan(q).any(axis=(1, 2)), :, j]
            if not good.size:
                continue
            low, middle, high = np.quantile(good, (BAND[0], 0.5, BAND[1]), axis=0)
            (line,) = above.plot(batch.t, middle, label=model.coordinate_names[j], linewidth=1)
            above.fill_between(batch.t, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    _label(above, model, f"{batch.integrator}, {len(batch)} states")
    above.set_xlabel("t (s)")
    return above.figure


def _chosen(model: Model, coordinates: Any) -> list[int]:
    """Places of the coordinates that were asked for."""
    if coordinates is None:
        return list(range(min(SHOWN, model.nq)))
    return [_place(model, c) for c in several(coordinates, "coordinates", StateError)]


def _place(model: Model, coordinate: Any) -> int:
    """The place of a coordinate by its name or number."""
    if isinstance(coordinate, str):
        return model.index(coordinate)
    if not isinstance(coordinate, int | np.integer) or isinstance(coordinate, bool) or not (
            -model.nq <= coordinate < model.nq):
        raise StateError(f"coordinates: expected names, or whole numbers below {model.nq}, got {show(coordinate)} "
                         "among them")
    return int(coordinate) % model.nq


def _own_axes(axes: Any, rows: int) -> Any:
    """The axes to draw in, one below the other; new ones for None."""
    if axes is None:
        return _new_axes(rows)
    given = axes.ravel() if isinstance(axes, np.ndarray) else axes if isinstance(axes, list | tuple) else (axes,)
    if len(given) != rows or not all(hasattr(one, "plot") for one in given):
        raise StateError(f"axes: expected {'matplotlib axes' if rows == 1 else f'{rows} matplotlib axes'}, got "
                         f"{show(axes)}")
    return given


def _new_axes(rows: int) -> Any:
    """Axes one below the other in a new figure."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise IntegrationError("plot(): matplotlib is not installed; pip install matplotlib") from None
    size = (8, 3 * rows)
    try:
        from matplotlib import pyplot
        figure = pyplot.figure(figsize=size, layout="constrained")
    except ImportError:  # no display toolkit
        figure = Figure(figsize=size, layout="constrained")
    return figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]


def _label(axes: Any, model: Model, how: str) -> None:
    axes.set_ylabel("q (m, rad)")
    axes.set_title(f"{model.name or 'model'}, {how}")
    axes.legend(fontsize="small", ncols=2, loc="upper right")
