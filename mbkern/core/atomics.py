"""Words of memory that several threads read and write at once: integers at an address, in sequence for all threads."""

import os
import platform

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

WORD = 8  # bytes
ORDER = "seq_cst"
_HAS_PAUSE = platform.machine().lower() in {"x86_64", "amd64", "i386", "i686"}


def declared(module, kind, name):
    """A function of another library in a module of LLVM, which may know it already."""
    return module.globals[name] if name in module.globals else ir.Function(module, kind, name)


def _pointer(builder, address):
    return builder.inttoptr(address, ir.IntType(64).as_pointer())


@intrinsic
def peek(typingctx, address):
    """The word."""
    def codegen(context, builder, sig, args):
        return builder.load_atomic(_pointer(builder, args[0]), ORDER, WORD)
    return types.int64(types.intp), codegen


@intrinsic
def poke(typingctx, address, x):
    """Write x."""
    def codegen(context, builder, sig, args):
        builder.store_atomic(args[1], _pointer(builder, args[0]), ORDER, WORD)
        return context.get_dummy_value()
    return types.void(types.intp, types.int64), codegen


@intrinsic
def count_up(typingctx, address, step):
    """Add `step`; what was there before."""
    def codegen(context, builder, sig, args):
        return builder.atomic_rmw("add", _pointer(builder, args[0]), args[1], ORDER)
    return types.int64(types.intp, types.int64), codegen


@intrinsic
def replace(typingctx, address, old, new):
    """Write `new` if `old` is there; whether it was."""
    def codegen(context, builder, sig, args):
        return builder.extract_value(builder.cmpxchg(_pointer(builder, args[0]), args[1], args[2], ORDER, ORDER), 1)
    return types.boolean(types.intp, types.int64, types.int64), codegen


@intrinsic
def pause(typingctx):
    """What a thread does that looks at a word again and again, for the sake of its neighbour on the same core."""
    def codegen(context, builder, sig, args):
        if _HAS_PAUSE:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])
        return context.get_dummy_value()
    return types.void(), codegen


@intrinsic
def give_way(typingctx):
    """Let the system run another thread on this processor, if one wants to."""
    def codegen(context, builder, sig, args):
        if os.name == "posix":
            kind = ir.FunctionType(ir.IntType(32), [])
            builder.call(declared(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()
    return types.void(), codegen
