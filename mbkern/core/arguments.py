"""Arguments of compiled operations: how they are handed over.

An *operation* is anything that is computed from a state: a right-hand side, a mass matrix, the pose of a frame. As a
C function it is

    intp f(double t, intp arguments, intp block, intp work)

and for LANES states side by side

    void f(double *t, intp arguments, double *codes, double *block, double *own, double *work)

`arguments` points at two words for each argument, inputs first: the address of its numbers, and how many there are (of
numbers of LANES each in the second form). An optional input that is not given has none. See :mod:`.operations`.
"""

from llvmlite import ir
from numba import TypingError, types
from numba.extending import intrinsic

from .number import array_of, reader_of

UNKNOWN = 2**31  # length of an array that is known by its address only; no kernel asks for it
WORDS = 2  # of an argument: address, count

OPERATION = types.intp(types.float64, *[types.intp] * 3)
ON_LANES = types.void(*[types.intp] * 6)

integers_at = reader_of(types.Array(types.int64, 1, "C"))
_word = ir.IntType(64)


@intrinsic
def call_operation(typingctx, address, t, arguments, block, work):
    """Call the function with signature `OPERATION` at `address`."""
    def codegen(context, builder, sig, args):
        function_type = ir.FunctionType(_word, [ir.DoubleType(), *[_word] * 3])
        return builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])
    return types.intp(types.intp, types.float64, *[types.intp] * 3), codegen


@intrinsic
def call_on_lanes(typingctx, address, t, arguments, codes, block, own, work):
    """Call the function with signature `ON_LANES` at `address`."""
    def codegen(context, builder, sig, args):
        function_type = ir.FunctionType(ir.VoidType(), [_word] * 6)
        builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])
        return context.get_dummy_value()
    return types.void(*[types.intp] * 7), codegen


@intrinsic
def data_of(typingctx, array):
    """Address of the numbers of an array."""
    if not (isinstance(array, types.Array) and array.is_c_contig):
        raise TypingError(f"expected a contiguous array, got {array}")

    def codegen(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, _word)
    return types.intp(array), codegen


@intrinsic(prefer_literal=True)
def stack_words(typingctx, count):
    """Address of so many words on the stack of the caller; a literal number."""
    n = count.literal_value

    def codegen(context, builder, sig, args):
        with builder.goto_entry_block():
            place = builder.alloca(_word, n)
        return builder.ptrtoint(place, _word)
    return types.intp(count), codegen


@intrinsic(prefer_literal=True)
def gathered(typingctx, block, arguments, count, work):
    """(block, the arguments as arrays of the type of `work`, work): what a kernel takes; `count` is a literal."""
    n, array_type = count.literal_value, work
    result = types.Tuple([block, *[array_type] * n, work])

    def codegen(context, builder, sig, args):
        first = builder.inttoptr(args[1], _word.as_pointer())
        parts = [args[0]]
        for k in range(n):
            address, size = (builder.load(builder.gep(first, [ir.Constant(_word, WORDS * k + j)])) for j in range(2))
            parts.append(array_of(context, builder, array_type, address, [size]))
        return context.make_tuple(builder, sig.return_type, [*parts, args[3]])
    return result(block, types.intp, count, work), codegen


@intrinsic
def collected(typingctx, arrays):
    """Address of the words of these arrays, a tuple, on the stack of the caller."""
    def codegen(context, builder, sig, args):
        with builder.goto_entry_block():
            place = builder.alloca(_word, WORDS * len(arrays))
        for k, array_type in enumerate(arrays):
            array = context.make_array(array_type)(context, builder, builder.extract_value(args[0], k))
            words = builder.ptrtoint(array.data, _word), array.nitems
            for j, word in enumerate(words):
                builder.store(word, builder.gep(place, [ir.Constant(_word, WORDS * k + j)]))
        return builder.ptrtoint(place, _word)
    return types.intp(arrays), codegen
