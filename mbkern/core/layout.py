"""Where things are: the model block (constants) and the workspace, both flat arrays of numbers.

A body's joint is lowered to *nodes*: each moving step, ball or free joint is one node with a frame of its own, whose
z axis is the axis of the step. Between nodes there are only constant placements, and a body is rigidly fixed in the
frame of its last node (a welded body in that of its parent). Nodes are numbered parents first.

Block:  header | node rows | body rows | coordinate rows | drive rows | spline tables | doubts | constraints
Work:   node rows, one more for the ground | drive values | margins | speeds | rotors | loss | forces | what a method
        adds, or the scratch of an operation
Frame:  block | work, and for C callers | loads: tau, its sum with what the wrenches do, wrenches

The margin of a node is its smallest pivot less what rounding could have left of it: positive when all is well.
"""

from .constants import *
from .jit import inline
from .number import COLUMNS, accessor, whole
from .vec3 import add, sadd


@inline
def node_row(i):
    """Row of node i in the block."""
    return HEADER + i * NODE


@inline
def body_row(block, b):
    """Row of body b in the block."""
    return whole(block, AT_BODIES) + b * BODY


@inline
def coordinate_row(block, j):
    """Row of speed j in the block."""
    return whole(block, AT_COORDINATES) + j * COORDINATE


@inline
def dof_before(block, j):
    """The dof before dof j on the way to the root; -1: none."""
    return whole(block, coordinate_row(block, j) + BEFORE)


@inline
def drive_row(block, d):
    """Row of drive d in the block."""
    return whole(block, AT_DRIVES) + d * DRIVE


@inline
def work_row(i):
    """Row of node i in the workspace; the ground has the row after the last node."""
    return i * WORK


@inline
def drive_values(block, d):
    """Where x, dx/dt, d2x/dt2 and the margin of drive d are in the workspace."""
    return (whole(block, N_NODES) + 1) * WORK + d * DRIVE_VALUES


@inline
def margins_at(block):
    """Where the margins of the nodes are in the workspace."""
    return drive_values(block, whole(block, N_DRIVES))


@inline
def speeds_at(block):
    """Where the joint speeds are in the workspace."""
    return margins_at(block) + whole(block, N_NODES)


@inline
def rotors_at(block):
    """Where a ball or free node with armature is eliminated in the workspace."""
    return speeds_at(block) + whole(block, NV)


@inline
def loss_at(block):
    """Where a method that may lose digits leaves its estimate of the relative error, and the scale behind it."""
    return rotors_at(block) + whole(block, ROTORS_SIZE)


@inline
def forces_at(block):
    """Where the sum of all joint forces is in the workspace: tau and what wrenches amount to."""
    return loss_at(block) + 2


@inline
def work_size(block):
    """Numbers a workspace needs before what a method adds."""
    return forces_at(block) + whole(block, NV)


@inline
def scratch_at(block):
    """Where the scratch of an operation begins in the workspace."""
    return work_size(block)


@inline
def scratch_size(block):
    """Numbers of scratch that suffice for every operation.

    The largest part are two columns of the inverse mass matrix, COLUMNS side by side each (:mod:`.inverse_mass`).
    """
    return (DOF_ROW + COLUMNS * PAIR_ROW) * whole(block, NV) + ALIGNMENT


@inline
def loads_size(block):
    """Numbers the loads of a frame need: tau, the sum of all joint forces, wrenches."""
    return 2 * whole(block, NV) + 6 * whole(block, N_BODIES)


# ---- tuples in and out of arrays ----
get3, put3 = accessor(3)
get6, put6 = accessor(6)
get33, put33 = accessor((3, 3, 3))
get_pair, put_pair = accessor((3, 3))  # a six-vector (linear; angular)
get_frame, put_frame = accessor(((3, 3, 3), 3))  # a frame (G, rho)
get_inertia, put_inertia = accessor((6, (3, 3, 3), 6))  # an inertia (P, Q, R)


@inline
def add_to3(a, i, x):
    put3(a, i, add(get3(a, i), x))


@inline
def add_to6(a, i, x):
    put6(a, i, sadd(get6(a, i), x))


@inline
def add_to_pair(a, i, x):
    y, z = get_pair(a, i)
    put_pair(a, i, (add(y, x[0]), add(z, x[1])))


@inline
def add_to_inertia(a, i, M):
    P, Q, R = get_inertia(a, i)
    put_inertia(a, i, (sadd(P, M[0]), (add(Q[0], M[1][0]), add(Q[1], M[1][1]), add(Q[2], M[1][2])), sadd(R, M[2])))
