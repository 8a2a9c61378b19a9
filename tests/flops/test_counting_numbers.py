"""What counts and what does not."""

import math

import pytest

from mbkern import plain
from mbkern.flops.numbers import OPERATIONS, Ledger, Memory


@pytest.fixture
def ledger():
    return Ledger()


def done(ledger):
    return dict(zip(OPERATIONS, ledger.page.done, strict=True))


def test_operations_and_values(ledger):
    x, y = ledger.number(3.0), ledger.number(4.0)
    results = [x + y, x - y, x * y, x / y, 2.0 * x, x * 2.0, 1.0 / x, 5.0 - x, x + 1.0, 3.0 + x, (x * x).root(), -x,
               abs(-x)]
    assert [r.value for r in results] == [7, -1, 12, 0.75, 6, 6, 1 / 3, 2, 4, 6, 3, -3, 3]
    assert done(ledger) == {"add": 5, "multiply": 4, "divide": 2, "root": 1, "sincos": 0}


def test_literals_fold(ledger):
    x = ledger.number(3.0)
    assert x + 0.0 is x and 0.0 + x is x and x - 0.0 is x and x * 1.0 is x and 1.0 * x is x and x / 1.0 is x
    assert x * 0.0 == 0.0 and type(x * 0.0) is float and type(0.0 / x) is float
    assert (0.0 - x).value == -3.0 and (x * -1.0).value == -3.0 and (x / -1.0).value == -3.0
    assert sum(ledger.page.done) == 0


def test_numbers_that_happen_to_be_zero_count(ledger):
    x, zero, one = ledger.number(3.0), ledger.number(0.0), ledger.number(1.0)
    _ = x + zero, x * zero, x * one, zero * zero
    assert sum(ledger.page.done) == 4


def test_a_choice_at_run_time_is_no_literal(ledger):
    one_if = plain.load("number").one_if
    x = ledger.number(3.0)
    assert (x * one_if(True)).value == 3.0 and (one_if(False) * x).value == 0.0 and (x + one_if(False)).value == 3.0
    assert sum(ledger.page.done) == 3


def test_sincos_is_one_operation_apart(ledger):
    memory = Memory([0.0, 0.0], ledger)
    memory[0], memory[1] = plain.load("number").sincos(ledger.number(0.3))
    assert memory.values().tolist() == [math.sin(0.3), math.cos(0.3)]
    assert ledger.page.used == [0, 0, 0, 0, 1]


def test_only_what_reaches_memory_or_a_decision_is_used(ledger):
    memory = Memory([1.0, 2.0], ledger)
    x, y = memory[0], memory[1]
    _ = x * y + x  # dead code
    memory[0] = -(x + y)
    memory[1] = memory[0]  # already counted
    assert ledger.page.used == [1, 0, 0, 0, 0]
    assert plain.load("number").smaller(x * y, y * y).value == 2.0
    assert ledger.page.used == [1, 2, 0, 0, 0]
    assert int(x + y) == 3
    assert ledger.page.used == [2, 2, 0, 0, 0]
    assert ledger.page.done == [3, 3, 0, 0, 0]


def test_memory_forgets_literals(ledger):
    memory = Memory([5.0], ledger)
    memory[0] = 0.0
    memory[0] = memory[0] + memory[0]
    assert ledger.page.used == [1, 0, 0, 0, 0] and len(memory) == 1 and memory.shape == (1,)


def test_headings_nest(ledger):
    x = ledger.number(2.0)
    with ledger.under("outer"):
        _ = x + x
        with ledger.under("inner"):
            _ = x * x
        _ = x - x
    assert ledger.pages["outer",].done[0] == 2 and ledger.pages["inner",].done[1] == 1
    assert sum(ledger.page.done) == 0


def test_vectors_cost_what_everybody_says(ledger):
    vec3, spatial = plain.load("vec3"), plain.load("spatial")

    def cost(function, *args):
        before = sum(ledger.page.done)
        function(*args)
        return sum(ledger.page.done) - before

    a, b = (tuple(ledger.numbers([1.0, 2.0, 3.0])) for _ in range(2))
    G = tuple(tuple(row) for row in ledger.numbers([[1, 0, 0], [0, 1, 0], [0, 0, 1]]))
    assert cost(vec3.dot, a, b) == 5 and cost(vec3.cross, a, b) == 9 and cost(vec3.mul, G, a) == 15
    assert cost(spatial.motion_to_child, (G, a), (a, b)) == cost(spatial.force_to_parent, (G, a), (a, b)) == 42
    assert cost(spatial.rigid_times, a[0], a, (*a, *b), (a, b)) == 42
