"""Machines that differ from state to state, against models built one by one."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from cases import assert_close, random_inertia

import mbkern as mb
from mbkern import plain

L = plain.load("layout")
COUNT = 6
# of machines that differ those methods that divide and those that solve for multipliers; the others have the same loops
METHODS = ("emh-ldl", "hzu", *[pytest.param(name, marks=pytest.mark.nightly) for name in ("emh-lu", "dah")])
TOLERANCE = 1e-11  # rounding only, times the condition of articulated inertias, as frames may lie elsewhere


def build(mass=1.5, com=(0.1, -0.05, 0.2), inertia=(0.1, 0.12, 0.11, 0.01, -0.02, 0.005), position=(0.3, 0.1, -0.2),
          tip=0.4, seat=(0.0, 0.0, 0.1)):
    """Constant steps before and behind moving ones, welds below and beyond: all that lowering merges."""
    builder = mb.ModelBuilder(gravity=(0.2, 0.3, -9.7))
    inner = (0.1, 0.2, 0.15)
    builder.add_body("ground", mass=2.0, com=(0.1, 0.2, 0.3), inertia=inner)
    builder.add_body("seat", "ground", position=seat, mass=1.0, com=(0.2, 0, 0), inertia=inner)
    driven = [mb.rotate("z", mb.harmonic(0.3, 2.0)), mb.translate("x")]
    builder.add_body("base", "seat", driven, mass=1.0, inertia=inner, position=(0.1, 0.0, 0.2))
    joint = [mb.translate("y", 0.2), mb.rotate("x"), mb.rotate("z", 0.3), mb.rotate((1, 1, 0)), mb.translate("x", 0.1)]
    builder.add_body("boom", "base", joint, mass=mass, com=com, inertia=inertia, position=position,
                     rotation=(0.8, 0.6, 0.0, 0.0))
    builder.add_body("tool", "boom", mass=0.7, com=(0.0, 0.1, 0.0), inertia=inner, position=(0.2, 0.0, 0.1))
    builder.add_body("tip", "tool", mb.ball(), mass=tip, com=(0.0, 0.0, 0.1), inertia=inner, position=(0.0, 0.3, 0.0))
    return builder.build()


@pytest.fixture(scope="module")
def machines():
    rng = np.random.default_rng(3)
    mass, tip = rng.uniform(0.5, 3.0, COUNT), rng.uniform(0.5, 3.0, COUNT)
    com, position = rng.uniform(-0.3, 0.3, (COUNT, 3)), rng.uniform(-0.5, 0.5, (COUNT, 3))
    inertia = np.array([random_inertia(rng, m) for m in mass])
    seat = rng.uniform(-0.5, 0.5, (COUNT, 3))
    varied = (build().vary(body="boom", mass=mass, com=com, inertia=inertia, position=position)
              .vary(body="tip", mass=tip).vary(body="seat", position=seat))
    alone = [build(mass[i], com[i], inertia[i], position[i], tip[i], seat[i]) for i in range(COUNT)]
    return varied, alone


def states(model):
    drawn = [model.random_state(seed) for seed in range(COUNT)]
    return np.array([q for q, _ in drawn]), np.array([u for _, u in drawn])


def test_bodies_are_those_of_separate_models(machines):
    """The very bits of what does not depend on where frames lie: their places may differ (see mbkern.model.frames)."""
    varied, alone = machines
    first = L.body_row(varied.model.block, 0)
    for i in range(COUNT):
        block = varied.model.block.copy()
        block[varied.places] = varied.values[i]
        rows, expected = (b[first:first + varied.model.n_bodies * L.BODY].reshape(-1, L.BODY)[:, L.BODY_MASS:]
                          for b in (block, alone[i].block))
        assert np.array_equal(rows, expected)
        assert varied.model_of(i) == alone[i]
    assert varied.places.size < 200  # what does not change is not stored


@pytest.mark.parametrize("method", METHODS)
def test_rhs_against_separate_models(machines, method):
    varied, alone = machines
    system = mb.System(varied.model, method)
    Q, P = states(varied.model)
    Qdot, Pdot = system.rhs_batch(Q, P, 0.3, parameters=varied)
    for i in range(COUNT):
        qdot, pdot = mb.System(alone[i], method).rhs(Q[i], P[i], 0.3)
        assert_close(Qdot[i], qdot, TOLERANCE, "qdot")
        assert_close(Pdot[i], pdot, TOLERANCE, "pdot")
    assert not np.array_equal(Pdot, system.rhs_batch(Q, P, 0.3)[1])


def test_simulation_against_separate_models(machines):
    """Refilled lanes change their machine along with the state."""
    varied, alone = machines
    Q, P = states(varied.model)
    Q[:, -4:] = (1.0, 0.0, 0.0, 0.0)  # a length of exactly one: nothing to scale at the beginning
    solution = mb.System(varied.model, "emh-ldl").simulate_batch(Q, P, (0.0, 0.2), parameters=varied)
    assert solution.success
    for i in range(COUNT):
        single = mb.System(alone[i], "emh-ldl").simulate(Q[i], P[i], (0.0, 0.2), t_eval=[0.0, 0.2])
        assert_close(solution.q[i], single.q, TOLERANCE, "q")
        assert_close(solution.p[i], single.p, TOLERANCE, "p")


def test_parts_and_pickles(machines):
    varied, alone = machines
    assert varied[2:4].model_of(1) == alone[3] and varied[2:4].count == 2
    again = pickle.loads(pickle.dumps(varied))
    assert again.model == varied.model and np.array_equal(again.values, varied.values)


@pytest.mark.parametrize(("change", "said"), [
    ({"body": "bom", "mass": [1.0]}, "boom"),
    ({"body": "boom"}, "expected one of mass, com, inertia, position"),
    ({"body": "boom", "mass": 1.0}, r"mass: expected shape \(B,\)"),
    ({"body": "boom", "mass": [1.0, -2.0]}, "not negative, got -2 kg in state 1"),
    ({"body": "boom", "mass": [1.0, np.nan]}, "finite numbers, got nan in state 1"),
    ({"body": "boom", "mass": ["heavy"]}, "mass: expected numbers"),
    ({"body": "boom", "com": [1.0, 2.0, 3.0]}, r"com: expected shape \(B, 3\)"),
    ({"body": "boom", "inertia": [[1, 1, 1], [1, 1, 5]]}, "inertia in state 1: .*triangle inequality"),
    ({"body": "boom", "inertia": np.zeros((2, 4))}, "inertia: expected shape"),
    ({"body": "boom", "mass": [1.0, 2.0], "com": np.zeros((3, 3))}, "each of 2 states, got 3"),
])
def test_bad_parameters(change, said):
    with pytest.raises(mb.errors.ModelError, match=said):
        build().vary(**change)


def test_parameters_of_something_else(machines):
    varied, _ = machines
    Q, P = states(varied.model)
    with pytest.raises(mb.errors.ModelError, match="another model"):
        mb.System(mb.zoo.chain(3), "emh-ldl").rhs_batch(np.zeros((6, 3)), np.zeros((6, 3)), parameters=varied)
    with pytest.raises(mb.errors.StateError, match="each of the 4 states, got 6"):
        mb.System(varied.model, "emh-ldl").rhs_batch(Q[:4], P[:4], parameters=varied)
    flat = varied.vary(body="tip", inertia=[[1, 1, 1]] * 5 + [[0, 0, 0]])
    with pytest.raises(mb.errors.SingularInertiaError, match="body 'tip' of state 5"):
        mb.System(varied.model, "hzu").rhs_batch(Q, P, parameters=flat)


def test_a_machine_without_mass_is_a_matter_of_its_row():
    builder = mb.ModelBuilder()
    builder.add_body("cart", joint=mb.prismatic("x"), mass=1.0)
    model = builder.build()
    varied = model.vary(body="cart", mass=[1.0, 0.0, 2.0])
    ones = np.ones((3, 1))
    Qdot, _, status = mb.System(model, "emh-ldl").rhs_batch(ones, ones, parameters=varied, return_status=True)
    assert status.tolist() == [0, 5, 0]
    assert Qdot[[0, 2], 0].tolist() == [1.0, 0.5]


def sprung(stiffness=(3.0, 0.0), damping=(0.1, 0.2, 0.3), armature=(0.2, 0.1), rotor=(0.3, 0.2, 0.1),
           gravity=(0.2, 0.3, -9.7), slide=0.0):
    """Springs, dampers and rotors on hinges and a ball joint; the last joint has no damper by itself."""
    builder = mb.ModelBuilder(gravity=gravity)
    inner = (0.1, 0.2, 0.15)
    builder.add_body("arm", joint=mb.universal("x", "y"), mass=1.0, com=(0.1, 0, 0), inertia=inner, stiffness=stiffness,
                     armature=armature)
    builder.add_body("hand", "arm", mb.ball(), mass=0.5, com=(0, 0.1, 0), inertia=inner, position=(0.4, 0, 0),
                     damping=damping, armature=rotor)
    builder.add_body("finger", "hand", mb.prismatic("z"), mass=0.2, inertia=inner, position=(0.1, 0, 0), damping=slide)
    return builder.build()


@pytest.mark.parametrize("method", METHODS)
def test_springs_dampers_rotors_and_gravity(method):
    rng = np.random.default_rng(5)
    stiffness, armature = rng.uniform(1.0, 9.0, (COUNT, 2)), rng.uniform(0.1, 0.5, (COUNT, 2))
    damping, rotor = rng.uniform(0.0, 1.0, (COUNT, 3)), rng.uniform(0.1, 0.5, (COUNT, 3))
    slide, gravity = rng.uniform(0.0, 1.0, COUNT), rng.normal(size=(COUNT, 3))
    model = sprung()
    varied = (model.vary("arm", stiffness=stiffness, armature=armature).vary("hand", damping=damping, armature=rotor)
              .vary("finger", damping=slide).vary(gravity=gravity))
    alone = [sprung(stiffness[i], damping[i], armature[i], rotor[i], gravity[i], slide[i]) for i in range(COUNT)]
    assert [varied.model_of(i) for i in range(COUNT)] == alone
    assert [varied[2:].model_of(i) for i in range(COUNT - 2)] == alone[2:]
    Q, P = states(model)
    Qdot, Pdot = mb.System(model, method).rhs_batch(Q, P, parameters=varied)
    for i in range(COUNT):
        qdot, pdot = mb.System(alone[i], method).rhs(Q[i], P[i])
        assert_close(Qdot[i], qdot, TOLERANCE, "qdot")
        assert_close(Pdot[i], pdot, TOLERANCE, "pdot")


def test_a_damper_where_the_model_has_no_passive_force():
    model = mb.zoo.chain(2)
    varied = model.vary("body1", damping=[0.0, 2.0])
    Q, P = np.zeros((2, 2)), np.ones((2, 2))
    _, Pdot = mb.System(model, "emh-ldl").rhs_batch(Q, P, parameters=varied)
    assert np.array_equal(Pdot[0], mb.System(model, "emh-ldl").rhs(Q[0], P[0])[1])
    u = mb.System(model).velocities(Q[1], P[1])
    np.testing.assert_allclose(Pdot[1] - Pdot[0], [0.0, -2.0 * u[1]], atol=1e-12)


@pytest.mark.parametrize(("change", "said"), [
    ({}, "expected gravity, or a body"),
    ({"mass": [1.0]}, "mass: of which body"),
    ({"gravity": [0, 0, -9.81]}, r"gravity: expected shape \(B, 3\)"),
    ({"gravity": [[0, 0, np.inf]]}, "gravity: expected finite numbers"),
    ({"body": "arm", "stiffness": [1.0, 2.0]}, r"stiffness: expected shape \(B, 2\), a number for each dof"),
    ({"body": "arm", "damping": [[1.0, -2.0]]}, "not negative, got -2 in state 0"),
    ({"body": "hand", "stiffness": [[1.0, 0, 0]]}, "dof 1 of its ball joint has no coordinate"),
    ({"body": "finger", "armature": [1.0]}, "where the model has armature"),
    ({"body": "arm", "armature": [[0.0, 1.0]]}, "where the model has armature"),
    ({"body": "arm", "mass": [1.0, 2.0], "gravity": [[0, 0, -1]]}, "each of 2 states, got 1"),
])
def test_bad_forces(change, said):
    with pytest.raises(mb.errors.ModelError, match=said):
        sprung().vary(**change)
