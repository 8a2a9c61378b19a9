"""The blocks of machines that differ from state to state, one by one, by the kernels as ordinary Python."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from cases import assert_close, random_state

import mbkern as mb
from mbkern import plain

T = 0.37
TOLERANCE = 1e-10  # rounding times the condition of mass matrices of order 1e3
COUNT = 3


def machine():
    """A body with all numbers different from zero, and on it one about a perpendicular axis at another point."""
    builder = mb.ModelBuilder(gravity=(0.3, -0.2, -9.8))
    for name, parent, axis in (("base", "world", "z"), ("arm", "base", "x"), ("tool", "arm", "y")):
        builder.add_body(name, parent, mb.revolute(axis), mass=1.2, com=(0.2, -0.3, 0.1),
                         inertia=(0.2, 0.25, 0.3, 0.01, -0.02, 0.03), position=(0.3, 0.2, -0.4))
    builder.add_body("tip", "tool", mb.ball(), mass=0.7, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.12, 0.14),
                     position=(0.1, 0.5, 0.2))
    return builder.build()


CHANGES = {
    "mass": {"mass": np.array([0.4, 1.0, 2.5])},
    "com": {"com": np.array([[0.1, 0.2, 0.3], [0.0, 0.0, 0.0], [-0.2, 0.1, 0.4]])},
    "inertia": {"inertia": np.array([[0.1, 0.2, 0.15], [0.3, 0.3, 0.4], [0.2, 0.2, 0.2]])},
    "position": {"position": np.array([[0.0, 0.0, 0.0], [0.3, -0.2, 0.1], [0.0, 0.5, 0.0]])},
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("body", ["base", "arm", "tool", "tip"])
def test_each_row_is_the_machine_that_it_describes(body, what):
    model = machine()
    varied = model.vary(body=body, **CHANGES[what])
    q, p = random_state(model, 2, T)
    for i in range(COUNT):
        block = model.block.copy()
        block[varied.places] = varied.values[i]
        wanted = reference.hamilton(varied.model_of(i), q, p, T)
        for module in ("extended", "reduced", "multipliers"):
            qdot, pdot = np.empty(model.nq), np.empty(model.nv)
            code = plain.rhs(module)(block, T, q, p, np.empty(0), qdot, pdot, np.full(50_000, np.nan))
            assert code == 0
            assert_close(qdot, wanted.qdot, TOLERANCE, f"{module} qdot")
            assert_close(pdot, wanted.pdot, TOLERANCE, f"{module} pdot")
