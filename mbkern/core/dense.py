"""Small dense systems of equations, in place, in flat arrays, row by row: float64, nothing allocated.

`solve_pivoted`    A X = B by Gaussian elimination; the pivot of a column is its largest number in units of its row, so
                   that rows in different units (metres, kilograms) compete fairly
`solve_positive`   A x = b by L D L^T for a symmetric positive definite A (its lower triangle is read)

Each returns whether A is regular: no pivot was as small as rounding may leave of a singular matrix.
"""

from .jit import piece

SINGULAR_PIVOT = 1e-14  # of the largest number of the row, or of the diagonal


@piece
def solve_pivoted(A, n, B, columns, scales):
    """B (n x columns) = A^-1 B; A (n x n) is destroyed, scales (n) is workspace."""
    for i in range(n):
        largest = 0.0
        for j in range(n):
            largest = max(largest, abs(A[i * n + j]))
        if not largest > 0.0:
            return False
        scales[i] = 1.0 / largest
    for k in range(n):
        pivot, best = k, abs(A[k * n + k]) * scales[k]
        for i in range(k + 1, n):
            size = abs(A[i * n + k]) * scales[i]
            if size > best:
                pivot, best = i, size
        if not best > SINGULAR_PIVOT:
            return False
        if pivot != k:
            for j in range(k, n):
                A[k * n + j], A[pivot * n + j] = A[pivot * n + j], A[k * n + j]
            for j in range(columns):
                B[k * columns + j], B[pivot * columns + j] = B[pivot * columns + j], B[k * columns + j]
            scales[pivot] = scales[k]
        d = 1.0 / A[k * n + k]
        for i in range(k + 1, n):
            l = A[i * n + k] * d
            if l != 0.0:
                for j in range(k + 1, n):
                    A[i * n + j] -= l * A[k * n + j]
                for j in range(columns):
                    B[i * columns + j] -= l * B[k * columns + j]
    for k in range(n - 1, -1, -1):
        d = 1.0 / A[k * n + k]
        for j in range(columns):
            B[k * columns + j] *= d
        for i in range(k):
            l = A[i * n + k]
            if l != 0.0:
                for j in range(columns):
                    B[i * columns + j] -= l * B[k * columns + j]
    return True


@piece
def solve_positive(A, n, b):
    """b (n) = A^-1 b; the lower triangle of A (n x n) is destroyed."""
    for k in range(n):
        d = A[k * n + k]
        scale = abs(d)
        for j in range(k):  # A[k, j] holds l_kj d_j
            l = A[k * n + j] * A[j * n + j]
            d -= l * A[k * n + j]
            A[k * n + j] = l
        if not d > SINGULAR_PIVOT * scale:
            return False
        A[k * n + k] = 1.0 / d
        for i in range(k + 1, n):
            x = A[i * n + k]
            for j in range(k):
                x -= A[i * n + j] * A[k * n + j]
            A[i * n + k] = x
        x = b[k]
        for j in range(k):
            x -= A[k * n + j] * b[j]
        b[k] = x
    for k in range(n):
        b[k] *= A[k * n + k]
    for k in range(n - 1, -1, -1):
        x = b[k]
        for j in range(k):
            b[j] -= A[k * n + j] * x
    return True
