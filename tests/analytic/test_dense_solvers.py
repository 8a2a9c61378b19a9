"""The small dense solvers against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from mbkern.core.dense import solve_pivoted, solve_positive


@njit
def pivoted(A, n, B, columns, scales):
    return solve_pivoted(A, n, B, columns, scales)


@njit
def positive(A, n, b):
    return solve_positive(A, n, b)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_pivoted_elimination(n):
    """Backward stable: the error is a small multiple of cond * eps; rows in wild units change nothing."""
    rng = np.random.default_rng(n)
    A, B = rng.normal(size=(n, n)), rng.normal(size=(n, 3))
    A[0, 0] = 0.0 if n > 1 else A[0, 0]  # needs an exchange of rows
    units = 10.0 ** rng.integers(-6, 7, n)
    X = (B * units[:, None]).ravel()
    assert pivoted((A * units[:, None]).ravel(), n, X, 3, np.empty(n))
    expected = np.linalg.solve(A, B)
    assert np.abs(X.reshape(n, 3) - expected).max() <= 1e-14 * np.linalg.cond(A) * np.abs(expected).max()


def eliminated(A):
    """Scaled partial pivoting, written plainly: the smallest pivot in units of its row, the sign of the determinant."""
    A, n = A.copy(), len(A)
    units, sign, smallest = np.abs(A).max(axis=1), 1.0, 1.0
    for k in range(n):
        i = k + int(np.argmax(np.abs(A[k:, k]) / units[k:]))
        smallest = min(smallest, abs(A[i, k]) / units[i])
        A[[k, i]], units[[k, i]] = A[[i, k]], units[[i, k]]
        sign *= np.sign(A[k, k]) * (1.0 if i == k else -1.0)
        A[k + 1:] -= np.outer(A[k + 1:, k] / A[k, k], A[k])
    return smallest, sign


@pytest.mark.parametrize("seed", range(10))
def test_units_travel_with_their_rows(seed):
    """After an exchange of rows the pivots are still judged in units of their own rows."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 6)) * 10.0 ** rng.integers(-6, 7, 6)[:, None]
    scales, flat = np.empty(6), A.ravel().copy()
    sign = pivoted(flat, 6, np.ones(6), 1, scales)
    expected, sign_expected = eliminated(A)
    assert sign == sign_expected == np.sign(np.linalg.det(A))
    assert abs(scales[0] - expected) < 1e-12 * expected


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_positive_definite(n):
    rng = np.random.default_rng(n)
    L = rng.normal(size=(n, n))
    A, b = L @ L.T + 0.1 * np.eye(n), rng.normal(size=n)
    x = b.copy()
    assert positive(A.ravel().copy(), n, x)
    assert np.abs(A @ x - b).max() <= 1e-13 * np.abs(A).max() * np.abs(x).max()


def test_singular_matrices_are_refused():
    A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [5.0, 7.0, 9.0]])  # third row = sum of the others
    assert not pivoted(A.ravel(), 3, np.ones(3), 1, np.empty(3))
    assert not pivoted(np.zeros(4), 2, np.ones(2), 1, np.empty(2))
    v = np.array([1.0, 2.0, 3.0])
    assert not positive(np.outer(v, v).ravel(), 3, np.ones(3))
    assert not positive(np.array([1.0, 2.0, 2.0, 1.0]), 2, np.ones(2))  # indefinite
