"""Operations on many states of a machine with constraints whose kernels know trees alone: state by state.

Forces of the constraints are found first, or derivatives are taken through them, as the calls for one state do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MbkernError
from ..system import System
from . import inputs
from .operations import BatchCall, rows_of

#: Name -> the call for one state, of (system, t, inputs of the operation in their order).
OF_ONE: dict[str, Callable[..., Any]] = {
    "reactions": lambda s, t, q, p, tau, wrench: s.reactions(q, p, t, tau, wrench),
    "body_accelerations": lambda s, t, q, p, tau, wrench: s.body_accelerations(q, p, t, tau, wrench),
    "frame_acceleration": lambda s, t, q, p, tau, wrench, n: s.acceleration_of_numbered(q, p, n, t, tau, wrench),
    "jacobian_rhs": lambda s, t, q, p, wrench: s.jacobian_rhs(q, p, t, None, wrench).matrix,
    "jvp": lambda s, t, q, p, dq, dp, wrench: s.jvp(q, p, dq, dp, t, None, wrench),
    "vjp": lambda s, t, q, p, gu, gp, wrench: s.vjp(q, p, gu, gp, t, None, wrench),
    "derivatives_accelerations": lambda s, t, q, u, tau, wrench: s.derivatives_accelerations(q, u, t, tau, wrench),
    "derivatives_inverse_dynamics": lambda s, t, q, u, udot, wrench: s.derivatives_inverse_dynamics(q, u, udot, t,
                                                                                                    wrench),
}


class ClosedCall(BatchCall):
    """An operation of a system with constraints on many states; see `BatchCall`."""

    def run(self, t: Any, given: tuple[Any, ...], threads: Any = None, parameters: Any = None,
            return_status: bool = False, out: Any = None) -> Any:
        """See `BatchCall.run`; a state without a result is an error that names it."""
        system, operation = self.system, self.operation
        Q = inputs.rows(given[0], "Q", system.model.coordinate_names)
        total = Q.shape[0]
        arrays = [Q, *(rows_of(value, argument, system, total)
                       for value, argument in zip(given[1:], operation.inputs[1:], strict=True))]
        times, varied = inputs.times(t, total), inputs.parameters(parameters, system, total)
        results = ([np.empty((total, columns)) for columns in self._columns] if out is None
                   else self._given_results(out, total))
        for i in range(total):
            machine = system if varied is None else System(varied.model_of(i), system.method)
            try:
                answer = OF_ONE[operation.name](machine, float(times[i if times.size > 1 else 0]), *(
                    _row(array, i, argument.shape_for(system.model))
                    for array, argument in zip(arrays, operation.inputs, strict=True)))
            except MbkernError as error:
                raise type(error)(f"row {i}: {error}") from error
            for result, part in zip(results, answer if isinstance(answer, tuple) else (answer,), strict=True):
                result[i] = np.ravel(part)
        shaped = [array.reshape(total, *shape) for array, shape in zip(results, self._shapes, strict=True)]
        if return_status:
            status: NDArray[np.int64] = np.zeros(total, np.int64)
            return (*shaped, status)
        return shaped[0] if len(shaped) == 1 else tuple(shaped)


def _row(array: Any, i: int, shape: tuple[int, ...]) -> Any:
    """What state i has of an input: one for each, one for all, or none."""
    if not len(array):
        return None
    row = array[i if len(array) > 1 else 0]
    return row.reshape(shape) if row.size == np.prod(shape) else row
