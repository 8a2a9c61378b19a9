"""Six-vectors, frames and articulated inertias, (linear; angular) as in the papers.

=========  ==========================================================================================
v          velocity (u, w) of a frame's origin and of the frame, in the frame's own axes
F          force (f, t): force and moment about the origin; momenta likewise
X          frame (G, rho) in its parent: G turns parent axes into child axes, rho is the child's origin
           in parent axes. As a 6x6: C = [[G, -G rho~], [0, G]]
M          inertia (P, Q, R): [[P, Q], [Q^T, R]] with P, R symmetric (6 numbers), Q full (3 rows)
=========  ==========================================================================================
"""

from .jit import inline
from .number import fma, smaller
from .vec3 import (
    ZERO3, add, axpy, congruence, cross, dot, full, matmul, mul, sadd, scale, scongruence, smul, sub, tmul, transpose,
)

ZERO6 = (ZERO3, ZERO3)
NO_INERTIA = ((0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (ZERO3, ZERO3, ZERO3), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
EYE = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
# A pivot below this part of the inertia's trace is nothing but rounding: the joint has nothing to move.
PIVOT_TOLERANCE = 3e-15


@inline
def add6(a, b):
    return (add(a[0], b[0]), add(a[1], b[1]))


@inline
def sub6(a, b):
    return (sub(a[0], b[0]), sub(a[1], b[1]))


@inline
def scale6(s, a):
    return (scale(s, a[0]), scale(s, a[1]))


@inline
def axpy6(s, x, y):
    """s x + y."""
    return (axpy(s, x[0], y[0]), axpy(s, x[1], y[1]))


@inline
def dot6(a, b):
    return dot(a[0], b[0]) + dot(a[1], b[1])


@inline
def compose(X2, X1):
    """The frame X2 inside the frame X1, seen from the parent of X1: C = C_2 C_1."""
    return (matmul(X2[0], X1[0]), add(X1[1], tmul(X1[0], X2[1])))


@inline
def relative(X2, X1):
    """The frame X2 as seen from the frame X1, both given in one parent: C = C_2 C_1^-1."""
    return (matmul(X2[0], transpose(X1[0])), mul(X1[0], sub(X2[1], X1[1])))


@inline
def motion_to_child(X, v):
    """C v: the velocity of the child frame when it is fixed in its parent."""
    G, rho = X
    return (mul(G, add(v[0], cross(v[1], rho))), mul(G, v[1]))



@inline
def force_to_parent(X, F):
    """C^T F."""
    G, rho = X
    f = tmul(G, F[0])
    return (f, add(tmul(G, F[1]), cross(rho, f)))


@inline
def shift_force(rho, F):
    """C^T F of a frame with the axes of its parent, its origin at rho."""
    return (F[0], minus_cross(F[1], F[0], rho))


@inline
def force_to_child(X, F):
    """C^-T F."""
    G, rho = X
    return (mul(G, F[0]), mul(G, sub(F[1], cross(rho, F[0]))))


@inline
def omega_times(v, mu):
    """Omega(v) mu = (w x f; u x f + w x t)."""
    u, w = v
    f, t = mu
    return (cross(w, f), add(cross(u, f), cross(w, t)))


@inline
def omega_transposed_times(v, x):
    """Omega(v)^T x = (-w x a - u x b; -w x b), x = (a; b)."""
    u, w = v
    a, b = x
    return (sub(cross(b, u), cross(w, a)), cross(b, w))


@inline
def cross_motion(v, s):
    """v x s of two motions."""
    return omega_transposed_times(s, v)


@inline
def rigid_inertia(m, s, J):
    """M of a rigid body: mass m, first moment s = m rc, inertia J about the origin."""
    return ((m, 0.0, 0.0, m, 0.0, m), ((0.0, s[2], -s[1]), (-s[2], 0.0, s[0]), (s[1], -s[0], 0.0)), J)


@inline
def plus_rigid(M, m, s, J):
    """M and the inertia of a rigid body."""
    P, Q, R = M
    return ((P[0] + m, P[1], P[2], P[3] + m, P[4], P[5] + m),
            ((Q[0][0], Q[0][1] + s[2], Q[0][2] - s[1]), (Q[1][0] - s[2], Q[1][1], Q[1][2] + s[0]),
             (Q[2][0] + s[1], Q[2][1] - s[0], Q[2][2])), sadd(R, J))


@inline
def rigid_times(m, s, J, v):
    """M v of a rigid body."""
    u, w = v
    return (axpy(m, u, cross(w, s)), add(cross(s, u), smul(J, w)))


@inline
def rigid_to_parent(X, m, s, J):
    """First moment and inertia of a rigid body in the parent frame."""
    G, rho = X
    return shift_rigid(rho, m, tmul(G, s), scongruence(G, J))


@inline
def shift_rigid(rho, m, s, J):
    """The same for a frame with the axes of its parent, its origin at rho."""
    spread = fma(2.0, dot(s, rho), m * dot(rho, rho))
    a = axpy(m, rho, s)  # the first moment about the parent's origin; J_ab += spread E - a rho^T - rho s^T
    return a, (fma(-a[0], rho[0], fma(-rho[0], s[0], J[0] + spread)), fma(-a[0], rho[1], fma(-rho[0], s[1], J[1])),
               fma(-a[0], rho[2], fma(-rho[0], s[2], J[2])), fma(-a[1], rho[1], fma(-rho[1], s[1], J[3] + spread)),
               fma(-a[1], rho[2], fma(-rho[1], s[2], J[4])), fma(-a[2], rho[2], fma(-rho[2], s[2], J[5] + spread)))


@inline
def inertia_times(M, v):
    """M v."""
    P, Q, R = M
    u, w = v
    return (add(smul(P, u), mul(Q, w)), add(tmul(Q, u), smul(R, w)))


@inline
def inertia_times_plus(M, v, a):
    """M v + a."""
    P, Q, R = M
    (u, w), F, T, S = v, full(P), transpose(Q), full(R)
    return ((dot_plus(F[0], u, dot_plus(Q[0], w, a[0][0])), dot_plus(F[1], u, dot_plus(Q[1], w, a[0][1])),
             dot_plus(F[2], u, dot_plus(Q[2], w, a[0][2]))),
            (dot_plus(T[0], u, dot_plus(S[0], w, a[1][0])), dot_plus(T[1], u, dot_plus(S[1], w, a[1][1])),
             dot_plus(T[2], u, dot_plus(S[2], w, a[1][2]))))


@inline
def dot_plus(a, b, x):
    """a b + x."""
    return fma(a[0], b[0], fma(a[1], b[1], fma(a[2], b[2], x)))


@inline
def inertia_to_parent(X, M):
    """C^T M C: turn by G, then shift by rho."""
    G, rho = X
    return shift_inertia(rho, (scongruence(G, M[0]), congruence(G, M[1]), scongruence(G, M[2])))


@inline
def shift_inertia(rho, M):
    """C^T M C of a frame with the axes of its parent, its origin at rho."""
    P, A, R = M
    F, (x, y, z) = full(P), rho
    B = (minus_cross(A[0], F[0], rho), minus_cross(A[1], F[1], rho), minus_cross(A[2], F[2], rho))  # A - P rho~
    # R + rho~ B - (rho~ A)^T, the upper half of a symmetric matrix
    return (P, B, (fma(y, B[2][0] + A[2][0], fma(-z, B[1][0] + A[1][0], R[0])),
                   fma(y, B[2][1], fma(-x, A[2][0], fma(-z, B[1][1] - A[0][0], R[1]))),
                   fma(-z, B[1][2], fma(x, A[1][0], fma(y, B[2][2] - A[0][0], R[2]))),
                   fma(z, B[0][1] + A[0][1], fma(-x, B[2][1] + A[2][1], R[3])),
                   fma(z, B[0][2], fma(-y, A[0][1], fma(-x, B[2][2] - A[1][1], R[4]))),
                   fma(x, B[1][2] + A[1][2], fma(-y, B[0][2] + A[0][2], R[5]))))


@inline
def minus_cross(x, a, b):
    """x - a x b."""
    return (fma(a[2], b[1], fma(-a[1], b[2], x[0])), fma(a[0], b[2], fma(-a[2], b[0], x[1])),
            fma(a[1], b[0], fma(-a[0], b[1], x[2])))


@inline
def mass_to_parent(X, P):
    """C^T M C of an inertia that has a linear block P only (what a ball joint lets through). Saves 1 % of a tree of
    ball joints; `inertia_to_parent` with zeros executes as many flops."""
    G, rho = X
    P = scongruence(G, P)
    F = full(P)
    Q = (cross(rho, F[0]), cross(rho, F[1]), cross(rho, F[2]))
    T = transpose(Q)
    a0, a1, a2 = cross(rho, T[0]), cross(rho, T[1]), cross(rho, T[2])
    return (P, Q, (a0[0], a1[0], a2[0], a1[1], a2[1], a2[2]))


@inline
def column_lz(M):
    """M e for e = (z; 0), a translation along z."""
    P, Q, _ = M
    return ((P[2], P[4], P[5]), Q[2])


@inline
def column_az(M):
    """M e for e = (0; z), a rotation about z."""
    _, Q, R = M
    return ((Q[0][2], Q[1][2], Q[2][2]), (R[2], R[4], R[5]))


@inline
def eliminate_lz(M, U, d):
    """M - U d U^T with U = column_lz(M), d = 1 / U_lz: the row and column of the translation vanish."""
    P, Q, R = M
    Uf, Ut = U
    f, t = scale(d, Uf), scale(d, Ut)
    return ((fma(-f[0], Uf[0], P[0]), fma(-f[0], Uf[1], P[1]), 0.0, fma(-f[1], Uf[1], P[3]), 0.0, 0.0),
            (axpy(-f[0], Ut, Q[0]), axpy(-f[1], Ut, Q[1]), (0.0, 0.0, 0.0)),
            (fma(-t[0], Ut[0], R[0]), fma(-t[0], Ut[1], R[1]), fma(-t[0], Ut[2], R[2]),
             fma(-t[1], Ut[1], R[3]), fma(-t[1], Ut[2], R[4]), fma(-t[2], Ut[2], R[5])))


@inline
def eliminate_az(M, U, d):
    """M - U d U^T with U = column_az(M), d = 1 / U_az: the row and column of the rotation vanish."""
    P, Q, R = M
    Uf, Ut = U
    f, t = scale(d, Uf), scale(d, Ut)
    return ((fma(-f[0], Uf[0], P[0]), fma(-f[0], Uf[1], P[1]), fma(-f[0], Uf[2], P[2]),
             fma(-f[1], Uf[1], P[3]), fma(-f[1], Uf[2], P[4]), fma(-f[2], Uf[2], P[5])),
            ((fma(-Uf[0], t[0], Q[0][0]), fma(-Uf[0], t[1], Q[0][1]), 0.0),
             (fma(-Uf[1], t[0], Q[1][0]), fma(-Uf[1], t[1], Q[1][1]), 0.0),
             (fma(-Uf[2], t[0], Q[2][0]), fma(-Uf[2], t[1], Q[2][1]), 0.0)),
            (fma(-t[0], Ut[0], R[0]), fma(-t[0], Ut[1], R[1]), 0.0, fma(-t[1], Ut[1], R[3]), 0.0, 0.0))


@inline
def downdate(K, U):
    """-K U^T as an inertia (P, Q, R); it is symmetric when summed over the dofs of a joint."""
    (a, b), (f, t) = K, U
    return ((-a[0] * f[0], -a[0] * f[1], -a[0] * f[2], -a[1] * f[1], -a[1] * f[2], -a[2] * f[2]),
            (scale(-a[0], t), scale(-a[1], t), scale(-a[2], t)),
            (-b[0] * t[0], -b[0] * t[1], -b[0] * t[2], -b[1] * t[1], -b[1] * t[2], -b[2] * t[2]))


@inline
def ldl3(S):
    """Factor a symmetric 3x3 as L D L^T: (l10, l20, l21, 1/d0, 1/d1, 1/d2), and its smallest pivot."""
    i0 = 1.0 / S[0]
    l1, l2 = S[1] * i0, S[2] * i0
    d1 = fma(-l1, S[1], S[3])
    i1 = 1.0 / d1
    e = fma(-l2, S[1], S[4])
    l21 = e * i1
    d2 = fma(-l21, e, fma(-l2, S[2], S[5]))
    return (l1, l2, l21, i0, i1, 1.0 / d2), smaller(S[0], smaller(d1, d2))


@inline
def ldl3_forward(F, x):
    """L^-1 x."""
    y1 = fma(-F[0], x[0], x[1])
    return (x[0], y1, fma(-F[2], y1, fma(-F[1], x[0], x[2])))


@inline
def ldl3_scale(F, x):
    """D^-1 x."""
    return (F[3] * x[0], F[4] * x[1], F[5] * x[2])


@inline
def ldl3_solve(F, x):
    """(L D L^T)^-1 x."""
    y = ldl3_scale(F, ldl3_forward(F, x))
    z1 = fma(-F[2], y[2], y[1])
    return (fma(-F[0], z1, fma(-F[1], y[2], y[0])), z1, y[2])


@inline
def eliminate_angular(M, F):
    """P - Q R^-1 Q^T, what is left of M when all three rotations are eliminated; F = ldl3(R)."""
    P, Q, _ = M
    Y0, Y1, Y2 = ldl3_forward(F, Q[0]), ldl3_forward(F, Q[1]), ldl3_forward(F, Q[2])
    Z0, Z1, Z2 = ldl3_scale(F, Y0), ldl3_scale(F, Y1), ldl3_scale(F, Y2)
    return (P[0] - dot(Z0, Y0), P[1] - dot(Z0, Y1), P[2] - dot(Z0, Y2),
            P[3] - dot(Z1, Y1), P[4] - dot(Z1, Y2), P[5] - dot(Z2, Y2))


@inline
def trace(S):
    return S[0] + S[3] + S[5]


@inline
def pivot_margin(pivot, S):
    """What is left of a pivot of the block S less what rounding may have left of zero."""
    return fma(-PIVOT_TOLERANCE, trace(S), pivot)
