"""A tree as the source of M, N, h and qdot for the formulations of :mod:`.quasi`.

C functions void (double t, const double *q, const double *v, double *out, void *frame); the frame has the block and a
workspace of the tree, where `tree_mass` leaves drive values and frames for the others. Rails: see
:mod:`.quasi_sweeps`.
"""

from .arguments import UNKNOWN, data_of
from .cabi import LOAD, address_of
from .checks import OK
from .jit import c_function, exact, inline, kernel
from .joints import put_rates
from .layout import (
    BODY_G, BODY_NODE, INERTIA, MASS, MOMENT, N_NODES, NQ, NV, W_G, W_PHI, W_V, body_row, get3, get6, get33, get_pair,
    node_row, put3, put_pair, work_row,
)
from .mass import factor, solve
from .momenta import project_forces, put_velocities
from .number import array_at, get, put, whole
from .quasi_layout import (
    AT_AXES, AT_BLOCK, AT_IGNORABLE, AT_REST, AT_ROWS, AT_TREE, IGNORABLE, I_AXIS, I_BODY, I_FIRST, I_QUATERNION, NU,
    QUASI_HEADER, QUASI_STATUS, R, RAILS, RHEONOMIC, S, SINGULAR_MASS, SINGULAR_TREE,
)
from .quasi_rows import axes_of
from .quasi_sweeps import bias, frames_alone, mass_and_frames
from .rotors import add_rotors
from .spatial import rigid_times
from .vec3 import axpy, cross, dot, mul, scale


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
def numbers(pointer, n):
    """An array over n numbers at a pointer."""
    return array_at(address_of(pointer), n)


@exact
def tree(user):
    """The block and the workspace of the frame at an address, the number of its rails and their axes."""
    frame = array_at(user, QUASI_HEADER)
    return (array_at(user + 8 * whole(frame, AT_BLOCK), UNKNOWN), array_at(user + 8 * whole(frame, AT_TREE), UNKNOWN),
            whole(frame, RAILS), array_at(user + 8 * whole(frame, AT_AXES), UNKNOWN))


@c_function(LOAD)
def tree_mass(t, q, v, out, user):
    """M, and N behind it where the frame asks for it."""
    address = address_of(user)
    frame, (block, work, rails, axes) = array_at(address, QUASI_HEADER), tree(address)
    m = whole(block, NV)
    if mass_and_frames(block, rails, axes, t, numbers(q, whole(block, NQ)), numbers(out, m * m), work) != OK:
        put(frame, QUASI_STATUS, SINGULAR_TREE)
    elif whole(frame, RHEONOMIC) != 0:
        momenta(block, array_at(address + 8 * whole(frame, AT_REST), m), array_at(address_of(out) + 8 * m * m, m), work)


@kernel
def put_ignored_rows(block, frame, rest, out, work):
    """Rows (and columns) of M of the ignorable speeds; of rheonomic trees N is behind M, and in every momentum."""
    m, table, rheonomic = whole(block, NV), whole(frame, AT_IGNORABLE), whole(frame, RHEONOMIC) != 0
    N, last = array_at(data_of(out) + 8 * m * m, m), -1
    for k in range(whole(frame, S)):
        first = whole(frame, table + k * IGNORABLE + I_FIRST)
        n = 1 if whole(frame, table + k * IGNORABLE + I_QUATERNION) < 0 else 3
        if first == last:  # another position of the same free joint
            continue
        last = first
        for i in range(first, first + n):
            row = array_at(data_of(out) + 8 * m * i, m)
            put(rest, i, 1.0)
            momenta(block, rest, row, work)
            put(rest, i, 0.0)
            for j in range(m):
                if rheonomic:
                    put(row, j, get(row, j) - get(N, j))
                put(out, j * m + i, get(row, j))


@c_function(LOAD)
def tree_rows(t, q, v, out, user):
    """Of a large tree: the rows of M that belong to ignored coordinates, and N behind M."""
    address = address_of(user)
    frame, (block, work, _, _) = array_at(address, UNKNOWN), tree(address)
    m, rest = whole(block, NV), array_at(address + 8 * whole(frame, AT_REST), whole(block, NV))
    if frames_alone(block, t, numbers(q, whole(block, NQ)), work) != OK:
        put(frame, QUASI_STATUS, SINGULAR_TREE)
        return
    if whole(frame, RHEONOMIC) != 0:
        momenta(block, rest, array_at(address_of(out) + 8 * m * m, m), work)
    put_ignored_rows(block, frame, rest, numbers(out, m * m + m), work)


@c_function(LOAD)
def tree_solve(t, q, v, out, user):
    """Of a large tree: M^-1 of 1 + r right sides v, one after the other; M of this configuration is factored first."""
    address = address_of(user)
    frame, (block, work, _, _) = array_at(address, QUASI_HEADER), tree(address)
    m = whole(block, NV)
    if factor(block, t, numbers(q, whole(block, NQ)), numbers(v, m), work) != OK:
        put(frame, QUASI_STATUS, SINGULAR_MASS)
        return
    for k in range(1 + whole(frame, R)):
        solve(block, array_at(address_of(v) + 8 * k * m, m), array_at(address_of(out) + 8 * k * m, m), work)


@c_function(LOAD)
def tree_bias(t, q, v, out, user):
    """h at the configuration of the last `tree_mass`."""
    block, work, rails, axes = tree(address_of(user))
    m = whole(block, NV)
    bias(block, rails, axes, numbers(q, whole(block, NQ)), numbers(v, m), numbers(out, m), work)


@inline
def rotation_axes(block, body, work):
    """Axes a and b of the last three rotations before a body (the third is z), in the axes of its node."""
    node = whole(block, body_row(block, body) + BODY_NODE)
    G, H = get33(work, work_row(node) + W_G), get33(work, work_row(node - 1) + W_G)
    return mul(G, (H[0][2], H[1][2], H[2][2])), (G[0][2], G[1][2], G[2][2])


@kernel
def named_rows(block, work, frame, at, nu, q, out):
    """Y, by a table of rows, of quasi-velocities with a name; frames are in the workspace already.

    A speed (its row does not change: it is there); the rate of a position of a free joint, w . v with a direction w
    that turns against the body; a component of the angular velocity, in body axes, of a body behind three rotations.
    """
    m, i = whole(block, NV), 0
    while i < nu:
        row = at + i * IGNORABLE
        body, y = whole(frame, row + I_BODY), i * m + whole(frame, row + I_FIRST)
        if body >= 0:
            a, b = rotation_axes(block, body, work)
            place = body_row(block, body) + BODY_G
            while i < nu and whole(frame, at + i * IGNORABLE + I_BODY) == body:
                axis = get3(block, place + 3 * whole(frame, at + i * IGNORABLE + I_AXIS))
                put3(out, y, (dot(axis, a), dot(axis, b), axis[2]))
                i, y = i + 1, y + m
        else:
            if whole(frame, row + I_QUATERNION) >= 0:
                _, weights, _ = axes_of(frame, row, q)
                put3(out, y, weights)
            i += 1


@kernel
def named_rates(block, work, frame, at, nu, q, v, out):
    """Ydot v of the same."""
    m, i = whole(block, NV), 0
    while i < nu:
        row = at + i * IGNORABLE
        first, body = whole(frame, row + I_FIRST), whole(frame, row + I_BODY)
        if body >= 0:
            a, b = rotation_axes(block, body, work)
            place = body_row(block, body) + BODY_G
            va, vb, vc = get3(v, first)
            turn = axpy(va, cross(a, axpy(vb, b, (0.0, 0.0, vc))), scale(vb * vc, (b[1], -b[0], 0.0)))
            while i < nu and whole(frame, at + i * IGNORABLE + I_BODY) == body:
                axis = get3(block, place + 3 * whole(frame, at + i * IGNORABLE + I_AXIS))
                put(out, nu * m + nu + i, dot(axis, turn))
                i += 1
        else:
            if whole(frame, row + I_QUATERNION) >= 0:
                _, weights, _ = axes_of(frame, row, q)
                put(out, nu * m + nu + i, dot(weights, cross(get3(v, first + 3), get3(v, first))))
            i += 1


@c_function(LOAD)
def tree_quasi(t, q, v, out, user):
    """Y of quasi-velocities by name, at the configuration of the last `tree_mass`; Z = 0 is there already."""
    address = address_of(user)
    block, work, _, _ = tree(address)
    frame = array_at(address, UNKNOWN)
    nu, m = whole(frame, NU), whole(block, NV)
    named_rows(block, work, frame, whole(frame, AT_ROWS), nu, numbers(q, whole(block, NQ)), numbers(out, nu * m))


@c_function(LOAD)
def tree_quasi_rates(t, q, v, out, user):
    """Their rates."""
    address = address_of(user)
    block, work, _, _ = tree(address)
    frame = array_at(address, UNKNOWN)
    nu, m = whole(frame, NU), whole(block, NV)
    named_rates(block, work, frame, whole(frame, AT_ROWS), nu, numbers(q, whole(block, NQ)), numbers(v, m),
                numbers(out, nu * m + 2 * nu))


@c_function(LOAD)
def tree_rates(t, q, v, out, user):
    """qdot = N(q) v."""
    block, _, _, _ = tree(address_of(user))
    nq = whole(block, NQ)
    rates(block, numbers(q, nq), numbers(v, whole(block, NV)), numbers(out, nq))
