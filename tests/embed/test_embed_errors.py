"""What goes wrong inside reaches the caller as a status; what Python passes is checked; the header is good C, C++."""

import ctypes
import shutil
import subprocess

import numba
import numpy as np
import pytest
from c_library import compiler, library
from embedded import from_ctypes, push

import mbkern as mb
from mbkern.core import checks
from mbkern.embed import CODES
from mbkern.errors import SingularInertiaError, StateError
from mbkern.methods import METHODS

needs_c = pytest.mark.skipif(compiler() is None, reason="no C compiler (gcc, cc, clang) on the path")
# what a force function raises goes to standard error, because nothing can be thrown through C
prints_exceptions = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def gimbal():
    """Three rotations, singular when the middle one is a quarter turn: the outer two axes coincide."""
    builder = mb.ModelBuilder()
    builder.add_body("top", joint=mb.euler_ball("zyx"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    return builder.build()


def pendulum():
    builder = mb.ModelBuilder()
    builder.add_body("cart", joint=mb.translate("x", mb.spline([0.0, 1.0, 2.0], [0.0, 0.5, 0.0])), mass=1.0,
                     inertia=(0.1, 0.1, 0.1))
    builder.add_body("bob", "cart", mb.ball(), mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
    return builder.build()


def call(f, y, t=0.0):
    """Status of a call, which must leave numbers when it is 0, and else nothing but NaN."""
    dydt = from_ctypes(f, t, y)
    assert np.isfinite(dydt).all() if f.status == 0 else np.isnan(dydt).all()
    return f.status


def test_codes_are_those_of_the_kernels():
    for code, (name, _) in enumerate(CODES):
        assert getattr(checks, name) == code


@pytest.mark.parametrize("method", METHODS)
def test_status(method):
    model = pendulum()
    f = mb.System(model, method).cfunc
    good = model.pack(q={"bob": [0.8, 0.6, 0.0, 0.0]}, p={"bob": [0.1, 0.2, 0.3]})
    assert call(f, good) == checks.OK
    for place, value, t, code in (
        (1, np.nan, 0.0, checks.BAD_Q), (1, 1e13, 0.0, checks.BAD_Q), (5, np.inf, 0.0, checks.BAD_P),
        (0, 9.0, 0.0, checks.BAD_QUATERNION), (0, 0.8, np.nan, checks.BAD_T), (0, 0.8, 2.5, checks.SINGULAR),
    ):
        y = good.copy()
        y[place] = value
        assert call(f, y, t) == code
        assert isinstance(f.error, StateError)
        assert code == checks.SINGULAR or CODES[code][0] in str(f.error)
    assert "cart" in str(f.error)  # the last one: its spline has ended
    assert call(f, good) == checks.OK and f.error is None  # an error leaves nothing behind


@pytest.mark.parametrize("method", METHODS)
def test_singular_inertia(method):
    model = gimbal()
    f = mb.System(model, method).cfunc
    y = model.pack(q=[0.1, np.pi / 2, 0.2], p=[0.1, 0.2, 0.3])
    assert call(f, y) == checks.SINGULAR
    assert isinstance(f.error, SingularInertiaError) and f.error.body == "top"
    y[1] = 0.3
    assert call(f, y) == checks.OK


@prints_exceptions
def test_bad_forces_from_a_function():
    model = mb.zoo.chain(3)
    system, y = mb.System(model), model.pack()

    @numba.njit
    def infinite(t, q, p, out):
        out[1] = np.inf if t > 0 else 0.0

    @numba.njit
    def failing(t, q, p, out):
        if t > 0:
            raise ValueError("no force after t = 0")

    @numba.njit
    def failing_wind(t, q, p, out):
        if t > 0:
            raise ValueError("no wind after t = 0")

    for f, code in (
        (mb.embed.CFunc(system, tau=infinite), checks.BAD_TAU),
        (mb.embed.CFunc(system, tau=failing), checks.CALLBACK_FAILED),
        (mb.embed.CFunc(system, wrench=failing_wind), checks.CALLBACK_FAILED),
        (mb.embed.CFunc(system, tau=failing, wrench=np.zeros((3, 6))), checks.CALLBACK_FAILED),
    ):
        assert call(f, y) == checks.OK
        assert call(f, y, 1.0) == code
        assert call(f, y) == checks.OK


def test_loads_are_checked():
    model = mb.zoo.chain(3)
    system = mb.System(model)
    with pytest.raises(StateError, match="tau"):
        mb.embed.CFunc(system, tau=[1.0])
    with pytest.raises(StateError, match="wrench"):
        mb.embed.CFunc(system, wrench=np.zeros((2, 6)))
    with pytest.raises(StateError, match=r"tau: expected a function f\(t, q, p, out\), got .*lambda"):
        mb.embed.CFunc(system, tau=lambda t, q: None)

    @numba.njit
    def two_arguments(t, q):
        return q

    with pytest.raises(StateError, match=r"tau: expected a function f\(t, q, p, out\), got two_arguments"):
        mb.embed.CFunc(system, tau=two_arguments)


def test_wrong_buffers_are_refused():
    """No array of the wrong size, type or layout gets through the ctypes function."""
    model = mb.zoo.chain(3)
    system = mb.System(model)
    f, y, dydt, tau = system.cfunc, np.zeros(6), np.empty(6), np.zeros(3)
    pointer = ctypes.POINTER(ctypes.c_double)
    read_only = np.zeros(6)
    read_only.flags.writeable = False
    other = mb.System(mb.zoo.chain(4)).cfunc
    for bad, message in (
        ((0.0, np.zeros(5), dydt, f.user_data), "y: .*shape"), ((0.0, y, np.empty(7), f.user_data), "dydt: .*shape"),
        ((0.0, np.zeros(12)[::2], dydt, f.user_data), "not contiguous"),
        ((0.0, np.zeros(6, np.float32), dydt, f.user_data), "float32"),
        ((0.0, np.zeros((2, 3)), dydt, f.user_data), "shape"),
        ((0.0, y, read_only, f.user_data), "read-only"),
        ((0.0, [0.0] * 6, dydt, f.user_data), "list"), ((0.0, None, dydt, f.user_data), "None"),
        ((0.0, np.zeros(5).ctypes.data_as(pointer), dydt, f.user_data), "shape"),
        ((0.0, (ctypes.c_double * 5)(), dydt, f.user_data), "6 doubles"),
        ((0.0, (ctypes.c_float * 6)(), dydt, f.user_data), "6 doubles"),
        ((0.0, y, dydt, other.user_data), "8 numbers"), ((0.0, y, dydt, None), "null"),
    ):
        with pytest.raises(ctypes.ArgumentError, match=message):
            f.ctypes(*bad)
    with pytest.raises(ctypes.ArgumentError, match="tau"):
        f.ctypes_tau(0.0, y, np.zeros(2), dydt, f.user_data)
    with pytest.raises(StateError, match="shape"):
        system.ode()(0.0, np.zeros(5))
    # what is right goes through, in every dress
    expected = np.concatenate(system.rhs(np.zeros(3), np.zeros(3)))
    plain = (ctypes.c_double * 6)()
    for out in (dydt, dydt.ctypes.data_as(pointer), plain, ctypes.cast(plain, pointer)):
        f.ctypes(0.0, y, out, f.user_data)
    assert np.array_equal(dydt, expected) and np.array_equal(plain, expected)
    f.ctypes_tau(0.0, read_only, tau, dydt, ctypes.c_void_p(f.user_data))
    assert np.array_equal(dydt, expected)


@needs_c
def test_status_in_c():
    """The RK4 in C stops where the motion ends: a spline that is over."""
    model = pendulum()
    f, y, scratch = mb.System(model).cfunc, model.pack(), np.empty(5 * (model.nq + model.nv))
    code = library().rk4(f.address, f.user_data, 1.9, 0.01, 100, y.ctypes.data, scratch.ctypes.data)
    assert code == library().status(f.user_data) == f.status == checks.SINGULAR


@needs_c
@prints_exceptions
def test_sundials_style():
    """0, positive and negative as CVODE wants them, through something like an N_Vector."""
    model = pendulum()
    system = mb.System(model)
    f = system.cfunc
    address = mb.embed.sundials_address(f)
    y = model.pack(p={"bob": [0.1, 0.2, 0.3]})
    dydt = np.empty(f.size)
    expected = y + 0.5 * system.ode()(2.0, y)
    # the drive ends at t = 2: from t = 1.5 a step of 2 fails twice, one of 0.5 works
    assert library().euler_like_cvode(address, f.user_data, 1.5, 2.0, y.ctypes.data, dydt.ctypes.data) == 2
    assert np.array_equal(y, expected)

    @numba.njit
    def broken(t, q, p, out):
        raise ValueError("never")

    f = mb.embed.CFunc(mb.System(mb.zoo.chain(3)), tau=broken)
    y, dydt = np.zeros(6), np.empty(6)
    assert library().euler_like_cvode(address, f.user_data, 0.0, 1.0, y.ctypes.data, dydt.ctypes.data) == -1
    assert f.status == checks.CALLBACK_FAILED


@needs_c
def test_jacobian_sundials_style():
    """Columns, and 0 or a positive number, as CVODE wants them."""
    model = pendulum()
    system = mb.System(model)
    f, y = system.cfunc, model.pack(p={"bob": [0.1, 0.2, 0.3]})
    room, columns = np.empty((f.size, f.size)), np.empty((f.size, f.size))

    def call(t):
        return library().jacobian_like_cvode(mb.embed.sundials_address(f), f.user_data, f.jacobian_address,
                                             f.jacobian_data, t, *(x.ctypes.data for x in (y, room, columns)))

    assert call(1.0) == 0 and np.allclose(columns.T, system.ode().jac(1.0, y), rtol=1e-14, atol=1e-14)
    assert call(2.5) == checks.SINGULAR > 0 and np.isnan(columns).all()  # the drive ends at t = 2


@needs_c
@pytest.mark.parametrize("language,standard", [("c", "c99"), ("c", "c11"), ("c++", "c++11")])
def test_header_compiles(language, standard, tmp_path):
    if language == "c++" and shutil.which("g++") is None and shutil.which("c++") is None:
        pytest.skip("no C++ compiler on the path")
    driver = (shutil.which("g++") or shutil.which("c++")) if language == "c++" else compiler()
    (tmp_path / "mbkern.h").write_text(mb.embed.header())
    source = tmp_path / ("use.cc" if language == "c++" else "use.c")
    source.write_text('#include "mbkern.h"\n#include "mbkern.h"\n'
                      "int use(void *user) { return mbkern_status(user) == MBKERN_SINGULAR; }\n")
    command = [driver, f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror", "-c", str(source), "-o",
               str(tmp_path / "use.o")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_forces_may_be_shared():
    """One compiled function serves several systems at once: sizes come from the memory it is called with."""
    for n in (2, 5):
        model = mb.zoo.chain(n)
        f = mb.embed.CFunc(mb.System(model), tau=push)
        assert call(f, model.pack()) == checks.OK


@pytest.mark.filterwarnings("ignore::mbkern.errors.SlowFunctionWarning")
def test_a_load_in_plain_python():
    def push(t, q, p, out):
        out[0] = 2.0 + q[1]
        if t > 0.5:
            raise ValueError("no more")

    system = mb.System(mb.zoo.chain(3))
    f, y = mb.embed.CFunc(system, tau=push), np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.1])
    dydt = np.empty(6)
    f.ctypes(0.0, y, dydt, f.user_data)
    assert f.status == checks.OK
    assert np.array_equal(dydt[3:], system.rhs(y[:3], y[3:], tau=[2.2, 0.0, 0.0])[1])
    f.ctypes(1.0, y, dydt, f.user_data)
    assert f.status == checks.CALLBACK_FAILED and np.isnan(dydt).all()
