"""Lyapunov exponents, periodic motions, sections: against closed forms, heyoka, and what conservation demands."""

import os

import numpy as np
import pytest
from double_pendulum import double_pendulum, heyoka_double_pendulum
from integrate_cases import pendulum, quarter_period
from interrupts import assert_ctrl_c_ends
from numba import njit

import mbkern as mb
from mbkern.errors import IntegrationError, StateError

Q, P = np.array([-1.0, 1.0]), np.array([0.0, 0.0])


def test_exponents_of_a_conservative_machine_pair():
    result = mb.chaos.lyapunov(mb.System(double_pendulum()), Q, P, 30.0, interval=0.5, step=0.02)
    assert result.pairing < 1e-12 and result.exponents[0] > 0.5  # chaotic, and paired to rounding
    assert np.array_equal(result.exponents, np.sort(result.exponents)[::-1])
    assert np.abs(result.exponents + result.exponents[::-1]).max() < 1e-6
    assert result.history.shape == (60, 4) and result.times[-1] == pytest.approx(30.0)


def test_exponents_against_heyoka():
    """The same spectrum over 5 s from variational equations that nobody here wrote: QR of whole tangents."""
    _, Phi = heyoka_double_pendulum([*Q, *P], 5.0)
    order = [0, 1, 3, 2]
    expected = np.log(np.abs(np.diag(np.linalg.qr(Phi[np.ix_(order, order)])[1]))) / 5.0
    result = mb.chaos.lyapunov(mb.System(double_pendulum()), Q, P, 5.0, interval=1.0, integrator="gauss6", step=5e-3)
    assert np.abs(result.history[-1] - expected).max() < 1e-6


def test_exponents_of_the_upright_pendulum_are_those_of_the_textbook():
    """An unstable equilibrium of two equal rods and masses: +-sqrt((2 +- sqrt 2) g / l), exactly."""
    builder = mb.ModelBuilder(gravity=(0, 0, -9.81))
    for name, parent, place in (("upper", "world", 0.0), ("lower", "upper", 0.5)):
        builder.add_body(name, parent, mb.revolute("y"), mass=2.0, com=(0, 0, 0.5), position=(0, 0, place))
    rates = np.sqrt((2.0 + np.array([1.0, -1.0]) * np.sqrt(2.0)) * 9.81 / 0.5)
    result = mb.chaos.lyapunov(mb.System(builder.build()), [0.0, 0.0], [0.0, 0.0], 4.0, transient=4.0, interval=0.25,
                               integrator="gauss6", step=5e-3)
    assert np.abs(result.exponents - [*rates, *-rates[::-1]]).max() < 1e-7 * rates[0]


def test_a_damped_pendulum_loses_phase_space():
    """The exponents of a damped joint add up to -damping / inertia."""
    builder = mb.ModelBuilder()
    builder.add_body("bob", joint=mb.revolute("y"), mass=1.0, com=(1.0, 0.0, 0.0), damping=0.4)
    system = mb.System(builder.build())
    result = mb.chaos.lyapunov(system, [1.0], [0.0], 20.0, step=0.01)
    assert result.exponents.sum() == pytest.approx(-0.4, abs=1e-7) and np.isnan(result.pairing)
    with pytest.raises(StateError, match=r"dissipative \(damping of 'bob'\)"):
        mb.chaos.lyapunov(system, [1.0], [0.0], 20.0, symplectic=True)


def test_exponents_that_are_refused():
    system = mb.System(double_pendulum())
    for wrong in ({"count": 5}, {"count": 0}, {"interval": -1.0}, {"transient": -1.0}, {"integrator": "euler"}):
        with pytest.raises(mb.errors.MbkernError):
            mb.chaos.lyapunov(system, Q, P, 1.0, **wrong)

    @njit
    def breaks(t, q, p, out):
        out[0] = 0.0 if t < 0.5 else np.nan

    with pytest.raises(IntegrationError, match=r"after [45] of 10 intervals"):
        mb.chaos.lyapunov(system, Q, P, 1.0, interval=0.1, tau=mb.forces.with_derivative(breaks))


# ---- periodic motions ----


def test_swings_of_a_pendulum_are_found_with_their_period():
    orbit = mb.orbits.periodic(pendulum(), [0.5 * np.pi - 0.9], [0.1], 2.0, energy=-9.81 * np.cos(1.0))
    assert orbit.period == pytest.approx(4.0 * quarter_period(1.0), rel=1e-9)
    assert orbit.stable and np.abs(orbit.multipliers - 1.0).max() < 1e-4  # a double one: the root of rounding
    assert orbit.monodromy.shape == (2, 2) and orbit.residual < 1e-8


def test_a_whirling_pendulum_advances_by_a_turn():
    orbit = mb.orbits.periodic(pendulum(), [0.0], [12.0], 0.5, turns=[1])
    end = pendulum().simulate(orbit.q, orbit.p, (0.0, orbit.period), rtol=1e-11, atol=1e-12)
    assert end.q[-1, 0] - orbit.q[0] == pytest.approx(2.0 * np.pi, abs=1e-8)


def test_normal_modes_of_a_double_pendulum_go_on_as_periodic_motions():
    system = mb.System(double_pendulum())
    rest = np.array([0.5 * np.pi, 0.0])
    modes = system.modes(rest)
    shape = modes.shapes[:, 0].real
    orbit = mb.orbits.periodic(system, rest + 0.05 * shape, [0.0, 0.0], 1.0 / modes.frequencies[0])
    assert orbit.period == pytest.approx(1.0 / modes.frequencies[0], rel=1e-2) and orbit.stable
    other = orbit.multipliers[np.argsort(np.abs(orbit.multipliers - 1.0))[2:]]
    # across the orbit: the other mode, turned by its own frequency over this period
    angle = 2.0 * np.pi * modes.frequencies[1] * orbit.period
    assert np.cos(np.angle(other[0])) == pytest.approx(np.cos(angle), abs=0.02)
    assert np.abs(other) == pytest.approx([1.0, 1.0], abs=1e-6)


def test_a_driven_pendulum_keeps_the_period_of_its_drive():
    builder = mb.ModelBuilder()
    builder.add_body("cart", joint=mb.translate("x", mb.harmonic(0.05, 2.0 * np.pi)), mass=1.0)
    builder.add_body("bob", "cart", mb.revolute("y"), mass=1.0, com=(1.0, 0.0, 0.0), damping=0.5)
    orbit = mb.orbits.periodic(mb.System(builder.build()), [0.5 * np.pi], [0.0], 1.0)
    assert orbit.period == 1.0 and orbit.stable and np.abs(orbit.multipliers).max() < 0.9
    # Liouville: the determinant is exp(-damping / inertia T)
    assert np.linalg.det(orbit.monodromy) == pytest.approx(np.exp(-0.5), rel=1e-8)


def test_a_top_comes_back_to_itself():
    """Quaternions may return with the other sign: the same rotation."""
    builder = mb.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.add_body("wheel", joint=mb.ball(), mass=1.0, inertia=(0.1, 0.1, 0.15))
    system = mb.System(builder.build())
    orbit = mb.orbits.periodic(system, [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.3], 3.0)
    # a family: any spin about the axis; the nearest one is found
    assert orbit.period == pytest.approx(2.0 * np.pi * 0.15 / orbit.p[2], rel=1e-7) and orbit.residual < 1e-8
    assert 0.25 < orbit.p[2] < 0.35


def test_shooting_that_stalls_says_how_far_it_came():
    falling = mb.ModelBuilder()
    falling.add_body("stone", joint=mb.prismatic("z"), mass=1.0)
    with pytest.raises(IntegrationError, match=r"stalls after \d+ iterations .* differ by .* multipliers so far"):
        mb.orbits.periodic(mb.System(falling.build()), [0.0], [0.0], 1.0)
    builder = mb.ModelBuilder()
    builder.add_body("bob", joint=mb.revolute("y"), mass=1.0, com=(1.0, 0.0, 0.0), damping=0.4)
    with pytest.raises(StateError, match="energy: the machine is dissipative"):
        mb.orbits.periodic(mb.System(builder.build()), [1.0], [0.0], 2.0, energy=1.0)


def test_an_equilibrium_is_no_periodic_motion():
    """No swing takes as little time as the guess, and Newton's method goes to where every time is a period."""
    with pytest.raises(IntegrationError, match=r"came to an equilibrium, q = \[.*\].* give energy"):
        mb.orbits.periodic(pendulum(), [np.pi / 2 + 0.18], [0.0], 1.0)


@pytest.mark.parametrize("energy", [-1e3, 1e6])  # below the lowest one; of states far away
def test_shooting_stays_near_its_guess_and_ends(energy, monkeypatch):
    """Newton's first correction leads to thousands of radians and periods, of which one run takes minutes."""
    system, periods = mb.System(double_pendulum()), []
    simulate = type(system).simulate

    def watched(self, q, p, span, *arguments, **options):
        periods.append(span[1] - span[0])
        return simulate(self, q, p, span, *arguments, **options)

    monkeypatch.setattr(type(system), "simulate", watched)
    with pytest.raises(IntegrationError, match=r"differ by .*, the energy is .* J off; multipliers so far .* another"):
        mb.orbits.periodic(system, [0.1, 0.1], [0.0, 0.0], 2.0, energy=energy, integrator="dopri5")
    assert max(periods) < 20.0 and len(periods) < 400


# ---- sections ----


def test_points_of_a_section():
    system = mb.System(double_pendulum())
    points = mb.orbits.poincare(system, [0.2, 1.0], [0.0, 0.0], "lower", 12)
    assert points.t.shape == (12,) and (np.diff(points.t) > 0.0).all()
    assert np.abs(np.sin(0.5 * points.q[:, 1])).max() < 1e-8
    speeds = np.array([system.rhs(q, p)[0][1] for q, p in zip(points.q, points.p, strict=True)])
    assert (speeds > 0.0).all()
    energies = [system.energy(q, p).hamiltonian for q, p in zip(points.q, points.p, strict=True)]
    assert np.ptp(energies) < 1e-6

    @njit
    def section(t, q, p):
        return np.sin(0.5 * q[1])

    both = mb.orbits.poincare(system, [0.2, 1.0], [0.0, 0.0], section, 24, direction=0)
    assert np.isin(points.t[:6].round(9), both.t.round(9)).all()


def test_sections_that_are_refused_or_never_reached():
    system = pendulum()
    with pytest.raises(StateError, match="section: expected a coordinate"):
        mb.orbits.poincare(system, [1.0], [0.0], "elbow", 3)
    with pytest.raises(IntegrationError, match="0 of 3 crossings of 'bob'"):
        mb.orbits.poincare(system, [1.5], [0.0], "bob", 3, value=0.2, longest=20.0)


# ---- ctrl-C ----


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("study", ["lyapunov", "periodic", "poincare"])
def test_ctrl_c_ends_a_study(study):
    """Each would take half a minute and more; what compiles is done before."""
    system, chaotic = pendulum(), mb.System(double_pendulum())
    calls = {
        "lyapunov": lambda T: mb.chaos.lyapunov(chaotic, Q, P, T, interval=0.5, step=0.02),
        "periodic": lambda T: mb.orbits.periodic(system, [0.5 * np.pi - 0.9], [0.1], T, step=T / 400.0 if T < 10.0 else
                                                 1e-4),
        "poincare": lambda T: mb.orbits.poincare(chaotic, Q, P, "lower", 10**7 if T > 10.0 else 2, longest=1e3 * T),
    }
    calls[study](2.0)
    assert_ctrl_c_ends(lambda: calls[study](1e4))
