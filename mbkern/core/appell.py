"""Appell's equations by probing the energy of accelerations; method "appell".

    S = sum over nodes of  m w.w/2 + (w x eps).s + (w x om).(om x s) + eps.J eps/2 + (eps x om).J om
      + sum over dofs of  r udot^2/2  + udot.Omega(u) (r u)  of ball and free nodes

w is the acceleration of the joint's origin, eps and om the angular acceleration and velocity, s = m rc, J the inertia
about the origin, r the inertia of rotors (Garifulin; terms without accelerations are left out: om^2 om.J om/2, which
depends on the origin. That of the node is another point b of the axis: om^2 ((om x b).(om x s) - m (om x b)^2/2) makes
up for it). S is quadratic in the joint accelerations, so its values at unit arguments give all coefficients of

    A udot + u^T K u + D^T u + H = Q,   Q the forces of gravity, joint springs and dampers, and given ones

    S0 = S(0)      A_kk = S(2 e_k) - 2 S(e_k) + S0      H_k = S(e_k) - S0 - A_kk/2
    A_jk = S(e_j + e_k) - S0 - A_jj/2 - A_kk/2 - H_j - H_k

at rest; K and D likewise from speeds e_i, 2 e_i, e_i + e_j. At the actual speeds the same probes give A and the whole
bias (in the place of H): 1 + 2n + n(n-1)/2 values of S for udot. The weight is no acceleration of the ground here: it
would make S large, and the rounding error of the differences with it.

What the differences lose is relative to S and to unit trial accelerations: where something heavy is driven and
something light is free, S0 is large beside A. The estimate at `loss_at` is the rounding error of S over the smallest
pivot of A, the error of an acceleration next to the largest of all or to a unit.

To read along: :mod:`mbkern.textbook.appell`.
"""

from .drives import evaluate_drives
from .forces import add_applied_forces
from .jit import inline, kernel, noinline
from .joints import dofs, put_drive_margins, put_frames
from .layout import (
    HAS_ROTORS, HOME, INERTIA, MASS, MOMENT, N_NODES, NV, VI, W_GRAVITY, W_PHI, W_V, W_W,
    get3, get6, get_pair, loss_at, margins_at, node_row, put_pair, speeds_at, work_row, work_size,
)
from .momenta import project_forces, put_gravity
from .newton_euler import carry_accelerations, put_motions
from .number import fma, get, larger, magnitude, put, smaller, whole
from .rotors import add_rotor_forces, armature
from .spatial import ZERO6
from .vec3 import add, cross, dot, scale, smul

PROBED_ROUNDING = 4.0 * 2.0**-52  # of S, in the sum of four of them that gives a diagonal entry of A
PROBED_TOLERANCE = 1e-12  # of the diagonal of A, whose error is about the rounding error of S


# ---- the workspace after what all methods have: trial accelerations x, trial speeds, H, forces of rotors, A ----
@inline
def x_at(block):
    return work_size(block)


@inline
def u_at(block):
    return x_at(block) + whole(block, NV)


@inline
def bias_at(block):
    return u_at(block) + whole(block, NV)


@inline
def matrix_at(block):
    return bias_at(block) + 2 * whole(block, NV)


@inline
def appell_size(block):
    """Numbers the workspace holds."""
    return matrix_at(block) + whole(block, NV) * whole(block, NV)


# ---- the energy of accelerations ----
@inline
def energy_of_accelerations(block, work):
    """S for the trial accelerations x of the workspace; frames, v and wr of the actual motion are there already."""
    n = whole(block, N_NODES)
    carry_accelerations(block, work[x_at(block):], work)
    total = work_row(n) + W_PHI  # in memory, for any number type
    put(work, total, 0.0)
    for i in range(n):
        c, at = node_row(i), work_row(i)
        u, om = get_pair(work, at + W_V)
        a, eps = get_pair(work, at + W_W)
        w = add(a, cross(om, u))
        s, J = get3(block, c + MOMENT), get6(block, c + INERTIA)
        S = fma(0.5 * get(block, c + MASS), dot(w, w), dot(cross(w, eps), s) + dot(cross(w, om), cross(om, s)))
        S = S + fma(0.5, dot(eps, smul(J, eps)), dot(cross(eps, om), smul(J, om)))
        b, m = cross(om, (0.0, 0.0, get(block, c + HOME))), get(block, c + MASS)
        S = fma(dot(om, om), fma(-0.5 * m, dot(b, b), dot(b, cross(om, s))), S)
        put(work, total, get(work, total) + S)
    if whole(block, HAS_ROTORS) != 0:
        add_rotor_energy(block, total, work)
    return get(work, total)


@noinline
def add_rotor_energy(block, total, work):
    """Add r x^2/2 + x.Omega(u) (r u) for trial accelerations x and speeds u of the workspace."""
    x, speeds, spin, n = x_at(block), speeds_at(block), bias_at(block) + whole(block, NV), whole(block, NV)
    for j in range(n):
        put(work, spin + j, 0.0)
        put(work, speeds + j, get(work, u_at(block) + j))
    add_rotor_forces(block, work[spin:], work)
    for j in range(n):
        a = get(work, x + j)
        S = fma(0.5 * armature(block, j) * a, a, get(work, total))
        put(work, total, fma(-a, get(work, spin + j), S))


@inline
def rest(block, at, work):
    """Zeros for trial accelerations or speeds."""
    for j in range(whole(block, NV)):
        put(work, at + j, 0.0)


@inline
def start_probing(block, u, work):
    """The motion of speeds u, a ground without acceleration, no trial accelerations; returns S."""
    put_motions(block, u, work)
    for j in range(whole(block, NV)):
        put(work, u_at(block) + j, get(u, j))
    put_pair(work, work_row(whole(block, N_NODES)) + W_W, ZERO6)
    rest(block, x_at(block), work)
    return energy_of_accelerations(block, work)


@inline
def probe(block, k, amount, work):
    """S with trial acceleration k set to `amount` (the others stay), and that one back to zero."""
    x = x_at(block) + k
    put(work, x, amount)
    S = energy_of_accelerations(block, work)
    put(work, x, 0.0)
    return S


@inline
def probe_mass(block, S0, A, at, H, bias, work):
    """A (row by row from `at` of array A on) and H at the present speeds: 2n + n(n-1)/2 values of S."""
    n, x = whole(block, NV), x_at(block)
    for k in range(n):
        S1 = probe(block, k, 1.0, work)
        a = probe(block, k, 2.0, work) - 2.0 * S1 + S0
        put(A, at + k * n + k, a)
        put(H, bias + k, S1 - S0 - 0.5 * a)
    for k in range(n):
        put(work, x + k, 1.0)
        for j in range(k):
            diagonal = get(A, at + j * n + j) + get(A, at + k * n + k)
            a = probe(block, j, 1.0, work) - S0 - 0.5 * diagonal - get(H, bias + j) - get(H, bias + k)
            put(A, at + j * n + k, a)
            put(A, at + k * n + j, a)
        put(work, x + k, 0.0)


# ---- forces ----
@inline
def put_weight(block, out, work):
    """out = d/dq of (g . sum m r_C), the forces of gravity in the joints; frames are in the workspace already."""
    put_gravity(block, work)
    for i in range(whole(block, N_NODES)):
        c, w = node_row(i), work_row(i)
        g = get3(work, w + W_GRAVITY)
        put_pair(work, w + W_PHI, (scale(get(block, c + MASS), g), cross(get3(block, c + MOMENT), g)))
    project_forces(block, out, work)


@kernel
def gravity_forces(block, t, q, out, work):
    """Forces of gravity in the joints at time t."""
    evaluate_drives(block, t, work)
    put_frames(block, q, work)
    put_weight(block, out, work)


# ---- what people ask for ----
@kernel
def acceleration_energy(block, t, q, u, udot, work):
    """S of a motion (float64 only)."""
    evaluate_drives(block, t, work)
    put_frames(block, q, work)
    start_probing(block, u, work)
    for j in range(whole(block, NV)):
        put(work, x_at(block) + j, get(udot, j))
    return energy_of_accelerations(block, work)


@kernel
def coefficients(block, t, q, A, K, D, H, work):
    """A (n x n), K (n x n x n, K_ij of equation k at k, i, j), D (n x n, of speed i in equation k at i, k), H (n).

    All of them for speeds that are free to choose: 1 + 3n + 5n^2/2 + n^3/2 values of S. Returns how many there were.
    """
    n, x, speeds = whole(block, NV), x_at(block), u_at(block)
    evaluate_drives(block, t, work)
    put_frames(block, q, work)
    rest(block, speeds, work)
    S0 = start_probing(block, work[speeds:], work)
    probe_mass(block, S0, A, 0, H, 0, work)
    count = 1 + 2 * n + n * (n - 1) // 2
    for i in range(n):
        put(work, speeds + i, 1.0)
        SI1 = start_probing(block, work[speeds:], work)
        for k in range(n):
            put(D, i * n + k, probe(block, k, 1.0, work) - SI1 - get(H, k) - 0.5 * get(A, k * n + k))
        put(work, speeds + i, 2.0)
        SI2 = start_probing(block, work[speeds:], work)
        for k in range(n):
            one, two = get(D, i * n + k), probe(block, k, 1.0, work) - SI2 - get(H, k) - 0.5 * get(A, k * n + k)
            put(K, (k * n + i) * n + i, 0.5 * two - one)
            put(D, i * n + k, 2.0 * one - 0.5 * two)
        put(work, speeds + i, 0.0)
        count += 2 * (1 + n)
    for i in range(n):
        put(work, speeds + i, 1.0)
        for j in range(i):
            put(work, speeds + j, 1.0)
            SIJ = start_probing(block, work[speeds:], work)
            for k in range(n):
                own = get(K, (k * n + i) * n + i) + get(K, (k * n + j) * n + j) + get(D, i * n + k) + get(D, j * n + k)
                rest_of = get(H, k) + 0.5 * get(A, k * n + k) + own
                value = 0.5 * (probe(block, k, 1.0, work) - SIJ - rest_of)
                put(K, (k * n + i) * n + j, value)
                put(K, (k * n + j) * n + i, value)
            put(work, speeds + j, 0.0)
            count += 1 + n
        put(work, speeds + i, 0.0)
    put(work, x, 0.0)
    return count


@inline
def factor_and_solve(block, b, work):
    """b = A^-1 b by A = L^T D L, leaves first, so that a pivot belongs to a node: its margin."""
    n, at, x, margins = whole(block, NV), matrix_at(block), x_at(block), margins_at(block)
    for j in range(n):
        put(work, x + j, get(work, at + j * n + j))
    for i in range(whole(block, N_NODES) - 1, -1, -1):
        c = node_row(i)
        first, last = whole(block, c + VI), whole(block, c + VI) + dofs(block, c)
        for j in range(last - 1, first - 1, -1):
            row = at + j * n
            pivot = get(work, row + j)
            margin = fma(-PROBED_TOLERANCE, get(work, x + j), pivot)
            put(work, margins + i, smaller(margin, get(work, margins + i)))
            d = 1.0 / pivot
            for r in range(j):
                l = get(work, row + r) * d
                for s in range(r + 1):
                    put(work, at + r * n + s, fma(-l, get(work, row + s), get(work, at + r * n + s)))
                put(b, r, fma(-l, get(b, j), get(b, r)))
            put(b, j, get(b, j) * d)
            put(work, row + j, d)
    for j in range(n):
        row = at + j * n
        d = get(work, row + j)
        for r in range(j):
            put(b, j, fma(-(get(work, row + r) * d), get(b, r), get(b, j)))


@inline
def put_loss(block, S0, work):
    """The estimate of the error; the diagonal of A is at x, the pivots (inverted) are on that of the matrix."""
    n, at, x, loss = whole(block, NV), matrix_at(block), x_at(block), loss_at(block)
    put(work, loss, magnitude(S0)); put(work, loss + 1, 0.0)
    for j in range(n):
        put(work, loss, larger(2.0 * magnitude(get(work, x + j)), get(work, loss)))  # S(2 e_j) of that size
        put(work, loss + 1, larger(magnitude(get(work, at + j * n + j)), get(work, loss + 1)))
    put(work, loss, PROBED_ROUNDING * get(work, loss) * get(work, loss + 1))


@kernel
def sweeps(block, q, u, tau, udot, work):
    """udot for any number type; the drive values are in the workspace already."""
    bias, speeds = bias_at(block), speeds_at(block)
    put_drive_margins(block, work)
    put_frames(block, q, work)
    S0 = start_probing(block, u, work)
    probe_mass(block, S0, work, matrix_at(block), work, bias, work)
    put_weight(block, udot, work)
    for j in range(whole(block, NV)):
        put(work, speeds + j, get(u, j))
        put(udot, j, get(udot, j) - get(work, bias + j))
    add_applied_forces(block, q, tau, udot, work)  # those of rotors are part of S
    factor_and_solve(block, udot, work)
    put_loss(block, S0, work)
