"""Contracts under fault: what a run says and keeps when a user's function raises."""

from __future__ import annotations

import math
import os
import sys

import children
import numba
import numpy as np
import pytest
from integrate_cases import ORDER, pendulum
from numba import njit, objmode

import mbkern as mb
from mbkern.core import checks
from mbkern.errors import IntegrationError, StateError

STEP = {"rk4": 1e-2, "midpoint": 1e-2, "gauss4": 1e-2, "gauss6": 1e-2, "dopri5": None}
END = 0.5  # of what the functions below can do

pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")  # "Exception ignored in ..."


@njit
def moves_until(t):
    if t > END:
        raise ValueError("out of track")
    return 0.1 * t, 0.1, 0.0


@njit
def pushes_until(t, q, p, out):
    if t > END:
        raise ValueError("out of fuel")
    out[0] = 1.0


@njit
def blows_until(t, q, p, out):
    if t > END:
        raise ValueError("out of wind")
    out[0, 1] = 1.0


@njit
def watches_until(t, q, p):
    if t > END:
        raise ValueError("out of sight")
    return 1.0


def driven(f):
    builder = mb.ModelBuilder()
    builder.add_body("cart", joint=[mb.translate("x", mb.drive(f))], mass=1.0)
    builder.add_body("bob", "cart", mb.revolute("y"), mass=1.0, com=(0.5, 0, 0))
    return mb.System(builder.build())


@pytest.mark.parametrize("integrator", ORDER)
@pytest.mark.parametrize(("what", "name", "said"), [
    ("drive", "moves_until", "out of track"),
    ("tau", "pushes_until", "out of fuel"),
    ("wrench", "blows_until", "out of wind"),
    ("events", "watches_until", "out of sight"),
])
def test_a_function_that_raises_ends_the_run(integrator, what, name, said):
    """Status, time, name, what was raised, and all states up to there; nothing else is found or reported."""
    function = globals()[name]
    system, options = (driven(function), {}) if what == "drive" else (pendulum(), {what: function})
    solution = system.simulate([0.1], [0.0], (0.0, 2.0), integrator, step=STEP[integrator], **options)
    assert solution.status == "failed" and not solution.success
    assert f"'{name}'" in solution.message and f"ValueError: {said}" in solution.message
    assert "stopped at t = 0." in solution.message
    assert isinstance(solution.cause, ValueError) and said in str(solution.cause)
    assert 0.3 < solution.t[-1] <= END and solution.t.size > 5 and np.isfinite(solution.q).all()
    assert all(record.t.size == 0 for record in solution.events)
    assert solution.t.size == solution.n_accepted + 1, "a step that did not come to its end is not counted"


@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "midpoint"])
def test_a_drive_that_raises_in_a_batch(integrator):
    zeros = np.zeros((6, 1))
    solution = driven(moves_until).simulate_batch(zeros, zeros, (0.0, 2.0), integrator, step=STEP[integrator])
    assert (solution.status == checks.SINGULAR).all() and np.isnan(solution.q[:, -1]).all()
    assert ((solution.reached > 0.3) & (solution.reached <= END)).all()
    assert "'moves_until'" in solution.message(3) and "out of track" in solution.message(3)


def test_a_force_that_raises_in_a_batch():
    @njit
    def unwilling(t, q, p, out, i):
        if i >= 2 and t > 0.1:
            raise ValueError("state of its own")

    zeros = np.zeros((6, 1))
    for options, word in (({"tau": unwilling}, "for tau"), ({"reduce": unwilling}, "for reduce")):
        solution = pendulum().simulate_batch(zeros, zeros, (0.0, 0.5), "rk4", step=0.01, **options)
        assert solution.status.tolist() == [0, 0] + 4 * [checks.CALLBACK_FAILED]
        for i in (2, 5):
            assert f"'unwilling' {word} raised ValueError: state of its own (state 2, t = 0.1" in solution.message(i)
        assert solution.reached[2] == pytest.approx(0.1 if word == "for tau" else 0.11)


def test_a_drive_that_raises_in_single_calls():
    """Everything that evaluates drives says so, with what the function raised as the cause."""
    system = driven(moves_until)
    q, p, t = [0.1], [0.2], 0.75
    calls = [
        lambda: system.rhs(q, p, t),
        lambda: system.rhs(q, p, t, tau=[1.0]),
        lambda: system.ode()(t, np.array([0.1, 0.2])),
        lambda: system.energy(q, p, t),
        lambda: system.velocities(q, p, t),
        lambda: system.momenta(q, p, t),
        lambda: system.accelerations(q, p, t),
        lambda: system.reactions(q, p, t),
        lambda: system.body_velocities(q, p, t),
    ]
    for call in calls:
        with pytest.raises(StateError, match="'moves_until' raised ValueError: out of track") as info:
            call()
        assert isinstance(info.value.__cause__, ValueError)
    with pytest.warns(RuntimeWarning, match="'moves_until' raised ValueError: out of track"):
        Qdot, _ = system.rhs_batch([q, q], [p, p], [0.0, t])
    assert np.isfinite(Qdot[0]).all() and np.isnan(Qdot[1]).all()


def test_a_drive_that_raises_in_embedded_functions():
    system = driven(moves_until)
    f, dydt = system.cfunc, np.zeros(2)
    f.ctypes(0.75, np.array([0.1, 0.2]), dydt, f.user_data)
    assert f.status == checks.SINGULAR and np.isnan(dydt).all()
    assert "'moves_until' raised ValueError: out of track" in str(f.error)
    rhs, block = system.njit()
    qdot, pdot = np.zeros(1), np.zeros(1)
    assert rhs(block, 0.75, np.array([0.1]), np.array([0.2]), np.empty(0), qdot, pdot, system.work()) == checks.SINGULAR
    f.ctypes(0.25, np.array([0.1, 0.2]), dydt, f.user_data)
    assert f.status == checks.OK and np.isfinite(dydt).all() and f.error is None


@pytest.mark.parametrize("what", ["drive", "tau"])
def test_a_stepper_whose_function_raises(what):
    """The error chains what was raised; the stepper stays at its last state."""
    system, options = (driven(moves_until), {}) if what == "drive" else (pendulum(), {"tau": pushes_until})
    for integrator in ("rk4", "dopri5", "gauss4"):
        stepper = system.stepper(integrator, step=0.01, **options)
        stepper.reset([0.1], [0.0])
        with pytest.raises(IntegrationError, match="raised ValueError: out of") as info:
            stepper.step(100)
        assert isinstance(info.value.__cause__, ValueError)
        assert 0.47 < stepper.t <= END + 1e-9 and np.isfinite(stepper.q).all()


def test_python_code_that_raises_inside_a_compiled_function():
    """An exception of `objmode` is not left behind in the interpreter."""
    def table(t):
        return {0: 0.0}[int(2.0 * t)]

    @njit
    def looks_up(t):
        with objmode(x="float64"):
            x = table(t)
        return x, 0.0, 0.0

    @njit
    def looks_up_forces(t, q, p, out):
        with objmode(x="float64"):
            x = table(t)
        out[0] = x

    for system, options in ((driven(looks_up), {}), (pendulum(), {"tau": looks_up_forces})):
        solution = system.simulate([0.1], [0.0], (0.0, 2.0), "rk4", step=0.01, **options)
        assert solution.status == "failed" and "KeyError" in solution.message and 0.48 < solution.t[-1] <= 0.5


def test_events_that_cannot_be_called():
    """Wrong number of arguments (nothing raised then), or an exception at the beginning: the error names the event."""
    @njit
    def with_two(t, q):
        return t

    @njit
    def impossible(t, q, p):
        raise ValueError("never")
        return 1.0

    for g, word, called in ((with_two, "with_two", False), (impossible, "ValueError: never", True)):
        with pytest.raises(StateError, match=word) as info:
            pendulum().simulate([0.0], [0.0], (0.0, 1.0), events=g)
        assert (info.value.__cause__ is not None) == called


def test_an_event_that_is_no_number_within_a_step():
    """Found while a crossing is located: the end of the step has a value, the middle has none."""
    hole = numba.njit(lambda t, q, p: math.nan if 0.2 < t < 0.8 else t - 0.5)
    solution = pendulum().simulate([0.0], [0.0], (0.0, 2.0), "rk4", step=1.0, events=hole)
    assert solution.status == "failed" and solution.t.tolist() == [0.0] and solution.n_accepted == 0
    assert "is not a number (t = 0." in solution.message


# ------------------------------------------------------------------------------- the table of faults


@njit
def moves_to_nowhere(t):
    return (math.nan if t > END else 0.1 * t), 0.1, 0.0


@njit
def pushes_nan(t, q, p, out):
    out[0] = math.nan if t > END else 1.0


@njit
def blows_nan(t, q, p, out):
    out[0, 1] = math.nan if t > END else 1.0


@njit
def watches_nan(t, q, p):
    return math.nan if t > END else 1.0


@njit
def pushes_nan_of_state(t, q, p, out, i):
    out[0] = math.nan if t > END else 1.0


@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "gauss4"])
@pytest.mark.parametrize(("what", "function", "said"), [
    ("drive", moves_to_nowhere, "body 'cart': the drive of step 1"),
    ("tau", pushes_nan, "the function 'pushes_nan' for tau gave out[0] = nan"),
    ("wrench", blows_nan, "the function 'blows_nan' for wrench gave out[0, 1] = nan"),
    ("events", watches_nan, "the event function 'watches_nan' is not a number"),
])
def test_a_function_that_gives_no_number_ends_the_run(integrator, what, function, said):
    """simulate: status and message, the states before; stepper: an error, and it stays where it was."""
    system, options = (driven(function), {}) if what == "drive" else (pendulum(), {what: function})
    solution = system.simulate([0.1], [0.0], (0.0, 2.0), integrator, step=STEP[integrator], **options)
    assert solution.status == "failed" and said in solution.message and solution.cause is None
    assert 0.3 < solution.t[-1] <= END and np.isfinite(solution.q).all() and np.isfinite(solution.p).all()
    if what != "events":
        stepper = system.stepper(integrator, step=0.01, **options)
        stepper.reset([0.1], [0.0])
        with pytest.raises(IntegrationError) as info:
            stepper.step(100)
        assert said in str(info.value) and 0.47 < stepper.t <= END + 1e-9 and np.isfinite(stepper.q).all()


def test_functions_that_give_no_number_in_a_batch():
    zeros = np.zeros((3, 1))
    solution = driven(moves_to_nowhere).simulate_batch(zeros, zeros, (0.0, 2.0), "rk4", step=0.01)
    assert (solution.status == checks.SINGULAR).all() and "the drive of step 1" in solution.message(0)
    solution = pendulum().simulate_batch(zeros, zeros, (0.0, 2.0), "rk4", step=0.01, tau=pushes_nan_of_state)
    assert (solution.status == checks.BAD_TAU).all() and np.allclose(solution.reached, END, atol=0.011)
    assert np.isnan(solution.q[:, -1]).all() and "joint forces are not finite" in solution.message(2)


def test_functions_of_another_shape_are_refused_at_once():
    """Wrong number of arguments, or something else than numbers: an error that names argument and function."""
    few, text = njit(lambda t, q: None), njit(lambda t, q, p, out: out[0] + "no")
    for system, call, said in (
        (pendulum(), lambda s: s.simulate([0.0], [0.0], (0.0, 1.0), tau=few), "tau: expected a function"),
        (pendulum(), lambda s: s.simulate([0.0], [0.0], (0.0, 1.0), wrench=few), "wrench: expected a function"),
        (pendulum(), lambda s: s.simulate([0.0], [0.0], (0.0, 1.0), tau=text), "tau: <lambda> does not compile"),
        (pendulum(), lambda s: s.stepper("rk4", tau=few), "tau: expected a function"),
        (pendulum(), lambda s: s.simulate_batch([[0.0]], [[0.0]], (0.0, 1.0), tau=few), "tau: expected a function"),
        (pendulum(), lambda s: s.simulate_batch([[0.0]], [[0.0]], (0.0, 1.0), reduce=few), "reduce: expected a fun"),
        (pendulum(), lambda s: s.simulate([0.0], [0.0], (0.0, 1.0), events=few), "event <lambda>: expected"),
    ):
        with pytest.raises(StateError, match=said):
            call(system)


# ------------------------------------------------------------------------------- ctrl-C at any time

INTERRUPTED = """
import random, sys
import numpy as np
import mbkern as mb
from interrupts import ctrl_c
what, seed = sys.argv[1], int(sys.argv[2])
system = mb.System(mb.zoo.chain(3), "emh-ldl")
zeros = np.zeros(3)
many = np.zeros((50_000, 3))
stepper = system.stepper("rk4", step=1e-4)
stepper.reset(zeros, zeros)
calls = {
    "dopri5": lambda: system.simulate(zeros, zeros, (0.0, 1e7), save_every=1000).status,
    "gauss4": lambda: system.simulate(zeros, zeros, (0.0, 1e5), "gauss4", step=1e-3, save_every=1000).status,
    "batch": lambda: "interrupted" if not system.simulate_batch(
        many, many, (0.0, 1e3), "rk4", step=1e-3, reduce="final").success else "finished",
    "stepper": lambda: stepper.step(10**9),
}
if what == "batch":
    system.simulate_batch(many[:4], many[:4], (0.0, 0.1), "rk4", step=1e-2, reduce="final")
elif what == "stepper":
    stepper.step(1)
else:
    system.simulate(zeros, zeros, (0.0, 0.1), what, step=1e-2)
for k in range(3):
    delay = random.Random(10 * seed + k).uniform(0.05, 0.5)
    try:
        with ctrl_c(delay):
            print(calls[what]())
    except KeyboardInterrupt:
        print("interrupted" if what == "stepper" and np.isfinite(stepper.q).all() else "lost")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("what", ["dopri5", "gauss4", "batch", "stepper"])
def test_ctrl_c_at_random_times_keeps_what_there_is(what):
    result = children.python(INTERRUPTED, what, "1", env=os.environ | {"PYTHONPATH": children.FOLDERS})
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == 3 * ["interrupted"]
