"""Right-hand sides and joint accelerations, assembled from the sweeps of a method.

As functions of time, for other compiled code; they return a status, and check nothing but the pivots:

    rhs_at            (t, q, p, tau; qdot, pdot)
    accelerations_at  (t, q, u, tau; udot)

With the state (q, u), and with what wrenches on the bodies add, as kernels of operations (:mod:`.operations`):

    of_speeds      (q, u, tau; qdot, udot),   qdot = N(q) u, udot by the sweeps of joint accelerations
    rhs            (q, p, tau, wrench; qdot, pdot), or with u and udot in the place of p and pdot
    accelerations  (q, u, tau, wrench; udot)

A wrench is six numbers a body, in body axes at the body origin. What it amounts to in the joints is added to tau. These
are kernels of their own: most callers have no wrenches, and the sweep over all joints takes time to compile.
"""

from .checks import STALE, stale, status
from .drives import evaluate_drives
from .jit import inline, kernel
from .joints import put_rates
from .layout import NV, forces_at
from .momenta import put_wrench_forces
from .number import get, put, whole
from .templates import bound

SWEEPS = None  # of the method, see `bound`


def rhs_at(block, t, q, p, tau, qdot, pdot, work):
    if stale(block):
        return STALE
    evaluate_drives(block, t, work)
    SWEEPS(block, q, p, tau, qdot, pdot, work)
    return status(block, work)


def accelerations_at(block, t, q, u, tau, udot, work):
    if stale(block):
        return STALE
    evaluate_drives(block, t, work)
    SWEEPS(block, q, u, tau, udot, work)
    return status(block, work)


@inline
def add_up(block, q, tau, wrench, total, work):
    """total = tau and what the wrenches amount to in the joints; an empty one is none."""
    if wrench.shape[0] > 0:
        put_wrench_forces(block, q, wrench, total, work)
    else:
        for j in range(whole(block, NV)):
            put(total, j, 0.0)
    if tau.shape[0] > 0:
        for j in range(whole(block, NV)):
            put(total, j, get(total, j) + get(tau, j))


def of_speeds(block, q, u, tau, qdot, udot, work):
    SWEEPS(block, q, u, tau, udot, work)
    put_rates(block, q, u, 0, qdot)


def rhs(block, q, p, tau, wrench, qdot, pdot, work):
    total = work[forces_at(block):forces_at(block) + whole(block, NV)]
    add_up(block, q, tau, wrench, total, work)
    SWEEPS(block, q, p, total, qdot, pdot, work)


def accelerations(block, q, u, tau, wrench, udot, work):
    total = work[forces_at(block):forces_at(block) + whole(block, NV)]
    add_up(block, q, tau, wrench, total, work)
    SWEEPS(block, q, u, total, udot, work)


def rhs_of(sweeps, name="rhs"):
    """rhs(block, t, q, p, tau, qdot, pdot, work) -> status by these sweeps; tau may be empty."""
    return kernel(bound(rhs_at, name, SWEEPS=sweeps))


def accelerations_of(sweeps, name="accelerations"):
    """accelerations(block, t, q, u, tau, udot, work) -> status likewise."""
    return kernel(bound(accelerations_at, name, SWEEPS=sweeps))


def rhs_of_speeds(sweeps):
    """The kernel of a right-hand side with the state (q, u) for the sweeps of joint accelerations."""
    return inline(bound(of_speeds, "rhs_of_speeds", SWEEPS=sweeps))


def rhs_with_wrenches(sweeps):
    """The kernel of a right-hand side for its sweeps without wrenches."""
    return inline(bound(rhs, "rhs_with_wrenches", SWEEPS=sweeps))


def accelerations_with_wrenches(sweeps):
    """The same for joint accelerations."""
    return inline(bound(accelerations, "accelerations_with_wrenches", SWEEPS=sweeps))
