"""Functions that are written once and compiled several times, each time with other values of their global names."""

from types import FunctionType


def bound(template, name, **values):
    """A copy of a function for which its global names have other values, compiled and cached under a name of its own.

    Unlike a function inside another one it has no closure, which Numba could not find in its cache again.
    """
    made = FunctionType(template.__code__, {**template.__globals__, **values}, name)
    made.__qualname__, made.__module__, made.__doc__ = name, template.__module__, template.__doc__
    return made
