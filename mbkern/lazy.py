"""What waits for its first use: modules, and values that are computed once.

An import statement inside a function is a trap for threads. Python locks a module while it is loaded, and takes the
lock of ``a.b`` before it looks whether ``a`` is there. So a thread that loads ``a``, which imports ``a.b``, and one
that begins with ``a.b`` wait for each other; and in a process that is forked meanwhile, nobody ever opens the lock.
Here all late imports hold one lock (a fork waits for it, see :mod:`mbkern.locks`) and load packages before what is in
them; a package whose modules import parts of another one imports that one first.

What runs when a module is loaded must not call `module`: it may be loaded by an import statement of a user, which does
not hold the lock.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Generic, TypeVar

from .locks import LOADING

T = TypeVar("T")

_loaded: dict[str, Any] = {}


def module(name: str) -> Any:
    """The module of this package, loaded now if it is not yet.

    Parameters
    ----------
    name : str
        Within mbkern, e.g. "core.mass".

    Examples
    --------
    >>> from mbkern import lazy
    >>> lazy.module("core.mass").__name__
    'mbkern.core.mass'
    """
    try:
        return _loaded[name]
    except KeyError:
        pass
    with LOADING:
        path = __package__
        for part in name.split("."):
            path = f"{path}.{part}"
            found = import_module(path)
        _loaded[name] = found
    return found


class cached_property(Generic[T]):
    """`functools.cached_property` without its lock, which Python has until 3.11: one for all objects of a class, held
    while the value is computed, and so for ever in a process that is forked meanwhile. Two threads may compute the same
    value; all get the first one.

    Examples
    --------
    >>> from mbkern.lazy import cached_property
    >>> class Tree:
    ...     @cached_property
    ...     def height(self):
    ...         print("measured")
    ...         return 3.0
    >>> tree = Tree()
    >>> tree.height, tree.height
    measured
    (3.0, 3.0)
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        if instance is None:
            return self  # type: ignore[return-value]  # as every property
        value: T = instance.__dict__.setdefault(self._name, self._compute(instance))
        return value
