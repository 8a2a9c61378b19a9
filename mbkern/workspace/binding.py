"""A model bound to a method: the block that kernels read, sizes, addresses, and frames for calls from Python.

A frame is a block with a workspace behind it, in one array, see :mod:`mbkern.core.layout`. Compiled code knows it by
its address. A call borrows one from the pool and puts it back, so that any number of threads may call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import lazy
from ..core import constants as L
from ..errors import MethodError
from ..inputs import Array
from ..lazy import cached_property
from ..methods import METHODS, Method
from ..model.drives import Drive, Function
from ..model.model import Model
from . import places


class Binding:
    """What evaluating a model by a method needs in memory.

    Attributes
    ----------
    model : Model
    method : Method
    callbacks : list
        The compiled drives whose addresses are in the block: they must live as long as it.
    block : array
        The packed constants that kernels read.
    work_size : int
        Numbers of a workspace, for the method and for what all systems can do in O(N).
    idle : list of int
        Addresses of frames that nobody uses now.
    lane_buffers : list
        Memory of batches that nobody uses now, see :mod:`.lanes`.
    """

    def __init__(self, model: Model, method: Method) -> None:
        self.model, self.method = model, method
        self.callbacks = _drive_callbacks(model)
        self.block: Array = _with_addresses(model, self.callbacks)
        self.work_size = max(method.work_size(self.block), METHODS["emh-lu"].work_size(self.block))
        self.idle: list[int] = []
        self.lane_buffers: list[tuple[Array, NDArray[np.int64]]] = []
        self._frames: dict[int, Array] = {}  # all of them, by their addresses
        self._rhs_call = self._loss_limit = 0.0

    # ---- frames --------------------------------------------------------------------------------------------------

    @property
    def native(self) -> int:
        """Address of the method as a C function, compiled now if it is not yet."""
        return int(self.method.native_for(self.block).address)

    def compile(self) -> None:
        """Compile the method; all frames know its address from now on."""
        self._rhs_call = self.native
        self._tell(L.RHS_CALL, self._rhs_call)

    def limit_loss(self, limit: float) -> None:
        """From where on frames report a loss of digits; 0 for never."""
        self._loss_limit = limit if self.method.may_lose_digits else 0.0
        self._tell(L.LOSS_LIMIT, self._loss_limit)

    def _tell(self, place: int, value: float) -> None:
        for frame in list(self._frames.values()):
            frame[place] = value

    def new_frame(self, size: int = 0) -> int:
        """Address of a new frame, whose workspace has at least `size` numbers."""
        size = self.block.size + max(size, self.work_size)
        try:
            frame = np.zeros(size)
        except (MemoryError, ValueError):
            raise MethodError(f"this method needs {8e-9 * size:.3g} GB of memory for a tree of this shape; \"emh-ldl\" "
                              "and \"newton-euler-ldl\" need little for every tree") from None
        frame[:self.block.size] = self.block
        frame[L.LOSS_LIMIT], frame[L.RHS_CALL] = self._loss_limit, self._rhs_call
        address = frame.ctypes.data
        self._frames[address] = frame
        return address

    @contextmanager
    def lent(self, size: int = 0) -> Iterator[tuple[Array, Array, Array]]:
        """A frame from the pool, its block and its workspace, which has at least `size` numbers.

        Examples
        --------
        >>> import mbkern as mb
        >>> binding = mb.System(mb.zoo.chain(3)).binding
        >>> with binding.lent() as (frame, block, work):
        ...     frame.size == block.size + work.size
        True
        """
        try:
            address = self.idle.pop()
        except IndexError:
            address = self.new_frame(size)
        if self._frames[address].size < self.block.size + size:
            del self._frames[address]
            address = self.new_frame(size)
        frame, at = self._frames[address], self.block.size
        try:
            yield frame, frame[:at], frame[at:]
        finally:
            self.idle.append(address)

    @property
    def frame_count(self) -> int:
        """How many frames there are."""
        return len(self._frames)

    # ---- batches -------------------------------------------------------------------------------------------------

    @cached_property
    def lane_block(self) -> Array:
        """The block for batches, which use other functions for rotors."""
        block = self.block.copy()
        if block[L.HAS_ROTORS]:
            block[L.ROTOR_CALLS + 1] = lazy.module("core.rotor_calls").rotor_of_lanes.address
        kept: Array = lazy.module("callbacks").keep_alive(block, self.callbacks)
        return kept

    @cached_property
    def lanes(self) -> tuple[int, int]:
        """Addresses of the method on lanes and of the block for it."""
        return self.method.lanes_for(self.block).address, self.lane_block.ctypes.data

    @cached_property
    def varied(self) -> tuple[int, int]:
        """The same where every lane has constants of its own."""
        return self.method.varied.address, self.lane_block.ctypes.data

    @cached_property
    def seconds_a_state(self) -> float:
        """Estimate for one state of a batch on one thread."""
        costs, lanes = lazy.module("costs"), lazy.module("core.number").LANES
        return max(1e-9, costs.cost(self.method.name, costs.structure(self.model)) / lanes)


def _drives(model: Model) -> list[Any]:
    """All drives, in the order of the drive rows of the block."""
    amounts = [getattr(element, "amount", None) for body in model.body_specs for element in body.joint.elements]
    return [amount for amount in amounts if isinstance(amount, Drive)]


def _drive_callbacks(model: Model) -> list[Any]:
    """The drives that are functions, compiled, in the order of the drive rows."""
    functions = [drive.f for drive in _drives(model) if isinstance(drive, Function)]
    if not functions:
        return []
    drive_callback = lazy.module("callbacks").drive_callback
    return [drive_callback(f) for f in functions]


def _with_addresses(model: Model, callbacks: list[Any]) -> Array:
    """The model's block; a copy with the addresses of compiled drives and of the rotors' code where there are any."""
    rotors = bool(model.block[L.HAS_ROTORS])
    if not callbacks and not rotors:
        return model.block
    block = model.block.copy()
    if rotors:
        block[L.ROTOR_CALLS] = lazy.module("core.rotor_calls").rotor_of_one.address
    left = iter(callbacks)
    for d, drive in enumerate(_drives(model)):
        if isinstance(drive, Function):
            block[places.drive_row(block, d) + L.DRIVE_DATA] = next(left).address
    return block
