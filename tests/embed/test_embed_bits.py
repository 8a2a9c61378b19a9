"""Python, compiled code, ctypes and C get the same bits, for every method, with and without loads."""

import numpy as np
import pytest
from c_library import compiler, library
from cases import random_loads
from embedded import CALLERS, T, from_ctypes, from_numba, machines, push, wind

import mbkern as mb
from mbkern.methods import METHODS

# what surrounds a kernel is the same for all
SOME = ("emh-ldl", "hzu", *[pytest.param(name, marks=pytest.mark.nightly) for name in ("emh-lu", "dah")])
MACHINES = machines()
needs_c = pytest.mark.skipif(compiler() is None, reason="no C compiler (gcc, cc, clang) on the path")


def from_c(f, t, y):
    dydt = np.empty(f.size)
    library().evaluate(f.address, t, y.ctypes.data, dydt.ctypes.data, f.user_data)
    assert library().status(f.user_data) == 0
    return dydt


@pytest.mark.parametrize("method", SOME)
@pytest.mark.parametrize("case", range(len(MACHINES)))
def test_every_route_gives_the_same_bits(case, method):
    model, q, p = MACHINES[case]
    system = mb.System(model, method)
    y = model.pack(q, p)
    expected = np.concatenate(system.rhs(q, p, T))
    f = system.cfunc
    assert np.array_equal(system.ode()(T, y), expected)
    assert np.array_equal(from_numba(system, T, q, p), expected)
    assert np.array_equal(from_ctypes(f, T, y), expected)
    assert f.status == 0 and f.error is None
    if compiler():
        assert np.array_equal(from_c(f, T, y), expected)


@pytest.mark.parametrize("method", SOME)
@pytest.mark.parametrize("case", [0, len(MACHINES) - 1])
def test_loads(case, method):
    """tau and wrenches: as numbers and as functions in the memory of the C function, and tau as an argument."""
    model, q, p = MACHINES[case]
    system, y = mb.System(model, method), model.pack(q, p)
    tau, wrench = random_loads(model, 1)
    both = np.concatenate(system.rhs(q, p, T, tau=tau, wrench=wrench))
    only_tau = np.concatenate(system.rhs(q, p, T, tau=tau))
    assert not np.array_equal(both, only_tau)
    assert np.array_equal(from_ctypes(mb.embed.CFunc(system, tau, wrench), T, y), both)
    assert np.array_equal(from_ctypes(mb.embed.CFunc(system, tau=tau), T, y), only_tau)
    assert np.array_equal(from_numba(system, T, q, p, tau), only_tau)
    # tau as an argument: alone, and on top of wrenches
    dydt = np.empty(y.size)
    for f, expected in ((system.cfunc, only_tau), (mb.embed.CFunc(system, wrench=wrench), both)):
        f.ctypes_tau(T, y, tau, dydt, f.user_data)
        assert f.status == 0 and np.array_equal(dydt, expected)
        if compiler():
            dydt[:] = 0.0
            library().evaluate_tau(f.address_tau, T, y.ctypes.data, tau.ctypes.data, dydt.ctypes.data, f.user_data)
            assert np.array_equal(dydt, expected)
    # given by functions
    forces, wrenches = np.zeros(model.nv), np.zeros((model.n_bodies, 6))
    push(T, q, p, forces)
    wind(T, q, p, wrenches)
    f = mb.embed.CFunc(system, push, wind)
    assert np.array_equal(from_ctypes(f, T, y), np.concatenate(system.rhs(q, p, T, tau=forces, wrench=wrenches)))
    # functions are asked at every call
    forces2, wrenches2 = np.zeros(model.nv), np.zeros((model.n_bodies, 6))
    push(0.5, q, p, forces2)
    wind(0.5, q, p, wrenches2)
    assert np.array_equal(from_ctypes(f, 0.5, y), np.concatenate(system.rhs(q, p, 0.5, tau=forces2, wrench=wrenches2)))


def rk4(fun, t, h, steps, y):
    """The loop of embedding.c in Python, operation by operation."""
    for _ in range(steps):
        k1 = fun(t, y)
        k2 = fun(t + 0.5 * h, y + 0.5 * h * k1)
        k3 = fun(t + 0.5 * h, y + 0.5 * h * k2)
        k4 = fun(t + h, y + h * k3)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        t += h
    return y


@needs_c
@pytest.mark.parametrize("method", SOME)
@pytest.mark.parametrize("case", range(len(MACHINES)))
def test_a_c_program_integrates_random_trees(case, method):
    """Its own RK4 through the function pointer ends in the same bits as the same loop in Python."""
    model, q, p = MACHINES[case]
    system, y = mb.System(model, method), model.pack(q, p)
    expected = rk4(system.ode(), 0.1, 1e-3, 20, y)
    f, scratch = system.cfunc, np.empty(5 * y.size)
    assert (library().nq(f.user_data), library().nv(f.user_data)) == (model.nq, model.nv)
    code = library().rk4(f.address, f.user_data, 0.1, 1e-3, 20, y.ctypes.data, scratch.ctypes.data)
    assert code == 0
    assert np.array_equal(y, expected)


@needs_c
def test_a_c_program_integrates_a_chain():
    """One second of a 12-body chain: energy is kept, which a wrong state order or a stale workspace would not do."""
    model = mb.zoo.chain(12)
    system = mb.System(model)
    q, u = model.random_state(seed=3)
    y = model.pack(q, system.momenta(q, u))
    before = system.energy(q, y[model.nq:]).hamiltonian
    f, scratch = system.cfunc, np.empty(5 * y.size)
    assert library().rk4(f.address, f.user_data, 0.0, 2e-4, 5000, y.ctypes.data, scratch.ctypes.data) == 0
    after = system.energy(y[:model.nq], y[model.nq:]).hamiltonian
    assert not np.allclose(y[:model.nq], q)
    assert after == pytest.approx(before, rel=1e-8)  # RK4 at this step; a tenth of a percent off would show as 1e-3


def test_one_function_serves_every_model():
    """Same address for all models and methods; nothing is compiled for a new model."""
    assert len({mb.System(model, method).cfunc.address for method in METHODS for model, _, _ in MACHINES}) == 1
    for method in ("emh-ldl", "hzu"):
        for model, q, p in MACHINES:
            from_numba(mb.System(model, method), T, q, p)
        assert len(CALLERS[method].signatures) == 1
