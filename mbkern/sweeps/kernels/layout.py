"""Reading a record: frames, joint bases, inertias as the tuples of :mod:`mbkern.core.spatial`.

Records are read through two views of the same memory: the record array for the integers, and `numbers` for the rest.
"""

from ...core.arguments import data_of
from ...core.jit import exact, inline
from ...core.layout import get3
from ...core.number import array_at, get
from ...core.records import C, M, RECORD
from ...core.spatial import PIVOT_TOLERANCE, trace
from ...core.vec3 import dot

OK = -1


@exact
def numbers(blocks):
    """All records as one flat array of float64; body i begins at i * RECORD."""
    return array_at(data_of(blocks), blocks.shape[0] * RECORD)


@exact
def flat(x):
    """(N, 6) as 6 N numbers."""
    return array_at(data_of(x), x.size)


@exact
def parent(blocks, i):
    return blocks[i]["parent"]


@exact
def dofs(blocks, i):
    return blocks[i]["dofs"]


@inline
def frame(records, i):
    """(G, rho) of C = [[G, -G rho~], [0, G]]: rho~ = -G^T C_12."""
    at = i * RECORD + C
    G = (get3(records, at), get3(records, at + 6), get3(records, at + 12))
    K = (get3(records, at + 3), get3(records, at + 9), get3(records, at + 15))
    return G, (-dot((G[0][2], G[1][2], G[2][2]), (K[0][1], K[1][1], K[2][1])),
               -dot((G[0][0], G[1][0], G[2][0]), (K[0][2], K[1][2], K[2][2])),
               -dot((G[0][1], G[1][1], G[2][1]), (K[0][0], K[1][0], K[2][0])))


@inline
def inertia(records, i):
    """M as (P, Q, R); its upper triangle is read."""
    at = i * RECORD + M
    return ((get(records, at), get(records, at + 1), get(records, at + 2), get(records, at + 7), get(records, at + 8),
             get(records, at + 14)),
            (get3(records, at + 3), get3(records, at + 9), get3(records, at + 15)),
            (get(records, at + 21), get(records, at + 22), get(records, at + 23), get(records, at + 28),
             get(records, at + 29), get(records, at + 35)))


@inline
def smallest_pivot(X, a, r):
    """What a pivot a^T X a + r must exceed not to be rounding alone."""
    return PIVOT_TOLERANCE * (trace(X[0]) * dot(a[0], a[0]) + trace(X[2]) * dot(a[1], a[1]) + r)
