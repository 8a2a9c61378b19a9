"""Where constraints are: their section of the model block, and their part of the workspace.

A constraint has up to six scalar rows  a(q, t) u + b(q, t) = 0. It knows two frames, A and B, fixed in nodes (or in the
world); its coefficients a are not zero only for dofs between one of its bodies and the last common one.

Block:  ... | head | rows of constraints | kinds of scalar rows | lists
Work:   ... scratch | nodes | frames of constraints | scalar rows | a | da/dt | z | z / D | G | its factor | dofs |
        results | user

Constraints are in the order in which G is eliminated (:mod:`mbkern.model.constraint_order`), with PUBLIC for the order
of the description.
"""

from .constraint_constants import *
from .jit import inline
from .layout import AT_CONSTRAINTS, NQ, NV
from .number import whole


@inline
def head(block, k):
    """Integer k of the head of the section."""
    return whole(block, whole(block, AT_CONSTRAINTS) + k)


@inline
def constraint_row(block, c):
    """Row of constraint c in the block."""
    return head(block, AT_OBJECTS) + c * CONSTRAINT


@inline
def type_row(block, k):
    """Kind and axes of scalar row k in the block."""
    return head(block, AT_TYPES) + k * ROW_TYPE


# ---- workspace ----
@inline
def dofs_at(block):
    """Rows of the dofs of the factored mass matrix (:mod:`.factorization`)."""
    return head(block, W_DOFS)


@inline
def place_row(block, i):
    """Row of node i; that of the world is behind the last one."""
    return head(block, W_NODES) + i * NODE_PLACE


@inline
def frames_row(block, c):
    """Frames of constraint c."""
    return head(block, W_FRAMES) + c * FRAMES


@inline
def scalar_row(block, k):
    """Scalar row k."""
    return head(block, W_ROWS) + k * SCALAR_ROW


@inline
def a_at(block):
    """Coefficients a."""
    return head(block, W_COEFFICIENTS)


@inline
def adot_at(block):
    """Their time derivatives."""
    return head(block, W_ADOT)


@inline
def z_at(block):
    """Half solutions z."""
    return head(block, W_Z)


@inline
def scaled_z_at(block):
    """z / D."""
    return head(block, W_SCALED_Z)


@inline
def gram_at(block):
    """G, row by row: columns up to the diagonal."""
    return head(block, W_GRAM)


@inline
def factor_at(block):
    """Factor of G, row by row."""
    return head(block, W_FACTOR)


@inline
def sweep_row(block, j):
    """Numbers of dof j for a sweep."""
    return head(block, W_SWEEP) + j * DOF_SWEEP


@inline
def zero_at(block):
    """A zero of the kind of number that the workspace has."""
    return sweep_row(block, whole(block, NV))


@inline
def results_at(block):
    """Room for vectors of dofs, see :mod:`.constrained` and :mod:`.constrained_calls`, and a configuration."""
    return zero_at(block) + 1


@inline
def user_at(block):
    """Room for rows that a user's function fills."""
    return results_at(block) + 5 * whole(block, NV) + whole(block, NQ)


@inline
def constrained_size(block):
    """Numbers that a workspace needs in all."""
    return user_at(block) + head(block, USER_SIZE)
