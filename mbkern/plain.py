"""The sources of the compiled core, loaded a second time as ordinary Python.

The same equations then run on any number that knows ``+ - * /``: float for a slow but readable check of the compiled
code, counting numbers for flop counts.

>>> from mbkern import plain
>>> plain.load("vec3").cross((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
(0.0, 0.0, 1.0)
"""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from . import _plain_core


def load(name: str) -> ModuleType:
    """Return the module `name` of the core as ordinary Python.

    Parameters
    ----------
    name : str
        A module of `mbkern.core`, e.g. "extended".

    Examples
    --------
    >>> from mbkern import plain
    >>> plain.load("vec3").dot((1.0, 2.0, 3.0), (1.0, 1.0, 1.0))
    6.0
    """
    return import_module(f"{_plain_core.__name__}.{name}")


def rhs(module: str) -> Callable[..., int]:
    """rhs(block, t, q, p, tau, qdot, pdot, work) -> status by the equations of a module, as ordinary Python.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> from mbkern import plain
    >>> model = mb.zoo.chain(2)
    >>> qdot, pdot, work = np.empty(2), np.empty(2), mb.System(model).work()
    >>> plain.rhs("extended")(model.block, 0.0, model.neutral(), np.zeros(2), np.empty(0), qdot, pdot, work)
    0
    """
    made: Callable[..., int] = load("right_hand_sides").rhs_of(load(module).sweeps)
    return made


def accelerations(module: str, function: str = "sweeps") -> Callable[..., int]:
    """accelerations(block, t, q, u, tau, udot, work) -> status likewise."""
    made: Callable[..., int] = load("right_hand_sides").accelerations_of(getattr(load(module), function))
    return made
