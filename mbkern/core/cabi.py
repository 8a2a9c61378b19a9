"""The right-hand sides as C functions for others. One function serves every model and method.

    void ode(double t, const double *y, double *dydt, void *user)                        y = (q, p)
    void ode_tau(double t, const double *y, const double *tau, double *dydt, void *user)

`user` points at a *frame* (see :mod:`.layout`): a block of its own, a workspace, loads, and the STATUS of the last
call. Nothing throws; when the status is not OK, all of dydt is NaN. Forces that belong to the frame come from

    void load(double t, const double *q, const double *p, double *out, void *data)

whose address is in the frame: `out` is tau (nv) or the wrenches (N x 6). The frame also knows the address of the
method (:mod:`.entry`), and that of its own `ode`, which the functions with the signatures of other simulators call.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy import nan

from .arguments import UNKNOWN, data_of
from .checks import BAD_SHAPE, OK
from .entry import call_rhs
from .jit import c_function, exact
from .layout import (
    AT_LOADS, FRAME_SIZE, HAS_TAU, HAS_WRENCH, HEADER, LAST_TIME, LOSS, N_BODIES, NQ, NV, ODE_CALL, RHS_CALL, SIZE,
    STATUS, TAU_CALL, TAU_DATA, WRENCH_CALL, WRENCH_DATA, loss_at,
)
from .momenta import wrenches_to_joints
from .number import array_at, get, put, whole

_DOUBLES = types.CPointer(types.float64)
ODE = types.void(types.float64, _DOUBLES, _DOUBLES, types.voidptr)
ODE_TAU = types.void(types.float64, _DOUBLES, _DOUBLES, _DOUBLES, types.voidptr)
LOAD = types.void(types.float64, _DOUBLES, _DOUBLES, _DOUBLES, types.voidptr)
SUNDIALS = types.int32(types.float64, _DOUBLES, _DOUBLES, types.voidptr)
CYRK = types.void(_DOUBLES, types.float64, _DOUBLES, _DOUBLES)

_DOUBLE, _BYTES = ir.DoubleType(), ir.IntType(8).as_pointer()


def _data(context, builder, array_type, array):
    return context.make_array(array_type)(context, builder, array).data


@intrinsic
def call_ode(typingctx, address, t, y, y_at, dydt, dydt_at, user):
    """Call the `ODE` function at `address` on y[y_at:] and dydt[dydt_at:], 1-D float64 arrays; `user` is an address."""
    def codegen(context, builder, sig, args):
        function_type = ir.FunctionType(
            ir.VoidType(), [_DOUBLE, _DOUBLE.as_pointer(), _DOUBLE.as_pointer(), _BYTES])
        address, t, y, y_at, dydt, dydt_at, user = args
        builder.call(builder.inttoptr(address, function_type.as_pointer()), [
            t, builder.gep(_data(context, builder, sig.args[2], y), [y_at]),
            builder.gep(_data(context, builder, sig.args[4], dydt), [dydt_at]), builder.inttoptr(user, _BYTES)])
        return context.get_dummy_value()
    return types.void(types.intp, types.float64, y, types.intp, dydt, types.intp, types.intp), codegen


@intrinsic
def call_load(typingctx, address, t, q, p, out, data):
    """Call the `LOAD` function at `address`; `data` is an address."""
    def codegen(context, builder, sig, args):
        pointer = _DOUBLE.as_pointer()
        function_type = ir.FunctionType(ir.VoidType(), [_DOUBLE, pointer, pointer, pointer, _BYTES])
        arrays = [_data(context, builder, sig.args[k], args[k]) for k in (2, 3, 4)]
        builder.call(builder.inttoptr(args[0], function_type.as_pointer()),
                     [args[1], *arrays, builder.inttoptr(args[5], _BYTES)])
        return context.get_dummy_value()
    return types.void(types.intp, types.float64, q, p, out, types.intp), codegen


@intrinsic
def address_of(typingctx, pointer):
    """A pointer as a number."""
    def codegen(context, builder, sig, args):
        return builder.ptrtoint(args[0], ir.IntType(types.intp.bitwidth))
    return types.intp(pointer), codegen


@exact
def frame_at(address):
    """The frame at an address."""
    return array_at(address, whole(array_at(address, HEADER), FRAME_SIZE))


@exact
def opened(y, dydt, user):
    """The frame and its workspace, and (q, p) and their rates in y and dydt."""
    frame = frame_at(address_of(user))
    nq, nv = whole(frame, NQ), whole(frame, NV)
    state, rate = address_of(y), address_of(dydt)
    return (frame, array_at(address_of(user) + 8 * whole(frame, SIZE), UNKNOWN), array_at(state, nq),
            array_at(state + 8 * nq, nv), array_at(rate, nq), array_at(rate + 8 * nq, nv))


@exact
def loads(frame, user, at, size):
    """`size` numbers of the loads of a frame, from place `at` of them on."""
    return array_at(address_of(user) + 8 * (whole(frame, AT_LOADS) + at), size)


@exact
def own_tau(frame, user, t, q, p):
    """The tau that belongs to the frame; empty when there is none."""
    put(frame, STATUS, OK)
    put(frame, LAST_TIME, t)
    tau = loads(frame, user, 0, whole(frame, NV) if whole(frame, HAS_TAU) != 0 else 0)
    if whole(frame, TAU_CALL) != 0:
        call_load(whole(frame, TAU_CALL), t, q, p, tau, whole(frame, TAU_DATA))
    return tau


@exact
def joint_forces(frame, user, t, q, p, work):
    """All joint forces that belong to the frame: its tau and what its wrenches do; empty when there are none."""
    nv = whole(frame, NV)
    tau = own_tau(frame, user, t, q, p)
    if whole(frame, HAS_WRENCH) != 0:
        total, wrench = loads(frame, user, nv, nv), loads(frame, user, 2 * nv, 6 * whole(frame, N_BODIES))
        if whole(frame, WRENCH_CALL) != 0:
            call_load(whole(frame, WRENCH_CALL), t, q, p, wrench, whole(frame, WRENCH_DATA))
        wrenches_to_joints(frame, t, q, wrench, total, work)
        for j in range(tau.shape[0]):
            put(total, j, get(total, j) + get(tau, j))
        return total
    return tau


@exact
def with_given(frame, user, own, given):
    """The frame's own joint forces plus those that the caller gives."""
    nv = whole(frame, NV)
    tau = array_at(address_of(given), nv)
    if own.shape[0] == 0:
        return tau
    total = loads(frame, user, nv, nv)
    for j in range(nv):
        put(total, j, get(own, j) + get(tau, j))
    return total


@exact
def finish(frame, code, qdot, pdot):
    """Leave the status in the frame; a result that is none becomes NaN, so that it cannot pass for one."""
    put(frame, STATUS, code)
    if code != OK:
        for i in range(qdot.shape[0]):
            put(qdot, i, nan)
        for j in range(pdot.shape[0]):
            put(pdot, j, nan)


# ---- the signatures of other simulators, whatever the method ----
@c_function(SUNDIALS)
def ode_sundials(t, y, dydt, user):
    """0: done; positive: no value at this state, a smaller step may help; negative: nothing will help."""
    frame = frame_at(address_of(user))
    n = whole(frame, NQ) + whole(frame, NV)
    state, rate = array_at(address_of(y), n), array_at(address_of(dydt), n)
    call_ode(whole(frame, ODE_CALL), t, state, 0, rate, 0, address_of(user))
    code = whole(frame, STATUS)
    return code if code < BAD_SHAPE else -code


@c_function(CYRK)
def ode_cyrk(dydt, t, y, args):
    """args[0] is the address of the frame as a number: CyRK copies its arguments."""
    user = whole(array_at(address_of(args), 1), 0)
    frame = frame_at(user)
    n = whole(frame, NQ) + whole(frame, NV)
    call_ode(whole(frame, ODE_CALL), t, array_at(address_of(y), n), 0, array_at(address_of(dydt), n), 0, user)


# ---- the right-hand sides ----
@exact
def evaluate(frame, t, q, p, tau, qdot, pdot, work):
    """By the function that the frame knows."""
    code = whole(frame, STATUS)
    if code == OK:  # no callback has failed
        code = call_rhs(whole(frame, RHS_CALL), t, data_of(q), data_of(p), data_of(tau) if tau.shape[0] > 0 else 0,
                        data_of(qdot), data_of(pdot), data_of(frame), data_of(work))
    if code == OK:
        put(frame, LOSS, max(get(frame, LOSS), get(work, loss_at(frame))))
    finish(frame, code, qdot, pdot)


@c_function(ODE)
def ode(t, y, dydt, user):
    frame, work, q, p, qdot, pdot = opened(y, dydt, user)
    evaluate(frame, t, q, p, joint_forces(frame, user, t, q, p, work), qdot, pdot, work)


@c_function(ODE)
def ode_without_wrenches(t, y, dydt, user):
    """For frames that have none: the sweep over all joints which wrenches need takes longer to compile than this."""
    frame, work, q, p, qdot, pdot = opened(y, dydt, user)
    evaluate(frame, t, q, p, own_tau(frame, user, t, q, p), qdot, pdot, work)


@c_function(ODE_TAU)
def ode_tau(t, y, tau, dydt, user):
    frame, work, q, p, qdot, pdot = opened(y, dydt, user)
    total = with_given(frame, user, joint_forces(frame, user, t, q, p, work), tau)
    evaluate(frame, t, q, p, total, qdot, pdot, work)
