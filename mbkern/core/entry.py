"""The right-hand sides: one C function per method, and what Python calls.

    intp f(double t, intp q, intp p, intp tau, intp qdot, intp pdot, intp block, intp work)

All but t are addresses of float64 numbers, tau 0 when there is none. It checks the numbers, evaluates, checks the
answer, and returns a code of :mod:`.checks`. All that needs no method of its own, here and in :mod:`.cabi`, calls such
a function by its address: a method is compiled once.

What Python calls checks the shapes. Block and workspace come as one array, the *frame*: the block, and behind it the
workspace; it knows the address of the function. A call from Python pays for every array argument, so the quick form
takes the address of the frame, and no tau. Where a method may lose digits, both answer LOSSY instead of OK when its
estimate of the loss is beyond the frame's limit.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from . import extended, extended_lu, multipliers, reduced
from .checks import BAD_SHAPE, BAD_T, LIMIT, LOSSY, OK, STALE, check_numbers, check_result, check_state, stale, status
from .drives import evaluate_drives
from .forces import add_applied_forces, add_joint_forces
from .jit import c_function, checked, exact
from .layout import LOSS_LIMIT, NQ, NV, ONLY_HINGES, RHS_CALL, SIZE, loss_at
from .number import array_at, get, whole

UNKNOWN = 2**31  # length of an array that is known by its address only; no kernel asks for it

RHS = types.intp(types.float64, *[types.intp] * 7)


@intrinsic
def call_rhs(typingctx, address, t, q, p, tau, qdot, pdot, block, work):
    """Call the function with signature `RHS` at `address`."""
    def codegen(context, builder, sig, args):
        word = ir.IntType(types.intp.bitwidth)
        function_type = ir.FunctionType(word, [ir.DoubleType(), *[word] * 7])
        return builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])
    return types.intp(types.intp, types.float64, *[types.intp] * 7), codegen


@intrinsic
def data_of(typingctx, array):
    """Address of the numbers of an array."""
    def codegen(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, ir.IntType(types.intp.bitwidth))
    return types.intp(array), codegen


@exact
def overlaps(a, b):
    """Whether two contiguous arrays of 8-byte numbers share memory."""
    return data_of(a) < data_of(b) + 8 * b.size and data_of(b) < data_of(a) + 8 * a.size


@exact
def aliases(first, second, q, p):
    """Whether writing results to `first` and `second` would change each other or what is still to be read."""
    return (overlaps(first, second) or overlaps(first, q) or overlaps(first, p) or overlaps(second, q)
            or overlaps(second, p))


@exact
def with_loss(code, frame):
    """The code, or LOSSY when the result has lost more digits than the frame's limit allows."""
    if code == OK and get(frame, LOSS_LIMIT) > 0.0 and (
            get(frame, whole(frame, SIZE) + loss_at(frame)) > get(frame, LOSS_LIMIT)):
        return LOSSY
    return code


# ---- what Python calls ----
@checked
def rhs(frame, t, q, p, tau, qdot, pdot):
    """For arguments of the right type that share no memory; BAD_SHAPE also when the function is not compiled yet."""
    nq, nv, call = whole(frame, NQ), whole(frame, NV), whole(frame, RHS_CALL)
    if q.shape[0] != nq or p.shape[0] != nv or qdot.shape[0] != nq or pdot.shape[0] != nv or call == 0:
        return BAD_SHAPE
    if tau.shape[0] != 0 and tau.shape[0] != nv:
        return BAD_SHAPE
    code = call_rhs(call, t, data_of(q), data_of(p), data_of(tau) if tau.shape[0] > 0 else 0, data_of(qdot),
                    data_of(pdot), data_of(frame), data_of(frame) + 8 * whole(frame, SIZE))
    return with_loss(code, frame)


@checked
def quick(address, t, q, p, qdot, pdot):
    """The frame by its address, no tau; BAD_SHAPE also when the results would be written over what is to be read."""
    frame = array_at(address, UNKNOWN)
    nq, nv, call = whole(frame, NQ), whole(frame, NV), whole(frame, RHS_CALL)
    if q.shape[0] != nq or p.shape[0] != nv or qdot.shape[0] != nq or pdot.shape[0] != nv or call == 0:
        return BAD_SHAPE
    if aliases(qdot, pdot, q, p):
        return BAD_SHAPE
    code = call_rhs(call, t, data_of(q), data_of(p), 0, data_of(qdot), data_of(pdot), address,
                    address + 8 * whole(frame, SIZE))
    return with_loss(code, frame)


# ---- the methods ----
@exact
def arrays(q, p, tau, qdot, pdot, block, work):
    """The addresses as arrays."""
    constants = array_at(block, UNKNOWN)
    nq, nv = whole(constants, NQ), whole(constants, NV)
    return (constants, array_at(q, nq), array_at(p, nv), array_at(tau, nv if tau != 0 else 0), array_at(qdot, nq),
            array_at(pdot, nv), array_at(work, UNKNOWN))


@exact
def prepared(block, t, q, p, tau, work):
    """Code of what forbids the sweeps, and the drive values."""
    if stale(block):
        return STALE
    if not abs(t) <= LIMIT:
        return BAD_T
    code = check_state(block, q, p, tau)
    if code == OK:
        evaluate_drives(block, t, work)
    return code


@exact
def concluded(block, qdot, pdot, work):
    """Code of what the sweeps found."""
    code = status(block, work)
    return check_result(qdot, pdot) if code == OK else code


@c_function(RHS)
def rhs_emh_ldl(t, q, p, tau, qdot, pdot, block, work):
    constants, x, y, forces, xdot, ydot, memory = arrays(q, p, tau, qdot, pdot, block, work)
    code = prepared(constants, t, x, y, forces, memory)
    if code == OK:
        # its sweeps one by one: as one function they would be compiled once more
        extended.backward(constants, x, y, memory)
        extended.forward(constants, x, y, xdot, ydot, memory)
        add_joint_forces(constants, x, forces, ydot, memory)
        code = concluded(constants, xdot, ydot, memory)
    return code


@c_function(RHS)
def rhs_emh_ldl_of_hinges(t, q, p, tau, qdot, pdot, block, work):
    """`rhs_emh_ldl` for a tree of hinges, the same bits: it is compiled in half the time."""
    constants, x, y, forces, xdot, ydot, memory = arrays(q, p, tau, qdot, pdot, block, work)
    if stale(constants) or whole(constants, ONLY_HINGES) == 0:
        return STALE
    if not abs(t) <= LIMIT:
        return BAD_T
    code = check_numbers(x, y, forces)
    if code == OK:
        extended.backward_of_hinges(constants, x, y, memory)
        extended.forward_of_hinges(constants, xdot, ydot, memory)
        add_applied_forces(constants, x, forces, ydot, memory)
        code = concluded(constants, xdot, ydot, memory)
    return code


@c_function(RHS)
def rhs_emh_lu(t, q, p, tau, qdot, pdot, block, work):
    constants, x, y, forces, xdot, ydot, memory = arrays(q, p, tau, qdot, pdot, block, work)
    code = prepared(constants, t, x, y, forces, memory)
    if code == OK:
        extended_lu.sweeps(constants, x, y, forces, xdot, ydot, memory)
        code = concluded(constants, xdot, ydot, memory)
    return code


@c_function(RHS)
def rhs_dah(t, q, p, tau, qdot, pdot, block, work):
    constants, x, y, forces, xdot, ydot, memory = arrays(q, p, tau, qdot, pdot, block, work)
    code = prepared(constants, t, x, y, forces, memory)
    if code == OK:
        reduced.sweeps(constants, x, y, forces, xdot, ydot, memory)
        code = concluded(constants, xdot, ydot, memory)
    return code


@c_function(RHS)
def rhs_hzu(t, q, p, tau, qdot, pdot, block, work):
    constants, x, y, forces, xdot, ydot, memory = arrays(q, p, tau, qdot, pdot, block, work)
    code = prepared(constants, t, x, y, forces, memory)
    if code == OK:
        multipliers.sweeps(constants, x, y, forces, xdot, ydot, memory)
        code = concluded(constants, xdot, ydot, memory)
    return code
