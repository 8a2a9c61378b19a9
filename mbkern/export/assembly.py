"""LLVM code of a library: pieces of Numba's compiler and our own, put together to one object file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from llvmlite import binding

from ..errors import ExportError
from .targets import Target, target_named

# what the code of the kernels may call in the C library
C_LIBRARY = frozenset({
    "acos", "asin", "atan", "atan2", "cbrt", "ceil", "copysign", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1",
    "fabs", "floor", "fma", "fmax", "fmin", "fmod", "hypot", "ldexp", "lgamma", "log", "log10", "log1p", "log2",
    "memcpy", "memmove", "memset", "modf", "pow", "rint", "round", "sin", "sincos", "sinh", "sqrt", "tan", "tanh",
    "tgamma", "trunc",
})
# The counter of references to arrays is called where an array that was allocated is no longer needed. The kernels
# allocate none: their arrays are views of memory of the caller, and this is never reached.
STUB = "NRT_MemInfo_call_dtor"
_NAME = re.compile(r'@("[^"]+"|[-\w.$]+)')


def reachable(text: str, roots: Collection[str]) -> str:
    """LLVM code without the functions and data that nothing leads to from the functions `roots`.

    Numba compiles functions for callers in Python as well, which call Python. The text is as LLVM prints it: a function
    from a line "define" to a line "}", all else in lines of their own.

    Examples
    --------
    >>> from mbkern.export.assembly import reachable
    >>> print(reachable("define void @f() {\\n  call void @g()\\n}\\ndeclare void @g()\\ndeclare void @h()\\n", ["f"]))
    define void @f() {
      call void @g()
    }
    declare void @g()
    """
    parts: list[tuple[str, str]] = []  # name ("" for what stays), text
    lines = iter(text.splitlines())
    for line in lines:
        piece = [line]
        if line.startswith("define"):
            for more in lines:
                piece.append(more)
                if more == "}":
                    break
        named = line.startswith(("define", "declare", "@")) and _NAME.search(line)
        parts.append((named.group(1).strip('"') if named else "", "\n".join(piece)))
    by_name = dict(parts)
    found, left = set(), list(roots)
    while left:
        name = left.pop()
        if name not in found and name in by_name:
            found.add(name)
            left += [other.strip('"') for other in _NAME.findall(by_name[name])]
    return "\n".join(piece for name, piece in parts if not name or name in found)


def calls_python(text: str, symbol: str) -> bool:
    """Whether a function leads to one of Python or of Numba's own library."""
    return any(name.strip('"').startswith(("Py", "numba_")) for line in reachable(text, [symbol]).splitlines()
               if line.startswith("declare") for name in _NAME.findall(line))


def simplified(text: str, symbol: str) -> str:
    """LLVM code of a user's function, all that it calls inlined: paths that raise vanish where nothing can raise."""
    target = target_named("native")
    machine = target.machine()
    module = binding.parse_assembly(reachable(text, [symbol]))
    for function in module.functions:
        if not function.is_declaration and function.name != symbol:
            function.linkage = "internal"
    options = binding.create_pipeline_tuning_options(speed_level=2)
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return reachable(str(module), [symbol])


def assembled(pieces: Iterable[str], exported: Collection[str], target: Target, what: str) -> bytes:
    """An object file of several pieces of LLVM code, of which only the functions `exported` are seen from outside.

    Raises an ExportError that names what the code would call and no library of C has; `what` says whose code it is.
    """
    machine = target.machine()
    whole: Any = None
    for text in pieces:
        module = binding.parse_assembly(text)
        module.triple, module.data_layout = target.triple, str(machine.target_data)
        if whole is None:
            whole = module
        else:
            whole.link_in(module)
    whole = binding.parse_assembly(reachable(str(whole), exported))
    whole.verify()
    missing = missing_symbols(whole)
    if missing:
        raise ExportError(f"{what}: its code calls {', '.join(missing)}, which belong to Python or Numba and do not "
                          "exist outside; it may compute with numbers, but not allocate, print or raise")
    for function in whole.functions:
        if not function.is_declaration and function.name not in exported:
            function.linkage = "internal"
    for variable in whole.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    code: bytes = machine.emit_object(whole)
    return code


def missing_symbols(module: Any) -> list[str]:
    """Names that the code of a module needs and nobody has."""
    return sorted(function.name for function in module.functions
                  if function.is_declaration and not function.name.startswith("llvm.")
                  and function.name not in C_LIBRARY)
