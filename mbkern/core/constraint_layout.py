"""Where constraints are: their section of the model block, and their part of the workspace.

A constraint has up to six scalar rows  a(q, t) u + b(q, t) = 0. It knows two frames, A and B, fixed in nodes (or in the
world); its coefficients a are not zero only for dofs between one of its bodies and the last common one.

Block:  ... | head | rows of constraints | kinds of scalar rows | lists
Work:   ... scratch | nodes | frames of constraints | scalar rows | a | da/dt | z | factor of G | dofs

Constraints are in the order in which G is eliminated (:mod:`mbkern.model.constraint_order`), with PUBLIC for the order
of the description.
"""

from .constraint_constants import *
from .jit import inline
from .layout import AT_CONSTRAINTS, N_NODES, NQ, NV, scratch_at, scratch_size
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
def constrained_at(block):
    """Where the constraints begin in the workspace."""
    return scratch_at(block) + scratch_size(block)


@inline
def place_row(block, i):
    """Row of node i; that of the world is behind the last one."""
    return constrained_at(block) + i * NODE_PLACE


@inline
def frames_row(block, c):
    """Frames of constraint c."""
    return place_row(block, whole(block, N_NODES) + 1) + c * FRAMES


@inline
def scalar_row(block, k):
    """Scalar row k."""
    return frames_row(block, head(block, N_CONSTRAINTS)) + k * SCALAR_ROW


@inline
def a_at(block):
    """Coefficients a."""
    return scalar_row(block, head(block, N_ROWS))


@inline
def adot_at(block):
    """Their time derivatives."""
    return a_at(block) + head(block, A_SIZE)


@inline
def z_at(block):
    """Half solutions z."""
    return adot_at(block) + head(block, A_SIZE)


@inline
def factor_at(block):
    """Factor of G, row by row."""
    return z_at(block) + head(block, Z_SIZE)


@inline
def sweep_row(block, j):
    """Numbers of dof j for a sweep."""
    return factor_at(block) + head(block, L_SIZE) + j * DOF_SWEEP


@inline
def zero_at(block):
    """A zero of the kind of number that the workspace has."""
    return sweep_row(block, whole(block, NV))


@inline
def results_at(block):
    """Room for vectors of dofs, see :mod:`.constrained` and :mod:`.constrained_calls`, and a configuration."""
    return zero_at(block) + 1


@inline
def constrained_size(block):
    """Numbers that a workspace needs in all."""
    return results_at(block) + 5 * whole(block, NV) + whole(block, NQ)
