"""Operations as C functions with arguments of their own. One function serves all operations with as many arrays.

    int f(double t, const double *input, ..., double *result, ..., void *user)

Inputs and results come in the order of the table (:mod:`mbkern.operations`); an optional input that is not given is a
null pointer. `user` points at a *frame* (:mod:`.layout`), a block and a workspace behind it, in whose header is the
address of its plan:

    NATIVE_FUNCTION   address of the operation (:mod:`.operations`)
    NATIVE_COUNT      number of arrays
    NATIVE_INPUTS     how many of them are inputs
    NATIVE_NEEDED     bit k: array k must be given
    NATIVE_SIZES      numbers in each array

Nothing throws. The answer is a code of :mod:`.checks`, which stays in the frame as well; when it is not OK, all results
are NaN.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy import nan

from .arguments import UNKNOWN, WORDS, call_operation, integers_at
from .atomics import WORD
from .cabi import address_of
from .checks import BAD_SHAPE, OK
from .entry import MOST
from .jit import c_function, exact
from .layout import HEADER, LAST_TIME, PLAN, SIZE, STATUS
from .number import array_at, put, whole

NATIVE_FUNCTION, NATIVE_COUNT, NATIVE_INPUTS, NATIVE_NEEDED, NATIVE_SIZES = 0, 1, 2, 3, 4
_DOUBLES = types.CPointer(types.float64)
_word = ir.IntType(64)


@intrinsic
def pointed(typingctx, sizes, pointers):
    """Address of the words of arguments at these pointers, a tuple, with as many numbers as stand at `sizes`; on the
    stack of the caller. A null pointer has none."""
    def codegen(context, builder, sig, args):
        with builder.goto_entry_block():
            place = builder.alloca(_word, WORDS * len(pointers))
        first, zero = builder.inttoptr(args[0], _word.as_pointer()), ir.Constant(_word, 0)
        for k in range(len(pointers)):
            address = builder.ptrtoint(builder.extract_value(args[1], k), _word)
            size = builder.load(builder.gep(first, [ir.Constant(_word, k)]))
            size = builder.select(builder.icmp_unsigned("==", address, zero), zero, size)
            for j, word in enumerate((address, size)):
                builder.store(word, builder.gep(place, [ir.Constant(_word, WORDS * k + j)]))
        return builder.ptrtoint(place, _word)
    return types.intp(types.intp, pointers), codegen


@exact
def missing(needed, count, arguments):
    """Whether an array that is needed is a null pointer."""
    words = integers_at(arguments, WORDS * count)
    for k in range(count):
        if (needed >> k) & 1 != 0 and words[WORDS * k] == 0:
            return True
    return False


@exact
def erase(first, count, arguments):
    """NaN in all arrays from number `first` on, so that they cannot pass for results."""
    words = integers_at(arguments, WORDS * count)
    for k in range(first, count):
        result = array_at(words[WORDS * k], words[WORDS * k + 1])
        for i in range(result.shape[0]):
            result[i] = nan


@exact
def run(t, pointers, user):
    """Run the operation of a frame on a tuple of pointers."""
    at = address_of(user)
    frame = array_at(at, HEADER)
    plan = whole(frame, PLAN)
    words, count, code = integers_at(plan, UNKNOWN), len(pointers), BAD_SHAPE
    if words[NATIVE_COUNT] == count:  # else it is the frame of another operation, and nothing is known about the arrays
        arguments = pointed(plan + WORD * NATIVE_SIZES, pointers)
        if not missing(words[NATIVE_NEEDED], count, arguments):
            code = call_operation(words[NATIVE_FUNCTION], t, arguments, at, at + 8 * whole(frame, SIZE))
        if code != OK:
            erase(words[NATIVE_INPUTS], count, arguments)
    put(frame, STATUS, 1.0 * code)
    put(frame, LAST_TIME, t)
    return code


def signature(count):
    """Of the C function for that many arrays."""
    return types.int32(types.float64, *[_DOUBLES] * count, types.voidptr)


@c_function(signature(2))
def native_2(t, a, b, user):
    return run(t, (a, b), user)


@c_function(signature(3))
def native_3(t, a, b, c, user):
    return run(t, (a, b, c), user)


@c_function(signature(4))
def native_4(t, a, b, c, d, user):
    return run(t, (a, b, c, d), user)


@c_function(signature(5))
def native_5(t, a, b, c, d, e, user):
    return run(t, (a, b, c, d, e), user)


@c_function(signature(6))
def native_6(t, a, b, c, d, e, f, user):
    return run(t, (a, b, c, d, e, f), user)


@c_function(signature(7))
def native_7(t, a, b, c, d, e, f, g, user):
    return run(t, (a, b, c, d, e, f, g), user)


@c_function(signature(8))
def native_8(t, a, b, c, d, e, f, g, h, user):
    return run(t, (a, b, c, d, e, f, g, h), user)


NATIVE = {2: native_2, 3: native_3, 4: native_4, 5: native_5, 6: native_6, 7: native_7, 8: native_8}
assert max(NATIVE) == MOST
