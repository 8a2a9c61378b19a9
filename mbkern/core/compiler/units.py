"""Functions for given types of arguments, each made once; the text of all that one of them needs.

A unit is one function of LLVM as text, with the names of what it calls. Arguments and result are the leaves of the
values (:mod:`.values`). What Numba finally turns into machine code is the text of a unit and of all units that it
calls, in one piece: LLVM reads, inlines and optimises it once.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count

from llvmlite import ir

from .backend import OURS, Backend, Libraries
from .body import Again, Body
from .source import NotInLanguage
from .values import key_of, leaves, like

CACHE_LINE = 64  # bytes
ALWAYS, MAY, NEVER = "always", "may", "never"  # is it inlined
FLOATING = frozenset({"fadd", "fsub", "fmul", "fdiv", "frem", "fcmp"})


@dataclass(frozen=True)
class Kind:
    """How a function is compiled: where it goes, and with which fast-math flags."""

    inlined: str
    flags: frozenset = frozenset()


@dataclass
class Unit:
    """A function for given types of arguments."""

    symbol: str
    kind: ir.FunctionType
    text: str
    result: object  # a value: its form, not its numbers
    declared: dict = field(default_factory=dict)  # other globals that its text mentions, by name
    calls: list = field(default_factory=list)  # other units
    libraries: list = field(default_factory=list)  # of Numba
    keeps: object = None  # values whose identities are in its key


_units: dict = {}
listeners: list = []  # each has begin(function, first), `first` of all in this process, and end()
_numbers = count()
BEING_MADE = object()


@lru_cache
def backend():
    """Numba's tables, when they are first needed: to load them takes time."""
    return Backend()


def unit_of(function, kind, arguments):
    """The unit of a Python function for arguments like these values. Whoever asks holds Numba's lock of compilers."""
    key = function, kind, tuple(map(key_of, arguments))
    found = _units.get(key)
    if found is BEING_MADE:
        raise NotInLanguage(function, None, "it calls itself")
    if found is None:
        for listener in listeners:
            listener.begin(function, not _units)
        _units[key] = BEING_MADE
        try:
            found = _units[key] = _made(function, kind, arguments)
        finally:
            if _units[key] is BEING_MADE:
                del _units[key]
            for listener in listeners:
                listener.end()
    return found


def _made(function, kind, arguments):
    known = {}
    symbol = f"mbkern.{function.__module__.rpartition('.')[2]}.{function.__qualname__}.{next(_numbers)}"
    given = [leaf.type for value in arguments for leaf in leaves(value)]
    while True:
        module, libraries = ir.Module(symbol), Libraries()
        made = ir.Function(module, ir.FunctionType(ir.VoidType(), given), symbol)
        setattr(made, OURS, True)
        numbers = iter(made.args)
        body = Body(function, backend(), unit_of, made, known)
        with backend().context.push_code_library(libraries):
            try:
                body.write([like(value, numbers) for value in arguments])
            except Again:  # a variable has turned out to be of another type, which is known now
                continue
        break
    _attribute(made, kind)
    _flag(made, kind.flags)
    text, others = _texts(module, made, symbol)
    return Unit(symbol, made.ftype, text, body.result, others, body.calls, libraries.found, arguments)


def _texts(module, made, symbol):
    """(the text of a function, those of other globals by name). Data get names that no other unit has."""
    own = [f'@"{name}"' for name, thing in module.globals.items() if getattr(thing, "initializer", None) is not None]

    def renamed(thing):
        text = str(thing)
        for name in own:
            text = text.replace(name, f'{name[:-1]}.{symbol}"')
        return text

    others = {renamed(f'@"{name}"'): renamed(thing) for name, thing in module.globals.items() if thing is not made}
    return renamed(made), others


def _attribute(made, kind):
    made.linkage = "internal"
    made.attributes.add("nounwind")
    if kind.inlined == ALWAYS:
        made.attributes.add("alwaysinline")
    else:
        made.attributes.alignstack = CACHE_LINE  # lanes on the stack lie within lines
        if kind.inlined == NEVER:
            made.attributes.add("noinline")


def _flag(made, flags):
    """Fast-math flags on all operations that have none, and on calls that return a float64: as Numba does it. Hints for
    LLVM ("not negative") go: their numbers are those of a module, and texts come together in another one."""
    double = ir.DoubleType()
    for block in made.blocks:
        for instruction in block.instructions:
            instruction.metadata.clear()
            if not flags:
                continue
            if instruction.opname in FLOATING:
                if not instruction.flags:
                    instruction.flags.extend(flags)
            elif isinstance(instruction, ir.CallInstr) and instruction.type == double:
                instruction.fastmath.update(flags)


def closure(unit):
    """A unit and all that it calls, each once."""
    found, left = {}, [unit]
    while left:
        one = left.pop()
        if one.symbol not in found:
            found[one.symbol] = one
            left.extend(one.calls)
    return list(found.values())


def text_of(unit):
    """(the text of a unit and of all that it calls, Numba's libraries that they need)."""
    units = closure(unit)
    defined = {f'@"{one.symbol}"' for one in units}
    declared, libraries = {}, []
    for one in units:
        declared.update((name, text) for name, text in one.declared.items() if name not in defined)
        libraries.extend(library for library in one.libraries if library not in libraries)
    return "\n".join([*(one.text for one in units), *declared.values()]), libraries
