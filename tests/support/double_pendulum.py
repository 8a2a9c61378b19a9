"""A double pendulum of point masses; its motion and variational equations by heyoka, from its Hamiltonian alone."""

import numpy as np
import pytest

import mbkern as mb

MASSES, LENGTHS, GRAVITY = (1.0, 0.7), (1.0, 0.8), 9.81


def double_pendulum(springs=False):
    """Angles from the horizontal, the second one relative to the first; both fall towards pi/2 and 0."""
    builder = mb.ModelBuilder(gravity=(0.0, 0.0, -GRAVITY), name="double pendulum")
    extra = {"stiffness": 2.0, "damping": 0.3} if springs else {}
    builder.add_body("upper", joint=mb.revolute("y"), mass=MASSES[0], com=(LENGTHS[0], 0.0, 0.0), **extra)
    builder.add_body("lower", "upper", mb.revolute("y"), mass=MASSES[1], com=(LENGTHS[1], 0.0, 0.0),
                     position=(LENGTHS[0], 0.0, 0.0))
    return builder.build()


def heyoka_double_pendulum(y, t_end):
    """(q, p) and the state-transition matrix at t_end by Taylor series, to machine precision."""
    hy = pytest.importorskip("heyoka")
    (a, b), (x, y2) = hy.make_vars("a", "b"), hy.make_vars("x", "y")
    (m, n), (l, k), g = MASSES, LENGTHS, GRAVITY
    M11 = m * l**2 + n * (l**2 + k**2 + 2.0 * l * k * hy.cos(b))
    M12, M22 = n * (k**2 + l * k * hy.cos(b)), n * k**2
    kinetic = 0.5 * (M22 * x**2 - 2.0 * M12 * x * y2 + M11 * y2**2) / (M11 * M22 - M12**2)
    H = kinetic - g * ((m + n) * l * hy.sin(a) + n * k * hy.sin(a + b))
    equations = [(a, hy.diff(H, x)), (b, hy.diff(H, y2)), (x, -hy.diff(H, a)), (y2, -hy.diff(H, b))]
    taylor = hy.taylor_adaptive(hy.var_ode_sys(equations, hy.var_args.vars, order=1), list(y), compact_mode=True)
    taylor.propagate_until(t_end)
    Phi = np.empty((4, 4))
    for place in range(4, 20):
        row, *orders = taylor.get_mindex(place)
        Phi[row, int(np.argmax(orders))] = taylor.state[place]
    return taylor.state[:4].copy(), Phi
