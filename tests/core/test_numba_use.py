"""What mbkern uses of Numba: its public interface, and private parts in one file that has a public twin."""

from __future__ import annotations

import ast
from pathlib import Path

import numba
import numpy as np
import pytest
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

import mbkern
from mbkern.core import numba_private, numba_public

PACKAGE = Path(mbkern.__file__).parent
PRIVATE = PACKAGE / "core" / "numba_internals.py"

# What Numba's manual describes: the decorators and types, and under "Extending Numba" the low-level interface, whose
# examples build their code with cgutils and llvmlite.ir; and its "Event API". llvmlite's own manual describes its
# binding to LLVM.
PUBLIC = {
    "numba": {"types", "njit", "cfunc", "carray", "config", "NumbaError", "TypingError"},
    "numba.extending": {"intrinsic", "is_jitted", "lower_builtin", "lower_cast", "models", "overload",
                        "overload_attribute", "register_model", "type_callable"},
    "numba.core": {"cgutils", "event"},
    "llvmlite": {"binding", "ir"},
}


def uses(tree):
    """(module, name) of everything of Numba that a file imports; no name for a whole module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from ((node.module, alias.name) for alias in node.names)


def sources():
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}


def test_private_parts_are_in_one_file():
    found = [f"{path.name}: {module} {name}" for path, tree in sources().items() if path != PRIVATE
             for module, name in uses(tree) if module.split(".")[0] in ("numba", "llvmlite")
             and (module, name) != ("numba", None) and name not in PUBLIC.get(module, ())]
    assert not found


def test_both_ways_have_the_same_names():
    def names(module):
        tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
        imported = {name for _, name in uses(tree)}
        return {name for name in vars(module) if not name.startswith("_") and name not in imported}

    def of_parts(node):
        return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "parts"

    used = {node.attr for tree in sources().values() for node in ast.walk(tree) if of_parts(node)
            and any(isinstance(other, ast.ImportFrom) and any(alias.name == "parts" for alias in other.names)
                    for other in ast.walk(tree))}
    assert "compiler_lock" in used and used - set(dir(list)) <= names(numba_private) & names(numba_public)


def test_the_private_file_says_what_each_part_gives():
    for name in ("compiler_lock", "Called", "_nrt", "cache_on_disk", "inner", "c_callback", "array_over", "attempt",
                 "PROMOTES"):
        assert f"`{name}`" in numba_private.__doc__


def test_both_have_the_same_answer_of_a_type_that_may_be_promoted():
    assert numba_private.PROMOTES == numba_public.PROMOTES


# ---- the twins do the same -------------------------------------------------------------------------------------------

TWINS = pytest.mark.parametrize("parts", [numba_private, numba_public], ids=["private", "public"])


@numba.njit
def root(x, n=2):
    if x < 0.0:
        raise ValueError("no root")
    return x ** (1.0 / n)


@numba.njit
def fill(x, out):
    out[0] = 1.0
    if x < 0.0:
        raise ValueError("no more")
    out[1] = 1.0


@TWINS
def test_what_a_users_function_raises_is_caught(parts, capfd):
    attempt, succeeds = parts.attempt, parts.succeeds

    @numba.cfunc(types.float64(types.float64))
    def root_or_nan(x):
        good, value = attempt(root, (x,), np.nan)
        return value if good else np.nan

    @numba.cfunc(types.int64(types.float64, types.CPointer(types.float64)))
    def filled(x, out):
        return 1 if succeeds(fill, (x, carray(out, 2))) else 0

    assert root_or_nan.ctypes(9.0) == 3.0 and np.isnan(root_or_nan.ctypes(-1.0)) and root_or_nan.ctypes(4.0) == 2.0
    out = np.zeros(2)
    assert filled.ctypes(1.0, out.ctypes.data_as(filled.ctypes.argtypes[1])) == 1 and out.tolist() == [1.0, 1.0]
    out[:] = 0.0
    assert filled.ctypes(-1.0, out.ctypes.data_as(filled.ctypes.argtypes[1])) == 0 and out.tolist() == [1.0, 0.0]
    assert capfd.readouterr().err == ""  # nothing is printed


@TWINS
def test_arrays_over_memory(parts):
    def array_at(array_type, scalar):
        @intrinsic
        def made(typingctx, address, shape):
            def codegen(context, builder, sig, args):
                sizes = [builder.extract_value(args[1], k) for k in range(array_type.ndim)]
                return parts.array_over(context, builder, array_type,
                                        builder.inttoptr(args[0], scalar.as_pointer()), sizes)
            return array_type(types.intp, shape), codegen
        return made

    numbers = array_at(types.Array(types.float64, 1, "C"), ir.DoubleType())
    rows = array_at(types.Array(types.float64, 2, "C"), ir.DoubleType())
    words = array_at(types.Array(types.int64, 1, "C"), ir.IntType(64))

    @numba.njit
    def use(at, at_words):
        a, b, c = numbers(at, (6,)), rows(at, (2, 3)), words(at_words, (2,))
        a[5] += 100.0
        c[1] = -7
        return a.sum(), b[1, 2], b[0, 1], b.shape, a.size, a.itemsize, b.strides, c[0]

    memory, integers = np.arange(6.0), np.array([3, 4])
    assert use(memory.ctypes.data, integers.ctypes.data) == (115.0, 105.0, 1.0, (2, 3), 6, 8, (24, 8), 3)
    assert memory[5] == 105.0 and integers[1] == -7
