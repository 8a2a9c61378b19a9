"""Flop counts: the papers' formulas, executed operations, and which method is cheapest where."""

from .count import Counted, count
from .table1 import ENGLISH, FORMULAS, RUSSIAN, Structure, formulas, model_structure, structure, table1

__all__ = [
    "ENGLISH", "FORMULAS", "RUSSIAN", "Counted", "Structure", "count", "formulas", "model_structure", "structure",
    "table1",
]
