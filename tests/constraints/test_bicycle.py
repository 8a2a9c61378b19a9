"""Whipple's bicycle: eigenvalues of Meijaard, Papadopoulos, Ruina & Schwab 2007, Proc. R. Soc. A 463, table 2."""

import numpy as np
import pytest

import mbkern as mb

#: Speed, m/s -> real and imaginary part of the weave (two real ones at rest), capsize, castering; 1/s.
PUBLISHED = {
    0: (5.53094371765393, 3.13164324790656, -3.13164324790656, -5.53094371765393),
    1: (3.52696170990070 + 0.80774027519930j, -3.13423125066578, -7.11008014637442),
    2: (2.68234517512745 + 1.68066296590675j, -3.07158645641514, -8.67387984831735),
    3: (1.70675605663975 + 2.31582447384325j, -2.63366137253667, -10.35101467245920),
    4: (0.41325331521125 + 3.07910818603206j, -1.42944427361326, -12.15861426576447),
    5: (-0.77534188219585 + 4.46486771378823j, -0.32286642900409, -14.07838969279822),
    6: (-1.52644486584142 + 5.87673060598709j, -0.00406690076970, -16.08537123098026),
    7: (-2.13875644258362 + 7.19525913329805j, 0.10268170574766, -18.15788466125262),
    8: (-2.69348683581097 + 8.46037971396931j, 0.14327879765713, -20.27940894394569),
    9: (-3.21675402252485 + 9.69377351531791j, 0.15790184030917, -22.43788559040858),
    10: (-3.72016840437287 + 10.90681139476287j, 0.16105338653172, -24.62459635017404),
}


@pytest.fixture(scope="module")
def bicycle():
    return mb.System(mb.zoo.whipple_bicycle())


def small_motions(system, v):
    """The matrix of (lean, steer) and their rates about straight travel, by exact derivatives on the constraints.

    Deviations satisfy what the wheels ask for: a dq = 0 of the rows of contact, a du + (da/dq dq) u = 0 of all.
    """
    model, place = system.model, system.model.speed_index
    q, known = model.neutral(), [place("lean"), place("steer"), place("rear_wheel")]
    a, _ = system.constraint_matrix(q)
    contact = [k for k, name in enumerate(model.row_names) if k % 3 == 0]
    upright = [place("z"), place("pitch")]
    rest = [j for j in range(model.nv) if j not in known]

    def completed(rows, right, given, values, free):
        x = np.zeros(model.nv)
        x[given] = values
        x[free] = np.linalg.lstsq(rows[:, free], right - rows[:, given] @ x[given], rcond=None)[0]
        return x

    u = completed(a, np.zeros(len(a)), known, [0.0, 0.0, v / 0.3], rest)
    D = system.derivatives_accelerations(q, u)
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    for k in range(4):
        dx = np.eye(4)[k]
        dq = completed(a[contact], np.zeros(2), known[:2], dx[:2], upright)
        change = system.constraint_matrix_rate(q, dq)[0] @ u  # da/dq dq, as the rows do not depend on time
        du = completed(a, -change, known, [*dx[2:], 0.0], rest)
        A[2:, k] = (D.udot_q @ dq + D.udot_u @ du)[known[:2]]
    return A


def test_contact_rows_come_first(bicycle):
    """What `small_motions` counts on."""
    q = bicycle.model.neutral()
    q[bicycle.model.coordinate_names.index("z")] += 0.1
    np.testing.assert_allclose(bicycle.constraint_residuals(q), [0.1, 0, 0, 0.1, 0, 0], atol=1e-15)


@pytest.mark.parametrize("v", PUBLISHED)
def test_published_eigenvalues(bicycle, v):
    expected = [value for one in PUBLISHED[v] for value in ([one, np.conj(one)] if np.iscomplex(one) else [one])]
    got = np.sort_complex(np.linalg.eigvals(small_motions(bicycle, v)))
    np.testing.assert_allclose(got, np.sort_complex(expected), rtol=0, atol=1e-11 * np.abs(expected).max())


def test_linearize_has_them_beside_zeros(bicycle):
    """At 4 m/s: whoever violates a constraint goes on doing so, eigenvalue 0, as do place, heading and speed."""
    model = bicycle.model
    q, u = bicycle.consistent(model.neutral(), np.where([name in ("x",) for name in model.speed_names], 4.0, 0.0))
    u *= 4.0 / u[model.speed_index("x")]
    linear = bicycle.linearize(q, bicycle.momenta(q, u), inputs=["steer"])
    values = np.linalg.eigvals(linear.A)
    for expected in PUBLISHED[4]:
        assert np.abs(values - expected).min() < 1e-9 * abs(expected)
    assert np.sort(np.abs(values))[-5] < 1e-2  # the zeros have Jordan blocks: roots of rounding
    push = np.eye(model.nv)[model.speed_index("steer")]
    answer = bicycle.accelerations(q, u, tau=push) - bicycle.accelerations(q, u)
    np.testing.assert_allclose(bicycle.solve_mass(q, linear.B[model.nv:, 0]), answer, atol=1e-11 * np.abs(answer).max())
