"""The C functions of a library as LLVM code: they hand arguments over to the kernels, and know names and constants.

    int arm_rhs(double t, const double *q, ..., double *work)
        -> intp kernel(double t, intp arguments, intp block, intp work)          see :mod:`mbkern.core.arguments`

They are compiled for the oldest processor of the kind, whatever the kernels are compiled for: the first call asks the
processor what it can do, and returns CPU_UNSUPPORTED where the kernels would die.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from ..core import checks
from ..core import constants as L
from ..core import rows as R
from ..core.number import LANES
from ..inputs import Array
from ..operations import Operation
from . import codes
from .assembly import STUB
from .signatures import CODES, DOUBLE, INT, READS, TEXT, VOID, WHOLE, WRITES, Function
from .targets import EXTENDED, OSXSAVE, Target, masks

_double, _word, _int, _byte, _bit = ir.DoubleType(), ir.IntType(64), ir.IntType(32), ir.IntType(8), ir.IntType(1)
_doubles, _text, _words = _double.as_pointer(), _byte.as_pointer(), _word.as_pointer()
_TYPES = {DOUBLE: _double, WHOLE: _word, INT: _int, TEXT: _text, VOID: ir.VoidType(), READS: _doubles,
          WRITES: _doubles, CODES: _words}
OPERATION = ir.FunctionType(_word, [_double, _word, _word, _word])
ON_LANES = ir.FunctionType(ir.VoidType(), [_word] * 6)
_UNKNOWN, _FINE, _UNFIT = 0, 1, 2  # what is known about the processor
# of the oldest processors: what all compilers assume
_BASELINE = {"x86_64": ('"target-cpu"="x86-64" "target-features"="+cx8,+fxsr,+mmx,+sse,+sse2,+x87"')}
LINE = 64  # bytes
SPARING = "preserve_mostcc"  # a call that hardly ever comes leaves the registers of its caller alone
_BODY = re.compile(r"\)\s*\n\{")


def word(value: int) -> ir.Constant:
    return ir.Constant(_word, value)


class Wrappers:
    """LLVM code that is written function by function.

    Parameters
    ----------
    prefix : str
        Of all names that are seen from outside.
    target : Target
    block : array
        The constants.
    in_work : bool
        Whether the constants are copied to the front of the caller's workspace, where parameters may change them.
    addresses : dict
        place in the block -> symbol of a function, whose address stands there.

    Attributes
    ----------
    functions : list of Function
        What has been written, in this order.
    """

    def __init__(self, prefix: str, target: Target, block: Array, in_work: bool, addresses: dict[int, str]) -> None:
        self.prefix, self.target, self.block, self.in_work = prefix, target, block, in_work
        self.functions: list[Function] = []
        self.module = ir.Module(name=prefix)
        self.module.triple = target.triple
        self._kernels: dict[str, ir.Function] = {}
        self._constants = self._numbers("constants", block, fixed=not addresses)
        self._state = ir.GlobalVariable(self.module, _int, f"{prefix}.state")
        self._state.linkage, self._state.initializer = "internal", ir.Constant(_int, _UNKNOWN)
        self._stub()
        self._prepare = self._prepare_function(addresses)
        self._no_result = self._no_result_function()

    def __str__(self) -> str:
        text = str(self.module)
        attributes = next((value for key, value in _BASELINE.items() if self.target.triple.startswith(key)), "")
        if not attributes:
            return text
        return _BODY.sub(r") #0\n{", text) + f"\nattributes #0 = {{ {attributes} }}\n"

    # ---- data ----------------------------------------------------------------------------------------------------

    def _global(self, name: str, value: ir.Constant, fixed: bool = True) -> ir.GlobalVariable:
        made = ir.GlobalVariable(self.module, value.type, f"{self.prefix}.{name}")
        made.linkage, made.initializer, made.global_constant = "internal", value, fixed
        return made

    def _numbers(self, name: str, values: Array, fixed: bool = True) -> ir.GlobalVariable:
        flat = np.asarray(values, float).ravel()
        made = self._global(name, ir.Constant(ir.ArrayType(_double, len(flat)), flat.tolist()), fixed)
        made.align = LINE
        return made

    def _string(self, name: str, text: str) -> ir.GlobalVariable:
        data = bytearray(text.encode() + b"\0")
        return self._global(name, ir.Constant(ir.ArrayType(_byte, len(data)), data))

    def _strings(self, name: str, texts: Sequence[str]) -> ir.GlobalVariable:
        pointers = [self._string(f"{name}.{i}", text).bitcast(_text) for i, text in enumerate(texts)]
        return self._global(name, ir.Constant(ir.ArrayType(_text, len(pointers)), pointers))

    # ---- parts of functions --------------------------------------------------------------------------------------

    def kernel(self, symbol: str, kind: ir.FunctionType) -> ir.Function:
        """A function of another piece of code."""
        if symbol not in self._kernels:
            self._kernels[symbol] = ir.Function(self.module, kind, symbol)
        return self._kernels[symbol]

    def _intrinsic(self, name: str, kind: ir.FunctionType) -> ir.Function:
        return self.kernel(name, kind)

    def begin(self, function: Function) -> tuple[ir.Function, ir.IRBuilder]:
        """Start to write a function."""
        self.functions.append(function)
        kind = ir.FunctionType(_TYPES[function.result], [_TYPES[parameter.kind] for parameter in function.parameters])
        made = ir.Function(self.module, kind, f"{self.prefix}_{function.name}")
        for argument, parameter in zip(made.args, function.parameters, strict=True):
            argument.name = parameter.name
        return made, ir.IRBuilder(made.append_basic_block())

    def _return_if(self, builder: ir.IRBuilder, condition: Any, value: Any) -> None:
        with builder.if_then(condition, likely=False):
            builder.ret(value)

    def _refuse(self, builder: ir.IRBuilder, needed: Sequence[Any], status: Callable[[int], Any],
                work: Any = None) -> None:
        """Return early where the processor cannot run the kernels, a pointer is null, or parameters are not there."""
        state = builder.load_atomic(self._state, "acquire", 4)
        with builder.if_then(builder.icmp_signed("!=", state, ir.Constant(_int, _FINE)), likely=False):
            code = builder.call(self._prepare, [], cconv=SPARING)
            with builder.if_then(builder.icmp_signed("!=", code, ir.Constant(_int, 0))):
                builder.ret(status(codes.CPU_UNSUPPORTED))
        for pointer in needed:
            missing = builder.icmp_unsigned("==", builder.ptrtoint(pointer, _word), word(0))
            self._return_if(builder, missing, status(codes.NULL_POINTER))
        if self.in_work and work is not None:
            stamp = builder.load(builder.gep(work, [word(L.STAMP)]))
            self._return_if(builder, builder.fcmp_unordered("!=", stamp, ir.Constant(_double, self.block[L.STAMP])),
                            status(codes.NOT_INITIALIZED))

    def _places(self, builder: ir.IRBuilder, work: Any) -> tuple[Any, Any]:
        """Addresses of the constants, and of the memory behind them, on a cache line."""
        first = builder.ptrtoint(work, _word)
        block = builder.ptrtoint(self._constants, _word)
        if self.in_work:
            block, first = first, builder.add(first, word(8 * self.block.size))
        return block, builder.and_(builder.add(first, word(LINE - 1)), word(-LINE))

    def _arguments(self, builder: ir.IRBuilder, operation: Operation, pointers: Sequence[Any], sizes: Sequence[Any]
                   ) -> Any:
        """The words of the arguments of an operation, on the stack."""
        with builder.goto_entry_block():
            place = builder.alloca(_word, size=2 * len(pointers))
        for k, (argument, pointer, size) in enumerate(
                zip((*operation.inputs, *operation.results), pointers, sizes, strict=True)):
            address = builder.ptrtoint(pointer, _word)
            if argument.optional:
                size = builder.select(builder.icmp_unsigned("==", address, word(0)), word(0), size)
            builder.store(address, builder.gep(place, [word(2 * k)]))
            builder.store(size, builder.gep(place, [word(2 * k + 1)]))
        return place

    # ---- operations ----------------------------------------------------------------------------------------------

    def operation(self, function: Function, operation: Operation, symbol: str, sizes: Sequence[int],
                  called: Sequence[str] = (), room: int = 0) -> None:
        """For one state. A size of -n is k n numbers. A kernel that calls others gets their addresses behind its own
        arguments, and the size of a workspace, `room`."""
        made, builder = self.begin(function)
        given = list(made.args)
        t, work = given[0], given[-1]
        several = len(given) - 2 - len(sizes)  # 1 when there is k
        arrays, n_inputs = given[1 + several:-1], len(operation.inputs)
        needed = [pointer for k, pointer in enumerate(arrays)
                  if sizes[k] != 0 and not (k < n_inputs and operation.inputs[k].optional)]
        self._refuse(builder, [*needed, work], lambda code: ir.Constant(_int, code), work)
        counts = [word(size) if size >= 0 else builder.mul(given[1], word(-size)) for size in sizes]
        words = self._arguments(builder, operation, arrays, counts)
        arguments = builder.ptrtoint(words, _word)
        block, memory = self._places(builder, work)
        more = [builder.ptrtoint(self.kernel(name, OPERATION), _word) for name in called]
        more += [word(room)] if called else []
        kind = ir.FunctionType(_word, [_double, *[_word] * (3 + len(more))])
        code = builder.trunc(builder.call(self.kernel(symbol, kind), [t, arguments, block, memory, *more]), _int)
        with builder.if_then(builder.icmp_signed("!=", code, ir.Constant(_int, checks.OK)), likely=False):
            for k in range(n_inputs, len(arrays)):  # from the words: registers that live through a call cost 10 ns
                address, count = (builder.load(builder.gep(words, [word(2 * k + j)])) for j in range(2))
                builder.call(self._no_result, [builder.inttoptr(address, _doubles), count])
        builder.ret(code)

    def batch(self, function: Function, operation: Operation, symbol: str, rows: str, sizes: Sequence[int],
              side: int) -> None:
        """For many states: the words of a job (:mod:`mbkern.core.rows`), `side` among them."""
        made, builder = self.begin(function)
        count, t, *arrays, out_codes, work = made.args
        n_inputs = len(operation.inputs)
        needed = [pointer for k, pointer in enumerate(arrays)
                  if sizes[k] != 0 and not (k < n_inputs and operation.inputs[k].optional)]
        self._return_if(builder, builder.icmp_signed("<=", count, word(0)), word(0))
        self._refuse(builder, [*needed, out_codes, work], lambda code: word(-code), work)
        block, memory = self._places(builder, work)
        job = builder.alloca(_word, size=R.JOB)
        times = builder.alloca(_double, size=1)
        builder.store(t, times)

        def put(place: int, value: Any) -> None:
            builder.store(word(value) if isinstance(value, int) else value, builder.gep(job, [word(place)]))

        for place in range(R.ARRAYS):
            put(place, 0)
        put(R.JOB_FUNCTION, builder.ptrtoint(self.kernel(symbol, ON_LANES), _word))
        put(R.BLOCK, block)
        put(R.END, count)
        put(R.STEP, count)
        put(R.N_INPUTS, n_inputs)
        put(R.N_ARGUMENTS, len(arrays))
        put(R.TIMES, builder.ptrtoint(times, _word))
        put(R.N_TIMES, 1)
        put(R.AT_CODES, builder.ptrtoint(out_codes, _word))
        put(R.BUFFER, memory)
        put(R.SIDE, side)
        for k, (pointer, size) in enumerate(zip(arrays, sizes, strict=True)):
            address = builder.ptrtoint(pointer, _word)
            there = builder.icmp_unsigned("!=", address, word(0))
            put(R.ARRAYS + R.ARRAY * k, address)
            put(R.ARRAYS + R.ARRAY * k + 1, size)
            put(R.ARRAYS + R.ARRAY * k + 2, builder.select(there, count, word(0)))
        fill = self._intrinsic("llvm.memset.p0.i64", ir.FunctionType(ir.VoidType(), [_text, _byte, _word, _bit]))
        builder.call(fill, [builder.bitcast(out_codes, _text), ir.Constant(_byte, 0),
                            builder.mul(count, word(8)), ir.Constant(_bit, 0)])
        run = self.kernel(rows, ir.FunctionType(_word, [_word]))
        builder.ret(builder.call(run, [builder.ptrtoint(job, _word)]))

    def steps(self, function: Function, symbol: str, ode: str, rhs: str, size: int, closing: Sequence[str]) -> None:
        """A kernel of :mod:`mbkern.integrate.kernels.library`: the arguments of the function, then addresses, the size
        of a workspace, and of models with constraints the four functions `closing`."""
        made, builder = self.begin(function)
        *given, work = made.args
        pointers = [argument for argument in given if isinstance(argument.type, ir.PointerType)]
        needed = [pointer for pointer in pointers if pointer.name not in ("tau", "wrench") and self.block[L.NV] > 0]
        self._refuse(builder, [*needed, work], lambda code: ir.Constant(_int, code), work)
        block, memory = self._places(builder, work)
        passed = [builder.ptrtoint(x, _word) if isinstance(x.type, ir.PointerType) else x for x in given]
        kinds = [x.type for x in passed]
        call = self.kernel(symbol, ir.FunctionType(_word, [*kinds, *[_word] * 9]))
        of_ode = ir.FunctionType(ir.VoidType(), [_double, _doubles, _doubles, _text])

        def address(name: str, kind: ir.FunctionType) -> Any:
            return builder.ptrtoint(self.kernel(name, kind), _word)

        last = [address(name, kind) for name, kind in zip(closing, (of_ode, of_ode, OPERATION, OPERATION), strict=True)
                ] if closing else [word(0)] * 4
        builder.ret(builder.trunc(builder.call(call, [
            *passed, address(ode, of_ode), address(rhs, OPERATION), block, memory, word(size), *last]), _int))

    def events(self, function: Function, symbols: Sequence[str], nq: int, nv: int) -> None:
        """double event(i, t, y): the functions of a user at these symbols; NaN when there is none with that number."""
        made, builder = self.begin(function)
        i, t, y = made.args
        kind = ir.FunctionType(_double, [_double, _doubles, _word, _word])
        end = made.append_basic_block()
        choice = builder.switch(i, end)
        for k, symbol in enumerate(symbols):
            place = made.append_basic_block()
            choice.add_case(word(k), place)
            builder.position_at_end(place)
            builder.ret(builder.call(self.kernel(symbol, kind), [t, y, word(nq), word(nv)]))
        builder.position_at_end(end)
        builder.ret(ir.Constant(_double, float("nan")))

    # ---- facts ---------------------------------------------------------------------------------------------------

    def ready(self, function: Function) -> None:
        """Whether this processor can run the kernels."""
        _, builder = self.begin(function)
        builder.ret(builder.call(self._prepare, [], cconv=SPARING))

    def number(self, function: Function, value: int) -> None:
        """A function that returns a whole number."""
        _, builder = self.begin(function)
        builder.ret(word(value))

    def text(self, function: Function, value: str) -> None:
        """A function that returns a text."""
        _, builder = self.begin(function)
        builder.ret(builder.bitcast(self._string(function.name, value), _text))

    def entry(self, function: Function, texts: Sequence[str]) -> None:
        """A function that returns text i of several, NULL when there is none."""
        made, builder = self.begin(function)
        i, table = made.args[0], self._strings(function.name, texts)
        outside = builder.icmp_unsigned(">=", i, word(len(texts)))
        self._return_if(builder, outside, ir.Constant(_text, None))
        builder.ret(builder.load(builder.gep(table, [word(0), i])))

    def chosen_text(self, function: Function, texts: dict[int, str], otherwise: str) -> None:
        """A function that returns the text of a number."""
        made, builder = self.begin(function)
        end = made.append_basic_block()
        choice = builder.switch(made.args[0], end)
        for code, text in texts.items():
            place = made.append_basic_block()
            choice.add_case(ir.Constant(_int, code), place)
            builder.position_at_end(place)
            builder.ret(builder.bitcast(self._string(f"{function.name}.{code}", text), _text))
        builder.position_at_end(end)
        builder.ret(builder.bitcast(self._string(f"{function.name}.other", otherwise), _text))

    def copied(self, function: Function, values: Array) -> None:
        """A function that writes fixed numbers to its argument."""
        made, builder = self.begin(function)
        if values.size:
            self._copy(builder, self._numbers(function.name, values), made.args[0], values.size)
        builder.ret_void()

    def row(self, function: Function, table: Array) -> None:
        """A function that returns the address of row (i, j) of fixed numbers, NULL when there is none."""
        made, builder = self.begin(function)
        i, j = made.args
        outside = builder.or_(builder.icmp_unsigned(">=", i, word(table.shape[0])),
                              builder.icmp_unsigned(">=", j, word(table.shape[1])))
        self._return_if(builder, outside, ir.Constant(_doubles, None))
        place = builder.mul(builder.add(builder.mul(i, word(table.shape[1])), j), word(table.shape[2]))
        builder.ret(builder.gep(self._numbers(function.name, table), [word(0), place]))

    # ---- parameters ----------------------------------------------------------------------------------------------

    def init(self, function: Function) -> None:
        """Copy the constants to the front of a workspace."""
        made, builder = self.begin(function)
        self._refuse(builder, [made.args[0]], lambda code: ir.Constant(_int, code))
        if self.in_work:
            self._copy(builder, self._constants, made.args[0], self.block.size)
        builder.ret(ir.Constant(_int, checks.OK))

    def set_parameter(self, function: Function, symbol: str, table: Array, words: Array) -> None:
        """Call the kernel that changes constants (:mod:`.kernels.parameters`)."""
        made, builder = self.begin(function)
        work, i, values = made.args
        self._refuse(builder, [work, values], lambda code: ir.Constant(_int, code), work)
        call = self.kernel(symbol, ir.FunctionType(_word, [_word] * 5))
        given = [builder.ptrtoint(self._numbers(f"{function.name}.{name}", data), _word)
                 for name, data in (("words", words), ("table", table))]
        code = builder.call(call, [*given, builder.ptrtoint(work, _word), i, builder.ptrtoint(values, _word)])
        builder.ret(builder.trunc(code, _int))

    # ---- inner functions -----------------------------------------------------------------------------------------

    def _copy(self, builder: ir.IRBuilder, source: Any, target: Any, size: int) -> None:
        copy = self._intrinsic("llvm.memcpy.p0.p0.i64",
                               ir.FunctionType(ir.VoidType(), [_text, _text, _word, _bit]))
        builder.call(copy, [builder.bitcast(target, _text), builder.bitcast(source, _text), word(8 * size),
                            ir.Constant(_bit, 0)])

    def _stub(self) -> None:
        made = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [_text]), STUB)
        ir.IRBuilder(made.append_basic_block()).ret_void()

    def _no_result_function(self) -> ir.Function:
        """void (double *x, int64 n): all NaN, so that what is no result cannot pass for one."""
        made = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [_doubles, _word]), f"{self.prefix}.no_result")
        made.linkage = "internal"
        start, loop, body, end = [made.append_basic_block() for _ in range(4)]
        builder = ir.IRBuilder(start)
        builder.branch(loop)
        builder.position_at_end(loop)
        i = builder.phi(_word)
        i.add_incoming(word(0), start)
        builder.cbranch(builder.icmp_signed("<", i, made.args[1]), body, end)
        builder.position_at_end(body)
        builder.store(ir.Constant(_double, float("nan")), builder.gep(made.args[0], [i]))
        i.add_incoming(builder.add(i, word(1)), body)
        builder.branch(loop)
        builder.position_at_end(end)
        builder.ret_void()
        return made

    def _prepare_function(self, addresses: dict[int, str]) -> ir.Function:
        """int (void): asks the processor, once, and completes the constants; what it writes is the same for all
        threads."""
        made = ir.Function(self.module, ir.FunctionType(_int, []), f"{self.prefix}.prepare")
        made.linkage, made.calling_convention = "internal", SPARING
        builder = ir.IRBuilder(made.append_basic_block())
        state = builder.load_atomic(self._state, "acquire", 4)
        self._return_if(builder, builder.icmp_signed("==", state, ir.Constant(_int, _FINE)), ir.Constant(_int, 0))
        unfit = builder.not_(self._fits(made, builder))
        with builder.if_then(unfit, likely=False):
            builder.store_atomic(ir.Constant(_int, _UNFIT), self._state, "release", 4)
            builder.ret(ir.Constant(_int, codes.CPU_UNSUPPORTED))
        for place, symbol in addresses.items():
            function = self.kernel(symbol, ir.FunctionType(ir.VoidType(), []))
            number = builder.uitofp(builder.ptrtoint(function, _word), _double)
            builder.store(number, builder.gep(self._constants, [word(0), word(place)]))
        builder.store_atomic(ir.Constant(_int, _FINE), self._state, "release", 4)
        builder.ret(ir.Constant(_int, 0))
        return made

    def _fits(self, made: ir.Function, builder: ir.IRBuilder) -> Any:
        """Whether the processor has all that the target requires."""
        if not self.target.required:
            return ir.Constant(_bit, 1)
        registers = ir.LiteralStructType([_int] * 4)
        cpuid = ir.FunctionType(registers, [_int, _int])

        def ask(leaf: int) -> Any:
            return builder.asm(cpuid, "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}",
                               [ir.Constant(_int, leaf), ir.Constant(_int, 0)], True)

        wanted = masks(self.target.required)
        saved = self.target.saved_registers()
        if saved:
            leaf, register, bit = OSXSAVE
            wanted[leaf, register] = wanted.get((leaf, register), 0) | 1 << bit
        fits: Any = ir.Constant(_bit, 1)
        for base in sorted({leaf & EXTENDED & 0x80000000 for leaf, _ in wanted}):
            highest = builder.extract_value(ask(base), 0)
            needed = max(leaf for leaf, _ in wanted if leaf & 0x80000000 == base)
            fits = builder.and_(fits, builder.icmp_unsigned(">=", highest, ir.Constant(_int, needed)))
        answers = {leaf: ask(leaf) for leaf in sorted({leaf for leaf, _ in wanted})}
        for (leaf, register), mask in wanted.items():
            bits = ir.Constant(_int, mask)
            there = builder.and_(builder.extract_value(answers[leaf], register), bits)
            fits = builder.and_(fits, builder.icmp_unsigned("==", there, bits))
        if not saved:
            return fits
        before = builder.block  # XGETBV exists where OSXSAVE is set
        look, after = made.append_basic_block(), made.append_basic_block()
        builder.cbranch(fits, look, after)
        builder.position_at_end(look)
        kind = ir.FunctionType(ir.LiteralStructType([_int, _int]), [_int])
        answer = builder.asm(kind, "xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}",
                             [ir.Constant(_int, 0)], True)
        bits = ir.Constant(_int, saved)
        kept = builder.icmp_unsigned("==", builder.and_(builder.extract_value(answer, 0), bits), bits)
        builder.branch(after)
        builder.position_at_end(after)
        both = builder.phi(_bit)
        both.add_incoming(ir.Constant(_bit, 0), before)
        both.add_incoming(kept, look)
        return both


def lanes_memory(operation: Operation, sizes: Sequence[int], work_size: int) -> int:
    """Numbers that a batch needs."""
    return LANES * (R.B_ARGUMENTS + sum(sizes) + work_size)
