"""Coefficients of the Runge-Kutta methods, each with its source.

Stage i is at t + c_i h:  k_i = f(t + c_i h, y + h sum_j a_ij k_j),  y_new = y + h sum_i b_i k_i.
"""

from math import sqrt

import numpy as np

# ---- Dormand-Prince 5(4) ----
# J. R. Dormand and P. J. Prince, A family of embedded Runge-Kutta formulae, J. Comput. Appl. Math. 6 (1980) 19-26.
# The last stage is the new state (FSAL): row 7 holds b of order 5. E is b of order 5 less b of order 4.
C2, C3, C4, C5 = 1 / 5, 3 / 10, 4 / 5, 8 / 9
A21 = 1 / 5
A31, A32 = 3 / 40, 9 / 40
A41, A42, A43 = 44 / 45, -56 / 15, 32 / 9
A51, A52, A53, A54 = 19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729
A61, A62, A63, A64, A65 = 9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656
A71, A73, A74, A75, A76 = 35 / 384, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84
E1, E3, E4, E5, E6, E7 = 71 / 57600, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40
# Continuous extension of order 4: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I,
# 2nd ed. (1993), section II.6, and the code DOPRI5 (CONTD5).
D1, D3, D4 = -12715105075 / 11282082432, 87487479700 / 32700410799, -10690763975 / 1880347072
D5, D6, D7 = 701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423

# ---- RK4 and the six stages of Dormand-Prince that make the new state, as matrices: entries [0] and [1] ----
EXPLICIT_A = np.zeros((2, 6, 6))
EXPLICIT_B = np.zeros((2, 6))
EXPLICIT_C = np.zeros((2, 6))
EXPLICIT_A[0, 1, 0], EXPLICIT_A[0, 2, 1], EXPLICIT_A[0, 3, 2] = 1 / 2, 1 / 2, 1
EXPLICIT_B[0, :4] = 1 / 6, 1 / 3, 1 / 3, 1 / 6
EXPLICIT_C[0, :4] = 0, 1 / 2, 1 / 2, 1
EXPLICIT_A[1, 1, :1] = A21
EXPLICIT_A[1, 2, :2] = A31, A32
EXPLICIT_A[1, 3, :3] = A41, A42, A43
EXPLICIT_A[1, 4, :4] = A51, A52, A53, A54
EXPLICIT_A[1, 5, :5] = A61, A62, A63, A64, A65
EXPLICIT_B[1] = A71, 0, A73, A74, A75, A76
EXPLICIT_C[1] = 0, C2, C3, C4, C5, 1

# ---- Gauss collocation with s = 1, 2, 3 stages, order 2 s ----
# E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, 2nd ed. (2006), section II.1.3.
# Entry [s] of each array; unused places are zero.
GAUSS_C = np.zeros((4, 3))
GAUSS_B = np.zeros((4, 3))
GAUSS_A = np.zeros((4, 3, 3))
GAUSS_C[1, :1] = 1 / 2
GAUSS_B[1, :1] = 1
GAUSS_A[1, :1, :1] = 1 / 2
GAUSS_C[2, :2] = 1 / 2 - sqrt(3) / 6, 1 / 2 + sqrt(3) / 6
GAUSS_B[2, :2] = 1 / 2, 1 / 2
GAUSS_A[2, :2, :2] = (1 / 4, 1 / 4 - sqrt(3) / 6), (1 / 4 + sqrt(3) / 6, 1 / 4)
GAUSS_C[3] = 1 / 2 - sqrt(15) / 10, 1 / 2, 1 / 2 + sqrt(15) / 10
GAUSS_B[3] = 5 / 18, 4 / 9, 5 / 18
GAUSS_A[3] = (
    (5 / 36, 2 / 9 - sqrt(15) / 15, 5 / 36 - sqrt(15) / 30),
    (5 / 36 + sqrt(15) / 24, 2 / 9, 5 / 36 - sqrt(15) / 24),
    (5 / 36 + sqrt(15) / 30, 2 / 9 + sqrt(15) / 15, 5 / 36),
)


def _extrapolation(c: np.ndarray) -> np.ndarray:
    """Values at 1 + c_i of the polynomial through values at c_j: starts the stages of the next step."""
    weights = np.ones((c.size, c.size))
    for i in range(c.size):
        for j in range(c.size):
            for m in range(c.size):
                if m != j:
                    weights[i, j] *= (1 + c[i] - c[m]) / (c[j] - c[m])
    return weights


GAUSS_NEXT = np.zeros((4, 3, 3))
for _s in (1, 2, 3):
    GAUSS_NEXT[_s, :_s, :_s] = _extrapolation(GAUSS_C[_s, :_s])
