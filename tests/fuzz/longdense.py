"""Hamilton's equations of a tree, dense and in any precision, sharing nothing with the package.

The machine comes as a `Tree`: the arguments of `ModelBuilder.add_body` as plain data. All is computed in world axes
from the definitions, without recursion over inertias: with the Jacobians of the centres of mass and of the rotations,

    M = sum m Jv^T Jv + Jw^T I Jw + r        b = sum m Jv^T vd + Jw^T I wd        u = M^-1 (p - b)
    p_j = a . L + r u                        of a rotation about the axis a through the point O
    p_j = a . l + r u                        of a translation along a; of a screw the first and pitch times the second
    dp_j/dt = da/dt . L - a . (vO x l) + a . sum (c - O) x m g          da/dt . l + a . sum m g

    vd, wd    velocities that the drives alone would cause
    l, L      momentum, and angular momentum about O, of all bodies that the dof moves
    r         armature; for body-frame speeds (ball, free) its momenta add (r u) x u as Hamel's equations have it

The axes of a rotation or translation turn with the frame before it, those of ball and free joints with the frame
behind. `number` is the type of all numbers: float64, longdouble (64 bits of mantissa on x86), or clongdouble for
derivatives by a complex step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

# A drive as plain data is (amplitude, omega, phase, offset): x = offset + amplitude sin(omega t + phase).
Drive = tuple[float, float, float, float]
# ("rotate" or "translate", axis, amount) with amount None, a number or a Drive; ("twist", axis, amount, pitch), which
# turns by the amount and moves by pitch times the amount; ("ball",); ("free",)
Step = tuple[Any, ...]


@dataclass(frozen=True)
class Body:
    """The arguments of `add_body`; parent -1 is the ground, a rotation is a 3x3 matrix."""

    parent: int
    joint: tuple[Step, ...]
    mass: float = 0.0
    com: tuple[float, ...] = (0.0, 0.0, 0.0)
    inertia: tuple[float, ...] = (0.0, 0.0, 0.0)  # 3, or xx yy zz xy xz yz
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    rotation: tuple[tuple[float, ...], ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    armature: tuple[float, ...] = ()

    @property
    def nq(self) -> int:
        return sum(7 if s[0] == "free" else 4 if s[0] == "ball" else s[2] is None for s in self.joint)

    @property
    def nv(self) -> int:
        return sum(6 if s[0] == "free" else 3 if s[0] == "ball" else s[2] is None for s in self.joint)


@dataclass(frozen=True)
class Tree:
    """Bodies, parents first."""

    bodies: tuple[Body, ...]
    gravity: tuple[float, ...] = (0.3, -0.4, -9.7)
    tags: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def nq(self) -> int:
        return sum(b.nq for b in self.bodies)

    @property
    def nv(self) -> int:
        return sum(b.nv for b in self.bodies)


@dataclass
class Answer:
    """All that is compared, and the sizes of what was added up to get it."""

    u: np.ndarray
    qdot: np.ndarray
    pdot: np.ndarray
    kinetic: Any
    potential: Any
    hamiltonian: Any
    potential_terms: Any
    pdot_terms: np.ndarray  # for each dof: the sum of the sizes of the terms of pdot


@dataclass
class _Freedom:
    turns: bool
    slides: Any  # how far it moves along the axis for a unit of its speed
    axis: np.ndarray
    point: np.ndarray
    velocity: tuple[np.ndarray, np.ndarray]  # Jacobian of the point and its drift
    omega: tuple[np.ndarray, np.ndarray]  # the same for the rotation that carries the axis
    bodies: list[int] = field(default_factory=list)


def cross(a, b):
    """a x b, also for columns of matrices."""
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def column(a, J):
    """a x J, column by column."""
    return cross(a[:, None], J) if J.ndim == 2 else cross(a, J)


def size(a):
    return np.sqrt((np.abs(a) ** 2).sum())


def turn(axis, angle):
    """Rotation matrix about a unit axis, axes after it -> axes before it."""
    x, y, z = axis
    s, h = np.sin(angle), np.sin(angle / 2)
    K = np.array([[x - x, -z, y], [z, x - x, -x], [-y, x, x - x]])
    return np.eye(3, dtype=K.dtype) + s * K + 2 * h * h * (K @ K)


def quaternion_matrix(w, x, y, z):
    n = w * w + x * x + y * y + z * z
    return np.array([[w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z]]) / n


def unit(axis, number):
    a = np.array([float(x) for x in axis]).astype(number)
    return a / np.sqrt((a * a).sum())


class Dense:
    """The tree at one configuration and time."""

    def __init__(self, tree: Tree, q, t=0.0, number=np.longdouble) -> None:
        self.tree, self.number, self.q = tree, number, np.asarray(q).astype(number)
        nv, zero = tree.nv, np.zeros(3, number)
        self.dofs: list[_Freedom] = []
        armature = [b.armature or np.zeros(b.nv) for b in tree.bodies]
        self.armature = np.concatenate([np.zeros(0), *armature]).astype(number)
        self.frames, paths = [], []  # of each body: axes, origin, and rates of both
        frames = self.frames
        self.centres, self.moving, self.turning, self.inertias = [], [], [], []
        self.masses = [number(b.mass) for b in tree.bodies]
        iq = 0
        for index, body in enumerate(tree.bodies):
            if body.parent >= 0:
                R, r, v, w = frames[body.parent]
                path = list(paths[body.parent])
            else:
                R, r = np.eye(3, dtype=number), zero
                v = w = (np.zeros((3, nv), number), zero)
                path = []
            R, r, v = self._moved(R, r, v, w, np.array(body.position).astype(number))
            R = R @ np.array(body.rotation).astype(number)
            for step in body.joint:
                if step[0] in ("ball", "free"):
                    own = self.q[iq:iq + 4] if step[0] == "ball" else self.q[iq + 3:iq + 7]
                    after = R @ quaternion_matrix(*own)
                    if step[0] == "free":
                        _, r, v = self._moved(R, r, v, w, self.q[iq:iq + 3])
                    R, first = after, len(self.dofs)
                    kinds = [False] * 3 + [True] * 3 if step[0] == "free" else [True] * 3
                    v, w = (v[0].copy(), v[1]), (w[0].copy(), w[1])
                    for j, turns in enumerate(kinds):
                        (w if turns else v)[0][:, first + j] += R[:, j % 3]
                    for j, turns in enumerate(kinds):
                        path.append(len(self.dofs))
                        self.dofs.append(_Freedom(turns, number(not turns), R[:, j % 3], r, v, w))
                    iq += 4 + 3 * (step[0] == "free")
                    continue
                move, axis, amount = step[:3]
                turns = move != "translate"
                pitch = number(step[3] if move == "twist" else not turns)
                local = unit(axis, number)
                a = R @ local
                if amount is None:
                    x, rate = self.q[iq], None
                    iq += 1
                elif isinstance(amount, tuple):
                    A, omega, phase, offset = (number(c) for c in amount)
                    angle = omega * number(t) + phase
                    x, rate = offset + A * np.sin(angle), A * omega * np.cos(angle)
                else:
                    x, rate = number(amount), number(0)
                before = w
                if pitch:
                    _, r, v = self._moved(R, r, v, w, local * (pitch * x))
                    v = self._with(v, pitch * a, rate)
                if turns:
                    R = R @ turn(local, x)
                    w = self._with(w, a, rate)
                if rate is None:
                    path.append(len(self.dofs))
                    self.dofs.append(_Freedom(turns, pitch, a, r, v, before))
            frames.append((R, r, v, w))
            paths.append(path)
            _, c, vc = self._moved(R, r, v, w, np.array(body.com).astype(number))
            self.centres.append(c)
            self.moving.append(vc)
            self.turning.append(w)
            self.inertias.append(R @ _matrix(body.inertia).astype(number) @ R.T)
            for j in path:
                self.dofs[j].bodies.append(index)

    def _with(self, motion, a, rate):
        """A velocity and the part of the next dof in it, or of a drive of that rate."""
        J, drift = motion
        if rate is not None:
            return J, drift + a * rate
        J = J.copy()
        J[:, len(self.dofs)] += a
        return J, drift

    @staticmethod
    def _moved(R, r, v, w, offset):
        d = R @ offset
        return R, r + d, (v[0] - column(d, w[0]), v[1] - cross(d, w[1]))

    def mass_and_drift(self):
        """M and b."""
        nv = self.tree.nv
        M, b = np.zeros((nv, nv), self.number), np.zeros(nv, self.number)
        for m, (Jv, vd), (Jw, wd), I in zip(self.masses, self.moving, self.turning, self.inertias, strict=True):
            M += m * (Jv.T @ Jv) + Jw.T @ (I @ Jw)
            b += m * (Jv.T @ vd) + Jw.T @ (I @ wd)
        return M + np.diag(self.armature), b

    def natural_masses(self):
        """For each dof, a bound of its entry of the mass matrix, whatever its direction."""
        return np.array([sum(self.masses[i] * (f.slides ** 2 + (size(self.centres[i] - f.point) ** 2 if f.turns else 0))
                             + (np.trace(self.inertias[i]) if f.turns else 0) for i in f.bodies) + r
                         for f, r in zip(self.dofs, self.armature, strict=True)], self.number)

    def momenta(self, u):
        M, b = self.mass_and_drift()
        return M @ np.asarray(u).astype(self.number) + b

    def answer(self, p) -> Answer:
        number, p = self.number, np.asarray(p).astype(self.number)
        M, b = self.mass_and_drift()
        u = solve(M, p - b)
        v = [J @ u + d for J, d in self.moving]
        w = [J @ u + d for J, d in self.turning]
        spin = [I @ x for I, x in zip(self.inertias, w, strict=True)]
        g = np.array(self.tree.gravity).astype(number)
        pdot, terms = np.zeros(len(u), number), np.zeros(len(u), number)
        for j, f in enumerate(self.dofs):
            omega = f.omega[0] @ u + f.omega[1]
            axis_rate = cross(omega, f.axis)
            speed = f.velocity[0] @ u + f.velocity[1]
            for i in f.bodies:
                m, way = self.masses[i], self.centres[i] - f.point
                l = m * v[i]
                if f.turns:
                    pdot[j] += (axis_rate @ (cross(way, l) + spin[i]) - f.axis @ cross(speed, l)
                                + m * (f.axis @ cross(way, g)))
                    terms[j] += (size(omega) * (size(way) * size(l) + size(spin[i])) + size(speed) * size(l)
                                 + m * size(way) * size(g))
                pdot[j] += f.slides * (axis_rate @ l + m * (f.axis @ g))
                terms[j] += abs(f.slides) * (size(omega) * size(l) + m * size(g))
        self._add_rotors(u, pdot)
        kinetic = sum((m * (x @ x) + y @ s for m, x, y, s in zip(self.masses, v, w, spin, strict=True)), number(0)) / 2
        kinetic += (self.armature * u * u).sum() / 2
        potential = -sum((m * (g @ c) for m, c in zip(self.masses, self.centres, strict=True)), number(0))
        heights = sum((m * size(g) * size(c) for m, c in zip(self.masses, self.centres, strict=True)), number(0))
        return Answer(u, self._rates(u), pdot, kinetic, potential, p @ u - kinetic + potential, heights, terms)

    def _add_rotors(self, u, pdot) -> None:
        iv = 0
        for step in (s for b in self.tree.bodies for s in b.joint):
            if step[0] == "free":
                l, w = slice(iv, iv + 3), slice(iv + 3, iv + 6)
                pdot[l] += cross(self.armature[l] * u[l], u[w])
                pdot[w] += cross(self.armature[w] * u[w], u[w]) + cross(self.armature[l] * u[l], u[l])
                iv += 6
            elif step[0] == "ball":
                w = slice(iv, iv + 3)
                pdot[w] += cross(self.armature[w] * u[w], u[w])
                iv += 3
            else:
                iv += step[2] is None

    def _rates(self, u):
        rates, iq, iv = [], 0, 0
        for step in (s for b in self.tree.bodies for s in b.joint):
            if step[0] in ("ball", "free"):
                if step[0] == "free":
                    rates += list(quaternion_matrix(*self.q[iq + 3:iq + 7]) @ u[iv:iv + 3])
                    iq, iv = iq + 3, iv + 3
                s, x, w = self.q[iq], self.q[iq + 1:iq + 4], u[iv:iv + 3]
                rates += [-(x @ w) / 2, *((s * w + cross(x, w)) / 2)]
                iq, iv = iq + 4, iv + 3
            elif step[2] is None:
                rates.append(u[iv])
                iq, iv = iq + 1, iv + 1
        return np.array(rates, self.number)


@dataclass
class Motion:
    """What joint speeds u mean, and what joint accelerations follow from or need."""

    M: np.ndarray
    p: np.ndarray
    pdot: np.ndarray
    drift: np.ndarray  # dp/dt at constant u
    udot: np.ndarray
    terms: np.ndarray  # for each dof: the sum of the sizes of the terms of its force

    def forces(self, udot):
        """Joint forces that a motion needs: M udot + drift - pdot."""
        return self.M @ udot + self.drift - self.pdot


def motion(tree: Tree, q, u, t, number=np.longdouble) -> Motion:
    """The motion with speeds u; the rate of p = M u + b at constant u by a complex step along the motion."""
    dense, kind, step = Dense(tree, q, t, number), (number(0) + 1j).dtype.type, 1e-30
    M, b = dense.mass_and_drift()
    u = np.asarray(u).astype(number)
    p = M @ u + b
    answer = dense.answer(p)
    along = np.asarray(q).astype(kind) + kind(1j * step) * dense._rates(u)
    Mz, bz = Dense(tree, along, kind(t) + kind(1j * step), kind).mass_and_drift()
    drift = (Mz @ u + bz).imag / number(step)
    return Motion(M, p, answer.pdot, drift, solve(M, answer.pdot - drift), answer.pdot_terms + np.abs(drift))


def _matrix(inertia):
    xx, yy, zz, xy, xz, yz = (*inertia, 0.0, 0.0, 0.0)[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def solve(M, b):
    """M^-1 b for a symmetric positive matrix of any number type: L D L^T of the matrix scaled to a unit diagonal, and
    one step of refinement."""
    n = len(b)
    scale = np.array([1 / np.sqrt(M[i, i]) for i in range(n)], M.dtype)
    A = M * scale[:, None] * scale[None, :]
    L, d = np.eye(n, dtype=M.dtype), np.zeros(n, M.dtype)
    for j in range(n):
        d[j] = A[j, j] - (L[j, :j] ** 2 * d[:j]).sum()
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - (L[i, :j] * L[j, :j] * d[:j]).sum()) / d[j]

    def back(y):
        y = y.copy()
        for i in range(n):
            y[i] -= L[i, :i] @ y[:i]
        y = y / d
        for i in range(n - 1, -1, -1):
            y[i] -= L[i + 1:, i] @ y[i + 1:]
        return y

    x = back(scale * b)
    x = x + back(scale * b - A @ x)
    return scale * x
