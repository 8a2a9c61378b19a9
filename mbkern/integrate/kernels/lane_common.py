"""What the methods on lanes share: f on all lanes, columns of single lanes, quaternions of length one."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ...core.arguments import UNKNOWN, data_of, integers_at
from ...core.checks import CALLBACK_FAILED, NOT_FINITE
from ...core.jit import c_function, exact
from ...core.lanes import call_lanes
from ...core.number import LANES, all_at_most, array_at, get, lanes_at, put, reader_of, root
from ...core.operations import LANES_BYTES, add_sizes
from .calls import call
from .lane_plan import (
    AT_ATOL, AT_DONE, AT_LANE, AT_NUM, AT_SCRATCH, AT_TAU, AT_VECTORS, AT_WHO, BLOCK, CALL_TAU, CODES, EACH_TAU,
    EVALUATE, FAIL, FAULT, FAULT_IN, FAULT_STATE, FAULT_TIME, FIRST, IN_TAU, LANE, MOVED, N, N_QUATERNIONS, NO_TAU,
    NQ, NV, ONE_TAU, OWN, QUATERNIONS, RHS, STATE, T_ASKED, T_BAD, T_EVAL, TAU, TAU_CALL, VECTORS, WHO,
)
from .plan import NUM


@intrinsic
def call_user(typingctx, address, t, q, p, out, index, done):
    """Call void (double t, q, p, out, int64 index, int64 *done) at `address`; pointers are passed as integers."""
    def codegen(context, builder, sig, args):
        word = ir.IntType(64)
        function_type = ir.FunctionType(ir.VoidType(), [ir.DoubleType()] + [word] * 5)
        builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])
        return context.get_dummy_value()
    return types.void(types.intp, types.float64, *[types.intp] * 5), codegen


integer_lanes_at = reader_of(types.Array(types.int64, 2, "C"))  # rows of LANES integers


@exact
def opened(address):
    """The plan at an address, and the arrays num, lane, who, vectors, atol."""
    plan = integers_at(address, QUATERNIONS)
    n = plan[N]
    plan = integers_at(address, QUATERNIONS + plan[N_QUATERNIONS])
    return (plan, array_at(plan[AT_NUM], NUM), lanes_at(plan[AT_LANE], LANE), integer_lanes_at(plan[AT_WHO], WHO),
            lanes_at(plan[AT_VECTORS], VECTORS * n), array_at(plan[AT_ATOL], n))


@exact
def copy_column(vectors, n, source, target, k):
    """Vector `source` of lane k to `target`."""
    for i in range(n):
        vectors[target * n + i, k] = vectors[source * n + i, k]


@exact
def copy_moved(vectors, n, source, target, who):
    """Vector `source` to `target` in the lanes that moved: as a rule, all."""
    moved = 0
    for k in range(LANES):
        moved += who[MOVED, k]
    if moved == LANES:
        for i in range(n):
            put(vectors, target * n + i, get(vectors, source * n + i))
        return
    for k in range(LANES):
        if who[MOVED, k] != 0:
            copy_column(vectors, n, source, target, k)


@exact
def column_out(vectors, n, source, k, out):
    """Vector `source` of lane k to a plain array."""
    for i in range(n):
        out[i] = vectors[source * n + i, k]


@exact
def column_finite(vectors, n, source, k):
    bad = 0
    for i in range(n):
        bad += not (abs(vectors[source * n + i, k]) <= 1e300)
    return bad == 0


@exact
def check_finite(vectors, n, source, who):
    """FAIL of the lanes where a number of a vector is not finite. As a rule the sums are small, that is all."""
    sizes = add_sizes(0.0 * get(vectors, source * n), lanes_at(data_of(vectors) + LANES_BYTES * n * source, n))
    if all_at_most(sizes, 1e300):
        return
    for k in range(LANES):
        if who[FAIL, k] == 0 and not column_finite(vectors, n, source, k):
            who[FAIL, k] = NOT_FINITE


@exact
def put_forces(plan, who, vectors, k):
    """Joint forces that do not change, for the state in lane k."""
    row = who[STATE, k] if plan[TAU] == EACH_TAU else 0
    tau = array_at(plan[AT_TAU], UNKNOWN)
    for j in range(plan[NV]):
        vectors[VECTORS * plan[N] + j, k] = tau[row * plan[NV] + j]


@exact
def note_fault(plan, which, state, t, scratch):
    """A user's function has raised for the state in `scratch`: remember the state with the smallest number."""
    n = plan[N]
    at = n + plan[NV]
    if scratch[at + FAULT_STATE] == 0.0 or state + 1 < scratch[at + FAULT_STATE]:
        scratch[at + FAULT_STATE], scratch[at + FAULT_TIME], scratch[at + FAULT_IN] = state + 1, t, which
        for i in range(n):
            scratch[at + FAULT + i] = scratch[i]


@exact
def ask_forces(plan, lane, who, vectors, source):
    """Joint forces of the user's function for the states in all lanes."""
    n, nq, nv = plan[N], plan[NQ], plan[NV]
    scratch, done = array_at(plan[AT_SCRATCH], n + nv + FAULT + n), integers_at(plan[AT_DONE], 1)
    y, out = plan[AT_SCRATCH], plan[AT_SCRATCH] + 8 * n
    for k in range(LANES):
        if who[STATE, k] >= 0 and who[FAIL, k] == 0:
            column_out(vectors, n, source, k, scratch)
            for j in range(nv):
                scratch[n + j] = 0.0
            done[0] = 0
            call_user(plan[TAU_CALL], lane[T_EVAL, k], y, y + 8 * nq, out, plan[FIRST] + who[STATE, k], plan[AT_DONE])
            if done[0] == 0:
                who[FAIL, k] = CALLBACK_FAILED
                lane[T_BAD, k] = lane[T_EVAL, k]
                note_fault(plan, IN_TAU, who[STATE, k], lane[T_EVAL, k], scratch)
            for j in range(nv):
                vectors[VECTORS * n + j, k] = scratch[n + j]


@c_function(types.intp(types.intp, types.intp, types.intp))
def evaluate_lanes(address, source, target):
    """`evaluate` for the plan at an address."""
    plan, _, lane, who, vectors, _ = opened(address)
    n, kind = plan[N], plan[TAU]
    if kind == CALL_TAU:
        ask_forces(plan, lane, who, vectors, source)
    put(lane, T_ASKED, get(lane, T_EVAL))
    at, own = plan[AT_VECTORS], plan[AT_LANE]
    forces = at + LANES_BYTES * VECTORS * n
    call_lanes(plan[RHS], own + LANES_BYTES * T_EVAL, at + LANES_BYTES * n * source, 0 if kind == NO_TAU else forces,
               at + LANES_BYTES * n * target, own + LANES_BYTES * CODES, plan[BLOCK], plan[OWN],
               forces + LANES_BYTES * plan[NV])
    for k in range(LANES):
        if lane[CODES, k] != 0.0:
            if who[FAIL, k] == 0:
                who[FAIL, k] = int(lane[CODES, k])
                lane[T_BAD, k] = lane[T_ASKED, k]
            if who[STATE, k] >= 0 and (kind == EACH_TAU or kind == ONE_TAU):
                put_forces(plan, who, vectors, k)
    return 0


@exact
def evaluate(plan, source, target):
    """f at the times T_EVAL and the states in vector `source`, to vector `target`; FAIL says of which there is none.

    A lane without a value gets a harmless state in `source` (and no meaning in `target`).
    """
    call(plan[EVALUATE], (data_of(plan), source, target))


@exact
def unit_lane_quaternions(plan, vectors, source, slope):
    """Scale the quaternions to length one in all lanes, and those of the vector `slope` along (-1: none)."""
    n = plan[N]
    for j in range(plan[N_QUATERNIONS]):
        at = source * n + plan[QUATERNIONS + j]
        a, b, c, d = get(vectors, at), get(vectors, at + 1), get(vectors, at + 2), get(vectors, at + 3)
        factor = 1.0 / root(a * a + b * b + c * c + d * d)
        put(vectors, at, a * factor); put(vectors, at + 1, b * factor)
        put(vectors, at + 2, c * factor); put(vectors, at + 3, d * factor)
        if slope >= 0:
            to = slope * n + plan[QUATERNIONS + j]
            for i in range(4):
                put(vectors, to + i, get(vectors, to + i) * factor)
