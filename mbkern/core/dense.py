"""Small dense systems of equations, in place, in flat arrays, row by row: float64, nothing allocated.

`solve_pivoted`    A X = B by Gaussian elimination; the pivot of a column is its largest number in units of its row, so
                   that rows in different units (metres, kilograms) compete fairly
`solve_positive`   A x = b by L D L^T for a symmetric positive definite A (its lower triangle is read); in two parts:
                   `factor_positive` and `substitute_positive`

Each returns whether A is regular: no pivot was as small as rounding may leave of a singular matrix.
"""

from .jit import exact, piece

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
def factor_positive(A, n):
    """A = L D L^T in the lower triangle of A (n x n): L below the diagonal, 1/D on it."""
    for k in range(n):
        d = A[k * n + k]
        scale = d
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
    return True


@piece
def substitute_positive(A, n, b, first, last):
    """Unknowns first <= k < last of the leading `last` equations of A x = b, in place; A is factored.

    Unknowns before `first` are eliminated but not solved for.
    """
    for k in range(last):
        x = b[k]
        for j in range(k):
            x -= A[k * n + j] * b[j]
        b[k] = x
    for k in range(first, last):
        b[k] *= A[k * n + k]
    for k in range(last - 1, first - 1, -1):
        x = b[k]
        for j in range(first, k):
            b[j] -= A[k * n + j] * x


@exact
def solve_positive(A, n, b):
    """b (n) = A^-1 b; the lower triangle of A (n x n) is destroyed."""
    if not factor_positive(A, n):
        return False
    substitute_positive(A, n, b, 0, n)
    return True
