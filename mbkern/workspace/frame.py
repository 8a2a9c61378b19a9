"""The memory that a C function reads and writes: a model's block, a workspace, loads, a status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inputs
from ..callbacks import load_callback
from ..core import cabi
from ..core import constants as L
from ..errors import MbkernError
from ..inputs import Array
from . import places

if TYPE_CHECKING:
    from ..system import System



class Frame:
    """What `user` of the C functions points at; one for each thread.

    Attributes
    ----------
    array : array
        block | work | loads, see :mod:`mbkern.core.layout`.
    address : int
        Of the C function void (double t, const double *y, double *dydt, void *user).
    user : int
        Address of the frame.
    status : int
        Code of the last call, see :mod:`mbkern.core.checks`; 0 when all is well.

    A frame holds all that the addresses in it need, so it may outlive its System.
    """

    def __init__(self, system: System, tau: Any = None, wrench: Any = None) -> None:
        block, model = system.block, system.model
        at = block.size + system.binding.work_size
        self.array: Array = np.zeros(at + places.loads_size(block))
        self.array[:block.size] = block
        self.array[L.FRAME_SIZE], self.array[L.AT_LOADS] = self.array.size, at
        self.user = self.array.ctypes.data
        self.model = model
        self.address: int = cabi.ode.address
        self.array[L.ODE_CALL], self.array[L.RHS_CALL] = self.address, system.binding.native
        self._alive: list[Any] = list(system.binding.callbacks)
        if tau is not None:
            self.array[L.HAS_TAU] = 1.0
            if callable(tau):
                self._call(load_callback(tau, "tau"), L.TAU_CALL, L.TAU_DATA)
            else:
                self.array[at:at + model.nv] = inputs.vector(tau, "tau", model.speed_names)
        if wrench is not None:
            self.array[L.HAS_WRENCH] = 1.0
            if callable(wrench):
                self._call(load_callback(wrench, "wrench"), L.WRENCH_CALL, L.WRENCH_DATA)
            else:
                self.array[at + 2 * model.nv:] = inputs.wrenches(wrench, model).ravel()

    def __reduce__(self) -> Any:
        raise MbkernError(f"a {type(self).__name__} holds addresses of this process and cannot be copied or pickled; "
                          "make another one from the System, which can")

    def _call(self, callback: Any, function: int, data: int) -> None:
        self.array[function], self.array[data] = callback.address, self.user
        self._alive.append(callback)

    @property
    def status(self) -> int:
        return int(self.array[L.STATUS])

    @property
    def loss(self) -> float:
        """Estimate of the largest relative error of the calls so far, see :mod:`mbkern.accuracy`."""
        return float(self.array[L.LOSS])


def make_frame(system: System, tau: Any = None, wrench: Any = None) -> Frame:
    """A frame for one thread; tau and wrench: None, numbers, or an njit f(t, q, p, out).

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> from mbkern.workspace.frame import make_frame
    >>> frame = make_frame(mb.System(mb.zoo.chain(3)), tau=[1.0, 0.0, 0.0])
    >>> frame.status, frame.address > 0
    (0, True)
    """
    return Frame(system, tau, wrench)
