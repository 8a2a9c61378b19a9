"""Flop counts: the papers' formulas, executed operations, and which method is cheapest where."""

from .count import Counted, count
from .diagrams import SelectionMap, crossovers, first_cheaper, selection_figure, selection_map
from .report import Report, report
from .table1 import ENGLISH, FORMULAS, RUSSIAN, Structure, formulas, model_structure, structure, table1

__all__ = [
    "ENGLISH", "FORMULAS", "RUSSIAN", "Counted", "Report", "SelectionMap", "Structure", "count", "crossovers",
    "first_cheaper", "formulas", "model_structure", "report", "selection_figure", "selection_map", "structure",
    "table1",
]
