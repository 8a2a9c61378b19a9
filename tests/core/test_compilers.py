"""The pipelines that compile the core."""

from __future__ import annotations

import re

import numba
import numpy as np
import pytest

from mbkern.core.jit import exact, inline, noinline
from mbkern.core.numba_private import CACHE_LINE, Called, Inlined

leaf = numba.njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, pipeline_class=Inlined)(
    lambda x: 3.0 * x + 1.0)


@numba.njit(pipeline_class=Called)
def caller(x):
    return leaf(leaf(x))


def test_called_functions_align_the_stack():
    """Otherwise half of the SIMD numbers on the stack lie across two cache lines, in some processes."""
    assert caller(1.0) == 13.0
    text = next(iter(caller.inspect_llvm().values()))
    [attributes] = re.findall(r"^define [^\n]*caller[^\n]*%arg\.x[^\n]*#(\d+) \{$", text, re.MULTILINE)
    assert f"alignstack={CACHE_LINE}" in re.findall(rf"^attributes #{attributes} = \{{(.*)\}}$", text, re.MULTILINE)[0]


def test_inlined_functions_become_part_of_the_caller_and_are_no_machine_code():
    caller(1.0)
    [compiled] = leaf.overloads.values()
    name = compiled.fndesc.llvm_func_name
    assert not compiled.library.codegen._engine.is_symbol_defined(name)
    assert name not in next(iter(caller.inspect_asm().values()))


def test_other_compiled_code_may_call_inlined_functions():
    @numba.njit
    def users(x):
        return leaf(x)

    assert users(2.0) == 7.0


def test_what_inlined_functions_raise_is_handed_on():
    """Calls of functions that raise nothing have no code for it; those that raise, or call somebody who may, have."""
    @exact
    def raises(x):
        if x < 0.0:
            raise ValueError("negative")
        return x

    @numba.njit
    def of_a_user(x):
        if x < 0.0:
            raise ValueError("negative")
        return x

    @exact
    def hands_on(x):
        return of_a_user(x)

    @exact
    def second(x):
        return hands_on(x) + 1.0

    def calls(f):
        return numba.njit(pipeline_class=Called)(lambda x: f(x))

    for inner, value in ((raises, 1.0), (hands_on, 1.0), (second, 2.0)):
        outer = calls(inner)
        assert outer(1.0) == value
        with pytest.raises(ValueError, match="negative"):
            outer(-1.0)


def test_types_of_calls_are_numbas_own_again_after_compiling():
    from numba.core.types.functions import BaseFunction

    from mbkern.core import numba_private

    caller(1.0)
    assert BaseFunction.get_call_type is numba_private._usual_call_type and not numba_private._call_types


@pytest.mark.parametrize("decorator", [exact, noinline])
def test_control_flow_arrays_and_tuples_work(decorator):
    """What is left out of the pipelines is not needed for what the core uses."""
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
