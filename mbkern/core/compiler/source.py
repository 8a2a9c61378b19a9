"""The syntax tree of a function, and what its global names mean."""

import ast
import builtins
from functools import cache

from numba import TypingError

MISSING = object()


def place_of(function, node):
    """Where a node of the syntax tree of a function is; without one, where the function begins."""
    code = function.__code__
    return f"{code.co_filename}:{getattr(node, 'lineno', code.co_firstlineno)}, {function.__qualname__}"


class NotInLanguage(TypingError):
    """A function cannot be compiled here, with the place and the reason. Its contexts say who called it, and Numba adds
    those of code of others."""

    def __init__(self, function, node, reason):
        super().__init__(f"{place_of(function, node)}: {reason}")


@cache
def _functions_in(filename):
    """The definitions in a file, by the line in which they begin (that of the first decorator)."""
    with open(filename, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    definitions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {min([node.lineno, *(d.lineno for d in node.decorator_list)]): node for node in definitions}


def tree_of(function):
    """The definition of a function, of which there may be copies with other global names (`templates.bound`)."""
    code = function.__code__
    try:
        found = _functions_in(code.co_filename).get(code.co_firstlineno)
    except (OSError, SyntaxError) as error:
        raise NotInLanguage(function, None, f"its source cannot be read ({error})") from None
    if found is None or found.name != code.co_name:
        raise NotInLanguage(function, None, "its source has changed since it was imported: start Python anew")
    return found


def meaning_of(function, name):
    """What a name means that is no local variable of the function; `MISSING` where there is no such name."""
    if name in function.__code__.co_freevars:
        return function.__closure__[function.__code__.co_freevars.index(name)].cell_contents
    found = function.__globals__.get(name, MISSING)
    return getattr(builtins, name, MISSING) if found is MISSING else found
