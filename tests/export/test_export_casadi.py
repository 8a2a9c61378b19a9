"""CasADi: values and derivatives of the external function, and an optimization that needs them."""

import shutil

import numpy as np
import pytest

import mbkern as mb

ca = pytest.importorskip("casadi")
pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler on the path")


@pytest.fixture(scope="module")
def arm():
    model = mb.zoo.chain(3)
    system = mb.System(model, "emh-ldl")
    return model, system, mb.export.casadi(system, products=True)


def test_values_have_the_bits_of_rhs(arm):
    _, system, f = arm
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, p, tau = rng.normal(size=(3, 3))
        qdot, pdot = f(q, p, tau, 0.0)
        expected = system.rhs(q, p, tau=tau)
        assert np.array_equal(qdot.full().ravel(), expected[0]) and np.array_equal(pdot.full().ravel(), expected[1])
    assert [f.name_in(k) for k in range(4)] == ["q", "p", "tau", "t"] and f.name_out(1) == "pdot"


def test_derivatives(arm):
    _, system, f = arm
    rng = np.random.default_rng(1)
    q, p, tau = rng.normal(size=(3, 3))
    x, u = ca.MX.sym("x", 6), ca.MX.sym("u", 3)
    rates = ca.vertcat(*f(x[:3], x[3:], u, 0.0))
    jacobian = ca.Function("J", [x, u], [ca.jacobian(rates, x), ca.jacobian(rates, u)])
    by_x, by_u = (part.full() for part in jacobian(np.r_[q, p], tau))
    assert np.allclose(by_x, system.jacobian_rhs(q, p).matrix, rtol=1e-14, atol=1e-14)
    assert np.array_equal(by_u, np.vstack([np.zeros((3, 3)), np.eye(3)]))
    seed = ca.MX.sym("s", 6)
    forward = ca.Function("F", [x, u, seed], [ca.jtimes(rates, x, seed)])
    reverse = ca.Function("R", [x, u, seed], [ca.jtimes(rates, x, seed, True)])
    s = rng.normal(size=6)
    assert np.allclose(forward(np.r_[q, p], tau, s).full().ravel(), by_x @ s, rtol=1e-12, atol=1e-12)
    assert np.allclose(reverse(np.r_[q, p], tau, s).full().ravel(), by_x.T @ s, rtol=1e-12, atol=1e-12)


def test_products_have_code_of_their_own(arm):
    """One direction and one set of weights go without the Jacobian; all four arguments have their share."""
    _, system, f = arm
    assert f.forward(1).class_name() == f.reverse(1).class_name() == "External"
    rng = np.random.default_rng(2)
    q, p, tau, dq, dp, dtau, a, b = rng.normal(size=(8, 3))
    A = system.jacobian_rhs(q, p).matrix
    du, dpdot = f.forward(1)(q, p, tau, 0.0, *[0] * 2, dq, dp, dtau, 0.7)
    np.testing.assert_allclose(np.r_[du.full().ravel(), dpdot.full().ravel() - dtau], A @ np.r_[dq, dp], rtol=1e-12)
    gq, gp, gtau, gt = f.reverse(1)(q, p, tau, 0.0, *[0] * 2, a, b)
    np.testing.assert_allclose(np.r_[gq.full().ravel(), gp.full().ravel()], A.T @ np.r_[a, b], rtol=1e-12)
    assert np.array_equal(gtau.full().ravel(), b) and float(gt) == 0.0


def test_time_derivative_of_driven_joints():
    b = mb.ModelBuilder()
    b.add_body("bob", joint=[mb.rotate("z", mb.harmonic(0.5, 3.0)), mb.rotate("y")], mass=1.0, com=(0.3, 0, -0.4))
    system = mb.System(b.build(), "emh-ldl")
    f = mb.export.casadi(system, products=True)
    t = ca.MX.sym("t")
    slope = ca.Function("S", [t], [ca.jacobian(ca.vertcat(*f([0.4], [0.2], [0.0], t)), t)])
    h = 1e-5
    high, low = (np.concatenate(system.rhs([0.4], [0.2], 0.7 + d)) for d in (h, -h))
    expected = (high - low) / (2 * h)
    assert np.allclose(slope(0.7).full().ravel(), expected, rtol=1e-6, atol=1e-8)
    forward = f.forward(1)([0.4], [0.2], [0.0], 0.7, 0, 0, 0, 0, 0, 2.0)
    assert np.allclose([float(x) for x in forward], 2.0 * expected, rtol=1e-6, atol=1e-8)
    by_time = float(f.reverse(1)([0.4], [0.2], [0.0], 0.7, 0, 0, 3.0, -1.0)[3])
    assert np.allclose(by_time, np.dot([3.0, -1.0], expected), rtol=1e-6, atol=1e-8)


def test_file_that_stays(tmp_path):
    system = mb.System(mb.zoo.chain(2), "emh-ldl")
    mb.export.casadi(system, tmp_path / "arm")
    again = ca.external("arm", str(tmp_path / "libarm.so"))
    assert again.forward(1).class_name() == "MXFunction"  # by the Jacobian
    pdot = again([0.1, 0.2], [0.3, 0.4], [0, 0], 0.0)[1].full().ravel()
    assert np.array_equal(pdot, system.rhs([0.1, 0.2], [0.3, 0.4])[1])


def test_swing_up():
    """A pendulum from below to above with a torque that cannot lift it at once: 40 RK4 steps, multiple shooting."""
    b = mb.ModelBuilder()
    b.add_body("bob", joint=mb.revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.01, 0.01, 0.01))
    system = mb.System(b.build(), "emh-ldl")
    f, n, h, most = mb.export.casadi(system, products=True), 40, 0.075, 3.0  # m g l is 4.9 N m
    opti = ca.Opti()
    x, u = opti.variable(2, n + 1), opti.variable(1, n)
    for k in range(n):
        def rate(y, k=k):
            return ca.vertcat(*f(y[0], y[1], u[k], 0.0))
        k1 = rate(x[:, k])
        k2 = rate(x[:, k] + h / 2 * k1)
        k3 = rate(x[:, k] + h / 2 * k2)
        k4 = rate(x[:, k] + h * k3)
        opti.subject_to(x[:, k + 1] == x[:, k] + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    opti.subject_to(x[:, 0] == 0)
    opti.subject_to(x[:, n] == ca.vertcat(np.pi, 0))
    opti.subject_to(opti.bounded(-most, u, most))
    opti.minimize(h * ca.sumsqr(u))
    opti.set_initial(x[0, :], np.linspace(0, np.pi, n + 1))
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "hessian_approximation": "limited-memory",
                                                 "max_iter": 500})
    torque = np.ravel(opti.solve().value(u))
    assert np.abs(torque).max() <= most + 1e-6
    stepper = system.stepper("rk4", step=h)
    stepper.reset([0.0], [0.0])
    for value in torque:
        q, p = stepper.step(tau=np.array([value]))
    assert abs(q[0] - np.pi) < 1e-5 and abs(p[0]) < 1e-5  # IPOPT's tolerance 1e-8, grown over an unstable motion


def test_quaternions_are_refused():
    with pytest.raises(mb.errors.ExportError, match="euler_ball"):
        mb.export.casadi(mb.System(mb.zoo.chain(2, joint=mb.ball())))
