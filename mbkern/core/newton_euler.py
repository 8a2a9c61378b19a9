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

To read along: :mod:`mbkern.textbook.newton_euler`.
"""

from .checks import status
from .drives import evaluate_drives
from .extended import free_velocity
from .forces import add_joint_forces
from .jit import inline, kernel
from .joints import freedoms, put_frames
from .layout import (
    BALL, DRIVEN_REVOLUTE, FREE, GRAVITY, INERTIA, KIND, MASS, MOMENT, N_NODES, NV, PARENT, PRISMATIC, QI, REVOLUTE,
    ROTOR, VI, W_ELIM, W_G, W_GRAVITY, W_MOMENT, W_P, W_PHI, W_V,
    add_to_inertia, add_to_pair, drive_values, get3, get6, get_frame, get_inertia, get_pair,
    margins_at, node_row, put3, put6, put_inertia, put_pair, speeds_at, work_row,
)
from .number import fma, get, put, whole
from .rotors import CARRY, ELIMINATE, SPEEDS, armature, call_rotor
from .spatial import (
    ZERO6, add6, axpy6, column_az, column_lz, dot6, eliminate_angular, eliminate_az, eliminate_lz, force_to_parent,
    inertia_times, inertia_to_parent, ldl3, ldl3_solve, mass_to_parent, motion_to_child, omega_times,
    omega_transposed_times, pivot_margin, rigid_inertia, rigid_times, sub6,
)
from .vec3 import ZERO3, add, mul, neg, sub, tmul

# wr lies where the Hamiltonian methods keep first moments and gravity: linear and angular part apart
W_DRIFT, W_TURN = W_MOMENT, W_GRAVITY


@inline
def get_drift(work, w):
    return (get3(work, w + W_DRIFT), get3(work, w + W_TURN))


@inline
def put_drift(work, w, x):
    put3(work, w + W_DRIFT, x[0]); put3(work, w + W_TURN, x[1])


@inline
def put_joint_forces(block, q, u, tau, out, work):
    """tau, springs and dampers in `out`; joint speeds u in the workspace."""
    speeds = speeds_at(block)
    for j in range(whole(block, NV)):
        put(work, speeds + j, get(u, j))
        put(out, j, 0.0)
    add_joint_forces(block, q, tau, out, work)


@inline
def put_motion(block, u, work):
    """v and wr of all nodes for joint speeds u; frames and drive values are in the workspace already."""
    n = whole(block, N_NODES)
    ground = work_row(n)
    put_pair(work, ground + W_V, ZERO6)
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kw = work_row(k) if k >= 0 else ground
        kind, vi = whole(block, c + KIND), whole(block, c + VI)
        a, o = motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_V))
        if kind == REVOLUTE:
            rate = get(u, vi)
            put_pair(work, w + W_V, (a, (o[0], o[1], o[2] + rate)))
            put_drift(work, w, ((rate * a[1], -rate * a[0], 0.0), (rate * o[1], -rate * o[0], 0.0)))
        elif kind == PRISMATIC:
            rate = get(u, vi)
            put_pair(work, w + W_V, ((a[0], a[1], a[2] + rate), o))
            put_drift(work, w, ((rate * o[1], -rate * o[0], 0.0), ZERO3))
        elif kind == BALL:
            rate3 = get3(u, vi)
            put_pair(work, w + W_V, (a, add(o, rate3)))
            put_drift(work, w, omega_transposed_times((ZERO3, rate3), (a, o)))
        elif kind == FREE:
            rate6 = get_pair(u, vi)
            put_pair(work, w + W_V, add6((a, o), rate6))
            put_drift(work, w, omega_transposed_times(rate6, (a, o)))
        else:
            at = drive_values(block, whole(block, c + QI))
            rate, second = get(work, at + 1), get(work, at + 2)
            if kind == DRIVEN_REVOLUTE:
                put_pair(work, w + W_V, (a, (o[0], o[1], o[2] + rate)))
                put_drift(work, w, ((rate * a[1], -rate * a[0], 0.0), (rate * o[1], -rate * o[0], second)))
            else:
                put_pair(work, w + W_V, ((a[0], a[1], a[2] + rate), o))
                put_drift(work, w, ((rate * o[1], -rate * o[0], second), ZERO3))


@inline
def carry(work, k, X, M, phi):
    """Add inertia and phi of a node to its parent k."""
    kw = work_row(k)
    add_to_inertia(work, kw + W_P, inertia_to_parent(X, M))
    add_to_pair(work, kw + W_PHI, force_to_parent(X, phi))


@inline
def backward(block, tau, work):
    """M*, phi and pivots of all nodes, leaves first."""
    n, margins = whole(block, N_NODES), margins_at(block)
    for i in range(n):
        c, w = node_row(i), work_row(i)
        m, s, J, v = get(block, c + MASS), get3(block, c + MOMENT), get6(block, c + INERTIA), get_pair(work, w + W_V)
        put_inertia(work, w + W_P, rigid_inertia(m, s, J))
        put_pair(work, w + W_PHI, omega_times(v, rigid_times(m, s, J, v)))
    for i in range(n - 1, -1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kind, vi, rotor = whole(block, c + KIND), whole(block, c + VI), whole(block, c + ROTOR) != 0
        M, X = get_inertia(work, w + W_P), get_frame(work, w + W_G)
        if kind == REVOLUTE:
            wr = ((get(work, w + W_DRIFT), get(work, w + W_DRIFT + 1), 0.0),
                  (get(work, w + W_TURN), get(work, w + W_TURN + 1), 0.0))
            phi = add6(get_pair(work, w + W_PHI), inertia_times(M, wr))
            U = column_az(M)
            D = U[1][2]
            if rotor:
                D = D + armature(block, vi)
            d = 1.0 / D
            y = (get(tau, vi) - phi[1][2]) * d
            put(work, w + W_ELIM, d); put(work, w + W_ELIM + 1, y)
            put(work, margins + i, pivot_margin(D, M[2]))
            if k >= 0:
                carry(work, k, X, eliminate_az(M, U, d), axpy6(y, U, phi))
                if rotor:
                    call_rotor(CARRY, block, work, tau, tau, i, k)
        elif kind == PRISMATIC:
            wr = ((get(work, w + W_DRIFT), get(work, w + W_DRIFT + 1), 0.0), ZERO3)
            phi = add6(get_pair(work, w + W_PHI), inertia_times(M, wr))
            U = column_lz(M)
            D = U[0][2]
            if rotor:
                D = D + armature(block, vi)
            d = 1.0 / D
            y = (get(tau, vi) - phi[0][2]) * d
            put(work, w + W_ELIM, d); put(work, w + W_ELIM + 1, y)
            put(work, margins + i, pivot_margin(D, M[0]))
            if k >= 0:
                carry(work, k, X, eliminate_lz(M, U, d), axpy6(y, U, phi))
                if rotor:
                    call_rotor(CARRY, block, work, tau, tau, i, k)
        elif rotor:
            add_to_pair(work, w + W_PHI, inertia_times(M, get_drift(work, w)))
            call_rotor(ELIMINATE, block, work, tau, tau, i, k)
        elif kind == BALL:
            phi = add6(get_pair(work, w + W_PHI), inertia_times(M, get_drift(work, w)))
            F, pivot = ldl3(M[2])
            torque = get3(tau, vi)
            y3 = ldl3_solve(F, sub(torque, phi[1]))
            put6(work, w + W_ELIM, F); put3(work, w + W_ELIM + 6, y3)
            put(work, margins + i, pivot_margin(pivot, M[2]))
            if k >= 0:
                kw = work_row(k)
                add_to_inertia(work, kw + W_P, mass_to_parent(X, eliminate_angular(M, F)))
                add_to_pair(work, kw + W_PHI, force_to_parent(X, (add(phi[0], mul(M[1], y3)), torque)))
        elif kind == FREE:  # all six freedoms eliminated: no inertia passes, only the force
            force = get_pair(tau, vi)
            acceleration, margin = free_velocity(M, get_pair(work, w + W_PHI), force)
            put_pair(work, w + W_ELIM, acceleration)
            put(work, margins + i, margin)
            if k >= 0:
                add_to_pair(work, work_row(k) + W_PHI, force_to_parent(X, force))
        else:
            put(work, margins + i, get(work, drive_values(block, whole(block, c + QI)) + 3))
            if k >= 0:
                carry(work, k, X, M, add6(get_pair(work, w + W_PHI), inertia_times(M, get_drift(work, w))))


@inline
def forward(block, udot, work):
    """udot and w (in the place of v) of all nodes, root first."""
    n = whole(block, N_NODES)
    ground = work_row(n)
    put_pair(work, ground + W_V, (neg(get3(block, GRAVITY)), ZERO3))
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        kw = work_row(k) if k >= 0 else ground
        kind, vi = whole(block, c + KIND), whole(block, c + VI)
        a, o = motion_to_child(get_frame(work, w + W_G), get_pair(work, kw + W_V))
        b, s = get_drift(work, w)
        if kind == REVOLUTE:
            U = column_az(get_inertia(work, w + W_P))
            second = fma(-get(work, w + W_ELIM), dot6(U, (a, o)), get(work, w + W_ELIM + 1))
            put(udot, vi, second)
            put_pair(work, w + W_V, ((a[0] + b[0], a[1] + b[1], a[2]), (o[0] + s[0], o[1] + s[1], o[2] + second)))
        elif kind == PRISMATIC:
            U = column_lz(get_inertia(work, w + W_P))
            second = fma(-get(work, w + W_ELIM), dot6(U, (a, o)), get(work, w + W_ELIM + 1))
            put(udot, vi, second)
            put_pair(work, w + W_V, ((a[0] + b[0], a[1] + b[1], a[2] + second), o))
        elif whole(block, c + ROTOR) != 0:
            put_pair(work, w + W_V, (a, o))
            call_rotor(SPEEDS, block, work, udot, udot, i, k)
            for j in range(freedoms(kind)):
                put(udot, vi + j, get(work, speeds_at(block) + vi + j))
            add_to_pair(work, w + W_V, (b, s))
        elif kind == BALL:
            F, Q = get6(work, w + W_ELIM), get_inertia(work, w + W_P)[1]
            turn = sub(get3(work, w + W_ELIM + 6), ldl3_solve(F, tmul(Q, a)))
            put3(udot, vi, sub(turn, o))
            put_pair(work, w + W_V, (add(a, b), add(turn, s)))
        elif kind == FREE:
            acceleration = get_pair(work, w + W_ELIM)
            put_pair(udot, vi, sub6(acceleration, add6((a, o), (b, s))))
            put_pair(work, w + W_V, acceleration)
        else:
            put_pair(work, w + W_V, add6((a, o), (b, s)))


@kernel
def sweeps(block, q, u, tau, udot, work):
    """udot for any number type; the drive values are in the workspace already."""
    put_joint_forces(block, q, u, tau, udot, work)
    put_frames(block, q, work)
    put_motion(block, u, work)
    backward(block, udot, work)
    forward(block, udot, work)


@kernel
def accelerations(block, t, q, u, tau, udot, work):
    """udot at time t; tau may be empty. Returns the status of :func:`mbkern.core.checks.status`."""
    evaluate_drives(block, t, work)
    sweeps(block, q, u, tau, udot, work)
    return status(block, work)
