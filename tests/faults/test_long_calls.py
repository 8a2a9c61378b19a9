"""Faults of the calls that are made of many runs: gradients, exponents, periodic motions, sections."""

from __future__ import annotations

import os

import numpy as np
import pytest
from numba import njit
from processes import printed

import mbkern as mb
from mbkern.errors import IntegrationError, MbkernError, NotEnoughMemoryError, StateError

SYSTEM, Q, P = mb.System(mb.zoo.chain(2)), [0.3, 0.5], [0.1, -0.2]


def loss(t, q, p):
    return float(q[-1, 0]), np.eye(1, 2), np.zeros((1, 2))


CALLS = {
    "gradient": lambda system, **how: mb.gradient(loss, system, Q, P, (0.0, 0.1), "rk4", step=0.01, **how),
    "lyapunov": lambda system, **how: mb.chaos.lyapunov(system, Q, P, 0.1, interval=0.05, integrator="rk4", step=0.01,
                                                        **how),
    "monodromy": lambda system, **how: mb.orbits.monodromy(system, Q, P, 0.1, integrator="rk4", step=0.01, **how),
    "periodic": lambda system, **how: mb.orbits.periodic(system, Q, P, 0.1, integrator="rk4", step=0.01, **how),
    "poincare": lambda system, **how: mb.orbits.poincare(system, Q, P, system.model.coordinate_names[0], 3,
                                                         integrator="rk4", step=0.01, **how),
}


@njit
def raises_late(t, q, p, out):
    if t > 0.04:
        raise ValueError("out of fuel")


@njit
def nan_late(t, q, p, out):
    out[0] = np.nan if t > 0.04 else 0.0


mb.forces.with_derivative(raises_late)
mb.forces.with_derivative(nan_late)


@pytest.mark.parametrize("call", CALLS)
def test_a_force_that_raises_is_the_cause(call):
    with pytest.raises(IntegrationError, match=r"raises_late.*out of fuel") as caught:
        CALLS[call](SYSTEM, tau=raises_late)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("call", CALLS)
def test_a_force_that_gives_no_number_is_named(call):
    with pytest.raises(IntegrationError, match="nan_late"):
        CALLS[call](SYSTEM, tau=nan_late)


@pytest.mark.parametrize("call", CALLS)
def test_machines_that_they_are_not_for(call):
    with pytest.raises(MbkernError, match=r"newton-euler-ldl|momenta|q, u"):
        CALLS[call](mb.System(SYSTEM.model, "newton-euler-ldl"))
    if call != "poincare":  # which needs no derivatives
        closed = mb.System(mb.zoo.four_bar())
        with pytest.raises(MbkernError, match=r"constraints|expected 3 real numbers"):
            CALLS[call](closed)


def test_losses_that_are_none():
    def gives(answer):
        return lambda t, q, p: answer

    for answer in (np.nan, "much", 1j, np.ones(2), (1.0, np.ones(2)), (1.0, np.ones((1, 2)), np.full((1, 2), np.inf)),
                   (1.0, np.ones((1, 3)), np.ones((1, 2))), None):
        with pytest.raises(StateError, match="loss"):
            mb.gradient(gives(answer), SYSTEM, Q, P, (0.0, 0.1), "rk4", step=0.01)

    def raises(t, q, p):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        mb.gradient(raises, SYSTEM, Q, P, (0.0, 0.1), "rk4", step=0.01)


def test_exponents_of_more_intervals_than_memory_holds():
    with pytest.raises(NotEnoughMemoryError, match="lyapunov: 1000000000000 intervals need"):
        mb.chaos.lyapunov(SYSTEM, Q, P, 1e12, interval=1.0)
    with pytest.raises(StateError, match="interval: 1e-300 s is too small"):
        mb.chaos.lyapunov(SYSTEM, Q, P, 1.0, interval=1e-300)


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_ends_them():
    """Each would run for an hour; `periodic` took an interrupted run for one that failed, and went on."""
    assert printed("""
import os, signal, threading, time
import mbkern as mb
signal.signal(signal.SIGINT, signal.default_int_handler)
system, q, p = mb.System(mb.zoo.chain(2)), [0.3, 0.5], [0.1, -0.2]
def loss(t, q, p):
    return float(q[-1, 0])
calls = [lambda T: mb.chaos.lyapunov(system, q, p, 20 * T, interval=T, integrator="rk4", step=0.01),
         lambda T: mb.orbits.monodromy(system, q, p, T, integrator="rk4", step=0.01),
         lambda T: mb.orbits.periodic(system, q, p, T, integrator="rk4", step=0.01),
         lambda T: mb.orbits.poincare(system, q, p, system.model.coordinate_names[0], 10**12, longest=T),
         lambda T: mb.gradient(loss, system, q, p, (0.0, T), "rk4", step=0.01)]
for call in calls:
    try:
        call(0.1)  # compiles
    except mb.errors.IntegrationError:
        pass
    threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    try:
        call(3e5)
        print("no end")
    except KeyboardInterrupt:
        print(time.monotonic() - begin < 5.0)
""", seconds=300).split() == ["True"] * 5
