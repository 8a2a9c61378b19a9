"""Columns side by side: one state computes several at once, lanes one after the other, and the bits are the same."""

import numpy as np
import pytest
from cases import random_model, random_state
from machines import MACHINES, T
from numba import njit

from mbkern import plain
from mbkern.core.drives import evaluate_drives
from mbkern.core.inverse_mass import inverse_mass_matrix, solve_mass
from mbkern.core.number import LANES

RIGHT_SIDES = 11  # two columns of LANES, and a part of a third


@njit
def inverse(block, q, W, work):
    inverse_mass_matrix(block, q, W, work)


@njit
def solutions(block, q, x, y, work):
    solve_mass(block, q, x, y, work)


@pytest.fixture(scope="module", params=MACHINES, ids=[name.replace(" ", "-") for name in MACHINES])
def model(request):
    return random_model(**MACHINES[request.param])


def memory(block):
    """Numbers of a workspace: NaN but for the drives, and not one more than it needs."""
    layout = plain.load("layout")
    work = np.full(layout.scratch_at(block) + layout.scratch_size(block), np.nan)
    evaluate_drives(block, T, work)
    return work


def side_by_side(*arrays):
    return np.ascontiguousarray(np.stack(arrays, axis=-1))


@pytest.mark.slow
def test_one_state_and_lanes_have_the_same_bits(model):
    block = model.block
    configurations = [random_state(model, seed, T)[0] for seed in range(LANES)]
    rights = [np.random.default_rng(seed).normal(size=RIGHT_SIDES * model.nv) for seed in range(LANES)]
    found = []
    for q, x in zip(configurations, rights, strict=True):
        W, y = np.full(model.nv**2, np.nan), np.full(x.size, np.nan)
        inverse(block, q, W, memory(block))
        solutions(block, q, x, y, memory(block))
        found.append((W, y))
        square = W.reshape(model.nv, model.nv)
        np.testing.assert_array_equal(square, square.T)
        # two ways to the same numbers: rounding times the condition of the mass matrix
        np.testing.assert_allclose(y.reshape(-1, model.nv), x.reshape(-1, model.nv) @ square, atol=1e-10 * abs(y).max())
    q, x = side_by_side(*configurations), side_by_side(*rights)
    W, y = np.full((model.nv**2, LANES), np.nan), np.full((x.shape[0], LANES), np.nan)
    inverse(block, q, W, side_by_side(*[memory(block)] * LANES))
    solutions(block, q, x, y, side_by_side(*[memory(block)] * LANES))
    for lane, (one, solved) in enumerate(found):
        np.testing.assert_array_equal(W[:, lane], one)
        np.testing.assert_array_equal(y[:, lane], solved)
