"""Derivatives as operations: what :mod:`.jacobian_rhs` and its relatives need, from a state alone.

    jacobian_rhs                   d(u, pdot)/d(q, p), 2 nv x 2 nv
    jvp, vjp                       its products with rows (dq, dp), those of its transpose with rows of weights
    derivatives_accelerations      of udot(q, u, tau)
    derivatives_inverse_dynamics   of tau(q, u, udot)

The first three begin with the sweeps of :mod:`.speeds`, which leave joint speeds and articulated inertias, the next
one with those of :mod:`.newton_euler`; joint forces need no elimination. For trees of single dofs without wrenches all
but the last have kernels of their own, with the same bits: without what ball and free joints need, they are compiled in
half to two thirds of the time.
"""

from .acceleration_columns import put_matrices
from .acceleration_rows import more_rows, put_acceleration_rows
from .columns import tail
from .extended import backward, backward_of_single_dofs
from .jacobian_products import jvp_of_singles, jvp_rows, vjp_of_singles, vjp_rows
from .jacobian_rhs import jacobian, jacobian_of_singles, only_single_dofs, prepare, prepare_without_pivots
from .jit import inline, kernel
from .layout import NV, forces_at, speeds_at
from .newton_euler import sweeps
from .number import get, put, whole
from .right_hand_sides import add_up
from .speeds import forward
from .tangents import lanes_begin
from .variations import dof_variation
from .velocity_derivatives import acceleration_derivatives, force_derivatives


@kernel
def eliminated(block, q, p, work):
    """Articulated inertias and pivots in the workspace."""
    backward(block, q, p, work)


@kernel
def moved(block, q, p, work):
    """Joint speeds of momenta, too."""
    forward(block, q, p, tail(work, speeds_at(block)), work)


@kernel
def eliminated_singles(block, q, p, work):
    """`eliminated` for trees of single dofs."""
    backward_of_single_dofs(block, q, p, work)


@inline
def begun(block, q, p, wrench, work):
    """What the derivatives begin with; trees of single dofs get their joint speeds later (:mod:`.single_dofs`)."""
    eliminated(block, q, p, work)
    if wrench.shape[0] > 0 or not only_single_dofs(block):
        moved(block, q, p, work)


@inline
def jacobian_rhs(block, q, p, wrench, A, work):
    begun(block, q, p, wrench, work)
    jacobian(block, q, wrench, A, work)


@inline
def jacobian_rhs_of_singles(block, q, p, A, work):
    eliminated_singles(block, q, p, work)
    jacobian_of_singles(block, q, A, work)


@inline
def rows_in(x, block):
    """How many rows of nv numbers there are."""
    nv = whole(block, NV)
    return x.shape[0] // nv if nv > 0 else 0


@inline
def jvp(block, q, p, dq, dp, wrench, du, dpdot, work):
    begun(block, q, p, wrench, work)
    jvp_rows(block, q, wrench, dq, dp, rows_in(dq, block), du, dpdot, work)


@inline
def vjp(block, q, p, u_weights, pdot_weights, wrench, gq, gp, work):
    begun(block, q, p, wrench, work)
    vjp_rows(block, q, wrench, u_weights, pdot_weights, rows_in(u_weights, block), gq, gp, work)


@inline
def jvp_rows_of_singles(block, q, p, dq, dp, du, dpdot, work):
    eliminated_singles(block, q, p, work)
    jvp_of_singles(block, q, dq, dp, rows_in(dq, block), 1, whole(block, NV), du, dpdot, work)


@inline
def vjp_rows_of_singles(block, q, p, u_weights, pdot_weights, gq, gp, work):
    eliminated_singles(block, q, p, work)
    vjp_of_singles(block, q, u_weights, pdot_weights, rows_in(u_weights, block), 1, whole(block, NV), gq, gp, work)


@inline
def put_given_speeds(block, u, work):
    for j in range(whole(block, NV)):
        put(work, speeds_at(block) + j, get(u, j))


@kernel
def put_acceleration_rows_of_singles(block, q, u, udot, work):
    put_acceleration_rows(block, q, u, udot, work)


@inline
def derivatives_accelerations_of_singles(block, q, u, tau, udot_q, udot_u, udot_tau, work):
    nv = whole(block, NV)
    udot = udot_tau[0:nv]  # until the matrix itself is written
    sweeps(block, q, u, tau, udot, work)
    put_acceleration_rows_of_singles(block, q, u, udot, work)
    put_matrices(nv, dof_variation(block, 0), more_rows(block), lanes_begin(block), udot_q, udot_u, udot_tau, work)


@inline
def derivatives_accelerations(block, q, u, tau, wrench, udot_q, udot_u, udot_tau, work):
    if wrench.shape[0] == 0 and only_single_dofs(block):
        derivatives_accelerations_of_singles(block, q, u, tau, udot_q, udot_u, udot_tau, work)
    else:
        derivatives_accelerations_of_any(block, q, u, tau, wrench, udot_q, udot_u, udot_tau, work)


@inline
def derivatives_accelerations_of_any(block, q, u, tau, wrench, udot_q, udot_u, udot_tau, work):
    nv = whole(block, NV)
    udot = udot_tau[0:nv]
    if wrench.shape[0] > 0:
        forces = work[forces_at(block):forces_at(block) + nv]
        add_up(block, q, tau, wrench, forces, work)
        sweeps(block, q, u, forces, udot, work)
    else:
        sweeps(block, q, u, tau, udot, work)
    put_given_speeds(block, u, work)
    prepare(block, q, wrench, work)
    acceleration_derivatives(block, udot, wrench.shape[0] > 0, udot_q, udot_u, udot_tau, work)


@inline
def derivatives_inverse_dynamics(block, q, u, udot, wrench, tau_q, tau_u, tau_udot, work):
    put_given_speeds(block, u, work)
    prepare_without_pivots(block, q, wrench, work)
    force_derivatives(block, udot, wrench.shape[0] > 0, tau_q, tau_u, tau_udot, work)
