"""Columns side by side: one state computes several at once, lanes one after the other, and the bits are the same."""

import numpy as np
import pytest
from cases import random_model, random_state
from machines import MACHINES, T

import mbkern as mb
from mbkern.core.number import LANES

RIGHT_SIDES = 11  # two columns of LANES, and a part of a third


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES, ids=[name.replace(" ", "-") for name in MACHINES])
def test_one_state_and_lanes_have_the_same_bits(name):
    """By the compiled forms that everybody has; workspaces full of NaN are those of test_operation_kernels.py."""
    model = random_model(**MACHINES[name])
    system, nv = mb.System(model), model.nv
    Q = np.array([random_state(model, seed, T)[0] for seed in range(LANES)])
    in_lanes = system.inverse_mass_matrix_batch(Q, T)
    for seed, q in enumerate(Q):
        W, X = system.inverse_mass_matrix(q, T), np.random.default_rng(seed).normal(size=(nv, RIGHT_SIDES))
        np.testing.assert_array_equal(W, W.T)
        np.testing.assert_array_equal(in_lanes[seed], W)
        Y = system.solve_mass(q, X, T)
        # two ways to the same numbers: rounding times the condition of the mass matrix
        np.testing.assert_allclose(Y, W @ X, atol=1e-10 * abs(Y).max())
        np.testing.assert_array_equal(system.solve_mass_batch(np.tile(q, (RIGHT_SIDES, 1)), X.T, T), Y.T)
