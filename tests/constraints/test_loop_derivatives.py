"""Derivatives of machines with constraints where more acts than joint forces: wrenches, rows of the user, runs."""

from math import cos, sin

import numpy as np
import pytest
from numba import njit

import mbkern as mb
from mbkern.errors import StateError

STEP = 1e-3  # of differences with one extrapolation: truncation 1e-12, rounding 1e-12 over numbers of some 10


def differences(f, x):
    """df/dx by central differences, one extrapolation."""
    columns = []
    for e in np.eye(len(x)):
        quotients = [(f(x + h * e) - f(x - h * e)) / (2 * h) for h in (STEP, STEP / 2)]
        columns.append((4 * quotients[1] - quotients[0]) / 3)
    return np.column_stack(columns)


@pytest.fixture(scope="module")
def four_bar():
    return mb.System(mb.zoo.four_bar())


@pytest.fixture(scope="module")
def state(four_bar):
    q, u = four_bar.consistent(np.zeros(3), [2.0, 0.0, 0.0])
    return q, u, four_bar.momenta(q, u)


def test_wrenches(four_bar, state):
    q, u, p = state
    tau, wrench = np.array([0.3, -0.1, 0.2]), np.random.default_rng(2).normal(size=(3, 6))
    A = four_bar.jacobian_rhs(q, p, tau=tau, wrench=wrench)
    by_state = differences(lambda y: np.concatenate(four_bar.rhs(y[:3], y[3:], tau=tau, wrench=wrench)), np.r_[q, p])
    np.testing.assert_allclose(A.matrix, by_state, atol=1e-9)
    bare = four_bar.jacobian_rhs(q, p, tau=tau)
    assert np.abs(A.pdot_q - bare.pdot_q).max() > 0.1  # it is the wrenches that turn with their bodies
    D = four_bar.derivatives_accelerations(q, u, tau=tau, wrench=wrench)
    by_q = differences(lambda x: four_bar.accelerations(x, u, tau=tau, wrench=wrench), q)
    np.testing.assert_allclose(D.udot_q, by_q, atol=1e-8)
    v = np.array([0.2, -0.4, 0.7])
    np.testing.assert_allclose(np.concatenate(four_bar.jvp(q, p, v, -v, tau=tau, wrench=wrench)),
                               A.matrix @ np.r_[v, -v], rtol=1e-13)


# ---- rows of the user ----
@njit
def skate_on_ice(t, q, a, b):
    """A blade on ice that is in motion, and every kind of step of the chain rule."""
    a[0, 0], a[0, 1] = -sin(q[2]), cos(q[2])
    b[0] = 0.1 * np.exp(-q[0] * q[0]) * t - (2.0 + q[1]) ** 1.5 / (3.0 + cos(q[2])) * abs(q[0])


def sleigh(f):
    b = mb.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    b.add_body("sleigh", "world", [mb.translate("x", name="x"), mb.translate("y", name="y"),
                                   mb.rotate("z", name="theta")], 1.0, (0.3, 0.0, 0.0), (0.2, 0.2, 0.2))
    b.add_constraint(f)
    return mb.System(b.build())


def test_rows_of_the_user():
    """All second derivatives of a and b are in the derivative of pdot, where adot and db/dt are."""
    system, t = sleigh(skate_on_ice), 0.8
    q, p = np.array([0.4, -0.3, 0.7]), np.array([1.0, 2.0, 0.5])
    A = system.jacobian_rhs(q, p, t, tau=[0.1, 0.2, -0.3])
    expected = differences(lambda y: np.concatenate(system.rhs(y[:3], y[3:], t, tau=[0.1, 0.2, -0.3])), np.r_[q, p])
    np.testing.assert_allclose(A.matrix, expected, atol=1e-9)


@njit
def blade(t, q, a, b):
    a[0, 0], a[0, 1] = -sin(q[2]), cos(q[2])


def test_a_blade_of_the_user_has_the_derivatives_of_the_built_in_one():
    own, built_in = sleigh(blade), mb.System(mb.zoo.chaplygin_sleigh())
    q, p = np.array([0.1, 0.2, 0.7]), np.array([1.0, 2.0, 0.5])
    np.testing.assert_allclose(own.jacobian_rhs(q, p).matrix, built_in.jacobian_rhs(q, p).matrix, atol=1e-13)


# ---- along a run ----
def consistent_directions(system, q, p):
    """An orthonormal basis of the changes of (q, p) that keep the constraints, by the derivative of velocities."""
    a, _ = system.constraint_matrix(q)
    h = 1e-6

    def rates(y):
        rows, _ = system.constraint_matrix(y[:len(q)])
        return rows @ system.velocities(y[:len(q)], y[len(q):])

    y = np.r_[q, p]
    by_y = np.column_stack([(rates(y + h * e) - rates(y - h * e)) / (2 * h) for e in np.eye(y.size)])
    _, sizes, right = np.linalg.svd(np.vstack([np.hstack([a, 0 * a]), by_y]))
    return right[len(sizes):].T


def test_tangents_of_a_run(four_bar, state):
    """Against runs from states beside the first one, which are made consistent: error h^2."""
    q, _, p = state
    directions = consistent_directions(four_bar, q, p)
    assert directions.shape == (6, 2)  # one freedom
    options = {"rtol": 1e-11, "atol": 1e-13, "t_eval": [0.0, 0.3, 0.7], "tau": [0.4, 0.0, 0.0]}
    run = four_bar.simulate(q, p, (0.0, 0.7), tangent=directions, **options)
    np.testing.assert_allclose(run.tangent[0], directions, atol=1e-14)
    assert not run.dense and run.tangent.shape == (3, 6, 2)
    h = 1e-4
    for k, d in enumerate(directions.T):
        ends = []
        for s in (h, -h):
            moved = four_bar.assemble(q + s * d[:3])
            other = four_bar.simulate(moved, four_bar.impact(moved, p + s * d[3:]), (0.0, 0.7), **options)
            ends.append(np.hstack([other.q, other.p]))
        expected = (ends[0] - ends[1]) / (2 * h)
        np.testing.assert_allclose(run.tangent[1:, :, k], expected[1:], atol=1e-6)
    whole = four_bar.simulate(q, p, (0.0, 0.7), tangent=True, **options).tangent
    np.testing.assert_allclose(whole @ directions, run.tangent, atol=1e-7)


def test_what_has_no_tangents(four_bar, state):
    q, _, p = state

    @njit
    def push(t, q, p, out):
        out[0] = -q[0]

    with pytest.raises(StateError, match="tau: the derivative of the function 'push' is not known; give one"):
        four_bar.simulate(q, p, (0.0, 0.1), tangent=True, tau=push)
    run = four_bar.simulate(q, p, (0.0, 0.1), tangent=True)
    with pytest.raises(StateError, match="symplectic_error: with constraints"):
        run.symplectic_error()


# ---- digits ----
@pytest.mark.parametrize("ratio", [1.0, 1e5])
def test_accuracy_bounds_the_true_error(ratio):
    """A light coupler between heavy bars: against the dense equations, refined in extended precision."""
    base = mb.zoo.four_bar()
    b = mb.ModelBuilder(gravity=tuple(base.gravity))
    for body in base.body_specs:
        scale = 1.0 if body.name == "coupler" else ratio
        parent = "world" if body.parent < 0 else base.body_names[body.parent]
        b.add_body(body.name, parent, body.joint, scale * body.mass, body.com, scale * np.array(body.inertia),
                   body.position, body.rotation)
    (pin,) = base.constraints
    names = ["world" if i < 0 else base.body_names[i] for i in (pin.body_a, pin.body_b)]
    b.add_loop("pin", *names, pin.kind, pin.position_a, pin.position_b, pin.rotation_a, pin.rotation_b, pin.axis)
    system = mb.System(b.build())
    q = system.assemble([0.3, 0.0, 0.0])
    p = system.impact(q, system.momenta(q, [2.0, 0.0, 0.0]))
    M, (a, rate) = system.mass_matrix(q), system.constraint_matrix(q)
    KKT, right = np.block([[M, a.T], [a, np.zeros((2, 2))]]), np.r_[p, -rate]
    x = np.linalg.solve(KKT, right).astype(np.longdouble)
    for _ in range(3):
        x = x + np.linalg.solve(KKT, (right - KKT.astype(np.longdouble) @ x).astype(float))
    true = float(np.abs(system.rhs(q, p)[0] - x[:3]).max() / np.abs(x[:3]).max())
    estimate = system.accuracy(q, p)
    assert true <= 10.0 * estimate and estimate < 1e-12 * ratio, (true, estimate)
    assert system.accuracy(q) > 0.0  # of momenta that are none of the constrained motion, too
