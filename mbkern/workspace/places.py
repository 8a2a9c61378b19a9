"""Where things are in a block and a workspace that depends on the model: the functions of the core, for Python.

>>> import mbkern as mb
>>> from mbkern.core import constants as L
>>> from mbkern.workspace import places
>>> block = mb.zoo.chain(3).block
>>> int(block[places.node_row(2) + L.PARENT])
1
"""

from collections.abc import Callable

import numpy as np

from .. import plain
from ..core import constants as L

_layout = plain.load("layout")

_Place = Callable[[np.ndarray], int]
_Row = Callable[[np.ndarray, int], int]

node_row: Callable[[int], int] = _layout.node_row
work_row: Callable[[int], int] = _layout.work_row
body_row: _Row = _layout.body_row
drive_row: _Row = _layout.drive_row
margins_at: _Place = _layout.margins_at
speeds_at: _Place = _layout.speeds_at
loss_at: _Place = _layout.loss_at
work_size: _Place = _layout.work_size
loads_size: _Place = _layout.loads_size
scratch_size: _Place = _layout.scratch_size


def only_single_dofs(block: np.ndarray) -> bool:
    """Whether no node has several dofs."""
    nodes = block[L.HEADER:L.HEADER + int(block[L.N_NODES]) * L.NODE].reshape(-1, L.NODE)
    return bool((nodes[:, L.DOFS] <= 1).all())


def body_place(block: np.ndarray, body: int) -> tuple[int, np.ndarray, np.ndarray]:
    """Node of a body (-1: the ground), and the body's frame (G, rho) in that of its node."""
    row = body_row(block, body)
    G = block[row + L.BODY_G:row + L.BODY_G + 9].reshape(3, 3)
    return int(block[row + L.BODY_NODE]), G, block[row + L.BODY_RHO:row + L.BODY_RHO + 3]
