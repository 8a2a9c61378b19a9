"""Machines with known motion, and the closed forms of it, for the tests of the integrators."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

import mbkern as mb

FIXED = ("rk4", "midpoint", "gauss4", "gauss6")
GAUSS = ("midpoint", "gauss4", "gauss6")
ORDER = {"rk4": 4, "dopri5": 5, "midpoint": 2, "gauss4": 4, "gauss6": 6}


def pendulum(mass=1.0, length=1.0):
    """A point mass on a massless rod; q = 0 is horizontal along x, q = pi/2 hangs down."""
    builder = mb.ModelBuilder(gravity=(0.0, 0.0, -9.81), name="pendulum")
    builder.add_body("bob", joint=mb.revolute("y"), mass=mass, com=(length, 0.0, 0.0))
    return mb.System(builder.build())


def pendulum_angle(t, amplitude, length=1.0, g=9.81):
    """Angle from the vertical of a pendulum released at rest: theta = 2 asin(k cd(w t)), k = sin(amplitude / 2)."""
    k = np.sin(0.5 * amplitude)
    _, cn, dn, _ = ellipj(np.sqrt(g / length) * np.asarray(t), k * k)
    return 2.0 * np.arcsin(k * cn / dn)


def quarter_period(amplitude, length=1.0, g=9.81):
    """Time from rest to the lowest point."""
    return ellipk(np.sin(0.5 * amplitude) ** 2) / np.sqrt(g / length)


def flying(gravity=(0.0, 0.0, -9.81)):
    """A free body that carries a ball joint and a universal joint."""
    builder = mb.ModelBuilder(gravity=gravity, name="flying")
    builder.add_body("base", joint=mb.free(), mass=2.0, com=(0.1, 0.0, 0.05), inertia=(0.2, 0.3, 0.25))
    builder.add_body("arm", "base", mb.ball(), mass=1.0, com=(0.0, 0.2, 0.1), inertia=(0.1, 0.08, 0.05),
                     position=(0.3, 0.1, 0.0))
    builder.add_body("hand", "arm", mb.universal("x", "y"), mass=0.7, com=(0.1, 0.0, -0.2), inertia=(0.03, 0.05, 0.04),
                     position=(0.0, 0.5, 0.1))
    return builder.build()


def state(model, seed, scale=1.0, t=0.0):
    """A system and a random state of it."""
    system = mb.System(model)
    q, u = model.random_state(seed)
    return system, q, system.momenta(q, scale * u, t)


def precise(system, q, p, t_span, t_eval=None, tau=None):
    """The same motion by SciPy's DOP853 through `System.ode`, close to round-off: (q, p) at t_eval or the end."""
    nq = system.model.nq
    if tau is None:
        fun = system.ode()
    else:
        def fun(t, y):
            return np.concatenate(system.rhs(y[:nq], y[nq:], t, tau=tau(t, y[:nq], y[nq:])))
    result = solve_ivp(fun, t_span, np.concatenate((q, p)), method="DOP853", rtol=1e-13, atol=1e-14, t_eval=t_eval)
    assert result.success
    y = result.y[:, -1] if t_eval is None else result.y.T
    return y[..., :nq], y[..., nq:]


def same_rotation(q, reference, starts):
    """q with the signs of its quaternions as in the reference (q and -q are the same rotation)."""
    q = np.array(q)
    for at in starts:
        sign = np.sign(np.sum(q[..., at:at + 4] * reference[..., at:at + 4], axis=-1))
        q[..., at:at + 4] *= sign[..., None]
    return q


def error(system, q, p, reference):
    """Largest difference from a reference state, each number relative to the largest of its kind."""
    q_ref, p_ref = reference
    lengths = np.ones(q_ref.shape[-1])
    for at in system.model.quaternion_offsets:  # the reference is not scaled to length one
        lengths[at:at + 4] = np.linalg.norm(q_ref[at:at + 4])
    q_ref = q_ref / lengths
    return max(np.abs(q - q_ref).max() / max(1.0, np.abs(q_ref).max()), np.abs(p - p_ref).max() / np.abs(p_ref).max())
