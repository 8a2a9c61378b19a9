"""Between increments of coordinates and tangents.

    qdot = N(q) u,     d = T(q) dq,     T N = 1

For a coordinate of its own N and T are 1. A ball joint has the quaternion Q, whose tangent is a turn d in body axes:

    dQ = E d,  E = Q o (0, .)/2,   T = 4 E^T / |Q|^2;    Qdot = E w,  dQdot = E dw + dQ o (0, w)/2

and the position of a free joint moves in body axes: dr = R d, rdot = R v, d(rdot) = R (dv + d x v) with the turn d.

All arrays hold rows of `columns` numbers: increments side by side.
"""

from ...core.jit import exact
from ...core.joints import floats, is_driven, quaternion_place, turn_place
from ...core.layout import N_NODES, NQ, NV, QI, VI, node_row
from ...core.number import get, put, whole


@exact
def quaternion(q, at):
    return get(q, at), get(q, at + 1), get(q, at + 2), get(q, at + 3)


@exact
def turned_by(Q):
    """E, four rows of three."""
    w, x, y, z = 0.5 * Q[0], 0.5 * Q[1], 0.5 * Q[2], 0.5 * Q[3]
    return (-x, -y, -z), (w, -z, y), (z, w, -x), (-y, x, w)


@exact
def square(Q):
    return Q[0] * Q[0] + Q[1] * Q[1] + Q[2] * Q[2] + Q[3] * Q[3]


@exact
def rotation(Q):
    """R, body -> parent, of a quaternion of any length."""
    w, x, y, z = Q
    s = 2.0 / square(Q)
    return ((1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
            (s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)),
            (s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)))


@exact
def times3(M, a, b, c):
    """M x for three rows M."""
    return (M[0][0] * a + M[0][1] * b + M[0][2] * c, M[1][0] * a + M[1][1] * b + M[1][2] * c,
            M[2][0] * a + M[2][1] * b + M[2][2] * c)


@exact
def transposed3(M, a, b, c):
    """M^T x for three rows M."""
    return (M[0][0] * a + M[1][0] * b + M[2][0] * c, M[0][1] * a + M[1][1] * b + M[2][1] * c,
            M[0][2] * a + M[1][2] * b + M[2][2] * c)


@exact
def transposed4(E, a, b, c, d):
    """E^T x."""
    return (E[0][0] * a + E[1][0] * b + E[2][0] * c + E[3][0] * d,
            E[0][1] * a + E[1][1] * b + E[2][1] * c + E[3][1] * d,
            E[0][2] * a + E[1][2] * b + E[2][2] * c + E[3][2] * d)


@exact
def copy_row(source, i, target, j, columns):
    for k in range(columns):
        put(target, j * columns + k, get(source, i * columns + k))


@exact
def to_tangent(block, q, dy, out, columns):
    """Rows of tangents and of dp, 2 nv, from rows of dq and dp, nq + nv."""
    nq, nv = whole(block, NQ), whole(block, NV)
    for i in range(whole(block, N_NODES)):
        c = node_row(i)
        qi, vi, at, turn = whole(block, c + QI), whole(block, c + VI), quaternion_place(block, c), turn_place(block, c)
        if at < 0 and not is_driven(block, c):
            copy_row(dy, qi, out, vi, columns)
        elif at >= 0:
            Q, m = quaternion(q, at), columns
            E, R, s = turned_by(Q), rotation(Q), 4.0 / square(Q)
            for k in range(m):
                a, b, d = transposed4(E, get(dy, at * m + k), get(dy, (at + 1) * m + k), get(dy, (at + 2) * m + k),
                                      get(dy, (at + 3) * m + k))
                put(out, turn * m + k, s * a)
                put(out, (turn + 1) * m + k, s * b)
                put(out, (turn + 2) * m + k, s * d)
                if floats(block, c):
                    a, b, d = transposed3(R, get(dy, qi * m + k), get(dy, (qi + 1) * m + k), get(dy, (qi + 2) * m + k))
                    put(out, vi * m + k, a)
                    put(out, (vi + 1) * m + k, b)
                    put(out, (vi + 2) * m + k, d)
    for j in range(nv):
        copy_row(dy, nq + j, out, nv + j, columns)


@exact
def to_rates(block, q, u, speeds, dy, tangent, du, dpdot, out, columns):
    """Rows of dqdot and dpdot from those of du and dpdot; dy and its tangent are the increments themselves.

    The joint speeds are in `u` from place `speeds` on.
    """
    nq, nv, m = whole(block, NQ), whole(block, NV), columns
    for i in range(whole(block, N_NODES)):
        c = node_row(i)
        qi, vi, at, turn = whole(block, c + QI), whole(block, c + VI), quaternion_place(block, c), turn_place(block, c)
        if at < 0 and not is_driven(block, c):
            copy_row(du, vi, out, qi, m)
        elif at >= 0:
            Q = quaternion(q, at)
            E, R, w = turned_by(Q), rotation(Q), speeds + turn
            wx, wy, wz = 0.5 * get(u, w), 0.5 * get(u, w + 1), 0.5 * get(u, w + 2)
            for k in range(m):
                a, b, d = get(du, turn * m + k), get(du, (turn + 1) * m + k), get(du, (turn + 2) * m + k)
                dw, dx, dY, dz = (get(dy, at * m + k), get(dy, (at + 1) * m + k), get(dy, (at + 2) * m + k),
                                  get(dy, (at + 3) * m + k))
                put(out, at * m + k, E[0][0] * a + E[0][1] * b + E[0][2] * d - (dx * wx + dY * wy + dz * wz))
                put(out, (at + 1) * m + k, E[1][0] * a + E[1][1] * b + E[1][2] * d + (dw * wx + dY * wz - dz * wy))
                put(out, (at + 2) * m + k, E[2][0] * a + E[2][1] * b + E[2][2] * d + (dw * wy + dz * wx - dx * wz))
                put(out, (at + 3) * m + k, E[3][0] * a + E[3][1] * b + E[3][2] * d + (dw * wz + dx * wy - dY * wx))
                if floats(block, c):
                    vx, vy, vz = get(u, speeds + vi), get(u, speeds + vi + 1), get(u, speeds + vi + 2)
                    tx, ty, tz = (get(tangent, turn * m + k), get(tangent, (turn + 1) * m + k),
                                  get(tangent, (turn + 2) * m + k))
                    a, b, d = times3(R, get(du, vi * m + k) + ty * vz - tz * vy,
                                     get(du, (vi + 1) * m + k) + tz * vx - tx * vz,
                                     get(du, (vi + 2) * m + k) + tx * vy - ty * vx)
                    put(out, qi * m + k, a)
                    put(out, (qi + 1) * m + k, b)
                    put(out, (qi + 2) * m + k, d)
    for j in range(nv):
        copy_row(dpdot, j, out, nq + j, m)


# ---- the transposes, of one column ----
@exact
def weights_of_speeds(block, q, weights, out):
    """a = N^T weights, and the weights of pdot behind them: 2 nv numbers of nq + nv."""
    nq, nv = whole(block, NQ), whole(block, NV)
    for i in range(whole(block, N_NODES)):
        c = node_row(i)
        qi, vi, at, turn = whole(block, c + QI), whole(block, c + VI), quaternion_place(block, c), turn_place(block, c)
        if at < 0 and not is_driven(block, c):
            put(out, vi, get(weights, qi))
        elif at >= 0:
            Q = quaternion(q, at)
            a, b, d = transposed4(turned_by(Q), get(weights, at), get(weights, at + 1), get(weights, at + 2),
                                  get(weights, at + 3))
            put(out, turn, a)
            put(out, turn + 1, b)
            put(out, turn + 2, d)
            if floats(block, c):
                a, b, d = transposed3(rotation(Q), get(weights, qi), get(weights, qi + 1), get(weights, qi + 2))
                put(out, vi, a)
                put(out, vi + 1, b)
                put(out, vi + 2, d)
    for j in range(nv):
        put(out, nv + j, get(weights, nq + j))


@exact
def to_coordinates(block, q, u, speeds, weights, a, gq, gp, out):
    """The gradient by (q, p), nq + nv numbers, from that by tangents and p; a = N^T weights."""
    nq, nv = whole(block, NQ), whole(block, NV)
    for i in range(whole(block, N_NODES)):
        c = node_row(i)
        qi, vi, at, turn = whole(block, c + QI), whole(block, c + VI), quaternion_place(block, c), turn_place(block, c)
        if at < 0 and not is_driven(block, c):
            put(out, qi, get(gq, vi))
        elif at >= 0:
            Q = quaternion(q, at)
            E, s, w = turned_by(Q), 4.0 / square(Q), speeds + turn
            gx, gy, gz = get(gq, turn), get(gq, turn + 1), get(gq, turn + 2)
            if floats(block, c):
                vx, vy, vz = get(u, speeds + vi), get(u, speeds + vi + 1), get(u, speeds + vi + 2)
                ax, ay, az = get(a, vi), get(a, vi + 1), get(a, vi + 2)
                gx, gy, gz = gx + vy * az - vz * ay, gy + vz * ax - vx * az, gz + vx * ay - vy * ax
                x, y, z = times3(rotation(Q), get(gq, vi), get(gq, vi + 1), get(gq, vi + 2))
                put(out, qi, x)
                put(out, qi + 1, y)
                put(out, qi + 2, z)
            wx, wy, wz = 0.5 * get(u, w), 0.5 * get(u, w + 1), 0.5 * get(u, w + 2)
            l0, l1, l2, l3 = quaternion(weights, at)
            put(out, at, s * (E[0][0] * gx + E[0][1] * gy + E[0][2] * gz) + (l1 * wx + l2 * wy + l3 * wz))
            put(out, at + 1, s * (E[1][0] * gx + E[1][1] * gy + E[1][2] * gz) - (l0 * wx + l2 * wz - l3 * wy))
            put(out, at + 2, s * (E[2][0] * gx + E[2][1] * gy + E[2][2] * gz) - (l0 * wy + l3 * wx - l1 * wz))
            put(out, at + 3, s * (E[3][0] * gx + E[3][1] * gy + E[3][2] * gz) - (l0 * wz + l1 * wy - l2 * wx))
    for j in range(nv):
        put(out, nq + j, get(gp, j))
