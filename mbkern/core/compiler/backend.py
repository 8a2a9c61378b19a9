"""What Numba knows: operators, casts, attributes, calls of anything that is not the core's own.

Everything is looked up once for each combination of types. Functions of the core raise nothing. Where the code of one
of Numba's operators would (an assignment to a slice of another length), the process stops: see `_NoExceptions`.
"""

import operator
from functools import reduce

from llvmlite import ir
from numba import NumbaError, types
from numpy import generic

from ..numba_internals import CPUCallConv, Intrinsic, cpu_target, create_error_model
from .values import UNKNOWN, Number, Static, Tuple

OURS = "mbkern"  # mark of the functions of LLVM that are written here


class Refused(Exception):
    """Numba knows no operation for these types, or something else that is no matter of a place in the source."""


class _NoExceptions(CPUCallConv):
    """Numba's convention of calls, where our own functions have nobody to hand an exception on to."""

    def _return_errcode_raw(self, builder, code):
        if not hasattr(builder.function, OURS):
            return super()._return_errcode_raw(builder, code)
        trap = builder.module.declare_intrinsic("llvm.trap", (), ir.FunctionType(ir.VoidType(), []))
        builder.call(trap, [])
        builder.unreachable()

    def set_static_user_exc(self, builder, *args, **options):
        if not hasattr(builder.function, OURS):
            super().set_static_user_exc(builder, *args, **options)

    def _get_excinfo_argument(self, function):
        return super()._get_excinfo_argument(function) if not hasattr(function, OURS) else None

    def return_status_propagate(self, builder, status):
        if not hasattr(builder.function, OURS):
            return super().return_status_propagate(builder, status)
        self._return_errcode_raw(builder, None)

    def check_try_status(self, builder):
        if not hasattr(builder.function, OURS):
            return super().check_try_status(builder)


class Libraries:
    """Stands where Numba would put what a function has to be linked with."""

    def __init__(self):
        self.found = []

    def add_linking_library(self, library):
        if library not in self.found:
            self.found.append(library)


def _name(value):
    """For messages."""
    if isinstance(value, Number):
        return "a number"
    return "a tuple" if isinstance(value, Tuple) else getattr(value.object, "__name__", type(value.object).__name__)


def _no(function, kinds):
    return f"Numba has no {getattr(function, '__name__', function)} of {kinds}"


class Backend:
    """Numba's tables."""

    def __init__(self):
        self.typing, context = cpu_target.typing_context, cpu_target.target_context
        self.context = context.subtarget(enable_nrt=False, error_model=create_error_model("numpy", context))
        self.context.__class__ = type("_Context", (type(context),), {"call_conv": _NoExceptions(self.context)})
        self._found = {}

    # ---- values ----
    def constant(self, builder, thing):
        """A Python object as a value."""
        if isinstance(thing, bool):
            return Number(types.boolean, ir.Constant(ir.IntType(1), int(thing)), thing)
        if isinstance(thing, int):
            if not -2**63 <= thing < 2**63:
                raise Refused(f"{thing} has more than 64 bits")
            return Number(types.intp, ir.Constant(ir.IntType(types.intp.bitwidth), thing), thing)
        if isinstance(thing, float):
            return Number(types.float64, ir.Constant(ir.DoubleType(), thing), thing)
        if isinstance(thing, tuple):
            return Tuple(tuple(self.constant(builder, part) for part in thing))
        if isinstance(thing, generic):
            kind = self.typing.resolve_value_type(thing)
            return Number(kind, self.context.get_constant_generic(builder, kind, thing))
        return Static(thing, types.none if thing is None else None)

    def taken(self, builder, kind, llvm):
        """A value of Numba as one of ours."""
        if isinstance(kind, types.BaseTuple):
            parts = (self.taken(builder, part, builder.extract_value(llvm, k)) for k, part in enumerate(kind))
            return Tuple(tuple(parts))
        if isinstance(kind, types.Omitted):  # a default
            return self.constant(builder, kind.value)
        if kind in (types.void, types.none):
            return Static(None, types.none)
        if isinstance(kind, types.Dispatcher):
            return Static(kind.dispatcher, kind)
        return Number(types.unliteral(kind), llvm)

    def given(self, builder, value):
        """One of our values as (type, value of LLVM) for Numba."""
        if isinstance(value, Tuple):
            kind = self.typed(value)
            return kind, self.context.make_tuple(builder, kind, [self.given(builder, part)[1] for part in value.parts])
        if isinstance(value, Static):
            kind = self.type_of(value)
            if kind is types.none:
                return kind, self.context.get_dummy_value()
            return kind, self.context.get_constant_generic(builder, kind, value.object)
        return value.type, value.llvm

    def type_of(self, value):
        if value.type is None:
            try:
                value.type = self.typing.resolve_value_type(value.object)
            except ValueError as error:
                raise Refused(f"Numba has no type for {value.object!r}") from error
        return value.type

    def typed(self, value):
        """The type of any value."""
        if isinstance(value, Tuple):
            return types.BaseTuple.from_types([self.typed(part) for part in value.parts])
        return self.type_of(value) if isinstance(value, Static) else value.type

    def cast(self, builder, value, kind):
        """A value as one of another type."""
        if isinstance(value, Tuple):
            if not isinstance(kind, types.BaseTuple) or len(kind) != len(value.parts):
                raise Refused(f"{self.typed(value)} where {kind} is wanted")
            return Tuple(tuple(self.cast(builder, part, k) for part, k in zip(value.parts, kind, strict=True)))
        if isinstance(value, Static) or value.type == kind:
            return value
        if value.known is not UNKNOWN and kind == types.float64:
            return self.constant(builder, float(value.known))
        if self.typing.can_convert(value.type, kind) is None:
            raise Refused(f"{value.type} where {kind} is wanted")
        return Number(kind, self.context.cast(builder, value.llvm, value.type, kind))

    def common(self, a, b):
        """The type that values of two types have in common."""
        if a == b:
            return a
        if isinstance(a, types.BaseTuple) and isinstance(b, types.BaseTuple) and len(a) == len(b):
            return types.BaseTuple.from_types([self.common(x, y) for x, y in zip(a, b, strict=True)])
        found = self.typing.unify_types(a, b)
        if found is None:
            raise Refused(f"no type for one variable for {a} and {b}")
        return types.unliteral(found)

    def refuse_choice(self, one, other):
        """Refuse two Python objects for one value: which of them it is must be known before it runs."""
        if isinstance(one, Tuple) and isinstance(other, Tuple):
            for pair in zip(one.parts, other.parts, strict=False):  # of other lengths: `common` refuses them
                self.refuse_choice(*pair)
        elif getattr(one, "object", UNKNOWN) is not getattr(other, "object", UNKNOWN):
            raise Refused(f"{_name(one)} or {_name(other)}: only numbers may be chosen at run time")

    def one_of(self, *values):
        """The type of a value that is one of these, which one is known when it runs."""
        for value in values[1:]:
            self.refuse_choice(values[0], value)
        return reduce(self.common, map(self.typed, values))

    def truth(self, builder, value):
        """Whether a value is true, as one bit."""
        if not isinstance(value, Number):
            raise Refused("neither true nor false")
        if value.type == types.boolean:
            return value.llvm
        return self.context.cast(builder, value.llvm, value.type, types.boolean)

    # ---- operations ----
    def _function(self, function, kinds):
        """(signature, code) of a function that Numba knows: an operator, a built-in function, one of numpy's."""
        key = function, kinds
        if key not in self._found:
            try:
                known = self.typing.resolve_value_type(function)
                signature = self.typing.resolve_function_type(known, kinds, {})
            except (NumbaError, ValueError, AttributeError) as error:
                raise Refused(_no(function, kinds)) from error
            if signature is None:
                raise Refused(_no(function, kinds))
            self._found[key] = signature, self.context.get_function(known, signature)
        return self._found[key]

    def _intrinsic(self, function, kinds):
        key = function, kinds
        if key not in self._found:
            try:
                made = function._defn(self.typing, *kinds)
            except (NumbaError, TypeError) as error:
                raise Refused(str(error)) from error
            if made is None:
                raise Refused(_no(function, kinds))
            signature, code = made
            context = self.context
            self._found[key] = signature, lambda builder, args: code(context, builder, signature, args)
        return self._found[key]

    def apply(self, builder, function, values):
        """What a function of Numba gives for these values."""
        given = [self.given(builder, value) for value in values]
        if isinstance(function, Intrinsic):
            literals = [types.literal(v.known) if function._prefer_literal and isinstance(v, Number)
                        and isinstance(v.known, int) else kind for v, (kind, _) in zip(values, given, strict=True)]
            signature, code = self._intrinsic(function, tuple(literals))
        else:
            signature, code = self._function(function, tuple(kind for kind, _ in given))
        arguments = [llvm if kind == wanted or not isinstance(wanted, types.Type)
                     else self._converted(builder, llvm, kind, wanted)
                     for (kind, llvm), wanted in zip(given, signature.args, strict=True)]
        libraries = getattr(code, "libs", ())
        if libraries:
            self.context.add_linking_libs(libraries)
        return self.taken(builder, signature.return_type, code(builder, arguments))

    def _converted(self, builder, llvm, kind, wanted):
        if isinstance(wanted, types.Literal):
            return llvm
        if self.typing.can_convert(kind, wanted) is None:
            raise Refused(f"{kind} where {wanted} is wanted")
        return self.context.cast(builder, llvm, kind, wanted)

    def attribute(self, builder, value, name):
        """An attribute of a value: the shape of an array and the like."""
        kind, llvm = self.given(builder, value)
        found = self.typing.resolve_getattr(kind, name)
        if found is None:
            raise Refused(f"{kind} has no attribute {name}")
        return self.taken(builder, found, self.context.get_getattr(kind, name)(self.context, builder, kind, llvm, name))

    def item(self, builder, value, index):
        return self.apply(builder, operator.getitem, [value, index])

    def set_item(self, builder, target, index, value):
        given = [self.given(builder, v) for v in (target, index, value)]
        kinds = tuple(kind for kind, _ in given)
        key = operator.setitem, kinds
        if key not in self._found:
            signature = self.typing.resolve_setitem(*kinds)
            if signature is None:
                raise Refused(f"no assignment of {kinds[2]} to an item of {kinds[0]}")
            self._found[key] = signature, self.context.get_function(operator.setitem, signature)
        signature, code = self._found[key]
        code(builder, [self._converted(builder, llvm, kind, wanted) if kind != wanted else llvm
                       for (kind, llvm), wanted in zip(given, signature.args, strict=True)])
