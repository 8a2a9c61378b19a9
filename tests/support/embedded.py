"""Machines and callers that the tests of `mbkern.embed` share."""

import numba
import numpy as np
from cases import random_model, random_state

import mbkern as mb
from mbkern.methods import METHODS

T = 0.37


@numba.njit
def sway(t):
    return 0.2 * np.sin(3.0 * t), 0.6 * np.cos(3.0 * t), -1.8 * np.sin(3.0 * t)


@numba.njit
def push(t, q, p, out):
    """Joint forces of time and momenta."""
    for j in range(out.size):
        out[j] = np.sin(t + j) - 0.1 * p[j]


@numba.njit
def wind(t, q, p, out):
    """Wrenches, not on every body: what is left out is zero."""
    for b in range(0, out.shape[0], 2):
        out[b, 1] = 2.0 + t + q[0]
        out[b, 5] = 0.3 * b


def shaken():
    """A ball and a free joint on a body that compiled drives move."""
    builder = mb.ModelBuilder(name="shaken")
    builder.add_body("table", joint=[mb.translate("x", mb.drive(sway)), mb.rotate("z"), mb.rotate("y", mb.drive(sway))],
                     mass=2.0, com=(0.1, 0.0, 0.2), inertia=(0.1, 0.2, 0.15))
    builder.add_body("ball", "table", mb.ball(), mass=1.0, com=(0, 0, -0.3), inertia=(0.02, 0.03, 0.04))
    builder.add_body("drone", "table", mb.free(), mass=1.5, inertia=(0.05, 0.04, 0.06))
    return builder.build()


def machines():
    """(model, q, p): random trees with every kind of joint, and one with compiled drives."""
    cases = [(random_model(family, 12, seed, springs=seed % 2 == 0, rotors=seed > 2), seed)
             for family, seed in (("random", 1), ("binary", 2), ("chain", 3), ("carousel", 4))]
    kinds = ("ball", "free", "driven", "revolute")
    cases += [(random_model("random", 10, 5, base="free", kinds=kinds, rotors=True), 5), (shaken(), 6)]
    return [(model, *random_state(model, seed)) for model, seed in cases]


def compiled_caller(method):
    """An njit function that calls the right-hand side of a method, as a user would write it."""
    rhs, _ = mb.System(mb.zoo.chain(1), method).njit()

    @numba.njit(nogil=True)
    def call(block, t, q, p, tau, qdot, pdot, work):
        return rhs(block, t, q, p, tau, qdot, pdot, work)

    return call


CALLERS = {method: compiled_caller(method) for method in METHODS}  # compiled on first call


def from_numba(system, t, q, p, tau=None):
    """dydt from inside compiled code."""
    _, block = system.njit()
    dydt = np.empty(q.size + p.size)
    forces = np.empty(0) if tau is None else tau
    code = CALLERS[system.method](block, t, q, p, forces, dydt[:q.size], dydt[q.size:], system.work())
    assert code == 0
    return dydt


def from_ctypes(f, t, y):
    """dydt through the ctypes function."""
    dydt = np.empty(f.size)
    f.ctypes(t, y, dydt, f.user_data)
    return dydt
