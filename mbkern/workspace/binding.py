"""A model bound to a method: the block that kernels read, sizes, addresses, and frames for calls from Python.

A frame is a block with a workspace behind it, in one array, see :mod:`mbkern.core.layout`. Compiled code knows it by
its address. A call borrows one from the pool and puts it back, so that any number of threads may call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import lazy
from ..core import constants as L
from ..core import constraint_constants as K
from ..errors import MethodError
from ..inputs import Array
from ..lazy import cached_property
from ..methods import METHODS, Method
from ..model import columns
from ..model.constraints import UserRows, prescribed
from ..model.drives import Function
from ..model.model import Model
from . import places

# a right-hand side with constraints costs about so many without; enough to share work between threads
CONSTRAINED_COST = 6.0


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
    loss_limit : float
        From where on a loss of digits is reported; 0 for never, see `limit_loss`.
    runs : dict
        Memory of integrations that nobody uses now, by the name of the integrator, see :mod:`mbkern.integrate`.
    """

    def __init__(self, model: Model, method: Method) -> None:
        self.model, self.method = model, method
        self.callbacks = _drive_callbacks(model)
        self.block: Array = _with_addresses(model, self.callbacks)
        if method.needs_inertias:  # they have a use for constant bases
            self.block = lazy.module("workspace.bases").with_bases(self.block)
        self.work_size = max(method.work_size(self.block), METHODS["emh-lu"].work_size(self.block),
                             places.work_size(self.block) + places.scratch_size(self.block))
        self.idle: list[int] = []
        self.runs: dict[str, list[Any]] = {}
        self._frames: dict[int, Array] = {}  # all of them, by their addresses
        self.loss_limit = 0.0

    # ---- frames --------------------------------------------------------------------------------------------------

    @property
    def native(self) -> int:
        """Address of the method as a C function, compiled now if it is not yet."""
        return int(self.method.native_for(self.block).address)

    @property
    def ready(self) -> bool:
        """Whether that is compiled."""
        return bool(self.method.native_for(self.block).ready)

    @property
    def ready_on_lanes(self) -> bool:
        """The same for several states side by side."""
        return bool(self.method.lanes_for(self.block).ready)

    @property
    def only_hinges(self) -> bool:
        """Whether the tree is one of hinges, whose kernels are compiled sooner."""
        return bool(self.block[L.ONLY_HINGES])

    def limit_loss(self, limit: float) -> None:
        """From where on frames report a loss of digits; 0 for never."""
        self.loss_limit = limit
        for frame in list(self._frames.values()):
            frame[L.LOSS_LIMIT] = self.loss_limit

    def new_frame(self, size: int = 0) -> int:
        """Address of a new frame, whose workspace has at least `size` numbers."""
        size = self.block.size + max(size, self.work_size)
        try:
            frame = np.zeros(size)
        except (MemoryError, ValueError):
            raise MethodError(f"this method needs {8e-9 * size:.3g} GB of memory for a tree of this shape; \"emh-ldl\" "
                              "and \"newton-euler-ldl\" need little for every tree") from None
        frame[:self.block.size] = self.block
        frame[L.LOSS_LIMIT] = self.loss_limit
        address = frame.ctypes.data
        self._frames[address] = frame
        return address

    def work_of(self, address: int) -> Array:
        """The workspace of a frame."""
        return self._frames[address][self.block.size:]

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
        if block[L.AT_CONSTRAINTS]:
            block[L.ENGINE_CALLS + 1] = lazy.module("core.constrained_engine").engine_of_lanes.address
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
        known = self.method.name in METHODS
        seconds = costs.cost(self.method.name if known else "emh-ldl", costs.structure(self.model))
        return max(1e-9, (seconds if known else CONSTRAINED_COST * seconds) / lanes)


def drives_of(model: Model) -> list[Any]:
    """All drives, in the order of the drive rows of the block."""
    return [*columns.drives_of(model), *prescribed(model.constraints)]


def _drive_callbacks(model: Model) -> list[Any]:
    """The drives that are functions, compiled, in the order of the drive rows."""
    functions = [drive.f for drive in drives_of(model) if isinstance(drive, Function)]
    if not functions:
        return []
    drive_callback = lazy.module("callbacks").drive_callback
    return [drive_callback(f) for f in functions]


def user_rows(model: Model, block: Array) -> list[tuple[int, UserRows]]:
    """Constraints whose rows functions of the user fill, each with the place in the block for the function's address.
    """
    users = [(k, c) for k, c in enumerate(model.constraints) if isinstance(c, UserRows)]
    if not users:
        return []
    first = np.cumsum([0, *[c.rows for c in model.constraints]])
    objects = int(block[int(block[L.AT_CONSTRAINTS]) + K.AT_OBJECTS])
    table = block[objects:objects + len(model.constraints) * K.CONSTRAINT].reshape(-1, K.CONSTRAINT)
    return [(objects + int(np.flatnonzero(table[:, K.PUBLIC] == first[k])[0]) * K.CONSTRAINT + K.CALL, c)
            for k, c in users]


def _put_user_rows(model: Model, block: Array, callbacks: list[Any]) -> None:
    """Enter the addresses of rows that functions of the user fill, and keep these among the callbacks."""
    for place, c in user_rows(model, block):
        made = lazy.module("user_rows").rows_callback(c.f, c.position, c.rows, model.nq, model.nv)
        callbacks.append(made)
        block[place] = made.address


def _with_addresses(model: Model, callbacks: list[Any]) -> Array:
    """The model's block; a copy with the addresses of compiled drives and of the rotors' code where there are any."""
    rotors = bool(model.block[L.HAS_ROTORS])
    if not callbacks and not rotors and not model.constraints:
        return model.block
    block = model.block.copy()
    if model.constraints:
        with lazy.module("waits").task("constraints"):
            block[L.ENGINE_CALLS] = lazy.module("core.constrained_engine").engine_of_one.address
        _put_user_rows(model, block, callbacks)
    if rotors:
        block[L.ROTOR_CALLS] = lazy.module("core.rotor_calls").rotor_of_one.address
    left = iter(callbacks)
    for d, drive in enumerate(drives_of(model)):
        if isinstance(drive, Function):
            block[places.drive_row(block, d) + L.DRIVE_DATA] = next(left).address
    return block
