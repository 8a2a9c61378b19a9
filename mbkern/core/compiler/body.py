"""The walk over the statements and expressions of one function, which writes it as a function of LLVM."""

import ast
import operator

from llvmlite import ir
from numba import types

from .backend import NoSuchOperation
from .source import MISSING, NotInLanguage, meaning_of, tree_of
from .values import Number, Static, Tuple, leaves, like
from .variables import variables_of

OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}
FOLDED = (ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.LShift, ast.RShift, ast.BitAnd)  # of integers that are known
NOTHING = Static(None, types.none)


class Again(Exception):
    """A variable, or the result, has turned out to have another type: write the function once more."""


class Body:
    """The body of a function while it is written.

    `unit_of` finds functions that it calls (:mod:`.units`); `known` are types of variables in memory, and of the result
    ("return"), that were found so far.
    """

    def __init__(self, function, backend, unit_of, made, known):
        self.function, self.backend, self.unit_of, self.made, self.known = function, backend, unit_of, made, known
        self.tree = tree_of(function)
        self.locals, self.in_memory = variables_of(self.tree)
        self.scopes, self.slots, self.loops, self.calls = [{}], {}, [], []
        self.result = None
        self.entry = made.append_basic_block("entry")
        self.builder = ir.IRBuilder(made.append_basic_block("body"))

    # ---- the function as a whole ----
    def write(self, arguments):
        """With these values of its parameters."""
        names = [argument.arg for argument in self.tree.args.args]
        if self.tree.args.vararg:
            arguments = [*arguments[:len(names)], Tuple(tuple(arguments[len(names):]))]
            names.append(self.tree.args.vararg.arg)
        for name, value in zip(names, arguments, strict=True):
            self.assign(self.tree, name, value)
        self.statements(self.tree.body)
        with self.builder.goto_block(self.entry):
            self.builder.branch(self.made.blocks[1])
        if not self.builder.block.is_terminated:
            if not self._is_reached(self.builder.block):
                self.builder.unreachable()  # behind a loop without end
            elif "return" in self.known and self.known["return"] != types.none:
                self.fail(self.tree, "it may end without a result")
            else:
                self.give_back(self.tree, NOTHING)

    def _is_reached(self, block):
        """Whether there is a way from the entry to a block."""
        found, left = set(), [self.entry]
        while left:
            one = left.pop()
            if one not in found and (one is block or one.is_terminated):
                found.add(one)
                if one is block:
                    return True
                left.extend(other for other in one.terminator.operands if isinstance(other, ir.Block))
        return False

    def fail(self, node, reason):
        raise NotInLanguage(self.function, node, reason)

    def give_back(self, node, value):
        """Return a value: as it is, or the struct of its leaves."""
        backend, kind = self.backend, self.backend.typed(value)
        wanted = self.known.get("return")
        if wanted is None:
            wanted = self.known["return"] = kind
        elif wanted != kind:
            both = self.common(node, wanted, kind)
            if both != wanted:
                self.known["return"] = both
                raise Again
            value = backend.cast(self.builder, value, wanted)
        if self.result is None:
            self.result = value
        numbers = leaves(value)
        if not numbers:
            self._returns(ir.VoidType())
            self.builder.ret_void()
        elif len(numbers) == 1:
            self._returns(numbers[0].type)
            self.builder.ret(numbers[0])
        else:
            kind = ir.LiteralStructType([leaf.type for leaf in numbers])
            self._returns(kind)
            struct = ir.Constant(kind, ir.Undefined)
            for k, leaf in enumerate(numbers):
                struct = self.builder.insert_value(struct, leaf, k)
            self.builder.ret(struct)

    def _returns(self, kind):
        """The type of the function follows from what it returns: llvmlite looks at it when the text is written."""
        self.made.ftype = ir.FunctionType(kind, self.made.ftype.args)
        self.made.return_value.type = kind

    def common(self, node, a, b):
        try:
            return self.backend.common(a, b)
        except NoSuchOperation as error:
            self.fail(node, f"no type for {error}")

    # ---- variables ----
    def assign(self, node, name, value):
        """Let a local variable be this value."""
        if name not in self.in_memory:
            self.scopes[-1][name] = value
            return
        kind = self.backend.typed(value)
        if name not in self.known:
            self.known[name] = kind
        elif self.known[name] != kind:
            both = self.common(node, self.known[name], kind)
            if both != self.known[name]:
                self.known[name] = both
                raise Again
            value = self.backend.cast(self.builder, value, both)
        if name not in self.slots:
            self.slots[name] = value, [self._slot(leaf.type) for leaf in leaves(value)]
        for leaf, slot in zip(leaves(value), self.slots[name][1], strict=True):
            self.builder.store(leaf, slot)

    def _slot(self, kind):
        with self.builder.goto_block(self.entry):
            return self.builder.alloca(kind)

    def name(self, node):
        """What a name stands for."""
        name = node.id
        if name not in self.locals:
            found = meaning_of(self.function, name)
            if found is MISSING:
                self.fail(node, f"there is no {name}")
            return self.backend.constant(self.builder, found)
        if name in self.in_memory:
            if name not in self.slots:
                self.fail(node, f"{name} is read before it is assigned")
            form, slots = self.slots[name]
            return like(form, (self.builder.load(slot) for slot in slots))
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        self.fail(node, f"{name} is read before it is assigned")

    # ---- statements ----
    def statements(self, nodes):
        for node in nodes:
            if self.builder.block.is_terminated:
                return  # behind return, break, continue
            getattr(self, f"do_{type(node).__name__}", self._no_statement)(node)

    def _no_statement(self, node):
        self.fail(node, f"no statement of the core's language: {type(node).__name__}")

    def block(self, nodes):
        """Statements with names of their own."""
        self.scopes.append({})
        self.statements(nodes)
        self.scopes.pop()

    def do_Pass(self, node):
        pass

    def do_Expr(self, node):
        if not isinstance(node.value, ast.Constant):  # a comment
            self.value(node.value)

    def do_Return(self, node):
        self.give_back(node, NOTHING if node.value is None else self.value(node.value))

    def do_Assign(self, node):
        value = self.value(node.value)
        for target in node.targets:
            self.put(target, value)

    def put(self, target, value):
        """Assign to a name, to several, or to an item of an array."""
        if isinstance(target, ast.Name):
            self.assign(target, target.id, value)
        elif isinstance(target, ast.Tuple):
            parts = self.parts(target, value)
            if len(parts) != len(target.elts):
                self.fail(target, f"{len(parts)} values for {len(target.elts)} names")
            for name, part in zip(target.elts, parts, strict=True):
                self.put(name, part)
        elif isinstance(target, ast.Subscript):
            array = self.value(target.value)
            self.ask(target, self.backend.set_item, array, self.index(target.slice), value)
        else:
            self.fail(target, "cannot be assigned to")

    def parts(self, node, value):
        if not isinstance(value, Tuple):
            self.fail(node, "no tuple")
        return value.parts

    def do_AugAssign(self, node):
        function, added = OPERATORS[type(node.op)], self.value(node.value)
        if isinstance(node.target, ast.Name):
            before = self.name(node.target)
            self.assign(node, node.target.id, self.ask(node, self.backend.apply, function, [before, added]))
        else:
            array, index = self.value(node.target.value), self.index(node.target.slice)
            before = self.ask(node, self.backend.item, array, index)
            after = self.ask(node, self.backend.apply, function, [before, added])
            self.ask(node, self.backend.set_item, array, index, after)

    def do_If(self, node):
        condition = self.truth(node.test)
        yes, no, end = (self.made.append_basic_block(name) for name in ("then", "else", "end"))
        self.builder.cbranch(condition, yes, no)
        reached = False
        for block, nodes in ((yes, node.body), (no, node.orelse)):
            self.builder.position_at_end(block)
            self.block(nodes)
            if not self.builder.block.is_terminated:
                self.builder.branch(end)
                reached = True
        if reached:
            self.builder.position_at_end(end)
        else:
            self.made.blocks.remove(end)

    def do_While(self, node):
        builder = self.builder
        head, body, after, end = (self.made.append_basic_block(name) for name in ("while", "loop", "else", "end"))
        builder.branch(head)
        builder.position_at_end(head)
        if isinstance(node.test, ast.Constant) and node.test.value:
            builder.branch(body)
        else:
            builder.cbranch(self.truth(node.test), body, after)
        self._loop(node, body, head, after, end)

    def do_For(self, node):
        """Over `range`: its numbers are known before the first turn."""
        call = node.iter
        if not (isinstance(call, ast.Call) and self.value(call.func).object is range):
            self.fail(node, "loops go over range")
        backend, builder, word = self.backend, self.builder, ir.IntType(types.intp.bitwidth)
        bounds = [backend.cast(builder, self.value(part), types.intp) for part in call.args]
        one, zero = backend.constant(builder, 1), backend.constant(builder, 0)
        first, last, step = (zero, bounds[0], one) if len(bounds) == 1 else (*bounds, one)[:3]
        head, body, again, after, end = (self.made.append_basic_block(name)
                                         for name in ("for", "loop", "next", "else", "end"))
        before = builder.block
        builder.branch(head)
        builder.position_at_end(head)
        counter = builder.phi(word)
        counter.add_incoming(first.llvm, before)
        builder.cbranch(self._goes_on(counter, last, step), body, after)
        builder.position_at_end(again)
        counter.add_incoming(builder.add(counter, step.llvm, flags=("nsw",)), again)
        builder.branch(head)
        self._loop(node, body, again, after, end, lambda: self.put(node.target, Number(types.intp, counter)))

    def _goes_on(self, counter, last, step):
        below, above = (self.builder.icmp_signed(sign, counter, last.llvm) for sign in "<>")
        if isinstance(step.known, int):
            return below if step.known > 0 else above
        rising = self.builder.icmp_signed(">", step.llvm, ir.Constant(step.llvm.type, 0))
        return self.builder.select(rising, below, above)

    def _loop(self, node, body, again, after, end, begin=lambda: None):
        """The body of a loop; `again` is where it goes on, `after` what follows its last turn, `end` where it ends."""
        builder = self.builder
        builder.position_at_end(body)
        self.loops.append((again, end))
        self.scopes.append({})
        begin()
        self.statements(node.body)
        self.scopes.pop()
        self.loops.pop()
        if not builder.block.is_terminated:
            builder.branch(again)
        builder.position_at_end(after)
        self.block(node.orelse)
        if not builder.block.is_terminated:
            builder.branch(end)
        builder.position_at_end(end)

    def do_Break(self, node):
        self.builder.branch(self.loops[-1][1])

    def do_Continue(self, node):
        self.builder.branch(self.loops[-1][0])

    # ---- expressions ----
    def value(self, node):
        return getattr(self, f"of_{type(node).__name__}", self._no_expression)(node)

    def _no_expression(self, node):
        self.fail(node, f"no expression of the core's language: {type(node).__name__}")

    def ask(self, node, operation, *arguments):
        """An operation of the backend, whose refusal says where."""
        try:
            return operation(self.builder, *arguments)
        except NoSuchOperation as error:
            self.fail(node, f"Numba has no {error}")

    def truth(self, node):
        value = self.value(node)
        if not isinstance(value, Number):
            self.fail(node, "neither true nor false")
        return self.backend.truth(self.builder, value)

    def of_Constant(self, node):
        return self.backend.constant(self.builder, node.value)

    def of_Name(self, node):
        return self.name(node)

    def of_Tuple(self, node):
        return Tuple(tuple(self.values(node.elts)))

    def values(self, nodes):
        """Of several expressions, some of which may be tuples to unpack."""
        found = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found.extend(self.parts(node, self.value(node.value)))
            else:
                found.append(self.value(node))
        return found

    def of_BinOp(self, node):
        a, b = self.value(node.left), self.value(node.right)
        if isinstance(a, Tuple) and isinstance(b, Tuple) and isinstance(node.op, ast.Add):
            return Tuple((*a.parts, *b.parts))
        function = OPERATORS[type(node.op)]
        if type(node.op) in FOLDED and all(isinstance(x, Number) and type(x.known) is int for x in (a, b)):
            return self.backend.constant(self.builder, function(a.known, b.known))
        return self.ask(node, self.backend.apply, function, [a, b])

    def of_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            return Number(types.boolean, self.builder.not_(self.truth(node.operand)))
        value = self.value(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(value, Number) and type(value.known) in (int, float):
            return self.backend.constant(self.builder, -value.known)
        return self.ask(node, self.backend.apply, OPERATORS[type(node.op)], [value])

    def of_Compare(self, node):
        left, pairs = self.value(node.left), list(zip(node.ops, node.comparators, strict=True))
        return self._compared(node, left, pairs)

    def _compared(self, node, left, pairs):
        (op, right), *others = pairs
        right = self.value(right)
        first = self.ask(node, self.backend.apply, OPERATORS[type(op)], [left, right])
        if not others:
            return first
        return self._chosen(node, first, lambda: self._compared(node, right, others), lambda: first)

    def of_BoolOp(self, node):
        return self._combined(node, isinstance(node.op, ast.And), node.values)

    def _combined(self, node, is_and, nodes):
        first = self.value(nodes[0])
        if len(nodes) == 1:
            return first
        others = (lambda: self._combined(node, is_and, nodes[1:])), (lambda: first)
        return self._chosen(node, first, *(others if is_and else others[::-1]))

    def of_IfExp(self, node):
        return self._chosen(node, self.value(node.test), lambda: self.value(node.body),
                            lambda: self.value(node.orelse))

    def _chosen(self, node, condition, if_true, if_false):
        """One of two values, of which only that one is evaluated."""
        builder, backend = self.builder, self.backend
        yes, no, end = (self.made.append_basic_block(name) for name in ("then", "else", "end"))
        builder.cbranch(backend.truth(builder, condition), yes, no)
        found = []
        for block, make in ((yes, if_true), (no, if_false)):
            builder.position_at_end(block)
            found.append((make(), builder.block))
        wanted = self.common(node, *(backend.typed(value) for value, _ in found))
        ends = []
        for value, block in found:
            builder.position_at_end(block)
            value = self.ask(node, backend.cast, value, wanted)
            ends.append((value, builder.block))
            builder.branch(end)
        builder.position_at_end(end)
        form, merged = ends[0][0], []
        for pair in zip(*(leaves(value) for value, _ in ends), strict=True):
            phi = builder.phi(pair[0].type)
            for leaf, (_, block) in zip(pair, ends, strict=True):
                phi.add_incoming(leaf, block)
            merged.append(phi)
        return like(form, iter(merged))

    def of_Attribute(self, node):
        value = self.value(node.value)
        if isinstance(value, Static):
            return self.backend.constant(self.builder, getattr(value.object, node.attr))
        return self.ask(node, self.backend.attribute, value, node.attr)

    def of_Subscript(self, node):
        value = self.value(node.value)
        index = self.index(node.slice)
        if isinstance(value, Tuple) and isinstance(index, Number) and type(index.known) is int:
            if not -len(value.parts) <= index.known < len(value.parts):
                self.fail(node, f"no item {index.known} of {len(value.parts)}")
            return value.parts[index.known]
        if isinstance(value, Number) and isinstance(value.type, types.Record) and isinstance(index, Static):
            return self.ask(node, self.backend.attribute, value, index.object)  # a field by its name
        return self.ask(node, self.backend.item, value, index)

    def index(self, node):
        if isinstance(node, ast.Slice):
            parts = [NOTHING if part is None else self.value(part) for part in (node.lower, node.upper, node.step)]
            return self.ask(node, self.backend.apply, slice, parts if node.step else parts[:2])
        if isinstance(node, ast.Tuple):
            return Tuple(tuple(self.index(part) for part in node.elts))
        return self.value(node)

    # ---- calls ----
    def of_Call(self, node):
        called = self.value(node.func)
        arguments = self.values(node.args)
        named = {keyword.arg: self.value(keyword.value) for keyword in node.keywords}
        if not isinstance(called, Static):
            self.fail(node, "no function")
        function = called.object
        if function is len and isinstance(arguments[0], Tuple):
            return self.backend.constant(self.builder, len(arguments[0].parts))
        if function in (min, max) and len(arguments) > 1:
            return self.extreme(node, operator.lt if function is min else operator.gt, arguments)
        kind = getattr(function, "compiled_as", None)
        if kind is not None:
            return self.call(node, function.py_func, kind, arguments, named)
        if named:
            self.fail(node, "names of arguments are for functions of the core")
        return self.ask(node, self.backend.apply, function, arguments)

    def extreme(self, node, before, values):
        """The smallest or greatest of several numbers, the first of equal ones, as Python does it."""
        wanted = values[0].type
        for value in values[1:]:
            wanted = self.common(node, wanted, value.type)
        found, *others = (self.ask(node, self.backend.cast, value, wanted) for value in values)
        for value in others:
            is_before = self.ask(node, self.backend.apply, before, [value, found])
            found = Number(wanted, self.builder.select(is_before.llvm, value.llvm, found.llvm))
        return found

    def call(self, node, function, kind, arguments, named):
        """A function of the core."""
        arguments = self.bound(node, function, arguments, named)
        unit = self.unit_of(function, kind, arguments)
        self.calls.append(unit)
        module = self.made.module
        made = module.globals.get(unit.symbol) or ir.Function(module, unit.kind, unit.symbol)
        result = self.builder.call(made, [leaf for value in arguments for leaf in leaves(value)])
        count = len(leaves(unit.result))
        numbers = [result] if count == 1 else [self.builder.extract_value(result, k) for k in range(count)]
        return like(unit.result, iter(numbers))

    def bound(self, node, function, arguments, named):
        """All arguments of a call by their places, with defaults."""
        code, defaults = function.__code__, function.__defaults__ or ()
        names = code.co_varnames[:code.co_argcount]
        given = list(arguments)
        for k, name in enumerate(names[len(given):], len(given)):
            place = k - (len(names) - len(defaults))
            if name in named:
                given.append(named[name])
            elif place >= 0:
                given.append(self.backend.constant(self.builder, defaults[place]))
            else:
                self.fail(node, f"{function.__qualname__} needs {name}")
        return given
