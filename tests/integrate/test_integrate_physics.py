"""Motions with a closed form, benchmark problems, and what the structure of Hamilton's equations promises."""

import numba
import numpy as np
import pytest
from integrate_cases import (
    FIXED,
    GAUSS,
    ORDER,
    error,
    flying,
    pendulum,
    pendulum_angle,
    precise,
    quarter_period,
    state,
)
from scipy.integrate import solve_ivp
from scipy.special import ellipj

import mbkern as mb

STEP = {"rk4": 1e-3, "midpoint": 2e-4, "gauss4": 2e-3, "gauss6": 1e-2, "dopri5": None}


# ------------------------------------------------------------------------------------------------ closed forms


@pytest.mark.parametrize("integrator", ORDER)
@pytest.mark.parametrize("amplitude", [0.3, 1.5, 3.0])
def test_pendulum_against_elliptic_functions(integrator, amplitude):
    system = pendulum(mass=1.7, length=0.8)
    solution = system.simulate([0.5 * np.pi - amplitude], [0.0], (0.0, 3.0), integrator, step=STEP[integrator],
                               rtol=1e-11, atol=1e-12)
    theta = 0.5 * np.pi - solution.q[:, 0]
    # midpoint: error of order (w h)^2 w t / 24 = 2e-6, more near the upper rest point
    tolerance = 1e-4 if integrator == "midpoint" else 2e-8
    np.testing.assert_allclose(theta, pendulum_angle(solution.t, amplitude, 0.8), rtol=0, atol=tolerance)


def test_torque_free_body():
    """Euler's equations: (A cn, B sn, C dn) for angular momentum above the separatrix."""
    I1, I2, I3 = 0.5, 0.9, 1.2
    builder = mb.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("body", joint=mb.free(), mass=2.0, inertia=(I1, I2, I3))
    system = mb.System(builder.build())
    w = np.array([0.8, 0.0, 2.0])  # w2 = 0 at t = 0, where cn = dn = 1
    E2 = I1 * w[0] ** 2 + I3 * w[2] ** 2
    L2 = (I1 * w[0]) ** 2 + (I3 * w[2]) ** 2
    assert L2 > E2 * I2
    B = np.sqrt((E2 * I3 - L2) / (I2 * (I3 - I2)))
    rate = np.sqrt((I3 - I2) * (L2 - E2 * I1) / (I1 * I2 * I3))
    m = (I2 - I1) * (E2 * I3 - L2) / ((I3 - I2) * (L2 - E2 * I1))
    times = np.linspace(0.0, 20.0, 101)
    sn, cn, dn, _ = ellipj(rate * times, m)
    q0 = system.model.neutral()
    p0 = np.concatenate(([0.2, -0.1, 0.3], (I1, I2, I3) * w))
    solution = system.simulate(q0, p0, (0.0, 20.0), rtol=1e-12, atol=1e-13, t_eval=times)
    expected = np.column_stack((I1 * w[0] * cn, I2 * B * sn, I3 * w[2] * dn))
    # the sign of w2 follows from I2 dw2/dt = (I3 - I1) w3 w1 > 0
    np.testing.assert_allclose(solution.p[:, 3:], expected, rtol=0, atol=3e-9)
    # the centre of mass moves on a straight line
    np.testing.assert_allclose(solution.q[:, :3], times[:, None] * p0[:3] / 2.0, rtol=0, atol=1e-9)
    drift = solution.drift()
    assert set(drift) == {"energy", "linear momentum", "angular momentum"} and max(drift.values()) < 1e-9


@pytest.mark.parametrize("joint", ["ball", "euler"])
def test_heavy_symmetric_top(joint):
    """Nutation of Lagrange's top: u = cos(theta) = u1 + (u2 - u1) sn^2 between the roots u1 < u2 < u3 of a cubic."""
    A, C, mgl = 0.5, 0.2, 1.5 * 9.81 * 0.4
    builder = mb.ModelBuilder(gravity=(0, 0, -9.81))
    kind = mb.ball() if joint == "ball" else [mb.rotate("z"), mb.rotate("x"), mb.rotate("z")]
    # inertia at the fixed point: A, A, C
    builder.add_body("top", joint=kind, mass=1.5, com=(0, 0, 0.4), inertia=(A - 1.5 * 0.16, A - 1.5 * 0.16, C))
    system = mb.System(builder.build())
    tilt, spin = 0.7, 15.0
    q0 = [np.cos(0.5 * tilt), np.sin(0.5 * tilt), 0, 0] if joint == "ball" else [0.0, tilt, 0.0]
    u0 = [0.0, 0.0, spin]  # released with spin only: body axes, or the last angle
    p0 = system.momenta(q0, u0)
    times = np.linspace(0.0, 5.0, 201)
    solution = system.simulate(q0, p0, (0.0, 5.0), rtol=1e-12, atol=1e-13, t_eval=times)
    cosine = np.array([system.body_poses(q)[0][0][2, 2] for q in solution.q])
    # du/dt^2 = (1 - u^2)(alpha - beta u) - (b - a u)^2 with alpha = 2 E'/A, beta = 2 m g l / A
    u2 = np.cos(tilt)
    a, b, beta = C * spin / A, C * spin * u2 / A, 2 * mgl / A
    alpha = beta * u2
    roots = np.sort(np.roots([beta, -(alpha + a * a), 2 * a * b - beta, alpha - b * b]).real)
    u1, top, u3 = roots
    assert abs(top - u2) < 1e-9, "released at the highest point of the nutation"
    rate, m = 0.5 * np.sqrt(beta * (u3 - u1)), (u2 - u1) / (u3 - u1)
    # from the top: u = u1 + (u2 - u1) sn^2(K - rate t) = u1 + (u2 - u1) cd^2
    _, cn, dn, _ = ellipj(rate * times, m)
    np.testing.assert_allclose(cosine, u1 + (u2 - u1) * (cn / dn) ** 2, rtol=0, atol=2e-9)
    assert np.ptp(cosine) > 0.01


# -------------------------------------------------------------------------------------- benchmark problems


def test_iftomm_a01():
    """Simple pendulum, m = L = 1, released horizontal, 10 s."""
    system = pendulum()
    solution = system.simulate([0.0], [0.0], (0.0, 10.0), t_eval=np.linspace(0.0, 10.0, 1001))
    theta = 0.5 * np.pi - solution.q[:, 0]
    np.testing.assert_allclose(theta, pendulum_angle(solution.t, 0.5 * np.pi), rtol=0, atol=2e-6)
    assert solution.drift()["energy"] < 1e-5  # the benchmark asks for 5e-5 J


class Governor:
    """IFToMM A05: shaft, two rods with balls, a slider on the shaft, stiff spring-dampers for the coupler rods.

    Rods 1 x 0.01 x 0.01 m of density 3000 hang from the top of the shaft, 5 kg at their ends; the spring-dampers (8e5
    N/m, 4e4 N s/m, rest length 0.5 m) lead from their middles to the slider.
    """

    rod, ball, slider, shaft = 3000 * 1e-4, 5.0, 3.0, 2.0
    k, c, rest, g = 8e5, 4e4, 0.5, 9.81
    I_shaft = 0.02

    def system(self):
        builder = mb.ModelBuilder(gravity=(0, 0, -self.g), name="governor")
        builder.add_body("shaft", joint=mb.revolute("z"), mass=self.shaft, inertia=(0.1, 0.1, self.I_shaft))
        for side, angle in (("right", 0.0), ("left", np.pi)):
            half = np.array([np.cos(angle / 2), 0, 0, np.sin(angle / 2)])
            arm = f"{side}_rod"
            slim = self.rod / 12 * 1e-4
            # rod along -z at angle 0, opening about y: -sin towards +x needs a negative turn
            builder.add_body(arm, "shaft", mb.revolute((0, -1, 0)), mass=self.rod, com=(0, 0, -0.5), rotation=half,
                             inertia=(self.rod / 12 + slim, self.rod / 12 + slim, 2 * slim))
            builder.add_body(f"{side}_ball", arm, mb.weld(), mass=self.ball, position=(0, 0, -1.0))
        builder.add_body("slider", "shaft", mb.prismatic("z"), mass=self.slider)
        return mb.System(builder.build())

    def forces(self, beta, beta_rate, z, z_rate):
        """Generalized forces (one rod, slider) of one spring-damper from (0.5 sin b, -0.5 cos b) to (0, z)."""
        x, y = 0.5 * np.sin(beta), -0.5 * np.cos(beta) - z
        length = np.sqrt(x * x + y * y)
        xb, yb = 0.5 * np.cos(beta), 0.5 * np.sin(beta)
        rate = (x * xb * beta_rate + y * (yb * beta_rate - z_rate)) / length
        pull = self.k * (length - self.rest) + self.c * rate
        return -pull * (x * xb + y * yb) / length, pull * y / length

    def reference(self, y0, t_eval):
        """Lagrange's equations by hand in (spin of the shaft, beta of both rods, z), by Radau."""
        slim = self.rod / 12 * 1e-4
        I_rod = self.rod / 3 + slim + self.ball
        across = 2 * slim  # about the rod's axis
        moment = 0.5 * self.rod + self.ball

        def fun(t, y):
            _, beta, z, spin, beta_rate, z_rate = y
            s, c = np.sin(beta), np.cos(beta)
            turn, lift = self.forces(beta, beta_rate, z, z_rate)
            inertia = self.I_shaft + 2 * (I_rod * s * s + across * c * c)
            change = 4 * (I_rod - across) * s * c * beta_rate
            return [spin, beta_rate, z_rate, -change * spin / inertia,
                    ((I_rod - across) * s * c * spin**2 - moment * self.g * s + turn) / I_rod,
                    2 * lift / self.slider - self.g]

        result = solve_ivp(fun, (0.0, t_eval[-1]), y0, method="Radau", rtol=1e-9, atol=1e-11, t_eval=t_eval)
        assert result.success
        return result.y.T


def governor_tau(system, governor):
    """The spring-dampers as an njit tau; speeds come from the compiled right-hand side itself."""
    rhs, block = system.njit()
    size = system.work().size
    k, c, rest = governor.k, governor.c, governor.rest

    @numba.njit
    def tau(t, q, p, out):
        u, unused, none = np.empty(4), np.empty(4), np.empty(0)
        rhs(block, t, q, p, none, u, unused, np.empty(size))
        for i in (1, 2):
            x, y = 0.5 * np.sin(q[i]), -0.5 * np.cos(q[i]) - q[3]
            xb, yb = 0.5 * np.cos(q[i]), 0.5 * np.sin(q[i])
            length = np.sqrt(x * x + y * y)
            rate = (x * xb * u[i] + y * (yb * u[i] - u[3])) / length
            pull = k * (length - rest) + c * rate
            out[i] = -pull * (x * xb + y * yb) / length
            out[3] += pull * y / length

    return tau


@pytest.fixture(scope="module")
def governed():
    """The governor, its system and forces, compiled once."""
    governor = Governor()
    system = governor.system()
    return governor, system, governor_tau(system, governor)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning:scipy")
@pytest.mark.parametrize("integrator, step", [("dopri5", None), ("gauss4", 1e-3), ("gauss6", 2e-3)])
def test_iftomm_a05(governed, integrator, step):
    """Stiff: time constants from 5e-5 s on. The Gauss methods take steps far above it, by Newton iteration."""
    governor, system, tau = governed
    beta, spin = np.radians(30.0), 2 * np.pi
    z = -2 * 0.5 * np.cos(beta)
    q0 = np.array([0.0, beta, beta, z])
    p0 = system.momenta(q0, [spin, 0.0, 0.0, 0.0])
    times = np.linspace(0.0, 10.0 if integrator == "dopri5" else 3.0, 61)
    solution = system.simulate(q0, p0, (0.0, times[-1]), integrator, rtol=1e-8, step=step, t_eval=times,
                               tau=tau)
    assert solution.success, solution.message
    expected = governor.reference([0.0, beta, z, spin, 0.0, 0.0], times)
    # the slider's first jump settles within 1e-4 s, below the steps of the Gauss methods: an error of its size times
    # the step remains
    tolerance = 1e-5 if integrator == "dopri5" else 3e-3
    np.testing.assert_allclose(solution.q[:, 1], expected[:, 1], rtol=0, atol=tolerance)
    np.testing.assert_allclose(solution.q[:, 2], solution.q[:, 1], rtol=0, atol=1e-6)
    np.testing.assert_allclose(solution.q[:, 3], expected[:, 2], rtol=0, atol=tolerance)
    assert np.ptp(solution.q[:, 3]) > 0.01


# ------------------------------------------------------------------------------- structure of the equations


@pytest.mark.slow
def test_no_secular_energy_drift():
    """Over 1e5 steps the energy error of the Gauss methods stays where it is; that of rk4 grows."""
    system, q, p = state(mb.zoo.chain(2, joint=mb.revolute("y"), seed=None), 3, 0.3)
    q = np.array([1.2, 0.5])
    drift, spread = {}, {}
    for integrator, step in (("rk4", 0.02), ("midpoint", 0.02), ("gauss4", 0.02), ("gauss6", 0.04)):
        solution = system.simulate(q, p, (0.0, 1e5 * step), integrator, step=step, save_every=20)
        assert solution.success and solution.n_accepted == 100_000
        H = solution.energy().hamiltonian
        tenth = H.size // 10
        drift[integrator] = abs(H[-tenth:].mean() - H[:tenth].mean())
        spread[integrator] = np.abs(H[:tenth] - H[0]).max()
    assert drift["rk4"] > 2.0 * spread["rk4"], "the drift of rk4 leaves its first errors behind"
    for integrator in GAUSS:
        assert drift[integrator] < 0.2 * spread[integrator]
        assert drift[integrator] < 0.1 * drift["rk4"]


@pytest.mark.parametrize("name", ["chain", "driven"])
def test_symplectic_flow_map(name):
    """Phi^T J Phi = J for canonical coordinates; the same step of rk4 is not symplectic."""
    joint = mb.universal("z", "x") if name == "chain" else [mb.rotate("x", mb.harmonic(0.3, 5.0)), mb.rotate("z")]
    system, q, p = state(mb.zoo.chain(2, joint=joint, seed=2), 4)
    n = q.size
    J = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    y0 = np.concatenate((q, p))

    def defect(integrator, end=0.3, step=0.03):
        def flow(y):
            solution = system.simulate(y[:n], y[n:], (0.0, end), integrator, step=step)
            assert solution.success
            return np.concatenate((solution.q[-1], solution.p[-1]))

        # differences of fourth order: error about 1e-7, the third of all derivatives is large
        h = 1e-4
        columns = [(8 * (flow(y0 + h * e) - flow(y0 - h * e)) - flow(y0 + 2 * h * e) + flow(y0 - 2 * h * e)) / (12 * h)
                   for e in np.eye(2 * n)]
        Phi = np.array(columns).T
        return np.abs(Phi.T @ J @ Phi - J).max()

    for integrator in GAUSS:
        assert defect(integrator) < 1e-6
    assert defect("rk4") > 1e-5


def floating_tree():
    """A tree whose base moves by three translations and three angles, the first about the world's z axis."""
    builder = mb.ModelBuilder(gravity=(0, 0, 0))
    base = [mb.translate("x"), mb.translate("y"), mb.translate("z"), mb.euler_ball("zyx")]
    builder.add_body("base", joint=base, mass=2.0, com=(0.1, 0.2, -0.1), inertia=(0.2, 0.3, 0.25))
    builder.add_body("arm", "base", mb.revolute("x"), mass=1.0, com=(0, 0.3, 0.1), inertia=(0.1, 0.08, 0.05),
                     position=(0.3, 0.1, 0))
    builder.add_body("hand", "arm", mb.ball(), mass=0.7, com=(0.1, 0, -0.2), inertia=(0.03, 0.05, 0.04),
                     position=(0, 0.5, 0.1))
    return builder.build()


@pytest.mark.parametrize("integrator", FIXED)
def test_momenta_of_a_floating_tree(integrator):
    """p_x, p_y, p_z are linear invariants, and with them constant so is the angular momentum about the z axis, x p_y -
    y p_x + p_yaw: every Runge-Kutta method keeps them to round-off."""
    system, q, p = state(floating_tree(), 6, 0.5)
    solution = system.simulate(q, p, (0.0, 10.0), integrator, step=0.01)
    assert solution.success
    q, p = solution.q, solution.p
    assert np.abs(p[:, :3] - p[0, :3]).max() < 1e-12
    spin = q[:, 0] * p[:, 1] - q[:, 1] * p[:, 0] + p[:, 3]
    assert np.abs(spin - spin[0]).max() < 1e-12
    assert np.ptp(p[:, 3]) > 1e-3, "its parts do change"


@pytest.mark.parametrize("integrator", FIXED)
def test_angular_momentum_of_an_elastic_pair(integrator):
    """Two masses on an isotropic spring: R x P + d x pi is quadratic; Gauss methods keep it to round-off, rk4 not."""
    axes = [mb.translate("x"), mb.translate("y"), mb.translate("z")]
    builder = mb.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("one", joint=axes, mass=2.0)
    builder.add_body("two", "one", axes, mass=1.0, stiffness=30.0)
    system, q, p = state(builder.build(), 10)
    solution = system.simulate(q, p, (0.0, 50.0), integrator, step=0.05)
    assert solution.success
    q, p = solution.q.reshape(-1, 2, 3), solution.p.reshape(-1, 2, 3)
    spin = np.cross(q, p).sum(axis=1)
    change = np.abs(spin - spin[0]).max()
    assert np.abs(p[:, 0] - p[0, 0]).max() < 1e-13
    if integrator == "rk4":
        assert change > 1e-6
    else:
        assert change < 1e-12  # 1000 steps on numbers of size 10: round-off


def test_momenta_of_a_free_body_tree():
    """On quaternions and body-frame momenta the world's momenta are conserved to the tolerance."""
    system, q, p = state(flying(gravity=(0, 0, 0)), 7)
    solution = system.simulate(q, p, (0.0, 5.0), rtol=1e-11, atol=1e-12)
    drift = solution.drift()
    assert drift["linear momentum"] < 1e-8 and drift["angular momentum"] < 1e-8 and drift["energy"] < 1e-8
    assert "momentum drift" in repr(solution)


@pytest.mark.parametrize("integrator", ORDER)
def test_time_reversal(integrator):
    """There and back again: symmetric methods return to round-off, the others to their error."""
    system, q, p = state(flying(), 8)
    options = dict(rtol=1e-10, atol=1e-11, step={"dopri5": None}.get(integrator, 0.01))
    there = system.simulate(q, p, (0.5, 1.5), integrator, **options)
    back = system.simulate(there.q[-1], there.p[-1], (1.5, 0.5), integrator, **options)
    assert back.success and back.t[0] == 1.5 and back.t[-1] == 0.5 and np.all(np.diff(back.t) < 0)
    tolerance = {"rk4": 1e-5, "dopri5": 1e-7}.get(integrator, 1e-11)
    assert error(system, back.q[-1], back.p[-1], (q, p)) < tolerance


def test_backward_output():
    system = pendulum()
    times = np.array([2.0, 1.7, 0.4, 0.0])
    theta = pendulum_angle(2.0, 1.0)
    forward = system.simulate([0.5 * np.pi - 1.0], [0.0], (0.0, 2.0), rtol=1e-12, atol=1e-13)
    for integrator, step in STEP.items():
        back = system.simulate(forward.q[-1], forward.p[-1], (2.0, 0.0), integrator, step=step, t_eval=times,
                               dense=True, rtol=1e-11, atol=1e-12)
        expected = pendulum_angle(times, 1.0)
        assert abs(expected[0] - theta) < 1e-15
        np.testing.assert_allclose(0.5 * np.pi - back.q[:, 0], expected, rtol=0, atol=1e-6)
        np.testing.assert_allclose(back.sol(times)[0], back.q, rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------------------------- forces


@numba.njit
def push(t, q, p, out):
    for i in range(out.shape[0]):
        out[i] = np.sin(3.0 * t + i) - 0.1 * p[i]


@numba.njit
def wind(t, q, p, out):
    out[1, 0] = np.cos(t)
    out[2, 4] = 0.3


@pytest.mark.parametrize("integrator", ["dopri5", "gauss6"])
def test_forces_along_the_way(integrator):
    model = mb.zoo.chain(3, joint=[mb.rotate("x", mb.harmonic(0.3, 5.0)), mb.rotate("z")], seed=4)
    system, q, p = state(model, 9)
    constant = np.array([0.5, -0.2, 0.1])
    step = None if integrator == "dopri5" else 0.002
    run = dict(integrator=integrator, rtol=1e-11, atol=1e-12, step=step)
    given = system.simulate(q, p, (0.0, 1.0), tau=constant, **run)
    assert error(system, given.q[-1], given.p[-1],
                 precise(system, q, p, (0.0, 1.0), tau=lambda t, q, p: constant)) < 1e-8

    def pushed(t, q, p):
        out = np.zeros(3)
        push(t, q, p, out)
        return out

    called = system.simulate(q, p, (0.0, 1.0), tau=push, **run)
    assert error(system, called.q[-1], called.p[-1], precise(system, q, p, (0.0, 1.0), tau=pushed)) < 1e-8
    blown = system.simulate(q, p, (0.0, 1.0), wrench=wind, tau=push, **run)

    def fun(t, y):
        wrench = np.zeros((3, 6))
        wind(t, y[:3], y[3:], wrench)
        return np.concatenate(system.rhs(y[:3], y[3:], t, tau=pushed(t, y[:3], y[3:]), wrench=wrench))

    exact = solve_ivp(fun, (0.0, 1.0), np.concatenate((q, p)), method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert error(system, blown.q[-1], blown.p[-1], (exact[:3], exact[3:])) < 1e-8
    assert "drift" not in repr(blown) and blown.drift()["energy"] < 1e-8, "less the work of forces and drives"


def test_quarter_period_is_consistent():
    """The closed forms of the tests agree with each other."""
    assert abs(pendulum_angle(quarter_period(1.2), 1.2)) < 1e-14
