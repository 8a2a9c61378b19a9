"""SciPy, cffi, CyRK and other solvers: one example each."""

import ctypes

import numpy as np
import pytest
from cases import random_model, random_state
from embedded import T, from_ctypes
from scipy.integrate import solve_ivp

import mbkern as mb
from mbkern.core import cabi


def swing():
    """A chain and its state."""
    model = mb.zoo.chain(5)
    system = mb.System(model)
    q, u = model.random_state(seed=2)
    return system, model.pack(q, system.momenta(q, u))


def test_solve_ivp():
    """SciPy's solver conserves energy with `ode()`."""
    system, y = swing()
    solution = solve_ivp(system.ode(), (0.0, 0.5), y, rtol=1e-10, atol=1e-12, method="DOP853")
    assert solution.success
    nq = system.model.nq
    energies = [system.energy(state[:nq], state[nq:]).hamiltonian for state in (y, solution.y[:, -1])]
    assert energies[1] == pytest.approx(energies[0], rel=1e-8)  # a hundred times the tolerance of the solver


@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_implicit_methods_take_the_jacobian(method):
    """With stiff joints, and with quaternions; the same end as by Dormand-Prince, within the tolerances."""
    builder = mb.ModelBuilder()
    builder.add_body("base", joint=mb.ball(), mass=1.0, com=(0.1, 0.0, 0.2), inertia=(0.2, 0.3, 0.25))
    builder.add_body("rod", "base", mb.revolute("x"), mass=0.5, com=(0.0, 0.3, 0.0), position=(0.0, 0.1, 0.4),
                     stiffness=3e4, damping=30.0)
    model = builder.build()
    system, fun = mb.System(model), mb.System(model).ode()
    y = model.pack(*(lambda q, u: (q, system.momenta(q, u)))(*model.random_state(seed=4)))
    exact = fun.jac(0.3, y)
    assert np.allclose(exact, system.jacobian_rhs(y[:5], y[5:], 0.3, chart="coordinates").matrix, rtol=1e-13, atol=1e-9)
    options = {"t_span": (0.0, 0.3), "y0": y, "rtol": 1e-9, "atol": 1e-10}
    calls = []

    def counted(t, y):
        calls.append(t)
        return fun(t, y)

    with_it = solve_ivp(counted, method=method, jac=fun.jac, **options)
    assert with_it.success and with_it.njev >= 1 and len(calls) <= with_it.nfev  # none of them for differences
    end = system.simulate(y[:5], y[5:], (0.0, 0.3), rtol=1e-11, atol=1e-12)
    assert np.abs(with_it.y[:, -1] - np.concatenate([end.q[-1], end.p[-1]])).max() < 1e-5
    with pytest.raises(mb.errors.StateError):
        fun.jac(0.0, np.full(9, np.nan))


def test_the_jacobian_for_c_programs():
    model = mb.zoo.chain(3)
    f = mb.embed.CFunc(mb.System(model), tau=[0.1, 0.2, 0.3])
    y, J = model.pack([0.1, 0.2, 0.3], [1.0, 2.0, 3.0]), np.empty((6, 6))
    pointer = ctypes.c_void_p
    call = ctypes.CFUNCTYPE(None, ctypes.c_double, pointer, pointer, pointer)(f.jacobian_address)
    call(0.0, y.ctypes.data, J.ctypes.data, f.jacobian_data)
    assert f.status == 0 and np.allclose(J, mb.System(model).jacobian_rhs(y[:3], y[3:]).matrix, rtol=1e-13, atol=1e-12)
    y[0] = np.nan
    call(0.0, y.ctypes.data, J.ctypes.data, f.jacobian_data)
    assert f.status != 0 and np.isnan(J).all()


def test_low_level_callable():
    """It carries function, signature and user data; whoever unpacks it gets the same bits."""
    system, y = swing()
    callable_ = mb.embed.low_level_callable(system.cfunc)
    name = b"void (double, double *, double *, void *)"
    assert callable_.signature.encode() == name
    capsule = tuple.__getitem__(callable_, 0)
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = api.PyCapsule_GetContext.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_GetContext.argtypes = [ctypes.py_object]
    f = system.cfunc
    address, user = api.PyCapsule_GetPointer(capsule, name), api.PyCapsule_GetContext(capsule)
    assert address == f.address
    dydt = np.empty(y.size)
    f.ctypes(0.0, y, dydt, user)  # the memory that only the callable holds
    assert np.array_equal(dydt, system.ode()(0.0, y))


def test_cffi():
    cffi = pytest.importorskip("cffi")
    model = random_model("random", 8, 3)
    q, p = random_state(model, 3)
    system, y = mb.System(model), model.pack(q, p)
    f, dydt = system.cfunc, np.empty(y.size)
    for ffi in (cffi.FFI(), None):
        function, user = mb.embed.cffi_pointers(f, ffi)
        buffers = ffi or cffi.FFI()
        function(T, buffers.from_buffer("double[]", y), buffers.from_buffer("double[]", dydt), user)
        assert f.status == 0 and np.array_equal(dydt, np.concatenate(system.rhs(q, p, T)))
        dydt[:] = 0.0


def test_the_function_behind_cyrk():
    """(dydt, t, y, args), with the address of the memory in args; needs no CyRK."""
    system, y = swing()
    f = system.cfunc
    address, args = mb.embed.cyrk_arguments(f)
    double = ctypes.POINTER(ctypes.c_double)
    function = ctypes.CFUNCTYPE(None, double, ctypes.c_double, double, double)(address)
    dydt = np.empty(y.size)
    function(*(x if isinstance(x, float) else x.ctypes.data_as(double) for x in (dydt, 0.2, y, args)))
    assert np.array_equal(dydt, system.ode()(0.2, y))


def test_the_function_behind_sundials():
    system, y = swing()
    f = system.cfunc
    double = ctypes.POINTER(ctypes.c_double)
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, double, double, ctypes.c_void_p)(
        mb.embed.sundials_address(f))
    dydt = np.empty(y.size)
    assert function(0.0, y.ctypes.data_as(double), dydt.ctypes.data_as(double), f.user_data) == 0
    assert np.array_equal(dydt, system.ode()(0.0, y))
    y[1] = np.nan
    assert function(0.0, y.ctypes.data_as(double), dydt.ctypes.data_as(double), f.user_data) > 0
    assert function(np.nan, y.ctypes.data_as(double), dydt.ctypes.data_as(double), f.user_data) < 0


def test_cyrk():
    """CyRK's C++ solver calls mbkern without any Python in between; SciPy's solver agrees."""
    CyRK = pytest.importorskip("CyRK", reason="CyRK is not installed")
    if not hasattr(CyRK, "nbsolve2_ivp"):
        pytest.skip("this CyRK has no solver that takes an address")
    system, y = swing()
    f = system.cfunc
    address, args = mb.embed.cyrk_arguments(f)
    result = CyRK.nbsolve2_ivp(address, (0.0, 0.5), y, method="DOP853", args=args, rtol=1e-10, atol=1e-12)
    assert result.success and f.status == 0
    reference = solve_ivp(system.ode(), (0.0, 0.5), y, rtol=1e-10, atol=1e-12, method="DOP853")
    # two implementations with the same tolerance: each is off by about 1e-9 of what has grown in half a second
    assert np.allclose(result.y[:, -1], reference.y[:, -1], rtol=0, atol=1e-6)
    result.free()


def test_call_by_address_from_compiled_code():
    """What the library's own integrators do: offsets into one array."""
    import numba

    @numba.njit
    def call(address, t, y, dydt, user):
        cabi.call_ode(address, t, y, 2, dydt, 3, user)

    system, y = swing()
    f = system.cfunc
    dydt = np.zeros(y.size + 3)
    call(f.address, 0.0, np.concatenate(([7.0, 7.0], y)), dydt, f.user)
    assert np.array_equal(dydt[3:], from_ctypes(f, 0.0, y)) and not dydt[:3].any()
