"""Reduced Volterra is never silently wrong: what begins to act along an ignored coordinate is noticed and named."""

from __future__ import annotations

import re
from math import cos, sin
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from numba import njit
from numba.extending import is_jitted

import mbkern as mb
from mbkern.analytic import Constraints, Dynamics, Lagrange, QuasiVelocities, Volterra, choice, ignorable
from mbkern.analytic.cases import box, cart

CART = cart()
END = 5.0
STEPS = {"dopri5": {}, "rk4": {"integrator": "rk4", "step": 0.002}, "gauss4": {"integrator": "gauss4", "step": 0.01}}


@njit
def thruster(t, q, v, out):
    if t >= 2.0:
        out[0] = 5.0


@njit
def end_stop(t, q, v, out):
    if q[0] > 6.0:
        out[0] = -50.0 * (q[0] - 6.0)


@njit
def balanced(t, q, v, out):
    """Three thrusters whose sum is zero, and three whose sum is a rounding error."""
    out[0] += 40.0 * sin(t)
    out[0] -= 40.0 * sin(t)
    out[0] += 0.1 * sin(t) + 0.2 * sin(t) - 0.3 * sin(t)


@njit
def knife_then_brake(t, q, v, a, b, rate):
    """The knife edge of the cart, and from t = 1 on, softly, the cart is geared to the first bar."""
    a[0, 1], a[0, 2] = 0.2 * (cos(q[2]) + 1.0), 0.2
    rate[0] = -0.2 * sin(q[2]) * v[2] * v[1]
    if t > 1.0:
        a[0, 0] = 0.1 * (t - 1.0) ** 2
        rate[0] += 0.2 * (t - 1.0) * v[0]


FORCES = {"thruster": (thruster, 2.0), "end stop": (end_stop, 0.61844280557)}


def lagrange_end(forces=None, constraints=CART.constraints, end=END):
    run = Lagrange(CART.system, constraints, forces).simulate(CART.q0, CART.v0, (0.0, end), rtol=1e-10, atol=1e-12)
    assert run.success
    return run


@pytest.mark.parametrize("claimed", [None, ["x"]], ids=["found", "named by the user"])
@pytest.mark.parametrize("options", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("name", FORCES)
def test_a_force_that_begins_later_stops_the_run(name, options, claimed):
    """With the name, the time and the value of what acted; all before it is there."""
    forces, begins = FORCES[name]
    run = Volterra(CART.system, CART.constraints, forces, ignorable=claimed).simulate(
        CART.q0, CART.v0, (0.0, END), **options)
    assert not run.success and run.status == "failed" and not run.switches
    step = 1.01 * options.get("step", 1e-8)
    assert begins - step <= run.t[-1] <= begins + step
    assert "a generalized force of " in run.message and "acts along 'x' at t = " in run.message
    assert "5 acts" in run.message or name == "end stop"
    when = re.search(r"at t = ([\d.]+) s, but", run.message)
    assert when is not None and abs(float(when[1]) - begins) <= step
    assert np.isfinite(run.v).all() and np.abs(run.momenta()[:, 0] - 6.0).max() < 1e-12


@pytest.mark.parametrize("options", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("name", FORCES)
def test_switch_goes_on_with_the_coordinate_no_longer_ignored(name, options):
    """To the answer of Lagrange, but for the error of integration."""
    forces, begins = FORCES[name]
    expected = lagrange_end(forces)
    run = Volterra(CART.system, CART.constraints, forces).simulate(
        CART.q0, CART.v0, (0.0, END), on_violation="switch", **options)
    assert run.success and len(run.switches) == 1
    switch = run.switches[0]
    assert abs(switch.t - begins) <= 1.01 * options.get("step", 1e-8) and "acts along 'x'" in switch.why
    assert (switch.before.s, switch.after.s) == (1, 0) and run.formulation is switch.after
    assert switch.after.quasi_names == (*switch.before.quasi_names, "x") and str(switch) in run.message
    # fixed steps do not end where the force begins: its stages are wrong for one step, and the motion spreads that
    assert np.abs(run.q[-1] - expected.q[-1]).max() < (1e-2 if options else 3e-5)
    assert (np.diff(run.t) > 0.0).all() and run.y.shape == (run.t.size, 5)
    assert np.allclose(run.y[:, 4], run.v[:, 0]) and np.abs(run.constraints()).max() < 1e-14


def test_the_thruster_by_numbers():
    """A cart that is pushed from t = 2 on: x(5) is 30.37, and would be 19.15 without the push."""
    pushed = Volterra(CART.system, CART.constraints, thruster, on_violation="switch").simulate(
        CART.q0, CART.v0, (0.0, END))
    alone = Volterra(CART.system, CART.constraints).simulate(CART.q0, CART.v0, (0.0, END))
    assert abs(pushed.q[-1, 0] - 30.3657) < 1e-3 and abs(alone.q[-1, 0] - 19.1528) < 1e-3


def test_wanted_times_and_dense_output_across_a_switch():
    times = np.linspace(0.0, END, 21)
    volterra = Volterra(CART.system, CART.constraints, thruster, track_work=True)
    tight = dict(rtol=1e-10, atol=1e-12, on_violation="switch")
    run = volterra.simulate(CART.q0, CART.v0, (0.0, END), t_eval=times, **tight)
    steps = volterra.simulate(CART.q0, CART.v0, (0.0, END), dense=True, **tight)
    assert run.t.tolist() == times.tolist()
    q, v = steps.sol(times)
    assert np.abs(q - run.q).max() < 1e-7 and np.abs(v - run.v).max() < 1e-5
    assert steps.sol(3.3)[0].shape == (3,)
    with pytest.raises(mb.errors.StateError, match=r"a time or a list of times, got shape \(1, 2\)"):
        steps.sol([[1.0, 3.3]])
    energy = run.energy()  # less the work of the thruster, which goes on where the switch is
    assert run.work[-1] > 50.0 and np.abs(energy - energy[0]).max() < 1e-5
    back = volterra.simulate(q[-1], v[-1], (END, 0.0), on_violation="switch")
    assert not back.success or back.switches  # pushed from the beginning on


def test_a_right_hand_side_says_so():
    volterra = Volterra(CART.system, CART.constraints, thruster)
    y = volterra.state(CART.q0, CART.v0)
    assert np.isfinite(volterra.rhs(1.9, y)).all()
    with pytest.raises(mb.errors.StateError, match=r"a generalized force of 5 acts along 'x' at t = 2\.5 s"):
        volterra.rhs(2.5, y)
    with pytest.raises(mb.errors.StateError, match="a generalized force of 5 acts along 'x'"):
        mb.analytic.ode45.simulate(volterra, CART.q0, CART.v0, np.linspace(0.0, 3.0, 301))


def test_a_force_that_is_balanced_is_none():
    """What its sum leaves is a rounding error: no stop at any of some thousand evaluations, also from rest."""
    assert "x" in ignorable(CART.system, CART.constraints, balanced)
    volterra = Volterra(CART.system, CART.constraints, balanced)
    for v0 in (CART.v0, 0.0 * CART.v0):
        run = volterra.simulate(CART.q0, v0, (0.0, 4.0))
        assert run.success and run.nfev > 1000


@pytest.mark.parametrize("share, stops", [(1e-9, True), (1e-11, True), (1e-15, False)])
def test_how_small_a_force_is_seen(share, stops):
    """Against the other forces of the machine (5 N m of weight): far below the tolerance of any run."""
    @njit
    def slight(t, q, v, out):
        if t > 0.9:
            out[0] = share

    run = Volterra(CART.system, CART.constraints, slight).simulate(CART.q0, CART.v0, (0.0, 1.0))
    assert run.success is not stops


def test_a_fast_machine_does_not_hide_a_force():
    """Steady motion makes no forces: 1e-6 N are seen at 1e6 m/s."""
    @njit
    def slight(t, q, v, out):
        if t > 0.9:
            out[1] = 1e-6

    case = box()
    v0 = case.v0.copy()
    v0[0] = 1e6
    run = Volterra(case.system, forces=slight, quasi=case.quasi["Volterra"]).simulate(case.q0, v0, (0.0, 1.0))
    assert not run.success and "1e-06 acts along 'Y'" in run.message


def test_a_constraint_that_takes_hold_later():
    constraints = Constraints(knife_then_brake, 1)
    volterra = Volterra(CART.system, constraints)
    assert volterra.s == 1
    run = volterra.simulate(CART.q0, CART.v0, (0.0, 2.0))
    assert not run.success and abs(run.t[-1] - 1.0) < 1e-4  # the factor grows with the square of the time
    assert "constraint 0 contains the speed of 'x', with factor " in run.message
    expected = lagrange_end(constraints=constraints, end=2.0)
    run = volterra.simulate(CART.q0, CART.v0, (0.0, 2.0), on_violation="switch")
    assert run.success and np.abs(run.q[-1] - expected.q[-1]).max() < 1e-5
    assert abs(expected.momenta()[-1, 0] - 6.0) > 0.05  # it did take hold


@pytest.mark.parametrize("first, second, released", [(0, 0, 1), (0, 1, 2)])
def test_positions_of_a_free_joint(first, second, released):
    """Forces along one or two axes of the world begin later; the momenta along the others stay constant."""
    b = mb.ModelBuilder(gravity=(0, 0, 0))
    b.add_body("base", joint=mb.free(), mass=2.0, com=(0.1, 0.0, 0.2), inertia=(0.3, 0.2, 0.4))
    b.add_body("arm", "base", mb.revolute("y"), mass=1.0, com=(0.3, 0.1, -0.2), inertia=(0.1, 0.2, 0.15))
    system = mb.System(b.build())

    @njit
    def wind(t, q, v, out):
        w, x, y, z = q[3], q[4], q[5], q[6]
        axes = ((1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
                (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)))
        for k in range(2):
            if t > 1.0 + k and (k == first or k == second):
                for j in range(3):
                    out[j] += 3.0 * axes[k][j]

    q, v = system.model.random_state(seed=2)
    volterra = Volterra(system, forces=wind)
    assert volterra.s == 3
    run = volterra.simulate(q, v, (0.0, 3.0), on_violation="switch", rtol=1e-10, atol=1e-11)
    assert run.success and len(run.switches) == released and run.formulation.s == 3 - released
    assert abs(run.switches[0].t - 1.0) < 1e-9 and "acts along 'base.x'" in run.switches[0].why
    expected = Lagrange(system, forces=wind).simulate(q, v, (0.0, 3.0), rtol=1e-10, atol=1e-11)
    assert np.abs(run.q[-1] - expected.q[-1]).max() < 1e-6


@pytest.mark.parametrize("compiled", [True, False], ids=["njit", "Python"])
def test_quasi_velocities_by_a_function_get_one_more(compiled):
    def bent(t, q, v, Y, Z, rate):
        Y[0, 2], Z[0] = 2.0, 0.1 * t
        rate[0] = 0.1

    quasi = QuasiVelocities(njit(bent) if compiled else bent, 1, ("w",))
    run = Volterra(CART.system, CART.constraints, thruster, quasi=quasi).simulate(
        CART.q0, CART.v0, (1.9, 2.2), on_violation="switch")
    assert run.success and run.formulation.quasi_names == ("w", "x'")
    assert np.allclose(run.y[:, 3], 2.0 * run.v[:, 2] + 0.1 * run.t) and np.allclose(run.y[:, 4], run.v[:, 0])
    expected = Lagrange(CART.system, CART.constraints, thruster).simulate(CART.q0, CART.v0, (1.9, 2.2))
    assert np.abs(run.q[-1] - expected.q[-1]).max() < 1e-5


@pytest.mark.parametrize("f, rate, compiled", [(True, None, True), (True, True, True), (True, False, False),
                                               (False, None, False), (False, True, False)])
def test_what_gets_one_more_is_compiled_where_all_of_it_can_be(f, rate, compiled):
    """A compiled function cannot call one of Python."""
    def of_user(t, q, v, Y, Z, out):
        out[0] = 0.0

    released = SimpleNamespace(quaternion=-1, speed=0, name="x")
    with mock.patch.object(choice, "row_of"):
        quasi = choice.with_speed_of(None, QuasiVelocities(
            njit(of_user) if f else of_user, 1, ("w",), None if rate is None else njit(of_user) if rate else of_user),
            released)
    assert is_jitted(quasi.f) is compiled and quasi.count == 2
    assert quasi.rate is None if rate is None else is_jitted(quasi.rate) is compiled


# ---- M and h of the user ----


@njit
def slider_M(t, q, out):
    out[0, 0], out[1, 1] = 2.0, 1.0
    out[0, 1] = out[1, 0] = cos(q[1])


@njit
def slider_h(t, q, v, out):
    """A pendulum on a cart; beyond x = 0.5 the cart runs into a buffer."""
    out[0], out[1] = -sin(q[1]) * v[1] ** 2, 9.81 * sin(q[1])
    if q[0] > 1.5:
        out[0] += 100.0 * (q[0] - 1.5)


def test_a_bias_that_begins_to_depend_on_the_coordinate():
    dynamics = Dynamics(slider_M, slider_h, ("x", "angle"))
    volterra = Volterra(dynamics, ignorable=["x"])
    run = volterra.simulate([0.0, 0.3], [1.0, 0.5], (0.0, 3.0))
    assert not run.success and "dL/dq of 'x' is -" in run.message and abs(run.q[-1, 0] - 1.5) < 1e-5
    run = volterra.simulate([0.0, 0.3], [1.0, 0.5], (0.0, 3.0), on_violation="switch")
    expected = Lagrange(dynamics).simulate([0.0, 0.3], [1.0, 0.5], (0.0, 3.0))
    assert run.success and np.abs(run.q[-1] - expected.q[-1]).max() < 1e-4
    slow = volterra.simulate([0.0, 0.3], [1e-9, 0.0], (0.0, 0.5))
    assert slow.success and slow.n_accepted > 3  # from rest: no false alarm


def test_prescribed_motion_that_begins_later():
    """Whether a drive that rests until t = 2 acts then cannot be seen before: the shape of the tree decides."""
    late = mb.spline([0.0, 2.0, 4.0, 6.0], [0.0, 0.0, 0.5, 1.5])

    def machine(steps):
        b = mb.ModelBuilder(gravity=(0, 0, -9.81))
        b.add_body("base", joint=steps, mass=1.0)
        b.add_body("arm", "base", mb.revolute("y", name="arm"), mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.2, 0.1))
        return mb.System(b.build())

    turned = machine([mb.rotate("z", mb.drive(_late)), mb.translate("x", name="x")])
    assert "nothing in the tree shows" in ignorable(turned).others["x"]
    with pytest.raises(mb.errors.StateError, match=r"'x' is not ignorable: .* prescribed motion"):
        Volterra(turned, ignorable=["x"])
    assert ignorable(machine([mb.translate("y", late), mb.translate("x", name="x")])).names == ("x",)


@njit
def _late(t):
    s = max(t - 2.0, 0.0)
    return s**3, 3.0 * s**2, 6.0 * s


@pytest.mark.parametrize("arguments, message", [
    (dict(on_violation="go on"), "on_violation: expected 'stop' or 'switch'"),
    (dict(on_singular=1), "on_singular: expected 'stop' or 'switch'"),
    (dict(on_violation="switch", events=mb.event(njit(lambda t, q, u: q[0]))), "events: g"),
    (dict(on_violation="switch", atol=[1e-9] * 4), "atol: an array"),
])
def test_bad_input(arguments, message):
    with pytest.raises(mb.errors.StateError, match=message):
        Volterra(CART.system, CART.constraints).simulate(CART.q0, CART.v0, (0.0, 0.1), **arguments)
    with pytest.raises(mb.errors.StateError, match="on_violation: expected"):
        Volterra(CART.system, CART.constraints, on_violation="what")
