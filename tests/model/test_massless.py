"""Bodies without mass that have inertia: rotors, gyroscopes, reflected motors. Nothing of them may get lost."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference
from cases import assert_close

import mbkern as mb
from mbkern import plain

L = plain.load("layout")
TOLERANCE = 1e-11  # rounding only, times the condition of mass matrices of order 1e3
JOINTS = {"z": mb.revolute("z"), "x": mb.revolute("x"), "y": mb.revolute("y"), "slide": mb.prismatic("x"),
          "universal": mb.universal("y", "x"), "driven": mb.rotate("y", mb.harmonic(0.3, 2.0, 0.4)),
          "pushed": mb.translate("x", mb.harmonic(0.3, 2.0, 0.4)), "ball": mb.ball(), "free": mb.free()}

TRANSLATES = ("slide", "free")


def rotor_with(inner, outer, inertia=(1.0, 1.0, 1.0), tips=1):
    """A massless body, a child at the same point and what this one carries."""
    builder = mb.ModelBuilder(gravity=(0.3, -0.2, -9.8))
    builder.add_body("g", joint=JOINTS[inner], mass=0.0, inertia=inertia)
    builder.add_body("a", "g", JOINTS[outer], mass=1.0, com=(0.1, 0.3, 0.05), inertia=(0.1, 0.2, 0.15))
    for i in range(tips):
        builder.add_body(f"t{i}", "a", mb.revolute("x"), mass=1.0, com=(0.0, 0.3, 0.0), inertia=(0.1, 0.2, 0.15),
                         position=(0.0, 1.0, 0.1 * i))
    return builder.build()


def check(model):
    t, (q, u) = 0.3, model.random_state(4)
    system = mb.System(model, "emh-ldl")
    p = reference.momenta(model, q, u, t)
    assert_close(system.velocities(q, p, t), u, TOLERANCE, "velocities")
    wanted = reference.hamilton(model, q, p, t)
    batch = [rates[0] for rates in system.rhs_batch(q[None], p[None], t)]
    for qdot, pdot in (system.rhs(q, p, t), batch):
        assert_close(qdot, wanted.qdot, TOLERANCE, "qdot")
        assert_close(pdot, wanted.pdot, TOLERANCE, "pdot")
    assert_close(system.energy(q, p, t).hamiltonian, reference.energy(model, q, u, t).hamiltonian, TOLERANCE, "H")


def test_velocities_of_a_massless_rotor_are_those_of_its_momenta():
    builder = mb.ModelBuilder()
    arm = {"mass": 1.0, "com": (0.0, 0.3, 0.0), "inertia": (0.0, 0.0, 0.0)}
    builder.add_body("g", joint=mb.revolute("z"), mass=0.0, inertia=(1.0, 1.0, 1.0))
    builder.add_body("a", "g", mb.revolute("x"), **arm)
    builder.add_body("t", "a", mb.revolute("x"), **arm, position=(0.0, 1.0, 0.0))
    system = mb.System(builder.build(), "emh-ldl")
    q = np.array([0.1, 0.2, 0.3])
    assert_close(system.velocities(q, system.momenta(q, [1.0, 2.0, 3.0])), [1.0, 2.0, 3.0], TOLERANCE, "velocities")


@pytest.mark.parametrize(("inner", "outer"), list(itertools.product(JOINTS, JOINTS)))
def test_every_joint_before_and_after_a_massless_body(inner, outer):
    for tips in (0, 1, 2):
        model = rotor_with(inner, outer, tips=tips)
        q, _ = model.random_state(4)
        if model.nv == 0 or np.linalg.cond(reference.mass_matrix(model, q, 0.3)) < 1e4:
            check(model)
        else:  # two joints that can both move the arm alike, and nothing between them
            assert inner in TRANSLATES and outer in TRANSLATES


@pytest.mark.parametrize("inertia", [(0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0), (1e-9, 1e-9, 1e-9)])
def test_rods_and_small_rotors_without_mass(inertia):
    check(rotor_with("z", "x", inertia))


def test_a_massless_body_welded_to_a_frame_within_a_joint():
    """Inertia that comes from a weld, on a carrier that has nothing itself."""
    builder = mb.ModelBuilder()
    builder.add_body("g", joint=mb.revolute("z"), mass=0.0)
    builder.add_body("w", "g", mb.weld(), mass=0.0, inertia=(0.3, 0.4, 0.5), position=(0.1, 0.2, 0.3))
    builder.add_body("a", "g", mb.revolute("x"), mass=1.0, com=(0.0, 0.3, 0.1), inertia=(0.1, 0.2, 0.15))
    builder.add_body("t", "a", mb.revolute("y"), mass=1.0, com=(0.3, 0.0, 0.0), position=(0.0, 1.0, 0.0))
    check(builder.build())


def test_only_frames_with_nothing_are_written_over():
    for inertia, square in (((0.0, 0.0, 0.0), True), ((1.0, 1.0, 1.0), False), ((0.0, 1.0, 1.0), False)):
        model = rotor_with("z", "x", inertia)
        assert (model.block[L.node_row(1) + L.ROUTE] == L.SQUARE) == square


@pytest.mark.parametrize("what", ["inertia", "mass"])
def test_varied_bodies_are_there_whatever_their_nominal_constants(what):
    model = rotor_with("z", "x", (0.0, 0.0, 0.0))
    values = {"inertia": np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.5, 0.5, 1.0]]), "mass": [1.0, 0.0, 2.0]}[what]
    varied = model.vary(body="g", **{what: values})
    q, u = model.random_state(4)
    P = np.array([reference.momenta(varied.model_of(i), q, u) for i in range(3)])
    Qdot, Pdot = mb.System(model, "emh-ldl").rhs_batch(np.tile(q, (3, 1)), P, parameters=varied)
    for i in range(3):
        wanted = reference.hamilton(varied.model_of(i), q, P[i])
        assert_close(Qdot[i], wanted.qdot, TOLERANCE, "qdot")
        assert_close(Pdot[i], wanted.pdot, TOLERANCE, "pdot")
