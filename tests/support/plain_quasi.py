"""The modules `core/quasi*` as ordinary Python, with functions of Python in the place of those that they call by
address.

What only compiled code has (memory at an address, C functions) is stood in for while they are loaded: C functions are
functions of Python, which take addresses.
"""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType

import numpy as np

from mbkern import plain

UNKNOWN = 2**31  # as in core/arguments.py


def array_at(address, n):
    """An array over n numbers at an address."""
    return np.ctypeslib.as_array(ctypes.cast(int(address), ctypes.POINTER(ctypes.c_double)), (n,))


def _loaded() -> dict[str, ModuleType]:
    number = plain.load("number")
    package = number.__package__
    number.array_at = array_at
    stand_ins = {"arguments": {"UNKNOWN": UNKNOWN, "data_of": lambda array: array.ctypes.data},
                 "cabi": {"ODE": None, "LOAD": None, "address_of": int, "call_load": None}}
    for name, content in stand_ins.items():
        module = sys.modules[f"{package}.{name}"] = ModuleType(f"{package}.{name}")
        vars(module).update(content)
    try:
        return {name: plain.load(f"quasi{name}") for name in (
            "", "_layout", "_calls", "_dense", "_full", "_ignored", "_linear", "_rows", "_sweeps", "_tree",
            "_triangular")}
    finally:
        for name in stand_ins:
            del sys.modules[f"{package}.{name}"]
        del number.array_at


MODULES = _loaded()
QUASI, LAYOUT, TREE = (MODULES[name] for name in ("", "_layout", "_tree"))


def view(frame, place, n) -> np.ndarray:
    """n numbers of a frame from the place on that its header gives."""
    at = int(frame[place])
    return frame[at:at + n] if n < UNKNOWN else frame[at:]


def connect(monkeypatch, call) -> None:
    """Have the modules call `call(address, t, q, v, out, user)`."""
    for module in MODULES.values():
        if hasattr(module, "call_load"):
            monkeypatch.setattr(module, "call_load", call)
