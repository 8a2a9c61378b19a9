"""The modules `core/quasi*` as ordinary Python, with functions of Python in the place of those that they call by
address.

What only compiled code has (memory at an address, C functions) is stood in for while they are loaded.
"""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np

from mbkern import plain

UNKNOWN = 2**31  # as in core/arguments.py


def _loaded() -> list[ModuleType]:
    number = plain.load("number")
    package = number.__package__
    number.array_at = None
    stand_ins = {"arguments": {"UNKNOWN": UNKNOWN}, "cabi": {"ODE": None, "address_of": None, "call_load": None}}
    for name, content in stand_ins.items():
        module = sys.modules[f"{package}.{name}"] = ModuleType(f"{package}.{name}")
        vars(module).update(content)
    try:
        return [plain.load(f"quasi{name}") for name in (
            "", "_layout", "_calls", "_dense", "_full", "_ignored", "_linear", "_rows", "_triangular")]
    finally:
        for name in stand_ins:
            del sys.modules[f"{package}.{name}"]
        del number.array_at


MODULES = _loaded()
QUASI, LAYOUT = MODULES[:2]


def view(frame, place, n) -> np.ndarray:
    """n numbers of a frame from the place on that its header gives."""
    at = int(frame[place])
    return frame[at:at + n] if n < UNKNOWN else frame[at:]


def connect(monkeypatch, call) -> None:
    """Have the modules find their parts in the frame, and call `call(address, t, q, v, out, user)`."""
    def linear_part(frame, offset, n):
        return view(frame, LAYOUT.AT_LINEAR, UNKNOWN)[offset:offset + n]

    for module in MODULES:
        for name, function in (("part", view), ("linear_part", linear_part), ("call_load", call)):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, function)
