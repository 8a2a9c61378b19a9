"""Trees that aim at the special cases of the kernels and at the boundaries between them.

A body draws each of its properties from a short table of values that matter: how its axis lies to that of its parent,
where its frame lies, where its centre of mass lies from its axis, what inertia it has, which joint carries it. The
tables hold the special values themselves, values at distances that rounding can and cannot tell from them, and one
that is in no special place.
"""

from __future__ import annotations

import math

import numpy as np
from longdense import Body, Tree

import mbkern as mb

PI = math.pi
# angles between an axis and that of its parent: 0.29 and 0.31 are on either side of the smallest tilt that is chained
TILTS = (0.0, 0.0, 1e-16, 5e-16, 1e-12, -1e-12, 1e-9, 1e-6, 1e-3, 0.29, 0.31, 1.0, PI / 2 - 1e-12, PI / 2, PI / 2,
         PI / 2 + 1e-12, -PI / 2, PI - 1e-12, PI, -PI)
LENGTHS = (0.0, 0.0, 1e-9, 0.4, -0.7)
NEAR = (0.0, 1e-12, 1e-9, 1e-6, 1e-3)
ANGLES = (0.0, PI / 2, -PI / 2, PI, 1e-9, PI / 2 + 1e-12)
AXES = ("x", "y", "z")
UNIT = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
JOINTS = ("revolute", "revolute", "revolute", "prismatic", "driven_turn", "driven_slide", "screw", "driven_screw",
          "ball", "free", "weld", "universal", "cylindrical", "euler", "planar", "mixed")
STEPS = ("revolute", "prismatic", "screw", "driven_turn", "driven_slide", "driven_screw")
PITCHES = (1e-9, 1e-3, 0.1, -0.4, 3.0)  # metres a radian
SHAPES = ("chain", "chain", "star", "random", "roots")


def matrix(axis: str, angle: float) -> np.ndarray:
    """Rotation about a coordinate axis; exact for quarter turns that were asked for exactly."""
    c, s = (float(round(math.cos(angle))), float(round(math.sin(angle)))) if angle in (PI / 2, -PI / 2, PI, -PI) else (
        math.cos(angle), math.sin(angle))
    i = AXES.index(axis)
    R = np.eye(3)
    j, k = (i + 1) % 3, (i + 2) % 3
    R[j, j] = R[k, k] = c
    R[j, k], R[k, j] = -s, s
    return R


class Draw:
    """One random tree and state; `general`: nothing special about it."""

    def __init__(self, seed, general: bool | None = None) -> None:
        self.rng = np.random.default_rng(seed)
        self.general = self.chance(0.15) if general is None else general

    def pick(self, table):
        return table[int(self.rng.integers(len(table)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def vector(self, size=0.5) -> tuple[float, ...]:
        return tuple(self.rng.uniform(-size, size, 3).tolist())

    # ---- where things are ----

    def rotation(self):
        """A turn about one or two coordinate axes by special angles, or a general one."""
        if self.general or self.chance(0.1):
            w = self.rng.normal(size=4)
            w, x, y, z = w / np.linalg.norm(w)
            return tuple(map(tuple, [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]))
        R = matrix(self.pick(AXES), self.pick(TILTS))
        if self.chance(0.3):
            R = R @ matrix(self.pick(AXES), self.pick((*TILTS, self.rng.uniform(-3, 3))))
        return tuple(map(tuple, R.tolist()))

    def position(self):
        if self.general or self.chance(0.15):
            return self.vector()
        if self.chance(0.3):
            return (0.0, 0.0, 0.0)
        return tuple(self.pick(LENGTHS) for _ in range(3))

    def axis(self):
        """An axis in the joint frame: a coordinate axis, one nearly so, or any."""
        if self.general or self.chance(0.1):
            return tuple(self.rng.normal(size=3).tolist())
        a = self.pick(AXES)
        if self.chance(0.25):
            tilt, other = self.pick(TILTS), self.pick([b for b in AXES if b != a])
            return tuple((math.cos(tilt) * np.array(UNIT[a]) + math.sin(tilt) * np.array(UNIT[other])).tolist())
        return UNIT[a]

    def com(self, axis):
        """On the axis through the origin, near it, or anywhere."""
        if self.general or self.chance(0.25):
            return self.vector()
        along = self.pick(LENGTHS)
        c = along * np.array(axis) / np.linalg.norm(axis)
        i = int(np.argmin(np.abs(axis)))
        c[i] += self.pick((*NEAR, 0.3))
        return tuple(c.tolist())

    def inertia(self, mass):
        size = mass if mass > 0.0 else 10.0 ** self.rng.uniform(-3, 1)
        shape = "any" if self.general else self.pick(("point", "rod", "plate", "ball", "any", "any"))
        if shape == "point" and mass > 0.0:
            return (0.0, 0.0, 0.0)
        if shape == "rod":
            J = [0.1 * size] * 3
            J[int(self.rng.integers(3))] = self.pick((0.0, 1e-9 * size))
            return tuple(J)
        if shape == "plate":
            a, b = self.rng.uniform(0.01, 0.2, 2) * size
            return tuple(np.roll([a, b, a + b], self.rng.integers(3)).tolist())
        if shape == "ball":
            return (0.1 * size,) * 3
        x, y, z = (self.rng.uniform(0.05, 0.5, 3)) ** 2 * size
        R = np.array(self.rotation()) if self.chance(0.5) else np.eye(3)
        J = R @ np.diag([y + z, x + z, x + y]) @ R.T
        return (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])

    def mass(self):
        x = self.rng.random()
        if self.general or x < 0.5:
            return float(self.rng.uniform(0.3, 2.0))
        if x < 0.65:
            return 0.0
        return 10.0 ** float(self.rng.uniform(-8, 8) if x < 0.75 else self.rng.uniform(-2, 2))

    # ---- joints ----

    def drive(self):
        if self.chance(0.15):
            return (0.0, 1.0, 0.0, self.pick((0.0, *ANGLES)))  # stands still
        return (float(self.rng.uniform(0.1, 0.5)), float(self.rng.uniform(0.5, 2.0)), float(self.rng.uniform(-1, 1)),
                self.pick((0.0, *ANGLES)))

    def constant(self):
        return ("rotate", self.axis(), self.pick(TILTS)) if self.chance(0.6) else (
            "translate", self.axis(), self.pick(LENGTHS))

    def joint(self, kind):
        a = self.axis()
        steps = {"revolute": lambda: [("rotate", a, None)],
                 "prismatic": lambda: [("translate", a, None)],
                 "driven_turn": lambda: [("rotate", a, self.drive())],
                 "driven_slide": lambda: [("translate", a, self.drive())],
                 "screw": lambda: [("twist", a, None, self.pick(PITCHES))],
                 "driven_screw": lambda: [("twist", a, self.drive(), self.pick(PITCHES))],
                 "ball": lambda: [("ball",)], "free": lambda: [("free",)], "weld": lambda: [],
                 "universal": lambda: [("rotate", a, None), ("rotate", self.axis(), None)],
                 "cylindrical": lambda: [("rotate", a, None), ("translate", a, None)],
                 "euler": lambda: [("rotate", UNIT[x], None) for x in self.pick(("zyx", "xyz", "zxz"))],
                 "planar": lambda: [("translate", UNIT["x"], None), ("translate", UNIT["y"], None),
                                    ("rotate", UNIT["z"], None)],
                 "mixed": lambda: [step for k in range(int(self.rng.integers(1, 4)))
                                   for step in self.joint(self.pick(STEPS))]}[kind]()
        if kind != "mixed" and self.chance(0.2):
            steps.insert(int(self.rng.integers(len(steps) + 1)), self.constant())
        return steps

    # ---- all together ----

    def body(self, parent, kind):
        joint = tuple(self.joint(kind))
        axes = [np.array(s[1]) for s in joint if s[0] in ("rotate", "translate", "twist")]
        axis = axes[-1] if axes else np.array(UNIT["z"])
        mass = self.mass()
        inertia = (0.0, 0.0, 0.0) if mass == 0.0 and self.chance(0.6) else self.inertia(mass)
        nv = Body(parent, joint).nv
        armature = tuple((10.0 ** self.rng.uniform(-3, 0, nv) * (self.rng.random(nv) < 0.7)).tolist()) if (
            nv and self.chance(0.06)) else ()
        return Body(parent, joint, mass, self.com(axis), inertia, self.position(), self.rotation(), armature)

    def tree(self) -> Tree:
        n, shape = int(self.rng.integers(1, 8)), self.pick(SHAPES)
        hinges = self.chance(0.3)
        bodies = []
        for i in range(n):
            parent = {"chain": i - 1, "star": min(i, 1) - 1, "random": int(self.rng.integers(-1, i)) if i else -1,
                      "roots": int(self.rng.integers(-1, i)) if i and self.chance(0.5) else -1}[shape]
            kind = ("weld" if self.chance(0.1) else "revolute") if hinges else self.pick(JOINTS)
            bodies.append(self.body(parent, kind))
        return Tree(tuple(bodies))

    def configuration(self, tree: Tree) -> np.ndarray:
        q: list[float] = []
        for step in (s for b in tree.bodies for s in b.joint):
            if step[0] == "free":
                q += self.vector()
            if step[0] in ("ball", "free"):
                w = self.rng.normal(size=4) if self.chance(0.7) else np.eye(4)[int(self.rng.integers(4))]
                q += (w / np.linalg.norm(w)).tolist()
            elif step[2] is None and step[0] != "translate":
                q.append(self.pick(ANGLES) if self.chance(0.3) else float(self.rng.uniform(-3, 3)))
            elif step[2] is None:
                q.append(self.pick(LENGTHS) if self.chance(0.3) else float(self.rng.uniform(-1, 1)))
        return np.array(q)


def builder_of(tree: Tree) -> mb.ModelBuilder:
    """The same machine in the words of the package."""
    builder = mb.ModelBuilder(gravity=tree.gravity)
    for i, b in enumerate(tree.bodies):
        joint = [mb.ball() if s[0] == "ball" else mb.free() if s[0] == "free" else
                 getattr(mb, s[0])(s[1], *s[3:], mb.harmonic(*s[2]) if isinstance(s[2], tuple) else s[2])
                 for s in b.joint]
        builder.add_body(f"b{i}", f"b{b.parent}" if b.parent >= 0 else "world", joint, mass=b.mass, com=b.com,
                         inertia=b.inertia, position=b.position, rotation=b.rotation, armature=b.armature or None)
    return builder


def build(tree: Tree) -> mb.Model:
    """The same machine as a model of the package."""
    return builder_of(tree).build()
