"""Derivatives of Hamilton's equations dy/dt = f(t, y), y = (q, p), number by number, as C functions.

    jacobian    J = df/dy, row by row             void (double t, const double *y, double *J, void *desk)
    variation   J times increments of y           void (double t, const double *y, const double *dy, double *out, ...)
    pull        J^T times weights of f            void (double t, const double *y, const double *weights, ...)

`desk` points at a :mod:`.desk`. Increments are columns: rows of COLUMNS numbers. `pull` works on the slot in use, and
adds weights . df/d(parameters) to the gradient when that is wanted. At another state than before the word AGAIN of the
desk is 0. Each of them is there twice: trees of single dofs without wrenches need less, which is compiled sooner; and
`node_pull` is for all trees without wrenches and without rotors in ball and free joints.
Nothing throws; where there is no value all results are NaN, and the CODE says why.
"""

from numpy import nan

from ...core.arguments import UNKNOWN, data_of
from ...core.cabi import ODE, ODE_TAU, address_of, frame_at
from ...core.checks import NOT_FINITE, OK, beyond
from ...core.jacobian_products import jvp, jvp_of_singles, pull_by_rows
from ...core.jacobian_rhs import jacobian as tangent_jacobian
from ...core.jacobian_rhs import jacobian_of_singles
from ...core.jit import c_function, exact
from ...core.layout import N_QUATERNIONS, NQ, NV, STATUS, speeds_at
from ...core.number import array_at, get, put, whole
from ...core.templates import bound
from .charts import to_coordinates, to_rates, to_tangent, weights_of_speeds
from .desk import (
    AGAIN, CODE, COLUMNS, FORCES, FRAME, HEADER, NONE, force_derivatives, scratch_of, slot_of, sums_wanted, swept,
    wrenches,
)
from .node_adjoint import made_ready as made_nodes_ready
from .node_adjoint import pull as pull_nodes
from .parameters import add_parameter_gradient
from .single_adjoint import made_ready
from .single_adjoint import pull as pull_singles

RESULT_LIMIT = 1e300


@exact
def opened(pointer):
    """The desk, its address, and the frame."""
    address = address_of(pointer)
    desk = array_at(address, HEADER)
    return desk, address, frame_at(whole(desk, FRAME))


@exact
def closed(desk, frame, code, out):
    """Leave the code, also as the status of the frame; a result that is none becomes NaN."""
    if code == OK and beyond(out, RESULT_LIMIT):
        code = NOT_FINITE
    put(desk, CODE, code)
    put(frame, STATUS, code)
    if code != OK:
        for i in range(out.shape[0]):
            put(out, i, nan)


@exact
def rates_in(desk, address, frame, t, y):
    """A sweep at the state y; its rates go to the scratch. The code, and q."""
    nq, nv = whole(frame, NQ), whole(frame, NV)
    qdot, pdot = scratch_of(desk, address, 0, nq), scratch_of(desk, address, nq, nv)
    return swept(desk, address, frame, t, y, qdot, pdot), array_at(y, nq)


@exact
def forces_in(desk, address, frame, t, y):
    """Derivatives of force functions in the scratch behind the rates. The code and the matrix, nv x (n + nv)."""
    n, nv = whole(frame, NQ) + whole(frame, NV), whole(frame, NV)
    out = scratch_of(desk, address, 2 * n, nv * (n + nv) if whole(desk, FORCES) != NONE else 0)
    code = OK
    if whole(desk, FORCES) != NONE:
        code = force_derivatives(desk, frame, t, y, out, scratch_of(desk, address, n, n))
    return code, out


@exact
def rest_of(frame):
    """Where the scratch is free behind the derivatives of forces."""
    n, nv = whole(frame, NQ) + whole(frame, NV), whole(frame, NV)
    return 2 * n + nv * (n + nv)


# ---- what the templates below differ in ----
@exact
def matrix_of_any(desk, address, frame, q, out, work):
    """J, forces left out, and the rows of du/d(q, p); a sweep has been there."""
    if whole(frame, N_QUATERNIONS) == 0:
        tangent_jacobian(frame, q, wrenches(desk, frame), out, work)
        return out
    return in_coordinates(desk, address, frame, q, out, work)


@exact
def matrix_of_singles(desk, address, frame, q, out, work):
    jacobian_of_singles(frame, q, out, work)
    return out


@exact
def products_of_any(desk, frame, q, dq, dp, m, du, dpdot, work):
    """du, dpdot along m columns (dq, dp) of tangents."""
    jvp(frame, q, wrenches(desk, frame), dq, dp, m, du, dpdot, work)


@exact
def products_of_singles(desk, frame, q, dq, dp, m, du, dpdot, work):
    jvp_of_singles(frame, q, dq, dp, m, m, 1, du, dpdot, work)


MATRIX, PRODUCTS = matrix_of_any, products_of_any


# ---- templates ----
def put_jacobian(t, y, J, pointer):
    desk, address, frame = opened(pointer)
    nq, nv = whole(frame, NQ), whole(frame, NV)
    n, at = nq + nv, address_of(y)
    out = array_at(address_of(J), n * n)
    code, forces = forces_in(desk, address, frame, t, at)
    if code == OK:
        code, q = rates_in(desk, address, frame, t, at)
        if code == OK:
            du = MATRIX(desk, address, frame, q, out, array_at(slot_of(desk, address), UNKNOWN))
            if forces.shape[0] > 0:
                for j in range(nv):
                    for k in range(n):
                        to = (nq + j) * n + k
                        put(out, to, get(out, to) + get(forces, j * (n + nv) + k))
                add_product(forces, nv, n + nv, n, nv, du, out, nq, n)
    closed(desk, frame, code, out)


@exact
def in_coordinates(desk, address, frame, q, out, work):
    """J where there are quaternions, from the Jacobian A by tangents: columns first, then rows. Returns du/d(q, p)."""
    nq, nv, begin = whole(frame, NQ), whole(frame, NV), rest_of(frame)
    n = nq + nv
    one, T = scratch_of(desk, address, begin, n * n), scratch_of(desk, address, begin + n * n, 2 * nv * n)
    A = scratch_of(desk, address, begin + n * n + 2 * nv * n, 4 * nv * nv)
    product = scratch_of(desk, address, begin + n * n + 2 * nv * n + 4 * nv * nv, 2 * nv * n)
    for k in range(n * n):
        put(one, k, 0.0)
    for k in range(n):
        put(one, k * n + k, 1.0)
    for k in range(2 * nv * n):
        put(T, k, 0.0)
        put(product, k, 0.0)
    to_tangent(frame, q, one, T, n)
    tangent_jacobian(frame, q, wrenches(desk, frame), A, work)
    for a in range(2 * nv):
        for b in range(2 * nv):
            x = get(A, a * 2 * nv + b)
            for k in range(n):
                if get(T, b * n + k) != 0.0:
                    put(product, a * n + k, get(product, a * n + k) + x * get(T, b * n + k))
    du, dpdot = array_at(data_of(product), nv * n), array_at(data_of(product) + 8 * nv * n, nv * n)
    to_rates(frame, q, work, speeds_at(frame), one, T, du, dpdot, out, n)
    return du


def put_variation(t, y, dy, out, pointer):
    desk, address, frame = opened(pointer)
    nq, nv, m = whole(frame, NQ), whole(frame, NV), whole(desk, COLUMNS)
    n, at, begin = nq + nv, address_of(y), rest_of(frame)
    increments, rates = array_at(address_of(dy), n * m), array_at(address_of(out), n * m)
    code, forces = forces_in(desk, address, frame, t, at)
    if code == OK:
        code, q = rates_in(desk, address, frame, t, at)
        if code == OK:
            work, half = array_at(slot_of(desk, address), UNKNOWN), nv * m
            X = scratch_of(desk, address, begin, 2 * half)
            dq, dp = scratch_of(desk, address, begin, half), scratch_of(desk, address, begin + half, half)
            du = scratch_of(desk, address, begin + 2 * half, half)
            dpdot = scratch_of(desk, address, begin + 3 * half, half)
            to_tangent(frame, q, increments, X, m)
            PRODUCTS(desk, frame, q, dq, dp, m, du, dpdot, work)
            to_rates(frame, q, work, speeds_at(frame), increments, X, du, dpdot, rates, m)
            if forces.shape[0] > 0:
                add_product(forces, nv, n + nv, 0, n, increments, rates, nq, m)
                add_product(forces, nv, n + nv, n, nv, du, rates, nq, m)
    closed(desk, frame, code, rates)


@exact
def add_product(matrix, rows, width, begin, count, x, out, first, columns):
    """Rows of `out` from the first on += `count` columns of the matrix, from `begin` on, times rows of x."""
    for i in range(rows):
        for k in range(count):
            a = get(matrix, i * width + begin + k)
            if a != 0.0:
                for j in range(columns):
                    at = (first + i) * columns + j
                    put(out, at, get(out, at) + a * get(x, k * columns + j))


# ---- the adjoint ----
@exact
def weigh_forces(forces, nv, n, a, b):
    """a += what the weights b of pdot do by forces that depend on u."""
    for j in range(nv if forces.shape[0] > 0 else 0):
        for k in range(nv):
            put(a, k, get(a, k) + get(b, j) * get(forces, j * (n + nv) + n + k))


@exact
def add_forces(forces, nv, n, b, out):
    """out += what they do by forces that depend on q and p."""
    for j in range(nv if forces.shape[0] > 0 else 0):
        for k in range(n):
            put(out, k, get(out, k) + get(b, j) * get(forces, j * (n + nv) + k))


@c_function(ODE_TAU)
def pull(t, y, weights, out, pointer):
    desk, address, frame = opened(pointer)
    nq, nv, at, begin = whole(frame, NQ), whole(frame, NV), address_of(y), rest_of(frame)
    n, work = nq + nv, array_at(slot_of(desk, address), UNKNOWN)
    given, result = array_at(address_of(weights), n), array_at(address_of(out), n)
    both, a, b = scratch_of(desk, address, begin, 2 * nv), scratch_of(desk, address, begin, nv), scratch_of(
        desk, address, begin + nv, nv)
    gq, gp = scratch_of(desk, address, begin + 2 * nv, nv), scratch_of(desk, address, begin + 3 * nv, nv)
    again, q = whole(desk, AGAIN) != 0, array_at(at, nq)
    code, forces = forces_in(desk, address, frame, t, at)
    if code == OK and not again:
        code, q = rates_in(desk, address, frame, t, at)
    if code == OK:
        weights_of_speeds(frame, q, given, both)
        weigh_forces(forces, nv, n, a, b)
        pull_by_rows(frame, q, wrenches(desk, frame), again, a, b, gq, gp, work)
        weights_of_speeds(frame, q, given, both)
        to_coordinates(frame, q, work, speeds_at(frame), given, a, gq, gp, result)
        if sums_wanted(desk):
            add_parameter_gradient(desk, address, frame, q, b, gp, work)
        add_forces(forces, nv, n, b, result)
    closed(desk, frame, code, result)


@c_function(ODE_TAU)
def node_pull(t, y, weights, out, pointer):
    desk, address, frame = opened(pointer)
    nq, nv, at, begin = whole(frame, NQ), whole(frame, NV), address_of(y), rest_of(frame)
    n, work, q, p = nq + nv, array_at(slot_of(desk, address), UNKNOWN), array_at(at, nq), array_at(at + 8 * nq, nv)
    given, result = array_at(address_of(weights), n), array_at(address_of(out), n)
    both, a, b = scratch_of(desk, address, begin, 2 * nv), scratch_of(desk, address, begin, nv), scratch_of(
        desk, address, begin + nv, nv)
    gq, gp = scratch_of(desk, address, begin + 2 * nv, nv), scratch_of(desk, address, begin + 3 * nv, nv)
    code, forces = forces_in(desk, address, frame, t, at)
    if code == OK and whole(desk, AGAIN) == 0:
        code = made_nodes_ready(frame, t, q, p, work)
    if code == OK:
        weights_of_speeds(frame, q, given, both)
        weigh_forces(forces, nv, n, a, b)
        pull_nodes(desk, address, frame, q, p, a, b, gq, gp, work)
        if forces.shape[0] > 0:
            weights_of_speeds(frame, q, given, both)
        to_coordinates(frame, q, work, speeds_at(frame), given, a, gq, gp, result)
        add_forces(forces, nv, n, b, result)
    closed(desk, frame, code, result)


@c_function(ODE_TAU)
def single_pull(t, y, weights, out, pointer):
    desk, address, frame = opened(pointer)
    nv, at, given, to = whole(frame, NV), address_of(y), address_of(weights), address_of(out)
    q, work, result = array_at(at, nv), array_at(slot_of(desk, address), UNKNOWN), array_at(to, 2 * nv)
    a, b = array_at(given, nv), array_at(given + 8 * nv, nv)
    code, forces = forces_in(desk, address, frame, t, at)
    if code == OK and whole(desk, AGAIN) == 0:
        code = made_ready(frame, t, q, array_at(at + 8 * nv, nv), work)
    if code == OK:
        if forces.shape[0] > 0:
            weighed = scratch_of(desk, address, rest_of(frame), nv)
            for j in range(nv):
                put(weighed, j, get(a, j))
            weigh_forces(forces, nv, 2 * nv, weighed, b)
            a = weighed
        pull_singles(desk, address, frame, q, a, b, result, array_at(to + 8 * nv, nv), work)
        add_forces(forces, nv, 2 * nv, b, result)
    closed(desk, frame, code, result)


OF_SINGLES = dict(MATRIX=matrix_of_singles, PRODUCTS=products_of_singles)

jacobian = c_function(ODE)(bound(put_jacobian, "jacobian"))
variation = c_function(ODE_TAU)(bound(put_variation, "variation"))
single_jacobian = c_function(ODE)(bound(put_jacobian, "single_jacobian", **OF_SINGLES))
single_variation = c_function(ODE_TAU)(bound(put_variation, "single_variation", **OF_SINGLES))
