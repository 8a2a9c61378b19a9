"""The record array: what a body is to the sweeps, and what can be wrong with it, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import Blocks
from ..core import records as R
from ..errors import ModelError, SingularInertiaError, StateError
from ..model.arrays import refuse_masked
from ..model.checks import bodies, show
from .kernels import checked

Records = NDArray[np.void]

#: The dtype of a body. Its fields are in the documentation of this module.
BLOCK = np.dtype(
    [
        ("parent", np.int64), ("dofs", np.int64), ("C", np.float64, (6, 6)), ("A", np.float64, (6, 6)),
        ("M", np.float64, (6, 6)), ("vr", np.float64, (6,)), ("F", np.float64, (6,)), ("r", np.float64, (6,)),
        ("A_q", np.float64, (6, 6, 6)), ("A_t", np.float64, (6, 6)),
    ],
    align=True,
)  # fmt: skip
assert BLOCK.itemsize == 8 * R.RECORD  # the compiled code counts on it


def zeros(n: int) -> Records:
    """Records of n bodies to fill in: all zero, but for C, which is the unit matrix, and parents: a chain.

    Parameters
    ----------
    n : int
        Number of bodies.

    Returns
    -------
    (n,) array of `BLOCK`

    Examples
    --------
    >>> import mbkern as mb
    >>> blocks = mb.sweeps.zeros(3)
    >>> blocks["parent"].tolist(), blocks["A"].shape
    ([-1, 0, 1], (3, 6, 6))
    """
    n = bodies(n, "n")
    blocks = np.zeros(n, BLOCK)
    blocks["parent"] = np.arange(-1, n - 1)
    blocks["C"] = np.eye(6)
    return blocks


def array_of(blocks: Any) -> Records:
    """A caller's array in the form that compiled code takes; what it holds is not looked at."""
    refuse_masked(blocks, "blocks")
    if isinstance(blocks, Blocks):
        blocks = blocks.records
    if not isinstance(blocks, np.ndarray):
        raise ModelError("blocks: expected a record array of mb.sweeps.BLOCK (mb.sweeps.zeros, "
                         f"System.blocks), got {show(blocks)}")
    if blocks.dtype is not BLOCK or type(blocks) is not np.ndarray:
        if blocks.dtype != BLOCK:
            raise ModelError(f"blocks: expected the dtype mb.sweeps.BLOCK, got {_difference(blocks.dtype)}")
        blocks = np.asarray(blocks).view(BLOCK)  # compiled code knows this very dtype
    if blocks.ndim != 1 or blocks.size == 0:
        raise ModelError(f"blocks: expected one record a body, shape (N,), got shape {blocks.shape}")
    if not blocks.flags.c_contiguous or not blocks.flags.aligned:
        raise ModelError("blocks: expected records side by side in memory; np.ascontiguousarray makes them so")
    return blocks if blocks.flags.writeable else blocks.copy()  # Numba compiles anew for a read-only array


def check(blocks: Any) -> Records:
    """Raise unless an array is what the sweeps can take; they do the same themselves, their compiled kernels do not.

    Parameters
    ----------
    blocks : (N,) array of `BLOCK`

    Returns
    -------
    (N,) array of `BLOCK`
        The same array, or a copy of one that must not be written to.

    Examples
    --------
    >>> import mbkern as mb
    >>> blocks = mb.sweeps.zeros(3)
    >>> blocks["parent"][1] = 2
    >>> mb.sweeps.check(blocks)
    Traceback (most recent call last):
    mbkern.errors.ModelError: blocks[1]: its parent is 2, expected -1 (the ground) or a body before it, ...
    """
    blocks = array_of(blocks)
    code, body = checked.check(blocks)
    if code != checked.FINE:
        raise fault(blocks, int(code), int(body))
    return blocks


def _difference(dtype: np.dtype[Any]) -> str:
    """How a dtype differs from BLOCK."""
    if dtype.names is None:
        return str(dtype)
    assert BLOCK.fields is not None and BLOCK.names is not None and dtype.fields is not None
    missing = [name for name in BLOCK.names if name not in dtype.names]
    if missing:
        return f"one without {', '.join(missing)}"
    wrong = [f"{name}: {dtype.fields[name][0]}" for name in dtype.names
             if name not in BLOCK.names or dtype.fields[name][:2] != BLOCK.fields[name][:2]]
    return "fields of another type or in another place, " + "; ".join(wrong) if wrong else "records of another size"


def fault(blocks: Records, code: int, body: int) -> ModelError | StateError:
    """The error that a code of the compiled check stands for."""
    where, row = f"blocks[{body}]", blocks[max(body, 0)]
    if code == checked.BAD_PARENT:
        others = f" or a body before it, 0 to {body - 1}: sort the bodies so that parents come first" if body else ""
        return ModelError(f"{where}: its parent is {row['parent']}, expected -1 (the ground){others}")
    if code == checked.BAD_DOFS:
        return ModelError(f"{where}: dofs = {row['dofs']}, expected 0 to 6")
    if code == checked.NOT_FINITE:
        return StateError(f"{where}: {_not_finite(row)}: expected finite numbers")
    if code == checked.NOT_RIGID:
        G, upper, lower, other = row["C"][:3, :3], row["C"][:3, 3:], row["C"][3:, :3], row["C"][3:, 3:]
        rho = -G.T @ upper
        return ModelError(f"{where}: C is not [[G, -G rho~], [0, G]] with a rotation G: |G G^T - E| = "
                          f"{np.abs(G @ G.T - np.eye(3)).max():.3g}, det G = {np.linalg.det(G):.6g}, |rho~ + rho~^T| = "
                          f"{np.abs(rho + rho.T).max():.3g}, below the diagonal {np.abs(lower).max():.3g}, its two G "
                          f"differ by {np.abs(other - G).max():.3g}")
    if code == checked.NOT_SYMMETRIC:
        i, j = np.unravel_index(int(np.abs(row["M"] - row["M"].T).argmax()), (6, 6))
        return ModelError(f"{where}: M is not symmetric, M[{i}, {j}] = {row['M'][i, j]:.9g} but M[{j}, {i}] = "
                          f"{row['M'][j, i]:.9g}")
    if code == checked.NEGATIVE:
        return ModelError(f"{where}: the diagonal of M and r must not be negative, got {show(np.diag(row['M']))} and "
                          f"{show(row['r'][:row['dofs']])}")
    if code == checked.SINGULAR:
        for beyond in _branch(blocks, body):
            lowest, *_, highest = np.linalg.eigvalsh(blocks["M"][beyond]).tolist()
            if lowest < -checked.TOLERANCE * highest:
                return ModelError(f"blocks[{beyond}]: M is no inertia: some motion would have negative kinetic energy "
                                  f"(its least eigenvalue is {lowest:.6g}, its largest {highest:.6g})")
        return SingularInertiaError(
            f"{where}: A^T M* A of its joint ({row['dofs']} dofs) is singular to rounding: some motion of it moves no "
            "mass, or columns of A are linearly dependent; give the body or one beyond it mass or inertia there, or "
            "its joint armature r", f"blocks[{body}]", f"{row['dofs']} dofs")
    return StateError("the result is not finite: speeds, momenta or forces are too large for these records")


def _branch(blocks: Records, body: int) -> list[int]:
    """A body and all bodies beyond it."""
    branch = {body: True}
    for i, parent in enumerate(blocks["parent"][body + 1:].tolist(), body + 1):
        if parent in branch:
            branch[i] = True
    return list(branch)


def _not_finite(row: Any) -> str:
    """The first number of a record that is not finite or too large."""
    n = int(row["dofs"])
    parts = {"C": row["C"], "A": row["A"][:, :n], "M": row["M"], "vr": row["vr"], "F": row["F"], "r": row["r"][:n],
             "A_q": row["A_q"][:n, :, :n], "A_t": row["A_t"][:, :n]}
    for name, values in parts.items():
        bad = ~(np.abs(values) <= checked.LIMIT)
        if bad.any():
            place = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
            return f"{name}[{', '.join(map(str, place))}] = {values[place]}"
    return "its numbers are too large"
