"""Values while compiling.

`Number`    anything with a value of LLVM: a float64, an integer, a SIMD number, an array; `known` is what Python would
            call it where that is already certain
`Tuple`     several values; it has no form of its own in LLVM, so what is put together and taken apart costs nothing
`Static`    a Python object: a function, a type, a module, None

Outside of one function body a value is its *leaves*, the numbers in it.
"""

from dataclasses import dataclass
from typing import Any

from numba import types

UNKNOWN: Any = object()


@dataclass(eq=False)
class Number:
    type: types.Type
    llvm: Any
    known: Any = UNKNOWN


@dataclass(eq=False)
class Tuple:
    parts: tuple


@dataclass(eq=False)
class Static:
    object: Any
    type: types.Type | None = None


def key_of(value):
    """What a function is compiled anew for: types of numbers, identities of Python's objects."""
    if isinstance(value, Tuple):
        return tuple(map(key_of, value.parts))
    return id(value.object) if isinstance(value, Static) else value.type  # whoever keeps the key keeps the value


def leaves(value):
    """The numbers in a value, from left to right."""
    if isinstance(value, Tuple):
        return [leaf for part in value.parts for leaf in leaves(part)]
    return [] if isinstance(value, Static) else [value.llvm]


def like(value, numbers):
    """A value of the same form with other numbers, taken from an iterator."""
    if isinstance(value, Tuple):
        return Tuple(tuple(like(part, numbers) for part in value.parts))
    return value if isinstance(value, Static) else Number(value.type, next(numbers))


def unpacked(builder, form, result):
    """What a call of one of our functions gives (:meth:`.body.Body.give_back`) as a value of this form."""
    count = len(leaves(form))
    return like(form, iter([result] if count == 1 else [builder.extract_value(result, k) for k in range(count)]))
