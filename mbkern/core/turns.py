"""Turning vectors and inertias about one coordinate axis, from the axes of a child to those of its parent.

A frame is placed in its parent by three such turns: G = Gz(turn) Gx(tilt) Gz(spin), each with its cosine c and sine s,

    Gz = [[c, s, 0], [-s, c, 0], [0, 0, 1]],    Gx = [[1, 0, 0], [0, c, s], [0, -s, c]].

A symmetric 2x2 block (a, b; b, d) turns as the rotations of Jacobi's eigenvalue method do, with h = s (a - d) + 2 c b:

    a' = a - s h,   d' = d + s h,   b' = c h - b

and a full one (a, b; e, d) with h = s (a - d) + c (b + e), b' = c h - e, e' = c h - b: 6 and 8 operations instead of
14 and 16, and with literal zeros fewer. All three turns of an inertia cost less than one product G^T M G.
"""

from .jit import inline
from .number import fma


@inline
def turned2(c, s, x, y):
    return fma(c, x, -(s * y)), fma(s, x, c * y)


@inline
def sturned2(c, s, a, b, d):
    h = fma(s, a - d, (c + c) * b)
    return fma(-s, h, a), fma(c, h, -b), fma(s, h, d)


@inline
def qturned2(c, s, a, b, e, d):
    h = fma(s, a - d, c * (b + e))
    return fma(-s, h, a), fma(c, h, -e), fma(c, h, -b), fma(s, h, d)


@inline
def turn_z(c, s, a):
    """Gz^T a."""
    x, y = turned2(c, s, a[0], a[1])
    return (x, y, a[2])


@inline
def turn_x(c, s, a):
    """Gx^T a."""
    y, z = turned2(c, s, a[1], a[2])
    return (a[0], y, z)


@inline
def sturn_z(c, s, S):
    """Gz^T S Gz, S symmetric."""
    xx, xy, yy = sturned2(c, s, S[0], S[1], S[3])
    xz, yz = turned2(c, s, S[2], S[4])
    return (xx, xy, xz, yy, yz, S[5])


@inline
def sturn_x(c, s, S):
    """Gx^T S Gx, S symmetric."""
    yy, yz, zz = sturned2(c, s, S[3], S[4], S[5])
    xy, xz = turned2(c, s, S[1], S[2])
    return (S[0], xy, xz, yy, yz, zz)


@inline
def turn_inertia_z(c, s, M):
    """C^T M C for a turn about z."""
    P, Q, R = M
    xx, xy, yx, yy = qturned2(c, s, Q[0][0], Q[0][1], Q[1][0], Q[1][1])
    xz, yz = turned2(c, s, Q[0][2], Q[1][2])
    zx, zy = turned2(c, s, Q[2][0], Q[2][1])
    return (sturn_z(c, s, P), ((xx, xy, xz), (yx, yy, yz), (zx, zy, Q[2][2])), sturn_z(c, s, R))


@inline
def turn_inertia_x(c, s, M):
    """C^T M C for a turn about x."""
    P, Q, R = M
    yy, yz, zy, zz = qturned2(c, s, Q[1][1], Q[1][2], Q[2][1], Q[2][2])
    yx, zx = turned2(c, s, Q[1][0], Q[2][0])
    xy, xz = turned2(c, s, Q[0][1], Q[0][2])
    return (sturn_x(c, s, P), ((Q[0][0], xy, xz), (yx, yy, yz), (zx, zy, zz)), sturn_x(c, s, R))


@inline
def turn6_z(c, s, a):
    """C^T a for a turn about z; with -s the way back, C a."""
    return (turn_z(c, s, a[0]), turn_z(c, s, a[1]))


@inline
def turn6_x(c, s, a):
    """C^T a for a turn about x; with -s the way back, C a."""
    return (turn_x(c, s, a[0]), turn_x(c, s, a[1]))
