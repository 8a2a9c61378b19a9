"""Runs: events, output, interruption, progress, steppers, failures, bad input."""

import io
import math
import os
import pickle
import signal
import threading
from pathlib import Path

import children
import numba
import numpy as np
import pytest
from integrate_cases import FIXED, ORDER, flying, pendulum, pendulum_angle, quarter_period, state
from interrupts import ctrl_c

import mbkern as mb
from mbkern.core.cabi import ODE
from mbkern.core.jit import source_stamp
from mbkern.errors import IntegrationError, MbkernError, MethodError, StateError
from mbkern.integrate import progress
from mbkern.integrate.driver import Record, Run, drive, joined
from mbkern.integrate.kernels import plan as P
from mbkern.integrate.kernels import run as run_kernels
from mbkern.integrate.options import INTEGRATORS
from mbkern.integrate.problem import Problem

STEP = {"rk4": 1e-3, "midpoint": 1e-4, "gauss4": 1e-3, "gauss6": 1e-3, "dopri5": None}
HANGING = 0.5 * np.pi


@numba.njit
def below(t, q, p):
    return q[0] - 0.5 * np.pi


@numba.njit
def late(t, q, p):
    return t - 1.25


@numba.njit
def turning(t, q, p):
    return p[0]


# ------------------------------------------------------------------------------------------------ events


@pytest.mark.parametrize("integrator", ORDER)
def test_event_times(integrator):
    """Passages through the lowest point come after 1, 3, 5 ... quarters of the period."""
    system = pendulum()
    quarter = quarter_period(1.0)
    run = dict(integrator=integrator, step=STEP[integrator], rtol=1e-11, atol=1e-12)
    solution = system.simulate([HANGING - 1.0], [0.0], (0.0, 6 * quarter), events=[below, late], **run)
    assert solution.status == "finished" and len(solution.events) == 2
    times = solution.events[0].t
    # the error of the midpoint rule itself: (w h)^2 / 24 of the time
    tolerance = 1e-6 if integrator == "midpoint" else 1e-8
    np.testing.assert_allclose(times, quarter * np.array([1, 3, 5]), rtol=0, atol=tolerance)
    np.testing.assert_allclose(solution.events[1].t, [1.25], rtol=0, atol=1e-14)
    assert np.abs(solution.events[0].q[:, 0] - HANGING).max() < 1e-13, "located to round-off on the dense output"
    assert solution.events[1].p.shape == (1, 1)


@pytest.mark.parametrize("integrator", ORDER)
def test_direction_and_terminal(integrator):
    system = pendulum()
    quarter = quarter_period(1.0)
    run = dict(integrator=integrator, step=STEP[integrator], rtol=1e-11, atol=1e-12)

    def times(**flags):
        solution = system.simulate([HANGING - 1.0], [0.0], (0.0, 6 * quarter), events=mb.event(below, **flags), **run)
        return solution, solution.events[0].t

    tolerance = dict(rtol=0, atol=1e-6)
    np.testing.assert_allclose(times(direction=1)[1], [quarter, 5 * quarter], **tolerance)
    np.testing.assert_allclose(times(direction=-1)[1], [3 * quarter], **tolerance)
    solution, found = times(terminal=True)
    np.testing.assert_allclose(found, [quarter], **tolerance)
    assert solution.status == "event" and solution.success
    assert solution.t[-1] == found[0] and np.array_equal(solution.q[-1], solution.events[0].q[0])
    solution, found = times(terminal=2)
    np.testing.assert_allclose(found, [quarter, 3 * quarter], **tolerance)
    solution, found = times(terminal=2, direction=1)
    np.testing.assert_allclose(found, [quarter, 5 * quarter], **tolerance)


def test_start_on_an_event_is_no_event():
    """g = 0 at the beginning is not a crossing (turning: the pendulum is released at rest)."""
    solution = pendulum().simulate([HANGING - 1.0], [0.0], (0.0, 5 * quarter_period(1.0)), events=turning,
                                   rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(solution.events[0].t, quarter_period(1.0) * np.array([2, 4]), rtol=0, atol=1e-8)


def test_events_backward_and_beside_output():
    system = pendulum()
    quarter = quarter_period(1.0)
    solution = system.simulate([HANGING - 1.0], [0.0], (0.0, -2 * quarter), events=mb.event(below, terminal=True),
                               t_eval=[0.0, -0.1, -2 * quarter], dense=True, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(solution.events[0].t, [-quarter], rtol=0, atol=1e-9)
    assert solution.t.tolist() == [0.0, -0.1], "nothing after the event"
    q, _ = solution.sol(solution.events[0].t)
    assert abs(q[0, 0] - HANGING) < 1e-12
    with pytest.raises(StateError, match="sol"):
        solution.sol(-1.5 * quarter)


def test_two_events_in_one_step_come_in_order():
    @numba.njit
    def first(t, q, p):
        return t - 0.5

    @numba.njit
    def second(t, q, p):
        return t - 0.6

    system = pendulum()
    run = dict(integrator="rk4", step=1.0)
    solution = system.simulate([HANGING], [0.0], (0.0, 2.0), events=[second, mb.event(first, terminal=True)], **run)
    assert solution.t[-1] == pytest.approx(0.5, abs=1e-14)
    assert solution.events[0].t.size == 0, "the terminal event comes first"
    solution = system.simulate([HANGING], [0.0], (0.0, 2.0), events=[mb.event(second, terminal=True), first], **run)
    assert solution.t[-1] == pytest.approx(0.6, abs=1e-14) and solution.events[1].t.size == 1


def test_event_flags_may_be_attributes():
    @numba.njit
    def mark(t, q, p):
        return t - 0.25

    mark.terminal = True
    solution = pendulum().simulate([0.0], [0.0], (0.0, 1.0), events=[mark])
    assert solution.status == "event" and solution.t[-1] == pytest.approx(0.25, abs=1e-15)


def test_bad_events():
    system = pendulum()

    def python(t, q, p):
        return q[0]

    for events, word in (
        (python, "numba.njit"),
        ([below, 3], "njit"),
        (numba.njit(lambda t, q, p: q), "number"),
        (numba.njit(lambda t, q, p: t > 0.5), "number"),
        (numba.njit(lambda t, q, p: math.nan), "not a number"),
    ):
        with pytest.raises(StateError, match="event") as info:
            system.simulate([0.0], [0.0], (0.0, 1.0), events=events)
        assert word in str(info.value)
    for flags in ({"direction": 2}, {"direction": "up"}, {"terminal": -1}, {"terminal": 0.5}):
        with pytest.raises(StateError, match=next(iter(flags))):
            mb.event(below, **flags)
    lost = numba.njit(lambda t, q, p: math.nan if t > 0.5 else 1.0)
    solution = system.simulate([0.0], [0.0], (0.0, 1.0), events=lost)
    assert not solution.success and "event function '<lambda>' is not a number" in solution.message
    assert 0.0 < solution.t[-1] <= 0.5


# ------------------------------------------------------------------------------------------------ output


def test_save_every():
    system, q, p = state(flying(), 1)
    every = system.simulate(q, p, (0.0, 1.0), "rk4", step=1e-3)
    some = system.simulate(q, p, (0.0, 1.0), "rk4", step=1e-3, save_every=300)
    assert every.t.size == 1001 and some.t.tolist() == pytest.approx([0.0, 0.3, 0.6, 0.9, 1.0])
    assert np.array_equal(some.q, every.q[[0, 300, 600, 900, 1000]])


def test_many_buffers():
    """More output than one buffer holds, in steps, dense output and events, arrives whole."""
    system = pendulum()
    many = numba.njit(lambda t, q, p: np.sin(20.0 * t + 1.0))
    solution = system.simulate([0.0], [0.0], (0.0, 2000.0), "rk4", step=0.02, dense=True, events=many)
    assert solution.t.size == 100_001 and np.all(np.diff(solution.t) > 0)
    np.testing.assert_allclose(np.diff(solution.events[0].t), np.pi / 20.0, rtol=0, atol=1e-11)
    assert solution.events[0].t.size > 10_000
    np.testing.assert_allclose(solution.sol(solution.t[::1000])[0], solution.q[::1000], rtol=0, atol=1e-11)


def test_whole_number_of_steps():
    """A step that does not fit is shortened, never lengthened; rounding adds no step."""
    system = pendulum()
    for end, step, n in ((1.0, 0.3, 4), (1.0, 0.1, 10), (0.3, 0.1, 3), (1.0, 5.0, 1), (0.7, 0.1, 7)):
        solution = system.simulate([0.0], [0.0], (0.0, end), "rk4", step=step)
        assert solution.n_accepted == n and solution.t[-1] == end and solution.t.size == n + 1
        np.testing.assert_allclose(np.diff(solution.t), end / n, rtol=1e-12)
    assert system.simulate([0.0], [0.0], (0.0, 1.0), "gauss4", step=0.5, max_step=0.1).n_accepted == 10


def test_max_step_and_first_step():
    system = pendulum()
    solution = system.simulate([HANGING + 1e-3], [0.0], (0.0, 5.0), max_step=0.05)
    assert np.diff(solution.t).max() <= 0.05 * (1 + 1e-9)
    solution = system.simulate([0.0], [0.0], (0.0, 1.0), step=1e-4)
    assert solution.t[1] == pytest.approx(1e-4)
    # the automatic one is neither rejected nor wasteful
    solution = system.simulate([0.0], [0.0], (0.0, 1.0), rtol=1e-6, atol=1e-6)
    assert solution.n_rejected <= 2 and solution.n_accepted < 60
    # equilibrium: nothing to follow, large steps
    assert system.simulate([HANGING], [0.0], (0.0, 100.0)).n_accepted < 300


def test_counts():
    system = pendulum()
    assert system.simulate([0.0], [0.0], (0.0, 1.0), "rk4", step=0.01).nfev == 400
    solution = system.simulate([0.0], [0.0], (0.0, 1.0))
    assert solution.nfev == 6 * (solution.n_accepted + solution.n_rejected) + 2, "FSAL: six a step, two to begin"


def test_solution_for_people(tmp_path):
    system, q, p = state(mb.zoo.chain(3), 2)
    solution = system.simulate(q, p, (0.0, 1.0))
    text = repr(solution)
    assert "dopri5" in text and "energy drift" in text and f"{solution.nfev} evaluations" in text
    data = solution.to_dict()
    assert np.array_equal(data["q"], solution.q) and data["status"] == "finished"
    energy = solution.energy()
    one = system.energy(solution.q[5], solution.p[5])
    assert [e[5] for e in energy] == pytest.approx(list(one), rel=1e-14)
    with pytest.raises(IntegrationError, match="dense=True"):
        solution.sol(0.5)
    dense = system.simulate(q, p, (0.0, 1.0), dense=True)
    for bad in (-0.1, 1.1, np.nan, [[0.1]], "soon"):
        with pytest.raises(StateError, match=r"sol\(t\)"):
            dense.sol(bad)


def test_plot(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    system, q, p = state(mb.zoo.pipelayer(), 3)
    figure = system.simulate(q, p, (0.0, 0.5)).plot(coordinates=["theta", 0])
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000
    assert [line.get_label() for line in figure.axes[0].lines] == ["theta", "z"]


def test_pickle():
    system, q, p = state(flying(), 14)
    solution = system.simulate(q, p, (0.0, 0.2), dense=True)
    copy = pickle.loads(pickle.dumps(solution))
    assert np.array_equal(copy.q, solution.q) and repr(copy) == repr(solution)
    assert np.array_equal(copy.sol(0.1)[1], solution.sol(0.1)[1])


# ------------------------------------------------------------------------------- any other ODE


@numba.cfunc(ODE)
def kepler(t, y, dydt, user):
    y, dydt = numba.carray(y, 4), numba.carray(dydt, 4)
    cube = (y[0] ** 2 + y[1] ** 2) ** 1.5
    dydt[0], dydt[1], dydt[2], dydt[3] = y[2], y[3], -y[0] / cube, -y[1] / cube


@pytest.mark.parametrize("integrator", ORDER)
def test_any_c_function(integrator):
    """The same machine code integrates whatever has the C signature: a Kepler orbit closes after its period."""
    problem = Problem(kepler.address, 0, 0, 4, 2, np.empty(0, np.int64), lambda code, t: "no value", str)
    method = INTEGRATORS[integrator]
    y0 = np.array([0.5, 0.0, 0.0, np.sqrt(3.0)])  # eccentricity 0.5, semi-axis 1
    n = {"midpoint": 100_000, "rk4": 4000}.get(integrator, 1000)
    run = Run(problem, method, y0, 0.0, 2 * np.pi, step=0.0 if method.adaptive else 2 * np.pi / n, n_steps=n,
              rtol=1e-11, atol=1e-12, save_every=1)
    record = Record()
    assert drive(run, record).status == "finished"
    y = joined(record.y)
    np.testing.assert_allclose(y[-1], y0, rtol=0, atol=1e-6 if integrator == "midpoint" else 1e-7)
    spin = y[:, 0] * y[:, 3] - y[:, 1] * y[:, 2]  # quadratic: kept by the Gauss methods
    assert np.abs(spin - spin[0]).max() < (1e-12 if method.kind == P.GAUSS else 1e-8)


# ------------------------------------------------------------------------------- long runs, interruption


@pytest.mark.parametrize("integrator", ["dopri5", "gauss4"])
def test_ctrl_c_returns_what_was_computed(integrator):
    system = pendulum()
    system.simulate([0.0], [0.0], (0.0, 0.1), integrator, step=STEP[integrator])  # compiled before the clock starts
    before = signal.getsignal(signal.SIGINT)
    with ctrl_c(0.5):
        solution = system.simulate([0.0], [0.0], (0.0, 1e9), integrator, step=1e-3, save_every=10_000)
    assert solution.status == "interrupted" and not solution.success and "interrupted at" in solution.message
    assert solution.t.size > 2 and 0.1 < solution.t[-1] < 1e9
    assert signal.getsignal(signal.SIGINT) is before
    again = system.simulate([0.0], [0.0], (0.0, float(solution.t[1])), integrator, step=1e-3, save_every=10_000)
    if integrator != "dopri5":  # another end, another last step there
        np.testing.assert_allclose(again.q[-1], solution.q[1], rtol=0, atol=1e-9)


def test_other_threads_may_simulate():
    results = []
    system, q, p = state(flying(), 3)

    def work():
        results.append(system.simulate(q, p, (0.0, 0.5)).q[-1])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = system.simulate(q, p, (0.0, 0.5)).q[-1]
    assert len(results) == 4 and all(np.array_equal(result, expected) for result in results)


def test_progress_bar(capsys, monkeypatch):
    pendulum().simulate([0.0], [0.0], (0.0, 20.0), progress=True)
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1 and "100%" in shown and "t = 20 s" in shown and "s/s" in shown and "step" in shown
    pendulum().simulate([0.0], [0.0], (0.0, 1.0))
    assert capsys.readouterr().err == ""
    stream = io.StringIO()
    monkeypatch.setattr(progress, "INTERVAL", 60.0)
    bar = progress.Progress(0.0, 10.0, stream)
    bar.show(2.5, 0.01, 250)
    bar.show(2.6, 0.01, 260)  # too soon after
    assert stream.getvalue().count("\r") == 1 and " 25%" in stream.getvalue()


# ------------------------------------------------------------------------------------------------ stepper


@pytest.mark.parametrize("integrator", FIXED)
def test_stepper_is_simulate(integrator):
    system, q, p = state(flying(), 4)
    solution = system.simulate(q, p, (1.0, 1.5), integrator, step=0.01)
    stepper = system.stepper(integrator, step=0.01)
    stepper.reset(q, p, t=1.0)
    stepper.step()
    stepper.step(n=9)
    np.testing.assert_allclose(stepper.q, solution.q[10], rtol=0, atol=1e-13)
    assert stepper.t == pytest.approx(1.1, abs=1e-14)
    q_end, p_end = stepper.step(40)
    np.testing.assert_allclose(q_end, solution.q[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(p_end, stepper.p, rtol=0, atol=0)
    stepper.reset(q, p)
    assert stepper.t == 0.0 and np.array_equal(stepper.p, p)


def test_adaptive_stepper():
    system = pendulum()
    stepper = system.stepper("dopri5", step=0.1, rtol=1e-11, atol=1e-12)
    stepper.reset([HANGING - 1.0], [0.0])
    for k in range(1, 31):
        q, _ = stepper.step()
        assert HANGING - q[0] == pytest.approx(pendulum_angle(0.1 * k, 1.0), abs=1e-8)
        assert stepper.t == pytest.approx(0.1 * k, abs=1e-14)
    back = system.stepper("dopri5", step=-0.1, rtol=1e-11, atol=1e-12)
    back.reset(stepper.q, stepper.p, stepper.t)
    q, _ = back.step(30)
    assert q[0] == pytest.approx(HANGING - 1.0, abs=1e-7)


@pytest.mark.parametrize("integrator", ORDER)
def test_stepper_with_forces(integrator):
    """Forces that change from step to step: the same as separate runs with each of them."""
    system, q, p = state(mb.zoo.chain(3), 5)
    stepper = system.stepper(integrator, step=0.01)
    stepper.reset(q, p)
    rng = np.random.default_rng(1)
    for k in range(5):
        tau = rng.normal(size=3)
        solution = system.simulate(stepper.q, stepper.p, (0.01 * k, 0.01 * (k + 1)), integrator, step=0.01, tau=tau)
        q, p = stepper.step(tau=tau)
        np.testing.assert_allclose(p, solution.p[-1], rtol=0, atol=1e-8)
    with pytest.raises(StateError, match="tau"):
        stepper.step(tau=[1.0])


def test_stepper_refuses():
    system = pendulum()
    stepper = system.stepper("rk4", step=0.01)
    assert "not started" in repr(stepper)
    with pytest.raises(IntegrationError, match="reset"):
        stepper.step()
    stepper.reset([0.0], [0.0])
    with pytest.raises(StateError, match="n:"):
        stepper.step(0)
    for bad in (0.0, np.nan, "short", None):
        with pytest.raises(StateError, match="step"):
            system.stepper("rk4", step=bad)
    with pytest.raises(StateError, match="tau"):
        own = system.stepper("rk4", step=0.01, tau=[1.0])
        own.reset([0.0], [0.0])
        own.step(tau=[2.0])


# ------------------------------------------------------------------------------------------------ failures


def spline_driven():
    builder = mb.ModelBuilder()
    builder.add_body("carriage", joint=[mb.translate("x", mb.spline([0.0, 0.5, 1.0], [0.0, 0.1, 0.0]))], mass=1.0)
    builder.add_body("bob", "carriage", mb.revolute("y"), mass=1.0, com=(0.5, 0, 0))
    return mb.System(builder.build())


@pytest.mark.parametrize("integrator", ORDER)
def test_failure_keeps_what_was_computed(integrator):
    """A drive that ends at t = 1: success is False, the message names time, body and reason."""
    step = 1e-2 if integrator != "dopri5" else None
    solution = spline_driven().simulate([0.1], [0.0], (0.0, 2.0), integrator, step=step)
    assert not solution.success and solution.status == "failed"
    assert "'carriage'" in solution.message and "0 to 1" in solution.message and "t = " in solution.message
    assert 0.98 < solution.t[-1] <= 1.0 + 1e-8 and solution.t.size > 10 and np.isfinite(solution.q).all()
    assert solution.message in repr(solution)


def test_singular_configuration():
    """A massless frame about z that carries a bob: nothing to move when the bob comes onto the axis, at t = pi / 2.

    A step ends there; adaptive methods rather step over the point.
    """
    builder = mb.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("frame", joint=mb.revolute("z"))
    builder.add_body("bob", "frame", mb.revolute("x"), mass=1.0, com=(0, 1.0, 0))
    system = mb.System(builder.build())
    q = [0.0, 0.25 * np.pi]
    solution = system.simulate(q, system.momenta(q, [0.0, 0.5]), (0.0, np.pi), "rk4", step=np.pi / 200)
    assert not solution.success and solution.t.size in (100, 101)
    assert "'frame'" in solution.message and "nothing to move" in solution.message


def test_singular_from_the_beginning():
    builder = mb.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("frame", joint=mb.revolute("z"))
    builder.add_body("bob", "frame", mb.revolute("x"), mass=1.0, com=(0, 0, 1.0))
    solution = mb.System(builder.build()).simulate([0.0, 0.0], [0.0, 0.0], (0.0, 1.0))
    assert not solution.success and "'frame'" in solution.message and solution.t.tolist() == [0.0]


def test_step_size_collapse():
    """A force that blows up in finite time: p' = 1 + p^2 ends at pi / 2."""
    builder = mb.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("cart", joint=mb.prismatic("x"), mass=1.0)

    @numba.njit
    def tau(t, q, p, out):
        out[0] = 1.0 + p[0] ** 2

    solution = mb.System(builder.build()).simulate([0.0], [0.0], (0.0, 2.0), tau=tau)
    assert not solution.success and solution.t[-1] == pytest.approx(0.5 * np.pi, abs=1e-3)
    assert "'cart'" in solution.message or "not finite" in solution.message


def test_stages_that_do_not_converge():
    solution = mb.System(mb.zoo.chain(5)).simulate(np.ones(5), 5 * np.ones(5), (0.0, 10.0), "gauss6", step=2.0)
    assert not solution.success and "step 2 s" in solution.message
    assert solution.t.size >= 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_force_that_raises():
    @numba.njit
    def tau(t, q, p, out):
        if t > 0.5:
            raise ValueError("no")

    solution = pendulum().simulate([0.0], [0.0], (0.0, 1.0), tau=tau)
    assert not solution.success and "raised" in solution.message and 0.4 < solution.t[-1] <= 0.5


# ------------------------------------------------------------------------------------------------ bad input


BAD = [
    ({"t_span": (1.0, 1.0)}, "t_span"),
    ({"t_span": (0.0, np.nan)}, "t_span"),
    ({"t_span": (0.0, np.inf)}, "t_span"),
    ({"t_span": 3.0}, "t_span"),
    ({"t_span": (0.0, 1.0, 2.0)}, "t_span"),
    ({"t_span": ("a", "b")}, "t_span"),
    ({"rtol": 0.0}, "rtol"),
    ({"rtol": -1e-3}, "rtol"),
    ({"rtol": np.nan}, "rtol"),
    ({"rtol": 1e-17}, "rtol"),
    ({"atol": 0.0}, "atol"),
    ({"atol": [1e-3]}, "atol"),
    ({"atol": [1e-3, -1.0]}, "atol"),
    ({"atol": "small"}, "atol"),
    ({"step": 0.0}, "step"),
    ({"step": -0.1}, "step"),
    ({"step": np.nan}, "step"),
    ({"max_step": 0.0}, "max_step"),
    ({"integrator": "rk4"}, "step"),
    ({"integrator": "gauss4"}, "needs their size"),
    ({"integrator": "rk4", "step": 0.0}, "step"),
    ({"integrator": "rk4", "step": 1e-300}, "step"),
    ({"t_eval": [0.5, 0.2]}, "sort"),
    ({"t_eval": [0.5, 0.5]}, "t_eval"),
    ({"t_eval": [0.5, 1.5]}, "t_eval"),
    ({"t_eval": [0.5, np.nan]}, "t_eval"),
    ({"t_eval": []}, "t_eval"),
    ({"t_eval": [[0.5]]}, "t_eval"),
    ({"t_eval": "now"}, "t_eval"),
    ({"t_eval": [0.2, 0.5], "t_span": (1.0, 0.0)}, "decreasing"),
    ({"save_every": 0}, "save_every"),
    ({"save_every": 1.5}, "save_every"),
    ({"save_every": 2, "t_eval": [0.5]}, "save_every"),
    ({"q0": [np.nan]}, "q0"),
    ({"q0": [0.0, 0.0]}, "q0"),
    ({"p0": []}, "p0"),
    ({"tau": [1.0, 2.0]}, "tau"),
    ({"tau": [np.nan]}, "tau"),
    ({"tau": lambda t, q, p: q}, r"tau: expected a function f\(t, q, p, out\), got .*beside control_step"),
    ({"wrench": lambda t: None}, r"wrench: expected a function f\(t, q, p, out\), got"),
    ({"wrench": [1.0]}, "wrench"),
]


@pytest.mark.parametrize("bad, word", BAD, ids=[str(k) for k in range(len(BAD))])
def test_bad_input(bad, word):
    good = {"q0": [0.0], "p0": [0.0], "t_span": (0.0, 1.0)}
    with pytest.raises(StateError, match=word):
        pendulum().simulate(**good | bad)


@pytest.mark.parametrize("name", ["euler", "RK4", "", None, 4])
def test_unknown_integrator(name):
    with pytest.raises(MethodError, match="dopri5"):
        pendulum().simulate([0.0], [0.0], (0.0, 1.0), name)
    with pytest.raises(MbkernError, match="rk4"):
        pendulum().stepper(name)


# ------------------------------------------------------------------------------------------------ the cache


def test_kernels_carry_the_stamp_of_their_folder():
    folder = Path(run_kernels.__file__).parent
    assert run_kernels.run._cache._cache_file._source_stamp[0] == (source_stamp(), source_stamp(folder))


@pytest.mark.nightly
def test_stamped_cache_outside_the_core(tmp_path):
    """A kernel of another folder is compiled anew when a leaf beside it changes, only then. In CI: test_cache.py."""
    (tmp_path / "leaf.py").write_text("from mbkern.core.jit import exact\n@exact\ndef leaf(x):\n    return x + 1.0\n")
    (tmp_path / "top.py").write_text(
        "from mbkern.core.jit import checked\nfrom leaf import leaf\n@checked\ndef top(x):\n    return leaf(x)\n")
    code = "from top import top; print(top(1.0), sum(top.stats.cache_hits.values()))"

    def result():
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(mb.__file__).parents[1])])}
        return children.python(code, env=env, check=True).stdout.split()

    assert result() == ["2.0", "0"]
    assert result() == ["2.0", "1"]
    (tmp_path / "leaf.py").write_text("from mbkern.core.jit import exact\n@exact\ndef leaf(x):\n    return x + 2.0\n")
    assert result() == ["3.0", "0"]
