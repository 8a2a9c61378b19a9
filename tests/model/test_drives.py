"""Drives: values, derivatives, and what is refused."""

import pickle

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mbkern as mb
from mbkern.errors import ModelError, StateError


@numba.njit
def spiral(t):
    return t * np.sin(t), np.sin(t) + t * np.cos(t), 2 * np.cos(t) - t * np.sin(t)


KNOTS = (0.0, 0.4, 1.0, 1.7, 2.0, 3.0)
DRIVES = [
    mb.harmonic(0.3, 2.0, 0.4, -0.1),
    mb.polynomial([0.3, -1.0, 0.5, 0.2]),
    mb.polynomial([2]),
    mb.spline(KNOTS, (0.0, 1.0, -0.5, 0.3, 0.7, 0.0)),
    mb.drive(spiral),
]


@pytest.mark.parametrize("drive", DRIVES, ids=lambda drive: type(drive).__name__)
@given(t=st.floats(0.01, 2.99))
def test_rates_are_derivatives(drive, t):
    h = 1e-4
    x = np.array([drive(t + k * h)[0] for k in (-2, -1, 0, 1, 2)])
    xd = np.array([drive(t + k * h)[1] for k in (-2, -1, 0, 1, 2)])
    # fourth-order differences; across a knot of the spline the third derivative jumps, hence the tolerances
    difference = np.array([1, -8, 0, 8, -1]) / (12 * h)
    assert drive(t)[1] == pytest.approx(difference @ x, abs=1e-6)
    assert drive(t)[2] == pytest.approx(difference @ xd, abs=2e-2 if isinstance(drive, type(DRIVES[3])) else 1e-6)


def test_values():
    assert mb.harmonic(2.0, 3.0, phase=0.5, offset=1.0)(0.25) == pytest.approx(
        (1 + 2 * np.sin(1.25), 6 * np.cos(1.25), -18 * np.sin(1.25))
    )
    assert mb.polynomial([1, 2, 3])(2.0) == (17.0, 14.0, 6.0)
    assert mb.drive(spiral)(0.7) == pytest.approx(spiral(0.7))


def test_spline_goes_through_its_points_and_is_smooth():
    x = (0.0, 1.0, -0.5, 0.3, 0.7, 0.0)
    spline = mb.spline(KNOTS, x)
    assert [spline(t)[0] for t in KNOTS] == pytest.approx(x, abs=1e-14)
    for t in KNOTS[1:-1]:
        assert spline(np.nextafter(t, 0)) == pytest.approx(spline(t), abs=1e-12)
    cubic = mb.spline(np.linspace(0, 2, 5), np.linspace(0, 2, 5) ** 3)
    assert cubic(1.3) == pytest.approx((1.3**3, 3 * 1.3**2, 6 * 1.3))


def test_spline_ends_where_its_points_end():
    spline = mb.spline(KNOTS, KNOTS)
    assert spline(3.0 + 1e-12)[0] == pytest.approx(3.0)  # a rounding error late is still inside
    assert spline(-1e-12)[0] == pytest.approx(0.0, abs=1e-11)
    for t in (-0.01, 3.01):
        with pytest.raises(StateError, match=r"outside the spline drive, which is defined from 0\.0 to 3\.0"):
            spline(t)


@pytest.mark.parametrize("drive", DRIVES, ids=lambda drive: type(drive).__name__)
def test_drives_compare_hash_and_pickle(drive):
    copy = pickle.loads(pickle.dumps(drive))
    assert copy == drive and hash(copy) == hash(drive)
    assert copy(1.1) == drive(1.1)
    assert drive != mb.harmonic(0.123, 4.5)


@pytest.mark.parametrize("drive", DRIVES, ids=lambda drive: type(drive).__name__)
@pytest.mark.parametrize("t", [np.nan, np.inf, "now", None])
def test_bad_times_are_refused(drive, t):
    with pytest.raises(StateError, match="t: expected a finite number"):
        drive(t)


@numba.njit
def two_values(t):
    return t, 1.0


@numba.njit
def infinite(t):
    return t, np.inf, 0.0


@numba.njit
def one_value(t):
    return t


@numba.njit
def needs_two(t, s):
    return t, s, 0.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mb.harmonic(np.nan, 1.0), "harmonic: amplitude: expected a finite number, got nan"),
        (lambda: mb.harmonic(1.0, "fast"), "harmonic: omega: .* got 'fast'"),
        (lambda: mb.harmonic(1.0, 1.0, offset=np.inf), "harmonic: offset"),
        (lambda: mb.polynomial([]), "polynomial: coeffs: expected numbers"),
        (lambda: mb.polynomial(3.0), "polynomial: coeffs: expected numbers"),
        (lambda: mb.polynomial([1.0, np.nan]), "polynomial: coeffs"),
        (lambda: mb.spline([0, 1, 1], [0, 1, 2]), r"increase strictly, got t\[1\] = 1.0, t\[2\] = 1.0"),
        (lambda: mb.spline([0, 1], [0, 1, 2]), "2 times and 3 values"),
        (lambda: mb.spline([0], [0]), "at least 2"),
        (lambda: mb.spline([0, np.inf], [0, 1]), "spline: t"),
        (lambda: mb.spline([0, 1], [0, None]), "spline: x"),
        (lambda: mb.drive(lambda t: (t, 1.0, 0.0)), "decorate it with @numba.njit"),
        (lambda: mb.drive(two_values), "3 numbers"),
        (lambda: mb.drive(infinite), "finite number, got inf"),
        (lambda: mb.drive(one_value), r"must return a tuple \(x, xd, xdd\)"),
        (lambda: mb.drive(needs_two), r"f\(0.0\) failed with"),
    ],
)
def test_bad_drives_are_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


# ------------------------------------------------------------------------------- where compiled drives have values


def driven_by(drive):
    builder = mb.ModelBuilder()
    builder.add_body("cart", joint=[mb.translate("x", drive)], mass=1.0)
    builder.add_body("bob", "cart", mb.revolute("y"), mass=1.0, com=(0.5, 0, 0))
    return mb.System(builder.build())


@pytest.mark.parametrize("late", [-1.0, 1.0])
def test_compiled_spline_ends_where_the_described_one_does(late):
    """A rounding error beyond its ends (1e-9 of its length) is inside, twice that is not, in Python and compiled."""
    spline = mb.spline([10.0, 12.0, 14.0], [0.0, 0.2, 0.1])
    system, end = driven_by(spline), 12.0 + 2.0 * late
    inside, outside = end + 0.9 * late * 4e-9, end + 1.1 * late * 4e-9
    assert np.isfinite(system.rhs([0.1], [0.2], inside)[1]).all() and np.isfinite(spline(inside)).all()
    with pytest.raises(StateError, match="defined from"):
        spline(outside)
    with pytest.raises(StateError, match=r"'cart'.*defined from t = 10 to 14"):
        system.rhs([0.1], [0.2], outside)


@pytest.mark.parametrize(("drive", "fine", "beyond"), [
    (mb.polynomial([0.0, 1e10]), 99.0, 101.0),  # x beyond 1e12
    (mb.polynomial([0.0, -1e10]), 99.0, 101.0),
    (mb.harmonic(1.0, 1e10), 99.0, 101.0),  # the angle beyond 1e12
    (mb.harmonic(1e-200, 1.0, offset=0.9e12), 1.0, None),
    (mb.harmonic(1e-100, 1e140), 1e-141, 1.0),
    (mb.polynomial([0.0, 0.0, 0.0, 1e300]), 1e-101, 1e-99),  # xddot beyond 1e200, x = 1e3
    (mb.polynomial([0.0, 0.0, 1e199]), 1e-100, 1e150),  # xdot and x
])
def test_drives_beyond_what_kernels_take(drive, fine, beyond):
    system = driven_by(drive)
    qdot, pdot = system.rhs([0.1], [0.0], fine)
    assert np.isfinite(qdot).all() and np.isfinite(pdot).all()
    if beyond is not None:
        for call in (system.rhs, system.momenta):
            with pytest.raises(StateError, match="'cart': the drive of step 1"):
                call([0.1], [0.0], beyond)
