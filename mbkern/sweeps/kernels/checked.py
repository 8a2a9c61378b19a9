"""What Python calls: look at the records, then solve. A code and a body tell what is wrong, words are made in Python.

NaN tests belong here: these functions are compiled without fast-math flags.
"""

from ...core.checks import LIMIT, beyond
from ...core.arguments import data_of
from ...core.jit import checked, exact, noinline
from ...core.layout import get3
from ...core.number import array_at, get, magnitude
from ...core.records import A, A_Q, A_T, RECORD_ARMATURE, C, M, RECORD, VR
from ...core.vec3 import cross, dot, sub
from .extended import ROW as LDL_ROW, extended_ldl
from .extended_lu import ROW as LU_ROW, extended_lu
from .layout import dofs, frame, numbers, parent
from .motion import momentum_rates
from .reduced import DOF as REDUCED_DOF, ROW as REDUCED_ROW, reduced

FINE, BAD_PARENT, BAD_DOFS, NOT_FINITE, NOT_RIGID, NOT_SYMMETRIC, NEGATIVE = 0, 1, 2, 3, 4, 5, 6
BAD_P, BAD_TAU, SINGULAR, OVERFLOW = 7, 8, 9, 10
TOLERANCE = 1e-9  # of rotations, of the form of C and of the symmetry of M, relative to the numbers in them
LDL, LU, REDUCED = 0, 1, 2


@exact
def size_of(records, at, columns):
    """Sum of the magnitudes of the first columns of a 6 x 6 matrix."""
    total = 0.0
    for i in range(6):
        for j in range(columns):
            total += magnitude(get(records, at + 6 * i + j))
    return total


@exact
def size_of_span(records, at, n):
    """Sum of n magnitudes side by side, n a multiple of 4: four sums that do not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for i in range(at, at + n, 4):
        a += magnitude(get(records, i))
        b += magnitude(get(records, i + 1))
        c += magnitude(get(records, i + 2))
        d += magnitude(get(records, i + 3))
    return (a + b) + (c + d)


@exact
def largest(a):
    return max(abs(a[0]), max(abs(a[1]), abs(a[2])))


@exact
def fault_of_frame(records, i):
    """How far C is from [[G, -G rho~], [0, G]] with a rotation G; the block above the diagonal in units of 1 + |rho|.

    Rows of -G rho~ are rho x g, g the rows of G.
    """
    at = i * RECORD + C
    (x, y, z), rho = frame(records, i)
    worst = max(max(abs(dot(x, x) - 1.0), abs(dot(y, y) - 1.0)), max(abs(dot(x, y)), largest(sub(cross(x, y), z))))
    size = 1.0 / (1.0 + largest(rho))
    for a in range(3):
        g, k = get3(records, at + 6 * a), get3(records, at + 6 * a + 3)
        lower, same = get3(records, at + 6 * a + 18), sub(get3(records, at + 6 * a + 21), g)
        worst = max(worst, max(size * largest(sub(k, cross(rho, g))), max(largest(lower), largest(same))))
    return worst


@noinline
def fault_of_body(blocks, records, i):
    """The code of what is wrong with a record."""
    at, k, n = i * RECORD, parent(blocks, i), dofs(blocks, i)
    if k < -1 or k >= i:
        return BAD_PARENT
    if n < 0 or n > 6:
        return BAD_DOFS
    total = size_of_span(records, at + C, 36) + size_of_span(records, at + M, 36) + size_of_span(records, at + VR, 12)
    total += size_of(records, at + A, n) + size_of(records, at + A_T, n)
    for j in range(n):
        total += magnitude(get(records, at + RECORD_ARMATURE + j)) + size_of(records, at + A_Q + 36 * j, n)
    if not total <= LIMIT:
        return NOT_FINITE
    if k >= 0 and fault_of_frame(records, i) > TOLERANCE:  # that of the root is not used
        return NOT_RIGID
    heaviest = 0.0
    for a in range(6):
        heaviest = max(heaviest, magnitude(get(records, at + M + 7 * a)))
    for a in range(6):
        for b in range(a):
            if magnitude(get(records, at + M + 6 * a + b) - get(records, at + M + 6 * b + a)) > TOLERANCE * heaviest:
                return NOT_SYMMETRIC
    for a in range(6):
        if get(records, at + M + 7 * a) < 0.0 or (a < n and get(records, at + RECORD_ARMATURE + a) < 0.0):
            return NEGATIVE
    return FINE


@checked
def check(blocks):
    """(code, body) of the first record with something wrong; (0, -1) when all are fine."""
    records = numbers(blocks)
    for i in range(blocks.shape[0]):
        code = fault_of_body(blocks, records, i)
        if code != FINE:
            return code, i
    return FINE, -1


@checked
def sizes(blocks, method, along):
    """Number of dofs, and of numbers that the workspace of a method needs; along (N): dofs on the way to each body."""
    N, n, rows = blocks.shape[0], 0, 0
    for i in range(N):
        n += dofs(blocks, i)
    if method == LDL:
        return n, N * LDL_ROW
    if method == LU:
        return n, N * LU_ROW
    for i in range(N):
        k = parent(blocks, i)
        before = along[k] if k >= 0 else 0
        along[i] = before + dofs(blocks, i)
        rows += dofs(blocks, i) * (2 * before + dofs(blocks, i) + 1) // 2
    return n, N * REDUCED_ROW + n * REDUCED_DOF + rows


@exact
def solve(method, blocks, p, qdot, v, mu, work):
    """By one of the three algorithms."""
    if method == LDL:
        return extended_ldl(blocks, p, qdot, v, mu, work)
    if method == LU:
        return extended_lu(blocks, p, qdot, v, mu, work)
    return reduced(blocks, p, qdot, v, mu, work)


@checked
def rhs(method, blocks, p, tau, out, work):
    """out = (qdot, pdot, v, mu), one after the other, of records that have been checked. Returns (code, body)."""
    if beyond(p, LIMIT):
        return BAD_P, -1
    if beyond(tau, LIMIT):
        return BAD_TAU, -1
    n, N, at = p.shape[0], blocks.shape[0], data_of(out)
    qdot, pdot = array_at(at, n), array_at(at + 8 * n, n)
    v, mu = array_at(at + 16 * n, 6 * N), array_at(at + 16 * n + 48 * N, 6 * N)
    bad = solve(method, blocks, p, qdot, v, mu, work)
    if bad >= 0:
        return SINGULAR, bad
    momentum_rates(blocks, tau, qdot, v, mu, pdot, work)
    if beyond(out, 1e300):
        return OVERFLOW, -1
    return FINE, -1
