"""Each joint as blocks, the textbook level: C_i, A_i, vr_i between the user's own body frames.

    C = C_m ... C_1,   a_s = C_m ... C_{s+1} e_s,   A = (a_s of the dofs),   vr = sum over drives of a_s xdot_s
    pdot = (Adot^T - A^T Omega) mu + A^T F*,   adot_s = Omega(u_s)^T a_s,   u_s = sum over r > s of a_r xdot_r

A body's row of blocks (after the general workspace) holds its frame in its parent's, vr, and six columns for A.
"""

from .jit import inline, kernel
from .joints import drive_of, dofs, is_driven, put_columns, put_frames, twist, unit_twist
from .layout import (
    BODY_DOFS, BODY_G, BODY_MASS, BODY_MOMENT, BODY_PARENT, BODY_V, FIRST_NODE, GRAVITY, N_BODIES, N_DRIVES,
    N_JOINT_NODES, VI, W_G,
    body_row, get3, get_frame, get_pair, node_row, put3, put_frame, put_pair, speeds_at, work_row, work_size,
)
from .drives import evaluate_drives
from .number import get, put, whole
from .records import A as R_A, A_Q as R_A_Q, A_T as R_A_T, C as R_C, F as R_F, RECORD, VR as R_VR, put_column
from .spatial import (
    ZERO6, add6, compose, dot6, motion_to_child, omega_times, omega_transposed_times, relative, scale6, sub6,
)
from .vec3 import cross, mul, scale

B_G, B_VR, B_A = 0, 12, 18  # frame 12, drift 6, columns of A 36
BLOCKS = 54


@inline
def blocks_row(block, b):
    return work_size(block) + b * BLOCKS


@inline
def put_blocks(block, q, work):
    """C, A and vr of all bodies; drive values are in the workspace already."""
    put_frames(block, q, work)
    for b in range(whole(block, N_BODIES)):
        row, at = body_row(block, b), blocks_row(block, b)
        first, speed = whole(block, row + FIRST_NODE), whole(block, row + BODY_V)
        put_frame(work, at + B_G, get_frame(block, row + BODY_G))
        put_pair(work, at + B_VR, ZERO6)
        for i in range(first + whole(block, row + N_JOINT_NODES) - 1, first - 1, -1):
            c = node_row(i)
            X = get_frame(work, at + B_G)  # the body in the frame of node i
            if is_driven(block, c):
                a = scale6(get(work, drive_of(block, c) + 1), motion_to_child(X, twist(block, c, 0)))
                put_pair(work, at + B_VR, add6(get_pair(work, at + B_VR), a))
            else:
                put_columns(block, c, X, at + B_A + 6 * (whole(block, c + VI) - speed), work)
            put_frame(work, at + B_G, compose(X, get_frame(work, work_row(i) + W_G)))
        k = whole(block, row + BODY_PARENT)
        if k >= 0:  # from the frame of the parent's node to the parent's own
            X_k = get_frame(block, body_row(block, k) + BODY_G)
            put_frame(work, at + B_G, relative(get_frame(work, at + B_G), X_k))


@inline
def joint_momentum_rates(block, b, v, mu, F, pdot, work):
    """pdot of body b's joint: velocity v, momentum mu and load F* of the body; joint speeds from the workspace."""
    row, at = body_row(block, b), blocks_row(block, b)
    first, speed = whole(block, row + FIRST_NODE), whole(block, row + BODY_V)
    last = first + whole(block, row + N_JOINT_NODES) - 1
    load, speeds, drives = sub6(F, omega_times(v, mu)), speeds_at(block), whole(block, N_DRIVES)
    own = at + B_VR  # u_s grows in the place of vr, which is not needed any more
    put_pair(work, own, ZERO6)
    put_frame(work, at + B_G, get_frame(block, row + BODY_G))  # for the twists of drives alone
    for i in range(last, first - 1, -1):
        c = node_row(i)
        beyond = get_pair(work, own)
        for j in range(dofs(block, c)):
            vi = whole(block, c + VI) + j
            a = get_pair(work, at + B_A + 6 * (vi - speed))
            put(pdot, vi, dot6(a, load))
            if i < last:  # within the last node A is constant
                put(pdot, vi, get(pdot, vi) + dot6(omega_transposed_times(beyond, a), mu))
            if i > first:
                put_pair(work, own, add6(get_pair(work, own), scale6(get(work, speeds + vi), a)))
        if i > first and drives > 0:
            X = get_frame(work, at + B_G)
            if is_driven(block, c):
                a = scale6(get(work, drive_of(block, c) + 1), motion_to_child(X, twist(block, c, 0)))
                put_pair(work, own, add6(beyond, a))
            put_frame(work, at + B_G, compose(X, get_frame(work, work_row(i) + W_G)))


@kernel
def blocks(block, t, q, C, A, vr, work):
    """For inspection: C (36 numbers a body, row by row), A (6 a dof, one column after the other), vr (6).

    Returns the status of the drives.
    """
    code = evaluate_drives(block, t, work)
    put_blocks(block, q, work)
    for b in range(whole(block, N_BODIES)):
        row, at = body_row(block, b), blocks_row(block, b)
        X = get_frame(work, at + B_G)
        put_pair(vr, 6 * b, get_pair(work, at + B_VR))
        for j in range(whole(block, row + BODY_DOFS)):
            put_pair(A, 6 * (whole(block, row + BODY_V) + j), get_pair(work, at + B_A + 6 * j))
        for j in range(6):
            put_column(C, 36 * b, j, motion_to_child(X, unit_twist(j)))
    return code


@inline
def put_variations(block, b, records, work):
    """A_q and A_t of body b: A changes with its own coordinates and with time.

    adot_s = Omega(u_s)^T a_s, and coordinate k is part of u_s where it belongs to a later node than s.
    """
    row, at, r = body_row(block, b), blocks_row(block, b), b * RECORD
    first, speed, n = whole(block, row + FIRST_NODE), whole(block, row + BODY_V), whole(block, row + BODY_DOFS)
    last = first + whole(block, row + N_JOINT_NODES) - 1
    own = at + B_VR  # the velocity by later drives grows in the place of vr, which is in the record already
    put_pair(work, own, ZERO6)
    put_frame(work, at + B_G, get_frame(block, row + BODY_G))
    later = n  # dofs from here on belong to later nodes
    for i in range(last, first - 1, -1):
        c = node_row(i)
        X, driven = get_frame(work, at + B_G), get_pair(work, own)
        for j in range(dofs(block, c)):
            s = whole(block, c + VI) + j - speed
            a = get_pair(work, at + B_A + 6 * s)
            put_column(records, r + R_A_T, s, omega_transposed_times(driven, a))
            for k in range(n):
                change = ZERO6
                if k >= later:
                    change = omega_transposed_times(get_pair(work, at + B_A + 6 * k), a)
                put_column(records, r + R_A_Q + 36 * k, s, change)
        later -= dofs(block, c)
        if is_driven(block, c):
            a = scale6(get(work, drive_of(block, c) + 1), motion_to_child(X, twist(block, c, 0)))
            put_pair(work, own, add6(driven, a))
        put_frame(work, at + B_G, compose(X, get_frame(work, work_row(i) + W_G)))


@kernel
def block_records(block, t, q, records, work):
    """The records of all bodies (:mod:`.records`) but for what is constant: parent, dofs, M and r.

    F is the weight. Returns the status of the drives.
    """
    code = evaluate_drives(block, t, work)
    put_blocks(block, q, work)
    for b in range(whole(block, N_BODIES)):
        row, at, r = body_row(block, b), blocks_row(block, b), b * RECORD
        X, k = get_frame(work, at + B_G), whole(block, row + BODY_PARENT)
        for j in range(6):
            put_column(records, r + R_C, j, motion_to_child(X, unit_twist(j)))
        for j in range(whole(block, row + BODY_DOFS)):
            put_column(records, r + R_A, j, get_pair(work, at + B_A + 6 * j))
        put_pair(records, r + R_VR, get_pair(work, at + B_VR))
        g = get3(records, k * RECORD + R_F) if k >= 0 else get3(block, GRAVITY)
        put3(records, r + R_F, mul(X[0], g))  # gravity in body axes, for now
        put_variations(block, b, records, work)
    for b in range(whole(block, N_BODIES)):
        row, g = body_row(block, b), get3(records, b * RECORD + R_F)
        put_pair(records, b * RECORD + R_F, (scale(get(block, row + BODY_MASS), g),
                                             cross(get3(block, row + BODY_MOMENT), g)))
    return code
