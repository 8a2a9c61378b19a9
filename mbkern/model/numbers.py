"""The numbers of a body as a row of the table of columns, checked."""

from __future__ import annotations

import math
from math import isfinite
from struct import Struct
from typing import Any

from mbkern.errors import ModelError
from mbkern.model import checks
from mbkern.model.columns import WIDTH

_pack = Struct(f"{WIDTH}d").pack
_LISTS = (tuple, list)
# Below the square of what counts as exact, the sum of squares of all that a rotation may be off
_EXACT = checks.ROTATION_EXACT**2


def row(mass: Any, com: Any, inertia: Any, position: Any, rotation: Any, check_inertia: Any) -> bytes:
    """mass, com, inertia, position, rotation as 25 float64, whatever they come as; errors name what is wrong."""
    if check_inertia is True:
        quick = usual_row(mass, com, inertia, position, rotation)
        if quick is not None:
            return quick
    mass = checks.number(mass, "mass")
    if mass < 0.0:
        raise ModelError(f"mass must not be negative, got {mass} kg")
    x, y, z = com = checks.vector3(com, "com")
    if not math.isfinite(mass * (x * x + y * y + z * z)):
        raise ModelError(f"mass {mass} kg at {com} m is too large to compute with")
    a, b, c = checks.inertia(inertia, "inertia", checks.flag(check_inertia, "check_inertia"))
    at = checks.vector3(position, "position")
    d, e, f = checks.rotation(rotation, "rotation")
    return _pack(mass, *com, *a, *b, *c, *at, *d, *e, *f)


def usual_row(mass: Any, com: Any, inertia: Any, position: Any, rotation: Any) -> bytes | None:
    """The same of floats in tuples or lists that nothing is wrong with; None for all else.

    It takes a third of the time of the functions of :mod:`.checks`, whose results it has, and large models consist of
    such bodies.
    """
    if (type(com) not in _LISTS or type(inertia) not in _LISTS or type(position) not in _LISTS
            or not len(com) == len(inertia) == len(position) == 3):
        return None
    x, y, z = com
    u, v, w = position
    xx, yy, zz = inertia
    if not (type(mass) is type(x) is type(y) is type(z) is type(u) is type(v) is type(w) is float):
        return None
    if not (mass >= 0.0 and isfinite(mass * (x * x + y * y + z * z) + u + v + w)):
        return None
    if type(xx) is type(yy) is type(zz) is float:
        xy = xz = yz = 0.0
    else:
        if type(xx) not in _LISTS or type(yy) not in _LISTS or type(zz) not in _LISTS or not (
                len(xx) == len(yy) == len(zz) == 3):
            return None
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = xx, yy, zz
        if not (type(xx) is type(xy) is type(xz) is type(yx) is type(yy) is type(yz) is type(zx) is type(zy)
                is type(zz) is float and xy == yx and xz == zx and yz == zy):
            return None
    if not (isfinite(xx + yy + zz + xy + xz + yz) and checks.is_possible(xx, yy, zz, xy, xz, yz)):
        return None
    if rotation is None:
        return _pack(mass, x, y, z, xx, xy, xz, xy, yy, yz, xz, yz, zz, u, v, w, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0,
                     1.0)
    if type(rotation) not in _LISTS or len(rotation) != 3:
        return None
    d, e, f = rotation
    if type(d) not in _LISTS or type(e) not in _LISTS or type(f) not in _LISTS or not len(d) == len(e) == len(f) == 3:
        return None
    (a, b, c), (d, e, f), (g, h, k) = d, e, f
    if not (type(a) is type(b) is type(c) is type(d) is type(e) is type(f) is type(g) is type(h) is type(k) is float):
        return None
    aa, dd, gg = a * a + b * b + c * c - 1.0, d * d + e * e + f * f - 1.0, g * g + h * h + k * k - 1.0
    ad, dg, ga = a * d + b * e + c * f, d * g + e * h + f * k, g * a + h * b + k * c
    if not aa * aa + dd * dd + gg * gg + ad * ad + dg * dg + ga * ga <= _EXACT:
        return None
    if not a * (e * k - f * h) - b * (d * k - f * g) + c * (d * h - e * g) > 0.0:  # a reflection
        return None
    return _pack(mass, x, y, z, xx, xy, xz, xy, yy, yz, xz, yz, zz, u, v, w, a, b, c, d, e, f, g, h, k)
