"""Machines that move by virtue of special lengths: with one row too many they are locked where loops are not closed,
and stages of a step are no closed loops. And the benchmarks A02 and A04 against Exudyn."""

import warnings

import numpy as np
import pytest

import mbkern as mb

T_END = 0.5


@pytest.fixture(scope="module")
def bricard():
    return mb.System(mb.zoo.bricard())


@pytest.fixture(scope="module")
def there(bricard):
    """Where it is after half a second from rest."""
    return bricard.simulate(np.zeros(5), np.zeros(5), (0.0, T_END), rtol=1e-11, atol=1e-13, t_eval=[T_END]).q[-1]


def test_which_machines_lock(bricard):
    assert bricard.locks_when_open and bricard.mobility(bricard.some_closed_pose).rank == 4
    assert not mb.System(mb.zoo.four_bar()).locks_when_open
    b = mb.ModelBuilder()  # a door on two hinges: rows too many wherever it is
    b.add_body("door", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0), inertia=(1, 1, 1))
    b.add_loop("second hinge", "door", "world", "revolute", (0, 0, 1), (0, 0, 1))
    assert not mb.System(b.build()).locks_when_open


@pytest.mark.parametrize(("integrator", "order"), [("rk4", 4), ("midpoint", 2), ("gauss4", 4)])
def test_order_is_kept_where_rows_are_redundant(bricard, there, integrator, order):
    errors = []
    for n in (50, 100):
        run = bricard.simulate(np.zeros(5), np.zeros(5), (0.0, T_END), integrator, step=T_END / n, t_eval=[T_END])
        assert run.success and np.abs(run.constraint_drift).max() < 1e-9
        errors.append(np.abs(run.q[-1] - there).max())
    assert errors[1] < 5e-4 and np.log2(errors[0] / errors[1]) > order - 0.5, errors


@pytest.mark.parametrize(("integrator", "options"), [("rk4", {"step": 2.5e-3}), ("dopri5", {"rtol": 1e-9})])
def test_the_energy_of_the_benchmark(bricard, integrator, options):
    """IFToMM A04: 1e-3 J in 10 s. An evaluation that is not smooth would take dopri5 a hundred times as many steps."""
    run = bricard.simulate(np.zeros(5), np.zeros(5), (0.0, 10.0), integrator, **options)
    assert np.ptp(run.energy().kinetic) > 5.0 and np.ptp(run.energy().hamiltonian) < 1e-3
    assert run.n_accepted <= 4000 and np.abs(run.constraint_drift).max() < 1e-13


def test_without_projection_and_with_a_kept_gauge(bricard, there):
    for options in ({"project": False}, {"gauge": "keep"}):
        run = bricard.simulate(np.zeros(5), np.zeros(5), (0.0, T_END), "rk4", step=0.01, t_eval=[T_END], **options)
        np.testing.assert_allclose(run.q[-1], there, atol=1e-5)


# ---- Exudyn ----
def end_of(system, q, p, body, point, step):
    run = system.simulate(q, p, (0.0, 0.6), "rk4", step=step, t_eval=[0.6])
    R, r = system.body_poses(run.q[-1])
    return r[body] + R[body] @ np.asarray(point)


def test_benchmarks_against_exudyn(bricard):
    """A02 with two loops and A04; Exudyn's error falls with the square of its step, which the tolerance is."""
    pytest.importorskip("exudyn", reason="needs Exudyn: pip install mbkern[peers]")
    warnings.simplefilter("ignore", DeprecationWarning)
    import exudyn_machines as machines

    row = mb.System(mb.zoo.n_four_bar(2))
    u = np.array([-1.0 if name.startswith("crank") else 1.0 for name in row.model.speed_names])
    q = np.zeros(row.model.nv)
    rod = bricard.model.body_index("rod2")
    ours = [end_of(row, q, row.momenta(q, u), 0, (0.0, 1.0, 0.0), 1e-3),
            end_of(bricard, np.zeros(5), np.zeros(5), rod, bricard.model.body_specs[rod].com, 2e-3)]
    theirs = [np.array([machines.four_bars(2, 0.6, n), machines.bricard(0.6, n)]) for n in (250, 500)]
    coarse, fine = (np.abs(found - ours).max(axis=1) for found in theirs)
    assert (fine < 2e-4).all() and (coarse > 3.0 * fine).all(), (coarse, fine)
