"""Which quasi-velocities a formulation uses: those that the user names or defines, or the best of all speeds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numba import njit
from numba.extending import is_jitted

from ..errors import StateError
from ..inputs import Array
from ..model.checks import show
from ..system import System
from .conditioning import skeel
from .functions import QuasiVelocities
from .ignorable import Ignorable, candidates, momentum_of, whole_free_joints
from .mechanism import Mechanism
from .named import NamedSpeeds, Row, named_speeds, row_of

MOST_SUBSETS = 400  # choices of quasi-velocities that are all tried; beyond it one pivoted elimination decides
POSES = 8
MOST_NAMES = 12  # in a message
NEVER = 1e-13  # 1/cond of S that is singular to rounding
MOST_ROWS = 100  # of S, that are looked at before a run

Quasi = QuasiVelocities | tuple[int, ...]  # by a function or by names; indices when all are speeds


def lower_rows(mechanism: Mechanism, ignored: Sequence[Ignorable], t: float, q: Array) -> Array:
    """B = [M_I; a]."""
    B, s = np.zeros((len(ignored) + mechanism.r, mechanism.m)), len(ignored)
    if s:
        M = mechanism.system.mass_matrix(q, t)
        for k, entry in enumerate(ignored):
            B[k] = [momentum_of(entry, q, column) for column in M.T]
    if mechanism.constraints is not None:
        B[s:] = mechanism.constraints.evaluate(t, q, np.zeros(mechanism.m))[0]
    return B


def upper_rows(quasi: Quasi, m: int, t: float, q: Array) -> Array:
    """Y."""
    if isinstance(quasi, QuasiVelocities):
        return quasi.evaluate(t, q, np.zeros(m))[0]
    return np.eye(m)[list(quasi)]


def rcond(mechanism: Mechanism, ignored: Sequence[Ignorable], quasi: Quasi, t: float, q: Array) -> float:
    """1/cond of S = [Y; B]."""
    Y = upper_rows(quasi, mechanism.m, t, q)
    return skeel(np.vstack((Y, lower_rows(mechanism, ignored, t, q))))


def listed(names: Sequence[str]) -> str:
    """Names for messages; of many the first and the last."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:3])}, ..., {names[-1]}: {len(names)} in all"


def names_of(quasi: Quasi, speed_names: Sequence[str]) -> tuple[str, ...]:
    """Names of quasi-velocities."""
    if isinstance(quasi, QuasiVelocities):
        return tuple(quasi.names)
    return tuple(speed_names[j] for j in quasi)


def given_quasi(mechanism: Mechanism, ignored: tuple[Ignorable, ...], quasi: Any) -> Quasi:
    """The quasi-velocities that a user names or defines, checked."""
    m, r, s = mechanism.m, mechanism.r, len(ignored)
    needed, rule = m - r - s, f"{m} speeds - {r} constraints" + (f" - {s} ignorable" if s else "")
    if isinstance(quasi, QuasiVelocities):
        if quasi.count != needed:
            raise StateError(f"quasi: expected {needed} quasi-velocities ({rule}), got {quasi.count}")
        if not isinstance(quasi, NamedSpeeds):
            mechanism.check_rate(quasi, "quasi", "Ydot v + Zdot")
        return quasi
    try:
        names = [quasi] if isinstance(quasi, str) else list(quasi)
    except Exception:  # of any kind: it is asked for its parts
        raise StateError(f"quasi: expected names of speeds or mb.analytic.QuasiVelocities(f, count), got "
                         f"{show(quasi)}") from None
    known = named_speeds(mechanism.system)
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise StateError(f"quasi: {show(name)} is not one of the speeds {', '.join(known)}")
    if len(names) != needed or len(set(names)) != needed:
        raise StateError(f"quasi: expected {needed} different quasi-velocities ({rule}), got {len(names)}: "
                         f"{', '.join(names)}")
    rows, taken = [known[name] for name in names], _determined(ignored)
    for name, row in zip(names, rows, strict=True):
        if row in taken:
            raise StateError(f"quasi: {name!r} is the speed of an ignorable coordinate, which its momentum gives "
                             "already; choose another")
    return _of_rows(mechanism, rows)


def check_determines(mechanism: Mechanism, ignored: tuple[Ignorable, ...], quasi: Quasi) -> None:
    """Raise when S is singular to rounding in all of some random poses, and say which rows depend on each other."""
    distinct = not mechanism.r and (not isinstance(quasi, QuasiVelocities) or isinstance(quasi, NamedSpeeds))
    if distinct or mechanism.m > MOST_ROWS:
        return
    weights = np.zeros(mechanism.m)
    for seed in range(POSES):
        t, q, _ = mechanism.sample(seed)
        try:
            S = np.vstack((upper_rows(quasi, mechanism.m, t, q), lower_rows(mechanism, ignored, t, q)))
        except StateError:  # a function has no value there
            return
        if skeel(S) > NEVER:
            return
        size = np.linalg.norm(S, axis=1)
        left, _, _ = np.linalg.svd(S / np.where(size > 0.0, size, 1.0)[:, None])
        weights = np.maximum(weights, np.abs(left[:, -1]))
    u = names_of(quasi, mechanism.speed_names)
    names = [*u, *(f"the momentum of {x.name}" for x in ignored), *(f"constraint {k}" for k in range(mechanism.r))]
    guilty = [k for k in range(len(names)) if weights[k] > 0.1 * weights.max()]
    if min(guilty) < len(u):  # else the constraints alone, which is said where they are used
        raise StateError(f"quasi: u = ({listed(u)}) do not determine the speeds in any of {POSES} random poses: these "
                         f"rows of S are linearly dependent: {listed([names[k] for k in guilty])}; choose others")


def best_quasi(mechanism: Mechanism, ignored: tuple[Ignorable, ...],
               poses: Sequence[tuple[float, Array]] = ()) -> Quasi:
    """Those whose S is best conditioned in the worst of some poses (t, q), random ones when none are given."""
    needed, free = mechanism.m - mechanism.r - len(ignored), _free_rows(mechanism, ignored)
    if len(free) == needed:
        return _of_rows(mechanism, free)
    every = NamedSpeeds(_nothing, len(free), rows=tuple(free))
    rows = [(every.evaluate(t, q, np.zeros(mechanism.m))[0], lower_rows(mechanism, ignored, t, q))
            for t, q in poses or [mechanism.sample(seed)[:2] for seed in range(POSES)]]
    if comb(len(free), needed) <= MOST_SUBSETS:
        best = max(combinations(range(len(free)), needed),
                   key=lambda k: min(skeel(np.vstack((Y[list(k)], B))) for Y, B in rows))
    else:  # null vectors of B: what a pivoted elimination takes first spans them best
        from scipy.linalg import null_space, qr

        Y, B = rows[0]
        *_, order = qr((Y @ null_space(B)).T, pivoting=True)
        best = tuple(sorted(int(k) for k in order[:needed]))
    return _of_rows(mechanism, [free[k] for k in best])


def with_speed_of(mechanism: Mechanism, quasi: Quasi, released: Ignorable) -> Quasi | None:
    """The same quasi-velocities and the rate of a coordinate that is ignored no longer; None where there is no way."""
    row = row_of(released)
    if not isinstance(quasi, QuasiVelocities):
        return _of_rows(mechanism, [*((j, -1, 0, -1) for j in quasi), row])
    if isinstance(quasi, NamedSpeeds):
        return _of_rows(mechanism, [*quasi.rows, row])
    if released.quaternion >= 0:
        return None
    f, rate, n, speed = quasi.f, quasi.rate, quasi.count, released.speed

    def values(t, q, v, Y, Z, out):
        f(t, q, v, Y[:n], Z[:n], out[:n])
        Y[n, speed] = 1.0

    def rates(t, q, v, Y, Z, out):
        rate(t, q, v, Y[:n], Z[:n], out[:n])

    compiled = is_jitted(f) and (rate is None or is_jitted(rate))
    jit = njit if compiled else (lambda function: function)
    names = (*quasi.names, f"{released.name}'")
    return QuasiVelocities(jit(values), n + 1, names, None if rate is None else jit(rates))


def pattern_of(mechanism: Mechanism, quasi: Quasi) -> Any:
    """Where Y of a function is not zero, at any of some random states where it has a value.

    A number elsewhere is noticed by the kernels, which then take S as any other.
    """
    if not isinstance(quasi, QuasiVelocities):
        return None
    pattern = np.zeros((quasi.count, mechanism.m), bool)
    for seed in range(POSES):
        with suppress(Exception):
            pattern |= quasi.evaluate(*mechanism.sample(seed))[0] != 0.0
    return pattern


def _determined(ignored: tuple[Ignorable, ...]) -> set[Row]:
    """What momenta determine: of a free joint also the linear speeds when all three positions are ignorable."""
    rows = {row_of(entry) for entry in ignored}
    for first in whole_free_joints(ignored):
        rows |= {(first + k, -1, 0, -1) for k in range(3)}
    return rows


def _free_rows(mechanism: Mechanism, ignored: tuple[Ignorable, ...]) -> list[Row]:
    """The speeds that momenta do not determine.

    Of a free joint some of whose positions are ignorable: rates of the others, not its linear speeds, which turn with
    the body.
    """
    taken = _determined(ignored)
    turning = {first for first, quaternion, *_ in taken if quaternion >= 0} - whole_free_joints(ignored)
    free: list[Row] = []
    for j in range(mechanism.m):
        if j in turning:
            positions = (row_of(entry) for entry in candidates(mechanism.system) if entry.quaternion >= 0)
            free += [row for row in positions if row[0] == j and row not in taken]
        elif (j, -1, 0, -1) not in taken and not {j - 1, j - 2} & turning:
            free.append((j, -1, 0, -1))
    return free


def _of_rows(mechanism: Mechanism, rows: Sequence[Row]) -> Quasi:
    """Quasi-velocities of rows: indices when all are speeds."""
    if all(quaternion < 0 and body < 0 for _, quaternion, _, body in rows):
        return tuple(speed for speed, _, _, _ in rows)
    assert isinstance(mechanism.system, System)
    names = {row: name if row[1] < 0 else f"{name}'" for name, row in named_speeds(mechanism.system).items()}
    return NamedSpeeds(_nothing, len(rows), tuple(names[row] for row in rows), rows=tuple(rows),
                       block=mechanism.system.block)


def _nothing(*_: Any) -> None:
    """The function of quasi-velocities that need none."""
