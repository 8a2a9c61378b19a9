"""Derivatives along runs with constraints: gradients, Lyapunov exponents, periodic motions; and by constants.

Against differences of runs from states that are made consistent, and against closed forms.
"""

import numpy as np
import pytest
from integrate_cases import quarter_period
from numba import njit

import mbkern as mb
from mbkern.derivatives.consistent import Consistent
from mbkern.errors import ModelError, StateError
from mbkern.integrate.tangents import in_coordinates

CONSTANTS = {"rod.mass": 1.0, "piston.mass": 2.0, "crank.com": 0.25, "crank.inertia": 0.02, "crank.stiffness": 3.0,
             "crank.damping": 0.2, "crank.armature": 0.05, "gravity": -9.81}
COLUMNS = {"crank.com": "crank.com[0]", "crank.inertia": "crank.inertia[2]", "gravity": "gravity[1]"}


def engine(**changed):
    """A slider-crank with all kinds of constants; `changed` by names with _ for the dot."""
    c = CONSTANTS | {name.replace("_", "."): value for name, value in changed.items()}
    b = mb.ModelBuilder(gravity=(0.3, c["gravity"], 0.0))
    b.add_body("crank", joint=mb.revolute("z"), mass=1.0, com=(c["crank.com"], 0.1, 0.0),
               inertia=(0.02, 0.02, c["crank.inertia"]), stiffness=c["crank.stiffness"], damping=c["crank.damping"],
               armature=c["crank.armature"])
    b.add_body("rod", "crank", mb.revolute("z"), c["rod.mass"], (0.75, 0, 0), (0.2, 0.2, 0.2), position=(0.5, 0, 0))
    b.add_body("piston", joint=mb.prismatic("x"), mass=c["piston.mass"], inertia=(1, 1, 1))
    b.add_loop("pin", "rod", "piston", "plane-point", position_a=(1.5, 0, 0))
    return mb.System(b.build())


@pytest.fixture(scope="module")
def system():
    return engine()


@pytest.fixture(scope="module")
def state(system):
    q, u = system.consistent(system.assemble([0.4, -0.5, 1.8], hold=["crank"]), [5.0, 0.0, 0.0])
    return q, system.momenta(q, u)


def quotient(f, x, h):
    """df/dx with one extrapolation."""
    found = [(np.asarray(f(x + s)) - np.asarray(f(x - s))) / (2 * s) for s in (h, h / 2)]
    return (4 * found[1] - found[0]) / 3


def column(name):
    """Its name in `derivatives_parameters`."""
    return COLUMNS.get(name, name if name.endswith("mass") else f"{name}[0]")


def test_derivatives_by_constants_at_a_state(system, state):
    q, p = state
    tau, wrench = np.array([0.4, -0.3, 1.2]), np.random.default_rng(0).normal(size=(3, 6))
    D = system.derivatives_parameters(q, p, tau=tau, wrench=wrench)
    down = system.derivatives_parameters(q, p, tau=tau, wrench=wrench, parameters="gravity")
    columns = dict(zip((*D.names, *down.names), np.hstack([[*D.u, *D.pdot], [*down.u, *down.pdot]]).T, strict=True))
    for name, value in CONSTANTS.items():
        expected = quotient(lambda x, name=name: np.concatenate(
            engine(**{name.replace(".", "_"): x}).rhs(q, p, tau=tau, wrench=wrench)), value, 1e-4)
        np.testing.assert_allclose(columns[column(name)], expected, atol=1e-8, err_msg=name)
    assert not any("position" in name for name in D.names)
    with pytest.raises(ModelError, match=r"position of 'rod': to move a joint moves loops apart \('pin', ...\)"):
        system.derivatives_parameters(q, p, parameters={"rod": "position"})


TIMES, FORCES = [0.1, 0.25], np.array([[0.5, 0.0, 0.3], [-0.4, 0.2, 0.0]])
ACCURATE = {"rtol": 1e-11, "atol": 1e-12}


def loss(t, q, p):
    return float((q[0, 0] + 2.0 * q[1, 2]) * np.sin(p[1, 2]) + p[0, 0] * q[1, 1])


def loss_of(other, q, p, forces=FORCES):
    """From the nearest state that is one of this machine, as a run of two pieces."""
    p, states, begin = other.impact(q, p), [], 0.0
    for force, end in zip(forces, (0.125, 0.25), strict=True):
        inside = [t for t in TIMES if begin < t <= end]
        run = other.simulate(q, p, (begin, end), tau=force, t_eval=np.unique([*inside, end]), **ACCURATE)
        states += [(run.q[k], run.p[k]) for k, t in enumerate(run.t) if t in inside]
        q, p, begin = run.q[-1], run.p[-1], end
    return loss(TIMES, *(np.array(part) for part in zip(*states, strict=True)))


def test_gradient_of_a_run(system, state):
    """By all that a gradient can be taken by; its own accuracy is 1e-8, that of differences with h = 1e-3 1e-9."""
    q, p = state
    g = mb.gradient(loss, system, q, p, (0.0, 0.25), t_eval=TIMES, tau=FORCES, parameters="all", **ACCURATE)
    assert g.value == pytest.approx(loss_of(system, q, p), abs=1e-9) and g.steps > 10
    for name, value in CONSTANTS.items():
        expected = quotient(lambda x, name=name: loss_of(engine(**{name.replace(".", "_"): x}), q, p), value,
                            1e-3 * max(abs(value), 0.1))
        got = np.ravel(g.parameters[name])
        place = {"crank.inertia": 8, "gravity": 1}.get(name, 0)
        assert got[place] == pytest.approx(float(expected), rel=1e-6, abs=1e-7), name
    for part in range(2):
        expected = [quotient(lambda x, e=e, part=part: loss_of(system, q, p, FORCES + x * np.outer(np.eye(2)[part], e)),
                             0.0, 1e-2) for e in np.eye(3)]
        np.testing.assert_allclose(g.tau[part], expected, rtol=1e-6, atol=1e-7)
    changes = Consistent(system).directions(q, p, 0.0)
    assert changes.shape == (6, 2)
    for d in changes.T:
        def moved(x, d=d):
            closed = system.assemble(q + x * d[:3])
            return loss_of(system, closed, p + x * d[3:])
        assert np.r_[g.q0, g.p0] @ d == pytest.approx(float(quotient(moved, 0.0, 1e-3)), rel=1e-6)
    across = np.eye(6) - changes @ changes.T
    np.testing.assert_allclose(across @ np.r_[g.q0, g.p0], 0.0, atol=1e-12 * np.abs(g.p0).max())


@njit
def servo(t, q, p, u, out):
    """Of all that a force may depend on."""
    out[0] = -2.0 * np.sin(q[0]) - 0.3 * p[0] * u[0] + t
    out[2] = 0.5 * q[1] * p[2] - 0.4 * u[2]


@njit
def servo_by_state(t, q, p, u, tau_q, tau_p, tau_u):
    tau_q[0, 0], tau_p[0, 0], tau_u[0, 0] = -2.0 * np.cos(q[0]), -0.3 * u[0], -0.3 * p[0]
    tau_q[2, 1], tau_p[2, 2], tau_u[2, 2] = 0.5 * p[2], 0.5 * q[1], -0.4


@njit
def wind(t, q, p, u, out):
    out[1, 0], out[1, 5], out[2, 0] = 0.5 * q[0], 0.2 * p[1], -0.3 * u[2]


def test_force_functions_along_a_run(system, state):
    """Their derivatives go into tangents and gradients: against differences of runs from states beside the first, and
    of machines with other masses, whose true momenta the functions see."""
    q, p = state
    forces = {"tau": mb.forces.with_derivative(servo, servo_by_state), "wrench": mb.forces.with_derivative(wind)}
    times = {"t_eval": [0.15], **ACCURATE}

    def end(other, q, p):
        run = other.simulate(q, other.impact(q, p), (0.0, 0.15), **forces, **times)
        return np.r_[run.q[-1], run.p[-1]]

    changes = Consistent(system).directions(q, p, 0.0)
    run = system.simulate(q, p, (0.0, 0.15), tangent=changes, **forces, **times)
    for column, d in zip(run.tangent[-1].T, changes.T, strict=True):
        expected = quotient(lambda x, d=d: end(system, system.assemble(q + x * d[:3]), p + x * d[3:]), 0.0, 1e-3)
        np.testing.assert_allclose(column, expected, rtol=1e-6, atol=1e-7)
    still = system.simulate(q, p, (0.0, 0.15), tangent=changes, tau=np.zeros(3), **times)
    assert np.abs(still.tangent[-1] - run.tangent[-1]).max() > 0.01  # there is something to see

    def reach(t, q, p):
        return float(q[-1, 2] * p[-1, 0])

    names = ["rod.mass", "crank.stiffness"]
    g = mb.gradient(reach, system, q, p, (0.0, 0.15), parameters=names, **times, **forces)
    for name in names:
        def lossy(x, name=name):
            y = end(engine(**{name.replace(".", "_"): x}), q, p)
            return y[2] * y[3]
        expected = float(quotient(lossy, CONSTANTS[name], 1e-3))
        assert np.ravel(g.parameters[name])[0] == pytest.approx(expected, rel=1e-6, abs=1e-8), name
    assert g.tau is None


def test_what_gradients_refuse(system, state):
    q, p = state

    @njit
    def push(t, q, p, out):
        out[0] = -q[0]

    with pytest.raises(StateError, match="tau: the derivative of the function 'push' is not known; give one"):
        mb.gradient(loss, system, q, p, (0.0, 0.1), tau=push)
    with pytest.raises(ModelError, match="position of 'rod': to move a joint moves loops apart"):
        mb.gradient(loss, system, q, p, (0.0, 0.1), t_eval=TIMES[:1], parameters=["rod.position"])
    with pytest.raises(StateError, match="q0: the constraints are not satisfied"):
        mb.gradient(loss, system, q + 0.1, p, (0.0, 0.1))


@njit
def steer(t, q, p, u, out):
    out[3], out[4] = 0.3 * q[4] * q[6] - 0.1 * u[4], 0.2 * q[5] - 0.1 * p[3]


def test_tangents_of_a_rolling_disc():
    """A quaternion that a force function sees, and rows of velocities beside one of a position: against runs from
    states beside the first."""
    disc = mb.System(mb.zoo.rolling_disc())
    q, u = disc.consistent(disc.assemble(disc.model.neutral()), 0.3 * np.random.default_rng(4).normal(size=6))
    p, times = disc.momenta(q, u), {"t_eval": [0.4], "tau": mb.forces.with_derivative(steer), **ACCURATE}
    changes = Consistent(disc).directions(q, p, 0.0)
    assert changes.shape == (12, 8)  # five coordinates, three velocities
    run = disc.simulate(q, p, (0.0, 0.4), tangent=changes, **times)
    expected = in_coordinates(disc.model, run.q[-1], run.tangent[-1])

    def end(x, d):
        moved = y = np.concatenate([q, p]) + in_coordinates(disc.model, q, x * d[:, None])[:, 0]
        for at in disc.model.quaternion_offsets:
            moved[at:at + 4] /= np.linalg.norm(moved[at:at + 4])
        closed = disc.assemble(moved[:7])
        other = disc.simulate(closed, disc.impact(closed, y[7:]), (0.0, 0.4), **times)
        return np.concatenate([other.q[-1], other.p[-1]])

    for k, d in enumerate(changes.T):
        np.testing.assert_allclose(expected[:, k], quotient(lambda x, d=d: end(x, d), 0.0, 1e-3), atol=2e-6)


# ---- a pendulum that a loop holds: three coordinates, one freedom ----
MASS, ARM, TURN, WEIGHT = 2.0, 0.5, 0.3, 9.81


@pytest.fixture(scope="module")
def pendulum():
    b = mb.ModelBuilder(gravity=(0, -WEIGHT, 0))
    b.add_body("bob", joint=[mb.translate("x", name="x"), mb.translate("y", name="y"), mb.rotate("z", name="turn")],
               mass=MASS, inertia=(TURN, TURN, TURN))
    b.add_loop("pin", "bob", "world", "plane-point", (0.0, ARM, 0.0))
    return mb.System(b.build())


def hanging(pendulum, angle):
    return pendulum.assemble([ARM * np.sin(angle), -ARM * np.cos(angle), angle])


RATE = np.sqrt(MASS * WEIGHT * ARM / (TURN + MASS * ARM**2))


def test_exponents_of_the_upright_pendulum(pendulum):
    """An unstable equilibrium: +-RATE, and nothing for the four changes that the pin does not allow."""
    result = mb.chaos.lyapunov(pendulum, hanging(pendulum, np.pi), np.zeros(3), 1.5, transient=1.5, interval=0.25,
                               integrator="gauss6", step=0.025)
    np.testing.assert_allclose(result.exponents, [RATE, -RATE], atol=1e-6)
    assert result.pairing < 1e-6
    with pytest.raises(StateError, match="count: expected 1 to 2 exponents, got 3"):
        mb.chaos.lyapunov(pendulum, hanging(pendulum, np.pi), np.zeros(3), 1.0, count=3)


def test_exponents_of_a_sleigh():
    """Straight ahead at speed v it turns back as exp(-m c v t / (J + m c^2)); nothing else grows or dies."""
    mass, ahead, turn, v = 1.0, 0.3, 0.2, 2.0
    b = mb.ModelBuilder(gravity=(0, 0, 0))
    b.add_body("sleigh", joint=[mb.translate("x"), mb.translate("y"), mb.rotate("z")], mass=mass, com=(ahead, 0, 0),
               inertia=(turn, turn, turn))
    b.add_blade("blade", "sleigh")
    sleigh = mb.System(b.build())
    q = np.zeros(3)
    result = mb.chaos.lyapunov(sleigh, q, sleigh.momenta(q, [v, 0.0, 0.0]), 2.0, interval=0.5, integrator="gauss4",
                               step=0.05)
    assert result.exponents.shape == (5,) and np.isnan(result.pairing)  # three coordinates, two velocities
    assert result.exponents.sum() == pytest.approx(-mass * ahead * v / (turn + mass * ahead**2), abs=1e-6)
    with pytest.raises(StateError, match="constraint 'blade' is none of positions"):
        mb.chaos.lyapunov(sleigh, q, np.zeros(3), 1.0, symplectic=True)


def test_swings_of_a_pendulum_that_a_loop_holds(pendulum):
    """The period of swings by 1 rad, from a guess beside them."""
    q = hanging(pendulum, 0.9)
    orbit = mb.orbits.periodic(pendulum, q, np.zeros(3), 6.0 / RATE, energy=-MASS * WEIGHT * ARM * np.cos(1.0),
                               step=0.02)
    length = WEIGHT / RATE**2
    assert orbit.period == pytest.approx(4.0 * quarter_period(1.0) * np.sqrt(length), rel=1e-7)
    assert orbit.stable and orbit.multipliers.shape == (2,) and np.abs(orbit.multipliers - 1.0).max() < 1e-3
    assert np.abs(pendulum.constraint_residuals(orbit.q)).max() < 1e-12
    M = mb.orbits.monodromy(pendulum, hanging(pendulum, np.pi), np.zeros(3), 0.5, step=0.01)
    growth = np.sort(np.abs(np.linalg.eigvals(M)))[::-1]
    np.testing.assert_allclose(growth, [np.exp(0.5 * RATE), np.exp(-0.5 * RATE), 0, 0, 0, 0], atol=1e-6)
