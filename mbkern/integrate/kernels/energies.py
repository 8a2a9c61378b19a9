"""Energies along a trajectory: one compiled loop over its states."""

from ...core import energy, extended
from ...core.jit import checked


@checked
def energies(block, t, q, p, tau, qdot, pdot, out, work):
    """Rows (T, Pi, H) of `out` for the states (t, q, p), one a row; returns the first status that is not OK."""
    code = 0
    for k in range(t.shape[0]):
        status = extended.rhs(block, t[k], q[k], p[k], tau, qdot, pdot, work)
        energy.energy(block, q[k], p[k], out[k], work)
        if code == 0:
            code = status
    return code
