"""mbkern: motion of rigid multibody trees in Hamiltonian variables (q, p), compiled and O(N).

>>> import mbkern as mb
>>> model = mb.zoo.chain(5)
>>> system = mb.System(model)
>>> q, u = model.random_state(seed=1)
>>> p = system.momenta(q, u)
>>> qdot, pdot = system.rhs(q, p)
"""

from importlib import import_module
from typing import Any

from . import embed, errors
from .integrate import Event, Solution, event
from .io import load_mjcf, load_urdf
from .model import zoo
from .model.builder import ModelBuilder
from .model.drives import drive, harmonic, polynomial, spline
from .model.joint import (
    ball,
    cylindrical,
    euler_ball,
    free,
    planar,
    prismatic,
    revolute,
    rotate,
    translate,
    universal,
    weld,
)
from .model.model import Model
from .model.serial import load
from .system import System

__version__ = "0.1.0"

__all__ = [
    "Event", "Model", "ModelBuilder", "Solution", "System", "analytic", "ball", "cylindrical", "drive", "embed",
    "ensemble", "errors", "euler_ball", "event", "flops", "free", "harmonic", "load", "load_mjcf", "load_urdf",
    "planar", "polynomial", "prismatic", "revolute", "rotate", "spline", "translate", "universal", "viz", "weld", "zoo",
]


def __getattr__(name: str) -> Any:
    if name in ("analytic", "ensemble", "flops", "viz"):  # loaded on first use: most programs need none of them
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
