"""Velocities and accelerations that satisfy the constraints: G = a Mass^-1 a^T on paths, and its sparse factor.

With the factorization of the mass matrix dof by dof (:mod:`.factorization`), for every row a and for a right side x,

    backward   z = x - e^T phi,   phi_b += C^T phi + K z            b: the dof before on the way to the root
    G_kl = sum over dofs of z_k z_l / D,      a_k Mass^-1 x = sum of z_k y,   y = z / D of x
    forward    rate = y - K^T v_b,   v = C v_b + e rate

z of a row lives on the paths from its two bodies to the root: G couples rows that have dofs in common, and nothing but
the backward sweep along those paths is needed for it. Order and fill of the factor are lists of the block.

    r = z y + b,   (G + rho) dsigma = r,   sigma += dsigma,   y -= z^T dsigma / D         several times

the proximal refinement: where rows are redundant sigma is one of many, a^T sigma and u are exact. rho is a small part
of the diagonal of G, so no rank is decided, and what is left of a u + b falls by rho / (g + rho) each time, g an
eigenvalue of G. The second r is made with G, which costs less. The last one is that of the corrected y: the rounding
of G, which is large where its eigenvalues are far apart, has no part in what is left. It should be rounding by then;
rows that contradict each other leave a u + b as it is, and the margin of the machine is negative.
"""

from .constraint_layout import (
    AT_COEFFICIENTS, AT_L, AT_Z, A_ENTRY, A_LIST, COLUMN_LIST, DOF_SWEEP, D_PHI, D_SECOND, D_THIRD, D_Y, E_DOF,
    FIRST_ROW, LOCKS, N_A, N_COLUMNS, N_CONSTRAINTS, N_OWN_ROWS, N_PAIRS, N_ROWS, N_Z, OWNER, PAIR, PAIR_LIST,
    P_COLUMN, P_COMMON, P_COUNT, P_OTHER, R_DENSE, R_G, R_LEFT, R_MARGIN, R_PIVOT, R_SIDE, R_SIGMA, SCALAR_ROW,
    UNEQUAL, Z_ENTRY, Z_LIST, a_at, constraint_row, dofs_at, factor_at, gram_at, head, scalar_row, scaled_z_at,
    sweep_row, type_row, z_at, zero_at,
)
from .jit import apart, inline
from .layout import (
    BEFORE, COORDINATE, DOF_D, DOF_E, DOF_K, DOF_ROW, DOF_WAY, NV, coordinate_row, get3, get_pair, margins_at, put_pair,
)
from .number import get, magnitude, put, smaller, whole
from .spatial import ZERO6, add6, axpy6, dot6, minus_cross, shift_force

# Of the diagonal of G: far below its eigenvalues, and far above rounding, of which sigma has a part 1 / rho along
# redundant rows, which is noise in the gauge of P.
RHO, AGAIN = 1e-8, 1  # corrections after the first two
# Of machines that lock when open (LOCKS): where loops are off by d, rows that were redundant have eigenvalues d^2 and
# would have a say in where to go, along the motion of the machine; and less noise lets the stages of Gauss converge.
RHO_OF_LOCKING, AGAIN_OF_LOCKING = 1e-5, 6
# Of machines with neighbours of very different mass (UNEQUAL): G has eigenvalues as far apart as 1 / masses.
RHO_OF_UNEQUAL, AGAIN_OF_UNEQUAL = 1e-13, 4
FLOOR = 1e-280  # a row without coefficients has a pivot too
CONFLICT = 1e-5  # of the terms of all a u + b: what may be left of one, near a singular pose more than rounding


@inline
def of_any(place):
    """The place as an integer: Numba would compile a function for each literal."""
    return place


# ---- sweeps over dofs ----
# Where things begin is asked for once, outside of loops: after each write to the workspace LLVM has to read the block
# again, as it cannot know that the two are not the same memory.
@inline
def pass_on(b, row, sweep, F, z, work):
    """Add to the force at place `sweep` of dof b what the one at `row`, before which it is, leaves for it."""
    if b >= 0:
        at = sweep + b * DOF_SWEEP
        carried = axpy6(z, get_pair(work, row + DOF_K), shift_force(get3(work, row + DOF_WAY), F))
        put_pair(work, at, add6(get_pair(work, at), carried))


@apart
def back(block, x, place, work):
    """y of all dofs for the right side at `place` of x."""
    nv, sweep, dofs, first = whole(block, NV), sweep_row(block, 0), dofs_at(block), coordinate_row(block, 0) + BEFORE
    for j in range(nv):
        put_pair(work, sweep + j * DOF_SWEEP + D_PHI, ZERO6)
    for j in range(nv - 1, -1, -1):
        row, at = dofs + j * DOF_ROW, sweep + j * DOF_SWEEP
        F = get_pair(work, at + D_PHI)
        z = get(x, place + j) - dot6(get_pair(work, row + DOF_E), F)
        put(work, at + D_Y, z * get(work, row + DOF_D))
        pass_on(whole(block, first + j * COORDINATE), row, sweep + D_PHI, F, z, work)


@apart
def forth(block, u, work):
    """Rates u from y of all dofs."""
    sweep, dofs, first = sweep_row(block, 0), dofs_at(block), coordinate_row(block, 0) + BEFORE
    for j in range(whole(block, NV)):
        row, at, b = dofs + j * DOF_ROW, sweep + j * DOF_SWEEP, whole(block, first + j * COORDINATE)
        e, way = get_pair(work, row + DOF_E), get3(work, row + DOF_WAY)
        if b >= 0:
            v = get_pair(work, sweep + b * DOF_SWEEP + D_PHI)
            rate = get(work, at + D_Y) - dot6(get_pair(work, row + DOF_K), v)
            put(u, j, rate)
            put_pair(work, at + D_PHI, axpy6(rate, e, (minus_cross(v[0], way, v[1]), v[1])))
        else:
            put(u, j, get(work, at + D_Y))
            put_pair(work, at + D_PHI, axpy6(get(work, at + D_Y), e, ZERO6))


# ---- G and its factor ----
@apart
def put_half_solutions(block, work):
    """z and z / D of all rows."""
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        count = whole(block, row + N_OWN_ROWS)
        for r in range(0, count, 3):
            put_half_solution(block, row, r, min(r + 1, count - 1), min(r + 2, count - 1), work)


@apart
def put_half_solution(block, row, r, s, l, work):
    """z of three rows of a constraint, leaves first: while one waits, the others go on."""
    list_at, n_z, n_a = whole(block, row + Z_LIST), whole(block, row + N_Z), whole(block, row + N_A)
    a, out = a_at(block) + whole(block, row + AT_COEFFICIENTS), z_at(block) + whole(block, row + AT_Z)
    scaled = scaled_z_at(block) + whole(block, row + AT_Z)
    sweep, dofs, first = sweep_row(block, 0), dofs_at(block), coordinate_row(block, 0) + BEFORE
    for t in range(n_z):
        at = sweep + whole(block, list_at + t * Z_ENTRY) * DOF_SWEEP
        put_pair(work, at + D_PHI, ZERO6)
        put_pair(work, at + D_SECOND, ZERO6)
        put_pair(work, at + D_THIRD, ZERO6)
    for t in range(n_z):
        entry = list_at + t * Z_ENTRY
        j, own = whole(block, entry), whole(block, entry + 1)
        b, at, dof = whole(block, first + j * COORDINATE), sweep + j * DOF_SWEEP, dofs + j * DOF_ROW
        e, d = get_pair(work, dof + DOF_E), get(work, dof + DOF_D)
        F, H, J = get_pair(work, at + D_PHI), get_pair(work, at + D_SECOND), get_pair(work, at + D_THIRD)
        x, y, z = -dot6(e, F), -dot6(e, H), -dot6(e, J)
        if own >= 0:
            x, y = x + get(work, a + r * n_a + own), y + get(work, a + s * n_a + own)
            z = z + get(work, a + l * n_a + own)
        put(work, out + r * n_z + t, x)
        put(work, out + s * n_z + t, y)
        put(work, out + l * n_z + t, z)
        put(work, scaled + r * n_z + t, x * d)
        put(work, scaled + s * n_z + t, y * d)
        put(work, scaled + l * n_z + t, z * d)
        pass_on(b, dof, sweep + D_PHI, F, x, work)
        pass_on(b, dof, sweep + D_SECOND, H, y, work)
        pass_on(b, dof, sweep + D_THIRD, J, z, work)


@apart
def put_gram(block, work):
    """G: rows of constraints, columns up to the diagonal; zero where the factor fills in."""
    gram = gram_at(block)
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        first, last = row_of(block, row, 0), row_of(block, row, whole(block, row + N_OWN_ROWS))
        for k in range(first, last):
            put(work, gram + k, 0.0)
        list_at = whole(block, row + PAIR_LIST)
        for pair in range(whole(block, row + N_PAIRS)):
            put_products(block, row, list_at + pair * PAIR, work)


@inline
def row_of(block, row, r):
    """Where the r-th row of a constraint begins in G and its factor: its columns, those of its own rows before it, the
    diagonal."""
    width = whole(block, row + N_COLUMNS)
    return whole(block, row + AT_L) + r * width + r * (r + 1) // 2


@apart
def put_products(block, row, pair, work):
    """G between the rows of a constraint and those of another, or its own."""
    other, common = constraint_row(block, whole(block, pair + P_OTHER)), whole(block, pair + P_COMMON)
    count, n_z, n_other = whole(block, pair + P_COUNT), whole(block, row + N_Z), whole(block, other + N_Z)
    z, x = scaled_z_at(block) + whole(block, row + AT_Z), z_at(block) + whole(block, other + AT_Z)
    gram, zero, column = gram_at(block), get(work, zero_at(block)), whole(block, pair + P_COLUMN)
    own, columns = other == row, whole(block, other + N_OWN_ROWS)
    for r in range(whole(block, row + N_OWN_ROWS)):
        at, last = gram + row_of(block, row, r) + column, r if own else columns - 1
        for s in range(0, last + 1, 2):  # two sums at a time, as each addition waits for the one before
            left, right, beside = zero, zero, min(s + 1, last)
            if own:  # all dofs are common ones
                for k in range(count):
                    part = get(work, z + r * n_z + k)
                    left = left + part * get(work, x + s * n_z + k)
                    right = right + part * get(work, x + beside * n_z + k)
            else:
                for k in range(count):
                    i, j = whole(block, common + 2 * k), whole(block, common + 2 * k + 1)
                    part = get(work, z + r * n_z + i)
                    left = left + part * get(work, x + s * n_other + j)
                    right = right + part * get(work, x + beside * n_other + j)
            put(work, at + beside, right)
            put(work, at + s, left)


@inline
def softness(block):
    """rho as a part of the diagonal of G."""
    if head(block, LOCKS) != 0:
        return RHO_OF_LOCKING
    return RHO_OF_UNEQUAL if head(block, UNEQUAL) != 0 else RHO


@inline
def corrections(block):
    """How many there are after the first two."""
    if head(block, LOCKS) != 0:
        return AGAIN_OF_LOCKING
    return AGAIN_OF_UNEQUAL if head(block, UNEQUAL) != 0 else AGAIN


@apart
def put_factor(block, work):
    """G + rho = L D L^T, row by row; 1 / D has its place with the rows."""
    m, rho, gram = head(block, N_ROWS), softness(block), gram_at(block)
    mean = get(work, zero_at(block))
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        for r in range(whole(block, row + N_OWN_ROWS)):
            mean = mean + get(work, gram + row_of(block, row, r) + whole(block, row + N_COLUMNS) + r) * (1.0 / m)
    for k in range(m):
        put(work, scalar_row(block, k) + R_DENSE, 0.0)
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        for r in range(whole(block, row + N_OWN_ROWS)):
            put_factor_row(block, row, r, rho, mean, work)


@apart
def put_factor_row(block, row, r, rho, mean, work):
    """One row: x_j = G_ij - sum over k of L_jk x_k,  L_ij = x_j / D_j,  D_i = G_ii + rho - sum over j of L_ij x_j."""
    width, first, place = whole(block, row + N_COLUMNS), whole(block, row + FIRST_ROW), row_of(block, row, r)
    rows, list_at, factor = scalar_row(block, 0), whole(block, row + COLUMN_LIST), factor_at(block)
    at, G = factor + place, gram_at(block) + place
    own, before = rows + first * SCALAR_ROW, factor + row_of(block, row, 0)
    pivot = get(work, G + width + r)
    pivot = pivot + (rho * pivot + (rho * rho * mean + FLOOR))
    for t in range(width):
        j = whole(block, list_at + t)
        x = get(work, G + t) - product(block, j, rows, work)
        put(work, rows + j * SCALAR_ROW + R_DENSE, x)
    for s in range(r):
        x = get(work, G + width + s) - partial_product(block, before, width, s, list_at, rows, own, work)
        put(work, own + s * SCALAR_ROW + R_DENSE, x)
        before = before + width + s + 1
    for t in range(width + r):
        j = rows + whole(block, list_at + t) * SCALAR_ROW if t < width else own + (t - width) * SCALAR_ROW
        x = get(work, j + R_DENSE)
        l = x * get(work, j + R_PIVOT)
        pivot = pivot - l * x
        put(work, at + t, l)
        put(work, j + R_DENSE, 0.0)
    put(work, own + r * SCALAR_ROW + R_PIVOT, 1.0 / pivot)


@inline
def product(block, k, rows, work):
    """sum over the columns j of row k of L_kj times the dense vector."""
    row = constraint_row(block, whole(block, type_row(block, k) + OWNER))
    first = whole(block, row + FIRST_ROW)
    return partial_product(block, factor_at(block) + row_of(block, row, k - first), whole(block, row + N_COLUMNS),
                           k - first, whole(block, row + COLUMN_LIST), rows, rows + first * SCALAR_ROW, work)


@inline
def partial_product(block, at, width, count, list_at, rows, own, work):
    """The same for the row of L at `at`: its columns in the list, and its own `count` ones."""
    total = get(work, zero_at(block))
    for t in range(width):
        total = total + get(work, at + t) * get(work, rows + whole(block, list_at + t) * SCALAR_ROW + R_DENSE)
    for t in range(count):
        total = total + get(work, at + width + t) * get(work, own + t * SCALAR_ROW + R_DENSE)
    return total


# ---- solving ----
@apart
def solve(block, work):
    """R_SIDE = (G + rho)^-1 R_LEFT,  sigma += R_SIDE."""
    rows, n, factor = scalar_row(block, 0), head(block, N_CONSTRAINTS), factor_at(block)
    for c in range(n):
        row = constraint_row(block, c)
        width, own = whole(block, row + N_COLUMNS), rows + whole(block, row + FIRST_ROW) * SCALAR_ROW
        list_at, at = whole(block, row + COLUMN_LIST), factor + row_of(block, row, 0)
        for r in range(whole(block, row + N_OWN_ROWS)):
            x = get(work, own + r * SCALAR_ROW + R_LEFT)
            for t in range(width):
                x = x - get(work, at + t) * get(work, rows + whole(block, list_at + t) * SCALAR_ROW + R_SIDE)
            for t in range(r):
                x = x - get(work, at + width + t) * get(work, own + t * SCALAR_ROW + R_SIDE)
            put(work, own + r * SCALAR_ROW + R_SIDE, x)
            at = at + width + r + 1
    for k in range(head(block, N_ROWS)):
        at = rows + k * SCALAR_ROW
        put(work, at + R_SIDE, get(work, at + R_SIDE) * get(work, at + R_PIVOT))
    for c in range(n - 1, -1, -1):
        row = constraint_row(block, c)
        width, own = whole(block, row + N_COLUMNS), rows + whole(block, row + FIRST_ROW) * SCALAR_ROW
        list_at = whole(block, row + COLUMN_LIST)
        for r in range(whole(block, row + N_OWN_ROWS) - 1, -1, -1):
            at, i = factor + row_of(block, row, r), own + r * SCALAR_ROW
            x = get(work, i + R_SIDE)
            put(work, i + R_SIGMA, get(work, i + R_SIGMA) + x)
            for t in range(width):
                out = rows + whole(block, list_at + t) * SCALAR_ROW + R_SIDE
                put(work, out, get(work, out) - get(work, at + t) * x)
            for t in range(r):
                out = own + t * SCALAR_ROW + R_SIDE
                put(work, out, get(work, out) - get(work, at + width + t) * x)


@apart
def refine(block, right, work):
    """sigma so that a u + (what is at place `right` of the rows) is zero for the corrected y."""
    rows, m, again = scalar_row(block, 0), head(block, N_ROWS), corrections(block)
    for k in range(m):
        put(work, rows + k * SCALAR_ROW + R_SIGMA, 0.0)
        put(work, rows + k * SCALAR_ROW + R_MARGIN, 0.0)
    put_residuals(block, right, work)
    solve(block, work)
    subtract_products(block, work)
    solve(block, work)
    correct(block, of_any(R_SIGMA), work)
    for n in range(again):
        put_residuals(block, right, work)
        if n == again - 1 and right != R_G:  # positions may be far from each other
            put_conflicts(block, work)
        solve(block, work)
        correct(block, of_any(R_SIDE), work)


@apart
def put_residuals(block, right, work):
    """R_LEFT = z y + what is at place `right` of each row; the sizes of these terms are added to R_MARGIN."""
    rows, zs, ys = scalar_row(block, 0), z_at(block), sweep_row(block, 0) + D_Y
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        list_at, n_z, own = whole(block, row + Z_LIST), whole(block, row + N_Z), whole(block, row + FIRST_ROW)
        first, count = zs + whole(block, row + AT_Z), whole(block, row + N_OWN_ROWS)
        for r in range(0, count, 2):  # two sums at a time, as each addition waits for the one before
            s = min(r + 1, count - 1)
            z, x = first + r * n_z, first + s * n_z
            at, beside = rows + (own + r) * SCALAR_ROW, rows + (own + s) * SCALAR_ROW
            total, second = get(work, at + right), get(work, beside + right)
            size = get(work, at + R_MARGIN) + magnitude(total)
            second_size = get(work, beside + R_MARGIN) + magnitude(second)
            for t in range(n_z):
                y = get(work, ys + whole(block, list_at + t * Z_ENTRY) * DOF_SWEEP)
                term, other = get(work, z + t) * y, get(work, x + t) * y
                total, size = total + term, size + magnitude(term)
                second, second_size = second + other, second_size + magnitude(other)
            put(work, beside + R_LEFT, second)
            put(work, beside + R_MARGIN, second_size)
            put(work, at + R_LEFT, total)
            put(work, at + R_MARGIN, size)


@apart
def subtract_products(block, work):
    """R_LEFT -= G R_SIDE: each number of G below the diagonal serves two rows."""
    rows, gram = scalar_row(block, 0), gram_at(block)
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        width, own = whole(block, row + N_COLUMNS), rows + whole(block, row + FIRST_ROW) * SCALAR_ROW
        list_at, at = whole(block, row + COLUMN_LIST), gram + row_of(block, row, 0)
        for r in range(whole(block, row + N_OWN_ROWS)):
            i = own + r * SCALAR_ROW
            x = get(work, i + R_SIDE)
            left = get(work, i + R_LEFT) - get(work, at + width + r) * x
            for t in range(width + r):
                j = rows + whole(block, list_at + t) * SCALAR_ROW if t < width else own + (t - width) * SCALAR_ROW
                left = left - get(work, at + t) * get(work, j + R_SIDE)
                put(work, j + R_LEFT, get(work, j + R_LEFT) - get(work, at + t) * x)
            put(work, i + R_LEFT, left)
            at = at + width + r + 1


@apart
def put_conflicts(block, work):
    """By how much each row can be satisfied; the margin of the machine is negative where one cannot."""
    margin, rows, size = get(work, margins_at(block)), scalar_row(block, 0), get(work, zero_at(block))
    for k in range(head(block, N_ROWS)):  # a row whose own terms vanish has the rounding of the others
        size = size + get(work, rows + k * SCALAR_ROW + R_MARGIN)
    for k in range(head(block, N_ROWS)):
        at = rows + k * SCALAR_ROW
        own = CONFLICT * size + FLOOR - magnitude(get(work, at + R_LEFT))
        put(work, at + R_MARGIN, own)
        margin = smaller(margin, own)
    put(work, margins_at(block), margin)


@apart
def correct(block, place, work):
    """y -= z^T x / D, x: what all rows have at a place."""
    rows, zs, ys = scalar_row(block, 0), scaled_z_at(block), sweep_row(block, 0) + D_Y
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        list_at, n_z, own = whole(block, row + Z_LIST), whole(block, row + N_Z), whole(block, row + FIRST_ROW)
        z, at = zs + whole(block, row + AT_Z), rows + own * SCALAR_ROW + place
        count = whole(block, row + N_OWN_ROWS)
        for t in range(n_z):
            y = ys + whole(block, list_at + t * Z_ENTRY) * DOF_SWEEP
            left = get(work, y)
            for r in range(count):
                left = left - get(work, z + r * n_z + t) * get(work, at + r * SCALAR_ROW)
            put(work, y, left)


@apart
def add_products(block, coefficients, sign, out, place, work):
    """out += sign * coefficients^T sigma, for coefficients a or adot of all rows."""
    rows = scalar_row(block, 0)
    for c in range(head(block, N_CONSTRAINTS)):
        row = constraint_row(block, c)
        list_at, n_a, first = whole(block, row + A_LIST), whole(block, row + N_A), whole(block, row + FIRST_ROW)
        a, sigma = coefficients + whole(block, row + AT_COEFFICIENTS), rows + first * SCALAR_ROW + R_SIGMA
        count, zero = whole(block, row + N_OWN_ROWS), get(work, zero_at(block))
        for t in range(n_a):
            j, total = place + whole(block, list_at + t * A_ENTRY + E_DOF), zero
            for r in range(count):
                total = total + get(work, a + r * n_a + t) * get(work, sigma + r * SCALAR_ROW)
            put(out, j, get(out, j) + sign * total)
