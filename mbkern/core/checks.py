"""What can be wrong with a state or a result, found in compiled code without fast-math flags.

Codes: OK; BAD_Q, BAD_P, BAD_TAU (not finite, or beyond what is sensible); BAD_QUATERNION (length not near 1);
SINGULAR (a margin is not positive: no inertia to move, or a drive without a value); NOT_FINITE (the result
overflowed); BAD_SHAPE; BAD_T; STALE (the block was made by other sources than this machine code); CALLBACK_FAILED
(a user's function for forces or wrenches raised); BAD_U, BAD_UDOT, BAD_WRENCH, BAD_X as BAD_P.
"""

from .columns import get_columns, one_hot, width
from .jit import STAMP_NUMBER, exact, inline, noinline
from .layout import N_NODES, QUATERNION, STAMP, margins_at, node_row
from .number import get, magnitude, sum_of, whole

OK, BAD_Q, BAD_P, BAD_TAU, BAD_QUATERNION, SINGULAR, NOT_FINITE, BAD_SHAPE, BAD_T = 0, 1, 2, 3, 4, 5, 6, 7, 8
STALE, CALLBACK_FAILED = 9, 10
BAD_U, BAD_UDOT, BAD_WRENCH, BAD_X = 11, 12, 13, 14
UNCHECKED = 15  # no code: an input of an operation that is right by construction
LOSSY = -1  # for Python alone: all is well, but the method has lost digits

ANGLE_LIMIT = 1e12  # beyond it sincos is not exact any more, and a float64 angle no longer means much
LIMIT = 1e200  # products of two such numbers are still finite
QUATERNION_SLACK = 0.1  # of the length; only the direction is used
SHORTEST, LONGEST = (1.0 - QUATERNION_SLACK) ** 2, (1.0 + QUATERNION_SLACK) ** 2  # squares of its length


@inline
def stale(block):
    """Whether the block comes from other sources than this code: a user's cached function holds a copy of it."""
    return whole(block, STAMP) != STAMP_NUMBER


@exact
def sizes(x, i, count):
    """|x_i| and of those after it, side by side."""
    return magnitude(get_columns(x, i, 1, count))


@noinline
def beyond(x, limit):
    """Whether any |x_i| is greater than `limit` or not a number."""
    n, i, step = x.shape[0], 0, width(x)
    a = b = c = d = one_hot(x, -1)
    while i + 4 * step <= n:  # as a rule their sum is small: four adders, each waits for itself
        a, b = a + sizes(x, i, step), b + sizes(x, i + step, step)
        c, d = c + sizes(x, i + 2 * step, step), d + sizes(x, i + 3 * step, step)
        i += 4 * step
    while i + step <= n:
        a = a + sizes(x, i, step)
        i += step
    total = sum_of((a + b) + (c + d))
    while i < n:
        total += magnitude(get(x, i))
        i += 1
    if total <= limit:
        return False
    i = 0
    while i < n and magnitude(get(x, i)) <= limit:
        i += 1
    return i < n


@noinline
def bad_quaternion(block, q):
    """Node of the first quaternion whose length is not near 1, or -1."""
    for i in range(whole(block, N_NODES)):
        at = whole(block, node_row(i) + QUATERNION)
        if at >= 0:
            w, x, y, z = get(q, at), get(q, at + 1), get(q, at + 2), get(q, at + 3)
            square = w * w + x * x + y * y + z * z
            if not SHORTEST < square < LONGEST:
                return i
    return -1


@exact
def status(block, work):
    """OK, or SINGULAR when a margin in the workspace is not positive."""
    margins = margins_at(block)
    bad = 0
    for i in range(whole(block, N_NODES)):
        bad += not (get(work, margins + i) > 0.0)
    return SINGULAR if bad != 0 else OK
