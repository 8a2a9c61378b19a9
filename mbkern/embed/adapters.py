"""The C function in the shapes that other libraries want."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import cabi
from ..errors import StateError
from ..inputs import Array
from ..model.checks import show
from .handle import ODE_TYPE, CFunc

if TYPE_CHECKING:
    from scipy import LowLevelCallable


def _checked(f: CFunc) -> CFunc:
    if not isinstance(f, CFunc):
        raise StateError(f"f: expected a C function of a system (system.cfunc), got {show(f)}")
    return f


def low_level_callable(f: CFunc) -> LowLevelCallable:
    """`scipy.LowLevelCallable` with the function, its signature and its user data.

    It is a carrier: SciPy's ODE solvers (`solve_ivp`, `odeint`, `ode`) take Python functions only, and the SciPy
    routines that do take a LowLevelCallable want other signatures. For `solve_ivp` use `System.ode`.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.embed.low_level_callable(mb.System(mb.zoo.chain(3)).cfunc).signature
    'void (double, double *, double *, void *)'
    """
    from scipy import LowLevelCallable

    user = ctypes.c_void_p(_checked(f).user)
    user._cfunc = f  # type: ignore[attr-defined]  # the callable holds `user`, and so the memory
    return LowLevelCallable(ODE_TYPE(f.address), user)


def cffi_pointers(f: CFunc, ffi: Any = None) -> tuple[Any, Any]:
    """(function, user) as cffi pointers; call ``function(t, y, dydt, user)``. Hold on to `f` meanwhile.

    Parameters
    ----------
    f : CFunc
    ffi : cffi.FFI, optional
        Yours, when the pointers go to functions that it knows.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> from cffi import FFI
    >>> ffi, f = FFI(), mb.System(mb.zoo.chain(3)).cfunc
    >>> function, user = mb.embed.cffi_pointers(f, ffi)
    >>> y, dydt = np.zeros(6), np.empty(6)
    >>> function(0.0, ffi.from_buffer("double[]", y), ffi.from_buffer("double[]", dydt), user)
    >>> f.status
    0
    """
    if ffi is None:
        from cffi import FFI

        ffi = FFI()
    function = ffi.cast("void (*)(double, const double *, double *, void *)", _checked(f).address)
    return function, ffi.cast("void *", int(f.user_data))


def sundials_address(f: CFunc) -> int:
    """Address of ``int (double t, const double *y, double *ydot, void *user)``, which returns what SUNDIALS expects.

    0: done. Positive: there is no value at this state, and a smaller step may help. Negative: nothing will help. The
    code of :data:`mbkern.embed.CODES` is its absolute value. CVODE itself hands over an N_Vector: the header of
    :func:`mbkern.embed.header` has the three lines that unwrap it.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.embed.sundials_address(mb.System(mb.zoo.chain(3)).cfunc) > 0
    True
    """
    _checked(f)
    return int(cabi.ode_sundials.address)


def cyrk_arguments(f: CFunc) -> tuple[int, Array]:
    """(address, args) for the Numba solver of CyRK: ``void (double *dy, double t, double *y, double *args)``.

    Hold on to `f` meanwhile.

    Examples
    --------
    >>> import mbkern as mb
    >>> address, args = mb.embed.cyrk_arguments(mb.System(mb.zoo.chain(3)).cfunc)
    >>> args.shape
    (1,)
    """
    return int(cabi.ode_cyrk.address), np.array([float(_checked(f).user)])
