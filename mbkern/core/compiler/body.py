"""The walk over the statements of one function, which writes it as a function of LLVM."""

import ast

from llvmlite import ir
from numba import types

from .backend import Refused
from .expressions import NOTHING, Expressions
from .source import tree_of
from .values import Number, Static, Tuple, leaves, like
from .variables import variables_of


class Again(Exception):
    """A variable, or the result, has turned out to have another type: write the function once more."""


class Body(Expressions):
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
        declared = self.tree.args
        if declared.posonlyargs or declared.kwonlyargs or declared.kwarg:
            self.fail(self.tree, "parameters are plain names, and *others at their end")
        names = [argument.arg for argument in declared.args]
        if declared.vararg:
            arguments = [*arguments[:len(names)], Tuple(tuple(arguments[len(names):]))]
            names.append(declared.vararg.arg)
        for name, value in zip(names, arguments, strict=True):
            self.assign(name, value)
        self.statements(self.tree.body)
        with self.builder.goto_block(self.entry):
            self.builder.branch(self.made.blocks[1])
        if not self.builder.block.is_terminated:
            if not self._is_reached(self.builder.block):
                self.builder.unreachable()  # behind a loop without end
            elif "return" in self.known and self.known["return"] != types.none:
                self.fail(self.tree, "it may end without a result")
            else:
                self.give_back(NOTHING)

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

    def give_back(self, value):
        """Return a value: as it is, or the struct of its leaves."""
        value = self.agreed("return", value, self.result)
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

    def agreed(self, name, value, before):
        """A value as one of the type that a variable in memory, or the result, has; `before` is what it was first."""
        backend, kind = self.backend, self.backend.typed(value)
        wanted = self.known.setdefault(name, kind)
        if before is not None:
            backend.refuse_choice(before, value)
        if wanted == kind:
            return value
        both = backend.common(wanted, kind)
        if both != wanted:
            self.known[name] = both
            raise Again
        return backend.cast(self.builder, value, both)

    # ---- variables ----
    def assign(self, name, value):
        """Let a local variable be this value."""
        if name not in self.in_memory:
            self.scopes[-1][name] = value
            return
        value = self.agreed(name, value, self.slots[name][0] if name in self.slots else None)
        if name not in self.slots:
            self.slots[name] = value, [self._slot(leaf.type) for leaf in leaves(value)]
        for leaf, slot in zip(leaves(value), self.slots[name][1], strict=True):
            self.builder.store(leaf, slot)

    def _slot(self, kind):
        with self.builder.goto_block(self.entry):
            return self.builder.alloca(kind)

    def variable(self, node):
        """The value of a local variable."""
        name = node.id
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
            do = getattr(self, f"do_{type(node).__name__}", None)
            if do is None:
                self.fail(node, f"no statement of the core's language: {type(node).__name__}")
            try:
                do(node)
            except Refused as error:
                self.fail(node, error)

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
        self.give_back(NOTHING if node.value is None else self.value(node.value))

    def do_Assign(self, node):
        value = self.value(node.value)
        for target in node.targets:
            self.put(target, value)

    def put(self, target, value):
        """Assign to a name, to several, or to an item of an array."""
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, ast.Tuple):
            parts = self.parts(target, value)
            if len(parts) != len(target.elts):
                self.fail(target, f"{len(parts)} values for {len(target.elts)} names")
            for name, part in zip(target.elts, parts, strict=True):
                self.put(name, part)
        elif isinstance(target, ast.Subscript):
            array = self.value(target.value)
            self.backend.set_item(self.builder, array, self.index(target.slice), value)
        else:
            self.fail(target, "cannot be assigned to")

    def do_AugAssign(self, node):
        """What was there is read before the other value is made, as Python does it."""
        if isinstance(node.target, ast.Name):
            before = self.variable(node.target)
            self.assign(node.target.id, self.operation(node, node.op, before, self.value(node.value)))
        elif isinstance(node.target, ast.Subscript):
            array, index = self.value(node.target.value), self.index(node.target.slice)
            before = self.backend.item(self.builder, array, index)
            after = self.operation(node, node.op, before, self.value(node.value))
            self.backend.set_item(self.builder, array, index, after)
        else:
            self.fail(node, "cannot be assigned to")

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
        called = self.value(call.func) if isinstance(call, ast.Call) else None
        if not (isinstance(called, Static) and called.object is range and 1 <= len(call.args) <= 3):
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
