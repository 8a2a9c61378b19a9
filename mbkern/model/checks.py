"""Every value a user hands to the model layer passes through here once.

Each function takes the value and `what`, the words that name it in an error ("body 'arm': mass"), and returns
plain Python floats and tuples: immutable, hashable, and exactly reproduced by JSON. Normalising functions
leave values that are already normalised to round-off untouched, so passing a result through again changes no
bit.
"""

from __future__ import annotations

import difflib
import itertools
import math
import numbers
import reprlib
from collections.abc import Iterable
from math import isfinite
from typing import Any

import numpy as np

from mbkern import lazy
from mbkern.errors import MbkernError, ModelError, NotEnoughMemoryError

Vec3 = tuple[float, float, float]
Mat3 = tuple[Vec3, Vec3, Vec3]

ZERO3: Vec3 = (0.0, 0.0, 0.0)
ZERO33: Mat3 = (ZERO3, ZERO3, ZERO3)
IDENTITY: Mat3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
AXES: dict[str, Vec3] = dict(zip("xyz", IDENTITY, strict=True))

#: A direction shorter than this is the round-off of a zero vector, not a direction.
SHORTEST_AXIS = 1e-12
#: How far a rotation may be from orthonormal (largest entry of R^T R - E) or a quaternion from unit length:
#: room for numbers typed or stored with seven digits. Within it, the nearest rotation is taken.
ROTATION_TOLERANCE = 1e-6
#: Closer than this it is orthonormal to round-off and kept bit by bit.
ROTATION_EXACT = 1e-14
#: Allowed asymmetry of an inertia matrix and slack in the triangle inequality, relative to its trace (seven
#: digits again: a thin plate sits exactly on the boundary).
INERTIA_TOLERANCE = 1e-6
#: Allowed negative principal moment relative to the trace: round-off only.
INERTIA_ROUND_OFF = 1e-12
#: Bytes of a body while a model is built, and the number of bodies that is not worth asking for memory.
BODY_SIZE, MANY_BODIES = 4000, 100_000
#: More than any description of a machine has in one place; they would become Python floats of 24 bytes.
MANY_NUMBERS = 10_000_000
#: Letters of a value in a message.
LONGEST_TEXT = 200

_SEEDS = (np.random.Generator, np.random.BitGenerator, np.random.SeedSequence)


def show(value: object) -> str:
    """Short text of any value for an error message, with its type where that helps."""
    if isinstance(value, np.ndarray):
        if value.size > 1000:
            return f"an array of shape {value.shape} and type {value.dtype}"
        text = reprlib.repr(value.tolist())
    else:
        text = reprlib.repr(value)
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]} ..."
    return text if isinstance(value, int | float | str | list | tuple | None) else f"{text} ({type(value).__name__})"


def near(name: str, known: Iterable[str]) -> str:
    """The end of an error message: the known names closest to `name`, or else the first few known names."""
    candidates = list(itertools.islice(known, 10_000))  # the search is slow on huge models, and only an aid
    close = difflib.get_close_matches(name, candidates, n=3)
    if close:
        return f" Did you mean {' or '.join(map(repr, close))}?"
    if not candidates:
        return ""
    rest = ", ..." if len(candidates) > 8 else ""
    return f" Known names: {', '.join(map(repr, candidates[:8]))}{rest}."


def number(value: Any, what: str, error: type[MbkernError] = ModelError) -> float:
    """A finite float."""
    if type(value) is not float:
        if isinstance(value, np.ndarray) and value.ndim == 0 and not isinstance(value, np.ma.MaskedArray):
            value = value.item()
        if type(value) is not int and (isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real)):
            raise error(f"{what}: expected a finite number, got {show(value)}")
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
        except Exception:  # of any kind: the value itself does the converting
            raise error(f"{what}: expected a finite number, got {show(value)}") from None
    if not math.isfinite(value):
        raise error(f"{what}: expected a finite number, got {value}")
    return value


def items(value: Any) -> list[Any] | tuple[Any, ...] | None:
    """The entries of a list, tuple or array; None if `value` is nothing of the kind, or has entries without value."""
    if type(value) is tuple or type(value) is list or isinstance(value, list | tuple):
        return value
    if type(value) is float or isinstance(value, float | int | str | np.ma.MaskedArray):
        return None
    try:
        array = np.asarray(value)
    except Exception:  # of any kind: the value itself may do the converting
        return None
    entries = array.tolist() if array.size < MANY_NUMBERS else None  # a view may be larger than the memory
    return entries if isinstance(entries, list) else None


def count(value: Any, what: str, meaning: str = "a whole number", most: int = 2**53) -> int:
    """A whole number from 1 to `most`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or not 1 <= value <= most:
        raise ModelError(f"{what}: expected {meaning}, 1 to {most}, got {show(value)}")
    return int(value)


def whole(value: Any, what: str, least: int, most: int, error: type[MbkernError] = ModelError) -> int:
    """A whole number from `least` to `most`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise error(f"{what}: expected a whole number from {least} to {most}, got {show(value)}")
    return int(value)


def bodies(value: Any, what: str, meaning: str = "the number of bodies") -> int:
    """So many bodies as fit into memory."""
    n = count(value, what, meaning)
    if n > MANY_BODIES:
        memory = lazy.module("integrate.memory")
        if n * BODY_SIZE > memory.available():
            raise NotEnoughMemoryError(f"{what}: {n} bodies need about {memory.gigabytes(n * BODY_SIZE)} of memory, "
                                       f"{memory.gigabytes(memory.available())} are free")
    return n


def flag(value: Any, what: str, error: type[MbkernError] = ModelError) -> bool:
    """True or False."""
    if value is not True and value is not False and not isinstance(value, np.bool_):
        raise error(f"{what}: expected True or False, got {show(value)}")
    return bool(value)


def pair(value: Any, what: str, meaning: str, error: type[MbkernError] = ModelError) -> tuple[Any, Any]:
    """Two values, one after the other."""
    try:
        if isinstance(value, set | frozenset | dict | str):  # which is the first?
            raise TypeError
        first, second = value
    except Exception:  # of any kind: the value itself is asked
        raise error(f"{what}: expected {meaning}, got {show(value)}") from None
    return first, second


def word(value: Any, what: str, known: Iterable[str], error: type[MbkernError] = ModelError) -> str:
    """One of a few words."""
    known = tuple(known)
    if not isinstance(value, str) or value not in known:
        raise error(f"{what}: expected {' or '.join(map(repr, known))}, got {show(value)}")
    return value


def generator(seed: Any) -> np.random.Generator:
    """Random numbers of a seed, a new one each time for None."""
    known = seed is None or isinstance(seed, _SEEDS) or (isinstance(seed, int | np.integer) and seed >= 0)
    if not known or isinstance(seed, bool):  # NumPy takes lists, too, and crashes where one contains itself
        raise ModelError(f"seed: expected a whole number, at least 0, or None, got {show(seed)}")
    return np.random.default_rng(seed)


def several(value: Any, what: str, error: type[MbkernError] = ModelError) -> list[Any]:
    """The entries of anything with entries; a text is one."""
    if isinstance(value, str):
        return [value]
    try:
        return list(value)
    except Exception:  # of any kind: the value itself is asked
        raise error(f"{what}: expected a list of names, got {show(value)}") from None


def vector(value: Any, what: str, length: int | None = None) -> tuple[float, ...]:
    """`length` finite floats (at least one, if no length is asked for)."""
    entries = items(value)
    if entries is None or not entries or (length is not None and len(entries) != length):
        wanted = "numbers" if length is None else f"{length} numbers"
        raise ModelError(f"{what}: expected {wanted}, got {show(value)}")
    return tuple([number(entry, what) for entry in entries])


def vector3(value: Any, what: str) -> Vec3:
    """Three finite floats."""
    entries = value.tolist() if type(value) is np.ndarray and value.size == 3 else value
    if (type(entries) is tuple or type(entries) is list) and len(entries) == 3:
        x, y, z = entries  # almost always floats; it makes large models build twice as fast
        if type(x) is type(y) is type(z) is float and isfinite(x + y + z):
            return entries if type(entries) is tuple else (x, y, z)
    x, y, z = vector(value, what, 3)
    return x, y, z


def matrix3(value: Any, what: str) -> Mat3:
    """Three rows of three finite floats."""
    rows = items(value)
    if rows is None or len(rows) != 3:
        raise ModelError(f"{what}: expected a 3x3 matrix, got {show(value)}")
    a, b, c = rows
    kind = type(rows)
    if (kind is tuple or kind is list) and kind is type(a) is type(b) is type(c) and len(a) == len(b) == len(c) == 3:
        (r, s, t), (u, v, w), (x, y, z) = a, b, c  # as above
        if (type(r) is type(s) is type(t) is type(u) is type(v) is type(w) is type(x) is type(y) is type(z) is float
                and isfinite(r + s + t + u + v + w + x + y + z)):
            return rows if kind is tuple else ((r, s, t), (u, v, w), (x, y, z))  # type: ignore[return-value]
    return vector3(a, what), vector3(b, what), vector3(c, what)


def label(value: Any, what: str) -> str:
    """A non-empty string."""
    if not isinstance(value, str) or not value:
        raise ModelError(f"{what}: expected a non-empty string, got {show(value)}")
    return value if type(value) is str else str(value)


def axis(value: Any, what: str) -> Vec3:
    """A unit vector from "x", "y", "z" or three numbers of any non-zero length."""
    if isinstance(value, str):
        if value not in AXES:
            raise ModelError(f"{what}: expected 'x', 'y', 'z' or 3 numbers, got {show(value)}")
        return AXES[value]
    x, y, z = vector3(value, what)
    largest = max(abs(x), abs(y), abs(z))
    if largest < SHORTEST_AXIS:
        raise ModelError(f"{what}: a zero vector ({x}, {y}, {z}) has no direction; give the direction of the axis")
    if abs(math.hypot(x, y, z) - 1.0) <= 1e-15:
        return x, y, z
    x, y, z = x / largest, y / largest, z / largest  # first to order one, so that no length overflows
    length = math.hypot(x, y, z)
    return x / length, y / length, z / length


def rotation(value: Any, what: str) -> Mat3:
    """A rotation matrix from a 3x3 matrix or a unit quaternion (w, x, y, z); None is the identity."""
    if value is None:
        return IDENTITY
    entries = items(value)
    if entries is not None and len(entries) == 4:
        return _from_quaternion(entries, what)
    if entries is None or len(entries) != 3:
        raise ModelError(f"{what}: expected a 3x3 rotation matrix or a unit quaternion (w, x, y, z), got {show(value)}")
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R = matrix3(entries, what)
    off = max(
        abs(xx * xx + xy * xy + xz * xz - 1.0), abs(yx * yx + yy * yy + yz * yz - 1.0),
        abs(zx * zx + zy * zy + zz * zz - 1.0),
        abs(xx * yx + xy * yy + xz * yz), abs(yx * zx + yy * zy + yz * zz), abs(zx * xx + zy * xy + zz * xz),
    )  # fmt: skip
    if off > ROTATION_TOLERANCE:
        raise ModelError(
            f"{what}: the matrix is not orthonormal, R R^T differs from the identity by {off:.3g} "
            f"(at most {ROTATION_TOLERANCE:g} is allowed), got {R}"
        )
    if xx * (yy * zz - yz * zy) - xy * (yx * zz - yz * zx) + xz * (yx * zy - yy * zx) < 0.0:
        raise ModelError(f"{what}: the matrix is a reflection (determinant -1), not a rotation; check its columns: {R}")
    return R if off <= ROTATION_EXACT else _nearest_rotation(R)


def inertia(value: Any, what: str, possible: bool = True) -> Mat3:
    """A physically possible inertia about the centre of mass (any symmetric matrix without `possible`); None is zero.

    Possible means: the second moments of mass, ``tr(J)/2 E - J``, are positive semidefinite. That is the
    triangle inequality of the principal moments and implies that J itself is positive semidefinite.
    """
    if value is None:
        return ZERO33
    entries = items(value)
    if entries is not None and len(entries) == 6:
        xx, yy, zz, xy, xz, yz = vector(entries, what, 6)
    elif entries is not None and len(entries) == 3 and items(entries[0]) is None:
        xx, yy, zz = vector3(entries, what)
        xy = xz = yz = 0.0
    elif entries is not None and len(entries) == 3:
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = matrix3(entries, what)
        skew = max(abs(xy - yx), abs(xz - zx), abs(yz - zy))
        if skew > INERTIA_TOLERANCE * (abs(xx) + abs(yy) + abs(zz)):
            raise ModelError(f"{what}: the matrix is not symmetric (entries differ by {skew:.3g}), got {show(value)}")
        if skew:
            xy, xz, yz = 0.5 * (xy + yx), 0.5 * (xz + zx), 0.5 * (yz + zy)
    else:
        raise ModelError(
            f"{what}: expected 3 numbers (diagonal), 6 (xx yy zz xy xz yz) or a symmetric 3x3 matrix, got {show(value)}"
        )
    J = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    trace = xx + yy + zz
    if not math.isfinite(trace * trace):
        raise ModelError(f"{what}: too large to compute with, got {show(value)}")
    if possible and not is_possible(xx, yy, zz, xy, xz, yz) and J != ZERO33:
        raise ModelError(f"{what}: {_why_impossible(J)}")
    return J


def is_possible(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float) -> bool:
    """Whether a rigid body may have this inertia, which is not zero; False where its square overflows."""
    trace = xx + yy + zz
    if not isfinite(trace * trace):
        return False
    half = 0.5 * trace
    slack = 0.5 * INERTIA_TOLERANCE * trace  # the eigenvalues below are half of J1 + J2 - J3
    round_off = INERTIA_ROUND_OFF * trace
    if xy == xz == yz == 0.0:
        return (xx + round_off > 0.0 and yy + round_off > 0.0 and zz + round_off > 0.0
                and half - xx + slack > 0.0 and half - yy + slack > 0.0 and half - zz + slack > 0.0)
    return _positive(xx + round_off, yy + round_off, zz + round_off, xy, xz, yz) and _positive(
        half - xx + slack, half - yy + slack, half - zz + slack, -xy, -xz, -yz
    )


def _positive(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float) -> bool:
    """Whether a symmetric 3x3 matrix is positive definite: the pivots of L D L^T."""
    if not xx > 0.0:
        return False
    d2 = yy - xy * xy / xx
    if not d2 > 0.0:
        return False
    l32 = yz - xz * xy / xx
    return zz - xz * xz / xx - l32 * l32 / d2 > 0.0


def _why_impossible(J: Mat3) -> str:
    small, middle, large = np.linalg.eigvalsh(np.array(J)).tolist()
    moments = f"principal moments {small:.6g}, {middle:.6g}, {large:.6g} kg m^2"
    advice = "Expected is the inertia about the centre of mass in body axes."
    if small < 0.0:
        return f"not positive: {moments}. {advice}"
    return (
        f"no rigid body has {moments}: they violate the triangle inequality "
        f"({small:.6g} + {middle:.6g} < {large:.6g}). {advice}"
    )


def _from_quaternion(entries: Any, what: str) -> Mat3:
    w, x, y, z = vector(entries, what, 4)
    norm = math.hypot(w, x, y, z)
    if abs(norm - 1.0) > ROTATION_TOLERANCE:
        raise ModelError(
            f"{what}: expected a unit quaternion (w, x, y, z), got ({w}, {x}, {y}, {z}) of length "
            f"{norm:.9g}; divide it by its length"
        )
    w, x, y, z = w / norm, x / norm, y / norm, z / norm
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )


def _nearest_rotation(R: Mat3) -> Mat3:
    left, _, right = np.linalg.svd(np.array(R))
    a, b, c = (left @ right).tolist()
    return tuple(a), tuple(b), tuple(c)
