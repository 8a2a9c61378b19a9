"""The memory that a C function reads and writes: a model's block, a workspace, loads, a status."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inputs, lazy
from ..callbacks import OfState, compiled_load, load_callback
from ..core import cabi
from ..core import constants as L
from ..errors import MbkernError
from ..inputs import Array
from ..operations import OPERATIONS
from ..signatures import Load
from ..waits import task
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
    functions : dict
        The functions among its loads, by the name of the load.
    variable : str
        What y has beside q: "p" or "u".
    plain : dict
        Those of them that are plain Python, see :mod:`mbkern.plain_callbacks`.

    A frame holds all that the addresses in it need, so it may outlive its System.
    """

    def __init__(self, system: System, tau: Load | None = None, wrench: Load | None = None,
                 wrenches: bool = True) -> None:
        block, model = system.block, system.model
        at = block.size + system.binding.work_size
        self.array: Array = np.zeros(at + places.loads_size(block))
        self.array[:block.size] = block
        self.array[L.FRAME_SIZE], self.array[L.AT_LOADS] = self.array.size, at
        self.user = self.array.ctypes.data
        self.model = model
        with task("rhs", system):
            self.array[L.RHS_CALL] = system.binding.native  # first: it shows whether this has to be compiled, too
            self.address: int = (cabi.ode if wrenches else cabi.ode_without_wrenches).address
        self.array[L.ODE_CALL] = self.address
        self.variable = system.variable
        self.settle = self.reveal = 0
        self._needed: list[Any] = list(system.binding.callbacks)
        self.functions: dict[str, Any] = {}
        self.plain: dict[str, Any] = {}
        self._alive: list[Any] = []
        self.load(tau, wrench)

    def carry_gauge(self, system: System, gauge: str, project: bool) -> None:
        """Let the frame serve integrators of a model with constraints: y is (q, P), P momenta up to a gauge.

        `gauge`: "reset" makes them true momenta after each step, "keep" only where they are shown. `project`: whether
        loops are closed after each step as well. In each stage they are where the machine would lock, see
        `System.locks_when_open`.
        """
        calls, operations = lazy.module("core.constrained_calls"), lazy.module("operations")
        known = operations.CONSTRAINT_OPERATIONS
        self.address = (calls.ode_closed if system.locks_when_open else calls.ode).address
        self.array[L.ODE_CALL], self.array[L.RHS_CALL] = self.address, operations.FLOW.compiled.one.address
        self.array[L.GAUGE_CALL] = known["true_momenta"].compiled.one.address
        self.array[L.CLOSE_CALL] = known["closer"].compiled.one.address
        self.reveal = calls.reveal.address
        self.settle = 0 if gauge == "keep" else calls.settle.address if project else self.reveal

    def load(self, tau: Load | None = None, wrench: Load | None = None) -> None:
        """Let these act: None, numbers, or njit functions. The frame has no loads yet."""
        at, model = int(self.array[L.AT_LOADS]), self.model
        if tau is not None:
            self.array[L.HAS_TAU] = 1.0
            if callable(tau):
                self._call(tau, "tau", L.TAU_CALL, L.TAU_DATA)
            else:
                self.array[at:at + model.nv] = inputs.vector(tau, "tau", model.speed_names)
        if wrench is not None:
            self.array[L.HAS_WRENCH] = 1.0
            if callable(wrench):
                self._call(wrench, "wrench", L.WRENCH_CALL, L.WRENCH_DATA)
            else:
                self.array[at + 2 * model.nv:] = inputs.wrenches(wrench, model).ravel()

    def __reduce__(self) -> Any:
        raise MbkernError(f"a {type(self).__name__} holds addresses of this process and cannot be copied or pickled; "
                          "make another one from the System, which can")

    def know_momenta(self) -> None:
        """Functions of p are to be called: where the state is (q, u), the frame says how to find p."""
        if self.variable == "u":
            self.array[L.MOMENTA_CALL] = OPERATIONS["momenta"].compiled.one.address

    def _call(self, f: Any, what: str, function: int, data: int) -> None:
        self.know_momenta()
        callback = load_callback(f, what)
        self.plain.update({what: callback} if hasattr(callback, "error") else {})
        self.array[function], self.array[data] = callback.address, self.user
        self.functions[what] = f
        self._alive.append(callback)

    def load_of_state(self, tau: Callable[..., object], i: int) -> None:
        """Let the joint forces of an njit function f(t, q, p, out, i) act, as those of state i of a batch."""
        self.know_momenta()
        callback, data = compiled_load(tau, "tau", numbered=True), np.array([self.user, i])
        self.array[L.HAS_TAU], self.array[L.TAU_CALL], self.array[L.TAU_DATA] = 1.0, callback.address, data.ctypes.data
        self.functions["tau"] = OfState(tau, i)
        self._alive += [callback, data]

    def unload(self) -> None:
        """Let nothing act any more, and forget losses of digits."""
        array = self.array
        array[L.HAS_TAU:L.WRENCH_DATA + 1] = 0.0  # all that `load` enters
        array[L.LOSS] = 0.0
        if self.functions:
            self.functions, self.plain, self._alive = {}, {}, []

    @property
    def status(self) -> int:
        return int(self.array[L.STATUS])

    @property
    def loss(self) -> float:
        """Estimate of the largest relative error of the calls so far, see :mod:`mbkern.accuracy`."""
        return float(self.array[L.LOSS])


def make_frame(system: System, tau: Any = None, wrench: Any = None, wrenches: bool = True) -> Frame:
    """A frame for one thread; tau and wrench: None, numbers, or an njit f(t, q, p, out).

    Without `wrenches` there are and will be none: less to compile.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> from mbkern.workspace.frame import make_frame
    >>> frame = make_frame(mb.System(mb.zoo.chain(3)), tau=[1.0, 0.0, 0.0])
    >>> frame.status, frame.address > 0
    (0, True)
    """
    return Frame(system, tau, wrench, wrenches)
