"""Types of public arguments, and options that go by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from .integrate.events import Event

P = ParamSpec("P")
R = TypeVar("R")

#: Joint forces or wrenches: numbers, or an njit function that writes them
Load: TypeAlias = "ArrayLike | Callable[..., object]"
#: What `simulate` watches: njit functions g(t, q, p), or events made of them
Events: TypeAlias = "Event | Callable[..., float] | Sequence[Event | Callable[..., float]]"


def options_by_name(positions: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let the first keyword-only arguments of a function come by position as well, as they once did.

    Parameters
    ----------
    positions : int
        How many of them may.

    Examples
    --------
    >>> from mbkern.signatures import options_by_name
    >>> @options_by_name(1)
    ... def f(x, *, step=1.0, tau=0.0):
    ...     return x, step, tau
    >>> f(1.0, step=2.0), f(1.0, 2.0)
    ((1.0, 2.0, 0.0), (1.0, 2.0, 0.0))
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(function).parameters.values()
        named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY][:positions]
        first = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if not first < len(args) <= first + len(named):
                return function(*args, **kwargs)
            given: dict[str, Any] = dict(zip(named, args[first:], strict=False))
            twice = [name for name in given if name in kwargs]
            if twice:
                raise TypeError(f"{function.__name__}() got multiple values for argument {twice[0]!r}")
            return function(*args[:first], **given, **kwargs)  # type: ignore[arg-type]

        return call

    return decorate
