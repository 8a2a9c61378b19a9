"""Equilibria and vibrations of machines with constraints: closed forms, and bad input."""

import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import ModelError, StateError

G, LENGTH, COUPLER, CRANK = 9.81, 0.6, 1.3, 0.4


def parallelogram(stiffness=0.0):
    """Two equal cranks that hang, and a coupler that they carry without turning it."""
    builder = mb.ModelBuilder(gravity=(0, -G, 0))
    moment = CRANK * LENGTH**2 / 12.0
    for name, place in (("left", 0.0), ("right", 0.8)):
        builder.add_body(name, joint=mb.revolute("z"), mass=CRANK, com=(0, -LENGTH / 2, 0), position=(place, 0, 0),
                         inertia=(moment, 1e-6, moment))
    builder.add_body("coupler", "left", mb.revolute("z"), mass=COUPLER, com=(0.3, 0.1, 0), inertia=(0.01, 0.1, 0.1),
                     position=(0, -LENGTH, 0), stiffness=stiffness)
    builder.add_loop("pin", "coupler", "right", "plane-point", position_a=(0.8, 0, 0), position_b=(0, -LENGTH, 0))
    return mb.System(builder.build())


@pytest.mark.parametrize("stiffness", [0.0, 5.0])
def test_a_parallelogram_swings_as_a_pendulum(stiffness):
    """The coupler moves along without turning: (m + 2 m'/3) l^2 omega^2 = (m + m') g l + k, wherever its mass is."""
    system = parallelogram(stiffness)
    found = system.equilibrium([0.4, 0.4, -0.4])
    assert np.abs(found.q).max() < 1e-9 and np.abs(system.constraint_residuals(found.q)).max() < 1e-10
    modes = system.modes(found.q)
    square = ((COUPLER + CRANK) * G * LENGTH + stiffness) / ((COUPLER + 2.0 * CRANK / 3.0) * LENGTH**2)
    assert 2.0 * np.pi * modes.frequencies == pytest.approx([np.sqrt(square)], rel=1e-10)
    assert modes.shapes[:, 0] == pytest.approx([1.0, 1.0, -1.0], rel=1e-9)


def test_held_coordinates_and_their_forces():
    system = parallelogram()
    found = system.equilibrium([0.5, 0.4, -0.4], hold=["left"])
    assert found.q == pytest.approx([0.5, 0.5, -0.5], abs=1e-9)
    assert found.tau == pytest.approx([(COUPLER + CRANK) * G * LENGTH * np.sin(0.5), 0.0, 0.0], abs=1e-8)
    assert np.abs(system.accelerations(found.q, np.zeros(3), tau=found.tau)).max() < 1e-7


def geared(damping=0.0):
    """Two pendulums; the second one turns twice as far."""
    builder = mb.ModelBuilder(gravity=(0, 0, -G))
    builder.add_body("slow", joint=mb.revolute("y"), mass=1.0, com=(0, 0, -0.7), damping=damping)
    builder.add_body("quick", joint=mb.revolute("y"), mass=0.5, com=(0, 0, -0.4), position=(2, 0, 0))
    builder.add_gear("quick", "slow", 2.0)
    return mb.System(builder.build())


def test_gears_are_as_if_the_coordinate_had_been_eliminated():
    inertia, stiffness = 0.7**2 + 4.0 * 0.5 * 0.4**2, G * (0.7 + 4.0 * 0.5 * 0.4)
    modes = geared().modes([0.0, 0.0])
    assert modes.eigenvalues == pytest.approx([1j * np.sqrt(stiffness / inertia)], rel=1e-12)
    assert modes.shapes[:, 0] == pytest.approx([0.5, 1.0])
    damped, rate = geared(0.3).modes([0.0, 0.0]), 0.15 / inertia
    assert damped.eigenvalues == pytest.approx([-rate + 1j * np.sqrt(stiffness / inertia - rate**2)], rel=1e-9)


def test_vibrations_are_those_of_a_run():
    """A four-bar linkage, a little off its equilibrium: half a period later it turns round."""
    system = mb.System(mb.zoo.four_bar())
    found = system.equilibrium([2.9, -2.3, 0.7])
    modes = system.modes(found.q)
    assert modes.eigenvalues[0].real == 0.0 and modes.frequencies.size == 1
    off = 1e-4 * modes.shapes[:, 0].real
    q = system.assemble(found.q + off)
    run = system.simulate(q, np.zeros(3), (0.0, 1.0 / modes.frequencies[0]), "gauss4", step=2e-3 / modes.frequencies[0])
    # of second order in the amplitude
    assert np.abs(run.q[-1] - q).max() < 1e-3 * np.abs(off).max()
    assert np.abs(run.q[run.t.size // 2] - found.q + off).max() < 1e-3 * np.abs(off).max()


def test_it_does_not_matter_where_a_loop_is_cut():
    rates = [mb.System(mb.zoo.four_bar(cut)).modes([0.0, 0.0, 0.0]).eigenvalues[0]
             for cut in ("rocker", "crank", "coupler", "ground")]
    assert rates[0].real > 1.0 and rates == pytest.approx([rates[0]] * 4, rel=1e-9)  # the crank stands upright


def test_a_blade_lets_the_sleigh_stand_anywhere():
    """Nonholonomic: three dofs of position, two of velocity; nothing pulls it back."""
    system = mb.System(mb.zoo.chaplygin_sleigh())
    modes = system.modes(system.model.neutral())
    assert modes.eigenvalues.size == 5 and np.abs(modes.eigenvalues).max() < 1e-6


def test_bad_input_is_named():
    system = parallelogram()
    with pytest.raises(StateError, match=r"no equilibrium: a joint force of .* beside those of the constraints"):
        system.modes([0.5, 0.5, -0.5])
    with pytest.raises(StateError, match="q: the constraints are not satisfied: 'pin'"):
        system.modes([0.5, 0.3, -0.5])
    with pytest.raises(ModelError, match="u: steady rotations are not for models with constraints"):
        system.modes([0.0, 0.0, 0.0], u=[0.0, 0.0, 0.0])
    with pytest.raises(StateError, match=r"no equilibrium found .* joint force of .* is left over"):
        system.equilibrium([0.1, 0.1, -0.1], tau=[100.0, 0.0, 0.0])
