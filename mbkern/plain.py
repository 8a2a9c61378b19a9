"""The sources of the compiled core, loaded a second time as ordinary Python.

The same equations then run on any number that knows ``+ - * /``: float for a slow but readable check of the compiled
code, counting numbers for flop counts.

>>> from mbkern import plain
>>> plain.load("vec3").cross((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
(0.0, 0.0, 1.0)
"""

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
