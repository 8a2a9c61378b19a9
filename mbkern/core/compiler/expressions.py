"""The walk over the expressions of a function: values, operators, choices, calls."""

import ast
import operator
from inspect import CO_VARARGS

from llvmlite import ir
from numba import types

from .backend import Refused
from .source import MISSING, NotInLanguage, meaning_of, place_of
from .values import Number, Static, Tuple, leaves, like, unpacked

OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}
FOLDED = (ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.LShift, ast.RShift, ast.BitAnd)  # of integers that are known
NOTHING = Static(None, types.none)


class Expressions:
    """Values of expressions, for :class:`.body.Body`, which has the variables."""

    def fail(self, node, reason):
        raise NotInLanguage(self.function, node, reason)

    def value(self, node):
        of = getattr(self, f"of_{type(node).__name__}", None)
        if of is None:
            self.fail(node, f"no expression of the core's language: {type(node).__name__}")
        try:
            return of(node)
        except Refused as error:
            self.fail(node, error)

    def values(self, nodes):
        """Of several expressions, some of which may be tuples to unpack."""
        found = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found.extend(self.parts(node, self.value(node.value)))
            else:
                found.append(self.value(node))
        return found

    def parts(self, node, value):
        if not isinstance(value, Tuple):
            self.fail(node, "no tuple")
        return value.parts

    def truth(self, node):
        return self.backend.truth(self.builder, self.value(node))

    # ---- names, attributes, items ----
    def of_Constant(self, node):
        return self.backend.constant(self.builder, node.value)

    def of_Name(self, node):
        if node.id in self.locals:
            return self.variable(node)
        found = meaning_of(self.function, node.id)
        if found is MISSING:
            self.fail(node, f"there is no {node.id}")
        return self.backend.constant(self.builder, found)

    def of_Tuple(self, node):
        return Tuple(tuple(self.values(node.elts)))

    def of_Attribute(self, node):
        value = self.value(node.value)
        if not isinstance(value, Static):
            return self.backend.attribute(self.builder, value, node.attr)
        if not hasattr(value.object, node.attr):
            self.fail(node, f"{value.object} has no attribute {node.attr}")
        return self.backend.constant(self.builder, getattr(value.object, node.attr))

    def of_Subscript(self, node):
        value = self.value(node.value)
        index = self.index(node.slice)
        if isinstance(value, Tuple) and isinstance(index, Number) and type(index.known) is int:
            if not -len(value.parts) <= index.known < len(value.parts):
                self.fail(node, f"no item {index.known} of {len(value.parts)}")
            return value.parts[index.known]
        if isinstance(value, Number) and isinstance(value.type, types.Record) and isinstance(index, Static):
            return self.backend.attribute(self.builder, value, index.object)  # a field by its name
        return self.backend.item(self.builder, value, index)

    def index(self, node):
        if isinstance(node, ast.Slice):
            parts = [NOTHING if part is None else self.value(part) for part in (node.lower, node.upper, node.step)]
            return self.backend.apply(self.builder, slice, parts if node.step else parts[:2])
        if isinstance(node, ast.Tuple):
            return Tuple(tuple(self.index(part) for part in node.elts))
        return self.value(node)

    # ---- operators ----
    def operation(self, node, op, *values):
        """What an operator gives. Integers that are known stay known: they are indices of tuples."""
        function = OPERATORS.get(type(op))
        if function is None:
            self.fail(node, f"no operator of the core's language: {type(op).__name__}")
        if type(op) in FOLDED and all(isinstance(x, Number) and type(x.known) is int for x in values):
            return self.backend.constant(self.builder, function(*(x.known for x in values)))
        if type(op) is ast.Add and all(isinstance(x, Tuple) for x in values):
            return Tuple(tuple(part for value in values for part in value.parts))
        return self.backend.apply(self.builder, function, list(values))

    def of_BinOp(self, node):
        return self.operation(node, node.op, self.value(node.left), self.value(node.right))

    def of_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            return Number(types.boolean, self.builder.not_(self.truth(node.operand)))
        value = self.value(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(value, Number) and type(value.known) in (int, float):
            return self.backend.constant(self.builder, -value.known)
        return self.operation(node, node.op, value)

    def of_Compare(self, node):
        left, pairs = self.value(node.left), list(zip(node.ops, node.comparators, strict=True))
        return self._compared(node, left, pairs)

    def _compared(self, node, left, pairs):
        (op, right), *others = pairs
        right = self.value(right)
        first = self.operation(node, op, left, right)
        if not others:
            return first
        return self._chosen(first, lambda: self._compared(node, right, others), lambda: first)

    def of_BoolOp(self, node):
        return self._combined(isinstance(node.op, ast.And), node.values)

    def _combined(self, is_and, nodes):
        first = self.value(nodes[0])
        if len(nodes) == 1:
            return first
        others = (lambda: self._combined(is_and, nodes[1:])), (lambda: first)
        return self._chosen(first, *(others if is_and else others[::-1]))

    def of_IfExp(self, node):
        return self._chosen(self.value(node.test), lambda: self.value(node.body), lambda: self.value(node.orelse))

    def _chosen(self, condition, if_true, if_false):
        """One of two values, of which only that one is evaluated."""
        builder, backend = self.builder, self.backend
        yes, no, end = (self.made.append_basic_block(name) for name in ("then", "else", "end"))
        builder.cbranch(backend.truth(builder, condition), yes, no)
        found = []
        for block, make in ((yes, if_true), (no, if_false)):
            builder.position_at_end(block)
            found.append((make(), builder.block))
        wanted = backend.one_of(*(value for value, _ in found))
        ends = []
        for value, block in found:
            builder.position_at_end(block)
            ends.append((backend.cast(builder, value, wanted), builder.block))
            builder.branch(end)
        builder.position_at_end(end)
        form, merged = ends[0][0], []
        for pair in zip(*(leaves(value) for value, _ in ends), strict=True):
            phi = builder.phi(pair[0].type)
            for leaf, (_, block) in zip(pair, ends, strict=True):
                phi.add_incoming(leaf, block)
            merged.append(phi)
        return like(form, iter(merged))

    # ---- calls ----
    def of_Call(self, node):
        called = self.value(node.func)
        arguments = self.values(node.args)
        named = {keyword.arg: self.value(keyword.value) for keyword in node.keywords}
        if not isinstance(called, Static):
            self.fail(node, "no function")
        function = called.object
        kind = getattr(function, "compiled_as", None)
        if kind is not None:
            return self.call(node, function.py_func, kind, arguments, named)
        if named:
            self.fail(node, "names of arguments are for functions of the core")
        if function is len and len(arguments) == 1 and isinstance(arguments[0], Tuple):
            return self.backend.constant(self.builder, len(arguments[0].parts))
        if function in (min, max) and len(arguments) > 1:
            return self.extreme(operator.lt if function is min else operator.gt, arguments)
        return self.backend.apply(self.builder, function, arguments)

    def extreme(self, before, values):
        """The smallest or greatest of several numbers, the first of equal ones, as Python does it."""
        wanted = self.backend.one_of(*values)
        found, *others = (self.backend.cast(self.builder, value, wanted) for value in values)
        for value in others:
            is_before = self.backend.apply(self.builder, before, [value, found])
            found = Number(wanted, self.builder.select(is_before.llvm, value.llvm, found.llvm))
        return found

    def call(self, node, function, kind, arguments, named):
        """A function of the core."""
        arguments = self.bound(node, function, arguments, named)
        try:
            unit = self.unit_of(function, kind, arguments)
        except NotInLanguage as error:
            error.add_context(f"call at {place_of(self.function, node)}")
            raise
        self.calls.append(unit)
        module = self.made.module
        made = module.globals.get(unit.symbol) or ir.Function(module, unit.kind, unit.symbol)
        result = self.builder.call(made, [leaf for value in arguments for leaf in leaves(value)])
        return unpacked(self.builder, unit.result, result)

    def bound(self, node, function, arguments, named):
        """All arguments of a call by their places, with defaults."""
        code, defaults = function.__code__, function.__defaults__ or ()
        names = code.co_varnames[:code.co_argcount]
        if len(arguments) > len(names) and not code.co_flags & CO_VARARGS:
            self.fail(node, f"{function.__qualname__} takes {len(names)} arguments, not {len(arguments)}")
        unknown = set(named) - set(names[len(arguments):])
        if unknown:
            self.fail(node, f"{function.__qualname__} has no argument {min(map(str, unknown))}, or has it already")
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
