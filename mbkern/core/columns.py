"""Several columns of a matrix side by side, in the lanes of one number.

A recursion over the tree for one column waits for itself: every step needs the one before. Where numbers are float64,
COLUMNS of them go side by side as one SIMD number; where numbers are lanes already (several states), one column at a
time. The recursion is written once, for *a column number*:

    width(a)                   how many columns there are in a number, for numbers of the array a
    wide(a, i)                 the memory of a from place i on, for such numbers
    one_hot(a, k)              1 in column k, 0 in all others
    get_columns, put_columns   to and from the array a: columns 0 .. count - 1 at place i, i + step, i + 2 step, ...
    get_element, put_element   one number of a row of columns, which begins at a place of what `wide` has given
    put_block                  four rows of columns, transposed: column k to four places from i + stride k on
    equal_to(x, a)             1 in the columns where x is the whole number a, 0 in all others
    largest, smallest          of the whole numbers in all columns

`tail(a, i)` is the array from place i on, as it is. A symmetric matrix among the results of an operation is whole for
one state, for lanes it is `packed(a)`: its lower half, row by row, element (j, k) at `lower(j, k)`. Whoever makes rows
of states of it fills in the other half (:mod:`.rows`).
"""

from .jit import PLAIN, inline


@inline
def lower(j, k):
    """Place of element (j, k), k <= j, of the lower half of a symmetric matrix."""
    return (j * (j + 1) >> 1) + k


if PLAIN:

    def packed(array):
        return False

    def tail(array, i):
        return array[i:]

    def width(array):
        return 1

    def wide(array, i):
        return array[i:]

    def one_hot(array, k):
        return 1.0 if k == 0 else 0.0

    def get_columns(array, i, step, count):
        return array[i]

    def put_columns(array, i, step, count, x):
        if count > 0:
            array[i] = x

    def put_block(array, i, stride, rows, count, x):
        for r in range(rows if count > 0 else 0):
            array[i + r] = x[r]

    def equal_to(x, a):
        return 1.0 if x == a else 0.0

    def largest(array, x):
        return int(x)

    def smallest(array, x):
        return int(x)

    def get_element(array, many, row, k):
        return many[row + k]

    def put_element(array, many, row, k, x):
        many[row + k] = x

else:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    from .constants import ALIGNMENT
    from .number import COLUMN_VECTOR, COLUMNS, LANES, VECTOR, WIDTHS, _splat, columns, lanes, transposed
    from .toolchain import parts

    UNKNOWN = 2**31  # length of an array that nobody asks for

    def _word_type():
        return ir.IntType(types.intp.bitwidth)

    def _word(x):
        return ir.Constant(_word_type(), x)

    def _data(context, builder, sig, args):
        return context.make_array(sig.args[0])(context, builder, args[0]).data

    def _array_over(context, builder, array_type, data):
        """Array of unknown length over numbers at a pointer."""
        width = _word(WIDTHS[array_type.ndim])
        sizes = {1: [], 2: [width], 3: [_word(1), width], 4: [_word(1), _word(1), width]}[array_type.ndim]
        return parts.array_over(context, builder, array_type, data, [_word(UNKNOWN), *sizes])

    def _column_number(array):
        """Type of a column number for numbers of an array."""
        return columns if array.ndim == 1 else lanes

    def _at(builder, data, place):
        return builder.gep(data, [place], inbounds=True)

    @intrinsic
    def tail(typingctx, array, i):
        """The numbers of an array from place i on."""
        def codegen(context, builder, sig, args):
            place = args[1] if array.ndim == 1 else builder.mul(args[1], _word(WIDTHS[array.ndim]))
            return _array_over(context, builder, array, _at(builder, _data(context, builder, sig, args), place))
        return array(array, types.intp), codegen

    @intrinsic
    def packed(typingctx, array):
        """Whether of a symmetric matrix there is only the lower half."""
        def codegen(context, builder, sig, args):
            return ir.Constant(ir.IntType(1), int(array.ndim == 2))
        return types.boolean(array), codegen

    @intrinsic
    def width(typingctx, array):
        """Columns in a column number."""
        def codegen(context, builder, sig, args):
            return _word(COLUMNS if array.ndim == 1 else 1)
        return types.intp(array), codegen

    @intrinsic
    def wide(typingctx, array, i):
        """The memory of an array from place i on, or from the next cache line on, as an array of column numbers."""
        array_type = types.Array(types.float64, 4 if array.ndim == 1 else 2, "C")

        def codegen(context, builder, sig, args):
            data = _data(context, builder, sig, args)
            if array.ndim == 2:
                return _array_over(context, builder, array_type,
                                   _at(builder, data, builder.mul(args[1], _word(LANES))))
            line = 8 * ALIGNMENT
            address = builder.ptrtoint(_at(builder, data, args[1]), _word_type())
            address = builder.and_(builder.add(address, _word(line - 1)), _word(-line))
            return _array_over(context, builder, array_type, builder.inttoptr(address, data.type))
        return array_type(array, types.intp), codegen

    @intrinsic
    def one_hot(typingctx, array, k):
        """The column number that is 1 in column k."""
        def codegen(context, builder, sig, args):
            many = number.width
            words = ir.VectorType(_word_type(), many)
            numbers = range(many) if array.ndim == 1 else [0] * many
            wanted = ir.Constant(words, ir.Undefined)
            for lane in range(many):
                wanted = builder.insert_element(wanted, args[1], ir.Constant(ir.IntType(32), lane))
            return builder.uitofp(builder.icmp_signed("==", wanted, ir.Constant(words, list(numbers))),
                                  context.get_value_type(number))
        number = _column_number(array)
        return number(array, types.intp), codegen

    @intrinsic
    def get_columns(typingctx, array, i, step, count):
        """A column number from an array; columns from `count` on repeat the last one."""
        def codegen(context, builder, sig, args):
            data = _data(context, builder, sig, args)
            if array.ndim == 2:
                row = _at(builder, data, builder.mul(args[1], _word(LANES)))
                return builder.load(builder.bitcast(row, VECTOR.as_pointer()), align=8)
            value, place = ir.Constant(COLUMN_VECTOR, ir.Undefined), args[1]
            for lane in range(COLUMNS):
                number = builder.load(_at(builder, data, place))
                value = builder.insert_element(value, number, ir.Constant(ir.IntType(32), lane))
                more = builder.icmp_signed("<", _word(lane + 1), args[3])
                place = builder.select(more, builder.add(place, args[2]), place)
            return value
        return _column_number(array)(array, types.intp, types.intp, types.intp), codegen

    def _store_each(builder, data, args):
        """Each of the columns to a place of its own."""
        place, step, count, x = args
        for lane in range(COLUMNS):
            with builder.if_then(builder.icmp_signed("<", _word(lane), count)):
                _store(builder, data, place, x, lane)
            place = builder.add(place, step)

    def _store_all(builder, data, args):
        """All COLUMNS columns, at once where they lie side by side."""
        place, step, _, x = args
        with builder.if_else(builder.icmp_signed("==", step, _word(1))) as (beside, apart):
            with beside:
                builder.store(x, builder.bitcast(_at(builder, data, place), COLUMN_VECTOR.as_pointer()), align=8)
            with apart:
                for lane in range(COLUMNS):
                    _store(builder, data, place, x, lane)
                    place = builder.add(place, step)

    def _store(builder, data, place, x, lane):
        builder.store(builder.extract_element(x, ir.Constant(ir.IntType(32), lane)), _at(builder, data, place))

    @intrinsic
    def put_columns(typingctx, array, i, step, count, x):
        """The first `count` columns of x to an array."""
        def codegen(context, builder, sig, args):
            data = _data(context, builder, sig, args)
            if array.ndim == 2:
                with builder.if_then(builder.icmp_signed(">", args[3], _word(0))):
                    row = _at(builder, data, builder.mul(args[1], _word(LANES)))
                    builder.store(args[4], builder.bitcast(row, VECTOR.as_pointer()), align=8)
                return context.get_dummy_value()
            with builder.if_else(builder.icmp_signed("==", args[3], _word(COLUMNS))) as (full, part):
                with full:
                    _store_all(builder, data, args[1:])
                with part:
                    _store_each(builder, data, args[1:])
            return context.get_dummy_value()
        return types.void(array, types.intp, types.intp, types.intp, _column_number(array)), codegen

    @intrinsic
    def put_block(typingctx, array, i, stride, rows, count, x):
        """The first `count` columns of the first `rows` of four column numbers, each to places side by side."""
        def codegen(context, builder, sig, args):
            data, (at, stride, rows, count) = _data(context, builder, sig, args), args[1:5]
            given = [builder.extract_value(args[5], k) for k in range(4)]
            if array.ndim == 2:
                for k, number in enumerate(given):
                    wanted = builder.and_(builder.icmp_signed("<", _word(k), rows),
                                          builder.icmp_signed(">", count, _word(0)))
                    with builder.if_then(wanted):
                        place = builder.mul(builder.add(at, _word(k)), _word(LANES))
                        builder.store(number, builder.bitcast(_at(builder, data, place), VECTOR.as_pointer()), align=8)
                return context.get_dummy_value()
            all_rows, all_columns = (builder.icmp_signed("==", x, _word(COLUMNS)) for x in (rows, count))
            with builder.if_else(builder.and_(all_rows, all_columns)) as (full, part):
                with full:
                    place = at
                    for number in transposed(builder, given):
                        beside = builder.bitcast(_at(builder, data, place), COLUMN_VECTOR.as_pointer())
                        builder.store(number, beside, align=8)
                        place = builder.add(place, stride)
                with part:
                    for k, number in enumerate(given):
                        with builder.if_then(builder.icmp_signed("<", _word(k), rows)):
                            _store_each(builder, data, (builder.add(at, _word(k)), stride, count, number))
            return context.get_dummy_value()
        return types.void(array, types.intp, types.intp, types.intp, types.intp, x), codegen

    @intrinsic
    def equal_to(typingctx, x, a):
        """1 in the columns where x is the whole number a, 0 in all others."""
        def codegen(context, builder, sig, args):
            wanted = _splat(builder, builder.sitofp(args[1], ir.DoubleType()), x.width)
            return builder.uitofp(builder.fcmp_ordered("==", args[0], wanted), args[0].type)
        return x(x, types.intp), codegen

    def _extreme(builder, sign, array, x):
        """Largest or smallest of the columns of x, as an integer."""
        found = builder.extract_element(x, ir.Constant(ir.IntType(32), 0))
        for lane in range(1, COLUMNS if array.ndim == 1 else 1):
            other = builder.extract_element(x, ir.Constant(ir.IntType(32), lane))
            found = builder.select(builder.fcmp_ordered(sign, other, found), other, found)
        return builder.fptosi(found, _word_type())

    @intrinsic
    def largest(typingctx, array, x):
        """Largest of the whole numbers in all columns."""
        def codegen(context, builder, sig, args):
            return _extreme(builder, ">", array, args[1])
        return types.intp(array, x), codegen

    @intrinsic
    def smallest(typingctx, array, x):
        """Smallest of the whole numbers in all columns."""
        def codegen(context, builder, sig, args):
            return _extreme(builder, "<", array, args[1])
        return types.intp(array, x), codegen

    def _element(context, builder, sig, args):
        """Pointer to number args[3] of the row at args[2] of the array args[1] of columns, for numbers of args[0]."""
        data = context.make_array(sig.args[1])(context, builder, args[1]).data
        if sig.args[0].ndim == 1:
            return _at(builder, data, builder.add(builder.mul(args[2], _word(COLUMNS)), args[3]))
        place = builder.mul(builder.add(args[2], args[3]), _word(LANES))
        return builder.bitcast(_at(builder, data, place), VECTOR.as_pointer())

    @intrinsic
    def get_element(typingctx, array, many, row, k):
        """Column k of the row of column numbers that begins at place `row` of `many`: a number of the array."""
        def codegen(context, builder, sig, args):
            return builder.load(_element(context, builder, sig, args), align=8)
        return (types.float64 if array.ndim == 1 else lanes)(array, many, types.intp, types.intp), codegen

    @intrinsic
    def put_element(typingctx, array, many, row, k, x):
        """Write a number to column k of the row that begins at place `row` of `many`."""
        def codegen(context, builder, sig, args):
            value = _splat(builder, args[4], LANES) if sig.args[0].ndim == 2 else args[4]
            builder.store(value, _element(context, builder, sig, args), align=8)
            return context.get_dummy_value()
        number = types.float64 if array.ndim == 1 else x
        return types.void(array, many, types.intp, types.intp, number), codegen
