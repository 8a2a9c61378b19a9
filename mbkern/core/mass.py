"""The mass matrix B^T M B + r (rotors on the diagonal), and its inverse applied in O(N).

Mass by composite inertias: Mc_i = M_i + sum_j C_j^T Mc_j C_j, then column by column from each node down to the root.
The inverse by the factorization of Rodriguez, Jain and Kreutz in momentum variables,

    Mass^-1 = [E - K^T Phi_C Psi_beta A] R^-1 [E - A^T Psi_beta^T Phi_C^T K],   R = A^T M* A + r,   K = M* A R^-1

read from the right: a backward sweep (the momenta that reach each joint), R^-1, a forward sweep. M* and its pivots
come from the backward sweep of "emh-ldl", once for any number of right-hand sides.
"""

from .checks import status
from .drives import evaluate_drives
from .extended import backward, begin, free_velocity
from .jit import inline, kernel
from .joints import freedoms, put_frames, twist_axis, unit_twist
from .layout import (
    BALL, DRIVE_VALUES, FREE, INERTIA, IS_LEAF, KIND, MOMENT, N_DRIVES, N_NODES, NV, PARENT, PRISMATIC, REVOLUTE, ROTOR,
    SUBTREE_MASS, VI, W_ELIM, W_G, W_MOMENT, W_P, W_PHI, W_R, W_V,
    add_to3, add_to6, add_to_pair, drive_values, get3, get6, get_frame, get_inertia, get_pair, node_row, put3, put6,
    put_pair, rotors_at, speeds_at, work_row,
)
from .number import get, put, whole
from .rotors import ELIMINATE, R_PHI, SPEEDS, armature, call_rotor
from .spatial import (
    ZERO6, add6, column_az, column_lz, dot6, force_to_parent, ldl3_solve, motion_to_child, rigid_times,
    rigid_to_parent, scale6,
)
from .vec3 import add, mul, sub, tmul


@kernel
def mass_matrix(block, t, q, out, work):
    """The nv x nv mass matrix, row by row in `out`. Returns the status of the drives."""
    code = evaluate_drives(block, t, work)
    put_frames(block, q, work)
    put_mass(block, out, work)
    return code


@inline
def put_mass(block, out, work):
    """The same where the frames are in the workspace already."""
    n, nv = whole(block, N_NODES), whole(block, NV)
    for j in range(nv * nv):
        put(out, j, 0.0)
    for i in range(n):
        c, w = node_row(i), work_row(i)
        put3(work, w + W_MOMENT, get3(block, c + MOMENT))
        put6(work, w + W_R, get6(block, c + INERTIA))
    for i in range(n - 1, -1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        m, s, J = get(block, c + SUBTREE_MASS), get3(work, w + W_MOMENT), get6(work, w + W_R)
        if k >= 0:
            s_k, J_k = rigid_to_parent(get_frame(work, w + W_G), m, s, J)
            add_to3(work, work_row(k) + W_MOMENT, s_k)
            add_to6(work, work_row(k) + W_R, J_k)
        kind, vi = whole(block, c + KIND), whole(block, c + VI)
        for a in range(freedoms(kind)):
            put_column(block, i, vi + a, rigid_times(m, s, J, unit_twist(twist_axis(kind, a))), nv, out, work)
            at = (vi + a) * nv + vi + a
            put(out, at, get(out, at) + armature(block, vi + a))


@inline
def put_column(block, i, column, F, nv, out, work):
    """Project the momentum F of node i's subtree on all joints from i down to the root."""
    put_pair(work, work_row(whole(block, N_NODES)) + W_PHI, F)  # in memory, so that the loop may replace it
    at = work_row(whole(block, N_NODES)) + W_PHI
    while i >= 0:
        c = node_row(i)
        kind, vi = whole(block, c + KIND), whole(block, c + VI)
        F = get_pair(work, at)
        for a in range(freedoms(kind)):
            h = dot6(unit_twist(twist_axis(kind, a)), F)
            put(out, column * nv + vi + a, h)
            put(out, (vi + a) * nv + column, h)
        put_pair(work, at, force_to_parent(get_frame(work, work_row(i) + W_G), F))
        i = whole(block, c + PARENT)


@kernel
def factor(block, t, q, x, work):
    """M* and pivots at (q, t); prescribed motion stands still. x: nv numbers that do not matter. Returns the status."""
    evaluate_drives(block, t, work)
    for d in range(whole(block, N_DRIVES)):
        put(work, drive_values(block, d) + DRIVE_VALUES - 3, 0.0)
    backward(block, q, x, work)
    put_frames(block, q, work)
    for i in range(whole(block, N_NODES)):
        if whole(block, node_row(i) + IS_LEAF) != 0:
            begin(block, i, work)
    return status(block, work)


@kernel
def solve(block, x, y, work):
    """y = Mass^-1 x after `factor`."""
    n = whole(block, N_NODES)
    for i in range(n):
        put_pair(work, work_row(i) + W_PHI, ZERO6)
    for i in range(n - 1, -1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kind, vi = whole(block, c + KIND), whole(block, c + VI)
        M, phi = get_inertia(work, w + W_P), get_pair(work, w + W_PHI)
        if whole(block, c + ROTOR) != 0 and kind >= BALL:
            call_rotor(ELIMINATE, block, work, x, x, i, -1)
            phi = get_pair(work, rotors_at(block) + R_PHI)
        elif kind == REVOLUTE or kind == PRISMATIC:
            U = column_az(M) if kind == REVOLUTE else column_lz(M)
            along = phi[1][2] if kind == REVOLUTE else phi[0][2]
            rate = (get(x, vi) - along) * get(work, w + W_ELIM)
            put(work, w + W_ELIM + 1, rate)
            phi = add6(phi, scale6(rate, U))
        elif kind == BALL:
            rate3 = ldl3_solve(get6(work, w + W_ELIM), sub(get3(x, vi), phi[1]))
            put3(work, w + W_ELIM + 6, rate3)
            phi = (add(phi[0], mul(M[1], rate3)), get3(x, vi))
        elif kind == FREE:
            v, _ = free_velocity(M, phi, get_pair(x, vi))
            put_pair(work, w + W_ELIM, v)
            phi = get_pair(x, vi)
        if k >= 0:
            add_to_pair(work, work_row(k) + W_PHI, force_to_parent(get_frame(work, w + W_G), phi))
    ground = work_row(n)
    put_pair(work, ground + W_V, ZERO6)
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kind, vi = whole(block, c + KIND), whole(block, c + VI)
        kw = work_row(k) if k >= 0 else ground
        u, o = motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_V))
        M = get_inertia(work, w + W_P)
        if whole(block, c + ROTOR) != 0 and kind >= BALL:
            put_pair(work, w + W_V, (u, o))
            call_rotor(SPEEDS, block, work, x, x, i, k)
            for a in range(freedoms(kind)):
                put(y, vi + a, get(work, speeds_at(block) + vi + a))
            u, o = get_pair(work, w + W_V)
        elif kind == REVOLUTE:
            rate = get(work, w + W_ELIM + 1) - get(work, w + W_ELIM) * dot6(column_az(M), (u, o))
            put(y, vi, rate)
            o = (o[0], o[1], o[2] + rate)
        elif kind == PRISMATIC:
            rate = get(work, w + W_ELIM + 1) - get(work, w + W_ELIM) * dot6(column_lz(M), (u, o))
            put(y, vi, rate)
            u = (u[0], u[1], u[2] + rate)
        elif kind == BALL:
            turn = sub(get3(work, w + W_ELIM + 6), ldl3_solve(get6(work, w + W_ELIM), tmul(M[1], u)))
            put3(y, vi, sub(turn, o))
            o = turn
        elif kind == FREE:
            v = get_pair(work, w + W_ELIM)
            put_pair(y, vi, (sub(v[0], u), sub(v[1], o)))
            u, o = v
        put_pair(work, w + W_V, (u, o))
