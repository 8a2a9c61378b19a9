"""The records of a model's bodies at a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .. import inputs, lazy
from ..errors import StateError
from ..explain import failure
from .records import BLOCK, Records

if TYPE_CHECKING:
    from ..system import System


def block_records(system: System, q: ArrayLike, t: float = 0.0) -> Records:
    """See `System.block_records`."""
    kernels = lazy.module("core.blocks")
    model = system.model
    q, t = inputs.configuration(q, model), inputs.time(t)
    blocks = np.zeros(model.n_bodies, BLOCK)
    blocks["parent"], blocks["dofs"], blocks["M"] = model.parents, model.dofs, model.bodies["M"]
    for row, at in zip(blocks, model.v_offsets, strict=True):
        row["r"][:row["dofs"]] = model.armature[at:at + row["dofs"]]
    with system.binding.lent() as (_, block, work):
        code = kernels.block_records(block, t, q, blocks.view(np.float64), work)
        if code:
            raise failure(model, block, work, code, t)
    for name in ("C", "A", "vr", "F", "A_q", "A_t"):
        if not np.isfinite(blocks[name]).all():
            raise StateError("the result is not finite: coordinates or forces are too large for this model")
    return blocks
