"""Free joints and bodies at the edge of having nothing to move, and what the ground carries."""

from __future__ import annotations

import numpy as np
import pytest
from cases import assert_close

import mbkern as mb

FREE_STATE = [0.1, 0.2, 0.3, 1.0, 0.0, 0.0, 0.0]
AXES = [(1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.3, 0.5, -0.8), (-0.7, 0.1, 0.2), (0.9, -0.4, 0.6), (0.2, 0.9, 0.5)]


def free_body(mass, inertia):
    builder = mb.ModelBuilder()
    builder.add_body("ship", joint=mb.free(), mass=mass, inertia=inertia)
    return builder.build()


@pytest.mark.parametrize("method", ["emh-ldl", "dah"])
@pytest.mark.parametrize(("mass", "moment"), [(1.0, 1e18), (1e-18, 1.0), (1e18, 1.0), (1.0, 1e-18)])
def test_mass_and_inertia_of_a_free_body_have_nothing_to_do_with_each_other(method, mass, moment):
    """Its linear pivots are measured by its mass, the angular ones by its inertia."""
    system = mb.System(free_body(mass, (moment,) * 3), method)
    p = [*[mass] * 3, *[moment] * 3]
    assert_close(system.velocities(FREE_STATE, p), np.ones(6), 1e-15, "velocities")
    assert_close(system.rhs(FREE_STATE, p)[0][:3], np.ones(3), 1e-15, "qdot")


@pytest.mark.parametrize("method", ["emh-ldl", "dah"])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("moment", [1.0, 1e-6])
def test_a_massless_free_body_that_carries_a_slider_has_nothing_to_move(method, axis, moment):
    """Both joints move the slider alike: what is left of the linear pivots along its axis is rounding."""
    builder = mb.ModelBuilder()
    builder.add_body("ship", joint=mb.free(), mass=0.0, inertia=(moment,) * 3)
    builder.add_body("slider", "ship", mb.prismatic(axis), mass=1.0)
    system = mb.System(builder.build(), method)
    with pytest.raises(mb.errors.SingularInertiaError, match="ship"):
        system.rhs([*FREE_STATE, 0.0], np.ones(7))


def test_a_free_body_without_mass_is_a_matter_of_its_row():
    model = free_body(1.0, (1.0, 1.0, 1.0))
    varied = model.vary(body="ship", mass=[1.0, 0.0, 2.0])
    Q, P = np.tile(FREE_STATE, (3, 1)), np.ones((3, 6))
    Qdot, _, status = mb.System(model, "emh-ldl").rhs_batch(Q, P, parameters=varied, return_status=True)
    assert (status != 0).tolist() == [False, True, False]
    assert_close(Qdot[[0, 2], 0], [1.0, 0.5], 1e-15, "qdot")


@pytest.mark.parametrize("turned", [(1.0, 1.0, None), (1.0, None, 1.0), (None, 1.0, 1.0)])
def test_thin_rods_can_be_inverted_and_ideal_ones_cannot(turned):
    """hzu inverts every inertia: a part of 1e-12 of the largest moment is an inertia, one of 1e-14 rounding."""
    def rod(part):
        return free_body(2.0, tuple(part if x is None else x for x in turned))

    p = np.array([1.0, 2.0, 3.0, *(1e-12 if x is None else x for x in turned)])
    system = mb.System(rod(1e-12), "hzu")
    assert_close(system.velocities(FREE_STATE, p), [0.5, 1.0, 1.5, 1.0, 1.0, 1.0], 1e-12, "velocities")
    assert_close(system.rhs(FREE_STATE, p)[0][:3], [0.5, 1.0, 1.5], 1e-12, "qdot")
    with pytest.raises(mb.errors.SingularInertiaError, match="ship"):
        mb.System(rod(1e-14), "hzu").rhs(FREE_STATE, p)
    model = rod(1.0)
    moments = [[part if x is None else x for x in turned] for part in (1.0, 1e-12, 1e-14)]
    Q, P = np.tile(FREE_STATE, (3, 1)), np.tile(p, (3, 1))
    system = mb.System(model, "hzu")
    system.rhs_batch(Q[:2], P[:2], parameters=model.vary(body="ship", inertia=moments[:2]))
    with pytest.raises(mb.errors.SingularInertiaError, match="state 2"):
        system.rhs_batch(Q, P, parameters=model.vary(body="ship", inertia=moments))


def test_the_ground_carries_all_that_is_welded_to_it():
    """Their weight is potential energy: all of them, welded to the ground itself or to each other."""
    builder = mb.ModelBuilder(gravity=(1.0, 2.0, -10.0))
    builder.add_body("wall", mass=2.0, com=(0.1, 0.0, 0.5), position=(1.0, 0.0, 0.0))
    builder.add_body("shelf", "wall", mass=3.0, com=(0.0, 0.2, 0.0), position=(0.0, 0.0, 1.0),
                     rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    builder.add_body("slot", mass=0.5, com=(0.0, 0.0, 2.0))
    builder.add_body("arm", "shelf", mb.revolute("z"), mass=1.0, com=(0.4, 0.0, 0.0), inertia=(0.1, 0.1, 0.1))
    centres = np.array([[1.1, 0.0, 0.5], [0.8, 0.0, 1.0], [0.0, 0.0, 2.0], [1.0, 0.4, 1.0]])
    wanted = -np.array([2.0, 3.0, 0.5, 1.0]) @ (centres @ np.array([1.0, 2.0, -10.0]))
    assert_close(mb.System(builder.build(), "emh-ldl").energy([0.0], [0.0]).potential, wanted, 1e-15, "potential")
