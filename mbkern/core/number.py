"""Numbers and the accessors of memory.

The sweeps are written for *a* number. Which one it is, the arrays decide:

==================  =====================================================================
array               a number is
==================  =====================================================================
1-D float64         a float64
(n, LANES) float64  `Lanes`: LANES states side by side in one SIMD register
(n, 1, 1 + COLUMNS) `Dual`: a value, and its derivatives along COLUMNS directions
(n, 1, 1, COLUMNS)  `Lanes`, but COLUMNS: that many columns of a matrix of one state side by side
1-D object          whatever Python object is in it (:mod:`mbkern.plain`: counting numbers)
==================  =====================================================================

Numbers know ``+ - * /`` and negation, also mixed with float64, and `fma`, `sincos`, `root`, `smaller`, `larger`,
`magnitude`, `with_sign`.
All reads and writes go through `get` and `put`, for tuples through a `accessor`; `whole` reads an integer of the block.
"""

import math

from .jit import PLAIN, exact

COLUMNS = 4  # of a matrix, or partial derivatives, side by side: on every machine as many, sums of them have its bits

TWO_OVER_PI = 0.6366197723675814
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)  # pi/2 in three doubles
MAGIC = 6755399441055744.0  # 1.5 * 2^52: the last bit of a sum with it has the value 1
# minimax polynomials of sin and cos on [-pi/4, pi/4] (the coefficients of FreeBSD's msun)
SIN = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
       2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10)
COS = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
       -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11)


if PLAIN:

    def get(array, i):
        return array[i]

    def put(array, i, x):
        array[i] = x

    def whole(array, i):
        return int(array[i])

    def accessor(pattern):
        """`get` and `put` for tuples of numbers: 3 is (x, y, z), (3, 3) a pair of such, and so on."""
        if isinstance(pattern, int):
            size, parts = pattern, [(get, put, k) for k in range(pattern)]
        else:
            size, parts = 0, []
            for part in pattern:
                parts.append((*accessor(part), size))
                size += _size(part)

        def get_tuple(array, i):
            return tuple(read(array, i + at) for read, _, at in parts)

        def put_tuple(array, i, x):
            for (_, write, at), value in zip(parts, x, strict=True):
                write(array, i + at, value)

        return get_tuple, put_tuple

    def _size(pattern):
        return pattern if isinstance(pattern, int) else sum(map(_size, pattern))

    def sincos(x):
        if isinstance(x, float):
            return math.sin(x), math.cos(x)
        return x.sincos()

    def root(x):
        return math.sqrt(x) if isinstance(x, float) else x.root()

    def smaller(a, b):
        return min(a, b)

    def larger(a, b):
        return max(a, b)

    def magnitude(x):
        return abs(x)

    class Chosen(float):
        """0 or 1 as found at run time: no literal, so nothing folds away (flop counts tell the two apart)."""

    def one_if(condition):
        return Chosen(condition)

    def with_sign(a, b):
        return -a if b < 0.0 else a

    def fma(a, b, c):
        return a * b + c

    def sum_of(x):
        return x

    LANES = 4
    ACROSS = 1

else:
    import operator
    import os

    from llvmlite import binding, ir
    from numba import TypingError, types
    from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

    from .atomics import declared
    from .toolchain import parts

    # ---- the SIMD number: an LLVM vector that Numba treats as a scalar -----------------------------------------
    def _wide_registers():
        """Whether this machine has 32 registers of 8 doubles (AVX-512), and Numba has not been told of another one."""
        told = "".join(os.environ.get(name, "") for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"))
        return "+avx512vl" in told if told else binding.get_host_cpu_features().get("avx512vl", False)

    # states side by side: what a register holds. More than that spills; AVX-512 takes 0.5 to 0.65 of the time of 4
    LANES = 8 if _wide_registers() else 4

    class Lanes(types.Type):
        """Numba type of some float64 side by side."""

        def __init__(self, width):
            self.width = width
            super().__init__(name=f"f64x{width}")

    lanes, columns = Lanes(LANES), Lanes(COLUMNS)

    def vector_of(width):
        """Type of so many doubles side by side."""
        return ir.VectorType(ir.DoubleType(), width)

    VECTOR, COLUMN_VECTOR = vector_of(LANES), vector_of(COLUMNS)

    @register_model(Lanes)
    class _LanesModel(models.PrimitiveModel):
        def __init__(self, dmm, fe_type):
            super().__init__(dmm, fe_type, vector_of(fe_type.width))

    def _splat(builder, x, width):
        """All lanes equal to the float64 x; a vector passes through."""
        if isinstance(x.type, ir.VectorType):
            return x
        empty = ir.Constant(vector_of(width), ir.Undefined)
        one = builder.insert_element(empty, x, ir.Constant(ir.IntType(32), 0))
        return shuffled(builder, one, empty, [0] * width)

    def shuffled(builder, a, b, places):
        """A vector of the elements of a and b at these places; those of b come behind those of a."""
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places)))

    def transposed(builder, rows):
        """Columns of a 4 x 4 matrix from its rows."""
        even, odd = (0, 4, 2, 6), (1, 5, 3, 7)
        a, b = shuffled(builder, rows[0], rows[1], even), shuffled(builder, rows[0], rows[1], odd)
        c, d = shuffled(builder, rows[2], rows[3], even), shuffled(builder, rows[2], rows[3], odd)
        low, high = (0, 1, 4, 5), (2, 3, 6, 7)
        return [shuffled(builder, *pair, half) for half in (low, high) for pair in ((a, c), (b, d))]

    # ---- the dual number: a value and its partial derivatives in lanes ---------------------------------------------
    class Dual(types.Type):
        """Numba type of a float64 and COLUMNS partial derivatives of it."""

        def __init__(self):
            super().__init__(name=f"dual{COLUMNS}")

    dual = Dual()
    PAIR = ir.LiteralStructType([ir.DoubleType(), COLUMN_VECTOR])

    @register_model(Dual)
    class _DualModel(models.PrimitiveModel):
        def __init__(self, dmm, fe_type):
            super().__init__(dmm, fe_type, PAIR)

    def _parts(builder, x):
        """Value and partials of a dual number; a float64 has none."""
        if isinstance(x.type, ir.LiteralStructType):
            return builder.extract_value(x, 0), builder.extract_value(x, 1)
        return x, ir.Constant(COLUMN_VECTOR, [0.0] * COLUMNS)

    def _dual(builder, value, partials):
        return builder.insert_value(builder.insert_value(ir.Constant(PAIR, ir.Undefined), value, 0), partials, 1)

    def _times(builder, x, partials):
        """A float64 times partials."""
        return builder.fmul(_splat(builder, x, COLUMNS), partials)

    def _dual_binary(builder, instruction, a, b):
        """The chain rule of one operation."""
        (x, dx), (y, dy) = _parts(builder, a), _parts(builder, b)
        value = getattr(builder, instruction)(x, y)
        if instruction in ("fadd", "fsub"):
            return _dual(builder, value, getattr(builder, instruction)(dx, dy))
        if instruction == "fmul":
            return _dual(builder, value, builder.fadd(_times(builder, x, dy), _times(builder, y, dx)))
        rest = builder.fsub(dx, _times(builder, value, dy))
        return _dual(builder, value, builder.fdiv(rest, _splat(builder, y, COLUMNS)))

    # ---- arithmetic -------------------------------------------------------------------------------------------------
    def _define_binary(op, instruction):
        @type_callable(op)
        def _typing(context):
            def result(a, b):
                for number in (lanes, columns, dual):
                    if number in (a, b) and all(x == number or isinstance(x, types.Float) for x in (a, b)):
                        return number
                return None
            return result

        def lower(context, builder, sig, args):
            return getattr(builder, instruction)(*(_splat(builder, x, sig.return_type.width) for x in args))

        def lower_dual(context, builder, sig, args):
            return _dual_binary(builder, instruction, *args)

        for a, b in ((Lanes, Lanes), (Lanes, types.Float), (types.Float, Lanes)):
            lower_builtin(op, a, b)(lower)
        for a, b in ((Dual, Dual), (Dual, types.Float), (types.Float, Dual)):
            lower_builtin(op, a, b)(lower_dual)

    for _op, _instruction in ((operator.add, "fadd"), (operator.sub, "fsub"),
                              (operator.mul, "fmul"), (operator.truediv, "fdiv")):
        _define_binary(_op, _instruction)

    @type_callable(operator.neg)
    def _neg_typing(context):
        def result(x):
            return x if x in (lanes, columns, dual) else None
        return result

    @lower_builtin(operator.neg, Lanes)
    def _neg(context, builder, sig, args):
        return builder.fneg(args[0])

    @lower_builtin(operator.neg, Dual)
    def _neg_dual(context, builder, sig, args):
        value, partials = _parts(builder, args[0])
        return _dual(builder, builder.fneg(value), builder.fneg(partials))

    @exact
    def one_if(condition):
        """1.0 or 0.0."""
        return 1.0 if condition else 0.0

    # ---- functions that LLVM knows for scalars and vectors alike (llvmlite has no vector intrinsics: by name) ----
    FOLDING = ("nnan", "ninf", "nsz")  # lets a product with a literal zero fold away inside an fma

    def _call_llvm(builder, name, args, flags=FOLDING):
        t = args[0].type
        suffix = f"v{t.count}f64" if isinstance(t, ir.VectorType) else "f64"
        function = declared(builder.module, ir.FunctionType(t, [t] * len(args)), f"llvm.{name}.{suffix}")
        return builder.call(function, args, fastmath=flags)

    def _signed(builder, name, args, sign):
        """A function of the values that gives the first one, or its negative where the value of `sign` is negative."""
        value = _call_llvm(builder, name, [builder.extract_value(x, 0) for x in args], ())
        partials = builder.extract_value(args[0], 1)
        negative = builder.fcmp_ordered("<", builder.extract_value(sign, 0), ir.Constant(ir.DoubleType(), 0.0))
        return _dual(builder, value, builder.select(negative, builder.fneg(partials), partials))

    @intrinsic
    def root(typingctx, x):
        """Square root."""
        def codegen(context, builder, sig, args):
            if x == dual:
                value, partials = _parts(builder, args[0])
                value = _call_llvm(builder, "sqrt", [value])
                half = builder.fdiv(ir.Constant(ir.DoubleType(), 0.5), value)
                return _dual(builder, value, _times(builder, half, partials))
            return _call_llvm(builder, "sqrt", args)
        return x(x), codegen

    @intrinsic
    def smaller(typingctx, a, b):
        """The smaller of two numbers of one type."""
        def codegen(context, builder, sig, args):
            if a == dual:
                first, second = (builder.extract_value(x, 0) for x in args)
                return builder.select(builder.fcmp_ordered("<", first, second), *args)
            return _call_llvm(builder, "minnum", args)
        return a(a, b), codegen

    @intrinsic
    def larger(typingctx, a, b):
        """The larger of two numbers of one type."""
        def codegen(context, builder, sig, args):
            if a == dual:
                first, second = (builder.extract_value(x, 0) for x in args)
                return builder.select(builder.fcmp_ordered(">", first, second), *args)
            return _call_llvm(builder, "maxnum", args)
        return a(a, b), codegen

    @intrinsic
    def magnitude(typingctx, x):
        """The number without its sign; NaN stays NaN."""
        def codegen(context, builder, sig, args):
            if x == dual:
                return _signed(builder, "fabs", args, args[0])
            return _call_llvm(builder, "fabs", args, ())
        return x(x), codegen

    @intrinsic
    def with_sign(typingctx, a, b):
        """a (not negative) with the sign of b; both of one type."""
        def codegen(context, builder, sig, args):
            if a == dual:
                return _signed(builder, "copysign", args, args[1])
            return _call_llvm(builder, "copysign", args)
        return a(a, b), codegen

    @intrinsic
    def fma(typingctx, a, b, c):
        """a b + c with one rounding, on every machine and for every number type the same."""
        number = next((kind for kind in (lanes, columns, dual) if kind in (a, b, c)), types.float64)

        def codegen(context, builder, sig, args):
            if number == dual:
                (x, dx), (y, dy), (z, dz) = (_parts(builder, part) for part in args)
                dz = _call_llvm(builder, "fma", [_splat(builder, y, COLUMNS), dx, dz]) if a == dual else dz
                dz = _call_llvm(builder, "fma", [_splat(builder, x, COLUMNS), dy, dz]) if b == dual else dz
                return _dual(builder, _call_llvm(builder, "fma", [x, y, z]), dz)
            if isinstance(number, Lanes):
                args = [_splat(builder, x, number.width) for x in args]
            return _call_llvm(builder, "fma", args)
        return number(a, b, c), codegen

    @intrinsic
    def all_at_most(typingctx, x, limit):
        """Whether no lane of x is greater than `limit`, or not a number."""
        def codegen(context, builder, sig, args):
            fine = builder.fcmp_ordered("<=", args[0], _splat(builder, args[1], LANES))
            mask = builder.bitcast(fine, ir.IntType(LANES))
            return builder.icmp_unsigned("==", mask, ir.Constant(ir.IntType(LANES), 2**LANES - 1))
        return types.boolean(lanes, types.float64), codegen

    @intrinsic
    def _quadrant(typingctx, k, s, c):
        """Sine and cosine of r + k pi/2 from those of r; k is an integer plus `MAGIC`, its last bits say which."""
        def codegen(context, builder, sig, args):
            t = args[0].type
            word = ir.VectorType(ir.IntType(64), t.count) if isinstance(t, ir.VectorType) else ir.IntType(64)

            def number(x):
                return ir.Constant(word, [x] * t.count if isinstance(t, ir.VectorType) else x)

            def signed(x, bits):  # the second last bit as a sign
                sign = builder.and_(builder.shl(bits, number(62)), number(-2**63))
                return builder.bitcast(builder.xor(builder.bitcast(x, word), sign), t)
            bits = builder.bitcast(args[0], word)
            odd = builder.icmp_signed("<", builder.shl(bits, number(63)), number(0))
            sine, cosine = builder.select(odd, args[2], args[1]), builder.select(odd, args[1], args[2])
            pair = signed(sine, bits), signed(cosine, builder.add(bits, number(1)))
            return context.make_tuple(builder, sig.return_type, pair)
        return types.UniTuple(k, 2)(k, k, k), codegen

    @intrinsic
    def value_of(typingctx, x):
        """The value of a dual number; any other is its own."""
        def codegen(context, builder, sig, args):
            return builder.extract_value(args[0], 0) if x == dual else args[0]
        return (types.float64 if x == dual else x)(x), codegen

    @intrinsic
    def chained(typingctx, x, value, slope):
        """f(x) for a dual number x, from the value of f and its derivative there; for any other the value."""
        def codegen(context, builder, sig, args):
            if x == dual:
                return _dual(builder, args[1], _times(builder, args[2], builder.extract_value(args[0], 1)))
            return args[1]
        return x(x, value, slope), codegen

    @exact
    def sincos(x):
        """Sine and cosine, see `sincos_of_value`."""
        s, c = sincos_of_value(value_of(x))
        return chained(x, s, c), chained(x, c, -s)

    @exact
    def sincos_of_value(x):
        """Sine and cosine, no branch, within 2 units of the last place for |x| < 1e12.

        Cody-Waite reduction: x - k pi/2 with pi/2 in three parts. The first fma is exact, because both x and
        k HALF_PI[0] are multiples of 2^-53 and the difference is smaller than 1. Adding `MAGIC` rounds to an integer.
        """
        shifted = fma(x, TWO_OVER_PI, MAGIC)
        k = shifted - MAGIC
        r = fma(-k, HALF_PI[2], fma(-k, HALF_PI[1], fma(-k, HALF_PI[0], x)))
        z = r * r
        zz = z * z  # by pairs of terms: fewer operations wait for each other than in Horner's scheme
        s = fma(zz, fma(zz, fma(z, SIN[5], SIN[4]), fma(z, SIN[3], SIN[2])), fma(z, SIN[1], SIN[0]))
        c = fma(zz, fma(zz, fma(z, COS[5], COS[4]), fma(z, COS[3], COS[2])), fma(z, COS[1], COS[0]))
        return _quadrant(shifted, fma(r * z, s, r), fma(zz, c, fma(z, -0.5, 1.0)))

    def array_of(context, builder, array_type, address, shape):
        """A contiguous array of that type over numbers at an address, from its shape; lanes are the last dimension."""
        width = ir.Constant(ir.IntType(types.intp.bitwidth), LANES)
        shape = [*shape, *[width] * (array_type.ndim - len(shape))]
        data = builder.inttoptr(address, context.get_data_type(array_type.dtype).as_pointer())
        return parts.array_over(context, builder, array_type, data, shape)

    def reader_of(array_type):
        """A function (address, size) of compiled code: such an array over `size` numbers, or numbers of LANES lanes, at
        an address. Whoever passes the address keeps them alive."""
        @intrinsic
        def made(typingctx, address, size):
            def codegen(context, builder, sig, args):
                return array_of(context, builder, array_type, args[0], [args[1]])
            return array_type(types.intp, types.intp), codegen
        return made

    array_at = reader_of(types.Array(types.float64, 1, "C"))
    lanes_at = reader_of(types.Array(types.float64, 2, "C"))

    @intrinsic
    def duals_at(typingctx, address, size):
        """An array of `size` dual numbers at an address; whoever passes the address keeps them alive."""
        array_type = types.Array(types.float64, 3, "C")

        def codegen(context, builder, sig, args):
            word = ir.IntType(types.intp.bitwidth)
            data = builder.inttoptr(args[0], ir.DoubleType().as_pointer())
            shape = [args[1], ir.Constant(word, 1), ir.Constant(word, 1 + COLUMNS)]
            return parts.array_over(context, builder, array_type, data, shape)
        return array_type(types.intp, types.intp), codegen

    # ---- several columns of a matrix side by side ----------------------------------------------------------------
    ACROSS = COLUMNS

    @intrinsic
    def sum_of(typingctx, x):
        """Sum of the lanes."""
        def codegen(context, builder, sig, args):
            sums = [builder.extract_element(args[0], ir.Constant(ir.IntType(32), k)) for k in range(COLUMNS)]
            while len(sums) > 1:
                sums = [builder.fadd(a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]
            return sums[0]
        return types.float64(columns), codegen

    # ---- the accessors of memory: intrinsics, because they compile several times faster than overloads --------------
    NUMBERS = {1: types.float64, 2: lanes, 3: dual, 4: columns}  # by the dimensions of an array
    WIDTHS = {1: 1, 2: LANES, 3: 1 + COLUMNS, 4: COLUMNS}  # of a number, in doubles

    def number_in(array, written=False):
        """The type of the numbers in an array, by its dimensions. They are read one after the other: no strides."""
        if not (isinstance(array, types.Array) and array.dtype == types.float64 and array.is_c_contig):
            raise TypingError(f"expected a contiguous array of float64, got {array}")
        if written and not array.mutable:
            raise TypingError(f"expected an array to write to, got {array}")
        return NUMBERS[array.ndim]

    def data_of_array(context, builder, array_type, array):
        """Pointer to the first double of an array, out of the array as a value: Numba's own way goes through memory,
        and all that code has to be optimised away again."""
        return builder.extract_value(array, context.data_model_manager[array_type].get_field_position("data"))

    def _first(context, builder, sig, args):
        """Pointer to the first double of number args[1] of array args[0]."""
        data, width = data_of_array(context, builder, sig.args[0], args[0]), WIDTHS[sig.args[0].ndim]
        at = args[1] if width == 1 else builder.mul(args[1], ir.Constant(args[1].type, width))
        return builder.gep(data, [at], inbounds=True)

    def _lanes_behind(builder, first, places, width):
        """Pointer to the vector of that width that begins so many doubles behind the first."""
        if places:
            first = builder.gep(first, [ir.Constant(ir.IntType(types.intp.bitwidth), places)], inbounds=True)
        return builder.bitcast(first, vector_of(width).as_pointer())

    def _load(context, builder, sig, args):
        """Number args[1] of array args[0]."""
        first, number = _first(context, builder, sig, args), NUMBERS[sig.args[0].ndim]
        if number == dual:
            partials = builder.load(_lanes_behind(builder, first, 1, COLUMNS), align=8)
            return _dual(builder, builder.load(first, align=8), partials)
        return builder.load(_lanes_behind(builder, first, 0, number.width) if isinstance(number, Lanes) else first,
                            align=8)

    def _store(context, builder, sig, args, value):
        """Write it; a float64 fits every array."""
        first, number = _first(context, builder, sig, args), NUMBERS[sig.args[0].ndim]
        if number == dual:
            value, partials = _parts(builder, value)
            builder.store(value, first, align=8)
            builder.store(partials, _lanes_behind(builder, first, 1, COLUMNS), align=8)
        elif isinstance(number, Lanes):
            builder.store(_splat(builder, value, number.width), _lanes_behind(builder, first, 0, number.width), align=8)
        else:
            builder.store(value, first, align=8)

    @intrinsic
    def get(typingctx, array, i):
        """The number at place i."""
        return number_in(array)(array, types.intp), _load

    @intrinsic
    def put(typingctx, array, i, x):
        """Write the number x to place i."""
        number = types.float64 if number_in(array, written=True) == types.float64 else x

        def codegen(context, builder, sig, args):
            _store(context, builder, sig, args, args[2])
            return context.get_dummy_value()
        return types.void(array, types.intp, number), codegen

    @intrinsic
    def whole(typingctx, array, i):
        """The integer at place i of a model block, where integers are stored as float64."""
        def codegen(context, builder, sig, args):
            value = builder.load(_first(context, builder, sig, args), align=8)
            return builder.fptosi(value, ir.IntType(types.intp.bitwidth))
        number_in(array)
        return types.intp(array, types.intp), codegen

    def accessor(pattern):
        """`get` and `put` for tuples of numbers: 3 is (x, y, z), (3, 3) a pair of such, and so on."""
        def tuple_of(number, shape):
            parts = [number] * shape if isinstance(shape, int) else [tuple_of(number, part) for part in shape]
            return types.Tuple(parts)

        def place(builder, i, at):
            return builder.add(i, ir.Constant(i.type, at))

        @intrinsic
        def get_tuple(typingctx, array, i):
            number = number_in(array)

            def codegen(context, builder, sig, args):
                def read(shape, kind, at):
                    if not isinstance(kind, types.BaseTuple):
                        return _load(context, builder, sig, (args[0], place(builder, args[1], at))), at + 1
                    values = []
                    for part, k in zip([None] * shape if isinstance(shape, int) else shape, kind, strict=True):
                        value, at = read(part, k, at)
                        values.append(value)
                    return context.make_tuple(builder, kind, values), at
                return read(pattern, sig.return_type, 0)[0]
            return tuple_of(number, pattern)(array, types.intp), codegen

        @intrinsic
        def put_tuple(typingctx, array, i, x):
            number_in(array, written=True)

            def codegen(context, builder, sig, args):
                def write(kind, value, at):
                    if isinstance(kind, types.BaseTuple):
                        for k, part in enumerate(kind):
                            at = write(part, builder.extract_value(value, k), at)
                        return at
                    _store(context, builder, sig, (args[0], place(builder, args[1], at)), value)
                    return at + 1
                write(sig.args[2], args[2], 0)
                return context.get_dummy_value()
            return types.void(array, types.intp, x), codegen

        return get_tuple, put_tuple
