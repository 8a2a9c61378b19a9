"""Memory for derivatives along a trajectory, see :mod:`.kernels.desk`."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .. import lazy
from ..core import constants as L
from ..core.number import COLUMNS
from ..errors import MethodError, ModelError
from ..inputs import Array
from ..lazy import cached_property
from ..methods import METHODS
from ..model.model import Model
from ..workspace import places
from ..workspace.frame import Frame
from .forces import derivative_of
from .kernels import desk as D
from .kernels import flow

_POINTER = ctypes.c_void_p
_JACOBIAN = ctypes.CFUNCTYPE(None, ctypes.c_double, _POINTER, _POINTER, _POINTER)


def needs_momenta(variable: str, what: str) -> None:
    """Raise a MethodError where the state is (q, u): derivatives are those of Hamilton's equations."""
    if variable != "p":
        raise MethodError(f"{what}: derivatives along a motion are in (q, p), and this system has the state (q, u); "
                          "take System(model) and momenta")


class Desk:
    """What the C functions of :mod:`mbkern.variational.kernels.flow` get as their last argument.

    Parameters
    ----------
    model : Model
    frame : Frame
        Of the right-hand side, with its forces; a StateError names a force function whose derivative is not known.
    columns : int
        Increments side by side.
    slots : int
        States whose adjoints can wait at once.
    gradient : bool
        Whether there is room for a gradient by parameters.
    wrenches : bool, optional
        Whether wrenches act; by default whether some do now.

    Attributes
    ----------
    address : int
    array : array
    gradient : array
        By parameters, see :mod:`.kernels.desk`.
    singles : bool
        Whether all nodes are of single dofs, and no wrenches act: shorter functions.
    nodes : bool
        Whether the gradient by parameters has sums of nodes: no wrenches act, and there are no rotors in ball and free
        joints.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern.variational import Desk
    >>> from mbkern.workspace.frame import make_frame
    >>> system = mb.System(mb.zoo.chain(2))
    >>> Desk(system.model, make_frame(system)).jacobian(0.0, system.model.pack()).shape
    (4, 4)
    """

    def __init__(self, model: Model, frame: Frame, columns: int = 1, slots: int = 1, gradient: bool = False,
                 wrenches: bool | None = None) -> None:
        if model.constraints:
            raise ModelError(f"derivatives along a motion: not for models with constraints "
                             f"({model.constraints[0].name!r}, ...) yet")
        block = frame.array
        nq, nv = model.nq, model.nv
        n = nq + nv
        sizes = lazy.module("_plain_core.tangents")
        slot = (sizes.lanes_begin(block) + COLUMNS * sizes.lanes_size(block) + 15) // 8 * 8
        matrices = n * n + 4 * nv * n + 4 * nv * nv if model.quaternion_offsets.size else 0
        scratch = 2 * n + nv * (n + nv) + max(4 * nv * columns, matrices, 4 * nv)
        acting = bool(block[L.HAS_WRENCH]) if wrenches is None else wrenches
        self.singles = places.only_single_dofs(block) and not acting
        self.nodes = self.singles or not (acting or block[L.ROTORS_SIZE])
        rows = int(block[L.N_NODES]) if self.nodes else model.n_bodies
        wanted = D.G_BODY * rows + D.G_DOF * nv + 3 if gradient else 0
        at = D.HEADER + scratch + wanted
        self.array: Array = np.zeros(at + slots * slot + 8)
        self.address = int(self.array.ctypes.data)
        at += (-(self.address // 8 + at)) % 8  # slots begin with a cache line
        self.array[D.FRAME], self.array[D.SWEEP] = frame.user, METHODS["emh-ldl"].native_for(block).address
        self.array[D.COLUMNS], self.array[D.SLOT_SIZE], self.array[D.AT_SLOTS] = columns, slot, at
        self.array[D.AT_SCRATCH] = D.HEADER
        self.gradient = self.array[D.HEADER + scratch:D.HEADER + scratch + wanted]
        self._size, self._frame, self._at_gradient = n, frame, D.HEADER + scratch
        self.sum_up(gradient)
        self.know_forces(frame.functions)

    def know_forces(self, functions: dict[str, Any]) -> None:
        """Know the derivatives of the force functions that act; a StateError names one that has none."""
        self._derivative = derivative = derivative_of(functions)
        self.array[D.FORCES] = (D.NONE if derivative is None else D.DIFFERENCES if derivative == "differences"
                                else derivative.address)

    def sum_up(self, wanted: bool) -> None:
        """Whether the gradient by parameters is to be summed up, from zero."""
        self.array[D.AT_GRADIENT] = self._at_gradient if wanted else 0
        self.gradient[:] = 0.0

    @property
    def code(self) -> int:
        """Status of the last call, see :mod:`mbkern.core.checks`."""
        return int(self.array[D.CODE])

    @property
    def jacobian_function(self) -> Any:
        """The C functions for this machine, see :mod:`.kernels.flow`: df/dy, here; each is compiled when it is asked
        for its address."""
        return flow.single_jacobian if self.singles else flow.jacobian

    @property
    def variation_function(self) -> Any:
        """df/dy times increments."""
        return flow.single_variation if self.singles else flow.variation

    @property
    def pull_function(self) -> Any:
        """Its transpose times weights."""
        return flow.single_pull if self.singles else flow.node_pull if self.nodes else flow.pull

    def jacobian(self, t: float, y: Array) -> Array:
        """df/dy at a state (q, p), a contiguous float64 array; all NaN where there is none."""
        out = np.empty((self._size, self._size))
        self._jacobian(t, y.ctypes.data, out.ctypes.data, self.address)
        return out

    @cached_property
    def _jacobian(self) -> Any:
        return _JACOBIAN(self.jacobian_function.address)
