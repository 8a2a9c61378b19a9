"""Energies and joint speeds along a trajectory: one compiled loop over its states."""

from ...core import energy
from ...core.arguments import data_of
from ...core.entry import call_rhs
from ...core.jit import checked
from ...core.layout import NV, speeds_at
from ...core.number import whole


@checked
def energies(rhs, block, t, q, p, qdot, pdot, out, speeds, work):
    """Rows (T, Pi, H) of `out` and u of `speeds` for the states (t, q, p), one a row; returns the first status that is
    not OK.

    `rhs` is the address of "emh-ldl" as :mod:`mbkern.core.entry` has it.
    """
    code, at = 0, speeds_at(block)
    u = work[at:at + whole(block, NV)]
    for k in range(t.shape[0]):
        status = call_rhs(rhs, t[k], data_of(q[k]), data_of(p[k]), 0, data_of(qdot), data_of(pdot), data_of(block),
                          data_of(work))
        for j in range(u.shape[0]):
            speeds[k, j] = u[j]
        energy.energy(block, q[k], p[k], u, out[k], work)
        if code == 0:
            code = status
    return code
