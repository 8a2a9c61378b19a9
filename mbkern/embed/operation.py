"""Any operation of the table as a C function with memory of its own."""

from __future__ import annotations

import ctypes
import math
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import constants as L
from ..core import native
from ..errors import MbkernError, StateError
from ..explain import error_of
from ..inputs import Array
from ..lazy import cached_property
from ..model.checks import show
from ..operations import Operation
from ..waits import task
from .handle import UserData, checked_array, checked_user

if TYPE_CHECKING:
    from ..model.model import Model
    from ..system import System

_DOUBLES = ctypes.POINTER(ctypes.c_double)


class COperation:
    """A C function ``int (double t, const double *input, ..., double *result, ..., void *user)``, and its memory.

    Made by `System.cfunc_of`. Arrays come in the order of the table of operations, row by row; an optional input that
    is not given is a null pointer. It returns a code of `mbkern.embed.CODES`, 0 when all is well; otherwise all results
    are NaN. Results must not overlap inputs. One object for each thread that calls at the same time; its memory lives
    as long as it or its `user_data`.

    Parameters
    ----------
    system : System
    operation : Operation
        A row of `mbkern.operations.OPERATIONS`, or a right-hand side.
    name : str
        What people call it.
    k : int
        Number of vectors, where the table says k.

    Attributes
    ----------
    name : str
    address : int
        Of the function; one function serves all operations with as many arrays, `user` makes the difference.
    shapes : dict of str -> tuple
        Of its arrays, by their names, in their order.
    signature : str
        As C declares it.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> system = mb.System(mb.zoo.chain(3))
    >>> f = system.cfunc_of("inverse_dynamics")
    >>> f.signature.partition(", const double *wrench")[0]
    'int inverse_dynamics(double t, const double *q, const double *u, const double *udot'
    >>> q, u, udot, tau = np.zeros(3), np.ones(3), np.zeros(3), np.empty(3)
    >>> f.ctypes(0.0, q, u, udot, None, tau, f.user_data)  # no wrench
    0
    >>> bool((tau == system.inverse_dynamics(q, u, udot)).all())
    True
    """

    def __init__(self, system: System, operation: Operation, name: str, k: int = 1) -> None:
        if isinstance(k, bool) or not isinstance(k, numbers.Integral) or k < 1:
            raise StateError(f"k: expected a whole number of vectors, at least 1, got {show(k)}")
        arguments = (*operation.inputs, *operation.results)
        self.model: Model = system.model
        self.operation: Operation = operation
        self.name: str = name
        self.shapes: dict[str, tuple[int, ...]] = {
            argument.name: argument.shape_for(system.model, int(k)) for argument in arguments}
        sizes = [math.prod(shape) for shape in self.shapes.values()]
        # an array without numbers may be a null pointer: NumPy's are not, but those of C are
        needed = sum(1 << i for i, argument in enumerate(arguments) if not argument.optional and sizes[i] > 0)
        with task(operation.called, system):
            function = operation.compiled.one.address
        words = [function, len(arguments), len(operation.inputs), needed, *sizes]
        self._plan = np.array(words, np.int64)
        self._needed = list(system.binding.callbacks)  # their addresses are in the block
        block = system.block
        size = max(system.binding.work_size, operation.work_size(block))
        self.array: Array = np.zeros(block.size + size)
        self.array[:block.size] = block
        self.array[L.FRAME_SIZE], self.array[L.PLAN] = self.array.size, self._plan.ctypes.data
        self.user = self.array.ctypes.data
        self.address: int = int(native.NATIVE[len(arguments)].address)

    def __repr__(self) -> str:
        return f"COperation({self.name!r}, {self.model!r})"

    def __reduce__(self) -> Any:
        raise MbkernError("a COperation holds addresses of this process and cannot be copied or pickled; make another "
                          "one from the System, which can")

    @property
    def signature(self) -> str:
        """The declaration of the function in C."""
        return self.operation.c_declaration(self.name)

    @property
    def user_data(self) -> UserData:
        """The last argument of the function: the address of the memory that this object owns, an int."""
        return UserData.of(self)

    @cached_property
    def ctypes(self) -> Any:
        """The function for ctypes. Arrays are checked (float64, contiguous, right shape); bare pointers cannot be."""
        inputs, results = self.operation.inputs, self.operation.results
        made = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, *[_DOUBLES] * len(self.shapes), ctypes.c_void_p)
        function = made(self.address)
        arrays = [checked_array(a.name, self.shapes[a.name], optional=a.optional) for a in inputs]
        arrays += [checked_array(a.name, self.shapes[a.name], writes=True) for a in results]
        function.argtypes = (ctypes.c_double, *arrays, checked_user(COperation, self._belongs))
        return function

    def _belongs(self, other: COperation) -> None:
        """Raise unless the memory of the other one serves this function."""
        if other.shapes != self.shapes or other.operation is not self.operation:
            raise StateError(f"user: it belongs to {other!r}, this function to {self!r}")

    @property
    def status(self) -> int:
        """Code of the last call."""
        return int(self.array[L.STATUS])

    @property
    def error(self) -> StateError | None:
        """What was wrong in the last call, as an exception to raise or read; None when all was well."""
        return error_of(self.model, self.array)
