"""Lagrange's equations of the second and the first kind: the reductions of Newton-Euler's equations.

    second kind   (B^T M B) udot = tau - B^T (M T wr + Omega M v)                   Ivanov & Shimanovskiy 2023, (35)
    first kind    R = N tau + Z lam,
                  (Z^T S M^-1 S^T Z) lam = Z^T [wr - S M^-1 (S^T N tau - Omega M v)]                            (36)

They are to the right sides of :mod:`mbkern.textbook.newton_euler` what DAH and HZU are to Hamilton's: the same two
functions. The compiled kernels: :mod:`mbkern.core.lagrange`.
"""

from .dah import solve as second_kind
from .hzu import solve as first_kind

__all__ = ["first_kind", "second_kind"]
