"""The operations for other compiled code: Numba functions, C functions, and f(t, y) for SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from . import lazy
from .errors import ModelError
from .inputs import Array
from .methods import ACCELERATIONS, acceleration_named
from .ode import Ode
from .operations import Operation, operation_named
from .system_batches import OF_TREES

if TYPE_CHECKING:
    from .embed.handle import CFunc
    from .embed.operation import COperation
    from .model.model import Model
    from .workspace.binding import Binding


class Embedding:
    """The part of `System` that hands its operations to other simulators."""

    if TYPE_CHECKING:
        model: Model
        binding: Binding
        block: Array

        @property
        def method(self) -> str: ...

    def work(self, operation: str = "rhs") -> Array:
        """A workspace for a compiled function of `njit`; one for each caller.

        Parameters
        ----------
        operation : str
            What it is for. Derivatives need more room than all others, which can share one.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.System(mb.zoo.chain(3)).work().ndim
        1
        """
        others = ("rhs", "accelerations")
        size = 0 if operation in others else operation_named(operation, others).work_size(self.block)
        return np.zeros(max(size, self.binding.work_size))

    def njit(self, operation: str = "rhs") -> tuple[Callable[..., int], Array]:
        """A compiled operation and the block it reads, for use inside `@njit` functions.

        Refer to the function as a global name of your module: then `@njit(cache=True)` works, and one compiled function
        serves every model with this method (pass `block` as an argument). Your cached function holds a copy of this
        code; when it is older than the mbkern that made the block, the status is 9 (STALE): delete your cache.

        Parameters
        ----------
        operation : str
            "rhs", "accelerations", or any operation of the table in the documentation: "inverse_dynamics", "jacobian",
            and so on.

        Returns
        -------
        f : compiled function
            "rhs": f(block, t, q, p, tau, qdot, pdot, work) -> status: 0 when all is well, else a code of
            `mbkern.embed.CODES`; with u and udot for p and pdot where `variable` is "u". All arrays are contiguous
            float64 (others are refused where your code is compiled) of the right size, which is not checked: q, qdot
            (nq), p, pdot (nv), tau (nv, or empty), work from `work()`, one for each thread. Values are not checked
            either (but where `variable` is "u"); q, p and tau must be finite.
            Others: f(block, t, inputs ..., results ..., work) -> status, in the order of the table; an optional input
            that is not given is an empty array of its number of dimensions, and work from ``work(operation)``. Values
            are checked, sizes are not.
        block : array
            Constants of the model: a copy, yours.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system = mb.System(mb.zoo.chain(3))
        >>> rhs, block = system.njit()
        >>> qdot, pdot = np.empty(3), np.empty(3)
        >>> rhs(block, 0.0, np.zeros(3), np.zeros(3), np.empty(0), qdot, pdot, system.work())
        0
        >>> mass_matrix, block = system.njit("mass_matrix")
        >>> mass_matrix(block, 0.0, np.zeros(3), np.empty((3, 3)), system.work())
        0
        """
        keep_alive = lazy.module("callbacks").keep_alive

        function = self.binding.method.rhs if operation == "rhs" else (
            self._operation_for_others(operation).compiled.handle)
        # Numba compiles anew for a read-only array, hence a copy
        return function, keep_alive(self.block.copy(), self.binding.callbacks)

    @property
    def cfunc(self) -> CFunc:
        """The right-hand side as a C function, with memory of its own: each access makes a new, independent one.

        Hold on to it as long as C code uses its `user_data`; the System itself may go. See :mod:`mbkern.embed`.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> f = mb.System(model).cfunc
        >>> y = model.pack(q={"body1": 0.5})
        >>> dydt = np.empty(6)
        >>> f.ctypes(0.0, y, dydt, f.user_data)
        >>> f.status
        0
        """
        CFunc = lazy.module("embed.handle").CFunc

        return CFunc(self)

    def cfunc_of(self, operation: str, k: int = 1) -> COperation:
        """Any operation as a C function, with memory of its own: each call makes a new, independent one.

        Parameters
        ----------
        operation : str
            "rhs", "accelerations", or any operation of the table in the documentation, as in `njit`.
        k : int
            Number of vectors in one call, for operations that take several ("solve_mass").

        Returns
        -------
        COperation
            `.address`, `.user_data`, `.signature`, `.ctypes`, `.status`, `.error`; see :mod:`mbkern.embed`.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> f = mb.System(mb.zoo.chain(3)).cfunc_of("mass_matrix")
        >>> f.signature
        'int mass_matrix(double t, const double *q, double *H, void *user)'
        >>> H = np.empty((3, 3))
        >>> f.ctypes(0.0, np.zeros(3), H, f.user_data)
        0
        """
        make: Callable[..., COperation] = lazy.module("embed.operation").COperation

        return make(self, self._operation_for_others(operation), operation, k)

    def _operation_for_others(self, name: str) -> Operation:
        """Right-hand side by the method of this System, accelerations, or an operation of the table."""
        if name == "rhs":
            return self.binding.method.operation_with_wrenches
        if name == "accelerations":
            method = self.method if self.method in ACCELERATIONS else "newton-euler-ldl"
            return acceleration_named(method, self.model).operation_with_wrenches
        operation = operation_named(name, ("rhs", "accelerations"))
        if self.model.constraints and name in OF_TREES:
            raise ModelError(f"operation: {name!r} for compiled code is that of a tree; this model has constraints "
                             f"({self.model.constraints[0].name!r}, ...)")
        return operation

    def ode(self) -> Ode:
        """fun(t, y) with y = (q, p), as `scipy.integrate.solve_ivp` wants it; it pickles, for pools of processes.
        `fun.jac(t, y)` is its exact Jacobian, for implicit methods.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> fun = mb.System(mb.zoo.chain(3)).ode()
        >>> fun(0.0, np.zeros(6)).shape
        (6,)
        """
        return Ode(self)  # type: ignore[arg-type]
