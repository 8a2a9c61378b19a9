"""Constraints on a random tree, closed in a given configuration, and the motion with multipliers, dense.

The rows are written from the definitions of the kinds, in world axes, on the frames of `longdense.Dense`. A rate is an
array (..., nv + 1): what each joint speed contributes, and in the last column what drives and time alone do. So a row

    a u + b = 0          is kept as (a, b), and its rate at constant u comes from a complex step along the motion;

    [M  -a^T] [udot  ]   [pdot - drift ]        pdot of the tree without constraints, drift = dp/dt at constant u
    [a    0 ] [lambda] = [-(a u + b)'  ]        dp/dt with them = pdot + a^T lambda
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from longdense import Dense, Tree, cross, motion, solve

import mbkern as mb
from mbkern.model.constraints import LOOPS

KINDS = (*LOOPS, "driven distance", "driven plane", "gear", "gear of several", "driven gear", "blade", "disc", "wheel",
         "sphere", "slipping wheel")
PLACES = ("on the ground", "on its own path", "on another branch", "on another root")
STEP = 1e-30


@dataclass
class Constraint:
    """Arguments of a method of `ModelBuilder`, and what the reference needs of them."""

    kind: str
    method: str
    arguments: dict[str, Any]
    bodies: tuple[int, int] = (-1, -1)
    order: tuple[int, ...] = (0, 1, 2)  # of the axes, so that the one of the kind comes last
    numbers: dict[str, Any] = field(default_factory=dict)

    def add_to(self, builder: mb.ModelBuilder) -> None:
        given = {name: mb.harmonic(*value[1:]) if isinstance(value, tuple) and value[:1] == ("drive",) else value
                 for name, value in self.arguments.items()}
        getattr(builder, self.method)(**given)


def value_of(amount, t, number):
    """An amount at a time, and its rate: a number, or ("drive", amplitude, omega, phase, offset)."""
    if not isinstance(amount, tuple):
        return number(amount), number(0)
    A, omega, phase, offset = (number(c) for c in amount[1:])
    return offset + A * np.sin(omega * number(t) + phase), A * omega * np.cos(omega * number(t) + phase)


class Place:
    """A frame on a body: axes and origin in the world, and their rates."""

    def __init__(self, dense: Dense, body: int, position, rotation) -> None:
        n, nv = dense.number, dense.tree.nv
        if body < 0:
            R, r, none = np.eye(3, dtype=n), np.zeros(3, n), (np.zeros((3, nv), n), np.zeros(3, n))
            v = w = none
        else:
            R, r, v, w = dense.frames[body]
        self.turning = np.column_stack([w[0], w[1]])
        self.axes = R @ np.array(rotation).astype(n)
        self.origin = r + R @ np.array(position).astype(n)
        self._at, self._moving = r, np.column_stack([v[0], v[1]])

    def velocity(self, point):
        """Of the material point of the body that is there."""
        return self._moving - cross((point - self._at)[:, None], self.turning)

    def axis_rate(self, k):
        return cross(self.turning, self.axes[:, k][:, None])


def rows(constraint: Constraint, dense: Dense, t) -> tuple[np.ndarray, np.ndarray]:
    """What the rows keep at zero, and their rates (a, b); a row of velocities alone has the value 0."""
    if constraint.method == "add_gear":
        return _gear(constraint, dense, t)
    given, number = constraint.arguments, dense.number
    if constraint.method == "add_loop":
        A = Place(dense, constraint.bodies[0], given["position_a"], given["rotation_a"])
        B = Place(dense, constraint.bodies[1], given["position_b"], given["rotation_b"])
        return _loop(constraint, A, B, value_of(given.get("length", 0.0), t, number))
    if constraint.method == "add_blade":
        A = Place(dense, constraint.bodies[0], given["position"], given["rotation"])
        B = Place(dense, constraint.bodies[1], (0.0, 0.0, 0.0), np.eye(3))
        axis = A.axes[:, "xyz".index(given["across"])]
        return np.zeros(1, number), (axis @ (A.velocity(A.origin) - B.velocity(A.origin)))[None]
    return _rolling(constraint, dense)


def _loop(constraint, A, B, length):
    kind, n = constraint.kind.removeprefix("driven "), A.origin.dtype.type
    x, y, z = constraint.order
    d, rate = A.origin - B.origin, A.velocity(A.origin) - B.velocity(B.origin)

    def along(k):
        return B.axes[:, k] @ d, B.axes[:, k] @ rate + d @ B.axis_rate(k)

    def square(i, j):
        return A.axes[:, i] @ B.axes[:, j], A.axes[:, i] @ B.axis_rate(j) + B.axes[:, j] @ A.axis_rate(i)

    def height():
        g, gdot = along(z)
        gdot[-1] -= length[1]
        return g - length[0], gdot

    def distance():
        # divided by the length at rest, or by 1 m where it is driven: the square keeps the row smooth
        size = n(1) if constraint.kind.startswith("driven") else length[0]
        gdot = d @ rate / size
        gdot[-1] -= length[0] * length[1] / size
        return (d @ d - length[0] ** 2) / (2 * size), gdot

    point, parallel, turned = [along(x), along(y), along(z)], [square(x, z), square(y, z)], square(x, y)
    chosen = {"point": point, "revolute": point + parallel, "prismatic": [*point[:2], turned, *parallel],
              "cylindrical": point[:2] + parallel, "universal": [*point, square(z, x)],
              "weld": [*point, turned, *parallel], "distance": [distance()] if kind == "distance" else [],
              "point-on-line": point[:2], "point-on-plane": [height()], "plane": [height(), *parallel],
              "orientation": [turned, *parallel], "plane-point": point[:2], "plane-prismatic": [along(y), turned],
              "plane-weld": [*point[:2], turned]}[kind]
    return np.array([g for g, _ in chosen], n), np.array([gdot for _, gdot in chosen], n)


def _rolling(constraint, dense):
    number, given = dense.number, constraint.arguments
    radius, tube = (number(constraint.numbers[name]) for name in ("radius", "tube"))
    W = Place(dense, constraint.bodies[0], given["position"], constraint.numbers["rotation"])
    E = Place(dense, constraint.bodies[1], given["plane_position"], constraint.numbers["plane_rotation"])
    n, z, d = E.axes[:, 2], W.axes[:, 2], W.origin - E.origin
    cosine = n @ z
    sine = np.sqrt(1 - cosine * cosine)
    contact = W.origin - tube * n - (radius * (n - cosine * z) / sine if radius else 0)
    height = n @ d - radius * sine - tube
    nrate = E.axis_rate(2)
    rate = n @ (W.velocity(W.origin) - E.velocity(E.origin)) + d @ nrate
    if radius:
        rate = rate + radius * cosine / sine * (n @ W.axis_rate(2) + z @ nrate)
    if constraint.kind.startswith("slipping"):
        return np.array([height]), rate[None]
    slip = W.velocity(contact) - E.velocity(contact)
    return np.array([height, 0, 0], number), np.array([rate, E.axes[:, 0] @ slip, E.axes[:, 1] @ slip])


def _gear(constraint, dense, t):
    n, nv = dense.number, dense.tree.nv
    offset, rate = value_of(constraint.arguments["offset"], t, n)
    (place, dof), *others = constraint.numbers["places"]
    g, gdot = dense.q[place] - offset, np.zeros(nv + 1, n)
    gdot[dof], gdot[-1] = 1, -rate
    for (place, dof), coefficients in zip(others, constraint.numbers["polynomials"], strict=True):
        x = dense.q[place]
        for k, c in enumerate(coefficients):
            g = g - n(c) * x**k
            gdot[dof] -= n(c) * k * (x ** (k - 1) if k else 0)
    return np.array([g], n), gdot[None]


# ---- a constraint that is closed in a configuration ------------------------------------------------------------------

def drawn(kind: str, rng: np.random.Generator, tree: Tree, q, t, pair: tuple[int, int], gear=()) -> Constraint:
    """Of this kind, between these bodies (-1 is the ground) or, for gears, these ((place in q, dof, name), ...)."""
    if "gear" in kind:
        return _drawn_gear(kind, rng, q, t, gear)
    dense, names = Dense(tree, q, t, np.float64), [f"b{i}" if i >= 0 else "world" for i in pair]
    (Ra, ra), (Rb, rb) = ((np.eye(3), np.zeros(3)) if i < 0 else dense.frames[i][:2] for i in pair)
    here, axes = ra + Ra @ rng.normal(size=3) * 0.5, turned(rng)  # a frame in the world, fixed to body a
    word = "xyz"[int(rng.integers(3))]
    if kind == "blade":
        return Constraint(kind, "add_blade", dict(name="c", body=names[0], position=local(Ra, ra, here), across=word,
                                                  rotation=rotation(Ra, axes), on=names[1]), pair)
    if kind in ("disc", "wheel", "sphere", "slipping wheel"):
        return _drawn_wheel(kind, rng, pair, names, (Ra, ra), (Rb, rb), here)
    k = "xyz".index(word)
    order = ((k + 1) % 3, (k + 2) % 3, k)
    form, own, there, length = kind.removeprefix("driven "), axes.copy(), here.copy(), {}
    x, y, z = (axes[:, i] for i in order)
    if form in ("prismatic", "cylindrical", "point-on-line"):
        there = here + 0.4 * z
    elif form in ("point-on-plane", "plane", "plane-prismatic"):
        there = here + 0.3 * x + (0.0 if form == "plane-prismatic" else 0.25 * z - 0.2 * y)
    elif form in ("distance", "orientation"):
        there = here + rng.normal(size=3)
    elif form in ("plane-point", "plane-weld"):
        there = here + 0.1 * z
    if form in ("revolute", "cylindrical", "plane"):
        own = about(z, 0.7) @ axes
    elif form in ("point", "distance", "point-on-line", "point-on-plane", "plane-point"):
        own = turned(rng)
        if form not in ("point", "distance"):
            own, axes = axes, own  # those of b matter
    elif form == "universal":
        own = about(z, 0.4) @ about(x, 0.6) @ axes  # x of b stays square to z of a
    if kind == "distance":
        length["length"] = float(np.linalg.norm(here - there))
    elif kind == "driven distance":
        length["length"] = drive_through(rng, float(np.linalg.norm(here - there)), t)
    elif form in ("point-on-plane", "plane"):
        height = float(own[:, order[2]] @ (here - there))
        length["length"] = drive_through(rng, height, t) if kind.startswith("driven") else height
    return Constraint(kind, "add_loop", dict(
        name="c", body_a=names[0], body_b=names[1], kind=form, position_a=local(Ra, ra, here),
        position_b=local(Rb, rb, there), rotation_a=rotation(Ra, axes), rotation_b=rotation(Rb, own), axis=word,
        **length), pair, order)


def _drawn_wheel(kind, rng, pair, names, a, b, here):
    radius = 0.4
    tube = {"disc": 0.0, "sphere": radius}.get(kind, 0.1)
    normal, axis = (turned(rng)[:, 0] for _ in range(2))
    if kind == "sphere":
        point = here - radius * normal
    else:
        down = -(normal - (normal @ axis) * axis)
        point = here + (radius - tube) * down / np.linalg.norm(down) - tube * normal
    made = Constraint(kind, "add_rolling", dict(
        name="c", body=names[0], radius=radius, kind="sphere" if kind == "sphere" else "disc", position=local(*a, here),
        axis=tuple((a[0].T @ axis).tolist()), tube=tube, on=names[1], plane_position=local(*b, point),
        normal=tuple((b[0].T @ normal).tolist()), slips=kind.startswith("slipping")), pair)
    builder = mb.ModelBuilder()  # which axes in the plane the package takes is its own choice: slip is a 2-vector
    for name in set(names) - {"world"}:
        builder.add_body(name, joint=mb.free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    made.add_to(builder)
    lowered = builder.build().constraints[0]
    made.numbers = dict(radius=lowered.radius, tube=lowered.tube, rotation=lowered.rotation,
                        plane_rotation=lowered.plane_rotation)
    return made


def _drawn_gear(kind, rng, q, t, gear):
    count = 3 if "several" in kind else 2
    places = gear[:count]
    if "several" in kind:
        polynomials = [(0.0, float(c)) for c in rng.normal(size=count - 1)]
        given: dict[str, Any] = dict(ratio=[c[1] for c in polynomials])
    else:
        polynomials = [tuple(rng.normal(size=3).tolist())]
        given = dict(polynomial=polynomials[0])
    offset = float(q[places[0][0]] - sum(sum(c * q[place[0]] ** k for k, c in enumerate(cs))
                                         for place, cs in zip(places[1:], polynomials, strict=True)))
    given["offset"] = drive_through(rng, offset, t) if kind.startswith("driven") else offset
    return Constraint(kind, "add_gear", dict(coordinate=places[0][2], of=[place[2] for place in places[1:]], name="c",
                                             **given),
                      numbers=dict(places=[place[:2] for place in places], polynomials=polynomials))


def drive_through(rng, value, t):
    """A drive that has the value at time t."""
    A, omega, phase = rng.uniform(0.1, 1.0, 3).tolist()
    return ("drive", A, omega, phase, value - A * float(np.sin(omega * t + phase)))


def turned(rng) -> np.ndarray:
    """Any rotation matrix."""
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q if np.linalg.det(Q) > 0 else -Q


def about(axis, angle) -> np.ndarray:
    K = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)


def local(R, r, point):
    return tuple((R.T @ (point - r)).tolist())


def rotation(R, axes):
    return tuple(map(tuple, (R.T @ axes).tolist()))


# ---- the motion ------------------------------------------------------------------------------------------------------

@dataclass
class Closed:
    """The motion with constraints of a state that satisfies them."""

    u: np.ndarray
    p: np.ndarray
    udot: np.ndarray
    pdot: np.ndarray
    g: np.ndarray
    a: np.ndarray
    b: np.ndarray
    terms: np.ndarray  # sizes of what each force is the sum of
    caused: Any  # size of the accelerations that these cause one by one
    condition: float


def joined(constraints, dense, t):
    """All rows: values, a, b."""
    parts = [rows(constraint, dense, t) for constraint in constraints]
    rates = np.concatenate([rate for _, rate in parts])
    return np.concatenate([g for g, _ in parts]), rates[:, :-1], rates[:, -1]


def consistent(tree: Tree, constraints, q, wish, t) -> np.ndarray | None:
    """Joint speeds near a wish that satisfy the rows; None where these are not independent."""
    dense = Dense(tree, q, t, np.float64)
    M, _ = dense.mass_and_drift()
    _, a, b = joined(constraints, dense, t)
    if len(b) >= len(M):
        return None
    scale = np.sqrt(np.diag(M))
    U, s, V = np.linalg.svd(a / scale, full_matrices=False)
    if not s[-1] > 1e-3 * s[0]:
        return None
    return wish - V.T @ ((U.T @ (a @ wish + b)) / s) / scale


def motion_with(tree: Tree, constraints, q, u, t, number=np.longdouble) -> Closed:
    """The motion at speeds u, by the equations above with the inverse of M; u is corrected to satisfy the rows."""
    dense, kind = Dense(tree, q, t, number), (number(0) + 1j).dtype.type
    g, a, b = joined(constraints, dense, t)
    M, _ = dense.mass_and_drift()
    W = np.column_stack([solve(M, row) for row in a])  # M^-1 a^T
    G = a @ W
    u = np.asarray(u).astype(number)
    u = u - W @ solve(G, a @ u + b)
    free = motion(tree, q, u, t, number)
    along = Dense(tree, np.asarray(q).astype(kind) + kind(1j * STEP) * dense._rates(u), kind(t) + kind(1j * STEP), kind)
    _, az, bz = joined(constraints, along, along_time(t, kind))
    gamma = (az @ u + bz).imag / number(STEP)
    multipliers = -solve(G, a @ free.udot + gamma)
    scaled = 1 / np.sqrt(np.diag(G))
    condition = float(np.linalg.cond((G * scaled[:, None] * scaled).astype(float)))
    terms = free.terms + np.abs(a.T) @ np.abs(multipliers)
    caused = np.max(np.abs(np.linalg.inv(M.astype(float))) @ terms.astype(float))
    return Closed(u, free.p, free.udot + W @ multipliers, free.pdot + a.T @ multipliers, g, a, b, terms, caused,
                  condition)


def along_time(t, kind):
    return kind(t) + kind(1j * STEP)


def with_constraints(tree: Tree, constraints, builder: mb.ModelBuilder) -> mb.Model:
    """The machine of the package."""
    for number, constraint in enumerate(constraints):
        named = dict(constraint.arguments, name=f"c{number}")
        replace(constraint, arguments=named).add_to(builder)
    return builder.build()
