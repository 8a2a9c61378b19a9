"""Newton-Euler equations by L^T D L (Algorithm 2): joint accelerations in O(N), articulated-body forward dynamics.

    w = C w_k + A udot + wr,   M w + Omega M v = F + S^T R,   A^T R = tau,   w = dv/dt in body axes

Ivanov & Shimanovskiy 2023 (33); method "newton-euler-ldl". The same matrix as the extended Hamiltonian system with
(udot, w, R) for (qdot, v, mu), eliminated in the same way, node by node:

    forward    v = C v_k + e rate,   wr = Omega(e rate)^T C v_k + e xddot,   phi = Omega M v
    backward   U = M* e,   D = e^T U + r,   y = (tau - e^T (phi + M* wr)) / D
               M*_k  += C^T (M* - U U^T / D) C        phi_k += C^T (phi + M* wr + U y)
    forward    udot = y - U^T (C w_k) / D,   w = C w_k + wr + e udot

    tau   joint forces: given ones, springs, dampers, and what wrenches on the bodies amount to in the joints
    F     weight: the ground accelerates by -g instead, so that w is less g everywhere
    r     inertia of the rotor (armature), see :mod:`.rotors`

Hinges, the most frequent nodes, have ways of their own: :mod:`.newton_euler_hinges`. To read along:
:mod:`mbkern.textbook.newton_euler`.
"""

from .bare import doubt_bare
from .extended import put_turn
from .forces import add_joint_forces
from .jit import inline, kernel
from .joints import add_rates, drops_rotor, eliminate, put_frame_of, put_motion
from .layout import (
    CASE, GRAVITY, INERTIA, IN_LINE, IS_END, IS_LAST, MASS, MOMENT, N_NODES, NV, OTHER, PARENT, QI, ROUTE, SQUARE,
    W_DRIFT, W_G, W_P, W_PHI, W_V, W_W,
    add_to_pair, get3, get6, get_frame, get_inertia, get_pair, margins_at, node_row, put_pair, speeds_at, work_row,
)
from .momenta import project_forces
from .newton_euler_hinges import accelerate_hinge, begin_inertia, join_hinge, put_gyroscopic, put_hinge_motion
from .number import get, put, whole
from .rotors import CARRY, ELIMINATE, call_rotor, has_rotors
from .spatial import ZERO6, add6, inertia_times, motion_to_child, omega_times, rigid_times
from .substitution import substitute_forward
from .vec3 import ZERO3, neg


@inline
def put_joint_forces(block, q, u, tau, out, work):
    """tau, springs and dampers in `out`; joint speeds u in the workspace."""
    speeds = speeds_at(block)
    for j in range(whole(block, NV)):
        put(work, speeds + j, get(u, j))
        put(out, j, 0.0)
    add_joint_forces(block, q, tau, out, work)


@inline
def put_motions(block, u, work):
    """v and wr of all nodes for joint speeds u; frames and drive values are in the workspace already."""
    n = whole(block, N_NODES)
    ground = work_row(n)
    put_pair(work, ground + W_V, ZERO6)
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kw = work_row(k) if k >= 0 else ground
        put_motion(block, c, w, motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_V)), u, work)


@inline
def put_accelerations(block, udot, work):
    """w of all nodes, less g; frames, v and wr are in the workspace already."""
    put_pair(work, work_row(whole(block, N_NODES)) + W_W, (neg(get3(block, GRAVITY)), ZERO3))
    carry_accelerations(block, udot, work)


@inline
def carry_accelerations(block, udot, work):
    """w of all nodes for that of the ground, which is in the workspace as frames, v and wr are."""
    n = whole(block, N_NODES)
    ground = work_row(n)
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kw = work_row(k) if k >= 0 else ground
        carried = motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_W))
        put_pair(work, w + W_W, add6(carried, get_pair(work, w + W_DRIFT)))
        add_rates(block, c, w + W_W, udot, 0, work)


@inline
def put_forces(block, tau, work):
    """tau = e^T R of all nodes, leaves first; v and w are in the workspace already."""
    for i in range(whole(block, N_NODES)):
        c, w = node_row(i), work_row(i)
        m, s, J, v = get(block, c + MASS), get3(block, c + MOMENT), get6(block, c + INERTIA), get_pair(work, w + W_V)
        R = add6(rigid_times(m, s, J, get_pair(work, w + W_W)), omega_times(v, rigid_times(m, s, J, v)))
        put_pair(work, w + W_PHI, R)
    project_forces(block, tau, work)


@inline
def put_turns_and_frames(block, q, work):
    """Turns of hinges, frames of all other nodes."""
    for i in range(whole(block, N_NODES)):
        c = node_row(i)
        if whole(block, c + CASE) < OTHER:
            put_turn(block, c, work_row(i), get(q, whole(block, c + QI)), work)
        else:
            put_frame_of(block, i, q, work)


@inline
def move(block, u, work):
    """v, wr and phi of all nodes, root first."""
    n = whole(block, N_NODES)
    put_pair(work, work_row(n) + W_V, ZERO6)
    for i in range(n):
        c, w = node_row(i), work_row(i)
        case, k = whole(block, c + CASE), whole(block, c + PARENT)
        kw = work_row(k if k >= 0 else n)
        if case < OTHER:
            put_hinge_motion(block, i, case, kw, u, work)
        else:
            put_motion(block, c, w, motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_V)), u, work)
            put_gyroscopic(block, c, w, get_pair(work, w + W_V), work)


@inline
def backward(block, tau, work):
    """M*, phi and pivots of all nodes, leaves first."""
    margins = margins_at(block)
    for i in range(whole(block, N_NODES) - 1, -1, -1):
        case = whole(block, node_row(i) + CASE)
        if case < OTHER:
            join_hinge(block, i, case, margins + i, tau, work)
        else:
            join_other(block, i, tau, work)
    doubt_bare(block, work)


@inline
def join_other(block, i, tau, work):
    """Eliminate a node of any kind and join it to its parent."""
    c, w = node_row(i), work_row(i)
    k, route = whole(block, c + PARENT), whole(block, c + ROUTE)
    if whole(block, c + IS_LAST) != 0 or route == IN_LINE or route == SQUARE:  # of the children of k it comes first
        begin_inertia(block, k, work)
    if whole(block, c + IS_END) != 0:
        begin_inertia(block, i, work)
    if has_rotors(block, c):
        add_to_pair(work, w + W_PHI, inertia_times(get_inertia(work, w + W_P), get_pair(work, w + W_DRIFT)))
        call_rotor(ELIMINATE, block, work, tau, tau, i, k)
    else:
        eliminate(block, i, k, tau, work)
        if k >= 0 and drops_rotor(block, c):
            call_rotor(CARRY, block, work, tau, tau, i, k)


@inline
def forward(block, udot, work):
    """udot and w (in the place of v) of all nodes, root first."""
    n = whole(block, N_NODES)
    put_pair(work, work_row(n) + W_V, (neg(get3(block, GRAVITY)), ZERO3))
    for i in range(n):
        case, k = whole(block, node_row(i) + CASE), whole(block, node_row(i) + PARENT)
        kw = work_row(k if k >= 0 else n)
        if case < OTHER:
            accelerate_hinge(block, i, case, kw, udot, work)
        else:
            accelerate_other(block, i, kw, udot, work)


@inline
def accelerate_other(block, i, kw, udot, work):
    """The same of a node of any kind; kw: row of its parent."""
    w = work_row(i)
    carried = motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_V))
    substitute_forward(block, i, carried, udot, udot, work)
    add_to_pair(work, w + W_V, get_pair(work, w + W_DRIFT))


@kernel
def sweeps(block, q, u, tau, udot, work):
    """udot for any number type; the drive values are in the workspace already."""
    put_joint_forces(block, q, u, tau, udot, work)
    put_turns_and_frames(block, q, work)
    move(block, u, work)
    backward(block, udot, work)
    forward(block, udot, work)
