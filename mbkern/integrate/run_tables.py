"""A run as tables and pictures of other packages, and as a plain dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import lazy
from .run_energy import RunEnergy

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .events import EventRecord


class RunTables(RunEnergy):
    """The part of `Solution` that hands its results on."""

    if TYPE_CHECKING:
        integrator: str
        success: bool
        status: str
        message: str
        nfev: Any  # int, or None of one state of a batch
        n_accepted: int
        n_rejected: int
        events: list[EventRecord]

    def to_frame(self) -> pandas.DataFrame:
        """A pandas DataFrame: one row an output, t as its index; needs pandas.

        Columns are "q:name" of every coordinate, "u:name" and "p:name" of every dof, and the energies "kinetic",
        "potential", "hamiltonian".

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> solution = mb.System(model).simulate(model.neutral(), [0.0] * 6, (0, 1))
        >>> table = solution.to_frame()  # doctest: +SKIP
        >>> table["q:theta"].plot()  # doctest: +SKIP
        """
        return lazy.module("integrate.tables").to_frame(self)

    def to_xarray(self) -> xarray.Dataset:
        """An xarray Dataset: q (t, coordinate), u and p (t, speed), energies (t), with names, units and how the run
        ended; needs xarray.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> solution = mb.System(model).simulate(model.neutral(), [0.0] * 6, (0, 1))
        >>> solution.to_xarray().q.sel(coordinate="theta")  # doctest: +SKIP
        """
        return lazy.module("integrate.tables").to_xarray(self)

    def to_dict(self) -> dict[str, Any]:
        """All results in a plain dictionary of arrays, numbers and strings.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> data = mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1)).to_dict()
        >>> sorted(data)[:4]
        ['coordinate_names', 'events', 'hamiltonian', 'integrator']
        """
        model, energy = self.system.model, self.energy()
        return {
            "t": self.t, "q": self.q, "p": self.p, "u": self.u, "variable": self.variable,
            "kinetic": energy.kinetic, "potential": energy.potential, "hamiltonian": energy.hamiltonian,
            "coordinate_names": list(model.coordinate_names), "speed_names": list(model.speed_names),
            "model": model.name, "method": self.system.method, "integrator": self.integrator,
            "success": self.success, "status": self.status, "message": self.message,
            "nfev": self.nfev, "n_accepted": self.n_accepted, "n_rejected": self.n_rejected,
            "events": [record._asdict() for record in self.events],
        }

    def plot(self, coordinates: Sequence[int | str] | None = None, axes: Sequence[Axes] | None = None) -> Figure:
        """Coordinates and change of the energy over time; needs matplotlib.

        Parameters
        ----------
        coordinates : sequence of int or str, optional
            Which coordinates, by place or name; by default the first ten.
        axes : two matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        figure

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> solution = mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1))
        >>> figure = solution.plot()  # doctest: +SKIP
        """
        return lazy.module("integrate.plots").plot_run(self, coordinates, axes)
