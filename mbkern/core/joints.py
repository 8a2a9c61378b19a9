"""What a node is: all that the sweeps need to know about a joint. The kinds of nodes are known here only.

A node has a frame X in its parent's, n dofs with constant unit twists e in its own frame, or a prescribed motion
along one. All other files are written on these functions alone (but the hot path, :mod:`.extended`):

    structure       `dofs`, `is_driven`, `drive_of`, `quaternion_place`, `turn_place`, `floats`, `node_pair`,
                    `drops_rotor`, `vanishes`
    configuration   `put_frames`, `put_frame_of`: X(q);   `put_rates`, `put_node_rates`: qdot = N(q) u
    twists          `twist`: e;   `put_columns`: C e;   `put_momentum`: M e of a rigid body;
                    `inertia_along`: how large M is along e
    motion          `add_rates`, `add_drive_rate`: v += e rate;   `put_motion`: v and its drift wr
    forces          `add_projection`, `put_projection`, `put_world_projection`: e^T F;
                    `put_momentum_rates`: e^T (F* - Omega mu)
    elimination     `eliminate`: U = M* e, D = e^T U + r, y = (p - e^T phi) / D, and what is left for the parent;
                    `eliminate_again`: the same of other p with the pivots that are there;
                    `recover`: rate = y - U^T (C v_k) / D and v = C v_k + e rate;   `eliminated_energy`

A revolute node turns about, and a prismatic one moves along, the z axis of its frame; a screw of pitch h turns by x and
moves by h x, so that e = (h z; z). A ball carries a unit quaternion
(w, x, y, z) that turns body axes into those before it; a free node first the position of its origin in the frame
before it. Quaternions enter through q/|q|, so that every function of them is constant along rays: a length that has
drifted changes nothing, and scaling q back commutes with any Runge-Kutta method.

Where a function does much, each kind is one straight piece of code that ends in memory: where branches meet, all its
numbers would go through memory anyway. What an elimination leaves for `recover` is at W_ELIM: 1/D and y of one
dof; the factors of R and y of a ball; y of a free node.
"""

from .jit import inline
from .layout import (
    BALL, DOFS, DRIVEN_PRISMATIC, DRIVEN_REVOLUTE, FREE, KIND, N_NODES, PITCH, PLACE_G, PLACE_RHO, PRISMATIC, QI,
    QUATERNION, REVOLUTE, ROTOR, ROTOR_INERTIA, SCREW, SUBTREE_MASS, TOLERANCE, VI, W_DRIFT, W_ELIM, W_G, W_P, W_PHI,
    W_V, add_to3, add_to_inertia, add_to_pair, drive_values, get3, get6, get33, get_frame, get_inertia, get_pair,
    margins_at, node_row, put3, put6, put_frame, put_pair, work_row,
)
from .number import fma, get, one_if, put, sincos, smaller, whole
from .spatial import (
    add6, axpy6, column_az, column_lz, dot6, downdate, eliminate_angular, eliminate_az, eliminate_lz,
    force_to_parent, inertia_times, inertia_to_parent, ldl3, ldl3_solve, mass_to_parent, motion_to_child, omega_times,
    omega_transposed_times, pivot_margin, scale6, sub6, trace,
)
from .vec3 import ZERO3, add, axpy, cross, dot, matmul, mul, neg, sadd, scale, sub, tmul


# ---- structure ----
@inline
def dofs(block, c):
    """Number of dofs of the node at row c: 1, 3, 6, or 0 where the motion is prescribed."""
    return whole(block, c + DOFS)


@inline
def is_driven(block, c):
    """Whether the motion of the node is prescribed."""
    return whole(block, c + DOFS) == 0


@inline
def drive_of(block, c):
    """Where the values of a driven node's drive are in the workspace."""
    return drive_values(block, whole(block, c + QI))


@inline
def quaternion_place(block, c):
    """Where the quaternion of the node is in q, or -1."""
    return whole(block, c + QUATERNION)


@inline
def turn_place(block, c):
    """Where the angular velocity, in body axes, of a node that has a quaternion is among the speeds."""
    return whole(block, c + VI) + whole(block, c + DOFS) - 3


@inline
def floats(block, c):
    """Whether a node that has a quaternion moves as well: its position is before that in q, and the velocity in body
    axes before the angular one."""
    return whole(block, c + DOFS) == 6


@inline
def node_pair(block, c, x, at):
    """The numbers of a node that has a quaternion, from place `at` of x on, as a six-vector: nothing linear where it
    only turns."""
    if floats(block, c):
        return get_pair(x, at)
    zero = 0.0 * get(x, at)  # of the same type
    return (zero, zero, zero), get3(x, at)


@inline
def drops_rotor(block, c):
    """Whether the elimination of the node drops the row and column of e, which do not vanish where there is a rotor."""
    return whole(block, c + ROTOR) != 0 and dofs(block, c) == 1 and whole(block, c + KIND) != SCREW


@inline
def vanishes(block, c):
    """Whether the elimination of a dof leaves nothing along e: a unit vector of the node's frame, without a rotor."""
    return whole(block, c + ROTOR) == 0 and whole(block, c + KIND) != SCREW


@inline
def put_drive_margins(block, work):
    """The margins of driven nodes, which say whether the drive has a value; 1 for all others."""
    margins = margins_at(block)
    for i in range(whole(block, N_NODES)):
        c = node_row(i)
        put(work, margins + i, 1.0)
        if is_driven(block, c):
            put(work, margins + i, get(work, drive_of(block, c) + 3))


# ---- configuration ----
@inline
def turned_z(G, angle):
    """The axes G turned about their z axis."""
    s, c = sincos(angle)
    return (axpy(c, G[0], scale(s, G[1])), axpy(c, G[1], scale(-s, G[0])), G[2])


@inline
def quaternion_axes(w, v):
    """Matrix that turns the axes before the joint into body axes, for any nonzero quaternion (w, v)."""
    n = 2.0 / fma(w, w, dot(v, v))
    x, y, z = v
    xx, yy, zz = n * x * x, n * y * y, n * z * z
    xy, xz, yz = n * x * y, n * x * z, n * y * z
    wx, wy, wz = n * w * x, n * w * y, n * w * z
    return ((1.0 - yy - zz, xy + wz, xz - wy), (xy - wz, 1.0 - xx - zz, yz + wx), (xz + wy, yz - wx, 1.0 - xx - yy))


@inline
def revolute_frame(block, c, angle):
    return (turned_z(get33(block, c + PLACE_G), angle), get3(block, c + PLACE_RHO))


@inline
def prismatic_frame(block, c, amount):
    G, rho = get_frame(block, c + PLACE_G)
    return (G, axpy(amount, G[2], rho))


@inline
def screw_frame(block, c, angle):
    G, rho = get_frame(block, c + PLACE_G)
    return (turned_z(G, angle), axpy(get(block, c + PITCH) * angle, G[2], rho))


@inline
def ball_frame(block, c, q, qi):
    G, rho = get_frame(block, c + PLACE_G)
    return (matmul(quaternion_axes(get(q, qi), get3(q, qi + 1)), G), rho)


@inline
def free_frame(block, c, q, qi):
    G, rho = get_frame(block, c + PLACE_G)
    return (matmul(quaternion_axes(get(q, qi + 3), get3(q, qi + 4)), G), add(rho, tmul(G, get3(q, qi))))


@inline
def put_frames(block, q, work):
    """Frames of all nodes in those of their parents; the drive values are in the workspace already."""
    for i in range(whole(block, N_NODES)):
        put_frame_of(block, i, q, work)


@inline
def put_frame_of(block, i, q, work):
    """Frame of node i."""
    c, w = node_row(i), work_row(i)
    kind, qi = whole(block, c + KIND), whole(block, c + QI)
    if kind == REVOLUTE:
        put_frame(work, w + W_G, revolute_frame(block, c, get(q, qi)))
    elif kind == PRISMATIC:
        put_frame(work, w + W_G, prismatic_frame(block, c, get(q, qi)))
    elif kind == SCREW:
        put_frame(work, w + W_G, screw_frame(block, c, get(q, qi)))
    elif kind == BALL:
        put_frame(work, w + W_G, ball_frame(block, c, q, qi))
    elif kind == FREE:
        put_frame(work, w + W_G, free_frame(block, c, q, qi))
    elif kind == DRIVEN_REVOLUTE:
        put_frame(work, w + W_G, revolute_frame(block, c, get(work, drive_of(block, c))))
    elif kind == DRIVEN_PRISMATIC:
        put_frame(work, w + W_G, prismatic_frame(block, c, get(work, drive_of(block, c))))
    else:
        put_frame(work, w + W_G, screw_frame(block, c, get(work, drive_of(block, c))))


@inline
def put_quaternion_rate(q, qi, w, qdot):
    """d/dt of the quaternion at qi for the angular velocity w in body axes: q o (0, w) / 2."""
    a, v = get(q, qi), get3(q, qi + 1)
    put(qdot, qi, -0.5 * dot(v, w))
    r = axpy(a, w, cross(v, w))
    put(qdot, qi + 1, 0.5 * r[0]); put(qdot, qi + 2, 0.5 * r[1]); put(qdot, qi + 3, 0.5 * r[2])


@inline
def put_free_rate(q, qi, v, qdot):
    """d/dt of position and quaternion at qi for body-frame speeds v = (linear, angular)."""
    G = quaternion_axes(get(q, qi + 3), get3(q, qi + 4))
    r = tmul(G, v[0])
    put(qdot, qi, r[0]); put(qdot, qi + 1, r[1]); put(qdot, qi + 2, r[2])
    put_quaternion_rate(q, qi + 3, v[1], qdot)


@inline
def put_rates(block, q, u, at, qdot):
    """qdot = N(q) u for the joint speeds that are in the array u from place `at` on."""
    for i in range(whole(block, N_NODES)):
        put_node_rates(block, node_row(i), q, u, at, qdot)


@inline
def put_node_rates(block, c, q, u, at, qdot):
    """The same of one node."""
    kind, qi, vi = whole(block, c + KIND), whole(block, c + QI), at + whole(block, c + VI)
    if kind == BALL:
        put_quaternion_rate(q, qi, get3(u, vi), qdot)
    elif kind == FREE:
        put_free_rate(q, qi, get_pair(u, vi), qdot)
    elif not is_driven(block, c):
        put(qdot, qi, get(u, vi))


# ---- twists ----
@inline
def unit_twist(axis):
    """The axis-th unit six-vector: 0, 1, 2 linear, 3, 4, 5 angular."""
    return ((one_if(axis == 0), one_if(axis == 1), one_if(axis == 2)),
            (one_if(axis == 3), one_if(axis == 4), one_if(axis == 5)))


@inline
def twist(block, c, a):
    """e of the a-th dof of the node; of a driven node with a = 0, that of its prescribed motion."""
    kind, n = whole(block, c + KIND), dofs(block, c)
    e, t = unit_twist(6 - n + a if n > 1 else 2 if kind == PRISMATIC or kind == DRIVEN_PRISMATIC else 5)
    return ((e[0], e[1], e[2] + get(block, c + PITCH)), t)


@inline
def put_columns(block, c, X, at, work):
    """C e of all dofs for a frame X in that of the node, at place `at` of the workspace; zeros of e are literal where
    there is one dof."""
    kind = whole(block, c + KIND)
    if kind == REVOLUTE:
        put_pair(work, at, motion_to_child(X, (ZERO3, (0.0, 0.0, 1.0))))
    elif kind == PRISMATIC:
        put_pair(work, at, motion_to_child(X, ((0.0, 0.0, 1.0), ZERO3)))
    else:
        for j in range(dofs(block, c)):
            put_pair(work, at + 6 * j, motion_to_child(X, twist(block, c, j)))


@inline
def along_screw(block, c, F):
    """e^T F of a screw."""
    return fma(get(block, c + PITCH), F[0][2], F[1][2])


@inline
def screw_column(block, c, M):
    """M e of a screw."""
    return axpy6(get(block, c + PITCH), column_lz(M), column_az(M))


@inline
def put_momentum(block, c, a, m, s, J, at, work):
    """M e_a of a rigid body (mass m, first moment s, inertia J) at place `at` of the workspace."""
    kind = whole(block, c + KIND)
    if kind == REVOLUTE:
        put_pair(work, at, ((-s[1], s[0], 0.0), (J[2], J[4], J[5])))
    elif kind == PRISMATIC:
        put_pair(work, at, ((0.0, 0.0, m), (s[1], -s[0], 0.0)))
    elif kind == SCREW:
        h = get(block, c + PITCH)
        put_pair(work, at, ((-s[1], s[0], h * m), (fma(h, s[1], J[2]), fma(-h, s[0], J[4]), J[5])))
    else:
        put_column(6 - dofs(block, c) + a, m, s, J, at, work)


@inline
def put_column(axis, m, s, J, at, work):
    """The axis-th column of the inertia of a rigid body: what is copied needs no products with unit vectors."""
    if axis == 0:
        put_pair(work, at, ((m, 0.0, 0.0), (0.0, s[2], -s[1])))
    elif axis == 1:
        put_pair(work, at, ((0.0, m, 0.0), (-s[2], 0.0, s[0])))
    elif axis == 2:
        put_pair(work, at, ((0.0, 0.0, m), (s[1], -s[0], 0.0)))
    elif axis == 3:
        put_pair(work, at, ((0.0, -s[2], s[1]), (J[0], J[1], J[2])))
    elif axis == 4:
        put_pair(work, at, ((s[2], 0.0, -s[0]), (J[1], J[3], J[4])))
    else:
        put_pair(work, at, ((-s[1], s[0], 0.0), (J[2], J[4], J[5])))


@inline
def inertia_along(block, c, a, linear, angular):
    """The size of an inertia along e_a, for the traces of its linear and angular blocks; rounding is measured by it."""
    moves, h = one_if(whole(block, c + KIND) == PRISMATIC or (floats(block, c) and a < 3)), get(block, c + PITCH)
    return fma(fma(h, h, moves), linear, (1.0 - moves) * angular)


# ---- motion ----
@inline
def add_rates(block, c, at, x, place, work):
    """Add e x to the six-vector at place `at` of the workspace; x are rates of dofs, from `place` of x on."""
    kind, vi = whole(block, c + KIND), place + whole(block, c + VI)
    if kind == REVOLUTE:
        put(work, at + 5, get(work, at + 5) + get(x, vi))
    elif kind == PRISMATIC:
        put(work, at + 2, get(work, at + 2) + get(x, vi))
    elif kind == SCREW:
        put(work, at + 2, fma(get(block, c + PITCH), get(x, vi), get(work, at + 2)))
        put(work, at + 5, get(work, at + 5) + get(x, vi))
    elif kind == BALL:
        add_to3(work, at + 3, get3(x, vi))
    elif kind == FREE:
        add_to_pair(work, at, get_pair(x, vi))


@inline
def add_drive_rate(block, c, at, work):
    """The same for the prescribed motion of a driven node."""
    if is_driven(block, c):
        rate = get(work, drive_of(block, c) + 1)
        place = at + (2 if whole(block, c + KIND) == DRIVEN_PRISMATIC else 5)
        put(work, at + 2, fma(get(block, c + PITCH), rate, get(work, at + 2)))
        put(work, place, get(work, place) + rate)


@inline
def put_motion(block, c, w, v, u, work):
    """v + e rate, the velocity of a node that would have v if it stood still, and its drift wr.

    wr = Omega(e rate)^T v + e xddot is dv/dt when neither its parent nor its joint speeds u accelerate.
    """
    kind, vi = whole(block, c + KIND), whole(block, c + VI)
    if kind == REVOLUTE:
        put_turning(work, w, v, get(u, vi), 0.0)
    elif kind == PRISMATIC:
        put_sliding(work, w, v, get(u, vi), 0.0)
    elif kind == SCREW:
        put_screwing(work, w, v, get(block, c + PITCH), get(u, vi), 0.0)
    elif kind == BALL:
        rate3 = get3(u, vi)
        put_pair(work, w + W_V, (v[0], add(v[1], rate3)))
        put_pair(work, w + W_DRIFT, omega_transposed_times((ZERO3, rate3), v))
    elif kind == FREE:
        rate6 = get_pair(u, vi)
        put_pair(work, w + W_V, add6(v, rate6))
        put_pair(work, w + W_DRIFT, omega_transposed_times(rate6, v))
    else:
        at = drive_of(block, c)
        rate, second = get(work, at + 1), get(work, at + 2)
        if kind == DRIVEN_REVOLUTE:
            put_turning(work, w, v, rate, second)
        elif kind == DRIVEN_PRISMATIC:
            put_sliding(work, w, v, rate, second)
        else:
            put_screwing(work, w, v, get(block, c + PITCH), rate, second)


@inline
def put_turning(work, w, v, rate, second):
    """`put_motion` for a rotation about z with that rate and acceleration."""
    a, o = v
    put_pair(work, w + W_V, (a, (o[0], o[1], o[2] + rate)))
    put_pair(work, w + W_DRIFT, ((rate * a[1], -rate * a[0], 0.0), (rate * o[1], -rate * o[0], second)))


@inline
def put_sliding(work, w, v, rate, second):
    """The same for a translation along z."""
    a, o = v
    put_pair(work, w + W_V, ((a[0], a[1], a[2] + rate), o))
    put_pair(work, w + W_DRIFT, ((rate * o[1], -rate * o[0], second), ZERO3))


@inline
def put_screwing(work, w, v, h, rate, second):
    """The same for both with the pitch h."""
    a, o = v
    put_pair(work, w + W_V, ((a[0], a[1], fma(h, rate, a[2])), (o[0], o[1], o[2] + rate)))
    put_pair(work, w + W_DRIFT, ((rate * fma(h, o[1], a[1]), -rate * fma(h, o[0], a[0]), h * second),
                                 (rate * o[1], -rate * o[0], second)))


# ---- forces ----
@inline
def add_projection(block, c, F, out, place):
    """Add e^T F, a force or momentum in the node's frame along its dofs, to `out` from `place` on."""
    kind, vi = whole(block, c + KIND), place + whole(block, c + VI)
    if kind == REVOLUTE:
        put(out, vi, get(out, vi) + F[1][2])
    elif kind == PRISMATIC:
        put(out, vi, get(out, vi) + F[0][2])
    elif kind == SCREW:
        put(out, vi, get(out, vi) + along_screw(block, c, F))
    elif kind == BALL:
        add_to3(out, vi, F[1])
    elif kind == FREE:
        add_to_pair(out, vi, F)


@inline
def put_projection(block, c, F, count, out, at):
    """e_a^T F of the first `count` dofs from place `at` of `out` on."""
    kind = whole(block, c + KIND)
    if kind == REVOLUTE:
        put(out, at, F[1][2])
    elif kind == PRISMATIC:
        put(out, at, F[0][2])
    elif kind == SCREW:
        put(out, at, along_screw(block, c, F))
    elif kind == BALL or kind == FREE:
        for a in range(count):
            axis = 6 - dofs(block, c) + a
            put(out, at + a, F[0][0] if axis == 0 else F[0][1] if axis == 1 else F[0][2] if axis == 2 else
                F[1][0] if axis == 3 else F[1][1] if axis == 4 else F[1][2])


@inline
def put_world_projection(block, c, E, F, out, at):
    """e^T F of all dofs for a force F in world axes, E those of the node: no more products than its kind needs."""
    kind = whole(block, c + KIND)
    if kind == REVOLUTE:
        put(out, at, dot(E[2], F[1]))
    elif kind == PRISMATIC:
        put(out, at, dot(E[2], F[0]))
    elif kind == SCREW:
        put(out, at, fma(get(block, c + PITCH), dot(E[2], F[0]), dot(E[2], F[1])))
    elif kind == BALL:
        put3(out, at, mul(E, F[1]))
    elif kind == FREE:
        put_pair(out, at, (mul(E, F[0]), mul(E, F[1])))


@inline
def put_momentum_rates(block, c, v, mu, s, g, pdot):
    """pdot = e^T (F* - Omega(v) mu): weight of the subtree (m g; s x g), s its first moment, and momentum mu."""
    kind, vi, m = whole(block, c + KIND), whole(block, c + VI), get(block, c + SUBTREE_MASS)
    if kind == REVOLUTE:
        put(pdot, vi, cross(s, g)[2] - omega_times(v, mu)[1][2])
    elif kind == PRISMATIC:
        put(pdot, vi, fma(m, g[2], -omega_times(v, mu)[0][2]))
    elif kind == SCREW:
        put(pdot, vi, along_screw(block, c, sub6((scale(m, g), cross(s, g)), omega_times(v, mu))))
    elif kind == BALL:
        put3(pdot, vi, sub(cross(s, g), omega_times(v, mu)[1]))
    elif kind == FREE:
        force = omega_times(v, mu)
        put_pair(pdot, vi, (axpy(m, g, neg(force[0])), sub(cross(s, g), force[1])))


# ---- elimination ----
@inline
def put_pivot(block, c, margin, w, D, force, size, work):
    """1 / D and y = force / D for `recover`, and at `margin` that of the pivot D of an inertia of that size along e:
    what is left of D less what rounding may have left of zero."""
    d = 1.0 / D
    y = force * d
    put(work, w + W_ELIM, d); put(work, w + W_ELIM + 1, y)
    put(work, margin, fma(-get(block, c + TOLERANCE), size, D))
    return d, y


@inline
def rounded_by_hinge(block, c, R):
    """The inertia whose rounding is in what is left of R after the elimination of a hinge: that of R, and that of the
    pivot D in U U^T / D, which is R (Ux^2 + Uy^2) / D^2 besides. R may be in the block, as that of leaves is."""
    size, d = trace(R), 1.0 / (R[5] + get(block, c + ROTOR_INERTIA))
    x, y = d * R[2], d * R[4]
    return fma(size, fma(x, x, y * y), size)


@inline
def rounded_inertia(block, c, R, w, work):
    """The same for any node that is no leaf. The pivot of a screw has a part h^2 P of the mass, and that alone where
    nothing is left of R."""
    kind, size = whole(block, c + KIND), trace(R)
    if kind == REVOLUTE:
        size = rounded_by_hinge(block, c, R)
    elif kind == SCREW:
        M, h = get_inertia(work, w + W_P), get(block, c + PITCH)
        U = screw_column(block, c, M)
        d = 1.0 / (along_screw(block, c, U) + get(block, c + ROTOR_INERTIA))
        x, y = d * U[1][0], d * U[1][1]
        size = fma(fma(h * h, trace(M[0]), size), fma(x, x, y * y), size)
    elif kind == BALL or kind == FREE:  # nothing is left of R
        size = 0.0 * size
    return size


@inline
def screw_pivot(block, c, w, margin, M, phi, force, work):
    """U, 1 / D and y of a screw."""
    U, h = screw_column(block, c, M), get(block, c + PITCH)
    D = along_screw(block, c, U) + get(block, c + ROTOR_INERTIA)
    size = fma(h * h, trace(M[0]), trace(M[2]))
    d, y = put_pivot(block, c, margin, w, D, force - along_screw(block, c, phi), size, work)
    return U, d, y


@inline
def eliminate_screw(M, U, d):
    """M - U d U^T."""
    (P, Q, R), (A, B, C) = M, downdate(scale6(d, U), U)
    return (sadd(P, A), (add(Q[0], B[0]), add(Q[1], B[1]), add(Q[2], B[2])), sadd(R, C))


@inline
def carry(work, k, X, M, phi):
    """Add inertia and phi of a node to its parent k, if it has one."""
    if k >= 0:
        kw = work_row(k)
        add_to_inertia(work, kw + W_P, inertia_to_parent(X, M))
        add_to_pair(work, kw + W_PHI, force_to_parent(X, phi))


@inline
def free_velocity(M, phi, momentum):
    """M*^-1 (p - phi) for all six dofs, and the margin of its pivots."""
    P, Q, R = M
    F, angular = ldl3(R)
    S = eliminate_angular(M, F)
    G, linear = ldl3(S)
    b, t = sub(momentum[0], phi[0]), sub(momentum[1], phi[1])
    u = ldl3_solve(G, sub(b, mul(Q, ldl3_solve(F, t))))
    return (u, ldl3_solve(F, sub(t, tmul(Q, u)))), smaller(pivot_margin(angular, R), pivot_margin(linear, P))


@inline
def eliminate(block, i, k, x, work):
    """Eliminate node i, parent k, for forces x: pivots and margin, and M* and phi + M* wr that are left to the parent.

    A node of several dofs must have no rotor; what the rotor of one dof leaves besides is :mod:`.rotors`'.
    """
    c, w = node_row(i), work_row(i)
    kind, vi, margin = whole(block, c + KIND), whole(block, c + VI), margins_at(block) + i
    M, X = get_inertia(work, w + W_P), get_frame(work, w + W_G)
    if kind == REVOLUTE:
        wr = ((get(work, w + W_DRIFT), get(work, w + W_DRIFT + 1), 0.0),
              (get(work, w + W_DRIFT + 3), get(work, w + W_DRIFT + 4), 0.0))
        phi, U = add6(get_pair(work, w + W_PHI), inertia_times(M, wr)), column_az(M)
        D = U[1][2] + get(block, c + ROTOR_INERTIA)
        d, y = put_pivot(block, c, margin, w, D, get(x, vi) - phi[1][2], trace(M[2]), work)
        carry(work, k, X, eliminate_az(M, U, d), axpy6(y, U, phi))
    elif kind == PRISMATIC:
        wr = ((get(work, w + W_DRIFT), get(work, w + W_DRIFT + 1), 0.0), ZERO3)
        phi, U = add6(get_pair(work, w + W_PHI), inertia_times(M, wr)), column_lz(M)
        D = U[0][2] + get(block, c + ROTOR_INERTIA)
        d, y = put_pivot(block, c, margin, w, D, get(x, vi) - phi[0][2], trace(M[0]), work)
        carry(work, k, X, eliminate_lz(M, U, d), axpy6(y, U, phi))
    elif kind == SCREW:
        phi = add6(get_pair(work, w + W_PHI), inertia_times(M, get_pair(work, w + W_DRIFT)))
        U, d, y = screw_pivot(block, c, w, margin, M, phi, get(x, vi), work)
        carry(work, k, X, eliminate_screw(M, U, d), axpy6(y, U, phi))
    elif kind == BALL:
        phi = add6(get_pair(work, w + W_PHI), inertia_times(M, get_pair(work, w + W_DRIFT)))
        (F, pivot), torque = ldl3(M[2]), get3(x, vi)
        y3 = ldl3_solve(F, sub(torque, phi[1]))
        put6(work, w + W_ELIM, F); put3(work, w + W_ELIM + 6, y3)
        put(work, margin, pivot_margin(pivot, M[2]))
        if k >= 0:
            kw = work_row(k)
            add_to_inertia(work, kw + W_P, mass_to_parent(X, eliminate_angular(M, F)))
            add_to_pair(work, kw + W_PHI, force_to_parent(X, (add(phi[0], mul(M[1], y3)), torque)))
    elif kind == FREE:  # all six dofs eliminated: no inertia passes, only the force
        force = get_pair(x, vi)
        v, free_margin = free_velocity(M, get_pair(work, w + W_PHI), force)
        put_pair(work, w + W_ELIM, sub6(v, get_pair(work, w + W_DRIFT)))
        put(work, margin, free_margin)
        if k >= 0:
            add_to_pair(work, work_row(k) + W_PHI, force_to_parent(X, force))
    else:
        put(work, margin, get(work, drive_of(block, c) + 3))
        carry(work, k, X, M, add6(get_pair(work, w + W_PHI), inertia_times(M, get_pair(work, w + W_DRIFT))))


@inline
def eliminate_again(block, i, x, work):
    """phi of node i becomes what it passes on for other momenta x; M* and pivots are there already."""
    c, w = node_row(i), work_row(i)
    kind, vi = whole(block, c + KIND), whole(block, c + VI)
    M, phi = get_inertia(work, w + W_P), get_pair(work, w + W_PHI)
    if kind == REVOLUTE:
        y = (get(x, vi) - phi[1][2]) * get(work, w + W_ELIM)
        put(work, w + W_ELIM + 1, y)
        put_pair(work, w + W_PHI, axpy6(y, column_az(M), phi))
    elif kind == PRISMATIC:
        y = (get(x, vi) - phi[0][2]) * get(work, w + W_ELIM)
        put(work, w + W_ELIM + 1, y)
        put_pair(work, w + W_PHI, axpy6(y, column_lz(M), phi))
    elif kind == SCREW:
        y = (get(x, vi) - along_screw(block, c, phi)) * get(work, w + W_ELIM)
        put(work, w + W_ELIM + 1, y)
        put_pair(work, w + W_PHI, axpy6(y, screw_column(block, c, M), phi))
    elif kind == BALL:
        y3 = ldl3_solve(get6(work, w + W_ELIM), sub(get3(x, vi), phi[1]))
        put3(work, w + W_ELIM + 6, y3)
        put_pair(work, w + W_PHI, (add(phi[0], mul(M[1], y3)), get3(x, vi)))
    elif kind == FREE:
        v, _ = free_velocity(M, phi, get_pair(x, vi))
        put_pair(work, w + W_ELIM, v)
        put_pair(work, w + W_PHI, get_pair(x, vi))


@inline
def eliminated_energy(block, i, p, work):
    """(p - e^T phi) y of node i, which has dofs and no rotor: summed over all nodes twice the kinetic energy."""
    c, w = node_row(i), work_row(i)
    kind, vi = whole(block, c + KIND), whole(block, c + VI)
    if kind == BALL:
        return dot(sub(get3(p, vi), get3(work, w + W_PHI + 3)), get3(work, w + W_ELIM + 6))
    if kind == FREE:
        return dot6(sub6(get_pair(p, vi), get_pair(work, w + W_PHI)), get_pair(work, w + W_ELIM))
    y = get(work, w + W_ELIM + 1)
    return y * y / get(work, w + W_ELIM)


@inline
def recover(block, i, v, rates, work):
    """Rates of node i in the array `rates`, and its velocity, where it would have v if it stood still."""
    c, w = node_row(i), work_row(i)
    kind, vi = whole(block, c + KIND), whole(block, c + VI)
    u, o = v
    if kind == REVOLUTE:
        U = column_az(get_inertia(work, w + W_P))
        rate = fma(-get(work, w + W_ELIM), dot6(U, v), get(work, w + W_ELIM + 1))
        put(rates, vi, rate)
        put_pair(work, w + W_V, (u, (o[0], o[1], o[2] + rate)))
    elif kind == PRISMATIC:
        U = column_lz(get_inertia(work, w + W_P))
        rate = fma(-get(work, w + W_ELIM), dot6(U, v), get(work, w + W_ELIM + 1))
        put(rates, vi, rate)
        put_pair(work, w + W_V, ((u[0], u[1], u[2] + rate), o))
    elif kind == SCREW:
        U = screw_column(block, c, get_inertia(work, w + W_P))
        rate = fma(-get(work, w + W_ELIM), dot6(U, v), get(work, w + W_ELIM + 1))
        put(rates, vi, rate)
        put_pair(work, w + W_V, ((u[0], u[1], fma(get(block, c + PITCH), rate, u[2])), (o[0], o[1], o[2] + rate)))
    elif kind == BALL:
        Q = get_inertia(work, w + W_P)[1]
        turn = sub(get3(work, w + W_ELIM + 6), ldl3_solve(get6(work, w + W_ELIM), tmul(Q, u)))
        put3(rates, vi, sub(turn, o))
        put_pair(work, w + W_V, (u, turn))
    elif kind == FREE:
        own = get_pair(work, w + W_ELIM)
        put_pair(rates, vi, sub6(own, v))
        put_pair(work, w + W_V, own)
    else:
        put_pair(work, w + W_V, v)
