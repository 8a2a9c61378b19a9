"""The elements of all joints as columns, body by body.

Large machines repeat themselves: each joint is looked at once, however many bodies have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import constants as L
from .axes import aligned, displaced
from .drives import Drive
from .joint import Joint

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Array = NDArray[np.float64]

NO_QUATERNION = -1
Z = (0.0, 0.0, 1.0)


class Elements(NamedTuple):
    """One entry for each element; matrices and frames have the elements along their last axis.

    Attributes
    ----------
    first : (n_bodies + 1,)
        Those of body b are first[b] ... first[b + 1] - 1.
    body : (n,)
        Whose joint it is in.
    nq, nv : (n,)
        Configuration numbers and dofs.
    first_q, first_dof : (n,)
        Where they begin in q and in the speeds.
    moves : (n,)
        Whether it becomes a node; the others are constant.
    node : (n,)
        Number of its node.
    kind : (n,)
        Of its node.
    driven : (n,)
    quaternion : (n,)
        Where its quaternion begins among its numbers, or -1.
    pitch : (n,)
    axial : (n,)
        Whether it has an axis.
    W : (3, 3, n)
        Rotation that turns the axis into z; the identity without axis.
    shift : (4, 3, n)
        Of constant ones: the frame after it in the one before it, rows of G and rho.
    drives : list of Drive
        Of the driven ones, in their order.
    """

    first: Integers
    body: Integers
    nq: Integers
    nv: Integers
    first_q: Integers
    first_dof: Integers
    moves: Flags
    node: Integers
    kind: Integers
    driven: Flags
    quaternion: Integers
    pitch: Array
    axial: Flags
    W: Array
    shift: Array
    drives: list[Drive]


def elements_of(kinds: Sequence[Joint], joint_of: Integers) -> Elements:
    """The elements of joints, one after the other: `joint_of` says which of the `kinds` each body has."""
    distinct = [element for joint in kinds for element in joint.elements]
    sizes = np.array([len(joint.elements) for joint in kinds], np.int64)
    counts = sizes[joint_of]
    first = np.cumsum(counts) - counts
    # number of each element among the distinct ones: where those of its joint begin, and its place in the joint
    which = np.repeat((np.cumsum(sizes) - sizes)[joint_of] - first, counts) + np.arange(counts.sum())

    moves = np.array([not element.is_constant for element in distinct], bool)
    driven = np.array([isinstance(element.amount, Drive) for element in distinct], bool)
    kind = [getattr(L, f"DRIVEN_{element.node}" if is_driven else element.node)
            for element, is_driven in zip(distinct, driven.tolist(), strict=True)]
    quaternion = [NO_QUATERNION if element.quaternion is None else element.quaternion for element in distinct]
    axial = np.array([any(element.axis) for element in distinct], bool)
    W = aligned([element.axis if any(element.axis) else Z for element in distinct]).transpose(1, 2, 0)
    shift = np.zeros((4, 3, len(distinct)))
    for k in np.flatnonzero(~moves).tolist():
        G, rho = displaced(distinct[k])
        shift[:, :, k] = *G, rho

    nq = np.array([element.nq for element in distinct], np.int64)[which]
    nv = np.array([element.nv for element in distinct], np.int64)[which]
    return Elements(
        first=np.append(0, np.cumsum(counts)),
        body=np.repeat(np.arange(len(joint_of)), counts),
        nq=nq,
        nv=nv,
        first_q=np.cumsum(nq) - nq,
        first_dof=np.cumsum(nv) - nv,
        moves=moves[which],
        node=np.cumsum(moves[which]) - moves[which],
        kind=np.array(kind, np.int64)[which],
        driven=driven[which],
        quaternion=np.array(quaternion, np.int64)[which],
        pitch=np.array([element.pitch for element in distinct], np.float64)[which],
        axial=axial[which],
        W=W[:, :, which],
        shift=shift[:, :, which],
        drives=[amount for k in which[driven[which]].tolist() if isinstance(amount := distinct[k].amount, Drive)],
    )
