"""The right-hand side of one system as a C function with memory of its own."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import cabi
from ..errors import StateError
from ..explain import error_of
from ..lazy import cached_property
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

    _frame: Frame

    @classmethod
    def of(cls, frame: Frame) -> UserData:
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
    tau : (nv,), or njit function f(t, q, p, out), optional
        Joint forces that act in every call, in N and N m; `out` (nv) is zero when f is called.
    wrench : (N, 6), or njit function f(t, q, p, out), optional
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

    def __init__(self, system: System, tau: Any = None, wrench: Any = None) -> None:
        super().__init__(system, tau, wrench)
        self.size: int = self.model.nq + self.model.nv
        self._method = system.method

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
    def ctypes(self) -> Any:
        """The function for ctypes. Arrays are checked (float64, contiguous, right size); bare pointers cannot be."""
        function = ODE_TYPE(self.address)
        y, dydt = _checked("y", self.size), _checked("dydt", self.size, writes=True)
        function.argtypes = (ctypes.c_double, y, dydt, _user(self.size))
        return function

    @cached_property
    def ctypes_tau(self) -> Any:
        """The function with tau for ctypes, checked likewise."""
        function = ODE_TAU_TYPE(self.address_tau)
        y, dydt = _checked("y", self.size), _checked("dydt", self.size, writes=True)
        function.argtypes = (ctypes.c_double, y, _checked("tau", self.model.nv), dydt, _user(self.size))
        return function

    @property
    def error(self) -> StateError | None:
        """What was wrong in the last call, as an exception to raise or read; None when all was well."""
        return error_of(self.model, self.array)


def _checked(name: str, size: int, writes: bool = False) -> Any:
    """An argument type of ctypes: an array of `size` doubles that it looks at, or a pointer that it must trust."""
    wanted = (size,)

    def from_param(value: Any) -> Any:
        if type(value) is np.ndarray and value.dtype is _FLOAT64 and value.shape == wanted and value.flags.carray:
            return ctypes.byref(_from_buffer(value)) if size else None  # the usual case, three times as fast
        array = getattr(value, "_arr", value)  # what `array.ctypes.data_as` points at
        if isinstance(array, np.ndarray):
            flags = array.flags
            if array.dtype != np.float64 or array.shape != wanted or not flags.c_contiguous or not flags.aligned:
                raise StateError(f"{name}: expected a contiguous float64 array of shape ({size},), got {array.dtype} "
                                 f"of shape {array.shape}{'' if flags.c_contiguous else ', not contiguous'}")
            if writes and not flags.writeable:
                raise StateError(f"{name}: expected an array to write to, got a read-only one")
            return ctypes.c_void_p(array.ctypes.data)
        if isinstance(value, ctypes.Array) and (value._type_ is not ctypes.c_double or len(value) != size):
            raise StateError(f"{name}: expected {size} doubles, got {value!r}")
        try:
            if not value:  # a null pointer
                raise TypeError
            return _DOUBLES.from_param(value)
        except TypeError:
            raise StateError(f"{name}: expected a float64 array of shape ({size},) or a pointer to doubles, got "
                             f"{type(value).__name__}") from None

    return type("Doubles", (), {"from_param": staticmethod(from_param)})


def _user(size: int) -> Any:
    """An argument type of ctypes: the user_data of a CFunc with a state of this size."""

    def from_param(value: Any) -> Any:
        frame = getattr(value, "_frame", None)
        if isinstance(frame, CFunc):
            if frame.size == size:
                return ctypes.c_void_p(value)
            raise StateError(f"user: it belongs to a system with {frame.size} numbers in y, this function to one "
                             f"with {size}")
        if value is None or value == 0:
            raise StateError("user: expected the user_data of a CFunc, got a null pointer")
        return ctypes.c_void_p.from_param(value)

    return type("User", (), {"from_param": staticmethod(from_param)})
