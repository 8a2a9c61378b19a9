"""What integrators call for a model with constraints: rates of (q, P), and the state that a step ends with.

    void ode(double t, const double *y, double *dydt, void *user)       y = (q, P), P momenta up to a gauge
    void ode_closed(double t, const double *y, double *dydt, void *user)
    void settle(double t, const double *y, double *out, void *user)     out = (q, p): loops closed, true p;
                                                                        SINGULAR where they cannot be closed
    void reveal(double t, const double *y, double *out, void *user)     out = (q, p): true p alone

`user` is a frame (:mod:`.cabi`) that has the addresses of the operations "true_momenta" (GAUGE_CALL) and "closer"
(CLOSE_CALL). Forces of the user see true momenta.

`ode_closed` is `ode` at the closed configuration near q. On closed loops the two are the same field, so integrators
keep their order. Off them, where stages of a step are, they differ for machines such as Bricard's, whose rows depend on
each other on closed loops alone: with one row too many the machine is locked there. It marks its frame (LOCKS).
"""

from math import sqrt

from .arguments import call_operation, data_of, integers_at, stack_words
from .cabi import ODE, evaluate, finish, joint_forces, opened
from .checks import OK, SINGULAR
from .constraint_layout import CLOSED, LOCKS, N_ROWS, R_G, head, results_at, scalar_row
from .jit import c_function, exact
from .joints import quaternion_place
from .layout import AT_CONSTRAINTS, CLOSE_CALL, GAUGE_CALL, N_NODES, NV, STATUS, TAU_CALL, WRENCH_CALL, node_row
from .number import array_at, get, magnitude, put, whole

CLOSINGS = 2  # steps of Newton: drift within a step is small, so that its square is rounding


@exact
def call_gauge(frame, t, q, P, p, work):
    """p = true momenta of P; a code."""
    arguments = stack_words(6)
    words = integers_at(arguments, 6)
    words[0], words[1] = data_of(q), q.shape[0]
    words[2], words[3] = data_of(P), P.shape[0]
    words[4], words[5] = data_of(p), p.shape[0]
    return call_operation(whole(frame, GAUGE_CALL), t, arguments, data_of(frame), data_of(work))


@exact
def call_close(frame, t, q, closed, work):
    """closed = q after a step of Newton; a code."""
    arguments = stack_words(4)
    words = integers_at(arguments, 4)
    words[0], words[1] = data_of(q), q.shape[0]
    words[2], words[3] = data_of(closed), closed.shape[0]
    return call_operation(whole(frame, CLOSE_CALL), t, arguments, data_of(frame), data_of(work))


@exact
def make_unit(frame, q):
    """Scale quaternions to length one."""
    for i in range(whole(frame, N_NODES)):
        at = quaternion_place(frame, node_row(i))
        if at >= 0:
            square = 0.0
            for k in range(4):
                square += get(q, at + k) * get(q, at + k)
            factor = 1.0 / sqrt(square)
            for k in range(4):
                put(q, at + k, factor * get(q, at + k))


@exact
def put_state_rates(frame, user, t, q, P, qdot, Pdot, work):
    """Rates of (q, P) with the forces of the frame."""
    if whole(frame, TAU_CALL) != 0 or whole(frame, WRENCH_CALL) != 0:
        nv = whole(frame, NV)
        p = array_at(data_of(work) + 8 * (results_at(frame) + 4 * nv), nv)
        code = call_gauge(frame, t, q, P, p, work)
        tau = joint_forces(frame, user, t, q, p, work)
        if code != OK:
            put(frame, STATUS, code)
        evaluate(frame, t, q, P, tau, qdot, Pdot, work)
    else:
        evaluate(frame, t, q, P, joint_forces(frame, user, t, q, P, work), qdot, Pdot, work)


@c_function(ODE)
def ode(t, y, dydt, user):
    frame, work, q, P, qdot, Pdot = opened(y, dydt, user)
    put(frame, STATUS, OK)
    put_state_rates(frame, user, t, q, P, qdot, Pdot, work)


@c_function(ODE)
def ode_closed(t, y, dydt, user):
    frame, work, q, P, qdot, Pdot = opened(y, dydt, user)
    put(frame, STATUS, OK)
    put(frame, whole(frame, AT_CONSTRAINTS) + LOCKS, 1.0)
    closed = configuration_room(frame, q, work)
    code = call_close(frame, t, q, closed, work)
    if code == OK:
        make_unit(frame, closed)
        put_state_rates(frame, user, t, closed, P, qdot, Pdot, work)
    else:
        finish(frame, code, qdot, Pdot)


@exact
def configuration_room(frame, q, work):
    """Room of the workspace for a configuration."""
    return array_at(data_of(work) + 8 * (results_at(frame) + 5 * whole(frame, NV)), q.shape[0])


@c_function(ODE)
def settle(t, y, out, user):
    frame, work, q, P, closed, p = opened(y, out, user)
    for i in range(q.shape[0]):
        put(closed, i, get(q, i))
    code, room = OK, configuration_room(frame, q, work)
    for _ in range(CLOSINGS):
        if code == OK:
            code = call_close(frame, t, closed, room, work)
            for i in range(q.shape[0]):
                put(closed, i, get(room, i))
            make_unit(frame, closed)
    if code == OK:
        code = call_gauge(frame, t, closed, P, p, work)
    put(frame, STATUS, SINGULAR if code == OK and is_open(frame, work) else code)


@exact
def is_open(frame, work):
    """Whether loops could not be closed, as those that are driven beyond their reach; after `call_gauge`."""
    for k in range(head(frame, N_ROWS)):
        if not magnitude(get(work, scalar_row(frame, k) + R_G)) <= CLOSED:
            return True
    return False


@c_function(ODE)
def reveal(t, y, out, user):
    frame, work, q, P, same, p = opened(y, out, user)
    for i in range(q.shape[0]):
        put(same, i, get(q, i))
    put(frame, STATUS, call_gauge(frame, t, q, P, p, work))
