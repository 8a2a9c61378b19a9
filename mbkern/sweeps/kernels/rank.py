"""Changes of an inertia (P, Q, R) by products of six-vectors."""

from ...core.jit import inline
from ...core.number import fma
from ...core.vec3 import axpy, scale


@inline
def minus_product(X, K, U):
    """X - K U^T: symmetric when K is a multiple of U, or in a sum over all dofs of a joint."""
    (P, Q, R), (a, b), (f, t) = X, K, U
    return ((fma(-a[0], f[0], P[0]), fma(-a[0], f[1], P[1]), fma(-a[0], f[2], P[2]), fma(-a[1], f[1], P[3]),
             fma(-a[1], f[2], P[4]), fma(-a[2], f[2], P[5])),
            (axpy(-a[0], t, Q[0]), axpy(-a[1], t, Q[1]), axpy(-a[2], t, Q[2])),
            (fma(-b[0], t[0], R[0]), fma(-b[0], t[1], R[1]), fma(-b[0], t[2], R[2]), fma(-b[1], t[1], R[3]),
             fma(-b[1], t[2], R[4]), fma(-b[2], t[2], R[5])))


@inline
def minus_square(X, U, d):
    """X - U d U^T."""
    return minus_product(X, (scale(d, U[0]), scale(d, U[1])), U)
