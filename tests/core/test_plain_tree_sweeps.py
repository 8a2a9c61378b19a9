"""Mass matrix and bias of a tree for the formulations (`core/quasi_sweeps`), as ordinary Python against the reference.

With rails, too: first slides along ignorable coordinates, of which only what is constant is left.
"""

from __future__ import annotations

import numpy as np
import pytest
import reference
from cases import assert_close, random_state
from machines import MACHINES, Machine, T

import mbkern as mb
from mbkern import plain
from mbkern.analytic.frame import _prepare_rails

SWEEPS, LAYOUT, OK = plain.load("quasi_sweeps"), plain.load("layout"), 0
TOLERANCE = 1e-11


def swept(model, q, u, rails, t=T):
    """M and h; memory is full of NaN."""
    block, n = model.block, model.nv
    work, axes, M, h = np.full(60_000, np.nan), np.zeros((rails, rails, 3)), np.zeros((n, n)), np.full(n, np.nan)
    _prepare_rails(mb.System(model), M, work, axes)
    assert SWEEPS.mass_and_frames(block, rails, axes.reshape(-1), t, q, M.reshape(-1), work) == OK
    SWEEPS.bias(block, rails, axes.reshape(-1), q, u, h, work)
    return M, h


def expected(model, q, u, t=T):
    """Of a motion without accelerations the force that it needs, by the reference."""
    M = reference.mass_matrix(model, q, t)
    return M, -M @ reference.newton_euler(model, q, u, t).udot


@pytest.mark.parametrize("name", MACHINES)
def test_trees(name):
    machine = Machine(MACHINES[name])
    for given, wanted in zip(swept(machine.model, machine.q, machine.u, 0),
                             expected(machine.model, machine.q, machine.u), strict=True):
        assert_close(given, wanted, TOLERANCE, name)


@pytest.mark.parametrize("axes, gravity", [("xy", 9.7), ("zyx", 0.0), ("x", 9.7)])
def test_rails(axes, gravity):
    """Carts on carts, in turned axes; two branches hang on different ones. The weight is across all of them."""
    builder, parent = mb.ModelBuilder(gravity=(0.0, 0.0, -gravity)), "world"
    body = dict(mass=1.3, com=(0.2, -0.1, 0.3), inertia=(0.2, 0.25, 0.3, 0.01, 0.02, -0.03))
    for k, axis in enumerate(axes):
        parent = builder.add_body(f"cart{k}", parent, mb.prismatic(axis), position=(0.1, 0.2, 0.3),
                                  rotation=(0.8, 0.0, 0.0, 0.6) if k else None, **body)
    builder.add_body("arm", parent, mb.revolute("y"), position=(0.3, 0.1, 0.0), damping=0.3, **body)
    builder.add_body("hand", "arm", mb.ball(), position=(0.0, 0.4, 0.1), **body)
    builder.add_body("other", "cart0", mb.revolute((1, 1, 0)), stiffness=3.0, rest=0.2, **body)
    model = builder.build()
    q, u = random_state(model, 3, T)
    for given, wanted in zip(swept(model, q, u, len(axes)), expected(model, q, u), strict=True):
        assert_close(given, wanted, TOLERANCE, axes)


def test_drives_that_have_no_value_are_seen():
    builder = mb.ModelBuilder()
    builder.add_body("cam", joint=[mb.rotate("z", mb.spline([0, 1, 2], [0, 1, 0])), mb.rotate("y")], mass=1.0,
                     com=(0.1, 0, 0.2), inertia=(1, 1, 1))
    model = builder.build()
    for t, fine in ((0.5, True), (2.5, False)):
        work, M = np.full(10_000, np.nan), np.zeros(1)
        assert (SWEEPS.mass_and_frames(model.block, 0, np.empty(0), t, np.zeros(1), M, work) == OK) is fine
        assert (SWEEPS.frames_alone(model.block, t, np.zeros(1), work) == OK) is fine
