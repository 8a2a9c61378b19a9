"""What the checks of compiled code look at: every number, and the outermost joint that has nothing to move."""

import numpy as np
import pytest

import mbkern as mb
from mbkern import plain

beyond = plain.load("checks").beyond


@pytest.mark.parametrize("n", range(1, 12))
def test_every_number_is_looked_at(n):
    good = np.linspace(-1.0, 1.0, n)
    assert not beyond(good, 2.0 * n)
    for bad in (np.nan, np.inf, -np.inf, 3.0 * n):
        for place in range(n):
            x = good.copy()
            x[place] = bad
            assert beyond(x, 2.0 * n), (bad, place)
    assert not beyond(np.full(n, 1.5), 1.6)  # their sum may be larger


def test_the_outermost_singular_joint_is_blamed():
    """Both are in gimbal lock; elimination begins outside, so what it finds further in may only be a consequence."""
    builder = mb.ModelBuilder()
    for name, parent in (("inner", "world"), ("outer", "inner")):
        builder.add_body(name, parent, mb.euler_ball("zyx"), mass=1.0, inertia=(1, 1, 1), position=(0, 0, 1))
    system = mb.System(builder.build())
    lock = [0.1, 0.5 * np.pi, 0.2]
    with pytest.raises(mb.errors.SingularInertiaError, match="'inner'"):
        system.rhs([*lock, 0.1, 0.2, 0.3], np.zeros(6))
    with pytest.raises(mb.errors.SingularInertiaError, match="'outer'"):
        system.rhs(lock * 2, np.zeros(6))
