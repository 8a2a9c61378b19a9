"""A tree as the source of M, N, h and qdot for the formulations of :mod:`.quasi`.

C functions void (double t, const double *q, const double *v, double *out, void *frame); the frame has the block and a
workspace of the tree, where `tree_mass` leaves drive values and frames for the others.
"""

from .cabi import LOAD, address_of
from .checks import OK, status
from .drives import evaluate_drives
from .entry import UNKNOWN
from .forces import add_joint_forces
from .inverse_dynamics import put_accelerations, put_drive_margins, put_forces
from .jit import c_function, exact, kernel
from .joints import put_frames, put_rates
from .layout import (
    INERTIA, MASS, MOMENT, N_NODES, NQ, NV, W_PHI, W_V, get3, get6, get_pair, node_row, put_pair, speeds_at, work_row,
)
from .mass import put_mass
from .momenta import project_forces, put_velocities
from .newton_euler import put_motion
from .number import array_at, get, put, whole
from .quasi import AT_BLOCK, AT_REST, AT_TREE, HEADER, RHEONOMIC, SINGULAR_TREE, STATUS, numbers
from .rotors import add_rotors
from .spatial import rigid_times


@kernel
def mass_and_frames(block, t, q, out, work):
    """The mass matrix; leaves drive values and frames in the workspace. Returns a status."""
    evaluate_drives(block, t, work)
    put_drive_margins(block, work)
    put_frames(block, q, work)
    put_mass(block, out, work)
    return status(block, work)


@kernel
def bias(block, q, v, h, work):
    """h: inverse dynamics without accelerations, less springs and dampers; drive values and frames are there."""
    speeds, nv = speeds_at(block), whole(block, NV)
    put_motion(block, v, work)
    for j in range(nv):
        put(work, speeds + j, 0.0)
    put_accelerations(block, work[speeds:], work)
    put_forces(block, h, work)
    for j in range(nv):
        put(work, speeds + j, get(v, j))
        put(h, j, -get(h, j))
    add_joint_forces(block, q, h[:0], h, work)
    for j in range(nv):
        put(h, j, -get(h, j))


@kernel
def momenta(block, v, p, work):
    """Momenta of speeds v; drive values and frames are in the workspace."""
    put_velocities(block, v, work)
    for i in range(whole(block, N_NODES)):
        c, w = node_row(i), work_row(i)
        mu = rigid_times(get(block, c + MASS), get3(block, c + MOMENT), get6(block, c + INERTIA),
                         get_pair(work, w + W_V))
        put_pair(work, w + W_PHI, mu)
    project_forces(block, p, work)
    add_rotors(block, v, p)


@kernel
def rates(block, q, v, qdot):
    """qdot = N(q) v."""
    put_rates(block, q, v, 0, qdot)


@exact
def tree(user):
    """The block and the workspace of the frame at an address."""
    frame = array_at(user, HEADER)
    return array_at(user + 8 * whole(frame, AT_BLOCK), UNKNOWN), array_at(user + 8 * whole(frame, AT_TREE), UNKNOWN)


@c_function(LOAD)
def tree_mass(t, q, v, out, user):
    """M, and N behind it where the frame asks for it."""
    address = address_of(user)
    frame, (block, work) = array_at(address, HEADER), tree(address)
    m = whole(block, NV)
    if mass_and_frames(block, t, numbers(q, whole(block, NQ)), numbers(out, m * m), work) != OK:
        put(frame, STATUS, SINGULAR_TREE)
    elif whole(frame, RHEONOMIC) != 0:
        momenta(block, array_at(address + 8 * whole(frame, AT_REST), m), numbers(out, m * m + m)[m * m:], work)


@c_function(LOAD)
def tree_bias(t, q, v, out, user):
    """h at the configuration of the last `tree_mass`."""
    block, work = tree(address_of(user))
    m = whole(block, NV)
    bias(block, numbers(q, whole(block, NQ)), numbers(v, m), numbers(out, m), work)


@c_function(LOAD)
def tree_rates(t, q, v, out, user):
    """qdot = N(q) v."""
    block, _ = tree(address_of(user))
    nq = whole(block, NQ)
    rates(block, numbers(q, nq), numbers(v, whole(block, NV)), numbers(out, nq))
