"""Functions of the core as parts of Numba's world: aligned, inlined, callable from compiled code of others."""

from __future__ import annotations

import re

import numba
import numpy as np
import pytest

from mbkern.core.compiler.units import CACHE_LINE
from mbkern.core.jit import checked, exact, inline, noinline


@exact
def leaf(x):
    return 3.0 * x + 1.0


@checked
def caller(x):
    return leaf(leaf(x))


def test_called_functions_align_the_stack():
    """Otherwise half of the SIMD numbers on the stack lie across two cache lines, in some processes."""
    assert caller(1.0) == 13.0
    fresh = checked(caller.py_func)
    fresh._cache.disable()  # compiled code from the disk has no text
    assert fresh(1.0) == 13.0
    text = next(iter(fresh.inspect_llvm().values()))
    [attributes] = re.findall(r"^define [^\n]*caller[^\n]*%arg\.x[^\n]*#(\d+) \{$", text, re.MULTILINE)
    assert f"alignstack={CACHE_LINE}" in re.findall(rf"^attributes #{attributes} = \{{(.*)\}}$", text, re.MULTILINE)[0]
    assert "mbkern.test_compilers.leaf" not in text  # inlined, and nothing is left of it


def test_other_compiled_code_may_call_inlined_functions():
    @numba.njit
    def users(x):
        return leaf(x)

    assert users(2.0) == 7.0
    [compiled] = leaf.overloads.values()
    assert not compiled.library.codegen._engine.is_symbol_defined(compiled.fndesc.llvm_func_name)


@pytest.mark.parametrize("decorator", [exact, noinline])
def test_control_flow_arrays_and_tuples_work_where_others_call(decorator):
    @decorator
    def inner(a, n):
        total, last = 0.0, (0.0, 1.0)
        for i in range(n):
            if a[i] > 0.0 and i != 2:
                total += a[i]
            last = (total, last[0])
        while total > 100.0:
            total -= 100.0
        return total, last

    @numba.njit
    def outer(a):
        return inner(a, a.shape[0])

    assert outer(np.array([1.0, -2.0, 3.0, 250.0])) == (51.0, (251.0, 1.0))


@pytest.mark.parametrize("decorator", [inline, exact, noinline])
def test_parts_of_kernels_refuse_to_be_called_from_python(decorator):
    """They have no code that Python could call; it would crash."""
    with pytest.raises(TypeError, match="is a part of kernels and cannot be called from Python"):
        decorator(lambda x: x)(1.0)
