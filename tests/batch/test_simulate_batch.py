"""Trajectories of many states: each has the bits of a simulation of its own."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from cases import random_model
from interrupts import ctrl_c
from numba import njit

import mbkern as mb
from mbkern.core import checks
from mbkern.integrate.kernels import lane_plan

STEPS = {"rk4": {"step": 0.01}, "dopri5": {}, "midpoint": {"step": 0.004}}
TIMES = [0.0, 0.013, 0.05, 0.2, 0.3]


def rows(model, count):
    """Random states as rows; quaternions of length exactly one, so that there is nothing to scale at the beginning."""
    drawn = [model.random_state(seed) for seed in range(count)]
    Q = np.array([q for q, _ in drawn])
    for at in model.quaternion_offsets:
        Q[:, at:at + 4] = (0.5, -0.5, 0.5, 0.5)
    return Q, np.array([0.3 * u for _, u in drawn])


@pytest.fixture(scope="module")
def system():
    """Quaternions, drives, springs."""
    builder = mb.ModelBuilder(gravity=(0.3, -0.4, -9.7))
    inertia = (0.2, 0.3, 0.25)
    driven = [mb.rotate("z", mb.harmonic(0.3, 2.0)), mb.translate("x")]
    builder.add_body("base", joint=driven, mass=1.0, inertia=inertia, stiffness=30.0, damping=0.2)
    builder.add_body("ball", "base", mb.ball(), mass=1.0, com=(0.1, 0.2, 0.0), inertia=inertia)
    builder.add_body("arm", "ball", mb.universal("x", "y"), mass=0.5, com=(0, 0, -0.2), inertia=inertia)
    builder.add_body("bird", "base", mb.free(), mass=1.0, inertia=inertia)
    return mb.System(builder.build(), "emh-ldl")


@njit
def push(t, q, p, out, i):
    out[0] = np.sin(t) - 0.1 * p[0] + 0.01 * i


@pytest.mark.parametrize("integrator", STEPS)
@pytest.mark.parametrize("backward", [False, True])
def test_bits_of_single_simulations(system, integrator, backward):
    """Lanes do the arithmetic of a single run in its order; refilled lanes and neighbours change nothing."""
    Q, P = rows(system.model, 9)
    span, times = ((0.3, 0.0), TIMES[::-1]) if backward else ((0.0, 0.3), TIMES)
    solution = system.simulate_batch(Q, P, span, integrator, t_eval=times, threads=2, **STEPS[integrator])
    assert solution.success and solution.q.shape == (9, 5, system.model.nq)
    for i in range(9):
        single = system.simulate(Q[i], P[i], span, integrator, t_eval=times, **STEPS[integrator])
        assert single.success
        assert np.array_equal(solution.q[i], single.q)
        assert np.array_equal(solution.p[i], single.p)
        assert (solution.steps[i], solution.rejected[i]) == (single.n_accepted, single.n_rejected)


def test_forces(system):
    """The same for all, a row for each, and a function that knows the number of the state."""
    model = system.model
    Q, P = rows(model, 6)
    rows_of_tau = np.random.default_rng(1).normal(size=(6, model.nv))
    each = system.simulate_batch(Q, P, (0.0, 0.2), "rk4", step=0.01, tau=rows_of_tau)
    same = system.simulate_batch(Q, P, (0.0, 0.2), "rk4", step=0.01, tau=rows_of_tau[2])
    asked = system.simulate_batch(Q, P, (0.0, 0.2), "dopri5", tau=push)
    for i in range(6):
        number = float(i)

        @njit
        def own(t, q, p, out, number=number):
            push(t, q, p, out, number)

        for solution, tau, kind in (
                (each, rows_of_tau[i], "rk4"), (same, rows_of_tau[2], "rk4"), (asked, own, "dopri5")):
            single = system.simulate(Q[i], P[i], (0.0, 0.2), kind, tau=tau, t_eval=[0.0, 0.2],
                                     step=0.01 if kind == "rk4" else None)
            assert np.array_equal(solution.p[i], single.p)


def test_a_diverging_state_spoils_no_other():
    """A pendulum that is thrown so hard that a fixed step explodes, rows of NaN, and a drive that ends."""
    builder = mb.ModelBuilder()
    for k in range(3):
        builder.add_body(f"rod{k}", f"rod{k - 1}" if k else "world", mb.revolute("xyx"[k]), mass=1.0,
                         com=(0.1, 0.2, -0.5), inertia=(0.1, 0.1, 0.1), position=(0, 0, -1.0 if k else 0.0))
    system = mb.System(builder.build(), "emh-ldl")
    rng = np.random.default_rng(0)
    Q, P = rng.normal(size=(11, 3)), rng.normal(size=(11, 3))
    calm = system.simulate_batch(Q, P, (0.0, 1.0), "rk4", step=0.01)
    assert calm.success
    Q[3, 1], P[5], P[8] = np.nan, np.nan, (3e4, -2e4, 4e4)
    for threads in (1, 2):
        solution = system.simulate_batch(Q, P, (0.0, 1.0), "rk4", step=0.01, threads=threads)
        assert solution.failed.tolist() == [3, 5, 8] and not solution.success
        assert solution.status[[3, 5]].tolist() == [checks.BAD_Q, checks.BAD_P]
        assert 0.0 <= solution.reached[8] < 1.0 and "state 8 stopped at t = " in solution.message(8)
        fine = solution.status == 0
        assert np.array_equal(solution.q[fine], calm.q[fine]) and np.array_equal(solution.p[fine], calm.p[fine])
        assert np.isnan(solution.q[[3, 5, 8], -1]).all()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Numba reports it there
def test_every_way_to_fail():
    """A spline that ends, a step that is too long for the fixed-point iteration, a function that raises."""
    builder = mb.ModelBuilder()
    builder.add_body("cart", joint=[mb.translate("x", mb.spline([0.0, 0.5, 1.0], [0.0, 0.1, 0.0])), mb.rotate("y")],
                     mass=1.0, com=(0, 0, -0.1), inertia=(0.01, 0.01, 0.01), stiffness=400.0)
    system = mb.System(builder.build(), "emh-ldl")
    start = np.full((5, 1), 0.1), np.zeros((5, 1))
    late = system.simulate_batch(*start, (0.0, 2.0), t_eval=[0.5, 1.5, 2.0])
    assert (late.status == checks.SINGULAR).all() and np.allclose(late.reached, 1.0, atol=1e-6)
    assert np.isfinite(late.q[:, 0]).all() and np.isnan(late.q[:, 1:]).all()
    long = system.simulate_batch(*start, (0.0, 1.0), "midpoint", step=0.5)
    assert (long.status == lane_plan.NOT_CONVERGED).all() and "smaller step" in long.message(0)

    @njit
    def unwilling(t, q, p, out, i):
        if i == 2:
            raise ValueError
        out[0] = 0.0

    stubborn = system.simulate_batch(*start, (0.0, 0.5), "rk4", step=0.005, tau=unwilling)
    assert stubborn.status.tolist() == [0, 0, checks.CALLBACK_FAILED, 0, 0]
    reduced = system.simulate_batch(*start, (0.0, 0.5), "rk4", step=0.005, reduce=unwilling)
    assert reduced.status.tolist() == [0, 0, checks.CALLBACK_FAILED, 0, 0]


@njit
def highest(t, q, p, kept, i):
    kept[0] = max(kept[0], abs(q[0]))
    kept[1] += 1
    kept[2] = i


def test_reduction(system):
    Q, P = rows(system.model, 7)
    full = system.simulate_batch(Q, P, (0.0, 0.3), "rk4", step=0.01, t_eval=np.linspace(0, 0.3, 31))
    final = system.simulate_batch(Q, P, (0.0, 0.3), "rk4", step=0.01, reduce="final")
    assert final.q.shape == (7, system.model.nq) and final.t.tolist() == [0.3]
    assert np.array_equal(final.q, full.q[:, -1]) and np.array_equal(final.p, full.p[:, -1])
    every = system.simulate_batch(Q, P, (0.0, 0.3), "rk4", step=0.01, reduce=highest, reduce_size=3)
    assert every.q is None and every.kept[:, 1:].tolist() == [[31.0, float(i)] for i in range(7)]
    # the same steps; linspace misses their ends by a rounding error
    assert np.allclose(every.kept[:, 0], np.abs(full.q[:, :, 0]).max(axis=1), rtol=1e-12)
    some = system.simulate_batch(Q, P, (0.0, 0.3), "dopri5", t_eval=[0.1, 0.2], reduce=highest, reduce_size=3)
    assert (some.kept[:, 1] == 2.0).all()


@pytest.mark.parametrize(("change", "kind", "said"), [
    ({"integrator": "gauss4"}, mb.errors.MethodError, "batches have rk4, dopri5, midpoint, got 'gauss4' .it works in"),
    ({"integrator": "euler"}, mb.errors.MethodError, "batches have rk4, dopri5, midpoint, got 'euler'$"),
    ({"integrator": "rk4"}, mb.errors.StateError, "step: integrator 'rk4' has fixed steps"),
    ({"Q0": np.zeros((4, 2))}, mb.errors.StateError, "Q0: expected"),
    ({"P0": np.zeros((5, 3))}, mb.errors.StateError, "P0: expected as many rows as Q0"),
    ({"t_span": (1.0, 1.0)}, mb.errors.StateError, "t_span"),
    ({"t_eval": [0.0, 2.0]}, mb.errors.StateError, "outside t_span"),
    ({"threads": -1}, mb.errors.StateError, "threads: expected"),
    ({"tau": np.zeros((2, 3))}, mb.errors.StateError, "tau: expected"),
    ({"tau": lambda t, q, p, out, i: None}, mb.errors.StateError, "njit function f.t, q, p, out, i"),
    ({"reduce": "mean"}, mb.errors.StateError, "reduce: expected None"),
    ({"reduce": "final", "t_eval": [1.0]}, mb.errors.StateError, "t_eval: expected None beside"),
    ({"reduce": highest, "reduce_size": 0}, mb.errors.StateError, "reduce_size: expected a whole number"),
    ({"rtol": -1.0}, mb.errors.StateError, "rtol"),
])
def test_bad_input(change, kind, said):
    arguments = {"Q0": np.zeros((4, 3)), "P0": np.zeros((4, 3)), "t_span": (0.0, 1.0)} | change
    with pytest.raises(kind, match=said):
        mb.System(mb.zoo.chain(3), "emh-ldl").simulate_batch(**arguments)


def test_progress(capsys):
    zeros = np.zeros((40, 3))
    mb.System(mb.zoo.chain(3), "emh-ldl").simulate_batch(zeros, zeros, (0.0, 0.1), "rk4", step=0.01, progress=True)
    assert "100%  40 of 40 states" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupt_keeps_what_is_done():
    """ctrl-C: the states that are done stay, the others say so."""
    system = mb.System(mb.zoo.chain(10), "emh-ldl")
    zeros = np.zeros((200_000, 10))
    system.simulate_batch(zeros[:4], zeros[:4], (0.0, 0.1), "rk4", step=0.01)  # compiled
    with ctrl_c(0.5):  # the whole would take an hour
        solution = system.simulate_batch(zeros, zeros, (0.0, 10.0), "rk4", step=1e-3, threads=2, reduce="final")
    stopped = solution.status == lane_plan.INTERRUPTED
    assert stopped.any() and np.isnan(solution.q[stopped]).all() and np.isfinite(solution.q[~stopped]).all()
    assert "interrupted" in solution.message(int(solution.failed[0]))


MEMORY = """
import resource, sys
import numpy as np, mbkern as mb
system = mb.System(mb.zoo.chain(7), "emh-ldl")
Q, P = np.zeros((100_000, 7)), np.zeros((100_000, 7))
Q[:, 0] = np.linspace(-1, 1, 100_000)
system.simulate_batch(Q[:8], P[:8], (0.0, 0.01), "rk4", step=0.005, reduce="final")
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
before = peak()
solution = system.simulate_batch(Q, P, (0.0, 0.05), "rk4", step=0.005, reduce="final")
assert solution.success
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no getrusage")
def test_memory_of_many_states():
    """1e5 states of a chain of 7, 10 steps. Bound: the answer (14 numbers, status, time, counts: 18 a state, 14.4 MB)
    and 16 MB for everything else; all steps of all states would be 123 MB."""
    result = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(result.stdout) < 18 * 8 * 100_000 + 16 * 2**20


def test_random_trees_stay_together():
    """Order, number and threads do not matter: any part of a batch is the batch of that part."""
    model = random_model("random", 8, 3)
    system = mb.System(model, "emh-ldl")
    Q, P = rows(model, 70)
    whole = system.simulate_batch(Q, P, (0.0, 0.05), threads=8)
    order = np.random.default_rng(0).permutation(70)[:33]
    part = system.simulate_batch(Q[order], P[order], (0.0, 0.05), threads=1)
    assert np.array_equal(part.q, whole.q[order], equal_nan=True)
    assert np.array_equal(part.status, whole.status[order])
