"""Rows of constraints: a(q, t) u + b(q, t) = 0, their values where they are holonomic, and exact time derivatives.

A geometric row is a force direction n at a point x and a moment m between two bodies, in world axes:

    a_j = s_j [n . (l_j + w_j x (x - o_j)) + m . w_j]        (l_j; w_j) twist of dof j at the origin o_j of its node

with s = 1 for dofs that move only body A and -1 for those that move only B; dofs that move both have a = 0, since the
forces on A and B are opposite. Twists are fixed in their nodes (angular velocity omega, velocity v of the origin):

    ldot = omega x l,   wdot = omega x w,   odot = v
    adot_j = s_j [ndot . (l + w x d) + n . (ldot + wdot x d + w x (xdot - odot)) + mdot . w + m . wdot],   d = x - o

x is the same for all rows of a constraint, so that l + w x d and its rate are made once for each dof. Driven nodes
between the bodies give b = sum a_d xdot_d likewise. What n, x, m are:

    ALONG          g = n . (x_A - x_B) - h      n axis i of B, x = x_A;    h a length or a drive where j = 1
    PERPENDICULAR  g = alpha . beta             m = alpha x beta, alpha axis i of A, beta axis j of B
    DISTANCE       g = (d . d - h^2) / 2 h_0    n = d / h_0, x = x_A, d = x_A - x_B
    BLADE          no g                         n axis i of A, x = x_A
    CONTACT        g = n . (c - x_B)            n = z axis of B, c the lowest point of a wheel
    SLIP           no g                         n axis i of B, at c
    LINEAR         g = sum s_j f_j(q_j) - h     gears: a_j = s_j f_j'(q_j), f_j a polynomial
    GIVEN          all of it                    by a function of the user (:mod:`.constraint_calls`)

The lowest point of a torus with the axis s (z of A), radius R of its middle circle and r of its tube, on a plane with
normal N:  c = x_A - R d - r N,  d = (N - (N . s) s) / |...|; a disc has r = 0, a sphere R = 0.
"""

from .constraint_layout import (
    ALONG, AT_COEFFICIENTS, A_ENTRY, A_LIST, BLADE, CONTACT, DISTANCE, DRIVEN_ENTRY, DRIVEN_LIST, DRIVE_OF,
    E_DEGREE, E_DOF, E_NODE, E_POLYNOMIAL, E_QI, E_SIDE, FIRST_ROW, FORM, F_AXES_A, F_AXES_B, F_OMEGA_A, F_OMEGA_B,
    F_V_A, F_V_B, F_X_A, F_X_B, GEAR, GEOMETRIC, LENGTH, LINEAR, NODE_A, NODE_B, NODE_PLACE, N_A, N_CONSTRAINTS,
    N_DRIVEN, N_OMEGA, N_ORIGIN, N_OWN_ROWS, N_TWIST, N_VELOCITY, PERPENDICULAR, PLACE_A, PLACE_B, R_B, R_BD, R_G,
    R_MOMENT, R_MOMENT_RATE, R_N, R_ND, R_X, R_XD, SCALAR_ROW, TUBE, USER, a_at, adot_at, constraint_row, dofs_at,
    frames_row, head, place_row, scalar_row, type_row, zero_at,
)
from .constraint_calls import put_given, put_given_rates
from .factorization import W_AXES, W_WAY
from .jit import apart, inline
from .joints import dofs, drive_of, is_driven, twist
from .layout import (
    DOF_E, DOF_ROW, N_NODES, PARENT, VI, drive_values, get3, get33, get_frame, get_pair, node_row, put3, put33,
    put_pair, work_row,
)
from .number import get, put, root, whole
from .vec3 import ZERO3, add, axpy, cross, dot, matmul, scale, sub, tmul

SCALES = 1  # j of an ALONG row that has a length
TINY = 1e-300  # a wheel that lies flat has no lowest point: its direction is then zero, not undefined


# ---- where nodes and frames are, and how they move; the rows of dofs are there (:mod:`.factorization`) ----
@apart
def put_places(block, work):
    """Origins of the nodes and twists of prescribed motion, in world axes."""
    n, places = whole(block, N_NODES), place_row(block, 0)
    ground = places + n * NODE_PLACE
    put(work, zero_at(block), 0.0)
    put3(work, ground + N_ORIGIN, ZERO3)
    for i in range(n):
        c, w, at = node_row(i), work_row(i), places + i * NODE_PLACE
        k = whole(block, c + PARENT)
        below = places + k * NODE_PLACE if k >= 0 else ground
        origin = add(get3(work, below + N_ORIGIN), get3(work, w + W_WAY))
        if k >= 0 and is_driven(block, node_row(k)):  # the way begins at the last node that has dofs
            put3(work, at + N_ORIGIN, sub(origin, get3(work, work_row(k) + W_WAY)))
        else:
            put3(work, at + N_ORIGIN, origin)
        if is_driven(block, c):
            e, E = twist(block, c, 0), get33(work, w + W_AXES)
            put_pair(work, at + N_TWIST, (tmul(E, e[0]), tmul(E, e[1])))


@apart
def put_frames_of(block, work):
    """Axes and origins of the frames of all constraints."""
    for c in range(head(block, N_CONSTRAINTS)):
        row, at = constraint_row(block, c), frames_row(block, c)
        if whole(block, row + FORM) == GEOMETRIC:
            put_frame_at(block, row + NODE_A, row + PLACE_A, at + F_AXES_A, work)
            put_frame_at(block, row + NODE_B, row + PLACE_B, at + F_AXES_B, work)


@inline
def put_frame_at(block, node, place, at, work):
    """Axes and origin of a frame in a node."""
    i = whole(block, node)
    i = i if i >= 0 else whole(block, N_NODES)
    E, (G, rho) = get33(work, work_row(i) + W_AXES), get_frame(block, place)
    put33(work, at, matmul(G, E))
    put3(work, at + 9, add(get3(work, place_row(block, i) + N_ORIGIN), tmul(E, rho)))


@apart
def put_world_velocities(block, u, work):
    """Velocities of all nodes, in world axes at their origins, and of the frames of all constraints."""
    n, places, rows = whole(block, N_NODES), place_row(block, 0), dofs_at(block) + DOF_E
    ground = places + n * NODE_PLACE
    put3(work, ground + N_VELOCITY, ZERO3)
    put3(work, ground + N_OMEGA, ZERO3)
    for i in range(n):
        c, at = node_row(i), places + i * NODE_PLACE
        k = whole(block, c + PARENT)
        below = places + k * NODE_PLACE if k >= 0 else ground
        o = get3(work, below + N_OMEGA)
        way = sub(get3(work, at + N_ORIGIN), get3(work, below + N_ORIGIN))
        v = add(get3(work, below + N_VELOCITY), cross(o, way))
        if is_driven(block, c):
            rate, (l, t) = get(work, drive_of(block, c) + 1), get_pair(work, at + N_TWIST)
            put3(work, at + N_VELOCITY, axpy(rate, l, v))
            put3(work, at + N_OMEGA, axpy(rate, t, o))
        else:
            first = whole(block, c + VI)
            for j in range(first, first + dofs(block, c)):
                l, t = get_pair(work, rows + j * DOF_ROW)
                v, o = axpy(get(u, j), l, v), axpy(get(u, j), t, o)
            put3(work, at + N_VELOCITY, v)
            put3(work, at + N_OMEGA, o)
    for c in range(head(block, N_CONSTRAINTS)):
        row, at = constraint_row(block, c), frames_row(block, c)
        if whole(block, row + FORM) == GEOMETRIC:
            put_frame_velocity(block, row + NODE_A, at + F_X_A, at + F_OMEGA_A, work)
            put_frame_velocity(block, row + NODE_B, at + F_X_B, at + F_OMEGA_B, work)


@inline
def put_frame_velocity(block, node, x, at, work):
    """Angular velocity, and velocity of the origin at x, of a frame in a node."""
    i = whole(block, node)
    place = place_row(block, i if i >= 0 else whole(block, N_NODES))
    o = get3(work, place + N_OMEGA)
    put3(work, at, o)
    put3(work, at + 3, add(get3(work, place + N_VELOCITY), cross(o, sub(get3(work, x), get3(work, place + N_ORIGIN)))))


# ---- a length of a constraint ----
@inline
def length(block, row, work):
    """The length, its rate and acceleration, as numbers of the workspace."""
    d, zero = whole(block, row + DRIVE_OF), get(work, zero_at(block))
    h, rate, second = zero + get(block, row + LENGTH), zero, zero
    if d >= 0:
        at = drive_values(block, d)
        h, rate, second = get(work, at), get(work, at + 1), get(work, at + 2)
    return h, rate, second


# ---- values, directions, coefficients ----
@apart
def put_rows(block, q, work):
    """Values g and coefficients a of all rows; the rows of dofs are there."""
    put_places(block, work)
    put_frames_of(block, work)
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        if whole(block, row + FORM) == GEAR:
            put_gear(block, row, q, work)
        elif whole(block, row + FORM) == USER:
            put_given(block, row, q, work)
        else:
            for r in range(whole(block, row + N_OWN_ROWS)):
                put_direction(block, c, row, whole(block, row + FIRST_ROW) + r, work)
            put_coefficients(block, row, work)


@apart
def put_direction(block, c, row, k, work):
    """g, n, x, m of scalar row k."""
    f, out, kind = frames_row(block, c), scalar_row(block, k), type_row(block, k)
    T, i, j = whole(block, kind), whole(block, kind + 1), whole(block, kind + 2)
    x = get3(work, f + F_X_A)
    d = sub(x, get3(work, f + F_X_B))
    put(work, out + R_G, 0.0)
    put3(work, out + R_X, x)
    put3(work, out + R_MOMENT, ZERO3)
    if T == ALONG:
        n = get3(work, f + F_AXES_B + 3 * i)
        put3(work, out + R_N, n)
        put(work, out + R_G, dot(n, d))
        if j == SCALES:
            h, _, _ = length(block, row, work)
            put(work, out + R_G, dot(n, d) - h)
    elif T == PERPENDICULAR:
        alpha, beta = get3(work, f + F_AXES_A + 3 * i), get3(work, f + F_AXES_B + 3 * j)
        put3(work, out + R_N, ZERO3)
        put3(work, out + R_MOMENT, cross(alpha, beta))
        put(work, out + R_G, dot(alpha, beta))
    elif T == DISTANCE:
        h, _, _ = length(block, row, work)
        s = 1.0 / get(block, row + LENGTH)
        put3(work, out + R_N, scale(s, d))
        put(work, out + R_G, 0.5 * s * (dot(d, d) - h * h))
    elif T == BLADE:
        put3(work, out + R_N, get3(work, f + F_AXES_A + 3 * i))
    else:  # CONTACT, SLIP
        N = get3(work, f + F_AXES_B + 6)
        n, way, _ = lowest(block, row, f, work)
        put3(work, out + R_N, get3(work, f + F_AXES_B + 3 * i))
        put3(work, out + R_X, add(x, way))
        if T == CONTACT:
            put(work, out + R_G, dot(N, add(d, way)))


@inline
def lowest(block, row, f, work):
    """Direction d, the way from the middle of a wheel to its lowest point, and 1 / |N - (N . s) s|."""
    N, s = get3(work, f + F_AXES_B + 6), get3(work, f + F_AXES_A + 6)
    across = axpy(minus(dot(N, s)), s, N)
    w = 1.0 / root(dot(across, across) + TINY)
    d = scale(w, across)
    return d, axpy(-get(block, row + LENGTH), d, scale(-get(block, row + TUBE), N)), w


@inline
def minus(x):
    return -x


@apart
def put_coefficients(block, row, work):
    """a of all rows of a constraint."""
    rows, n_a = scalar_row(block, whole(block, row + FIRST_ROW)), whole(block, row + N_A)
    list_at = whole(block, row + A_LIST)
    out, places, twists = a_at(block) + whole(block, row + AT_COEFFICIENTS), place_row(block, 0), dofs_at(block) + DOF_E
    count, x = whole(block, row + N_OWN_ROWS), get3(work, rows + R_X)
    for t in range(n_a):
        entry = list_at + t * A_ENTRY
        side, e = get(block, entry + E_SIDE), get_pair(work, twists + whole(block, entry + E_DOF) * DOF_ROW)
        v = velocity(x, places + whole(block, entry + E_NODE) * NODE_PLACE, e, work)
        for r in range(count):
            put(work, out + r * n_a + t, side * coefficient(rows + r * SCALAR_ROW, v, e[1], work))


@inline
def velocity(x, place, e, work):
    """l + w x d: the velocity of the point x for a twist e of the node at `place`."""
    return add(e[0], cross(e[1], sub(x, get3(work, place + N_ORIGIN))))


@inline
def coefficient(at, v, w, work):
    """n . v + m . w of the scalar row at `at`."""
    return dot(get3(work, at + R_N), v) + dot(get3(work, at + R_MOMENT), w)


@apart
def put_gear(block, row, q, work):
    """g and a of a relation between coordinates."""
    at, list_at = scalar_row(block, whole(block, row + FIRST_ROW)), whole(block, row + A_LIST)
    out = a_at(block) + whole(block, row + AT_COEFFICIENTS)
    h, _, _ = length(block, row, work)
    put(work, at + R_G, minus(h))
    for t in range(whole(block, row + N_A)):
        entry = list_at + t * A_ENTRY
        f, slope, _ = polynomial_of(block, entry, q, work)
        put(work, at + R_G, get(work, at + R_G) + get(block, entry + E_SIDE) * f)
        put(work, out + t, get(block, entry + E_SIDE) * slope)


@inline
def polynomial_of(block, entry, q, work):
    """Value and two derivatives of a polynomial of a coordinate."""
    x, at, zero = get(q, whole(block, entry + E_QI)), whole(block, entry + E_POLYNOMIAL), get(work, zero_at(block))
    f, slope, half = zero, zero, zero
    for k in range(whole(block, entry + E_DEGREE), -1, -1):
        half = half * x + slope
        slope = slope * x + f
        f = f * x + get(block, at + k)
    return f, slope, 2.0 * half


# ---- rates: b, adot, db/dt ----
@apart
def put_time_parts(block, work):
    """b of all rows: what drives and prescribed lengths do."""
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        if whole(block, row + FORM) == USER:
            continue
        for r in range(whole(block, row + N_OWN_ROWS)):
            k = whole(block, row + FIRST_ROW) + r
            at, kind = scalar_row(block, k), type_row(block, k)
            put(work, at + R_B, 0.0)
            if whole(block, row + DRIVE_OF) >= 0:
                put(work, at + R_B, length_part(block, row, kind, work))
            if whole(block, row + N_DRIVEN) > 0:
                add_driven(block, row, at, work)


@inline
def is_measured(block, kind):
    """Whether g is something less the length: not of the rows beside it, which keep the axes of a plane parallel."""
    return whole(block, kind) == LINEAR or (whole(block, kind) == ALONG and whole(block, kind + 2) == SCALES)


@inline
def length_part(block, row, kind, work):
    """dg/dt from a prescribed length."""
    h, rate, _ = length(block, row, work)
    if whole(block, kind) == DISTANCE:
        rate = h * rate * (1.0 / get(block, row + LENGTH))
    elif not is_measured(block, kind):
        rate = get(work, zero_at(block))
    return minus(rate)


@inline
def length_part_rate(block, row, kind, work):
    """Its time derivative."""
    h, rate, second = length(block, row, work)
    if whole(block, kind) == DISTANCE:
        second = (rate * rate + h * second) * (1.0 / get(block, row + LENGTH))
    elif not is_measured(block, kind):
        second = get(work, zero_at(block))
    return minus(second)


@apart
def add_driven(block, row, at, work):
    """Add to b what driven nodes between the bodies do."""
    list_at, x = whole(block, row + DRIVEN_LIST), get3(work, at + R_X)
    for t in range(whole(block, row + N_DRIVEN)):
        entry = list_at + t * DRIVEN_ENTRY
        i = whole(block, entry)
        place = place_row(block, i)
        e = get_pair(work, place + N_TWIST)
        value = coefficient(at, velocity(x, place, e, work), e[1], work)
        rate = get(work, drive_of(block, node_row(i)) + 1)
        put(work, at + R_B, get(work, at + R_B) + get(block, entry + 1) * value * rate)


@apart
def put_rates(block, q, u, work):
    """adot and db/dt of all rows for joint speeds u; values and coefficients are there."""
    put_world_velocities(block, u, work)
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        if whole(block, row + FORM) == GEAR:
            put_gear_rates(block, row, q, u, work)
        elif whole(block, row + FORM) == USER:
            put_given_rates(block, row, q, u, work)
        else:
            for r in range(whole(block, row + N_OWN_ROWS)):
                put_direction_rates(block, c, row, whole(block, row + FIRST_ROW) + r, work)
            put_coefficient_rates(block, row, work)


@apart
def put_direction_rates(block, c, row, k, work):
    """ndot, xdot, mdot of scalar row k, and what a prescribed length adds to db/dt."""
    f, out, kind = frames_row(block, c), scalar_row(block, k), type_row(block, k)
    T, i, j = whole(block, kind), whole(block, kind + 1), whole(block, kind + 2)
    o_A, v_A = get3(work, f + F_OMEGA_A), get3(work, f + F_V_A)
    o_B, v_B = get3(work, f + F_OMEGA_B), get3(work, f + F_V_B)
    put(work, out + R_BD, 0.0)
    if whole(block, row + DRIVE_OF) >= 0:
        put(work, out + R_BD, length_part_rate(block, row, kind, work))
    put3(work, out + R_XD, v_A)
    put3(work, out + R_MOMENT_RATE, ZERO3)
    if T == ALONG:
        put3(work, out + R_ND, cross(o_B, get3(work, out + R_N)))
    elif T == PERPENDICULAR:
        alpha, beta = get3(work, f + F_AXES_A + 3 * i), get3(work, f + F_AXES_B + 3 * j)
        put3(work, out + R_ND, ZERO3)
        put3(work, out + R_MOMENT_RATE, add(cross(cross(o_A, alpha), beta), cross(alpha, cross(o_B, beta))))
    elif T == DISTANCE:
        put3(work, out + R_ND, scale(1.0 / get(block, row + LENGTH), sub(v_A, v_B)))
    elif T == BLADE:
        put3(work, out + R_ND, cross(o_A, get3(work, out + R_N)))
    else:  # CONTACT, SLIP
        put3(work, out + R_ND, cross(o_B, get3(work, out + R_N)))
        N, s = get3(work, f + F_AXES_B + 6), get3(work, f + F_AXES_A + 6)
        d, _, w = lowest(block, row, f, work)
        Nd, sd = cross(o_B, N), cross(o_A, s)
        k_rate = dot(Nd, s) + dot(N, sd)
        hd = axpy(minus(k_rate), s, axpy(minus(dot(N, s)), sd, Nd))
        dd = scale(w, axpy(minus(dot(d, hd)), d, hd))
        put3(work, out + R_XD, axpy(-get(block, row + LENGTH), dd, axpy(-get(block, row + TUBE), Nd, v_A)))


@apart
def put_coefficient_rates(block, row, work):
    """adot of all rows of a constraint, and what driven nodes add to db/dt."""
    rows, n_a = scalar_row(block, whole(block, row + FIRST_ROW)), whole(block, row + N_A)
    list_at = whole(block, row + A_LIST)
    out = adot_at(block) + whole(block, row + AT_COEFFICIENTS)
    places, twists = place_row(block, 0), dofs_at(block) + DOF_E
    count, x, x_rate = whole(block, row + N_OWN_ROWS), get3(work, rows + R_X), get3(work, rows + R_XD)
    for t in range(n_a):
        entry = list_at + t * A_ENTRY
        side, e = get(block, entry + E_SIDE), get_pair(work, twists + whole(block, entry + E_DOF) * DOF_ROW)
        place = places + whole(block, entry + E_NODE) * NODE_PLACE
        v, v_rate, w_rate = velocity_and_rates(x, x_rate, place, e, work)
        for r in range(count):
            change = coefficient_rate(rows + r * SCALAR_ROW, v, v_rate, e[1], w_rate, work)
            put(work, out + r * n_a + t, side * change)
    list_at = whole(block, row + DRIVEN_LIST)
    for t in range(whole(block, row + N_DRIVEN)):
        entry = list_at + t * DRIVEN_ENTRY
        i, side = whole(block, entry), get(block, entry + 1)
        place, values = places + i * NODE_PLACE, drive_of(block, node_row(i))
        e = get_pair(work, place + N_TWIST)
        v, v_rate, w_rate = velocity_and_rates(x, x_rate, place, e, work)
        for r in range(count):
            at = rows + r * SCALAR_ROW
            change = coefficient_rate(at, v, v_rate, e[1], w_rate, work)
            added = side * (change * get(work, values + 1) + coefficient(at, v, e[1], work) * get(work, values + 2))
            put(work, at + R_BD, get(work, at + R_BD) + added)


@inline
def velocity_and_rates(x, x_rate, place, e, work):
    """`velocity`, its time derivative and that of w, for a twist that turns with the node at `place`."""
    l, w = e
    o, d = get3(work, place + N_OMEGA), sub(x, get3(work, place + N_ORIGIN))
    w_rate, d_rate = cross(o, w), sub(x_rate, get3(work, place + N_VELOCITY))
    return add(l, cross(w, d)), add(add(cross(o, l), cross(w_rate, d)), cross(w, d_rate)), w_rate


@inline
def coefficient_rate(at, v, v_rate, w, w_rate, work):
    """Time derivative of n . v + m . w."""
    return (dot(get3(work, at + R_ND), v) + dot(get3(work, at + R_N), v_rate)
            + dot(get3(work, at + R_MOMENT_RATE), w) + dot(get3(work, at + R_MOMENT), w_rate))


@apart
def put_gear_rates(block, row, q, u, work):
    """adot and db/dt of a relation between coordinates."""
    at, list_at = scalar_row(block, whole(block, row + FIRST_ROW)), whole(block, row + A_LIST)
    out = adot_at(block) + whole(block, row + AT_COEFFICIENTS)
    _, _, second = length(block, row, work)
    put(work, at + R_BD, minus(second))
    for t in range(whole(block, row + N_A)):
        entry = list_at + t * A_ENTRY
        _, _, curve = polynomial_of(block, entry, q, work)
        put(work, out + t, get(block, entry + E_SIDE) * curve * get(u, whole(block, entry + E_DOF)))
