"""How an inertia goes to the parent element by element, against the functions of `spatial` and `turns` one by one.

Both are the same formulas in another order: they differ by rounding, a few units of the last place of the largest
number.
"""

import numpy as np
import pytest

from mbkern import plain

L, S, T, carry = (plain.load(name) for name in ("layout", "spatial", "turns", "carry"))
ROUNDING = 1e-13


def flat(M):
    P, Q, R = M
    return np.array([*P, *Q[0], *Q[1], *Q[2], *R])


@pytest.fixture(params=range(5))
def hinge(request):
    """A block and a workspace of two nodes with random numbers; a random positive definite inertia of the second."""
    rng = np.random.default_rng(request.param)
    block, work = rng.normal(size=L.node_row(2)), rng.normal(size=L.work_row(3))
    c, w = L.node_row(1), L.work_row(1)
    for place in (L.TILT, L.SPIN):
        angle = rng.normal()
        block[c + place:c + place + 2] = np.cos(angle), np.sin(angle)
    angle = rng.normal()
    work[w + L.W_TURN:w + L.W_TURN + 2] = np.cos(angle), np.sin(angle)
    A = rng.normal(size=(6, 6))
    A = A @ A.T
    P, R = (tuple(B[i, j] for i in range(3) for j in range(i, 3)) for B in (A[:3, :3], A[3:, 3:]))
    return block, work, c, w, (P, tuple(map(tuple, A[:3, 3:])), R)


def turned(work, w, M):
    """Eliminated, and in the axes before the turn."""
    left = S.eliminate_az(M, S.column_az(M), 1.0 / M[2][5])
    return T.turn_inertia_z(work[w + L.W_TURN], work[w + L.W_TURN + 1], left)


def test_chained(hinge):
    block, work, c, w, M = hinge
    x, z = block[c + L.ALONG_X], block[c + L.ALONG_Z]
    expected = S.shift_inertia((0.0, 0.0, z), turned(work, w, M))
    expected = S.shift_inertia((x, 0.0, 0.0), T.turn_inertia_x(block[c + L.TILT], block[c + L.TILT + 1], expected))
    k = L.node_row(0)
    own = block[k + L.MASS], L.get3(block, k + L.MOMENT), L.get6(block, k + L.INERTIA)
    expected = flat(S.plus_rigid(expected, *own))
    carry.chain_inertia(block, c, w, 0, M, 1.0 / M[2][5], work)
    assert np.abs(flat(L.get_inertia(work, L.W_P)) - expected).max() < ROUNDING * np.abs(expected).max()


def test_beside(hinge):
    block, work, c, w, M = hinge
    expected = T.turn_inertia_x(block[c + L.TILT], block[c + L.TILT + 1], turned(work, w, M))
    expected = T.turn_inertia_z(block[c + L.SPIN], block[c + L.SPIN + 1], expected)
    expected = flat(S.shift_inertia(L.get3(block, c + L.PLACE_RHO), expected)) + flat(L.get_inertia(work, L.W_P))
    carry.beside_inertia(block, c, w, 0, M, 1.0 / M[2][5], work)
    assert np.abs(flat(L.get_inertia(work, L.W_P)) - expected).max() < ROUNDING * np.abs(expected).max()
