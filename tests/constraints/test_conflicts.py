"""Rows that contradict each other are named; rows that depend on each other and agree are passed."""

import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import StateError


def lift(second):
    """A cage whose height two prescribed planes keep."""
    b = mb.ModelBuilder()
    b.add_body("cage", joint=[mb.translate("z", name="z"), mb.rotate("y", name="turn")], mass=1.0, com=(0.1, 0, 0),
               inertia=(1, 1, 1))
    b.add_loop("floor", "cage", kind="point-on-plane", length=mb.harmonic(0.2, 3.0))
    b.add_loop("rope", "cage", kind="point-on-plane", length=second)
    return mb.System(b.build())


def test_rows_that_agree_are_passed():
    system = lift(mb.harmonic(0.2, 3.0))
    q, u = system.consistent([0.0, 0.3], [0.0, 0.5])
    run = system.simulate(q, system.momenta(q, u), (0.0, 1.0))
    assert run.success
    np.testing.assert_allclose(run.q[-1, 0], 0.2 * np.sin(3.0), atol=1e-12)
    assert system.mobility(q).redundant == ("rope: distance along z of b",)


def test_rows_that_contradict_are_named():
    system = lift(mb.harmonic(0.2, 2.0))  # the same height at t = 0, another speed
    q = np.array([0.0, 0.3])
    for call in (lambda: system.rhs(q, [0.0, 0.0]), lambda: system.impact(q, [0.0, 0.0]),
                 lambda: system.accelerations(q, [0.0, 0.0], t=0.3)):
        with pytest.raises(StateError, match=r"contradict each other at t = 0.*: no motion satisfies 'floor.*'rope"):
            call()
    with pytest.raises(StateError, match=r"contradict each other"):
        system.simulate(q, [0.0, 0.0], (0.0, 1.0))


def test_a_drive_of_a_loop_that_has_no_value():
    b = mb.ModelBuilder()
    b.add_body("cage", joint=mb.prismatic("z"), mass=1.0, inertia=(1, 1, 1))
    b.add_loop("rope", "cage", kind="point-on-plane", length=mb.spline([0.0, 1.0, 2.0], [0.0, 0.1, 0.3]))
    system = mb.System(b.build())
    with pytest.raises(StateError, match="constraint 'rope': its drive has no value at t = 3"):
        system.rhs([0.0], [0.0], t=3.0)


def test_a_singular_pose_where_accelerations_do_not_exist():
    """A parallelogram of equal bars, flat: a velocity that is a mixture of its two motions goes nowhere."""
    system = mb.System(mb.zoo.n_four_bar(1))
    q = np.array([-np.pi / 2, np.pi / 2, -np.pi / 2])
    assert system.mobility(q).freedoms == 2
    branches = np.array([[1.0, -1.0, 1.0], [0.0, 1.0, 1.0]])  # all cranks; the coupler with the second one
    a, _ = system.constraint_matrix(q)
    np.testing.assert_allclose(a @ branches.T, 0.0, atol=1e-14)
    for along in branches:
        assert np.isfinite(system.accelerations(q, along)).all()
    with pytest.raises(StateError, match=r"contradict each other .*pin0"):
        system.accelerations(q, branches[0] + branches[1])


def test_rows_that_nearly_depend_on_each_other_are_told_from_masses():
    """Two planes at points a micrometre apart that rise differently: the cage would turn with 2e5 rad/s."""
    b = mb.ModelBuilder()
    b.add_body("cage", joint=[mb.translate("z", name="z"), mb.rotate("y", name="turn")], mass=1.0, com=(0.1, 0, 0),
               inertia=(1, 1, 1))
    b.add_loop("floor", "cage", kind="point-on-plane", length=mb.harmonic(0.2, 3.0))
    b.add_loop("rope", "cage", kind="point-on-plane", position_a=(1e-6, 0, 0), length=mb.harmonic(0.2, 2.0))
    with pytest.raises(StateError, match=r"no digits are left of 'floor.*In this pose, a dead point.*prescribed to "
                                         "'floor', 'rope' leads up to the end of its reach"):
        mb.System(b.build()).rhs([0.0, 0.3], [0.0, 0.0])
