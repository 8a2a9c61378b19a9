"""Work of forces along a trajectory: the power at the stages of Dormand-Prince steps between its states.

    dH/dt = u . f - sum d u^2 + (dH/dt at constant q, p)

f are the joint forces of all loads (tau, wrenches): what they add to dp/dt. d are the dampers. The last term is that of
drives, a difference quotient of order 4 within the step. From every state of the trajectory a few steps lead to the
next one; there the next state takes over, so that the errors of these steps do not add up.
"""

from ...core import energy
from ...core.cabi import call_ode
from ...core.checks import OK
from ...core.arguments import data_of
from ...core.entry import call_rhs
from ...core.jit import checked, noinline
from ...core.layout import DAMPING, NQ, NV, STATUS, coordinate_row, speeds_at
from ...core.number import get, whole
from .calls import load_double
from .common import copy
from .stages import dopri5_end, dopri5_stage2, dopri5_stage3, dopri5_stage4, dopri5_stage5, dopri5_stage6
from .tableaus import A71, A73, A74, A75, A76, C2, C3, C4, C5, E1, E3, E4, E5, E6, E7

# vectors of n numbers: the state, a stage, the rates of seven stages, rates without loads
STATE, STAGE, RATES, BARE, VECTORS = 0, 1, 2, 9, 10
LOADS, DAMPERS, DRIVES, ERROR, KINDS = 0, 1, 2, 3, 4  # columns of the result
PART = 0.05  # of a step: between the points of the difference quotient


@noinline
def hamiltonian(rhs, block, t, y, rate, out, work):
    """H at time t for a state y."""
    nq, nv, at = whole(block, NQ), whole(block, NV), speeds_at(block)
    q, p = y[:nq], y[nq:]
    call_rhs(rhs, t, data_of(q), data_of(p), 0, data_of(rate), data_of(rate[nq:]), data_of(block), data_of(work))
    energy.energy(block, q, p, work[at:at + nv], out, work)
    return out[2]


@noinline
def explicit_rate(rhs, block, t, delta, y, rate, out, work):
    """dH/dt at constant state by values at t, t + delta, ..., t + 4 delta."""
    H0 = hamiltonian(rhs, block, t, y, rate, out, work)
    H1 = hamiltonian(rhs, block, t + delta, y, rate, out, work)
    H2 = hamiltonian(rhs, block, t + 2.0 * delta, y, rate, out, work)
    H3 = hamiltonian(rhs, block, t + 3.0 * delta, y, rate, out, work)
    H4 = hamiltonian(rhs, block, t + 4.0 * delta, y, rate, out, work)
    return (48.0 * (H1 - H0) - 36.0 * (H2 - H0) + 16.0 * (H3 - H0) - 3.0 * (H4 - H0)) / (12.0 * delta)


@noinline
def power(ode, user, rhs, block, driven, t, delta, at, stage, x, n, powers, out, work):
    """Row `stage` of `powers` at time t for the state at x[at:], whose rate becomes vector RATES + stage of x."""
    nq, nv, speeds = whole(block, NQ), whole(block, NV), speeds_at(block)
    y, rate, bare = x[at:at + n], (RATES + stage) * n, x[BARE * n:(BARE + 1) * n]
    call_ode(ode, t, x, at, x, rate, user)
    code = int(load_double(user + 8 * STATUS))
    call_rhs(rhs, t, data_of(y), data_of(y[nq:]), 0, data_of(bare), data_of(bare[nq:]), data_of(block), data_of(work))
    loads, dampers = 0.0, 0.0
    for j in range(nv):
        u = work[speeds + j]
        loads += u * (x[rate + nq + j] - bare[nq + j])
        dampers -= get(block, coordinate_row(block, j) + DAMPING) * u * u
    powers[stage, LOADS], powers[stage, DAMPERS] = loads, dampers
    if driven:
        powers[stage, DRIVES] = explicit_rate(rhs, block, t, delta, y, bare, out, work)
    return code


@checked
def work_along(ode, user, rhs, block, driven, t, y, parts, x, powers, energies, out, work):
    """Rows (loads, dampers, drives, error) of `out`, in J since the first of the states (t, y); out[0] is zero.

    y and `out` are flat, one state or row after another. `ode` with its `user` is the right-hand side of the run, `rhs`
    that of "emh-ldl" without loads. Between states i and i + 1 are parts[i] steps. Returns the status that ended it, OK
    at the end; rows behind that are left as they were.
    """
    n = x.shape[0] // VECTORS
    s = STAGE * n
    k1, k2, k3, k4, k5, k6 = 2 * n, 3 * n, 4 * n, 5 * n, 6 * n, 7 * n
    for i in range(t.shape[0] - 1):
        h = (t[i + 1] - t[i]) / parts[i]
        copy(y, i * n, x, 0, n)
        copy(out, i * KINDS, out, (i + 1) * KINDS, KINDS)
        total = out[(i + 1) * KINDS:(i + 2) * KINDS]
        for part in range(parts[i]):
            time, later, earlier = t[i] + part * h, PART * h, -PART * h
            code = power(ode, user, rhs, block, driven, time, later, 0, 0, x, n, powers, energies, work)
            dopri5_stage2(x, n, 0, h, k1, s)
            code |= power(ode, user, rhs, block, driven, time + C2 * h, later, s, 1, x, n, powers, energies, work)
            dopri5_stage3(x, n, 0, h, k1, k2, s)
            code |= power(ode, user, rhs, block, driven, time + C3 * h, later, s, 2, x, n, powers, energies, work)
            dopri5_stage4(x, n, 0, h, k1, k2, k3, s)
            code |= power(ode, user, rhs, block, driven, time + C4 * h, earlier, s, 3, x, n, powers, energies, work)
            dopri5_stage5(x, n, 0, h, k1, k2, k3, k4, s)
            code |= power(ode, user, rhs, block, driven, time + C5 * h, earlier, s, 4, x, n, powers, energies, work)
            dopri5_stage6(x, n, 0, h, k1, k2, k3, k4, k5, s)
            code |= power(ode, user, rhs, block, driven, time + h, earlier, s, 5, x, n, powers, energies, work)
            dopri5_end(x, n, 0, h, k1, k3, k4, k5, k6, s)
            code |= power(ode, user, rhs, block, driven, time + h, earlier, s, 6, x, n, powers, energies, work)
            if code != OK:
                return code
            error = 0.0
            for kind in range(ERROR):
                P = powers[:, kind]
                total[kind] += h * (A71 * P[0] + A73 * P[2] + A74 * P[3] + A75 * P[4] + A76 * P[5])
                error += h * (E1 * P[0] + E3 * P[2] + E4 * P[3] + E5 * P[4] + E6 * P[5] + E7 * P[6])
            total[ERROR] += abs(error)
            copy(x, s, x, 0, n)
    return OK
