"""The extended Hamiltonian system by L^T D L (Algorithm 2): rhs(q, p) in one backward and one forward sweep.

    M v - S^T mu = 0,   -S v + A qdot = -vr,   A^T mu = p,   pdot = (Adot^T - A^T Omega) mu + A^T F*

Ivanov & Shimanovskiy 2023, EMH; method "emh-ldl". Eliminated coordinate by coordinate: a joint is a sequence of
nodes, each with a constant unit twist e in its own frame, so that A^T M* A needs no n x n factorization and Adot
vanishes. For node i with parent k, frame X_i = (G, rho), C_i its 6x6:

    backward   U = M* e,   D = e^T U + r,   y = (p - e^T phi) / D
               M*_k  += C^T (M* - U U^T / D) C        phi_k += C^T (phi + U y)
    forward    rate = y - U^T (C v_k) / D,   v = C v_k + e rate,   mu = M* v + phi
               pdot = e^T (F* - Omega mu)

    M*   articulated inertia (P, Q, R)        phi   momentum that the subtree has when the frame rests
    e    (0; z) revolute, (z; 0) prismatic, the unit 6x3 or 6x6 for ball and free
    F*   weight of the subtree: (m g; s x g), m and s its mass and first moment

    r    inertia of the rotor (armature); what differs then is in :mod:`.rotors`

A driven node has no p: phi + M* e dx/dt takes the place of phi + U y.
"""

from .checks import STALE, stale, status
from .drives import evaluate_drives
from .forces import add_joint_forces
from .jit import inline, kernel
from .joints import (
    ball_frame, free_frame, prismatic_frame, put_free_rate, put_quaternion_rate, revolute_frame, turned_by,
)
from .layout import (
    BALL, CYCLE, DRIVEN_REVOLUTE, FREE, GRAVITY, INERTIA, KIND, MASS, MOMENT, N_NODES, PARENT, PLACE_G, PLACE_RHO,
    PRISMATIC, QI, REVOLUTE, ROTOR, SUBTREE_MASS, VI, W_ELIM, W_G, W_GRAVITY, W_MOMENT, W_P, W_PHI, W_V,
    add_to3, add_to_inertia, add_to_pair, drive_values, get3, get33, get6, get_frame, get_inertia, get_pair,
    margins_at, node_row, put3, put6, put_frame, put_inertia, put_pair, rotors_at, speeds_at, work_row,
)
from .number import fma, get, put, sincos, smaller, whole
from .rotors import CARRY, ELIMINATE, R_PHI, SPEEDS, armature, call_rotor
from .spatial import (
    EYE, ZERO6, add6, axpy6, column_az, column_lz, dot6, eliminate_angular, eliminate_az, eliminate_lz, force_to_parent,
    inertia_times, inertia_to_parent, ldl3, ldl3_solve, mass_to_parent, motion_to_child, omega_times, pivot_margin, rigid_inertia,
)
from .vec3 import ZERO3, add, axpy, cross, mul, neg, shifted, sshifted, sub, tmul


@inline
def carry(work, k, X, M, phi, m, s):
    """Add inertia, phi and first moment of a node to its parent k."""
    kw = work_row(k)
    add_to_inertia(work, kw + W_P, inertia_to_parent(X, M))
    carry_loads(work, kw, X, phi, m, s)


@inline
def carry_loads(work, kw, X, phi, m, s):
    add_to_pair(work, kw + W_PHI, force_to_parent(X, phi))
    add_to3(work, kw + W_MOMENT, axpy(m, X[1], tmul(X[0], s)))


@inline
def carry_within(work, k, cycle, X, M, phi, m, s):
    """`carry` inside a compound joint: X holds the motion alone, with literal zeros and ones; axes are then shifted."""
    M, phi, s = inertia_to_parent(X, M), force_to_parent(X, phi), axpy(m, X[1], tmul(X[0], s))
    if cycle == 1:
        deposit(work, k, M, phi, s)
    elif cycle == 2:
        deposit(work, k, shifted_inertia(M), shifted6(phi), shifted(s))
    else:
        deposit(work, k, shifted_inertia(shifted_inertia(M)), shifted6(shifted6(phi)), shifted(shifted(s)))


@inline
def shifted_inertia(M):
    P, Q, R = M
    return (sshifted(P), (shifted(Q[2]), shifted(Q[0]), shifted(Q[1])), sshifted(R))


@inline
def shifted6(a):
    return (shifted(a[0]), shifted(a[1]))


@inline
def deposit(work, k, M, phi, s):
    kw = work_row(k)
    add_to_inertia(work, kw + W_P, M)
    add_to_pair(work, kw + W_PHI, phi)
    add_to3(work, kw + W_MOMENT, s)


@inline
def backward(block, q, p, work):
    """M*, phi, first moments and pivots of all nodes, leaves first."""
    n, margins = whole(block, N_NODES), margins_at(block)
    for i in range(n):
        c, w = node_row(i), work_row(i)
        s = get3(block, c + MOMENT)
        put_inertia(work, w + W_P, rigid_inertia(get(block, c + MASS), s, get6(block, c + INERTIA)))
        put_pair(work, w + W_PHI, ZERO6)
        put3(work, w + W_MOMENT, s)
    for i in range(n - 1, -1, -1):
        c, w = node_row(i), work_row(i)
        kind, k, qi, vi = whole(block, c + KIND), whole(block, c + PARENT), whole(block, c + QI), whole(block, c + VI)
        M, phi = get_inertia(work, w + W_P), get_pair(work, w + W_PHI)
        m, s = get(block, c + SUBTREE_MASS), get3(work, w + W_MOMENT)
        cycle, rotor = whole(block, c + CYCLE), whole(block, c + ROTOR) != 0
        if kind == REVOLUTE:
            sine, cosine = sincos(get(q, qi))
            X = (turned_by(get33(block, c + PLACE_G), sine, cosine), get3(block, c + PLACE_RHO))
            put_frame(work, w + W_G, X)
            U = column_az(M)
            D = U[1][2]
            if rotor:
                D = D + armature(block, vi)
            d = 1.0 / D
            y = (get(p, vi) - phi[1][2]) * d
            put(work, w + W_ELIM, d); put(work, w + W_ELIM + 1, y)
            put(work, margins + i, pivot_margin(D, M[2]))
            if k >= 0:
                rest_az, momentum_az = eliminate_az(M, U, d), axpy6(y, U, phi)
                if cycle > 0:
                    turn = ((cosine, sine, 0.0), (-sine, cosine, 0.0), (0.0, 0.0, 1.0))
                    carry_within(work, k, cycle, (turn, ZERO3), rest_az, momentum_az, m, s)
                else:
                    carry(work, k, X, rest_az, momentum_az, m, s)
                if rotor:
                    call_rotor(CARRY, block, work, p, i, k)
        elif kind == PRISMATIC:
            X = prismatic_frame(block, c, get(q, qi))
            put_frame(work, w + W_G, X)
            U = column_lz(M)
            D = U[0][2]
            if rotor:
                D = D + armature(block, vi)
            d = 1.0 / D
            y = (get(p, vi) - phi[0][2]) * d
            put(work, w + W_ELIM, d); put(work, w + W_ELIM + 1, y)
            put(work, margins + i, pivot_margin(D, M[0]))
            if k >= 0:
                rest_lz, momentum_lz = eliminate_lz(M, U, d), axpy6(y, U, phi)
                if cycle > 0:
                    carry_within(work, k, cycle, (EYE, (0.0, 0.0, get(q, qi))), rest_lz, momentum_lz, m, s)
                else:
                    carry(work, k, X, rest_lz, momentum_lz, m, s)
                if rotor:
                    call_rotor(CARRY, block, work, p, i, k)
        elif kind == BALL:
            X = ball_frame(block, c, q, qi)
            put_frame(work, w + W_G, X)
            if rotor:
                carry_spinning(block, i, k, p, X, m, s, work)
                continue
            F, pivot = ldl3(M[2])
            momentum = get3(p, vi)
            y = ldl3_solve(F, sub(momentum, phi[1]))
            put6(work, w + W_ELIM, F); put3(work, w + W_ELIM + 6, y)
            put(work, margins + i, pivot_margin(pivot, M[2]))
            if k >= 0:
                kw = work_row(k)
                add_to_inertia(work, kw + W_P, mass_to_parent(X, eliminate_angular(M, F)))
                carry_loads(work, kw, X, (add(phi[0], mul(M[1], y)), momentum), m, s)
        elif kind == FREE:
            X = free_frame(block, c, q, qi)
            put_frame(work, w + W_G, X)
            if rotor:
                carry_spinning(block, i, k, p, X, m, s, work)
                continue
            momentum = get_pair(p, vi)
            v, margin = free_velocity(M, phi, momentum)
            put_pair(work, w + W_ELIM, v)
            put(work, margins + i, margin)
            if k >= 0:  # all six freedoms eliminated: no inertia passes, only the momentum
                carry_loads(work, work_row(k), X, momentum, m, s)
        elif kind == DRIVEN_REVOLUTE:
            at = drive_values(block, qi)
            X = revolute_frame(block, c, get(work, at))
            put_frame(work, w + W_G, X)
            put(work, margins + i, get(work, at + 3))
            if k >= 0:
                rate = get(work, at + 1)
                carry(work, k, X, M, axpy6(rate, column_az(M), phi), m, s)
        else:
            at = drive_values(block, qi)
            X = prismatic_frame(block, c, get(work, at))
            put_frame(work, w + W_G, X)
            put(work, margins + i, get(work, at + 3))
            if k >= 0:
                rate = get(work, at + 1)
                carry(work, k, X, M, axpy6(rate, column_lz(M), phi), m, s)


@inline
def carry_spinning(block, i, k, p, X, m, s, work):
    """Eliminate a ball or free node that has armature, and add what is left to its parent."""
    call_rotor(ELIMINATE, block, work, p, i, k)
    if k >= 0:
        add_to3(work, work_row(k) + W_MOMENT, axpy(m, X[1], tmul(X[0], s)))


@inline
def free_velocity(M, phi, momentum):
    """M*^-1 (p - phi) for all six freedoms, and the margin of its pivots."""
    P, Q, R = M
    F, angular = ldl3(R)
    S = eliminate_angular(M, F)
    E, linear = ldl3(S)
    bf, bt = sub(momentum[0], phi[0]), sub(momentum[1], phi[1])
    u = ldl3_solve(E, sub(bf, mul(Q, ldl3_solve(F, bt))))
    w = ldl3_solve(F, sub(bt, tmul(Q, u)))
    return (u, w), smaller(pivot_margin(angular, R), pivot_margin(linear, P))


@inline
def forward(block, q, p, qdot, pdot, work):
    """Velocities, qdot and pdot of all nodes, root first."""
    n = whole(block, N_NODES)
    ground, speeds = work_row(n), speeds_at(block)
    put_pair(work, ground + W_V, ZERO6)
    put3(work, ground + W_GRAVITY, get3(block, GRAVITY))
    for i in range(n):
        c, w = node_row(i), work_row(i)
        kind, qi, vi = whole(block, c + KIND), whole(block, c + QI), whole(block, c + VI)
        k = whole(block, c + PARENT)
        kw = work_row(k) if k >= 0 else ground
        X = get_frame(work, w + W_G)
        u, o = motion_to_child(X, get_pair(work, kw + W_V))
        g = mul(X[0], get3(work, kw + W_GRAVITY))
        M, phi = get_inertia(work, w + W_P), get_pair(work, w + W_PHI)
        put3(work, w + W_GRAVITY, g)
        if kind == REVOLUTE:
            U = column_az(M)
            rate = fma(-get(work, w + W_ELIM), dot6(U, (u, o)), get(work, w + W_ELIM + 1))
            v = (u, (o[0], o[1], o[2] + rate))
            force = omega_times(v, add6(inertia_times(M, v), phi))
            put(qdot, qi, rate); put(work, speeds + vi, rate)
            put(pdot, vi, cross(get3(work, w + W_MOMENT), g)[2] - force[1][2])
            put_pair(work, w + W_V, v)
        elif kind == PRISMATIC:
            U = column_lz(M)
            rate = fma(-get(work, w + W_ELIM), dot6(U, (u, o)), get(work, w + W_ELIM + 1))
            v = ((u[0], u[1], u[2] + rate), o)
            force = omega_times(v, add6(inertia_times(M, v), phi))
            put(qdot, qi, rate); put(work, speeds + vi, rate)
            put(pdot, vi, fma(get(block, c + SUBTREE_MASS), g[2], -force[0][2]))
            put_pair(work, w + W_V, v)
        elif kind == BALL:
            F, y = get6(work, w + W_ELIM), get3(work, w + W_ELIM + 6)
            own = get3(p, vi)
            if whole(block, c + ROTOR) != 0:
                put_pair(work, w + W_V, (u, o))
                call_rotor(SPEEDS, block, work, p, i, k)
                turn, own = get3(work, w + W_V + 3), get3(work, rotors_at(block) + R_PHI + 3)
            else:
                turn = sub(y, ldl3_solve(F, tmul(M[1], u)))
            v = (u, turn)
            mu = (add(inertia_times(M, v)[0], phi[0]), own)
            rate3 = sub(turn, o)
            put_quaternion_rate(q, qi, rate3, qdot); put3(work, speeds + vi, rate3)
            put3(pdot, vi, sub(cross(get3(work, w + W_MOMENT), g), omega_times(v, mu)[1]))
            put_pair(work, w + W_V, v)
        elif kind == FREE:
            v, momentum = get_pair(work, w + W_ELIM), get_pair(p, vi)
            if whole(block, c + ROTOR) != 0:
                put_pair(work, w + W_V, (u, o))
                call_rotor(SPEEDS, block, work, p, i, k)
                v, momentum = get_pair(work, w + W_V), get_pair(work, rotors_at(block) + R_PHI)
            force = omega_times(v, momentum)
            rate6 = (sub(v[0], u), sub(v[1], o))
            put_free_rate(q, qi, rate6, qdot); put_pair(work, speeds + vi, rate6)
            put3(pdot, vi, axpy(get(block, c + SUBTREE_MASS), g, neg(force[0])))
            put3(pdot, vi + 3, sub(cross(get3(work, w + W_MOMENT), g), force[1]))
            put_pair(work, w + W_V, v)
        elif kind == DRIVEN_REVOLUTE:
            rate = get(work, drive_values(block, qi) + 1)
            put_pair(work, w + W_V, (u, (o[0], o[1], o[2] + rate)))
        else:
            rate = get(work, drive_values(block, qi) + 1)
            put_pair(work, w + W_V, ((u[0], u[1], u[2] + rate), o))


@kernel
def sweeps(block, q, p, tau, qdot, pdot, work):
    """qdot and pdot for any number type; the drive values are in the workspace already."""
    backward(block, q, p, work)
    forward(block, q, p, qdot, pdot, work)
    add_joint_forces(block, q, tau, pdot, work)


@kernel
def rhs(block, t, q, p, tau, qdot, pdot, work):
    """qdot and pdot at time t; tau may be empty. Returns the status of :func:`mbkern.core.checks.status`."""
    if stale(block):
        return STALE
    evaluate_drives(block, t, work)
    sweeps(block, q, p, tau, qdot, pdot, work)
    return status(block, work)
