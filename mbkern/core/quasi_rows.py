"""The rows of S below Y: B = [M_I; a], and what they are to give, C = (G - N_I; -b).

A momentum of an ignorable coordinate belongs to one speed or, for a position of a free joint, is a weighted sum of
those of its three linear speeds, which are in body axes.
"""

from .jit import exact, noinline
from .joints import quaternion_axes
from .layout import get3
from .number import get, put, whole
from .quasi_layout import (
    AT_A, AT_B, AT_C, AT_IGNORABLE, AT_M, AT_MOMENTA, AT_N, I_AXIS, I_FIRST, IGNORABLE, NV, I_QUATERNION, R, S, part,
)


@exact
def momentum_axes(frame, k, q):
    """The k-th ignorable momentum as first speed, the weights of it and the two after it, and how many of them."""
    return axes_of(frame, whole(frame, AT_IGNORABLE) + k * IGNORABLE, q)


@exact
def axes_of(frame, row, q):
    """The same for any row of IGNORABLE numbers."""
    first, quaternion = whole(frame, row + I_FIRST), whole(frame, row + I_QUATERNION)
    if quaternion < 0:
        return first, (1.0, 0.0, 0.0), 1
    G = quaternion_axes(get(q, quaternion), get3(q, quaternion + 1))
    axis = whole(frame, row + I_AXIS)
    if axis == 0:
        return first, (G[0][0], G[1][0], G[2][0]), 3
    if axis == 1:
        return first, (G[0][1], G[1][1], G[2][1]), 3
    return first, (G[0][2], G[1][2], G[2][2]), 3


@exact
def along(x, at, stride, weights, n):
    """Weighted sum of 1 or 3 numbers."""
    if n == 1:
        return x[at]
    return weights[0] * x[at] + weights[1] * x[at + stride] + weights[2] * x[at + 2 * stride]


@noinline
def put_rows(frame, q):
    """B = [M_I; a] and C = (G - N_I; -b)."""
    m, r, s = whole(frame, NV), whole(frame, R), whole(frame, S)
    M, N = part(frame, AT_M, m * m), part(frame, AT_N, m)
    B, C = part(frame, AT_B, (s + r) * m), part(frame, AT_C, s + r)
    G, a = part(frame, AT_MOMENTA, s), part(frame, AT_A, r * m + 2 * r)
    for k in range(s):
        first, weights, n = momentum_axes(frame, k, q)
        for j in range(m):
            put(B, k * m + j, along(M, first * m + j, m, weights, n))
        put(C, k, get(G, k) - along(N, first, 1, weights, n))
    for k in range(r):
        for j in range(m):
            put(B, (s + k) * m + j, get(a, k * m + j))
        put(C, s + k, -get(a, r * m + k))
