"""A body as one record of numbers, the array of structs of the papers: where its fields are.

    parent, dofs   two 64-bit integers
    C (6 x 6), A (6 x 6, the first `dofs` columns), M (6 x 6), vr (6), F (6), r (6)
    A_q (6 x 6 x 6), A_t (6 x 6)         dA/dt = sum over k of A_q[k] qdot_k + A_t

All are eight bytes wide, so a record array is a flat array of float64 as well; matrices are stored row by row. What the
fields mean: :mod:`mbkern.sweeps`, whose sweeps read such records. :mod:`.blocks` writes those of a model.
"""

from .jit import inline
from .number import get, put

RECORD_PARENT, RECORD_DOFS, C, A, M, VR, F, RECORD_ARMATURE, A_Q, A_T = 0, 1, 2, 38, 74, 110, 116, 122, 128, 344
RECORD = 380


@inline
def get_column(x, at, j):
    """Column j of the 6 x 6 matrix at `at`, as a six-vector."""
    return ((get(x, at + j), get(x, at + 6 + j), get(x, at + 12 + j)),
            (get(x, at + 18 + j), get(x, at + 24 + j), get(x, at + 30 + j)))


@inline
def put_column(x, at, j, a):
    f, g = a
    put(x, at + j, f[0]); put(x, at + 6 + j, f[1]); put(x, at + 12 + j, f[2])
    put(x, at + 18 + j, g[0]); put(x, at + 24 + j, g[1]); put(x, at + 30 + j, g[2])
