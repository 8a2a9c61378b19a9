"""What a status code of the compiled code means, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import lazy
from .core import checks
from .core import constants as L
from .core.checks import ANGLE_LIMIT, LIMIT
from .errors import SingularInertiaError, StateError
from .inputs import Array
from .model.checks import show
from .model.constraints import UserRows
from .model.drives import Drive, Harmonic, Spline
from .model.model import Model
from .model.user_rows import rows_of, values_of
from .workspace import places

# Rows closer to each other than this, masses further apart than this: what is said where no digits are left.
NEARLY_DEPENDENT, UNEQUAL = 1e-3, 1e8
CONFLICT = 1e-5  # of what is added in a row: what may be left of it
# name, meaning: in the order of the codes
CODES = (
    ("OK", "all is well"),
    ("BAD_Q", "q is not finite, or an angle or distance is beyond 1e12"),
    ("BAD_P", "p is not finite, or beyond 1e200"),
    ("BAD_TAU", "the joint forces are not finite, or beyond 1e200"),
    ("BAD_QUATERNION", "the length of a quaternion in q is not within 10 % of 1"),
    ("SINGULAR", "a joint has nothing to move (zero articulated inertia), or a drive has no value at this "
                 "time, or constraints contradict each other"),
    ("NOT_FINITE", "the result overflowed"),
    ("BAD_SHAPE", "an array has the wrong size"),
    ("BAD_T", "t is not finite, or beyond 1e200"),
    ("STALE", "this machine code was compiled from other sources of mbkern than those that made the block: "
              "delete the cache of the function that calls it"),
    ("CALLBACK_FAILED", "the function that gives forces or wrenches raised an exception"),
    ("BAD_U", "the joint speeds are not finite, or beyond 1e200"),
    ("BAD_UDOT", "the joint accelerations are not finite, or beyond 1e200"),
    ("BAD_WRENCH", "the wrenches are not finite, or beyond 1e200"),
    ("BAD_X", "x is not finite, or beyond 1e200"),
)


def moving_elements(model: Model) -> list[tuple[Any, Any]]:
    """(body, element) of each node, in the order of the nodes."""
    return [(body, element) for body in model.body_specs for element in body.joint.elements
            if not element.is_constant]


def drive_fault(model: Model, t: float) -> StateError | None:
    """The first drive that has no value at time t, in words; None when all have. What it raised is the cause."""
    for body in model.body_specs:
        for k, element in enumerate(body.joint.elements):
            if isinstance(element.amount, Drive):
                why, cause = _no_value(element.amount, t)
                if why:
                    error = StateError(f"body {body.name!r}: the drive of step {k + 1} of its joint ({element}) has no "
                                       f"value at t = {t:g}; {why}")
                    error.__cause__ = cause
                    return error
    for constraint in model.constraints:
        amount = getattr(constraint, "length", getattr(constraint, "offset", None))
        if isinstance(amount, Drive):
            why, cause = _no_value(amount, t)
            if why:
                error = StateError(f"constraint {constraint.name!r}: its drive has no value at t = {t:g}; {why}")
                error.__cause__ = cause
                return error
    return None


def conflict(model: Model, block: Array, work: Array, t: float) -> StateError | None:
    """Which rows of constraints contradict each other in the state that was evaluated last, in words; None: none."""
    a, sides = _rows(model, block, work)
    if not np.isfinite(a).all() or not np.isfinite(sides).all():
        return None
    bad: set[int] = set()
    for right in (sides[:, 0], sides[:, 1] if (sides[:, 2] < 0.0).any() else np.zeros(len(a))):
        left = a @ np.linalg.lstsq(a, -right, rcond=1e-9)[0] + right  # speeds, or accelerations, that fit best
        largest = max(float(np.abs(right).max(initial=0.0)), 1e-300)
        bad = bad or set(np.flatnonzero(np.abs(left) > CONFLICT * largest).tolist())
    if not bad:
        return None
    names = [name for k, name in enumerate(model.row_names) if k in bad]
    return StateError(
        f"constraints contradict each other at t = {t:g}: no motion satisfies {'; '.join(map(repr, names[:6]))}"
        f"{', ...' if len(names) > 6 else ''} together with the others. Rows that depend on each other in this pose "
        "must ask for the same: look at prescribed motion, or leave one of them out (system.mobility(q) lists them)")


def unsolved(model: Model, block: Array, work: Array, t: float) -> StateError | None:
    """Rows that do not contradict each other and could not be satisfied all the same, in words; None: none.

    Either they nearly depend on each other in this pose, or bodies are so unequal that their matrix has eigenvalues
    as far apart.
    """
    at = places.margins_at(block)
    a, sides = _rows(model, block, work)
    first = int(lazy.module("_plain_core.layout").speeds_at(block))
    u = work[first:first + model.nv]  # margins are those of accelerations, where these were asked for
    left, size = np.abs(a @ u + sides[:, 0]), (np.abs(a) @ np.abs(u) + np.abs(sides[:, 0])).max()
    wrong = (sides[:, 2] < 0.0) | ((left > CONFLICT * size) & ~(work[at] > 0.0))
    bad = [name for name, is_wrong in zip(model.row_names, wrong, strict=True) if is_wrong]
    masses = {body.name: float(body.mass) for body in model.body_specs if body.mass > 0.0}
    if not bad or not masses or not (work[at + 1:at + int(block[L.N_NODES])] > 0.0).all():  # a joint moves nothing
        return None
    light, heavy = min(masses, key=masses.__getitem__), max(masses, key=masses.__getitem__)
    begin = (f"constraints could not be solved at t = {t:g}: no digits are left of {'; '.join(map(repr, bad[:6]))}"
             f"{', ...' if len(bad) > 6 else ''}. ")
    lengths = np.linalg.norm(a, axis=1, keepdims=True)
    parts = np.linalg.svd(a / np.where(lengths > 0.0, lengths, 1.0), compute_uv=False)
    K, of_constraints = lazy.module("_plain_core.constraint_layout"), int(block[L.AT_CONSTRAINTS])
    alike = not block[of_constraints + K.UNEQUAL]
    if alike or (parts[-1] < NEARLY_DEPENDENT and masses[heavy] < UNEQUAL * masses[light]):
        owners = [constraint.name for constraint in model.constraints for _ in range(constraint.rows)]
        moving = list(dict.fromkeys(name for name, b in zip(owners, sides[:, 0], strict=True) if b != 0.0))[:6]
        return StateError(
            f"{begin}In this pose, a dead point or close to one, rows vanish or nearly depend on each other: the "
            "speeds or forces that they ask for are beyond all bounds. "
            + (f"What is prescribed to {', '.join(map(repr, moving))} leads up to the end of its reach, or beyond; "
               "prescribe less" if moving else
               "Begin in another pose, with other speeds, or leave out what holds the machine there")
            + " (system.mobility(q) tells what can move)")
    return StateError(
        f"{begin}The bodies of a loop must not differ by more than about 1e10 in their "
        f"mass (here {light!r} ({masses[light]:.3g} kg) and {heavy!r} ({masses[heavy]:.3g} kg)), rotors included; give "
        "the light one more mass, or close the loop without it (kind \"distance\" is a bar without mass)")


def _rows(model: Model, block: Array, work: Array) -> tuple[Array, Array]:
    """a, and (b, db/dt or adot u + db/dt, margin) of all rows, as they were evaluated last."""
    K, at = lazy.module("_plain_core.constraint_layout"), int(block[L.AT_CONSTRAINTS])
    objects = int(block[at + K.AT_OBJECTS])
    table = block[objects:objects + len(model.constraints) * K.CONSTRAINT].reshape(-1, K.CONSTRAINT)
    a, sides = np.zeros((model.n_rows, model.nv)), np.zeros((model.n_rows, 3))
    for row in table:
        n, entries, first = int(row[K.N_A]), int(row[K.A_LIST]), int(K.a_at(block) + row[K.AT_COEFFICIENTS])
        dofs = block[entries:entries + n * K.A_ENTRY:K.A_ENTRY].astype(int)
        for r in range(int(row[K.N_OWN_ROWS])):
            k, own = int(row[K.PUBLIC]) + r, K.scalar_row(block, int(row[K.FIRST_ROW]) + r)
            a[k, dofs] = work[first + r * n:first + (r + 1) * n]
            sides[k] = work[own + K.R_B], work[own + K.R_BD], work[own + K.R_MARGIN]
    return a, sides


def asked_of_rows(model: Model, block: Array, work: Array) -> Array | None:
    """The configuration that a user's rows were last asked for (a view); None where there are none."""
    if not any(isinstance(constraint, UserRows) for constraint in model.constraints):
        return None
    at = int(lazy.module("_plain_core.constraint_layout").user_at(block)) + model.nq
    q: Array = work[at:at + model.nq]
    return q


def rows_fault(model: Model, q: Array | None, t: float) -> StateError | None:
    """The first function for rows of constraints that raises or gives no finite ones, in words: it is called again."""
    if q is None:
        return None
    for constraint in model.constraints:
        if isinstance(constraint, UserRows):
            try:
                found: tuple[Array, ...] = rows_of(constraint, t, q, model.nv)
                if constraint.position is not None:
                    found = (*found, values_of(constraint, t, q))
            except Exception as cause:
                error = StateError(f"constraint {constraint.name!r}: the function {constraint.f.__name__!r} raised "
                                   f"{type(cause).__name__}: {cause} (t = {t:.9g} s)")
                error.__cause__ = cause
                return error
            if not all(np.isfinite(x).all() for x in found):
                return StateError(f"constraint {constraint.name!r}: the function {constraint.f.__name__!r} gave rows "
                                  f"that are not finite (t = {t:.9g} s, q = {show(q)})")
    return None


def _no_value(drive: Drive, t: float) -> tuple[str, Exception | None]:
    """Why a drive has no value at time t (or nothing), and what its function raised; the rules of
    :mod:`mbkern.core.drives`."""
    if isinstance(drive, Harmonic):
        angle = drive.omega * t + drive.phase
        if not abs(angle) <= ANGLE_LIMIT:
            return f"omega t + phase is {angle:g}, and the sine of an angle beyond {ANGLE_LIMIT:g} means nothing", None
    try:
        x, xdot, xddot = drive(t)
    except StateError:  # of a spline
        if isinstance(drive, Spline):
            return f"it is defined from t = {drive.t[0]:g} to {drive.t[-1]:g}", None
        return "it failed", None
    except Exception as problem:  # of a user's function
        name = getattr(getattr(drive, "f", None), "__name__", "?")
        return f"its function {name!r} raised {type(problem).__name__}: {problem}", problem
    if abs(x) <= ANGLE_LIMIT and abs(xdot) <= LIMIT and abs(xddot) <= LIMIT:
        return "", None
    return (f"it gives x = {x:g}, xdot = {xdot:g}, xddot = {xddot:g}, expected finite numbers, x within "
            f"+-{ANGLE_LIMIT:g}, the others within +-{LIMIT:g}"), None


def failure(model: Model, block: Array, work: Array, code: int, t: float) -> StateError:
    """The error that a status of a kernel at time t stands for; its arguments were good."""
    if code == checks.SINGULAR:
        return singular(model, block, work, t)
    return drive_fault(model, t) or rows_fault(model, asked_of_rows(model, block, work), t) or StateError(
        "the result is not finite: coordinates, momenta or forces are too large for this model")


def singular(model: Model, block: Array, work: Array, t: float) -> StateError:
    """Which drive has no value at time t, or which node a margin that is not positive, in words."""
    fault = drive_fault(model, t)
    if fault is not None:
        return fault
    if model.constraints:
        clash = (rows_fault(model, asked_of_rows(model, block, work), t) or conflict(model, block, work, t)
                 or unsolved(model, block, work, t))
        if clash is not None:
            return clash
    at = places.margins_at(block)
    margins = work[at:at + int(block[L.N_NODES])]
    bad = np.flatnonzero(~(margins > 0.0))
    body, element = moving_elements(model)[int(bad[-1])] if bad.size else (None, None)
    if body is None or element is None or element.is_driven:  # at the very end of its range
        return StateError(f"a drive has no value at t = {t:g}")
    remedy = "give the body or a body beyond it mass or inertia there, or its joint armature"
    if len([e for e in body.joint.elements if e.nv]) > 1:
        remedy += ", or leave this configuration if axes of the joint line up in it (gimbal lock; ball() has none)"
    return SingularInertiaError(
        f"body {body.name!r}: its {body.joint.kind} joint ({element}) has nothing to move at t = {t:g}: the "
        f"articulated inertia along it is zero to rounding; {remedy}", body.name, body.joint.kind)


def load_fault(functions: dict[str, Any], model: Model, t: float, q: Array, p: Array) -> StateError | None:
    """The first of the functions "tau", "wrench" that raises or gives no finite forces at a state, in words."""
    callbacks = lazy.module("callbacks")
    name_of, raised = callbacks.name_of, callbacks.raised
    for what, f in functions.items():
        out = np.zeros(model.nv) if what == "tau" else np.zeros((model.n_bodies, 6))
        where = f"the function {name_of(f)!r} for {what}"
        u = [lazy.module("system").System(model).velocities(q, p, t)] if callbacks.wants_speeds(f) else []
        cause = raised(f, t, q.copy(), p.copy(), *u, out)
        if cause is not None:
            error = StateError(f"{where} raised {type(cause).__name__}: {cause} (t = {t:.9g} s)")
            error.__cause__ = cause
            return error
        bad = ~(np.abs(out) <= LIMIT)
        if bad.any():
            place = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
            return StateError(f"{where} gave out[{', '.join(map(str, place))}] = {out[place]}: not finite, or beyond "
                              f"{LIMIT:g} (t = {t:.9g} s)")
    return None


def plain_fault(callbacks: dict[str, Any], t: float) -> StateError | None:
    """What a function in plain Python raised, in words: it may not do so again."""
    for what, callback in callbacks.items():
        if callback.error is not None:
            cause, callback.error = callback.error, None
            name = lazy.module("callbacks").name_of(callback.function)
            error = StateError(f"the function {name!r} for {what} raised {type(cause).__name__}: {cause} "
                               f"(t = {t:.9g} s)")
            error.__cause__ = cause
            return error
    return None


def error_of(model: Model, frame: Array) -> StateError | None:
    """The error that the status of a frame stands for; None when all is well."""
    code, size = int(frame[L.STATUS]), int(frame[L.SIZE])
    if code == checks.OK:
        return None
    if code == checks.SINGULAR:
        return singular(model, frame[:size], frame[size:], float(frame[L.LAST_TIME]))
    name, meaning = CODES[code]
    return StateError(f"{name}: {meaning}")
