"""Rows that a function of the user fills: exact rates, the same motion as built-in constraints, bad functions."""

import math
from math import cos, sin

import numpy as np
import pytest
from numba import njit

import mbkern as mb
from mbkern.changing import changing_at, changing_rows_at, pair
from mbkern.core.arguments import data_of
from mbkern.errors import ModelError, StateError


@njit
def everything(t, q, a, b):
    """Each function and operation that numbers with a rate know."""
    x, y, z = q[0], q[1], q[2]
    a[0, 0] = math.sin(x) * np.cos(y) - math.tan(z)
    a[0, 1] = np.sqrt(x) / y + math.exp(-x) * np.log(y)
    a[0, 2] = math.asin(z) + np.arccos(z) * math.atan(x) + np.arctan2(x, y)
    total = 0.0
    for i in range(3):
        total += q[i] ** 2
    b[0] = t * t + total - 1
    a[1, 0] = np.sinh(x) + math.cosh(y) * np.tanh(z) + math.hypot(x, y)
    a[1, 1] = abs(-x) + max(x, 0.1) * min(y, t) + 2.0 ** x + x ** y * np.sign(z)
    if x > y:
        b[1] = x
    else:
        b[1] = 3 * y - 2 / x


@njit
def evaluated(t, q, rates, out):
    n = q.shape[0]
    room = np.zeros(2 * n)
    for i in range(n):
        room[2 * i], room[2 * i + 1] = q[i], rates[i]
    everything(pair(t, 1.0), changing_at(data_of(room), n), changing_rows_at(data_of(out), 2, n),
               changing_at(data_of(out) + 16 * 2 * n, 2))


def test_rates_are_exact():
    t, q, rates = 0.9, np.array([0.7, 0.4, 0.3]), np.array([0.5, -0.8, 0.6])
    out = np.zeros(2 * 8)
    evaluated(t, q, rates, out)

    def plain(h):
        a, b = np.zeros((2, 3)), np.zeros(2)
        everything.py_func(t + h, q + h * rates, a, b)
        return np.concatenate([a.ravel(), b])

    np.testing.assert_allclose(out[::2], plain(0.0), rtol=1e-15)
    quotients = [(plain(h) - plain(-h)) / (2 * h) for h in (1e-3, 5e-4)]
    np.testing.assert_allclose(out[1::2], (4 * quotients[1] - quotients[0]) / 3, rtol=1e-10, atol=1e-11)


# ---- the same motion as built-in rows ----
@njit
def skate(t, q, a, b):
    a[0, 0], a[0, 1] = -sin(q[2]), cos(q[2])


def sleigh():
    b = mb.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    b.add_body("sleigh", "world", [mb.translate("x", name="x"), mb.translate("y", name="y"),
                                   mb.rotate("z", name="theta")], 1.0, (0.3, 0.0, 0.0), (0.2, 0.2, 0.2))
    return b


@pytest.fixture(scope="module")
def own():
    b = sleigh()
    b.add_constraint(skate)
    return mb.System(b.build())


def test_a_blade_of_the_user(own):
    built_in = mb.System(mb.zoo.chaplygin_sleigh())
    q, p = np.array([0.1, 0.2, 0.7]), built_in.impact([0.1, 0.2, 0.7], [1.0, 2.0, 0.5])
    for got, expected in zip(own.rhs(q, p), built_in.rhs(q, p), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-14)
    u = own.velocities(q, p)
    for got, expected in zip(own.constraint_matrix_rate(q, u), built_in.constraint_matrix_rate(q, u), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-15)
    ends = [system.simulate(q, p, (0.0, 2.0), t_eval=[2.0]).q[-1] for system in (own, built_in)]
    np.testing.assert_allclose(*ends, atol=1e-12)


def test_batches_of_the_user(own):
    q, p = np.array([0.1, 0.2, 0.7]), own.impact([0.1, 0.2, 0.7], [1.0, 2.0, 0.5])
    Q, P = np.tile(q, (5, 1)), np.linspace(0.5, 2.0, 5)[:, None] * p
    Qdot, Pdot = own.rhs_batch(Q, P)
    for k in range(5):
        qdot, pdot = own.rhs(Q[k], P[k])
        np.testing.assert_array_equal(Qdot[k], qdot)
        np.testing.assert_array_equal(Pdot[k], pdot)


@njit
def skate_that_turns(t, q, a, b):
    a[0, 0], a[0, 1] = -sin(q[2]), cos(q[2])
    a[1, 2], b[1] = 1.0, -0.5 * t


def test_forces_of_several_rows():
    b = sleigh()
    b.add_constraint(skate_that_turns, rows=2)
    system, q, p = mb.System(b.build()), np.array([0.1, 0.2, 0.7]), np.array([1.0, 2.0, 0.5])
    lam = system.constraint_forces(q, p, 0.3)
    wrenches, in_joints = system.constraint_wrenches(q, p, 0.3)
    assert abs(lam).min() > 0.1 and not wrenches.any()
    np.testing.assert_allclose(in_joints, system.constraint_matrix(q, 0.3)[0].T @ lam, rtol=1e-12)


@njit
def parabola(t, q, a, b):
    a[0, 0], a[0, 1], b[0] = 2.0 * q[0], -1.0, 0.1 * t


@njit
def height(t, q, g):
    g[0] = q[0] ** 2 + 0.05 * t * t - q[1]


def bead(f=parabola, position=height, **options):
    b = mb.ModelBuilder(gravity=(0, -9.81, 0))
    b.add_body("bead", joint=[mb.translate("x", name="x"), mb.translate("y", name="y")], mass=2.0, inertia=(1, 1, 1))
    b.add_constraint(f, position=position, **options)
    return b


def test_a_bead_on_a_parabola_that_rises():
    """y = x^2 + t^2 / 20 by hand: (1 + 4 x^2) x'' + 4 x x'^2 = -2 x (g + 1/10)."""
    system = mb.System(bead().build())
    q = system.assemble([0.8, 0.0], hold=["x"])
    np.testing.assert_allclose(q, [0.8, 0.64], atol=1e-14)
    q, u = system.consistent(q, [0.5, 0.0])
    run = system.simulate(q, system.momenta(q, u), (0.0, 2.0), rtol=1e-11, atol=1e-13, t_eval=[2.0])
    assert np.abs(run.constraint_drift).max() < 1e-14

    def rate(y):
        x, v = y
        return np.array([v, (-2 * x * (9.81 + 0.1) - 4 * x * v * v) / (1 + 4 * x * x)])

    y, h = np.array([q[0], u[0]]), 1e-3
    for _ in range(2000):
        k1 = rate(y)
        k2 = rate(y + h / 2 * k1)
        k3 = rate(y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + h * k3))
    np.testing.assert_allclose([run.q[-1, 0], run.u[-1, 0]], y, atol=1e-9)
    udot = system.accelerations(q, u)
    force = system.constraint_forces(q, system.momenta(q, u))
    np.testing.assert_allclose(2.0 * udot[1] + 2.0 * 9.81, -force[0], rtol=1e-12)  # a = -1 along y


def test_constraints_of_analytic_are_taken(own):
    @njit
    def rows(t, q, v, a, b, rate):
        a[0, 0], a[0, 1] = -sin(q[2]), cos(q[2])
        rate[0] = -v[2] * (cos(q[2]) * v[0] + sin(q[2]) * v[1])

    b = sleigh()
    b.add_constraint(mb.analytic.Constraints(rows, 1), name="rows")
    system, q, p = mb.System(b.build()), np.array([0.1, 0.2, 0.7]), np.array([1.0, 2.0, 0.5])
    np.testing.assert_array_equal(system.rhs(q, p)[1], own.rhs(q, p)[1])


# ---- bad functions ----
@njit
def too_wide(t, q, a, b):
    a[0, 7] = 1.0


@njit
def not_a_number(t, q, a, b):
    a[0, 0] = np.nan


@njit
def too_steep(t, q, a, b):
    a[0, 0], a[0, 1] = 3.0 * q[0], -1.0


@pytest.mark.parametrize("words, f, options", [
    ("failed at a trial call with q of 2 numbers, a of shape \\(1, 2\\)", too_wide, {"position": None}),
    ("gave a = .*nan.*: not finite", not_a_number, {"position": None}),
    ("row 0 is not the time derivative of its position", too_steep, {}),
])
def test_functions_that_are_refused_when_built(words, f, options):
    with pytest.raises(ModelError, match=words):
        bead(f, **options).build()


@pytest.mark.parametrize("words, f, options", [
    ("compiled with @numba.njit", lambda t, q, a, b: None, {"name": "plain"}),
    ("rows: expected how many there are", parabola, {"rows": 0}),
])
def test_functions_that_are_refused_at_once(words, f, options):
    with pytest.raises(ModelError, match=words):
        bead(f, **options)


def test_a_function_that_fails_later():
    @njit
    def up_to_one(t, q, a, b):
        if q[0] > 1.0:
            raise ValueError("beyond one")
        a[0, 1] = 1.0

    system = mb.System(bead(up_to_one, position=None).build())
    np.testing.assert_allclose(system.rhs([0.5, 0.0], [0.0, 0.0])[1], [0.0, 0.0], atol=1e-12)
    with pytest.raises(StateError, match="'up_to_one' raised ValueError: beyond one"):
        system.rhs([1.5, 0.0], [0.0, 0.0])


def test_a_function_is_no_json():
    with pytest.raises(ModelError, match="'parabola': its rows are a function"):
        bead().build().to_json()
