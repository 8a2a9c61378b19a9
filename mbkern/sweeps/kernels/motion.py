"""What given joint speeds mean: velocities and momenta of all bodies, and the rates of the momenta, O(N).

    v_i = C_i v_k + A_i qdot_i + vr_i,   mu_i = M_i v_i + sum_j C_j^T mu_j,   p_i = A_i^T mu_i + r_i qdot_i
    pdot_i = (Adot_i^T - A_i^T Omega_i) mu_i + A_i^T F*_i + tau_i,   F*_i = F_i + sum_j C_j^T F*_j        j the children
"""

from ...core.jit import inline, kernel
from ...core.layout import add_to_pair, get_pair, put_pair
from ...core.number import get, put
from ...core.records import A, A_Q, A_T, RECORD_ARMATURE, F, RECORD, VR, get_column
from ...core.spatial import add6, axpy6, dot6, force_to_parent, inertia_times, motion_to_child, omega_times, sub6
from .layout import dofs, flat, frame, inertia, numbers, parent


@inline
def put_velocities(blocks, records, qdot, V):
    """v of all bodies, root first."""
    first = 0
    for i in range(blocks.shape[0]):
        at, k = i * RECORD, parent(blocks, i)
        x = get_pair(records, at + VR)
        if k >= 0:
            x = add6(x, motion_to_child(frame(records, i), get_pair(V, 6 * k)))
        for j in range(dofs(blocks, i)):
            x = axpy6(get(qdot, first + j), get_column(records, at + A, j), x)
        first += dofs(blocks, i)
        put_pair(V, 6 * i, x)


@inline
def put_branch_momenta(blocks, records, V, MU):
    """mu of all bodies, leaves first."""
    for i in range(blocks.shape[0]):
        put_pair(MU, 6 * i, inertia_times(inertia(records, i), get_pair(V, 6 * i)))
    for i in range(blocks.shape[0] - 1, -1, -1):
        k = parent(blocks, i)
        if k >= 0:
            add_to_pair(MU, 6 * k, force_to_parent(frame(records, i), get_pair(MU, 6 * i)))


@kernel
def momenta(blocks, qdot, p, v, mu):
    """p (n), v and mu (N, 6) for qdot (n)."""
    records, V, MU, first = numbers(blocks), flat(v), flat(mu), 0
    put_velocities(blocks, records, qdot, V)
    put_branch_momenta(blocks, records, V, MU)
    for i in range(blocks.shape[0]):
        at = i * RECORD
        for j in range(dofs(blocks, i)):
            own = get(records, at + RECORD_ARMATURE + j) * get(qdot, first + j)
            put(p, first + j, dot6(get_column(records, at + A, j), get_pair(MU, 6 * i)) + own)
        first += dofs(blocks, i)


@kernel
def momentum_rates(blocks, tau, qdot, v, mu, pdot, work):
    """pdot (n) for tau (n, or empty) and what a solver has left in qdot, v and mu."""
    records, V, MU, first = numbers(blocks), flat(v), flat(mu), 0
    for i in range(blocks.shape[0]):
        put_pair(work, 6 * i, get_pair(records, i * RECORD + F))
        first += dofs(blocks, i)
    for i in range(blocks.shape[0] - 1, -1, -1):
        at, k, n = i * RECORD, parent(blocks, i), dofs(blocks, i)
        momentum, load = get_pair(MU, 6 * i), get_pair(work, 6 * i)
        if k >= 0:
            add_to_pair(work, 6 * k, force_to_parent(frame(records, i), load))
        load = sub6(load, omega_times(get_pair(V, 6 * i), momentum))
        first -= n
        for j in range(n):
            Adot = get_column(records, at + A_T, j)
            for l in range(n):
                Adot = axpy6(get(qdot, first + l), get_column(records, at + A_Q + 36 * l, j), Adot)
            rate = dot6(get_column(records, at + A, j), load) + dot6(Adot, momentum)
            put(pdot, first + j, rate + get(tau, first + j) if tau.shape[0] > 0 else rate)
