"""What `System.blocks` gives: the bodies at a configuration, to unpack or as one record array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .inputs import Array
from .lazy import cached_property

if TYPE_CHECKING:
    from .system import System


class Parts(NamedTuple):
    """C, A, vr of `Blocks`, which a caller may unpack."""

    C: Array
    A: list[Array]
    vr: Array


class Blocks(Parts):
    """The blocks of the extended system at one configuration, (linear; angular), in body axes.

    Unpacked, these are C, A and vr. By name (`blocks["M"]`), for NumPy and for `mbkern.sweeps` it is one record array.

    Attributes
    ----------
    C : array (N, 6, 6)
        Carries a velocity of the parent's frame to the body's frame.
    A : list of arrays (6, n_i)
        Joint bases: v = C v_parent + A u + vr.
    vr : array (N, 6)
        Velocity from prescribed motion.
    records : (N,) array of `mbkern.sweeps.BLOCK`
        All of it, with parents, dofs, inertias, weights and the derivatives of A: see `System.block_records`.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> system = mb.System(mb.zoo.pipelayer())
    >>> blocks = system.blocks(system.model.neutral())
    >>> blocks["parent"].tolist(), blocks["A"].shape
    ([-1, 0, 1, 2], (4, 6, 6))
    >>> mb.sweeps.rhs(blocks, np.ones(6)).mu.shape
    (4, 6)
    """

    _of: tuple[System, Array, float]

    @classmethod
    def at(cls, system: System, q: Array, t: float, C: Array, A: list[Array], vr: Array) -> Blocks:
        """Those of a system at q and t."""
        blocks = cls(C, A, vr)
        blocks._of = system, q.copy(), t
        return blocks

    @cached_property
    def records(self) -> NDArray[np.void]:
        """One record a body."""
        return self._of[0].block_records(*self._of[1:])

    def __getitem__(self, key: Any) -> Any:
        return self.records[key] if isinstance(key, str) else super().__getitem__(key)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.records, dtype) if copy else np.asarray(self.records, dtype)
