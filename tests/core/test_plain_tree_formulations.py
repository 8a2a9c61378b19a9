"""The formulations of `core/quasi*` on trees, with `core/quasi_tree` and `quasi_sweeps`, as ordinary Python.

The frames are those that users have; the functions that compiled code calls by address are functions of Python here.
Rates are compared with those of the reference's accelerations, vdot = M^-1 (Q - h): udot = Y vdot + Ydot v.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import reference
from cases import assert_close, random_state
from plain_quasi import LAYOUT as L
from plain_quasi import QUASI, TREE, connect, view

import mbkern as mb
from mbkern.analytic import frame as frames
from mbkern.analytic.ignorable import candidates
from mbkern.analytic.named import NamedSpeeds, named_speeds

T = 0.37
FUNCTIONS = ("tree_mass", "tree_rows", "tree_solve", "tree_bias", "tree_quasi", "tree_quasi_rates", "tree_rates")
BODY = dict(mass=1.3, com=(0.2, -0.1, 0.3), inertia=(0.2, 0.25, 0.3, 0.01, 0.02, -0.03))
POSITIONS = ("base.x", "base.y", "base.z")


def satellite(*, drive=None, arms=2, gravity=(0.0, 0.0, 0.0)):
    """A free body with arms, a ball, and a body behind three rotations; rotor, spring and damper."""
    builder = mb.ModelBuilder(gravity=gravity)
    builder.add_body("base", joint=mb.free(), **BODY)
    parent = "base"
    for k in range(arms):
        step = [mb.rotate("xyz"[k % 3])] if drive is None or k else [mb.rotate("x", drive), mb.rotate("z")]
        parent = builder.add_body(f"arm{k}", parent, step, position=(0.1, 0.4, -0.2), damping=0.2, armature=0.3, **BODY)
    builder.add_body("wrist", parent, mb.euler_ball("zyx"), position=(0.3, 0.0, 0.1), **BODY)
    builder.add_body("antenna", "base", mb.ball(), position=(-0.3, 0.1, 0.0), **BODY)
    return builder.build()


def carts(*, drive=None):
    """A cart on a cart, and what swings on them; the weight is across both."""
    builder = mb.ModelBuilder(gravity=(0.0, 0.0, -9.7))
    builder.add_body("low", joint=mb.prismatic("x"), **BODY)
    builder.add_body("high", "low", mb.prismatic("y"), rotation=(0.8, 0.0, 0.0, 0.6), **BODY)
    builder.add_body("arm", "high", [mb.rotate("y")] if drive is None else [mb.rotate("y", drive), mb.rotate("x")],
                     stiffness=3.0, **BODY)
    builder.add_body("hand", "arm", mb.ball(), position=(0.0, 0.4, 0.1), **BODY)
    return builder.build()


WIGGLE = mb.harmonic(0.4, 1.8, 0.2)
# model, ignored coordinates, quasi-velocities (None: the other speeds)
CASES = {
    "Kane": (satellite(), (), None),
    "Kane, named": (satellite(), (), (*POSITIONS, "base.wx", "base.wy", "base.wz", "arm0", "arm1", "wrist.wy",
                                      "wrist.wz", "wrist.wx", "antenna.wx", "antenna.wy", "antenna.wz")),
    "Volterra": (satellite(), POSITIONS, None),
    "Volterra, two positions": (satellite(gravity=(0.0, -9.7, 0.0)), ("base.x", "base.z"), None),
    "Volterra, driven": (satellite(drive=WIGGLE), POSITIONS, None),
    "Volterra, rails": (carts(), ("low", "high"), None),
    "Volterra, one rail": (carts(), ("low",), None),
    "Volterra, carts and drives": (carts(drive=WIGGLE), ("low", "high"), None),
    "Kane, large": (satellite(arms=16), (), None),
    "Volterra, large": (satellite(arms=16), POSITIONS, None),
    "Volterra, large, driven": (satellite(arms=16, drive=WIGGLE), ("base.y",), None),
}


@pytest.fixture
def plain(monkeypatch):
    """`run(system, setup)`: a frame, whose functions are those of Python."""
    places = {name: SimpleNamespace(address=k + 1) for k, name in enumerate(FUNCTIONS)}
    monkeypatch.setattr(frames, "quasi_tree", SimpleNamespace(**places))
    monkeypatch.setattr(mb.System, "mass_matrix", lambda system, q: reference.mass_matrix(system.model, q))

    def call(address, t, q, v, out, user):
        getattr(TREE, FUNCTIONS[address - 1])(t, q.ctypes.data, v.ctypes.data, out.ctypes.data, user)

    connect(monkeypatch, call)
    return frames.make_frame


class Motion:
    """A case in a random state."""

    def __init__(self, name, seed=3):
        self.model, ignored, quasi = CASES[name]
        self.system = mb.System(self.model, "emh-ldl")
        known, entries = named_speeds(self.system), {entry.name: entry for entry in candidates(self.system)}
        self.ignored = tuple(entries[name] for name in ignored)
        self.q, self.v = random_state(self.model, seed, T)
        self.v /= np.abs(self.v).max()
        if quasi is None:
            quasi = self.others(entries, known)
        self.rows = tuple(known[name] for name in quasi)
        self.by_name = any(quaternion >= 0 or body >= 0 for _, quaternion, _, body in self.rows)
        self.named = NamedSpeeds(None, len(quasi), tuple(quasi), rows=self.rows, block=self.system.block)
        self.Q = np.random.default_rng(seed).normal(size=self.model.nv)
        for entry in self.ignored:  # no force along them
            self.Q[entry.speed:entry.speed + (3 if entry.quaternion >= 0 else 1)] = 0.0

    def others(self, entries, known):
        taken = {(entry.speed, entry.quaternion, entry.axis) for entry in self.ignored}
        linear = {entry.speed + k for entry in entries.values() if entry.quaternion >= 0 for k in range(3)}
        return [name for name, (speed, quaternion, axis, body) in known.items() if body < 0
                and (speed, quaternion, axis) not in taken and (quaternion >= 0 or speed not in linear)]

    def setup(self):
        method = L.VOLTERRA if self.ignored else L.KANE
        pattern = self.matrix(self.q) != 0.0
        quasi = self.named if self.by_name else tuple(speed for speed, *_ in self.rows)
        return frames.Setup(method, self.system, self.model.nq, self.model.nv, None, self.Q, quasi, self.ignored, False,
                            1e-12, pattern if self.by_name else None)

    def matrix(self, q):
        """Y from poses and body velocities of the reference."""
        Y = np.zeros((len(self.rows), self.model.nv))
        for i, (speed, quaternion, axis, body) in enumerate(self.rows):
            if body >= 0:
                k = self.model.parents[body]
                for j in range(speed, speed + 3):  # relative to its parent
                    V = reference.body_velocities(self.model, q, np.eye(self.model.nv)[j], 0.0)
                    R, _ = reference.body_poses(self.model, q, T)
                    still = reference.body_velocities(self.model, q, np.zeros(self.model.nv), 0.0)
                    Y[i, j] = ((V - still)[body, 3:] - (R[body].T @ R[k] @ (V - still)[k, 3:] if k >= 0 else 0.0))[axis]
            elif quaternion >= 0:
                Y[i, speed:speed + 3] = reference.quaternion_matrix(q[quaternion:quaternion + 4])[axis]
            else:
                Y[i, speed] = 1.0
        return Y

    def momenta(self):
        """Of the ignored coordinates; of a free joint's position along the axis before the joint."""
        p = reference.momenta(self.model, self.q, self.v, T)
        return [p[e.speed] if e.quaternion < 0 else
                reference.quaternion_matrix(self.q[e.quaternion:e.quaternion + 4])[e.axis] @ p[e.speed:e.speed + 3]
                for e in self.ignored]

    def rates(self):
        """udot of the reference's accelerations; Ydot v by a difference quotient along the motion."""
        vdot = reference.newton_euler(self.model, self.q, self.v, T, self.Q).udot
        h = 1e-5
        Ydot = (self.matrix(reference.advance(self.model, self.q, self.v, h))
                - self.matrix(reference.advance(self.model, self.q, self.v, -h))) / (2.0 * h)
        return self.matrix(self.q) @ vdot + Ydot @ self.v


@pytest.mark.parametrize("name", CASES)
def test_rates_are_those_of_the_reference(name, plain):
    motion = Motion(name)
    frame, nv = plain(motion.setup()), motion.model.nv
    view(frame, L.AT_MOMENTA, len(motion.ignored))[:] = motion.momenta()
    u = motion.matrix(motion.q) @ motion.v
    qdot, rates = np.full(motion.model.nq, np.nan), np.full(u.size, np.nan)
    assert QUASI.rhs_kernel(frame, T, motion.q, u, qdot, rates) == 0
    assert_close(view(frame, L.AT_V, nv), motion.v, 1e-11, "speeds")
    assert_close(qdot, reference.hamilton(motion.model, motion.q, reference.momenta(
        motion.model, motion.q, motion.v, T), T).qdot, 1e-11, "qdot")
    assert_close(rates, motion.rates(), 1e-8, "rates")
    assert bool(frame[L.SOLVE_CALL]) == ("large" in name) and frame[L.RAILS] == (
        0 if "rail" not in name else 1 if "one" in name else 2)
