"""A user's rows of constraints, tried once as ordinary Python when a model is built: wrong shapes and NaN show here."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbkern.errors import ModelError

if TYPE_CHECKING:
    from mbkern.model.body import Body
    from mbkern.model.constraints import UserRows

T = 0.3  # of the trial
SHORT = 1e-5  # time of a difference quotient
CLOSE = 1e-6  # between it and a u + b


def wants_rate(f: Any) -> bool:
    """Whether a function has the form f(t, q, v, a, b, rate) of `mb.analytic.Constraints`."""
    try:
        return len(inspect.signature(getattr(f, "py_func", f)).parameters) == 6
    except (TypeError, ValueError):
        return False


def rows_of(constraint: UserRows, t: float, q: np.ndarray, nv: int) -> tuple[np.ndarray, np.ndarray]:
    """a and b, by the function as ordinary Python."""
    a, b = np.zeros((constraint.rows, nv)), np.zeros(constraint.rows)
    f = getattr(constraint.f, "py_func", constraint.f)
    if wants_rate(f):
        f(t, q.copy(), np.zeros(nv), a, b, np.zeros(constraint.rows))
    else:
        f(t, q.copy(), a, b)
    return a, b


def values_of(constraint: UserRows, t: float, q: np.ndarray) -> np.ndarray:
    """g, likewise."""
    g = np.zeros(constraint.rows)
    position: Any = constraint.position
    getattr(position, "py_func", position)(t, q.copy(), g)
    return g


def trial_of_rows(constraint: UserRows, bodies: Sequence[Body]) -> None:
    """Raise where the functions fail at a configuration, give NaN, or do not belong together."""
    nv, who = sum(body.joint.nv for body in bodies), f"constraint {constraint.name!r}"
    rng, steps = np.random.default_rng(1), []
    numbers: list[float] = []
    for body in bodies:
        for element in body.joint.elements:
            x = rng.uniform(0.2, 0.8, element.nq)
            if element.quaternion is not None:
                x[-4:] /= np.linalg.norm(x[-4:])
            steps += [element.quaternion is None] * element.nq
            numbers += x.tolist()
    q = np.array(numbers)
    found: list[tuple[Any, str]] = []
    try:
        a, b = rows_of(constraint, T, q, nv)
        found = [(a, "a"), (b, "b")]
        if constraint.position is not None:
            found.append((values_of(constraint, T, q), "g"))
    except Exception as error:
        raise ModelError(f"{who}: its function failed at a trial call with q of {q.size} numbers, a of shape "
                         f"({constraint.rows}, {nv}), b and g of {constraint.rows}: {type(error).__name__}: "
                         f"{error}") from error
    for array, what in found:
        if not np.isfinite(array).all():
            raise ModelError(f"{who}: its function gave {what} = {array.tolist()} at a trial call with q = "
                             f"{q.round(3).tolist()}: not finite; rows must be defined everywhere near the motion")
    if constraint.position is not None and all(steps):  # where speeds are the rates of coordinates
        u = rng.normal(size=nv)
        ahead, behind = (values_of(constraint, T + s * SHORT, q + s * SHORT * u) for s in (1, -1))
        quotient = (ahead - behind) / (2 * SHORT)
        off = np.abs(quotient - a @ u - b)
        if (off > CLOSE * (1.0 + np.abs(a) @ np.abs(u) + np.abs(b))).any():
            k = int(np.argmax(off))
            raise ModelError(f"{who}: row {k} is not the time derivative of its position: at a trial state a u + b is "
                             f"{(a @ u + b)[k]:.6g}, a difference quotient of g gives {quotient[k]:.6g}")
