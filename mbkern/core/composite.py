"""Composite inertias, and the mass matrix B^T M B + r that they give.

    backward   Mc_k += C^T Mc C                          mass, first moment s and inertia J of each node's subtree
               H_jk = e_k^T C^T ... C^T Mc_j e_j         for the dofs k from j to the root, no others
               H_jj += r_j                               inertia of the rotor (armature)

A row j of the nv x nv matrix gets these numbers for all dofs k <= j on the way; its others stay what they are.
:mod:`.reduced` and :mod:`.mass_matrix` compute the same in world axes, which rails have no use for.

Rails are the first nodes of a tree where these are slides that :mod:`.quasi_sweeps` leaves out: forces f on what the
last rail carries reach rail j as axes_j . f. Trees of all other callers have none.
"""

from .jit import inline
from .joints import dofs, put_momentum, put_projection
from .layout import (
    DEPTH, INERTIA, MOMENT, N_NODES, NV, PARENT, ROTOR, SUBTREE_MASS, VI, W_G, W_MOMENT, W_PHI, W_R,
    add_to3, add_to6, get3, get6, get_frame, get_pair, node_row, put3, put6, work_row,
)
from .number import get, put, whole
from .rotors import armature
from .spatial import force_to_parent, rigid_to_parent
from .vec3 import dot


@inline
def put_rows(block, rails, axes, out, work):
    """Rows of the mass matrix in `out`; frames are in the workspace, composite inertias then too."""
    n, nv = whole(block, N_NODES), whole(block, NV)
    for i in range(rails, n):
        c, w = node_row(i), work_row(i)
        put3(work, w + W_MOMENT, get3(block, c + MOMENT))
        put6(work, w + W_R, get6(block, c + INERTIA))
    for i in range(n - 1, rails - 1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        m, s, J = get(block, c + SUBTREE_MASS), get3(work, w + W_MOMENT), get6(work, w + W_R)
        if k >= rails:
            s_k, J_k = rigid_to_parent(get_frame(work, w + W_G), m, s, J)
            add_to3(work, work_row(k) + W_MOMENT, s_k)
            add_to6(work, work_row(k) + W_R, J_k)
        vi, depth = whole(block, c + VI), whole(block, c + DEPTH)
        for a in range(dofs(block, c)):
            at = (vi + a) * nv
            put_momentum(block, c, a, m, s, J, work_row(n) + W_PHI, work)
            put_row(block, i, depth + a + 1, rails, axes, out, at, work)
            if whole(block, c + ROTOR) != 0:
                diagonal = at + vi + a
                put(out, diagonal, get(out, diagonal) + armature(block, vi + a))


@inline
def put_row(block, i, length, rails, axes, out, at, work):
    """One row: the momentum of node i's subtree (in the row of the ground) along `length` dofs from i to the root.
    """
    F = get_pair(work, work_row(whole(block, N_NODES)) + W_PHI)
    while length > 0 and i >= rails:
        c = node_row(i)
        first = whole(block, c + DEPTH)
        put_projection(block, c, F, length - first, out, at + whole(block, c + VI))
        length = first
        if length > 0:  # compiled code would carry F beyond the root
            F = force_to_parent(get_frame(work, work_row(i) + W_G), F)
            i = whole(block, c + PARENT)
    if length > 0:
        for j in range(i + 1):
            put(out, at + whole(block, node_row(j) + VI), along_rail(axes, rails, i, j, F[0]))


@inline
def along_rail(axes, rails, k, j, f):
    """Component along rail j of a force f on what rail k carries."""
    return dot(get3(axes, 3 * (k * rails + j)), f)


@inline
def mirror(n, out):
    """The upper half of an n x n matrix from the lower one."""
    for j in range(1, n):
        for k in range(j):
            put(out, k * n + j, get(out, j * n + k))
