"""Functions of the user that fail in the midst of a run: it ends with the name, the time and what there is."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import mbkern as mb
from mbkern.analytic import Constraints, Dynamics, Kane, Lagrange, QuasiVelocities
from mbkern.analytic.cases import cart, knife_edge, knife_edge_rate

CART = cart()
LATE = 0.3


def failing(what, fault):
    """A function for forces, constraints, quasi-velocities or h that fails after t = LATE."""
    def forces(t, q, v, out):
        if t > LATE:
            if fault == "raises":
                raise ValueError("too late")
            out[1] = np.nan

    def constraints(t, q, v, a, b, rate):
        knife_edge(t, q, v, a, b, rate)
        knife_edge_rate(t, q, v, a, b, rate)
        if t > LATE:
            if fault == "raises":
                raise ValueError("too late")
            rate[0] = np.nan

    def quasi(t, q, v, Y, Z, rate):
        Y[0, 0], Y[1, 2] = 1.0, 1.0
        if t > LATE:
            if fault == "raises":
                raise ValueError("too late")
            rate[0] = np.nan

    def h(t, q, v, out):
        out[0] = q[0]
        if t > LATE:
            if fault == "raises":
                raise ValueError("too late")
            out[0] = np.nan

    return {"forces": forces, "constraints": constraints, "quasi": quasi, "h": h}[what]


def unit(t, q, out):
    out[0, 0] = 1.0


def simulated(what, f):
    if what == "h":
        return Lagrange(Dynamics(unit, f, ["x"])).simulate([0.1], [0.0], (0.0, 1.0))
    if what == "forces":
        return Lagrange(CART.system, forces=f).simulate(CART.q0, CART.v0, (0.0, 1.0))
    if what == "constraints":
        return Lagrange(CART.system, Constraints(f, 1)).simulate(CART.q0, CART.v0, (0.0, 1.0))
    return Kane(CART.system, CART.constraints, quasi=QuasiVelocities(f, 2)).simulate(CART.q0, CART.v0, (0.0, 1.0))


@pytest.mark.parametrize("fault", ["raises", "not finite"])
@pytest.mark.parametrize("what", ["forces", "constraints", "quasi", "h"])
@pytest.mark.parametrize("compiled", [True, False], ids=["njit", "Python"])
def test_a_function_that_fails_late(what, fault, compiled, capfd):
    f = failing(what, fault)
    run = simulated(what, njit(f) if compiled else f)
    assert not run.success and run.status == "failed"
    assert run.t.size > 3 and abs(run.t[-1] - LATE) < 1e-6 and np.isfinite(run.q).all()
    assert f.__name__ in run.message and "stopped at t = 0.3" in run.message
    if fault == "raises":
        assert f"the function {f.__name__!r} for {what} raised ValueError: too late (t = 0.3" in run.message
        assert isinstance(run.cause, ValueError)
    else:
        assert "not finite" in run.message
    assert capfd.readouterr().err == ""  # nothing is printed and ignored


def test_a_right_hand_side_names_the_function():
    lagrange = Lagrange(CART.system, forces=njit(failing("forces", "raises")))
    with pytest.raises(mb.errors.StateError, match="'forces' for forces raised ValueError: too late") as caught:
        lagrange.rhs(0.5, lagrange.state(CART.q0, CART.v0))
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("make", [
    lambda: Lagrange(CART.system, forces=njit(lambda t, q, v: None)),
    lambda: Lagrange(CART.system, forces=lambda t, q: None),
    lambda: Lagrange(CART.system, Constraints(lambda t, q, v, a: None, 1)),
    lambda: Kane(CART.system, CART.constraints, quasi=QuasiVelocities(lambda t: None, 2)),
    lambda: Lagrange(Dynamics(lambda t, q: None, lambda t, q, v, out: None, ["x"])),
], ids=["forces, njit", "forces", "constraints", "quasi", "M"])
def test_wrong_numbers_of_arguments(make):
    with pytest.raises(mb.errors.StateError, match="failed at a trial call"):
        make()
