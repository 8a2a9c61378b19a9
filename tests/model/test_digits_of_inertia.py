"""Inertias keep their digits: about axes that pass near centres of mass, and in frames far from them."""

from __future__ import annotations

import numpy as np
import pytest
from cases import assert_close

import mbkern as mb

TOLERANCE = 4e-15  # some roundings; nothing cancels


@pytest.mark.parametrize("e", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("com", [(1.0, 0.0, 0.0), (0.6, 0.8, 0.0), (0.0, -1.0, 0.0)])
def test_a_point_mass_near_the_axis_of_its_hinge(e, com):
    builder = mb.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.add_body("rod", joint=mb.revolute("z"), mass=2.0, com=(e * com[0], e * com[1], 1.0))
    for method in ("emh-ldl", "dah"):
        system = mb.System(builder.build(), method)
        assert_close(system.velocities([0.3], [2.0 * e * e]), [1.0], TOLERANCE, method)
        assert_close(system.mass_matrix([0.3]), [[2.0 * e * e]], TOLERANCE, "mass matrix")


@pytest.mark.parametrize("e", [1e-3, 1e-6, 1e-9])
def test_the_same_on_another_body(e):
    """The base stands still when it is as heavy as it is here."""
    builder = mb.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.add_body("base", joint=mb.revolute("x"), mass=1e30, com=(0.0, 1.0, 0.0))
    builder.add_body("rod", "base", mb.revolute("z"), mass=2.0, com=(0.0, e, 1.0))
    system = mb.System(builder.build(), "emh-ldl")
    assert_close(system.velocities([0.3, 0.4], [0.0, 2.0 * e * e])[1], 1.0, TOLERANCE, "speed")


@pytest.mark.parametrize("e", [1e-3, 1e-6])
def test_an_axis_that_is_nearly_that_of_the_rod(e):
    builder = mb.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.add_body("rod", joint=mb.revolute((np.sin(e), 0.0, np.cos(e))), mass=2.0, com=(0.0, 0.0, 1.0))
    system = mb.System(builder.build(), "emh-ldl")
    assert_close(system.velocities([0.3], [2.0 * np.sin(e) ** 2]), [1.0], TOLERANCE, "speed")


@pytest.mark.parametrize("far", [1e3, 1e6])
def test_a_frame_far_along_the_axis(far):
    """The inertia about the axis does not depend on where along it the body's origin is."""
    builder = mb.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.add_body("base", joint=mb.revolute("z"), mass=1.0, com=(0.0, 0.2, 0.0), inertia=(1.0, 1.0, 1.0))
    builder.add_body("tip", "base", mb.revolute("z"), mass=2.0, com=(1e-3, 0.0, far), inertia=(1e-3, 2e-3, 3e-3),
                     position=(0.5, 0.0, 0.0))
    near = mb.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    near.add_body("base", joint=mb.revolute("z"), mass=1.0, com=(0.0, 0.2, 0.0), inertia=(1.0, 1.0, 1.0))
    near.add_body("tip", "base", mb.revolute("z"), mass=2.0, com=(1e-3, 0.0, 0.0), inertia=(1e-3, 2e-3, 3e-3),
                  position=(0.5, 0.0, 0.0))
    q, p = [0.3, 0.4], [0.5, 0.2]
    for given, wanted in zip(mb.System(builder.build(), "emh-ldl").rhs(q, p),
                             mb.System(near.build(), "emh-ldl").rhs(q, p), strict=True):
        assert_close(given, wanted, 1e-13, "rates")


def test_a_centre_of_mass_on_an_axis_that_rounding_puts_beside_it():
    """What is left of zero is no inertia: the joint has nothing to move."""
    axis = np.array([0.857198496168788, -0.6186340737852168, -0.004890977932754291])
    builder = mb.ModelBuilder()
    builder.add_body("rod", joint=mb.revolute(axis), mass=1.0, com=0.7 * axis)
    builder.add_body("tip", "rod", mb.revolute(axis), mass=1.0, com=0.4 * axis)
    model = builder.build()
    with pytest.raises(mb.errors.SingularInertiaError):
        mb.System(model, "emh-ldl").rhs([0.3, 0.4], [1.0, 1.0])
