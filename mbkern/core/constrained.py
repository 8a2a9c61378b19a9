"""Hamilton's equations of machines with closed loops, gears, blades and rolling contacts: constraints on velocities.

    a(q, t) u + b(q, t) = 0,      P = p + a^T sigma,      (a Mass^-1 a^T) sigma = a Mass^-1 (P - B^T M phi) + b
    Mass u = p - B^T M phi,       Pdot = (Adot^T - A^T Omega) mu + A^T F* + tau + adot^T sigma + a^T (lambda + sigma')

P are momenta up to a gauge: any P gives the same u as the true momenta p that belong to it, and u satisfies the
constraints to rounding. How sigma changes is free. With sigma' = -lambda the constraint forces lambda drop out: that is
`put_flow`, which integrators use. With sigma' = 0 it is `put_right_side`, that of the public: for true momenta
(sigma = 0) pdot is their time derivative. adot is the total time derivative, also for rows that are no derivative of a
position (blades, rolling). lambda comes from the same factor of G on the level of accelerations,

    Mass udot = tau - bias + a^T lambda,      a udot + adot u + db/dt = 0

Naudet & Lefeber; Chadaj, Malczyk & Fraczek 2016 for independent loops; here for redundant and nonholonomic rows too.
:mod:`.constraint_rows` has the rows, :mod:`.constraint_solve` G and its factor, :mod:`.constrained_sweeps` what others
call.
"""

from .columns import tail
from .constraint_layout import (
    AT_COEFFICIENTS, A_ENTRY, A_LIST, BODY_A, BODY_B, E_DOF, FIRST_ROW, FORM, F_AXES_A, F_AXES_B, GEOMETRIC, N_A,
    N_CONSTRAINTS, N_OWN_ROWS, N_ROWS, PLACE_A, PLACE_B, PUBLIC, R_B, R_BD, R_G, R_MOMENT, R_N, R_SIGMA, R_X, a_at,
    adot_at, constraint_row, frames_row, head, results_at, scalar_row,
)
from .constraint_rows import put_rates, put_rows, put_time_parts
from .constraint_solve import (
    add_products, back, forth, of_any, put_factor, put_gram, put_half_solutions, refine,
)
from .factorization import factor
from .forces import add_joint_forces
from .jit import apart, inline
from .joint_momenta import momenta
from .joints import add_projection
from .joints import put_momentum_rates as put_rates_of_momentum
from .joints import put_rates as put_configuration_rates
from .layout import (
    BODY_G, GRAVITY, MOMENT, N_BODIES, N_DRIVES, N_NODES, NQ, NV, PARENT, SUBTREE_MASS, W_DRIFT, W_G, W_GRAVITY,
    W_MOMENT, W_PHI, W_Q, W_V, W_W, add_to3, add_to_pair, body_row, get3, get33, get_frame, get_pair, node_row, put3,
    put_pair, speeds_at, work_row,
)
from .momenta import own_momentum, put_gravity
from .newton_euler import put_motions
from .number import get, put, whole
from .passing import put_hinge_frames
from .spatial import add6, force_to_parent, motion_to_child, omega_times, relative
from .vec3 import ZERO3, add, axpy, cross, mul, neg, scale, sub, tmul

W_FORCE = W_Q  # -R of `sweep`; of M* nothing is left
R_GAMMA = R_BD  # adot u + db/dt takes the place of db/dt


# ---- positions and velocities ----
@apart
def place(block, q, work):
    """The factored mass matrix, values and coefficients of all rows."""
    factor(block, q, work)
    put_rows(block, q, work)


@apart
def prepare(block, q, work):
    """The same, and G with its factor."""
    place(block, q, work)
    put_time_parts(block, work)
    put_half_solutions(block, work)
    put_gram(block, work)
    put_factor(block, work)


@inline
def vector_at(block, k):
    """Where the k-th of four vectors of dofs is in the workspace."""
    return results_at(block) + k * whole(block, NV)


@apart
def put_speeds(block, q, P, work):
    """Joint speeds in the workspace, and sigma; after `prepare`."""
    nv, x = whole(block, NV), tail(work, vector_at(block, 0))
    for j in range(nv):
        put(x, j, get(P, j))
    if whole(block, N_DRIVES) > 0:
        rest, moved = tail(work, vector_at(block, 1)), tail(work, vector_at(block, 2))
        for j in range(nv):
            put(rest, j, 0.0)
        momenta(block, q, rest, moved, work)
        for j in range(nv):
            put(x, j, get(x, j) - get(moved, j))
    back(block, x, 0, work)
    refine(block, of_any(R_B), work)
    forth(block, tail(work, speeds_at(block)), work)


@apart
def gauge(block, q, P, p, work):
    """The true momenta p = P - a^T sigma."""
    prepare(block, q, work)
    put_speeds(block, q, P, work)
    for j in range(whole(block, NV)):
        put(p, j, get(P, j))
    add_products(block, a_at(block), -1.0, p, 0, work)


@apart
def close(block, q, closed, work):
    """One step of Newton towards a configuration that satisfies the holonomic rows, the shortest in kinetic energy."""
    prepare(block, q, work)
    nv, x, step = whole(block, NV), tail(work, vector_at(block, 0)), tail(work, vector_at(block, 1))
    for j in range(nv):
        put(x, j, 0.0)
    back(block, x, 0, work)
    refine(block, of_any(R_G), work)
    forth(block, step, work)
    put_configuration_rates(block, q, step, 0, closed)
    for i in range(whole(block, NQ)):
        put(closed, i, get(closed, i) + get(q, i))


# ---- rates ----
@apart
def put_flow(block, q, P, tau, qdot, Pdot, work):
    """qdot and Pdot for sigma' = -lambda."""
    prepare(block, q, work)
    put_speeds(block, q, P, work)
    move(block, q, tail(work, speeds_at(block)), work)
    put_momentum_rates(block, q, tau, qdot, Pdot, work)


@apart
def move(block, q, u, work):
    """adot and db/dt of all rows; frames, velocities and drifts of all nodes, in the place of their world axes."""
    put_rates(block, q, u, work)
    put_hinge_frames(block, work)
    put_motions(block, u, work)


@apart
def put_momentum_rates(block, q, tau, qdot, Pdot, work):
    """qdot, and (Adot^T - A^T Omega) mu + A^T F* + tau + adot^T sigma; moments in the place of drifts."""
    put_moments(block, work)
    carry_momenta(block, Pdot, work)
    put_configuration_rates(block, q, work, speeds_at(block), qdot)
    add_joint_forces(block, q, tau, Pdot, work)
    add_products(block, adot_at(block), 1.0, Pdot, 0, work)


@inline
def put_moments(block, work):
    """Gravity in the axes of all nodes; their own first moments and momenta, for the velocities in the workspace."""
    put_gravity(block, work)
    for i in range(whole(block, N_NODES)):
        c, w = node_row(i), work_row(i)
        put3(work, w + W_MOMENT, get3(block, c + MOMENT))
        put_pair(work, w + W_PHI, own_momentum(block, c, get_pair(work, w + W_V)))


@inline
def carry_momenta(block, Pdot, work):
    """(Adot^T - A^T Omega) mu + A^T F*, leaves first."""
    for i in range(whole(block, N_NODES) - 1, -1, -1):
        carry_momentum(block, i, Pdot, work)


@inline
def carry_momentum(block, i, Pdot, work):
    """That of node i, whose moments go on to its parent."""
    c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
    v, mu, s = get_pair(work, w + W_V), get_pair(work, w + W_PHI), get3(work, w + W_MOMENT)
    put_rates_of_momentum(block, c, v, mu, s, get3(work, w + W_GRAVITY), Pdot)
    if k >= 0:
        G, rho = get_frame(work, w + W_G)
        add_to3(work, work_row(k) + W_MOMENT, axpy(get(block, c + SUBTREE_MASS), rho, tmul(G, s)))
        add_to_pair(work, work_row(k) + W_PHI, force_to_parent((G, rho), mu))


@apart
def put_bias(block, q, u, tau, work):
    """tau - bias in the first vector of dofs."""
    speeds, x = speeds_at(block), tail(work, vector_at(block, 0))
    for j in range(whole(block, NV)):
        put(work, speeds + j, get(u, j))
    sweep(block, q, tau, x, x, False, work)


@apart
def put_bias_and_rates(block, q, tau, pdot, work):
    """The same, and `put_momentum_rates` of true momenta: in the same sweeps, while one waits, the other goes on."""
    sweep(block, q, tau, tail(work, vector_at(block, 0)), pdot, True, work)


@inline
def sweep(block, q, tau, x, pdot, with_rates, work):
    """x = tau - bias by the Newton-Euler equations (:mod:`.joint_forces`) where no joint speed changes; pdot."""
    n = whole(block, N_NODES)
    put_pair(work, work_row(n) + W_W, (neg(get3(block, GRAVITY)), ZERO3))
    put3(work, work_row(n) + W_GRAVITY, get3(block, GRAVITY))
    for i in range(n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        X, kw, v = get_frame(work, w + W_G), work_row(k if k >= 0 else n), get_pair(work, w + W_V)
        acceleration = add6(motion_to_child(X, get_pair(work, kw + W_W)), get_pair(work, w + W_DRIFT))
        mu = own_momentum(block, c, v)
        R = add6(own_momentum(block, c, acceleration), omega_times(v, mu))
        put_pair(work, w + W_W, acceleration)
        put_pair(work, w + W_FORCE, (neg(R[0]), neg(R[1])))
        if with_rates:
            put3(work, w + W_GRAVITY, mul(X[0], get3(work, kw + W_GRAVITY)))
            put3(work, w + W_MOMENT, get3(block, c + MOMENT))
            put_pair(work, w + W_PHI, mu)
    for j in range(whole(block, NV)):
        put(x, j, 0.0)
    for i in range(n - 1, -1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        F = get_pair(work, w + W_FORCE)
        add_projection(block, c, F, x, 0)
        if k >= 0:
            add_to_pair(work, work_row(k) + W_FORCE, force_to_parent(get_frame(work, w + W_G), F))
        if with_rates:
            carry_momentum(block, i, pdot, work)
    add_joint_forces(block, q, tau, x, work)
    if with_rates:
        add_joint_forces(block, q, tau, pdot, work)


@apart
def put_multipliers(block, u, work):
    """-lambda in the place of sigma, and y of the joint accelerations; after `put_bias`."""
    put_centripetal(block, u, work)
    back(block, tail(work, vector_at(block, 0)), 0, work)
    refine(block, of_any(R_GAMMA), work)


@apart
def put_centripetal(block, u, work):
    """adot u + db/dt of all rows."""
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        list_at, n_a = whole(block, row + A_LIST), whole(block, row + N_A)
        for r in range(whole(block, row + N_OWN_ROWS)):
            at = scalar_row(block, whole(block, row + FIRST_ROW) + r) + R_GAMMA
            a, total = adot_at(block) + whole(block, row + AT_COEFFICIENTS) + r * n_a, get(work, at)
            for t in range(n_a):
                total = total + get(work, a + t) * get(u, whole(block, list_at + t * A_ENTRY + E_DOF))
            put(work, at, total)


@apart
def put_right_side(block, q, p, tau, qdot, pdot, work):
    """qdot and pdot for sigma' = 0."""
    u = tail(work, speeds_at(block))
    prepare(block, q, work)
    put_speeds(block, q, p, work)
    move(block, q, u, work)
    put_bias_and_rates(block, q, tau, pdot, work)
    add_products(block, adot_at(block), 1.0, pdot, 0, work)  # sigma: p may be anywhere, as in derivatives
    put_configuration_rates(block, q, work, speeds_at(block), qdot)
    put_multipliers(block, u, work)
    add_products(block, a_at(block), -1.0, pdot, 0, work)


@apart
def put_accelerations(block, q, u, tau, udot, work):
    """Joint accelerations for joint speeds that satisfy the constraints."""
    prepare(block, q, work)
    move(block, q, u, work)
    put_bias(block, q, u, tau, work)
    put_multipliers(block, u, work)
    forth(block, udot, work)


# ---- results in the order of the description ----
@apart
def put_public(block, place, sign, out, work):
    """What all rows have at a place."""
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        for r in range(whole(block, row + N_OWN_ROWS)):
            value = get(work, scalar_row(block, whole(block, row + FIRST_ROW) + r) + place)
            put(out, whole(block, row + PUBLIC) + r, sign * value)


@apart
def residuals(block, q, g, work):
    """g of all rows; 0 of those that are not holonomic."""
    place(block, q, work)
    put_public(block, R_G, 1.0, g, work)


@apart
def constraint_matrix(block, q, a, b, work):
    """a, m x nv row by row, and b."""
    place(block, q, work)
    put_time_parts(block, work)
    put_public(block, R_B, 1.0, b, work)
    put_matrix(block, a_at(block), a, work)


@apart
def constraint_matrix_rate(block, q, u, a, b, work):
    """Time derivatives of a and b for joint speeds u."""
    place(block, q, work)
    put_rates(block, q, u, work)
    put_public(block, R_BD, 1.0, b, work)
    put_matrix(block, adot_at(block), a, work)


@apart
def put_matrix(block, coefficients, a, work):
    """Coefficients of all rows, m x nv."""
    nv = whole(block, NV)
    for k in range(head(block, N_ROWS) * nv):
        put(a, k, 0.0)
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        list_at, n_a = whole(block, row + A_LIST), whole(block, row + N_A)
        for r in range(whole(block, row + N_OWN_ROWS)):
            at = coefficients + whole(block, row + AT_COEFFICIENTS) + r * n_a
            out = (whole(block, row + PUBLIC) + r) * nv
            for t in range(n_a):
                put(a, out + whole(block, list_at + t * A_ENTRY + E_DOF), get(work, at + t))


@apart
def put_wrenches(block, q, p, tau, wrenches, gears, work):
    """What constraints do: six numbers a body, in its axes at its origin; joint forces of gears and a user's rows."""
    put_forces(block, q, p, tau, work)
    for i in range(6 * whole(block, N_BODIES)):
        put(wrenches, i, 0.0)
    for j in range(whole(block, NV)):
        put(gears, j, 0.0)
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        first, n_a, list_at = whole(block, row + FIRST_ROW), whole(block, row + N_A), whole(block, row + A_LIST)
        if whole(block, row + FORM) != GEOMETRIC:
            for r in range(whole(block, row + N_OWN_ROWS)):
                force = get(work, scalar_row(block, first + r) + R_SIGMA)
                a = a_at(block) + whole(block, row + AT_COEFFICIENTS) + r * n_a
                for t in range(n_a):
                    j = whole(block, list_at + t * A_ENTRY + E_DOF)
                    put(gears, j, get(gears, j) - force * get(work, a + t))
        else:
            for r in range(whole(block, row + N_OWN_ROWS)):
                add_wrench(block, c, row + BODY_A, row + PLACE_A, F_AXES_A, first + r, -1.0, wrenches, work)
                add_wrench(block, c, row + BODY_B, row + PLACE_B, F_AXES_B, first + r, 1.0, wrenches, work)


@apart
def add_wrench(block, c, body, place_in_node, axes, k, sign, wrenches, work):
    """Add the force of scalar row k on one of the two bodies of constraint c, through the frame that it has there."""
    b = whole(block, body)
    if b >= 0:
        at, f = scalar_row(block, k), frames_row(block, c) + axes
        force, E = sign * get(work, at + R_SIGMA), get33(work, f)
        n, way = get3(work, at + R_N), sub(get3(work, at + R_X), get3(work, f + 9))
        moment = add(cross(way, n), get3(work, at + R_MOMENT))
        X = relative(get_frame(block, place_in_node), get_frame(block, body_row(block, b) + BODY_G))
        F = force_to_parent(X, (mul(E, scale(force, n)), mul(E, scale(force, moment))))
        add_to_pair(wrenches, 6 * b, F)


@apart
def put_forces(block, q, p, tau, work):
    """-lambda of all rows in the place of sigma."""
    u = tail(work, speeds_at(block))
    prepare(block, q, work)
    put_speeds(block, q, p, work)
    move(block, q, u, work)
    put_bias(block, q, u, tau, work)
    put_multipliers(block, u, work)


# ---- all of it as one function, which is compiled once and called by its address ----
FLOW, RIGHT_SIDE, ACCELERATIONS, GAUGE, CLOSE, RESIDUALS, MATRIX, MATRIX_RATE, MULTIPLIERS, WRENCHES = (
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9)


@apart
def engine(action, block, work, q, x, tau, out, second):
    """What `action` says, from the configuration q, momenta or joint speeds x and joint forces tau."""
    if action == FLOW:
        put_flow(block, q, x, tau, out, second, work)
    elif action == RIGHT_SIDE:
        put_right_side(block, q, x, tau, out, second, work)
    elif action == ACCELERATIONS:
        put_accelerations(block, q, x, tau, out, work)
    elif action == GAUGE:
        gauge(block, q, x, out, work)
    elif action == CLOSE:
        close(block, q, out, work)
    elif action == RESIDUALS:
        residuals(block, q, out, work)
    elif action == MATRIX:
        constraint_matrix(block, q, out, second, work)
    elif action == MATRIX_RATE:
        constraint_matrix_rate(block, q, x, out, second, work)
    elif action == MULTIPLIERS:
        put_forces(block, q, x, tau, work)
        put_public(block, R_SIGMA, -1.0, out, work)
    else:
        put_wrenches(block, q, x, tau, out, second, work)
