"""Gears by elimination, the vakonomic equation that is wrong, long runs."""

import numpy as np
import pytest

import mbkern as mb


# ---- gears against eliminating the coordinate by hand ----
def test_a_polynomial_gear():
    """y = c0 + c1 x + c2 x^2 + c3 x^3: (m + M f'^2) x'' + M f' f'' x'^2 = tau_x + f' tau_y."""
    c = (0.1, 0.5, -0.3, 0.2)
    b = mb.ModelBuilder(gravity=(0, 0, 0))
    b.add_body("cam", joint=mb.prismatic("x"), mass=1.3, inertia=(1, 1, 1))
    b.add_body("tappet", joint=mb.prismatic("y"), mass=0.7, inertia=(1, 1, 1))
    b.add_gear("tappet", "cam", polynomial=c)
    system = mb.System(b.build())
    f = np.polynomial.Polynomial(c)
    x, v, tau = 0.4, 1.7, np.array([0.6, -0.9])
    slope, curve = f.deriv()(x), f.deriv(2)(x)
    udot = system.accelerations([x, f(x)], [v, slope * v], tau=tau)
    expected = (tau[0] + slope * tau[1] - 0.7 * slope * curve * v * v) / (1.3 + 0.7 * slope**2)
    np.testing.assert_allclose(udot, [expected, slope * expected + curve * v * v], rtol=1e-12)


def test_a_planetary_gear():
    """One freedom: the sun turns 1 + ring / sun times the carrier; its inertia is the sum of all, reduced to it."""
    sun, planet, planets = 20, 15, 3
    system = mb.System(mb.zoo.planetary_gear(sun, planet, planets))
    model, ring = system.model, sun + 2 * planet
    place = model.speed_index
    tau = np.zeros(model.nv)
    tau[place("sun")] = 0.3
    udot = system.accelerations(model.neutral(), np.zeros(model.nv), tau=tau)
    ratio, spin = 1 + ring / sun, 1 - ring / planet  # of sun and planet (absolute) to the carrier
    radius = 0.002 * (sun + planet)
    inertia = 4e-4 * ratio**2 + 2e-3 + planets * (0.3 * radius**2 + 2e-4 * spin**2)
    np.testing.assert_allclose(udot[place("carrier")], 0.3 * ratio / inertia, rtol=1e-12)
    np.testing.assert_allclose(udot[place("sun")], ratio * udot[place("carrier")], rtol=1e-12)


# ---- rolling and blades ----
def sleigh_rates(y, vakonomic, a, m, moment):
    """Rates of (q, P) of Chaplygin's sleigh with dense matrices, the row (-sin, cos, 0)."""
    theta, P = y[2], y[3:]
    s, c = np.sin(theta), np.cos(theta)
    M = np.array([[m, 0, -m * a * s], [0, m, m * a * c], [-m * a * s, m * a * c, moment + m * a * a]])
    row = np.array([-s, c, 0.0])
    G = row @ np.linalg.solve(M, row)
    sigma = row @ np.linalg.solve(M, P) / G
    u = np.linalg.solve(M, P - row * sigma)
    dM = np.array([[0, 0, -m * a * c], [0, 0, -m * a * s], [-m * a * c, -m * a * s, 0]])
    change = np.array([-c, -s, 0.0])  # of the row with theta
    term = np.array([0.0, 0.0, change @ u]) if vakonomic else change * u[2]
    return np.concatenate([u, np.array([0.0, 0.0, 0.5 * u @ dM @ u]) + term * sigma])


def test_the_vakonomic_term_is_wrong():
    """adot^T sigma gives the motion; (d(a u)/dq)^T sigma, the same for loops, takes the sleigh metres elsewhere."""
    a, m, moment, h, steps = 0.3, 1.0, 0.2, 5e-3, 2000
    system = mb.System(mb.zoo.chaplygin_sleigh(a, m, moment))
    q, u = system.consistent(np.zeros(3), [1.0, 0.0, 1.5])
    p = system.momenta(q, u)
    run = system.simulate(q, p, (0.0, h * steps), rtol=1e-11, atol=1e-12, t_eval=[h * steps])
    ends = []
    for vakonomic in (False, True):
        y = np.concatenate([q, p])
        y[4] += 0.5 * vakonomic  # some sigma: with none at the beginning and no reset both begin alike
        for _ in range(steps):
            k1 = sleigh_rates(y, vakonomic, a, m, moment)
            k2 = sleigh_rates(y + h / 2 * k1, vakonomic, a, m, moment)
            k3 = sleigh_rates(y + h / 2 * k2, vakonomic, a, m, moment)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + sleigh_rates(y + h * k3, vakonomic, a, m, moment))
        ends.append(y[:2])
    np.testing.assert_allclose(ends[0], run.q[-1, :2], atol=1e-6)
    assert np.linalg.norm(ends[1] - run.q[-1, :2]) > 1.0


# ---- long runs ----
@pytest.mark.parametrize("name", ["four_bar", "bricard", "rolling_disc"])
def test_velocities_keep_the_constraints_for_100000_steps(name):
    system = mb.System(getattr(mb.zoo, name)())
    model = system.model
    q, u = system.consistent(model.neutral(), np.linspace(1.0, 2.0, model.nv))
    run = system.simulate(q, system.momenta(q, u), (0.0, 100.0), "rk4", step=1e-3, save_every=2000)
    assert run.success and run.t.size == 51
    worst = 0.0
    for q, u in zip(run.q, run.u, strict=True):
        a, b = system.constraint_matrix(q)
        worst = max(worst, np.abs(a @ u + b).max() / (np.abs(a) @ np.abs(u)).max())
    assert worst < 1e-14  # a few units of rounding of the terms
    # loops: the rounding of the coordinates themselves, of which some go round and round (to 580 rad in the four-bar)
    rounding = np.finfo(float).eps * (1.0 + np.abs(run.q).max(axis=1))
    assert (np.abs(run.constraint_drift).max(axis=1) < 4.0 * rounding).all()
