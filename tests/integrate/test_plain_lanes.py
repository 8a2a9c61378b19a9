"""Integration on lanes as ordinary Python, against SciPy and formulas written here; see `support/plain_lanes.py`."""

from __future__ import annotations

import numpy as np
import pytest
from plain_lanes import BAD_STATE, Lanes
from scipy.integrate import RK45, solve_ivp
from scipy.integrate._ivp.rk import rk_step

from mbkern.core.checks import CALLBACK_FAILED, NOT_FINITE
from mbkern.core.number import LANES
from mbkern.integrate.kernels import dopri5
from mbkern.integrate.kernels import lane_plan as LP

STATES = np.array([[0.3, 1.0], [2.0, -0.5], [-1.0, 0.2], [0.1, 0.1], [1.5, 3.0], [-2.5, 0.7]])


def swing(t, y):
    """A pendulum that is shaken."""
    return [y[1], -np.sin(y[0]) + 0.3 * np.cos(3.0 * t)]


def exact(y, t0, times, f=swing):
    return solve_ivp(f, (t0, times[-1]), y, method="DOP853", t_eval=times, rtol=1e-12, atol=1e-13).y.T


def ended(run):
    return np.concatenate([run.q[:, -1], run.p[:, -1]], axis=1)


# ---- steps ----

def rk4(f, t, y, h):
    y = np.array(y)
    k1 = np.array(f(t, y))
    k2 = np.array(f(t + h / 2, y + h / 2 * k1))
    k3 = np.array(f(t + h / 2, y + h / 2 * k2))
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + np.array(f(t + h, y + h * k3)))


@pytest.mark.parametrize("ends", [(0.5, 1.5), (1.5, 0.5)])
def test_rk4(ends):
    h = (ends[1] - ends[0]) / 10
    run = Lanes(swing, STATES, 1, ends, "rk4", step=0.1).run()
    for i, y in enumerate(STATES):
        for k in range(10):
            y = rk4(swing, ends[0] + k * h, y, h)
        np.testing.assert_allclose(ended(run)[i], y, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(np.concatenate([run.q[:, 0], run.p[:, 0]], axis=1), STATES)
    assert (run.status == 0).all() and (run.reached == ends[1]).all() and (run.counts == [10, 0]).all()


def test_midpoint_solves_its_equation():
    """And sums with compensation: 20 000 steps do not drift by 20 000 roundings."""
    run = Lanes(swing, STATES, 1, (0.0, 0.1), "midpoint", step=0.1)
    run.chunk()
    for i, y in enumerate(STATES[:LANES]):
        end = ended(run)[i]
        np.testing.assert_allclose(end, y + 0.1 * np.array(swing(0.05, (y + end) / 2)), rtol=0, atol=1e-15)
    slow = Lanes(lambda t, y: [1e-3, 1e-3], [[1.0, 1.0]], 1, (0.0, 20.0), "midpoint", step=1e-2).run()
    assert abs(slow.q[0, -1, 0] - 1.02) < 3e-16


def test_midpoint_keeps_energy_and_is_its_own_inverse():
    def free(t, y):
        return [y[1], -np.sin(y[0])]

    there = Lanes(free, STATES, 1, (0.0, 6.0), "midpoint", step=0.1).run()
    back = Lanes(free, ended(there), 1, (6.0, 0.0), "midpoint", step=0.1).run()
    np.testing.assert_allclose(ended(back), STATES, rtol=0, atol=1e-13)
    energy = lambda y: y[:, 1]**2 / 2 - np.cos(y[:, 0])  # noqa: E731
    assert np.abs(energy(ended(there)) - energy(STATES)).max() < 2e-2  # of second order, does not grow


def test_midpoint_that_does_not_settle():
    """A slope that changes more than the state does has no fixed point that iteration finds."""
    def rough(t, y):
        return [1e3 * np.cos(1e3 * y[1]), 1e3 * np.sin(1e3 * y[0])]

    run = Lanes(rough, STATES[:3], 1, (0.0, 1.0), "midpoint", step=0.1).run()
    assert (run.status == LP.NOT_CONVERGED).all() and (run.reached == 0.0).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_dormand_prince_step_by_step(sign):
    """State, slope and error of each step are those of SciPy's; it is accepted by them, and the next one follows."""
    run = Lanes(swing, STATES, 1, (1.0, 1.0 + 6.0 * sign), "dopri5", step=0.7 * sign, rtol=1e-5, atol=1e-7)
    rejected = accepted = 0
    K = np.zeros((RK45.n_stages + 1, 2))
    for _ in range(400):
        run.chunk(1)  # begins new states; what follows is looked at before and after
        who, lane = run.who.copy(), run.lane.copy()
        before = [run.vector(LP.Y, k) for k in range(LANES)]
        if not (who[LP.STATE] >= 0).any():
            break
        run.chunk(1)
        for k in range(LANES):
            s = who[LP.STATE, k]
            if s < 0 or run.who[LP.STATE, k] != s:
                continue
            t, h, y = lane[LP.TIME, k], run.lane[LP.STEP, k], before[k]
            y_new, slope = rk_step(swing, t, y, np.array(swing(t, y)), h, RK45.A, RK45.B, RK45.C, K)
            scale = 1e-7 + 1e-5 * np.maximum(np.abs(y), np.abs(y_new))
            error = np.sqrt(np.mean((h * (K.T @ RK45.E) / scale) ** 2))
            assert abs(run.lane[LP.ERROR, k] - error) < 1e-6 + 1e-8 * error
            moved = error <= 1.0
            accepted, rejected = accepted + moved, rejected + (not moved)
            assert run.who[LP.MOVED, k] == moved
            assert run.who[LP.STEPS, k] - who[LP.STEPS, k] == moved
            assert run.who[LP.REJECTED, k] - who[LP.REJECTED, k] == (not moved)
            following = dopri5.next_step.py_func(h, error, lane[LP.ERROR_OLD, k], who[LP.STARTED, k] == 1)
            assert run.lane[LP.WANTED, k] == pytest.approx(following, rel=1e-6)
            assert run.who[LP.STARTED, k] == moved
            if moved:
                np.testing.assert_allclose(run.vector(LP.Y, k), y_new, rtol=0, atol=1e-14)
                np.testing.assert_allclose(run.vector(LP.K1, k), slope, rtol=0, atol=1e-13)
                assert run.lane[LP.TIME, k] == t + h
                assert run.lane[LP.ERROR_OLD, k] == pytest.approx(max(error, 1e-4), rel=1e-6)
    assert accepted > 50 and rejected > 3
    assert (run.status == 0).all()
    for i, y in enumerate(STATES):
        np.testing.assert_allclose(ended(run)[i], exact(y, 1.0, [1.0 + 6.0 * sign])[-1], rtol=0, atol=2e-3)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_first_step(sign):
    """Hairer, Norsett & Wanner I, II.4, for each state by itself; not beyond max_step or the end."""
    run = Lanes(swing, STATES, 1, (0.0, 50.0 * sign), "dopri5", rtol=1e-6, atol=1e-9)
    run.chunk(1)
    for k in range(min(LANES, len(STATES))):
        y, f = STATES[k], np.array(swing(0.0, STATES[k]))
        size = lambda x: np.sqrt(np.mean((x / (1e-9 + 1e-6 * np.abs(y)))**2))  # noqa: E731, B023
        h0 = 0.01 * size(y) / size(f)
        d2 = size(np.array(swing(sign * h0, y + sign * h0 * f)) - f) / h0
        wanted = min(100 * h0, (0.01 / max(size(f), d2)) ** 0.2)
        assert run.lane[LP.STEP, k] == pytest.approx(sign * wanted, rel=1e-9)
    short = Lanes(swing, STATES, 1, (0.0, 50.0 * sign), "dopri5", max_step=1e-4)
    short.chunk(1)
    np.testing.assert_allclose(short.lane[LP.STEP, :len(STATES)], sign * 1e-4, rtol=1e-12)
    still = Lanes(lambda t, y: [0.0, 0.0], STATES, 1, (0.0, 2.0 * sign), "dopri5")
    assert (still.run().status == 0).all()


def test_the_first_step_where_the_slope_is_defined_only_close_by():
    def narrow(t, y):
        if t > 1e-6:
            raise ValueError
        return [0.0, 1e-3]

    run = Lanes(narrow, [[5.0, 1.0]], 1, (0.0, 1.0), "dopri5", rtol=1e-3, atol=1e-3).run()
    assert run.status[0] == BAD_STATE and run.counts[0, 0] > 0 and abs(run.reached[0] - 1e-6) < 1e-9


# ---- lanes do not know each other ----

def test_a_state_that_fails_does_not_disturb_the_others():
    def bounded(t, y):
        if abs(y[0]) > 2.2:
            raise ValueError
        return swing(t, y)

    for method, step in (("rk4", 0.05), ("dopri5", 0.1), ("midpoint", 0.05)):
        run = Lanes(bounded, STATES, 1, (0.0, 2.0), method, step=step).run()
        alone = [Lanes(bounded, [y], 1, (0.0, 2.0), method, step=step).run() for y in STATES]
        assert run.status[5] != 0 and run.status[4] != 0 and (run.status[:4] == 0).all(), method
        for i, other in enumerate(alone):
            assert run.status[i] == other.status[0] and run.reached[i] == other.reached[0]
            assert run.failed_at[i] == other.failed_at[0]
            np.testing.assert_array_equal(run.counts[i], other.counts[0])
            np.testing.assert_array_equal(run.q[i], other.q[0])
    assert run.status[5] == BAD_STATE and run.reached[5] == run.failed_at[5] == 0.0


def test_states_that_are_refused_at_once():
    run = Lanes(swing, STATES, 1, (0.0, 1.0), "rk4", step=0.1, refused=(0, 1, 4)).run()
    assert run.status.tolist() == [BAD_STATE, BAD_STATE, 0, 0, BAD_STATE, 0]
    assert np.isnan(run.q[[0, 1, 4]]).all() and run.reached[4] == 0.0
    assert run.plan[LP.DONE] == 6


def test_a_state_that_overflows():
    run = Lanes(lambda t, y: [y[0]**2, y[1]], [[1e10, 0.0], [0.1, 1.0]], 1, (0.0, 1.0), "rk4", step=0.1).run()
    assert run.status.tolist() == [NOT_FINITE, 0]


def test_a_step_that_collapses():
    """Beyond y = 1 / (1 - t) there is nothing."""
    run = Lanes(lambda t, y: [y[0]**2, 0.0], [[1.0, 0.0], [0.1, 0.0]], 1, (0.0, 2.0), "dopri5", rtol=1e-6).run()
    assert run.status.tolist() == [LP.STEP_COLLAPSED, 0]
    assert abs(run.reached[0] - 1.0) < 1e-6


def test_constants_of_machines_come_with_their_states():
    run = Lanes(swing, STATES[:2], 1, (0.0, 1.0), "rk4", step=0.1)
    run.chunk(1)
    assert run.own[1, :2].tolist() == [0.0, 1.0]


# ---- forces ----

def pushed(t, y):
    return [y[1], -np.sin(y[0])]


@pytest.mark.parametrize("method", ["rk4", "dopri5", "midpoint"])
def test_joint_forces(method):
    """The same for all, one for each, or by a function of the number of the state."""
    own = np.arange(6.0)[:, None] * 0.1 - 0.2
    options = dict(step=0.05, rtol=1e-7)
    free = [Lanes(lambda t, y, i=i: [y[1], -np.sin(y[0]) + own[i, 0]], [STATES[i]], 1, (0.0, 1.0), method, **options
                  ).run() for i in range(6)]
    each = Lanes(pushed, STATES, 1, (0.0, 1.0), method, tau=own, **options).run()
    asked = Lanes(pushed, STATES, 1, (0.0, 1.0), method, first=10, **options,
                  tau=lambda t, q, p, out, i: out.__setitem__(0, own[i - 10, 0])).run()
    one = Lanes(pushed, STATES, 1, (0.0, 1.0), method, tau=own[3], **options).run()
    for i in range(6):
        for run in (each, asked):
            np.testing.assert_allclose(ended(run)[i], ended(free[i])[0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(ended(one)[3], ended(free[3])[0], rtol=0, atol=1e-13)


def test_forces_of_a_state_that_failed_are_there_for_the_next():
    """A harmless state takes the place of one without a slope; its joint forces come back."""
    def bounded(t, y):
        if abs(y[0]) > 1.9:
            raise ValueError
        return pushed(t, y)

    own = np.full((6, 1), 0.4)
    run = Lanes(bounded, STATES, 1, (0.0, 1.0), "dopri5", step=0.5, tau=own, rtol=1e-6).run()
    again = Lanes(bounded, STATES[3:4], 1, (0.0, 1.0), "dopri5", step=0.5, tau=own[:1], rtol=1e-6).run()
    np.testing.assert_array_equal(run.q[3], again.q[0])
    assert run.status[1] != 0


@pytest.mark.parametrize("first, own", [(0, [[0.3]]), (1, [[0.0], [0.3]]), (0, [0.3])])
def test_forces_after_a_step_that_went_too_far(first, own):
    """The first step of 3 s leaves where f is defined; the next ones of the same state have their forces again."""
    def bounded(t, y):
        if abs(y[0]) > 1.3:
            raise ValueError
        return pushed(t, y)

    start = [[5.0, 0.0]] * first + [[1.0, 0.5]]
    run = Lanes(bounded, start, 1, (0.0, 3.0), "dopri5", step=3.0, tau=own, rtol=1e-8).run()
    expected = exact([1.0, 0.5], 0.0, [3.0], lambda t, y: [y[1], -np.sin(y[0]) + 0.3])[-1]
    assert run.status[first] == 0 and run.counts[first, 1] > 0
    np.testing.assert_allclose(ended(run)[first], expected, rtol=0, atol=1e-6)


def test_a_force_that_raises_is_noted_with_its_state():
    def force(t, q, p, out, i):
        if i in (11, 12) and t > 0.42:
            raise ValueError
        out[0] = 0.1

    run = Lanes(pushed, STATES[:4], 1, (0.0, 1.0), "rk4", step=0.1, tau=force, first=10).run()
    assert run.status.tolist() == [0, CALLBACK_FAILED, CALLBACK_FAILED, 0]
    at = 3
    assert run.scratch[at + LP.FAULT_STATE] == 2 and run.scratch[at + LP.FAULT_IN] == LP.IN_TAU
    assert run.scratch[at + LP.FAULT_TIME] == pytest.approx(0.45) and run.failed_at[1] == pytest.approx(0.45)
    assert run.reached[1] == pytest.approx(0.4)
    y = run.scratch[at + LP.FAULT:]
    assert np.abs(y - exact(STATES[1], 0.0, [0.45], lambda t, y: [y[1], -np.sin(y[0]) + 0.1])[-1]).max() < 1e-2


# ---- output ----

@pytest.mark.parametrize("method, step, bound", [("rk4", 0.05, 1e-5), ("dopri5", 0.1, 1e-4), ("midpoint", 0.01, 1e-3)])
@pytest.mark.parametrize("ends", [(0.0, 2.0), (2.0, 0.0)])
def test_output_between_steps(method, step, bound, ends):
    times = np.array([ends[0], 0.123, 0.4, 0.4001, 1.03, 1.9, ends[1]])
    times = np.sort(times) if ends[1] > ends[0] else np.sort(times)[::-1]
    run = Lanes(swing, STATES, 1, ends, method, step=step * np.sign(ends[1] - ends[0]) if method == "dopri5" else step,
                times=times, rtol=1e-6).run()
    for i, y in enumerate(STATES):
        found = np.concatenate([run.q[i], run.p[i]], axis=1)
        np.testing.assert_allclose(found[1:], exact(y, ends[0], times[1:]), rtol=0, atol=bound)
        np.testing.assert_array_equal(found[0], y)
    only = Lanes(swing, STATES, 1, ends, method, step=0.1 * np.sign(ends[1] - ends[0]) if method == "dopri5" else 0.1,
                 times=times[1:-1], rtol=1e-6).run()
    assert np.isfinite(only.q).all()


def test_dense_output_of_dormand_prince_is_of_fourth_order():
    """At the middle of one step of 0.4 and of 0.2: the error goes down by 2^5 for a polynomial of degree four."""
    errors = []
    for h in (0.4, 0.2):
        run = Lanes(swing, STATES[:1], 1, (0.0, h), "dopri5", step=h, times=[h / 3], rtol=1.0, atol=1.0).run()
        assert run.counts[0, 0] == 1
        errors.append(np.abs(np.concatenate([run.q[0, 0], run.p[0, 0]]) - exact(STATES[0], 0.0, [h / 3])[-1]).max())
    assert 20.0 < errors[0] / errors[1] < 60.0


@pytest.mark.parametrize("times", [[0.0], [0.5], [0.0, 0.5]])
def test_output_at_the_ends_alone(times):
    run = Lanes(swing, STATES, 1, (0.0, 0.5), "rk4", step=0.1, times=times).run()
    whole = Lanes(swing, STATES, 1, (0.0, 0.5), "rk4", step=0.1).run()
    np.testing.assert_array_equal(run.q, whole.q[:, [int(t > 0.0) for t in times]])


def test_a_state_that_fails_in_its_first_step_has_its_beginning():
    def over(t, y):
        if t > 0.0:
            raise ValueError
        return swing(t, y)

    run = Lanes(over, STATES, 1, (0.0, 0.5), "rk4", step=0.1).run()
    assert (run.status == BAD_STATE).all() and (run.q[:, 0] == STATES[:, :1]).all() and np.isnan(run.q[:, 1]).all()


def test_a_function_sees_every_step_or_the_times():
    seen: dict[int, list[float]] = {}

    def note(t, q, p, kept, i):
        seen.setdefault(i, []).append(t)
        kept[0] = max(kept[0], abs(q[0]))

    run = Lanes(swing, STATES, 1, (0.0, 0.5), "rk4", step=0.1, reduce=note, each_step=True, first=100).run()
    np.testing.assert_allclose([seen[100 + i] for i in range(6)], [np.arange(6) * 0.1] * 6, atol=1e-15)
    assert (run.kept[:, 0] >= np.abs(STATES[:, 0])).all() and (run.status == 0).all()
    seen.clear()
    Lanes(swing, STATES, 1, (0.0, 0.5), "rk4", step=0.1, reduce=note, times=[0.0, 0.25, 0.5]).run()
    assert [seen[i] for i in range(6)] == [[0.0, 0.25, 0.5]] * 6


def test_a_function_that_raises_ends_its_state():
    def note(t, q, p, kept, i):
        if i == 2 and t > 0.25:
            raise ValueError
        if i == 1:
            raise ValueError

    run = Lanes(swing, STATES[:4], 1, (0.0, 0.5), "rk4", step=0.1, reduce=note, each_step=True).run()
    assert run.status.tolist() == [0, CALLBACK_FAILED, CALLBACK_FAILED, 0]
    assert run.scratch[3 + LP.FAULT_STATE] == 2 and run.scratch[3 + LP.FAULT_IN] == LP.IN_REDUCE
    assert run.reached[1] == 0.0 and run.reached[2] == pytest.approx(0.3)


# ---- quaternions ----

def spin(t, y):
    """A turning body; its quaternion is not the first of its coordinates."""
    w, x, z, v = y[1:5]
    return [0.5, -(x + 2 * z) / 2, (w - 2 * v) / 2, (2 * w + v) / 2, (2 * x - z) / 2, 0.0]


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_quaternions_stay_of_length_one(method):
    start = np.array([[0.3, 0.5, 0.5, 0.5, 0.5, 1.0], [0.1, 2.0, 0.0, 0.0, 0.0, 0.0]])
    run = Lanes(spin, start, 5, (0.0, 1.0), method, step=0.25, times=[0.0, 0.6, 1.0], quaternions=(1,), rtol=1e-2,
                atol=1e-2).run()
    np.testing.assert_allclose(np.linalg.norm(run.q[:, :, 1:], axis=2), 1.0, rtol=0, atol=1e-15)
    for i in range(2):
        y = start[i] / [1.0, *[np.linalg.norm(start[i, 1:5])] * 4, 1.0]
        np.testing.assert_allclose(run.q[i, 1:], exact(y, 0.0, [0.6, 1.0], spin)[:, :5], rtol=0, atol=2e-3)
    if method == "dopri5":  # the slope at the end is that of the state which goes on
        one = Lanes(spin, start, 5, (0.0, 9.0), method, step=0.8, quaternions=(1,), rtol=1.0, atol=1.0)
        one.chunk(1)
        for k in range(2):
            np.testing.assert_allclose(one.vector(LP.K1, k), spin(0.8, one.vector(LP.Y, k)), rtol=0, atol=1e-14)
