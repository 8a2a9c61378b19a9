"""Mass, first moment and inertia of bodies, about their own origins and about those of the frames they are fixed in.

    c = rho + G^T com,   s = m c,   J = G^T I G + m (c.c E - c c^T)

The description of a body has m, com and I, which is about the centre of mass. J is computed from these about the
origin where it is wanted, never from another J: what a shift takes away from an inertia, it takes from its digits. For
the same reason the diagonal is m (y^2 + z^2) and so on, not m (c.c - x^2).

A table of bodies has a row (m, c, I) for each, I as (xx, xy, xz, yy, yz, zz).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import plain

_vec3 = plain.load("vec3")

MASS, CENTRE, INERTIA, WIDTH = 0, 1, 4, 10
# A centre of mass that is nearer to an axis than this part of all that was added up to find it is on the axis.
ROUNDING = 4e-16


def in_frames(bodies: np.ndarray, G: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """The same bodies in frames where their origins are at rho and their axes turned by G, (3, N) and (3, 3, N)."""
    com, table = bodies[:, CENTRE:INERTIA].T, bodies.copy()
    x, y, z = _vec3.add(rho, _vec3.tmul(G, com))
    noise = ROUNDING * sum(np.abs(a) for a in (*rho, *com))
    off_axis = greater(np.abs(x), noise) | greater(np.abs(y), noise)
    table[:, CENTRE], table[:, CENTRE + 1], table[:, CENTRE + 2] = x * off_axis, y * off_axis, z
    for j, column in enumerate(_vec3.scongruence(G, bodies[:, INERTIA:].T), INERTIA):
        table[:, j] = column
    return table


def of_unit_mass(c: NDArray[np.float64]) -> NDArray[np.float64]:
    """c.c E - c c^T: the inertia about the origin of a unit of mass at c.

    Examples
    --------
    >>> import numpy as np
    >>> from mbkern.model.rigid import of_unit_mass
    >>> of_unit_mass(np.array([1.0, 1e-9, 0.0]))[0, 0]  # c.c - x^2 would be 0
    np.float64(1e-18)
    """
    x, y, z = c.tolist()
    return np.array([[y * y + z * z, -x * y, -x * z], [-x * y, x * x + z * z, -y * z], [-x * z, -y * z, x * x + y * y]])


def about_origin(bodies: np.ndarray) -> np.ndarray:
    """m, s and J of each body."""
    table, (m, x, y, z) = bodies.copy(), bodies[:, :INERTIA].T
    for j, moment in enumerate((m * x, m * y, m * z, m * (y * y + z * z), -m * x * y, -m * x * z,
                                m * (x * x + z * z), -m * y * z, m * (x * x + y * y)), CENTRE):
        table[:, j] = moment if j < INERTIA else table[:, j] + moment
    return table


def summed(bodies: np.ndarray, node: NDArray[np.int64], n: int) -> np.ndarray:
    """m, s and J of all that is fixed in each of n frames; in the last row, of what is fixed to the ground (-1)."""
    moments = about_origin(bodies)
    if moments.dtype == float:
        return np.stack([np.bincount(node % (n + 1), column, n + 1) for column in moments.T], axis=1)
    sums = np.full((n + 1, WIDTH), 0.0, dtype=object)
    np.add.at(sums, node, moments)
    return sums


def greater(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a > b, also where numbers are arrays."""
    return a > b if a.dtype == float else np.greater(a, b, dtype=object)
