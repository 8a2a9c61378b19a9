"""Eight threads at once, and memory that outlives its System."""

import copy
import gc
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from embedded import CALLERS, T, from_ctypes, machines, push, shaken

import mbkern as mb
from mbkern.callbacks import compiled_load, drive_callback, load_callback
from mbkern.errors import MbkernError
from mbkern.methods import METHODS

THREADS, ROUNDS = 8, 300
MACHINES = machines()


def in_threads(work):
    """Run work(k), k = 0..7, all at once; returns what they return."""
    barrier = threading.Barrier(THREADS)

    def start(k):
        barrier.wait()
        return work(k)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS)))


def states(model, q, p):
    """A different state for each thread."""
    return [(q, p * (1.0 + 0.1 * k)) for k in range(THREADS)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", [0, len(MACHINES) - 1])
def test_stress(case, method):
    """rhs and ode of one shared System, its C functions, and compiled code with a workspace each: serial bits."""
    model, q, p = MACHINES[case]
    system = mb.System(model, method)
    inputs = states(model, q, p)
    expected = [np.concatenate(system.rhs(q, p, T)) for q, p in inputs]
    assert not np.array_equal(expected[0], expected[1])
    fun, functions = system.ode(), [system.cfunc for _ in range(THREADS)]
    assert len({f.user for f in functions}) == THREADS

    def work(k):
        q, p = inputs[k]
        y, f = model.pack(q, p), functions[k]
        _, block = system.njit()
        scratch, none, dydt = system.work(), np.empty(0), np.empty(y.size)
        for _ in range(ROUNDS):
            CALLERS[method](block, T, q, p, none, dydt[:q.size], dydt[q.size:], scratch)
            results = (np.concatenate(system.rhs(q, p, T)), fun(T, y), from_ctypes(f, T, y), dydt)
            if not all(np.array_equal(result, expected[k]) for result in results):
                return False
        return True

    assert in_threads(work) == [True] * THREADS


def test_first_use_in_many_threads():
    """Nobody has asked for this System's C function before; all threads make their own at once."""
    model, q, p = MACHINES[1]
    expected = np.concatenate(mb.System(model).rhs(q, p, T))
    fresh = mb.System(model)
    y = model.pack(q, p)
    for dydt in in_threads(lambda k: from_ctypes(fresh.cfunc, T, y)):
        assert np.array_equal(dydt, expected)


def test_forces_in_threads():
    """One compiled force function, called by all threads with their own memory."""
    model, q, p = MACHINES[0]
    system = mb.System(model)
    functions = [mb.embed.CFunc(system, tau=push) for _ in range(THREADS)]
    expected = from_ctypes(mb.embed.CFunc(system, tau=push), T, model.pack(q, p))

    def work(k):
        y = model.pack(q, p)
        return all(np.array_equal(from_ctypes(functions[k], T, y), expected) for _ in range(ROUNDS))

    assert all(in_threads(work))


def litter():
    """Reuse memory that has been given back."""
    return [np.full(n, np.nan) for n in (100, 1000, 2000, 3000, 5000) for _ in range(50)]


def fresh_machine():
    """A machine with a compiled drive that nobody else holds."""
    @numba.njit
    def lift(t):
        return 0.1 * t * t, 0.2 * t, 0.2

    builder = mb.ModelBuilder()
    builder.add_body("lift", joint=[mb.translate("z", mb.drive(lift))], mass=1.0)
    builder.add_body("arm", "lift", mb.revolute("x"), mass=1.0, com=(0, 0.5, 0), inertia=(0.1, 0.1, 0.1))
    return builder.build()


def forget():
    """Let go of all compiled functions that only caches hold."""
    drive_callback.cache_clear()
    compiled_load.cache_clear()
    gc.collect()


def test_a_cfunc_outlives_its_system():
    @numba.njit
    def gone(t, q, p, out):
        out[0] = 3.0 + t

    model = fresh_machine()
    system = mb.System(model)
    y = model.pack(q=[0.3], p=[0.2])
    expected = np.concatenate(system.rhs(y[:1], y[1:], T, tau=[3.0 + T]))
    f = mb.embed.CFunc(system, tau=gone)
    dead = weakref.ref(system)
    functions = [weakref.ref(system.binding.callbacks[0]), weakref.ref(load_callback(gone, "tau"))]
    del system, model, gone
    forget()
    assert dead() is None
    assert all(function() is not None for function in functions)
    rubbish = litter()
    assert np.array_equal(from_ctypes(f, T, y), expected)
    del f, rubbish
    gc.collect()
    assert all(function() is None for function in functions)


def test_addresses_do_not_travel():
    """A copy in another process would hold pointers to nothing."""
    f = mb.System(mb.zoo.chain(2)).cfunc
    for send in (copy.copy, copy.deepcopy, pickle.dumps, lambda f: pickle.dumps(f.user_data)):
        with pytest.raises(MbkernError, match="System"):
            send(f)


def test_user_data_keeps_the_memory():
    """`system.cfunc.user_data` alone is enough; when it goes, the memory goes."""
    model = shaken()
    q, u = model.random_state(seed=1)
    system = mb.System(model)
    y = model.pack(q, system.momenta(q, u, T))
    expected = system.ode()(T, y)
    call, user = system.cfunc.ctypes, system.cfunc.user_data
    memory = weakref.ref(user._frame.array)
    del system
    forget()
    rubbish = litter()
    dydt = np.empty(y.size)
    call(T, y, dydt, user)
    assert np.array_equal(dydt, expected)
    assert memory() is not None
    del user, rubbish
    gc.collect()
    assert memory() is None


def test_a_block_keeps_its_drives():
    """The block of `njit` holds addresses of compiled drives: they live as long as the block."""
    model = fresh_machine()
    system = mb.System(model, "emh-ldl")
    q, p = np.array([0.3]), np.array([0.2])
    expected = np.concatenate(system.rhs(q, p, T))
    _, block = system.njit()
    work = system.work()
    drive = weakref.ref(system.binding.callbacks[0])
    del system, model
    forget()
    assert drive() is not None
    dydt = np.empty(2)
    assert CALLERS["emh-ldl"](block, T, q, p, np.empty(0), dydt[:1], dydt[1:], work) == 0
    assert np.array_equal(dydt, expected)
    del block
    gc.collect()
    assert drive() is None


def test_an_ode_pickles():
    """For pools of processes and for solvers that copy what they are given."""
    model = mb.zoo.chain(3)
    fun = mb.System(model, "dah").ode()
    again = pickle.loads(pickle.dumps(fun))
    y = np.arange(6.0)
    assert again.system.model == model and again.system.method == "dah" and np.array_equal(again(0.5, y), fun(0.5, y))
