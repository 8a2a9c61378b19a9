"""Velocities and accelerations that satisfy the constraints: G = a Mass^-1 a^T on paths, and its sparse factor.

With the factorization of the mass matrix dof by dof (:mod:`.factorization`), for every row a and for a right side x,

    backward   z = x - e^T phi,   phi_b += C^T phi + K z            b: the dof before on the way to the root
    G_kl = sum over dofs of z_k z_l / D,      a_k Mass^-1 x = sum of z_k y,   y = z / D of x
    forward    rate = y - K^T v_b,   v = C v_b + e rate

z of a row lives on the paths from its two bodies to the root: G couples rows that have dofs in common, and nothing but
the backward sweep along those paths is needed for it. Order and fill of the factor are lists of the block.

    (G + rho) dsigma = a u + b,   sigma += dsigma,   y -= z^T dsigma / D         three times

the proximal refinement: where rows are redundant sigma is one of many, a^T sigma and u are exact. rho is a small part
of the diagonal of G, so no rank is decided, and what is left of a u + b falls by rho / (g + rho) each time, g an
eigenvalue of G.
"""

from .constraint_layout import (
    AT_COEFFICIENTS, AT_L, AT_Z, A_ENTRY, A_LIST, COLUMN_LIST, D_PHI, D_Y, E_DOF, FIRST_ROW, N_A, N_COLUMNS,
    N_CONSTRAINTS, N_OWN_ROWS, N_PAIRS, N_ROWS, N_Z, OWNER, PAIR, PAIR_LIST, P_COLUMN, P_COMMON, P_COUNT, P_OTHER,
    R_DENSE, R_PIVOT, R_SIDE, R_SIGMA, Z_ENTRY, Z_LIST, a_at, constraint_row, factor_at, head, scalar_row, sweep_row,
    type_row, z_at, zero_at,
)
from .factorization import dof_row
from .jit import inline, noinline
from .layout import (
    BEFORE, DOF_D, DOF_E, DOF_K, DOF_WAY, NV, coordinate_row, get3, get_pair, put_pair,
)
from .number import get, put, whole
from .spatial import ZERO6, add6, axpy6, dot6, minus_cross, shift_force

RHO = 1e-10  # of the diagonal of G: far above rounding, far below its eigenvalues
ROUNDS = 3
FLOOR = 1e-280  # a row without coefficients has a pivot too


# ---- sweeps over dofs ----
@inline
def before(block, j):
    """The dof before j on the way to the root, or -1."""
    return whole(block, coordinate_row(block, j) + BEFORE)


@inline
def pass_on(block, j, F, z, work):
    """Add to phi of the dof before j what j leaves for it."""
    b, row = before(block, j), dof_row(block, j)
    if b >= 0:
        at = sweep_row(block, b) + D_PHI
        carried = axpy6(z, get_pair(work, row + DOF_K), shift_force(get3(work, row + DOF_WAY), F))
        put_pair(work, at, add6(get_pair(work, at), carried))


@noinline
def back(block, x, place, work):
    """y of all dofs for the right side at `place` of x."""
    nv = whole(block, NV)
    for j in range(nv):
        put_pair(work, sweep_row(block, j) + D_PHI, ZERO6)
    for j in range(nv - 1, -1, -1):
        row, at = dof_row(block, j), sweep_row(block, j)
        F = get_pair(work, at + D_PHI)
        z = get(x, place + j) - dot6(get_pair(work, row + DOF_E), F)
        put(work, at + D_Y, z * get(work, row + DOF_D))
        pass_on(block, j, F, z, work)


@noinline
def forth(block, u, work):
    """Rates u from y of all dofs."""
    for j in range(whole(block, NV)):
        row, at, b = dof_row(block, j), sweep_row(block, j), before(block, j)
        e, way = get_pair(work, row + DOF_E), get3(work, row + DOF_WAY)
        if b >= 0:
            v = get_pair(work, sweep_row(block, b) + D_PHI)
            rate = get(work, at + D_Y) - dot6(get_pair(work, row + DOF_K), v)
            put(u, j, rate)
            put_pair(work, at + D_PHI, axpy6(rate, e, (minus_cross(v[0], way, v[1]), v[1])))
        else:
            put(u, j, get(work, at + D_Y))
            put_pair(work, at + D_PHI, axpy6(get(work, at + D_Y), e, ZERO6))


# ---- G and its factor ----
@inline
def put_half_solutions(block, work):
    """z of all rows."""
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        for r in range(whole(block, row + N_OWN_ROWS)):
            put_half_solution(block, row, r, work)


@noinline
def put_half_solution(block, row, r, work):
    """z of the r-th row of a constraint, leaves first."""
    list_at, n_z = whole(block, row + Z_LIST), whole(block, row + N_Z)
    a = a_at(block) + whole(block, row + AT_COEFFICIENTS) + r * whole(block, row + N_A)
    out = z_at(block) + whole(block, row + AT_Z) + r * n_z
    for t in range(n_z):
        put_pair(work, sweep_row(block, whole(block, list_at + t * Z_ENTRY)) + D_PHI, ZERO6)
    for t in range(n_z):
        entry = list_at + t * Z_ENTRY
        j, own = whole(block, entry), whole(block, entry + 1)
        F = get_pair(work, sweep_row(block, j) + D_PHI)
        put(work, out + t, -dot6(get_pair(work, dof_row(block, j) + DOF_E), F))
        if own >= 0:
            put(work, out + t, get(work, out + t) + get(work, a + own))
        pass_on(block, j, F, get(work, out + t), work)


@inline
def put_gram(block, work):
    """G in the place of its factor: rows of constraints, columns up to the diagonal; fill is zero."""
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        width = whole(block, row + N_COLUMNS)
        for r in range(whole(block, row + N_OWN_ROWS)):
            at = factor_row(block, row, r)
            for k in range(width):
                put(work, at + k, 0.0)
        list_at = whole(block, row + PAIR_LIST)
        for pair in range(whole(block, row + N_PAIRS)):
            put_products(block, row, list_at + pair * PAIR, work)


@inline
def factor_row(block, row, r):
    """Where the r-th row of a constraint is in the factor: its columns, those of its own rows before it, the pivot."""
    width = whole(block, row + N_COLUMNS)
    return factor_at(block) + whole(block, row + AT_L) + r * width + r * (r + 1) // 2


@noinline
def put_products(block, row, pair, work):
    """G between the rows of a constraint and those of another, or its own."""
    other, common = constraint_row(block, whole(block, pair + P_OTHER)), whole(block, pair + P_COMMON)
    count, n_z, n_other = whole(block, pair + P_COUNT), whole(block, row + N_Z), whole(block, other + N_Z)
    z, x = z_at(block) + whole(block, row + AT_Z), z_at(block) + whole(block, other + AT_Z)
    list_at = whole(block, row + Z_LIST)
    own = other == row
    for r in range(whole(block, row + N_OWN_ROWS)):
        at = factor_row(block, row, r) + whole(block, pair + P_COLUMN)
        for s in range(r + 1 if own else whole(block, other + N_OWN_ROWS)):
            total = get(work, zero_at(block))
            for k in range(count):
                i, j = whole(block, common + 2 * k), whole(block, common + 2 * k + 1)
                d = get(work, dof_row(block, whole(block, list_at + i * Z_ENTRY)) + DOF_D)
                total = total + get(work, z + r * n_z + i) * get(work, x + s * n_other + j) * d
            put(work, at + s, total)


@inline
def put_factor(block, work):
    """G + rho = L D L^T, row by row; D has its place with the rows, L that of G."""
    m = head(block, N_ROWS)
    mean = get(work, zero_at(block))
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        for r in range(whole(block, row + N_OWN_ROWS)):
            mean = mean + get(work, factor_row(block, row, r) + whole(block, row + N_COLUMNS) + r) * (1.0 / m)
    for k in range(m):
        put(work, scalar_row(block, k) + R_DENSE, 0.0)
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        for r in range(whole(block, row + N_OWN_ROWS)):
            put_factor_row(block, row, r, mean, work)


@noinline
def put_factor_row(block, row, r, mean, work):
    """One row: x_j = G_ij - sum over k of L_jk x_k,  L_ij = x_j / D_j,  D_i = G_ii + rho - sum over j of L_ij x_j."""
    width, first, at = whole(block, row + N_COLUMNS), whole(block, row + FIRST_ROW), factor_row(block, row, r)
    pivot = get(work, at + width + r)
    pivot = pivot + (RHO * pivot + (RHO * RHO * mean + FLOOR))
    for t in range(width + r):
        j = column(block, row, t)
        x = get(work, at + t) - product(block, j, work)
        put(work, scalar_row(block, j) + R_DENSE, x)
    for t in range(width + r):
        j = scalar_row(block, column(block, row, t))
        x = get(work, j + R_DENSE)
        l = x * get(work, j + R_PIVOT)
        pivot = pivot - l * x
        put(work, at + t, l)
        put(work, j + R_DENSE, 0.0)
    put(work, scalar_row(block, first + r) + R_PIVOT, 1.0 / pivot)


@inline
def column(block, row, t):
    """Scalar column t of the rows of a constraint."""
    width = whole(block, row + N_COLUMNS)
    return whole(block, whole(block, row + COLUMN_LIST) + t) if t < width else whole(block, row + FIRST_ROW) + t - width


@inline
def owner(block, k):
    """Row of the constraint that scalar row k belongs to."""
    return constraint_row(block, whole(block, type_row(block, k) + OWNER))


@inline
def product(block, k, work):
    """sum over the columns j of row k of L_kj times the dense vector."""
    row = owner(block, k)
    r, width = k - whole(block, row + FIRST_ROW), whole(block, row + N_COLUMNS)
    at, total = factor_row(block, row, r), get(work, zero_at(block))
    for t in range(width + r):
        total = total + get(work, at + t) * get(work, scalar_row(block, column(block, row, t)) + R_DENSE)
    return total


# ---- solving ----
@noinline
def solve(block, work):
    """R_SIDE = (G + rho)^-1 R_SIDE."""
    m = head(block, N_ROWS)
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        width, first = whole(block, row + N_COLUMNS), whole(block, row + FIRST_ROW)
        for r in range(whole(block, row + N_OWN_ROWS)):
            at, out = factor_row(block, row, r), scalar_row(block, first + r) + R_SIDE
            x = get(work, out)
            for t in range(width + r):
                x = x - get(work, at + t) * get(work, scalar_row(block, column(block, row, t)) + R_SIDE)
            put(work, out, x)
    for k in range(m):
        at = scalar_row(block, k)
        put(work, at + R_SIDE, get(work, at + R_SIDE) * get(work, at + R_PIVOT))
    for c in range(head(block, N_CONSTRAINTS) - 1, -1, -1):
        row = constraint_row(block, c)
        width, first = whole(block, row + N_COLUMNS), whole(block, row + FIRST_ROW)
        for r in range(whole(block, row + N_OWN_ROWS) - 1, -1, -1):
            at, x = factor_row(block, row, r), get(work, scalar_row(block, first + r) + R_SIDE)
            for t in range(width + r):
                out = scalar_row(block, column(block, row, t)) + R_SIDE
                put(work, out, get(work, out) - get(work, at + t) * x)


@inline
def refine(block, right, work):
    """sigma so that a u + (what is at place `right` of the rows) is zero for the corrected y."""
    for k in range(head(block, N_ROWS)):
        put(work, scalar_row(block, k) + R_SIGMA, 0.0)
    for _ in range(ROUNDS):
        put_residuals(block, right, work)
        solve(block, work)
        correct(block, work)


@noinline
def put_residuals(block, right, work):
    """R_SIDE = z y + what is at place `right` of each row."""
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        list_at, n_z = whole(block, row + Z_LIST), whole(block, row + N_Z)
        for r in range(whole(block, row + N_OWN_ROWS)):
            at = scalar_row(block, whole(block, row + FIRST_ROW) + r)
            z, total = z_at(block) + whole(block, row + AT_Z) + r * n_z, get(work, at + right)
            for t in range(n_z):
                y = sweep_row(block, whole(block, list_at + t * Z_ENTRY)) + D_Y
                total = total + get(work, z + t) * get(work, y)
            put(work, at + R_SIDE, total)


@noinline
def correct(block, work):
    """sigma += dsigma,  y -= z^T dsigma / D."""
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        list_at, n_z = whole(block, row + Z_LIST), whole(block, row + N_Z)
        for r in range(whole(block, row + N_OWN_ROWS)):
            at = scalar_row(block, whole(block, row + FIRST_ROW) + r)
            change, z = get(work, at + R_SIDE), z_at(block) + whole(block, row + AT_Z) + r * n_z
            put(work, at + R_SIGMA, get(work, at + R_SIGMA) + change)
            for t in range(n_z):
                j = whole(block, list_at + t * Z_ENTRY)
                y, d = sweep_row(block, j) + D_Y, get(work, dof_row(block, j) + DOF_D)
                put(work, y, get(work, y) - get(work, z + t) * change * d)


@noinline
def add_products(block, coefficients, sign, out, place, work):
    """out += sign * coefficients^T sigma, for coefficients a or adot of all rows."""
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        list_at, n_a = whole(block, row + A_LIST), whole(block, row + N_A)
        for r in range(whole(block, row + N_OWN_ROWS)):
            sigma = get(work, scalar_row(block, whole(block, row + FIRST_ROW) + r) + R_SIGMA)
            a = coefficients + whole(block, row + AT_COEFFICIENTS) + r * n_a
            for t in range(n_a):
                j = place + whole(block, list_at + t * A_ENTRY + E_DOF)
                put(out, j, get(out, j) + sign * get(work, a + t) * sigma)
