"""Rows of constraints and what the kernel makes of them, as ordinary Python: against differences of positions, and
against a dense solve on the level of accelerations that knows nothing of gauges, sweeps or sparsity.
"""

from dataclasses import replace

import numpy as np
import pytest
import reference
from cases import random_model, random_state
from machines import MACHINES, T

import mbkern as mb
from mbkern import plain
from mbkern.model.constraints import LOOPS, Blade, Gear, Loop, Rolling
from mbkern.model.model import Model

KERNELS, LAYOUT = plain.load("constrained_sweeps"), plain.load("constraint_layout")
# chains, trees, drives, free joints, balls and rotors, each once
CHOSEN = ["hinges in a tree", "any tree on a driven base", "balls and frees", "rotors and drives", "sliders"]
STEP = 1e-4  # of central differences with one extrapolation: truncation 1e-16, rounding 1e-12 over what is moved


class Constrained:
    """A random machine with constraints, and its kernels on memory full of NaN."""

    def __init__(self, name, seed=0, chosen=None):
        self.rng = np.random.default_rng(seed)
        base = random_model(**MACHINES[name])
        constraints = self.every_kind(base)
        if chosen:
            constraints = [constraint for constraint in constraints if constraint.name in chosen]
        self.model = Model(base.name, tuple(base.gravity.tolist()), base.body_specs, constraints=tuple(constraints))
        self.q, _ = random_state(self.model, 1, T)
        self.u, self.P = self.rng.normal(size=(2, self.model.nv))
        self.tau = self.rng.normal(size=self.model.nv)

    def rotation(self):
        return tuple(map(tuple, reference.quaternion_matrix(self.rng.normal(size=4)).tolist()))

    def vector(self):
        return tuple(self.rng.normal(size=3).tolist())

    def every_kind(self, base):
        n, made = base.n_bodies, []
        places = lambda: (self.vector(), self.vector(), self.rotation(), self.rotation())  # noqa: E731
        for k, kind in enumerate(LOOPS):
            a, b = (int(i) for i in self.rng.choice(np.arange(-1, n), 2, replace=False))
            length = 0.7 if kind in ("distance", "plane") else 0.0
            if kind == "point-on-plane":
                length = mb.harmonic(0.3, 1.1, 0.2, 0.5)
            made.append(Loop(kind, kind, a, b, *places(), "xyz"[k % 3], length))
        made.append(Loop("driven distance", "distance", n - 1, 0, *places(), "z", mb.harmonic(0.1, 2.0, 0.2, 1.5)))
        made.append(Blade("blade", n - 1, 0, self.vector(), self.rotation(), "y"))
        made.append(Rolling("wheel", n - 1, -1, 0.5, 0.1, self.vector(), self.rotation(), self.vector(),
                            self.rotation()))
        made.append(Rolling("wheel on a body", n - 1, 0, 0.5, 0.1, self.vector(), self.rotation(), self.vector(),
                            self.rotation()))
        single = [name for name in base.coordinate_names if name in base.speed_names]
        if len(single) >= 2:
            made.append(Gear("gear", single[0], ((single[-1], (0.1, 0.5, -0.3, 0.2)),), mb.harmonic(0.1, 2.0, 0.2)))
        return made

    def call(self, name, *inputs, shapes, t=T):
        block = self.model.block
        work = np.full(LAYOUT.constrained_size(block), np.nan)
        plain.load("drives").evaluate_drives(block, t, work)
        out = [np.full(shape, np.nan) for shape in shapes]
        getattr(KERNELS, name)(block, *inputs, *[x.reshape(-1) for x in out], work)
        return out

    def matrix(self, q, t=T):
        m, nv = self.model.n_rows, self.model.nv
        return self.call("constraint_matrix", q, shapes=[(m, nv), (m,)], t=t)

    def matrix_rate(self, q, u):
        m, nv = self.model.n_rows, self.model.nv
        return self.call("constraint_matrix_rate", q, u, shapes=[(m, nv), (m,)])

    def along(self, h):
        """Configuration after the time h with the joint speeds u."""
        def rate(q):
            out = np.empty(self.model.nq)
            plain.load("joints").put_rates(self.model.block, q, self.u, 0, out)
            return out
        k1 = rate(self.q)
        k2 = rate(self.q + h / 2 * k1)
        k3 = rate(self.q + h / 2 * k2)
        return self.q + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(self.q + h * k3))

    def derivative(self, f):
        """Of f(q, t) along the motion, by differences."""
        def quotient(h):
            return (f(self.along(h), T + h) - f(self.along(-h), T - h)) / (2 * h)
        return (4 * quotient(STEP / 2) - quotient(STEP)) / 3


@pytest.mark.parametrize("name", CHOSEN)
def test_rows_are_derivatives_of_positions(name):
    machine = Constrained(name)
    a, b = machine.matrix(machine.q)
    rate = machine.derivative(lambda q, t: machine.call("residuals", q, shapes=[machine.model.n_rows], t=t)[0])
    positions = [k for k, row in enumerate(machine.model.row_names) if "slip" not in row and "velocity" not in row]
    np.testing.assert_allclose(rate[positions], (a @ machine.u + b)[positions], atol=1e-9)


@pytest.mark.parametrize("name", CHOSEN)
def test_rates_of_rows(name):
    machine = Constrained(name)
    adot, bdot = machine.matrix_rate(machine.q, machine.u)
    np.testing.assert_allclose(machine.derivative(lambda q, t: machine.matrix(q, t)[0]), adot, atol=1e-9)
    np.testing.assert_allclose(machine.derivative(lambda q, t: machine.matrix(q, t)[1]), bdot, atol=1e-9)


def test_no_slip_is_the_velocity_of_the_material_point():
    machine = Constrained("balls and frees", chosen=["wheel"])
    wheel, (a, b) = machine.model.constraints[0], machine.matrix(machine.q)
    R, r = reference.body_poses(machine.model, machine.q, T)
    v = reference.body_velocities(machine.model, machine.q, machine.u, T)[wheel.body]
    N, s = np.array(wheel.plane_rotation)[:, 2], R[wheel.body] @ np.array(wheel.rotation)[:, 2]
    down = N - (N @ s) * s
    middle = r[wheel.body] + R[wheel.body] @ np.array(wheel.position)
    contact = middle - wheel.radius * down / np.linalg.norm(down) - wheel.tube * N
    velocity = R[wheel.body] @ v[:3] + np.cross(R[wheel.body] @ v[3:], contact - r[wheel.body])
    expected = np.array(wheel.plane_rotation).T @ velocity
    np.testing.assert_allclose((a @ machine.u + b)[[1, 2, 0]], expected, atol=1e-12)


CONSISTENT = ["point-on-plane", "driven distance", "blade", "gear", "point-on-line"]


def dense(machine, q, u):
    """Joint accelerations and forces of the constraints, by a dense solve on the level of accelerations."""
    model = machine.model
    M = reference.mass_matrix(model, q, T)
    f = M @ reference.newton_euler(model, q, u, T, machine.tau, None).udot
    (a, _), (adot, bdot) = machine.matrix(q), machine.matrix_rate(q, u)
    G = a @ np.linalg.solve(M, a.T)
    force = a.T @ -np.linalg.pinv(G, rcond=1e-9) @ (a @ np.linalg.solve(M, f) + adot @ u + bdot)
    return np.linalg.solve(M, f + force), force


@pytest.mark.parametrize("name", ["any chain", "any tree on a driven base", "balls and frees", "rotors on balls"])
@pytest.mark.parametrize("redundant", [False, True])
def test_motion_against_a_dense_solve(name, redundant):
    machine = Constrained(name, chosen=CONSISTENT)
    if redundant:  # the same line twice
        model = machine.model
        again = [replace(c, name="again")
                 for c in model.constraints if c.name == "point-on-line"]
        machine.model = Model(model.name, tuple(model.gravity.tolist()), model.body_specs,
                              constraints=(*model.constraints, *again))
    model, q = machine.model, machine.q
    p, = machine.call("gauge", q, machine.P, shapes=[model.nv])
    M = reference.mass_matrix(model, q, T)
    u = np.linalg.solve(M, p - reference.momenta(model, q, np.zeros(model.nv), T))
    a, b = machine.matrix(q)
    np.testing.assert_allclose(a @ u + b, 0.0, atol=1e-10)  # rounding times the condition of the mass matrix
    np.testing.assert_allclose(a @ np.linalg.solve(M, machine.P - p), a @ np.linalg.solve(M, machine.P - p))
    udot, force = dense(machine, q, u)
    got, = machine.call("accelerations", q, u, machine.tau, shapes=[model.nv])
    np.testing.assert_allclose(got, udot, atol=1e-10 * np.abs(udot).max())
    qdot, pdot = machine.call("sweeps", q, p, machine.tau, shapes=[model.nq, model.nv])
    expected = reference.hamilton(model, q, p, T, machine.tau, None)
    np.testing.assert_allclose(qdot, expected.qdot, atol=1e-10 * np.abs(qdot).max())
    np.testing.assert_allclose(pdot, expected.pdot + force, atol=1e-9 * np.abs(pdot).max())
    qdot_of_P, _ = machine.call("flow", q, machine.P, machine.tau, shapes=[model.nq, model.nv])
    np.testing.assert_allclose(qdot_of_P, qdot, atol=1e-10 * np.abs(qdot).max())


def test_wrenches_of_constraints_do_what_the_multipliers_do():
    machine = Constrained("balls and frees", chosen=["revolute", "universal", "distance", "wheel", "gear"])
    model, q = machine.model, machine.q
    p, = machine.call("gauge", q, machine.P, shapes=[model.nv])
    none = np.empty(0)
    wrenches, gears = machine.call("constraint_wrenches", q, p, none, none, shapes=[(model.n_bodies, 6), model.nv])
    multipliers, = machine.call("constraint_forces", q, p, none, none, shapes=[model.n_rows])
    a, _ = machine.matrix(q)
    work, in_joints = np.full(200_000, np.nan), np.full(model.nv, np.nan)
    plain.load("momenta").wrenches_to_joints(model.block, T, q, wrenches.reshape(-1), in_joints, work)
    np.testing.assert_allclose(in_joints + gears, a.T @ multipliers, atol=1e-9 * np.abs(multipliers).max())
