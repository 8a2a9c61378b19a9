"""Small dense systems of equations, in place, in flat arrays, row by row: float64, nothing allocated.

`solve_pivoted`    A X = B by Gaussian elimination; the pivot of a column is its largest number in units of its row, so
                   that rows in different units (metres, kilograms) compete fairly
`solve3`           the same for three rows with one right-hand side: angular velocities
`solve_positive`   A x = b by L D L^T for a symmetric positive definite A (its lower triangle is read); in two parts:
                   `factor_positive` and `substitute_positive`

Each says whether A is regular: no pivot was as small as rounding may leave of a singular matrix.
"""

from .jit import exact, noinline
from .layout import get3, put3
from .number import fma, get, put, root
from .vec3 import axpy, cross, dot, scale

SINGULAR_PIVOT = 1e-14  # of the largest number of the row, or of the diagonal


@noinline
def solve_pivoted(A, n, B, columns, scales):
    """B (n x columns) = A^-1 B; A (n x n) is destroyed, scales (n) is workspace.

    Returns the sign of det A, 0 when it is singular; leaves the smallest pivot, in units of its row, in scales[0].
    """
    sign, smallest = 1.0, 1.0
    for i in range(n):
        largest = 0.0
        for j in range(n):
            largest = max(largest, abs(get(A, i * n + j)))
        if not largest > 0.0:
            put(scales, 0, 0.0)
            return 0.0
        put(scales, i, 1.0 / largest)
    for k in range(n):
        pivot, best = k, abs(get(A, k * n + k)) * get(scales, k)
        for i in range(k + 1, n):
            size = abs(get(A, i * n + k)) * get(scales, i)
            if size > best:
                pivot, best = i, size
        if not best > SINGULAR_PIVOT:
            put(scales, 0, 0.0)
            return 0.0
        smallest = min(smallest, best)
        if pivot != k:
            sign = -sign
            for j in range(k, n):
                x = get(A, k * n + j)
                put(A, k * n + j, get(A, pivot * n + j))
                put(A, pivot * n + j, x)
            for j in range(columns):
                x = get(B, k * columns + j)
                put(B, k * columns + j, get(B, pivot * columns + j))
                put(B, pivot * columns + j, x)
            put(scales, pivot, get(scales, k))
        d = 1.0 / get(A, k * n + k)
        if d < 0.0:
            sign = -sign
        for i in range(k + 1, n):
            l = get(A, i * n + k) * d
            if l != 0.0:
                for j in range(k + 1, n):
                    put(A, i * n + j, fma(-l, get(A, k * n + j), get(A, i * n + j)))
                for j in range(columns):
                    put(B, i * columns + j, fma(-l, get(B, k * columns + j), get(B, i * columns + j)))
    for k in range(n - 1, -1, -1):
        d = 1.0 / get(A, k * n + k)
        for j in range(columns):
            put(B, k * columns + j, d * get(B, k * columns + j))
        for i in range(k):
            l = get(A, i * n + k)
            if l != 0.0:
                for j in range(columns):
                    put(B, i * columns + j, fma(-l, get(B, k * columns + j), get(B, i * columns + j)))
    put(scales, 0, smallest)
    return sign


@exact
def solve3(A, b):
    """b (3) = A^-1 b by cofactors; det A, and it in units of the lengths of the rows: 0 singular, 1 orthogonal rows.

    b is left as it is where A is singular.
    """
    x, y, z = get3(A, 0), get3(A, 3), get3(A, 6)
    yz, zx, xy = cross(y, z), cross(z, x), cross(x, y)
    det, size = dot(x, yz), dot(x, x) * dot(y, y) * dot(z, z)
    if not abs(det) > 0.0:
        return 0.0, 0.0
    p, q, r = get(b, 0) / det, get(b, 1) / det, get(b, 2) / det
    put3(b, 0, axpy(p, yz, axpy(q, zx, scale(r, xy))))
    return det, abs(det) / root(size)


@noinline
def factor_positive(A, n):
    """A = L D L^T in the lower triangle of A (n x n): L below the diagonal, 1/D on it.

    Row by row, two numbers of a row at a time: their sums do not wait for each other.
    """
    for i in range(n):
        row, j = i * n, 0
        scale = get(A, row + i)
        d = scale
        while j + 1 < i:  # first l_ij d_j
            a, b = j * n, j * n + n
            x, y = get(A, row + j), get(A, row + j + 1)
            for k in range(j):
                w = get(A, row + k)
                x, y = fma(-w, get(A, a + k), x), fma(-w, get(A, b + k), y)
            put(A, row + j, x)
            put(A, row + j + 1, fma(-x, get(A, b + j), y))
            j += 2
        if j < i:
            x = get(A, row + j)
            for k in range(j):
                x = fma(-get(A, row + k), get(A, j * n + k), x)
            put(A, row + j, x)
        for k in range(i):
            x = get(A, row + k)
            l = x * get(A, k * n + k)
            d = fma(-l, x, d)
            put(A, row + k, l)
        if not d > SINGULAR_PIVOT * scale:
            return False
        put(A, row + i, 1.0 / d)
    return True


@noinline
def substitute_positive(A, n, b, first, last):
    """Unknowns first <= k < last of the leading `last` equations of A x = b, in place; A is factored.

    Unknowns before `first` are eliminated but not solved for.
    """
    for k in range(last):
        x = get(b, k)
        for j in range(k):
            x = fma(-get(A, k * n + j), get(b, j), x)
        put(b, k, x)
    for k in range(last - 1, first - 1, -1):
        x = get(b, k) * get(A, k * n + k)
        for j in range(k + 1, last):
            x = fma(-get(A, j * n + k), get(b, j), x)
        put(b, k, x)


@exact
def solve_positive(A, n, b):
    """b (n) = A^-1 b; the lower triangle of A (n x n) is destroyed."""
    if not factor_positive(A, n):
        return False
    substitute_positive(A, n, b, 0, n)
    return True
