"""The sources of the compiled core, loaded a second time as ordinary Python.

The same equations then run on any number that knows ``+ - * /``: float for a slow but readable check of the compiled
code, counting numbers for flop counts.

>>> from mbkern import plain
>>> plain.load("vec3").cross((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
(0.0, 0.0, 1.0)
"""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

_PACKAGE = "mbkern._plain_core"


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
    if _PACKAGE not in sys.modules:
        folder = Path(__file__).parent / "core"
        spec = importlib.util.spec_from_file_location(
            _PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)])
        assert spec is not None and spec.loader is not None
        package = importlib.util.module_from_spec(spec)
        sys.modules[_PACKAGE] = package
        spec.loader.exec_module(package)
    return importlib.import_module(f"{_PACKAGE}.{name}")
