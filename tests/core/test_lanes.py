"""What right-hand sides on lanes are given, as ordinary Python: places and sizes of their arguments."""

from types import FunctionType

import numpy as np

import mbkern as mb
from mbkern import plain
from mbkern.core import checks, lanes, operations
from mbkern.core.constants import NQ, NV
from mbkern.core.number import LANES

BYTES = 8 * LANES  # of a number on lanes


def ordinary(compiled, **names):
    """A function of the core as ordinary Python, where :mod:`mbkern.plain` cannot load its file."""
    function = compiled.py_func
    return FunctionType(function.__code__, function.__globals__ | {"whole": plain.load("number").whole} | names)


def test_places_and_sizes_of_arguments():
    block = mb.zoo.random_tree(6, seed=2).block
    nq, nv = int(block[NQ]), int(block[NV])
    assert nq != nv
    words = np.full(10, -1)
    ordinary(lanes.put_arguments)(words, block, 1000, 0, 900_000)
    q, p, qdot, pdot = 1000, 1000 + BYTES * nq, 900_000, 900_000 + BYTES * nq
    assert words.tolist() == [q, nq, p, nv, 0, 0, qdot, nq, pdot, nv]
    ordinary(lanes.put_arguments)(words, block, 1000, 5000, 900_000)
    assert words.tolist() == [q, nq, p, nv, 5000, nv, qdot, nq, pdot, nv]


def test_constants_of_a_machine_go_to_its_lane():
    own, values = np.zeros((9, 4)), np.arange(6.0).reshape(3, 2) + 1.0
    ordinary(lanes.put_constants)(np.array([7, 2]), values, 1, own, 3)
    expected = np.zeros((9, 4))
    expected[7, 3], expected[2, 3] = 3.0, 4.0
    np.testing.assert_array_equal(own, expected)


def test_codes_name_the_argument_that_is_wrong():
    """Which input a state is refused for: q, p, tau in this order."""
    check_of = ordinary(operations.check_of)
    assert [check_of(lanes.INPUT_CHECKS, k) for k in range(lanes.RHS_INPUTS + 1)] == [
        checks.BAD_Q, checks.BAD_P, checks.BAD_TAU, 0]
