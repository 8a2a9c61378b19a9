"""What compiled code really executes: the arithmetic instructions of a function, seen one by one (Linux, x86-64).

A child process stops at the function's first instruction and is then stepped through it; every instruction is decoded
as far as it is double-precision arithmetic with a VEX or EVEX prefix (add, sub, mul, div, sqrt and fused
multiply-add, which are two flops), scalar or packed.
"""

import ctypes
import os
import platform
import re
import signal
import sys

import llvmlite.binding as llvm
import numpy as np
from numba import typeof

SUPPORTED = (sys.platform, platform.machine()) == ("linux", "x86_64") and llvm.get_host_cpu_features().get("fma", False)
_TRACEME, _PEEK, _POKE, _CONT, _SINGLESTEP, _GETREGS, _SETREGS = 0, 1, 4, 7, 9, 12, 13  # requests of ptrace
_RIP, _RSP, _REGISTERS = 16, 19, 27  # places in user_regs_struct
_SIMPLE = {0x51, 0x58, 0x59, 0x5C, 0x5E}  # sqrt, add, mul, sub, div
_FUSED = {base + low for base in (0x90, 0xA0, 0xB0) for low in range(0x6, 0x10)}


class NotTraceable(Exception):
    """This system does not let a process step through its child."""


def flops_of(code):
    """Double-precision flops of the instruction at the start of these bytes."""
    if code[0] == 0xC5:
        table, wide, form, opcode, length = 1, 0, code[1] & 3, code[2], code[1] >> 2 & 1
    elif code[0] == 0xC4:
        table, wide, form, opcode, length = code[1] & 31, code[2] >> 7, code[2] & 3, code[3], code[2] >> 2 & 1
    elif code[0] == 0x62:
        table, wide, form, opcode, length = code[1] & 7, code[2] >> 7, code[2] & 3, code[4], code[3] >> 5 & 3
    else:
        return 0
    lanes = 2 << length
    if table == 1 and opcode in _SIMPLE:  # prefix F2: scalar double, 66: packed double, others single precision
        return {3: 1, 1: lanes}.get(form, 0)
    if table == 2 and form == 1 and wide and opcode in _FUSED:  # odd: scalar, but for the alternating 6 and 7
        return 2 if opcode & 1 and opcode & 15 > 7 else 2 * lanes
    return 0


def flops_of_assembly(text):
    """Flops in a listing of straight-line code."""
    total = 0
    for mnemonic, packed, operands in re.findall(
            r"^\s+v?(f?n?m(?:add|sub|addsub|subadd)\d*|add|sub|mul|div|sqrt)([sp])d\s+(.*)$", text, re.MULTILINE):
        lanes = 1 if packed == "s" else 8 if "zmm" in operands else 4 if "ymm" in operands else 2
        total += lanes * (2 if mnemonic.startswith("f") else 1)
    return total


def native_call(dispatcher, arguments):
    """Address of the compiled version of a Numba function for these float64 arrays and floats, and a call of it."""
    compiled = dispatcher.overloads[tuple(typeof(x) for x in arguments)]  # others may have called it with other types
    address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    result, error = ctypes.c_int64(), ctypes.c_void_p()
    flat = [ctypes.byref(result), ctypes.byref(error)]
    for x in arguments:
        if isinstance(x, np.ndarray):
            flat += [None, None, *map(ctypes.c_int64, (x.size, 8, x.ctypes.data, x.size, 8))]
        else:
            flat.append(ctypes.c_double(x))
    function = ctypes.CFUNCTYPE(ctypes.c_int32)(address)
    function.argtypes = None
    return address, lambda: (function(*flat), result.value)


def executed_flops(address, call):
    """Flops that `call` executes from the instruction at `address` on until that function returns."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    child = os.fork()
    if child == 0:
        try:
            if libc.ptrace(_TRACEME, 0, None, None) != 0:
                os._exit(1)
            os.kill(os.getpid(), signal.SIGSTOP)
            call()
        finally:
            os._exit(0)

    def ask(request, at=None, data=None):
        answer = libc.ptrace(request, child, at, data)
        if answer == -1 and request != _PEEK:
            raise NotTraceable(os.strerror(ctypes.get_errno()))
        return answer

    def wait(expected):
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status) or os.WSTOPSIG(status) != expected:
            raise NotTraceable(f"the child has stopped with status {status}")

    registers = (ctypes.c_ulonglong * _REGISTERS)()
    try:
        wait(signal.SIGSTOP)
        word = ask(_PEEK, address) & (1 << 64) - 1
        ask(_POKE, address, word & ~0xFF | 0xCC)  # a breakpoint
        ask(_CONT)
        wait(signal.SIGTRAP)
        ask(_POKE, address, word)
        ask(_GETREGS, None, ctypes.addressof(registers))
        registers[_RIP] -= 1
        ask(_SETREGS, None, ctypes.addressof(registers))
        top, total = registers[_RSP], 0
        while registers[_RSP] <= top:
            total += flops_of(ctypes.string_at(registers[_RIP], 8))  # the child's code is ours
            ask(_SINGLESTEP)
            wait(signal.SIGTRAP)
            ask(_GETREGS, None, ctypes.addressof(registers))
        return total
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
