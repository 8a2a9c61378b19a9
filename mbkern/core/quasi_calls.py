"""M, N, h, Q, constraints and quasi-velocities of a frame, by calls of functions whose addresses it holds.

Those of :mod:`.quasi_tree` for a tree, or made from functions of the user.
"""

from .cabi import call_load
from .arguments import UNKNOWN
from .jit import exact
from .number import whole
from .quasi_layout import (
    AT_A, AT_H, AT_M, AT_Q, AT_REST, AT_Y, BIAS_CALL, CONSTRAINT_CALL, CONSTRAINT_RATE_CALL, FORCE_CALL, MASS_CALL, NV,
    QUASI_CALL, QUASI_RATE_CALL, R, SELF, part,
)


@exact
def put_mass_matrix(frame, t, q):
    """M, and N behind it."""
    call_load(whole(frame, MASS_CALL), t, q, part(frame, AT_REST, whole(frame, NV)), part(frame, AT_M, UNKNOWN),
              whole(frame, SELF))


@exact
def put_bias_and_forces(frame, t, q, v):
    """h and Q."""
    m, user = whole(frame, NV), whole(frame, SELF)
    call_load(whole(frame, BIAS_CALL), t, q, v, part(frame, AT_H, m), user)
    if whole(frame, FORCE_CALL) != 0:
        call_load(whole(frame, FORCE_CALL), t, q, v, part(frame, AT_Q, m), user)


@exact
def put_constraints(frame, t, q, v):
    """a, b and the rate adot v + bdot."""
    if whole(frame, R) > 0:
        call_load(whole(frame, CONSTRAINT_CALL), t, q, v, part(frame, AT_A, UNKNOWN), whole(frame, SELF))


@exact
def put_quasi(frame, t, q, v):
    """Y, Z and the rate Ydot v + Zdot."""
    if whole(frame, QUASI_CALL) != 0:
        call_load(whole(frame, QUASI_CALL), t, q, v, part(frame, AT_Y, UNKNOWN), whole(frame, SELF))


@exact
def put_constraint_rates(frame, t, q, v):
    """adot v + bdot by a function of its own, where there is one; a and b are there already."""
    if whole(frame, CONSTRAINT_RATE_CALL) != 0:
        call_load(whole(frame, CONSTRAINT_RATE_CALL), t, q, v, part(frame, AT_A, UNKNOWN), whole(frame, SELF))


@exact
def put_rates_of(frame, t, q, v):
    """adot v + bdot and Ydot v + Zdot; all else is there already."""
    if whole(frame, CONSTRAINT_RATE_CALL) != 0:
        put_constraint_rates(frame, t, q, v)
    else:
        put_constraints(frame, t, q, v)
    if whole(frame, QUASI_RATE_CALL) != 0:
        call_load(whole(frame, QUASI_RATE_CALL), t, q, v, part(frame, AT_Y, UNKNOWN), whole(frame, SELF))
    else:
        put_quasi(frame, t, q, v)
