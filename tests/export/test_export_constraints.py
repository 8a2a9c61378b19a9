"""Closed loops as a C library: the bits of rhs, accelerations, rows of the constraints, steps."""

import ctypes

import numpy as np
import pytest
from exported import Caller

import mbkern as mb

OPERATIONS = ("rhs", "accelerations", "constraint_matrix", "rk4", "dopri5")


@pytest.fixture(scope="module")
def setup(tmp_path_factory):
    system = mb.System(mb.zoo.four_bar())
    made = mb.export.library(system, tmp_path_factory.mktemp("loop") / "loop", OPERATIONS, batch=True)
    q, u = system.consistent([0.3, 0.0, 0.0], [0.5, -0.2, 0.1])
    return system, Caller(made), q, system.momenta(q, u)


def test_operations(setup):
    system, call, q, p = setup
    qdot, pdot, udot, tau = np.empty(3), np.empty(3), np.empty(3), np.array([0.3, 0.0, -0.1])
    assert call("rhs", 0.0, q, p, tau, qdot, pdot) == 0
    assert np.array_equal((qdot, pdot), system.rhs(q, p, tau=tau))
    assert call("accelerations", 0.0, q, qdot, tau, udot) == 0
    assert np.array_equal(udot, system.accelerations(q, qdot, tau=tau))
    a, b = np.empty((system.model.n_rows, 3)), np.empty(system.model.n_rows)
    assert call("constraint_matrix", 0.0, q, a, b) == 0 and np.array_equal(a, system.constraint_matrix(q)[0])


def test_batches(setup):
    system, call, q, p = setup
    Q, P = np.tile(q, (5, 1)), np.outer(np.arange(5.0), p)
    Qdot, Pdot, codes = np.empty_like(Q), np.empty_like(P), np.empty(5, np.int64)
    assert call("rhs_batch", 5, 0.0, Q, P, None, Qdot, Pdot, codes, result=ctypes.c_int64) == 0
    expected = system.rhs_batch(Q, P)
    assert np.array_equal(Qdot, expected[0]) and np.array_equal(Pdot, expected[1])


def test_loops_stay_closed_over_steps(setup):
    system, call, q0, p0 = setup
    q, p = q0.copy(), p0.copy()
    assert call("rk4", 0.0, 1e-3, 200, q, p, None, None) == 0
    stepper = system.stepper("rk4", step=1e-3)
    stepper.reset(q0, p0)
    assert np.array_equal((q, p), stepper.step(200))
    assert np.abs(system.constraint_residuals(q)).max() < 1e-13
    q, p, clock = q0.copy(), p0.copy(), np.zeros(4)
    assert call("dopri5", 0.5, 10000, 1e-8, 1e-10, clock, q, p, None, None) == 0
    expected = system.simulate(q0, p0, (0.0, 0.5), rtol=1e-8, atol=1e-10)
    # states of a Solution have been put right once more: rounding, on numbers of size 1
    assert clock[0] == 0.5 and np.abs(q - expected.q[-1]).max() < 1e-15 and np.abs(p - expected.p[-1]).max() < 1e-14


def test_what_they_cannot_do_is_named(setup, tmp_path):
    system, *_ = setup
    loop = system.model.constraints[0].name
    with pytest.raises(mb.errors.ExportError, match=rf"jacobian_rhs .* constraints \('{loop}', \.\.\.\)"):
        mb.export.library(system, tmp_path / "loop", ("rhs", "jacobian_rhs"))
    with pytest.raises(mb.errors.ExportError, match=f"fmu: models with constraints \\('{loop}', ...\\)"):
        mb.export.fmu(system, tmp_path / "loop.fmu")
    with pytest.raises(mb.errors.ExportError, match=f"casadi: models with constraints \\('{loop}', ...\\)"):
        mb.export.casadi(system)
    with pytest.raises(mb.errors.ExportError, match=r"constraint_matrix.* \(for models with constraints\)"):
        mb.export.library(mb.System(mb.zoo.chain(2)), tmp_path / "arm", "constraint_matrix")
