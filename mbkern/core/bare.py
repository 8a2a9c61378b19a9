"""Margins of nodes whose frames have no bodies of their own.

All that such a node moves is what the elimination of its children has left, M* = sum C^T (M* - U U^T / D) C. Where they
leave nothing, as three hinges through one point that carry a point mass do, all of M* is rounding. Its pivot then is
not small beside M*, with which :func:`.joints.put_pivot` compares it, but beside what the children had:
:func:`.joints.rounded_inertia`. P of a subtree is at most its mass.

Nothing is done in models without such nodes.
"""

from .jit import inline
from .joints import dofs, inertia_along, is_driven, rounded_by_hinge, rounded_inertia
from .layout import (
    INERTIA, IS_LEAF, N_NODES, ONLY_HINGES, PARENT, SUBTREE_MASS, W_R, get6, margins_at, node_row, work_row,
)
from .number import fma, get, put, whole
from .spatial import PIVOT_TOLERANCE


@inline
def is_bare(block, k):
    """Whether node k is there and has no bodies of its own."""
    return k >= 0 and whole(block, node_row(k) + IS_LEAF) < 0


@inline
def bare_parent(block, i):
    """The node without bodies of its own that gets what node i leaves, or -1; driven ones pass it on."""
    k = whole(block, node_row(i) + PARENT)
    while is_bare(block, k) and is_driven(block, node_row(k)):
        k = whole(block, node_row(k) + PARENT)
    return k if is_bare(block, k) and dofs(block, node_row(k)) < 6 else -1


@inline
def doubt_bare(block, work):
    """Take from the margins of such nodes what rounding may have left of zero; M* of all nodes but leaves is there."""
    if whole(block, ONLY_HINGES) < 0:
        margins = margins_at(block)
        for i in range(whole(block, N_NODES)):
            k, c = bare_parent(block, i), node_row(i)
            if k >= 0:
                at, w = margins + k, work_row(i)
                if whole(block, c + IS_LEAF) > 0:
                    doubt(block, k, at, rounded_by_hinge(block, c, get6(block, c + INERTIA)), work)
                else:
                    doubt(block, k, at, rounded_inertia(block, c, get6(work, w + W_R), w, work), work)


@inline
def doubt(block, k, at, angular, work):
    c = node_row(k)
    size = inertia_along(block, c, 0, get(block, c + SUBTREE_MASS), angular)
    put(work, at, fma(-PIVOT_TOLERANCE, size, get(work, at)))
