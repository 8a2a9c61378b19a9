"""The right-hand side of one system as a C function with memory of its own."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import lazy
from ..core import cabi
from ..errors import StateError
from ..explain import error_of
from ..lazy import cached_property
from ..model.checks import show
from ..signatures import Load
from ..workspace.frame import Frame

if TYPE_CHECKING:
    from ..system import System

_FLOAT64 = np.dtype(np.float64)
_from_buffer: Any = ctypes.c_char.from_buffer
_DOUBLES = ctypes.POINTER(ctypes.c_double)
ODE_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_double, _DOUBLES, _DOUBLES, ctypes.c_void_p)
ODE_TAU_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_double, _DOUBLES, _DOUBLES, _DOUBLES, ctypes.c_void_p)


class UserData(int):
    """The pointer `user` as a number; as long as this object lives, so does the memory.

    Examples
    --------
    >>> import mbkern as mb
    >>> user = mb.System(mb.zoo.chain(3)).cfunc.user_data
    >>> user > 0
    True
    """

    _frame: Any
    _desk: Any

    @classmethod
    def of(cls, frame: Any) -> UserData:
        """The pointer to a frame."""
        user = cls(frame.user)
        user._frame = frame
        return user


class CFunc(Frame):
    """A C function ``void (double t, const double *y, double *dydt, void *user)``, y = (q, p), and its memory.

    Made by `System.cfunc`; make one here when it should carry forces. One for each thread that calls at the same time.
    The memory behind `user_data` lives as long as this object or its `user_data`.

    Parameters
    ----------
    system : System
        What to evaluate, and how.
    tau : (nv,), or njit function f(t, q, p, out) or, with joint speeds u, f(t, q, p, u, out), optional
        Joint forces that act in every call, in N and N m; `out` (nv) is zero when f is called.
    wrench : (N, 6), or njit function likewise, optional
        (force; moment) on each body, in body axes, at the body origin; `out` is (N, 6).

    Attributes
    ----------
    address : int
        Of the function. The same for all models and methods.
    size : int
        Numbers in y and in dydt: nq + nv.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> model = mb.zoo.chain(3)
    >>> f = mb.embed.CFunc(mb.System(model), tau=[0.0, 0.0, 2.0])
    >>> dydt = np.empty(f.size)
    >>> f.ctypes(0.0, model.pack(), dydt, f.user_data)
    >>> f.status, f.error
    (0, None)
    """

    def __init__(self, system: System, tau: Load | None = None, wrench: Load | None = None) -> None:
        super().__init__(system, tau, wrench)
        self.size: int = self.model.nq + self.model.nv
        self._method, self._variable = system.method, system.variable

    def __repr__(self) -> str:
        return f"CFunc({self.model!r}, method={self._method!r})"

    @property
    def user_data(self) -> UserData:
        """The last argument of the function: the address of the memory that this object owns, an int."""
        return UserData.of(self)

    @property
    def address_tau(self) -> int:
        """Of ``void (double t, const double *y, const double *tau, double *dydt, void *user)``, tau (nv) added."""
        return int(cabi.ode_tau.address)

    @cached_property
    def jacobian_data(self) -> UserData:
        """The last argument of the function at `jacobian_address`: memory of its own for derivatives, an int.

        A StateError names a force function whose derivative is not known, see `mbkern.forces.with_derivative`.
        """
        variational = lazy.module("variational")
        variational.needs_momenta(self._variable, "jacobian_data")
        desk = variational.Desk(self.model, self)
        data = UserData(desk.address)
        data._frame, data._desk = self, desk
        return data

    @property
    def jacobian_address(self) -> int:
        """Of ``void (double t, const double *y, double *J, void *data)``: J = df/dy, (nq + nv)^2 doubles row by row.

        `data` is `jacobian_data`. It shares forces and status with the function itself, so the two are called in turn.

        Examples
        --------
        >>> import mbkern as mb
        >>> f = mb.System(mb.zoo.chain(3)).cfunc
        >>> f.jacobian_address > 0, f.jacobian_data > 0
        (True, True)
        """
        return int(lazy.module("variational.kernels.flow").jacobian.address)

    @cached_property
    def ctypes(self) -> Any:
        """The function for ctypes. Arrays are checked (float64, contiguous, right size); bare pointers cannot be."""
        function = ODE_TYPE(self.address)
        y, dydt = checked_array("y", (self.size,)), checked_array("dydt", (self.size,), writes=True)
        function.argtypes = (ctypes.c_double, y, dydt, checked_user(CFunc, self._belongs))
        return function

    @cached_property
    def ctypes_tau(self) -> Any:
        """The function with tau for ctypes, checked likewise."""
        function = ODE_TAU_TYPE(self.address_tau)
        y, dydt = checked_array("y", (self.size,)), checked_array("dydt", (self.size,), writes=True)
        tau, user = checked_array("tau", (self.model.nv,)), checked_user(CFunc, self._belongs)
        function.argtypes = (ctypes.c_double, y, tau, dydt, user)
        return function

    def _belongs(self, other: CFunc) -> None:
        """Raise unless the memory of the other one serves this function."""
        if other.size != self.size:
            raise StateError(f"user: it belongs to a system with {other.size} numbers in y, this function to one "
                             f"with {self.size}")

    @property
    def error(self) -> StateError | None:
        """What was wrong in the last call, as an exception to raise or read; None when all was well."""
        return error_of(self.model, self.array)


def checked_array(name: str, wanted: tuple[int, ...], writes: bool = False, optional: bool = False) -> Any:
    """An argument type of ctypes: an array of doubles that it looks at, or a pointer that it must trust. An optional
    one may be None."""
    size = math.prod(wanted)

    def from_param(value: Any) -> Any:
        if type(value) is np.ndarray and value.dtype is _FLOAT64 and value.shape == wanted and value.flags.carray:
            return ctypes.byref(_from_buffer(value)) if size else None  # the usual case, three times as fast
        if value is None and optional:
            return None
        array = getattr(value, "_arr", value)  # what `array.ctypes.data_as` points at
        if isinstance(array, np.ndarray):
            flags = array.flags
            if array.dtype != np.float64 or array.shape != wanted or not flags.c_contiguous or not flags.aligned:
                raise StateError(f"{name}: expected a contiguous float64 array of shape {wanted}, got {array.dtype} "
                                 f"of shape {array.shape}{'' if flags.c_contiguous else ', not contiguous'}")
            if writes and not flags.writeable:
                raise StateError(f"{name}: expected an array to write to, got a read-only one")
            return ctypes.c_void_p(array.ctypes.data)
        if isinstance(value, ctypes.Array) and (value._type_ is not ctypes.c_double or len(value) != size):
            raise StateError(f"{name}: expected {size} doubles, got {show(value)}")
        try:
            if not value:  # a null pointer
                raise TypeError
            return _DOUBLES.from_param(value)
        except TypeError:
            raise StateError(f"{name}: expected a float64 array of shape {wanted} or a pointer to doubles, got "
                             f"{type(value).__name__}") from None

    return type("Doubles", (), {"from_param": staticmethod(from_param)})


def checked_user(kind: type, belongs: Callable[[Any], None]) -> Any:
    """An argument type of ctypes: the user_data of an object of this kind, which `belongs` looks at."""

    def from_param(value: Any) -> Any:
        frame = getattr(value, "_frame", None)
        if isinstance(frame, kind):
            belongs(frame)
            return ctypes.c_void_p(value)
        if frame is not None:
            raise StateError(f"user: expected the user_data of a {kind.__name__}, got that of a {type(frame).__name__}")
        if value is None or value == 0:
            raise StateError(f"user: expected the user_data of a {kind.__name__}, got a null pointer")
        return ctypes.c_void_p.from_param(value)

    return type("User", (), {"from_param": staticmethod(from_param)})
