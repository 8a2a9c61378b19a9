"""Solutions as tables of other libraries: a pandas DataFrame, an xarray Dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import IntegrationError

if TYPE_CHECKING:
    from .solution import Solution


def to_frame(solution: Solution) -> Any:
    """See `Solution.to_frame`."""
    try:
        import pandas
    except ImportError:
        raise IntegrationError("to_frame(): pandas is not installed; pip install pandas") from None
    model = solution.system.model
    names = [*(f"q:{name}" for name in model.coordinate_names),
             *(f"{what}:{name}" for what in "up" for name in model.speed_names), *solution.energy()._fields]
    table = np.column_stack((solution.q, solution.u, solution.p, *solution.energy()))
    return pandas.DataFrame(table, columns=names, index=pandas.Index(solution.t, name="t"))


def to_xarray(solution: Solution) -> Any:
    """See `Solution.to_xarray`."""
    try:
        import xarray
    except ImportError:
        raise IntegrationError("to_xarray(): xarray is not installed; pip install xarray") from None
    model, energy = solution.system.model, solution.energy()
    states = {
        "q": (("t", "coordinate"), solution.q, {"long_name": "configuration", "units": "m, rad, quaternions"}),
        "u": (("t", "speed"), solution.u, {"long_name": "joint speeds", "units": "m/s, rad/s"}),
        "p": (("t", "speed"), solution.p, {"long_name": "momenta", "units": "kg m/s, kg m^2/s"}),
    }
    energies = {name: ("t", values, {"units": "J"}) for name, values in energy._asdict().items()}
    return xarray.Dataset(
        states | energies,
        coords={"t": ("t", solution.t, {"units": "s"}), "coordinate": list(model.coordinate_names),
                "speed": list(model.speed_names)},
        attrs={"model": model.name, "method": solution.system.method, "integrator": solution.integrator,
               "status": solution.status, "message": solution.message})
