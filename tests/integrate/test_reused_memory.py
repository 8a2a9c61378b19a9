"""A run leaves nothing behind for the next one, which may use its memory; and short runs are quick because of that."""

from __future__ import annotations

import itertools
import threading
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from integrate_cases import ORDER, flying

import mbkern as mb
from mbkern.errors import StateError
from mbkern.integrate import driver
from mbkern.integrate.kernels import plan as P
from mbkern.integrate.options import INTEGRATORS
from mbkern.integrate.problem import problem_of


@numba.njit
def push(t, q, p, out):
    out[:] = 0.1


@numba.njit
def blow(t, q, p, out):
    out[:] = 0.1


@numba.njit
def never(t, q, p):
    return 1.0


def machine():
    model = flying()
    system = mb.System(model)
    q, u = model.random_state(seed=3)
    return system, q, system.momenta(q, 0.2 * u)


def everything(solution):
    return (solution.t, solution.q, solution.p, np.array([solution.nfev, solution.n_accepted, solution.n_rejected]))


OTHERS = [
    {}, {"t_eval": [0.02, 0.01]}, {"dense": True}, {"events": never}, {"save_every": 3}, {"tau": push},
    {"wrench": blow}, {"tau": np.full(11, 0.3)}, {"wrench": np.ones((3, 6))}, {"rtol": 1e-3, "atol": np.full(24, 1e-2)},
    {"tau": lambda t, q, p: -p, "control_step": 0.01}, {"tau": lambda t, q, p: None, "control_step": 0.01},
]


@pytest.mark.parametrize("integrator", ORDER)
def test_other_runs_before_change_nothing(integrator):
    system, q, p = machine()
    step = None if integrator == "dopri5" else 2e-3
    wanted = everything(mb.System(system.model).simulate(q, p, (0.0, 0.05), integrator, step=step))
    for options in OTHERS:
        system.simulate(1.01 * q if "events" in options else q, 2.0 * p, (0.1, 0.0), integrator,
                        **({"step": 5e-3} | options))
        found = everything(system.simulate(q, p, (0.0, 0.05), integrator, step=step))
        assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True)), options
    with pytest.raises(StateError):
        system.simulate(q, p, (0.0, 0.05), integrator, step=step, tau=[1.0])
    found = everything(system.simulate(q, p, (0.0, 0.05), integrator, step=step))
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_newton_iterations_are_the_same_every_time():
    """Where plain iteration does not converge: also the number of evaluations."""
    builder = mb.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("stiff", joint=mb.prismatic("x"), mass=1.0, stiffness=1e8)
    system = mb.System(builder.build())
    runs = [system.simulate([1e-3], [0.0], (0.0, 0.1), "gauss4", step=1e-2) for _ in range(3)]
    assert runs[0].success and runs[0].nfev == runs[1].nfev == runs[2].nfev
    assert np.array_equal(runs[0].q, runs[2].q)


def test_results_are_not_the_memory_of_later_runs():
    system, q, p = machine()
    several = ({}, {"dense": True}, {"t_eval": [0.0, 0.05]}, {})  # the last one is short: its speed is known
    first = [system.simulate(q, p, (0.0, 0.05), **options) for options in several]
    kept = [(s.t.copy(), s.q.copy(), s.p.copy()) for s in first]
    between = first[1].sol(0.03)
    for options in several:
        system.simulate(q, -p, (0.0, 0.05), **options)
    for solution, arrays in zip(first, kept, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip((solution.t, solution.q, solution.p), arrays, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(first[1].sol(0.03), between, strict=True))


def test_lists_and_other_arrays_give_the_same_bits():
    """What compiled code takes as it is, and what is converted first; quaternions are scaled in one way only."""
    system, q, p = machine()
    for at in system.model.quaternion_offsets:
        q[at:at + 4] *= 1.03
    wanted = everything(system.simulate(q, p, (0.0, 0.02)))
    strided = np.zeros((q.size, 2))
    strided[:, 0] = q
    for given in (q.tolist(), tuple(q), strided[:, 0]):
        found = everything(system.simulate(given, list(p), (0.0, 0.02)))
        assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))
    stepper = system.stepper("rk4", step=1e-3)
    stepper.reset(q, p)
    assert np.array_equal(stepper.q, wanted[1][0])


def test_threads_share_the_pool():
    system, q, p = machine()
    wanted = everything(system.simulate(q, p, (0.0, 0.05)))
    wrong = []

    def work():
        for _ in range(20):
            found = everything(system.simulate(q, p, (0.0, 0.05)))
            wrong.extend(not np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not any(wrong) and len(wrong) == 4 * 20 * 4
    assert len(system.binding.runs["dopri5"]) <= 4


def test_large_outputs_are_not_kept():
    """Buffers that were made for one run go with it."""
    system, q, p = machine()
    solution = system.simulate(q, p, (0.0, 0.01), "rk4", step=1e-3, t_eval=np.linspace(0.0, 0.01, 10_000), dense=True)
    assert solution.success
    run, = system.binding.runs["rk4"]
    held = sum(array.nbytes for array in vars(run).values() if isinstance(array, np.ndarray))
    assert held < 500_000


def test_a_short_run_does_not_touch_the_signal_handler(monkeypatch):
    """It costs more than the run; but a run whose speed is not known, or that calls functions, does watch."""
    system, q, p = machine()
    watched, clock = [], itertools.count()

    class Spy(driver.Interrupt):
        def __enter__(self):
            watched.append(True)
            return super().__enter__()

    monkeypatch.setattr(driver, "Interrupt", Spy)
    monkeypatch.setattr(driver, "time", SimpleNamespace(perf_counter=lambda: 1e-5 * next(clock)))
    for expected in (1, 1):
        system.simulate(q, p, (0.0, 1e-3))
        assert len(watched) == expected
    system.simulate(q, p, (0.0, 1e-3), tau=push)
    system.simulate(q, p, (0.0, 100.0), save_every=1000)
    assert len(watched) == 3


def test_few_slow_steps_tell_how_fast_a_run_is(monkeypatch):
    """A tenth of a millisecond for one of them: a run of some is over before anybody has pressed ctrl-C."""
    system, q, p = machine()
    run = driver.Run(problem_of(system), INTEGRATORS["rk4"], np.concatenate((q, p)), 0.0, 1.0, step=1e-3,
                     n_steps=1000)
    assert run.start() == P.MORE and run.short == 0
    clock = itertools.count()
    monkeypatch.setattr(driver.time, "perf_counter", lambda: 1e-4 * next(clock))
    assert run.paced(1) == P.MORE
    monkeypatch.undo()
    assert 2 < run.short <= round(driver.SHORT * driver.CHUNK_SECONDS / 1e-4)
