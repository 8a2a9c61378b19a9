"""The plain sources of the core with other things bound to some of their names."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from .. import plain
from ..core import constants as L
from ..inputs import Array
from ..model.model import Model
from ..workspace import places


def rebound(function: Any, **names: Any) -> FunctionType:
    """The same code with some global names bound to other things; the original stays as it is."""
    return FunctionType(function.__code__, {**function.__globals__, **names}, function.__name__, function.__defaults__)


def with_drives(model: Model) -> tuple[Array, list[Any]]:
    """The model's block and its drives; in the block, a compiled drive has its place in the list for an address."""
    drives = [element.amount for body in model.body_specs for element in body.joint.elements
              if element.is_driven]
    block = model.block.copy()
    for d in range(len(drives)):
        row = places.drive_row(block, d)
        if block[row + L.DRIVE_KIND] == L.FUNCTION:
            block[row + L.DRIVE_DATA] = d
    return block, drives


def evaluate_drives(drives: list[Any]) -> FunctionType:
    """`evaluate_drives` of the core that calls a compiled drive as a Python function."""
    module = plain.load("drives")

    def call_drive(d: int, t: Any) -> tuple[float, ...]:
        return tuple(float(x) for x in drives[d](float(t)))

    return rebound(module.evaluate_drives, drive_value=rebound(module.drive_value, call_drive=call_drive))
