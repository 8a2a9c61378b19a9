"""mbkern: motion of rigid multibody trees in Hamiltonian variables (q, p), compiled and O(N).

>>> import mbkern as mb
>>> model = mb.zoo.chain(5)
>>> system = mb.System(model)
>>> q, u = model.random_state(seed=1)
>>> p = system.momenta(q, u)
>>> qdot, pdot = system.rhs(q, p)
"""

from typing import TYPE_CHECKING, Any

from . import errors, lazy
from .model import zoo
from .model.builder import ModelBuilder
from .model.drives import drive, harmonic, polynomial, spline
from .model.joint import (
    Joint,
    ball,
    cylindrical,
    euler_ball,
    free,
    planar,
    prismatic,
    revolute,
    rotate,
    screw,
    translate,
    twist,
    universal,
    weld,
)
from .model.model import Model
from .system import System
from .waits import announce_compiling

if TYPE_CHECKING:  # see `__getattr__`
    from . import analytic, batch, chaos, embed, export, flops, forces, identification, orbits, sweeps, textbook, viz
    from .batch import ensemble
    from .identification import identify
    from .integrate import Event, Solution, event
    from .io import load_mjcf, load_sdf, load_urdf
    from .model.serial import load
    from .variational.gradient import gradient

__version__ = "0.1.0"

__all__ = [
    "Event", "Joint", "Model", "ModelBuilder", "Solution", "System", "analytic", "announce_compiling", "ball", "batch",
    "chaos", "cylindrical", "drive", "embed", "ensemble", "errors", "euler_ball", "event", "export", "flops", "forces",
    "free", "gradient", "harmonic", "identification", "identify", "load", "load_mjcf", "load_sdf", "load_urdf",
    "orbits", "planar", "polynomial", "prismatic", "revolute", "rotate", "screw", "spline", "sweeps", "textbook",
    "translate", "twist", "universal", "viz", "weld", "zoo",
]

# loaded on first use: a right-hand side needs none of them
_MODULES = {name: name for name in (
    "analytic", "batch", "chaos", "embed", "export", "flops", "forces", "identification", "orbits", "sweeps",
    "textbook", "viz")}
_MODULES["ensemble"] = "batch.ensemble"
_MODULE_OF = {
    "Event": "integrate", "Solution": "integrate", "event": "integrate", "gradient": "variational.gradient",
    "identify": "identification", "load": "model.serial", "load_mjcf": "io", "load_sdf": "io", "load_urdf": "io",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return lazy.module(_MODULES[name])
    if name in _MODULE_OF:
        value = globals()[name] = getattr(lazy.module(_MODULE_OF[name]), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__doc__", "__version__"]
