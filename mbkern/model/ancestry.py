"""Who carries whom: numbers of nodes and dofs along the tree, one entry a body.

Loops over plain integers, parents first; nothing here depends on masses and lengths.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.constants import GROUND
from .elements import Elements

Integers = NDArray[np.int64]


class Ancestry(NamedTuple):
    """What a body finds below it on the way to the ground.

    Attributes
    ----------
    parent : (n,)
        The body that carries it; -1: the ground.
    first_node, n_nodes : (n,)
        The nodes of its joint.
    node, root : (n,)
        The node that it is fixed in, and the one that its joint stands on.
    first_dof, n_dofs : (n,)
        The dofs of its joint.
    before, depth : (n,)
        The last dof below its joint (-1: none), and how many there are.
    """

    parent: Integers
    first_node: Integers
    n_nodes: Integers
    node: Integers
    root: Integers
    first_dof: Integers
    n_dofs: Integers
    before: Integers
    depth: Integers


def ancestry(parent: Integers, elements: Elements) -> Ancestry:
    """From the parents of the bodies and the elements of their joints."""
    n_nodes, n_dofs = (np.diff(np.append(0, np.cumsum(each))[elements.first]) for each in (elements.moves, elements.nv))
    first_node, first_dof = np.cumsum(n_nodes) - n_nodes, np.cumsum(n_dofs) - n_dofs
    node = [*(first_node + n_nodes - 1).tolist(), GROUND]  # the ground has place -1
    last = [*(first_dof + n_dofs - 1).tolist(), -1]
    dofs, depth = [*n_dofs.tolist(), 0], [0] * (len(parent) + 1)
    nodes = n_nodes.tolist()
    for i, k in enumerate(parent.tolist()):
        depth[i] = depth[k] + dofs[k]
        if not nodes[i]:
            node[i] = node[k]
        if not dofs[i]:
            last[i] = last[k]
    ends, lasts = np.array(node, np.int64), np.array(last, np.int64)
    return Ancestry(parent, first_node, n_nodes, ends[:-1], ends[parent], first_dof, n_dofs, lasts[parent],
                    np.array(depth[:-1], np.int64))


class Multipliers(NamedTuple):
    """Where the multipliers of the joints are in their matrix (HZU), see :mod:`mbkern.core.layout`.

    Attributes
    ----------
    sibling : (n,)
        The body before it on the same parent; -1: none, or on the ground.
    elders : (n,)
        Numbers in a row of the matrix before the body's own: the multipliers of its parent and of smaller siblings.
    begin : (n,)
        Where its rows begin.
    size : int
        Numbers of the matrix.
    """

    sibling: Integers
    elders: Integers
    begin: Integers
    size: int


def multipliers(parent: Integers, own: Integers) -> Multipliers:
    """From the number of multipliers of each joint."""
    n, count = len(parent), own.tolist()
    sibling, elders = [-1] * n, [0] * n
    last, sums = [-1] * n, list(count)  # of each body: its last child so far; its own multipliers and its children's
    for i, k in enumerate(parent.tolist()):
        if k >= 0:
            sibling[i], elders[i] = last[k], sums[k]
            last[k] = i
            sums[k] += count[i]
    before = np.array(elders, np.int64)
    rows = own * before + own * (own + 1) // 2
    return Multipliers(np.array(sibling, np.int64), before, np.cumsum(rows) - rows, int(rows.sum()))
