"""Vectors, 3x3 matrices and symmetric 3x3 matrices as tuples of numbers.

A matrix is a tuple of its rows, a symmetric one the six numbers (xx, xy, xz, yy, yz, zz). Tuples are values: LLVM
keeps them in registers, and a literal 0.0 in one folds away. They are indexed with constants only, because a tuple
may mix float64 and SIMD numbers.
"""

from .jit import inline
from .number import fma

ZERO3 = (0.0, 0.0, 0.0)


@inline
def add(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inline
def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inline
def neg(a):
    return (-a[0], -a[1], -a[2])


@inline
def scale(s, a):
    return (s * a[0], s * a[1], s * a[2])


@inline
def axpy(s, x, y):
    """s x + y."""
    return (fma(s, x[0], y[0]), fma(s, x[1], y[1]), fma(s, x[2], y[2]))


@inline
def dot(a, b):
    return fma(a[0], b[0], fma(a[1], b[1], a[2] * b[2]))


@inline
def cross(a, b):
    return (fma(a[1], b[2], -(a[2] * b[1])), fma(a[2], b[0], -(a[0] * b[2])), fma(a[0], b[1], -(a[1] * b[0])))


@inline
def transpose(A):
    return ((A[0][0], A[1][0], A[2][0]), (A[0][1], A[1][1], A[2][1]), (A[0][2], A[1][2], A[2][2]))


@inline
def mul(A, x):
    """A x."""
    return (dot(A[0], x), dot(A[1], x), dot(A[2], x))


@inline
def tmul(A, x):
    """A^T x."""
    return mul(transpose(A), x)


@inline
def matmul(A, B):
    """A B."""
    T = transpose(B)
    return (mul(T, A[0]), mul(T, A[1]), mul(T, A[2]))


@inline
def congruence(G, Q):
    """G^T Q G."""
    return matmul(transpose(G), matmul(Q, G))


@inline
def full(S):
    """The symmetric S as rows."""
    return ((S[0], S[1], S[2]), (S[1], S[3], S[4]), (S[2], S[4], S[5]))


@inline
def smul(S, x):
    """S x, S symmetric."""
    return mul(full(S), x)


@inline
def scongruence(G, S):
    """G^T S G, S symmetric."""
    T, X = transpose(G), transpose(matmul(full(S), G))
    return (dot(T[0], X[0]), dot(T[0], X[1]), dot(T[0], X[2]), dot(T[1], X[1]), dot(T[1], X[2]), dot(T[2], X[2]))


@inline
def sadd(A, B):
    """A + B, both symmetric."""
    return (A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5])


@inline
def outer(a, b):
    """a b^T."""
    return (scale(a[0], b), scale(a[1], b), scale(a[2], b))
