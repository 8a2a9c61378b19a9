"""The compiler of the core: every construct of its language does what Python does, everything else is refused."""

from __future__ import annotations

import itertools
import math
import re

import numba
import numpy as np
import pytest
from llvmlite import ir
from numba import types

from mbkern.core.compiler.source import NotInLanguage
from mbkern.core.compiler.units import Kind, unit_of
from mbkern.core.compiler.values import Number
from mbkern.core.jit import FLAGS, checked, exact, inline
from mbkern.core.numba_private import compiler_lock
from mbkern.core.number import get, put
from mbkern.core.templates import bound

FIRST, SECOND = np.array([1.0, 2.0, 3.0]), np.array([[10.0, 20.0], [30.0, 40.0]])
LATER = np.array([4.0, 5.0])
PAIR, NESTED = (1.5, 2.5), ((1.0, 2.0), 3)
SEVEN, EIGHT, HALF = np.int64(7), np.int64(8), np.float64(0.5)
HOOK = None


# ---- functions of numbers: compiled and as Python, on the same arguments ---------------------------------------------
def branches(n, x):
    if n > 3:
        y = x + 1.0
    elif n > 1:
        y = 2.0
    else:
        y = 0
    return y


def early(n, x):
    for i in range(n):
        if i * x > 4.0:
            return i, x
    return -1, 0


def loops(n, x):
    total = 0
    for i in range(n):
        if i == 2:
            continue
        for j in range(i, 0, -2):
            if j == 3:
                break
            total += x * j
    while total > 10.0:
        total -= 7
    return total


def steps_that_vary(n, x):
    total = 0.0
    for i in range(0, 20, n + 1):
        total += i
    for i in range(20, 0, -n - 1):
        total = x * total + i
    return total


def loop_with_else(n, x):
    for i in range(5):
        if i * x > n:
            break
    else:
        return -1.0
    while n > 0:
        n -= 2
        if n == 1:
            break
    else:
        x = 2.0 * x
    return x + n


def loop_without_end(n, x):
    while True:
        n += 1
        if n > 7:
            return n * x


def counter_after_the_loop(n, x):
    i = 100
    for i in range(n):
        x = x + i
    return x, i


def carried_round_the_loop(n, x):
    before, now = 0.0, x
    for _ in range(n):
        before, now = now, before + now
    return before, now


def one_name_for_two_things(n, x):
    w = (x, x)
    w = w[0] + w[1]
    y = w
    if n > 2:
        z = (n, n)
        y = y + z[0]
    else:
        z = 1.0
        y = y + z
    return y


def tuples(n, x):
    a, (b, c) = x, (n, (1.0, n))
    d = (a, *(b, 2.0)) + (c,)  # noqa: RUF005
    return d, d[-1][1], len(d), d[1]


def choices(n, x):
    a = n if n > 2 else x
    b = (n > 1 and x > 0.0) or n == 0
    c = not b
    d = 0 < n <= 3 != x
    return a, b, c, d, (1, x) if c else (2.0, n)


def numbers(n, x):
    return (n // 3, n % 3, -n // 3, n ** 2, x ** 2, n / 4, abs(-n), abs(x - 3.0), int(x), float(n), -x, +x,
            (n << 2) & 5, n | 8, ~n, n ^ 3, n >> 1, 2**4 - 1, 3 - 5)


def extremes(n, x):
    return min(n, 2), max(x, 1), min(x, 2.0, n), max(math.nan, x), min(x, math.nan)


def constants(n, x):
    return PAIR[1] * x, NESTED[0][1], PAIR[n % 2], NESTED[1]


def of_module(n, x):
    return math.pi * x + math.sqrt(n)


def numbers_of_numpy(n, x):
    y = SEVEN if n > 2 else EIGHT
    return y, SEVEN * n, HALF + x


CASES = (branches, early, loops, steps_that_vary, loop_with_else, loop_without_end, counter_after_the_loop,
         carried_round_the_loop, one_name_for_two_things, tuples, choices, numbers, extremes, constants, of_module,
         numbers_of_numpy)


def flat(value):
    return [x for part in value for x in flat(part)] if isinstance(value, tuple) else [float(value)]


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_numbers_come_out_as_in_python(function):
    compiled = checked(bound(function, f"{function.__name__}_compiled"))
    for n, x in itertools.product((0, 1, 2, 3, 4, 9), (0.5, 1.5, -2.0)):
        assert np.array_equal(flat(compiled(n, x)), flat(function(n, x)), equal_nan=True), (n, x)


# ---- arrays, functions -----------------------------------------------------------------------------------------------
@exact
def from_first(i):
    return FIRST[i]


@exact
def from_second(i, j):
    return SECOND[i, j]


@checked
def tables():
    """Data of two functions are two things, though Numba gives them one name."""
    return from_first(1), from_second(1, 0), from_first(2), from_second(0, 1)


def test_constant_arrays_do_not_get_mixed_up():
    assert tables() == (2.0, 30.0, 3.0, 20.0)


@checked
def on_arrays(a, b):
    n = a.shape[0]
    tail = a[1:n]
    tail[0] += 5.0
    a[-1] = b[1, 0]
    b[0, :] = a[0]
    b[1, 1] *= 2.0
    return tail.size, b.shape[1], len(a)


def test_arrays():
    a, b = np.arange(4.0), np.ones((2, 3))
    b[1, 0] = 9.0
    assert on_arrays(a, b) == (3, 3, 4)
    assert a.tolist() == [0.0, 6.0, 2.0, 9.0] and b.tolist() == [[0.0] * 3, [9.0, 2.0, 1.0]]


@exact
def filled(a):
    a[0] += 100.0
    return 1.0


@checked
def added_in_order(a):
    x = a[0]
    x += filled(a)
    a[0] += filled(a)
    return x, a[0]


def test_what_is_added_to_is_read_first():
    assert added_in_order(np.array([5.0])) == (6.0, 106.0)


@inline
def scaled(x, by=2.0, plus=0):
    return by * x + plus


@exact
def gathered(first, *others):
    return first + others[0] * others[-1], len(others)


@exact
def through(f, x):
    return f(x)


@checked
def calls(x):
    pair = (x, 3.0)
    return scaled(x), scaled(x, plus=1), scaled(x, 3.0, 1.0), gathered(x, *pair), gathered(1.0, x), through(scaled, x)


def test_calls_with_defaults_names_tuples_and_functions():
    assert calls(2.0) == (4.0, 5.0, 7.0, (8.0, 2), (5.0, 1), 4.0)


@checked
def entered_with_defaults(x, by=2.0, pair=(1, 0.5)):
    return by * x + pair[0] + pair[1]


def test_entries_have_defaults():
    @numba.njit
    def users(x):
        return entered_with_defaults(x), entered_with_defaults(x, 3.0), scaled(x), scaled(x, 3.0, 1.0)

    assert users(2.0) == (5.5, 7.5, 4.0, 7.0)
    assert entered_with_defaults(2.0) == 5.5 and entered_with_defaults(2.0, pair=(0.0, 1.0)) == 5.0


@checked
def entered_with_any_number(first, *others):
    return first + others[-1], len(others)


def test_entries_take_any_number_of_arguments():
    assert entered_with_any_number(1.0, 2.0, 3.0) == (4.0, 2) and entered_with_any_number(1.0, 5) == (6.0, 1)


def hooked(x):
    return HOOK(x)


def test_copies_of_a_function_with_other_global_names():
    one, other = (checked(bound(hooked, name, HOOK=hook)) for name, hook in (("a", scaled), ("b", leaves_alone)))
    assert one(3.0) == 6.0 and other(3.0) == 3.0


@exact
def leaves_alone(x):
    return x


@inline
def difference(x):
    return (x + 1e30) - 1e30  # no flag lets LLVM simplify this


@checked
def differences(x):
    return difference(x)


def test_flags_do_not_change_how_numbers_are_rounded():
    assert differences(1.0) == 0.0


# ---- what is refused, with the place ---------------------------------------------------------------------------------
@exact
def calls_itself(n):
    return calls_itself(n - 1) if n > 0 else 0


def raises(x):
    raise ValueError(x)


def has_a_list(x):
    return [x]


def goes_over_a_tuple(x):
    for y in (x, x):
        x = y
    return x


def no_such_name(x):
    return x + missing  # noqa: F821


def read_too_early(x):
    y = y + x  # noqa: F821
    return y


def maybe_nothing(x):
    if x > 0.0:
        return x


def two_types(n, x):
    return (x, x) if n > 0 else x


def no_such_item(x):
    return (x, x)[2]


def no_function(x):
    return x(1)


def not_of_numba(x):
    return math.comb(x, x)


def itself(n):
    return calls_itself(n)


def wrong_name(x):
    return scaled(x, times=3.0)


def named_twice(x):
    return scaled(x, 3.0, by=4.0)


def too_many(x):
    return scaled(x, 3.0, 4.0, 5.0)


def one_of_two_arrays(n):
    return (FIRST if n > 0 else LATER)[0]


def one_of_two_arrays_by_name(n):
    table = FIRST
    if n > 0:
        table = LATER
    return table[0]


def one_of_two_results(n):
    if n > 0:
        return scaled
    return filled


def nothing_or_a_number(x):
    if x > 0.0:
        return None
    return x


def is_nothing(x):
    return x is None


def huge(n):
    return n + 2**64


def not_of_math(x):
    return math.no_such_function(x)


def by_position_only(x, /):
    return x


def by_name_only(x, *, y=1.0):
    return x + y


def pair_of_functions(x):
    return max((scaled, filled), (filled, scaled))


def function_as_condition(x):
    return 1.0 if scaled else 2.0


def tuple_as_condition(x):
    while (x, x):
        x = 2.0
    return (x, x) and 1.0


def attribute_assigned(x):
    x.real += 1.0
    return x


@pytest.mark.parametrize("function, arguments, reason", [
    (raises, (1.0,), "no statement of the core's language: Raise"),
    (has_a_list, (1.0,), "no expression of the core's language: List"),
    (goes_over_a_tuple, (1.0,), "loops go over range"),
    (no_such_name, (1.0,), "there is no missing"),
    (read_too_early, (1.0,), "y is read before it is assigned"),
    (maybe_nothing, (1.0,), "it may end without a result"),
    (two_types, (1, 1.0), "no type for one variable"),
    (no_such_item, (1.0,), "no item 2 of 2"),
    (no_function, (1.0,), "no function"),
    (not_of_numba, (1.0,), "Numba has no"),
    (itself, (1,), "it calls itself"),
    (wrong_name, (1.0,), "scaled has no argument times"),
    (named_twice, (1.0,), "scaled has no argument by, or has it already"),
    (too_many, (1.0,), "scaled takes 3 arguments, not 4"),
    (one_of_two_arrays, (1,), "only numbers may be chosen"),
    (one_of_two_arrays_by_name, (1,), "only numbers may be chosen"),
    (one_of_two_results, (1,), "only numbers may be chosen"),
    (nothing_or_a_number, (1.0,), "only numbers may be chosen"),
    (is_nothing, (1.0,), "no operator of the core's language: Is"),
    (huge, (1,), "has more than 64 bits"),
    (not_of_math, (1.0,), "has no attribute no_such_function"),
    (by_position_only, (1.0,), "parameters are plain names"),
    (by_name_only, (1.0, 2.0), "parameters are plain names"),
    (pair_of_functions, (1.0,), "only numbers may be chosen"),
    (function_as_condition, (1.0,), "neither true nor false"),
    (tuple_as_condition, (1.0,), "neither true nor false"),
    (attribute_assigned, (1.0,), "cannot be assigned to"),
], ids=lambda x: getattr(x, "__name__", None))
def test_what_is_not_of_the_language_is_refused_with_its_place(function, arguments, reason):
    compiled = checked(bound(function, f"{function.__name__}_refused"))
    for _ in range(2):  # it does not matter how often
        with pytest.raises(NotInLanguage, match=reason) as refused:
            compiled(*arguments)
        assert f"{__file__}:" in str(refused.value)


def test_a_file_that_has_changed_since_is_refused(tmp_path, monkeypatch):
    source = tmp_path / "changed_since.py"
    source.write_text("def first(x):\n    return x\n\ndef second(x):\n    return 2.0 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    import changed_since

    source.write_text("def other(x):\n    return 3.0 * x\n")
    for function in (changed_since.first, changed_since.second):  # another one begins there, and none
        with pytest.raises(NotInLanguage, match="has changed since it was imported: start Python anew"):
            checked(function)(1.0)


# ---- how LLVM is told to compile -------------------------------------------------------------------------------------
def rooted(x):
    return math.sqrt(x + 1.0)


@pytest.mark.parametrize("inlined, attribute", [
    ("always", "alwaysinline"), ("may", "alignstack(64)"), ("never", "noinline")])
@pytest.mark.parametrize("flags", [FLAGS, frozenset()], ids=["flags", "exact"])
def test_units_say_how_they_are_inlined_and_rounded(inlined, attribute, flags):
    """Both are a matter of speed, which no result shows."""
    with compiler_lock:
        text = unit_of(rooted, Kind(inlined, flags), [Number(types.float64, ir.Constant(ir.DoubleType(), 0.0))]).text
    attributes = {name for name in ("alwaysinline", "alignstack(64)", "noinline") if f" {name}" in text}
    assert attributes == {attribute} | ({"alignstack(64)"} if inlined == "never" else set())
    for operation in ("fadd", "call"):
        found = re.findall(rf"= {operation} ((?:\w+ )*)double", text)
        assert found and all(set(words.split()) >= flags and bool(words.split()) == bool(flags) for words in found)


@exact
def middle(x):
    return not_of_the_language(x)


@exact
def not_of_the_language(x):
    return {x}


@checked
def outermost(x):
    return middle(x)


def test_a_refusal_says_who_called():
    with pytest.raises(NotInLanguage, match="not_of_the_language: no expression of the core") as refused:
        outermost(1.0)
    callers = [line for line in str(refused.value).splitlines() if line.startswith(f"During: call at {__file__}:")]
    assert [line.rpartition(", ")[2] for line in callers] == ["middle", "outermost"]


@inline
def doubled(x, out):
    put(out, 0, 2.0 * get(x, 0))


@checked
def entered_with_arrays(x, out):
    doubled(x, out)


def read_only(n):
    array = np.ones(n)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("x, out, reason", [
    (np.ones((3, 2))[:, 0], np.ones(3), "with_arrays: x: expected a contiguous array, got array.float64, 1d, A"),
    (np.ones(3, np.float32), np.ones(3), "expected a contiguous array of float64, got array.float32"),
    (np.ones(3, int), np.ones(3), "expected a contiguous array of float64, got array.int64"),
    (2.0, np.ones(3), "expected a contiguous array of float64, got float64"),
    (np.ones(3), read_only(3), "expected an array to write to, got readonly"),
    (np.ones((3, 2)), np.ones(3), "where float64 is wanted"),
])
def test_arrays_that_would_be_read_wrongly_are_refused_where_users_call(x, out, reason):
    """Numbers of memory are read one after the other: strides would give numbers of other places."""
    @numba.njit
    def users(x, out):
        entered_with_arrays(x, out)

    with pytest.raises(numba.TypingError, match=reason) as refused:
        users(x, out)
    assert "entered_with_arrays(x, out)" in str(refused.value)
    users(np.ones(3), np.ones(3))
