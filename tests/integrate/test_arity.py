"""Functions of users that take other arguments than they are given: refused in our words, before anything compiles."""

import numba
import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import StateError


@numba.njit
def two(t, q):
    return q[0]


@numba.njit
def three(t, q, p):
    return q[0]


@numba.njit
def six(t, q, p, out, i, more):
    out[0] = 1.0


@numba.njit
def with_default(t, q, p, out, i=0):
    out[0] = 1.0


@numba.njit
def speeds(t, q, qdot, out):
    out[0] = -qdot[0]


START = np.zeros(2)
SPAN = (0.0, 0.01)


@pytest.mark.parametrize("give, said", [
    (lambda s: s.simulate(START, START, SPAN, events=two),
     r"event two: expected a function g\(t, q, p\), got two\(t, q\)"),
    (lambda s: mb.event(six), r"event six: expected a function g\(t, q, p\), got six\(t, q, p, out, i, more\)"),
    (lambda s: s.simulate(START, START, SPAN, tau=three), r"tau: expected a function f\(t, q, p, out\), got three"),
    (lambda s: s.simulate(START, START, SPAN, wrench=two), r"wrench: expected a function f\(t, q, p, out\), got two"),
    (lambda s: s.stepper("rk4", 0.01, tau=six), r"tau: expected a function f\(t, q, p, out\), got six"),
    (lambda s: mb.embed.CFunc(s, tau=two), r"tau: expected a function f\(t, q, p, out\), got two"),
    (lambda s: s.simulate(START, START, SPAN, tau=lambda t, q, u, out: None),
     r"tau: the third argument of <lambda>\(t, q, u, out\) is the momenta p, .* take both: f\(t, q, p, u, out\)"),
    (lambda s: s.simulate(START, START, SPAN, tau=speeds), r"the third argument of speeds\(t, q, qdot, out\) is the"),
    (lambda s: s.simulate(START, START, SPAN, tau=lambda t, q, u: START, control_step=0.01),
     r"tau: the third argument of <lambda>\(t, q, u\) is the momenta p, .* take both: f\(t, q, p, u\)"),
    (lambda s: s.simulate_batch([START], [START], SPAN, tau=three),
     r"tau: expected a function f\(t, q, p, out, i\), got three"),
    (lambda s: s.simulate_batch([START], [START], SPAN, reduce=two),
     r"reduce: expected a function f\(t, q, p, kept, i\), got two"),
])
def test_wrong_arguments(give, said):
    with pytest.raises(StateError, match=said):
        give(mb.System(mb.zoo.chain(2)))


def test_defaults_count():
    system = mb.System(mb.zoo.chain(2))
    pushed = system.simulate(START, START, SPAN, "rk4", step=0.01, tau=with_default)
    batch = system.simulate_batch([START], [START], SPAN, "rk4", step=0.01, tau=with_default)
    assert np.array_equal(pushed.q[-1], batch.q[0, -1]) and pushed.p[-1, 0] != 0.0
