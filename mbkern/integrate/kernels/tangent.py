"""Tangents along a run: the exact derivative of every step, carried on beside the state.

D = dy/dx, n rows of m columns, x whatever the columns were at the beginning. The derivative of a Runge-Kutta step is
the same step for the variational equation, at the stages of the state's own step:

    dk_i = J_i (D + h sum_j a_ij dk_j),   J_i = df/dy (t + c_i h, y + h sum_j a_ij k_j),   D_new = D + h sum_i b_i dk_i

Explicit methods take products J_i D one after the other (`VARIATION`). For the Gauss methods the dk_i solve the linear
equations (E - h [a_ij J_i]) dk = J_i D, with all Jacobians exact: whatever rounding left of the stages themselves, D is
then symplectic to rounding where the J_i are Hamiltonian (Hairer, Lubich & Wanner, Geometric Numerical Integration,
section VI.4: symplectic methods preserve the quadratic invariants of the variational equation).

Tangents have a plan and vectors of their own, laid out like those of the state with N = n m numbers: their steps are
the functions of :mod:`.stages`.
"""

from math import sqrt

from ...core.arguments import integers_at
from ...core.cabi import call_load, call_ode
from ...core.jit import c_function, checked, exact
from ...core.number import array_at, get, put
from .calls import PART
from .common import at, copy, finite, has_value, square4
from .dense import interpolate, prepare_dense
from .gauss import stage_state
from .newton import eliminate, solve_columns
from .plan import (
    AT_MATRIX, AT_OUT_Y, AT_PIVOTS, AT_TANGENT, AT_WORK, DENSE_AT, DESK, FAILED_RHS, FAILED_STAGES, FIRST_EVAL, H,
    H_LAST, JACOBIAN, K1, K2, K3, K4, K5, K6, K7, MATRIX_SIZE, MORE, N, NEXT_EVAL, N_QUATERNIONS, QUATERNIONS, SLOPES,
    STAGES, STATUS, T, TEMP, THETA, VARIATION, VECTORS, WRITTEN, Y, Y_NEW,
)
from .places import output_of, plan_at
from .stages import (
    along, dopri5_end, dopri5_stage2, dopri5_stage3, dopri5_stage4, dopri5_stage5, dopri5_stage6, rk4_end,
)
from .tableaus import C2, C3, C4, C5, GAUSS_A, GAUSS_B, GAUSS_C


@exact
def tangent_of(plan):
    """The plan of the tangents, and their vectors."""
    tangent = integers_at(plan[AT_TANGENT], QUATERNIONS)
    return tangent, array_at(tangent[AT_WORK], VECTORS * tangent[N])


@exact
def vary(plan, tangent, num, t, y, dy, out):
    """out = J(t, y) dy, a state and tangents by their places; False when there is none."""
    n, m, x = plan[N], tangent[N], tangent[AT_WORK]
    call_load(tangent[VARIATION], t, array_at(plan[AT_WORK] + 8 * y, n), array_at(x + 8 * dy, m),
              array_at(x + 8 * out, m), tangent[DESK])
    return has_value(tangent[STATUS], plan, num, t, y)


@exact
def unit_tangents(plan, work, raw, x, D, columns):
    """The derivative of scaling quaternions to length one, where `raw` is the state before."""
    for k in range(plan[N_QUATERNIONS]):
        i = plan[QUATERNIONS + k]
        square = square4(work, raw + i)
        over = 1.0 / sqrt(square)
        for c in range(columns):
            along_it = 0.0
            for j in range(4):
                along_it += get(work, raw + i + j) * get(x, D + (i + j) * columns + c)
            along_it /= square
            for j in range(4):
                place = D + (i + j) * columns + c
                put(x, place, over * (get(x, place) - along_it * get(work, raw + i + j)))


@checked
def rk4_tangent(plan, num, t, h, work):
    """The tangents of the RK4 step from Y that has just been taken; False when there are none."""
    tangent, x = tangent_of(plan)
    n, m = plan[N], tangent[N]
    y, k1, k2, k3, k4, stage = (at(plan, Y), at(plan, K1), at(plan, K2), at(plan, K3), at(plan, K4), at(plan, TEMP))
    D, d1, d2, d3, d4 = at(tangent, Y), at(tangent, K1), at(tangent, K2), at(tangent, K3), at(tangent, K4)
    moved, half = at(tangent, TEMP), 0.5 * h
    if not vary(plan, tangent, num, t, y, D, d1):
        return False
    along(work, n, y, half, k1, stage)
    along(x, m, D, half, d1, moved)
    if not vary(plan, tangent, num, t + half, stage, moved, d2):
        return False
    along(work, n, y, half, k2, stage)
    along(x, m, D, half, d2, moved)
    if not vary(plan, tangent, num, t + half, stage, moved, d3):
        return False
    along(work, n, y, h, k3, stage)
    along(x, m, D, h, d3, moved)
    if not vary(plan, tangent, num, t + h, stage, moved, d4):
        return False
    rk4_end(x, m, D, h, d1, d2, d3, d4, at(tangent, Y_NEW))
    rk4_end(work, n, y, h, k1, k2, k3, k4, stage)
    unit_tangents(plan, work, stage, x, at(tangent, Y_NEW), m // max(n, 1))
    return True


@checked
def dopri5_tangent(plan, num, t, h, work):
    """The same for a step of Dormand-Prince."""
    tangent, x = tangent_of(plan)
    n, m = plan[N], tangent[N]
    y, stage, D, moved = at(plan, Y), at(plan, TEMP), at(tangent, Y), at(tangent, TEMP)
    k1, k2, k3 = at(plan, K1), at(plan, K2), at(plan, K3)
    k4, k5, k6 = at(plan, K4), at(plan, K5), at(plan, K6)
    d1, d2, d3 = at(tangent, K1), at(tangent, K2), at(tangent, K3)
    d4, d5, d6 = at(tangent, K4), at(tangent, K5), at(tangent, K6)
    if not vary(plan, tangent, num, t, y, D, d1):
        return False
    dopri5_stage2(work, n, y, h, k1, stage)
    dopri5_stage2(x, m, D, h, d1, moved)
    if not vary(plan, tangent, num, t + C2 * h, stage, moved, d2):
        return False
    dopri5_stage3(work, n, y, h, k1, k2, stage)
    dopri5_stage3(x, m, D, h, d1, d2, moved)
    if not vary(plan, tangent, num, t + C3 * h, stage, moved, d3):
        return False
    dopri5_stage4(work, n, y, h, k1, k2, k3, stage)
    dopri5_stage4(x, m, D, h, d1, d2, d3, moved)
    if not vary(plan, tangent, num, t + C4 * h, stage, moved, d4):
        return False
    dopri5_stage5(work, n, y, h, k1, k2, k3, k4, stage)
    dopri5_stage5(x, m, D, h, d1, d2, d3, d4, moved)
    if not vary(plan, tangent, num, t + C5 * h, stage, moved, d5):
        return False
    dopri5_stage6(work, n, y, h, k1, k2, k3, k4, k5, stage)
    dopri5_stage6(x, m, D, h, d1, d2, d3, d4, d5, moved)
    if not vary(plan, tangent, num, t + h, stage, moved, d6):
        return False
    dopri5_end(x, m, D, h, d1, d3, d4, d5, d6, at(tangent, Y_NEW))
    dopri5_end(work, n, y, h, k1, k3, k4, k5, k6, stage)
    unit_tangents(plan, work, stage, x, at(tangent, Y_NEW), m // max(n, 1))
    return True


# ---- Gauss ----
@checked
def stage_factors(plan, tangent, num, t, h, work, matrix, pivots):
    """Jacobians of all stages, and the factors of W = E - h [a_ij J_i], in front of them in `matrix`.

    MORE, FAILED_RHS or FAILED_STAGES.
    """
    n, s = plan[N], plan[STAGES]
    size = s * n
    stage = at(plan, TEMP)
    for i in range(s):
        stage_state(plan, h, i, work)
        when, J = t + GAUSS_C[s, i] * h, size * size + i * n * n
        call_ode(tangent[JACOBIAN], when, work, stage, matrix, J, tangent[DESK])
        if not has_value(tangent[STATUS], plan, num, when, stage):
            return FAILED_RHS
        for r in range(n):
            for j in range(s):
                a = -h * GAUSS_A[s, i, j]
                for c in range(n):
                    put(matrix, (i * n + r) * size + j * n + c, a * get(matrix, J + r * n + c))
            matrix[(i * n + r) * size + i * n + r] += 1.0
    return MORE if eliminate(size, matrix[:size * size], pivots) else FAILED_STAGES


@exact
def matrices_of(plan, tangent):
    """Room for W and the Jacobians of the stages, and for the rows chosen."""
    return (array_at(tangent[AT_MATRIX], tangent[MATRIX_SIZE]),
            integers_at(tangent[AT_PIVOTS], plan[STAGES] * plan[N]))


@checked
def gauss_tangent(plan, num, t, h, work):
    """The tangents of the Gauss step from Y that has just been taken: MORE, or why there are none."""
    tangent, x = tangent_of(plan)
    matrix, pivots = matrices_of(plan, tangent)
    n, s, m = plan[N], plan[STAGES], tangent[N]
    columns, size = m // max(n, 1), s * n
    D, d, new = at(tangent, Y), at(tangent, K2), at(tangent, Y_NEW)
    code = stage_factors(plan, tangent, num, t, h, work, matrix, pivots)
    if code != MORE:
        return code
    for i in range(s):
        J = size * size + i * n * n
        for r in range(n):
            to = d + (i * n + r) * columns
            for c in range(columns):
                put(x, to + c, 0.0)
            for k in range(n):
                a = matrix[J + r * n + k]
                if a != 0.0:
                    for c in range(columns):
                        put(x, to + c, get(x, to + c) + a * get(x, D + k * columns + c))
    solve_columns(size, matrix[:size * size], pivots, x, d, columns)
    for k in range(m):
        total = 0.0
        for i in range(s):
            total += GAUSS_B[s, i] * get(x, d + i * m + k)
        put(x, new + k, get(x, D + k) + h * total)
    return MORE if finite(x, new, m) else FAILED_STAGES


# ---- parts of a run, see :mod:`.run` ----
@c_function(PART)
def rk4_tangents(address):
    """After a step, MORE, or why there are no tangents; likewise below."""
    plan, num, work = plan_at(address)
    return MORE if rk4_tangent(plan, num, num[T], num[H], work) else FAILED_RHS


@c_function(PART)
def dopri5_tangents(address):
    plan, num, work = plan_at(address)
    return MORE if dopri5_tangent(plan, num, num[T], num[H_LAST], work) else FAILED_RHS


@c_function(PART)
def gauss_tangents(address):
    plan, num, work = plan_at(address)
    return gauss_tangent(plan, num, num[T], num[H], work)


@checked
def prepare_tangents(plan, tangent, num, t, h):
    """Polynomials of the tangents within the step; their slopes at its ends are taken here."""
    work, x = array_at(plan[AT_WORK], VECTORS * plan[N]), array_at(tangent[AT_WORK], VECTORS * tangent[N])
    n, r, end = plan[N], at(plan, DENSE_AT), at(plan, TEMP)
    for i in range(n):  # an event may have put another state in the place of Y_NEW
        put(work, end + i, get(work, r + i) + get(work, r + n + i))
    vary(plan, tangent, num, t, at(plan, Y), at(tangent, Y), at(tangent, K1))
    vary(plan, tangent, num, t + h, end, at(tangent, Y_NEW), at(tangent, K7))
    prepare_dense(tangent, h, at(tangent, K7), x)


@c_function(PART)
def follow(address):
    """After a step: write the tangents where the states have been written, and go on from the new ones."""
    plan, num, _ = plan_at(address)
    times, _, _ = output_of(plan)
    t, h, theta, first, row = num[T], num[H_LAST], num[THETA], plan[FIRST_EVAL], plan[WRITTEN]
    tangent, x = tangent_of(plan)
    m, new = tangent[N], at(tangent, Y_NEW)
    if plan[SLOPES] != 0 and (theta < 1.0 or plan[NEXT_EVAL] > first):
        prepare_tangents(plan, tangent, num, t, h)
    if theta < 1.0:
        interpolate(tangent, theta, x, x, new)
    for j in range(first, plan[NEXT_EVAL]):
        part = (times[j] - t) / h
        out = array_at(tangent[AT_OUT_Y] + 8 * j * m, m)
        if part >= 1.0:
            copy(x, new, out, 0, m)
        else:
            interpolate(tangent, part, x, out, 0)
    if row >= 0:
        copy(x, new, array_at(tangent[AT_OUT_Y] + 8 * row * m, m), 0, m)
    copy(x, new, x, at(tangent, Y), m)
    return MORE
