"""Margins of nodes whose frames have no bodies of their own.

All that such a node moves is what the elimination of its children has left, M* = sum C^T (M* - U U^T / D) C. Where they
leave nothing, as three hinges through one point that carry a point mass do, all of M* is rounding. Its pivot then is
not small beside M*, with which :func:`.joints.put_pivot` compares it, but beside what the children had:
:func:`.joints.rounded_inertia`. P of a subtree is at most its mass.

Which nodes need that is found when a model is built (:mod:`..model.doubts`); for all others nothing is done.
"""

from .jit import inline
from .joints import inertia_along, rounded_by_hinge, rounded_inertia
from .layout import AT_DOUBTS, INERTIA, IS_LEAF, SUBTREE_MASS, W_R, get6, margins_at, node_row, work_row
from .number import fma, get, put, whole
from .spatial import PIVOT_TOLERANCE


@inline
def doubt_bare(block, work):
    """Take from the margins of such nodes what rounding may have left of zero; M* of all nodes but leaves is there."""
    at = whole(block, AT_DOUBTS)
    if at > 0:
        margins = margins_at(block)
        for j in range(at + 1, at + 1 + 2 * whole(block, at), 2):
            i, k = whole(block, j), whole(block, j + 1)
            c, w = node_row(i), work_row(i)
            if whole(block, c + IS_LEAF) > 0:
                doubt(block, k, margins + k, rounded_by_hinge(block, c, get6(block, c + INERTIA)), work)
            else:
                doubt(block, k, margins + k, rounded_inertia(block, c, get6(work, w + W_R), w, work), work)


@inline
def doubt(block, k, at, angular, work):
    c = node_row(k)
    size = inertia_along(block, c, 0, get(block, c + SUBTREE_MASS), angular)
    put(work, at, fma(-PIVOT_TOLERANCE, size, get(work, at)))
